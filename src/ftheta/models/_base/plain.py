"""Estimators without steps: rows checked on the way in, weights of classes in the weights of rows, few threads.

Shapes: n rows, D features, T targets.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ... import check
from ...base import Estimator
from ...errors import InputError
from ...tasks import class_weights, encode_labels, learn_classes, warn_unseen
from ...train import blas_threads, openmp_threads, threads_for

WORK = 1e9  # n D² multiply-adds of a decomposition, about a tenth of a second


class Rows(NamedTuple):
    """Rows to learn from."""

    x: np.ndarray  # (n, D)
    y: np.ndarray  # numbers (n,) or (n, T), or places in `classes_` (n,)
    weight: np.ndarray | None  # (n,), None where all are 1

    def counted(self) -> Self:
        """Without rows of weight 0."""
        return self if self.weight is None or self.weight.all() else self.take(self.weight > 0)

    def take(self, chosen: np.ndarray) -> Self:
        """Some of the rows."""
        return type(self)(*(None if part is None else part[chosen] for part in self))  # type: ignore[arg-type]

    def copied(self) -> Self:
        """Arrays of its own."""
        return self.take(np.arange(len(self.x)))


class FewThreads:
    """Its fits use one thread of BLAS and OpenMP, or as many as torch where that saves more than a tenth of a second.

    Beside other work a second thread makes a decomposition 10 to 500 times slower, and boosted trees 30 times.
    """

    _float: Any = np.float64  # the floating dtype of X

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "fit" in vars(cls):
            cls.fit: Any = _bounded(vars(cls)["fit"])

    def _set_planes(self, coef: np.ndarray, intercept: Any) -> None:
        """Coefficients in the floating dtype of X; they are computed in float64."""
        self.coef_, self.intercept_ = coef.astype(self._float), np.asarray(intercept).astype(self._float)[()]


def _bounded(fit: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(fit)
    def bounded(self: Any, X: Any, *rest: Any, **named: Any) -> Any:
        shape: Any = getattr(X, "shape", ())
        cells = shape[0] * shape[1] if len(shape) == 2 else 0
        work = cells * shape[1] if cells else 0
        kinds = set(map(str, np.ravel(getattr(X, "dtypes", getattr(X, "dtype", "")))))
        self._float = np.float32 if kinds in ({"float32"}, {"torch.float32"}) else np.float64
        with blas_threads(1 if work < WORK else threads_for(work)), openmp_threads(threads_for(cells)):
            return fit(self, X, *rest, **named)

    return bounded


def dense(X: Any, dtype: str = "float64") -> Any:
    """A SciPy sparse matrix as an array, if that fits in memory; all else as it is."""
    if not issparse(X):
        return X
    check.reject_memory(X, dtype)
    return X.toarray()


class Plain(FewThreads, Estimator):
    """Learned without a net; X may be a SciPy sparse matrix that fits in memory when it is dense."""

    n_features_in_: ClassVar[int]  # set by `fit`; not a parameter
    takes_missing: ClassVar[bool] = False  # whether cells of X may be NaN
    how_fitted: ClassVar[str] = "The model was fitted in closed form."  # for the report
    _order: ClassVar[Literal["C", "K"]] = "C"  # of the rows of a fit; K: as they lie in memory, without a copy

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.takes_missing
        return tags

    def _table(self, X: Any, *, reset: bool = False, dtype: str = "float64") -> np.ndarray:
        """Checked X (n, D)."""
        if not reset:
            check_is_fitted(self)
        order = self._order if reset else "C"
        return check.table(self, dense(X, dtype), dtype=dtype, reset=reset, order=order, allow_nan=self.takes_missing)


class PlainRegressor(RegressorMixin, Plain):
    """A regressor of one target or several."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _learned(self, X: Any, y: Any, sample_weight: Any, *, columns: bool = True, zeros: bool = False) -> Rows:
        """Checked rows, those of weight 0 only with `zeros`; several targets where `columns` is True."""
        self._check_parameters()
        x = self._table(X, reset=True)
        y = check.target(type(self).__name__, y, len(x), numeric=True, columns=columns)
        rows = Rows(x, y, check.weights(sample_weight, len(x)))
        return rows if zeros else rows.counted()


class Scored(ClassifierMixin):
    """The class of each row by `decision_function`, and the score of a classifier."""

    def predict(self: Any, X: ArrayLike) -> np.ndarray:
        """The class of the largest output, of two classes the second where it is above 0: (n,)."""
        raw = self.decision_function(X)
        return self.classes_[(raw > 0).astype(int) if raw.ndim == 1 else raw.argmax(1)]

    def score(self: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy; a class never seen in fit counts as wrong, with a warning."""
        check_is_fitted(self)
        if np.shape(y)[1:] in ((), (1,)):  # one class per row
            warn_unseen(y, self.classes_)
        return float(ClassifierMixin.score(self, X, check.plain(y), check.plain(sample_weight)))


class Classes:
    """The classes of an estimator with `target_`."""

    @property
    def classes_(self: Any) -> np.ndarray:
        """The classes (K,); for several labels their numbers."""
        if "target_" not in vars(self):  # as for any other attribute that is not learned yet
            raise AttributeError(f"{type(self).__name__} has no classes_ before fit.")
        return self.target_.facts["classes"]


class PlainClassifier(Scored, Plain):
    """A classifier of one class per row. Learned: classes_ (K,).

    Args:
        class_weight: Weights of the rows by class, or "balanced".
    """

    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None

    def _learned(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Checked rows with places in `classes_` and with weights (n,), those of their classes in them."""
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
        return Rows(x, index, weight)
