"""Invariance and equivariance, measured: what a transformation of the input does to every layer.

    equivariance error   max |f(t(x)) - t(f(x))|      0: moving the input moves the output of the layer
    invariance error     max |f(t(x)) - f(x)|         0: the layer does not notice
    changed              share of the numbers of f(t(x)) that differ from those of f(x)

One kernel at every place makes a convolution equivariant to shifts, away from the border, and not invariant.
A window of pooling forgets a little of the place; only pooling over all places forgets it. On a map whose places lie j
inputs apart a shift by s is one by s / j; where that is not an integer there is no t(f(x)), and the error is NaN.

Letters: f the output of a layer, t a transformation. Shapes: L layers, T transformations.
Reference: Azulay and Weiss, Why Do Deep Convolutional Networks Generalize so Poorly ..., JMLR 20 (2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Annotated, Any

import numpy as np
import torch
from annotated_types import Ge
from torch import Tensor, nn

from ...errors import InputError
from ...nn import Flip, Shift, Turn
from ...plots import GREY, Figure, canvas, distinct, drawn
from ...results import Result
from .._probe import NO_MAPS, Call, batch_of, calls, first_tensor, fitting, has_maps, module_of, numbered, untouched
from .._registry import explanation
from ._reach import reach

__all__ = ["Equivariance", "equivariance"]

Transform = Callable[[Tensor], Tensor]
Size = Annotated[int, Ge(0)]
ROUNDING = 64  # of a layer's largest number, in units of its precision: more is a change


@dataclass(frozen=True, eq=False)
class Equivariance(Result):
    """What transformations of the input do to every layer."""

    names: tuple[str, ...]  # of the layers, in the order in which they ran; the last one gives the output
    kinds: tuple[str, ...]  # their classes
    transforms: tuple[str, ...]  # in words
    equivariance: np.ndarray  # largest |f(t(x)) - t(f(x))|: (L, T); NaN where the layer has no such t
    invariance: np.ndarray  # largest |f(t(x)) - f(x)|: (L, T); NaN where t changes the shape
    changed: np.ndarray  # share of the numbers that differ from those without t: (L, T)
    scale: np.ndarray  # largest |f(x)|: (L,)
    n: int  # number of rows

    def columns(self) -> dict[str, Any]:
        """One row per layer and transformation."""
        rows = [(i, j) for i in range(len(self.names)) for j in range(len(self.transforms))]
        return {
            "layer": [self.names[i] for i, _ in rows],
            "kind": [self.kinds[i] for i, _ in rows],
            "transformation": [self.transforms[j] for _, j in rows],
            "largest |f(x)|": [self.scale[i] for i, _ in rows],
            "|f(t(x)) - t(f(x))|": self.equivariance.ravel(),
            "|f(t(x)) - f(x)|": self.invariance.ravel(),
            "changed %": 100 * self.changed.ravel(),
        }

    @property
    def caption(self) -> str:
        return f"Transformations of {self.n} rows, layer by layer: largest differences."

    @drawn
    def figure(self) -> Figure:
        """Both errors as shares of the largest number of each layer, colored by the power of ten."""
        scale = np.where(self.scale > 0, self.scale, 1)[:, None]
        width, height = max(4.2, 0.85 * len(self.transforms)), 1.9 + 0.32 * len(self.names)
        figure, grid = canvas(2, width=width, height=height, sharey=True)
        labels, pattern = distinct(list(self.names), 24)
        errors = (self.equivariance / scale, self.invariance / scale)
        titles = ("equivariance error |f(t(x)) - t(f(x))|", "invariance error |f(t(x)) - f(x)|")
        image: Any = None
        for axes, title, values in zip(grid, titles, errors, strict=True):
            shade = np.log10(np.clip(values, 1e-8, 1))
            image = axes.imshow(shade, cmap="viridis", vmin=-8, vmax=0, aspect="auto")
            axes.set_facecolor("0.9")  # where a value is not a number
            for (i, j), value in np.ndenumerate(values):
                ink = GREY if np.isnan(value) else "black" if shade[i, j] > -3 else "white"
                axes.text(j, i, _words(value), ha="center", va="center", color=ink, fontsize=8)
            axes.set_xticks(range(len(self.transforms)), self.transforms, rotation=30, ha="right")
            axes.set_yticks(range(len(labels)), labels)
            axes.set_title(title, fontsize=10)
            axes.set_xlabel("transformation")
            axes.grid(visible=False)
        grid[0].set_ylabel(f"layer {pattern}".strip())
        bar = figure.colorbar(image, ax=list(grid), label="share of the layer's largest number")
        bar.set_ticks([-8, -6, -4, -2, 0], labels=["≤ 1e-8", "1e-6", "1e-4", "0.01", "≥ 1"])
        return figure


def _words(value: float) -> str:
    return "none" if np.isnan(value) else "0" if value == 0 else f"{value:.2g}" if value >= 1e-3 else f"{value:.0e}"


@explanation("equivariance", when=has_maps, otherwise=f"{NO_MAPS}, or transformations", lifted_by="transform")
def equivariance(
    obj: Any,
    transform: Transform | Sequence[Transform] | None = None,
    X: Any = None,
    *,
    border: Size = 0,
) -> Equivariance:
    """How far f(t(x)) is from t(f(x)) and from f(x), for every layer and transformation.

    Args:
        transform: Any functions of a batch of maps; `Shift`, `Flip` and `Turn` of `ftheta.nn` know what they are on a
            coarser map, others are applied as they are. None: shifts by 1 and 2, flips, and for squares a quarter turn.
        border: Places of the input whose units are left out at every edge, where padding is seen.

    Example:
        >>> net = nn.Conv1d(1, 2, 3, padding=1, padding_mode="circular").double()
        >>> found = equivariance(net, Shift(1), torch.randn(5, 1, 8))
        >>> bool(found.equivariance.max() < 1e-14), bool(found.invariance.max() > 0.1)
        (True, True)
    """
    module, x = module_of(obj), _rows(obj, X)
    chosen = _several(transform) if transform is not None else _usual(x)
    plain = _pass(module, x)
    steps = _steps(module, x)
    columns = []
    for t in chosen:  # one at a time: a pass holds the outputs of all layers
        pairs = zip(plain, _pass(module, t(x)), steps, strict=True)
        columns.append([_errors(f.out, moved.out, at, t, border) for f, moved, at in pairs])
    errors = np.array(columns).transpose(2, 1, 0)  # (3, L, T)
    kinds = tuple(type(call.layer).__name__ for call in plain)
    scale = np.array([float(call.out.abs().max()) for call in plain])
    return Equivariance(
        numbered([call.name for call in plain]), kinds, tuple(map(_name, chosen)), *errors, scale=scale, n=len(x)
    )


def _rows(obj: Any, X: Any) -> Tensor:
    """Rows as the net sees them."""
    if X is None:
        raise InputError("equivariance looks at rows, but X is None; pass X.")
    x = first_tensor(batch_of(obj, X).x)
    if next(module_of(obj).parameters(), None) is None and str(getattr(X, "dtype", "")).endswith("float64"):
        x = torch.as_tensor(X).detach().clone()  # nothing says that less will do
    if x is None or x.ndim < 2 or not x.is_floating_point():
        got = "no tensor" if x is None else f"{x.dtype} of shape {tuple(x.shape)}"
        raise InputError(f"equivariance got {got}; expected rows of floats, (rows, channels, ...) for maps.")
    return x


def _several(transform: Transform | Sequence[Transform]) -> list[Transform]:
    given = [transform] if callable(transform) else list(transform)
    if not given or not all(map(callable, given)):
        raise InputError(f"transform={transform!r}; expected functions of a batch, such as Shift(1) or Flip().")
    return given


def _usual(x: Tensor) -> list[Transform]:
    """Small shifts along the last axis, flips, and a quarter turn where it keeps the shape."""
    found: list[Transform] = [Shift(1), Shift(2), Flip(-1)]
    if x.ndim > 3:
        found.append(Flip(-2))
        found += [Turn(1)] if x.shape[-1] == x.shape[-2] else []
    return found


def _name(transform: Transform) -> str:
    plain = isinstance(transform, Shift | Flip | Turn)
    return str(transform) if plain else getattr(transform, "__name__", type(transform).__name__)


def _pass(module: nn.Module, x: Tensor) -> list[Call]:
    """The output of every layer for these rows; that of the module comes last, unless its last layer gave it."""
    with untouched(module), torch.no_grad(), fitting(module, batch_of(module, x)):
        with calls(module, clone=True) as seen:
            out = first_tensor(module(x))
    if out is None:
        raise InputError(f"{type(module).__name__} returned no tensor; equivariance compares tensors.")
    found = [call for call in seen if call.out.shape[:1] == x.shape[:1]]
    if not found or found[-1].out.shape != out.shape or not torch.equal(found[-1].out, out):
        found.append(Call("output", module, (), out))
    return found


def _steps(module: nn.Module, x: Tensor) -> list[list[float]]:
    """How many inputs apart the places of each map lie, on each axis; empty where there are no places."""
    if x.ndim < 3:
        return [[1.0] if call.out.shape == x.shape else [] for call in _pass(module, x)]
    steps = []
    for call, layer in zip(_pass(module, x), reach(module, x[:1]), strict=False):
        places = call.out.shape[2:] if call.out.ndim == x.ndim and all(m > 1 for m in call.out.shape[2:]) else ()
        sides = zip(layer.steps, x.shape[2:], places, strict=False)
        steps.append([float(round(n / m)) if np.isnan(at) else at for at, n, m in sides])
    return steps


def _errors(f: Tensor, other: Tensor, steps: list[float], t: Transform, border: int) -> tuple[float, float, float]:
    """Equivariance error, invariance error and share of changed numbers of one layer."""
    inner = _inner(f, steps, border) if steps else (...,)
    equal = np.nan
    if steps:
        there = t.on(steps) if isinstance(t, Shift) else t
        target = None if there is None else there(f)
        if target is not None and target.shape == other.shape:
            equal = _largest((other - target)[inner])
    if other.shape != f.shape:
        return equal, np.nan, np.nan
    gap = (other - f)[inner].abs()
    rounding = ROUNDING * torch.finfo(f.dtype).eps * float(f.abs().max()) if f.is_floating_point() else 0
    return equal, _largest(gap), float((gap > rounding).double().mean()) if gap.numel() else np.nan


def _inner(f: Tensor, steps: Sequence[float], border: int) -> tuple[Any, ...]:
    """The places of a map that are at least `border` inputs away from the edge."""
    cuts = [ceil(border / s) for s in steps]
    sizes = f.shape[-len(cuts) :]
    return (..., *(slice(cut, size - cut) for cut, size in zip(cuts, sizes, strict=True)))


def _largest(gap: Tensor) -> float:
    return float(gap.abs().max()) if gap.numel() else np.nan
