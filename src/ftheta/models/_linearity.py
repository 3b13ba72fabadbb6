"""Is it linear? The plane against a plane with a cubic spline in a column.

    spline  f(x) = Σ_k c_k (d_k(x) - d_{K-1}(x)),   d_k(x) = ((x - ξ_k)₊³ - (x - ξ_K)₊³) / (ξ_K - ξ_k),   k = 1 ... K-2
    F       (Δ / s) / ((RSS - Δ) / (n - r - s)),     Δ what s spline functions take off the RSS of r coefficients

The natural cubic spline is straight beyond its outer knots, and what is written above is what it adds to a straight
line. Knots lie at quantiles of the column, so F has its distribution exactly where the truth is linear and the noise
normal.
Shapes: n rows, D features, r coefficients, K knots (3 to 5), S spline functions of all columns together.
Reference: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), sections 3.2 and 5.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..formulas import f_test
from ..results import Table

__all__ = ["Linearity", "linearity", "natural_spline"]

QUANTILES = {3: (0.1, 0.5, 0.9), 4: (0.05, 0.35, 0.65, 0.95), 5: (0.05, 0.275, 0.5, 0.725, 0.95)}
BLOCK = 2**13  # rows whose spline functions are in memory at once
ALL = "all columns"


@dataclass(frozen=True, eq=False)
class Linearity:
    """What a spline explains beyond the plane, one column at a time and in all together.

    Args:
        names: Column, or "all columns".
        functions: Spline functions that were added.
        f: Of the gain.
        p: Of F if the truth is a plane.
        linear: Share of the variance of y that the plane explains.
        spline: Share with the spline.
        said: What could not be tested.
    """

    names: tuple[str, ...]
    functions: tuple[int, ...]
    f: tuple[float, ...]
    p: tuple[float, ...]
    linear: float
    spline: tuple[float, ...]
    said: str = ""

    def table(self) -> Table:
        """One line a test."""
        columns = {"spline in": self.names, "functions": self.functions, "F": self.f, "p": self.p}
        shares = {"R² of the plane": [self.linear] * len(self.names), "with the spline": self.spline}
        return Table({**columns, **shares}, self.said)


def natural_spline(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """What a natural cubic spline adds to a straight line: (n,), (K,) -> (n, K - 2)."""
    width = knots[-1] - knots[0]
    u, at = (x - knots[0]) / width, ((knots - knots[0]) / width)[:, None]  # 0 ... 1 between the outer knots
    beyond = np.maximum(u - at, 0.0)  # (K, n)
    cubes = beyond * beyond * beyond
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
    x: np.ndarray, q: np.ndarray, residual: np.ndarray, total: float, ones: np.ndarray, names: Sequence[str]
) -> Linearity:
    """F tests of splines against a plane.

    Args:
        x: Features (n, D).
        q: Orthonormal columns (n, r) that span the plane's, rows weighted.
        residual: What the plane leaves (n,), rows weighted.
        total: Sum of squares of y that R² is of.
        ones: √weight of the rows (n,).
        names: Of the features.
    """
    rss, dof = float(residual @ residual), len(q) - q.shape[1]
    most = int(np.clip(2 + dof // 4, 3, 5))
    found = {j: _knots(x[:, j], most) for j in range(x.shape[1])} if dof > 1 else {}
    knots = {j: at for j, at in found.items() if at is not None}
    if not knots:
        why = "No column has three different values" if dof > 1 else f"There are {dof} degrees of freedom"
        return Linearity((), (), (), (), 1 - rss / total, (), f"{why}: linearity cannot be tested.")
    gram, shared, size = _gram(x, q, residual, ones, knots)
    owner = np.repeat(list(knots), [len(at) - 2 for at in knots.values()])
    tests = [(names[j], owner == j) for j in knots] + [(ALL, owner >= 0)] * (len(knots) > 1)
    new = np.diag(gram) > 1e-14 * size  # the others lie in the plane
    lines = [(name, *_gain(gram[of & new][:, of & new], shared[of & new], rss, dof)) for name, of in tests]
    lines = [line for line in lines if line[1]]
    said = (
        "" if len(lines) == len(tests) else "Splines that leave no degrees of freedom or repeat columns are left out."
    )
    name, s, f, gain = zip(*lines, strict=True) if lines else ((),) * 4
    p = tuple(float(f_test(one, k, dof - k)) for one, k in zip(f, s, strict=True))
    return Linearity(name, s, f, p, 1 - rss / total, tuple(1 - (rss - g) / total for g in gain), said)


def _gram(
    x: np.ndarray, q: np.ndarray, e: np.ndarray, ones: np.ndarray, knots: dict[int, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Products of the spline functions, their part in the plane taken off, with each other (S, S) and with e (S,).

    The last of three are their squares (S,) before that.
    """

    def blocks() -> Iterator[tuple[slice, np.ndarray]]:
        for start in range(0, len(x), BLOCK):
            rows = slice(start, start + BLOCK)
            made = np.hstack([natural_spline(x[rows, j], at) for j, at in knots.items()])
            yield rows, made * ones[rows, None]

    inside = np.sum([q[rows].T @ made for rows, made in blocks()], 0)  # (r, S)
    gram, shared, size = (np.zeros(shape) for shape in [(inside.shape[1],) * 2, inside.shape[1:], inside.shape[1:]])
    for rows, made in blocks():
        size += (made**2).sum(0)
        made -= q[rows] @ inside
        gram, shared = gram + made.T @ made, shared + made.T @ e[rows]
    return gram, shared, size


def _gain(gram: np.ndarray, shared: np.ndarray, rss: float, dof: int) -> tuple[int, float, float]:
    """How many functions are new, F, and what they take off the RSS; (0, ...) where nothing is or nothing is left."""
    size = np.sqrt(np.diag(gram))
    values, vectors = np.linalg.eigh(gram / np.outer(size, size))
    new = values > 1e-9
    gain = float((((vectors.T @ (shared / size)) ** 2)[new] / values[new]).sum())
    s = int(new.sum())
    if s == 0 or dof <= s:
        return 0, np.nan, 0.0
    return s, (gain / s) / ((rss - gain) / (dof - s)), gain
