"""Tests and intervals: how surprising an estimate is, and between which numbers the truth lies.

    p = P(|T| >= |t|),   T ~ t_ν or N(0, 1)             interval = estimate ± q σ̂,   q the (1 + level)/2 quantile of T
    p = P(F >= f),       F ~ F(ν₁, ν₂)                  p = P(X >= x),               X ~ χ²_ν

ν are degrees of freedom; where they are 0 or less, nothing can be said and the answer is NaN. Upper tails are computed
as such, not as 1 - P, so that small p keep their digits. Arrays in, arrays out.
References: Casella and Berger, Statistical Inference (2002), chapters 8 and 9; Durbin and Watson, Biometrika 37 (1950);
Jarque and Bera, Economics Letters 6 (1980); Koenker, Journal of Econometrics 17 (1981).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import chdtrc, fdtrc, ndtr, ndtri, stdtr, stdtrit

from ..errors import InputError

__all__ = ["breusch_pagan", "chi2_test", "durbin_watson", "f_test", "interval", "jarque_bera", "two_sided"]


def two_sided(t: Any, dof: Any = None) -> Any:
    """Probability of a statistic at least as far from 0 as t.

    Args:
        t: Estimate over its standard error.
        dof: Degrees of freedom of Student's t; None: the normal distribution.

    Example:
        >>> two_sided([0.0, 2.0], dof=10).round(4)
        array([1.    , 0.0734])
    """
    low = -abs(np.asarray(t, dtype=float))
    return 2 * (ndtr(low) if dof is None else stdtr(_positive(dof), low))


def interval(estimate: Any, error: Any, level: float = 0.95, dof: Any = None) -> tuple[Any, Any]:
    """Lower and upper end of the central interval that holds the truth with probability `level`.

    Args:
        estimate: What was found.
        error: Its standard error.
        level: Probability, between 0 and 1.
        dof: Degrees of freedom of Student's t; None: the normal distribution.

    Example:
        >>> low, high = interval(10.0, 1.0)
        >>> round(float(low), 2), round(float(high), 2)
        (8.04, 11.96)
    """
    if not 0 < level < 1:
        raise InputError(f"level is {level}; a share strictly between 0 and 1 is needed, such as 0.95.")
    upper = (1 + level) / 2
    half = (ndtri(upper) if dof is None else stdtrit(_positive(dof), upper)) * np.asarray(error, dtype=float)
    return estimate - half, estimate + half


def f_test(f: Any, dof1: Any, dof2: Any) -> Any:
    """Probability of a ratio of variances of at least f, with dof1 degrees of freedom above and dof2 below."""
    return fdtrc(_positive(dof1), _positive(dof2), np.asarray(f, dtype=float))


def chi2_test(x: Any, dof: Any) -> Any:
    """Probability of a sum of dof squared normal numbers of at least x."""
    return chdtrc(_positive(dof), np.asarray(x, dtype=float))


def _positive(dof: Any) -> np.ndarray:
    """Degrees of freedom; NaN for none."""
    d = np.asarray(dof, dtype=float)
    return np.where(d > 0, d, np.nan)


# ---- of residuals


def durbin_watson(residual: np.ndarray) -> float:
    """Σ (e_i - e_{i-1})² / Σ e_i²: about 2 without correlation from row to row, towards 0 where neighbours agree.

    Example:
        >>> durbin_watson(np.array([1.0, -1.0, 1.0, -1.0]))
        3.0
    """
    return float((np.diff(residual) ** 2).sum() / (residual**2).sum())


def jarque_bera(residual: np.ndarray) -> tuple[float, float, float, float]:
    """n/6 (S² + (K - 3)²/4), its p under normal noise (χ² of 2 degrees, many rows), skew S and kurtosis K."""
    e = residual - residual.mean()
    e = e / np.sqrt((e**2).mean())
    skew, kurtosis = float((e**3).mean()), float((e**4).mean())
    statistic = len(e) / 6 * (skew**2 + (kurtosis - 3) ** 2 / 4)
    return statistic, float(chi2_test(statistic, 2)), skew, kurtosis


def breusch_pagan(residual: np.ndarray, basis: np.ndarray) -> tuple[float, float]:
    """n R² of e² on the columns and its p if the noise is the same everywhere (Koenker's form: not only normal noise).

    NaN where there is nothing but the constant, or where all e² are the same.

    Args:
        residual: e (n,).
        basis: Orthonormal columns (n, r) that span what the spread may depend on, with the constant among it.
    """
    square = residual**2 / (residual**2).mean() - 1  # (n,), mean 0
    spread = float((square**2).sum())
    if basis.shape[1] < 2 or not spread > 0:
        return np.nan, np.nan
    statistic = len(residual) * float(((basis.T @ square) ** 2).sum()) / spread
    return statistic, float(chi2_test(statistic, basis.shape[1] - 1))
