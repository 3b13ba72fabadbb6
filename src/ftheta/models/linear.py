"""Linear models: least squares in closed form, and logistic regression by Newton's method.

    regress:   ŷ = x·w + b,        (w, b) = argmin Σ_i v_i (y_i - x_i·w - b)²
    classify:  p(k | x) ∝ exp(x·w_k + b_k),    minimised:  Σ_i v_i (-log p(y_i | x_i)) / Σ_i v_i + l2 Σ w²

Shapes: n rows, D features, T targets, R raw outputs (1 for two classes, K for K > 2), P = R (D + 1) parameters.
Reference: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), sections 3.2 and 4.4.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import scipy.linalg
import torch
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from .. import check, likelihoods
from ..base import Estimator
from ..check import Count, NonNegative, Positive
from ..errors import InputError
from ..likelihoods import Likelihood
from ..store import Tree
from ..train import Callback, Context, iterate
from . import _script_nets
from ._export import Source
from ._rows import class_weights
from ._script import filled
from ._supervised import encode_labels, learn_classes, warn_unseen

__all__ = ["LinearRegression", "LogisticRegression", "Newton", "least_squares"]


def least_squares(x: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Minimum-norm least squares with an intercept: (n, D), (n, T) -> w (D, T), b (T,).

    Columns are centred first and the decomposition is of X itself, not of XᵀX, whose condition number is squared.
    """
    x_mean, y_mean = np.average(x, axis=0, weights=weight), np.average(y, axis=0, weights=weight)
    x_mean = x_mean + np.average(x - x_mean, axis=0, weights=weight)  # what the first pass lost
    root = 1.0 if weight is None else np.sqrt(weight)[:, None]
    size = np.linalg.norm((x - x_mean) * root, axis=0)
    size = np.where(size > np.finfo(float).eps * np.sqrt(len(x)) * np.maximum(np.abs(x_mean), 1e-300), size, 1.0)
    w = _solve((x - x_mean) / size * root, (y - y_mean) * root) / size[:, None]
    return w, y_mean - x_mean @ w


def _solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Minimum-norm solution of a w = b; what is below rounding counts as rank deficiency."""
    solution: Any = scipy.linalg.lstsq(a, b, cond=max(a.shape) * np.finfo(float).eps, lapack_driver="gelsd")
    return solution[0]


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(RegressorMixin, Estimator):
    """Ordinary least squares in closed form; the minimum-norm solution where it is not unique.

    Args:
        fit_intercept: Learn b; else b = 0.

    Example:
        >>> model = LinearRegression().fit([[0], [1], [2], [3]], [1, 3, 2, 5])
        >>> model.coef_.round(6), round(float(model.intercept_), 6)
        (array([1.1]), 1.1)
    """

    fit_intercept: bool = True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Solve the least-squares problem."""
        self._check_parameters()
        x = check.table(self, X, dtype="float64", reset=True)
        y = check.target(type(self).__name__, y, len(x), numeric=True, columns=True)
        weight = check.weights(sample_weight, len(x))
        columns = y.reshape(len(x), -1)
        if self.fit_intercept:
            w, b = least_squares(x, columns, weight)
        else:
            root = 1.0 if weight is None else np.sqrt(weight)[:, None]
            w, b = _solve(x * root, columns * root), np.zeros(columns.shape[1])
        self.coef_, self.intercept_ = (w.T, b) if y.ndim == 2 else (w[:, 0], b[0])  # (T, D), (T,) or (D,), ()
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """x·w + b of each row: (n,) or (n, T)."""
        check_is_fitted(self)
        return check.table(self, X, dtype="float64", reset=False) @ self.coef_.T + self.intercept_

    def source(self) -> Source:
        """The net and its training as plain PyTorch; for one target."""
        check_is_fitted(self)
        if self.coef_.ndim > 1:
            raise InputError(
                f"LinearRegression was fitted to {len(self.coef_)} targets; a script is written for one. Fit one each."
            )
        train = _script_nets.LEAST_SQUARES if self.fit_intercept else _script_nets.LEAST_SQUARES_THROUGH_0
        return _source(self.coef_[None], np.reshape(self.intercept_, 1), "Gaussian", train)


