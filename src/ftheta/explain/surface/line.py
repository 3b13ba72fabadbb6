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
from typing import Any

import numpy as np

from ...check import Count
from ...errors import InputError
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend, wide_range
from ...results import Result
from .._point import NO_SURFACE, LossLike, Point, has_surface
from .._registry import checked
from ._sweep import losses_along

__all__ = ["Line", "line"]


@dataclass(frozen=True, eq=False)
class Line(Result):
    """Losses along the line."""

    t: np.ndarray  # places: 0 is the first model, 1 the second, (N,)
    loss: np.ndarray  # (N,)
    distance: float  # ‖θ_b - θ_a‖ over the parameters
    n: int  # number of rows

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

    def columns(self) -> dict[str, Any]:
        """One row per point."""
        return {"t": self.t, "loss": self.loss, "above the chord": self.excess}

    @property
    def caption(self) -> str:
        return f"Barrier {self.barrier:#.4g} over a distance of {self.distance:#.4g}, {self.n} rows."

    @drawn
    def figure(self) -> Figure:
        """The loss along the line, the chord, and the barrier."""
        figure, axes = canvas()
        log = wide_range(self.loss)
        axes.plot(self.t, self.loss, "-o", ms=3.5, label="loss")
        at, (left, right) = np.linspace(0, 1, 50), self.ends
        axes.plot(at, (1 - at) * left + at * right, "--", color=GREY, lw=1.4, label="chord")
        mark = {"ls": "", "marker": "s", "ms": 8, "color": PALETTE[1], "mec": "white", "zorder": 5}
        axes.plot([0, 1], self.ends, label="solutions", **mark)
        inside = np.flatnonzero((self.t >= 0) & (self.t <= 1))
        if np.isfinite(self.excess[inside]).all() and self.barrier > 0:
            k = inside[self.excess[inside].argmax()]
            look = {"color": PALETTE[1], "lw": 2.2, "label": f"barrier {self.barrier:#.3g}"}
            axes.plot([self.t[k]] * 2, [self.loss[k] - self.excess[k], self.loss[k]], ":", **look)
        axes.set(title=f"Straight line, {self.n} rows", xlabel="t: from the first solution (0) to the second (1)")
        axes.set(ylabel=f"mean loss per row{' (log scale)' if log else ''}", yscale="log" if log else "linear")
        legend(figure)
        return figure


@checked("module_", when=has_surface, otherwise=NO_SURFACE, lifted_by="loss")
def line(
    a: Any,
    b: Any,
    X: Any,
    y: Any = None,
    *,
    points: Count = 41,
    loss: LossLike = None,
    max_rows: Count | None = 1000,
) -> Line:
    """The loss on the straight line from one solution to another, a quarter beyond both ends.

    Args:
        a: A fitted neural estimator, or a module: t = 0.
        b: Another with parameters of the same shapes: t = 1.
        X: Rows, as `a` sees them.
        points: Places from t = -0.25 to 1.25; t = 0 and t = 1 are added.
    """
    first, second = (Point(obj, X, y, loss, max_rows=max_rows).moves() for obj in (a, b))
    shapes = [{name: p.shape for name, p in end.parameters.items()} for end in (first, second)]
    if shapes[0] != shapes[1]:
        raise InputError(
            f"The modules have {first.size} and {second.size} parameters; both need the same names and shapes."
        )
    distance = float((second.flat().double() - first.flat().double()).norm())
    for end in (first, second):  # from here on buffers move too
        end.parameters |= {name: b for name, b in end.objective.named_buffers() if b.is_floating_point()}
    way = (second.flat().double().cpu() - first.flat().double().cpu()).numpy()[None]  # (1, P)
    t = np.unique(np.concatenate([np.linspace(-0.25, 1.25, points).round(12), [0.0, 1.0]]))
    return Line(t, losses_along(first, way, t[:, None])[:, 0], distance, first.batch.n)
