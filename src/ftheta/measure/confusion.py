"""Confusion matrix: which class is taken for which.

    C_kl = rows of class k that are predicted as l,    recall_k = C_kk / Σ_l C_kl,   precision_l = C_ll / Σ_k C_kl

Shapes: n rows, K classes.
"""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from .. import plots
from ..errors import InputError
from ..plots import Figure
from ..results import Result, counted
from ._rows import labeled, optional, two
from .intervals import wilsons


class Confusion(Result):
    """How often each true class (row) was predicted as each class (column)."""

    classes: tuple[str, ...]
    counts: np.ndarray  # rows of the data: (K, K)

    def columns(self) -> Mapping[str, Any]:
        """One row per class: its rows, recall, precision, and the class it is most confused with."""
        rows, right, wrong = self.counts.sum(1), self.counts.diagonal(), self._wrong()
        with np.errstate(invalid="ignore"):
            recall, precision = right / rows, right / self.counts.sum(0)
        rival = [self.classes[k] if c.any() else None for c, k in zip(wrong, wrong.argmax(1), strict=True)]
        rates = {"rows": rows, "recall": optional(recall), "precision": optional(precision)}
        rivals = {"most confused with": rival, "count": [int(c) or None for c in wrong.max(1)]}
        return {"class": list(self.classes), **rates, **rivals}

    def figure(self) -> Figure:
        return plots.confusion(self.counts, self.classes)

    @property
    def caption(self) -> str:
        wrong, n, right = self._wrong(), self.counts.sum(), self.counts.trace()
        k, other = np.unravel_index(wrong.argmax(), wrong.shape)
        times = counted(int(wrong.max()), "time")
        most = f"; the most frequent error is {self.classes[k]} taken for {self.classes[other]}, {times}"
        rest = f"{right:,} ({100 * right / n:.1f} %) are right{most if wrong.any() else ''}."
        return f"Confusion matrix of {len(self.classes)} classes on {n:,} rows: {rest}"

    def _wrong(self) -> np.ndarray:
        return self.counts - np.diag(self.counts.diagonal())


def confusion(y: Any, predicted: Any, classes: Sequence[Any] | None = None) -> Confusion:
    """Count which class was taken for which.

    Example:
        >>> confusion(["a", "b", "b"], ["a", "b", "a"]).counts.tolist()
        [[1, 0], [1, 1]]
    """
    listed, (t, c) = labeled(classes, y=y, predicted=predicted)
    k = len(listed)
    return Confusion(tuple(map(str, listed)), np.bincount(t * k + c, minlength=k * k).reshape(k, k))


class AtThreshold(Confusion):
    """The confusion matrix of two classes where the second is predicted above a threshold."""

    threshold: float = 0.5

    tn = property(lambda self: int(self.counts[0, 0]))
    fp = property(lambda self: int(self.counts[0, 1]))
    fn = property(lambda self: int(self.counts[1, 0]))
    tp = property(lambda self: int(self.counts[1, 1]))
    recall = sensitivity = property(lambda self: self.tp / (self.tp + self.fn))
    specificity = property(lambda self: self.tn / (self.tn + self.fp))
    fpr = property(lambda self: self.fp / (self.tn + self.fp))
    precision = property(lambda self: self.tp / (self.tp + self.fp) if self.tp + self.fp else float("nan"))
    accuracy = property(lambda self: (self.tp + self.tn) / self.counts.sum())

    def columns(self) -> Mapping[str, Any]:
        """Each rate with its Wilson interval of 95 %."""
        (tn, fp), (fn, tp) = self.counts.tolist()
        part, total = [tp, tn, fp, tp, tp + tn], [tp + fn, tn + fp, tn + fp, tp + fp, tn + fp + fn + tp]
        names = ["sensitivity (recall)", "specificity", "false positive rate", "precision", "accuracy"]
        low, high = map(optional, wilsons(part, total))
        value = [k / m if m else None for k, m in zip(part, total, strict=True)]
        rows = [f"{k} of {m}" for k, m in zip(part, total, strict=True)]
        return {"share": names, "rows": rows, "value": value, "low": low, "high": high}

    @property
    def caption(self) -> str:
        return (
            f"Confusion matrix at threshold {self.threshold:.4g}: of class {self.classes[1]} {self.tp:,} rows found "
            f"and {self.fn:,} missed, of class {self.classes[0]} {self.tn:,} left alone and {self.fp:,} false alarms."
        )


def at_threshold(y: Any, p: Any, threshold: float = 0.5, classes: Sequence[Any] | None = None) -> AtThreshold:
    """Count what is found and missed where the second class is predicted above a threshold.

    Args:
        threshold: Rows with a probability above it are predicted as the second class.

    Example:
        >>> at_threshold([0, 0, 1, 1], [0.1, 0.6, 0.6, 0.9], 0.7).sensitivity
        0.5
    """
    positive, score, listed = two(y, p, classes)
    if not isinstance(threshold, Real) or threshold != threshold:
        raise InputError(f"threshold is {threshold!r}; pass a number.")
    counts = np.bincount(2 * positive + (score > threshold), minlength=4).reshape(2, 2)
    return AtThreshold((str(listed[0]), str(listed[1])), counts, float(threshold))
