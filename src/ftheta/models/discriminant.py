"""Gaussian classes: linear, quadratic and Fisher's discriminants.

    y_k(x) = log π_k - ½ log |C_k| - ½ (x - m_k)ᵀ C_k⁻¹ (x - m_k),      predict = argmax_k y_k(x)

With one C for all classes xᵀ C⁻¹ x is the same in every y_k and cancels: y_k is linear, w_k = C⁻¹ (m_k - m). Fisher's
directions maximise the variance between classes over that within them; C^(-1/2) maps both to the same K - 1 axes.
Shapes: n rows, D features, K classes, L directions.
References: Fisher, The Use of Multiple Measurements in Taxonomic Problems, Annals of Eugenics 7(2) (1936); Hastie,
Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 4.3.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ..check import Count, NonNegative
from ..errors import InputError
from ._generative import Generative, Weighed, centred
from ._plain import in_parts
from ._spread import Spread, in_units, spread_of, upright

__all__ = ["FisherDiscriminant", "LinearDiscriminant", "QuadraticDiscriminant"]


@dataclass(kw_only=True, eq=False, repr=False)
class _Discriminant(Generative):
    """Gaussian classes.

    Args:
        shrinkage: Share s of a round Gaussian in each covariance, C = (1 - s) Ĉ + s (tr Ĉ / D) I, in [0, 1]; "auto":
            that of Ledoit and Wolf, of standardised columns.
    """

    shrinkage: Literal["auto"] | NonNegative | None = 0.0

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> Weighed:
        found = super()._rows(X, y, sample_weight)
        if self.shrinkage is not None and self.shrinkage != "auto" and self.shrinkage > 1:
            raise InputError(f"shrinkage={self.shrinkage}; it is a share: give a number from 0 to 1, or 'auto'.")
        return found

    def _pooled(self, rows: Weighed, means: np.ndarray, size: np.ndarray) -> Spread:
        """The covariance of rows without their means; a warning where classes differ in what none of them varies in."""
        spread = spread_of(*rows, size, self.shrinkage)
        if spread is None:
            raise InputError(
                "No column of X varies within a class: each class is one point, and there is no covariance to learn. "
                "Give classes more rows that differ."
            )
        if spread.misses(means - self.priors_ @ means, size):
            warnings.warn(
                f"The classes differ in directions in which no class varies (within classes X spans {spread.rank} of "
                f"{len(size)}), and these are not used. Give shrinkage=0.1, say, to use them.",
                np.exceptions.RankWarning,
                stacklevel=4,
            )
        return spread


@dataclass(kw_only=True, eq=False, repr=False)
class LinearDiscriminant(_Discriminant):
    """Gaussian classes that share a covariance: linear boundaries, in closed form.

    Learned: priors_ (K,), means_ (K, D), covariance_ (D, D), coef_ (R, D) and intercept_ (R,), R = 1 for two classes.

    Args:
        shrinkage: Share s of a round Gaussian in the covariance, C = (1 - s) Ĉ + s (tr Ĉ / D) I, in [0, 1]; "auto":
            that of Ledoit and Wolf, class by class, of standardised columns.
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
        self.means_, rows = centred(learned, len(self.classes_))
        size = np.maximum(learned.x.max(0), -learned.x.min(0))
        spread = self._pooled(learned._replace(x=rows), self.means_, size)
        self.spread_, self.centre_ = spread._asdict(), self.priors_ @ self.means_
        white = self._placed(spread.whiten(self.means_ - self.centre_), spread)  # (K, D)
        self.slopes_ = spread.times(white, 1 / spread.deviation)  # of rows in units of the columns
        self.offsets_ = np.log(self.priors_) - np.square(white).sum(1) / 2
        coef = self.slopes_ * spread.unit
        both = coef, self.offsets_ - coef @ self.centre_
        self.coef_, self.intercept_ = (p[1:] - p[:1] if len(p) == 2 else p for p in both)
        return self

    def _placed(self, white: np.ndarray, spread: Spread) -> np.ndarray:
        """Where the means are, in deviations: (K, D)."""
        return white

    @property
    def _spread(self) -> Spread:
        return Spread(**self.spread_)

    @property
    def covariance_(self) -> np.ndarray:
        """Of every class: (D, D)."""
        return self._spread.matrix()

    def gaussian(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean (D,) and covariance (D, D) of class number k."""
        return self.means_[k], self.covariance_

    def _units(self, x: np.ndarray) -> np.ndarray:
        return in_units(x - self.centre_, self.spread_["unit"])

    def _scores(self, x: np.ndarray) -> np.ndarray:
        return self._units(x) @ self.slopes_.T + self.offsets_

    def _joint(self, x: np.ndarray) -> np.ndarray:
        spread = self._spread
        shared = np.square(spread.whiten(x - self.centre_)).sum(1) + spread.log_det() + spread.rank * np.log(2 * np.pi)
        return self._scores(x) - shared[:, None] / 2

    def _drawn(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.means_[k] + self._spread.draw(n, rng)


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
            that of Ledoit and Wolf, class by class, of standardised columns.
        priors: Share of each class: None takes those of the rows, "uniform" the same for all; or a share by class.
        class_weight: Weights of the rows by class, or "balanced".

    Example:
        >>> X = [[-3.0, 8], [-3, 9], [-1, 8], [-1, 9], [1, 8], [1, 9], [3, 8], [3, 9]]
        >>> FisherDiscriminant().fit_transform(X, [0, 0, 0, 0, 1, 1, 1, 1]).round(3).ravel().tolist()
        [-3.0, -3.0, -1.0, -1.0, 1.0, 1.0, 3.0, 3.0]
    """

    n_components: Count | None = None

    def _placed(self, white: np.ndarray, spread: Spread) -> np.ndarray:
        most = min(len(white) - 1, white.shape[1])
        if self.n_components is not None and self.n_components > most:
            raise InputError(
                f"n_components={self.n_components}, but {len(white)} classes of {white.shape[1]} columns have at most "
                f"{most} directions between them. Ask for at most as many."
            )
        _, sigma, axes = np.linalg.svd(np.sqrt(self.priors_)[:, None] * white, full_matrices=False)
        kept = (sigma > 1e-10 * sigma[0])[:most]
        kept[0], kept[self.n_components or most :] = True, False
        axes, sigma = axes[:most][kept], sigma[:most]  # (L, D)
        axes = axes * upright(spread.times(axes, 1 / spread.deviation))
        self.slants_ = spread.times(axes, 1 / spread.deviation)
        self.explained_ = np.square(sigma[kept]) / max(np.square(sigma).sum(), np.finfo(float).tiny)
        placed = white @ axes.T @ axes
        if len(axes) < kept.size:
            self.means_ = self.centre_ + spread.times(placed, spread.deviation) * spread.scale
        return placed

    @property
    def directions_(self) -> np.ndarray:
        """Of unit variance within classes: (L, D)."""
        return self.slants_ * self.spread_["unit"]

    @property
    def _n_features_out(self) -> int:
        return len(self.slants_)

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Coordinates along the directions, from the mean of all classes: (n, L)."""
        return in_parts(lambda x: self._units(x) @ self.slants_.T, self._checked(X))


@dataclass(kw_only=True, eq=False, repr=False)
class QuadraticDiscriminant(_Discriminant):
    """Gaussian classes, each with its own covariance: quadratic boundaries, in closed form.

    A class whose own covariance is singular, where those of all together is not, takes that of all together.
    Learned: priors_ (K,), means_ (K, D), covariance_ (K, D, D).

    Args:
        shrinkage: Share s of a round Gaussian in each covariance, C = (1 - s) Ĉ + s (tr Ĉ / D) I, in [0, 1]; "auto":
            that of Ledoit and Wolf, of standardised columns.
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
        self.means_, rows = centred(learned, len(self.classes_))
        size = np.maximum(x.max(0), -x.min(0))
        own = (index == k for k in range(len(self.classes_)))
        found = [spread_of(rows[k], index[k], weight[k], size, self.shrinkage) for k in own]
        pooled = self._pooled(Weighed(rows, index, weight), self.means_, size)
        ranks = [0 if spread is None else spread.rank for spread in found]
        kept = [spread if spread and spread.rank == pooled.rank else pooled for spread in found]
        self.spreads_ = [spread._asdict() for spread in kept]
        if min(ranks) < pooled.rank:
            k = int(np.argmin(ranks))
            warnings.warn(
                f"Class {self.classes_.tolist()[k]!r} (rows: {(index == k).sum()}) varies in {ranks[k]} of "
                f"{pooled.rank} directions, so its covariance is singular and it takes that of all classes. Give "
                "shrinkage=0.1, say, or more rows.",
                np.exceptions.RankWarning,
                stacklevel=3,
            )
        return self

    @property
    def covariance_(self) -> np.ndarray:
        """Of each class: (K, D, D)."""
        return np.stack([Spread(**found).matrix() for found in self.spreads_])

    def gaussian(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean (D,) and covariance (D, D) of class number k."""
        return self.means_[k], Spread(**self.spreads_[k]).matrix()

    def _joint(self, x: np.ndarray) -> np.ndarray:
        columns = []
        for mean, found in zip(self.means_, self.spreads_, strict=True):
            spread = Spread(**found)
            away = np.square(spread.whiten(x - mean)).sum(1)
            columns.append(away + spread.log_det() + spread.rank * np.log(2 * np.pi))
        return np.log(self.priors_) - np.stack(columns, 1) / 2

    def _drawn(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.means_[k] + Spread(**self.spreads_[k]).draw(n, rng)
