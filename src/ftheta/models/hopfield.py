"""Hopfield networks: patterns are the states in which a network of symmetric connections rests.

    x_i <- sign(Σ_j W_ij x_j + b_i)     or satlins(...),      E(x) = -xᵀWx/2 - b·x  (+ xᵀx/2 with saturated units)

A cue runs down the energy into the basin of the pattern nearest to it, or of a spurious state that nobody stored: with
no bias the mirror image -ξ of every pattern is one.

Shapes: n rows, N units, P patterns of -1 and +1.
References: Hopfield, Neural Networks and Physical Systems with Emergent Collective Computational Abilities, PNAS 79
(1982); Li, Michel and Porod, Analysis and Synthesis of a Class of Neural Networks, IEEE Trans. Circuits and Systems 36
(1989). The rules are in `formulas/hopfield.py`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..check import Positive
from ..draw import Draw
from ..errors import InputError
from ..formulas import (
    Equilibrium,
    capacity,
    design,
    energy,
    equilibria,
    fixed_corners,
    hebb,
    linearised,
    pseudo_inverse,
    span,
    storkey,
)
from ..store import Tree
from ._memory import NEAR, AssociativeMemory, Basins, Recall

__all__ = ["Basins", "HopfieldNetwork", "Perturbed", "Recall"]

TIE = 1e-12  # of what a unit can receive at most: less is nothing
NONE = 1e-10  # a connection that is none
FIRST = 64  # units that are compared first
FEW = 0.01  # of all units, that are computed twice


class Perturbed(NamedTuple):
    """An equilibrium that was pushed.

    Args:
        end: Where the state went: (N,).
        returned: Whether that is where it came from.
        stored: Index of the stored pattern that it ended in, -1 for none.
        kind: What the linear part says of the equilibrium.
    """

    end: np.ndarray
    returned: bool
    stored: int
    kind: str


@dataclass(kw_only=True, eq=False, repr=False)
class HopfieldNetwork(AssociativeMemory):
    """Store rows of -1 and +1; recall them from noisy or partial cues.

    Learned: patterns_ (P, N), labels_ (P,) or None, weights_ (N, N), bias_ (N,), note_ (what was odd about the
    patterns, "" for nothing). `net.weights_ = mine` and `net.bias_ = mine` make it another network.

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
        decay, step: τ and δ of "design".
        steps: Updates of all units, at most.
        keep: "all" rows, or, with y, the "medoid" of each class: the row that overlaps most with the others.
        random_state: Seed of noise, orders and random starts.

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

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Store the rows; y gives them names."""
        self._store(X, y)
        self.weights_, self.bias_ = self._learned(self.patterns_)
        self._prepare()
        problem = self._problem()
        if problem:
            warnings.warn(problem, UserWarning, stacklevel=3)
        return self

    def set_state(self, state: Mapping[str, Tree]) -> None:
        """Put back what `get_state` gave."""
        super().set_state(state)
        self._prepare()

    def _learned(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.rule == "design":
            return design(x, decay=self.decay, step=self.step)
        auto = self.zero_diagonal == "auto"
        rule = {"hebb": hebb, "storkey": storkey, "pseudo-inverse": pseudo_inverse}[self.rule]
        without = self.rule != "pseudo-inverse" or self.unit == "sign" if auto else bool(self.zero_diagonal)
        w = rule(x, zero_diagonal=without)
        return w * self._gain(len(w)), np.zeros(len(w))

    def _gain(self, n: int) -> float:
        """What the patterns' own matrix is multiplied with."""
        if self.rule == "design":
            return math.exp(self.step) - math.exp(-self.decay * self.step)
        return 1.0 if self.scale is None else 1 / n if self.scale == "N" else self.scale

    def _problem(self) -> str:
        """What is wrong with the memory: patterns that are no attractors, or a matrix that holds every corner."""
        p, n = self.patterns_.shape
        lost = int((~self.stable()).sum())
        if lost and self.unit == "saturated" and self.rule != "design":
            return (
                f"{lost} of {p} patterns do not hold saturated units beyond 1 with rule={self.rule!r} and "
                f"scale={self.scale!r}, so they do not attract. Take rule='design', unit='sign' or a larger scale."
            )
        if lost:
            room = f" (Hebb's has room for about N / (4 ln N) = {capacity(n):.1f} random ones)" if n > 1 else ""
            return (
                f"{lost} of {p} patterns are not stable in {n} units with rule={self.rule!r}{room}. "
                f"Store fewer, or take rule={'design' if self.rule == 'pseudo-inverse' else 'pseudo-inverse'!r}."
            )
        off = self.weights_ - np.diag(self.weights_.diagonal())
        apart = self.patterns_[:-1] - self.patterns_[-1]
        filled = self.rule == "design" and p > n + 1 and np.linalg.matrix_rank(apart) == n
        if filled or (self.rule != "design" and n > 1 and np.abs(off).max() <= NONE):
            return (
                f"{p} patterns leave no connection between {n} units with rule={self.rule!r}: every corner is at rest, "
                "and no error is corrected. Store fewer patterns, or use more units."
            )
        return ""

    def stable(self) -> np.ndarray:
        """Which stored patterns stay where they are, (P,); saturated units must be pushed beyond ±1 to hold them."""
        check_is_fitted(self)
        pushed = self.patterns_ * (self.patterns_ @ self.weights_.T + self.bias_)
        return np.all(pushed > 1 + TIE if self.unit == "saturated" else pushed >= -self._tie, axis=1)

    # ---- moving

    def _moved(self, h: np.ndarray, x: np.ndarray, tie: Any) -> np.ndarray:
        """Units x that receive h, which is overwritten: a sign unit that receives nothing stays as it is."""
        if self.unit == "saturated":
            return np.clip(h, -1, 1)
        new, weak = np.sign(h), np.abs(h, out=h) <= tie
        if weak.any():
            new[weak] = np.sign(x[weak])
        return new

    def _moved_by(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        if self.unit == "saturated":
            return super()._moved_by(before, after)
        moved = (before[:, :FIRST] != after[:, :FIRST]).any(1)
        if not moved.all():  # few units tell of most rows that moved
            moved[~moved] = (before[~moved] != after[~moved]).any(1)
        return 2.0 * moved

    def _step(self, x: np.ndarray, t: int, seed: int) -> np.ndarray:
        if self.update == "asynchronous":
            return self._in_turn(x, np.random.default_rng(Draw(seed).at("order", t).key()))
        v, d = self._factors()
        m, signs = None if v is None else x @ v, t and self.unit == "sign"  # (n, K)
        if signs and m is not None and self._held(m, d):
            return x  # all rest
        new = None if m is None or v is None or self.unit != "sign" else self._signs(x, m, v, d)
        if new is not None:
            return new
        h = x @ self.weights_.T if m is None or v is None else m @ v.T  # (n, N)
        if d.any():
            h += d * x
        if self.bias_.any():
            h += self.bias_
        return x if signs and (h * x > self._tie).all() else self._moved(h, x, self._tie)

    def _held(self, m: np.ndarray, d: np.ndarray) -> bool:
        """Whether states of -1 and +1 are known to rest by their overlaps m = Vᵀx alone: (n, K), (N,).

        Where VᵀV = g I, x is V m / g but for a rest whose square is N - m²/g: x_i h_i >= g (1 - |rest|) + d_i - |b_i|.
        """
        g = self._gains
        if g is None:
            return False
        rest = math.sqrt(max(0.0, len(d) - float(np.square(m).sum(1).min()) / g))
        return rest < 1 and bool(g * (1 - rest - NEAR) > (self._tie + np.abs(self.bias_) - d).max())

    def _signs(self, x: np.ndarray, m: np.ndarray, v: np.ndarray, d: np.ndarray) -> np.ndarray | None:
        """Sign units after a step, (n, N), by V m in float32: of a number that is far from 0 half the digits will do.

        What rounding, d, b or a tie could turn is asked again in full; None where that is too much of it.
        """
        most = max(float(x.max()), -float(x.min()))
        top = math.sqrt(np.square(m).sum(1).max() * np.square(v).sum(1).max())  # |V m| is at most this
        if not 1e-20 < top < 1e20:
            return None
        h = m.astype(np.float32) @ v.T.astype(np.float32)
        doubt = np.abs(d) * most + np.abs(self.bias_) + self._tie + (v.shape[1] + 4) * 2.0**-23 * top
        near = np.flatnonzero(np.abs(h) <= doubt.astype(np.float32))
        if len(near) > FEW * h.size:
            return None
        new = np.sign(h)
        row, unit = np.divmod(near, len(d))
        own = x[row, unit]
        full = (m[row] * v[unit]).sum(1) + d[unit] * own + self.bias_[unit]
        new[row, unit] = self._moved(full, own, self._tie[unit])
        return new

    def _in_turn(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """All units of all states (n, N), one after the other in a random order; overlaps follow every change."""
        z, (v, d) = x.T.copy(), self._factors()  # (N, n)
        v, m = (self.weights_, z) if v is None else (v, v.T @ z)  # (N, K), (K, n)
        for i in rng.permutation(len(z)):
            new = self._moved(v[i] @ m + (d[i] * z[i] + self.bias_[i]), z[i], self._tie[i])
            change = new - z[i]
            if change.any():
                if m is not z:
                    m += v[i, :, None] * change
                z[i] = new
        return z.T

    def _factors(self) -> tuple[np.ndarray | None, np.ndarray]:
        """V (N, K) and d (N,) of W = V Vᵀ + diag(d) where K is small; None and 0 otherwise, as for your own weights."""
        w, v, d = self._few
        return (v, d) if w is self.weights_ and not w.flags.writeable else (None, np.zeros(len(self.weights_)))

    @property
    def _tie(self) -> np.ndarray:
        """What sign units take for nothing: (N,)."""
        w, b, tie = self._weak
        if w is not self.weights_ or b is not self.bias_ or w.flags.writeable:
            return _weak(self.weights_, self.bias_)
        return tie

    def _prepare(self) -> None:
        """Look for V and d, check them and keep them as long as W is this array; and what sign units take for 0."""
        w, x = self.weights_, self.patterns_
        self._few: tuple[np.ndarray, np.ndarray | None, np.ndarray] = w, None, np.zeros(len(w))
        self._weak = w, self.bias_, _weak(w, self.bias_)
        self._gains: float | None = None  # g of VᵀV = g I
        rows = {"hebb": x, "pseudo-inverse": x, "design": x[:-1] - x[-1]}.get(self.rule)
        if rows is None or 2 * len(rows) > len(w):
            return
        v = np.sqrt(self._gain(len(w))) * (rows if self.rule == "hebb" else span(rows)).T
        made = v @ v.T
        d = w.diagonal() - made.diagonal()
        np.fill_diagonal(made, w.diagonal())
        if np.allclose(made, w, rtol=0, atol=TIE * np.abs(w).max()):
            w.flags.writeable = False
            self._few = w, np.ascontiguousarray(v), np.where(np.abs(d) > self._tie, d, 0.0)
            gram = v.T @ v
            g = float(gram.diagonal().max(initial=0.0))
            self._gains = g if g and np.allclose(gram, g * np.eye(len(gram)), rtol=0, atol=TIE * g) else None

    def _energy(self, x: np.ndarray) -> np.ndarray:
        return energy(x, self.weights_, self.bias_, unit=self.unit)

    def _starts(self, n: int, rng: np.random.Generator) -> np.ndarray:
        if self.unit == "saturated":
            return rng.uniform(-1, 1, (n, self.n_features_in_))
        return super()._starts(n, rng)

    # ---- resting

    def equilibria(self) -> list[Equilibrium]:
        """All states that stay where they are, up to 10 saturated or 20 sign units; `stored` and `spurious` are told.

        Those of sign units are corners: stable, or marginal where a unit receives nothing and stays because of that.
        """
        check_is_fitted(self)
        if self.unit == "saturated":
            found = equilibria(self.weights_, self.bias_)
        else:
            corners = fixed_corners(self.weights_, self.bias_)
            pulled = (corners * (corners @ self.weights_.T + self.bias_) > self._tie).all(1)
            kinds = np.where(pulled, "stable", "marginal").tolist()
            found = [
                Equilibrium(x, np.zeros(0), kind, np.zeros((0, len(x)))) for x, kind in zip(corners, kinds, strict=True)
            ]
        return [e._replace(stored=bool(self._match(e.point[None])[0] >= 0)) for e in found]

    def perturbed(self, point: ArrayLike, by: ArrayLike, *, steps: int | None = None) -> Perturbed:
        """Push an equilibrium of a saturated network by a small vector: where it goes, and what the linear part says.

        Args:
            point: The equilibrium (N,).
            by: The push (N,).
            steps: At most so many updates; None: those of the estimator.
        """
        check_is_fitted(self)
        if self.unit != "saturated":
            raise InputError(
                f"unit={self.unit!r} has no linear part; perturbed() takes a network with unit='saturated'."
            )
        at = linearised(self.weights_, self.bias_, point)
        end = self.recall(np.clip(at.point + np.asarray(by, dtype=float), -1, 1)[None], steps=steps)
        back = bool(np.abs(end[0] - at.point).max() <= 1e-4)
        return Perturbed(end[0], back, int(self._match(end)[0]), at.kind)


def _weak(w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A share of what each unit can receive at most: (N, N), (N,) -> (N,)."""
    return TIE * (np.abs(w).sum(1) + np.abs(b))
