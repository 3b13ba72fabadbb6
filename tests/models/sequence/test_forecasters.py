"""Forecasters against least squares, statsmodels, scikit-learn and refits; and that no forecast sees what comes after
its origin."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import norm, t
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from statsmodels.tsa.ar_model import AutoReg
from statsmodels.tsa.exponential_smoothing.ets import ETSModel

from ftheta import explain, models, train
from ftheta.errors import InputError
from ftheta.models.sequence.ets import Smooth, _continued, _smoothed, _start
from ftheta.models.sequence.kernel_ridge import kernel, left_out

RNG = np.random.default_rng(0)
T = np.arange(120)
WAVE = 10 + np.sin(T / 4) + 0.1 * RNG.normal(size=120)
PLAIN = {"log": False, "difference": 0}


def monthly(values, start="2012-01-01"):
    return pd.Series(np.asarray(values, float), pd.date_range(start, periods=len(values), freq="MS"), name="y")


# ---- naive


@pytest.mark.parametrize(
    ("method", "expected"),
    [("last", [7, 7, 7, 7]), ("seasonal", [5, 9, 7, 5]), ("drift", [8, 9, 10, 11]), ("mean", [4.0] * 4)],
)
def test_naive_forecasts_by_hand(method, expected):
    y = [1.0, 2, 3, 1, 5, 9, 7] if method == "seasonal" else [1.0, 2, 3, 4, 4, 7, 7][: 7 if method != "drift" else 7]
    made = models.NaiveForecaster(method=method, season=3).fit(y).predict(horizon=4)
    np.testing.assert_allclose(made, expected)


# ---- autoregression


@pytest.mark.parametrize("lags", [1, 3])
def test_forecasts_of_an_autoregression_are_those_of_statsmodels(lags):
    made = models.ARForecaster(lags=lags, **PLAIN).fit(WAVE).predict(horizon=8)
    theirs = AutoReg(WAVE, lags).fit().predict(len(WAVE), len(WAVE) + 7)
    np.testing.assert_allclose(made, theirs, rtol=1e-8)


def test_the_order_is_chosen_on_the_same_steps():
    """A series that two lags explain: the order does not depend on how many steps each order would lose."""
    rng, y = np.random.default_rng(3), [0.0, 0.0]
    for _ in range(300):
        y.append(0.5 * y[-1] - 0.6 * y[-2] + rng.normal())
    assert models.ARForecaster(**PLAIN, calibration=0).fit(y).order_ == 2
    gaps = np.array(y)
    gaps[rng.choice(300, 30, replace=False)] = np.nan
    assert models.ARForecaster(**PLAIN, calibration=0).fit(gaps).order_ in (2, 3)


def test_an_input_known_ahead_acts_at_its_own_step():
    """Without noise the coefficients are exact, so a forecast is right only if each input is at its step."""
    u, y = RNG.normal(size=90), [0.0]
    for k in range(1, 90):
        y.append(1 + 0.5 * y[-1] + 2 * u[k])
    frame = pd.DataFrame({"y": y, "u": u})
    cut = frame.copy()
    cut.loc[80:, "y"] = np.nan
    for model in (models.ARForecaster(lags=1, **PLAIN), models.ARForecaster(lags=1, difference=1, log=False)):
        if model.difference:  # of differences the input acts as a difference
            cut["u"] = np.concatenate([[0.0], np.diff(u)])
            model = models.ARForecaster(lags=1, log=False, difference=1)
        made = model.set_params(known_ahead=("u",)).fit(cut).predict(cut, horizon=10)
        np.testing.assert_allclose(made, y[80:], rtol=1e-6)


def test_a_horizon_beyond_the_known_columns_says_how_far_they_go():
    frame = pd.DataFrame({"y": WAVE, "u": WAVE**2})
    frame.loc[110:, "y"] = np.nan
    frame.loc[116:, "u"] = np.nan
    model = models.ARForecaster(known_ahead=("u",), **PLAIN).fit(frame)
    assert model.predict(frame, horizon=6).shape == (6,)
    with pytest.raises(InputError, match=r"horizon=7, but the columns known ahead \(u\) are given for 6 steps"):
        model.predict(frame, horizon=7)


# ---- exponential smoothing


@pytest.mark.parametrize(("phi", "m"), [(0.0, 1), (1.0, 1), (0.9, 1), (0.0, 4), (0.9, 4)])
def test_the_recursion_of_exponential_smoothing_is_that_of_statsmodels(phi, m):
    y = WAVE[:40] + 0.5 * (T[:40] % 4)
    p = Smooth(0.4, 0.1 if phi else 0.0, phi, 0.2 if m > 1 else 0.0, m)
    level, b, s = _start(y.tolist(), bool(phi), m)
    parts = {"trend": "add", "damped_trend": phi < 1, "initial_trend": b} if phi else {}
    parts |= {"seasonal": "add", "seasonal_periods": m, "initial_seasonal": s} if m > 1 else {}
    theirs = ETSModel(y, initialization_method="known", initial_level=level, **parts)
    named = {"smoothing_level": p.alpha, "smoothing_trend": p.beta, "smoothing_seasonal": p.gamma, "damping_trend": phi}
    named |= {"initial_level": level, "initial_trend": b} | {f"initial_seasonal.{k}": v for k, v in enumerate(s)}
    fit = theirs.smooth([named[name] for name in theirs.param_names])
    assert _smoothed(y.tolist(), p, level, b, s)[0] == pytest.approx(fit.sse, rel=1e-8)
    np.testing.assert_allclose(_continued(y.tolist(), p, 6), fit.forecast(6), rtol=1e-8)


def test_the_fit_is_as_good_as_that_of_statsmodels():
    """Squared errors one step ahead with the same start; both search in the same bounds."""
    y = WAVE.tolist()
    model = models.ETSForecaster(trend="none", seasonal=False, log=False, calibration=0).fit(y)
    start = _start(((WAVE - WAVE.mean()) / WAVE.std()).tolist(), False, 1)
    z = ((WAVE - WAVE.mean()) / WAVE.std()).tolist()
    own = _smoothed(z, Smooth(*model.smoothing_[0]), *start)[0]
    grid = [_smoothed(z, Smooth(a), *start)[0] for a in np.linspace(0.01, 0.9999, 200)]
    assert own <= min(grid) * (1 + 1e-4)


# ---- kernel ridge


def test_kernel_ridge_is_that_of_scikit_learn_on_lags():
    model = models.KernelRidgeForecaster(lags=5, gamma=0.3, l2=1e-3, calibration=0, **PLAIN).fit(WAVE)
    z = (WAVE - WAVE.mean()) / WAVE.std()
    x = np.lib.stride_tricks.sliding_window_view(z, 6)
    theirs = KernelRidge(alpha=len(x) * 1e-3, kernel="rbf", gamma=0.3).fit(x[:, :5], x[:, 5])
    window, expected = z[-5:].copy(), []
    for _ in range(7):
        expected.append(theirs.predict(window[None])[0])
        window = np.append(window[1:], expected[-1])
    np.testing.assert_allclose(model.predict(horizon=7), np.array(expected) * WAVE.std() + WAVE.mean(), rtol=1e-6)


# ---- nets


@pytest.fixture(scope="module")
def lstm():
    return models.LSTMForecaster(
        hidden=6, lags=8, epochs=2, calibration=0, random_state=0, dtype="float64", **PLAIN
    ).fit(WAVE)


def test_a_free_run_that_carries_its_state_is_the_one_that_reads_everything_again(lstm):
    z = (WAVE - WAVE.mean()) / WAVE.std()
    read, expected = torch.tensor(z[-8:]), []
    for _ in range(12):
        with torch.no_grad():
            expected.append(lstm.module_(read[None, :, None])[0, -1, 0].item())
        read = torch.cat([read, torch.tensor(expected[-1:])])
    np.testing.assert_allclose(lstm.predict(horizon=12), np.array(expected) * WAVE.std() + WAVE.mean(), rtol=1e-9)


def test_a_horizon_is_the_beginning_of_a_longer_one(lstm):
    np.testing.assert_allclose(lstm.predict(horizon=3), lstm.predict(horizon=20)[:3], rtol=1e-12)


@pytest.mark.middle
@pytest.mark.parametrize("name", ["MLP", "TCN", "GRU"])
def test_nets_take_the_known_column_of_the_step_that_they_predict(name):
    """y is nothing but the input of its own step."""
    u = RNG.normal(size=200)
    frame = pd.DataFrame({"y": 3 * u, "u": u})
    frame.loc[190:, "y"] = np.nan
    cls = getattr(models, f"{name}Forecaster")
    model = cls(lags=3, known_ahead=("u",), epochs=60, noise=0, calibration=0, random_state=0, lr=0.01, **PLAIN)
    made = model.fit(frame).predict(frame, horizon=10)
    assert np.corrcoef(made, u[190:])[0, 1] > 0.98


# ---- what is learned and what is undone


@pytest.mark.parametrize("settings", [{"log": True}, {"difference": 1}, {"log": True, "difference": 12}])
def test_logarithms_and_differences_are_undone(settings):
    """A geometric series with a season: exact for an autoregression of its (seasonal) differences."""
    y = monthly(np.exp(0.02 * T + 0.2 * np.sin(2 * np.pi * T / 12)))
    model = models.ARForecaster(lags=14, calibration=0, **({"log": False, "difference": 0} | settings))
    made = model.fit(y[:96]).predict(horizon=24)
    tolerance = 1e-6 if settings.get("log") else 1e-3
    np.testing.assert_allclose(made, y[96:], rtol=tolerance)


def test_values_without_a_logarithm_count_as_missing():
    y = np.exp(0.05 * T[:60])
    model = models.ARForecaster(lags=1, log=True, difference=1, calibration=0).fit(y)
    zero = y.copy()
    zero[30] = 0.0
    np.testing.assert_allclose(model.predict(zero, horizon=3), model.predict(y, horizon=3), rtol=1e-6)
    with pytest.raises(InputError, match="values above 0"):
        models.ARForecaster(log=True).fit(zero)


def test_several_series_are_continued_each_in_its_units():
    names = np.repeat(["a", "b"], 60)
    base = np.sin(np.arange(60) / 3)
    frame = pd.DataFrame(
        {"y": np.concatenate([base, 100 + 50 * base])},
        pd.MultiIndex.from_arrays([names, np.tile(pd.date_range("2020", periods=60), 2)]),
    )
    model = models.ARForecaster(lags=2, **PLAIN).fit(frame)
    made = model.predict(horizon=6)
    expected = np.sin(np.arange(60, 66) / 3)
    np.testing.assert_allclose(made, [expected, 100 + 50 * expected], rtol=1e-6)
    interval = model.predict_interval(horizon=2)
    assert interval.shape == (2, 2, 2) and model.forecast(horizon=2).names == ("a", "b")


def test_a_series_that_is_too_short_for_its_differences_is_named():
    index = pd.MultiIndex.from_arrays([["long"] * 60 + ["short"] * 5, [*range(60), *range(5)]])
    two = pd.DataFrame({"y": np.r_[WAVE[:60], WAVE[:5]]}, index)
    assert models.ARForecaster(lags=2, **PLAIN).fit(two).predict(horizon=2).shape == (2, 2)
    with pytest.raises(InputError, match="The series 'short' has 5 steps; forecasts need 13 at least"):
        models.ARForecaster(lags=2, log=False, difference=12, calibration=0).fit(two).predict()


@pytest.mark.parametrize("freq", ["ME", "QE", "YE", "W", "2W", "B", "2D", "30min"])
def test_the_next_time_stamp_is_that_of_pandas(freq):
    index = pd.date_range("2001-03-03", periods=41, freq=freq)
    found = models.NaiveForecaster(calibration=0).fit(pd.Series(range(40), index[:40])).forecast()
    assert list(found.times[0]) == [index[40]]


# ---- nothing after the origin

EVERY = [
    models.NaiveForecaster(season=6),
    models.ARForecaster(),
    models.ETSForecaster(season=6),
    models.KernelRidgeForecaster(lags=6),
    models.CommitteeForecaster(members=("ar", "ets"), copies=1),
]


@pytest.mark.parametrize("model", EVERY, ids=lambda m: type(m).__name__)
def test_forecasts_stay_when_what_comes_after_their_origin_changes(model):
    other = WAVE.copy()
    other[105:] = 1000 * RNG.random(15)
    model = model.fit(WAVE[:80])
    first, second = (model.rolled(pd.Series(v, range(120)).iloc[80:], 5) for v in (WAVE, other))
    before = first["time"] < 105 + 5 - 5  # origins at 80, 85, ..., 100
    for name in ("predicted", "low", "high", "naive", "scale"):
        np.testing.assert_array_equal(first[name][before], second[name][before])
    assert not np.allclose(first["predicted"][-5:], second["predicted"][-5:])


def test_a_gap_is_filled_from_what_was_known_at_the_origin():
    """The last values are missing: what comes after them must not reach the forecast that starts there."""
    gap = WAVE.copy()
    gap[83:85] = np.nan
    other = gap.copy()
    other[85:] = 500.0
    model = models.ARForecaster(lags=3, **PLAIN).fit(WAVE[:80])
    first, second = (model.rolled(pd.Series(v, range(120)).iloc[80:], 5) for v in (gap, other))
    at = first["origin"] == 85
    assert at.sum() == 5
    np.testing.assert_array_equal(first["predicted"][at], second["predicted"][at])


@pytest.mark.ledger("B071", covers="ftheta.models.ARForecaster")
@pytest.mark.parametrize("refit", [True, False])
def test_a_backtest_sees_all_before_an_origin_and_nothing_after(refit):
    model = models.ARForecaster(lags=2, calibration=0, **PLAIN)
    found = model.backtest(WAVE, origins=3, horizon=4, stride=6, refit=refit)
    starts = [120 - 4 - 6 * k for k in (2, 1, 0)]
    for i, at in enumerate(starts):
        fit = AutoReg(WAVE[: at if refit else starts[0]], 2).fit()
        path = list(WAVE[:at])
        for _ in range(4):
            path.append(fit.params @ [1, path[-1], path[-2]])
        np.testing.assert_allclose(found.predicted[4 * i : 4 * i + 4], path[at:], rtol=1e-8)
    np.testing.assert_array_equal(found.y, np.concatenate([WAVE[at : at + 4] for at in starts]))
    mixed = pd.Series(WAVE, range(120)).sample(frac=1, random_state=0)
    again = model.backtest(mixed, origins=3, horizon=4, stride=6, refit=refit)
    np.testing.assert_array_equal(again.predicted, found.predicted)


# ---- intervals


def test_half_widths_follow_the_rule_of_ranks():
    """With 38 errors over their scale, the interval of 90 % takes the 36th, that of 95 % the largest; the scale itself
    is known from 19 steps, which are 19 runs of one step or 9.5 of two: Student's t over the normal distribution."""
    model = models.ARForecaster()
    errors = RNG.normal(size=(19, 2, 1)) * [[1], [3]]
    model.keep_errors([errors], steps=19)
    rms = np.sqrt((errors**2).mean(0))
    ranked = np.sort((np.abs(errors) / rms).ravel())
    for level, rank in ((0.9, 36), (0.95, 38)):
        wider = t.ppf((1 + level) / 2, [19, 9.5]) / norm.ppf((1 + level) / 2)
        np.testing.assert_allclose(model._half_widths(2, level)[:, 0], wider * ranked[rank - 1] * rms[:, 0])


