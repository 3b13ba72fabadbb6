"""The straight line between two solutions, and the barrier on it.

    L(t) = L((1 - t) θ_a + t θ_b),     barrier = max_{0 <= t <= 1} [L(t) - (1 - t) L(0) - t L(1)]

Two minima without a barrier lie in one basin. Floating buffers (running means and variances) move along with the
parameters, so that both ends are the two models themselves.

Shapes: N points.
Reference: Goodfellow, Vinyals and Saxe, Qualitatively characterizing neural network optimization problems,
arXiv:1412.6544 (2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import plots
from ..errors import InputError
from ..results import Result, Table
from ._sweep import sweep
from ._theta import RowLoss, Theta

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Line", "line"]


@dataclass(frozen=True, eq=False)
class Line(Result):
    """Losses along the line.

    Args:
        t: Places: 0 is the first model, 1 the second, (N,).
        loss: (N,).
        distance: ‖θ_b - θ_a‖ over the parameters.
        n: Number of rows.
        estimate: Seconds that were estimated before it started.
        seconds: Seconds that it took.
    """

    t: np.ndarray
    loss: np.ndarray
    distance: float
    n: int
    estimate: float
    seconds: float

    @property
    def ends(self) -> tuple[float, float]:
        """L(0) and L(1)."""
        return float(self.loss[self.t == 0][0]), float(self.loss[self.t == 1][0])

    @property
    def excess(self) -> np.ndarray:
        """The loss above the chord between both ends: (N,)."""
        return self.loss - ((1 - self.t) * self.ends[0] + self.t * self.ends[1])

    @property
    def barrier(self) -> float:
        """The largest excess between both ends: 0 where there is none, NaN where a loss is NaN."""
        return float(self.excess[(self.t >= 0) & (self.t <= 1)].max())

    def table(self) -> Table:
        """One line a point."""
        columns = {"t": self.t.tolist(), "loss": self.loss.tolist(), "above the chord": self.excess.tolist()}
        return Table(columns, f"Barrier {self.barrier:#.4g} over a distance of {self.distance:#.4g}, {self.n} rows.")

    def figure(self) -> Figure:
        """The loss along the line, the chord, and the barrier."""
        return plots.profile(self.t, self.loss, self.ends, self.barrier, title=f"Straight line, {self.n} rows")


def line(
    a: Any,
    b: Any,
    X: Any,
    y: Any = None,
    *,
    points: int = 41,
    loss: RowLoss | None = None,
    rows: int | None = 1000,
    progress: bool | None = None,
) -> Line:
    """The loss on the straight line from one solution to another, a quarter beyond both ends.

    Args:
        a: A fitted neural estimator, or a module together with `loss`: t = 0.
        b: Another with parameters of the same shapes: t = 1.
        X: Rows, as `a` sees them.
        y: Their targets, where the objective has any.
        points: Places from t = -0.25 to 1.25; t = 0 and t = 1 are added.
        loss: A function (raw, y) -> loss of each row, or a likelihood, instead of the objective of `a`.
        rows: At most this many rows, evenly spaced; None: all.
        progress: Show progress; None: on a terminal or in a notebook.
    """
    ends = [Theta(obj, X, y, loss, rows, "line") for obj in (a, b)]
    if points < 1 or ends[0].shapes != ends[1].shapes:
        raise InputError(
            f"line got points={points} and modules of {ends[0].size} and {ends[1].size} parameters; it needs at least "
            "one point and parameters of the same names and shapes."
        )
    first, second = ends[0], ends[1]
    distance = float((second.flat().double() - first.flat().double()).norm())
    moving = [dict(end.objective.named_buffers()) for end in ends]
    for end, buffers in zip(ends, moving, strict=True):
        end.named |= {name: b for name, b in buffers.items() if b.is_floating_point()}
        end.shapes = {name: p.shape for name, p in end.named.items()}
    way = (second.flat().double().cpu() - first.flat().double().cpu()).numpy()[None]  # (1, P)
    t = np.unique(np.concatenate([np.linspace(-0.25, 1.25, points).round(12), [0.0, 1.0]]))
    found, estimate, seconds = sweep(first, way, t[:, None], what="line", progress=progress)
    return Line(t, found[:, 0], distance, first.batch.n, estimate, seconds)
