"""Gradients of a backward pass against slopes by differences, and what kind of mistake a wrong one looks like.

    D(h) = (f(h) - f(-h)) / 2h = f'(0) + c₂ h² + c₄ h⁴ + ...        h, h/4, h/16, ...: the powers are extrapolated away
    got = -g, c g, gᵀ, the g of one row, g without a factor or a term, ...     the first that explains all entries of g

Shapes: n entries of a tensor that were compared, B rows.
Reference: Ridders, Accurate computation of F'(x) and F'(x) F''(x), Advances in Engineering Software 4 (1982).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import permutations
from math import inf, isfinite, nan
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...draw import Draw
from ...errors import InputError
from .._point import Point
from .._probe import DRAW, Call, array, calls, first_tensor, gradients

ALIKE = 1e-5  # relative difference of arrays that count as equal
FEW_ENTRIES = 5  # of a tensor that is right along its direction
EPSILON = 2.0**-49  # rounding of a loss that is a sum of many terms
SHRINK, LEVELS, ENOUGH = 4, 10, 1e-9  # of the extrapolation
STEP = 1e-5  # of the slopes on both sides
Value = Callable[[], Tensor]
Hypothesis = tuple[str, str, np.ndarray, np.ndarray]  # kind, sentence, and two arrays that are then equal


@dataclass(frozen=True)
class Compared:
    """A tensor's gradient against differences."""

    name: str
    got: np.ndarray  # full gradient by the backward pass
    index: np.ndarray  # which entries were compared: (n,)
    expected: np.ndarray  # what differences give for them: (n,)
    error: np.ndarray  # how far each of these may be off: (n,)
    tolerance: float  # relative error that passes

    @property
    def there(self) -> np.ndarray:
        """The gradient at the compared entries: (n,)."""
        return self.got.ravel()[self.index]

    @property
    def off(self) -> np.ndarray:
        """Relative error of each entry: (n,); within the tolerance where differences may be off by as much."""
        size = np.maximum(np.maximum(np.abs(self.there), np.abs(self.expected)), self.error / self.tolerance)
        return np.abs(self.there - self.expected) / np.where(size == 0, 1.0, size)

    @property
    def complete(self) -> bool:
        """True if all entries were compared."""
        return len(self.index) == self.got.size


class Local(NamedTuple):
    """The layer in which a gradient goes wrong."""

    delta: np.ndarray  # derivative of the loss for its output: (B, ...)
    inputs: Sequence[np.ndarray]
    weights: Sequence[np.ndarray]  # its parameters
    row: Callable[[Compared, int], np.ndarray]  # entries of a tensor if one row alone counted: (tensor, row) -> (n,)


def diagnose(found: Compared, rows: int, local: Local | None = None) -> tuple[str, str]:
    """Kind and sentence for a tensor whose gradient is wrong."""
    if (found.off <= found.tolerance).all():
        return "unclear", f"a random direction shows it, but none of {len(found.index)} entries; raise entries=."
    if not np.isfinite(found.there).all():
        return "not finite", "the backward pass gives NaN or infinity where the loss has a slope."
    if not found.there.any():
        return "missing term", "no gradient arrives: is it cut by detach(), .data or item(), or is None returned?"
    if factor := _factor(found, rows, local):
        return factor
    for kind, sentence, a, b in (*_in_another_order(found), *(_of_layer(found, rows, local) if local else ())):
        if _alike(a, b, float(found.error.max())):
            return kind, sentence
    wrong = found.off > ALIKE
    if wrong.all() or not wrong.any():
        return "unclear", "the entries differ without a pattern that is known here."
    places = np.array(np.unravel_index(found.index[wrong], found.got.shape or (1,)))
    where = [f"axis {a} = {v[0]}" for a, v in enumerate(places) if np.ptp(v) == 0 and found.got.shape[a] > 1]
    zero = ", where nothing arrives" if not found.there[wrong].any() else ""
    at = f", all at {', '.join(where)}" if where else ""
    count = f"{int(wrong.sum())} of {len(wrong)} entries are wrong{zero}{at}"
    return "missing term", f"{count}: a part of what depends on it is left out."


def _alike(a: np.ndarray, b: np.ndarray, error: float) -> bool:
    return bool(a.shape == b.shape and np.abs(a - b).max() <= ALIKE * np.abs(b).max() + 10 * error)


def _scale(a: np.ndarray, b: np.ndarray) -> float:
    """c for which c b is nearest to a."""
    return float(a @ b) / float(b @ b) if b.any() else 0.0