def test_intervals_of_a_random_walk_grow_as_the_root_and_hold_what_they_say():
    y = np.cumsum(np.random.default_rng(1).normal(size=1500))
    model = models.NaiveForecaster(method="last", horizon=10).fit(y[:1000])
    low, high = model.predict_interval(horizon=40).T
    width = high - low
    assert (np.diff(width) >= -1e-9).all() and width[39] / width[9] == pytest.approx(np.sqrt(40 / 12), rel=0.35)
    found = model.rolled(pd.Series(y, range(1500)).iloc[1000:], 10, level=0.8)
    hit = (found["low"] <= found["y"]) & (found["y"] <= found["high"])
    assert 0.7 < hit.mean() < 0.9


def test_each_member_of_a_committee_is_trained_so_often_with_other_seeds():
    members, how = ("ar", "mlp"), {"epochs": 1, "hidden": (2,), "lags": 3}
    model = models.CommitteeForecaster(members=members, copies=2, settings=how, calibration=0, random_state=0)
    model.fit(WAVE[:30])
    assert [type(m).__name__ for m in model.members_] == ["ARForecaster"] * 2 + ["MLPForecaster"] * 2
    each = [m.predict(horizon=2) for m in model.members_]
    np.testing.assert_allclose(model.predict(horizon=2), np.mean(each, 0))
    assert np.array_equal(each[0], each[1]) and not np.array_equal(each[2], each[3])


