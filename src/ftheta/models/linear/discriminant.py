"""Gaussian classes: linear, quadratic and Fisher's discriminants.

    y_k(x) = log π_k - ½ log |C_k| - ½ (x - m_k)ᵀ C_k⁻¹ (x - m_k),      predict = argmax_k y_k(x)

With one C for all classes xᵀ C⁻¹ x is the same in every y_k and cancels: y_k is linear, w_k = C⁻¹ (m_k - m). Fisher's
directions maximize the variance between classes over that within them; C^(-1/2) maps both to the same K - 1 axes.
Shapes: n rows, D features, K classes, L directions.
References: Fisher, The Use of Multiple Measurements in Taxonomic Problems, Annals of Eugenics 7(2) (1936); Hastie,
Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 4.3.
"""

import warnings
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ...check import Count, Fraction
from ...errors import InputError
from ...selection import Range, Space
from .._base.plain import Rows
from .generative import Generative, centered_by_class
from .whitening import upright

CONSTANT = 1e-12  # range of a constant column, in units of its largest number
FLAT = 1e-13  # variance along an axis, of columns of variance 1, that is none


class Covariance(NamedTuple):
    """C = root rootᵀ and C⁻¹ = precision precisionᵀ, without directions in which nothing varies."""

    root: np.ndarray  # (D, r)
    precision: np.ndarray  # (D, r)
    log_norm: float  # log |2π C|, within the directions that are not left out

    def distance(self, difference: np.ndarray) -> np.ndarray:
        """Mahalanobis' distance squared, of differences of rows (n, D): (n,)."""
        return ((difference @ self.precision) ** 2).sum(1)

    def misses(self, difference: np.ndarray, size: np.ndarray) -> bool:
        """Whether some of the differences (n, D) lie in directions that are left out; `size` is that of x."""
        outside = difference - difference @ self.precision @ self.root.T
        unit = np.linalg.norm(self.root, axis=1)
        small = np.where(unit > 0, 1e-8 * (unit + np.abs(difference).max(0)), CONSTANT * size)
        return bool((np.abs(outside) > small).any())


def covariance_of(rows: Rows, size: np.ndarray, shrinkage: Literal["auto"] | float | None) -> Covariance | None:
    """Maximum-likelihood covariance of rows without the means of their classes; None where no column varies."""
    x, index, weight = rows.x, rows.y, np.asarray(rows.weight)
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
    axes, deviation = (axes * upright(axes.T).T)[:, kept], np.sqrt(values[kept])
    root = scale[:, None] * axes * deviation
    r = qr((scale[:, None] * axes)[np.argsort(-scale)], mode="r", pivoting=True)[0]  # exact for columns far apart too
    logs = np.log(np.abs(np.diagonal(r))) + np.log(deviation)
    log_norm = float(2 * logs.sum() + len(logs) * np.log(2 * np.pi))
    return Covariance(root, unit[:, None] * axes / deviation, log_norm)


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


