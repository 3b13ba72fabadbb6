import numpy as np
import pandas as pd
import pytest

from ftheta import explain, models
from ftheta.errors import InputError

RNG = np.random.default_rng(0)
Y = pd.Series(np.sin(np.arange(160) / 4) + 0.05 * RNG.normal(size=160), pd.date_range("2024-01-01", periods=160))


@pytest.fixture(scope="module")
def model():
    return models.ARForecaster(lags=2, log=False, difference=0, season=1, horizon=6).fit(Y[:100])


@pytest.mark.ledger("B074", covers="ftheta.models.sequence.explain_forecasts.one_step")
def test_errors_one_step_ahead_and_of_free_runs_stand_side_by_side(model):
    """One step ahead by hand from the coefficients; the free runs are those of six steps each."""
    table = explain.run("one-step", model, Y[100:]).table().columns
    assert list(table["forecasts"]) == ["one step ahead", "free runs of up to 6 steps"]
    z = (Y.to_numpy() - Y[:100].mean()) / Y[:100].std(ddof=0)
    c, a, b = model.coef_[:, 0]
    errors = (z[100:] - (c + a * z[99:-1] + b * z[98:-2])) * Y[:100].std(ddof=0)
    assert table["mean squared error"][0] == pytest.approx((errors**2).mean(), rel=1e-6)
    free = [Y[at : at + 6] - model.predict(Y[:at], horizon=6)[: len(Y[at : at + 6])] for at in range(100, 160, 6)]
    assert table["mean squared error"][1] == pytest.approx((np.concatenate(free) ** 2).mean(), rel=1e-6)


def test_the_step_at_which_a_free_run_leaves_its_interval(model):
    other = Y[100:].copy()
    kept = explain.run("free-run", model, other, steps=12)
    np.testing.assert_allclose(kept.predicted, model.predict(horizon=12))
    other.iloc[:12] = kept.predicted
    other.iloc[7] += 10
    found = explain.run("free-run", model, other, steps=12)
    assert "leaves the 95 % interval at step 8; 1 step lies outside" in found.caption
    assert str(found.time[7])[:10] == "2024-04-17" and len(found.table().columns["step"]) == 12
    other.iloc[7] -= 10
    assert "stays in the 95 % interval" in explain.run("free-run", model, other, steps=12).caption


def test_a_step_that_was_moved_is_an_anomaly(model):
    other = Y[100:].copy()
    other.iloc[30] += 3
    table = explain.run("anomalies", model, other).table().columns
    assert "2024-05-10" in list(table["time"])
    with pytest.raises(InputError, match="no intervals"):
        explain.run("anomalies", models.NaiveForecaster(calibration=0).fit(Y[:100]), other)
