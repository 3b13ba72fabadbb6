"""Columns of a design: centered, scaled to length 1, and decomposed, those that follow from others left out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

__all__ = ["Decomposition", "centered", "decompose"]

DEPENDENT = 1e-10  # what other columns leave of a column of length 1 that follows from them
CONSTANT = 8 * np.finfo(float).eps  # range of a constant column, in units of its largest number


class Decomposition(NamedTuple):
    """A = Q R for the independent columns of A (n, P)."""

    q: np.ndarray  # orthonormal columns (n, r)
    root: np.ndarray  # (r, r), (AᵀA)⁻¹ = root rootᵀ
    kept: np.ndarray  # columns that do not follow from those before (P,)


def decompose(a: np.ndarray) -> Decomposition:
    """QR of columns of length 1; a column that follows from those before it is left out, as in R."""
    size = np.linalg.norm(a, axis=0)
    unit = a / np.where(size > 0, size, 1.0)
    q, r = _thin_qr(unit)
    kept = np.ones(a.shape[1], bool)
    if len(r) < a.shape[1] or np.abs(np.diag(r)).min(initial=1) <= DEPENDENT:
        kept = _independent(r)
        q, r = _thin_qr(unit[:, kept])
    sign = np.where(np.diag(r) < 0, -1.0, 1.0)  # so that R is unique
    q, r = q * sign, r * sign[:, None]
    root = linalg.solve_triangular(r, np.eye(len(r))) / size[kept, None]
    return Decomposition(q, root, kept)


def _thin_qr(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q (n, r) and R (r, P), r = min(n, P)."""
    return linalg.qr(a, mode="economic", check_finite=False)  # pyright: ignore[reportReturnType]


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
    about = x - mean
    about[:, np.ptp(x, axis=0) <= CONSTANT * np.abs(x).max(0)] = 0.0
    return about, mean
