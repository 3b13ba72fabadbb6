"""What trees, forests and boosting share: rows with missing cells in, scikit-learn inside, plain arrays out.

Shapes: n rows, D features, T targets, K classes.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ...check import RandomState
from ...draw import seed_of
from ...errors import InputError
from ...train import openmp_threads, threads_for
from .._base.plain import Plain, PlainClassifier, PlainRegressor, Rows
from .nodes import Trees

MOST = 10  # times as many rows as there are may copies be
LARGEST = np.finfo(np.float32).max


def copies(rows: Rows) -> Rows:
    """Rows of whole weights as so many copies of weight 1; other weights with a mean of 1."""
    weight = rows.weight
    if weight is None or (weight == 1).all():
        return rows._replace(weight=None)
    if (weight != np.rint(weight)).any() or weight.sum() > MOST * len(weight):
        return rows._replace(weight=weight / weight.mean())
    return rows.take(np.repeat(np.arange(len(weight)), weight.astype(int)))._replace(weight=None)


def keys(x: np.ndarray, seed: int) -> np.ndarray:
    """A random number of 64 bits for each row, equal for equal rows: (n,)."""
    odd = np.random.default_rng(seed).integers(2**63, size=x.shape[1], dtype=np.uint64) * 2 + 1
    mixed = np.zeros(len(x), np.uint64)
    for column, factor in zip(x.T, odd, strict=True):
        bits = (column + 0).astype(np.float64).view(np.uint64)
        mixed += (bits ^ (bits >> np.uint64(32))) * factor
        mixed ^= mixed >> np.uint64(29)
    return mixed


class Grown(Plain):
    """Trees that scikit-learn grows and predicts with. Learned: `trees_`, arrays of all nodes, and `seed_`.

    Args:
        random_state: Seed; None takes fresh entropy, kept in `seed_`.
    """

    random_state: RandomState = None

    grows: ClassVar[Any]  # class of scikit-learn
    takes_missing: ClassVar[bool] = True
    how_fitted: ClassVar[str] = "Trees were grown from the root down: each split is the best one of its node."

    @abstractmethod
    def _parameters(self) -> dict[str, Any]:
        """Parameters of scikit-learn's estimator."""

    def solver(self) -> Any:
        """scikit-learn's estimator with these parameters, not fitted."""
        return self.grows(**self._parameters())

    @abstractmethod
    def _take_over(self, model: Any) -> Trees:
        """What a fitted estimator of scikit-learn learned."""

    @abstractmethod
    def _rebuild(self, trees: Trees) -> Any:
        """scikit-learn's estimator, fitted, of arrays that may be damaged."""

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow trees; whole weights are so many copies of a row."""
        learned: Rows = self._learned(X, y, sample_weight)  # type: ignore[attr-defined]
        if np.isnan(learned.x).all():
            raise InputError("X holds NaN only: there is no value to learn from. Check the file that produced it.")
        self.seed_ = seed_of(self.random_state)
        self._model = self._fitted(copies(learned))
        self.trees_ = self._take_over(self._model)._asdict()
        return self

    def _fitted(self, rows: Rows) -> Any:
        return self.solver().fit(rows.x, rows.y, rows.weight)

    @property
    def trees(self) -> Trees:
        """What was learned."""
        check_is_fitted(self)
        return Trees(**self.trees_)

    @property
    def model_(self) -> Any:
        """scikit-learn's fitted estimator, which predicts; its classes are 0, 1, ..., the places in `classes_`."""
        check_is_fitted(self)
        return self._model

    def _ask(self, method: str, X: Any) -> np.ndarray:
        """What scikit-learn's estimator answers, in one thread unless there is much to do."""
        x = self._table(X)
        with openmp_threads(threads_for(x.size)):
            return getattr(self.model_, method)(x)

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned; trees that cannot be followed safely are refused."""
        super().set_state(state)
        self._model = self._rebuild(self.trees)

    def _table(self, X: Any, *, reset: bool = False, dtype: str = "float64") -> np.ndarray:
        """Checked X (n, D) in the dtype of scikit-learn's trees; numbers that it cannot hold are its largest."""
        x = super()._table(X, reset=reset, dtype="float32" if getattr(X, "dtype", None) == np.float32 else dtype)
        if x.dtype == np.float32:
            return x
        with np.errstate(over="ignore"):
            x = x.astype(np.float32)
        return np.clip(x, -LARGEST, LARGEST, out=x)


class Probable(PlainClassifier):
    """A classifier by the largest probability."""

    def decision_function(self: Any, X: ArrayLike) -> np.ndarray:
        """Probabilities (n, K); of two classes that of the second without that of the first (n,)."""
        p = self.predict_proba(X)
        return p[:, 1] - p[:, 0] if p.shape[1] == 2 else p


class GrownClassifier(Grown, Probable):
    """Trees that classify."""

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """The probability of each class: (n, K)."""
        return self._ask("predict_proba", X)


class GrownRegressor(Grown, PlainRegressor):
    """Trees that predict numbers."""

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The mean of the rows of the leaf, or of those of all trees: (n,) or (n, T)."""
        return self._ask("predict", X)