@pytest.mark.parametrize("seed", [0, 3])
def test_intervals_of_white_noise_do_not_grow_beyond_what_was_measured(seed):
    y = np.random.default_rng(seed).normal(size=300)
    model = models.NaiveForecaster(method="mean", horizon=10, **PLAIN).fit(y)
    width = np.ptp(model.predict_interval(horizon=40), axis=-1)
    assert width[11:] == pytest.approx(width[11]) and width[11] > width[0]  # twelve were measured


def test_intervals_are_in_the_units_of_each_series():
    y = np.cumsum(np.random.default_rng(2).normal(size=200))
    panel = pd.concat({"a": monthly(y), "b": monthly(5 - 1000 * y)}).to_frame("y")
    one, both = (models.NaiveForecaster(method="last", **PLAIN).fit(x) for x in (monthly(y), panel))
    alone, together = (np.ptp(model.predict_interval(horizon=3), axis=-1) for model in (one, both))
    np.testing.assert_allclose(
        together[..., 0].ravel() if together.ndim > 2 else together.ravel(),
        np.outer([1, 1000], alone).ravel(),
        rtol=0.2,
    )


def test_a_series_too_short_for_errors_has_no_intervals():
    model = models.ARForecaster(lags=2, **PLAIN).fit([1.0, 2, 1, 3, 1, 4])
    assert model.forecast().low is None
    with pytest.raises(InputError, match="no intervals"):
        model.predict_interval()
    lags = models.KernelRidgeForecaster(lags=15, **PLAIN).fit(WAVE[:18])  # enough for the fit, not for a second one
    assert lags.forecast().low is None


