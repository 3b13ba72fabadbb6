"""What excites units most: parts of the rows, and inputs that are made for it by gradient ascent on the sphere |x| = r.

    x* = argmax over rows and places of h_l,k,     cut out: the receptive field of that place
    x <- blur(x + η r g / |g|),   x <- r x / |x|,      g = ∂h_unit/∂x at x, shifted by a few places and back (jitter)

The input of a linear unit h = w·x is r w / |w|. The norm is held instead of penalized: both have the same optima.

Shapes: B rows, C channels, places (L,) or (H, W), U units, N patches of each, window (k,) or (k_y, k_x).
References: Zeiler and Fergus (2014); Erhan et al. (2009); Simonyan, Vedaldi and Zisserman (2014); Mordvintsev et al.
(2015), for the jitter.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import torch
from annotated_types import Ge
from scipy.ndimage import gaussian_filter
from torch import Tensor

from ...check import Count, NonNegative, Positive
from ...errors import InputError, NonFiniteError
from ...plots import Figure, patches
from ...results import Result
from .._probe import DRAW, calls, layer_named, rows_for
from .._registry import explanation
from ._images import NO_CONVOLUTION, Pictures, Reach, array, convolutions, has_convolution, reach, slope

RATE = 0.1  # η of the ascent


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
        fields = fields_of(net, names)
        peaks: dict[str, list[Any]] = {name: [] for name in fields}  # of each part of the rows: (b, K) and where
        for part in net.x.split(net.part):
            with calls(net.module, names, clone=True) as seen:
                net(part)
            for name, h in {call.name: call.out for call in seen}.items():  # of the last run of a layer
                peaks[name].append(h.flatten(2).max(-1))
    made = {}
    for name, field in fields.items():
        values, places = (torch.cat(part) for part in zip(*peaks[name], strict=True))
        made[name] = _cut(net, field, values, places, units, n)
    parts = [dict(zip(made, part, strict=True)) for part in zip(*made.values(), strict=True)]
    return TopPatches(*parts, n=len(net.x))


def fields_of(net: Pictures, names: Sequence[str]) -> dict[str, Reach]:
    """What the units of each layer see, by name, of the last run; layers in the order in which they ran."""
    found = {layer.name: layer for layer in reach(net.module, net.x[:1], names) if layer.name in names}
    flat = [name for name in names if name not in found or not found[name].places]
    if flat:
        raise InputError(f"{flat[0]} does not give maps; choose layers that give (B, K, ...).")
    return found


def _cut(net: Pictures, field: Reach, values: Tensor, places: Tensor, units: Any, n: int) -> tuple[Any, ...]:
    """Of one layer: size of its field, units, patches, values, rows and corners."""
    count = values.shape[1]
    if isinstance(units, int) and units >= 1:
        chosen = array(values.amax(0).topk(min(units, count)).indices)
    else:
        chosen = np.atleast_1d(np.asarray(units))
        if isinstance(units, int) or not len(chosen) or (chosen < 0).any() or (chosen >= count).any():
            raise InputError(f"units is {units}; pass how many, or numbers from 0 to {count - 1}.")
    top = values[:, chosen].topk(min(n, len(values)), dim=0)
    rows = array(top.indices.T)  # (U, N)
    at = np.stack(np.unravel_index(array(places)[rows, chosen[:, None]], field.places), -1)  # (U, N, axes)
    first, size = _windows(field)
    corners = np.stack([np.array(first[a])[at[..., a]] for a in range(len(first))], -1)  # (U, N, axes)
    x = array(net.x)
    found = np.full((*rows.shape, x.shape[1], *size), np.nan, dtype=x.dtype)  # NaN beyond the edge of a row
    for u, i in np.ndindex(rows.shape):
        ends = list(zip(corners[u, i].tolist(), size, x.shape[2:], strict=True))
        inner = tuple(slice(max(-a, 0), min(n - a, k)) for a, k, n in ends)
        found[u, i, :, *inner] = x[rows[u, i], :, *(slice(max(a, 0), min(a + k, n)) for a, k, n in ends)]
    return size, chosen, found, array(top.values.T), rows, corners


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


class Synthesized(Result):
    """Inputs that excite units."""

    layer: str  # name of the layer; "output" for the net's own outputs
    units: np.ndarray  # which units (U,)
    names: tuple[str, ...]  # their names: classes, or numbers
    images: np.ndarray  # the inputs (U, C, *places)
    values: np.ndarray  # how much each excites its unit (U,)
    start: np.ndarray  # the same for the noise that they started from (U,)
    radius: float  # norm of the inputs
    field: np.ndarray  # first and last place that the units see, on each axis (axes, 2)

    def columns(self) -> dict[str, Any]:
        return {"unit": self.names, "at the start": self.start, "at the end": self.values}

    def figure(self) -> Figure:
        """What each unit sees of its input, side by side."""
        seen = self.images[:, :, *(slice(low, high + 1) for low, high in self.field)]
        columns = min(len(seen), 5)
        rows = -(-len(seen) // columns)
        empty = np.full((rows * columns - len(seen), *seen.shape[1:]), np.nan)
        tiles = np.concatenate([seen, empty]).reshape(rows, columns, *seen.shape[1:])
        titles = {f"What excites units of {self.layer}, seeing {' x '.join(map(str, seen.shape[2:]))}": tiles}
        first = [[self.names[r * columns] for r in range(rows)]]
        return patches(titles, first, x="unit, counted from the left", y="first of the line", signed=True)

    @property
    def caption(self) -> str:
        return f"Inputs of norm {self.radius:.3g} that excite the units {', '.join(self.names)} of {self.layer}."


@explanation("synthesize", when=has_convolution, otherwise=NO_CONVOLUTION)
def synthesize(
    obj: Any,
    layer: str | None = None,
    units: int | Sequence[int] | None = None,
    *,
    X: Any = None,
    input_shape: Sequence[int] | None = None,
    radius: Positive | None = None,
    steps: Count = 200,
    jitter: Annotated[int, Ge(0)] | None = None,
    blur: NonNegative | None = None,
    random_state: int = 0,
) -> Synthesized:
    """The input that excites a unit most: a class, or a place in the middle of a map.

    Args:
        layer: Name of a layer; None: the outputs of the net.
        units: A unit (channel or output) or several; None: the first ten.
        X: Rows like those that the net is used on; they give shape and norm.
        radius: Norm of the inputs; None: the median norm of X, or a root mean square of 1/4.
        steps: Steps of the ascent.
        jitter: Largest shift; None: 1 for outputs, 0 for maps, whose units look at one place.
        blur: Standard deviation of the blur in places; None: 0.5 for outputs, 0 for maps.

    Example:
        >>> edge = torch.nn.Conv2d(1, 1, 3, bias=False)
        >>> found = synthesize(edge, units=0, input_shape=(1, 3, 3), radius=1.0, jitter=0, blur=0)
        >>> bool(abs(found.values[0] - edge.weight.norm().item()) < 1e-5)
        True
    """
    net = Pictures(obj, rows_for(obj, X, input_shape, 1).x if X is None else X)
    usual = 0.0 if X is None else float(net.x.flatten(1).norm(dim=1).median())
    norm = radius or usual or 0.25 * net.x[0].numel() ** 0.5
    if layer is not None:
        layer_named(net.module, layer)
    with net.open():
        with torch.no_grad():
            shape = _outputs(net, net.x[:1], layer).shape
        maps, count = len(shape) == net.x.ndim, shape[1] if len(shape) > 1 else 1
        chosen = np.arange(min(10, count)) if units is None else np.atleast_1d(np.asarray(units))
        if not len(chosen) or chosen.min() < 0 or chosen.max() >= count:
            raise InputError(f"units is {units}; the layer has units 0 to {count - 1}.")
        jitter, blur = int(not maps) if jitter is None else jitter, 0.5 * (not maps) if blur is None else blur
        of, generator = torch.tensor(chosen, device=net.x.device), DRAW.at("synthesise", random_state).generator()
        noise = torch.randn(len(chosen), *net.x.shape[1:], generator=generator, dtype=torch.float64).to(net.x)
        x = start = _to_sphere(noise, norm)
        axes = tuple(range(2, x.ndim))
        for _ in range(steps):
            shift = tuple(torch.randint(-jitter, jitter + 1, (len(axes),), generator=generator).tolist())
            moved = x.roll(shift, axes).detach().requires_grad_()
            g = slope(_excited(net, moved, layer, of).sum(), moved).roll(tuple(-s for s in shift), axes)
            length = g.flatten(1).norm(dim=1).reshape(-1, *[1] * (g.ndim - 1))
            x = x + RATE * norm * g / length.clamp_min(torch.finfo(g.dtype).tiny)
            if blur:  # along each axis; edges are repeated
                sigmas = (0, 0, *[blur] * len(axes))
                x = torch.as_tensor(gaussian_filter(x.cpu().numpy(), sigmas, mode="nearest", truncate=3)).to(x)
            x = _to_sphere(x, norm)
        if not x.isfinite().all():
            raise NonFiniteError("The gradient of a unit is not finite; look at the weights of the net.")
        values, before = (_excited(net, inputs, layer, of) for inputs in (x.detach(), start))
        seen = fields_of(net, [layer])[layer] if maps and layer else None
        field = seen.spans(seen.middle) if seen else [(0, n - 1) for n in net.places]
    names = net.names(count) if layer is None else tuple(map(str, range(count)))
    made, shown = (array(v) for v in (x, values, before)), tuple(names[u] for u in chosen)
    return Synthesized(layer or "output", chosen, shown, *made, radius=norm, field=np.array(field))


def _outputs(net: Pictures, x: Tensor, layer: str | None) -> Tensor:
    """What a layer gives in its last run, or the scores of the outputs."""
    if layer is None:
        return net.scores(x)
    with calls(net.module, [layer], clone=True) as found:
        net(x)
    if not found:
        raise InputError(f"The layer {layer} did not run; choose one that does.")
    return found[-1].out


def _excited(net: Pictures, x: Tensor, layer: str | None, units: Tensor) -> Tensor:
    """h of unit u for input u, at the middle of a map (U,)."""
    h = _outputs(net, x, layer)
    if h.ndim > 2:
        h = h[(slice(None), slice(None), *(n // 2 for n in h.shape[2:]))]
    return h.reshape(len(x), -1).gather(1, units[:, None])[:, 0]


def _to_sphere(x: Tensor, radius: float) -> Tensor:
    return x * (radius / x.flatten(1).norm(dim=1).reshape(-1, *[1] * (x.ndim - 1)))
