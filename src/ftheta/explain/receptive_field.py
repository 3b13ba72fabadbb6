"""Receptive field: which inputs one unit of a layer sees, computed from the layers and measured by its gradient.

    r_l = r_{l-1} + (k_l - 1) d_l j_{l-1},      j_l = j_{l-1} s_l,      r_0 = j_0 = 1
    measured: the places x where |∂h_l[unit] / ∂x| > 0 for some row

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
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from .. import plots
from ..errors import InputError, InputTypeError
from ..results import Result, Table
from ._fields import Field, follow_fields, seen_by, step
from ._probe import DRAW, first_tensor, fitting, module_of, untouched, watching
from ._registry import HasModule, explanation, require
from ._trace import has_maps, numbered, rows_for

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ReceptiveField", "receptive_field"]

ROWS, NUMBERS = 16, 2**20  # more rows, fewer places that are missed by chance; of large pictures fewer are needed


@dataclass(frozen=True, eq=False)
class ReceptiveField(Result):
    """What the middle unit of each layer sees.

    Args:
        names: Name of each layer that has windows, and `output` where that sees something else again.
        kinds: Its class.
        outputs: Shape of its map, without channels; empty where it has no places.
        size: Size of the field on each axis, as if the input had no end: (L, d).
        step: Step of the field from a unit to the next, in places of the input: (L, d); NaN where all see the same.
        computed: First and last place of the input that the middle unit can see: (L, d, 2).
        measured: First and last place with a gradient: (L, d, 2); -1 where there is none.
        effective: Mean |gradient| over rows, summed over channels: (L, ...) as the input.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    outputs: tuple[tuple[int, ...], ...]
    size: np.ndarray
    step: np.ndarray
    computed: np.ndarray
    measured: np.ndarray
    effective: np.ndarray

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
        return np.where(total[:, 0] > 0, places / _lengths(self.computed).prod(1), np.nan)

    def table(self) -> Table:
        """One line a layer."""
        columns: dict[str, list[Any]] = {
            "layer": list(self.names),
            "kind": list(self.kinds),
            "map": [_by(shape) for shape in self.outputs],
            "field": [_by(row) for row in self.size],
            "step": [_by(f"{v:g}" for v in row) if np.isfinite(row).all() else "" for row in self.step],
            "of the input": [_spans(row) for row in self.computed],
            "measured": ["none" if (row < 0).any() else _spans(row) for row in self.measured],
            "agree": ["yes" if same else "no" for same in self.agree],
            "half of the gradient in % of it": [None if np.isnan(v) else 100 * v for v in self.half],
        }
        return Table(columns, "What the middle unit of each layer sees.")

    def figure(self) -> Figure:
        """The gradient over the input for every layer, with the computed field as a frame; volumes from the front."""
        sizes, deep = [_by(row) for row in self.size], max(self.effective.ndim - 3, 0)  # axes of a volume
        flat = self.effective.sum(tuple(range(1, 1 + deep)))
        return plots.fields(flat, self.computed[:, deep:], names=self.names, sizes=sizes)


def _lengths(spans: np.ndarray) -> np.ndarray:
    return spans[..., 1] - spans[..., 0] + 1


def _by(sizes: Any) -> str:
    return " × ".join(map(str, sizes))


def _spans(ends: np.ndarray) -> str:
    return ", ".join(f"{low}-{high}" for low, high in ends)


