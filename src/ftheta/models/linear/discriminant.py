"""Gaussian classes: linear, quadratic and Fisher's discriminants.

    y_k(x) = log π_k - ½ log |C_k| - ½ (x - m_k)ᵀ C_k⁻¹ (x - m_k),      predict = argmax_k y_k(x)

With one C for all classes xᵀ C⁻¹ x is the same in every y_k and cancels: y_k is linear, w_k = C⁻¹ (m_k - m). Fisher's
directions maximize the variance between classes over that within them; C^(-1/2) maps both to the same K - 1 axes.
Shapes: n rows, D features, K classes, L directions.
References: Fisher, The Use of Multiple Measurements in Taxonomic Problems, Annals of Eugenics 7(2) (1936); Hastie,
Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 4.3.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ...check import Count, NonNegative
from ...errors import InputError
from .generative import Generative, Weighed, centered_by_class

__all__ = ["FisherDiscriminant", "LinearDiscriminant", "QuadraticDiscriminant"]

CONSTANT = 1e-12  # range of a constant column, in units of its largest number
FLAT = 1e-13  # variance along an axis, of columns of variance 1, that is none


class Covariance(NamedTuple):
    """C = S V diag(σ²) Vᵀ S, without directions in which nothing varies."""

    scale: np.ndarray  # standard deviation of each column, 0 where it is left out (D,)
    axes: np.ndarray  # orthonormal, in these units (D, r)
    deviation: np.ndarray  # standard deviation along each (r,)

    @property
    def unit(self) -> np.ndarray:
        """One over the scale, 0 where a column is left out (D,)."""
        return np.divide(1, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)

    @property
    def root(self) -> np.ndarray:
        """C = root rootᵀ: (D, r)."""
        return self.scale[:, None] * self.axes * self.deviation

    @property
    def precision(self) -> np.ndarray:
        """C⁻¹ = precision precisionᵀ: (D, r)."""
        return self.unit[:, None] * self.axes / self.deviation

    def whiten(self, difference: np.ndarray) -> np.ndarray:
        """Differences of rows along the axes (n, r); the squares add up to Mahalanobis' distance squared."""
        return difference @ self.precision

    def log_norm(self) -> float:
        """log |2π C|, within the directions that are not left out."""
        rank = len(self.deviation)
        if rank == len(self.scale):
            log_det = 2 * np.log(self.deviation).sum() + 2 * np.log(self.scale).sum()
        else:
            log_det = np.linalg.slogdet(self.root.T @ self.root)[1]
        return float(log_det) + rank * np.log(2 * np.pi)

    def misses(self, difference: np.ndarray, size: np.ndarray) -> bool:
        """Whether some of the differences (n, D) lie in directions that are left out; `size` is that of x."""
        u = difference * self.unit
        outside = np.abs(u - u @ self.axes @ self.axes.T).max()
        constant = np.abs(difference[:, self.scale == 0]) > CONSTANT * size[self.scale == 0]
        return bool(outside > 1e-8 * (1 + np.abs(u).max()) or constant.any())


def covariance_of(rows: Weighed, size: np.ndarray, shrinkage: Literal["auto"] | float | None) -> Covariance | None:
    """Maximum-likelihood covariance of rows without the means of their classes; None where no column varies.

    "auto" chooses the shrinkage of each class, of standardized columns (Ledoit and Wolf), and adds up by weight.
    """
    x, index, weight = rows
    share = weight / weight.sum()
    varies = np.abs(x).max(0) > CONSTANT * size
    x = np.where(varies, x, 0.0)
    if not varies.any():
        return None
    if shrinkage == "auto":
        parts = (share[index == k].sum() * _ledoit_wolf(x[index == k], weight[index == k]) for k in np.unique(index))
        c = np.asarray(sum(parts))
    else:
        c = (x * share[:, None]).T @ x
        c = (1 - (shrinkage or 0.0)) * c + (shrinkage or 0.0) * np.trace(c) / len(c) * np.eye(len(c))
    scale = np.sqrt(np.diagonal(c))
    unit = np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)
    values, axes = np.linalg.eigh(c * np.outer(unit, unit))
    kept = values > max(len(c) * np.finfo(float).eps, FLAT) * values[-1]
    return Covariance(scale, (axes * _upright(axes.T).T)[:, kept], np.sqrt(values[kept]))


