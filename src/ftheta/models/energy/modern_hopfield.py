"""Modern Hopfield networks: memories of far more patterns than units, by a sharper energy.

    discrete     E(x) = - Σ_μ F(ξ_μ·x),  F = zⁿ, max(z, 0)ⁿ or exp z          one unit at a time, to its lower energy
    continuous   E(x) = - lse(β, Ξ x) + x·x / 2 + const                       x <- Ξᵀ softmax(β Ξ x), all units at once

Random patterns that are stored: about N^(n-1), and 2^(N/2) with exp; n = 2 is the classical network of Hebb's rule. The
update of the continuous network is attention, which `nn.HopfieldLayer` is as a module.

Shapes: n rows, N units, P patterns; of -1 and 1, for the continuous energy of any numbers.
References: Krotov and Hopfield, arXiv:1606.01164 (2016); Demircigil et al., arXiv:1702.01929 (2017); Ramsauer et al.,
Hopfield Networks is All You Need, arXiv:2008.02217 (2020). The equations are in `dense.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
from annotated_types import Ge
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from ... import check
from ...check import Positive
from ...data import TargetSpec
from ...draw import Draw, seed_of
from ...tasks import Recall
from ._memory import AssociativeMemory
from .dense import continuous_energy, continuous_update, dense_capacity, dense_energy, dense_update

__all__ = ["ModernHopfield"]

OVERLAPS_AT_ONCE = 2**20  # of states with patterns


@dataclass(kw_only=True, eq=False, repr=False)
class ModernHopfield(AssociativeMemory):
    """Store rows; recall them from noisy or partial cues (0: a unit that is not known).

    Learned: patterns_ (P, N), labels_ (P,) or None, note_ (what was odd about the patterns, "" for nothing). A cue of
    the continuous network has found a pattern if the softmax gives more than half to it; of the others, if it is equal.

    Args:
        interaction: "exponential", "polynomial" or "rectified" (0 for negative overlaps), for rows of -1 and 1;
            "continuous" for rows of any numbers.
        order: Power n of "polynomial" and "rectified".
        beta: Sharpness of "continuous".
        update: "asynchronous": one unit after the other, in each step all of them in a new random order, the same for
            all rows; "synchronous": all at once, with which discrete states may cycle. "auto": asynchronous for the
            discrete energies, synchronous for the continuous one.
        steps: Updates of all units, at most.
        keep: "all" rows, or, with y, the "medoid" of each class: the row that overlaps most with the others.
        random_state: Seed of noise, orders and random starts.

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
        self._energy(self.patterns_[:1])  # an order too high is told now
        p, n = self.patterns_.shape
        room = np.inf if self.interaction == "continuous" or n < 2 else dense_capacity(n, self.interaction, self.order)
        if p > max(room, 1):
            warnings.warn(
                f"{p} patterns are more than the about {room:.4g} random ones that {n} units hold with "
                f"{self._words()}. Store fewer, or take interaction='exponential'.",
                UserWarning,
                stacklevel=3,
            )
        return self

    def _words(self) -> str:
        power = "" if self.interaction in ("exponential", "continuous") else f" and order={self.order}"
        return f"interaction={self.interaction!r}{power}"

    @property
    def states(self) -> Literal["signs", "real"]:
        """Those of the continuous network are any numbers."""
        return "real" if self.interaction == "continuous" else "signs"

    @property
    def only_corners(self) -> bool:
        """Those of the discrete networks."""
        return self.interaction != "continuous"

    def stable(self) -> np.ndarray:
        """Which stored patterns stay when all units are updated once: (P,)."""
        check_is_fitted(self)
        return self._match(self._updated(self.patterns_, None)) == np.arange(len(self.patterns_))

    def _step(self, x: np.ndarray, t: int, seed: int) -> np.ndarray:
        discrete = self.interaction != "continuous"
        if self.update == "synchronous" or (self.update == "auto" and not discrete):
            return self._updated(x, None)
        return self._updated(x, np.random.default_rng(Draw(seed).at("order", t).key()).permutation(x.shape[1]))

    def _updated(self, x: np.ndarray, units: np.ndarray | None) -> np.ndarray:
        if self.interaction == "continuous":
            return self._in_parts(lambda part: continuous_update(part, self.patterns_, self.beta, units), x)
        kind = self.interaction, self.order
        return self._in_parts(lambda part: dense_update(part, self.patterns_, units, *kind), x)

    def _energy(self, x: np.ndarray) -> np.ndarray:
        if self.interaction == "continuous":
            return self._in_parts(lambda part: continuous_energy(part, self.patterns_, self.beta), x)
        return self._in_parts(lambda part: dense_energy(part, self.patterns_, self.interaction, self.order), x)

    def _in_parts(self, f: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
        """f of states (..., N), some at a time, to bound the memory of their overlaps with all patterns."""
        rows, step = x.reshape(-1, x.shape[-1]), max(1, OVERLAPS_AT_ONCE // len(self.patterns_))
        made = [f(rows[low : low + step]) for low in range(0, max(len(rows), 1), step)]
        return np.concatenate(made).reshape(*x.shape[:-1], *made[0].shape[1:])

    # ---- of the continuous network

    def _match(self, x: np.ndarray) -> np.ndarray:
        if self.interaction != "continuous":
            return super()._match(x)
        return self._in_parts(self._meant, x)

    def _meant(self, x: np.ndarray) -> np.ndarray:
        share = softmax(self.beta * x @ self.patterns_.T, axis=1)  # (n, P)
        return np.where(share.max(1) > 0.5, share.argmax(1), -1)

    def _checked(self, x: np.ndarray) -> np.ndarray:
        return x if self.interaction == "continuous" else super()._checked(x)

    def _starts(self, n: int, rng: np.random.Generator) -> np.ndarray:
        if self.interaction != "continuous":
            return super()._starts(n, rng)
        mean, deviation = self.patterns_.mean(0), self.patterns_.std(0)
        return mean + deviation * rng.standard_normal((n, len(mean)))
