"""One weight nudged: how the change ripples through every layer to the loss, beside what the gradient promised.

    w -> w + Δ:     Δh_k ≈ (∂h_k/∂w) Δ,     ΔL ≈ (∂L/∂w) Δ = Σ δ_k·Δh_k          up to terms in Δ², for every layer k

Doing this for each of P weights takes P + 1 forward passes; back-propagation gives all P slopes for the price of two to
three. Both are counted here, in multiply-adds of matrix products and convolutions.

Shapes: K calls of layers, from input to output; G places along w.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from .. import plots
from ..catalog import nearest
from ..errors import InputError
from ..results import Result, Table
from ._checking import gradients, moving, place
from ._copied import Copied, Given, calls
from ._probe import DRAW
from ._trace import numbered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Nudge", "nudge"]

STEP = 1e-5  # of the differences that give the first order of a layer's change
GRID = np.linspace(-2, 2, 41)  # places along w, in units of Δ


@dataclass(frozen=True, eq=False)
class Nudge(Result):
    """What one nudge did.

    Args:
        parameter: Name of the tensor.
        index: Place of the weight in it.
        weight: The weight before.
        by: What was added to it.
        layers: Name of each call of a layer, K in all.
        kinds: What each layer is.
        change: How its values changed, for all rows: (B, ...) each.
        predicted: The same to first order: (B, ...) each.
        delta: ∂L/∂h of each: (B, ...) each.
        loss: The loss before and after.
        gradient: ∂L/∂w by back-propagation.
        curve: The loss at `weight + GRID by`: (G,).
        parameters: Number of weights P.
        work: Multiply-adds of a forward pass, and of one with back-propagation.
    """

    parameter: str
    index: tuple[int, ...]
    weight: float
    by: float
    layers: tuple[str, ...]
    kinds: tuple[str, ...]
    change: tuple[np.ndarray, ...]
    predicted: tuple[np.ndarray, ...]
    delta: tuple[np.ndarray, ...]
    loss: tuple[float, float]
    gradient: float
    curve: np.ndarray
    parameters: int
    work: tuple[int, int]

    @property
    def slope(self) -> float:
        """ΔL / Δw."""
        return (self.loss[1] - self.loss[0]) / self.by

    @property
    def cost(self) -> float:
        """Forward passes that one pass with back-propagation costs; NaN where nothing could be counted."""
        return self.work[1] / self.work[0] if self.work[0] else np.nan

    def table(self) -> Table:
        """One line a layer, and the loss."""
        sizes = [np.abs(part).max(initial=0.0) for part in self.change]
        gaps = [np.abs(a - b).max(initial=0.0) for a, b in zip(self.change, self.predicted, strict=True)]
        through = [float((d * c).sum()) for d, c in zip(self.delta, self.change, strict=True)]
        moved = self.loss[1] - self.loss[0]
        columns: dict[str, Sequence[Any]] = {
            "layer": [*self.layers, "loss"],
            "values": [*(part.size for part in self.change), 1],
            "changed": [*(int(np.count_nonzero(part)) for part in self.change), int(moved != 0)],
            "largest change": [*map(float, sizes), abs(moved)],
            "first order": [*(float(np.abs(p).max(initial=0.0)) for p in self.predicted), abs(self.gradient * self.by)],
            "largest gap": [*map(float, gaps), abs(moved - self.gradient * self.by)],
            "δ·Δ": [*through, moved],
        }
        end = self.weight + self.by
        price = "" if np.isnan(self.cost) else f" Back-propagation costs {self.cost:.2f} forward passes, differences "
        price += f"for all {self.parameters:,} weights {self.parameters + 1:,}." if price else ""
        where = f"{self.parameter}{list(self.index)}: {self.weight:.6g} -> {end:.6g}."
        return Table(columns, f"{where} ΔL/Δw = {self.slope:.7g}, ∂L/∂w = {self.gradient:.7g}.{price}")

    def figure(self) -> Figure:
        """The change of every unit beside its first order, and the loss along the weight with its tangent."""
        first = next((part for part in self.change if part.any()), np.zeros((1, 1)))
        row = int(np.abs(first).reshape(len(first), -1).max(1).argmax())
        titles = [f"{name} {kind}" for name, kind in zip(self.layers, self.kinds, strict=True)]
        changes = {title: part[row].ravel() for title, part in zip(titles, self.change, strict=True)}
        promised = [part[row].ravel() for part in self.predicted]
        at = self.weight + GRID * self.by
        title = f"{self.parameter}{list(self.index)} nudged by {self.by:g}, row {row}"
        return plots.nudge(changes, promised, at, self.curve, self.loss[0], self.gradient, title=title)


def nudge(
    obj: Any,
    X: Any,
    y: Any = None,
    loss: Given = None,
    parameter: str | None = None,
    index: int | Sequence[int] | None = None,
    by: float = 1e-3,
) -> Nudge:
    """Change one weight a little, on a copy in float64, and see what follows.

    Args:
        obj: A module, or a fitted neural estimator.
        X: Rows.
        y: Their targets.
        loss: A function (raw, y) -> one number, or the loss of each row; None: as in `gradient_check`.
        parameter: Name of the tensor; None: the first matrix, else the first tensor.
        index: Place in it, flat or by axis; None: where the gradient is largest.
        by: What is added to the weight.

    Example:
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
        >>> found = nudge(net, [[0.5, -1.0]], [1.0], by=1e-6)
        >>> abs(found.slope / found.gradient - 1) < 1e-4
        True
    """
    if not np.isfinite(by) or by == 0:
        raise InputError(f"by={by}; a nudge is a finite number other than 0, e.g. 1e-3.")
    with DRAW.scope():
        problem = Copied(obj, X, y, loss, name="nudge")
        name, tensor = _chosen(problem.parameters, parameter)
        names, kinds, before, value, grads = _pass(problem, tensor)
        *delta, slopes = grads
        at = _index(tensor, index, name, slopes)
        unit = torch.zeros_like(tensor)
        unit[at] = 1.0
        with moving(problem.value, tensor, unit) as f, torch.no_grad():
            curve = np.array([f(t * by) for t in GRID])
            after, up, down = (_values(problem, f, t) for t in (by, STEP, -STEP))
        work = _work(problem)
    start = [_array(out) for out in before]
    return Nudge(
        parameter=name,
        index=at,
        weight=float(tensor.detach()[at]),
        by=float(by),
        layers=names,
        kinds=kinds,
        change=tuple(b - a for a, b in zip(start, after[0], strict=True)),
        predicted=tuple((a - b) / (2 * STEP) * by for a, b in zip(up[0], down[0], strict=True)),
        delta=tuple(np.zeros(a.shape) if d is None else _array(d) for a, d in zip(start, delta, strict=True)),
        loss=(value, after[1]),
        gradient=0.0 if slopes is None else float(slopes[at]),
        curve=curve,
        parameters=sum(p.numel() for p in problem.parameters.values()),
        work=work,
    )


def _chosen(tensors: dict[str, Tensor], name: str | None) -> tuple[str, Tensor]:
    if not tensors:
        raise InputError("No parameter trains, so there is no weight to nudge; let one train.")
    if name is None:
        name = next((n for n, p in tensors.items() if p.ndim > 1), next(iter(tensors)))
    if name not in tensors:
        raise InputError(nearest("parameter", name, tensors))
    return name, tensors[name]


def _index(tensor: Tensor, index: Any, name: str, slopes: Tensor | None) -> tuple[int, ...]:
    """A place in the tensor, by axis."""
    shape = tuple(tensor.shape)
    if index is None:
        flat = 0 if slopes is None else int(slopes.abs().argmax())
    else:
        by_axis = tuple(np.atleast_1d(index).tolist())
        flat = by_axis[0] if len(by_axis) == 1 else -1
        if len(by_axis) == len(shape) and all(0 <= i < n for i, n in zip(by_axis, shape, strict=True)):
            flat = int(np.ravel_multi_index(by_axis, shape))
    if not 0 <= flat < tensor.numel():
        last = place(tensor.numel() - 1, shape)
        raise InputError(f"index={index} is no place in {name} of shape {shape}; the last one is {last}.")
    return tuple(int(i) for i in np.unravel_index(flat, shape)) if shape else ()


def _pass(
    problem: Copied, tensor: Tensor
) -> tuple[tuple[str, ...], tuple[str, ...], list[Tensor], float, list[Tensor | None]]:
    """Names, kinds and outputs of all calls, the loss, and its gradients for the outputs and the tensor."""
    with calls(problem.net) as seen:
        value = problem.value()
    outs = [out for *_, out in seen]
    names, kinds = numbered([name for name, *_ in seen]), tuple(type(layer).__name__ for _, layer, *_ in seen)
    return names, kinds, outs, float(value.detach()), gradients(value, [*outs, tensor])


def _values(problem: Copied, f: Any, t: float) -> tuple[list[np.ndarray], float]:
    """What all calls give, and the loss, with the weight moved by t."""
    with calls(problem.net) as seen:
        value = f(t)
        return [_array(out) for *_, out in seen], value


def _work(problem: Copied) -> tuple[int, int]:
    """Multiply-adds of a forward pass, and of one with the gradient of every parameter."""
    with FlopCounterMode(display=False) as ahead:
        value = problem.value()
    with FlopCounterMode(display=False) as back:
        gradients(value, list(problem.parameters.values()))
    forward = ahead.get_total_flops() // 2
    return forward, forward + back.get_total_flops() // 2


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().double().cpu().numpy().copy()