def _source(w: np.ndarray, b: np.ndarray, likelihood: str, train: str) -> Source:
    """w (R, D) and b (R,) as a net."""
    net = filled(_script_nets.LINEAR, inputs=w.shape[1], outputs=w.shape[0])
    weights = {"linear.weight": torch.from_numpy(w), "linear.bias": torch.from_numpy(b)}
    return Source(net, weights, likelihood, train, "float64")


class Newton:
    """Newton's method for a linear map into a likelihood, as a process: one step is one round.

    θ <- θ - α H⁻¹ g,   g = Xᵀ ∂nll,   H = Σ v (x xᵀ ⊗ curvature),   α halved until the loss falls
    """

    def __init__(self, x: Tensor, y: Tensor, weight: Tensor, likelihood: Likelihood, n_raw: int, l2: float) -> None:
        self.y, self.weight, self.likelihood = y, weight / weight.sum(), likelihood
        self.mean = self.weight @ x  # columns are standardised inside, so that their units do not matter
        scale = (self.weight @ (x - self.mean).square()).sqrt()
        self.scale = torch.where(scale > 1e-12 * x.abs().amax(0), scale, 1.0)
        self.x = torch.cat([(x - self.mean) / self.scale, torch.ones_like(x[:, :1])], 1)  # (n, D + 1); last: b
        self.theta = x.new_zeros(n_raw, self.x.shape[1])  # (R, D + 1)
        self.ridge = torch.cat([2 * l2 / self.scale.square(), x.new_zeros(1)]).expand_as(self.theta)  # of w, not b
        self.rounds = 0

    def coefficients(self) -> tuple[Tensor, Tensor]:
        """w (R, D) and b (R,) in the units of x."""
        w = self.theta[:, :-1] / self.scale
        return w, self.theta[:, -1] - w @ self.mean

    def loss(self, theta: Tensor) -> Tensor:
        """Mean negative log-likelihood plus the penalty."""
        return self.weight @ self.likelihood.nll(self.x @ theta.T, self.y) + (self.ridge * theta.square()).sum() / 2

    def gradient(self) -> Tensor:
        """∂loss/∂θ: (R, D + 1)."""
        theta = self.theta.clone().requires_grad_()
        return torch.autograd.grad(self.loss(theta), theta)[0]

    def hessian(self) -> Tensor:
        """Σ v (curvature ⊗ x xᵀ) + ridge: (P, P)."""
        curvature = self.likelihood.curvature(self.x @ self.theta.T)  # (n, R, R)
        h = torch.einsum("n,nrs,nd,ne->rdse", self.weight, curvature, self.x, self.x)
        return h.reshape(self.theta.numel(), -1) + torch.diag(self.ridge.flatten())

    def advance(self) -> dict[str, float]:
        """One damped Newton step."""
        g = self.gradient()
        h = self.hessian()
        jitter = 1e-12 * h.diagonal().max() * torch.eye(len(h), dtype=h.dtype)
        step = torch.linalg.lstsq(h + jitter, g.flatten(), driver="gelsd").solution.reshape(g.shape)
        old, rate = self.loss(self.theta), 1.0
        most = old + 1e-14 * old.abs()  # what rounding may add where the step is tiny
        while self.loss(self.theta - rate * step) > most and rate > 1e-10:
            rate /= 2
        self.theta = self.theta - rate * step if rate > 1e-10 else self.theta
        self.rounds += 1
        return {
            "step": self.rounds,
            "loss": float(self.loss(self.theta)),
            "gradient": float(self.gradient().abs().max()),
        }

    def state_dict(self) -> Tree:
        """θ and the count of steps."""
        return {"theta": self.theta, "rounds": self.rounds}

    def load_state_dict(self, tree: Tree) -> None:
        """Put them back."""
        self.theta, self.rounds = tree["theta"], tree["rounds"]