class _Discriminant(Generative):
    """Gaussian classes.

    Args:
        shrinkage: Share s of a round Gaussian in each covariance, C = (1 - s) Ĉ + s (tr Ĉ / D) I, in [0, 1]; "auto":
            that of Ledoit and Wolf, class by class, of standardized columns.
    """

    space: ClassVar[Space] = {"shrinkage": Range(0.0, 1.0)}
    shrinkage: Literal["auto"] | Fraction | None = 0.0

    def _pooled(self: Any, rows: Rows, size: np.ndarray) -> Covariance:
        """The covariance of rows without their means; a warning where classes differ in what none of them varies in."""
        found = covariance_of(rows, size, self.shrinkage)
        if found is None:
            raise InputError("No column of X varies within a class: each class is one point. Give rows that differ.")
        if found.misses(self.means_ - self.priors_ @ self.means_, size):
            spans = f"(within classes X spans {found.root.shape[1]} of {len(size)}), and these are not used."
            rest = f"in which no class varies {spans} Give e.g. shrinkage=0.1 to use them."
            warnings.warn(f"The classes differ in directions {rest}", np.exceptions.RankWarning, stacklevel=4)
        return found

    def _covariance(self: Any, k: int) -> Covariance:
        """That of class number k, or of all."""
        return Covariance(**self.factors_[k % len(self.factors_)])

    def gaussian(self: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean (D,) and covariance (D, D) of class number k."""
        root = self._covariance(k).root
        return self.means_[k], root @ root.T

    def _sample_class(self: Any, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        root = self._covariance(k).root
        return self.means_[k] + rng.standard_normal((n, root.shape[1])) @ root.T


class LinearDiscriminant(_Discriminant):
    """Gaussian classes that share a covariance: linear boundaries, in closed form.

    Learned: priors_ (K,), means_ (K, D), covariance_ (D, D), coef_ (R, D) and intercept_ (R,), R = 1 for two classes.

    Example:
        >>> model = LinearDiscriminant().fit([[0.0], [1], [3], [4]], ["no", "no", "yes", "yes"])
        >>> model.coef_.tolist(), model.intercept_.tolist()
        ([[12.0]], [-24.0])
    """

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Means of the classes and the covariance around them, by maximum likelihood."""
        learned = self._rows(X, y, sample_weight)
        self.means_, rest = centered_by_class(learned, len(self.classes_))
        found = self._pooled(learned._replace(x=rest), np.abs(learned.x).max(0))
        self.factors_, self.center_ = [found._asdict()], self.priors_ @ self.means_
        white = self._project_means((self.means_ - self.center_) @ found.precision, found)  # (K, r), in deviations
        self.slopes_ = white @ found.precision.T
        self.offsets_ = np.log(self.priors_) - (white**2).sum(1) / 2  # of rows around center_
        both = self.slopes_, self.offsets_ - self.slopes_ @ self.center_
        self._set_planes(*(p[1:] - p[:1] if len(p) == 2 else p for p in both))
        return self

    def _project_means(self, white: np.ndarray, found: Covariance) -> np.ndarray:
        return white

    @property
    def covariance_(self) -> np.ndarray:
        """Of every class: (D, D)."""
        return self.gaussian(0)[1]

    def _scores(self, x: np.ndarray) -> np.ndarray:
        return (x - self.center_) @ self.slopes_.T + self.offsets_

    def _joint(self, x: np.ndarray) -> np.ndarray:
        found = self._covariance(0)
        return self._scores(x) - (found.distance(x - self.center_)[:, None] + found.log_norm) / 2


class FisherDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LinearDiscriminant):
    """Fisher's directions: where the classes are furthest apart in units of their own spread.

    `transform` gives the coordinates of rows along them, in which every class has unit covariance; `predict` uses these
    alone. With all K - 1 directions the answers are those of LinearDiscriminant.
    Learned also: directions_ (L, D), explained_ (L,), the share of the variance between classes along each.

    Args:
        n_components: Directions to keep; None: all, which are K - 1 or D.

    Example:
        >>> X = [[-3.0, 8], [-3, 9], [-1, 8], [-1, 9], [1, 8], [1, 9], [3, 8], [3, 9]]
        >>> FisherDiscriminant().fit_transform(X, [0, 0, 0, 0, 1, 1, 1, 1]).round(3).ravel().tolist()
        [-3.0, -3.0, -1.0, -1.0, 1.0, 1.0, 3.0, 3.0]
    """

    n_components: Count | None = None

    def _project_means(self, white: np.ndarray, found: Covariance) -> np.ndarray:
        most = min(len(white) - 1, len(found.root))
        if self.n_components is not None and self.n_components > most:
            shape = f"{len(white)} classes of {len(found.root)} columns"
            raise InputError(f"n_components={self.n_components}: {shape} have at most {most} directions between them.")
        _, sigma, axes = np.linalg.svd(np.sqrt(self.priors_)[:, None] * white, full_matrices=False)
        kept = (sigma > 1e-10 * sigma[0])[:most]
        kept[0], kept[self.n_components or most :] = True, False
        axes, sigma = axes[: len(kept)][kept], sigma[: len(kept)]  # (L, r)
        directions = axes @ found.precision.T
        axes, self.directions_ = axes * upright(directions), directions * upright(directions)
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


class QuadraticDiscriminant(_Discriminant):
    """Gaussian classes, each with its own covariance: quadratic boundaries, in closed form.

    A class whose own covariance is singular, where those of all together is not, takes that of all together.
    Learned: priors_ (K,), means_ (K, D), covariance_ (K, D, D).

    Example:
        >>> model = QuadraticDiscriminant().fit([[-1.0], [1], [-9], [9]], ["in", "in", "out", "out"])
        >>> model.predict([[0.0], [-7], [7]]).tolist()
        ['in', 'out', 'out']
    """

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Mean and covariance of each class, by maximum likelihood."""
        learned = self._rows(X, y, sample_weight)
        self.means_, rest = centered_by_class(learned, len(self.classes_))
        rows, size = learned._replace(x=rest), np.abs(learned.x).max(0)
        own = [covariance_of(rows.take(rows.y == k), size, self.shrinkage) for k in range(len(self.classes_))]
        pooled = self._pooled(rows, size)
        ranks, full = [0 if c is None else c.root.shape[1] for c in own], pooled.root.shape[1]
        kept = [c if c is not None and rank == full else pooled for c, rank in zip(own, ranks, strict=True)]
        self.factors_ = [c._asdict() for c in kept]
        if min(ranks) < full:
            k = int(np.argmin(ranks))
            what = f"Class {self.classes_.tolist()[k]!r} (rows: {(rows.y == k).sum()}) varies in {ranks[k]} of {full}"
            rest = (
                "directions, so its covariance is singular and that of all is used. Give shrinkage=0.1, or more rows."
            )
            warnings.warn(f"{what} {rest}", np.exceptions.RankWarning, stacklevel=3)
        return self

    @property
    def covariance_(self) -> np.ndarray:
        """Of each class: (K, D, D)."""
        return np.stack([self.gaussian(k)[1] for k in range(len(self.means_))])

    def _joint(self, x: np.ndarray) -> np.ndarray:
        each = [(self._covariance(k), x - mean) for k, mean in enumerate(self.means_)]
        return np.log(self.priors_) - np.stack([c.distance(rest) + c.log_norm for c, rest in each], 1) / 2