@dataclass(eq=False)
class _Seen:
    """A layer as it ran: its output on the graph, and the field of a unit of it."""

    name: str
    kind: str
    out: Tensor
    field: Field

    @property
    def places(self) -> tuple[int, ...]:
        """Shape of the map; empty where the units have no places."""
        dims = len(self.field)
        return tuple(self.out.shape[-dims:]) if self.out.ndim == dims + 2 else ()

    @property
    def unit(self) -> list[int]:
        return [n // 2 for n in self.places] or [0] * len(self.field)


@explanation("receptive-field", needs=nn.Module | HasModule, when=has_maps)
def receptive_field(obj: Any, X: Any = None, shape: Sequence[int] | None = None) -> ReceptiveField:
    """The field of the middle unit of each layer: from kernels, strides and dilations, and from its gradient.

    Args:
        obj: A module with convolutions or pooling, or a fitted estimator with one.
        X: Rows whose gradients are taken, at most 16; None: random ones.
        shape: Shape of one row, where there is no X; an estimator knows it.

    Example:
        >>> net = nn.Sequential(nn.Conv1d(1, 4, 3), nn.Conv1d(4, 4, 3, stride=2), nn.Conv1d(4, 1, 3))
        >>> receptive_field(net, shape=(1, 25)).size[:, 0].tolist()
        [3, 5, 9]
    """
    require(obj, nn.Module | HasModule, "receptive_field")
    if not has_maps(obj):
        raise InputTypeError(
            f"{type(obj).__name__} has no convolution; receptive_field needs a module with convolutions or pooling."
        )
    x = first_tensor(rows_for(obj, X, shape, ROWS).x)
    if x is None or x.ndim < 3 or not x.is_floating_point():
        got = "no tensor" if x is None else f"{x.dtype} of shape {tuple(x.shape)}"
        raise InputError(f"receptive_field got {got}; expected maps of floats (rows, channels, ...).")
    x = x[: max(1, min(ROWS, NUMBERS // x[0].numel()))].detach().clone().requires_grad_()
    seen = _layers(module_of(obj), x)
    inside = [seen_by(layer.field, layer.unit, inside=True) for layer in seen]
    ends = [seen_by(layer.field, layer.unit, inside=False) for layer in seen]
    effective = np.stack([_gradient(layer, x) for layer in seen])
    return ReceptiveField(
        names=numbered([layer.name for layer in seen]),
        kinds=tuple(layer.kind for layer in seen),
        outputs=tuple(layer.places for layer in seen),
        size=_lengths(np.array(ends)),
        step=np.array([[step(back) or np.nan for back in layer.field] for layer in seen]),
        computed=np.array(inside),
        measured=np.array([_support(field) for field in effective]),
        effective=effective,
    )


def _layers(module: nn.Module, x: Tensor) -> list[_Seen]:
    """The layers with windows in the order in which they ran, and the output if it is another thing."""
    found: list[_Seen] = []

    def see(name: str, layer: nn.Module, inputs: Any, output: Any) -> None:
        out, came = first_tensor(output), mode.of(first_tensor(inputs))
        field = mode.of(out)
        if out is None or field is None or not out.requires_grad:
            return
        new = _Seen(name, type(layer).__name__, out.clone(), field)  # the next layer may write into it
        changed = came is None or _differ(came, field, new)
        if new.places and (changed or isinstance(layer, nn.modules.conv._ConvNd)):
            found.append(new)

    with untouched(module), torch.enable_grad(), _exact(), fitting(module, rows_for(module, x, None, 1)):
        with follow_fields(x) as mode, watching(module, see):
            out = first_tensor(module(x))
    field = mode.of(out) if out is not None and out.shape[:1] == x.shape[:1] else None
    if out is not None and field is not None and (not found or _differ(found[-1].field, field, found[-1])):
        found.append(_Seen("output", type(module).__name__, out, field))
    if not found:
        raise InputError(f"{type(module).__name__} gave nothing for each of {len(x)} rows; receptive_field needs that.")
    return found


def _differ(a: Field, b: Field, layer: _Seen) -> bool:
    return any(seen_by(a, layer.unit, inside=cut) != seen_by(b, layer.unit, inside=cut) for cut in (True, False))


def _exact() -> Any:
    """Convolutions by direct sums: fast transforms would leave crumbs where the gradient is 0."""
    return torch.backends.cudnn.flags(enabled=False)


def _gradient(layer: _Seen, x: Tensor) -> np.ndarray:
    """Mean |gradient| of the middle unit over rows, summed over channels; the unit is a mixture of its channels."""
    h = layer.out[(..., *layer.unit)] if layer.places else layer.out
    h = h.reshape(len(h), -1)
    mixed = h @ torch.randn(h.shape[1], generator=DRAW.generator("mixture"), dtype=torch.float64).to(h)
    g = None
    if mixed.requires_grad:
        with _exact():
            (g,) = torch.autograd.grad(mixed.sum(), x, retain_graph=True, allow_unused=True)
    g = torch.zeros_like(x) if g is None else g
    return g.abs().double().sum(1).mean(0).cpu().numpy()


def _support(field: np.ndarray) -> list[tuple[int, int]]:
    """First and last place of each axis that is not 0; -1 where all are."""
    places = np.argwhere(field > 0)
    return [(int(p.min()), int(p.max())) if len(p) else (-1, -1) for p in places.T]
