"""Following values through a pass: a tag for each tensor, made from the tags of what it was computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ..data import Batch
from ..errors import InputError
from ._probe import DRAW, batch_of, module_of
from .activations import _numbered as numbered

__all__ = ["Following", "has_maps", "numbered", "rows_for", "tensors_in"]

T = TypeVar("T")
_MAPS = (nn.modules.conv._ConvNd, nn.modules.pooling._MaxPoolNd, nn.modules.pooling._AvgPoolNd)


def has_maps(obj: Any) -> bool:
    """Whether a net has a convolution or a pooling layer."""
    return any(isinstance(part, _MAPS) for part in module_of(obj).modules())


def tensors_in(value: Any) -> Iterator[Tensor]:
    """All tensors of arguments, however deep."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        yield from tensors_in(tuple(value.values()))
    elif isinstance(value, tuple | list):
        for part in value:
            yield from tensors_in(part)


class Following(TorchFunctionMode, Generic[T]):
    """While it is entered, `rule(name, tagged, args, kwargs, out)` tags what every torch function gives.

    Args:
        rule: Called with the function's name, the tagged tensors among its arguments with their tags, its arguments
            and what it gave.
    """

    def __init__(
        self, rule: Callable[[str, list[tuple[Tensor, T]], tuple[Any, ...], dict[str, Any], Tensor], T]
    ) -> None:
        super().__init__()
        self.rule = rule
        self._tags: dict[int, tuple[Tensor, T]] = {}  # the tensor is kept, so that its id stays its own

    def tag(self, tensor: Tensor, tag: T) -> None:
        """Tag one tensor."""
        self._tags[id(tensor)] = tensor, tag

    def of(self, tensor: Tensor | None) -> T | None:
        """The tag of a tensor, if it has one."""
        return self._tags[id(tensor)][1] if id(tensor) in self._tags else None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tagged = [self._tags[id(t)] for t in tensors_in((args, kwargs)) if id(t) in self._tags]
        out = func(*args, **kwargs)
        if tagged:
            name = getattr(func, "__name__", "").strip("_")
            for tensor in tensors_in(out):
                self.tag(tensor, self.rule(name, tagged, args, kwargs, tensor))
        return out


def rows_for(obj: Any, X: Any, shape: Any, n: int) -> Batch:
    """Rows that are given, or n random ones of a shape: (n, ...); an estimator knows the shape of its rows."""
    if X is not None:
        return batch_of(obj, X)
    spec = getattr(obj, "input_", None)
    shape = spec.shape if shape is None and spec is not None else shape
    if shape is None:
        raise InputError(
            f"{type(obj).__name__} does not say what its rows look like; pass X, or shape=, the shape of one row."
        )
    like = next(module_of(obj).parameters(), torch.zeros(()))
    drawn = torch.randn(n, *shape, generator=DRAW.generator("rows"), dtype=torch.float64)
    return Batch(drawn.to(like.device, like.dtype))
