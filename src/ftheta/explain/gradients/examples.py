"""Gradients of single examples: who pulls the parameters which way.

    ∇ Σ_i ℓ_i(θ)  =  Σ_i ∇ℓ_i(θ),        one row of G per term

All rows at once (`torch.func.vmap`), never in a loop; n P numbers must fit into memory.
Shapes: n rows, P numbers in all parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, vmap
from torch.utils._pytree import tree_map

from ...data import Batch
from ...errors import InputError
from ...plots import Figure, curves
from ...results import Result
from .._point import LossLike, Point
from .._probe import DRAW
from .._registry import checked

__all__ = ["ExampleGradients", "example_gradients"]


@dataclass(frozen=True, eq=False)
class ExampleGradients(Result):
    """The gradient of every row's loss."""

    names: tuple[str, ...]  # name of the tensor that each column belongs to
    gradients: np.ndarray  # gradient of each row's loss: (n, P)

    @property
    def total(self) -> np.ndarray:
        """Gradient of the sum of the losses: (P,)."""
        return self.gradients.sum(0)

    @property
    def norms(self) -> np.ndarray:
        """Euclidean norm of each row's gradient: (n,)."""
        return np.linalg.norm(self.gradients, axis=1)

    @property
    def agreement(self) -> np.ndarray:
        """Cosine between each row's gradient and the total: (n,); NaN where one of them is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.gradients @ self.total / (self.norms * np.linalg.norm(self.total))

    def columns(self) -> dict[str, Any]:
        """One row per row of X."""
        return {"row": range(len(self.norms)), "norm": self.norms, "cosine": self.agreement}

    @property
    def caption(self) -> str:
        return f"The {len(self.norms)} gradients add up to one of norm {np.linalg.norm(self.total):#.4g}."

    def figure(self) -> Figure:
        """Norms of the gradients, largest first, and the cosine of each with the total."""
        order = np.argsort(-self.norms, kind="stable")
        lines = {
            "norm of the gradient": self.norms[order].tolist(),
            "cosine with the total": self.agreement[order].tolist(),
        }
        return curves(lines, x="rows by norm", label="norm, cosine", title="Gradients of single rows")


@checked("module_")
def example_gradients(obj: Any, X: Any, y: Any = None, *, loss: LossLike = None) -> ExampleGradients:
    """The gradient of the loss of each row, times its weight where classes have weights, in evaluation mode and without
    penalties.

    Example:
        >>> from torch import nn
        >>> line = nn.Linear(1, 1, dtype=torch.float64)
        >>> _ = nn.init.zeros_(line.weight), nn.init.zeros_(line.bias)
        >>> square = lambda raw, y: (raw[:, 0] - y) ** 2
        >>> found = example_gradients(line, [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 2.0, 5.0], loss=square)
        >>> found.total.tolist()  # slope, intercept
        [-44.0, -22.0]
    """
    point = Point(obj, X, y, loss).moves()
    if not point.objective.separable:
        raise InputError(f"{type(point.objective).__name__} is not a sum over rows, so single rows have no gradient.")

    def one(theta: dict[str, Tensor], parts: dict[str, Any]) -> Tensor:
        row = Batch(**tree_map(lambda part: part[None], parts))
        return point.holding(theta, lambda: point.objective.loss(point.player.name, row, DRAW).total)

    given = {name: part for name in ("x", "y", "weight") if (part := getattr(point.batch, name)) is not None}
    theta = {name: p.detach() for name, p in point.parameters.items()}
    with point.open(), torch.no_grad():
        found = vmap(grad(one), in_dims=(None, 0), randomness="same")(theta, given)
    flat = torch.cat([found[name].reshape(point.batch.n, -1) for name in theta], 1)  # (n, P)
    names = tuple(name for name, p in theta.items() for _ in range(p.numel()))
    return ExampleGradients(names, flat.double().cpu().numpy())
