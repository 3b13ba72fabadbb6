"""The slope of a function by differences, with a bound of its own error.

    D(h) = (f(h) - f(-h)) / 2h = f'(0) + c₂ h² + c₄ h⁴ + ...        h, h/4, h/16, ...: the powers are extrapolated away

The step shrinks until rounding, ε |f| / h, outweighs what the smaller step gains; the best of all is taken.
Reference: Ridders, Accurate computation of F'(x) and F'(x) F''(x), Advances in Engineering Software 4 (1982).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, nan

__all__ = ["sides", "slope"]

EPSILON = 2.0**-49  # rounding of a loss that is a sum of many terms
SHRINK, LEVELS, ENOUGH = 4, 10, 1e-9


def slope(f: Callable[[float], float], size: float, h: float = 0.01) -> tuple[float, float]:
    """f'(0), and how far it may be off.

    Args:
        f: Function of one number.
        size: Size of the terms that f adds up: what its rounding is measured by.
        h: First step.

    Example:
        >>> from math import exp
        >>> found, error = slope(exp, 1.0)
        >>> abs(found - 1) <= error < 1e-9
        True
    """
    best, error, before = nan, inf, []
    for _ in range(LEVELS):
        row, rounding = [(f(h) - f(-h)) / (2 * h)], EPSILON * size / h
        for j, coarse in enumerate(before):
            row.append(row[j] + (row[j] - coarse) / (SHRINK ** (2 * j + 2) - 1))
            off = max(abs(row[-1] - row[j]), abs(row[-1] - coarse)) + rounding
            if off < error:
                best, error = row[-1], off
        if error <= ENOUGH * abs(best) or rounding > error:
            break
        before, h = row, h / SHRINK
    return best, error


def sides(f: Callable[[float], float], size: float, h: float = 1e-5) -> tuple[float, float] | None:
    """The slopes to the left and to the right where they differ, as at a kink; None where f is smooth."""

    def both(h: float) -> tuple[float, float]:
        return (f(0.0) - f(-h)) / h, (f(h) - f(0.0)) / h

    (left, right), (nearer_left, nearer_right) = both(h), both(h / 10)
    gap, nearer = abs(right - left), abs(nearer_right - nearer_left)
    seen = nearer > 0.5 * gap and nearer > 1e3 * EPSILON * size / h  # a smooth f has a tenth of the gap
    return (nearer_left, nearer_right) if seen and isfinite(nearer) else None
