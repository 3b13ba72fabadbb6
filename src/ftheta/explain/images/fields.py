"""What a unit sees of the input, and what a transformation of the input does to it.

    r_l = r_{l-1} + (k_l - 1) d_l j_{l-1},      j_l = j_{l-1} s_l,      r_0 = j_0 = 1        for a chain of layers
    computed: the places that turn the unit into NaN;    measured: those where |∂h_l[unit] / ∂x| > 0 for some row
    equivariance error   max |f(t(x)) - t(f(x))|      0: moving the input moves the output of the layer
    invariance error     max |f(t(x)) - f(x)|         0: the layer does not notice

A place that loses every maximum, or lies behind a unit that a ReLU silences for all rows, is missing in the measured
field. The gradient itself, the effective field, is largest in the middle. One kernel at every place makes a convolution
equivariant to shifts, away from the border; only pooling over all places is invariant. On a map whose places lie j
inputs apart a shift by s is one by s / j; where that is not an integer there is no t(f(x)), and the error is NaN.

Letters: r size, j step of the field from a unit to the next, k kernel, s stride, d dilation; l counts layers.
Shapes: L layers, d axes of the input; effective fields (L, H, W), or (L, n) of a signal; T transformations.
References: Luo et al., Understanding the Effective Receptive Field, NeurIPS (2016); Azulay and Weiss, JMLR 20 (2019).
"""

from collections.abc import Callable, Sequence
from math import ceil
from typing import Annotated, Any

import numpy as np
import torch
from annotated_types import Ge
from torch import Tensor, nn

from ...errors import InputError
from ...nn import Flip, Shift, Turn
from ...plots import GREY, PALETTE, Figure, canvas, distinct, drawn, short
from ...results import Result
from .. import _probe
from .._probe import NO_MAPS, Call, has_maps, module_of, numbered, passed
from .._registry import explanation
from ._images import reach

MAX_ROWS, NUMBERS = 16, 2**20  # more rows, fewer places that are missed by chance; of large images fewer are needed
MAX_PANELS = 8
ROUNDING = 64  # of a layer's largest number, in units of its precision: more is a change
Transform = Callable[[Tensor], Tensor]
Size = Annotated[int, Ge(0)]


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
        return {
            "layer": self.names,
            "kind": self.kinds,
            "map": [_by(shape) for shape in self.outputs],
            "field": [_by(row) for row in self.size],
            "stride": [_by(f"{v:g}" for v in row) if np.isfinite(row).all() else "" for row in self.step],
            "of the input": [_spans(row) for row in self.computed],
            "measured": [_spans(row) for row in self.measured],
            "agree": ["yes" if same else "no" for same in self.agree],
            "half of the gradient in % of it": 100 * self.half,
        }

    @property
    def caption(self) -> str:
        sizes = f"{_by(self.size[0])} in {self.names[0]}, {_by(self.size[-1])} in {self.names[-1]}"
        differ = ", ".join(name for name, same in zip(self.names, self.agree, strict=True) if not same)
        said = f"those of {differ} are measured otherwise" if differ else "computed and measured fields agree"
        return f"What the middle unit of each layer sees: {sizes}; {said}."

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
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set(visible=True, color=GREY)
        if not signal:
            figure.colorbar(image, ax=list(grid), shrink=0.8, label="square root of |gradient| / largest")
        return figure


def _by(sizes: Any) -> str:
    return " × ".join(map(str, sizes))


