"""Receptive field: which inputs one unit of a layer sees, computed from the layers and measured by its gradient.

    r_l = r_{l-1} + (k_l - 1) d_l j_{l-1},      j_l = j_{l-1} s_l,      r_0 = j_0 = 1        for a chain of layers
    computed: the places that turn the unit into NaN;    measured: those where |∂h_l[unit] / ∂x| > 0 for some row

The computed field is what a unit could see; weights and rows decide what it does see. A place that loses every maximum,
or lies behind a unit that a ReLU silences for all rows, is missing in the measured one. The gradient itself, the
effective field, is largest in the middle and covers a small part of it.

Letters: r size, j step of the field from a unit to the next, k kernel, s stride, d dilation; l counts layers.
Shapes: L layers, d axes of the input; effective fields (L, H, W), or (L, n) of a signal.
Reference: Luo et al., Understanding the Effective Receptive Field, NeurIPS (2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...data import Batch
from ...errors import InputError
from ...plots import GREY, PALETTE, Figure, canvas, drawn, short
from ...results import Result
from .._probe import (
    DRAW,
    NO_MAPS,
    calls,
    first_tensor,
    fitting,
    gradients,
    has_maps,
    module_of,
    numbered,
    rows_for,
    untouched,
)
from .._registry import explanation
from ._reach import Reach, reach

__all__ = ["ReceptiveField", "receptive_field"]

MAX_ROWS, NUMBERS = 16, 2**20  # more rows, fewer places that are missed by chance; of large images fewer are needed
MAX_PANELS = 12


@dataclass(frozen=True, eq=False)
class ReceptiveField(Result):
    """What the middle unit of each layer sees."""

    names: tuple[str, ...]  # of the layers that have windows, and "output" where that sees something else again
    kinds: tuple[str, ...]  # their classes
    outputs: tuple[tuple[int, ...], ...]  # shape of the map, without channels; empty where it has no places
    step: np.ndarray  # of the field from a unit to the next, in places of the input: (L, d); NaN where all see the same
    computed: np.ndarray  # first and last place of the input that the middle unit can see: (L, d, 2)
    measured: np.ndarray  # first and last place with a gradient: (L, d, 2); -1 where there is none
    effective: np.ndarray  # mean |gradient| over rows, summed over channels: (L, ...) as the input

    @property
    def size(self) -> np.ndarray:
        """Size of the field on each axis, inside the input: (L, d)."""
        return self.computed[..., 1] - self.computed[..., 0] + 1

    @property
    def agree(self) -> np.ndarray:
        """Whether computed and measured fields are the same: (L,)."""
        return (self.computed == self.measured).all((1, 2))

    @property
    def half(self) -> np.ndarray:
        """Share of the computed field that holds half of the gradient, its largest places first: (L,)."""
        flat = -np.sort(-self.effective.reshape(len(self.names), -1), axis=1)
        total = flat.sum(1, keepdims=True)
        places = (flat.cumsum(1) < 0.5 * total).sum(1) + 1
        return np.where(total[:, 0] > 0, places / self.size.prod(1), np.nan)

    def columns(self) -> dict[str, Any]:
        """One row per layer."""
        return {
            "layer": self.names,
            "kind": self.kinds,
            "map": [_by(shape) for shape in self.outputs],
            "field": [_by(row) for row in self.size],
            "stride": [_by(f"{v:g}" for v in row) if np.isfinite(row).all() else "" for row in self.step],
            "of the input": [_spans(row) for row in self.computed],
            "measured": ["none" if (row < 0).any() else _spans(row) for row in self.measured],
            "agree": ["yes" if same else "no" for same in self.agree],
            "half of the gradient in % of it": 100 * self.half,
        }

    @property
    def caption(self) -> str:
        return "What the middle unit of each layer sees."

    @drawn
    def figure(self) -> Figure:
        """The gradient over the input for every layer, each scaled to its largest place, with the computed field as a
        frame; images by their square root, so that the rim is seen, volumes from the front."""
        from matplotlib.patches import Rectangle

        deep = max(self.effective.ndim - 3, 0)  # axes of a volume
        fields, frames = self.effective.sum(tuple(range(1, 1 + deep))), self.computed[:, deep:]
        signal = fields.ndim == 2
        shown = np.linspace(0, len(self.names) - 1, min(len(self.names), MAX_PANELS)).round().astype(int)
        figure, grid = canvas(len(shown), across=4, width=3.0, height=2.2 if signal else 3.0)
        image: Any = None
        for axes, i in zip(grid, shown, strict=True):
            values = fields[i] / (fields[i].max() or 1.0)
            axes.set_title(f"{short(self.names[i], 24)} sees {_by(self.size[i])}", fontsize=10)
            if signal:
                axes.bar(np.arange(len(values)), values, width=0.9, color=PALETTE[0])
                axes.axvspan(frames[i, 0, 0] - 0.5, frames[i, 0, 1] + 0.5, color=PALETTE[1], alpha=0.15, linewidth=0)
                axes.set(xlim=(-0.5, len(values) - 0.5), ylim=(0, 1.05), xlabel="place", ylabel="|gradient| / largest")
                continue
            image = axes.imshow(np.sqrt(values), cmap="viridis", vmin=0, vmax=1)
            (top, bottom), (left, right) = frames[i]
            look = {"fill": False, "edgecolor": PALETTE[1], "linewidth": 2}
            axes.add_patch(Rectangle((left - 0.5, top - 0.5), right - left + 1, bottom - top + 1, **look))
            axes.set(xlabel="column (pixels)", ylabel="row (pixels)")
            axes.grid(visible=False)
            axes.spines[:].set(visible=True, color=GREY)
        if not signal:
            figure.colorbar(image, ax=list(grid), shrink=0.8, label="square root of |gradient| / largest")
        return figure


def _by(sizes: Any) -> str:
    return " × ".join(map(str, sizes))


def _spans(ends: np.ndarray) -> str:
    return ", ".join(f"{low}-{high}" for low, high in ends)


@explanation("receptive-field", when=has_maps, otherwise=NO_MAPS)
def receptive_field(obj: Any, X: Any = None, input_shape: Sequence[int] | None = None) -> ReceptiveField:
    """The field of the middle unit of each layer: which inputs can change it, and its gradient.

    Args:
        X: Rows whose gradients are taken, at most 16; None: random ones.

    Example:
        >>> net = nn.Sequential(nn.Conv1d(1, 4, 3), nn.Conv1d(4, 4, 3, stride=2), nn.Conv1d(4, 1, 3))
        >>> receptive_field(net, input_shape=(1, 25)).size[:, 0].tolist()
        [3, 5, 9]
    """
    x = first_tensor(rows_for(obj, X, input_shape, MAX_ROWS).x)
    if x is None or x.ndim < 3 or not x.is_floating_point():
        got = "no tensor" if x is None else f"{x.dtype} of shape {tuple(x.shape)}"
        raise InputError(f"receptive_field got {got}; expected maps of floats (rows, channels, ...).")
    x = x[: max(1, min(MAX_ROWS, NUMBERS // x[0].numel()))].detach().clone().requires_grad_()
    module = module_of(obj)
    seen = _with_windows(reach(module, x[:1]))
    if not seen:
        raise InputError(f"{type(module).__name__} gave nothing for each of {len(x)} rows; receptive_field needs that.")
    effective = np.stack(_gradients(module, x, seen))
    layers = [layer for _, layer in seen]
    return ReceptiveField(
        names=numbered([layer.name for layer in layers]),
        kinds=tuple(type(layer.layer).__name__ for layer in layers),
        outputs=tuple(layer.places for layer in layers),
        step=np.array([layer.steps for layer in layers]),
        computed=np.array([layer.spans(layer.middle) for layer in layers]),
        measured=np.array([_support(field) for field in effective]),
        effective=effective,
    )


def _with_windows(every: list[Reach]) -> list[tuple[int, Reach]]:
    """Layers whose maps see something else than what came into them, all convolutions, and the output if it sees
    something else again; each with the number of its call."""
    found: list[tuple[int, Reach]] = []
    for k, layer in enumerate(every[:-1] if every and (every[-1].name == "output" or not every[-1].places) else every):
        if layer.places and (layer.changed or isinstance(layer.layer, nn.modules.conv._ConvNd)):
            found.append((k, layer))
    last = len(every) - 1
    if every and (not found or found[-1][0] != last):
        end, before = every[-1], found[-1][1].matrices if found else ()
        if len(before) != len(end.matrices) or not all(map(np.array_equal, before, end.matrices)):
            found.append((last, end._replace(name="output")))
    return found


def _gradients(module: nn.Module, x: Tensor, seen: list[tuple[int, Reach]]) -> list[np.ndarray]:
    """Mean |gradient| of the middle unit over rows, summed over channels; the unit is a mixture of its channels."""
    exact = torch.backends.cudnn.flags(enabled=False)  # fast transforms leave rounding where the gradient is 0
    with untouched(module), torch.enable_grad(), exact, fitting(module, Batch(x)):
        with calls(module, clone=True) as ran:
            out = first_tensor(module(x))
        outs = [call.out for call in ran if call.out.ndim and len(call.out) == len(x)]
        outs += [] if out is None else [out]
        found = []
        for k, layer in seen:
            h = outs[k][(..., *layer.middle)] if layer.places else outs[k]
            h = h.reshape(len(h), -1)
            mixed = h @ torch.randn(h.shape[1], generator=DRAW.generator("mixture"), dtype=torch.float64).to(h)
            g = gradients(mixed.sum(), [x])[0]
            found.append(g.abs().double().sum(1).mean(0).cpu().numpy())
    return found


def _support(field: np.ndarray) -> list[tuple[int, int]]:
    """First and last place of each axis that is not 0; -1 where all are."""
    places = np.argwhere(field > 0)
    return [(int(p.min()), int(p.max())) if len(p) else (-1, -1) for p in places.T]
