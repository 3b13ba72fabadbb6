"""Modern Hopfield networks: energies that are low where a state x agrees with one of many stored patterns ξ_μ.

    x, ξ in {-1, 1}^N:   E(x) = - Σ_μ F(ξ_μ·x),          F(z) = zⁿ  or  max(z, 0)ⁿ  or  exp z
                         x_i <- sign Σ_μ ξ_μi D(r_μ),    D(r) = F(r + 1) - F(r - 1),     r_μ = ξ_μ·x - ξ_μi x_i
    x, ξ in R^N:         E(x) = - lse(β, Ξ x) + x·x / 2 + log(P) / β + M² / 2,     lse(β, z) = log(Σ_μ exp β z_μ) / β
                         x <- Ξᵀ softmax(β Ξ x)          M = max |ξ_μ|,     0 <= E <= 2 M²  where  |x| <= M

The sum in the second line is E with x_i = -1 less E with x_i = 1: a unit takes the lower energy, which never rises if
one unit moves at a time. n = 2 is the network of Hopfield. The third energy falls though all units move at once; its
update is attention (keys and values are the patterns). Of exp z the energy is given as - log Σ exp(ξ_μ·x), which
orders the states alike and is finite for every N.

Shapes: x (n, N) rows of states (of the first kind also with 0 for a unit that is not known), patterns Ξ (P, N).
Random patterns that are stored: about Nⁿ⁻¹, and 2^(N/2) with exp. `nn.HopfieldLayer` is the update as a module.
References: Krotov and Hopfield, arXiv:1606.01164 (2016); Demircigil et al., arXiv:1702.01929 (2017); Ramsauer et al.,
Hopfield Networks is All You Need, arXiv:2008.02217 (2020).
"""

import math
import warnings
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from annotated_types import Ge
from numpy.typing import ArrayLike
from scipy.special import logsumexp, softmax
from sklearn.utils.validation import check_is_fitted

from ... import check
from ...catalog import nearest
from ...check import Positive
from ...data import TargetSpec
from ...draw import Draw, seed_of
from ...errors import InputError
from ...tasks import Recall
from ._memory import AssociativeMemory

INTERACTIONS = ("polynomial", "rectified", "exponential")  # names of F: zⁿ, max(z, 0)ⁿ, exp z
TIE = 1e-13  # of the sum of all inputs of a unit: less is rounding
OVERLAPS_AT_ONCE = 2**20  # of states with patterns


def dense_energy(x: np.ndarray, patterns: np.ndarray, kind: str = "exponential", order: int = 3) -> np.ndarray:
    """- Σ_μ F(ξ_μ·x) of each row, of exp its - log: (n,)."""
    x, patterns = _signs(x, patterns, kind, order)
    z = x @ patterns.T  # (n, P)
    return -np.asarray(logsumexp(z, axis=1)) if kind == "exponential" else -_power(z, kind, order).sum(1)


def dense_update(
    x: np.ndarray, patterns: np.ndarray, units: Iterable[int] | None = None, kind: str = "exponential", order: int = 3
) -> np.ndarray:
    """States after each of these units took its lower energy; it stays where both are equal: (n, N).

    Units move one after the other; None: all at once, each given the others as they were. `order` is n of the powers.
    """
    x, patterns = _signs(x, patterns, kind, order)
    x, z = x.copy(), (x @ patterns.T).astype(np.intp)  # (n, N), (n, P)
    pull = _pull(z, x.shape[1], kind, order)
    if units is None:
        return _moved(x, pull, patterns)
    for i in units:
        new = _moved(x[:, [i]], pull, patterns[:, [i]])[:, 0]
        rows = np.flatnonzero(new != x[:, i])
        if len(rows):
            z[rows] += np.multiply.outer((new - x[:, i])[rows], patterns[:, i]).astype(np.intp)
            x[rows, i] = new[rows]
            for kept, part in zip(pull, _pull(z[rows], x.shape[1], kind, order), strict=True):
                kept[rows] = part
    return x


class _Pull(NamedTuple):
    """D of overlaps z, up to a positive factor of the row: ξ and x are -1 or 1, so D(z - ξ x) = both + ξ x own."""

    both: np.ndarray  # (D(z - 1) + D(z + 1)) / 2: (n, P)
    alone: np.ndarray  # D(z), for units that are 0: (n, P)
    own: np.ndarray  # Σ_μ (D(z - 1) - D(z + 1)) / 2: (n, 1)
    tie: np.ndarray  # rounding: (n, 1)


