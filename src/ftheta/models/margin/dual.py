"""The dual problem: libsvm's active set, then the equations of the rows that lie on the margin solved exactly.

    0 < |β_i| < C_i  (free):      Σ_j β_j K(x_j, x_i) + b = t_i - ε sign(β_i),        Σ_j β_j = 0

Reference: Chang and Lin, LIBSVM: A Library for Support Vector Machines, ACM TIST 2(3) (2011).
"""

from typing import Any

import numpy as np
from scipy.linalg import lstsq
from sklearn.svm import SVC, SVR

from .problem import Problem, Solution

POLISHED = 2000  # free support vectors up to which their equations are solved
SOLVED = 1e-9  # what the equations may miss
CACHE, ITERATIONS = 500, 10**7  # MB, and libsvm's own bound


def libsvm(p: Problem, tol: float) -> Solution:
    """Maximize D until no condition is violated by more than `tol`."""
    own, made = p.kernel.libsvm(), SVC if p.classes else SVR
    own |= {} if p.classes else {"epsilon": p.epsilon}
    machine = made(C=1.0, tol=tol, cache_size=CACHE, max_iter=ITERATIONS, **own)
    machine.random_state = 0  # else it draws from NumPy's own generator
    machine.fit(p.kernel(p.x, p.x) if own["kernel"] == "precomputed" else p.x, p.t, sample_weight=p.c)
    beta = np.zeros(len(p.t))
    beta[machine.support_] = machine.dual_coef_[0]
    return polished(p, beta)


def polished(p: Problem, beta: np.ndarray) -> Solution:
    """With the equations of the free rows solved, which makes D larger; β as it was where that leaves the box."""
    least, most = p.allowed(beta)
    free = np.flatnonzero((least == most) & (beta != 0))
    if 0 < len(free) <= POLISHED:
        solved, b = _equations(p, beta, free)
        if solved is not None:
            return Solution(solved, b)
    return Solution(beta, p.bias(beta, p.outputs(beta)))


def _equations(p: Problem, beta: np.ndarray, free: np.ndarray) -> tuple[np.ndarray | None, float]:
    """β and b; None where the equations of these rows have no solution in the box."""
    fixed, near = beta.copy(), p.x[free]
    fixed[free] = 0.0
    used = np.flatnonzero(fixed)
    wanted = np.r_[p.t[free] - p.epsilon * np.sign(beta[free]), -fixed.sum()]
    wanted[:-1] -= p.kernel.sums(near, p.x[used], fixed[used]) if len(used) else 0.0
    matrix = np.ones((len(wanted), len(wanted)))
    matrix[:-1, :-1], matrix[-1, -1] = p.kernel(near, near), 0.0
    answer: Any = lstsq(matrix, wanted, lapack_driver="gelsy", check_finite=False)
    found = answer[0]
    inside = (found[:-1] >= p.low[free]) & (found[:-1] <= p.high[free]) & (found[:-1] * beta[free] > 0)
    if not inside.all() or np.abs(matrix @ found - wanted).max() > SOLVED * (1 + np.abs(wanted).max()):
        return None, 0.0
    fixed[free] = found[:-1]
    return fixed, float(found[-1])
