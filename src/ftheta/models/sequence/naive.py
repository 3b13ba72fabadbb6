"""Naive forecasts: the last value, the last season, a line, or the mean; what every other forecast has to beat.

    last: ŷ_{T+k} = y_T,    seasonal: ŷ_{T+k} = y_{T+k-m⌈k/m⌉},    drift: y_T + k (y_T - y_1)/(T - 1),    mean: ȳ

Shapes: N origins, T steps, D columns, h steps ahead; m is the season.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from ...data.kinds.panel import Panel
from ...data.kinds.series import Series
from ._forecaster import PlainForecaster


class NaiveForecaster(PlainForecaster):
    """Repeat what was.

    Args:
        method: last, seasonal, drift or mean; "auto": seasonal where there is a season, else last.

    Example:
        >>> NaiveForecaster(season=4).fit([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]).predict(horizon=5)
        array([ 9., 10., 11., 12.,  9.])
    """

    method: Literal["auto", "last", "seasonal", "drift", "mean"] = "auto"

    how_fitted: ClassVar[str] = "Nothing is fitted: the past is repeated."
    needs_lags: ClassVar[bool] = False

    def kind(self) -> Series:
        return replace(super().kind(), log=False, difference=0, window=1)

    def learn(self, panel: Panel) -> None:
        """Nothing."""

    def free_run(self, pasts: Sequence[np.ndarray], ahead: np.ndarray, h: int) -> np.ndarray:
        n, season = int(self.input_.facts["forecast"]), int(self.input_.facts["season"])
        return np.stack([self._continued(past[:, :n], season, np.arange(1, h + 1)) for past in pasts])

    def _continued(self, y: np.ndarray, season: int, k: np.ndarray) -> np.ndarray:
        """Values (h, D) after y (T, D)."""
        how = self.method if self.method != "auto" else "seasonal"
        if how == "mean":
            return np.repeat(y.mean(0)[None], len(k), 0)
        if how == "drift":
            return y[-1] + k[:, None] * (y[-1] - y[0]) / max(len(y) - 1, 1)
        m = season if how == "seasonal" and len(y) >= season else 1
        return y[len(y) - m + (k - 1) % m]
