"""Calibration: of the rows that a model is 80 % sure of, are 80 % right?

    ECE = Σ_b (n_b / n) |accuracy_b - confidence_b|,      confidence = max_k p_k,   right = (argmax_k p_k = y)

Bins b are of equal width on [0, 1], open to the left. The ECE of a finite sample is too large on average, most of all
where the model is calibrated.
Shapes: n rows, K classes, B bins.
Reference: Guo, Pleiss, Sun and Weinberger, On calibration of modern neural networks, ICML (2017).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..plots import GREY, PALETTE, Figure, canvas, drawn
from ..results import Result
from ._rows import scored
from .intervals import wilson

__all__ = ["Calibration", "calibration"]


@dataclass(frozen=True, eq=False)
class Calibration(Result):
    """A reliability diagram by bin."""

    edges: np.ndarray  # ends of the bins: (B + 1,)
    rows: np.ndarray  # in each: (B,)
    confidence: np.ndarray  # mean of each, NaN where it is empty: (B,)
    accuracy: np.ndarray  # share of right rows in each, NaN where it is empty: (B,)
    ece: float  # expected calibration error

    def columns(self) -> Mapping[str, Any]:
        """One row per bin that has rows, with the Wilson interval of its accuracy."""
        full = np.flatnonzero(self.rows)
        low, high = self._whiskers()
        ends = {"from": self.edges[full], "to": self.edges[full + 1], "rows": self.rows[full]}
        shares = {"confidence": self.confidence, "accuracy": self.accuracy, "low": low, "high": high}
        return ends | {name: v[full] for name, v in shares.items()}

    @drawn
    def figure(self) -> Figure:
        figure, (upper, lower) = canvas(2, across=1, width=5.4, height=2.8, sharex=True, height_ratios=(3, 1))
        full, (low, high) = self.rows > 0, self._whiskers()
        upper.plot((0, 1), (0, 1), color=GREY, lw=1, ls=(0, (4, 3)), label="perfect", zorder=1)
        upper.vlines(self.confidence[full], low[full], high[full], color=PALETTE[0], lw=1.4, label="95 % interval")
        upper.plot(self.confidence[full], self.accuracy[full], "o-", color=PALETTE[0], ms=5, lw=1.2, label="model")
        upper.set(xlim=(0, 1), ylim=(0, 1.02), title=f"Calibration (ECE {self.ece:.3f})", ylabel="accuracy (share)")
        upper.legend(loc="best")
        lower.bar(self.edges[:-1], self.rows, np.diff(self.edges), align="edge", color=PALETTE[5], edgecolor="white")
        lower.set(xlabel="confidence (probability of the predicted class)", ylabel="rows")
        return figure

    @property
    def caption(self) -> str:
        n = self.rows.sum()
        sure, right = (np.nansum(v * self.rows) / n for v in (self.confidence, self.accuracy))
        return (
            f"Calibration on {n:,} rows: mean confidence {sure:.3f}, accuracy {right:.3f}, "
            f"expected calibration error {self.ece:.3f} over {len(self.rows)} bins of equal width."
        )

    def _whiskers(self) -> tuple[np.ndarray, np.ndarray]:
        right = np.nan_to_num(self.accuracy * self.rows).round().astype(int)
        both = [wilson(k, n) if n else (np.nan, np.nan) for k, n in zip(right, self.rows, strict=True)]
        return np.array(both)[:, 0], np.array(both)[:, 1]


def calibration(y: Any, p: Any, classes: Sequence[Any] | None = None, *, bins: int = 10) -> Calibration:
    """Confidence against accuracy, in bins of equal width.

    Args:
        bins: Number of bins.
    """
    truth, q, _ = scored(y, p, classes)
    right, sure, place = binned(truth, q, bins)
    rows = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        confidence, accuracy = (np.bincount(place, v, bins) / rows for v in (sure, right))
    error = np.nansum(rows * abs(accuracy - confidence)) / len(truth)
    return Calibration(np.linspace(0, 1, bins + 1), rows, confidence, accuracy, float(error))


def binned(truth: np.ndarray, p: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether each row is right, its confidence, and its bin: (n,), (n, K) -> (n,), (n,), (n,)."""
    if bins < 1:
        raise InputError(f"bins is {bins}; at least one bin is needed.")
    sure = p.max(1).astype(np.float64)
    return p.argmax(1) == truth, sure, np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], sure)


def gaps(truth: np.ndarray, p: np.ndarray, bins: int = 10) -> Iterator[np.ndarray]:
    """What each row adds to the gap of each bin that has rows: B' times (n,)."""
    right, sure, place = binned(truth, p, bins)
    return ((right - sure) * (place == b) for b in np.unique(place))
