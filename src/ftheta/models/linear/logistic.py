"""Logistic regression: linear log-odds by maximum likelihood, with the statistics of its coefficients.

    p(k | x) ∝ exp(x·w_k + b_k),     minimized:  Σ_i v_i (-log p(y_i | x_i)) / Σ_i v_i + l2 Σ w² + l1 Σ |w|

Newton's method for few parameters, L-BFGS for many and with l1 (`logistic_solvers.py`); both standardize the columns.
Shapes: n rows, D features, K classes, R raw outputs (1 for two classes, K for more), θ (R, D + 1) with b last.
References: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 4.4; Albert and
Anderson, On the Existence of Maximum Likelihood Estimates in Logistic Regression Models, Biometrika 71 (1984).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from ... import check
from ...check import Count, NonNegative, Positive
from ...errors import InputError
from ...tasks import class_weights, encode_labels
from ...train import iterate
from .base import KeepsRows, LinearClassifier, Rows, feature_names, restored_on_error
from .logistic_solvers import ENDLESS, LogisticNewton, LogisticProblem, minimize_l1, minimize_smooth

if TYPE_CHECKING:
    from .logistic_summary import LogisticSummary

__all__ = ["LogisticRegression"]

MAX_NEWTON_PARAMETERS = 300  # up to which a Hessian is cheaper than more steps without it
SEPARATED = 1e-3  # l2 where the classes can be separated and none was given
SEPARABLE = (
    "Planes separate the classes, so the likelihood has no maximum: the weights would grow without end. l2=1e-3 is "
    "used in place of l2=0; give l2 or l1 to choose yourself, or leave out the columns that tell the classes apart."
)


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(KeepsRows, LinearClassifier):
    """Linear log-odds by maximum likelihood, penalized or not; two classes or more.

    Classes that planes can separate have no maximum of the likelihood: with l1 = l2 = 0 a warning says so, and
    l2 = 1e-3 is used in its place (`l2_`).

    Args:
        l2: Weight of Σ w² beside the mean loss; scikit-learn's C is 1 / (2 l2 n).
        l1: Weight of Σ |w|; it makes coefficients exactly 0.
        class_weight: Weights of the classes, or "balanced".
        max_iter: Steps at most.
        tol: Stop when no component of the gradient by standardized weights is larger.

    Example:
        >>> model = LogisticRegression().fit([[0.0], [1], [2], [3]], ["no", "no", "yes", "yes"])
        >>> model.predict([[0.5], [2.5]])
        array(['no', 'yes'], dtype='<U3')
    """

    l2: NonNegative = 1e-3
    l1: NonNegative = 0.0
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    max_iter: Count = 1000
    tol: Positive = 1e-6

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Maximize the penalized likelihood."""
        with restored_on_error(self):
            rows = self._learned(X, y, sample_weight)
            rows = rows._replace(weight=self._weights(rows.y, rows.weight))
            self.l2_ = self.l2
            problem, theta, endless = self._solved(rows)
            if not self.l1 and not self.l2 and endless:
                warnings.warn(SEPARABLE, ConvergenceWarning, stacklevel=3)
                self.l2_ = SEPARATED
                problem, theta, _ = self._solved(rows)
            last = self.history_[-1] if self.history_ else {"gradient": 0.0, "step": 0}
            self.n_iter_ = max(1, len(self.history_))
            if last["gradient"] > 10 * self.tol:
                message = f"The gradient is still {last['gradient']:.2g} after {last['step']:.0f} of {self.max_iter} "
                message += f"steps, and tol is {self.tol:g}. Raise max_iter, tol, l1 or l2."
                warnings.warn(message, ConvergenceWarning, stacklevel=3)
            w, b = problem.coefficients(theta)
            # a constant added to all classes changes nothing but Σ |w|
            self.coef_ = w - w.mean(0) if len(w) > 1 and not self.l1 else w
            self.intercept_ = b - b.mean() if len(b) > 1 else b
            self._kept = rows.copied()
        return self

    def _solved(self, rows: Rows) -> tuple[LogisticProblem, np.ndarray, bool]:
        """The problem, its θ, and whether it would grow without end; learns `history_`."""
        problem, jump = self._problem(rows), 0.0
        if self.l1:
            theta, self.history_ = minimize_l1(problem, self.l1, self.max_iter, self.tol)
        elif problem.outputs * problem.x.shape[1] > MAX_NEWTON_PARAMETERS:
            theta, self.history_ = minimize_smooth(problem, self.max_iter, self.tol)
        else:
            newton = LogisticNewton(problem, self.tol)
            self.history_ = iterate(newton, rounds=self.max_iter)
            theta, jump = newton.theta, newton.jump * (newton.reason == "converged")
        return problem, theta, jump > ENDLESS or problem.margin(theta) > 0

    def _problem(self, rows: Rows) -> LogisticProblem:
        k, weight = len(self.classes_), np.asarray(rows.weight)
        return LogisticProblem(rows.x, rows.y, weight / weight.sum(), 1 if k == 2 else k, self.l2_)

    def _weights(self, index: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """Row weights times class weights (n,)."""
        counts = np.bincount(index, weights=weight, minlength=len(self.classes_))
        scale = class_weights(self.class_weight, self.classes_, counts)
        if not scale.all():
            raise InputError(
                f"class_weight gives class {self.classes_[scale == 0].tolist()[0]!r} the weight 0: its log-odds would "
                "fall without end. Leave its rows out, or give it a weight above 0."
            )
        return scale[index] * (1.0 if weight is None else weight)

    @property
    def summary_(self) -> LogisticSummary:
        """Standard errors, tests and fit of the rows it was fitted to."""
        return self._summarized(self._rows_of_fit())

    def summarize(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LogisticSummary:
        """The summary for the rows it was fitted to, passed again: after loading from a file."""
        x = self._table(X)
        y = check.target(type(self).__name__, y, len(x), numeric=False, columns=False)
        rows = Rows(x, y, check.weights(sample_weight, len(x))).counted()
        index = encode_labels(rows.y, self.classes_)
        return self._summarized(rows._replace(y=index, weight=self._weights(index, rows.weight)))

    def _summarized(self, rows: Rows) -> LogisticSummary:
        from .logistic_summary import summarize

        self._check_same(rows)
        theta = np.c_[self.intercept_, self.coef_]
        theta = theta[1:] - theta[0] if len(theta) > 1 else theta  # (K - 1, D + 1), against the first class
        x, y, weight = rows.x, rows.y, np.asarray(rows.weight)
        return summarize(x, y, weight, feature_names(self), self.classes_.tolist(), theta, l1=self.l1, l2=self.l2_)

    def _check_same(self, rows: Rows) -> None:
        """Refuse rows at which the fitted coefficients are not a minimum."""
        problem = self._problem(rows)
        scale = np.where(np.isfinite(problem.scale), problem.scale, 0.0)
        theta = np.c_[self.coef_ * scale, self.intercept_ + self.coef_ @ problem.mean]
        g, pull = problem.value(theta)[1], np.append(self.l1 / problem.scale, 0.0)
        g = np.where(theta == 0, np.maximum(np.abs(g) - pull, 0), np.abs(g + pull * np.sign(theta)))
        limit = 100 * max(self.tol, self.history_[-1]["gradient"] if self.history_ else 0.0)
        if not g.max() <= limit:
            raise InputError(
                f"These rows are not those of the fit: there the gradient of the loss is {g.max():.2g}, not 0. Pass "
                "the rows and weights that the model was fitted to, or fit it again."
            )
