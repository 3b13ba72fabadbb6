"""A penalty is a negative log prior: the most probable coefficients are those of ridge or the lasso.

    -log p(w, b | X, y) = -log p(y | X, w, b) - log p(w) + const          minimised: maximum a posteriori (MAP)
    noise N(0, v), prior N(0, s²):       Σ r² / (2v) + Σ w² / (2s²)       ridge with α = v / s²
    noise N(0, v), prior Laplace(0, c):  Σ r² / (2v) + Σ |w| / c          lasso with α = v / (n c)

The prior is on the D slopes; the intercept has a flat one.

Reference: Bishop, Pattern Recognition and Machine Learning (2006), section 3.1.4.
"""

from __future__ import annotations

from math import log, pi
from typing import Literal, NamedTuple

import numpy as np

from ..errors import InputError

__all__ = ["NegativeLogPosterior", "lasso_alpha", "negative_log_posterior", "ridge_alpha"]


class NegativeLogPosterior(NamedTuple):
    """Both parts, in nats.

    Args:
        likelihood: -log p(y | X, w, b).
        prior: -log p(w).
    """

    likelihood: float
    prior: float

    @property
    def total(self) -> float:
        """-log p(y, w | X), what the maximum a posteriori estimate makes least."""
        return self.likelihood + self.prior


def ridge_alpha(noise: float, prior: float) -> float:
    """The α of `Ridge` for a noise variance and a Gaussian prior variance of the coefficients.

    Example:
        >>> ridge_alpha(noise=0.5, prior=2.0)
        0.25
    """
    return _positive("noise", noise) / _positive("prior", prior)


def lasso_alpha(noise: float, scale: float, n: int) -> float:
    """The α of `Lasso` on n rows for a noise variance and a Laplace prior of this scale (variance 2 scale²).

    Example:
        >>> lasso_alpha(noise=0.5, scale=2.0, n=10)
        0.025
    """
    return _positive("noise", noise) / (_positive("scale", scale) * _positive("n", n))


def negative_log_posterior(
    residual: np.ndarray,
    w: np.ndarray,
    *,
    noise: float,
    prior: float,
    kind: Literal["gaussian", "laplace"] = "gaussian",
) -> NegativeLogPosterior:
    """The two parts for residuals (n,) and coefficients w (D,), normalising constants included.

    Args:
        residual: y - Xw - b.
        w: Coefficients, without the intercept.
        noise: Variance of the Gaussian noise.
        prior: Variance of a Gaussian prior, or the scale of a Laplace prior.
        kind: Which prior.
    """
    v, s = _positive("noise", noise), _positive("prior", prior)
    likelihood = float(np.sum(np.square(residual))) / (2 * v) + np.size(residual) / 2 * log(2 * pi * v)
    if kind == "gaussian":
        return NegativeLogPosterior(
            likelihood, float(np.sum(np.square(w))) / (2 * s) + np.size(w) / 2 * log(2 * pi * s)
        )
    if kind == "laplace":
        return NegativeLogPosterior(likelihood, float(np.sum(np.abs(w))) / s + np.size(w) * log(2 * s))
    raise InputError(f"kind is {kind!r}; a prior is 'gaussian' or 'laplace'.")


def _positive(name: str, value: float) -> float:
    if not 0 < value < float("inf"):
        raise InputError(f"{name} is {value!r}; it must be a finite number > 0.")
    return float(value)
