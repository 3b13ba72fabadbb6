"""Which inputs a unit can see: those that turn it into NaN.

One pass of rows, each with one stripe of NaN across the input, gives for every layer and axis a Boolean matrix
(places of the input, places of the map): True where the place of the map depends on the place of the input. A field
that is larger than the input is cut to it; a map that no NaN reaches (the net removes them) counts as seeing all.
Shapes: d axes of the input with n_1, ..., n_d places.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ...data import Batch
from .._probe import Call, calls, first_tensor, fitting, untouched

NUMBERS = 2**22  # in the inputs of one pass


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
        return [_step(matrix) for matrix in self.matrices]


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
    """What the units of every layer see, in the order in which the layers ran; the output comes last, unless a layer
    gave it.

    Args:
        module: The net.
        x: A row (1, C, n_1, ..., n_d), or (1, n).
        names: Of the parts that are looked at; None: all layers.
    """
    net, axes = deepcopy(module).double().eval(), tuple(x.shape[2:] or x.shape[1:])
    stripes = [(axis, place) for axis, n in enumerate(axes) for place in range(n)]
    size = max(1, NUMBERS // x[0].numel())
    found: list[list[Call]] = []
    for start in range(0, len(stripes), size):
        part = stripes[start : start + size]
        rows = x.detach().double().expand(len(part), *x.shape[1:]).clone()
        for row, (axis, place) in zip(rows, part, strict=True):
            row.movedim(axis + row.ndim - len(axes), 0)[place] = torch.nan
        with untouched(net), torch.no_grad(), fitting(module, Batch(rows)), calls(net, names, clone=True) as seen:
            out = first_tensor(net(rows))
        if out is not None and (not seen or not _same(seen[-1].out, out)):
            seen.append(Call("output", net, tuple(call.out for call in seen[-1:]), out))
        found.append([call for call in seen if call.out.ndim and len(call.out) == len(rows)])
    return [_joined(parts, axes, x.ndim) for parts in zip(*found, strict=True)]


def _same(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.equal(a.nan_to_num(), b.nan_to_num())


def _joined(parts: Sequence[Call], axes: tuple[int, ...], ndim: int) -> Reach:
    """One layer, from its calls for all stripes."""
    places, matrices = _matrices([part.out for part in parts], axes, ndim)
    given = [first_tensor(part.inputs) for part in parts]
    known = [g for g in given if g is not None and g.ndim == ndim and len(g) == len(parts[0].out)]
    before = _matrices(known, axes, ndim)[1] if len(known) == len(given) else ()
    same = len(before) == len(matrices) and all(map(np.array_equal, before, matrices))
    return Reach(parts[0].name, parts[0].layer, places, matrices, not same)


def _matrices(outs: Sequence[Tensor], axes: tuple[int, ...], ndim: int) -> tuple[Any, tuple[np.ndarray, ...]]:
    """Shape of a map, and which of its places each stripe reaches, axis by axis."""
    nan = torch.cat([out.isnan() for out in outs])
    maps = nan.ndim == ndim and ndim > 2  # (Σ n, K, *places)
    places = tuple(nan.shape[2:]) if maps else ()
    nan = nan if nan.any() else torch.ones_like(nan)
    matrices = []
    for axis, rows in enumerate(nan.split(list(axes))):
        lost = rows.any(1).movedim(axis + 1, 1) if maps else rows
        matrices.append(lost.reshape(len(rows), places[axis] if maps else 1, -1).any(-1).cpu().numpy())
    return places, tuple(matrices)
