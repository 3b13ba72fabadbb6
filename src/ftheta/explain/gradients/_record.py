"""A pass written down: each layer that ran, each operation between layers, and where its values came from.

A layer is a module without parts. Values stay in autograd's graph, so that any derivative can be asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_map

from ._words import UNKNOWN, words_of


class Step(NamedTuple):
    """One call of a layer, or of an operation between layers; the first steps are the inputs."""

    name: str
    layer: nn.Module | None
    sources: tuple[int, ...]  # numbers of the steps whose values it takes
    out: Tensor  # what it returned, in the graph
    value: Tensor  # a copy: an operation that follows may write into `out`
    idle: bool = False  # a layer that returned its input, as dropout does in evaluation mode


class Record(TorchFunctionMode):
    """The steps of one forward pass, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []
        self._from: dict[int, tuple[Tensor, int]] = {}  # the tensor is kept, so that its id stays its own
        self._depth = 0

    def start(self, x: Any) -> Any:
        """Write down the inputs; returns copies, which a layer may change in place."""
        given = tree_map(lambda v: v.clone() if _floats(v) else v, x)
        pairs = zip(tree_flatten(x)[0], tree_flatten(given)[0], strict=True)
        for tensor, copy in ((a, b) for a, b in pairs if isinstance(a, Tensor)):
            self._from |= {id(v): (v, len(self.steps)) for v in (tensor, copy)}
            self.steps.append(Step("input", None, (), tensor, tensor.detach().clone()))
        return given

    def knows(self, tensor: Tensor) -> bool:
        """Whether a tensor was computed from the inputs."""
        return id(tensor) in self._from

    def add(self, name: str, layer: nn.Module | None, given: Any, out: Any, idle: bool = False) -> None:
        """Write down a step, if a number comes out that depends on the inputs."""
        found = [v for v in tree_flatten(out)[0] if _floats(v)]
        sources = {self._from[id(v)][1] for v in tree_flatten(given)[0] if id(v) in self._from}
        if found and sources:
            self._from |= {id(v): (v, len(self.steps)) for v in found}
            self.steps.append(Step(name, layer, tuple(sorted(sources)), found[0], found[0].detach().clone(), idle))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        name = getattr(getattr(func, "__self__", None), "__name__", name) if name == "__get__" else name
        if not self._depth and torch.is_grad_enabled() and name not in ("detach", "data"):
            with torch._C.DisableTorchFunction():
                self.add(name.strip("_"), None, (args, kwargs), args[0] if name == "__setitem__" else out)
        return out

    @contextmanager
    def of(self, module: nn.Module, net: nn.Module | None = None) -> Iterator[Record]:
        """While it is entered, calls are written down; layers have the names that they have in `net`."""
        names = {id(p): n for part in (module, net or module) for n, p in part.named_modules()}
        parts = [(names[id(p)], p) for p in module.modules() if not p._modules]
        known = [(n or type(p).__name__, p) for n, p in parts if p is not module or words_of(p, "") is not UNKNOWN]
        handles = [p.register_forward_pre_hook(self._enter) for _, p in known]
        handles += [p.register_forward_hook(self._leave(n)) for n, p in known]
        try:
            with self, torch.enable_grad():
                yield self
        finally:
            for handle in handles:
                handle.remove()

    def _enter(self, layer: nn.Module, args: Any) -> Any:
        self._depth += 1
        with torch._C.DisableTorchFunction():
            if getattr(layer, "inplace", False) and self._depth == 1:
                fresh = tree_map(lambda v: v.clone() if _floats(v) else v, args)
                pairs = zip(tree_flatten(args)[0], tree_flatten(fresh)[0], strict=True)
                self._from |= {id(b): (b, self._from[id(a)][1]) for a, b in pairs if id(a) in self._from}
                return fresh

    def _leave(self, name: str) -> Any:
        def leave(layer: nn.Module, args: Any, out: Any) -> Any:
            self._depth -= 1
            if self._depth or not torch.is_grad_enabled():
                return out
            with torch._C.DisableTorchFunction():
                idle = any(out is arg for arg in args) and not getattr(layer, "inplace", False)
                out = out.clone() if idle else out  # a value of its own, although nothing was done to it
                self.add(name, layer, args, out, idle)
            return out

        return leave


def _floats(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()
