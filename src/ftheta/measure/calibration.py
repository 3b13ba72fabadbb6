"""Calibration: of the rows that a model is 80 % sure of, are 80 % right?

    ECE = Σ_b (n_b / n) |accuracy_b - confidence_b|,      confidence = max_k p_k,   right = (argmax_k p_k = y)

Bins b are of equal width on [0, 1], open to the left, for two classes (where confidence >= 1/2) and for more. The ECE
of a finite sample is too large on average, most of all where the model is calibrated.
Shapes: n rows, K classes, B bins.
Reference: Naeini, Cooper and Hauskrecht, Obtaining well calibrated probabilities using Bayesian binning, AAAI (2015);
Guo, Pleiss, Sun and Weinberger, On calibration of modern neural networks, ICML (2017).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import plots
from ..errors import InputError
from ..results import Result, Table
from ._rows import scored
from .intervals import wilson

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Calibration", "calibration", "ece"]


@dataclass(frozen=True, eq=False)
class Calibration(Result):
    """A reliability diagram by bin.

    Args:
        edges: Ends of the bins: (B + 1,).
        rows: Rows in each: (B,).
        confidence: Mean confidence in each, NaN where it is empty: (B,).
        accuracy: Share of right rows in each, NaN where it is empty: (B,).
        ece: Expected calibration error.
    """

    edges: np.ndarray
    rows: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray
    ece: float

    def table(self) -> Table:
        """One line a bin that has rows, with the Wilson interval of its accuracy."""
        full = np.flatnonzero(self.rows)
        low, high = self._whiskers()
        columns = {
            "from": self.edges[full],
            "to": self.edges[full + 1],
            "rows": self.rows[full],
            "confidence": self.confidence[full],
            "accuracy": self.accuracy[full],
            "low": low[full],
            "high": high[full],
        }
        return Table({name: v.tolist() for name, v in columns.items()}, self.alt)

    def figure(self) -> Figure:
        """Accuracy against confidence, and how many rows have which confidence."""
        return plots.reliability(self.edges, self.rows, self.confidence, self.accuracy, *self._whiskers(), ece=self.ece)

    @property
    def alt(self) -> str:
        """What the picture shows."""
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
        y: True labels (n,).
        p: Probabilities (n, K), a column a class.
        classes: The classes in the order of the columns; None takes the sorted labels of y.
        bins: How many.
    """
    truth, q, _ = scored(y, p, classes)
    right, sure, place = binned(truth, q, bins)
    rows = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        confidence, accuracy = (np.bincount(place, v, bins) / rows for v in (sure, right))
    error = np.nansum(rows * abs(accuracy - confidence)) / len(truth)
    return Calibration(np.linspace(0, 1, bins + 1), rows, confidence, accuracy, float(error))


def ece(y: Any, p: Any, classes: Sequence[Any] | None = None, *, bins: int = 10) -> float:
    """The expected calibration error."""
    return calibration(y, p, classes, bins=bins).ece


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