# ---- what may go wrong


def test_a_committee_errs_by_the_mean_error_less_the_mean_spread():
    model = models.CommitteeForecaster(members=("ar", "ets", "naive"), copies=1, calibration=0).fit(WAVE[:100])
    mean = model.predict(horizon=20)
    each = np.stack([m.predict(horizon=20) for m in model.members_])
    np.testing.assert_allclose(mean, each.mean(0), rtol=1e-9)
    y = WAVE[100:]
    np.testing.assert_allclose((mean - y) ** 2, ((each - y) ** 2).mean(0) - ((each - mean) ** 2).mean(0), atol=1e-9)


@pytest.mark.parametrize("cls", [models.ARForecaster, models.KernelRidgeForecaster, models.MLPForecaster])
def test_a_series_shorter_than_the_lags_says_what_is_needed(cls):
    with pytest.raises(InputError, match=r"The series has 20 steps; with lags=50 at least 51 are needed"):
        cls(lags=50, **PLAIN).fit(WAVE[:20])


@pytest.mark.parametrize("model", EVERY, ids=lambda m: type(m).__name__)
def test_a_constant_series_stays_constant(model):
    np.testing.assert_allclose(model.fit(np.full(40, 3.0)).predict(horizon=4), 3.0)


def test_a_past_shorter_than_the_lags_begins_at_the_mean():
    model = models.ARForecaster(lags=3, calibration=0, **PLAIN).fit(WAVE)
    mean = WAVE.mean()
    padded = np.array([mean, mean, 12.0])
    np.testing.assert_allclose(model.predict([12.0], horizon=3), model.predict(padded, horizon=3), rtol=1e-9)


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (np.full(10, np.nan), "No row has a value of the target"),
        (pd.Series([1.0, 2], pd.to_datetime(["2020-01-01 00:00:00.1", "2020-01-01 00:00:00.2"])), "closer than"),
        (pd.Series([1.0, 2], ["2020-01-01", "soon"]), "'soon' is not a time stamp"),
    ],
)
def test_what_cannot_be_continued_is_answered_in_a_sentence(X, sentence):
    with pytest.raises(InputError, match=sentence):
        models.ARForecaster().fit(X)


