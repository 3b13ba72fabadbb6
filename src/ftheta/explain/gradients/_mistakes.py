"""What kind of mistake a wrong gradient looks like: hypotheses tried in order, the first that explains all entries.

    got = -g, c g, gᵀ, the g of one row, g without a factor or a term, ...          g: what differences give

Shapes: n entries of a tensor that were compared, B rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

ALIKE = 1e-5  # relative difference of arrays that count as equal
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


@dataclass(frozen=True)
class Local:
    """The layer in which a gradient goes wrong."""

    delta: np.ndarray  # derivative of the loss for its output: (B, ...)
    inputs: Sequence[np.ndarray]
    weights: Sequence[np.ndarray]  # its parameters
    row: Callable[[Compared, int], np.ndarray]  # entries of a tensor if one row alone counted: (tensor, row) -> (n,)


def diagnose(found: Compared, rows: int, local: Local | None = None) -> tuple[str, str]:
    """Kind and sentence for a tensor whose gradient is wrong."""
    if not np.isfinite(found.there).all():
        return "not finite", "the backward pass gives NaN or infinity where the loss has a slope."
    if not found.there.any():
        return "missing term", "no gradient arrives: is it cut by detach(), .data or item(), or is None returned?"
    if factor := _factor(found, rows, local):
        return factor
    error = float(found.error.max())
    every = [*_in_another_order(found), *(_of_layer(found, rows, local) if local else ()), *_means(found)]
    for kind, sentence, a, b in every:
        if _alike(a, b, error):
            return kind, sentence
    return _part(found) or ("unclear", "the entries differ without a pattern that is known here.")


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
    counts = {"of rows": rows}
    if local is not None:
        counts |= {"of outputs of a row": local.delta.size // rows, "of all outputs": local.delta.size}
    is_near = {n: abs(c / n - 1) < ALIKE for n in (2, *counts.values()) if n}
    known = [f"{n} is the number {what}" for what, n in counts.items() if n > 1 and is_near[n]]
    mixed = f"{known[0]}: a mean and a sum were mixed up" if known else ""
    if is_near[2]:
        return f"; a 2 as in the derivative of a square{f', or {mixed}' if mixed else ''}"
    return f"; {mixed}" if mixed else ""


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
        yield (
            "missing term",
            "δ is passed on as it came: the layer's own derivative is missing.",
            found.got,
            local.delta,
        )
        for name, derivative in _DERIVATIVES.items():
            sentence = f"there is one factor too many: the derivative of {name}, which forward does not apply."
            yield "factor", sentence, there, expected * derivative(z)
            yield "missing term", f"a factor is missing: the derivative of {name}.", there * derivative(z), expected
    if through:
        sentence = "the path around the layer is missing: add δ itself, for the identity."
        yield "missing term", sentence, there, expected - local.delta.ravel()[found.index]


def _means(found: Compared) -> Iterator[Hypothesis]:
    """What is missing is the same along an axis: a mean or a sum over it."""
    if not found.complete or (found.off <= ALIKE).any():
        return
    gap = found.got.copy()
    gap.ravel()[found.index] -= found.expected
    for axis in range(gap.ndim) if gap.ndim > 1 else ():
        if gap.shape[axis] > 1:
            sentence = f"what is missing is the same along axis {axis}: a mean or a sum over it is left out."
            yield "missing term", sentence, gap, np.broadcast_to(gap.mean(axis, keepdims=True), gap.shape)


def _part(found: Compared) -> tuple[str, str] | None:
    """Some entries are right, the others have lost a part."""
    wrong = found.off > ALIKE
    if wrong.all() or not wrong.any():
        return None
    places = np.array(np.unravel_index(found.index[wrong], found.got.shape or (1,)))
    where = [f"axis {a} = {v[0]}" for a, v in enumerate(places) if np.ptp(v) == 0 and found.got.shape[a] > 1]
    zero = ", where nothing arrives" if not found.there[wrong].any() else ""
    at = f", all at {', '.join(where)}" if where else ""
    count = f"{int(wrong.sum())} of {len(wrong)} entries are wrong{zero}{at}"
    return "missing term", f"{count}: a part of what depends on it is left out."
