"""Modules whose tensors are stacks: how they are called, made and compared.

Layers that are known here take all members at once; what is not known goes through `torch.func.vmap`, layer by layer.

Shapes: M members, B rows, x (M, B, ...), outputs (M, B, R), weight of a dense layer (M, R, D).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from ..errors import InputError
from ..nn import ACTIVATIONS, Dropout

__all__ = ["apply", "changed", "check_alike", "tensors_of"]

POINTWISE = {nn.Dropout, Dropout, *(entry.factory for entry in ACTIVATIONS.values())}


def apply(module: Any, x: Tensor) -> Tensor:
    """The outputs of a module whose tensors are stacks: (M, B, ...) -> (M, B, R)."""
    if module._forward_hooks or module._forward_pre_hooks:
        return _each(module, x)
    if type(module).forward is nn.Sequential.forward:
        for layer in module:
            x = apply(layer, x)
        return x
    if type(module) is nn.Linear:
        return _dense(x, module.weight, module.bias)
    if type(module) in POINTWISE:
        return module(x)
    return _each(module, x)


def _each(module: nn.Module, x: Tensor) -> Tensor:
    """What the module itself makes of each member's tensors and rows."""

    def one(tensors: dict[str, Tensor], rows: Tensor) -> Tensor:
        return functional_call(module, tensors, (rows,), tie_weights=False)

    return vmap(one, randomness="different")(tensors_of(module), x)


def _dense(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """X_m W_mᵀ + b_m: (M, B, ..., D), (M, R, D), (M, R) -> (M, B, ..., R)."""
    if x.ndim > 3:
        return _dense(x.flatten(1, -2), weight, bias).unflatten(1, x.shape[1:-1])
    if bias is None:
        return torch.bmm(x, weight.mT)
    if x.shape[-1] == 1:  # outer and inner products: elementwise is faster than M products of thin matrices
        return torch.addcmul(bias.unsqueeze(1), x, weight.mT)
    if weight.shape[1] == 1:
        return (x * weight).sum(-1, keepdim=True) + bias.unsqueeze(1)
    return torch.baddbmm(bias.unsqueeze(1), x, weight.mT)


# ---- tensors by name


def tensors_of(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by name; one that two layers share has a name in each, a layer with two names only one."""
    found = {}
    for path, part in module.named_modules():
        own = {f"{path}.{leaf}" if path else leaf: t for leaf, t in (part._parameters | part._buffers).items()}
        found |= {name: tensor for name, tensor in own.items() if tensor is not None}
    return found


def changed(module: nn.Module, change: Callable[[str, Tensor], Tensor]) -> nn.Module:
    """A copy of a module with other tensors; what was one tensor under two names still is."""
    copy, made = deepcopy(module), dict[int, Tensor]()
    for name, tensor in tensors_of(module).items():
        if id(tensor) not in made:
            value = change(name, tensor)
            made[id(tensor)] = nn.Parameter(value, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else value
        _put(copy, name, made[id(tensor)])
    return copy


def _put(module: nn.Module, name: str, value: Tensor) -> None:
    path, _, leaf = name.rpartition(".")
    setattr(module.get_submodule(path), leaf, value)


def check_alike(members: Sequence[nn.Module]) -> None:
    """One sentence if modules do not have the same layers, settings and shapes."""
    if not members:
        raise InputError("A stack needs at least one member; got none.")
    first = _facts(members[0])
    for i, member in enumerate(members[1:], start=1):
        own = _facts(member)
        differing = next((name for name in {**first, **own} if first.get(name) != own.get(name)), None)
        if differing is not None:
            raise InputError(
                f"Members of a stack must be of one structure, but {differing} is {first.get(differing, 'missing')} in "
                f"the first and {own.get(differing, 'missing')} in member {i}. Train those of each structure apart."
            )


def _facts(module: nn.Module) -> dict[str, str]:
    """Shapes and plain settings by name."""
    found = {}
    for path, part in module.named_modules():
        where, plain = f"{path}." if path else "", {k: v for k, v in vars(part).items() if _is_plain(v)}
        found |= {path or "the module": type(part).__name__} | {f"{where}{k}": str(v) for k, v in plain.items()}
    shapes = {name: (tuple(t.shape), t.dtype, t.requires_grad) for name, t in tensors_of(module).items()}
    return found | {
        name: f"{shape} {dtype}{'' if grad else ' frozen'}" for name, (shape, dtype, grad) in shapes.items()
    }


def _is_plain(value: Any) -> bool:
    return all(map(_is_plain, value)) if isinstance(value, tuple) else isinstance(value, bool | int | float | str)
