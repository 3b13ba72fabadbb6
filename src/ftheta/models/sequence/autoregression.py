"""Autoregression: the next value is linear in those before it; order and difference by the corrected AIC.

    z_t = c + Σ_k A_k z_{t-k} + B u_t + e_t,     k = 1 ... p;     several columns: a vector autoregression

Shapes: N origins, T steps, D columns, K inputs u that are known ahead, p lags.
Reference: Box, Jenkins, Reinsel and Ljung, Time Series Analysis (2015), chapter 7.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ...data.kinds.panel import Panel
from ...formulas.autoregression import aicc, autoregression
from ._forecaster import PlainForecaster
from ._origins import run_windows

MAX_ORDER = 30


class ARForecaster(PlainForecaster):
    """Linear forecasts; with `known_ahead`, also of inputs that act at once (ARX). `lags="auto"` chooses the order.

    Learned: coef_ (1 + p D + K, D) of standardized values, the constant first.

    Example:
        >>> y = 3 + 0.5 ** np.arange(20.0)
        >>> ARForecaster(lags=1, log=False, difference=0).fit(y).predict(horizon=2).round(6)
        array([3.000001, 3.      ])
    """

    how_fitted: ClassVar[str] = "The coefficients are those of least squares."

    def learn(self, panel: Panel) -> None:
        n = panel.n_forecast
        season, longest = int(panel.spec.facts["season"]), max(t.end for t in panel.tracks)
        columns = 1 + panel.spec.shape[0] - n
        most = min(max(MAX_ORDER, season + 1), max(1, (longest - columns) // (3 * n + 1)))
        orders = range(0, most + 1) if self.lags == "auto" else [self.lags]
        gap = np.full((max(orders), panel.spec.shape[0]), np.nan)
        z = np.concatenate([a for t in panel.tracks for a in (gap, panel.standardized(t)[: t.end])])
        y, u = z[:, :n], z[:, n:]
        before = _known_before(y)
        if len(orders) > 1:
            orders = [p for p in orders if np.sum(before >= p) + p >= (3 * n + 1) * p + columns] or [0]
        same = before >= max(orders)  # the same steps for every order
        if not same.any():
            raise panel.too_short()

        def score(p: int) -> float:
            residuals = autoregression(y, p, u)[1][same[p:]]
            return sum(aicc(residuals[:, k], columns + p * n) for k in range(n))

        self.order_ = min(orders, key=score) if len(orders) > 1 else orders[0]
        self.coef_ = autoregression(y, self.order_, u)[0]

    def _least(self, panel: Panel) -> int:
        return int(panel.spec.facts["difference"]) + max(getattr(self, "order_", 1), 1)

    def rehearse(self) -> None:
        n, c = int(self.input_.facts["forecast"]), self.input_.shape[0]
        if np.shape(self.coef_) != (1 + int(self.order_) * n + c - n, n):
            raise ValueError(f"coefficients of shape {np.shape(self.coef_)} for order {self.order_}")
        super().rehearse()

    def free_run(self, pasts: Sequence[np.ndarray], ahead: np.ndarray, h: int) -> np.ndarray:
        n, p = int(self.input_.facts["forecast"]), self.order_
        constant, lags, known = np.split(self.coef_, [1, 1 + p * n])  # of the lags the latest first
        coef = np.concatenate([*lags.reshape(p, n, n)[::-1], known])
        return run_windows(pasts, ahead, n, p, lambda x: constant + x @ coef)


def _known_before(y: np.ndarray) -> np.ndarray:
    """How many rows without a gap precede each known row; -1 for one that is not known: (T,)."""
    known, at = np.isfinite(y).all(1), np.arange(len(y))
    last_gap = np.maximum.accumulate(np.where(known, -1, at))
    return np.where(known, at - last_gap - 1, -1)
