"""A loss as a function of parameters and inputs, on a copy in float64: it can be moved about, the original stays.

    F(θ, x) = Σ_i w_i ℓ_i / Σ_i w_i + once          the same rows, noise and buffers at every evaluation

A layer alone, without a loss, is given one: Σ v·f(x) with fixed random numbers v, so that every output counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from ..data import Batch
from ..data.batch import take
from ..errors import InputError, InputTypeError
from ..likelihoods import Likelihood
from ._losses import loss_of
from ._probe import DRAW, batch_of, first_tensor, fitting, layers_of, module_of
from ._registry import HasModule, HasObjective, require

__all__ = ["Copied", "Given", "Row", "calls"]

Given = str | Callable[[Tensor, Tensor], Tensor] | None  # a loss by name, or (raw, y) -> one number, or one a row
Row = tuple[str, nn.Module, tuple[Any, ...], Tensor]  # name, layer, inputs, output of one call


class Copied:
    """The copy.

    Args:
        obj: A module, or a fitted estimator with one.
        X: Rows.
        y: Their targets.
        loss: A name, a function (raw, y) -> one number or one a row, or a likelihood; None: an estimator's own
            objective, for a module half the squared error or, of whole numbers, the cross-entropy; without y the
            projection Σ v·f(x).
        training: In training mode: with dropout (one fixed draw) and the statistics of this batch.
        row: One row alone; None: all.
        name: Who asks.
    """

    def __init__(
        self, obj: Any, X: Any, y: Any, loss: Given, *, training: bool = False, row: int | None = None, name: str
    ) -> None:
        require(obj, nn.Module | HasModule, name)
        loss = loss if loss is None else loss_of(loss)
        own = loss is None and isinstance(obj, HasObjective)
        if own and y is None and obj.target_.kind != "none":
            raise InputError(f"{type(obj).__name__} learns from targets, but y is None; pass the y of these rows.")
        module, batch = module_of(obj), _picked(batch_of(obj, X, y), row)
        with DRAW.scope():
            parts: Any = obj.objective(module, obj.target_) if own else nn.ModuleList([module])
        if isinstance(loss, nn.Module):
            parts.append(loss)
        memo: dict[int, Any] = {}
        self.parts = _copy(parts, memo, module).train(training)
        self.net: nn.Module = memo[id(module)]
        self.own, self.loss = own, memo[id(loss)] if isinstance(loss, nn.Module) else loss
        self.x, self.batch = (
            _double(batch.x, grad=True),
            batch._replace(y=_double(batch.y), weight=_double(batch.weight)),
        )
        self.size, self.rough, self._against = 1.0, 1.0, None
        self._kept = [(b, b.clone()) for b in self.parts.buffers()]

    @property
    def parameters(self) -> dict[str, Tensor]:
        """Parameters that train, by their names in the module, else in the objective or the loss."""
        names = {id(p): name for part in (self.parts, self.net) for name, p in part.named_parameters()}
        found: dict[str, Tensor] = {names[id(p)]: p for p in self.parts.parameters() if p.requires_grad}
        wrong = next((name for name, p in found.items() if p.is_complex()), None)
        if wrong is not None:
            raise InputTypeError(f"{wrong} holds complex numbers; a real one for each part is needed.")
        return found

    @property
    def inputs(self) -> dict[str, Tensor]:
        """The tensors of real numbers among the inputs."""
        return dict(_named(self.x, "input"))

    def value(self) -> Tensor:
        """F at what parameters and inputs hold now: ()."""
        with torch.no_grad():
            for buffer, kept in self._kept:
                buffer.copy_(kept)
        DRAW.seed_global()
        batch = self.batch._replace(x=_clone(self.x))  # a layer may write into its input
        with fitting(self.net, batch):
            return self._objective(batch) if self.own else self._scalar(self.net(batch.x), batch.y)

    def _objective(self, batch: Batch) -> Tensor:
        objective: Any = self.parts
        total, weight, once, _ = objective.loss(objective.roster[0].name, batch, DRAW)
        value = total / weight if once is None else total / weight + once
        self.size = abs(float(value.detach()))
        return value

    def _scalar(self, raw: Any, y: Any) -> Tensor:
        out = raw if isinstance(raw, Tensor) else first_tensor(raw)
        if out is None:
            raise InputTypeError(f"{type(self.net).__name__} returned a {type(raw).__name__} without a tensor in it.")
        if self.loss is not None:
            each = self.loss.nll(raw, y) if isinstance(self.loss, Likelihood) else self.loss(raw, y)
        elif y is not None:
            each = _usual(out, y)
        else:
            if self._against is None:
                self._against = torch.randn(out.shape, generator=DRAW.generator("against"), dtype=torch.float64)
            each = out * self._against.to(out.device)
            self.size = float(each.detach().abs().sum())
            return each.sum()
        self.size = float(each.detach().abs().mean())
        return each.mean()


def _picked(batch: Batch, row: int | None) -> Batch:
    if row is None:
        return batch
    if not 0 <= row < batch.n:
        raise InputError(f"row={row}, but there are {batch.n} rows; choose one from 0 to {batch.n - 1}.")
    here = slice(row, row + 1)
    return Batch(take(batch.x, here), take(batch.y, here), take(batch.weight, here))


def _usual(raw: Tensor, y: Tensor) -> Tensor:
    """Half the squared error of each row, or the cross-entropy of classes."""
    if not y.is_floating_point() and raw.ndim == y.ndim + 1 and raw.shape[1] > 1:
        return nn.functional.cross_entropy(raw, y.long(), reduction="none")
    if y.numel() != raw.numel():
        raise InputError(
            f"The outputs have shape {tuple(raw.shape)} and y {tuple(y.shape)}, for which there is no usual loss; pass "
            "loss=, a function (raw, y) -> loss of each row."
        )
    return (raw - y.reshape(raw.shape)).square().flatten(1).sum(1) / 2


def _copy(parts: nn.Module, memo: dict[int, Any], module: nn.Module) -> nn.Module:
    try:
        return deepcopy(parts, memo).double()
    except (RuntimeError, TypeError) as error:
        why = str(error).partition("\n")[0].rstrip(".")
        raise InputTypeError(
            f"{type(module).__name__} cannot be copied: {why}. Keep what is computed out of its attributes."
        ) from error


def _double(value: Any, *, grad: bool = False) -> Any:
    if isinstance(value, Mapping):
        return {key: _double(part, grad=grad) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(_double(part, grad=grad) for part in value)
    if not isinstance(value, Tensor) or not value.is_floating_point():
        return value
    return value.detach().double().clone().requires_grad_(grad)


def _clone(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _clone(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(map(_clone, value))
    return value.clone() if isinstance(value, Tensor) else value


def _named(value: Any, name: str) -> Iterator[tuple[str, Tensor]]:
    if isinstance(value, Mapping | tuple):
        for key, part in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _named(part, f"{name}[{key!r}]")
    elif isinstance(value, Tensor) and value.is_floating_point():
        yield name, value


@contextmanager
def calls(module: nn.Module) -> Iterator[list[Row]]:
    """Every call of a layer, in order, with what went in and came out; what follows works on a copy of the output."""
    found: list[Row] = []

    def see(name: str) -> Callable[..., Any]:
        def hook(layer: nn.Module, inputs: tuple[Any, ...], output: Any) -> Any:
            out = first_tensor(output)
            if out is not None:
                found.append((name, layer, inputs, out))
            return output.clone() if isinstance(output, Tensor) else None

        return hook

    handles = [part.register_forward_hook(see(name)) for name, part in layers_of(module)]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()
