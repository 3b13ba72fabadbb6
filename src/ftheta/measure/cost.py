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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..plots import GREY, PALETTE, Figure, canvas, drawn, legend
from ..results import Result
from ._rows import two
from ._sweep import sweep
from .thresholds import between

__all__ = ["CostCurve", "cost_curve"]

GRID = np.linspace(0, 1, 201)


@dataclass(frozen=True, eq=False)
class CostCurve(Result):
    """Normalized expected cost over the probability-cost PC."""

    name: str  # the second class, which is predicted above a threshold
    n: int  # rows
    thresholds: np.ndarray  # falling, from none to all rows above: (J + 1,)
    fpr: np.ndarray  # false positive rate of each: (J + 1,)
    fnr: np.ndarray  # false negative rate of each: (J + 1,)
    pc: np.ndarray  # places along PC: (G,)
    best: np.ndarray  # index of the cheapest threshold at each: (G,)

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

    def columns(self) -> Mapping[str, Any]:
        """Nine places: the best threshold, its rates, its cost and that of the better constant answer."""
        at = np.searchsorted(self.pc, np.arange(1, 10) / 10 - 1e-9)
        best = self.best[at]
        rates = {"false positive rate": self.fpr[best], "false negative rate": self.fnr[best]}
        costs = {"cost": self.envelope[at], "constant answer": self.trivial[at]}
        return {"PC": self.pc[at], "threshold": self.thresholds[best], **rates, **costs}

    @drawn
    def figure(self) -> Figure:
        """One thin line per threshold, up to forty; their lower envelope; the constant answers."""
        figure, axes = canvas(width=6.0, height=4.6)
        keep = np.unique(np.linspace(0, len(self.fpr) - 1, min(len(self.fpr), 40)).round().astype(int))
        for i, j in enumerate(keep):
            ends = self.fpr[j], self.fnr[j]
            axes.plot((0, 1), ends, color=GREY, ls="-", lw=0.5, alpha=0.6, label="one threshold" * (not i))
        axes.plot((0, 0.5, 1), (0, 0.5, 0), color=PALETTE[1], ls="--", label="constant answers")
        axes.plot(self.pc, self.envelope, color=PALETTE[0], ls="-", lw=2.4, label="best threshold")
        axes.set(xlim=(0, 1), ylim=(0, max(0.52, 1.1 * float(self.envelope.max()))))
        axes.set(title=f"Cost curve for class {self.name}", ylabel="expected cost (share of the worst)")
        axes.set_xlabel("probability-cost PC (share of the worst cost that misses would make)")
        legend(figure)
        return figure

    @property
    def caption(self) -> str:
        useful = self.pc[self.trivial - self.envelope > 1e-12]
        where = f"from {useful[0]:.3g} to {useful[-1]:.3g}" if useful.size else "nowhere"
        return (
            f"Cost curve on {self.n:,} rows: area {self.area:.4g} (constant answers 0.25); PC where the score beats "
            f"the constant answers: {where}."
        )


def cost_curve(y: Any, p: Any, classes: Sequence[Any] | None = None) -> CostCurve:
    """Normalized expected cost for every mix of classes and costs.

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