def _factor(found: Compared, rows: int, local: Local | None) -> tuple[str, str] | None:
    c = _scale(found.there, found.expected)
    if not c or not _alike(found.there, c * found.expected, abs(c) * float(found.error.max())):
        return None
    if abs(c + 1) < ALIKE:
        return "sign", "every entry has the opposite sign."
    up, down = _name(abs(c), rows, local), _name(1 / abs(c), rows, local)
    if len(found.index) == 1 and not up:  # one entry is a multiple of any
        return None
    kind, sign = ("sign", ", with the opposite sign") if c < 0 else ("factor", "")
    times = f"1/{round(1 / abs(c))} of" if down else f"{round(abs(c)) if up else format(abs(c), '.4g')} times"
    return kind, f"every entry is {times} what it should be{sign}{up or down}."


def _name(c: float, rows: int, local: Local | None) -> str:
    """What a factor is the number of, in words; '' for one that means nothing."""
    outputs = local.delta.size if local is not None else 0
    counts = {"of rows": rows, "of outputs of a row": outputs // rows, "of all outputs": outputs}
    known = [f"{n} is the number {what}" for what, n in counts.items() if n > 1 and abs(c / n - 1) < ALIKE]
    words = ["a 2 as in the derivative of a square"] if abs(c / 2 - 1) < ALIKE else []
    words += [f"{what}: a mean and a sum were mixed up" for what in known[:1]]
    return f"; {', or '.join(words)}" if words else ""


def _in_another_order(found: Compared) -> Iterator[Hypothesis]:
    """Axes exchanged, or a kernel flipped."""
    got, shape = found.got, found.got.shape
    for axes in list(permutations(range(len(shape))))[1:] if 2 <= len(shape) <= 4 else ():
        other = got.reshape([shape[a] for a in axes]).transpose(np.argsort(axes)).ravel()
        sentence = f"it is right in another order: axes {axes} in place of {tuple(range(len(shape)))}."
        yield "transpose", sentence, other[found.index], found.expected
    if len(shape) > 2:
        flipped = np.flip(got, tuple(range(2, len(shape)))).ravel()[found.index]
        sentence = "it is right when the kernel is flipped: convolution in place of cross-correlation."
        yield "transpose", sentence, flipped, found.expected


_DERIVATIVES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sigmoid": lambda z: 1 / (2 + np.exp(z) + np.exp(-z)),
    "tanh": lambda z: 1 - np.tanh(z) ** 2,
    "ReLU": lambda z: (z > 0).astype(float),
}


def _of_layer(found: Compared, rows: int, local: Local) -> Iterator[Hypothesis]:
    """A transposed matrix, one row alone, a derivative that is missing or one too many, a missing skip."""
    there, expected, is_input = found.there, found.expected, found.name.startswith("input")
    through = found.got.shape == local.delta.shape
    for w in local.weights:
        if through and w.ndim == 2 and w.shape[0] == w.shape[1] == local.delta.shape[-1]:
            sentence = "δ goes back through the weight matrix the wrong way round: transpose it."
            yield from (("transpose", sentence, found.got, local.delta @ m) for m in (w, w.T))
    if rows > 1 and not is_input and len(found.index) > 1:
        for row, words in ((0, "first"), (rows - 1, "last")):
            own = local.row(found, row)
            sentence = f"it is the gradient of the {words} row alone: the sum over the batch is missing."
            yield "missing sum", sentence, there, (_scale(there, own) or np.nan) * own
    if through and is_input:
        z = local.inputs[0].ravel()[found.index]
        sentence = "δ is passed on as it came: the layer's own derivative is missing."
        yield "missing term", sentence, found.got, local.delta
        for name, derivative in _DERIVATIVES.items():
            sentence = f"there is one factor too many: the derivative of {name}, which forward does not apply."
            yield "factor", sentence, there, expected * derivative(z)
            yield "missing term", f"a factor is missing: the derivative of {name}.", there * derivative(z), expected
    if through:
        sentence = "the path around the layer is missing: add δ itself, for the identity."
        yield "missing term", sentence, there, expected - local.delta.ravel()[found.index]


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


class Check(NamedTuple):
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
    """The slopes on both sides of an entry, if they differ and the gradient lies between them; else empty."""
    with moving(value, tensor, _unit(tensor, i)) as f:
        far, (left, right) = (((f(0.0) - f(-h)) / h, (f(h) - f(0.0)) / h) for h in (STEP, STEP / 10))
    gap, nearer, slack = abs(far[1] - far[0]), abs(right - left), 1e-3 * max(abs(left), abs(right))
    bent = nearer > 0.5 * gap and nearer > 1e3 * EPSILON * size / STEP  # a smooth loss has a tenth of the gap
    between = min(left, right) - slack <= found.got.ravel()[i] <= max(left, right) + slack
    if not (bent and between and isfinite(nearer)):
        return ""
    return f"at {place(i, found.got.shape)} the slope is {left:.4g} to the left and {right:.4g} to the right"


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
    """f'(0) and how far it may be off, for a function that adds up terms of this size; h is the first step."""
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
