"""Rejection: how much more often the answers are right where the least sure rows get none.

    coverage(t) = share of rows with max_k p_k >= t,      accuracy(t) = share of these that are right

By Chow's rule no other order of rejecting is better where p is the truth. Rejecting at random leaves the accuracy as it
is.
Shapes: n rows, K classes, J distinct confidences.
Reference: Chow, On optimum recognition error and reject tradeoff, IEEE Trans. Information Theory 16 (1970).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..plots import GREY, PALETTE, Figure, canvas, drawn, legend
from ..results import Result
from ._rows import scored
from ._sweep import sweep
from .intervals import wilson

__all__ = ["Rejection", "rejection"]


@dataclass(frozen=True, eq=False)
class Rejection(Result):
    """Accuracy of the rows that get an answer, as ever more of them do."""

    sure: np.ndarray  # distinct largest probabilities, falling: (J,)
    kept: np.ndarray  # rows that are at least so sure: (J,)
    right: np.ndarray  # of these, how many are right: (J,)

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

    def columns(self) -> Mapping[str, Any]:
        """The first confidence that covers 50, 60, ... 100 % of the rows."""
        at = np.searchsorted(self.kept, np.ceil(self.kept[-1] * np.arange(5, 11) / 10 - 1e-9))
        low, high = self._band(at)
        where = {"answered": self.coverage[at], "where p is at least": self.sure[at]}
        return where | {"accuracy": self.accuracy[at], "low": low, "high": high}

    def _band(self, at: np.ndarray) -> np.ndarray:
        return np.array([wilson(int(self.right[i]), int(self.kept[i])) for i in at]).T

    @drawn
    def figure(self) -> Figure:
        """Accuracy against coverage with its 95 % band, and rejecting at random."""
        at = np.unique(np.linspace(0, len(self.kept) - 1, min(len(self.kept), 400)).round().astype(int))
        (low, high), share = self._band(at), self.coverage[at]
        figure, axes = canvas(width=6.0, height=4.2)
        axes.fill_between(share, low, high, color=PALETTE[5], alpha=0.3, lw=0, label="95 % interval")
        axes.plot(share, self.accuracy[at], color=PALETTE[0], label="least sure rejected first")
        axes.axhline(self.accuracy[-1], color=GREY, lw=1, ls=(0, (4, 3)), label="rejected at random")
        bottom = max(0.0, float(low[share >= 0.1].min()) - 0.02)  # with fewer rows the band is too wide to show
        axes.set(xlim=(0, 1), ylim=(bottom, 1.005), title="Accuracy and rejection")
        axes.set(xlabel="coverage (share of rows that get an answer)", ylabel="accuracy (share of answers)")
        legend(figure)
        return figure

    @property
    def caption(self) -> str:
        half = int(np.searchsorted(self.kept, self.kept[-1] / 2))
        return (
            f"Rejection on {self.kept[-1]:,} rows: accuracy {self.accuracy[-1]:.3f} where all are answered, "
            f"{self.accuracy[half]:.3f} on the surest {100 * self.coverage[half]:.0f} %; mean error {self.area:.3f}."
        )


def rejection(y: Any, p: Any, classes: Sequence[Any] | None = None) -> Rejection:
    """The error-reject curve of predicted probabilities.

    Args:
        y: True labels (n,).
        p: Probabilities (n, K), one column per class; the likeliest is the answer.
        classes: The classes in the order of the columns; None takes the sorted labels of y.

    Example:
        >>> rejection([0, 1, 1], [0.1, 0.9, 0.4]).accuracy.tolist()
        [1.0, 0.667]
    """
    truth, q, _ = scored(y, p, classes)
    s = sweep(q.argmax(1) == truth, q.max(1).astype(np.float64))
    return Rejection(s.score, s.tp + s.fp, s.tp)
