"""Whitening: inputs with mean 0 and covariance I.

    z = W (x - m),      W C Wᵀ = I,      C = Σ_i v_i (x_i - m)(x_i - m)ᵀ / Σ_i v_i = U Λ Uᵀ

    standard   W = diag(C)^-½       each column by itself: variances become 1, correlations stay
    pca        W = Λ^-½ Uᵀ          principal axes, largest variance first
    zca        W = U Λ^-½ Uᵀ        turned back: of all whitenings the one that moves the columns least

Directions in which nothing varies (a constant column, one that is there twice, more columns than rows) cannot get
variance 1: `standard` gives 0, `pca` leaves them out, the covariance of `zca` is the projection on those that vary.
Shapes: n rows, D features, K directions that vary (rank of C).
Reference: Kessy, Lewin and Strimmer, Optimal Whitening and Decorrelation (2018), arXiv:1512.00809.
"""

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from ... import check
from ...base import Estimator
from ...errors import InputError
from .._base.plain import FewThreads
from .base import centered


def principal_axes(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Singular values s (K,), largest first, and upright axes U (K, D) of x = A diag(s) U, none of rounding."""
    root = np.linalg.qr(x, mode="r") if len(x) > x.shape[1] else x  # as many rows as columns: the same s and U
    _, s, axes = np.linalg.svd(root, full_matrices=False)
    rank = int((s > s[0] * max(x.shape) * np.finfo(float).eps).sum())
    return s[:rank], axes[:rank] * upright(axes[:rank])


def upright(axes: np.ndarray) -> np.ndarray:
    """The signs (r, 1) that make the largest entry of each axis (r, D) positive."""
    return np.sign(np.take_along_axis(axes, np.abs(axes).argmax(1)[:, None], 1))


class Whitening(FewThreads, OneToOneFeatureMixin, TransformerMixin, Estimator):
    """Scale or whiten the columns of a table by what the training rows say.

    Learned: `mean_` (D,), `whitening_` W (K, D), `coloring_` (D, K), which goes back; for "standard" the scales of the
    columns (D,). `n_components_` is K. Variances are divided by the sum of weights, not by n - 1.

    Args:
        method: "standard" scales each column to variance 1; "pca" and "zca" take the correlations away too.

    Example:
        >>> X = np.array([[0.0, 1.0], [2.0, 2.0], [4.0, 5.0], [6.0, 4.0]])
        >>> before, after = Whitening(method="zca").fit(X).covariances(X)
        >>> before.tolist(), after.round(12).tolist()
        ([[5.0, 3.0], [3.0, 2.5]], [[1.0, 0.0], [0.0, 1.0]])
    """

    method: Literal["standard", "pca", "zca"] = "pca"

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn mean and W; y is ignored."""
        self._check_parameters()
        x = check.table(self, X, dtype="float64", reset=True)
        x, self.mean_ = _rows(x, check.weights(sample_weight, len(x)))
        if self.method == "standard":
            deviation = np.linalg.norm(x, axis=0)
            self.n_components_, self.coloring_ = len(deviation), np.where(deviation > 0, deviation, 1.0)
            self.whitening_ = 1 / self.coloring_
            return self
        if not x.any():
            raise InputError(f"No column of X varies over its {len(x)} sample(s): there is nothing to whiten.")
        s, axes = principal_axes(x)
        turn = axes.T if self.method == "zca" else np.eye(len(s))  # (D, K) or (K, K)
        self.n_components_ = len(s)
        self.whitening_, self.coloring_ = turn / s @ axes, axes.T * s @ turn.T
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """W (x - m) of each row: (n, D), for "pca" (n, K)."""
        check_is_fitted(self)
        return _times(check.table(self, X, dtype="float64", reset=False) - self.mean_, self.whitening_)

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """The rows whose transform is X, up to what does not vary: (n, D)."""
        check_is_fitted(self)
        z, width = check_array(check.plain(X), dtype="float64"), self.coloring_.shape[-1]
        if z.shape[1] != width:
            raise InputError(f"X has {z.shape[1]} columns; a transformed row has {width}. Pass what transform gave.")
        return _times(z, self.coloring_) + self.mean_

    def covariances(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Covariance of rows before and after: (D, D) and, for "pca", (K, K)."""
        z, x = np.asarray(self.transform(X)), check.table(self, X, dtype="float64", reset=False)
        before, after = (_rows(a, check.weights(sample_weight, len(a)))[0] for a in (x, z))
        return before.T @ before, after.T @ after

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that come out: those that went in, for "pca" whitening0, whitening1, ..."""
        names, own = super().get_feature_names_out(input_features), range(self.n_components_)
        return np.array([f"whitening{k}" for k in own] if self.method == "pca" else names, dtype=object)


def _times(x: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return x * matrix if matrix.ndim == 1 else x @ matrix.T


def _rows(x: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """√v (x - m) with Σ v = 1, of rows of weight > 0, and m (D,)."""
    weight = np.ones(len(x)) if weight is None else weight
    about, mean = centered(x[weight > 0], weight[weight > 0])
    return about * np.sqrt(weight[weight > 0] / weight.sum())[:, None], mean
