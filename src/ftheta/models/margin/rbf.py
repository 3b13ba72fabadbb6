"""Radial basis function networks: a weighted sum of bumps around centers.

    f(x) = Σ_j w_j φ(‖x - c_j‖ / s_j) + b        gaussian: φ(r) = exp(-r²), inverse-multiquadric: φ(r) = 1 / √(1 + r²)

    kmeans, random    centers are the means of clusters, or rows; w minimizes mean (y - f)² + l2 ‖w‖², or log loss
    all               a center at every row and no b: (G + λ I) w = y, which minimizes Σ (y - f)² + λ wᵀ G w with
                      λ = n l2, the form of regularization theory; l2 = 0 goes through every row
    learned           centers and widths by L-BFGS on the loss, from where they were

The exponent is r²/s², so a Gaussian with the standard deviation σ has s = √2 σ.
Shapes: n rows, D features, J centers, K classes, T targets.
Reference: Poggio and Girosi, Networks for approximation and learning, Proceedings of the IEEE 78 (1990).
"""

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from sklearn.cluster import KMeans
from torch import Tensor

from ... import catalog
from ...check import Count, NonNegative, Positive, RandomState
from ...draw import seed_of
from ...errors import InputError
from ...selection import Range, Space
from .._base.files import revived
from .._base.plain import Plain, PlainClassifier, PlainRegressor, Rows

ALL = 5000  # rows that `centers="all"` takes
STEPS = 100  # of L-BFGS
PART = 2**18  # outputs of units that a prediction holds at a time


def bump(r: Any, basis: str = "gaussian") -> Any:
    """φ(r) of distances, for arrays and tensors.

    Example:
        >>> round(float(bump(np.array(1.0))), 4), round(float(bump(np.array(1.0), "inverse-multiquadric")), 4)
        (0.3679, 0.7071)
    """
    if basis == "gaussian":
        return torch.exp(-(r**2)) if isinstance(r, Tensor) else np.exp(-(r**2))
    return 1 / (1 + r**2) ** 0.5


def units(x: np.ndarray, centers: np.ndarray, widths: np.ndarray, basis: str) -> np.ndarray:
    """Outputs of the bumps: (n, J)."""
    squares = (x**2).sum(1)[:, None] - 2 * x @ centers.T + (centers**2).sum(1)
    return bump(np.sqrt(np.maximum(squares, 0)) / widths, basis)


