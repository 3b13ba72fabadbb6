"""Rejection: how much more often the answers are right where the least sure rows get none.

    coverage(t) = share of rows with max_k p_k >= t,      accuracy(t) = share of these that are right

By Chow's rule no other order of rejecting is better where p is the truth. Rejecting at random leaves the accuracy as it
is.
Shapes: n rows, K classes, J distinct confidences.
Reference: Chow, On optimum recognition error and reject tradeoff, IEEE Trans. Information Theory 16 (1970).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import plots
from ..results import Result, Table
from ._rows import scored
from ._sweep import sweep
from .intervals import wilson

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Rejection", "rejection"]


@dataclass(frozen=True, eq=False)
class Rejection(Result):
    """Accuracy of the rows that get an answer, as ever more of them do.

    Args:
        sure: Distinct largest probabilities, falling: (J,).
        kept: Rows that are at least so sure: (J,).
        right: Of these, how many are right: (J,).
    """

    sure: np.ndarray
    kept: np.ndarray
    right: np.ndarray

    @property
    def coverage(self) -> np.ndarray:
        """Share of rows with an answer: (J,)."""
        return self.kept / self.kept[-1]

    @property
    def accuracy(self) -> np.ndarray:
        """Share of the answers that is right: (J,)."""
        return self.right / self.kept

    @property
    def area(self) -> float:
        """Mean error over all coverages (AURC): each row counts with the error of those at least as sure."""
        return float(np.sum((1 - self.accuracy) * np.diff(self.kept, prepend=0)) / self.kept[-1])

    def table(self) -> Table:
        """The first confidence that covers 50, 60, ... 100 % of the rows."""
        at = np.searchsorted(self.kept, np.ceil(self.kept[-1] * np.arange(5, 11) / 10 - 1e-9))
        ends = [wilson(int(self.right[i]), int(self.kept[i])) for i in at]
        columns = {
            "answered": self.coverage[at].tolist(),
            "where p is at least": self.sure[at].tolist(),
            "accuracy": self.accuracy[at].tolist(),
            "low": [low for low, _ in ends],
            "high": [high for _, high in ends],
        }
        return Table(columns, self.alt)

    def figure(self) -> Figure:
        """Accuracy against coverage with its 95 % band, and rejecting at random."""
        at = np.unique(np.linspace(0, len(self.kept) - 1, min(len(self.kept), 400)).round().astype(int))
        ends = np.array([wilson(int(self.right[i]), int(self.kept[i])) for i in at])
        return plots.coverage(
            self.coverage[at], self.accuracy[at], ends[:, 0], ends[:, 1], title="Accuracy and rejection"
        )

    @property
    def alt(self) -> str:
        """What the picture shows."""
        half = int(np.searchsorted(self.kept, self.kept[-1] / 2))
        return (
            f"Rejection on {self.kept[-1]:,} rows: accuracy {self.accuracy[-1]:.3f} where all are answered, "
            f"{self.accuracy[half]:.3f} on the surest {100 * self.coverage[half]:.0f} %; mean error {self.area:.3f}."
        )


def rejection(y: Any, p: Any, classes: Sequence[Any] | None = None) -> Rejection:
    """The error-reject curve of predicted probabilities.

    Args:
        y: True labels (n,).
        p: Probabilities (n, K), a column a class; the likeliest is the answer.
        classes: The classes in the order of the columns; None takes the sorted labels of y.

    Example:
        >>> rejection([0, 1, 1], [0.1, 0.9, 0.4]).accuracy.tolist()
        [1.0, 0.667]
    """
    truth, q, _ = scored(y, p, classes)
    s = sweep(q.argmax(1) == truth, q.max(1).astype(np.float64))
    return Rejection(s.score, s.tp + s.fp, s.tp)
