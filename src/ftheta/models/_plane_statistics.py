"""Statistics of a plane from its orthonormal columns: fit, leverage, robust errors, inflation, tests of residuals.

    leverage  h_i = ‖q_i‖²     HC3  cov θ̂ = root (Σ_i v_i e_i² / (1 - h_i)² q_i q_iᵀ) rootᵀ     VIF_j  ‖root_j‖² ‖a_j‖²

Sums of squares are in units of the plane's `unit`. NaN is what cannot be said.
Shapes: n rows, D features, P coefficients, r their rank.
References: Weisberg, Applied Linear Regression (2014); MacKinnon and White, Journal of Econometrics 29 (1985).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..formulas import breusch_pagan, durbin_watson, jarque_bera
from ._plane import EPS, Plane, norms

__all__ = [
    "PINNED",
    "ResidualTests",
    "f_ratio",
    "inflation",
    "influence",
    "log_likelihood",
    "r2_forms",
    "residual_tests",
    "robust_errors",
]

PINNED = 1e-10  # 1 - h of a row through which every plane goes


class ResidualTests(NamedTuple):
    """What residuals say of the noise; kurtosis is 3 for normal noise."""

    durbin_watson: float
    jarque_bera: float
    jarque_bera_p: float
    skew: float
    kurtosis: float
    breusch_pagan: float
    breusch_pagan_p: float


def f_ratio(fit: Plane, rss: float) -> float:
    """What the columns but the constant explain, over the noise, each by its degrees of freedom."""
    n, r = fit.q.shape
    if n <= r or r <= fit.constant or not rss > 0:
        return np.nan
    return (fit.total - rss) / (r - fit.constant) / (rss / (n - r))


def r2_forms(fit: Plane) -> tuple[float, float, float]:
    """Explained ratio, 1 - RSS/TSS and squared correlation about the mean."""
    total, left = float(fit.response @ fit.response), fit.response - fit.residual
    own = left - fit.ones * (fit.ones @ left / fit.weight)  # about the mean of the predictions
    spread, both = float(own @ own), float(fit.response @ own)
    if not total > 0:
        return np.nan, np.nan, np.nan
    correlation = both / total * (both / spread) if spread > EPS**2 * total * len(own) else np.nan
    return float(left @ left) / total, 1 - float(fit.residual @ fit.residual) / total, correlation


def influence(fit: Plane, sigma: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leverage, standardized and studentized residuals: (n,) each; NaN for a row that lies on every plane."""
    leverage = np.minimum(np.einsum("nr,nr->n", fit.q, fit.q), 1.0)
    dof = len(leverage) - fit.q.shape[1]
    free = np.where(1 - leverage > PINNED, 1 - leverage, np.nan)
    standardized = fit.residual / np.sqrt(free) / sigma if sigma > 0 else np.full(len(leverage), np.nan)
    left = dof - standardized**2
    others = np.where(left > PINNED * dof, left, np.nan)
    return leverage, standardized, standardized * np.sqrt((dof - 1) / others)


def robust_errors(fit: Plane, leverage: np.ndarray, sigma: float) -> np.ndarray:
    """HC3 standard errors (P,)."""
    free = np.where(1 - leverage > PINNED, 1 - leverage, np.nan)
    scored = fit.q * (fit.residual / free)[:, None] if sigma > 0 else 0 * fit.q * sigma
    size = abs(fit.root).max(1, initial=0.0)
    root = fit.root / np.where(size > 0, size, 1.0)[:, None]
    return fit.unit * size * np.sqrt(np.einsum("pr,rs,ps->p", root, scored.T @ scored, root))


def inflation(fit: Plane) -> np.ndarray:
    """1/(1 - R²) of a column on the others (P,): ∞ where they determine it, NaN where it does not vary."""
    vary = np.append([False] * (len(fit.theta) - len(fit.varies)), fit.varies)
    return np.where(vary, np.where(fit.known, (norms(fit.root) * fit.length) ** 2, np.inf), np.nan)


def log_likelihood(fit: Plane, rss: float) -> float:
    """Of normal noise at its most likely variance RSS/n; ∞ without noise."""
    n = len(fit.q)
    if not rss > 0:
        return np.inf
    spread = np.log(2 * np.pi * rss / n) + 2 * np.log(fit.unit)
    return float(-n / 2 * (spread + 1) + np.log(fit.ones).sum())


def residual_tests(fit: Plane, sigma: float) -> ResidualTests:
    """Of the residuals, scaled by their weights."""
    if not sigma > 0:
        return ResidualTests(*[np.nan] * 7)
    e, even = fit.residual, bool((fit.ones == fit.ones[0]).all())
    basis = fit.q / fit.ones[:, None]
    if not fit.constant:
        basis = np.column_stack([np.ones(len(e)), basis])
    basis = fit.q if even and fit.constant else np.linalg.qr(basis)[0]
    bera, bera_p, skew, kurtosis = jarque_bera(e)
    return ResidualTests(durbin_watson(e), bera, bera_p, skew, kurtosis, *breusch_pagan(e, basis))
