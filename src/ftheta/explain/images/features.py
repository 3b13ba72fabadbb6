"""Feature maps of one image, and the filters of a layer beside the classical ones of the same size.

    h_0 = x,    h_l = f_l(h_{l-1}) (C_l, *places of l),    p = softmax(h_L)
    cos(w, e) = w·e / (|w| |e|),     w the learned kernel (mean over its input channels), e Sobel, Laplace, Gauss, ...

A random kernel is near some classical one too: `chance` is the median of the largest |cos| over random kernels. A
hidden unit of a Boltzmann machine sees all pixels: its filter is its weights as an image, and those of layers above are
projected, W_2 W_1, W_3 W_2 W_1, ...; its number of inputs is (Σ w²)² / Σ w⁴, which is k for k equal weights.

Shapes: C channels, places (L,) or (H, W), K outputs; O filters of I input channels, K classical kernels, window (k,) or
(k, k).
Reference: Zeiler and Fergus, Visualizing and understanding convolutional networks (2014).
"""

from collections.abc import Sequence
from dataclasses import field, replace
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from sklearn.metrics.pairwise import cosine_similarity
from torch import Tensor, nn
from torch.nn.functional import conv1d, conv2d

from ...catalog import nearest
from ...errors import InputError
from ...formulas import edge_kernels
from ...plots import PALETTE, Axes, Figure, bare, canvas, drawn, flat, mosaic, picture, short
from ...results import Result
from .._probe import DRAW, calls, image_shape, layer_named, module_of, numbered, row_number
from .._registry import explanation, has
from ._images import NO_CONVOLUTION, Pictures, array, convolutions, has_convolution

TRIALS = 2000  # random kernels
COLUMNS, MAX_TILES, MAX_OUTPUTS, MAX_LAYERS = 8, 64, 12, 10  # in figures


class FeatureMaps(Result):
    """One image on its way through a net."""

    x: np.ndarray  # the image as the net sees it (C, *places)
    maps: dict[str, np.ndarray]  # output of each layer, by name, in the order in which they ran (C_l, *places of l)
    output: np.ndarray  # raw outputs (K,), or maps where the net returns maps
    names: tuple[str, ...]  # of the outputs
    probabilities: np.ndarray | None  # of the outputs (K,), where they are classes; else None

    def columns(self) -> dict[str, Any]:
        """One row per layer: maps, their size, how many are silent, and the strongest."""
        flat = {name: h.reshape(len(h), -1) for name, h in self.maps.items()}
        return {
            "layer": list(flat),
            "maps": [len(h) for h in flat.values()],
            "size": [" x ".join(map(str, h.shape[1:])) for h in self.maps.values()],
            "silent": [(h == 0).all(1).sum() for h in flat.values()],
            "strongest map": [h.max(1).argmax() for h in flat.values()],
            "its maximum": [h.max() for h in flat.values()],
        }

    @drawn
    def figure(self) -> Figure:
        """The image, the eight strongest maps of each layer (of ten at most), and the outputs as bars."""
        some = np.unique(np.linspace(0, len(self.maps) - 1, MAX_LAYERS).round().astype(int))
        layers = [list(self.maps.items())[i] for i in some]
        heights = [1.9, *[1.0] * len(layers), *[1.5] * (self.output.ndim == 1)]
        height = (0.8 + 0.92 * sum(heights)) / len(heights)
        figure, grid = canvas(len(heights), across=1, width=7.2, height=height, height_ratios=heights)
        if self.x.ndim == 2:
            grid[0].plot(self.x.T, ls="-", lw=1.4)
            grid[0].set(title="Input", xlabel="place", ylabel="signal")
        else:
            grid[0].imshow(picture(self.x), cmap="gray")
            grid[0].set(title="Input", xlabel="column (pixels)", ylabel="row (pixels)")
            grid[0].grid(visible=False)
        for axes, (name, made) in zip(grid[1:], layers, strict=False):
            _layer(axes, name, made.astype(float))
        note = f"number of the map; {COLUMNS} strongest at most, each layer in its own range of colors"
        grid[len(layers)].set_xlabel(note)
        if self.output.ndim == 1:
            self._bars(grid[-1])
        return figure

    def _bars(self, axes: Axes) -> None:
        """All outputs, or the largest twelve."""
        bars = self.output if self.probabilities is None else self.probabilities
        few = len(bars) <= MAX_OUTPUTS
        chosen = np.arange(len(bars)) if few else np.sort(np.argsort(-bars, kind="stable")[:MAX_OUTPUTS])
        axes.set(xlabel="output" if few else f"the largest {MAX_OUTPUTS} outputs")
        axes.set(ylabel="raw output" if self.probabilities is None else "probability")
        colors = [PALETTE[1] if k == bars.argmax() else PALETTE[0] for k in chosen]
        axes.bar(range(len(chosen)), bars[chosen], color=colors, width=0.7)
        labels = [short(self.names[k], 18) for k in chosen]
        turned = max(map(len, labels)) * len(labels) > 70  # they would overlap side by side
        axes.set_xticks(range(len(chosen)), labels, rotation=30 * turned, ha="right" if turned else "center")
        if self.probabilities is not None:
            axes.set_ylim(0, 1.15)
        top = int(np.flatnonzero(chosen == bars.argmax())[0])
        axes.annotate(f"{bars.max():.3g}", (top, bars.max()), ha="center", va="bottom", size=9)

    @property
    def caption(self) -> str:
        p = self.probabilities
        end = "" if p is None else f", and the probability {p.max():.3f} of {self.names[int(p.argmax())]} at the end"
        return f"An image of {' x '.join(map(str, self.x.shape))}, its maps after {len(self.maps)} layers{end}."


