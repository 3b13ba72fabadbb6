"""Confusion matrix: which class is taken for which.

    C_kl = number of rows of class k that are called l,      recall_k = C_kk / Σ_l C_kl,   precision_l = C_ll / Σ_k C_kl

Shapes: n rows, K classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import plots
from ..results import Result, Table
from ._rows import labelled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Confusion", "confusion"]


@dataclass(frozen=True, eq=False)
class Confusion(Result):
    """How often each true class (row) was given each answer (column).

    Args:
        classes: Names of the classes.
        counts: Rows of the data: (K, K).
    """

    classes: tuple[str, ...]
    counts: np.ndarray

    def table(self) -> Table:
        """One line a class: its rows, the share found, the share of its answers that is right, and its rival."""
        rows, right, wrong = self.counts.sum(1), self.counts.diagonal(), self._wrong()
        rival = [self.classes[k] if c.any() else None for c, k in zip(wrong, wrong.argmax(1), strict=True)]
        return Table(
            {
                "class": list(self.classes),
                "rows": rows.tolist(),
                "recall": _shares(right, rows),
                "precision": _shares(right, self.counts.sum(0)),
                "most often taken for": rival,
                "so often": [int(c) or None for c in wrong.max(1)],
            },
            self.alt,
        )

    def figure(self) -> Figure:
        """Counts and shares of each true class; above ten classes shares only."""
        return plots.confusion(self.counts, self.classes)

    @property
    def alt(self) -> str:
        """What the picture shows."""
        wrong, n, right = self._wrong(), self.counts.sum(), self.counts.trace()
        k, other = np.unravel_index(wrong.argmax(), wrong.shape)
        said = f"; the most frequent error is {self.classes[k]} taken for {self.classes[other]}, {wrong.max():,} times"
        return (
            f"Confusion matrix of {len(self.classes)} classes on {n:,} rows: "
            f"{right:,} ({100 * right / n:.1f} %) are right{said if wrong.any() else ''}."
        )

    def _wrong(self) -> np.ndarray:
        return self.counts - np.diag(self.counts.diagonal())


def confusion(y: Any, predicted: Any, classes: Sequence[Any] | None = None) -> Confusion:
    """Count which class was taken for which.

    Args:
        y: True labels (n,).
        predicted: Predicted labels (n,).
        classes: All classes, in the order to show; None takes the sorted labels of both.

    Example:
        >>> confusion(["a", "b", "b"], ["a", "b", "a"]).counts.tolist()
        [[1, 0], [1, 1]]
    """
    listed, (t, c) = labelled(classes, y=y, predicted=predicted)
    k = len(listed)
    return Confusion(tuple(map(str, listed)), np.bincount(t * k + c, minlength=k * k).reshape(k, k))


def _shares(part: np.ndarray, whole: np.ndarray) -> list[float | None]:
    return [float(a / b) if b else None for a, b in zip(part, whole, strict=True)]
