"""ROC and precision-recall curves: what every threshold of a score would give.

    TPR = TP / P (recall)      FPR = FP / N      precision = TP / (TP + FP)

One curve for the second of two classes; of more, one against the rest for each class that is in y.
Shapes: n rows, K classes, C curves, J distinct scores of a curve.
Reference: Fawcett, An introduction to ROC analysis, Pattern Recognition Letters 27 (2006); Davis and Goadrich, The
relationship between precision-recall and ROC curves, ICML (2006).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError
from ..plots import GREY, PALETTE, Figure, canvas, drawn, legend, short
from ..results import Result
from ._rows import scored
from ._sweep import Sweep, ap_of, auc_of, sweeps

__all__ = ["PrecisionRecall", "Roc", "precision_recall", "roc"]

MAX_POINTS = 400  # drawn of a line
GRID = np.linspace(0, 1, 201)


@dataclass(frozen=True, eq=False)
class _Curves(Result):
    """Two rates over all thresholds, one curve per class."""

    names: tuple[str, ...]  # the positive class of each curve
    n: int  # rows
    positives: np.ndarray  # rows of that class: (C,)
    x: tuple[np.ndarray, ...]  # from 0 to 1: C arrays (J + 1,)
    y: tuple[np.ndarray, ...]  # C arrays (J + 1,)
    areas: np.ndarray  # (C,)

    title: ClassVar[str]
    area: ClassVar[tuple[str, str]]  # name of the area, and what it is called in a legend
    labels: ClassVar[tuple[str, str]]
    style: ClassVar[str] = "default"

    @property
    def chance(self) -> tuple[float, float]:
        """Height of the line of chance at its ends, and the area below it."""
        raise NotImplementedError

    def mean(self) -> np.ndarray:
        """The mean of all curves on a grid."""
        raise NotImplementedError

    def columns(self) -> Mapping[str, Any]:
        return {"class": list(self.names), "rows": self.positives.tolist(), self.area[0]: self.areas.tolist()}

    @drawn
    def figure(self) -> Figure:
        """One line per class, up to seven; beyond, their mean."""
        short_name, (low, high) = self.area[1], self.chance
        lines = {
            f"{name} ({short_name} {area:.3f})": (x, y)
            for name, area, x, y in zip(self.names, self.areas, self.x, self.y, strict=True)
        }
        if len(self.names) > len(PALETTE):
            lines = {f"mean of {len(self.names)} classes ({short_name} {self.areas.mean():.3f})": (GRID, self.mean())}
        figure, axes = canvas(width=5.4, height=5.2)
        for name, (x, y) in lines.items():
            keep = np.unique(np.linspace(0, len(x) - 1, min(len(x), MAX_POINTS)).round().astype(int))
            axes.plot(x[keep], y[keep], drawstyle=self.style, clip_on=False, label=short(name))
        axes.plot((0, 1), (low, high), color=GREY, lw=1, ls=(0, (4, 3)), label="chance", zorder=1)
        axes.set(
            xlim=(0, 1), ylim=(0, 1), aspect="equal", title=self.title, xlabel=self.labels[0], ylabel=self.labels[1]
        )
        legend(figure, width=60)
        return figure

    @property
    def caption(self) -> str:
        name, areas = self.area[0], self.areas
        low, high = int(areas.argmin()), int(areas.argmax())
        text = (
            f"{name} {areas[0]:.3f} for class {self.names[0]}"
            if len(areas) == 1
            else f"mean {name} {areas.mean():.3f} over {len(areas)} classes, "
            f"from {areas[low]:.3f} ({self.names[low]}) to {areas[high]:.3f} ({self.names[high]})"
        )
        return f"{self.title} on {self.n:,} rows: {text}; chance is {np.mean(self.chance):.3g}."


class Roc(_Curves):
    """ROC curves: `x` is the false positive rate, `y` the true positive rate."""

    title, area = "ROC", ("ROC AUC", "AUC")
    labels = "false positive rate (share of negatives)", "true positive rate (share of positives)"
    fpr = property(lambda self: self.x)
    tpr = property(lambda self: self.y)

    @property
    def chance(self) -> tuple[float, float]:
        return 0.0, 1.0

    def mean(self) -> np.ndarray:
        found = np.mean([np.interp(GRID, x, y) for x, y in zip(self.x, self.y, strict=True)], axis=0)
        found[0] = 0
        return found


class PrecisionRecall(_Curves):
    """Precision-recall curves: `x` is the recall, `y` the precision of all rows down to the score that gives it."""

    title, area, style = "Precision and recall", ("average precision", "AP"), "steps-pre"
    labels = "recall (share of positives found)", "precision (share of the found that are positive)"
    recall = property(lambda self: self.x)
    precision = property(lambda self: self.y)

    @property
    def chance(self) -> tuple[float, float]:
        share = float(self.positives.mean() / self.n)
        return share, share

    def mean(self) -> np.ndarray:
        return np.mean([y[np.searchsorted(x, GRID)] for x, y in zip(self.x, self.y, strict=True)], axis=0)


def roc(y: Any, p: Any, classes: Sequence[Any] | None = None) -> Roc:
    """The ROC curves of predicted probabilities.

    Args:
        y: True labels (n,).
        p: Probabilities (n, K), one column per class.
        classes: The classes in the order of the columns; None takes the sorted labels of y.
    """
    names, n, found = _swept(y, p, classes)
    fpr, tpr = (tuple(np.append(0, v) / v[-1] for v in side) for side in ([s.fp for s in found], [s.tp for s in found]))
    return Roc(names, n, np.array([s.tp[-1] for s in found]), fpr, tpr, np.array([auc_of(s) for s in found]))


def precision_recall(y: Any, p: Any, classes: Sequence[Any] | None = None) -> PrecisionRecall:
    """The precision-recall curves of predicted probabilities; arguments as in `roc`."""
    names, n, found = _swept(y, p, classes)
    recall = tuple(np.append(0, s.tp) / s.tp[-1] for s in found)
    precision = tuple(np.append(1, s.tp / (s.tp + s.fp)) for s in found)
    areas = np.array([ap_of(s) for s in found])
    return PrecisionRecall(names, n, np.array([s.tp[-1] for s in found]), recall, precision, areas)


def _swept(y: Any, p: Any, classes: Sequence[Any] | None) -> tuple[tuple[str, ...], int, list[Sweep]]:
    truth, q, listed = scored(y, p, classes)
    seen = np.unique(truth)
    if len(seen) < 2:
        raise InputError(f"All rows of y are {listed[seen[0]]!s}; a curve over thresholds needs rows of two classes.")
    names = (str(listed[1]),) if len(listed) == 2 else tuple(str(listed[k]) for k in seen)
    return names, len(truth), [s for _, s in sweeps(truth, q)]
