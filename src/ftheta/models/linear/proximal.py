"""Soft-thresholding, and the duality gap that proves how good a solution of the lasso or the elastic net is.

    soft(z, t) = sign(z) max(|z| - t, 0) = argmin_w ½ (w - z)² + t |w|
    P(w) = ‖y - Xw‖² / (2N) + l1 ‖w‖₁ + l2/2 ‖w‖²,       gap = P(w) - D(θ)  >=  P(w) - min P  >=  0

    l2 > 0:   θ = r = y - Xw,    D = (y·r - ‖r‖²/2) / N - Σ_j (|x_j·r|/N - l1)₊² / (2 l2)
    always:   θ = s r with s such that |x_j·θ| <= N l1,    D = (s y·r - s²‖r‖²/2) / N;      the higher of the two

Shapes: m rows, D features, L solutions.
Reference: Boyd and Vandenberghe, Convex Optimization (2004), chapter 5; Parikh and Boyd, Proximal Algorithms (2014).
"""

from __future__ import annotations

import numpy as np

__all__ = ["lasso_gap", "lasso_objective", "soft_threshold"]


def soft_threshold(z: np.ndarray, t: np.ndarray | float) -> np.ndarray:
    """sign(z) max(|z| - t, 0) of each entry.

    Example:
        >>> soft_threshold(np.array([3.0, -0.5, -2.0]), 1.0)
        array([ 2.,  0., -1.])
    """
    return np.sign(z) * np.maximum(np.abs(z) - t, 0.0) + 0.0  # never -0


def lasso_objective(
    x: np.ndarray, y: np.ndarray, w: np.ndarray, l1: np.ndarray | float, l2: np.ndarray | float, total: float
) -> np.ndarray:
    """P(w) of each solution: x (m, D), y (m,), w (L, D) -> (L,)."""
    r = y - w @ x.T  # (L, m)
    return (r * r).sum(1) / (2 * total) + l1 * np.abs(w).sum(1) + l2 / 2 * (w * w).sum(1)


def lasso_gap(
    x: np.ndarray, y: np.ndarray, w: np.ndarray, l1: np.ndarray | float, l2: np.ndarray | float, total: float
) -> np.ndarray:
    """P(w) - D(θ) of each solution, at least as much as P(w) is above the minimum: (L,).

    Args:
        x: Rows, around their means where there is an intercept (m, D).
        y: Target, around its mean (m,).
        w: Solutions (L, D).
        l1: Weight of ‖w‖₁, one or (L,).
        l2: Weight of ‖w‖²/2, one or (L,).
        total: N, the count of rows that the m rows stand for.
    """
    l1, l2 = np.broadcast_to(l1, len(w)), np.broadcast_to(l2, len(w))
    r = y - w @ x.T  # (L, m)
    pull = np.abs(r @ x) / total  # |x_j·r| / N: (L, D)
    yr, rr = r @ y, (r * r).sum(1)
    strongest = pull.max(1, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        most = np.where(strongest > 0, l1 / strongest, np.inf)
        s = np.where(rr > 0, np.clip(yr / rr, -most, most), 0.0)
        excess = (np.maximum(pull - l1[:, None], 0.0) ** 2).sum(1) / (2 * l2)
        near = (yr - rr / 2) / total - excess  # not a number where l2 = 0
    dual = np.fmax(np.where(l2 > 0, near, -np.inf), (s * yr - s * s * rr / 2) / total)
    return np.maximum(lasso_objective(x, y, w, l1, l2, total) - dual, 0.0)
