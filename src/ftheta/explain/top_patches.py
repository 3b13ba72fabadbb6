"""Top patches: the parts of the rows that excite the units of each layer most, as large as these units can see.

    x* = argmax over rows and places of h_l,k,     cut out: the receptive field of that place

From layer to layer the field grows, and with it what a unit can stand for: edges first, then strokes and shapes.

Shapes: B rows, C channels, U units, N patches of each, window (k,) or (k_y, k_x).
Reference: Zeiler and Fergus, Visualizing and understanding convolutional networks (2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from .. import plots
from ..errors import InputError
from ..results import Result, Table
from ._fields import Field, seen_by
from ._images import Pictures, array, convolutions, fields_of, has_convolution, seeing, without_layer
from ._registry import HasModule, explanation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["TopPatches", "top_patches"]


@dataclass(frozen=True, eq=False)
class TopPatches(Result):
    """Patches by the name of their layer, in the order in which these ran.

    Args:
        fields: Size of the receptive field on each axis.
        units: Channels of the layer (U,).
        patches: (U, N, C, *window), from the strongest on; NaN beyond the edge of a row.
        values: How much each excites its unit (U, N).
        rows: Which rows they are of (U, N).
        corners: First place of each window in its row; below 0 beyond the edge (U, N, axes).
        n: Number of rows that were looked at.
    """

    fields: dict[str, tuple[int, ...]]
    units: dict[str, np.ndarray]
    patches: dict[str, np.ndarray]
    values: dict[str, np.ndarray]
    rows: dict[str, np.ndarray]
    corners: dict[str, np.ndarray]
    n: int

    def table(self) -> Table:
        """One line a unit."""
        lines = [(name, u) for name, units in self.units.items() for u in range(len(units))]
        columns = {
            "layer": [name for name, _ in lines],
            "field": [_by(self.fields[name]) for name, _ in lines],
            "unit": [int(self.units[name][u]) for name, u in lines],
            "strongest": [float(self.values[name][u, 0]) for name, u in lines],
            "row": [int(self.rows[name][u, 0]) for name, u in lines],
            "from place": [str(tuple(self.corners[name][u, 0].tolist())) for name, u in lines],
        }
        return Table(columns, self.alt)

    def figure(self) -> Figure:
        """One panel a layer, one line of patches a unit."""
        titles = {f"{name}, sees {_by(self.fields[name])}": patches for name, patches in self.patches.items()}
        return plots.patches(titles, list(self.units.values()), x="patch, from the strongest")

    @property
    def alt(self) -> str:
        """What the picture shows."""
        sizes = ", ".join(f"{name} {_by(field)}" for name, field in self.fields.items())
        return f"Parts of {self.n} rows that excite units most; receptive fields by layer: {sizes}."


def _by(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))


@explanation("top-patches", needs=nn.Module | HasModule, when=has_convolution)
def top_patches(
    obj: Any, X: Any, layers: Sequence[str] | None = None, *, units: int | Sequence[int] = 4, n: int = 6
) -> TopPatches:
    """The parts of the rows that excite the units of each layer most, as large as these can see.

    Args:
        obj: A module, or a fitted estimator with one.
        X: Rows (B, C, H, W) or (B, C, L).
        layers: Names of layers that give maps; None: all convolutions, or six of them from first to last.
        units: How many units of each layer, those that are excited most, or which.
        n: Patches of each unit, each of another row.
    """
    net = Pictures(obj, X, "top_patches")
    names = list(convolutions(net.module)) if layers is None else list(layers)
    if not names:
        raise without_layer(obj, "top_patches")
    if layers is None and len(names) > 6:
        names = [names[i] for i in np.linspace(0, len(names) - 1, 6).round().astype(int)]
    with net.open(gradients=False):
        fields = fields_of(net, names)
        peaks = _peaks(net, list(fields))
    made = {name: _cut(net, field, *peaks[name], units, n) for name, field in fields.items()}
    parts = [dict(zip(made, part, strict=True)) for part in zip(*made.values(), strict=True)]
    return TopPatches(*parts, n=len(net.x))


def _peaks(net: Pictures, names: Sequence[str]) -> dict[str, tuple[Tensor, Tensor, tuple[int, ...]]]:
    """Largest value of each unit in each row (B, K), where it is (B, K), and the shape of the map."""
    found: dict[str, list[tuple[Tensor, Tensor]]] = {name: [] for name in names}
    last: dict[str, tuple[Tensor, Tensor]] = {}
    shapes: dict[str, tuple[int, ...]] = {}

    def see(name: str, h: Tensor) -> None:
        top = h.flatten(2).max(-1)
        last[name] = top.values, top.indices  # of a layer that runs twice, the last run
        shapes[name] = tuple(h.shape[2:])

    with seeing(net.module, names, see):
        for part in net.x.split(net.part):
            net(part)
            for name in names:
                found[name].append(last[name])
    each = {name: [torch.cat(parts) for parts in zip(*pairs, strict=True)] for name, pairs in found.items()}
    return {name: (values, places, shapes[name]) for name, (values, places) in each.items()}


def _cut(
    net: Pictures,
    field: Field,
    values: Tensor,
    places: Tensor,
    shape: tuple[int, ...],
    units: int | Sequence[int],
    n: int,
) -> tuple[Any, ...]:
    """Of one layer: size of its field, units, patches, values, rows and corners."""
    chosen = _units(values, units)
    top = values[:, chosen].topk(min(n, len(values)), dim=0)
    rows = array(top.indices.T)  # (U, N)
    at = np.stack(np.unravel_index(array(places)[rows, chosen[:, None]], shape), -1)  # (U, N, axes)
    spans = np.array([seen_by(field, unit, inside=False) for unit in at.reshape(-1, at.shape[-1]).tolist()])
    size = tuple((spans[0, :, 1] - spans[0, :, 0] + 1).tolist())
    corners = spans[:, :, 0].reshape(at.shape)
    x = array(net.x)
    pictures = [
        _window(x[row], corner, size)
        for row, corner in zip(rows.ravel(), corners.reshape(-1, at.shape[-1]), strict=True)
    ]
    patches = np.stack(pictures).reshape(*rows.shape, x.shape[1], *size)
    return size, chosen, patches, array(top.values.T), rows, corners


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
