"""One machine: which solver, the hard margin, and the proof that it is solved."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import InputError
from ...formulas import separable
from .dual import libsvm, polished
from .primal import descend, newton
from .problem import AT_END, Problem, Solution

WIDE = 1000  # columns up to which a linear machine is solved in the primal
DECIDED = 2000  # rows up to which separability in the features of a kernel is decided beforehand
HARD = 10.0 ** np.arange(2, 12, 3)  # C instead of ∞, in units of 1 / mean ‖φ(x)‖²


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
    ways: dict[str, Callable[[Problem], Solution]] = {
        "dual": lambda q: libsvm(q, tol),
        "primal": lambda q: _primal(q, tol),
        "subgradient": lambda q: descend(q, steps),
    }
    return hard(p, ways[solver]) if np.isinf(p.c).any() else ways[solver](p)


def _primal(p: Problem, tol: float) -> Solution:
    beta = newton(p, tol / 100).beta
    return polished(p, beta) or Solution(beta, p.bias(beta, p.outputs(beta)))


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
