"""Estimators without a net: rows checked on the way in, planes and classes on the way out.

    regress:   ŷ = x·w + b
    classify:  predict = argmax_k of the raw outputs, or the sign of the only one

Shapes: n rows, D features, T targets, K classes, R raw outputs (1 for two classes, K for more).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .. import check, likelihoods
from ..base import Estimator
from ..errors import InputError
from ..train import blas_threads, threads_for
from ._supervised import encode_labels, learn_classes, warn_unseen

__all__ = [
    "FewThreads",
    "KeepsRows",
    "Learned",
    "LinearAnswers",
    "LinearClassifier",
    "PlainClassifier",
    "PlainRegressor",
    "PlaneClassifier",
    "in_parts",
    "whole",
]

PART = 2**18  # numbers of X at a time
WORK = 1e9  # n D² multiply-adds of a decomposition, about a tenth of a second


class Learned(NamedTuple):
    """Rows to learn from.

    Args:
        x: Features (n, D).
        y: Numbers (n,) or (n, T), or places in `classes_` (n,).
        weight: Of the rows (n,), or None where all weigh the same.
    """

    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None


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
def whole(estimator: Any) -> Iterator[None]:
    """What is learned here is learned whole: after Ctrl-C or an error the estimator is what it was before."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@dataclass(kw_only=True, eq=False, repr=False)
class PlainRegressor(FewThreads, RegressorMixin, Estimator):
    """A regressor that is found without a net."""

    def _learned(self, X: Any, y: Any, sample_weight: Any, *, columns: bool = False) -> Learned:
        """Checked rows; several targets where `columns` says so."""
        self._check_parameters()
        x = check.table(self, X, dtype="float64", reset=True)
        y = check.target(type(self).__name__, y, len(x), numeric=True, columns=columns)
        return Learned(x, y, check.weights(sample_weight, len(x)))


class _Planes:
    """What planes have learned."""

    coef_: np.ndarray
    intercept_: np.ndarray


class KeepsRows:
    """What statistics need: the rows of the fit in `_kept`, which no file and no pickle holds."""

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_kept"}

    def _rows_of_fit(self) -> Learned:
        check_is_fitted(self)
        if "_kept" not in vars(self):
            raise InputError(
                "The summary needs the rows it was fitted to, and a file does not hold them: call summarise(X, y) with "
                "those rows."
            )
        return vars(self)["_kept"]


class LinearAnswers(_Planes):
    """Predictions of a plane."""

    def predict(self, X: ArrayLike) -> np.ndarray:
        """x·w + b of each row: (n,) or (n, T)."""
        check_is_fitted(self)
        return check.table(self, X, dtype="float64", reset=False) @ self.coef_.T + self.intercept_


@dataclass(kw_only=True, eq=False, repr=False)
class PlainClassifier(FewThreads, ClassifierMixin, Estimator):
    """A classifier that is found without a net."""

    def _learned(self, X: Any, y: Any, sample_weight: Any, *, dtype: str = "float64") -> Learned:
        """Checked rows, those of weight 0 left out; learns `classes_`."""
        self._check_parameters()
        x = check.table(self, X, dtype=dtype, reset=True)
        y = check.target(type(self).__name__, y, len(x), numeric=False, columns=False)
        weight = check.weights(sample_weight, len(x))
        if weight is not None and not weight.all():
            x, y, weight = (part[weight > 0] for part in (x, y, weight))
        self.classes_, _ = learn_classes(type(self).__name__, y)
        return Learned(x, encode_labels(y, self.classes_), weight)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy; a class never seen in fit counts as wrong, with a warning."""
        check_is_fitted(self)
        warn_unseen(y, self.classes_)
        return float(super().score(X, check.plain(y), check.plain(sample_weight)))


@dataclass(kw_only=True, eq=False, repr=False)
class PlaneClassifier(_Planes, PlainClassifier):
    """Raw outputs x·w + b: of the second of two classes, or one a class. Learned: coef_ (R, D), intercept_ (R,)."""

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """The raw output of the second class, above 0 where it is meant: (n,); for more classes of each: (n, K)."""
        check_is_fitted(self)
        raw = check.table(self, X, dtype="float64", reset=False) @ self.coef_.T + self.intercept_
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
        likelihood = likelihoods.Bernoulli() if len(self.classes_) == 2 else likelihoods.Categorical()
        return likelihood.probabilities(torch.from_numpy(raw.reshape(len(raw), -1))).numpy()


def in_parts(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """f of the rows, some at a time: what f makes on the way is never as large as x (n, D)."""
    step = max(1, PART // x.shape[1])
    first = f(x[:step])
    if len(x) <= step:
        return first
    found = np.empty((len(x), *first.shape[1:]), dtype=first.dtype)
    found[:step] = first
    for low in range(step, len(x), step):
        found[low : low + step] = f(x[low : low + step])
    return found
