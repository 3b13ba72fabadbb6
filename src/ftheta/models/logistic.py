"""Logistic regression: linear log-odds by maximum likelihood, with the statistics of its coefficients.

    p(k | x) ∝ exp(x·w_k + b_k),    minimised:  Σ_i v_i (-log p(y_i | x_i)) / Σ_i v_i + l2 Σ w² + l1 Σ |w|

Newton's method for few parameters, L-BFGS for many (`_logistic_solvers.py`); both standardise the columns inside.

Shapes: n rows, D features, R raw outputs (1 for two classes, K for K > 2), P = R (D + 1) parameters.
Reference: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 4.4; Albert and
Anderson, On the Existence of Maximum Likelihood Estimates in Logistic Regression Models, Biometrika 71 (1984).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from .. import check, likelihoods
from ..check import Count, NonNegative, Positive
from ..data import TargetSpec
from ..errors import InputError
from ..likelihoods import Categorical, Likelihood
from ..store import Tree
from ..train import Callback, Context, iterate, threads, threads_for
from ._logistic_separated import no_maximum
from ._logistic_solvers import MOST_FOR_NEWTON, Orthant, QuasiNewton
from ._plain import KeepsRows, Learned, LinearClassifier, whole
from ._rows import class_weights
from ._softmax import Softmax, curved, ridge, scaled_solve, standards
from ._supervised import encode_labels

if TYPE_CHECKING:
    from ._logistic_summary import LogisticSummary

__all__ = ["LogisticRegression", "Newton"]

SEPARATED = 1e-3  # l2 where the classes can be separated and none was asked for
NEWTON_CAP = 5000  # parameters beyond which a Hessian is refused
TOLERANCES = {"newton": 1e-8, "lbfgs": 1e-4}
SEPARABLE = (
    "Planes separate the classes, so the likelihood has no maximum: the weights would grow without end. l2=1e-3 is "
    "used in place of l2=0; give l2 or l1 to choose yourself, or leave out the columns that tell the classes apart."
)


class Newton:
    """Newton's method for a linear map into a likelihood, as a process: one step is one round.

    θ <- θ - α H⁻¹ g,   g = Xᵀ ∂nll,   H = Σ v (x xᵀ ⊗ curvature),   α halved until the loss falls
    """

    def __init__(self, x: Tensor, y: Tensor, weight: Tensor, likelihood: Likelihood, n_raw: int, l2: float) -> None:
        self.y, self.weight, self.likelihood = y, weight / weight.sum(), likelihood
        self.mean, self.scale = standards(x, self.weight, l2)  # so that units do not matter
        self.x = torch.empty(len(x), x.shape[1] + 1, dtype=x.dtype)  # (n, D + 1); last: b
        torch.sub(x, self.mean, out=self.x[:, :-1]).div_(self.scale)
        self.x[:, -1] = 1.0
        self.theta = x.new_zeros(n_raw, self.x.shape[1])  # (R, D + 1)
        self.ridge = ridge(self.scale, l2).expand_as(self.theta)
        self.rounds, self.reason = 0, ""

    def coefficients(self) -> tuple[Tensor, Tensor]:
        """w (R, D) and b (R,) in the units of x."""
        w = self.theta[:, :-1] / self.scale
        return w, self.theta[:, -1] - self.theta[:, :-1] @ (self.mean / self.scale)

    def loss(self, theta: Tensor) -> Tensor:
        """Mean negative log-likelihood plus the penalty."""
        return self.weight @ self.likelihood.nll(self.x @ theta.T, self.y) + (self.ridge * theta.square()).sum() / 2

    def gradient(self) -> Tensor:
        """∂loss/∂θ: (R, D + 1)."""
        raw = (self.x @ self.theta.T).requires_grad_()
        slope = torch.autograd.grad(self.weight @ self.likelihood.nll(raw, self.y), raw)[0]  # (n, R)
        return slope.T @ self.x + self.ridge * self.theta

    def hessian(self) -> Tensor:
        """Σ v (curvature ⊗ x xᵀ) + ridge: (P, P)."""
        curvature = self.likelihood.curvature(self.x @ self.theta.T)  # (n, R, R)
        return curved(self.x, self.weight[:, None, None] * curvature) + torch.diag(self.ridge.flatten())

    def _direction(self, g: Tensor) -> Tensor:
        h = self.hessian()
        if isinstance(self.likelihood, Categorical):  # a constant added to all classes changes nothing: hold it
            blocks = h.view(*g.shape, *g.shape).diagonal(dim1=1, dim2=3)  # (R, R, D + 1)
            blocks += h.diagonal().view_as(g).mean(0)
        return scaled_solve(h, g.flatten()).view_as(g)

    def advance(self) -> dict[str, float]:
        """One damped Newton step."""
        before = self.gradient()
        step = self._direction(before)
        old, rate = self.loss(self.theta), 1.0
        most = old + 1e-14 * old.abs()  # what rounding may add where the step is tiny
        while self.loss(self.theta - rate * step) > most and rate > 1e-10:
            rate /= 2
        self.theta = self.theta - rate * step if rate > 1e-10 else self.theta
        self.rounds, new, slope = self.rounds + 1, self.loss(self.theta), self.gradient().abs().max()
        if new >= old and slope >= before.abs().max():
            self.reason = "neither the loss nor its gradient falls any more"
        return {"step": self.rounds, "loss": float(new), "gradient": float(slope)}

    def state_dict(self) -> Tree:
        """θ and the count of steps."""
        return {"theta": self.theta, "rounds": self.rounds}

    def load_state_dict(self, tree: Tree) -> None:
        """Put them back."""
        self.theta, self.rounds, self.reason = tree["theta"], tree["rounds"], ""


def _not_converged(row: Mapping[str, float], max_iter: int, solver: str, reason: str) -> str:
    name = "Newton" if solver == "newton" else "L-BFGS"
    why = f" ({reason})" if reason else ""
    return (
        f"The gradient is still {row['gradient']:.2g} after {row['step']:.0f} of {max_iter} {name} steps{why}. "
        "Raise max_iter or tol, or give l2 > 0: without it classes that can be separated have no best weights."
    )


class _Converged(Callback):
    """Stops when the gradient is small."""

    def __init__(self, tol: float) -> None:
        self.tol = tol

    def on_row(self, ctx: Context, row: Mapping[str, float]) -> None:
        if row["gradient"] <= self.tol:
            ctx.stop("converged")


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(KeepsRows, LinearClassifier):
    """Linear log-odds by maximum likelihood, penalised or not; two classes or more.

    Classes that planes can separate have no maximum of the likelihood: with l1 = l2 = 0 a warning says so, and
    l2 = 1e-3 is used in its place (`l2_`).

    Args:
        l2: Weight of Σ w² beside the mean loss; scikit-learn's C is 1 / (2 l2 n).
        l1: Weight of Σ |w|; it makes coefficients exactly 0.
        class_weight: Weights of the classes, or "balanced".
        solver: "newton", best for few parameters; "lbfgs", for many; "auto" chooses.
        max_iter: Steps at most.
        tol: Stop when no component of the gradient by standardised weights is larger (with l1: of the subgradient of
            least norm); None is 1e-8 for Newton, whose last steps cost little, and 1e-4 for L-BFGS.

    Example:
        >>> model = LogisticRegression().fit([[0.0], [1], [2], [3]], ["no", "no", "yes", "yes"])
        >>> model.predict([[0.5], [2.5]])
        array(['no', 'yes'], dtype='<U3')
    """

    l2: NonNegative = 1e-3
    l1: NonNegative = 0.0
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    solver: Literal["auto", "newton", "lbfgs"] = "auto"
    max_iter: Count = 1000
    tol: Positive | None = None

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Maximise the penalised likelihood."""
        with whole(self):
            return self._fitted(X, y, sample_weight)

    def _fitted(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Self:
        rows = self._learned(X, y, sample_weight)
        rows = rows._replace(weight=self._weights(rows.y, rows.weight))
        solver, self.l2_ = self._chosen(rows.x.shape[1]), self.l2
        with threads(threads_for(rows.x.size) if solver == "newton" else 1):  # thin products gain nothing by two
            process = self._solved(rows, solver)
            if not self.l1 and not self.l2 and self._separated(process, rows):
                warnings.warn(SEPARABLE, ConvergenceWarning, stacklevel=4)
                self.l2_ = SEPARATED
                process = self._solved(rows, solver)
        if self.history_[-1]["gradient"] > self._tolerance(solver):
            said = _not_converged(self.history_[-1], self.max_iter, solver, process.reason)
            warnings.warn(said, ConvergenceWarning, stacklevel=4)
        w, b = (part.numpy() for part in process.coefficients())  # (R, D), (R,)
        # a constant added to all classes changes nothing but Σ |w|
        self.coef_ = w - w.mean(0) if len(w) > 1 and not self.l1 else w
        self.intercept_ = b - b.mean() if len(b) > 1 else b
        self._kept = rows
        return self

    def _chosen(self, features: int) -> Literal["newton", "lbfgs"]:
        k = len(self.classes_)
        size = (k if k > 2 else 1) * (features + 1)
        if self.solver == "newton" and size > NEWTON_CAP:
            raise InputError(
                f"solver='newton' would solve for a matrix of {size:,} x {size:,} numbers in every step; at most "
                f"{NEWTON_CAP:,} parameters are taken. Use solver='lbfgs'."
            )
        if self.solver == "auto":
            return "newton" if size <= MOST_FOR_NEWTON else "lbfgs"
        return self.solver

    def _tolerance(self, solver: str) -> float:
        return TOLERANCES[solver] if self.tol is None else self.tol

    def _solved(self, rows: Learned, solver: str) -> Newton | QuasiNewton | Orthant:
        """The process at its end; learns `history_` and `n_iter_`."""
        tol, process = self._tolerance(solver), self._process(rows, solver)
        self.history_ = iterate(process, rounds=self.max_iter, callbacks=[_Converged(tol)])
        self.n_iter_ = len(self.history_)
        return process

    def _separated(self, process: Newton | QuasiNewton | Orthant, rows: Learned) -> bool:
        """Whether the likelihood has no maximum."""
        w, b = process.coefficients()
        model = Softmax(*_tensors(rows), len(b), 0.0)
        return no_maximum(model, model.standardised(w, b), self.history_[-1]["gradient"])

    def _process(self, rows: Learned, solver: str) -> Newton | QuasiNewton | Orthant:
        x, index, weight = _tensors(rows)
        k = len(self.classes_)
        spec = TargetSpec("binary") if k == 2 else TargetSpec("multiclass", k)
        likelihood = likelihoods.for_task(spec)
        if solver == "newton" and not self.l1:
            target = index if k > 2 else index.double()
            return Newton(x, target, weight, likelihood, likelihood.n_raw(spec), self.l2_)
        model, tol = Softmax(x, index, weight, likelihood.n_raw(spec), self.l2_), self._tolerance(solver)
        return Orthant(model, tol, self.l1, newton=solver == "newton") if self.l1 else QuasiNewton(model, tol)

    def _weights(self, index: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        counts = np.bincount(index, weights=weight, minlength=len(self.classes_))
        scale = class_weights(self.class_weight, self.classes_, counts)
        if not scale.all():
            raise InputError(
                f"class_weight gives class {self.classes_[scale == 0].tolist()[0]!r} the weight 0: its log-odds would "
                "fall without end. Leave its rows out, or give it a weight above 0."
            )
        with np.errstate(over="ignore"):
            each = scale[index] if weight is None else weight * scale[index]
            if not np.isfinite(each.sum()):
                raise InputError("The weights add up to more than float64 can hold. Divide all of them by the largest.")
        return each

    @property
    def summary_(self) -> LogisticSummary:
        """Standard errors, tests and fit of the rows it was fitted to."""
        return self._summarised(self._rows_of_fit())

    def summarise(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LogisticSummary:
        """The summary for the rows it was fitted to, passed again: after loading from a file."""
        check_is_fitted(self)
        x = check.table(self, X, dtype="float64", reset=False)
        y = check.target(type(self).__name__, y, len(x), numeric=False, columns=False)
        weight = check.weights(sample_weight, len(x))
        if weight is not None:
            x, y, weight = (part[weight > 0] for part in (x, y, weight))
        index = encode_labels(y, self.classes_)
        rows = Learned(x, index, self._weights(index, weight))
        solver = self._chosen(x.shape[1])
        w, b = (torch.from_numpy(part) for part in (self.coef_, self.intercept_))
        apart = _slope(_tensors(rows), w, b, self.l2_, self.l1)
        if not apart <= 100 * max(self._tolerance(solver), self.history_[-1]["gradient"]):
            raise InputError(
                f"These rows are not those of the fit: there the gradient of the loss is {apart:.2g}, not 0. Pass the "
                "rows and weights that the model was fitted to, or fit it again."
            )
        return self._summarised(rows)

    def _summarised(self, rows: Learned) -> LogisticSummary:
        from ._logistic_summary import summarise

        names = list(getattr(self, "feature_names_in_", (f"x{j}" for j in range(rows.x.shape[1]))))
        theta = np.c_[self.intercept_, self.coef_]
        theta = theta[1:] - theta[0] if len(theta) > 1 else theta  # (K - 1, D + 1), against the first class
        weight = np.ones(len(rows.x)) if rows.weight is None else rows.weight
        return summarise(rows.x, rows.y, weight, names, self.classes_.tolist(), theta, l1=self.l1, l2=self.l2_)


def _tensors(rows: Learned) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, class indices and weights, not copied where torch can take them as they are."""
    return tuple(torch.from_numpy(a if a.flags.writeable else a.copy()) for a in rows)  # type: ignore[return-value]


def _slope(rows: tuple[Tensor, Tensor, Tensor], w: Tensor, b: Tensor, l2: float, l1: float) -> float:
    """The largest component of the gradient, by standardised weights, at w (R, D) and b (R,)."""
    model = Softmax(*rows, len(w), l2)
    theta = model.standardised(w, b)
    process = Orthant(model, 1.0, l1, newton=True)
    return float(process.residual(process.at(theta))[1].abs().max())
