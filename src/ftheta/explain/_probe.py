"""Looking into a module without a trace: hooks that go away; mode, buffers and generators as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..data import Batch
from ..draw import Draw
from ..errors import FThetaError, InputError, InputTypeError
from ._registry import HasObjective

__all__ = [
    "DRAW",
    "QUANTILES",
    "Seen",
    "batch_of",
    "first_tensor",
    "fitting",
    "forward",
    "layers_of",
    "module_of",
    "untouched",
    "watching",
]

DRAW = Draw(0).at("explain")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
Seen = Callable[[str, nn.Module, Any, Any], None]  # name, layer, inputs, output


def module_of(obj: Any) -> nn.Module:
    """The module itself, or that of a fitted estimator."""
    return obj if isinstance(obj, nn.Module) else obj.module_


def layers_of(module: nn.Module) -> list[tuple[str, nn.Module]]:
    """The parts that compute something of their own: those with parameters, and those without parts."""

    def own(part: nn.Module) -> bool:
        return bool(part._parameters or not part._modules)

    return [(name or type(part).__name__, part) for name, part in module.named_modules() if own(part)]


def first_tensor(value: Any) -> Tensor | None:
    """The tensor, or the first one in a tuple, list or mapping, however deep."""
    if isinstance(value, Tensor):
        return value
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple | list) else ()
    return next((found for part in parts if (found := first_tensor(part)) is not None), None)


def batch_of(obj: Any, X: Any, y: Any = None) -> Batch:
    """Rows as the net sees them: an estimator's own batch, or copies as tensors of the module's dtype and device."""
    if hasattr(obj, "batch") and not isinstance(obj, nn.Module):
        return obj.batch(X, y)
    like = next(module_of(obj).parameters(), torch.zeros(()))
    batch = Batch(_tensors(X, like, "X"), None if y is None else _tensors(y, like, "y"))
    if not batch.n:
        raise InputError("X has no rows; pass at least one.")
    return batch


def _tensors(value: Any, like: Tensor, name: str) -> Any:
    if isinstance(value, Mapping):
        return {key: _tensors(part, like, name) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(_tensors(part, like, name) for part in value)
    array = value if isinstance(value, Tensor) else np.asarray(value)
    if isinstance(array, np.ndarray) and array.dtype.kind not in "fiub":
        raise InputTypeError(f"{name} holds {array.dtype}; a plain module takes numbers. Encode {name} first.")
    copy = array.detach().clone() if isinstance(array, Tensor) else torch.tensor(array)
    return copy.to(like.device, like.dtype if copy.is_floating_point() else copy.dtype)


@contextmanager
def untouched(module: nn.Module, *, training: bool = False) -> Iterator[None]:
    """Evaluation mode (or training mode) and a fixed draw; modes, buffers and generators go back on every exit."""
    with DRAW.scope():
        modes = [(part, part.training) for part in module.modules()]
        buffers = [(b, b.clone()) for b in module.buffers()]
        held = [(part, dict(part._buffers)) for part in module.modules()]
        try:
            module.train(training)
            yield
        finally:
            for part, mode in modes:
                part.training = mode
            for part, names in held:
                part._buffers.update(names)
            for buffer, copy in buffers:
                if not torch.equal(buffer, copy):  # a write would break a backward pass that waits outside
                    buffer.detach().copy_(copy)


@contextmanager
def watching(module: nn.Module, see: Seen) -> Iterator[None]:
    """Call `see` with every layer that runs: its name, itself, its inputs, its output."""

    def hook(name: str) -> Callable[..., None]:
        return lambda layer, inputs, output: see(name, layer, inputs, output)

    layers = [(name, part) for name, part in layers_of(module) if "parametrizations" not in name.split(".")]
    handles = [part.register_forward_hook(hook(name)) for name, part in layers]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def forward(obj: Any, batch: Batch) -> None:
    """One pass without gradients; a net without `forward` is run by its objective."""
    module = module_of(obj)
    with torch.no_grad(), fitting(module, batch):
        if type(module).forward is nn.Module.forward and isinstance(obj, HasObjective):
            obj.objective(module, obj.target_).evaluate(batch, DRAW)
        else:
            module(batch.x)


@contextmanager
def fitting(module: nn.Module, batch: Batch) -> Iterator[None]:
    """The sentence for rows that a module cannot take."""
    try:
        yield
    except FThetaError:
        raise
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        x = first_tensor(batch.x)
        shape = "" if x is None else f" of shape {tuple(x.shape[1:])} and {x.dtype}"
        why = str(error).partition("\n")[0].rstrip(".")
        raise InputError(
            f"{type(module).__name__} failed on {batch.n} rows{shape}: {why}. Pass rows and targets that fit it."
        ) from error
