"""Naive Bayes: within a class the features are independent.

    p(x | k) = Π_j p(x_j | k),      Gaussian:  N(x_j; m_kj, σ_kj²),      discrete:  (N_kj(x_j) + α) / (N_k + α V_j)

N_kj(v) is the weight of the rows of class k with value v in column j, V_j the number of different values there.
Shapes: n rows, D features, K classes, V values of a column.
Reference: Hand and Yu, Idiot's Bayes - Not So Stupid After All?, International Statistical Review 69(3) (2001).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ...check import NonNegative, Positive
from ...errors import InputError
from ...results import Table
from .base import feature_names
from .generative import Generative, centered_by_class
from .least_squares import centered

__all__ = ["DiscreteNaiveBayes", "GaussianNaiveBayes"]


@dataclass(kw_only=True, eq=False, repr=False)
class GaussianNaiveBayes(Generative):
    """Independent Gaussian features in each class. Learned: priors_ (K,), means_ (K, D), deviations_ (K, D).

    Args:
        var_smoothing: Added to every variance, as a share of the largest variance of a column over all rows.

    Example:
        >>> model = GaussianNaiveBayes().fit([[-1.0], [1], [8], [10]], ["low", "low", "high", "high"])
        >>> model.predict([[3.0], [6.0]]).tolist()
        ['low', 'high']
    """

    var_smoothing: NonNegative = 1e-9

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Mean and variance of each column in each class, by maximum likelihood."""
        x, index, weight = learned = self._rows(X, y, sample_weight)
        largest = np.average(centered(x, weight)[0] ** 2, axis=0, weights=weight).max()
        self.means_, rest = centered_by_class(learned, len(self.classes_))
        variances = np.stack(
            [np.average(rest**2, axis=0, weights=weight * (index == k)) for k in range(len(self.classes_))]
        )
        variances[variances <= (1e-12 * np.abs(x).max(0)) ** 2] = 0.0  # rounding errors of a constant
        self.deviations_ = np.sqrt(variances + self.var_smoothing * largest)
        if not self.deviations_.all():
            k, j = np.argwhere(self.deviations_ == 0)[0]
            raise InputError(
                f"Column {j} does not vary in class {self.classes_.tolist()[k]!r}, and var_smoothing="
                f"{self.var_smoothing:g} of the variance of X adds nothing. Raise var_smoothing, or drop the column."
            )
        return self

    def gaussian(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean (D,) and covariance (D, D) of class number k."""
        return self.means_[k], np.diag(self.deviations_[k] ** 2)

    def _joint(self, x: np.ndarray) -> np.ndarray:
        columns = []
        for mean, deviation in zip(self.means_, self.deviations_, strict=True):
            away = (x - mean) / deviation
            columns.append(np.square(away).sum(1) / 2 + np.log(deviation).sum() + x.shape[1] * np.log(2 * np.pi) / 2)
        return np.log(self.priors_) - np.stack(columns, 1)

    def _sample_class(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.means_[k] + self.deviations_[k] * rng.standard_normal((n, self.n_features_in_))


@dataclass(kw_only=True, eq=False, repr=False)
class DiscreteNaiveBayes(Generative):
    """Independent categories in each class: every different value of a column is one.

    Learned: priors_ (K,), and for each column values_ (V,), tables_ (K, V) of p(value | class), and unseen_ (K, D), the
    probability of a value that fit never saw: that of one seen in other classes only.

    Args:
        alpha: What is added to every count (Laplace: 1).

    Example:
        >>> model = DiscreteNaiveBayes().fit([[0], [0], [1], [1], [1]], ["a", "a", "a", "b", "b"])
        >>> print(model.table())
        column  value  p(value | a)  p(value | b)
        ------  -----  ------------  ------------
        x0      0.000        0.6000        0.2500
        x0      1.000        0.4000        0.7500
    """

    alpha: Positive = 1.0

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Count the values of each column in each class."""
        x, index, weight = self._rows(X, y, sample_weight)
        k = len(self.classes_)
        self.values_, self.tables_, unseen = [], [], []
        for column in x.T:
            values, code = np.unique(column, return_inverse=True)
            counts = np.bincount(index * len(values) + code, weights=weight, minlength=k * len(values))
            counts = counts.reshape(k, -1) + self.alpha  # (K, V)
            total = counts.sum(1, keepdims=True)
            self.values_.append(values)
            self.tables_.append(counts / total)
            unseen.append(self.alpha / total)
        self.unseen_ = np.hstack(unseen)
        return self

    def table(self) -> Table:
        """One row per value of each column: its probability in each class."""
        check_is_fitted(self)
        columns = {
            "column": [name for name, values in zip(feature_names(self), self.values_, strict=True) for _ in values],
            "value": np.concatenate(self.values_).tolist(),
        }
        laws = np.hstack(self.tables_)  # (K, ΣV)
        of_class = {f"p(value | {label})": law.tolist() for label, law in zip(self.classes_, laws, strict=True)}
        return Table(columns | of_class)

    def _joint(self, x: np.ndarray) -> np.ndarray:
        found = np.tile(np.log(self.priors_), (len(x), 1))
        for j, (values, law) in enumerate(zip(self.values_, self.tables_, strict=True)):
            code = np.minimum(np.searchsorted(values, x[:, j]), len(values) - 1)
            seen = values[code] == x[:, j]
            found += np.where(seen[:, None], np.log(law).T[code], np.log(self.unseen_[:, j]))
        return found

    def _sample_class(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        draws = [rng.choice(values, n, p=law[k]) for values, law in zip(self.values_, self.tables_, strict=True)]
        return np.stack(draws, 1)