def test_finer_stamps_than_those_of_fit_are_refused():
    model = models.ARForecaster().fit(monthly(WAVE))
    with pytest.raises(InputError, match="closer than the steps of the series of fit"):
        model.predict(pd.Series(WAVE, pd.date_range("2022", periods=120)))


def test_the_leave_one_out_error_in_closed_form_is_that_of_refits():
    x, y = RNG.normal(size=(12, 2)), RNG.normal(size=(12, 1))
    gram, penalty, errors = kernel(x, x, 0.5), 0.02, []
    for i in range(12):
        kept = np.delete(np.arange(12), i)
        alpha = np.linalg.solve(gram[np.ix_(kept, kept)] + 12 * penalty * np.eye(11), y[kept])
        errors.append(y[i] - gram[i, kept] @ alpha)
    ((_, found),) = left_out(x, y, 0.5, [penalty])
    np.testing.assert_allclose(found, errors, rtol=1e-9)


class Broken(train.Callback):
    """Ends a training after so many steps, wherever that is."""

    def __init__(self, steps):
        self.left = steps

    def on_step(self, ctx):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


@pytest.mark.parametrize("steps", [2, 6, 7, 9])
def test_a_training_that_was_ended_in_any_phase_goes_on_as_if_it_was_not(steps, tmp_path):
    """Three epochs of two batches before the errors are measured, one step for that, and three epochs of all rows."""
    model = models.MLPForecaster(hidden=(4,), lags=5, epochs=3, random_state=0, horizon=3, noise=0.1, **PLAIN)
    whole = clone(model).fit(WAVE)
    with pytest.raises(KeyboardInterrupt):
        clone(model).set_params(training__every=0.0).fit(WAVE, run=tmp_path / "run", callbacks=[Broken(steps)])
    again = clone(model).fit(WAVE, run=tmp_path / "run")
    np.testing.assert_array_equal(again.predict(), whole.predict())
    np.testing.assert_array_equal(again.predict_interval(), whole.predict_interval())
    assert [row["phase"] for row in whole.history_] == [1, 1, 1, 3, 3, 3]
    assert explain.curves(whole).best >= 4  # losses of the first phase are of other rows


@pytest.mark.middle
def test_a_saved_forecaster_goes_on_in_a_new_process(tmp_path):
    """A new process: nothing but the file is there."""
    y = monthly(WAVE)
    y.iloc[[30, 31, 70]] = np.nan
    model = models.CommitteeForecaster(members=("ar", "ets"), copies=1).fit(y)
    model.save(tmp_path / "model")
    code = "import sys, ftheta; print(*ftheta.load(sys.argv[1]).predict(horizon=5).tolist())"
    made = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "model")], capture_output=True, text=True, check=True
    )
    np.testing.assert_array_equal([float(v) for v in made.stdout.split()], model.predict(horizon=5))
