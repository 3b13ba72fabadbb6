"""Whether the likelihood of linear log-odds has no maximum: planes that separate classes, touching them or not.

    separated   <=>   there is a θ with  (θ_y - θ_k)·(x, 1) >= 0  for every row (x, y) and k ≠ y,  and > 0 for one

Along such a θ the likelihood never falls, so that no θ is best. What a fit has found answers most cases: planes that
separate strictly do so, and where no probability is near 0 none do. Else a linear programme decides: the largest mean
of these gaps, over θ in a box. Rows are added to it as they are found on the wrong side.

Shapes: n rows, D features, K classes, θ (K, D + 1) with the intercepts last and θ_1 = 0, P = (K - 1)(D + 1).
Reference: Albert and Anderson, Biometrika 71 (1984); Konis, Linear Programming Algorithms for Detecting Separated Data
in Binary Logistic Regression Models (2007).
"""

from __future__ import annotations

import math

import numpy as np
from torch import Tensor

from ._softmax import Softmax

__all__ = ["no_maximum", "separated"]

MOST = 300  # parameters of the programme; where there are more, only strict separation is seen
SOME = 1000  # rows by which the usual size of a column is known
NOTHING, SOMETHING = 1e-9, 1e-6  # gaps, of rows with entries up to 1, that are none, and that are one


def no_maximum(model: Softmax, theta: Tensor, tol: float) -> bool:
    """Whether planes separate the classes.

    Args:
        model: The rows.
        theta: Where a fit has ended: (R, D + 1) of its standardised columns.
        tol: The largest component of the gradient there.
    """
    least, most = model.margins(theta)
    k = max(2, model.n_raw)
    if least > 0 or most < -math.log(max(tol, 1e-300)) / 2 or (k - 1) * theta.shape[1] > MOST:
        return least > 0
    return separated(model.x.numpy(), model.y.numpy(), k)


def separated(x: np.ndarray, y: np.ndarray, k: int) -> bool:
    """The same by a linear programme alone, for rows (n, D) and places of classes (n,)."""
    z = _scaled(x)
    pull = ((k * np.eye(k)[y] - 1).T @ z / len(z))[1:]  # the mean gap is pull · θ
    row, other = np.divmod(np.arange(0, len(z) * k, max(1, len(z) * k // (4 * pull.size))), k)
    while True:
        theta = _steepest(_lines(z[row], y[row], other, k), pull)
        raw = z @ theta.T
        gaps = np.take_along_axis(raw, y[:, None], 1) - raw  # (n, K)
        if (pull * theta[1:]).sum() <= NOTHING or gaps.min() >= -NOTHING:
            return bool(gaps.min() >= -NOTHING and gaps.max() > SOMETHING)
        wrong = np.flatnonzero(gaps < -NOTHING)
        wrong = wrong[np.argsort(gaps.flat[wrong])[: 4 * pull.size]]
        row, other = np.r_[row, wrong // k], np.r_[other, wrong % k]


def _scaled(x: np.ndarray) -> np.ndarray:
    """Columns about their median by their median deviation, one more for b, rows with entries up to 1: (n, D + 1).

    One odd row among a thousand so changes nothing for the others, and the length of a row has no say in its sign.
    """
    some = x[:: 1 + len(x) // SOME]
    middle = np.median(some, 0)
    z = np.c_[x - middle, np.ones(len(x))]
    usual, largest = np.median(np.abs(some - middle), 0), np.maximum(z.max(0), -z.min(0))[:-1]
    z[:, :-1] /= np.where(usual > 1e-300 * largest, usual, np.where(largest > 0, largest, 1.0))
    z /= np.maximum(z.max(1), -z.min(1))[:, None]
    return z


def _lines(z: np.ndarray, y: np.ndarray, other: np.ndarray, k: int) -> np.ndarray:
    """Gaps as linear functions of θ without θ_1: (m, P)."""
    signs = np.eye(k)[y] - np.eye(k)[other]  # (m, K)
    return np.einsum("ik,id->ikd", signs[:, 1:], z).reshape(len(z), -1)


def _steepest(lines: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """θ in [-1, 1] with no gap below 0 whose mean gap is largest: (K, D + 1)."""
    from scipy.optimize import linprog

    found = linprog(
        -pull.ravel() / np.abs(pull).max(initial=NOTHING),
        A_ub=-lines,
        b_ub=np.zeros(len(lines)),
        bounds=(-1, 1),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    theta = np.zeros((len(pull) + 1, pull.shape[1]))
    if found.x is not None:
        theta[1:] = found.x.reshape(pull.shape)
    return theta
