"""Is it linear? The plane against a plane with a cubic spline in a column.

    spline  f(x) = Σ_k c_k (d_k(x) - d_{K-1}(x)),   d_k(x) = ((x - ξ_k)₊³ - (x - ξ_K)₊³) / (ξ_K - ξ_k),   k = 1 ... K-2
    F       (Δ / s) / ((RSS - Δ) / (n - r - s)),     Δ what s spline functions take off the RSS of r coefficients

The natural cubic spline is straight beyond its outer knots, and what is written above is what it adds to a straight
line. Knots lie at quantiles of the column, so F has its distribution exactly where the truth is linear and the noise
normal.
Shapes: n rows, D features, r coefficients, K knots (3 to 5).
Reference: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), sections 3.2 and 5.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from ...results import Table
from .least_squares import Design

__all__ = ["Linearity", "linearity", "natural_spline"]

QUANTILES = {3: (0.1, 0.5, 0.9), 4: (0.05, 0.35, 0.65, 0.95), 5: (0.05, 0.275, 0.5, 0.725, 0.95)}


@dataclass(frozen=True, eq=False)
class Linearity:
    """What a spline explains beyond the plane, in one column at a time and in all together."""

    names: tuple[str, ...]  # column, or "all columns"
    functions: tuple[int, ...]  # spline functions that were added
    f: tuple[float, ...]  # of the gain
    p: tuple[float, ...]  # of F if the truth is a plane
    linear: float  # share of the variance of y that the plane explains
    spline: tuple[float, ...]  # share with the spline
    note: str = ""  # what could not be tested

    def table(self) -> Table:
        """One row per test."""
        columns = {"spline in": self.names, "functions": self.functions, "F": self.f, "p": self.p}
        shares = {"R² of the plane": [self.linear] * len(self.names), "with the spline": self.spline}
        return Table({**columns, **shares}, self.note)


def natural_spline(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """What a natural cubic spline adds to a straight line: (n,), (K,) -> (n, K - 2)."""
    width = knots[-1] - knots[0]
    u, at = (x - knots[0]) / width, ((knots - knots[0]) / width)[:, None]  # 0 ... 1 between the outer knots
    cubes = np.maximum(u - at, 0.0) ** 3  # (K, n)
    d = (cubes[:-1] - cubes[-1]) / (1 - at[:-1])
    return (d[:-1] - d[-1]).T


def _knots(x: np.ndarray, most: int) -> np.ndarray | None:
    """Up to `most` knots at quantiles of a column; None where it has two values or fewer."""
    found = np.unique(np.quantile(x, QUANTILES[most]))
    if len(found) >= 3:
        return found
    values = np.unique(x)  # ties swallow the quantiles of the rows
    return values[[0, len(values) // 2, -1]] if len(values) >= 3 else None


def linearity(
    x: np.ndarray, y: np.ndarray, e: np.ndarray, plane: Design, constant: bool, names: Sequence[str]
) -> Linearity:
    """F tests of splines against the plane, one column at a time and all together."""
    q, scale, f = plane.q, plane.scale, len(plane.kept) - x.shape[1]
    left, dof = e * scale, len(x) - plane.q.shape[1]
    rss = float(left @ left)
    total = float(((y - (np.average(y, weights=scale**2) if constant else 0.0)) ** 2) @ scale**2)
    most = int(np.clip(2 + dof // 4, 3, 5))
    kept = np.flatnonzero(plane.kept[f:]) if dof > 1 and rss > 0 else []
    knots = {j: at for j in kept if (at := _knots(x[:, j], most)) is not None}
    if not knots:
        why = "No column has three different values" if dof > 1 else f"There are {dof} degrees of freedom"
        note = f"{why if rss > 0 else 'There is no noise'}: linearity is not tested."
        return Linearity((), (), (), (), 1 - rss / total if total else np.nan, (), note)
    news = [_new_part(natural_spline(x[:, j], at) * scale[:, None], q) for j, at in knots.items()]
    tests = [(names[j + f], new) for j, new in zip(knots, news, strict=True)]
    if len(tests) > 1:
        tests.append(("all columns", _new_part(np.hstack(news), q)))
    lines = []
    for name, new in tests:
        k, gain = new.shape[1], float(((new.T @ left) ** 2).sum())
        if 0 < k < dof:
            ratio = (gain / k) / ((rss - gain) / (dof - k))
            lines.append((name, k, ratio, float(stats.f.sf(ratio, k, dof - k)), 1 - (rss - gain) / total))
    note = "" if len(lines) == len(tests) else "Splines that leave no degrees of freedom or add nothing are left out."
    columns = [tuple(column) for column in zip(*lines, strict=True)] or [()] * 5
    return Linearity(*columns[:4], 1 - rss / total, columns[4], note)  # type: ignore[arg-type]


def _new_part(made: np.ndarray, q: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what functions (n, k) add to the columns of q (n, r)."""
    size = np.linalg.norm(made, axis=0)
    made = made / np.where(size > 0, size, 1.0)
    made = made - q @ (q.T @ made)
    u, s, _ = np.linalg.svd(made, full_matrices=False)
    return u[:, s > 1e-7]
