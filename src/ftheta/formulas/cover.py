"""Cover's function counting theorem: how many dichotomies of N points a plane can make.

    C(N, d) = 2 Σ_{i<=d} binom(N - 1, i),      F(N, d) = C(N, d) / 2ᴺ = P(Binomial(N - 1, 1/2) <= d)

N is the number of points (not of inputs), d that of the features; the points are in general position (no d + 1 of them
in one hyperplane: three on a line in the plane have 6 dichotomies instead of 8). F is 1 up to N = d + 1, one half at
N = 2 (d + 1), and falls to 0 as points are added.

Reference: Cover, Geometrical and Statistical Properties of Systems of Linear Inequalities (1965), theorem 1.
"""

from __future__ import annotations

import math
from typing import Any

from ..errors import InputError

__all__ = ["log10_separable_share", "separable_count", "separable_share"]


def separable_count(n_points: int, n_features: int) -> int:
    """How many of the 2ᴺ dichotomies a plane makes, exactly.

    Example:
        >>> separable_count(4, 2)
        14
    """
    n, d = _checked(n_points, n_features)
    if d >= n - 1:
        return 2**n
    term = total = 1
    for i in range(d):
        term = term * (n - 1 - i) // (i + 1)  # binom(N - 1, i + 1)
        total += term
    return 2 * total


def separable_share(n_points: int, n_features: int) -> float:
    """Their share F of all dichotomies; 0 where it is below the smallest number.

    Example:
        >>> separable_share(4, 2), separable_share(100, 10_000)
        (0.875, 1.0)
    """
    return 10 ** log10_separable_share(n_points, n_features) if n_points > 1000 else _exact(n_points, n_features)


def log10_separable_share(n_points: int, n_features: int) -> float:
    """log₁₀ F, also where F itself is far below the smallest number.

    Example:
        >>> round(log10_separable_share(10**6, 10), 2)
        -300976.25
    """
    n, d = _checked(n_points, n_features)
    if d >= n - 1:
        return 0.0
    if n <= 1000:
        return math.log10(_exact(n, d))
    import numpy as np
    from scipy.special import gammaln, logsumexp

    i = np.arange(d + 1)
    total: Any = logsumexp(gammaln(n) - gammaln(i + 1) - gammaln(n - i))  # ln Σ binom(N - 1, i)
    return min(0.0, float(total) / math.log(10) - (n - 1) * math.log10(2))


def _exact(n: int, d: int) -> float:
    return separable_count(n, d) / 2**n


def _checked(n: int, d: int) -> tuple[int, int]:
    if n < 1 or d < 0 or n != int(n) or d != int(d):
        raise InputError(f"Got {n} points and {d} features; Cover's count takes whole numbers N >= 1 and d >= 0.")
    return int(n), int(d)
