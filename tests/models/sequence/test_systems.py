"""Systems with an input: what is identified is what made the data."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.signal import lfilter

import ftheta
from ftheta import explain, models
from ftheta.errors import FThetaError
from ftheta.models import identify
from ftheta.models.sequence.narx import NARXNet, StateSpaceNet

A, B = [1, -1.2, 0.5], [0, 0.5, 0.3]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=3000), 0.1 * rng.normal(size=3000)


@pytest.mark.ledger("B259", covers="ftheta.models.identify")
def test_arx_without_noise_is_recovered_exactly(data):
    u, _ = data
    found = identify(u, lfilter(B, A, u), orders=(2, 2))
    np.testing.assert_allclose(found.parts["a"], [-1.2, 0.5], atol=1e-10)
    np.testing.assert_allclose(found.parts["b"], [0.5, 0.3], atol=1e-10)
    np.testing.assert_allclose(found.simulate(u), lfilter(B, A, u), atol=1e-8)


NOISY = {  # structure: orders, filter of the noise, coefficients
    "armax": ((2, 2, 1), ([1, 0.4], A), {"a": [-1.2, 0.5], "b": [0.5, 0.3], "c": [0.4]}),
    "oe": ((2, 2), ([1], [1]), {"b": [0.5, 0.3], "f": [-1.2, 0.5]}),
    "bj": ((2, 1, 1, 2), ([1, 0.4], [1, -0.7]), {"b": [0.5, 0.3], "c": [0.4], "d": [-0.7], "f": [-1.2, 0.5]}),
}


@pytest.mark.ledger("B259", covers="ftheta.models.LinearSystem")
@pytest.mark.parametrize("structure", NOISY)
def test_each_structure_recovers_the_system_whose_noise_it_describes(data, structure):
    u, e = data
    orders, noise, truth = NOISY[structure]
    y = lfilter(B, A, u) + lfilter(*noise, e)
    found = identify(u, y, structure, orders=orders)
    for name, values in truth.items():
        np.testing.assert_allclose(found.parts[name], values, atol=0.05)
    ahead, simulated = found.fits()
    assert ahead == pytest.approx(e.std(), rel=0.01)  # what is left is the white noise
    assert simulated == pytest.approx(lfilter(*noise, e).std(), rel=0.02)


def test_least_squares_is_biased_where_the_noise_is_at_the_output(data):
    u, e = data
    y = lfilter(B, A, u) + e
    arx, oe = identify(u, y, "arx"), identify(u, y, "oe")
    assert abs(arx.parts["a"][0] + 1.2) > 0.03 > abs(oe.parts["f"][0] + 1.2)
    assert oe.fits()[1] < arx.fits()[1] and "coefficient" in str(arx.table())


@pytest.mark.parametrize(
    ("u", "y", "how", "sentence"),
    [
        (np.zeros(9), np.zeros(8), {}, "needs two arrays"),
        (np.zeros(5), np.zeros(5), {}, "too few"),
        (np.zeros(50), np.full(50, np.nan), {}, "missing"),
        (np.zeros(50), np.zeros(50), {"structure": "arma"}, "armax"),
        (np.zeros(50), np.zeros(50), {"orders": (1, 2, 3)}, "orders of a, b"),
    ],
)
def test_what_cannot_be_identified_is_refused(u, y, how, sentence):
    with pytest.raises(FThetaError, match=sentence):
        identify(u, y, **how)


def test_steps_one_by_one_are_the_pass_along_a_window():
    torch.manual_seed(0)
    x = torch.randn(3, 12, 3)
    for net in (
        NARXNet(torch.nn.Linear(2 * 2 + 3, 2), 2, 2, 3, False),
        StateSpaceNet(3, 2, 4, 5, True),
        StateSpaceNet(3, 2, 4, 5, False),
    ):
        along, state = net(x), None
        for t in range(12):
            value, state = net.step(x[:, t : t + 1], state)
            torch.testing.assert_close(value, along[:, t])


@pytest.mark.ledger("B260", covers="ftheta.models.NARXForecaster")
def test_a_parallel_net_sees_its_own_outputs_and_a_series_parallel_one_the_measured_ones():
    torch.manual_seed(0)
    net, x = torch.nn.Linear(2, 1), torch.randn(4, 6, 1)
    both = [NARXNet(net, 1, 2, 1, parallel)(x) for parallel in (False, True)]
    torch.testing.assert_close(both[0][:, :2], both[1][:, :2])
    torch.testing.assert_close(both[1][:, 3], net(both[1][:, 1:3, 0]))
    torch.testing.assert_close(both[0][:, 3], net(x[:, 2:4, 0]))


def plant(n, seed=0, noise=0.02):
    """y_{t+1} = 0.7 y_t - 0.2 y_{t-1} + tanh(u_t) with noise on the output."""
    rng = np.random.default_rng(seed)
    u, y = rng.uniform(-2, 2, n), np.zeros(n)
    for t in range(1, n - 1):
        y[t + 1] = 0.7 * y[t] - 0.2 * y[t - 1] + np.tanh(u[t])
    late = np.concatenate([[0.0], u[:-1]])  # acts one step later
    return pd.DataFrame({"y": y + noise * rng.normal(size=n), "u": late})


@pytest.mark.middle
@pytest.mark.ledger("B260", covers="ftheta.models.NARXForecaster")
@pytest.mark.ledger("B261", covers="ftheta.models.StateSpaceForecaster")
@pytest.mark.parametrize(
    ("cls", "settings"),
    [
        (ftheta.NARXForecaster, {"order": 2, "input_order": 1}),
        (ftheta.NARXForecaster, {"order": 2, "input_order": 1, "parallel": True}),
        (ftheta.StateSpaceForecaster, {}),
        (ftheta.StateSpaceForecaster, {"innovations": False}),
    ],
)
def test_networks_simulate_a_plant_from_its_input(cls, settings):
    frame = plant(700)
    model = cls(
        target="y",
        known_ahead=("u",),
        horizon=100,
        lags=20,
        epochs=40,
        calibration=0,
        noise=0.0,
        random_state=0,
        **settings,
    ).fit(frame[:500])
    future = frame[400:].copy()
    future.loc[500:, "y"] = np.nan
    simulated = model.predict(future, horizon=200)
    error = np.sqrt(np.mean((simulated - frame["y"][500:]) ** 2))
    assert error < 0.25 * frame["y"].std()


def test_white_errors_pass_and_others_do_not():
    from statsmodels.stats.diagnostic import acorr_ljungbox

    rng = np.random.default_rng(0)
    e, u = rng.normal(size=400), rng.normal(size=400)
    late = 0.5 * np.concatenate([np.zeros(3), u[:-3]]) + e
    white, red = models.ResidualTests.of(e, {"u": u}), models.ResidualTests.of(lfilter([1], [1, -0.5], e))
    for found, values in ((white, e), (red, lfilter([1], [1, -0.5], e))):
        truth = acorr_ljungbox(values - values.mean(), lags=[20], return_df=True)["lb_pvalue"].iloc[0]
        assert found.p == pytest.approx(float(truth), rel=1e-9)
    assert white.p > 0.05 > red.p and "look white" in white.caption and "not white" in red.caption
    assert int(np.argmax(np.abs(models.ResidualTests.of(late, {"u": u}).cross["u"]))) == 3
    for sign in (1, -1):  # a slow input acts at several lags
        slow = lfilter([1], [1, -0.9], u)
        found = models.ResidualTests.of(e + sign * 0.3 * slow, {"u": slow, "other": rng.normal(size=400)})
        assert found.caption.endswith("; they depend on u.")
    assert white.auto[0] == pytest.approx(np.corrcoef(e[1:], e[:-1])[0, 1], abs=0.01)


def test_a_forecaster_that_misses_a_lag_leaves_it_in_its_errors():
    rng = np.random.default_rng(0)
    y = lfilter([1], [1, -0.5, 0.4], rng.normal(size=600))
    short, enough = (ftheta.ARForecaster(lags=p, log=False, difference=0, calibration=0).fit(y[:400]) for p in (1, 2))
    late = pd.DataFrame(y)[400:]
    assert explain.run("residual-tests", short, late).p < 0.01 < explain.run("residual-tests", enough, late).p
