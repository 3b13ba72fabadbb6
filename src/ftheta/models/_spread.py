"""The covariance of rows, kept as axes: no D x D matrix where there are more columns than rows.

    C = S (V diag(σ²) Vᵀ + ρ (I - V Vᵀ)) S,      S = diag(1 / unit),      ρ = 1 with shrinkage, else 0

Without shrinkage V and σ are right singular vectors and values of the standardised rows: directions in which they do
not vary are left out, and C⁻¹ is the pseudo-inverse. Shrinkage to a diagonal T, C = (1 - s) Ĉ + s T, makes it full.
Shapes: n rows, D columns, r axes.
References: Ledoit and Wolf, A Well-Conditioned Estimator for Large-Dimensional Covariance Matrices, Journal of
Multivariate Analysis 88(2) (2004); Golub and Van Loan, Matrix Computations (2013), section 2.1.4 (inverse of a sum).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.linalg import qr

__all__ = ["FAR", "SAME", "Shrinkage", "Spread", "deviations", "in_units", "spread_of", "upright"]

Shrinkage = Literal["auto"] | float | None
SAME = 1e-12  # a column whose values differ by less of their size is constant
BLOCK = 2**17  # numbers in the rows that are made triangular together
FAR = 1e130  # deviations: a point further out is taken as if it were there, so that squares are finite


class Spread(NamedTuple):
    """A covariance.

    Args:
        unit: One over the scale of each column, 0 where it is left out: (D,).
        axes: Orthonormal, in these units: (D, r).
        deviation: Standard deviation along each: (r,).
        rest: Whether other directions have deviation one; else they are left out.
    """

    unit: np.ndarray
    axes: np.ndarray
    deviation: np.ndarray
    rest: bool

    @property
    def rank(self) -> int:
        """Directions that are not left out."""
        columns = int((self.unit > 0).sum())
        return columns if self.rest else min(columns, len(self.deviation))

    @property
    def scale(self) -> np.ndarray:
        """Of the columns, 0 where one is left out: (D,)."""
        return inverse(self.unit)

    def times(self, u: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Rows in units of the columns (n, D), each component along an axis times its factor (r,)."""
        along = u @ self.axes * (factor - self.rest)
        return along @ self.axes.T + u if self.rest else along @ self.axes.T

    def whiten(self, difference: np.ndarray) -> np.ndarray:
        """C^(-1/2) of differences of rows: (n, D) -> (n, D); the squares add up to Mahalanobis' distance squared."""
        return self.times(in_units(difference, self.unit), 1 / self.deviation)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Rows from N(0, C): (n, D)."""
        return self.times(rng.standard_normal((n, len(self.unit))), self.deviation) * self.scale

    def matrix(self) -> np.ndarray:
        """C itself: (D, D)."""
        with np.errstate(over="ignore"):
            return self.scale[:, None] * self.times(np.eye(len(self.unit)), self.deviation**2) * self.scale

    def log_det(self) -> float:
        """log |C|, within the directions that are not left out."""
        if self.rest or len(self.deviation) == len(self.unit):
            return float(2 * np.log(self.deviation).sum() - 2 * np.log(self.unit[self.unit > 0]).sum())
        rows = self.scale[:, None] * self.axes * self.deviation
        longest_first = np.argsort(-self.scale)  # or units far apart cost digits
        root: Any = qr(rows[longest_first], mode="r", pivoting=True)[0]
        return float(2 * np.log(np.abs(root.diagonal())).sum())

    def misses(self, difference: np.ndarray, size: np.ndarray) -> bool:
        """Whether some of the differences (n, D) lie in directions that are left out; `size` is that of x."""
        u = difference * self.unit
        outside = 0 if self.rest else np.abs(u - u @ self.axes @ self.axes.T).max()
        constant = np.abs(difference[:, self.unit == 0]) > SAME * size[self.unit == 0]
        return bool(outside > 1e-8 * (1 + np.abs(u).max()) or constant.any())


def spread_of(
    rows: np.ndarray, index: np.ndarray, weight: np.ndarray, size: np.ndarray, shrinkage: Shrinkage
) -> Spread | None:
    """Maximum-likelihood covariance of rows without their means; None where no column varies.

    Args:
        rows: (n, D); written over.
        index: Class of each (n,): "auto" chooses the shrinkage of each class, and adds up by weight.
        weight: Of each: (n,).
        size: Largest |x| of each column: (D,).
        shrinkage: None, "auto" (Ledoit and Wolf, of standardised columns), or s of T = mean variance times I.
    """
    scale = deviations(rows, weight, size)
    if not scale.any():
        return None
    keep, ground = np.ones(len(rows)), np.zeros_like(scale)
    u = np.multiply(rows, inverse(scale), out=rows)
    if shrinkage == "auto":
        keep, ground = _chosen(u, index, weight)
        ground *= scale
    elif shrinkage:
        largest = scale.max()
        keep -= shrinkage
        ground += largest * np.sqrt(shrinkage * np.mean((scale / largest) ** 2))
    u *= np.sqrt(weight / weight.sum() * keep)[:, None]
    if (ground >= scale * np.finfo(float).eps).all() and ground.any():  # in its units C = I + uᵀu
        u *= scale * inverse(ground)
        sigma, axes = _singular(u)
        return Spread(inverse(ground), axes, np.hypot(1, sigma), len(sigma) < len(scale))
    sigma, axes = _singular(np.vstack([u, np.diag(ground * inverse(scale))]) if ground.any() else u)
    kept = sigma > max(rows.shape) * np.finfo(float).eps * sigma[0]
    return Spread(inverse(scale), axes[:, kept], sigma[kept], False)


def deviations(rows: np.ndarray, weight: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Root mean square of each column (D,), of numbers of any size; 0 where it is constant up to rounding."""
    peak = np.maximum(rows.max(0), -rows.min(0))
    peak = np.where(peak > SAME * size, peak, 0)
    if (peak[peak > 0] > 1e-140).all() and (peak < 1e140).all():  # squares are finite: no copy
        unit = peak > 0
    else:
        unit, rows = peak, rows * inverse(peak)
    return unit * np.sqrt(np.einsum("n,nd,nd->d", weight / weight.sum(), rows, rows))


