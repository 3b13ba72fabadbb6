"""The Gaussian in D dimensions: ellipses, and the error that two of them leave.

    log N(x; m, C) = -½ (D log 2π + log |C| + Δ²),      Δ² = (x - m)ᵀ C⁻¹ (x - m)

Points of one Δ are an ellipsoid with axis i along u_i and half-length √λ_i Δ, where C u_i = λ_i u_i. Two Gaussians of
one covariance have a linear log-ratio, log π₂ N₂ / π₁ N₁ = wᵀ x + b with w = C⁻¹ (m₂ - m₁), and a Bayes error Φ(-Δ/2)
for equal shares, Δ between the means.
Shapes: D dimensions.
Reference: Bishop, Pattern Recognition and Machine Learning (2006), sections 2.3 and 4.2.1.
"""

from typing import Any

import numpy as np
from scipy.linalg import solve
from scipy.special import ndtr

from ..errors import InputError


def _symmetric(covariance: Any) -> np.ndarray:
    c = np.asarray(covariance, dtype=float)
    size = np.abs(c).max(initial=0.0)
    square = c.ndim == 2 and c.shape[0] == c.shape[1] and np.isfinite(size)
    if not square or np.abs(c - c.T).max(initial=0.0) > 1e-8 * size:
        raise InputError(f"A covariance is a symmetric matrix, got shape {c.shape}; finite D x D numbers are needed.")
    return c


def principal_axes(covariance: Any, delta: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Axes u_i of the ellipsoid of distance `delta` (D, D), one per row, and half-lengths √λ_i Δ (D,), longest first.

    Example:
        >>> principal_axes([[1.0, 0.0], [0.0, 9.0]], 2.0)[1].tolist()
        [6.0, 2.0]
    """
    values, vectors = np.linalg.eigh(_symmetric(covariance))
    return vectors.T[::-1], delta * np.sqrt(np.maximum(values[::-1], 0))


def ellipse(mean: Any, covariance: Any, delta: float = 1.0, points: int = 200) -> np.ndarray:
    """Points at distance `delta` from the mean of two dimensions, once around: (points, 2); the last is the first."""
    axes, lengths = principal_axes(covariance, delta)
    if len(lengths) != 2:
        raise InputError(f"An ellipse has two dimensions, but the covariance has {len(lengths)}. Choose two columns.")
    angle = np.linspace(0, 2 * np.pi, points)
    return np.asarray(mean) + np.stack([np.cos(angle), np.sin(angle)], 1) * lengths @ axes


def gaussian_boundary(
    mean1: Any, mean2: Any, covariance: Any, priors: tuple[float, float] = (0.5, 0.5)
) -> tuple[np.ndarray, float]:
    """w (D,) and b of the log-odds of the second of two Gaussians of one covariance; where wᵀ x + b > 0 it is chosen.

    Example:
        >>> w, b = gaussian_boundary([0, 0], [2, 1], [[2, 0.5], [0.5, 1]])
        >>> w.round(5).tolist(), round(b, 5)
        ([0.85714, 0.57143], -1.14286)
    """
    first, second = np.asarray(mean1, dtype=float), np.asarray(mean2, dtype=float)
    try:
        w = solve(_symmetric(covariance), second - first, assume_a="pos")
    except np.linalg.LinAlgError:
        raise InputError(
            "The covariance is not positive definite: in some direction it has no variance. Leave out columns that "
            "are constant or follow from others, or add a little to its diagonal."
        ) from None
    return w, _log_odds(priors) - float(w @ (first + second) / 2)


def _log_odds(priors: tuple[float, float]) -> float:
    if len(priors) != 2 or not min(priors) > 0 or not np.isclose(sum(priors), 1):
        raise InputError(f"priors={tuple(priors)}: give two shares > 0 that add up to 1, such as (0.3, 0.7).")
    return float(np.log(priors[1] / priors[0]))


def gaussian_bayes_error(mean1: Any, mean2: Any, covariance: Any, priors: tuple[float, float] = (0.5, 0.5)) -> float:
    """The least share of wrong answers for two Gaussians of one covariance: Φ(-Δ/2) for equal shares.

    Example:
        >>> round(gaussian_bayes_error([0, 0], [2, 1], [[2, 0.5], [0.5, 1]]), 5)
        0.22485
    """
    w, _ = gaussian_boundary(mean1, mean2, covariance, priors)
    delta, odds = float(w @ np.subtract(mean2, mean1)) ** 0.5, _log_odds(priors)
    if delta == 0:
        return float(min(priors))
    return float(priors[0] * ndtr(odds / delta - delta / 2) + priors[1] * ndtr(-odds / delta - delta / 2))
