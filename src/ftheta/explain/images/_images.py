"""Images and signals through a net: rows with places, and the score that is explained.

Shapes: B rows, C channels, places (L,) or (H, W), K outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from math import prod
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from ...catalog import nearest
from ...data import Batch
from ...errors import InputError, InputTypeError
from .._probe import batch_of, first_tensor, fitting, module_of, untouched

PART, NUMBERS = 64, 2**20  # rows of a pass at most, and numbers: large images go one by one


def convolutions(module: nn.Module) -> dict[str, nn.Conv1d | nn.Conv2d]:
    """Convolutions in one or two dimensions by name, in the order in which they were defined."""
    parts = module.named_modules()
    return {name or type(part).__name__: part for name, part in parts if isinstance(part, nn.Conv1d | nn.Conv2d)}


def has_convolution(obj: Any) -> bool:
    """True if the net has a convolution."""
    return bool(convolutions(module_of(obj)))


NO_CONVOLUTION = "has no convolution; {} needs a net with an nn.Conv1d or nn.Conv2d"


def array(tensor: Tensor) -> np.ndarray:
    """A copy for results, apart from graph and device."""
    tensor = tensor.float() if tensor.dtype is torch.bfloat16 else tensor  # which NumPy does not have
    return tensor.detach().cpu().numpy().copy()


def slope(score: Tensor, at: Tensor) -> Tensor:
    """∂ score / ∂ at; an error where no gradient comes back that far."""
    found = torch.autograd.grad(score, at, allow_unused=True)[0] if score.requires_grad else None
    if found is None:
        raise InputTypeError(
            f"No gradient reaches the tensor of shape {tuple(at.shape)}: it is blocked (for example by a step "
            "function), or this layer is not on the path to the output; choose another layer, or the method occlusion."
        )
    return found


class Pictures:
    """A net as a function of images or signals x (B, C, *places)."""

    def __init__(self, obj: Any, X: Any) -> None:
        self.obj, self.module = obj, module_of(obj)
        batch = batch_of(obj, X)
        x = batch.x
        if not isinstance(x, Tensor) or not x.is_floating_point():
            kind = x.dtype if isinstance(x, Tensor) else type(x).__name__
            raise InputTypeError(f"X holds {kind}; pass one array of floats, scaled as for training, e.g. X / 255.")
        self.row = tuple(x.shape[1:])
        self.x = x.reshape(len(x), *self._shape(batch))
        self.places = tuple(self.x.shape[2:])
        self.part = max(1, min(PART, NUMBERS // prod(self.row)))  # rows of a pass

    def _shape(self, batch: Any) -> tuple[int, ...]:
        """(C, *places) of a row, if the convolutions take as many axes; without any (C, L) or (C, H, W)."""
        layers = convolutions(self.module)
        if not layers and len(self.row) not in (2, 3):
            more = "an nn.Conv1d or nn.Conv2d, or rows of shape (C, H, W)"
            raise InputTypeError(f"{type(self.obj).__name__} has no convolution; this needs a net with {more}.")
        dims = {3 if isinstance(layer, nn.Conv2d) else 2 for layer in layers.values()} or {2, 3}
        if len(self.row) in dims:
            return self.row
        wanted = " or ".join("(B, C, L)" if d == 2 else "(B, C, H, W)" for d in sorted(dims))
        raise InputError(f"X has shape {(len(batch.x), *self.row)}; pass {wanted}. Add the missing axes.")

    def on(self, module: nn.Module) -> Self:
        """The same rows for another module of this kind."""
        other = copy(self)
        other.module = module
        return other

    @contextmanager
    def open(self, *, gradients: bool = True) -> Iterator[None]:
        """The net in evaluation mode; its state is restored on exit."""
        with untouched(self.module), torch.set_grad_enabled(gradients):
            yield

    def __call__(self, x: Tensor) -> Tensor:
        """The first tensor that the net returns for images (B, C, *places)."""
        rows = x.reshape(len(x), *self.row)
        with fitting(self.module, Batch(rows)):
            raw = first_tensor(self.module(rows))
        if raw is None:
            raise InputTypeError(f"{type(self.module).__name__} returned no tensor; a net that returns one is needed.")
        return raw

    def raw(self, x: Tensor) -> Tensor:
        """Raw outputs (B, K), or maps of them (B, K, *places)."""
        raw = self(x)
        if raw.shape[:1] != x.shape[:1]:
            raise InputTypeError(
                f"{type(self.module).__name__} returned {tuple(raw.shape)} first for {len(x)} rows; a net that "
                "returns (rows, outputs) first is needed."
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
            raise InputError(f"target has {np.size(target)} entries for {len(scores)} rows; pass one, or one per row.")
        classes = getattr(self.obj, "classes_", range(len(names)))
        known = {value: k for k, value in enumerate(classes)} if len(classes) == len(names) else {}
        found = [known.get(t, names.index(str(t)) if str(t) in names else None) for t in wanted.tolist()]
        if None in found:
            raise InputError(nearest("target", wanted.tolist()[found.index(None)], names))
        return torch.tensor(found, device=scores.device)
