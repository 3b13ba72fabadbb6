"""Symmetries of maps: shifts, flips and quarter turns.

    invariant:    f(t(x)) = f(x)                 equivariant:    f(t(x)) = t(f(x))
    f(x) = max_{t in G} g(t(x))   or   Σ_{t in G} g(t(x)),      invariant to every t in G if G is a group:
    f(s(x)) runs over g(t(s(x))), and {t s: t in G} = G needs closure and inverses; for a mere set it fails.

A transformation is any function of a tensor; those of this file act on the last axes. On a map whose places lie j
apart, a shift by s is one by s / j: one by 4 is one by 2 after a stride of 2.
Shapes: (..., n) signals, (..., H, W) images.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from torch import Tensor

from ..catalog import check_known

_FILLS = ("circular", "zeros")


@dataclass(frozen=True)
class Shift:
    """Move a map by an integer number of places along its last axes.

    Args:
        by: Places along each axis, the last axis last: 1 is to the right, (1, 0) down.
        fill: What comes in: the other end (`circular`), or `zeros`.

    Example:
        >>> import torch
        >>> Shift(1)(torch.tensor([1, 2, 3])).tolist(), Shift(-1, "zeros")(torch.tensor([1, 2, 3])).tolist()
        ([3, 1, 2], [2, 3, 0])
    """

    by: int | tuple[int, ...]
    fill: str = "circular"

    def __post_init__(self) -> None:
        check_known("fill", self.fill, _FILLS)

    @property
    def places(self) -> tuple[int, ...]:
        return self.by if isinstance(self.by, tuple) else (self.by,)

    def __call__(self, x: Tensor) -> Tensor:
        axes = tuple(range(-len(self.places), 0))
        moved = x.roll(self.places, axes)
        if self.fill == "zeros":
            for axis, n in zip(axes, self.places, strict=True):
                came = min(abs(n), x.shape[axis])
                moved.narrow(axis, 0 if n > 0 else x.shape[axis] - came, came).zero_()
        return moved

    def on(self, steps: Sequence[float]) -> Self | None:
        """The same shift of a map whose places lie `steps` apart on each axis; None where it is between places."""
        steps = list(steps)[-len(self.places) :]
        by = [n / step for n, step in zip(self.places, steps, strict=True)]
        return type(self)(tuple(map(int, by)), self.fill) if all(n == int(n) for n in by) else None

    def __str__(self) -> str:
        words = str(self.places[0]) if len(self.places) == 1 else str(self.places)
        return f"shift {words}" + ("" if self.fill == "circular" else ", zeros")


@dataclass(frozen=True)
class Flip:
    """Turn one of the last axes around: -1 left and right, -2 top and bottom."""

    axis: int = -1

    def __call__(self, x: Tensor) -> Tensor:
        return x.flip(self.axis)

    def __str__(self) -> str:
        return {-1: "flip left-right", -2: "flip top-bottom"}.get(self.axis, f"flip axis {self.axis}")


@dataclass(frozen=True)
class Turn:
    """Turn an image to the left by quarters of a circle."""

    quarters: int = 1

    def __call__(self, x: Tensor) -> Tensor:
        return x.rot90(self.quarters, (-2, -1))

    def __str__(self) -> str:
        return f"turn {90 * self.quarters}°"