@explanation("feature-maps", when=has_convolution)
def feature_maps(obj: Any, X: Any, layers: Sequence[str] | None = None, *, row: int = 0) -> FeatureMaps:
    """One image or signal, its maps after each layer, and the output probabilities.

    Args:
        X: Rows (B, C, H, W) or (B, C, L).
        layers: Names of the layers to show; None: all that give maps.
        row: Which row.

    Example:
        >>> from torch import nn
        >>> found = feature_maps(nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU()), [[[[0.0] * 5] * 5]])
        >>> {name: h.shape for name, h in found.maps.items()}
        {'0': (4, 3, 3), '1': (4, 3, 3)}
    """
    net = Pictures(obj, X)
    x = net.x[row_number(row, len(net.x))][None]
    with net.open(gradients=False):
        with calls(net.module, layers, clone=True) as every:
            raw = net.raw(x)
        p = net.probabilities(raw)
    seen = [call for call in every if call.out.ndim == net.x.ndim]
    if not seen:
        raise InputError(f"No layer of {type(net.module).__name__} among {layers or 'all'} gives maps; choose others.")
    maps = dict(zip(numbered([call.name for call in seen]), (array(call.out[0]) for call in seen), strict=True))
    names = net.names(raw.shape[1] if p is None else p.shape[1])
    return FeatureMaps(array(x[0]), maps, array(raw[0]), names, None if p is None else array(p[0]))


def _layer(axes: Axes, name: str, made: np.ndarray) -> None:
    """The strongest maps in the order of their numbers."""
    peaks = np.abs(made.reshape(len(made), -1)).max(1)
    chosen = np.sort(np.argsort(-peaks, kind="stable")[:COLUMNS])
    shown = np.full((COLUMNS, *flat(made).shape[1:]), np.nan)
    shown[: len(chosen)] = flat(made)[chosen]
    mosaic(axes, shown, COLUMNS, names=[""], signed=bool((made < 0).any()))
    ticks = axes.get_xticks()
    axes.set_xticks(ticks[: len(chosen)], [str(k) for k in chosen])
    if len(chosen) < COLUMNS:  # where there are no maps there is no color
        axes.axvspan(ticks[len(chosen) - 1] + ticks[0] - 0.5, axes.get_xlim()[1], color="white", lw=0)
    size = " × ".join(map(str, made.shape))
    axes.set_ylabel(f"{short(name, 18)}\n{size}", rotation=0, ha="right", va="center", size=9)


