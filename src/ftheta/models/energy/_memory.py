"""What associative memories share: rows are stored, and a cue is updated until it is a fixed point.

    x <- step(x),      E(step(x)) <= E(x),      recalled: the stored pattern that the state ends in, or none

A family writes `_step`, `_energy`, and what `fit` makes of the patterns.
Shapes: n rows, N units, P stored patterns, T steps.
"""

import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ... import check
from ...base import Estimator
from ...check import Count, RandomState
from ...draw import Draw, seed_of
from ...errors import InputError
from ...results import Table
from .rules import Noise, bipolar, corrupt

FIXED = 1e-10  # largest change of a unit of a fixed point
NEAR = 1e-4  # distance of a unit from that of a pattern which still is the pattern, and a change that counts
MAX_CUE = 1e30  # largest number of a cue in float32
ROWS_AT_ONCE = 256  # few enough to stay in the cache


class Recall(NamedTuple):
    """The trajectory of every cue."""

    states: np.ndarray  # (T + 1, n, N), the cues first; T steps until all are fixed, or as many as were allowed
    energies: np.ndarray  # (T + 1, n)
    needed: np.ndarray  # the last step in which a unit of the row moved by more than 1e-4: (n,)
    converged: np.ndarray  # whether the row became a fixed point: (n,)


