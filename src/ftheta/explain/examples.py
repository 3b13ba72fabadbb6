"""Gradients of single examples: who pulls the parameters which way.

    ∇ Σ_i ℓ_i(θ)  =  Σ_i ∇ℓ_i(θ),        one row of G a term

All rows at once (`torch.func.vmap`), never in a loop; n P numbers must fit into memory.
Shapes: n rows, P numbers in all parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.utils._pytree import tree_map

from .. import plots
from ..data import Batch
from ..errors import InputError
from ..results import Result, Table
from ..train import Supervised
from ._probe import DRAW, batch_of, fitting, module_of, untouched
from ._registry import HasModule, HasObjective, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ExampleGradients", "example_gradients"]


@dataclass(frozen=True, eq=False)
class ExampleGradients(Result):
    """The gradient of every row's loss.

    Args:
        names: Name of the tensor that each column belongs to.
        gradients: Gradient of each row's loss: (n, P).
    """

    names: tuple[str, ...]
    gradients: np.ndarray

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

    def table(self) -> Table:
        """One line a row."""
        columns = {"row": list(range(len(self.norms))), "norm": self.norms.tolist(), "cosine": self.agreement.tolist()}
        norm = np.linalg.norm(self.total)
        return Table(columns, f"The {len(self.norms)} gradients add up to one of norm {norm:#.4g}.")

    def figure(self) -> Figure:
        """Norms of the gradients, largest first, and the cosine of each with the total."""
        order = np.argsort(-self.norms, kind="stable")
        lines = {
            "norm of the gradient": self.norms[order].tolist(),
            "cosine with the total": self.agreement[order].tolist(),
        }
        return plots.curves(lines, x="rows by norm", label="norm, cosine", title="Gradients of single rows")


def example_gradients(
    obj: Any, X: Any, y: Any = None, *, loss: Callable[[Tensor, Tensor], Tensor] | None = None
) -> ExampleGradients:
    """The gradient of the loss of each row, times its weight where classes are weighed, in evaluation mode and without
    penalties.

    Args:
        obj: A fitted neural estimator, or a module together with `loss`.
        X: Rows; all are taken at once.
        y: Their targets, where the objective has any.
        loss: A function (raw, y) -> loss of each row, or a likelihood, instead of the estimator's objective.

    Example:
        >>> line = nn.Linear(1, 1, dtype=torch.float64)
        >>> _ = nn.init.zeros_(line.weight), nn.init.zeros_(line.bias)
        >>> square = lambda raw, y: (raw[:, 0] - y) ** 2
        >>> found = example_gradients(line, [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 2.0, 5.0], loss=square)
        >>> found.total.tolist()  # slope, intercept
        [-44.0, -22.0]
    """
    require(obj, HasObjective if loss is None else nn.Module | HasModule, "example_gradients")
    module, batch = module_of(obj), batch_of(obj, X, y)
    with DRAW.scope():
        objective = obj.objective(module, obj.target_) if loss is None else Supervised(module, loss)
    if not objective.separable:
        raise InputError(f"{type(objective).__name__} is not a sum over rows, so single rows have no gradient.")
    player = objective.roster[0]
    own = {id(p) for p in player.tensors()}
    theta = {k: p.detach() for k, p in objective.named_parameters() if id(p) in own and p.requires_grad}
    if not theta:
        raise InputError(
            f"All parameters of {type(module).__name__} are frozen; example_gradients needs one that moves."
        )

    def one(theta: dict[str, Tensor], parts: dict[str, Any]) -> Tensor:
        row = Batch(**tree_map(lambda part: part[None], parts))
        return functional_call(objective, theta, ("loss", player.name, row, DRAW)).total

    given = {name: part for name in ("x", "y", "weight") if (part := getattr(batch, name)) is not None}
    with untouched(objective), fitting(module, batch), torch.no_grad():
        found = vmap(grad(one), in_dims=(None, 0), randomness="same")(theta, given)
    flat = torch.cat([found[k].reshape(batch.n, -1) for k in theta], 1)  # (n, P)
    short = {id(p): name for name, p in module.named_parameters()}
    full = dict(objective.named_parameters())
    names = tuple(short.get(id(full[k]), k) for k in theta for _ in range(theta[k].numel()))
    return ExampleGradients(names, flat.double().cpu().numpy())
