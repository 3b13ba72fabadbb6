"""One weight changed a little: what it does to every layer and to the loss, beside what the gradient predicts.

    w -> w + Δ:     Δh_k ≈ (∂h_k/∂w) Δ,     ΔL ≈ (∂L/∂w) Δ = Σ δ_k·Δh_k          up to terms in Δ², for every layer k

Doing this for each of P weights takes P + 1 forward passes; back-propagation gives all P slopes for the price of two to
three, which `cost` counts in multiply-adds. Shapes: K calls of layers, from input to output; G places along w.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from ...catalog import nearest
from ...check import Finite
from ...errors import InputError
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend, short
from ...results import Result
from .._point import LossLike, Point
from .._probe import array, calls, gradients, numbered
from .._registry import checked
from ._checking import moving, place

__all__ = ["Nudge", "nudge"]

STEP = 1e-5  # of the differences that give the first order of a layer's change
GRID = np.linspace(-2, 2, 41)  # places along w, in units of Δ
MAX_LAYERS, MAX_UNITS = 5, 40  # that are drawn


@dataclass(frozen=True, eq=False)
class Nudge(Result):
    """What changing one weight did."""

    parameter: str  # name of the tensor
    index: tuple[int, ...]  # place of the weight in it
    weight: float  # the weight before
    amount: float  # what was added to it
    layers: tuple[str, ...]  # name of each call of a layer, K in all
    kinds: tuple[str, ...]  # what each layer is
    change: tuple[np.ndarray, ...]  # how its values changed, for all rows: (B, ...) each
    predicted: tuple[np.ndarray, ...]  # the same to first order: (B, ...) each
    delta: tuple[np.ndarray, ...]  # ∂L/∂h of each: (B, ...) each
    loss: tuple[float, float]  # before and after
    gradient: float  # ∂L/∂w by back-propagation
    curve: np.ndarray  # the loss at weight + GRID amount: (G,)
    parameters: int  # number of weights P
    cost: float  # forward passes that one pass with back-propagation costs; NaN where nothing could be counted

    @property
    def slope(self) -> float:
        """ΔL / Δw."""
        return (self.loss[1] - self.loss[0]) / self.amount

    def columns(self) -> dict[str, Any]:
        """One row per layer, and the loss."""
        sizes = [np.abs(part).max(initial=0.0) for part in self.change]
        gaps = [np.abs(a - b).max(initial=0.0) for a, b in zip(self.change, self.predicted, strict=True)]
        through = [(d * c).sum() for d, c in zip(self.delta, self.change, strict=True)]
        moved, expected = self.loss[1] - self.loss[0], self.gradient * self.amount
        return {
            "layer": [*self.layers, "loss"],
            "values": [*(part.size for part in self.change), 1],
            "changed": [*(np.count_nonzero(part) for part in self.change), int(moved != 0)],
            "largest change": [*sizes, abs(moved)],
            "first order": [*(np.abs(p).max(initial=0.0) for p in self.predicted), abs(expected)],
            "largest gap": [*gaps, abs(moved - expected)],
            "δ·Δ": [*through, moved],
        }

    @property
    def caption(self) -> str:
        where = f"{self.parameter}{list(self.index)}: {self.weight:.6g} -> {self.weight + self.amount:.6g}."
        slopes = f"{where} ΔL/Δw = {self.slope:.7g}, ∂L/∂w = {self.gradient:.7g}."
        passes = f"differences for all {self.parameters:,} weights {self.parameters + 1:,}."
        return slopes + (
            "" if np.isnan(self.cost) else f" Back-propagation costs {self.cost:.2f} forward passes, {passes}"
        )

    @drawn
    def figure(self) -> Figure:
        """The change of every unit of some layers beside its first order, and the loss along the weight."""
        first = next((part for part in self.change if part.any()), np.zeros((1, 1)))
        row = int(np.abs(first).reshape(len(first), -1).max(1).argmax())
        picked = np.unique(np.linspace(0, len(self.layers) - 1, MAX_LAYERS).round().astype(int)) if self.layers else []
        figure, grid = canvas(len(picked) + 1, width=3.5, height=2.8)
        for axes, k in zip(grid, picked, strict=False):
            change, promised = (part[k][row].ravel()[:MAX_UNITS] for part in (self.change, self.predicted))
            units = np.arange(len(change))
            axes.bar(units, change, width=0.7, color=PALETTE[5], label="change")
            wide = max(4, min(16, 160 / max(len(units), 1)))
            axes.plot(units, promised, ls="", marker="_", ms=wide, mew=2, color="black", label="first order")
            axes.axhline(0, color=GREY, lw=0.8)
            axes.set(title=short(f"{self.layers[k]} {self.kinds[k]}", 30), xlabel="unit", ylabel="change of its value")
        at = self.weight + GRID * self.amount
        grid[-1].plot(at, self.curve, lw=2, label="loss")
        grid[-1].plot(at, self.loss[0] + self.gradient * (at - self.weight), label="tangent")
        grid[-1].plot([self.weight], [self.loss[0]], "o", color="black", zorder=4)
        grid[-1].set(title="loss along the weight", xlabel="weight w", ylabel="loss")
        for axes in grid:
            axes.locator_params(nbins=4)
            axes.ticklabel_format(scilimits=(-3, 4), useMathText=True)
        figure.suptitle(f"{self.parameter}{list(self.index)} changed by {self.amount:g}, row {row}")
        legend(figure)
        return figure


@checked("module_")
def nudge(
    obj: Any,
    X: Any,
    y: Any = None,
    loss: LossLike = None,
    parameter: str | None = None,
    index: int | Sequence[int] | None = None,
    amount: Finite = 1e-3,
) -> Nudge:
    """Change one weight a little, on a copy in float64, and see what follows.

    Args:
        parameter: Name of the tensor; None: the first matrix, else the first tensor.
        index: Place in it, flat or by axis; None: where the gradient is largest.
        amount: What is added to the weight.

    Example:
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
        >>> found = nudge(net, [[0.5, -1.0]], [1.0], amount=1e-6)
        >>> abs(found.slope / found.gradient - 1) < 1e-4
        True
    """
    if amount == 0:
        raise InputError("amount=0; a number other than 0 is needed, e.g. 1e-3.")
    point = Point(obj, X, y, loss, double=True, project=True).moves()
    with point.open():
        name, tensor = _chosen(point.parameters, parameter)
        with calls(point.module, clone=True) as seen:
            value = point.value()
        *delta, slopes = gradients(value, [*(call.out for call in seen), tensor])
        at = _index(tensor, index, name, slopes)
        unit = torch.zeros_like(tensor)
        unit[at] = 1.0
        with moving(point.value, tensor, unit) as f, torch.no_grad():
            curve = np.array([f(t * amount) for t in GRID])
            after, up, down = (_values(point, f, t) for t in (amount, STEP, -STEP))
        cost = _cost(point)
    return Nudge(
        *(name, at, float(tensor.detach()[at]), float(amount)),
        layers=numbered([call.name for call in seen]),
        kinds=tuple(type(call.layer).__name__ for call in seen),
        change=tuple(b - array(call.out) for call, b in zip(seen, after[0], strict=True)),
        predicted=tuple((a - b) / (2 * STEP) * amount for a, b in zip(up[0], down[0], strict=True)),
        delta=tuple(map(array, delta)),
        loss=(float(value.detach()), after[1]),
        gradient=float(slopes[at]),
        curve=curve,
        parameters=point.size,
        cost=cost,
    )


def _chosen(tensors: dict[str, Tensor], name: str | None) -> tuple[str, Tensor]:
    if name is None:
        name = next((n for n, p in tensors.items() if p.ndim > 1), next(iter(tensors)))
    if name not in tensors:
        raise InputError(nearest("parameter", name, tensors))
    return name, tensors[name]


def _index(tensor: Tensor, index: Any, name: str, slopes: Tensor) -> tuple[int, ...]:
    """A place in the tensor, by axis."""
    shape = tuple(tensor.shape)
    if index is None:
        flat = int(slopes.abs().argmax())
    else:
        by_axis = tuple(np.atleast_1d(index).tolist())
        flat = by_axis[0] if len(by_axis) == 1 else -1
        if len(by_axis) == len(shape) and all(0 <= i < n for i, n in zip(by_axis, shape, strict=True)):
            flat = int(np.ravel_multi_index(by_axis, shape))
    if not 0 <= flat < tensor.numel():
        last = place(tensor.numel() - 1, shape)
        raise InputError(f"index={index} is not a place in {name} of shape {shape}; the last one is {last}.")
    return tuple(int(i) for i in np.unravel_index(flat, shape)) if shape else ()


def _values(point: Point, f: Any, t: float) -> tuple[list[np.ndarray], float]:
    """Outputs of all calls, and the loss, with the weight moved by t."""
    with calls(point.module) as seen:
        value = f(t)
        return [array(call.out) for call in seen], value


def _cost(point: Point) -> float:
    """Multiply-adds of a pass with the gradient of every parameter, over those of a forward pass."""
    with FlopCounterMode(display=False) as ahead:
        value = point.value()
    with FlopCounterMode(display=False) as back:
        gradients(value, list(point.parameters.values()))
    forward = ahead.get_total_flops()
    return (forward + back.get_total_flops()) / forward if forward else np.nan
