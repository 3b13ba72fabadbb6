"""Cover's function counting theorem: how many dichotomies of N points a plane can make.

    C(N, d) = 2 Σ_{i<=d} binom(N - 1, i),      F(N, d) = C(N, d) / 2ᴺ = P(Binomial(N - 1, 1/2) <= d)

N is the number of points (not of inputs), d that of the features; the points are in general position (no d + 1 of them
in one hyperplane: three on a line in the plane have 6 dichotomies instead of 8). F is 1 up to N = d + 1, one half at
N = 2 (d + 1), and falls to 0 as points are added.

Reference: Cover, Geometrical and Statistical Properties of Systems of Linear Inequalities (1965), theorem 1.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp
from scipy.stats import binom

from ..errors import InputError

__all__ = ["separable_count", "separable_share"]


def separable_count(n_points: int, n_features: int) -> int:
    """How many of the 2ᴺ dichotomies a plane makes, exactly.

    Example:
        >>> separable_count(4, 2)
        14
    """
    _check(n_points, n_features)
    return 2 * sum(math.comb(n_points - 1, i) for i in range(min(n_features, n_points - 1) + 1))


def separable_share(n_points: int, n_features: int, *, log: bool = False) -> float:
    """Their share F of all dichotomies, or its natural logarithm, also where F itself is below the smallest number.

    Example:
        >>> separable_share(4, 2), separable_share(100, 10_000)
        (0.875, 1.0)
    """
    _check(n_points, n_features)
    if not log:
        return float(binom.cdf(n_features, n_points - 1, 0.5))
    if n_features >= n_points - 1:
        return 0.0
    return float(np.asarray(logsumexp(binom.logpmf(np.arange(n_features + 1), n_points - 1, 0.5))))


def _check(n: int, d: int) -> None:
    if n < 1 or d < 0 or n != int(n) or d != int(d):
        raise InputError(f"Got {n} points and {d} features; Cover's count takes integers N >= 1 and d >= 0.")
