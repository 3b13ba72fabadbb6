"""Gradient flow: how much of the loss's gradient arrives at each parameter.

    g = ∂/∂θ [ Σ_i w_i ℓ_i / Σ_i w_i + once ],     ‖g‖,   mean |g|,   ‖g‖ / ‖θ‖        of each tensor θ

A gradient that shrinks from the output to the input by a factor a layer vanishes in a deep net; one that grows
explodes. The learning rate times ‖g‖ / ‖θ‖ is the relative step of gradient descent.

Shapes: P tensors, from input to output; Q = 5 quantiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from .. import plots
from ..data import Batch
from ..errors import InputError
from ..results import Result, Table
from ..train import Objective, Supervised
from ._probe import DRAW, QUANTILES, batch_of, fitting, module_of, untouched
from ._registry import HasModule, HasObjective, explanation, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["GradientFlow", "gradient_flow"]


@dataclass(frozen=True, eq=False)
class GradientFlow(Result):
    """Gradients by parameter tensor. Frozen tensors are left out; one that the loss does not depend on has gradient 0.

    Args:
        names: Name of each tensor.
        players: Who moves it, and whose loss is differentiated.
        norm: Euclidean norm of the gradient: (P,).
        mean_absolute: Mean of |g|: (P,).
        quantiles: Quantiles 5, 25, 50, 75, 95 % of |g|: (P, Q).
        parameter_norm: Euclidean norm of the tensor: (P,).
        losses: Loss of each player at these rows.
        n: Number of rows.
    """

    names: tuple[str, ...]
    players: tuple[str, ...]
    norm: np.ndarray
    mean_absolute: np.ndarray
    quantiles: np.ndarray
    parameter_norm: np.ndarray
    losses: dict[str, float]
    n: int

    @property
    def ratio(self) -> np.ndarray:
        """‖g‖ / ‖θ‖: (P,); inf where θ = 0 has a gradient, NaN where both are 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.norm / self.parameter_norm

    def table(self) -> Table:
        """One line a tensor."""
        columns: dict[str, Sequence[Any]] = {
            "tensor": self.names,
            "player": self.players,
            "norm": self.norm.tolist(),
            "mean |g|": self.mean_absolute.tolist(),
            "median |g|": self.quantiles[:, 2].tolist(),
            "95 % |g|": self.quantiles[:, 4].tolist(),
            "‖g‖/‖θ‖": self.ratio.tolist(),
        }
        if len(self.losses) == 1:
            del columns["player"]
        losses = ", ".join(f"{name} {value:#.4g}" for name, value in self.losses.items())
        return Table(columns, f"Gradient at {self.n} rows: {losses}.")

    def figure(self) -> Figure:
        """Mean absolute gradient of each tensor, with ‖g‖ / ‖θ‖ beside it."""
        return plots.layers(
            self.names,
            self.mean_absolute,
            label="mean |gradient|",
            title=f"Gradient flow at {self.n} rows",
            notes=[f"‖g‖/‖θ‖ = {ratio:.2g}" for ratio in self.ratio],
        )


@explanation("gradient-flow", needs=HasObjective)
def gradient_flow(
    obj: Any,
    X: Any,
    y: Any = None,
    *,
    loss: Callable[[Tensor, Tensor], Tensor] | None = None,
    training: bool = False,
) -> GradientFlow:
    """The gradient of the objective at these rows, tensor by tensor, without the penalties of `Training`.

    Args:
        obj: A fitted neural estimator, or a module together with `loss`.
        X: Rows; all are taken at once.
        y: Their targets, where the objective has any.
        loss: A function (raw, y) -> loss of each row, or a likelihood, instead of the estimator's objective.
        training: In training mode: with dropout (one fixed draw) and the statistics of this batch.

    Example:
        >>> net = nn.Linear(2, 1, bias=False)
        >>> half_square = lambda raw, y: (raw[:, 0] - y) ** 2 / 2
        >>> found = gradient_flow(net, [[3.0, 4.0]], net(torch.tensor([[3.0, 4.0]])).detach()[0] + 1, loss=half_square)
        >>> round(float(found.norm[0]), 4)
        5.0
    """
    require(obj, HasObjective if loss is None else nn.Module | HasModule, "gradient_flow")
    if loss is None and y is None and obj.target_.kind != "none":
        raise InputError(f"{type(obj).__name__} learns from targets, but y is None; pass the y of these rows.")
    module, batch = module_of(obj), batch_of(obj, X, y)
    with DRAW.scope():
        objective = obj.objective(module, obj.target_) if loss is None else Supervised(module, loss)
    with untouched(objective, training=training), fitting(module, batch):
        found = {p.name: _gradients(objective, p.name, p.tensors(), batch) for p in objective.roster}
    names = _names(objective, module)
    rows = [(names[id(p)], who, p, g) for who, (_, pairs) in found.items() for p, g in pairs]
    if not rows:
        raise InputError(f"All parameters of {type(module).__name__} are frozen; let one train to see its gradient.")
    size = [np.abs(_array(g)) for *_, g in rows]
    return GradientFlow(
        names=tuple(name for name, *_ in rows),
        players=tuple(who for _, who, *_ in rows),
        norm=np.array([np.linalg.norm(g) for g in size]),
        mean_absolute=np.array([g.mean() for g in size]),
        quantiles=np.array([np.quantile(g, QUANTILES) for g in size]),
        parameter_norm=np.array([np.linalg.norm(_array(p)) for _, _, p, _ in rows]),
        losses={who: value for who, (value, _) in found.items()},
        n=batch.n,
    )


def _gradients(
    objective: Objective, player: str, tensors: Sequence[Tensor], batch: Batch
) -> tuple[float, list[tuple[Tensor, Tensor]]]:
    """The loss of one player, and its gradient for each of his tensors; `.grad` is not written."""
    own = [p for p in tensors if p.requires_grad]
    with torch.enable_grad():
        total, weight, once, _ = objective.loss(player, batch, DRAW)
        value = total / weight if once is None else total / weight + once
    found = torch.autograd.grad(value, own, allow_unused=True, materialize_grads=True) if own else ()
    return float(value.detach()), list(zip(own, found, strict=True))


def _names(objective: Objective, module: nn.Module) -> dict[int, str]:
    """Names inside the module, where a tensor has one, else inside the objective."""
    return {id(p): name for part in (objective, module) for name, p in part.named_parameters()}


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().double().cpu().numpy().ravel()
