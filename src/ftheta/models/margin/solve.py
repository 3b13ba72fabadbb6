"""One machine: which solver, the hard margin, the dual problem, and the proof that it is solved.

The dual problem is solved by the active set of libsvm, then exactly by the equations of the rows on the margin.

    0 < |β_i| < C_i  (free):      Σ_j β_j K(x_j, x_i) + b = t_i - ε sign(β_i),        Σ_j β_j = 0
    K = V Λ Vᵀ,    features √Λ V:      where libsvm fails, the linear machine over them is solved in the primal

libsvm keeps kernels in single precision, which is too little where C K is large.
Reference: Chang and Lin, LIBSVM: A Library for Support Vector Machines, ACM TIST 2(3) (2011).
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import lstsq
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

from ...errors import InputError
from ...formulas import separable
from .primal import descend, newton
from .problem import AT_END, Kernel, Problem, Solution

WIDE = 1000  # columns up to which a linear machine is solved in the primal
DECIDED = 2000  # rows up to which separability in the features of a kernel is decided beforehand
HARD = 10.0 ** np.arange(2, 12, 3)  # C instead of ∞, in units of 1 / mean ‖φ(x)‖²
POLISHED, ROUNDS = 2000, 10  # free support vectors up to which their equations are solved, and how often
SOLVED = 1e-9  # what they may miss, in units of t
SINGLE = 1e-4  # the least tolerance of libsvm
CACHE, ITERATIONS = 500, 1000  # MB, and iterations per row at most
MAPPED, FLAT = 1000, 1e-14  # rows up to which features are computed, and eigenvalues that are 0, as a share


def solve(p: Problem, solver: str, tol: float, steps: int) -> Solution:
    """The solution by "dual", "primal" or "subgradient"; "auto" chooses one of the first two."""
    linear = p.kernel.name == "linear"
    if solver in ("primal", "subgradient") and not linear:
        raise InputError(
            f"solver={solver!r} has w as its unknowns, and a kernel does not compute its features. Use solver='dual', "
            "or kernel='linear' after a map of your own, e.g. make_pipeline(FunctionTransformer(phi), ...)."
        )
    if solver == "auto":
        solver = "primal" if linear and p.x.shape[1] <= min(WIDE, len(p.x)) else "dual"

    def way(q: Problem) -> Solution:
        if solver == "subgradient":
            return descend(q, steps)
        if solver == "dual":
            return libsvm(q, tol)
        beta = newton(q, tol / 100).beta
        return polished(q, beta) or Solution(beta, q.bias(beta, q.outputs(beta)))

    return hard(p, way) if np.isinf(p.c).any() else way(p)


def hard(p: Problem, way: Callable[[Problem], Solution]) -> Solution:
    """C = ∞: the solution for a finite C that no β reaches; an error where there is none."""
    what = "no boundary of this kernel separates the classes" if p.classes else "some rows stay outside the tube"
    refusal = InputError(
        f"The hard margin (C=inf) is infeasible: {what}. Give a finite C, e.g. C=1, or another kernel."
    )
    if (p.kernel.name == "linear" or len(p.x) <= DECIDED) and not _feasible(p):
        raise refusal
    for c in HARD / (float(p.kernel.diagonal(p.x).mean()) or 1.0):
        found = way(p._replace(low=np.maximum(p.low, -c), high=np.minimum(p.high, c)))
        if np.abs(found.beta).max() < (1 - AT_END) * c:
            return found
    raise refusal


def _feasible(p: Problem) -> bool:
    """Whether a plane separates the classes, or the rows moved up by ε from those moved down (Bi and Bennett, 2003)."""
    features = p.x if p.kernel.name == "linear" else p.kernel(p.x, p.x)
    if p.classes:
        return separable(features, p.t)
    both = [np.c_[features, p.t + side * p.epsilon] for side in (1, -1)]
    return separable(np.concatenate(both), np.repeat([1, 0], len(p.t)))


def optimality(p: Problem, found: Solution) -> dict[str, Any]:
    """P, D and their gap, by how much the conditions of the solution are missed, and the support vectors."""
    beta, f = found.beta, p.outputs(found.beta)
    square, r = float(beta @ f), p.t - f - found.b
    losses = p.losses(r) if np.isfinite(p.c).all() else np.zeros(len(r))  # a hard margin has none
    value, dual = square / 2 + float(losses.sum()), p.dual(square, beta)
    least, most = p.allowed(beta)
    return {
        "primal": value,
        "dual": dual,
        "gap": value - dual,
        "violation": float(np.maximum(np.maximum(least - r, r - most), 0).max()),
        "sum": float(abs(beta.sum())),
        "norm": float(np.sqrt(max(square, 0.0))),
        "slack": float(np.maximum(np.abs(r) - p.epsilon, 0)[losses > 0].sum()),
        "rows": len(beta),
        "support": int((beta != 0).sum()),
        "free": int(((least == most) & (beta != 0)).sum()),
    }


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
    low, high = np.where(side > 0, 0.0, p.low[free]), np.where(side < 0, 0.0, p.high[free])
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
