"""Images and signals through a net: rows with places, the score that is explained, and which inputs a unit can see.

One pass of rows, each with one stripe of NaN across the input, gives for every layer and axis a Boolean matrix
(places of the input, places of the map): True where the place of the map depends on the place of the input. A field
that is larger than the input is cut to it; a map that no NaN reaches (the net removes them) counts as seeing all.

Shapes: B rows, C channels, places (L,) or (H, W), K outputs.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from math import prod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ...catalog import nearest
from ...data import Batch
from ...errors import InputError, InputTypeError
from ...nn import Recurrent
from .._probe import Call, batch_of, first_tensor, fitting, module_of, passed, untouched

PART, NUMBERS = 64, 2**20  # rows of a pass at most, and numbers: large images go one by one
STRIPED_NUMBERS = 2**22  # in the inputs of a pass with NaN


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
        x = batch_of(obj, X).x
        if any(isinstance(part, Recurrent) for part in self.module.modules()):
            rest = "pictures need maps (B, C, H, W) or (B, C, L). Use explain.gates for steps."
            raise InputTypeError(f"{type(obj).__name__} has a recurrent layer, which reads steps (B, T, D); {rest}")
        if not isinstance(x, Tensor) or not x.is_floating_point():
            kind = x.dtype if isinstance(x, Tensor) else type(x).__name__
            raise InputTypeError(f"X holds {kind}; pass one array of floats, scaled as for training, e.g. X / 255.")
        self.x, self.row, self.places = x, tuple(x.shape[1:]), tuple(x.shape[2:])
        self.part = max(1, min(PART, NUMBERS // prod(self.row)))  # rows of a pass
        layers = convolutions(self.module)
        if not layers and x.ndim not in (3, 4):
            more = "an nn.Conv1d or nn.Conv2d, or rows of shape (C, H, W)"
            raise InputTypeError(f"{type(obj).__name__} has no convolution; this needs a net with {more}.")
        dims = {4 if isinstance(layer, nn.Conv2d) else 3 for layer in layers.values()} or {3, 4}
        if x.ndim not in dims:
            wanted = " or ".join("(B, C, L)" if d == 3 else "(B, C, H, W)" for d in sorted(dims))
            raise InputError(f"X has shape {tuple(x.shape)}; pass {wanted}. Add the missing axes.")

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
            got = f"{type(self.module).__name__} returned {tuple(raw.shape)} first for {len(x)} rows"
            raise InputTypeError(f"{got}; a net that returns (rows, outputs) first is needed.")
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
        if np.size(target) not in (1, len(scores)):
            raise InputError(f"target has {np.size(target)} entries for {len(scores)} rows; pass one, or one per row.")
        wanted = np.broadcast_to(np.asarray(target), len(scores))
        classes = getattr(self.obj, "classes_", range(len(names)))
        known = {value: k for k, value in enumerate(classes)} if len(classes) == len(names) else {}
        found = [known.get(t, names.index(str(t)) if str(t) in names else None) for t in wanted.tolist()]
        if None in found:
            raise InputError(nearest("target", wanted.tolist()[found.index(None)], names))
        return torch.tensor(found, device=scores.device)


class Reach(NamedTuple):
    """What the units of one layer see."""

    name: str
    layer: nn.Module
    places: tuple[int, ...]  # shape of its map; empty where its units have no places
    matrices: tuple[np.ndarray, ...]  # for each axis of the input (n_in, n_out) bool; n_out is 1 without places
    changed: bool  # whether its units see something else than what came into it

    @property
    def middle(self) -> list[int]:
        """The unit in the middle of the map."""
        return [m.shape[1] // 2 for m in self.matrices]

    def spans(self, unit: list[int]) -> list[tuple[int, int]]:
        """First and last place of the input that a unit sees, on each axis."""
        seen = [np.flatnonzero(matrix[:, u]) for matrix, u in zip(self.matrices, unit, strict=True)]
        ends = zip(seen, self.matrices, strict=True)
        return [(int(s[0]), int(s[-1])) if len(s) else (0, len(m) - 1) for s, m in ends]

    @property
    def steps(self) -> list[float]:
        """How far the field moves from a unit to the next, on each axis; NaN where all units see the same."""
        return list(map(_step, self.matrices))


def _step(matrix: np.ndarray) -> float:
    """From the widest range of units whose field has moved at one of its ends and is not cut there."""
    n, units = matrix.shape
    first = np.array([np.flatnonzero(column)[0] if column.any() else 0 for column in matrix.T])
    last = np.array([np.flatnonzero(column)[-1] if column.any() else n - 1 for column in matrix.T])
    for ends, cut in ((first, 0), (last, n - 1)):
        free = np.flatnonzero(ends != cut)
        if len(free) > 1:
            return float(ends[free[-1]] - ends[free[0]]) / float(free[-1] - free[0])
    if len({*first}) > 1 or len({*last}) > 1:
        return float(round(n / units))
    return np.nan


def reach(module: nn.Module, x: Tensor, names: Sequence[str] | None = None) -> list[Reach]:
    """What the units of every layer, or of the parts of these names, see of a row (1, C, n_1, ..., n_d), or (1, n);
    in the order in which they ran, the output last, unless a layer gave it."""
    net, axes = deepcopy(module).float().eval(), tuple(x.shape[2:] or x.shape[1:])
    stripes = [(axis, place) for axis, n in enumerate(axes) for place in range(n)]
    size = max(1, STRIPED_NUMBERS // x[0].numel())
    found: list[list[Call]] = []
    for start in range(0, len(stripes), size):
        part = stripes[start : start + size]
        rows = x.detach().float().expand(len(part), *x.shape[1:]).clone()
        for row, (axis, place) in zip(rows, part, strict=True):
            row.movedim(axis + row.ndim - len(axes), 0)[place] = torch.nan
        with torch.no_grad(), torch.backends.nnpack.flags(enabled=False):  # its fast transforms would spread NaN
            found.append(passed(net, rows, names))
    every = []
    for calls in zip(*found, strict=True):  # those of one layer for all stripes
        places, matrices = _matrices([call.out for call in calls], axes, x.ndim)
        given = [first_tensor(call.inputs) for call in calls]
        known = [g for g in given if g is not None and g.ndim == x.ndim and len(g) == len(calls[0].out)]
        before = _matrices(known, axes, x.ndim)[1] if len(known) == len(given) else ()
        same = len(before) == len(matrices) and all(map(np.array_equal, before, matrices))
        every.append(Reach(calls[0].name, calls[0].layer, places, matrices, not same))
    return every


def _matrices(outs: Sequence[Tensor], axes: tuple[int, ...], ndim: int) -> tuple[Any, tuple[np.ndarray, ...]]:
    """Shape of a map, and which of its places each stripe reaches, axis by axis."""
    maps = outs[0].ndim == ndim and ndim > 2  # (n, K, *places) each
    nan = torch.cat([(out.amax(1) if maps else out).isnan() for out in outs])  # a maximum is NaN where a channel is
    places = tuple(nan.shape[1:]) if maps else ()
    nan = nan if nan.any() else torch.ones_like(nan)
    matrices = []
    for axis, rows in enumerate(nan.split(list(axes))):
        lost = rows.movedim(axis + 1, 1) if maps else rows
        matrices.append(lost.reshape(len(rows), places[axis] if maps else 1, -1).any(-1).cpu().numpy())
    return places, tuple(matrices)
