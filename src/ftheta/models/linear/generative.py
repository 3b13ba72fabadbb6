"""Generative classifiers: a density and a share of each class, from which Bayes' rule decides; naive Bayes.

    p(k | x) = p(x, k) / p(x),      p(x, k) = π_k p(x | k),      p(x) = Σ_k p(x, k)
    naive:  p(x | k) = Π_j p(x_j | k),  Gaussian:  N(x_j; m_kj, σ_kj²),  discrete:  (N_kj(x_j) + α) / (N_k + α V_j)

N_kj(v) is the weight of the rows of class k with value v in column j, V_j the number of different values there.
Shapes: n rows, D features, K classes, V values of a column.
References: Bishop, Pattern Recognition and Machine Learning (2006), sections 1.5 and 4.2; Hand and Yu, Idiot's Bayes -
Not So Stupid After All?, International Statistical Review 69(3) (2001).
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ...check import NonNegative, Positive, at_least
from ...errors import InputError
from ...results import Table
from ...selection import Range, Space
from .._base.plain import PlainClassifier, Rows
from .base import centered, feature_names

PART = 4096  # rows that are answered at once


def centered_by_class(rows: Rows, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Weighted means of the classes (K, D), and the rows without them (n, D)."""
    share = np.asarray(rows.weight) / np.bincount(rows.y, weights=rows.weight)[rows.y]
    add_up = csr_array((share, (rows.y, np.arange(len(share)))), shape=(k, len(share)))
    means = add_up @ rows.x
    rest = rows.x - means[rows.y]
    slip = add_up @ rest  # rounding error where the mean is large beside the spread
    return means + slip, rest - slip[rows.y]


class Generative(PlainClassifier):
    """A classifier that has a density of each class. Learned: classes_, priors_ (K,).

    Args:
        priors: Share of each class: None takes those of the rows, "uniform" the same for all; or a share by class.
    """

    priors: Mapping[Any, float] | Literal["uniform"] | None = None

    @abstractmethod
    def _joint(self, x: np.ndarray) -> np.ndarray:
        """log p(x, k): (n, K)."""

    @abstractmethod
    def _sample_class(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """Rows of class k: (n, D)."""

    def _scores(self, x: np.ndarray) -> np.ndarray:
        """log p(x, k) up to a term that all classes share: (n, K)."""
        return np.concatenate([self._joint(x[i : i + PART]) for i in range(0, len(x), PART)])

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Checked rows with weights (n,), those of their classes in them; learns classes_ and priors_."""
        rows = self._learned(X, y, sample_weight)
        self.priors_ = self._shares(np.bincount(rows.y, weights=rows.weight))
        return rows

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

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Log-odds of the second class: (n,); for more classes log p(x, k), up to what they share: (n, K)."""
        scores = self._scores(self._table(X))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

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
        count, rng = at_least("n", n, 1, integer=True), np.random.default_rng(random_state)
        index = rng.choice(len(self.priors_), count, p=self.priors_)
        x = np.empty((count, self.n_features_in_))
        for k in np.unique(index):
            x[index == k] = self._sample_class(int(k), int((index == k).sum()), rng)
        return x, self.classes_[index]


class GaussianNaiveBayes(Generative):
    """Independent Gaussian features in each class. Learned: priors_ (K,), means_ (K, D), deviations_ (K, D).

    Args:
        var_smoothing: Added to every variance, as a share of the largest variance of a column over all rows.

    Example:
        >>> model = GaussianNaiveBayes().fit([[-1.0], [1], [8], [10]], ["low", "low", "high", "high"])
        >>> model.predict([[3.0], [6.0]]).tolist()
        ['low', 'high']
    """

    space: ClassVar[Space] = {"var_smoothing": Range(1e-9, 1.0, log=True)}
    var_smoothing: NonNegative = 1e-9

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Mean and variance of each column in each class, by maximum likelihood."""
        x, index, weight = learned = self._rows(X, y, sample_weight)
        largest = np.average(centered(x, weight)[0] ** 2, axis=0, weights=weight).max()
        self.means_, rest = centered_by_class(learned, len(self.classes_))
        each = [np.average(rest**2, axis=0, weights=weight * (index == k)) for k in range(len(self.classes_))]
        variances = np.stack(each)
        variances[variances <= (1e-12 * np.abs(x).max(0)) ** 2] = 0.0  # rounding errors of a constant
        self.deviations_ = np.sqrt(variances + self.var_smoothing * largest)
        if not self.deviations_.all():
            k, j = np.argwhere(self.deviations_ == 0)[0]
            smoothing = f"var_smoothing={self.var_smoothing:g} of the variance of X adds nothing"
            what = f"Column {j} does not vary in class {self.classes_.tolist()[k]!r}, and {smoothing}."
            raise InputError(f"{what} Raise var_smoothing, or drop the column.")
        return self

    def gaussian(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean (D,) and covariance (D, D) of class number k."""
        return self.means_[k], np.diag(self.deviations_[k] ** 2)

    def _joint(self, x: np.ndarray) -> np.ndarray:
        pairs = zip(self.means_, self.deviations_, strict=True)
        away = np.stack([np.square((x - mean) / deviation).sum(1) for mean, deviation in pairs], 1)  # (n, K)
        return np.log(self.priors_) - away / 2 - np.log(np.sqrt(2 * np.pi) * self.deviations_).sum(1)

    def _sample_class(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.means_[k] + self.deviations_[k] * rng.standard_normal((n, self.n_features_in_))


class DiscreteNaiveBayes(Generative):
    """Independent categories in each class: every different value of a column is one.

    Learned: priors_ (K,), for each column values_ (V,) and tables_ (K, V) of p(value | class), and unseen_ (K, D), the
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

    space: ClassVar[Space] = {"alpha": Range(0.01, 10.0, log=True)}
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
            self.values_.append(values)
            self.tables_.append(counts / counts.sum(1, keepdims=True))
            unseen.append(self.alpha / counts.sum(1))
        self.unseen_ = np.stack(unseen, 1)
        return self

    def table(self) -> Table:
        """One row per value of each column: its probability in each class."""
        check_is_fitted(self)
        names = np.repeat(feature_names(self), [len(values) for values in self.values_]).tolist()
        laws = zip(self.classes_, np.hstack(self.tables_).tolist(), strict=True)  # K times ΣV
        of_class = {f"p(value | {label})": law for label, law in laws}
        return Table({"column": names, "value": np.concatenate(self.values_).tolist(), **of_class})

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
