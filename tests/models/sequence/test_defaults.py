"""Defaults of forecasters: what chooses penalties and noise, and how often intervals hold."""

import numpy as np
import pytest
from scipy.special import ndtr

from ftheta.models import ARForecaster, ETSForecaster, KernelRidgeForecaster, MLPForecaster
from ftheta.models.sequence import _forecaster
from ftheta.models.sequence.kernel_ridge import unexplained


def logistic_map(n):
    """x <- 3.8 x (1 - x): without noise."""
    x = [0.3]
    for _ in range(n - 1):
        x.append(3.8 * x[-1] * (1 - x[-1]))
    return np.array(x)


def test_leave_one_out_errors_are_those_of_models_without_the_row():
    y = np.sin(np.arange(40) / 2) + 0.1 * np.random.default_rng(0).normal(size=40)
    made = KernelRidgeForecaster(lags=3, log=False, difference=0, calibration=0).fit(y)
    z = (y - y.mean()) / y.std()
    x, t = np.stack([z[k : len(z) - 3 + k] for k in range(3)], 1), z[3:]
    gram = np.exp(-made.gamma_ * ((x[:, None] - x) ** 2).sum(2))
    tried = {}
    for gamma in np.geomspace(0.03, 10, 6) / 3:
        gram = np.exp(-gamma * ((x[:, None] - x) ** 2).sum(2))
        for l2 in np.geomspace(1e-8, 1.0, 9):
            errors = []
            for i in range(len(x)):
                rest = np.delete(np.arange(len(x)), i)
                penalty = len(x) * l2 * np.eye(len(rest))
                coef = np.linalg.solve(gram[np.ix_(rest, rest)] + penalty, t[rest])
                errors.append(abs(t[i] - gram[i, rest] @ coef))
            tried[gamma, l2] = np.mean(errors)
    assert (made.gamma_, made.l2_) == pytest.approx(min(tried, key=tried.__getitem__), rel=1e-9)


def test_noise_on_lags_follows_what_lags_do_not_explain():
    """A map without noise is explained, white noise is not: its typical error is its deviation."""
    few = {"hidden": (2,), "epochs": 1, "lags": 2, "log": False, "difference": 0, "calibration": 0, "random_state": 0}
    white = np.random.default_rng(0).normal(size=400)
    assert MLPForecaster(**few).fit(logistic_map(300)).noise_ == 0.05
    assert MLPForecaster(**few).fit(white).noise_ == 0.6
    assert MLPForecaster(noise=0.3, **few).fit(white).noise_ == 0.3
    kind = MLPForecaster(**few)
    assert unexplained(kind.kind().check(white, kind)) == pytest.approx(1.0, abs=0.15)


def test_a_trend_of_logarithms_levels_off():
    y = np.exp(np.arange(40) / 10)
    far = ETSForecaster(log=True, calibration=0).fit(y)
    assert far.smoothing_[0, 2] < 1 and far.predict(horizon=200)[-1] < y[-1] * np.exp(0.1 * 0.98 / 0.02) * 1.01
    assert ETSForecaster(log=True, trend="additive", calibration=0).fit(y).smoothing_[0, 2] == 1


@pytest.mark.middle
@pytest.mark.parametrize("refits", [5, 1], ids=["as of cheap models", "as of networks"])
def test_intervals_of_short_series_hold_what_they_promise(refits, monkeypatch):
    """Random walks of 60 steps: k ahead, the next value is normal around the last with variance k. By the normal
    quantile too few are held; with one run for every lead far too many."""
    monkeypatch.setattr(_forecaster, "REFITS", refits)
    held = {(rule, level): [] for rule in ("own", "normal", "one") for level in (0.8, 0.95)}
    for seed in range(150):
        y = np.random.default_rng(seed).normal(size=60).cumsum()
        made = ARForecaster(lags=1, log=False, difference=1, horizon=6).fit(y)
        runs = {"own": made.runs_, "normal": 1e9 * made.runs_, "one": np.full(len(made.runs_), 15 / 12)}
        for (rule, level), shares in held.items():
            made.runs_ = runs[rule]
            low, high = ((made.predict_interval(level=level).T - y[-1]) / np.sqrt(np.arange(1, 7))).clip(-9, 9)
            shares.append((ndtr(high) - ndtr(low)).mean())
    for level in (0.8, 0.95):
        assert level - 0.01 < np.mean(held["own", level]) < level + 0.05
        assert np.mean(held["normal", level]) < level - 0.01
        assert np.mean(held["one", level]) > (level + 1) / 2


@pytest.mark.parametrize("cls", [ARForecaster, KernelRidgeForecaster, MLPForecaster])
def test_errors_are_those_of_models_that_know_nothing_of_the_steps_they_are_measured_on(cls, monkeypatch):
    """Logarithm, difference, season and scale of the first fit are those that the first rows alone would get."""
    seen = {}
    monkeypatch.setattr(cls, "measured", _kept(cls.measured, seen))
    t = np.arange(96)
    y = (50 + t) * (1.2 + np.sin(np.pi * t / 6)) * np.exp(0.03 * np.random.default_rng(0).normal(size=96))
    y[72:] = 40 + 1e-3 * y[72:]
    more = {"hidden": (2,), "epochs": 1, "noise": 0.1} if cls is MLPForecaster else {}
    made, first = cls(season=12, **more).fit(y), cls(season=12, calibration=0, **more).fit(y[:72])
    for name in ("log", "difference", "season", "window", "mean", "scale"):
        np.testing.assert_array_equal(seen["facts"][name], first.input_.facts[name])
    assert (made.input_.facts["scale"] != seen["facts"]["scale"]).any()
    log, scale = made.input_.facts["log"][0], made.input_.facts["scale"][0, 0]
    truth, forecast = (np.log(v) if log else v for v in (y[72:84], first.predict(horizon=12)))
    if cls is not MLPForecaster:  # its seed is drawn anew
        np.testing.assert_allclose(seen["errors"][0, :4, 0], ((truth - forecast) / scale)[:4], rtol=1e-6)


def _kept(measured, seen):
    def keep(self, panel, begin, stop):
        found = measured(self, panel, begin, stop)
        if begin == 72:
            seen.update(facts=dict(self.input_.facts), errors=found)
        return found

    return keep
