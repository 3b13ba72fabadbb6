"""The dual problem: libsvm's active set, then the equations of the rows that lie on the margin solved exactly.

    0 < |β_i| < C_i  (free):      Σ_j β_j K(x_j, x_i) + b = t_i - ε sign(β_i),        Σ_j β_j = 0
    K = V Λ Vᵀ,    features √Λ V:      where libsvm fails, the linear machine over them is solved in the primal

libsvm keeps kernels in single precision, which is too little where C K is large.
Reference: Chang and Lin, LIBSVM: A Library for Support Vector Machines, ACM TIST 2(3) (2011).
"""

import warnings
from typing import Any

import numpy as np
from scipy.linalg import lstsq
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

from .kernels import Kernel
from .primal import newton
from .problem import Problem, Solution

POLISHED, ROUNDS = 2000, 10  # free support vectors up to which their equations are solved, and how often
SOLVED = 1e-9  # what they may miss, in units of t
SINGLE = 1e-4  # the least tolerance of libsvm
CACHE, ITERATIONS = 500, 1000  # MB, and iterations per row at most
MAPPED, FLAT = 1000, 1e-14  # rows up to which features are computed, and eigenvalues that are 0, as a share


def libsvm(p: Problem, tol: float) -> Solution:
    """Maximize D, as exactly as `polished` can."""
    own, made = p.kernel.libsvm(), SVC if p.classes else SVR
    own |= {} if p.classes else {"epsilon": p.epsilon}
    most = max(10**5, ITERATIONS * len(p.x))
    machine = made(C=1.0, tol=max(tol, SINGLE), cache_size=CACHE, max_iter=most, **own)
    machine.random_state = 0  # else it draws from NumPy's own generator
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # the gap will tell
        machine.fit(p.kernel(p.x, p.x) if own["kernel"] == "precomputed" else p.x, p.t, sample_weight=p.c)
    beta = np.zeros(len(p.t))
    beta[machine.support_] = machine.dual_coef_[0]
    found = polished(p, beta)
    if found is None and len(p.x) <= MAPPED:
        beta = newton(p._replace(x=_features(p), kernel=Kernel()), tol / 100).beta
        found = polished(p, beta)
    return found or Solution(beta, p.bias(beta, p.outputs(beta)))


def _features(p: Problem) -> np.ndarray:
    """Rows whose scalar products are the kernel (n, r)."""
    values, axes = np.linalg.eigh(p.kernel(p.x, p.x))
    kept = values > FLAT * values[-1]
    return axes[:, kept] * np.sqrt(values[kept])


def polished(p: Problem, beta: np.ndarray) -> Solution | None:
    """The exact solution, if the rows that are free in it are nearly those that are free here; else None."""
    found, free, enough = beta, _free(p, beta), SOLVED * (1 + np.abs(p.t).max())
    for _ in range(ROUNDS):
        if not 0 < len(free) <= POLISHED:
            return None
        found, b = _equations(p, found, free)
        least, most = p.allowed(found)
        r = p.t - p.outputs(found) - b
        wrong = np.maximum(least - r, r - most)
        if wrong.max() <= enough:
            return Solution(found, b)
        free = np.union1d(_free(p, found), np.flatnonzero(wrong > enough))
    return None


def _free(p: Problem, beta: np.ndarray) -> np.ndarray:
    least, most = p.allowed(beta)
    return np.flatnonzero((least == most) & (beta != 0))


def _equations(p: Problem, beta: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, float]:
    """β and b from the equations of these rows; those that leave the box stay at its end, without an equation."""
    found, b = beta.copy(), 0.0
    r = np.where(beta == 0, p.t, beta)[free]  # the side of the tube on which each row is
    side, gram = np.sign(r), p.kernel(p.x[free], p.x[free])
    low, high = (
        np.maximum(p.low[free], np.where(side > 0, 0, -np.inf)),
        np.minimum(p.high[free], np.where(side < 0, 0, np.inf)),
    )
    found[free] = 0.0
    rest = p.t[free] - p.epsilon * side - p.sums(p.x[free], found)
    total, inner, own = -found.sum(), np.ones(len(free), bool), np.zeros(len(free))
    while inner.any():
        matrix = np.ones((inner.sum() + 1,) * 2)
        matrix[:-1, :-1], matrix[-1, -1] = gram[np.ix_(inner, inner)], 0.0
        wanted = np.r_[(rest - gram[:, ~inner] @ own[~inner])[inner], total - own[~inner].sum()]
        answer: Any = lstsq(matrix, wanted, lapack_driver="gelsy", check_finite=False)
        own[inner], b = answer[0][:-1], float(answer[0][-1])
        outside = inner & ((own < low) | (own > high))
        if not outside.any():
            break
        own, inner = np.clip(own, low, high), inner & ~outside
    found[free] = own
    return found, b
