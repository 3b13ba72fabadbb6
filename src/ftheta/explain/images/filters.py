"""Filters: the kernels of a convolution as pictures, beside the classical ones of the same size; weights of a machine.

    cos(w, e) = w·e / (|w| |e|),     w the learned kernel (mean over its input channels), e Sobel, Laplace, Gauss, ...

A random kernel is near some classical one too: `chance` is the median of the largest |cos| over random kernels.

A unit of a machine sees all pixels: its filter is its weights as a picture, and those of layers above are projected,
W_2 W_1, W_3 W_2 W_1, ...; it weighs (Σ w²)² / Σ w⁴ of its inputs, which is k for k equal weights and 0 for the others.

Shapes: O filters, I input channels of each, K classical kernels, window (k,) or (k, k), places (L,) or (H, W).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import conv1d, conv2d

from ... import plots
from ...catalog import nearest
from ...errors import InputError
from ...formulas import edge_kernels
from ...results import Result, Table
from .._machines import HasGibbs, shape_of
from .._probe import DRAW, layer_named, module_of
from .._registry import HasModule, explanation, require
from ._images import Pictures, array, convolutions, has_convolution, without_layer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Filters", "filters"]

TRIALS = 2000


@dataclass(frozen=True, eq=False)
class Filters(Result):
    """Learned and classical kernels, and what they make of one picture.

    Args:
        layer: Name of the convolution, or of a machine's hidden layer.
        kernels: Its weights (O, I, *window); a machine's window is the whole picture.
        names: Names of the classical kernels; none where there are none of this size.
        classical: They themselves (K, *window).
        cosine: cos of every learned kernel with every classical one (O, K).
        chance: Median of the largest |cos| of a random kernel; NaN without classical ones.
        picture: The picture (C, *places), if one was given.
        responses: What each learned kernel, mean over input channels, makes of the mean of its channels (O, *places).
        classical_responses: What each classical kernel makes of it (K, *places).
        deeper: Of a machine, name of each layer above to its filters, projected on the pixels: (O', I, *window).
        inputs: Of a machine, name of each layer to the number of inputs that its units weigh, pixels or units: (O,).
    """

    layer: str
    kernels: np.ndarray
    names: tuple[str, ...]
    classical: np.ndarray
    cosine: np.ndarray
    chance: float
    picture: np.ndarray | None = None
    responses: np.ndarray | None = None
    classical_responses: np.ndarray | None = None
    deeper: dict[str, np.ndarray] = field(default_factory=dict)
    inputs: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def nearest(self) -> tuple[str, ...]:
        """The classical kernel of the largest |cos| of each filter."""
        return tuple(self.names[k] for k in np.abs(self.cosine).argmax(1)) if self.names else ()

    def table(self) -> Table:
        """One line per filter: its size, its sum (0: it sees contrast only), and the classical kernel nearest to it."""
        layers = [v.reshape(len(v), -1) for v in (self.kernels, *self.deeper.values())]
        flat = np.concatenate(layers)
        columns: dict[str, Any] = {
            "filter": [unit for layer in layers for unit in range(len(layer))],
            "norm": np.linalg.norm(flat, axis=1).tolist(),
            "sum": flat.sum(1).tolist(),
        }
        if self.inputs:
            names = [name for name, found in self.inputs.items() for _ in found]
            columns = {"layer": names, **columns, "inputs": np.concatenate(list(self.inputs.values())).tolist()}
        if self.names:
            best = np.abs(self.cosine).argmax(1)
            columns |= {"nearest": list(self.nearest), "cosine": self.cosine[np.arange(len(best)), best].tolist()}
        return Table(columns, self.caption)

    def figure(self) -> Figure:
        """Learned kernels above classical ones; with a picture, what both make of it; layers of a machine."""
        if self.inputs:
            return plots.layer_filters({self.layer: self.kernels, **self.deeper})
        return plots.filters(
            self.kernels,
            self.classical,
            self.names,
            picture=self.picture,
            responses=self.responses,
            classical_responses=self.classical_responses,
            title=f"Filters of {self.layer}",
        )

    @property
    def caption(self) -> str:
        """What the picture shows."""
        o, i, *window = self.kernels.shape
        if self.inputs:
            each = (f"of {name} ({len(found)} units) {np.median(found):.1f}" for name, found in self.inputs.items())
            return f"Filters of a machine; inputs that a unit weighs, in the median: {', '.join(each)}."
        said = f"{o} filters of {self.layer}, {' x '.join(map(str, window))} over {i} channels"
        if not self.names:
            return f"{said}; there are no classical kernels of this size."
        near = np.median(np.abs(self.cosine).max(1))
        return f"{said}; |cosine| to the nearest classical kernel: median {near:.2f}, by chance {self.chance:.2f}."


def has_filters(obj: Any) -> bool:
    """Whether there is a convolution in the net, or weights in a machine: what `explanation(when=)` asks."""
    return bool(machine_weights(obj)) or (isinstance(obj, nn.Module | HasModule) and has_convolution(obj))


def machine_weights(obj: Any) -> list[np.ndarray]:
    """W_1 (H_1, V), W_2 (H_2, H_1), ... of an object with `gibbs`, its own or its net's; none of others."""
    part = getattr(obj, "module_", obj)
    names = [name for name in ("weights", "weight", "components_") if hasattr(part, name)]
    if not isinstance(obj, HasGibbs) or not names:
        return []
    found = getattr(part, names[0])
    layers = [
        array(w) if isinstance(w, Tensor) else np.asarray(w) for w in (found if names[0] == "weights" else [found])
    ]
    return [] if np.array_equal(layers[0], layers[0].T) else layers  # symmetric: between all units, not layers


@explanation("filters", needs=nn.Module | HasModule | HasGibbs, when=has_filters)
def filters(obj: Any, layer: str | None = None, X: Any = None, *, shape: Sequence[int] | None = None) -> Filters:
    """Kernels of a convolution as pictures, beside Sobel's, Laplace's and others of the same size.

    Of a machine with `gibbs` and weights: those of every unit as a picture, layers above projected on the pixels.

    Args:
        obj: A module, or a fitted estimator with one, or a machine.
        layer: Name of a convolution; None: the first. Of a machine "hidden 1", "hidden 2", ...; None: all.
        X: Rows, of which the first is filtered by learned and classical kernels, not by a machine; None: none is.
        shape: (height, width) of the pictures of a machine; None: as X has it, or a square.

    Example:
        >>> filters(nn.Conv2d(1, 8, 3)).names[:2]
        ('Sobel x', 'Sobel y')
    """
    require(obj, nn.Module | HasModule | HasGibbs, "filters")
    if weights := machine_weights(obj):
        return _of_machine(
            obj, weights, layer, shape_of(obj, shape, np.shape(X)[1:] if np.ndim(X) > 2 else weights[0].shape[1:])
        )
    if not isinstance(obj, nn.Module | HasModule):
        raise without_layer(obj, "filters", " or a machine with weights")
    module = module_of(obj)
    layers = convolutions(module)
    if not layers:
        raise without_layer(obj, "filters")
    name = next(iter(layers)) if layer is None else layer
    chosen = layer_named(module, name)
    if not isinstance(chosen, nn.Conv1d | nn.Conv2d):
        raise InputError(f"{name} is a {type(chosen).__name__}; filters needs a convolution: {', '.join(layers)}.")
    if nn.parameter.is_lazy(chosen.weight):
        raise InputError(f"{name} has no weights before its net has seen rows; run the net once.")
    kernels = array(chosen.weight)  # (O, I, *window)
    window = kernels.shape[2:]
    known = edge_kernels(window[0], len(window)) if len(set(window)) == 1 else {}
    classical = np.array(list(known.values())).reshape(-1, *window)  # (K, *window)
    mine = kernels.astype(float).mean(1)  # (O, *window)
    found = Filters(name, kernels, tuple(known), classical, _cosines(mine, classical), _chance(classical))
    if X is None:
        return found
    picture = Pictures(obj, X, "filters").x[0]
    made = [_filtered(array(picture).astype(float).mean(0), some) for some in (mine, classical)]
    return replace(found, picture=array(picture), responses=made[0], classical_responses=made[1])


def _of_machine(obj: Any, weights: list[np.ndarray], layer: str | None, shape: tuple[int, ...]) -> Filters:
    """Weights (H, V) of the layers as pictures, each times those below it."""
    window = shape if len(shape) == 3 else (1, *shape)
    made = {
        f"hidden {k}": w.reshape(-1, *window) for k, w in enumerate(accumulate(weights, lambda below, w: w @ below), 1)
    }
    inputs = dict(zip(made, map(_weighed, weights), strict=True))
    if layer is not None and layer not in made:
        raise InputError(nearest("layer", layer, made))
    if layer is not None:
        made, inputs = {layer: made[layer]}, {layer: inputs[layer]}
    (first, kernels), *above = made.items()
    nothing = np.zeros((0, *shape))
    return Filters(
        first, kernels, (), nothing, np.zeros((len(kernels), 0)), float("nan"), deeper=dict(above), inputs=inputs
    )


def _weighed(w: np.ndarray) -> np.ndarray:
    """(Σ w²)² / Σ w⁴ of each unit, 0 for one without weights: (H, V) -> (H,)."""
    square = w.astype(float) ** 2
    return square.sum(1) ** 2 / np.maximum((square**2).sum(1), 1e-300)


def _cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """cos of every kernel of a with every one of b; 0 for a kernel of zeros."""
    flat = [v.reshape(len(v), int(np.prod(v.shape[1:]))) for v in (a, b)]
    units = [v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-300) for v in flat]
    return units[0] @ units[1].T


def _chance(classical: np.ndarray) -> float:
    if not len(classical):
        return float("nan")
    random = torch.randn(TRIALS, *classical.shape[1:], generator=DRAW.generator("kernels"), dtype=torch.float64)
    return float(np.median(np.abs(_cosines(random.numpy(), classical)).max(1)))


def _filtered(picture: np.ndarray, kernels: np.ndarray) -> np.ndarray:
    """Every kernel over the picture where it fits: (*places), (K, *window) -> (K, *places)."""
    convolve = conv1d if picture.ndim == 1 else conv2d
    if not len(kernels) or any(n < k for n, k in zip(picture.shape, kernels.shape[1:], strict=True)):
        return np.zeros((0, *picture.shape))
    return convolve(torch.tensor(picture)[None, None], torch.tensor(kernels)[:, None])[0].numpy()
