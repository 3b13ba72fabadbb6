"""Invariance and equivariance, measured: what a transformation of the input does to every layer.

    equivariance error   max |f(t(x)) - t(f(x))|      0: moving the input moves what the layer gives
    invariance error     max |f(t(x)) - f(x)|         0: the layer does not notice
    changed              share of the numbers of f(t(x)) that differ from those of f(x)

One kernel at every place makes a convolution equivariant to shifts, away from the border, and not invariant.
A window of pooling forgets a little of the place; only pooling over all places forgets it. On a map whose places lie j
inputs apart a shift by s is one by s / j; where that is no whole number there is no t(f(x)), and the error is NaN.

Letters: f what a layer gives, t a transformation. Shapes: L layers, T transformations.
Reference: Azulay and Weiss, Why Do Deep Convolutional Networks Generalize so Poorly ..., JMLR 20 (2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from .. import plots
from ..errors import InputError, InputTypeError
from ..nn import Flip, Shift, Turn
from ..results import Result, Table
from ._fields import Field, follow_fields, step
from ._probe import batch_of, first_tensor, fitting, module_of, untouched, watching
from ._registry import HasModule, explanation, require
from ._trace import has_maps, numbered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Equivariance", "equivariance", "invariance"]

Transform = Callable[[Tensor], Tensor]
_CRUMBS = 64  # of a layer's largest number, in units of its rounding: more is a change


@dataclass(frozen=True, eq=False)
class Equivariance(Result):
    """What transformations of the input do to every layer.

    Args:
        names: Name of each layer, in the order in which they ran; the last one gives the output.
        kinds: Its class.
        transforms: Each transformation in words.
        equivariance: Largest |f(t(x)) - t(f(x))|: (L, T); NaN where the layer has no such t.
        invariance: Largest |f(t(x)) - f(x)|: (L, T); NaN where t changes the shape.
        changed: Share of the numbers that differ from those without t: (L, T).
        scale: Largest |f(x)|: (L,).
        n: Number of rows.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    transforms: tuple[str, ...]
    equivariance: np.ndarray
    invariance: np.ndarray
    changed: np.ndarray
    scale: np.ndarray
    n: int

    def table(self) -> Table:
        """One line for each layer and transformation."""
        lines = [(i, j) for i in range(len(self.names)) for j in range(len(self.transforms))]
        number = lambda v: None if np.isnan(v) else float(v)  # noqa: E731
        columns: dict[str, list[Any]] = {
            "layer": [self.names[i] for i, _ in lines],
            "kind": [self.kinds[i] for i, _ in lines],
            "transformation": [self.transforms[j] for _, j in lines],
            "largest |f(x)|": [float(self.scale[i]) for i, _ in lines],
            "|f(t(x)) - t(f(x))|": [number(self.equivariance[line]) for line in lines],
            "|f(t(x)) - f(x)|": [number(self.invariance[line]) for line in lines],
            "changed %": [number(100 * self.changed[line]) for line in lines],
        }
        return Table(columns, f"Transformations of {self.n} rows, layer by layer: largest differences.")

    def figure(self) -> Figure:
        """Both errors, as shares of the largest number of each layer."""
        scale = np.where(self.scale > 0, self.scale, 1)[:, None]
        errors = {
            "equivariance error |f(t(x)) - t(f(x))|": self.equivariance / scale,
            "invariance error |f(t(x)) - f(x)|": self.invariance / scale,
        }
        return plots.violations(errors, names=self.names, transforms=self.transforms)


@explanation("equivariance", needs=nn.Module | HasModule, when=has_maps, in_report=False)
def equivariance(
    obj: Any, transform: Transform | Sequence[Transform] | None = None, X: Any = None, *, border: int = 0
) -> Equivariance:
    """How far f(t(x)) is from t(f(x)) and from f(x), for every layer and transformation.

    Args:
        obj: A module, a fitted estimator with one, or any function of a batch.
        transform: Any functions of a batch of maps; `Shift`, `Flip` and `Turn` of `ftheta.nn` know what they are on a
            coarser map, others are applied as they are. None: shifts by 1 and 2, flips, and for squares a quarter turn.
        X: Rows.
        border: Places of the input whose units are left out at every edge, where padding is seen.

    Example:
        >>> net = nn.Conv1d(1, 2, 3, padding=1, padding_mode="circular").double()
        >>> found = equivariance(net, Shift(1), torch.randn(5, 1, 8))
        >>> bool(found.equivariance.max() < 1e-14), bool(found.invariance.max() > 0.1)
        (True, True)
    """
    module, x = _checked(obj, X, usual=transform is None)
    chosen = _several(transform) if transform is not None else _usual(x)
    plain = _pass(module, x)
    columns = []
    for t in chosen:  # one at a time: a pass holds what every layer gives
        moved = _pass(module, t(x))
        columns.append([_errors(*pair, t, border) for pair in zip(plain, moved, strict=True)])
    errors = np.array(columns).swapaxes(0, 1)  # (L, T, 3)
    return Equivariance(
        names=numbered([layer.name for layer in plain]),
        kinds=tuple(layer.kind for layer in plain),
        transforms=tuple(_name(t) for t in chosen),
        equivariance=errors[..., 0],
        invariance=errors[..., 1],
        changed=errors[..., 2],
        scale=np.array([float(layer.out.abs().max()) for layer in plain]),
        n=len(x),
    )


