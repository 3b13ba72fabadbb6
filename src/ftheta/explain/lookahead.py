"""Nesterov's look-ahead at one actual iterate: jump along the momentum first, then correct by the gradient found there.

    φ = θ + μ v,      v' = μ v - η ∇f(φ),      θ' = θ + v'          classical momentum takes ∇f(θ) instead

`torch.optim` keeps φ as its parameter; θ and v follow from two of its points and the gradient between them.
Reference: Sutskever, Martens, Dahl and Hinton, On the importance of initialization and momentum, ICML (2013).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from .. import plots
from ..errors import InputError
from ..formulas import Surface, surface
from ..results import Result, Table
from ..train import minimise

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Lookahead", "lookahead"]

_GRID = 41


@dataclass(frozen=True, eq=False)
class Lookahead(Result):
    """The vectors of one update: (n,) each.

    Args:
        theta: Where the update begins, θ.
        jump: Momentum jump μ v.
        correction: Step down the gradient at the look-ahead point, -η ∇f(θ + μ v).
        plain: The step that classical momentum would add instead, -η ∇f(θ).
        step: Number of the update.
        f: The function.
    """

    theta: np.ndarray
    jump: np.ndarray
    correction: np.ndarray
    plain: np.ndarray
    step: int
    f: Callable[[Tensor], Tensor]

    @property
    def ahead(self) -> np.ndarray:
        """The look-ahead point θ + μ v."""
        return self.theta + self.jump

    @property
    def end(self) -> np.ndarray:
        """Where Nesterov's update ends."""
        return self.ahead + self.correction

    @property
    def classical(self) -> np.ndarray:
        """Where an update with classical momentum would end."""
        return self.ahead + self.plain

    def table(self) -> Table:
        """One line a point, with f there."""
        points = {
            "θ": self.theta,
            "look-ahead θ + μ v": self.ahead,
            "Nesterov θ'": self.end,
            "classical momentum": self.classical,
        }
        columns: dict[str, Any] = {"point": list(points)}
        columns |= {f"x{i + 1}": [float(p[i]) for p in points.values()] for i in range(len(self.theta))}
        return Table(columns | {"f": [_value(self.f, p) for p in points.values()]}, f"Update {self.step}.")

    def figure(self) -> Figure:
        """The vector diagram on the contours of f around them."""
        if len(self.theta) != 2:
            raise InputError(f"The diagram is flat, but θ has {len(self.theta)} coordinates; use a surface of two.")
        points = np.stack([self.theta, self.ahead, self.end, self.classical])
        middle, half = (points.max(0) + points.min(0)) / 2, 0.75 * np.ptp(points, axis=0).max()
        x, y = (np.linspace(m - half, m + half, _GRID) for m in middle)
        z = np.array([[_value(self.f, np.array([a, b])) for a in x] for b in y])
        return plots.lookahead(
            self.theta,
            self.jump,
            self.correction,
            self.plain,
            grid=(x, y, z),
            title=f"Nesterov momentum, update {self.step}",
        )


def lookahead(
    f: str | Surface | Callable[[Tensor], Tensor],
    *,
    start: Any = None,
    step: int = 3,
    lr: float = 0.02,
    momentum: float = 0.9,
) -> Lookahead:
    """The vectors of one update of Nesterov's rule in a descent.

    Args:
        f: A surface or its name; or any torch function (n,) -> one number, together with `start`.
        start: Where the descent begins: (n,); None: where the surface says.
        step: Which update, from 2 on: the first has no momentum.
        lr: Learning rate η.
        momentum: Momentum μ.

    Example:
        >>> found = lookahead("ravine")
        >>> found.figure().axes[0].get_title()
        'Nesterov momentum, update 3'
    """
    f = surface(f) if isinstance(f, str) else f
    if start is None and not isinstance(f, Surface):
        raise InputError("f is a function of your own; pass start=, e.g. start=(0, 0).")
    if step < 2:
        raise InputError(f"step is {step}; the first update with a momentum to jump along is number 2.")
    begin = f.start if start is None and isinstance(f, Surface) else start
    path = minimise(f, begin, optimizer="nesterov", lr=lr, steps=step, options={"momentum": momentum})
    if len(path.points) <= step or not np.isfinite(path.points).all():
        raise InputError(f"The descent ended before update {step}: {path.reason}. Choose an earlier step.")
    before, ahead = path.points[step - 2], path.points[step - 1]
    jump = ahead - before + lr * _gradient(f, before)  # μ v, as φ' = φ - η ∇f(φ) + μ v'
    theta = ahead - jump
    return Lookahead(theta, jump, -lr * _gradient(f, ahead), -lr * _gradient(f, theta), step, f)


def _gradient(f: Callable[[Tensor], Tensor], point: np.ndarray) -> np.ndarray:
    x = torch.from_numpy(point).requires_grad_()
    return torch.autograd.grad(f(x).reshape(()), x)[0].numpy()


def _value(f: Callable[[Tensor], Tensor], point: np.ndarray) -> float:
    with torch.no_grad():
        return float(f(torch.from_numpy(point)))