class AssociativeMemory(OneToOneFeatureMixin, TransformerMixin, Estimator):
    """Base of the memories. Learned: patterns_ (P, N), labels_ (P,) or None, note_, seed_.

    Args:
        steps: Updates of all units, at most.
        keep: "all" rows, or, with y, the "medoid" of each class: the row that overlaps most with the others.
        random_state: Seed of noise, orders and random starts.
    """

    n_features_in_: ClassVar[int]  # set by `fit`; not a parameter
    steps: Count = 100
    keep: Literal["all", "medoid"] = "all"
    random_state: RandomState = None

    @property
    def states(self) -> Literal["signs", "real"]:
        """Whether states are made of -1 and +1 (0: not known), or of any numbers."""
        return "signs"

    @property
    def only_corners(self) -> bool:
        """Whether only states of -1 and +1 have an energy."""
        return False

    @abstractmethod
    def _step(self, x: np.ndarray, t: int, seed: int) -> np.ndarray:
        """States (n, N) after step number t."""

    @abstractmethod
    def _energy(self, x: np.ndarray) -> np.ndarray:
        """Of states (..., N): (...)."""

    @property
    def _dtype(self) -> type[np.floating]:
        return np.float64  # of the numbers that `_step` computes with

    def _checked(self, x: np.ndarray) -> np.ndarray:
        """Rows that can be stored."""
        return bipolar(x)

    def _store(self, x: np.ndarray, labels: np.ndarray | None) -> None:
        """Set patterns_, labels_ and note_; equal rows (n, N) are stored once."""
        x = self._checked(x)
        if self.keep == "medoid":
            if labels is None:
                raise InputError("keep='medoid' stores one row of each class and needs y; pass y, or use keep='all'.")
            chosen = _medoids(x, labels)
            x, labels = x[chosen], labels[chosen]
        _, first, which = np.unique(x, axis=0, return_index=True, return_inverse=True)
        self.note_ = _note(first[which.ravel()], labels)
        if len(first) == 1 < len(x):
            warnings.warn(f"All {len(x)} patterns are equal: one is stored. Pass rows that differ.", stacklevel=4)
        first.sort()
        self.patterns_, self.labels_ = x[first], None if labels is None else labels[first]

    def _seed(self: Any, random_state: Any) -> int:
        """None is the seed of fit."""
        return self.seed_ if random_state is None else seed_of(random_state)

    def recall(
        self,
        X: ArrayLike,
        *,
        steps: int | None = None,
        noise: float = 0.0,
        noise_kind: Noise = "flip",
        random_state: int | None = None,
    ) -> np.ndarray:
        """The states that cues end in, all rows in parallel: (n, N) -> (n, N).

        Args:
            X: Cues of any finite numbers; 0 where a unit is not known.
            steps: At most so many; None: those of the estimator. A fixed point is not updated further.
            noise: Added to the cues first: a probability for each entry ("flip": its sign changes; "replace": -1 or +1
                at random in its place), or the standard deviation of "gaussian" noise.
            noise_kind: Which noise.
            random_state: Seed of the noise and of the order of units; None: that of the estimator.
        """
        x, seed = self._cues(X), self._seed(random_state)
        if noise or noise_kind != "flip":
            x = corrupt(x, noise, kind=noise_kind, rng=Draw(seed).at("noise").key())
        self._converge(x, steps, seed)
        return x

    def trace(self, X: ArrayLike, *, steps: int | None = None) -> Recall:
        """All states and energies on the trajectory of each cue."""
        x, seen = self._cues(X), []
        cues = x.copy()
        needed, converged = self._move(x, steps, self._seed(None), seen)
        states = np.stack([cues, *seen])  # (T + 1, n, N)
        return Recall(states, self._energy(states), needed, converged)

    def _cues(self, X: ArrayLike) -> np.ndarray:
        check_is_fitted(self)
        return np.array(check.table(self, X, dtype="float64", reset=False))  # a copy: it is updated in place

    def _converge(self, x: np.ndarray, steps: int | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Update states in place until they are fixed: steps needed (n,), and whether they converged (n,)."""
        parts = [self._move(x[k : k + ROWS_AT_ONCE], steps, seed) for k in range(0, len(x), ROWS_AT_ONCE)]
        needed, converged = map(np.concatenate, zip(*parts, strict=True))
        return needed, converged

    def _move(
        self, out: np.ndarray, steps: int | None, seed: int, seen: list[np.ndarray] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        most = self.steps if steps is None else check.at_least("steps", steps, 0, integer=True)
        size = np.abs(out).max(initial=0.0) if self._dtype is np.float32 else 0.0
        x = (out / max(size / MAX_CUE, 1.0)).astype(self._dtype)
        needed, moving = np.zeros(len(x), dtype=int), np.arange(len(x))
        for t in range(most):
            if not len(moving):
                break
            some = moving if len(moving) < len(x) else slice(None)
            before = x[some]
            after = self._step(before, t, seed)
            moved = 2.0 * (before != after).any(1) if self.states == "signs" else np.abs(before - after).max(1)
            x[some] = after
            needed[moving[moved > NEAR]] = t + 1
            moving = moving[moved > FIXED]
            if seen is not None and moved.any():
                seen.append(x.copy())
        out[:] = x
        return needed, ~np.isin(np.arange(len(x)), moving)

    def transform(self, X: ArrayLike) -> np.ndarray:
        """The states that cues end in: (n, N)."""
        return self.recall(X)

    def energy(self, X: ArrayLike) -> np.ndarray:
        """Of states (n, N): (n,)."""
        return self._energy(self._cues(X))

    def matched(self, X: ArrayLike) -> np.ndarray:
        """Index of the stored pattern that each row is, to 1e-4 in every unit; -1 for none: (n,)."""
        return self._match(self._cues(X))

    def _match(self, x: np.ndarray) -> np.ndarray:
        near = self._nearest(x)
        return np.where(np.abs(x - self.patterns_[near]).max(1) <= NEAR, near, -1)

    def _nearest(self, x: np.ndarray) -> np.ndarray:
        return np.argmin(np.square(self.patterns_).sum(1) / 2 - x @ self.patterns_.T, axis=1)

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
        """What `predict` gives for a cue that ends in no stored pattern."""
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
        needed, converged = self._converge(x, None, self._seed(None))
        measures = {
            "ended in a stored pattern": self._match(x) >= 0,
            "converged": converged,
            "steps needed": needed,
            "units changed": (np.sign(x) != np.sign(start)).mean(1),
            "overlap with the nearest pattern": (x * self.patterns_[self._nearest(x)]).mean(1),
            "energy of the cue": self._energy(start),
            "energy at the end": self._energy(x),
        }
        errors = [np.std(v, ddof=1) / np.sqrt(len(v)) if len(v) > 1 else "none" for v in measures.values()]
        columns = {"measure": list(measures), "value": [np.mean(v) for v in measures.values()], "error": errors}
        return Table(columns, f"{len(x)} cues, {len(self.patterns_)} stored patterns.")


def _note(first: np.ndarray, labels: np.ndarray | None) -> str:
    """A note on patterns that repeat, where `first` is the index (n,) of the first equal one; "" for none."""
    again = int((first != np.arange(len(first))).sum())
    if not again:
        return ""
    label = ", with the label of the first" if labels is not None and (labels != labels[first]).any() else ""
    return f"{again} of {len(first)} patterns repeat an earlier one and are stored once{label}."


def _medoids(x: np.ndarray, labels: np.ndarray) -> list[int]:
    """The row of each class that overlaps most with the others of its class, in the order of the classes."""
    classes = (np.flatnonzero(labels == label) for label in np.unique(labels))
    return [r[np.argmax(x[r] @ x[r].sum(0) - np.square(x[r]).sum(1) * len(r) / 2)] for r in classes]
