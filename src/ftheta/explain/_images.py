"""Pictures and signals through a net: rows with places, layers by name, and the score that is explained.

Shapes: B rows, C channels, places (L,) or (H, W), K outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from math import prod
from typing import Any, Self, cast

import numpy as np
import torch
from torch import Tensor, nn

from ..catalog import nearest
from ..data import Batch
from ..errors import InputError, InputTypeError
from ._fields import Field, follow_fields
from ._probe import batch_of, first_tensor, fitting, layers_of, module_of, untouched
from ._registry import HasModule, require

__all__ = [
    "Pictures",
    "array",
    "convolutions",
    "fields_of",
    "has_convolution",
    "layer_named",
    "seeing",
    "slope",
    "tapped",
    "without_layer",
]

PART, NUMBERS = 64, 2**20  # rows of a pass at most, and numbers: large pictures go one by one


def convolutions(module: nn.Module) -> dict[str, nn.Conv1d | nn.Conv2d]:
    """Convolutions in one or two dimensions by name, in the order in which they were defined."""
    parts = module.named_modules()
    return {name or type(part).__name__: part for name, part in parts if isinstance(part, nn.Conv1d | nn.Conv2d)}


def has_convolution(obj: Any) -> bool:
    """Whether there is a convolution in the net: what `explanation(when=)` asks."""
    return bool(convolutions(module_of(obj)))


def without_layer(obj: Any, name: str, more: str = "") -> InputTypeError:
    """The sentence for a net without a convolution."""
    kind = "a net with an nn.Conv1d or nn.Conv2d"
    return InputTypeError(f"{type(obj).__name__} has no convolution; {name} needs {kind}{more}.")


def layer_named(module: nn.Module, name: str) -> nn.Module:
    """The part of this name."""
    parts = {key or type(part).__name__: part for key, part in module.named_modules()}
    if name not in parts:
        raise InputError(nearest("layer", name, parts))
    return parts[name]


def array(tensor: Tensor) -> np.ndarray:
    """A copy for results, apart from graph and device."""
    tensor = tensor.float() if tensor.dtype is torch.bfloat16 else tensor  # which NumPy does not have
    return tensor.detach().cpu().numpy().copy()


@contextmanager
def tapped(layer: nn.Module) -> Iterator[list[Tensor]]:
    """What a layer gives, call by call, in the graph; the layers above get a copy, so that none writes into it."""
    found: list[Tensor] = []

    def hook(_: nn.Module, inputs: Any, output: Any) -> Any:
        tensor = first_tensor(output)
        if tensor is not None:
            found.append(tensor)
        return output.clone() if isinstance(output, Tensor) else None

    handle = layer.register_forward_hook(hook)
    try:
        yield found
    finally:
        handle.remove()


@contextmanager
def seeing(module: nn.Module, names: Sequence[str] | None, see: Callable[[str, Tensor], None]) -> Iterator[None]:
    """Call `see` with what layers give: those of these names, also parts made of layers; None: every layer."""
    every = [(name, part) for name, part in layers_of(module) if "parametrizations" not in name.split(".")]
    layers = every if names is None else [(name, layer_named(module, name)) for name in names]

    def hook(name: str) -> Callable[..., None]:
        def seen(_: nn.Module, inputs: Any, output: Any) -> None:
            if (tensor := first_tensor(output)) is not None:
                see(name, tensor)

        return seen

    handles = [layer.register_forward_hook(hook(name)) for name, layer in layers]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def slope(score: Tensor, at: Tensor) -> Tensor:
    """∂ score / ∂ at, or the sentence where no gradient comes back that far."""
    found = torch.autograd.grad(score, at, allow_unused=True)[0] if score.requires_grad else None
    if found is None:
        raise InputTypeError(
            f"No gradient comes back from the output to what is of shape {tuple(at.shape)}: the net cuts it, as a "
            "threshold does, or the layer is on another way; choose another layer, or the method occlusion."
        )
    return found


class Pictures:
    """A net as a function of pictures or signals x (B, C, *places), also where it takes flat rows.

    Args:
        obj: A module, or a fitted estimator with one.
        X: Rows.
        name: Who asks.
    """

    def __init__(self, obj: Any, X: Any, name: str) -> None:
        require(obj, nn.Module | HasModule, name)
        self.obj, self.module = obj, module_of(obj)
        batch = batch_of(obj, X)
        x = batch.x
        if not isinstance(x, Tensor) or not x.is_floating_point():
            kind = x.dtype if isinstance(x, Tensor) else type(x).__name__
            raise InputTypeError(
                f"X holds {kind}; {name} needs one array of floats. Scale X as it was for training, e.g. X / 255."
            )
        self.row = tuple(x.shape[1:])
        self.x = x.reshape(len(x), *self._shape(batch, name))
        self.places = tuple(self.x.shape[2:])
        self.part = max(1, min(PART, NUMBERS // prod(self.row)))  # rows of a pass

    def _shape(self, batch: Any, name: str) -> tuple[int, ...]:
        """(C, *places) of a row: its own, or the one in which flat rows come to the first convolution."""
        layers = convolutions(self.module)
        if not layers and len(self.row) not in (2, 3):
            raise without_layer(self.obj, name, ", or rows of shape (C, H, W)")
        dims = {3 if isinstance(layer, nn.Conv2d) else 2 for layer in layers.values()} or {len(self.row)}
        if len(self.row) in dims:
            return self.row
        first: list[Tensor] = []
        if len(self.row) == 1:
            with self.open(gradients=False), self.unfolding(first.append), fitting(self.module, batch):
                self.module(batch.x[:1])
        if not first or prod(first[0].shape[1:]) != prod(self.row):
            wanted = " or ".join("(B, C, L)" if d == 2 else "(B, C, H, W)" for d in sorted(dims))
            raise InputError(f"X has shape {(len(batch.x), *self.row)}; {name} needs {wanted}. Add the missing axes.")
        return tuple(first[0].shape[1:])

    @contextmanager
    def unfolding(self, see: Callable[[Tensor], None]) -> Iterator[None]:
        """Call `see` with what comes to the first convolution, where rows are flat."""
        layers = list(convolutions(self.module).values()) if len(self.row) == 1 else []
        handles = [layer.register_forward_pre_hook(lambda _, inputs: see(inputs[0])) for layer in layers[:1]]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def on(self, module: nn.Module) -> Self:
        """The same rows for another module of this kind."""
        other = copy(self)
        other.module = module
        return other

    @contextmanager
    def open(self, *, gradients: bool = True) -> Iterator[None]:
        """The net in evaluation mode, without a trace."""
        with untouched(self.module), torch.set_grad_enabled(gradients):
            yield

    def __call__(self, x: Tensor) -> Tensor:
        """The first tensor that the net gives for pictures (B, C, *places)."""
        rows = x.reshape(len(x), *self.row)
        with fitting(self.module, Batch(rows)):
            raw = first_tensor(self.module(rows))
        if raw is None:
            raise InputTypeError(f"{type(self.module).__name__} gave no tensor; a net that gives one is needed.")
        return raw

    def raw(self, x: Tensor) -> Tensor:
        """Raw outputs (B, K), or maps of them (B, K, *places)."""
        raw = self(x)
        if raw.shape[:1] != x.shape[:1]:
            raise InputTypeError(
                f"{type(self.module).__name__} gave {tuple(raw.shape)} first for {len(x)} rows; a net that gives "
                "(rows, outputs) first is needed."
            )
        return raw[:, None] if raw.ndim == 1 else raw

    def scores(self, x: Tensor) -> Tensor:
        """Evidence for each output (B, K): raw outputs, their mean over places, ± the logit of two classes."""
        raw = self.raw(x)
        scores = raw.flatten(2).mean(-1) if raw.ndim > 2 else raw  # (B, K)
        two = scores.shape[1] == 1 and len(getattr(self.obj, "classes_", ())) == 2
        return torch.cat((-scores, scores), 1) if two else scores

    def probabilities(self, raw: Tensor) -> Tensor | None:
        """(B, K) where outputs are classes: by the likelihood of an estimator, else raw outputs taken as logits."""
        likelihood = getattr(self.obj, "likelihood_", None)
        if raw.ndim != 2 or (likelihood is not None and not hasattr(likelihood, "probabilities")):
            return None
        if likelihood is not None:
            return likelihood.probabilities(raw)
        if (raw >= 0).all() and torch.allclose(raw.sum(-1), torch.ones_like(raw[:, 0]), atol=1e-4):
            return raw  # they are probabilities already
        return torch.cat((-raw, raw), -1).sigmoid() if raw.shape[1] == 1 else raw.softmax(-1)

    def names(self, k: int) -> tuple[str, ...]:
        """Names of k outputs: classes, or numbers."""
        classes = getattr(self.obj, "classes_", None)
        if classes is None or np.ndim(classes) != 1 or len(classes) != k:
            return tuple(map(str, range(k)))
        return tuple(map(str, classes))

    def targets(self, target: Any, scores: Tensor) -> Tensor:
        """Places of the outputs that are explained (B,): the largest of each row, or those of given classes."""
        if target is None:
            return scores.argmax(1)
        names = self.names(scores.shape[1])
        wanted = np.broadcast_to(np.asarray(target), len(scores)) if np.size(target) in (1, len(scores)) else None
        if wanted is None:
            raise InputError(f"target has {np.size(target)} entries for {len(scores)} rows; pass one, or one a row.")
        unknown = [str(t) for t in wanted.tolist() if str(t) not in names]
        if unknown:
            raise InputError(nearest("target", unknown[0], names))
        return torch.tensor([names.index(str(t)) for t in wanted.tolist()], device=scores.device)


def fields_of(net: Pictures, names: Sequence[str]) -> dict[str, Field]:
    """What a unit of each layer sees, from one pass; layers in the order in which they ran."""
    found: dict[str, Field] = {}

    def see(name: str, h: Tensor) -> None:
        field = mode.of(h)
        if field is None or h.ndim != net.x.ndim:
            raise InputError(f"{name} gave {tuple(h.shape)}, which are no maps; choose layers that give (B, K, ...).")
        found[name] = field

    x = net.x[:1].clone()
    with follow_fields(x) as mode, seeing(net.module, names, see):
        start = cast(Field, mode.of(x))
        with net.unfolding(lambda h: mode.tag(h, start)):
            net(x)
    return found