def _spans(ends: np.ndarray) -> str:
    return "none" if (ends < 0).any() else ", ".join(f"{low}-{high}" for low, high in ends)


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
    x = _probe.first_tensor(_probe.rows_for(obj, X, input_shape, MAX_ROWS).x)
    if x is None or x.ndim < 3 or not x.is_floating_point():
        got = "no tensor" if x is None else f"{x.dtype} of shape {tuple(x.shape)}"
        raise InputError(f"receptive_field got {got}; expected maps of floats (rows, channels, ...).")
    x = x[: max(1, min(MAX_ROWS, NUMBERS // x[0].numel()))].detach().clone().requires_grad_()
    module = module_of(obj)
    every, seen = reach(module, x[:1]), []  # maps that see something else than what came into them, and convolutions
    last = len(every) - 1
    for k, layer in enumerate(every):
        inner = k < last or (layer.name != "output" and layer.places)
        if inner and layer.places and (layer.changed or isinstance(layer.layer, nn.modules.conv._ConvNd)):
            seen.append((k, layer))
    if every and (not seen or seen[-1][0] != last):  # the output, if it sees something else again
        before, end = seen[-1][1].matrices if seen else (), every[-1]
        if len(before) != len(end.matrices) or not all(map(np.array_equal, before, end.matrices)):
            seen.append((last, end._replace(name="output")))
    if not seen:
        raise InputError(f"{type(module).__name__} gave nothing for each of {len(x)} rows; receptive_field needs that.")
    layers, gradients = [layer for _, layer in seen], []
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):  # else rounding where the gradient is 0
        outs = [call.out for call in passed(module, x)]
        for k, layer in seen:  # the middle unit is a mixture of its channels
            h = outs[min(k, len(outs) - 1)]
            h = (h[(..., *layer.middle)] if layer.places else h).reshape(len(x), -1)
            mixed = h @ torch.randn(h.shape[1], generator=_probe.DRAW.generator("mixture"), dtype=torch.float64).to(h)
            gradients.append(_probe.gradients(mixed.sum(), [x])[0].abs().double().sum(1).mean(0).cpu().numpy())
    effective = np.stack(gradients)
    support = [np.argwhere(field > 0).T for field in effective]
    return ReceptiveField(
        names=numbered([layer.name for layer in layers]),
        kinds=tuple(type(layer.layer).__name__ for layer in layers),
        outputs=tuple(layer.places for layer in layers),
        step=np.array([layer.steps for layer in layers]),
        computed=np.array([layer.spans(layer.middle) for layer in layers]),
        measured=np.array([[(p.min(), p.max()) if len(p) else (-1, -1) for p in axes] for axes in support]),
        effective=effective,
    )


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
        known = np.concatenate([v[np.isfinite(v)] for v in errors])
        high = float(np.log10(max(known.max(initial=0), 1e-8)))
        low = min(float(np.log10(max(known.min(initial=1), 1e-8))), high - 1)  # at least a power of ten
        image: Any = None
        for axes, title, values in zip(grid, titles, errors, strict=True):
            shade = np.log10(np.clip(values, 1e-8, None))
            image = axes.imshow(shade, cmap="viridis", vmin=low, vmax=high, aspect="auto")
            axes.set_facecolor("0.9")  # where a value is not a number
            for (i, j), value in np.ndenumerate(values):
                ink = GREY if np.isnan(value) else "black" if shade[i, j] > (low + 2 * high) / 3 else "white"
                words = "none" if np.isnan(value) else f"{value:.2g}" if value >= 1e-3 or not value else f"{value:.0e}"
                axes.text(j, i, words, ha="center", va="center", color=ink, fontsize=8)
            axes.set_xticks(range(len(self.transforms)), self.transforms, rotation=30, ha="right")
            axes.set_yticks(range(len(labels)), labels)
            axes.set_title(title, fontsize=10)
            axes.set_xlabel("transformation")
            axes.grid(visible=False)
        grid[0].set_ylabel(f"layer {pattern}".strip())
        bar = figure.colorbar(image, ax=list(grid), label="share of the layer's largest number")
        ticks = np.linspace(low, high, 5)
        bar.set_ticks(ticks.tolist(), labels=[f"{10**t:.1g}" for t in ticks])
        return figure


@explanation("equivariance", when=has_maps, otherwise=f"{NO_MAPS}, or transformations", lifted_by="transform")
def equivariance(
    obj: Any, transform: Transform | Sequence[Transform] | None = None, X: Any = None, *, border: Size = 0
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
    if transform is None:  # small shifts along the last axis, flips, and a quarter turn where it keeps the shape
        square = x.ndim > 3 and x.shape[-1] == x.shape[-2]
        transform = [Shift(1), Shift(2), Flip(-1), *[Flip(-2)] * (x.ndim > 3), *[Turn(1)] * square]
    chosen, columns = [transform] if callable(transform) else list(transform), []
    if not chosen or not all(map(callable, chosen)):
        raise InputError(f"transform={transform!r}; expected functions of a batch, such as Shift(1) or Flip().")
    with torch.no_grad():
        plain = passed(module, x)
        if not plain:
            raise InputError(f"{type(module).__name__} returned no tensor; equivariance compares tensors.")
        steps = _steps(module, x, plain)
        for t in chosen:  # one at a time: a pass holds the outputs of all layers
            pairs = zip(plain, passed(module, t(x)), steps, strict=True)
            columns.append([_errors(f.out, moved.out, at, t, border) for f, moved, at in pairs])
    errors = np.array(columns).transpose(2, 1, 0)  # (3, L, T)
    kinds = tuple(type(call.layer).__name__ for call in plain)
    scale = np.array([float(call.out.abs().max()) for call in plain])
    own = [isinstance(t, Shift | Flip | Turn) for t in chosen]
    said = (str(t) if o else getattr(t, "__name__", type(t).__name__) for t, o in zip(chosen, own, strict=True))
    return Equivariance(numbered([c.name for c in plain]), kinds, tuple(said), *errors, scale=scale, n=len(x))


def _rows(obj: Any, X: Any) -> Tensor:
    """Rows as the net sees them."""
    if X is None:
        raise InputError("equivariance looks at rows, but X is None; pass X.")
    x = _probe.first_tensor(_probe.batch_of(obj, X).x)
    if next(module_of(obj).parameters(), None) is None and str(getattr(X, "dtype", "")).endswith("float64"):
        x = torch.as_tensor(X).detach().clone()  # nothing says that less will do
    if x is None or x.ndim < 2 or not x.is_floating_point():
        got = "no tensor" if x is None else f"{x.dtype} of shape {tuple(x.shape)}"
        raise InputError(f"equivariance got {got}; expected rows of floats, (rows, channels, ...) for maps.")
    return x


def _steps(module: nn.Module, x: Tensor, plain: list[Call]) -> list[list[float]]:
    """How many inputs apart the places of each map lie, on each axis; empty where there are no places."""
    if x.ndim < 3:
        return [[1.0] if call.out.shape == x.shape else [] for call in plain]
    steps = []
    for call, layer in zip(plain, reach(module, x[:1]), strict=False):
        places = call.out.shape[2:] if call.out.ndim == x.ndim and all(m > 1 for m in call.out.shape[2:]) else ()
        sides = zip(layer.steps, x.shape[2:], places, strict=False)
        steps.append([float(round(n / m)) if np.isnan(at) else at for at, n, m in sides])
    return steps


def _errors(f: Tensor, other: Tensor, steps: list[float], t: Transform, border: int) -> tuple[float, float, float]:
    """Equivariance error, invariance error and share of changed numbers of one layer."""
    cuts, equal = [ceil(border / s) for s in steps], np.nan
    inner = (..., *(slice(cut, n - cut) for cut, n in zip(cuts, f.shape[f.ndim - len(cuts) :], strict=True)))
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


def _largest(gap: Tensor) -> float:
    return float(gap.abs().max()) if gap.numel() else np.nan
