"""Logistic regression: linear log-odds by maximum likelihood, with the statistics of its coefficients.

    p(k | x) ∝ exp(x·w_k + b_k),     minimized:  Σ_i v_i (-log p(y_i | x_i)) / Σ_i v_i + l2 Σ w² + l1 Σ |w|

Newton's method for few parameters, L-BFGS for many and with l1 (`logistic_solvers.py`); both standardize the columns.
Shapes: n rows, D features, K classes, R raw outputs (1 for two classes, K for more), θ (R, D + 1) with b last.
References: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 4.4; Albert and
Anderson, On the Existence of Maximum Likelihood Estimates in Logistic Regression Models, Biometrika 71 (1984).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning

from ...check import Count, NonNegative, Positive
from ...errors import InputError
from ...store import Run
from ...train import Callback
from .._base.rows import Data
from .base import Rows, SteppedClassifier, Summarized, feature_names
from .logistic_solvers import LogisticLBFGS, LogisticNewton, LogisticProblem, mean_loss

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
class LogisticRegression(Summarized, SteppedClassifier):
    """Linear log-odds by maximum likelihood, penalized or not; two classes or more.

    Classes that planes can separate have no maximum of the likelihood: with l1 = l2 = 0 a warning says so, and
    l2 = 1e-3 is used in its place (`l2_`). Learned: coef_ (R, D), intercept_ (R,), loss_, the mean of -log p(y | x).

    Args:
        l2: Weight of Σ w² beside the mean loss; scikit-learn's C is 1 / (2 l2 n).
        l1: Weight of Σ |w|; it makes coefficients exactly 0.
        class_weight: Weights of the classes, or "balanced".
        tol: Stop when no component of the gradient by standardized weights is larger.
        epochs: Steps at most.

    Example:
        >>> model = LogisticRegression().fit([[0.0], [1], [2], [3]], ["no", "no", "yes", "yes"])
        >>> model.predict([[0.5], [2.5]])
        array(['no', 'yes'], dtype='<U3')
    """

    l2: NonNegative = 1e-3
    l1: NonNegative = 0.0
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    tol: Positive = 1e-6
    epochs: Count = 1000

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        run: Run | Path | str | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Maximize the penalized likelihood."""
        return super().fit(X, y, sample_weight, run=run, callbacks=callbacks)

    def read(self, *args: Any, **named: Any) -> tuple[Data, Data | None]:
        """Rows to learn from, a copy of which the summary needs."""
        data, held = super().read(*args, **named)
        self._kept = self._rows(data).copied()
        return data, held

    def _rows(self, data: Data) -> Rows:
        weights = self.target_.facts.get("weights", np.ones(1))
        if not weights.all():
            raise InputError(
                f"class_weight gives class {self.classes_[weights == 0].tolist()[0]!r} the weight 0: its log-odds "
                "would fall without end. Leave its rows out, or give it a weight above 0."
            )
        rows = super()._rows(data)
        return rows if rows.weight is not None else rows._replace(weight=np.ones(len(rows.x)))

    def _problem(self, rows: Rows) -> LogisticProblem:
        k, weight = len(self.classes_), np.asarray(rows.weight)
        return LogisticProblem(rows.x, rows.y, weight / weight.sum(), 1 if k == 2 else k, self.l2)

    def process(self, data: Data, held: Data | None) -> LogisticNewton | LogisticLBFGS:
        """Newton's method, or L-BFGS."""
        problem = self._problem(self._rows(data))
        if self.l1 or problem.outputs * problem.x.shape[1] > MAX_NEWTON_PARAMETERS:
            process = LogisticLBFGS(problem, self.tol, 0.0 if self.l1 else SEPARATED, self.l1)
        else:
            process = LogisticNewton(problem, self.tol, SEPARATED)
        if held is not None:
            process.held = self._rows(held)
        if self.warm_start and hasattr(self, "coef_"):
            process.theta = problem.theta(self.coef_, self.intercept_)
        return process

    def finish(self, process: Any) -> None:
        """Coefficients in the units of x."""
        self.l2_, (w, b) = process.l2, process.problem.coefficients(process.theta)
        # a constant added to all classes changes nothing but Σ |w|
        self.coef_ = w - w.mean(0) if len(w) > 1 and not self.l1 else w
        self.intercept_ = b - b.mean() if len(b) > 1 else b
        self.loss_ = mean_loss(self.coef_, self.intercept_, *self._kept)
        if self.l2_ != self.l2:
            warnings.warn(SEPARABLE, ConvergenceWarning, stacklevel=6)
        last = self.history_[-1] if self.history_ else {"gradient": 0.0}
        if last["gradient"] > 10 * self.tol and self.stop_reason_ in ("rounds", "no step lowers the loss"):
            message = f"The gradient is still {last['gradient']:.2g} after {last['step']:.0f} of {self.epochs} "
            message += f"steps, and tol is {self.tol:g}. Raise epochs, tol, l1 or l2."
            warnings.warn(message, ConvergenceWarning, stacklevel=6)

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """The probability of each class: (n, K)."""
        raw = self.decision_function(X)
        return softmax(raw, axis=1) if raw.ndim == 2 else np.stack([expit(-raw), expit(raw)], 1)

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Logarithms of `predict_proba`, also where those are too small for a float: (n, K)."""
        raw = self.decision_function(X)
        return log_softmax(raw, axis=1) if raw.ndim == 2 else np.stack([log_expit(-raw), log_expit(raw)], 1)

    def summarize(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LogisticSummary:
        """The summary for the rows it was fitted to, passed again: after loading from a file."""
        return self._summarized(self._rows(self.checked(X, y, sample_weight, train=True)))

    def _summarized(self, rows: Rows) -> LogisticSummary:
        from .logistic_summary import summarize

        loss = mean_loss(self.coef_, self.intercept_, *rows)
        if not abs(loss - self.loss_) <= 1e-6 * (1e-3 + self.loss_):
            raise InputError(
                f"These rows are not those of the fit: their loss is {loss:.4g}, and that of the fit was "
                f"{self.loss_:.4g}. Pass the rows and weights that the model was fitted to, or fit it again."
            )
        theta = np.c_[self.intercept_, self.coef_]
        theta = theta[1:] - theta[0] if len(theta) > 1 else theta  # (K - 1, D + 1), against the first class
        x, y, weight = rows.x, rows.y, np.asarray(rows.weight)
        return summarize(x, y, weight, feature_names(self), self.classes_.tolist(), theta, l1=self.l1, l2=self.l2_)
