"""What every member of a stack of objectives loses: totals (M,) and weights (M,), from x (M, B, ...).

A likelihood without parameters takes the stacked outputs as they are; every other objective goes through
`torch.func.vmap`, by its own `loss` and `evaluate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call, vmap

from ..data.batch import Batch
from ..draw import Draw
from ._stacking import apply, tensors_of
from .objective import Loss, Supervised

__all__ = ["StackedLoss"]


class StackedLoss:
    """Losses and reports of each member, from an objective whose tensors are stacks."""

    def __init__(self, objective: Any) -> None:
        self.objective, self.plain = objective, _plain(objective)

    def losses(self, batch: Batch) -> Loss:
        """What is minimised; total and what is added once are (M,), the weight (M,) or a number."""
        objective = self.objective
        if self.plain:
            raw = apply(objective.module, batch.x)  # (M, B, ..., R)
            return Loss(*_sums(objective.nll.nll(raw, batch.y), batch.weight))
        found = _mapped(objective, ("loss", objective.roster[0].name), batch)
        (total, weight), once = found.pop("loss"), found.pop("once", (None,))[0]
        return Loss(total, weight, once, {name: value for name, (value, _) in found.items()})

    def reports(self, batch: Batch) -> dict[str, tuple[Tensor, Tensor | float]]:
        """What validation reports: totals and weights by name."""
        if not self.plain:
            return _mapped(self.objective, ("evaluate",), batch)
        raw, likelihood = apply(self.objective.module, batch.x), self.objective.nll
        found = {"loss": _sums(likelihood.nll(raw, batch.y), batch.weight)}
        if likelihood.support in ("binary", "category"):
            hits = likelihood.mode(raw) == batch.y
            hits = hits.all(-1) if raw.ndim == batch.y.ndim else hits
            found["accuracy"] = _sums(hits.to(raw.dtype), batch.weight)
        return found


def _plain(objective: Any) -> bool:
    """Whether the loss is a likelihood of the module's outputs, and all that is learned is the module's."""
    return (
        isinstance(objective, Supervised)
        and (type(objective).loss, type(objective).evaluate) == (Supervised.loss, Supervised.evaluate)
        and objective.penalty is None
        and objective.likelihood is not None
        and not list(objective.likelihood.parameters())
        and not list(objective.likelihood.buffers())
    )


def _sums(each: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor | float]:
    """Σ w ℓ and Σ w of each member: (M, B, ...) -> (M,), and (M,) or one number for all."""
    if weight is None:
        return each.flatten(1).sum(1), float(each.numel() // len(each))
    spread = weight.reshape(weight.shape + (1,) * (each.ndim - weight.ndim)).expand_as(each)
    return (spread * each).flatten(1).sum(1), spread.flatten(1).sum(1)


def _mapped(objective: Any, door: tuple[str, ...], batch: Batch) -> dict[str, Any]:
    """Totals and weights by name, from the objective's own methods under vmap; `once` under its own name."""

    def one(tensors: Any, x: Tensor, y: Any, weight: Any) -> dict[str, tuple[Tensor, Tensor]]:
        said = functional_call(objective, tensors, (*door, Batch(x, y, weight), Draw(0)), tie_weights=False)
        return _flat({"loss": said} if isinstance(said, Loss) else said)

    axes = (0, 0, None if batch.y is None else 0, None if batch.weight is None else 0)
    return vmap(one, axes, randomness="different")(tensors_of(objective), batch.x, batch.y, batch.weight)


def _flat(said: Mapping[str, Loss]) -> dict[str, tuple[Tensor, Tensor]]:
    found = {}
    for name, loss in said.items():
        weight = torch.as_tensor(loss.weight, dtype=loss.total.dtype, device=loss.total.device)
        found |= {name: (loss.total, weight)} | {term: (value, weight) for term, value in loss.terms.items()}
        found |= {} if loss.once is None else {"once": (loss.once, weight)}
    return found
