"""Top patches: the parts of the rows that excite the units of each layer most, as large as these units can see.

    x* = argmax over rows and places of h_l,k,     cut out: the receptive field of that place

From layer to layer the field grows, and with it what a unit can stand for: edges first, then strokes and shapes.

Shapes: B rows, C channels, U units, N patches of each, window (k,) or (k_y, k_x).
Reference: Zeiler and Fergus, Visualizing and understanding convolutional networks (2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...check import Count
from ...errors import InputError
from ...plots import Figure, patches
from ...results import Result
from .._probe import calls
from .._registry import explanation
from ._images import NO_CONVOLUTION, Pictures, array, convolutions, has_convolution
from ._reach import Reach, reach

__all__ = ["TopPatches", "top_patches"]


@dataclass(frozen=True, eq=False)
class TopPatches(Result):
    """Patches by the name of their layer, in the order in which these ran."""

    fields: dict[str, tuple[int, ...]]  # size of the receptive field on each axis, inside the input
    units: dict[str, np.ndarray]  # channels of the layer (U,)
    patches: dict[str, np.ndarray]  # (U, N, C, *window), from the strongest on; NaN beyond the edge of a row
    values: dict[str, np.ndarray]  # how much each excites its unit (U, N)
    rows: dict[str, np.ndarray]  # which rows they are of (U, N)
    corners: dict[str, np.ndarray]  # first place of each window in its row; below 0 beyond the edge (U, N, axes)
    n: int  # number of rows that were looked at

    def columns(self) -> dict[str, Any]:
        """One row per unit."""
        rows = [(name, u) for name, units in self.units.items() for u in range(len(units))]
        return {
            "layer": [name for name, _ in rows],
            "field": [_by(self.fields[name]) for name, _ in rows],
            "unit": [self.units[name][u] for name, u in rows],
            "strongest": [self.values[name][u, 0] for name, u in rows],
            "row": [self.rows[name][u, 0] for name, u in rows],
            "from place": [str(tuple(self.corners[name][u, 0].tolist())) for name, u in rows],
        }

    @property
    def caption(self) -> str:
        sizes = ", ".join(f"{name} {_by(field)}" for name, field in self.fields.items())
        return f"Parts of {self.n} rows that excite units most; receptive fields by layer: {sizes}."

    def figure(self) -> Figure:
        """One panel per layer, one line of patches per unit."""
        titles = {f"{name}, sees {_by(self.fields[name])}": found for name, found in self.patches.items()}
        return patches(titles, list(self.units.values()), x="patch, from the strongest")


def _by(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))


@explanation("top-patches", when=has_convolution, otherwise=NO_CONVOLUTION, lifted_by="layers")
def top_patches(
    obj: Any, X: Any, layers: Sequence[str] | None = None, *, units: int | Sequence[int] = 4, n: Count = 6
) -> TopPatches:
    """The parts of the rows that excite the units of each layer most, as large as these can see.

    Args:
        X: Rows (B, C, H, W) or (B, C, L).
        layers: Names of layers that give maps; None: all convolutions, or six of them from first to last.
        units: How many units of each layer, those that are excited most, or which.
        n: Patches of each unit, each of another row.
    """
    net = Pictures(obj, X)
    names = list(convolutions(net.module)) if layers is None else list(layers)
    if layers is None and len(names) > 6:
        names = [names[i] for i in np.linspace(0, len(names) - 1, 6).round().astype(int)]
    with net.open(gradients=False):
        peaks = _peaks(net, names)
    made = {name: _cut(net, *peaks[name], units, n) for name in peaks}
    parts = [dict(zip(made, part, strict=True)) for part in zip(*made.values(), strict=True)]
    return TopPatches(*parts, n=len(net.x))


def fields_of(net: Pictures, names: Sequence[str]) -> dict[str, Reach]:
    """What the units of each layer see, by name, of the last run; layers in the order in which they ran."""
    found = {layer.name: layer for layer in reach(net.module, net.x[:1], names) if layer.name in names}
    flat = [name for name in names if name not in found or not found[name].places]
    if flat:
        raise InputError(f"{flat[0]} does not give maps; choose layers that give (B, K, ...).")
    return found


def _peaks(net: Pictures, names: Sequence[str]) -> dict[str, tuple[Reach, Tensor, Tensor]]:
    """What a unit sees, its largest value in each row (B, K), and where that is (B, K); of the last run of a layer."""
    fields = fields_of(net, names)
    found: dict[str, list[tuple[Tensor, Tensor]]] = {name: [] for name in fields}
    for part in net.x.split(net.part):
        with calls(net.module, names, clone=True) as seen:
            net(part)
        for name, h in {call.name: call.out for call in seen}.items():
            top = h.flatten(2).max(-1)
            found[name].append((top.values, top.indices))
    each = {name: [torch.cat(parts) for parts in zip(*pairs, strict=True)] for name, pairs in found.items()}
    return {name: (fields[name], values, places) for name, (values, places) in each.items()}


def _cut(net: Pictures, field: Reach, values: Tensor, places: Tensor, units: Any, n: int) -> tuple[Any, ...]:
    """Of one layer: size of its field, units, patches, values, rows and corners."""
    chosen = _units(values, units)
    top = values[:, chosen].topk(min(n, len(values)), dim=0)
    rows = array(top.indices.T)  # (U, N)
    at = np.stack(np.unravel_index(array(places)[rows, chosen[:, None]], field.places), -1)  # (U, N, axes)
    first, size = _windows(field)
    corners = np.stack([np.array(first[a])[at[..., a]] for a in range(len(first))], -1)  # (U, N, axes)
    x = array(net.x)
    flat = zip(rows.ravel(), corners.reshape(-1, at.shape[-1]), strict=True)
    found = np.stack([_window(x[row], corner, size) for row, corner in flat])
    return size, chosen, found.reshape(*rows.shape, x.shape[1], *size), array(top.values.T), rows, corners


def _windows(field: Reach) -> tuple[list[list[int]], tuple[int, ...]]:
    """First place of the window of each unit, on each axis, and the size of all windows: that of the widest field."""
    starts, sizes = [], []
    for matrix, step in zip(field.matrices, field.steps, strict=True):
        spans = [np.flatnonzero(column) for column in matrix.T]
        size = max((int(s[-1] - s[0]) + 1 for s in spans if len(s)), default=len(matrix))
        full = next((u for u, s in enumerate(spans) if len(s) and s[-1] - s[0] + 1 == size), 0)
        begin = int(spans[full][0]) if len(spans[full]) else 0
        starts.append([begin + round((u - full) * (0 if np.isnan(step) else step)) for u in range(len(spans))])
        sizes.append(size)
    return starts, tuple(sizes)


def _units(values: Tensor, units: int | Sequence[int]) -> np.ndarray:
    count = values.shape[1]
    if isinstance(units, int) and units >= 1:
        return array(values.amax(0).topk(min(units, count)).indices)
    chosen = np.atleast_1d(np.asarray(units))
    if isinstance(units, int) or not len(chosen) or (chosen < 0).any() or (chosen >= count).any():
        raise InputError(f"units is {units}; pass how many, or numbers from 0 to {count - 1}.")
    return chosen


def _window(x: np.ndarray, corner: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """A part of a row (C, *places), with NaN beyond its edge."""
    out = np.full((len(x), *size), np.nan, dtype=x.dtype)
    spans = [(max(a, 0), min(a + k, n)) for a, k, n in zip(corner.tolist(), size, x.shape[1:], strict=True)]
    inner = tuple(slice(low - a, high - a) for (low, high), a in zip(spans, corner.tolist(), strict=True))
    out[:, *inner] = x[:, *(slice(low, high) for low, high in spans)]
    return out
