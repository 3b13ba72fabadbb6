"""Synthesis: the input that excites a unit most, by gradient ascent on the sphere |x| = r.

    x <- blur(x + η r g / |g|),   x <- r x / |x|,      g = ∂h_unit/∂x at x, shifted by a few places and back (jitter)

For a linear unit h = w·x it is r w / |w|. The norm is held instead of penalized: both have the same optima.

Shapes: U units, C channels, places (L,) or (H, W).
References: Erhan et al. (2009); Simonyan, Vedaldi and Zisserman (2014); Mordvintsev et al. (2015), for the jitter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from annotated_types import Ge
from scipy.ndimage import gaussian_filter
from torch import Generator, Tensor

from ...check import Count, NonNegative, Positive
from ...errors import InputError, NonFiniteError
from ...plots import Figure, patches
from ...results import Result
from .._probe import DRAW, calls, layer_named, rows_for
from .._registry import explanation
from ._images import NO_CONVOLUTION, Pictures, array, has_convolution, slope
from .top_patches import fields_of

__all__ = ["Synthesized", "synthesize"]

RATE = 0.1  # η


@dataclass(frozen=True, eq=False)
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
        """One row per unit."""
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
    norm = _usual_norm(net.x, X is not None) if radius is None else radius
    with net.open():
        climb = _Climb(net, layer, units)
        usual = (0, 0.0) if climb.maps else (1, 0.5)
        jitter, blur = usual[0] if jitter is None else jitter, usual[1] if blur is None else blur
        generator = DRAW.at("synthesise", random_state).generator()
        noise = torch.randn(len(climb.units), *net.x.shape[1:], generator=generator, dtype=torch.float64).to(net.x)
        start = _to_sphere(noise, norm)
        x = climb.run(start, norm, steps, jitter, blur, generator)
        values, before = climb.value(x), climb.value(start)
        field = _middle(net, layer) if climb.maps and layer else [(0, n - 1) for n in net.places]
    names = net.names(climb.count) if layer is None else tuple(map(str, range(climb.count)))
    chosen = climb.units.cpu().numpy()
    shown = tuple(names[u] for u in chosen)
    made = (array(v) for v in (x, values, before))
    return Synthesized(layer or "output", chosen, shown, *made, radius=norm, field=np.array(field))


def _usual_norm(x: Tensor, known: bool) -> float:
    norm = float(x.flatten(1).norm(dim=1).median())
    return norm if known and norm > 0 else 0.25 * x[0].numel() ** 0.5


def _middle(net: Pictures, layer: str) -> list[tuple[int, int]]:
    """What the unit in the middle of a map sees."""
    field = fields_of(net, [layer])[layer]
    return field.spans(field.middle)


class _Climb:
    """The units of a layer as functions of their own inputs."""

    def __init__(self, net: Pictures, layer: str | None, units: int | Sequence[int] | None) -> None:
        self.net, self.name = net, layer
        if layer is not None:
            layer_named(net.module, layer)
        with torch.no_grad():
            shape = self._values(net.x[:1]).shape
        self.maps, self.count = len(shape) == net.x.ndim, shape[1] if len(shape) > 1 else 1
        chosen = np.arange(min(10, self.count)) if units is None else np.atleast_1d(np.asarray(units))
        if not len(chosen) or chosen.min() < 0 or chosen.max() >= self.count:
            raise InputError(f"units is {units}; the layer has units 0 to {self.count - 1}.")
        self.units = torch.tensor(chosen, device=net.x.device)

    def _values(self, x: Tensor) -> Tensor:
        if self.name is None:
            return self.net.scores(x)
        with calls(self.net.module, [self.name], clone=True) as found:
            self.net(x)
        if not found:
            raise InputError(f"The layer {self.name} did not run; choose one that does.")
        return found[-1].out

    def value(self, x: Tensor) -> Tensor:
        """h of unit u for input u, at the middle of a map (U,)."""
        h = self._values(x)
        if h.ndim > 2:
            h = h[(slice(None), slice(None), *(n // 2 for n in h.shape[2:]))]
        return h.reshape(len(x), -1).gather(1, self.units[:, None])[:, 0]

    def run(self, x: Tensor, radius: float, steps: int, jitter: int, blur: float, generator: Generator) -> Tensor:
        axes = tuple(range(2, x.ndim))
        for _ in range(steps):
            shift = tuple(torch.randint(-jitter, jitter + 1, (len(axes),), generator=generator).tolist())
            moved = x.roll(shift, axes).detach().requires_grad_()
            g = slope(self.value(moved).sum(), moved).roll(tuple(-s for s in shift), axes)
            norm = g.flatten(1).norm(dim=1).reshape(-1, *[1] * (g.ndim - 1))
            x = x + RATE * radius * g / norm.clamp_min(torch.finfo(g.dtype).tiny)
            x = _to_sphere(_blurred(x, blur) if blur else x, radius)
        if not x.isfinite().all():
            raise NonFiniteError("The gradient of a unit is not finite; look at the weights of the net.")
        return x.detach()


def _to_sphere(x: Tensor, radius: float) -> Tensor:
    norm = x.flatten(1).norm(dim=1).reshape(-1, *[1] * (x.ndim - 1))
    return x * (radius / norm)


def _blurred(x: Tensor, sigma: float) -> Tensor:
    """A Gaussian of this standard deviation, along each axis; edges are repeated."""
    sigmas = (0, 0, *[sigma] * (x.ndim - 2))
    return torch.as_tensor(gaussian_filter(x.detach().cpu().numpy(), sigmas, mode="nearest", truncate=3)).to(x)