class Filters(Result):
    """Learned and classical kernels, and their responses to one image; the last two fields of a machine only."""

    layer: str  # name of the convolution, or of a hidden layer
    kernels: np.ndarray  # its weights (O, I, *window); the window of a machine is the entire image
    names: tuple[str, ...]  # of the classical kernels; none where there are none of this size
    classical: np.ndarray  # they themselves (K, *window)
    cosine: np.ndarray  # cos of every learned kernel with every classical one (O, K)
    chance: float  # median of the largest |cos| of a random kernel; NaN without classical ones
    picture: np.ndarray | None = None  # the image (C, *places), if one was given
    responses: np.ndarray | None = None  # of each kernel, mean over input channels, to the image's mean (O, *places)
    classical_responses: np.ndarray | None = None  # of each classical kernel (K, *places)
    deeper: dict[str, np.ndarray] = field(default_factory=dict)  # filters of layers above on the pixels (O', I, ...)
    inputs: dict[str, np.ndarray] = field(default_factory=dict)  # of each layer, inputs of its units: (O,)

    @property
    def nearest(self) -> tuple[str, ...]:
        """The classical kernel of the largest |cos| of each filter."""
        return tuple(self.names[k] for k in np.abs(self.cosine).argmax(1)) if self.names else ()

    def columns(self) -> dict[str, Any]:
        """One row per filter: its norm, its sum (0: it sees contrast only), and the classical kernel nearest to it."""
        layers = [v.reshape(len(v), -1) for v in (self.kernels, *self.deeper.values())]
        flat, many = np.concatenate(layers), self.inputs
        return {
            "layer": [name for name, found in many.items() for _ in found] if many else None,
            "filter": [unit for layer in layers for unit in range(len(layer))],
            "norm": np.linalg.norm(flat, axis=1),
            "sum": flat.sum(1),
            "inputs": np.concatenate(list(many.values())) if many else None,
            "nearest": self.nearest if self.names else None,
            "cosine": [row[np.abs(row).argmax()] for row in self.cosine] if self.names else None,
        }

    @drawn
    def figure(self) -> Figure:
        """Learned kernels above classical ones; with an image, its filtered versions on the right of both; layers of a
        machine from left to right. Shown are means over input channels, of 64 filters at most."""
        if self.inputs:
            return _layers({self.layer: self.kernels, **self.deeper})
        lines, sides = -(-len(self.kernels[:MAX_TILES]) // COLUMNS), 1 if self.picture is None else 3
        heights = [lines, 1] if self.names else [lines]
        width, height = (0.9 + 4.2 * (1 if sides == 1 else 2.2)) / sides, 0.5 * sum(heights) / len(heights) + 0.9
        ratios = {"height_ratios": heights, "width_ratios": [1.0, 1.0, 0.3][:sides]}
        figure, grid = canvas(len(heights) * sides, across=sides, width=width, height=height, **ratios)
        grid = grid.reshape(len(heights), sides)
        signs = _tiled(grid[0, 0], self.kernels.mean(1), f"Filters of {self.layer}")
        figure.colorbar(signs, ax=grid[0, 0], label="weight", shrink=0.9, aspect=12)
        if self.names:
            self._classical(grid[1, 0], self.classical, "Classical kernels of this size")
        if self.picture is not None and self.responses is not None and self.classical_responses is not None:
            if len(self.responses):
                columns = min(COLUMNS, len(self.responses))
                mosaic(grid[0, 1], flat(self.responses[:MAX_TILES]), columns, signed=True, each=True)
            grid[0, 1].set(title="What they make of the picture")
            if len(self.classical_responses):
                self._classical(grid[1, 1], self.classical_responses, "What these make of it")
            grid[0, 2].imshow(picture(self.picture), cmap="gray")
            grid[0, 2].set_title("The picture")
            for axes in grid[:, 2]:
                bare(axes)
        return figure

    def _classical(self, axes: Axes, tiles: np.ndarray, title: str) -> None:
        mosaic(axes, flat(tiles), len(tiles), signed=True, each=True, names=[""])
        axes.set(title=title)
        axes.set_xticks(axes.get_xticks(), self.names, rotation=30, ha="right")

    @property
    def caption(self) -> str:
        o, i, *window = self.kernels.shape
        if self.inputs:
            each = (f"of {name} ({len(found)} units) {np.median(found):.1f}" for name, found in self.inputs.items())
            return f"Filters of a machine; inputs of a unit, in the median: {', '.join(each)}."
        size = f"{o} filters of {self.layer}, {' x '.join(map(str, window))} over {i} channels"
        if not self.names:
            return f"{size}; there are no classical kernels of this size."
        near = np.median(np.abs(self.cosine).max(1))
        return f"{size}; |cosine| to the nearest classical kernel: median {near:.2f}, by chance {self.chance:.2f}."


def _tiled(axes: Axes, filters: np.ndarray, title: str) -> Any:
    """The first 64 filters (O, *window), red above 0 and blue below."""
    axes.set(title=title + (f", the first {MAX_TILES} of {len(filters)}" if len(filters) > MAX_TILES else ""))
    return mosaic(axes, flat(filters[:MAX_TILES].astype(float)), min(COLUMNS, len(filters)), signed=True)


def _layers(layers: dict[str, np.ndarray]) -> Figure:
    """Filters of each layer (O, I, H, W), seen from the pixels; each layer has its own range of colors."""
    made = [filters.mean(1) for filters in layers.values()]
    lines = max(-(-len(filters[:MAX_TILES]) // COLUMNS) for filters in made)
    height = max(2.2, 1.0 + 0.47 * lines * min(1.0, made[0].shape[1] / made[0].shape[2]))
    figure, grid = canvas(len(made), across=len(made), width=4.9, height=height)
    for axes, name, filters in zip(grid, layers, made, strict=True):
        colors = _tiled(axes, filters, f"Filters of {name}")
        figure.colorbar(colors, ax=axes, label="weight, seen from the pixels", shrink=0.75, aspect=20)
    return figure


def has_filters(obj: Any) -> bool:
    """True if there is a convolution in the net, or a machine with weights."""
    return bool(machine_weights(obj)) or (has(obj, "module_") and has_convolution(obj))


def machine_weights(obj: Any) -> list[np.ndarray]:
    """W_1 (H_1, V), W_2 (H_2, H_1), ... of an object with `gibbs`, its own or its net's; none of others."""
    part = getattr(obj, "module_", obj)
    names = [name for name in ("weights", "weight", "components_") if hasattr(part, name)]
    if not hasattr(obj, "gibbs") or not names:
        return []
    found = getattr(part, names[0])
    every = found if names[0] == "weights" else [found]
    layers = [array(w) if isinstance(w, Tensor) else np.asarray(w) for w in every]
    return [] if np.array_equal(layers[0], layers[0].T) else layers  # symmetric: between all units, not layers


@explanation("filters", when=has_filters, otherwise=f"{NO_CONVOLUTION}, or a machine with weights")
def filters(obj: Any, layer: str | None = None, X: Any = None, *, shape: Sequence[int] | None = None) -> Filters:
    """Kernels of a convolution as images, beside Sobel's, Laplace's and others of the same size.

    Of a machine with `gibbs` and weights: those of every unit as an image, layers above projected on the pixels.

    Args:
        obj: A fitted estimator with a net, an nn.Module, or a machine.
        layer: Name of a convolution; None: the first. Of a machine "hidden 1", "hidden 2", ...; None: all.
        X: Rows, of which the first is filtered by learned and classical kernels, not by a machine; None: none is.
        shape: (height, width) of the images of a machine; None: as X has it, or a square.

    Example:
        >>> filters(nn.Conv2d(1, 8, 3)).names[:2]
        ('Sobel x', 'Sobel y')
    """
    if weights := machine_weights(obj):
        own = np.shape(X)[1:] if np.ndim(X) > 2 else getattr(obj, "image_shape", None)
        window = image_shape(weights[0].shape[1], shape or own)
        return _of_machine(weights, layer, window if len(window) == 3 else (1, *window))
    module = module_of(obj)
    layers = convolutions(module)
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
    random = torch.randn(TRIALS, *window, generator=DRAW.generator("kernels"), dtype=torch.float64).numpy()
    chance = float(np.median(np.abs(_cosines(random, classical)).max(1))) if known else float("nan")
    found = Filters(name, kernels, tuple(known), classical, _cosines(mine, classical), chance)
    if X is None:
        return found
    picture = Pictures(obj, X).x[0]
    made = [_filtered(array(picture).astype(float).mean(0), some) for some in (mine, classical)]
    return replace(found, picture=array(picture), responses=made[0], classical_responses=made[1])


def _of_machine(weights: list[np.ndarray], layer: str | None, window: tuple[int, ...]) -> Filters:
    """Weights (H, V) of the layers as images, each times those below it."""
    seen = accumulate(weights, lambda below, w: w @ below)
    made = {f"hidden {k}": w.reshape(-1, *window) for k, w in enumerate(seen, 1)}
    squares = [w.astype(float) ** 2 for w in weights]
    counts = [s.sum(1) ** 2 / np.maximum((s**2).sum(1), 1e-300) for s in squares]  # 0 for a unit without weights
    inputs = dict(zip(made, counts, strict=True))
    if layer is not None and layer not in made:
        raise InputError(nearest("layer", layer, made))
    if layer is not None:
        made, inputs = {layer: made[layer]}, {layer: inputs[layer]}
    (first, kernels), *above = made.items()
    none = np.zeros((0, *window[1:])), np.zeros((len(kernels), 0)), float("nan")
    return Filters(first, kernels, (), *none, deeper=dict(above), inputs=inputs)


def _cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """cos of every kernel of a with every one of b; 0 for a kernel of zeros."""
    return cosine_similarity(a.reshape(len(a), -1), b.reshape(len(b), -1)) if len(b) else np.zeros((len(a), 0))


def _filtered(picture: np.ndarray, kernels: np.ndarray) -> np.ndarray:
    """Every kernel over the image where it fits: (*places), (K, *window) -> (K, *places)."""
    convolve = conv1d if picture.ndim == 1 else conv2d
    if not len(kernels) or any(n < k for n, k in zip(picture.shape, kernels.shape[1:], strict=True)):
        return np.zeros((0, *picture.shape))
    return convolve(torch.tensor(picture)[None, None], torch.tensor(kernels)[:, None])[0].numpy()