def _ledoit_wolf(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Shrunk covariance (D, D) of rows of mean 0: s = min(β, δ) / δ, δ = |C - μI|² / D, of standardized columns."""
    n, d = weight.sum(), x.shape[1]
    scale = np.sqrt(weight / n @ x**2)
    u = x * np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)
    c = (u * (weight / n)[:, None]).T @ u
    mean, squared = np.trace(c) / d, (c**2).sum()
    beta = (weight / n @ (u**2).sum(1) ** 2 - squared) / (d * n)
    delta = squared / d - mean**2
    s = float(min(beta, delta) / delta) if beta > 0 and delta > 0 else 0.0
    return ((1 - s) * c + s * mean * np.eye(d)) * np.outer(scale, scale)


def _upright(axes: np.ndarray) -> np.ndarray:
    """The signs (r, 1) that make the largest entry of each axis (r, D) positive."""
    return np.sign(np.take_along_axis(axes, np.abs(axes).argmax(1)[:, None], 1))


@dataclass(kw_only=True, eq=False, repr=False)
class _Discriminant(Generative):
    """Gaussian classes.

    Args:
        shrinkage: Share s of a round Gaussian in each covariance, C = (1 - s) Ĉ + s (tr Ĉ / D) I, in [0, 1]; "auto":
            that of Ledoit and Wolf, of standardized columns.
    """

    shrinkage: Literal["auto"] | NonNegative | None = 0.0

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> Weighed:
        found = super()._rows(X, y, sample_weight)
        if self.shrinkage is not None and self.shrinkage != "auto" and self.shrinkage > 1:
            raise InputError(f"shrinkage={self.shrinkage}; it is a share: give a number from 0 to 1, or 'auto'.")
        return found

    def _pooled(self, rows: Weighed, means: np.ndarray, size: np.ndarray) -> Covariance:
        """The covariance of rows without their means; a warning where classes differ in what none of them varies in."""
        found = covariance_of(rows, size, self.shrinkage)
        if found is None:
            raise InputError(
                "No column of X varies within a class: each class is one point, and there is no covariance to learn. "
                "Give classes more rows that differ."
            )
        if found.misses(means - self.priors_ @ means, size):
            warnings.warn(
                f"The classes differ in directions in which no class varies (within classes X spans "
                f"{len(found.deviation)} of {len(size)}), and these are not used. Give e.g. shrinkage=0.1 to use them.",
                np.exceptions.RankWarning,
                stacklevel=4,
            )
        return found


@dataclass(kw_only=True, eq=False, repr=False)
class LinearDiscriminant(_Discriminant):
    """Gaussian classes that share a covariance: linear boundaries, in closed form.

    Learned: priors_ (K,), means_ (K, D), covariance_ (D, D), coef_ (R, D) and intercept_ (R,), R = 1 for two classes.

    Args:
        shrinkage: Share s of a round Gaussian in the covariance, C = (1 - s) Ĉ + s (tr Ĉ / D) I, in [0, 1]; "auto":
            that of Ledoit and Wolf, class by class, of standardized columns.
        priors: Share of each class: None takes those of the rows, "uniform" the same for all; or a share by class.
        class_weight: Weights of the rows by class, or "balanced".

    Example:
        >>> model = LinearDiscriminant().fit([[0.0], [1], [3], [4]], ["no", "no", "yes", "yes"])
        >>> model.coef_.tolist(), model.intercept_.tolist()
        ([[12.0]], [-24.0])
    """

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Means of the classes and the covariance around them, by maximum likelihood."""
        learned = self._rows(X, y, sample_weight)
        self.means_, rows = centered_by_class(learned, len(self.classes_))
        size = np.abs(learned.x).max(0)
        found = self._pooled(learned._replace(x=rows), self.means_, size)
        self.factors_, self.center_ = found._asdict(), self.priors_ @ self.means_
        white = self._placed(found.whiten(self.means_ - self.center_), found)  # (K, r)
        coef = white @ found.precision.T
        self.slopes_, self.offsets_ = coef, np.log(self.priors_) - (white**2).sum(1) / 2  # of rows around center_
        both = coef, self.offsets_ - coef @ self.center_
        self.coef_, self.intercept_ = (p[1:] - p[:1] if len(p) == 2 else p for p in both)
        return self

    def _placed(self, white: np.ndarray, found: Covariance) -> np.ndarray:
        """Where the means are, in deviations: (K, r)."""
        return white

    @property
    def covariance_(self) -> np.ndarray:
        """Of every class: (D, D)."""
        root = Covariance(**self.factors_).root
        return root @ root.T

    def gaussian(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean (D,) and covariance (D, D) of class number k."""
        return self.means_[k], self.covariance_

    def _scores(self, x: np.ndarray) -> np.ndarray:
        return (x - self.center_) @ self.slopes_.T + self.offsets_

    def _joint(self, x: np.ndarray) -> np.ndarray:
        found = Covariance(**self.factors_)
        shared = (found.whiten(x - self.center_) ** 2).sum(1) + found.log_norm()
        return self._scores(x) - shared[:, None] / 2

    def _sample_class(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        root = Covariance(**self.factors_).root
        return self.means_[k] + rng.standard_normal((n, root.shape[1])) @ root.T


@dataclass(kw_only=True, eq=False, repr=False)
class FisherDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LinearDiscriminant):
    """Fisher's directions: where the classes are furthest apart in units of their own spread.

    `transform` gives the coordinates of rows along them, in which every class has unit covariance; `predict` uses these
    alone. With all K - 1 directions the answers are those of LinearDiscriminant; with fewer, the means are moved to
    the nearest points of the space that is left.
    Learned also: directions_ (L, D), explained_ (L,), the share of the variance between classes along each.

    Args:
        n_components: Directions to keep; None: all, which are K - 1 or D.
        shrinkage: Share s of a round Gaussian in the covariance, C = (1 - s) Ĉ + s (tr Ĉ / D) I, in [0, 1]; "auto":
            that of Ledoit and Wolf, class by class, of standardized columns.
        priors: Share of each class: None takes those of the rows, "uniform" the same for all; or a share by class.
        class_weight: Weights of the rows by class, or "balanced".

    Example:
        >>> X = [[-3.0, 8], [-3, 9], [-1, 8], [-1, 9], [1, 8], [1, 9], [3, 8], [3, 9]]
        >>> FisherDiscriminant().fit_transform(X, [0, 0, 0, 0, 1, 1, 1, 1]).round(3).ravel().tolist()
        [-3.0, -3.0, -1.0, -1.0, 1.0, 1.0, 3.0, 3.0]
    """

    n_components: Count | None = None

    def _placed(self, white: np.ndarray, found: Covariance) -> np.ndarray:
        most = min(len(white) - 1, len(found.scale))
        if self.n_components is not None and self.n_components > most:
            raise InputError(
                f"n_components={self.n_components}, but {len(white)} classes of {len(found.scale)} columns have at "
                f"most {most} directions between them. Ask for at most as many."
            )
        _, sigma, axes = np.linalg.svd(np.sqrt(self.priors_)[:, None] * white, full_matrices=False)
        kept = (sigma > 1e-10 * sigma[0])[:most]
        kept[0], kept[self.n_components or most :] = True, False
        axes, sigma = axes[: len(kept)][kept], sigma[: len(kept)]  # (L, r)
        directions = axes @ found.precision.T
        axes, self.directions_ = axes * _upright(directions), directions * _upright(directions)
        self.explained_ = sigma[kept] ** 2 / max((sigma**2).sum(), np.finfo(float).tiny)
        placed = white @ axes.T @ axes
        if len(axes) < kept.size:
            self.means_ = self.center_ + placed @ found.root.T
        return placed

    @property
    def _n_features_out(self) -> int:
        return len(self.directions_)

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Coordinates along the directions, from the mean of all classes: (n, L)."""
        return (self._table(X) - self.center_) @ self.directions_.T


@dataclass(kw_only=True, eq=False, repr=False)
class QuadraticDiscriminant(_Discriminant):
    """Gaussian classes, each with its own covariance: quadratic boundaries, in closed form.

    A class whose own covariance is singular, where those of all together is not, takes that of all together.
    Learned: priors_ (K,), means_ (K, D), covariance_ (K, D, D).

    Args:
        shrinkage: Share s of a round Gaussian in each covariance, C = (1 - s) Ĉ + s (tr Ĉ / D) I, in [0, 1]; "auto":
            that of Ledoit and Wolf, of standardized columns.
        priors: Share of each class: None takes those of the rows, "uniform" the same for all; or a share by class.
        class_weight: Weights of the rows by class, or "balanced".

    Example:
        >>> model = QuadraticDiscriminant().fit([[-1.0], [1], [-9], [9]], ["in", "in", "out", "out"])
        >>> model.predict([[0.0], [-7], [7]]).tolist()
        ['in', 'out', 'out']
    """

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Mean and covariance of each class, by maximum likelihood."""
        x, index, weight = learned = self._rows(X, y, sample_weight)
        self.means_, rows = centered_by_class(learned, len(self.classes_))
        size, own = np.abs(x).max(0), [index == k for k in range(len(self.classes_))]
        found = [covariance_of(Weighed(rows[k], index[k], weight[k]), size, self.shrinkage) for k in own]
        pooled = self._pooled(Weighed(rows, index, weight), self.means_, size)
        ranks, full = [0 if c is None else len(c.deviation) for c in found], len(pooled.deviation)
        kept = [c if c is not None and rank == full else pooled for c, rank in zip(found, ranks, strict=True)]
        self.factors_ = [c._asdict() for c in kept]
        if min(ranks) < full:
            k = int(np.argmin(ranks))
            warnings.warn(
                f"Class {self.classes_.tolist()[k]!r} (rows: {(index == k).sum()}) varies in {ranks[k]} of "
                f"{full} directions, so its covariance is singular and it takes that of all classes. Give "
                "shrinkage=0.1, say, or more rows.",
                np.exceptions.RankWarning,
                stacklevel=3,
            )
        return self

    @property
    def covariance_(self) -> np.ndarray:
        """Of each class: (K, D, D)."""
        return np.stack([self.gaussian(k)[1] for k in range(len(self.means_))])

    def gaussian(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean (D,) and covariance (D, D) of class number k."""
        root = Covariance(**self.factors_[k]).root
        return self.means_[k], root @ root.T

    def _joint(self, x: np.ndarray) -> np.ndarray:
        found = [Covariance(**factors) for factors in self.factors_]
        columns = [(c.whiten(x - m) ** 2).sum(1) + c.log_norm() for m, c in zip(self.means_, found, strict=True)]
        return np.log(self.priors_) - np.stack(columns, 1) / 2

    def _sample_class(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        root = Covariance(**self.factors_[k]).root
        return self.means_[k] + rng.standard_normal((n, root.shape[1])) @ root.T
