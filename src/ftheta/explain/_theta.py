"""The loss of a trained module as a function of its parameters, laid flat.

    L(θ) = Σ_i w_i ℓ_i(θ) / Σ_i w_i + once        in evaluation mode, without the penalties of `Training`

Shapes: P parameters of the first player, in the order of the module; N points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ..data import Batch
from ..data.batch import take
from ..draw import Draw
from ..errors import InputError, InputTypeError
from ..train import Objective, Supervised
from ._probe import DRAW, batch_of, fitting, module_of, untouched
from ._registry import HasModule, HasObjective, require

__all__ = ["Theta", "has_surface", "parts_of", "require_surface"]

T = TypeVar("T")
RowLoss = Callable[[Tensor, Tensor], Tensor]


def has_surface(obj: Any) -> bool:
    """Whether what an estimator minimises is a function of θ and rows: what `explanation(when=)` asks."""
    with DRAW.scope():
        return not obj.objective(obj.module_, obj.target_).surrogate


def require_surface(objective: Objective, obj: Any, who: str) -> None:
    """Refuse an objective whose loss has the right gradient and no meaning."""
    if objective.surrogate:
        raise InputTypeError(
            f"{type(obj).__name__} has no surface; {who} needs a loss that is a function of weights and rows, and this "
            "one is estimated by samples of the model itself. Compare settings by validation rows."
        )


class Theta:
    """An objective at rows, as a function of θ; the module itself is never written.

    Args:
        obj: A fitted neural estimator, or a module together with `loss`.
        X: Rows.
        y: Their targets, where the objective has any.
        loss: A function (raw, y) -> loss of each row, or a likelihood, instead of the estimator's objective.
        rows: At most this many rows, evenly spaced; None: all.
        who: The public function that asks.
    """

    def __init__(self, obj: Any, X: Any, y: Any, loss: RowLoss | None, rows: int | None, who: str) -> None:
        require(obj, HasObjective if loss is None else nn.Module | HasModule, who)
        if loss is None and y is None and obj.target_.kind != "none":
            raise InputError(f"{type(obj).__name__} learns from targets, but y is None; pass the y of these rows.")
        self.module = module_of(obj)
        self.batch = at_most(batch_of(obj, X, y), rows)
        with DRAW.scope():
            self.objective = obj.objective(self.module, obj.target_) if loss is None else Supervised(self.module, loss)
        require_surface(self.objective, obj, who)
        self.player = self.objective.roster[0].name
        own = {id(p) for p in self.objective.roster[0].tensors() if p.requires_grad}
        self.named = {name: p for name, p in self.objective.named_parameters() if id(p) in own}
        if not self.named:
            raise InputError(f"All parameters of {type(self.module).__name__} are frozen; {who} needs one that moves.")
        self.shapes = {name: p.shape for name, p in self.named.items()}

    @property
    def size(self) -> int:
        """P."""
        return sum(p.numel() for p in self.named.values())

    def flat(self) -> Tensor:
        """θ as it is: (P,)."""
        return torch.cat([p.detach().flatten() for p in self.named.values()])

    def here(self, batch: Batch | None = None) -> Tensor:
        """L at the parameters that the objective has now: 0-d."""
        total, weight, once, _ = self.objective.loss(self.player, self.batch if batch is None else batch, DRAW)
        return total / weight if once is None else total / weight + once

    def loss(self, theta: Tensor | Mapping[str, Tensor], batch: Batch | None = None) -> Tensor:
        """L(θ) of these rows, for θ (P,) or its parts by name: 0-d."""
        return self.holding(theta, lambda: self.here(batch))

    def holding(self, theta: Tensor | Mapping[str, Tensor], f: Callable[[], T]) -> T:
        """f() while the objective has these parameters, θ (P,) or its parts by name; then its own again."""
        parts = parts_of(theta, self.shapes) if isinstance(theta, Tensor) else theta
        return functional_call(_Holder(self.objective), {f"held.{name}": p for name, p in parts.items()}, (f,))

    @contextmanager
    def open(self) -> Iterator[None]:
        """Evaluation mode, a fixed draw, and a sentence for rows that do not fit; all goes back on every exit."""
        with untouched(self.objective), fitting(self.module, self.batch):
            yield

    def batches(self, count: int, size: int | None, draw: Draw) -> list[Batch]:
        """Mini-batches as an epoch makes them: rows in a random order, and again when all are used up."""
        n = self.batch.n
        if count < 1:
            raise InputError(f"batches={count}; ask for 1 or more mini-batches, or for none with 0.")
        size = max(1, n // count) if size is None else size
        if not 1 <= size <= n:
            raise InputError(f"batch_size={size} of {n} rows; choose one from 1 to {n}.")
        order = torch.cat([torch.randperm(n, generator=draw.generator(f"{i}")) for i in range(-(-count * size // n))])
        return [_rows(self.batch, index) for index in order.split(size)[:count]]


class _Holder(nn.Module):
    """A door for `functional_call` that runs anything while parameters are exchanged."""

    def __init__(self, held: nn.Module) -> None:
        super().__init__()
        self.held = held

    def forward(self, f: Callable[[], T]) -> T:
        return f()


def parts_of(theta: Tensor, shapes: Mapping[str, Sequence[int]]) -> dict[str, Tensor]:
    """Views of a flat θ by name: (P,) -> the tensors."""
    sizes = [torch.Size(shape).numel() for shape in shapes.values()]
    return {name: part.view(shape) for (name, shape), part in zip(shapes.items(), theta.split(sizes), strict=True)}


def at_most(batch: Batch, rows: int | None) -> Batch:
    """Evenly spaced rows, where there are more than `rows`."""
    if rows is not None and rows < 1:
        raise InputError(f"rows={rows}; take at least one row, or rows=None for all.")
    if rows is None or batch.n <= rows:
        return batch
    return _rows(batch, torch.linspace(0, batch.n - 1, rows, dtype=torch.float64).round().long())


def _rows(batch: Batch, index: Tensor) -> Batch:
    return Batch(*(take(part, index) for part in (batch.x, batch.y, batch.weight)))
