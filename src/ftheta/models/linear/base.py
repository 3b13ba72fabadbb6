"""What linear models share: rows checked on the way in, planes and classes on the way out.

    regress:   ŷ = x·w + b
    classify:  predict = argmax_k of the raw outputs, or the sign of the only one

Shapes: n rows, D features, T targets, K classes, R raw outputs (1 for two classes, K for more).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ... import check
from ...base import Estimator
from ...errors import InputError
from ...tasks import encode_labels, learn_classes, warn_unseen
from ...train import blas_threads, threads_for

__all__ = [
    "FewThreads",
    "KeepsRows",
    "LinearAnswers",
    "LinearClassifier",
    "PlainClassifier",
    "PlainRegressor",
    "PlaneClassifier",
    "Rows",
    "feature_names",
    "restored_on_error",
]

WORK = 1e9  # n D² multiply-adds of a decomposition, about a tenth of a second


class Rows(NamedTuple):
    """Rows to learn from."""

    x: np.ndarray  # (n, D)
    y: np.ndarray  # numbers (n,) or (n, T), or places in `classes_` (n,)
    weight: np.ndarray | None  # (n,), None where all are 1

    def counted(self) -> Self:
        """Without rows of weight 0."""
        if self.weight is None or self.weight.all():
            return self
        kept = self.weight > 0
        return type(self)(self.x[kept], self.y[kept], self.weight[kept])

    def copied(self) -> Self:
        """Arrays of its own."""
        return type(self)(*(None if part is None else part.copy() for part in self))  # type: ignore[arg-type]


class FewThreads:
    """Its fits use one thread of BLAS, or as many as torch where that saves more than a tenth of a second.

    Among other work a second thread makes a decomposition 10 to 500 times slower, at every size.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "fit" in vars(cls):
            cls.fit: Any = _bounded(vars(cls)["fit"])


def _bounded(fit: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(fit)
    def bounded(self: Any, X: Any, *rest: Any, **named: Any) -> Any:
        shape = getattr(X, "shape", ())
        work = shape[0] * shape[1] ** 2 if len(shape) == 2 else 0
        with blas_threads(1 if work < WORK else threads_for(work)):
            return fit(self, X, *rest, **named)

    return bounded


@contextmanager
def restored_on_error(estimator: Any) -> Iterator[None]:
    """After Ctrl-C or an error the estimator is what it was before."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def feature_names(estimator: Any) -> list[str]:
    """Names of the columns, or x0, x1, ..."""
    return [str(n) for n in getattr(estimator, "feature_names_in_", (f"x{j}" for j in range(estimator.n_features_in_)))]


@dataclass(kw_only=True, eq=False, repr=False)
class Plain(FewThreads, Estimator):
    """Found without a net; X may be a SciPy sparse matrix that fits in memory when it is dense."""

    n_features_in_: ClassVar[int]  # set by `fit`; no parameter
    _order: ClassVar[Literal["C", "K"]] = "C"  # of the rows of a fit; K: as they lie in memory, without a copy

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _table(self, X: Any, *, reset: bool = False, dtype: str = "float64") -> np.ndarray:
        """Checked X (n, D)."""
        if not reset:
            check_is_fitted(self)
        if issparse(X):
            check.reject_memory(X, dtype)
            X = X.toarray()
        return check.table(self, X, dtype=dtype, reset=reset, order=self._order if reset else "C")


@dataclass(kw_only=True, eq=False, repr=False)
class PlainRegressor(RegressorMixin, Plain):
    """A regressor that is found without a net."""

    def _learned(self, X: Any, y: Any, sample_weight: Any, *, columns: bool = False, zeros: bool = False) -> Rows:
        """Checked rows, those of weight 0 only with `zeros`; several targets where `columns` is True."""
        self._check_parameters()
        x = self._table(X, reset=True)
        y = check.target(type(self).__name__, y, len(x), numeric=True, columns=columns)
        rows = Rows(x, y, check.weights(sample_weight, len(x)))
        return rows if zeros else rows.counted()


class KeepsRows:
    """What statistics need: a copy of the rows of the fit in `_kept`, which no file and no pickle holds."""

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_kept"}

    def _rows_of_fit(self) -> Rows:
        check_is_fitted(self)
        if "_kept" not in vars(self):
            raise InputError(
                "The summary needs the rows it was fitted to, and a file does not hold them: call summarize(X, y) with "
                "those rows."
            )
        return vars(self)["_kept"]


class LinearAnswers:
    """Predictions of a plane."""

    coef_: np.ndarray
    intercept_: np.ndarray

    def predict(self: Any, X: ArrayLike) -> np.ndarray:
        """x·w + b of each row: (n,) or (n, T)."""
        return self._table(X) @ self.coef_.T + self.intercept_


@dataclass(kw_only=True, eq=False, repr=False)
class PlainClassifier(ClassifierMixin, Plain):
    """A classifier that is found without a net."""

    def _learned(self, X: Any, y: Any, sample_weight: Any, *, dtype: str = "float64") -> Rows:
        """Checked rows; learns `classes_`."""
        self._check_parameters()
        x = self._table(X, reset=True, dtype=dtype)
        y = check.target(type(self).__name__, y, len(x), numeric=False, columns=False)
        rows = Rows(x, y, check.weights(sample_weight, len(x))).counted()
        self.classes_ = learn_classes(type(self).__name__, rows.y).facts["classes"]
        return rows._replace(y=encode_labels(rows.y, self.classes_))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy; a class never seen in fit counts as wrong, with a warning."""
        check_is_fitted(self)
        warn_unseen(y, self.classes_)
        return float(super().score(X, check.plain(y), check.plain(sample_weight)))


@dataclass(kw_only=True, eq=False, repr=False)
class PlaneClassifier(PlainClassifier):
    """Raw outputs x·w + b: of the second of two classes, or one per class. Learned: coef_ (R, D), intercept_ (R,)."""

    def decision_function(self: Any, X: ArrayLike) -> np.ndarray:
        """The raw output of the second class, above 0 where it is predicted: (n,); for more classes of each: (n, K)."""
        raw = self._table(X) @ self.coef_.T + self.intercept_
        return raw[:, 0] if len(self.classes_) == 2 else raw

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The class of the largest raw output: (n,)."""
        raw = self.decision_function(X)
        return self.classes_[(raw > 0).astype(int) if raw.ndim == 1 else raw.argmax(1)]


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifier(PlaneClassifier):
    """Raw outputs that are log-odds, or logarithms of probabilities up to a constant."""

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """The probability of each class: (n, K)."""
        raw = self.decision_function(X)
        return softmax(raw, axis=1) if raw.ndim == 2 else np.stack([expit(-raw), expit(raw)], 1)

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Logarithms of `predict_proba`, also where those are too small for a float: (n, K)."""
        raw = self.decision_function(X)
        return log_softmax(raw, axis=1) if raw.ndim == 2 else np.stack([log_expit(-raw), log_expit(raw)], 1)
