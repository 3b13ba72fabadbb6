"""ROC and precision-recall curves: what every threshold of a score would give.

    TPR = TP / P (recall)      FPR = FP / N      precision = TP / (TP + FP)

One curve for the second of two classes; of more, one against the rest for each class that is in y.
Shapes: n rows, K classes, C curves, J distinct scores of a curve.
Reference: Fawcett, An introduction to ROC analysis, Pattern Recognition Letters 27 (2006); Davis and Goadrich, The
relationship between precision-recall and ROC curves, ICML (2006).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import plots
from ..errors import InputError
from ..results import Result, Table
from ._rows import scored
from ._sweep import Sweep, ap_of, auc_of, sweeps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PrecisionRecall", "Roc", "precision_recall", "roc"]

_LINES = 7  # more classes are drawn as their mean
_GRID = np.linspace(0, 1, 201)


@dataclass(frozen=True, eq=False)
class Roc(Result):
    """ROC curves.

    Args:
        names: The positive class of each curve: C of them.
        n: Rows.
        positives: Rows of that class: (C,).
        fpr: False positive rates, from 0 to 1: C arrays (J + 1,).
        tpr: True positive rates: C arrays (J + 1,).
        areas: Area under each curve: (C,).
    """

    names: tuple[str, ...]
    n: int
    positives: np.ndarray
    fpr: tuple[np.ndarray, ...]
    tpr: tuple[np.ndarray, ...]
    areas: np.ndarray

    def table(self) -> Table:
        """The area of each class."""
        return _areas_table(self, "ROC AUC")

    def figure(self) -> Figure:
        """One line a class, up to seven; beyond, their mean at each false positive rate."""
        lines = _labelled(self.names, self.areas, self.fpr, self.tpr, "AUC")
        if len(self.names) > _LINES:
            mean = np.mean([np.interp(_GRID, x, y) for x, y in zip(self.fpr, self.tpr, strict=True)], axis=0)
            lines = {_mean_of(self.areas, "AUC"): (np.append(0, _GRID), np.append(0, mean))}
        x, y = "false positive rate (share of negatives)", "true positive rate (share of positives)"
        return plots.tradeoff(lines, chance=((0, 1), (0, 1)), x=x, y=y, title="ROC")

    @property
    def alt(self) -> str:
        """What the picture shows."""
        return f"ROC on {self.n:,} rows: {_said(self.names, self.areas, 'area under the curve')}; chance is 0.5."


@dataclass(frozen=True, eq=False)
class PrecisionRecall(Result):
    """Precision-recall curves.

    Args:
        names: The positive class of each curve: C of them.
        n: Rows.
        positives: Rows of that class: (C,).
        recall: From 0 to 1: C arrays (J + 1,).
        precision: Of all rows down to the score that gives this recall; 1 at recall 0: C arrays (J + 1,).
        areas: Average precision: (C,).
    """

    names: tuple[str, ...]
    n: int
    positives: np.ndarray
    recall: tuple[np.ndarray, ...]
    precision: tuple[np.ndarray, ...]
    areas: np.ndarray

    def table(self) -> Table:
        """The average precision of each class."""
        return _areas_table(self, "average precision")

    def figure(self) -> Figure:
        """One line a class, up to seven; beyond, their mean at each recall."""
        lines = _labelled(self.names, self.areas, self.recall, self.precision, "AP")
        if len(self.names) > _LINES:
            pairs = zip(self.recall, self.precision, strict=True)
            lines = {
                _mean_of(self.areas, "AP"): (_GRID, np.mean([y[np.searchsorted(x, _GRID)] for x, y in pairs], axis=0))
            }
        share = float(self.positives.mean() / self.n)
        x, y = "recall (share of positives found)", "precision (share of the found that are positive)"
        chance = (0, 1), (share, share)
        return plots.tradeoff(lines, chance=chance, x=x, y=y, title="Precision and recall", steps=True)

    @property
    def alt(self) -> str:
        """What the picture shows."""
        share = self.positives.mean() / self.n
        said = _said(self.names, self.areas, "average precision")
        return f"Precision and recall on {self.n:,} rows: {said}; chance is {share:.3f}."


def roc(y: Any, p: Any, classes: Sequence[Any] | None = None) -> Roc:
    """The ROC curves of predicted probabilities.

    Args:
        y: True labels (n,).
        p: Probabilities (n, K), a column a class.
        classes: The classes in the order of the columns; None takes the sorted labels of y.
    """
    names, found = _swept(y, p, classes)
    fpr, tpr = (
        tuple(np.append(0, v) / v[-1] for v in side) for side in zip(*((s.fp, s.tp) for s in found), strict=True)
    )
    areas = np.array([auc_of(s) for s in found])
    return Roc(names, len(found[0].place), np.array([s.tp[-1] for s in found]), fpr, tpr, areas)


def precision_recall(y: Any, p: Any, classes: Sequence[Any] | None = None) -> PrecisionRecall:
    """The precision-recall curves of predicted probabilities; arguments as in `roc`."""
    names, found = _swept(y, p, classes)
    recall = tuple(np.append(0, s.tp) / s.tp[-1] for s in found)
    precision = tuple(np.append(1, s.tp / (s.tp + s.fp)) for s in found)
    areas = np.array([ap_of(s) for s in found])
    return PrecisionRecall(names, len(found[0].place), np.array([s.tp[-1] for s in found]), recall, precision, areas)


def _swept(y: Any, p: Any, classes: Sequence[Any] | None) -> tuple[tuple[str, ...], list[Sweep]]:
    truth, q, listed = scored(y, p, classes)
    seen = np.unique(truth)
    if len(seen) < 2:
        raise InputError(f"All rows of y are {listed[seen[0]]!s}; a curve over thresholds needs rows of two classes.")
    names = (str(listed[1]),) if len(listed) == 2 else tuple(str(listed[k]) for k in seen)
    return names, [s for _, s in sweeps(truth, q)]


def _areas_table(curves: Roc | PrecisionRecall, name: str) -> Table:
    return Table(
        {"class": list(curves.names), "rows": curves.positives.tolist(), name: curves.areas.tolist()}, curves.alt
    )


def _labelled(
    names: Sequence[str], areas: np.ndarray, x: Sequence[np.ndarray], y: Sequence[np.ndarray], what: str
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rows = zip(names, areas, x, y, strict=True)
    return {f"{name} ({what} {area:.3f})": (across, up) for name, area, across, up in rows}


def _mean_of(areas: np.ndarray, what: str) -> str:
    return f"mean of {len(areas)} classes ({what} {areas.mean():.3f})"


def _said(names: Sequence[str], areas: np.ndarray, what: str) -> str:
    if len(names) == 1:
        return f"{what} {areas[0]:.3f} for class {names[0]}"
    low, high = int(areas.argmin()), int(areas.argmax())
    return (
        f"mean {what} {areas.mean():.3f} over {len(names)} classes, "
        f"from {areas[low]:.3f} ({names[low]}) to {areas[high]:.3f} ({names[high]})"
    )