def _not_converged(row: Mapping[str, float], max_iter: int) -> str:
    return (
        f"The gradient is still {row['gradient']:.2g} after {row['step']:.0f} of {max_iter} Newton steps. "
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
class LogisticRegression(ClassifierMixin, Estimator):
    """Linear log-odds, fitted by Newton's method; two classes or more.

    Args:
        l2: Weight of Σ w² beside the mean loss; scikit-learn's C is 1 / (2 l2 n).
        class_weight: Weights of the classes, or "balanced".
        max_iter: Newton steps at most.
        tol: Stop when no component of the gradient is larger.

    Example:
        >>> model = LogisticRegression().fit([[0.0], [1], [2], [3]], ["no", "no", "yes", "yes"])
        >>> model.predict([[0.5], [2.5]])
        array(['no', 'yes'], dtype='<U3')
    """

    l2: NonNegative = 1e-3
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    max_iter: Count = 100
    tol: Positive = 1e-8

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Maximise the penalised likelihood."""
        self._check_parameters()
        x = check.table(self, X, dtype="float64", reset=True)
        y = check.target(type(self).__name__, y, len(x), numeric=False, columns=False)
        weight = check.weights(sample_weight, len(x))
        kept = slice(None) if weight is None else weight > 0
        self.classes_, spec = learn_classes(type(self).__name__, y[kept])
        index = encode_labels(y[kept], self.classes_)
        weight = self._weights(index, None if weight is None else weight[kept])
        likelihood = likelihoods.for_task(spec)
        target = torch.from_numpy(index if spec.kind == "multiclass" else index.astype(np.float64))
        process = Newton(
            torch.from_numpy(x[kept].copy()),
            target,
            torch.from_numpy(weight),
            likelihood,
            likelihood.n_raw(spec),
            self.l2,
        )
        self.history_ = iterate(process, rounds=self.max_iter, callbacks=[_Converged(self.tol)])
        self.n_iter_ = len(self.history_)
        if self.history_[-1]["gradient"] > self.tol:
            warnings.warn(_not_converged(self.history_[-1], self.max_iter), ConvergenceWarning, stacklevel=2)
        parts = [part.numpy() for part in process.coefficients()]  # (R, D), (R,)
        # a constant added to all classes changes nothing
        self.coef_, self.intercept_ = (p - p.mean(0) if len(p) > 1 else p for p in parts)
        return self

    def _weights(self, index: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        counts = np.bincount(index, weights=weight, minlength=len(self.classes_))
        scale = class_weights(self.class_weight, self.classes_, counts)
        return scale[index] if weight is None else weight * scale[index]

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Log-odds of the second class: (n,); for more classes their raw outputs: (n, K)."""
        check_is_fitted(self)
        raw = check.table(self, X, dtype="float64", reset=False) @ self.coef_.T + self.intercept_
        return raw[:, 0] if len(self.classes_) == 2 else raw

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """The probability of each class: (n, K)."""
        raw = self.decision_function(X)
        likelihood = likelihoods.Bernoulli() if len(self.classes_) == 2 else likelihoods.Categorical()
        return likelihood.probabilities(torch.from_numpy(raw.reshape(len(raw), -1))).numpy()

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The most probable class: (n,)."""
        raw = self.decision_function(X)
        return self.classes_[(raw > 0).astype(int) if raw.ndim == 1 else raw.argmax(1)]

    def source(self) -> Source:
        """The net and its training as plain PyTorch."""
        check_is_fitted(self)
        two = len(self.classes_) == 2
        train = filled(
            _script_nets.NEWTON,
            **{"steps": self.max_iter, "tolerance": self.tol, "l2": self.l2, "outputs": len(self.coef_)},
            weight=self._written_weights(),
            law="Bernoulli(logits=raw[:, 0])" if two else "Categorical(logits=raw)",
            p=f"(x @ theta.T).{'sigmoid()' if two else 'softmax(1)'}",
            centre="" if two else _script_nets.CENTRE,
        )
        return _source(self.coef_, self.intercept_, "Bernoulli" if two else "Categorical", train)

    def _written_weights(self) -> str:
        if self.class_weight is None:
            return "torch.ones_like(target, dtype=DTYPE)"
        if self.class_weight == "balanced":
            return "1 / target.long().bincount().to(DTYPE)[target.long()]"
        given = class_weights(self.class_weight, self.classes_, np.ones(len(self.classes_))).tolist()
        return f"torch.tensor({given}, dtype=DTYPE)[target.long()]"

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy; a class never seen in fit counts as wrong, with a warning."""
        check_is_fitted(self)
        warn_unseen(y, self.classes_)
        return float(super().score(X, check.plain(y), check.plain(sample_weight)))
