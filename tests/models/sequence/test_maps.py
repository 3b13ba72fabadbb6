"""A perceptron on lags: its formula, what it learns of a map, and the choice of lags, units and penalty."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from ftheta import jobs, models
from ftheta.jobs.crossval import parts

PLAIN = {"log": False, "difference": 0, "calibration": 0, "noise": 0.0, "random_state": 0}


def logistic_map(n, r=3.8):
    """y_{t+1} = r y_t (1 - y_t): no linear model predicts it."""
    y = [0.3]
    for _ in range(n - 1):
        y.append(r * y[-1] * (1 - y[-1]))
    return np.array(y)


@pytest.mark.ledger("B256", covers="ftheta.models.sequence.recurrent.MLPForecaster")
def test_one_step_is_a_line_of_tanh_units_of_the_lags():
    """ŷ_{k+1} = wᵀ tanh(V (y_k, ..., y_{k-p}) + β), standardized, with a bias; for p = 3 there are four inputs."""
    y = logistic_map(80)
    model = models.MLPForecaster(lags=4, hidden=(5,), epochs=2, **PLAIN).fit(y)
    v, beta, w, bias = (p.detach().double().numpy() for p in model.module_.parameters())
    assert v.shape == (5, 4)
    z = (y[-4:] - y.mean()) / y.std()
    np.testing.assert_allclose(
        model.predict()[0], (w @ np.tanh(v @ z + beta) + bias)[0] * y.std() + y.mean(), rtol=1e-5
    )


@pytest.mark.middle
@pytest.mark.ledger("B256", covers="ftheta.models.sequence.recurrent.MLPForecaster")
def test_it_learns_a_map_that_no_linear_model_predicts():
    """The least squares line through (y_t, y_{t+1}) is the best linear prediction; 5 % is left of its error."""
    y = logistic_map(400)
    model = models.MLPForecaster(lags=1, hidden=(16,), epochs=200, lr=0.02, **PLAIN).fit(y[:300])
    made = model.rolled(pd.Series(y, range(400)).iloc[300:], 1)
    line = np.polyval(np.polyfit(y[:299], y[1:300], 1), y[299:399])
    assert np.mean((made["predicted"] - y[300:]) ** 2) < 0.05 * np.mean((line - y[300:]) ** 2)


@pytest.mark.middle
@pytest.mark.ledger("B257", covers="ftheta.jobs.tune")
@pytest.mark.ledger("B071", covers="ftheta.jobs.tune")
def test_lags_units_and_penalty_are_ranked_by_folds_that_look_back(tmp_path, monkeypatch):
    """y_t = -0.9 y_{t-4} + e_t: with fewer than four lags nothing is known of it."""
    monkeypatch.chdir(tmp_path)
    rng, y = np.random.default_rng(0), [0.0] * 4
    for _ in range(150):
        y.append(-0.9 * y[-4] + rng.normal())
    pd.DataFrame({"t": range(154), "y": y}).to_csv("y.csv", index=False)
    space = {"lags": [2, 4], "hidden": [[2], [8]], "training.l2": [1e-5, 0.01]}
    found = jobs.tune(
        "mlp",
        "y.csv",
        target="y",
        time_column="t",
        horizon=1,
        space=space,
        search="grid",
        folds=3,
        epochs=15,
        lr=0.02,
        report=False,
    )
    table = found.table().columns
    assert list(table["lags"]) == [4] * 4 + [2] * 4 and list(table["MASE"]) == sorted(table["MASE"])
    points = set(zip(table["hidden"], table["training.l2"], strict=True))
    assert points == set(product(("[2]", "[8]"), (1e-5, 0.01)))
    for learn, held in parts(jobs.prepare(found.best_run.config), 3):
        assert learn.max() < held.min()