def inverse(scale: np.ndarray) -> np.ndarray:
    """One over each scale, 0 of 0."""
    return np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)


def in_units(difference: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Differences of rows times one over the scale of each column, none of them beyond FAR: (n, D)."""
    with np.errstate(over="ignore"):
        return np.clip(difference * unit, -FAR, FAR)


def _singular(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Singular values and right singular vectors (D, r), the largest entry of each positive."""
    if len(rows) > rows.shape[1]:
        rows = _triangle(rows)
    _, sigma, axes = np.linalg.svd(rows, full_matrices=False)
    return sigma, (axes * upright(axes)).T


def _triangle(rows: np.ndarray) -> np.ndarray:
    """R of rows = QR, a block of them at a time."""
    step, upper = max(BLOCK // rows.shape[1], 4 * rows.shape[1]), rows[:0]
    for start in range(0, len(rows), step):
        upper = np.asarray(np.linalg.qr(np.vstack([upper, rows[start : start + step]]), mode="r"))
    return upper


def upright(axes: np.ndarray) -> np.ndarray:
    """The signs (r, 1) that make the largest entry of each axis (r, D) positive."""
    return np.sign(np.take_along_axis(axes, np.abs(axes).argmax(1)[:, None], 1))


def _chosen(u: np.ndarray, index: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What each row keeps, 1 - s of its class (n,), and the root of Σ_k share_k s_k T_k (D,), by Ledoit and Wolf."""
    keep, ground = np.ones(len(u)), np.zeros(u.shape[1])
    for k in np.unique(index):
        own, w = u[index == k], weight[index == k]
        scale = deviations(own, w, np.zeros(u.shape[1]))
        s, mean = _ledoit_wolf(own * inverse(scale), w)
        keep[index == k] = 1 - s
        ground += w.sum() / weight.sum() * s * mean * scale**2
    return keep, np.sqrt(ground)


def _ledoit_wolf(u: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Shrinkage s and mean variance μ of rows of mean 0: s = min(β, δ) / δ, δ = |C - μI|² / D."""
    n, d = weight.sum(), u.shape[1]
    rows = u * np.sqrt(weight / n)[:, None]
    mean = np.square(rows).sum() / d
    squared = np.square(rows @ rows.T if len(rows) < d else rows.T @ rows).sum()  # |C|²
    beta = (weight / n @ np.square(np.square(u).sum(1)) - squared) / (d * n)
    delta = squared / d - mean**2
    return (float(min(beta, delta) / delta) if beta > 0 and delta > 0 else 0.0), float(mean)
