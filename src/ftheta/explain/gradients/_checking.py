"""Gradients of a backward pass against slopes by differences, tensor by tensor and layer by layer.

    D(h) = (f(h) - f(-h)) / 2h = f'(0) + c₂ h² + c₄ h⁴ + ...        h, h/4, h/16, ...: the powers are extrapolated away

Each tensor is tried along one random direction, in which every entry takes part, and at a few entries; where that
fails, at many. Shapes: n entries of a tensor that were compared.
Reference: Ridders, Accurate computation of F'(x) and F'(x) F''(x), Advances in Engineering Software 4 (1982).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf, isfinite, nan
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...draw import Draw
from ...errors import InputError
from .._point import Point
from .._probe import DRAW, Call, array, calls, first_tensor, gradients
from ._mistakes import Compared, Local

FEW_ENTRIES = 5  # of a tensor that is right along its direction
EPSILON = 2.0**-49  # rounding of a loss that is a sum of many terms
SHRINK, LEVELS, ENOUGH = 4, 10, 1e-9
Value = Callable[[], Tensor]


class Checked(NamedTuple):
    """One tensor."""

    found: Compared
    along: float  # relative error along a random direction
    kink: str  # its slopes on both sides, in words
    wrong: bool
    used: bool  # has a gradient


class FaultyLayer(NamedTuple):
    """The layer in which gradients go wrong; without a name: none alone."""

    name: str = ""
    wrong: Mapping[str, Checked] = {}  # tensors whose gradients do
    local: Local | None = None


@dataclass(frozen=True)
class Check:
    """How much is compared, how well it has to agree, and from which draw directions and samples come."""

    entries: int
    tolerance: float
    draw: Draw

    def all(self, value: Value, size: float, tensors: Mapping[str, Tensor]) -> list[Checked]:
        """Every tensor of one loss."""
        try:
            found = gradients(value(), list(tensors.values()), zeros=False)
        except RuntimeError as error:
            why = str(error).partition("\n")[0].rstrip(".")
            raise InputError(
                f"The backward pass failed: {why}. Give every gradient the shape of what it is the gradient of."
            ) from error
        return [self.one(value, size, n, t, g) for (n, t), g in zip(tensors.items(), found, strict=True)]

    def one(self, value: Value, size: float, name: str, tensor: Tensor, gradient: Tensor | None) -> Checked:
        """A tensor along a direction, then at a few of its entries, or at many."""
        got = np.zeros(tensor.shape) if gradient is None else array(gradient)
        here = self.draw.at(name)
        v = torch.randn(tensor.shape, generator=here.generator("direction"), dtype=torch.float64)
        v = (v / v.norm().clamp(min=1e-300)).to(tensor.device)
        on, zero = (v.cpu().numpy() * got).sum()[None], np.zeros(1, int)
        way = Compared(name, on, zero, *_slopes(value, size, tensor, [v]), self.tolerance)
        along = float(way.off[0])
        bent = not along <= self.tolerance
        order = torch.randperm(got.size, generator=here.generator("entries")).numpy()
        index = np.sort(order[: self.entries if bent else FEW_ENTRIES])
        slopes = _slopes(value, size, tensor, (_unit(tensor, i) for i in index))
        found = Compared(name, got, index, *slopes, self.tolerance)
        differ = ~(found.off <= self.tolerance)
        kinks = [_kink(value, size, tensor, int(i), found) for i in found.index[differ]]
        kink = kinks[0] if kinks and all(kinks) else ""
        wrong = bool((bent or differ.any()) and not kink and (differ.any() or not found.complete))
        return Checked(found, np.nan if kink else along, kink, wrong, gradient is not None)

    def faulty_layer(self, point: Point) -> FaultyLayer:
        """The layer nearest to the output whose own gradients are wrong, parts before what is made of them; torch's own
        layers are trusted."""
        with calls(point.module, clone=True) as seen:
            value = point.value()
        deltas = gradients(value, [call.out for call in seen], zeros=False)
        back = reversed(list(zip(seen, deltas, strict=True)))
        for call, delta in sorted(back, key=lambda pair: any(True for _ in pair[0].layer.children())):
            if delta is not None and not type(call.layer).__module__.startswith("torch.nn.modules"):
                wrong, local = self._alone(call, delta.detach())
                if wrong:
                    return FaultyLayer(call.name, wrong, local)
        return FaultyLayer()

    def _alone(self, call: Call, delta: Tensor) -> tuple[dict[str, Checked], Local]:
        """One layer with Σ δ·output as its loss."""
        _, layer, given, output = call
        copies = [t.detach().clone() if isinstance(t, Tensor) else t for t in given]
        inputs = [t.requires_grad_(t.is_floating_point()) if isinstance(t, Tensor) else t for t in copies]
        real = {f"input {i}": t for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.is_floating_point()}
        own = {n: p for n, p in layer.named_parameters() if p.requires_grad}
        size = float(delta.abs().sum()) * max(1.0, float(output.detach().abs().max()))

        def value(weight: Tensor = delta) -> Tensor:
            DRAW.seed_global()
            out = first_tensor(layer(*(t.clone() if isinstance(t, Tensor) else t for t in inputs)))
            return weight.sum() * 0 if out is None else (out * weight).sum()

        def of_row(found: Compared, b: int) -> np.ndarray:
            weight = torch.zeros_like(delta)
            weight[b] = delta[b]
            tensor = {**own, **real}[found.name]
            return _slopes(lambda: value(weight), size, tensor, (_unit(tensor, i) for i in found.index))[0]

        wrong = {r.found.name: r for r in self.all(value, size, {**own, **real}) if r.wrong}
        given, weights = ([array(t) for t in part.values()] for part in (real, own))
        return wrong, Local(array(delta), given, weights, of_row)


def _kink(value: Value, size: float, tensor: Tensor, i: int, found: Compared) -> str:
    """The slopes on both sides of an entry, if they differ and the gradient lies between them."""
    with moving(value, tensor, _unit(tensor, i)) as f:
        both = sides(f, size)
    if both is None:
        return ""
    slack = 1e-3 * max(map(abs, both))
    if not min(both) - slack <= found.got.ravel()[i] <= max(both) + slack:
        return ""
    return f"at {place(i, found.got.shape)} the slope is {both[0]:.4g} to the left and {both[1]:.4g} to the right"


def place(flat: int, shape: tuple[int, ...]) -> str:
    """A flat number as an index, e.g. [2, 0]."""
    return "[" + ", ".join(str(int(i)) for i in np.unravel_index(int(flat), shape or (1,))) + "]"


@contextmanager
def moving(value: Value, tensor: Tensor, direction: Tensor) -> Iterator[Callable[[float], float]]:
    """t -> the value with the tensor at θ + t v; θ is restored."""
    with torch.no_grad():
        start = tensor.clone()

        def f(t: float) -> float:
            tensor.copy_(start + t * direction)
            return float(value())

        try:
            yield f
        finally:
            tensor.copy_(start)


def _unit(tensor: Tensor, i: int) -> Tensor:
    v = torch.zeros(tensor.numel(), dtype=torch.float64, device=tensor.device)
    v[int(i)] = 1.0
    return v.reshape(tensor.shape)


def _slopes(value: Value, size: float, tensor: Tensor, directions: Any) -> tuple[np.ndarray, np.ndarray]:
    """Slope along each direction, and how far it may be off: (n,), (n,)."""
    found = []
    for v in directions:
        with moving(value, tensor, v) as f:
            found.append(slope(f, size))
    both = np.array(found).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def slope(f: Callable[[float], float], size: float, h: float = 0.01) -> tuple[float, float]:
    """f'(0) and how far it may be off, for a function that adds up terms of this size; h is the first step.

    Example:
        >>> from math import exp
        >>> found, error = slope(exp, 1.0)
        >>> abs(found - 1) <= error < 1e-9
        True
    """
    best, error, before = nan, inf, []
    for _ in range(LEVELS):
        row, rounding = [(f(h) - f(-h)) / (2 * h)], EPSILON * size / h
        for j, coarse in enumerate(before):
            row.append(row[j] + (row[j] - coarse) / (SHRINK ** (2 * j + 2) - 1))
            off = max(abs(row[-1] - row[j]), abs(row[-1] - coarse)) + rounding
            if off < error:
                best, error = row[-1], off
        if error <= ENOUGH * abs(best) or rounding > error:
            break
        before, h = row, h / SHRINK
    return best, error


def sides(f: Callable[[float], float], size: float, h: float = 1e-5) -> tuple[float, float] | None:
    """The slopes to the left and to the right where they differ, as at a kink; None where f is smooth."""

    def both(h: float) -> tuple[float, float]:
        return (f(0.0) - f(-h)) / h, (f(h) - f(0.0)) / h

    (left, right), (nearer_left, nearer_right) = both(h), both(h / 10)
    gap, nearer = abs(right - left), abs(nearer_right - nearer_left)
    seen = nearer > 0.5 * gap and nearer > 1e3 * EPSILON * size / h  # a smooth f has a tenth of the gap
    return (nearer_left, nearer_right) if seen and isfinite(nearer) else None
