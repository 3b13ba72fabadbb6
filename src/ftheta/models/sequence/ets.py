"""Exponential smoothing as a state-space model: level, trend and season, each moved by a share of the last error.

    y_t = l + φ b + s_{t-m} + e_t,    l <- l + φ b + α e_t,    b <- φ b + β e_t,    s_t <- s_{t-m} + γ e_t

Of logarithms it is the multiplicative model. Which parts there are, the corrected AIC decides.
Shapes: N origins, T steps, D columns; m is the season.
Reference: Hyndman, Koehler, Ord and Snyder, Forecasting with Exponential Smoothing (2008).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from scipy.optimize import minimize

from ...data.kinds.panel import Panel, filled
from ...data.kinds.series import Series
from ._forecaster import PlainForecaster

LONGEST = 1000  # steps that are fitted to, the last ones
BOUNDS = {"alpha": (1e-4, 0.9999), "beta": (1e-4, 0.9999), "gamma": (1e-4, 0.9999), "phi": (0.8, 0.98)}

State = tuple[float, float, list[float]]  # level, trend, and the values of a season


class Smooth(NamedTuple):
    """Parameters of one column."""

    alpha: float
    beta: float = 0.0
    phi: float = 0.0  # 0: no trend; 1: not damped
    gamma: float = 0.0
    m: float = 1.0  # 1: no season


class ETSForecaster(PlainForecaster):
    """Exponential smoothing: simple, Holt's and Holt-Winters', with a trend that may be damped.

    Learned: smoothing_ (D, 5): α, β, φ, γ and the season of each column.

    Args:
        trend: none, additive or damped; "auto" by the corrected AIC.
        seasonal: Whether there is a season; "auto" by the corrected AIC.

    Example:
        >>> ETSForecaster(log=False).fit(np.arange(30.0)).predict(horizon=3).round(3)
        array([30., 31., 32.])
    """

    trend: Literal["auto", "none", "additive", "damped"] = "auto"
    seasonal: bool | Literal["auto"] = "auto"

    how_fitted: ClassVar[str] = "The smoothing parameters minimize the squared errors one step ahead."
    needs_lags: ClassVar[bool] = False

    def kind(self) -> Series:
        return replace(super().kind(), difference=0, window=1)

    def learn(self, panel: Panel) -> None:
        season, n = int(panel.spec.facts["season"]), panel.n_forecast
        ys = [filled(panel.standardized(t)[max(0, t.end - LONGEST) : t.end, :n]) for t in panel.tracks]
        logs, columns = panel.spec.facts["log"], [[y[:, k].tolist() for y in ys] for k in range(n)]
        self.smoothing_ = np.array([self._chosen(c, season, bool(logs[k])) for k, c in enumerate(columns)], float)

    def _chosen(self, ys: list[list[float]], season: int, log: bool) -> Smooth:
        """A line of logarithms would grow without bound: it is taken only where asked for."""
        trends = {"auto": (0.0, 0.9) if log else (0.0, 1.0, 0.9), "none": (0.0,), "additive": (1.0,), "damped": (0.9,)}
        able = season > 1 and max(map(len, ys)) >= 2 * season + 2
        seasons = [1, season] if self.seasonal == "auto" else [season if self.seasonal else 1]
        found = [_fitted(ys, phi, m if able else 1) for phi in trends[self.trend] for m in dict.fromkeys(seasons)]
        return min(found, key=lambda pair: pair[0])[1]

    def rehearse(self) -> None:
        known, most = np.asarray(self.smoothing_, float), int(np.sum(self.input_.facts["lengths"]))
        if known.shape != (int(self.input_.facts["forecast"]), 5):
            raise ValueError(f"smoothing parameters of shape {known.shape}")
        if not ((1 <= known[:, 4]) & (known[:, 4] <= most)).all():
            raise ValueError("a season that is longer than the series, or has no step")
        super().rehearse()

    def free_run(self, pasts: Sequence[np.ndarray], ahead: np.ndarray, h: int) -> np.ndarray:
        columns = [Smooth(*row.tolist()) for row in self.smoothing_]
        made = [[_continued(p[:, k].tolist(), s, h) for k, s in enumerate(columns)] for p in pasts]
        return np.array(made).swapaxes(1, 2)


def _fitted(ys: list[list[float]], phi: float, m: int) -> tuple[float, Smooth]:
    """Corrected AIC and parameters of the smallest squared error one step ahead."""
    names = ["alpha", *(["beta"] if phi else []), *(["phi"] if 0 < phi < 1 else []), *(["gamma"] if m > 1 else [])]
    starts = {"alpha": 0.3, "beta": 0.05, "phi": 0.95, "gamma": 0.1}
    begun = [_start(y, bool(phi), m) for y in ys]

    def smooth(v: Sequence[float]) -> Smooth:
        p = dict(zip(names, map(float, v), strict=True))
        alpha = p["alpha"]
        return Smooth(alpha, alpha * p.get("beta", 0.0), p.get("phi", phi), (1 - alpha) * p.get("gamma", 0.0), m)

    def loss(v: Sequence[float]) -> float:
        return sum(_smoothed(y, smooth(v), *b)[0] for y, b in zip(ys, begun, strict=True))

    best = minimize(loss, [starts[n] for n in names], bounds=[BOUNDS[n] for n in names], method="L-BFGS-B")
    n, q = sum(map(len, ys)), len(names) + 2 + (phi > 0) + (m - 1) * (m > 1)
    aicc = n * np.log(max(best.fun / n, 1e-300)) + 2 * q + 2 * q * (q + 1) / (n - q - 1) if n > q + 1 else np.inf
    return aicc, smooth(best.x)


def _start(y: list[float], trend: bool, m: int) -> State:
    """Level, trend and season before the first step: a line with seasonal means through the first steps."""
    n = min(len(y), max(4 * m if m > 1 else 10, 10))
    t = np.arange(1, n + 1)
    x = np.column_stack([t * 1.0 if trend else np.zeros(n), *(((t - 1) % m == k) for k in range(m))])
    b, *means = np.linalg.lstsq(x, np.asarray(y[:n]), rcond=None)[0]
    level = float(np.mean(means))
    return level, float(b) if trend else 0.0, [float(v) - level for v in means]


def _smoothed(y: list[float], p: Smooth, level: float, b: float, s: list[float]) -> tuple[float, State]:
    """Sum of squared errors one step ahead, and the last state; plain floats are quickest here."""
    alpha, beta, phi, gamma, m = p.alpha, p.beta, p.phi, p.gamma, int(p.m)
    s, total = list(s), 0.0
    for t, value in enumerate(y):
        slope, i = phi * b, t % m
        e = value - level - slope - s[i]
        level += slope + alpha * e
        b = slope + beta * e
        s[i] += gamma * e
        total += e * e
    return total, (level, b, s)


def _continued(y: list[float], p: Smooth, h: int) -> np.ndarray:
    """Forecasts (h,) after y."""
    _, (level, b, s) = _smoothed(y, p, *_start(y, bool(p.phi), int(p.m)))
    slopes = np.cumsum(p.phi ** np.arange(1, h + 1)) if p.phi else np.zeros(h)
    return level + slopes * b + np.array([s[(len(y) + k) % int(p.m)] for k in range(h)])