def _power(z: np.ndarray, kind: str, order: int) -> np.ndarray:
    return (np.maximum(z, 0) if kind == "rectified" else z) ** order


def _pull(z: np.ndarray, n: int, kind: str, order: int) -> _Pull:
    """From tables over all integers that an overlap can be, so nothing overflows."""
    if kind == "exponential":
        both = alone = np.exp(-np.arange(2 * n + 1.0))[z.max(1, keepdims=True) - z]  # cosh 1 times as much, and 1
        own = -math.tanh(1) * both.sum(1, keepdims=True)
    else:
        f = _power(np.arange(-n - 2.0, n + 3) / 2.0 ** math.ceil(math.log2(n + 2)), kind, order)  # nothing is rounded
        d, at = f[2:] - f[:-2], z + n
        both, alone = (d[:-2] + d[2:])[at] / 2, d[1:-1][at]
        own = (d[:-2] - d[2:])[at].sum(1, keepdims=True) / 2
    return _Pull(both, alone, own, TIE * np.abs(both).sum(1, keepdims=True))


def _moved(x: np.ndarray, pull: _Pull, columns: np.ndarray) -> np.ndarray:
    """Some units (n, U), each at its lower energy given the others; their part of the patterns is (P, U)."""
    gain = pull.both @ columns + pull.own * x  # E(x_i = -1) - E(x_i = 1)
    if not x.all():
        gain = np.where(x == 0, pull.alone @ columns, gain)
    return np.where(np.abs(gain) > pull.tie, np.sign(gain), x)


def dense_capacity(n_units: int, kind: str = "exponential", order: int = 3) -> float:
    """How many random patterns are stored, few unstable: Nⁿ⁻¹ / (2 (2n - 3)!! ln N) for large N, exp: 2^(N/2)."""
    _known(kind, order, check.at_least("n_units", n_units, 2))
    if kind == "exponential":
        return 2.0 ** (n_units / 2) if n_units < 2000 else math.inf
    return float(n_units) ** (order - 1) / (2 * math.prod(range(1, 2 * order - 2, 2)) * math.log(n_units))


def continuous_energy(x: np.ndarray, patterns: np.ndarray, beta: float) -> np.ndarray:
    """- lse(β, Ξ x) + x·x / 2 + log(P) / β + M² / 2 of each row: (n,)."""
    x, patterns = _rows(x, patterns)
    lse: Any = logsumexp(beta * x @ patterns.T, axis=1, b=1 / len(patterns))
    return -lse / beta + (np.square(x).sum(1) + np.square(patterns).sum(1).max()) / 2


def continuous_update(
    x: np.ndarray, patterns: np.ndarray, beta: float, units: Iterable[int] | None = None
) -> np.ndarray:
    """Ξᵀ softmax(β Ξ x) of each row, all units at once; or of these units, one after the other: (n, N)."""
    x, patterns = _rows(x, patterns)
    if units is None:
        return softmax(beta * x @ patterns.T, axis=1) @ patterns
    x = x.copy()
    for i in units:
        x[:, i] = softmax(beta * x @ patterns.T, axis=1) @ patterns[:, i]
    return x


