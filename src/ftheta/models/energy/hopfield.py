"""Hopfield networks: patterns are fixed points of a network of symmetric connections.

    x_i <- sign(Σ_j W_ij x_j + b_i)     or satlins(...),      E(x) = -xᵀWx/2 - b·x  (+ xᵀx/2 with saturated units)

A cue descends the energy into the basin of the pattern nearest to it, or of a spurious state, which was not stored:
without a bias the mirror image -ξ of every pattern is one.

Shapes: n rows, N units, P patterns of -1 and +1.
References: Hopfield, Neural Networks and Physical Systems with Emergent Collective Computational Abilities, PNAS 79
(1982); Li, Michel and Porod, Analysis and Synthesis of a Class of Neural Networks, IEEE Trans. Circuits and Systems 36
(1989). The rules are in `rules.py`.
"""

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...check import Positive
from ...draw import Draw
from ...errors import InputError
from ...store import Tree
from ...tasks import Recall
from ...train import Steps, blas_threads
from .._base.rows import Data
from .._base.stepped import Stepped
from . import rules
from ._memory import AssociativeMemory

TIE = {np.float64: 1e-12, np.float32: 1e-6}  # of the most that a unit can receive: less is rounding
MIN_WEIGHT = 1e-10  # of a connection


class Factors(NamedTuple):
    """W = V Vᵀ + diag(d), where K is small: products with V take less time than with W."""

    w: np.ndarray  # (N, N)
    v: np.ndarray | None  # (N, K); None: not used
    d: np.ndarray  # (N,)
    bias: np.ndarray  # (N,)
    most: np.ndarray  # the most that each unit can receive from states of -1 and +1: (N,)


class Storing(Steps):
    """Patterns (P, N) stored one after the other by Storkey's rule, or all at once by a formula."""

    kept = ("weights", "bias", "done", "reason")

    def __init__(
        self, patterns: np.ndarray, formula: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None
    ) -> None:
        n = patterns.shape[1]
        self.patterns, self.formula = patterns, formula
        self.weights, self.bias, self.done = np.zeros((n, n)), np.zeros(n), 0

    def advance(self) -> Mapping[str, float] | None:
        if self.formula is not None:
            (self.weights, self.bias), self.done = self.formula(self.patterns), len(self.patterns)
        else:
            self.weights, self.done = rules.storkey_step(self.weights, self.patterns[self.done]), self.done + 1
        self.reason = "rounds" if self.done == len(self.patterns) else ""
        return {"rows": self.done} if self.reason else None


