"""Generative classifiers: a density and a share of each class, from which Bayes' rule decides.

    p(k | x) = p(x, k) / p(x),      p(x, k) = π_k p(x | k),      p(x) = Σ_k p(x, k)

A family says how log p(x, k) is computed and how rows of a class are drawn; everything else follows, in logarithms.
Shapes: n rows, D features, K classes.
Reference: Bishop, Pattern Recognition and Machine Learning (2006), sections 1.5 and 4.2.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.utils.validation import check_is_fitted

from ... import check
from ...errors import InputError
from ...tasks import class_weights, encode_labels, learn_classes
from .base import Plain, Rows, Scored

__all__ = ["Generative", "centered_by_class"]

PART = 4096  # rows that are answered at once


def centered_by_class(rows: Rows, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Weighted means of the classes (K, D), and the rows without them (n, D)."""
    share = np.asarray(rows.weight) / np.bincount(rows.y, weights=rows.weight)[rows.y]
    add_up = csr_array((share, (rows.y, np.arange(len(share)))), shape=(k, len(share)))
    means = add_up @ rows.x
    rest = rows.x - means[rows.y]
    slip = add_up @ rest  # rounding error where the mean is large beside the spread
    return means + slip, rest - slip[rows.y]


@dataclass(kw_only=True, eq=False, repr=False)
class Generative(Scored, Plain):
    """A classifier that has a density of each class. Learned: classes_, priors_ (K,).

    Args:
        priors: Share of each class: None takes those of the rows, "uniform" the same for all; or a share by class.
        class_weight: Weights of the rows by class, or "balanced".
    """

    priors: Mapping[Any, float] | Literal["uniform"] | None = None
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None

    @abstractmethod
    def _joint(self, x: np.ndarray) -> np.ndarray:
        """log p(x, k): (n, K)."""

    @abstractmethod
    def _sample_class(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """Rows of class k: (n, D)."""

    def _scores(self, x: np.ndarray) -> np.ndarray:
        """log p(x, k) up to a term that all classes share: (n, K)."""
        return np.concatenate([self._joint(x[i : i + PART]) for i in range(0, len(x), PART)])

    # ---- learning

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Checked rows with weights (n,), those of their classes in them; learns classes_ and priors_."""
        self._check_parameters()
        x, name = self._table(X, reset=True), type(self).__name__
        y, given = check.target(name, y, len(x), numeric=False, columns=False), check.weights(sample_weight, len(x))
        x, y, weight = Rows(x, y, np.ones(len(x)) if given is None else given).counted()
        self.classes_ = learn_classes(name, y).facts["classes"]
        index = encode_labels(y, self.classes_)
        counts = np.bincount(index, weights=weight)
        weight = weight * class_weights(self.class_weight, self.classes_, counts)[index]
        mass = np.bincount(index, weights=weight)
        if not mass.all():
            empty = self.classes_[mass == 0].tolist()[0]
            raise InputError(f"Class {empty!r} has weight 0 in all; leave its rows out, or give it a weight > 0.")
        self.priors_ = self._shares(mass)
        return Rows(x, index, weight)

    def _shares(self, mass: np.ndarray) -> np.ndarray:
        if self.priors is None:
            return mass / mass.sum()
        if isinstance(self.priors, str):
            return np.full(len(mass), 1 / len(mass))
        known, given = self.classes_.tolist(), dict(self.priors)
        shares = np.array([given.get(label, 0) for label in known])
        numbers = len(given) == len(known) and shares.dtype.kind in "iuf"
        if not numbers or not (shares > 0).all() or not np.isclose(shares.sum(), 1):
            raise InputError(f"priors={given}: give each of {known} a share > 0, all of them adding up to 1.")
        return shares / shares.sum()

    # ---- answers

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Log-odds of the second class: (n,); for more classes log p(x, k), up to what they share: (n, K)."""
        scores = self._scores(self._table(X))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The most probable class: (n,)."""
        scores = self._scores(self._table(X))
        return self.classes_[scores.argmax(1)]

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """The probability of each class: (n, K)."""
        return softmax(self._scores(self._table(X)), axis=1)

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Logarithms of `predict_proba`, also where those are too small for a float."""
        return log_softmax(self._scores(self._table(X)), axis=1)

    def log_prob(self, X: ArrayLike) -> np.ndarray:
        """log p(x), the density of rows whatever their class: (n,)."""
        return np.asarray(logsumexp(self._joint(self._table(X)), axis=1))

    def sample(self, n: int = 1, random_state: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """New rows (n, D) and their classes (n,), drawn from the model.

        Args:
            n: How many.
            random_state: Seed; None: other rows at every call.
        """
        check_is_fitted(self)
        if not isinstance(n, int | np.integer) or n < 1:
            raise InputError(f"sample was called with n={n}; give an integer, at least 1.")
        rng = np.random.default_rng(random_state)
        index = rng.choice(len(self.priors_), n, p=self.priors_)
        x = np.empty((n, self.n_features_in_))
        for k in np.unique(index):
            x[index == k] = self._sample_class(int(k), int((index == k).sum()), rng)
        return x, self.classes_[index]