def invariance(obj: Any, transforms: Transform | Sequence[Transform], X: Any) -> float:
    """The largest |f(t(x)) - f(x)| over transformations and rows: how far f is from being invariant to them.

    Args:
        obj: A module, a fitted estimator with one, or any function of a batch.
        transforms: Functions of a batch.
        X: Rows.

    Example:
        >>> invariance(lambda x: x.amax(-1), [Shift(1), Flip()], torch.randn(5, 1, 8))
        0.0
    """
    module, x = _checked(obj, X)
    f = _pass(module, x)[-1].out
    moved = [(t, _pass(module, t(x))[-1].out) for t in _several(transforms)]
    for t, other in moved:
        if other.shape != f.shape:
            raise InputError(
                f"{_name(t)} changes what {type(module).__name__} gives from {tuple(f.shape)} to {tuple(other.shape)}; "
                "invariance compares equal shapes."
            )
    return max(float((other - f).abs().max()) for _, other in moved)


@dataclass(eq=False)
class _Layer:
    """What one layer gave, and where its units look."""

    name: str
    kind: str
    out: Tensor
    field: Field | None


class Function(nn.Module):
    """A function in a module's place."""

    def __init__(self, function: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.function = [function]  # in a list: not a part

    def forward(self, x: Tensor) -> Any:
        return self.function[0](x)


def _checked(obj: Any, X: Any, *, usual: bool = False) -> tuple[nn.Module, Tensor]:
    """The module, and rows as it sees them."""
    if callable(obj) and not isinstance(obj, nn.Module | HasModule):
        obj = Function(obj)
    require(obj, nn.Module | HasModule, "equivariance")
    if usual and not has_maps(obj):
        raise InputTypeError(
            f"{type(obj).__name__} has no convolution; equivariance needs a net on maps, or transformations to try."
        )
    if X is None:
        raise InputError("equivariance looks at rows, but X is None; pass X.")
    x = first_tensor(batch_of(obj, X).x)
    if next(module_of(obj).parameters(), None) is None and str(getattr(X, "dtype", "")).endswith("float64"):
        x = torch.as_tensor(X).detach().clone()  # nothing says that less will do
    if x is None or x.ndim < 2 or not x.is_floating_point():
        got = "no tensor" if x is None else f"{x.dtype} of shape {tuple(x.shape)}"
        raise InputError(f"equivariance got {got}; expected rows of floats, (rows, channels, ...) for maps.")
    return module_of(obj), x


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


def _pass(module: nn.Module, x: Tensor) -> list[_Layer]:
    """What every layer gives for these rows; the module itself comes last, unless its last layer gave that."""
    found: list[_Layer] = []
    last: Tensor | None = None

    def see(name: str, layer: nn.Module, inputs: Any, output: Any) -> None:
        nonlocal last
        out = last = first_tensor(output)
        if out is not None and out.shape[:1] == x.shape[:1]:
            found.append(_Layer(name, type(layer).__name__, out.clone(), mode.of(out)))

    with untouched(module), torch.no_grad(), fitting(module, batch_of(module, x)):
        with follow_fields(x) as mode, watching(module, see):
            out = first_tensor(module(x))
    if out is None:
        raise InputError(f"{type(module).__name__} gave no tensor; equivariance compares tensors.")
    if out is not last or not found:
        found.append(_Layer("output", type(module).__name__, out, mode.of(out)))
    return found


def _errors(plain: _Layer, moved: _Layer, t: Transform, border: int) -> tuple[float, float, float]:
    """Equivariance error, invariance error and share of changed numbers of one layer."""
    f, other = plain.out, moved.out
    steps = [step(back) for back in plain.field or ()]
    known = [s for s in steps if s is not None]
    inner = _inner(f, known, border) if len(known) == len(steps) else (...,)
    equal = np.nan
    if known and len(known) == len(steps) and f.ndim >= len(known) + 1:
        there = t.on(known) if isinstance(t, Shift) else t
        target = None if there is None else there(f)
        if target is not None and target.shape == other.shape:
            equal = _largest((other - target)[inner])
    if other.shape != f.shape:
        return equal, np.nan, np.nan
    gap = (other - f)[inner].abs()
    crumbs = _CRUMBS * torch.finfo(f.dtype).eps * float(f.abs().max()) if f.is_floating_point() else 0
    return equal, _largest(gap), float((gap > crumbs).double().mean()) if gap.numel() else np.nan


def _inner(f: Tensor, steps: Sequence[float], border: int) -> tuple[Any, ...]:
    """The places of a map that are at least `border` inputs away from the edge."""
    cuts = [ceil(border / s) for s in steps]
    sizes = f.shape[-len(cuts) :]
    return (..., *(slice(cut, size - cut) for cut, size in zip(cuts, sizes, strict=True)))


def _largest(gap: Tensor) -> float:
    return float(gap.abs().max()) if gap.numel() else np.nan
