"""What kind of mistake a wrong gradient looks like: hypotheses tried in order, the first that explains all entries.

    got = -g, c g, gᵀ, the g of one row, g without a factor or a term, ...          g: what differences give

Shapes: n entries of a tensor that were compared, B rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

ALIKE = 1e-5


@dataclass(frozen=True)
class Compared:
    """A tensor's gradient against differences.

    Args:
        name: Name of the tensor.
        got: Its full gradient by the backward pass.
        index: Which entries were compared: (n,).
        expected: What differences give for them: (n,).
        error: How far each of these may be off: (n,).
        tolerance: Relative error that passes.
    """

    name: str
    got: np.ndarray
    index: np.ndarray
    expected: np.ndarray
    error: np.ndarray
    tolerance: float

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
    def whole(self) -> bool:
        """Whether all entries were compared."""
        return len(self.index) == self.got.size

    def full(self) -> np.ndarray:
        """What is expected, in the shape of the tensor; for one that is compared as a whole."""
        found = np.empty(self.got.size)
        found[self.index] = self.expected
        return found.reshape(self.got.shape)


@dataclass(frozen=True)
class Local:
    """The layer in which a gradient goes wrong.

    Args:
        delta: Derivative of the loss for its output: (B, ...).
        inputs: What went into it.
        weights: Its parameters.
        row: Expected entries of a tensor if one row alone counted: (tensor, row) -> (n,).
    """

    delta: np.ndarray
    inputs: Sequence[np.ndarray]
    weights: Sequence[np.ndarray]
    row: Callable[[Compared, int], np.ndarray]


def diagnose(found: Compared, rows: int, local: Local | None = None) -> tuple[str, str]:
    """Kind and sentence for a tensor whose gradient is wrong."""
    if not np.isfinite(found.there).all():
        return "not finite", "the backward pass gives NaN or infinity where the loss has a slope."
    if not found.there.any():
        return "missing term", "no gradient arrives: is it cut by detach(), .data or item(), or is None returned?"
    guesses = (_factor, _order, _other_way, _one_row, _elementwise, _skip, _part, _mean_term)
    for guess in guesses:
        said = guess(found, rows, local)
        if said:
            return said
    return "unclear", "the entries differ without a pattern that is known here."


def _alike(a: np.ndarray, b: np.ndarray, error: float = 0.0) -> bool:
    return bool(a.shape == b.shape and np.abs(a - b).max() <= ALIKE * np.abs(b).max() + 10 * error)


def _scale(a: np.ndarray, b: np.ndarray, error: float) -> float | None:
    """c with a = c b, if there is one for all entries."""
    c = float(a @ b) / float(b @ b) if b.any() else 0.0
    return c if c and _alike(a, c * b, abs(c) * error) else None


def _factor(found: Compared, rows: int, local: Local | None) -> tuple[str, str] | None:
    c = _scale(found.there, found.expected, float(found.error.max()))
    if c is None or (len(found.index) == 1 and _name(abs(c), rows, local) == ""):  # one entry is a multiple of any
        return None
    if abs(c + 1) < ALIKE:
        return "sign", "every entry has the opposite sign."
    kind, sign = ("sign", ", with the opposite sign") if c < 0 else ("factor", "")
    up, down = _name(abs(c), rows, local), _name(1 / abs(c), rows, local)
    times = f"1/{round(1 / abs(c))} of" if down else f"{round(abs(c)) if up else format(abs(c), '.4g')} times"
    return kind, f"every entry is {times} what it should be{sign}{up or down}."


def _name(c: float, rows: int, local: Local | None) -> str:
    """What a factor is the number of, in words; '' for one that means nothing."""
    counts = {"of rows": rows}
    if local is not None:
        counts |= {"of outputs of a row": local.delta.size // rows, "of all outputs": local.delta.size}
    words = ["" if n == 2 else f"; {n} is the number {what}" for what, n in counts.items() if n > 1 and _near(c, n)]
    if words and words[0]:
        return f"{words[0]}: a mean and a sum were mixed up"
    rows_too = f", or {rows} is the number of rows: a mean and a sum were mixed up" if rows == 2 else ""
    return f"; a 2 as in the derivative of a square{rows_too}" if _near(c, 2) else ""


def _near(c: float, n: int) -> bool:
    return abs(c / n - 1) < ALIKE


def _order(found: Compared, rows: int, local: Local | None) -> tuple[str, str] | None:
    """Entries in another order: axes exchanged, or a kernel flipped."""
    shape, error = found.got.shape, float(found.error.max())
    fits = lambda full: _alike(full.ravel()[found.index], found.expected, error)  # noqa: E731
    for axes in list(permutations(range(len(shape))))[1:] if 2 <= len(shape) <= 4 else ():
        if fits(found.got.reshape([shape[a] for a in axes]).transpose(np.argsort(axes))):
            return "transpose", f"it is right in another order: axes {axes} in place of {tuple(range(len(shape)))}."
    if len(shape) > 2 and fits(np.flip(found.got, tuple(range(2, len(shape))))):
        return "transpose", "it is right when the kernel is flipped: convolution in place of cross-correlation."
    return None


def _other_way(found: Compared, rows: int, local: Local | None) -> tuple[str, str] | None:
    """δ W in place of δ Wᵀ, for the input of a layer with a square matrix."""
    if local is None or found.got.shape != local.delta.shape:
        return None
    for w in local.weights:
        square = w.ndim == 2 and w.shape[0] == w.shape[1] == local.delta.shape[-1]
        if square and any(_alike(found.got, local.delta @ m) for m in (w, w.T)):
            return "transpose", "δ goes back through the weight matrix the wrong way round: transpose it."
    return None


def _one_row(found: Compared, rows: int, local: Local | None) -> tuple[str, str] | None:
    if local is None or rows < 2 or found.name.startswith("input"):
        return None
    for row, words in ((0, "first"), (rows - 1, "last")):
        c = _scale(found.there, local.row(found, row), float(found.error.max()))
        if c is not None and len(found.index) > 1:
            return "missing sum", f"it is the gradient of the {words} row alone: the sum over the batch is missing."
    return None


_DERIVATIVES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sigmoid": lambda z: 1 / (2 + np.exp(z) + np.exp(-z)),
    "tanh": lambda z: 1 - np.tanh(z) ** 2,
    "ReLU": lambda z: (z > 0).astype(float),
}


def _elementwise(found: Compared, rows: int, local: Local | None) -> tuple[str, str] | None:
    """A derivative of an activation that is missing, or one too many."""
    if local is None or found.got.shape != local.delta.shape or not found.name.startswith("input"):
        return None
    if _alike(found.got, local.delta):
        return "missing term", "δ is passed on as it came: the layer's own derivative is missing."
    z, error = local.inputs[0].ravel()[found.index], float(found.error.max())
    for name, derivative in _DERIVATIVES.items():
        if _alike(found.there, found.expected * derivative(z), error):
            return "factor", f"there is one factor too many: the derivative of {name}, which forward does not apply."
        if _alike(found.there * derivative(z), found.expected, error):
            return "missing term", f"a factor is missing: the derivative of {name}."
    return None


def _skip(found: Compared, rows: int, local: Local | None) -> tuple[str, str] | None:
    if local is None or found.got.shape != local.delta.shape:
        return None
    delta = local.delta.ravel()[found.index]
    if _alike(found.there, found.expected - delta, float(found.error.max())):
        return "missing term", "the way past the layer is missing: add δ itself, for the identity."
    return None


def _part(found: Compared, rows: int, local: Local | None) -> tuple[str, str] | None:
    """Some entries are right, the others have lost a part."""
    wrong = found.off > ALIKE
    if wrong.all() or not wrong.any():
        return None
    places = np.array(np.unravel_index(found.index[wrong], found.got.shape or (1,)))
    where = [f"axis {a} = {v[0]}" for a, v in enumerate(places) if np.ptp(v) == 0 and found.got.shape[a] > 1]
    zero = ", where nothing arrives" if not found.there[wrong].any() else ""
    said = f"{int(wrong.sum())} of {len(wrong)} entries are wrong{zero}" + (
        f", all at {', '.join(where)}" * bool(where)
    )
    return "missing term", f"{said}: a part of what depends on it is left out."


def _mean_term(found: Compared, rows: int, local: Local | None) -> tuple[str, str] | None:
    """What is missing is the same along an axis: a mean or a sum over it."""
    if not found.whole or found.got.ndim < 2:
        return None
    gap = found.got - found.full()
    for axis in range(gap.ndim):
        if gap.shape[axis] > 1 and np.ptp(gap, axis=axis).max() <= ALIKE * np.abs(gap).max():
            return (
                "missing term",
                f"what is missing is the same along axis {axis}: a mean or a sum over it is left out.",
            )
    return None
