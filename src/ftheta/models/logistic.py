"""Logistic regression: linear log-odds by maximum likelihood, with Newton's method.

    p(k | x) ∝ exp(x·w_k + b_k),    minimised:  Σ_i v_i (-log p(y_i | x_i)) / Σ_i v_i + l2 Σ w²

Shapes: n rows, D features, R raw outputs (1 for two classes, K for K > 2), P = R (D + 1) parameters.
Reference: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 4.4.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from .. import likelihoods
from ..check import Count, NonNegative, Positive
from ..data import TargetSpec
from ..likelihoods import Likelihood
from ..store import Tree
from ..train import Callback, Context, iterate
from . import _script_nets
from ._export import Source
from ._plain import LinearClassifier, linear_source
from ._rows import class_weights
from ._script import filled

__all__ = ["LogisticRegression", "Newton"]


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
class LogisticRegression(LinearClassifier):
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
        x, index, weight = self._learned(X, y, sample_weight)
        k = len(self.classes_)
        spec = TargetSpec("binary") if k == 2 else TargetSpec("multiclass", k)
        likelihood = likelihoods.for_task(spec)
        target = torch.from_numpy(index if k > 2 else index.astype(np.float64))
        weight = torch.from_numpy(self._weights(index, weight))
        process = Newton(torch.from_numpy(x.copy()), target, weight, likelihood, likelihood.n_raw(spec), self.l2)
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
        return linear_source(self.coef_, self.intercept_, "Bernoulli" if two else "Categorical", train)

    def _written_weights(self) -> str:
        if self.class_weight is None:
            return "torch.ones_like(target, dtype=DTYPE)"
        if self.class_weight == "balanced":
            return "1 / target.long().bincount().to(DTYPE)[target.long()]"
        given = class_weights(self.class_weight, self.classes_, np.ones(len(self.classes_))).tolist()
        return f"torch.tensor({given}, dtype=DTYPE)[target.long()]"