def _rows(x: np.ndarray, patterns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x, patterns = np.asarray(x, dtype=float), np.asarray(patterns, dtype=float)
    if patterns.ndim != 2 or x.ndim != 2 or not len(patterns) or x.shape[1] != patterns.shape[1]:
        raise InputError(f"States {x.shape} and patterns {patterns.shape} do not fit: give (n, N) and (P, N), P >= 1.")
    return x, patterns


def _signs(x: np.ndarray, patterns: np.ndarray, kind: str, order: int) -> tuple[np.ndarray, np.ndarray]:
    x, patterns = _rows(x, patterns)
    _known(kind, order, x.shape[1])
    wrong = {"States": x[(np.abs(x) != 1) & (x != 0)], "Patterns": patterns[np.abs(patterns) != 1]}
    for name, values in wrong.items():
        if len(values):
            what = f"{name} of the {kind} energy are made of -1 and 1, and one holds {values[0]:g}."
            raise InputError(f"{what} Threshold them, e.g. np.where(x > 0.5, 1, -1).")
    return x, patterns


def _known(kind: str, order: int, n_units: int) -> None:
    if kind not in INTERACTIONS:
        raise InputError(nearest("interaction", kind, INTERACTIONS))
    check.at_least("order", order, 2, integer=True)
    if kind != "exponential" and order * math.log(n_units + 1) > 600:
        power = f"order={order}: {n_units}^{order}"
        raise InputError(f"{power} does not fit into a float64; use a lower order or 'exponential'.")


class ModernHopfield(AssociativeMemory):
    """Store rows; recall them from noisy or partial cues (0: a unit that is not known).

    Learned: patterns_ (P, N), labels_ (P,) or None, note_ (on repeated patterns). A cue of the continuous network has
    recalled a pattern if the softmax gives more than half to it; of the others, if it is equal.

    Args:
        interaction: "exponential", "polynomial" or "rectified" (0 for negative overlaps), for rows of -1 and 1;
            "continuous" for rows of any numbers.
        order: Power n of "polynomial" and "rectified".
        beta: Sharpness of "continuous".
        update: "asynchronous": one unit after the other, in each step all of them in a new random order, the same for
            all rows; "synchronous": all at once, with which discrete states may cycle. "auto": asynchronous for the
            discrete energies, synchronous for the continuous one.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.choice([-1, 1], (500, 50))  # ten patterns per unit
        >>> net = ModernHopfield(random_state=0).fit(X)
        >>> int((net.recall(X, noise=0.05) == X).all(1).sum())
        500
    """

    interaction: Literal["exponential", "polynomial", "rectified", "continuous"] = "exponential"
    order: Annotated[int, Ge(2)] = 3
    beta: Positive = 8.0
    update: Literal["auto", "synchronous", "asynchronous"] = "auto"

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Store the rows; y gives them names."""
        self._check_parameters()
        self.seed_ = seed_of(self.random_state)
        x = check.table(self, X, dtype="float64", reset=True)
        self._store(x, Recall().encode(type(self).__name__, y, len(x), TargetSpec("none")))
        self._energy(self.patterns_[:1])  # refuses an order too high
        p, n = self.patterns_.shape
        room = np.inf if self.interaction == "continuous" or n < 2 else dense_capacity(n, self.interaction, self.order)
        if p > max(room, 1):
            power = "" if self.interaction == "exponential" else f" and order={self.order}"
            what = f"{p} patterns are more than the about {room:.4g} random ones that {n} units hold with interaction="
            rest = f"{self.interaction!r}{power}. Store fewer, or take interaction='exponential'."
            warnings.warn(f"{what}{rest}", stacklevel=3)
        return self

    @property
    def states(self) -> Literal["signs", "real"]:
        return "real" if self.interaction == "continuous" else "signs"

    @property
    def only_corners(self) -> bool:
        return self.states == "signs"

    def stable(self) -> np.ndarray:
        """Which stored patterns stay when all units are updated once: (P,)."""
        check_is_fitted(self)
        return self._match(self._updated(self.patterns_, None)) == np.arange(len(self.patterns_))

    def _step(self, x: np.ndarray, t: int, seed: int) -> np.ndarray:
        if self.update == "synchronous" or (self.update, self.interaction) == ("auto", "continuous"):
            return self._updated(x, None)
        return self._updated(x, np.random.default_rng(Draw(seed).at("order", t).key()).permutation(x.shape[1]))

    def _updated(self, x: np.ndarray, units: np.ndarray | None) -> np.ndarray:
        if self.interaction == "continuous":
            return self._in_parts(lambda part: continuous_update(part, self.patterns_, self.beta, units), x)
        return self._in_parts(lambda part: dense_update(part, self.patterns_, units, self.interaction, self.order), x)

    def _energy(self, x: np.ndarray) -> np.ndarray:
        if self.interaction == "continuous":
            return self._in_parts(lambda part: continuous_energy(part, self.patterns_, self.beta), x)
        return self._in_parts(lambda part: dense_energy(part, self.patterns_, self.interaction, self.order), x)

    def _in_parts(self, f: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
        """f of states (..., N), some at a time, to bound the memory of their overlaps with all patterns."""
        rows, step = x.reshape(-1, x.shape[-1]), max(1, OVERLAPS_AT_ONCE // len(self.patterns_))
        made = [f(rows[low : low + step]) for low in range(0, max(len(rows), 1), step)]
        return np.concatenate(made).reshape(*x.shape[:-1], *made[0].shape[1:])

    def _match(self, x: np.ndarray) -> np.ndarray:
        return self._in_parts(self._meant, x) if self.interaction == "continuous" else super()._match(x)

    def _meant(self, x: np.ndarray) -> np.ndarray:
        share = softmax(self.beta * x @ self.patterns_.T, axis=1)  # (n, P)
        return np.where(share.max(1) > 0.5, share.argmax(1), -1)

    def _checked(self, x: np.ndarray) -> np.ndarray:
        return x if self.interaction == "continuous" else super()._checked(x)
