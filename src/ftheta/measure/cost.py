"""Cost curves: what a score costs at its best threshold, for every mix of classes and costs.

    PC = π₁ l₁ / (π₁ l₁ + π₀ l₀)          l_k: what an error on class k costs, π_k: how often class k comes
    cost(PC) = FNR PC + FPR (1 - PC)      a straight line for each threshold, in shares of the worst cost

One threshold is a line, a point of the ROC curve; the best score at each PC is the lower envelope. To answer always the
same costs PC (the first class) or 1 - PC (the second).
Shapes: J + 1 thresholds for J distinct scores, G places along PC.
Reference: Drummond and Holte, Cost curves: an improved method for visualizing classifier performance, Machine Learning
65 (2006).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import plots
from ..results import Result, Table
from ._rows import two
from ._sweep import sweep
from .thresholds import between

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CostCurve", "cost_curve"]

GRID = np.linspace(0, 1, 201)


@dataclass(frozen=True, eq=False)
class CostCurve(Result):
    """Normalised expected cost over the probability-cost PC.

    Args:
        name: The second class, which is the answer above a threshold.
        n: Rows.
        thresholds: Falling, from none to all rows above: (J + 1,).
        fpr: False positive rate of each: (J + 1,).
        fnr: False negative rate of each: (J + 1,).
        pc: Places along PC: (G,).
        best: Place of the cheapest threshold at each: (G,).
    """

    name: str
    n: int
    thresholds: np.ndarray
    fpr: np.ndarray
    fnr: np.ndarray
    pc: np.ndarray
    best: np.ndarray

    @property
    def envelope(self) -> np.ndarray:
        """The least cost at each place: (G,)."""
        return self.fnr[self.best] * self.pc + self.fpr[self.best] * (1 - self.pc)

    @property
    def trivial(self) -> np.ndarray:
        """The cost of the better constant answer: (G,)."""
        return np.minimum(self.pc, 1 - self.pc)

    @property
    def area(self) -> float:
        """Under the envelope: the mean cost where every PC is as likely; 0 is perfect, 0.25 the constant answers."""
        return float(np.trapezoid(self.envelope, self.pc))

    def table(self) -> Table:
        """Nine places: the best threshold, its rates, its cost and that of the better constant answer."""
        at = np.searchsorted(self.pc, np.arange(1, 10) / 10 - 1e-9)
        best = self.best[at]
        columns = {
            "PC": self.pc[at],
            "threshold": self.thresholds[best],
            "false positive rate": self.fpr[best],
            "false negative rate": self.fnr[best],
            "cost": self.envelope[at],
            "constant answer": self.trivial[at],
        }
        return Table({name: v.tolist() for name, v in columns.items()}, self.alt)

    def figure(self) -> Figure:
        """A line a threshold, up to forty; their lower envelope; the constant answers."""
        return plots.cost_lines(self.fpr, self.fnr, self.pc, self.envelope, title=f"Cost curve for class {self.name}")

    @property
    def alt(self) -> str:
        """What the picture shows."""
        useful = self.pc[self.trivial - self.envelope > 1e-12]
        where = f"from {useful[0]:.3g} to {useful[-1]:.3g}" if useful.size else "nowhere"
        return (
            f"Cost curve on {self.n:,} rows: area {self.area:.4g} (constant answers 0.25); PC where the score beats "
            f"the constant answers: {where}."
        )


def cost_curve(y: Any, p: Any, classes: Sequence[Any] | None = None) -> CostCurve:
    """Normalised expected cost for every mix of classes and costs.

    Args:
        y: True labels (n,) of two classes.
        p: Probability of the second class (n,), or of both (n, 2).
        classes: Both classes in the order of the columns; None takes the sorted labels of y.

    Example:
        >>> cost_curve([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9]).area
        0.125
    """
    positive, score, listed = two(y, p, classes)
    s = sweep(positive, score)
    fpr, fnr = np.append(0, s.fp) / s.fp[-1], 1 - np.append(0, s.tp) / s.tp[-1]
    best = np.array([np.argmin(fnr * pc + fpr * (1 - pc)) for pc in GRID])
    return CostCurve(str(listed[1]), len(score), between(s.score), fpr, fnr, GRID, best)
