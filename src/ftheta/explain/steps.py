"""Which way to go, and how far the gradient can be trusted.

    max over ‖v‖ = 1 of  [f(x + ηv) - f(x)] / η   ->   ‖∇f(x)‖,  at v = ∇f / ‖∇f‖,      as η -> 0
    f(x + tv) - f(x)  ≈  t ‖∇f‖  +  ½ t² vᵀHv,                                        v = ∇f / ‖∇f‖

Steepest ascent is along the gradient, steepest descent at an angle of π to it. Both hold for small steps only.
Shapes: x is (n,); M directions, L lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, jacrev

from .. import plots
from ..draw import Draw
from ..errors import InputError
from ..results import Result, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Directions", "StepLengths", "directions", "step_lengths"]

AGREES = 0.1  # relative difference up to which the linear prediction is said to hold


@dataclass(frozen=True, eq=False)
class Directions(Result):
    """Gains of steps of one length in many directions.

    Args:
        vectors: Unit vectors: (M, n).
        gains: [f(x + ηv) - f(x)] / η of each: (M,).
        gradient: ∇f(x): (n,).
        length: η.
    """

    vectors: np.ndarray
    gains: np.ndarray
    gradient: np.ndarray
    length: float

    @property
    def angles(self) -> np.ndarray:
        """Angle of each direction to the gradient, from 0 to π: (M,)."""
        return np.arccos(np.clip(self.vectors @ self.gradient / np.linalg.norm(self.gradient), -1, 1))

    @property
    def best(self) -> int:
        """Number of the direction with the largest gain."""
        return int(self.gains.argmax())

    def table(self) -> Table:
        """Best and worst direction, with what the gradient predicts."""
        slope, ends = float(np.linalg.norm(self.gradient)), [self.best, int(self.gains.argmin())]
        columns = {
            "direction": ["steepest ascent", "steepest descent"],
            "angle to ∇f (degrees)": np.degrees(self.angles[ends]).tolist(),
            "gain / η": self.gains[ends].tolist(),
            "predicted": [slope, -slope],
        }
        return Table(columns, f"{len(self.gains)} directions, η = {self.length:g}.")

    def figure(self) -> Figure:
        """Gain against the angle to the gradient, with ‖∇f‖ cos(angle)."""
        order = np.argsort(self.angles)
        angle, slope = self.angles[order], float(np.linalg.norm(self.gradient))
        lines = {
            "angle to the gradient (degrees)": np.degrees(angle).tolist(),
            f"measured, η = {self.length:g}": self.gains[order].tolist(),
            "‖∇f‖ cos(angle)": (slope * np.cos(angle)).tolist(),
        }
        return plots.curves(
            lines, x=next(iter(lines)), label="gain of f per unit length", title="Steps in all directions"
        )


@dataclass(frozen=True, eq=False)
class StepLengths(Result):
    """What steps along the gradient change, and what was predicted.

    Args:
        lengths: Lengths t of the step: (L,), ascending.
        change: f(x + tv) - f(x): (L,).
        linear: t ‖∇f‖: (L,).
        quadratic: With ½ t² vᵀHv added: (L,).
    """

    lengths: np.ndarray
    change: np.ndarray
    linear: np.ndarray
    quadratic: np.ndarray

    @property
    def holds(self) -> float:
        """The longest step up to which the linear prediction is within 10 % of itself; 0 where none is."""
        wrong = np.abs(self.change - self.linear) > AGREES * np.abs(self.linear)
        return float(self.lengths[: wrong.argmax() if wrong.any() else len(wrong)][-1:].sum())

    @property
    def overshoots(self) -> float | None:
        """The shortest step that changes f the wrong way; None where none does."""
        wrong = self.lengths[self.change < 0]
        return float(wrong[0]) if wrong.size else None

    def table(self) -> Table:
        """One line a length."""
        columns = {"length": self.lengths, "change of f": self.change, "linear": self.linear}
        columns |= {"with curvature": self.quadratic}
        end = "" if self.overshoots is None else f"; from {self.overshoots:g} on, a step up the gradient lowers f"
        return Table({k: v.tolist() for k, v in columns.items()}, f"Linear within 10 % up to {self.holds:g}{end}.")

    def figure(self) -> Figure:
        """Change against length, with both predictions and the range where the linear one holds."""
        ends: dict[str, Any] = {"holds": self.holds, "overshoots": self.overshoots}
        return plots.step_lengths(self.lengths, self.change, self.linear, self.quadratic, **ends)


def directions(
    f: Callable[[Tensor], Tensor], x: Any, *, length: float = 1e-3, n: int = 2000, seed: int = 0
) -> Directions:
    """Try steps of one length in many random directions.

    Args:
        f: A torch function (n,) -> one number.
        x: The point: (n,).
        length: Length η of a step.
        n: Number of directions; each comes with its opposite.
        seed: Seed of the directions.

    Example:
        >>> found = directions(lambda x: 3 * x[0] + 4 * x[1], [0.0, 0.0])
        >>> round(float(found.gains.max()), 3), bool(found.angles[found.best] < 0.01)
        (5.0, True)
    """
    at, _, g = _slope(f, x)
    if length <= 0 or n < 2:
        raise InputError(f"length={length}, n={n}: a positive length and at least 2 directions are needed.")
    drawn = torch.randn(-(-n // 2), len(at), generator=Draw(seed).generator("directions"), dtype=at.dtype)
    vectors = torch.nn.functional.normalize(drawn, dim=1)
    vectors = torch.cat([vectors, -vectors])[:n]
    with torch.no_grad():
        gains = torch.stack([f(at + length * v).reshape(()) for v in vectors]) - f(at).reshape(())
    return Directions(vectors.numpy(), (gains / length).numpy(), g.numpy(), float(length))


def step_lengths(f: Callable[[Tensor], Tensor], x: Any, lengths: Sequence[float] | np.ndarray) -> StepLengths:
    """Compare the change of f along its gradient with what the derivatives predict.

    Args:
        f: A torch function (n,) -> one number.
        x: The point: (n,).
        lengths: Lengths of steps, ascending from above 0.

    Example:
        >>> found = step_lengths(lambda x: -(x[0] ** 2), [1.0], [0.2, 3.0])
        >>> found.change.round(9).tolist(), found.linear.tolist()
        ([0.36, -3.0], [0.4, 6.0])
    """
    at, value, g = _slope(f, x)
    t = torch.as_tensor(np.asarray(lengths, dtype=float))
    if t.ndim != 1 or not len(t) or t[0] <= 0 or (t.diff() <= 0).any():
        raise InputError(f"lengths is {t.tolist()}; at least one number is needed, ascending from above 0.")
    v = g / g.norm()
    bend = float(v @ jacrev(grad(lambda x: f(x).reshape(())))(at) @ v)
    with torch.no_grad():
        change = torch.stack([f(at + s * v).reshape(()) for s in t]) - value
    linear = t * g.norm()
    return StepLengths(t.numpy(), change.numpy(), linear.numpy(), (linear + bend * t**2 / 2).numpy())


def _slope(f: Callable[[Tensor], Tensor], x: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The point as float64, f there, and its gradient, which must not vanish."""
    at = torch.atleast_1d(torch.as_tensor(x, dtype=torch.float64).detach())
    g = grad(lambda x: f(x).reshape(()))(at)
    if not g.isfinite().all() or not g.norm() > 0:
        raise InputError(f"The gradient of f at {at.tolist()} is {g.tolist()}; a point with a slope is needed.")
    with torch.no_grad():
        return at, f(at).reshape(()), g
