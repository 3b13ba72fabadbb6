"""A pass written down call by call: what each layer, and each operation between layers, took and gave.

    forward:   call 1, call 2, ...            values, and where each came from
    backward:  ..., call 2, call 1            δ of what a call took, from δ of what it gave, by the rule of its kind

A layer is a module without parts. What is computed between layers (a sum, a concatenation, a reshaping) is a call too.
Shapes: as they come; numbers that are passed back are of double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_unflatten

from ..errors import InputError

__all__ = ["Back", "Call", "Kind", "Rule", "Source", "Swept", "Tape"]

Source = tuple[str, Any]  # ("input", number), ("value", (call, output)), ("parameter", name)
_STOPS = {"detach", "data", "detach_"}  # no derivative goes through


class Back(NamedTuple):
    """What a rule gives: δ of each input, gradients of parameters, and what it computed on the way."""

    inputs: Sequence[Tensor | None]
    parameters: Mapping[str, Tensor] = {}
    inner: Mapping[str, Tensor] = {}


@dataclass(eq=False)
class Call:
    """One call of a layer, or of an operation between layers.

    Args:
        name: Name of the layer; of the function, where it is an operation.
        layer: The layer, if it is one.
        run: What was called.
        leaves: All arguments, tensors as copies.
        spec: How they are put together again.
        sources: Where each of the floating tensors among them came from; None for a constant.
        outputs: Floating tensors that it gave.
        state: State of torch's generator before the call.
    """

    name: str
    layer: nn.Module | None
    run: Callable[..., Any]
    leaves: list[Any]
    spec: Any
    sources: list[Source | None]
    outputs: list[Tensor]
    state: Tensor

    @cached_property
    def inputs(self) -> list[Tensor]:
        """Floating tensors among the arguments, in double precision."""
        return [leaf.double().cpu() for leaf in self.leaves if _floats(leaf)]

    @cached_property
    def values(self) -> list[Tensor]:
        """What it gave, in double precision."""
        return [output.double().cpu() for output in self.outputs]

    @cached_property
    def theta(self) -> dict[str, Tensor]:
        """The layer's own parameters by their short names, in double precision."""
        own = {} if self.layer is None else dict(self.layer.named_parameters(recurse=False))
        return {name: p.detach().double().cpu() for name, p in own.items()}

    @cached_property
    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and named arguments, floating tensors in double precision."""
        doubles = [leaf.double().cpu() if _floats(leaf) else leaf for leaf in self.leaves]
        return tree_unflatten(doubles, self.spec)

    def again(self, *inputs: Tensor) -> list[Tensor]:
        """The call repeated with other floating inputs and the same draws: the floating tensors that it gives."""
        given = iter(inputs)
        args, kwargs = tree_unflatten([next(given) if _floats(leaf) else leaf for leaf in self.leaves], self.spec)
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self.state)
            out = self.run(*args, **kwargs)
        found = tree_flatten(args[0] if _in_place(self.name) and out is None else out)[0]
        return [value for value in found if _floats(value)]


Rule = Callable[[Call, Sequence[Tensor]], Back]


class Kind(NamedTuple):
    """What is known of a kind of layer or operation: its formula, its rule, where it holds, and what does elsewhere."""

    forward: str
    backward: str
    rule: Rule
    fits: Callable[[Call], bool] = lambda call: True
    gradient: str = ""
    otherwise: Kind | None = None


@dataclass
class Swept:
    """A backward sweep: δ of every value, gradients of parameters, and what rules computed on the way."""

    delta: dict[Source, Tensor] = field(default_factory=dict)
    gradient: dict[str, Tensor] = field(default_factory=dict)
    inner: dict[int, Mapping[str, Tensor]] = field(default_factory=dict)

    def add(self, source: Source | None, delta: Tensor | None) -> None:
        """What reaches a value, or a parameter, on one more way."""
        if source is None or delta is None:
            return
        kind, name = source
        if kind == "parameter":
            self.gradient[name] = self.gradient.get(name, 0) + delta
        else:
            self.delta[source] = self.delta.get(source, 0) + delta


class Tape(TorchFunctionMode):
    """While it is entered, calls are written down.

    Args:
        module: Its parts without parts are layers; it is one itself only if its class is known.
        known: Classes of layers with a rule.
        head: What names of layers and parameters lose at their start.
    """

    def __init__(self, module: nn.Module, known: Container[type], head: str = "") -> None:
        super().__init__()
        self.calls: list[Call] = []
        self._tags: dict[int, tuple[Tensor, Source, Tensor | None]] = {}  # the tensor is kept, so its id stays its own
        self._open: list[tuple[nn.Module, list[Any], Any, list[Source | None], Tensor]] = []
        parts = [(name.removeprefix(head), part) for name, part in module.named_modules() if not part._modules]
        whole = type(module) in known
        self.layers = [(name or type(part).__name__, part) for name, part in parts if part is not module or whole]
        self.names = {id(p): name.removeprefix(head) for name, p in module.named_parameters()}
        for parameter in module.parameters():
            self.tag(parameter, ("parameter", self.names[id(parameter)]))

    def tag(self, tensor: Tensor, source: Source, copy: Tensor | None = None) -> None:
        """Say where a tensor comes from, and what it holds."""
        self._tags[id(tensor)] = tensor, source, copy

    def source(self, tensor: Tensor) -> Source | None:
        """Where a tensor comes from; None: a constant. What was not seen to be computed, or changed, is refused."""
        if id(tensor) not in self._tags:
            if tensor.requires_grad and not tensor.is_leaf:
                raise InputError(
                    f"A tensor of shape {tuple(tensor.shape)} was computed out of sight, as by an autograd.Function "
                    "between layers; put that into a module without parts, which is shown as a box."
                )
            return None
        _, (kind, place), copy = self._tags[id(tensor)]
        if copy is not None and not torch.allclose(tensor, copy, rtol=0, atol=0, equal_nan=True):
            who = self.calls[place[0]].name if kind == "value" else "The input"
            raise InputError(
                f"{who} was changed in place by way of a view of it, which cannot be followed; compute a new tensor."
            )
        return kind, place

    @contextmanager
    def recording(self) -> Iterator[Tape]:
        """Hooks on all layers, and every function in between; what runs without gradients is a constant."""
        handles = []
        for name, layer in self.layers:
            handles.append(layer.register_forward_pre_hook(self._enter, with_kwargs=True))
            handles.append(layer.register_forward_hook(self._leave(name)))
        try:
            with self, torch.enable_grad():
                yield self
        finally:
            for handle in handles:
                handle.remove()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self._open or not torch.is_grad_enabled():
            return func(*args, **kwargs)
        leaves, spec, sources = self._copied((args, kwargs))
        if not any(sources):
            return func(*args, **kwargs)
        state = torch.get_rng_state()
        out = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        name = getattr(getattr(func, "__self__", None), "__name__", name) if name == "__get__" else name
        changed = args[0] if out is None and _in_place(name) else out
        if name not in _STOPS:
            self._write(Call(name, None, func, leaves, spec, sources, [], state), changed)
        return out

    def _copied(self, given: Any) -> tuple[list[Any], Any, list[Source | None]]:
        leaves, spec = tree_flatten(given)
        sources = [self.source(leaf) for leaf in leaves if _floats(leaf)]
        return [leaf.detach().clone() if isinstance(leaf, Tensor) else leaf for leaf in leaves], spec, sources

    def _enter(self, layer: nn.Module, args: Any, kwargs: Any) -> None:
        with torch._C.DisableTorchFunction():
            self._open.append((layer, *self._copied((args, kwargs)), torch.get_rng_state()))

    def _leave(self, name: str) -> Callable[..., Any]:
        def leave(layer: nn.Module, args: Any, out: Any) -> Any:
            _, leaves, spec, sources, state = self._open.pop()
            if not self._open and torch.is_grad_enabled():
                if any(out is arg for arg in args) and not getattr(layer, "inplace", False):
                    with torch._C.DisableTorchFunction():
                        out = out.clone()  # a value of its own, although nothing was done to it
                self._write(Call(name, layer, layer.forward, leaves, spec, sources, [], state), out)
            return out

        return leave

    def _write(self, call: Call, out: Any) -> None:
        with torch._C.DisableTorchFunction():
            found = [value for value in tree_flatten(out)[0] if _floats(value)]
            call.outputs = [value.detach().clone() for value in found]
        if found:
            for k, value in enumerate(found):
                self.tag(value, ("value", (len(self.calls), k)), call.outputs[k])
            self.calls.append(call)

    def sweep(self, end: Source, seed: Tensor, rule_of: Callable[[Call], Rule]) -> Swept:
        """From δ of one value back to all that it was computed from."""
        swept = Swept()
        swept.add(end, seed)
        for number in reversed(range(len(self.calls))):
            call = self.calls[number]
            given = [swept.delta.get(("value", (number, k))) for k in range(len(call.outputs))]
            if all(delta is None for delta in given):
                continue
            deltas = [torch.zeros_like(v) if d is None else d for d, v in zip(given, call.values, strict=True)]
            back = rule_of(call)(call, deltas)
            for source, delta in zip(call.sources, back.inputs, strict=True):
                swept.add(source, delta)
            for short, gradient in back.parameters.items():
                if short in call.theta and call.layer is not None:
                    swept.add(("parameter", self.names[id(call.layer._parameters[short])]), gradient)
            swept.inner[number] = back.inner
        return swept


def _floats(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _in_place(name: str) -> bool:
    return name == "__setitem__" or name.startswith("__i") or (name.endswith("_") and not name.startswith("__"))