class _Radial(Plain):
    """Centers, widths and a linear model of the bumps. Learned: centers_ (J, D), widths_ (J,), seed_.

    Args:
        n_centers: Number of centers, where they are not all rows.
        centers: Where they are: means of clusters (kmeans), rows (random), or every row (all).
        width: s of every bump; scale: 2 √(D times the mean variance of a column).
        basis: The shape of a bump.
        l2: Penalty of the squared weights beside the mean squared error or the mean log loss.
        learn_centers: Whether centers and widths are learned, too.
        random_state: Seed; None takes fresh entropy, kept in `seed_`.
    """

    n_centers: Count = 50
    centers: Literal["kmeans", "random", "all"] = "kmeans"
    width: Positive | Literal["scale"] = "scale"
    basis: Literal["gaussian", "inverse-multiquadric"] = "gaussian"
    l2: NonNegative = 1e-5
    learn_centers: bool = False
    random_state: RandomState = None

    how_fitted: ClassVar[str] = "Centers were placed first; the weights of the bumps follow in closed form."
    space: ClassVar[Space] = {
        "n_centers": Range(5, 300, log=True),
        "l2": Range(1e-6, 10.0, log=True),
        "basis": ["gaussian", "inverse-multiquadric"],
    }

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Place the centers, and learn the weights of the bumps."""
        rows: Rows = self._learned(X, y, sample_weight)  # type: ignore[attr-defined]
        self.seed_ = seed_of(self.random_state)
        weight = np.ones(len(rows.x)) if rows.weight is None else rows.weight
        self.centers_ = self._placed(rows.x, weight)
        spread = np.average((rows.x - np.average(rows.x, axis=0, weights=weight)) ** 2, axis=0, weights=weight).sum()
        width = 2 * np.sqrt(spread) if self.width == "scale" else float(self.width)
        self.widths_ = np.full(len(self.centers_), width if width > 0 else 1.0)
        if self.learn_centers and self.centers != "all":
            self._move(rows.x, rows.y, weight / weight.sum())
        self._learn_weights(rows, weight)
        return self

    def _placed(self, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
        if self.centers == "all" and len(x) > ALL:
            raise InputError(f'centers="all" takes up to {ALL:,} rows, got {len(x):,}. Use centers="kmeans".')
        different, first, place = np.unique(x, axis=0, return_index=True, return_inverse=True)
        if self.centers == "all":
            return different
        n = min(self.n_centers, len(different))
        mass = np.bincount(place.ravel(), weights=weight)
        if self.centers == "random" or n == len(different):
            chosen = np.random.default_rng(self.seed_).permutation(len(different))[:n]
            return different[np.sort(chosen)]
        return KMeans(n, random_state=self.seed_).fit(different, sample_weight=mass).cluster_centers_

    def _move(self, x: np.ndarray, y: np.ndarray, share: np.ndarray) -> None:
        """Learn centers and widths together with the weights."""
        start, scale = self._start(x, y), self.widths_.mean()
        rows, truth, each = torch.from_numpy(x), self._truth(y), torch.from_numpy(share)
        c, d = self.centers_.shape

        def parts(flat: Any) -> tuple[Any, Any, Any]:
            return flat[: c * d].reshape(c, d) * scale, flat[c * d : c * d + c], flat[c * d + c :].reshape(c + 1, -1)

        def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
            made = torch.from_numpy(flat).requires_grad_()
            centers, log_widths, w = parts(made)
            bumps = bump(torch.cdist(rows, centers) / (scale * torch.exp(log_widths)), self.basis)
            value = each @ self._losses(bumps @ w[:-1] + w[-1], truth) + self.l2 * (w[:-1] ** 2).sum()
            (gradient,) = torch.autograd.grad(value, made)
            return value.item(), gradient.numpy()

        flat = np.concatenate([(self.centers_ / scale).ravel(), np.log(self.widths_ / scale), start.ravel()])
        found = minimize(loss, flat, jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x
        centers, log_widths, _ = parts(found)
        self.centers_, self.widths_ = np.ascontiguousarray(centers), scale * np.exp(log_widths)

    def bumps(self, X: ArrayLike) -> np.ndarray:
        """Outputs of the units: (n, J)."""
        return self._by_parts(lambda bumps: bumps, X)

    def _by_parts(self, f: Callable[[np.ndarray], np.ndarray], X: ArrayLike) -> np.ndarray:
        """f of the bumps of some rows at a time: all of them may be far more numbers than X."""
        x = self._table(X)
        part = max(1, PART // len(self.centers_))
        parts = [x[i : i + part] for i in range(0, len(x), part)]
        return np.concatenate([f(units(rows, self.centers_, self.widths_, self.basis)) for rows in parts])

    @abstractmethod
    def _start(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """First weights and intercept: (J + 1, K or T)."""

    @abstractmethod
    def _truth(self, y: np.ndarray) -> Tensor: ...

    @abstractmethod
    def _losses(self, raw: Tensor, truth: Tensor) -> Tensor:
        """The loss of each row: (n,)."""

    @abstractmethod
    def _learn_weights(self, rows: Rows, weight: np.ndarray) -> None:
        """Learn the weights of the bumps."""


class RBFRegressor(_Radial, PlainRegressor):
    """Predict numbers by a radial basis function network. Learned also: coef_ (J,) or (J, T), intercept_.

    Example:
        >>> X = np.linspace(0, 6, 60)[:, None]
        >>> model = RBFRegressor(n_centers=10, random_state=0).fit(X, np.sin(X[:, 0]))
        >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.01)
        True
    """

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The weighted sum of the bumps: (n,) or (n, T)."""
        return self._by_parts(lambda bumps: bumps @ self.coef_ + self.intercept_, X)

    def _learn_weights(self, rows: Rows, weight: np.ndarray) -> None:
        if self.centers == "all":
            return self._regularized(rows, weight)
        phi, y = units(rows.x, self.centers_, self.widths_, self.basis), rows.y.reshape(len(rows.y), -1)
        middle, mean = (np.average(a, axis=0, weights=weight) for a in (phi, y))
        root = np.sqrt(weight)[:, None]
        penalty = np.sqrt(self.l2 * weight.sum()) * np.eye(phi.shape[1])
        left = np.vstack([root * (phi - middle), penalty])
        right = np.vstack([root * (y - mean), np.zeros((len(penalty), y.shape[1]))])
        self.coef_ = np.linalg.lstsq(left, right)[0].reshape(-1, *rows.y.shape[1:])
        self.intercept_ = mean.reshape(rows.y.shape[1:])[()] - middle @ self.coef_

    def _regularized(self, rows: Rows, weight: np.ndarray) -> None:
        """(G + λ W⁻¹) w = y with the mean y and the weight W of equal rows, λ = l2 Σ W."""
        _, place = np.unique(rows.x, axis=0, return_inverse=True)
        mass = np.bincount(place.ravel(), weights=weight)
        columns = rows.y.reshape(len(rows.y), -1)
        y = np.stack([np.bincount(place.ravel(), weights=weight * column) for column in columns.T], 1) / mass[:, None]
        gram = units(self.centers_, self.centers_, self.widths_, self.basis) + self.l2 * mass.sum() * np.diag(1 / mass)
        self.coef_ = np.linalg.lstsq(gram, y)[0].reshape(-1, *rows.y.shape[1:])
        self.intercept_ = np.zeros(rows.y.shape[1:])[()]

    def _start(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        self._learn_weights(Rows(x, y, None), np.ones(len(x)))
        first = np.vstack([self.coef_.reshape(len(self.centers_), -1), self.intercept_ - y.mean(0)])
        return first / self._scale(y)

    def _scale(self, y: np.ndarray) -> np.ndarray:
        spread = y.reshape(len(y), -1).std(0)
        return np.where(spread > 0, spread, 1.0)

    def _truth(self, y: np.ndarray) -> Tensor:
        flat = y.reshape(len(y), -1)
        return torch.from_numpy((flat - flat.mean(0)) / self._scale(y))

    def _losses(self, raw: Tensor, truth: Tensor) -> Tensor:
        return ((raw - truth) ** 2).sum(1)


class RBFClassifier(_Radial, PlainClassifier):
    """Classify by a radial basis function network: logistic regression of the bumps. Learned also: output_.

    Example:
        >>> X = [[0.0, 0], [0, 1], [1, 0], [1, 1]]
        >>> RBFClassifier(n_centers=4, width=0.5, random_state=0).fit(X, [0, 1, 1, 0]).predict(X).tolist()
        [0, 1, 1, 0]
    """

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """The probability of each class: (n, K)."""
        return self._by_parts(lambda bumps: self.output_.predict_proba(bumps), X)

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Log-odds of the second of two classes (n,), or logits (n, K)."""
        return self._by_parts(lambda bumps: self.output_.decision_function(bumps), X)

    def _learn_weights(self, rows: Rows, weight: np.ndarray) -> None:
        if self.centers == "all":
            raise InputError('centers="all" is for numbers, by RBFRegressor. Use centers="kmeans" or "random".')
        phi = units(rows.x, self.centers_, self.widths_, self.basis)
        output: Any = catalog.resolve("linear", "table", "classify")(l2=self.l2)
        self.output_ = output.fit(phi, self.classes_[rows.y], weight)

    def _start(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.zeros((len(self.centers_) + 1, len(self.classes_)))

    def _truth(self, y: np.ndarray) -> Tensor:
        return torch.from_numpy(y)

    def _losses(self, raw: Tensor, truth: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(raw, truth, reduction="none")

    def get_state(self) -> dict[str, Any]:
        """What was learned, with the files of the logistic regression inside."""
        state = super().get_state()
        if "output_" in state:
            config, tree = state["output_"]._files()
            state["output_"] = {"config": config, **tree}
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned."""
        one = state["output_"]
        config = json.loads(one["config"])
        if (config["model"], config["task"]) != ("linear", "classify"):
            raise ValueError(f"the output is {config['model']!r}, not a logistic regression")
        super().set_state({**state, "output_": revived(config, one, "output")})
