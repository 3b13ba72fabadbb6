"""The design of least squares: columns centered, scaled to length 1 and decomposed, dependent ones left out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

__all__ = ["CONSTANT", "Design", "centered", "decompose", "design"]

DEPENDENT = 1e-10  # what other columns leave of a column of length 1 that follows from them
CONSTANT = 8 * np.finfo(float).eps  # range of a constant column, in units of its largest number


class Design(NamedTuple):
    """√v A = Q R for the independent columns of A = (1, x - x̄), or of x without an intercept."""

    a: np.ndarray  # A (n, P)
    scale: np.ndarray  # √v (n,)
    mean: np.ndarray  # x̄ (D,), 0 without an intercept
    q: np.ndarray  # orthonormal columns (n, r)
    root: np.ndarray  # (r, r), (AᵀVA)⁻¹ = root rootᵀ
    kept: np.ndarray  # columns that do not follow from those before (P,)

    def solve(self, y: np.ndarray) -> np.ndarray:
        """θ of the columns that are kept, for y (n,) or (n, T)."""
        return self.root @ (self.q.T @ (y.T * self.scale).T)


def design(x: np.ndarray, weight: np.ndarray | None, intercept: bool) -> Design:
    """The design of rows x (n, D) with weights (n,)."""
    about, mean = centered(x, weight) if intercept else (x, np.zeros(x.shape[1]))
    a, scale = (
        np.hstack([np.ones((len(x), int(intercept))), about]),
        np.sqrt(np.ones(len(x)) if weight is None else weight),
    )
    return Design(a, scale, mean, *decompose(a * scale[:, None]))


def decompose(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Q, root and kept of columns (n, P); a column that follows from those before it is left out, as in R."""
    size = np.linalg.norm(a, axis=0)
    unit = a / np.where(size > 0, size, 1.0)
    q, r = np.linalg.qr(unit)
    kept = np.ones(a.shape[1], bool)
    if len(r) < a.shape[1] or np.abs(np.diag(r)).min(initial=1) <= DEPENDENT:
        kept = _independent(r)
        q, r = np.linalg.qr(unit[:, kept])
    sign = np.where(np.diag(r) < 0, -1.0, 1.0)  # so that R is unique
    q, r = q * sign, r * sign[:, None]
    return q, linalg.solve_triangular(r, np.eye(len(r))) / size[kept, None], kept


def _independent(r: np.ndarray) -> np.ndarray:
    """Which columns of length 1 do not follow from those before (P,)."""
    basis, kept = np.zeros((len(r), 0)), np.zeros(r.shape[1], bool)
    for j, column in enumerate(r.T):
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)
        kept[j] = np.linalg.norm(rest) > DEPENDENT
        if kept[j]:
            basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
    return kept


def centered(x: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Columns about their means, exactly 0 where they are constant up to rounding (n, D); the means (D,)."""
    mean = np.average(x, axis=0, weights=weight)
    mean = mean + np.average(x - mean, axis=0, weights=weight)  # rounding error where it is large
    about = x - mean
    about[:, np.ptp(x, axis=0) <= CONSTANT * np.abs(x).max(0)] = 0.0
    return about, mean
