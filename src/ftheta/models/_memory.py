"""What associative memories share: rows are stored, a cue moves in steps until it rests, and is compared with them.

    x <- step(x),      E(step(x)) <= E(x),      recalled: the stored pattern that the state ends in, or none

A family says how a state moves (`_step`), what its energy is (`_energy`) and what it makes of patterns in `fit`.
Shapes: n rows, N units, P stored patterns, T steps.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import check
from ..base import Estimator
from ..check import Count, RandomState
from ..draw import Draw, fresh_seed
from ..errors import InputError
from ..formulas import bipolar, corrupt
from ..results import Table
from ._plain import FewThreads

__all__ = ["AssociativeMemory", "Basins", "Recall"]

REST, NEAR = 1e-10, 1e-4  # a move that is none; a distance from a pattern that is none, and a move that counts
ROWS = 256  # that move together: few enough to stay in the cache


class Recall(NamedTuple):
    """The way of every cue, all of them side by side.

    Args:
        states: (T + 1, n, N), the cues first; T is the number of steps after which all rest, or all that were allowed.
        energies: (T + 1, n).
        needed: The last step in which a unit of the row moved by more than 1e-4: (n,).
        settled: Whether the row came to rest: (n,).
    """

    states: np.ndarray
    energies: np.ndarray
    needed: np.ndarray
    settled: np.ndarray


class Basins(NamedTuple):
    """Where random starts end, the largest share first.

    Args:
        attractors: (A, N).
        shares: Of the starts: (A,); what is missing to 1 never came to rest.
        errors: Standard errors of the shares: (A,).
        stored: Index of the stored pattern, -1 for a spurious state: (A,).
        starts: Their number.
    """

    attractors: np.ndarray
    shares: np.ndarray
    errors: np.ndarray
    stored: np.ndarray
    starts: int

    def table(self) -> Table:
        """One line for each attractor."""
        who = ["spurious" if k < 0 else f"pattern {k}" for k in self.stored]
        return Table({"attractor": who, "share": self.shares.tolist(), "error": self.errors.tolist()})


@dataclass(kw_only=True, eq=False, repr=False)
class AssociativeMemory(FewThreads, OneToOneFeatureMixin, TransformerMixin, Estimator):
    """Base of the memories. Learned: patterns_ (P, N), labels_ (P,) or None, note_, seed_."""

    n_features_in_: ClassVar[int]  # set by `fit`; no parameter
    steps: Count = 100
    keep: Literal["all", "medoid"] = "all"
    random_state: RandomState = None

    # ---- what a family writes

    @abstractmethod
    def _step(self, x: np.ndarray, t: int, seed: int) -> np.ndarray:
        """States (n, N) after step number t."""

    @abstractmethod
    def _energy(self, x: np.ndarray) -> np.ndarray:
        """Of states (..., N): (...)."""

    def _starts(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Random states (n, N) from which basins are measured: corners of the cube."""
        return rng.choice([-1.0, 1.0], (n, self.n_features_in_))

    def _checked(self, x: np.ndarray) -> np.ndarray:
        """Rows that can be stored."""
        return bipolar(x)

    # ---- storing

    def _store(self, X: ArrayLike, y: ArrayLike | None) -> None:
        """Set patterns_, labels_ and note_: rows that are there twice are stored once."""
        self._check_parameters()
        x = self._checked(check.table(self, X, dtype="float64", reset=True))
        labels = None if y is None else check.target(type(self).__name__, y, len(x), numeric=False, columns=False)
        if self.keep == "medoid":
            if labels is None:
                raise InputError("keep='medoid' stores one row of each class and needs y; pass y, or take keep='all'.")
            chosen = _medoids(x, labels)
            x, labels = x[chosen], labels[chosen]
        _, first, which = np.unique(x, axis=0, return_index=True, return_inverse=True)
        self.note_ = _note(first[which.ravel()], labels)
        if len(first) == 1 < len(x):
            warnings.warn(
                f"All {len(x)} patterns are equal: the memory holds one. Pass rows that differ.", stacklevel=4
            )
        first.sort()
        self.patterns_ = x[first]
        self.labels_ = None if labels is None else labels[first]
        self.seed_ = fresh_seed() if self.random_state is None else self._seed(self.random_state)

    def _seed(self, random_state: Any) -> int:
        """A number from what scikit-learn takes as random_state; None is that of fit."""
        if random_state is None:
            return self.seed_
        known = isinstance(random_state, int | np.integer)
        return int(random_state if known else check_random_state(random_state).randint(2**31 - 1))

    # ---- recalling

    def recall(
        self,
        X: ArrayLike,
        *,
        steps: int | None = None,
        noise: float = 0.0,
        noise_kind: Literal["flip", "replace", "gaussian"] = "flip",
        random_state: int | None = None,
    ) -> np.ndarray:
        """The states that cues end in, all rows in parallel: (n, N) -> (n, N).

        Args:
            X: Cues of any finite numbers; 0 says nothing of a unit.
            steps: At most so many; None: those of the estimator. A row that rests is left alone.
            noise: Added to the cues first: a probability for each entry ("flip": its sign changes; "replace": -1 or +1
                at random in its place), or the standard deviation of "gaussian" noise.
            noise_kind: Which noise.
            random_state: Seed of the noise and of the order of units; None: that of the estimator.
        """
        x, seed = self._cues(X), self._seed(random_state)
        if noise or noise_kind != "flip":
            x = corrupt(x, noise, kind=noise_kind, rng=Draw(seed).at("noise").key())
        self._settle(x, steps, seed)
        return x

    def trace(self, X: ArrayLike, *, steps: int | None = None) -> Recall:
        """All states and energies on the way of each cue."""
        x = self._cues(X)
        states = [x.copy()]
        needed, settled = self._move(x, steps, self.seed_, states)
        found = np.stack(states)
        return Recall(found, self._energy(found), needed, settled)

    def _cues(self, X: ArrayLike) -> np.ndarray:
        check_is_fitted(self)
        return np.array(check.table(self, X, dtype="float64", reset=False))  # a copy: it will move

    def _settle(self, x: np.ndarray, steps: int | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Move states in place until they rest: steps needed (n,), and whether they rest (n,)."""
        parts = [self._move(x[k : k + ROWS], steps, seed) for k in range(0, len(x), ROWS)]
        needed, settled = (np.concatenate(found) for found in zip(*parts, strict=True))
        return needed, settled

    def _move(
        self, x: np.ndarray, steps: int | None, seed: int, seen: list[np.ndarray] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        if steps is not None and steps < 0:
            raise InputError(f"steps={steps}; give how many updates are allowed, 0 or more.")
        needed, moving = np.zeros(len(x), dtype=int), np.arange(len(x))
        for t in range(self.steps if steps is None else steps):
            if not len(moving):
                break
            all_move = len(moving) == len(x)
            before = x if all_move else x[moving]
            after = self._step(before, t, seed)
            if after is before:
                moving = moving[:0]
                break
            moved = self._moved_by(before, after)
            x[... if all_move else moving] = after
            needed[moving[moved > NEAR]] = t + 1
            moving = moving[moved > REST]
            if seen is not None and moved.any():
                seen.append(x.copy())
        settled = np.ones(len(x), dtype=bool)
        settled[moving] = False
        return needed, settled

    def _moved_by(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """How far the unit of each state that moved furthest went: (n, N) twice -> (n,)."""
        return np.abs(before - after).max(1)

    def transform(self, X: ArrayLike) -> np.ndarray:
        """What cues recall: (n, N)."""
        return self.recall(X)

    def energy(self, X: ArrayLike) -> np.ndarray:
        """Of states (n, N): (n,)."""
        return self._energy(self._cues(X))

    # ---- comparing

    def matched(self, X: ArrayLike) -> np.ndarray:
        """Index of the stored pattern that each row is, to 1e-4 in every unit; -1 for none: (n,)."""
        return self._match(self._cues(X))

    def _match(self, x: np.ndarray) -> np.ndarray:
        near = np.argmin(np.square(self.patterns_).sum(1) / 2 - x @ self.patterns_.T, axis=1)
        return np.where(np.abs(x - self.patterns_[near]).max(1) <= NEAR, near, -1)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Label (without labels: index) of the stored pattern that each cue ends in: (n,).

        A cue that ends elsewhere gets `spurious`: "spurious" among words; -1 among numbers, or one less than the least
        label where that is negative.
        """
        return self._named(self._match(self.recall(X)))

    def _named(self, index: np.ndarray) -> np.ndarray:
        if self.labels_ is None or (index >= 0).all():
            return index if self.labels_ is None else self.labels_[index]
        labels = self.labels_ if self.labels_.dtype.kind in "biufUO" else self.labels_.astype(object)
        return np.where(index < 0, np.asarray(self.spurious), labels[index])

    @property
    def spurious(self) -> Any:
        """What `predict` says of a cue that ends in no stored pattern."""
        if self.labels_ is None:
            return -1
        return min(-1, self.labels_.min().item() - 1) if self.labels_.dtype.kind in "biuf" else "spurious"

    def score(self, X: ArrayLike, y: ArrayLike | None = None) -> float:
        """Share of the cues that end in a stored pattern, with y in one of their label."""
        index = self._match(self.recall(X))
        if y is None:
            return float((index >= 0).mean())
        y = check.target(type(self).__name__, y, len(index), numeric=False, columns=False)
        return float(((index >= 0) & ((index if self.labels_ is None else self.labels_[index]) == y)).mean())

    def assess(self, X: ArrayLike) -> Table:
        """What becomes of cues: means over the rows, with their standard errors."""
        x = self._cues(X)
        start = x.copy()
        needed, settled = self._settle(x, None, self.seed_)
        near = self.patterns_[np.argmin(np.square(self.patterns_).sum(1) / 2 - x @ self.patterns_.T, axis=1)]
        measures: dict[str, np.ndarray] = {
            "ended in a stored pattern": self._match(x) >= 0,
            "came to rest": settled,
            "steps needed": needed,
            "units changed": (np.sign(x) != np.sign(start)).mean(1),
            "overlap with the nearest pattern": (x * near).mean(1),
            "energy of the cue": self._energy(start),
            "energy at the end": self._energy(x),
        }
        errors = [float(np.std(v, ddof=1) / np.sqrt(len(v))) if len(v) > 1 else "none" for v in measures.values()]
        return Table(
            {"measure": list(measures), "value": [float(np.mean(v)) for v in measures.values()], "error": errors},
            f"{len(x)} cues, {len(self.patterns_)} stored patterns.",
        )

    def basins(self, n: int = 10_000, *, random_state: int | None = None) -> Basins:
        """Where n random starts end, measured: the size of the basins of attraction."""
        check_is_fitted(self)
        if n < 1:
            raise InputError(f"n={n}; give how many random starts are to be followed, at least 1.")
        seed = self._seed(random_state)
        x = self._starts(n, np.random.default_rng(Draw(seed).at("basins").key()))
        _, settled = self._settle(x, None, seed)
        ends, counts = np.unique(x[settled].round(4) + 0.0, axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        ends, shares = ends[order], counts[order] / n
        return Basins(ends, shares, np.sqrt(shares * (1 - shares) / n), self._match(ends), n)


def _note(first: np.ndarray, labels: np.ndarray | None) -> str:
    """What is to be said of patterns of which `first` is the index (n,) of the first that is equal; "" for nothing."""
    again = int((first != np.arange(len(first))).sum())
    if not again:
        return ""
    differ = labels is not None and bool((labels != labels[first]).any())
    return (
        f"{again} of {len(first)} patterns repeat an earlier one and are stored once"
        f"{', with the label of the first' if differ else ''}."
    )


def _medoids(x: np.ndarray, labels: np.ndarray) -> Sequence[int]:
    """The row of each class that overlaps most with the others of its class, in the order of the classes."""
    found = []
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        found.append(int(rows[np.argmax(x[rows] @ x[rows].sum(0) - np.square(x[rows]).sum(1) * len(rows) / 2)]))
    return found