class HopfieldNetwork(AssociativeMemory, Stepped):
    """Store rows of -1 and +1; recall them from noisy or partial cues.

    Learned: patterns_ (P, N), labels_ (P,) or None, weights_ (N, N), bias_ (N,), note_ (on repeated patterns).
    `net.weights_ = mine` and `net.bias_ = mine` make it another network.

    Args:
        rule: "hebb", "pseudo-inverse", "storkey", or "design": that of Li, Michel and Porod, which has a bias and is
            made for saturated units (MATLAB's newhop).
        unit: "sign", or "saturated": linear between -1 and 1.
        update: "synchronous": all units at once; "asynchronous": one after the other, in each step all of them in a new
            random order, the same for all rows. Only the latter never cycles with every symmetric W whose diagonal is
            not negative.
        zero_diagonal: Without self-connections, which hold a cue where it is; "auto": for all rules but "design", and
            "pseudo-inverse" with saturated units. Not for "design".
        scale: What the weights of "hebb", "storkey" and "pseudo-inverse" are multiplied with; "N" is 1/N, None is 1.
        decay: τ of "design".
        step: δ of "design".

    Example:
        >>> net = HopfieldNetwork().fit([[1, 1, 1, 1, 1, 1], [1, -1, 1, -1, 1, -1]])
        >>> net.recall([[1, 1, 1, 1, 1, -1], [0, 0, 1, -1, 1, -1]]).tolist()
        [[1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0, 1.0, -1.0]]
    """

    rule: Literal["hebb", "pseudo-inverse", "storkey", "design"] = "pseudo-inverse"
    unit: Literal["sign", "saturated"] = "sign"
    update: Literal["synchronous", "asynchronous"] = "synchronous"
    zero_diagonal: bool | Literal["auto"] = "auto"
    scale: Positive | Literal["N"] | None = None
    decay: Positive = 10.0
    step: Positive = 0.15

    def task(self) -> Recall:
        return Recall()

    def rounds(self) -> int:
        """All patterns are stored in one round."""
        return 1

    def process(self, data: Data, held: Data | None) -> Storing:
        if data.weight is not None:
            raise InputError(f"{type(self).__name__} stores patterns, which have no weights: leave out sample_weight.")
        self._store(data.x.content()[0], data.y)
        return Storing(self.patterns_, None if self.rule == "storkey" else self._all_at_once)

    def finish(self, process: Storing) -> None:
        w = process.weights
        if self.rule == "storkey":
            w = (w - np.diag(w.diagonal()) if self._without_diagonal else w) * self._gain(len(w))
        self.weights_, self.bias_ = w, process.bias
        self._prepare()
        if process.reason and (problem := self._problem()):
            warnings.warn(problem, UserWarning, stacklevel=5)

    def set_state(self, state: Mapping[str, Tree]) -> None:
        super().set_state(state)
        self._prepare()

    @property
    def states(self) -> Literal["signs", "real"]:
        return "signs" if self.unit == "sign" else "real"

    def _all_at_once(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights and bias of the rules that are formulas."""
        with blas_threads(1):  # beside other work a second one makes a decomposition far slower
            if self.rule == "design":
                return rules.design(x, decay=self.decay, step=self.step)
            store = rules.hebb if self.rule == "hebb" else rules.pseudo_inverse
            w = store(x, zero_diagonal=self._without_diagonal)
            return w * self._gain(len(w)), np.zeros(len(w))

    @property
    def _without_diagonal(self) -> bool:
        free = self.rule != "pseudo-inverse" or self.unit == "sign"
        return free if self.zero_diagonal == "auto" else bool(self.zero_diagonal)

    def _gain(self, n: int) -> float:
        """What the patterns' own matrix is multiplied with."""
        if self.rule == "design":
            return math.exp(self.step) - math.exp(-self.decay * self.step)
        return 1.0 if self.scale is None else 1 / n if self.scale == "N" else self.scale

    def _problem(self) -> str:
        """Patterns that are not attractors, or a matrix for which every corner is a fixed point; "" for neither."""
        p, n = self.patterns_.shape
        lost = int((~self.stable()).sum())
        if lost and self.unit == "saturated" and self.rule != "design":
            what = f"{lost} of {p} patterns do not hold saturated units beyond 1 with rule={self.rule!r} and scale="
            return f"{what}{self.scale!r}, so they do not attract. Take rule='design', unit='sign' or a larger scale."
        if lost:
            room = f" (Hebb's has room for about N / (4 ln N) = {rules.capacity(n):.1f} random ones)" if n > 1 else ""
            advice = f"Store fewer, or take rule={'design' if self.rule == 'pseudo-inverse' else 'pseudo-inverse'!r}."
            return f"{lost} of {p} patterns are not stable in {n} units with rule={self.rule!r}{room}. {advice}"
        off = self.weights_ - np.diag(self.weights_.diagonal())
        differences = self.patterns_[:-1] - self.patterns_[-1]
        filled = self.rule == "design" and p > n + 1 and np.linalg.matrix_rank(differences) == n
        if filled or (self.rule != "design" and n > 1 and np.abs(off).max() <= MIN_WEIGHT):
            what = f"{p} patterns leave no connection between {n} units with rule={self.rule!r}: every corner is a"
            return f"{what} fixed point, and no error is corrected. Store fewer patterns, or use more units."
        return ""

    def stable(self) -> np.ndarray:
        """Which stored patterns are fixed points, (P,); saturated units must be pushed beyond ±1 to hold them."""
        check_is_fitted(self)
        pushed, tie = self.patterns_ * (self.patterns_ @ self.weights_.T + self.bias_), TIE[np.float64]
        most = _most(self.weights_, self.bias_)
        return np.all(pushed > 1 + tie if self.unit == "saturated" else pushed >= -tie * most, axis=1)

    def _moved(self, h: np.ndarray, x: np.ndarray, most: np.ndarray) -> np.ndarray:
        """Units x with input h: a sign unit with input 0, up to rounding, stays as it is."""
        if self.unit == "saturated":
            return np.clip(h, -1, 1)
        new, weak = np.copysign(h.dtype.type(1), h), np.abs(h) <= TIE[h.dtype.type] * most
        if weak.any():
            new[weak] = np.sign(x[weak])
        return new

    @property
    def _dtype(self) -> type[np.floating]:
        """All sign units at once are computed in float32: only the sign of a number matters."""
        return np.float32 if self.unit == "sign" and self.update == "synchronous" else np.float64

    def _step(self, x: np.ndarray, t: int, seed: int) -> np.ndarray:
        if self.update == "asynchronous":
            return self._in_turn(x, np.random.default_rng(Draw(seed).at("order", t).key()))
        w, v, *rest = self._factors()
        d, bias, most = (a.astype(x.dtype) for a in rest)
        h = x @ w.T.astype(x.dtype) if v is None else x @ (v := v.astype(x.dtype)) @ v.T  # (n, N)
        if d.any():
            h += d * x
        if bias.any():
            h += bias
        return self._moved(h, x, most)

    def _in_turn(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """All units of all states (n, N), one after the other in a random order; overlaps follow every change."""
        z, (w, v, d, bias, most) = x.T.copy(), self._factors()  # (N, n)
        v, m = (w, z) if v is None else (v, v.T @ z)  # (N, K), (K, n)
        for i in rng.permutation(len(z)):
            new = self._moved(v[i] @ m + (d[i] * z[i] + bias[i]), z[i], most[i])
            change = new - z[i]
            if change.any():
                if m is not z:
                    m += v[i, :, None] * change
                z[i] = new
        return z.T

    def _prepare(self) -> None:
        """Keep the factors of this matrix, which then cannot be written to."""
        w, x, self._low_rank = self.weights_, self.patterns_, None
        rows = {"hebb": x, "pseudo-inverse": x, "design": x[:-1] - x[-1]}.get(self.rule)
        if rows is None or 2 * len(rows) > len(w):
            return
        v = np.ascontiguousarray(np.sqrt(self._gain(len(w))) * (rows if self.rule == "hebb" else rules.span(rows)).T)
        d = w.diagonal() - np.square(v).sum(1)
        if np.allclose(v @ v.T + np.diag(d), w, rtol=0, atol=TIE[np.float64] * np.abs(w).max()):
            w.flags.writeable = False
            most = _most(w, self.bias_)
            self._low_rank = Factors(w, v, np.where(np.abs(d) > TIE[np.float64] * most, d, 0.0), self.bias_, most)

    def _factors(self) -> Factors:
        """As `_prepare` kept them, or none for weights or a bias that the user has set since."""
        w, bias, kept = self.weights_, self.bias_, self._low_rank
        if kept is not None and kept.w is w and kept.bias is bias and not w.flags.writeable:
            return kept
        return Factors(w, None, np.zeros(len(w)), bias, _most(w, bias))

    def _energy(self, x: np.ndarray) -> np.ndarray:
        return rules.energy(x, self.weights_, self.bias_, unit=self.unit)

    def equilibria(self) -> list[rules.Equilibrium]:
        """All fixed points, up to 10 saturated or 20 sign units, with `stored` and `spurious` set.

        Those of sign units are corners: stable, or marginal where a unit has input 0 and stays because of that.
        """
        check_is_fitted(self)
        w, b = self.weights_, self.bias_
        if self.unit == "saturated":
            points = rules.equilibria(w, b)
        else:
            corners = rules.fixed_corners(w, b)
            pulled = np.all(corners * (corners @ w.T + b) > TIE[np.float64] * _most(w, b), axis=1)
            kinds = np.where(pulled, "stable", "marginal").tolist()
            none = np.zeros(0), np.zeros((0, len(w)))  # eigenvalues and directions
            points = [rules.Equilibrium(x, none[0], kind, none[1]) for x, kind in zip(corners, kinds, strict=True)]
        return [e._replace(stored=bool(self._match(e.point[None])[0] >= 0)) for e in points]


def _most(w: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return np.abs(w).sum(1) + np.abs(bias)
