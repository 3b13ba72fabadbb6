"""Gradient flow: how much of the loss's gradient arrives at each parameter.

    g = ∂/∂θ [ Σ_i w_i ℓ_i / Σ_i w_i + once ],     ‖g‖,   mean |g|,   ‖g‖ / ‖θ‖        of each tensor θ

A gradient that shrinks from the output to the input by a factor per layer vanishes in a deep net; one that grows
explodes. The learning rate times ‖g‖ / ‖θ‖ is the relative step of gradient descent.

Shapes: P tensors, from input to output; Q = 5 quantiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ...plots import Figure, layers
from ...results import Result
from .._point import LossLike, Point
from .._probe import QUANTILES, array
from .._registry import explanation

__all__ = ["GradientFlow", "gradient_flow"]


@dataclass(frozen=True, eq=False)
class GradientFlow(Result):
    """Gradients by parameter tensor. Frozen tensors are left out; of an unused one the gradient is 0."""

    names: tuple[str, ...]  # of the tensors
    players: tuple[str, ...]  # who moves each tensor, and whose loss is differentiated
    norm: np.ndarray  # Euclidean norm of the gradient: (P,)
    mean_absolute: np.ndarray  # mean of |g|: (P,)
    quantiles: np.ndarray  # 5, 25, 50, 75 and 95 % of |g|: (P, Q)
    parameter_norm: np.ndarray  # Euclidean norm of the tensor: (P,)
    losses: dict[str, float]  # of each player at these rows
    n: int  # number of rows

    @property
    def ratio(self) -> np.ndarray:
        """‖g‖ / ‖θ‖: (P,); inf where θ = 0 has a gradient, NaN where both are 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.norm / self.parameter_norm

    def columns(self) -> dict[str, Any]:
        """One row per tensor."""
        return {
            "tensor": self.names,
            "player": self.players if len(self.losses) > 1 else None,
            "norm": self.norm,
            "mean |g|": self.mean_absolute,
            "median |g|": self.quantiles[:, 2],
            "95 % |g|": self.quantiles[:, 4],
            "‖g‖/‖θ‖": self.ratio,
        }

    @property
    def caption(self) -> str:
        losses = ", ".join(f"{name} {value:#.4g}" for name, value in self.losses.items())
        return f"Gradient at {self.n} rows: {losses}."

    def figure(self) -> Figure:
        """Mean absolute gradient of each tensor, with ‖g‖ / ‖θ‖ beside it."""
        notes = [f"‖g‖/‖θ‖ = {ratio:.2g}" for ratio in self.ratio]
        title = f"Gradient flow at {self.n} rows"
        return layers(self.names, self.mean_absolute, label="mean |gradient|", title=title, notes=notes)


@explanation("gradient-flow", needs="module_")
def gradient_flow(obj: Any, X: Any, y: Any = None, *, loss: LossLike = None, training: bool = False) -> GradientFlow:
    """The gradient of the objective at these rows, tensor by tensor, without the penalties of `Training`.

    Example:
        >>> net = torch.nn.Linear(2, 1, bias=False)
        >>> half_square = lambda raw, y: (raw[:, 0] - y) ** 2 / 2
        >>> found = gradient_flow(net, [[3.0, 4.0]], net(torch.tensor([[3.0, 4.0]])).detach()[0] + 1, loss=half_square)
        >>> round(float(found.norm[0]), 4)
        5.0
    """
    point = Point(obj, X, y, loss)
    losses, rows = {}, []
    with point.open(training=training), torch.enable_grad():
        for player in point.objective.player_list:
            point.player = player
            own = [p for p in player.tensors() if p.requires_grad]
            value = point.value()
            losses[player.name] = float(value.detach())
            found = torch.autograd.grad(value, own, allow_unused=True, materialize_grads=True) if own else ()
            rows += [(player.name, p, g) for p, g in zip(own, found, strict=True)]
    if not rows:
        point.moves()
    sizes = [np.abs(array(g)) for *_, g in rows]
    return GradientFlow(
        names=tuple(point.names[id(p)] for _, p, _ in rows),
        players=tuple(name for name, *_ in rows),
        norm=np.array([np.linalg.norm(g.ravel()) for g in sizes]),
        mean_absolute=np.array([g.mean() for g in sizes]),
        quantiles=np.array([np.quantile(g, QUANTILES) for g in sizes]),
        parameter_norm=np.array([np.linalg.norm(array(p).ravel()) for _, p, _ in rows]),
        losses=losses,
        n=point.batch.n,
    )
