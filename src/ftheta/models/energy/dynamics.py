"""Equilibria of networks of saturated units, and whether a small push grows or dies out.

    x' = satlins(W x + b),     at rest where x' = x,     stable if all |λ| < 1,     λ: eigenvalues of the Jacobian there

The map is linear where each unit is either free or stuck at -1 or +1: on each of the 3^N faces of the cube one linear
system gives its equilibria, so all of them are found. Free units F have |W x + b| <= 1 and Jacobian W_FF; those that
are stuck have eigenvalue 0.

Shapes: x (N,), W (N, N), b (N,).
Reference: Strogatz, Nonlinear Dynamics and Chaos (2015), chapters 6 and 10; Li, Michel and Porod, IEEE Trans. Circuits
and Systems 36 (1989).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError

__all__ = ["Equilibrium", "equilibria", "fixed_corners", "linearized"]

MAX_FACE_UNITS, MAX_CORNER_UNITS = 10, 20
NEAR = 1e-9  # rounding


class Equilibrium(NamedTuple):
    """A state that stays where it is.

    Args:
        point: Where: (N,); of a continuum one point inside it.
        eigenvalues: Of the Jacobian, largest magnitude first; of a saturated network those of its free units only.
        kind: "stable", "saddle", "maximum" (every push grows), "marginal" (the linear part does not say), "continuum"
            (a line or plane of equilibria).
        directions: Of a continuum: an orthonormal basis (K, N), else (0, N).
        stored: Whether it is a stored pattern; None where nobody said.
    """

    point: np.ndarray
    eigenvalues: np.ndarray
    kind: str
    directions: np.ndarray
    stored: bool | None = None

    @property
    def spurious(self) -> bool:
        """An attractor that nobody stored."""
        return self.kind == "stable" and self.stored is False


def _eigenvalues(j: np.ndarray) -> np.ndarray:
    """Of a Jacobian (N, N), largest magnitude first; real where they are."""
    found: Any = np.linalg.eigvalsh(j) if np.array_equal(j, j.T) else np.linalg.eigvals(j)
    return found[np.argsort(-np.abs(found), kind="stable")]


def _verdict(eigenvalues: np.ndarray) -> str:
    """Linear stability: "stable" if every small push dies out, "maximum" if every one grows, "saddle", "marginal"."""
    near = NEAR * max(1.0, float(np.abs(eigenvalues).max(initial=0)))
    grow, die = np.abs(eigenvalues) > 1 + near, np.abs(eigenvalues) < 1 - near
    if die.all() or grow.all():
        return "stable" if die.all() else "maximum"
    return "saddle" if grow.any() else "marginal"


def equilibria(W: ArrayLike, b: ArrayLike | None = None) -> list[Equilibrium]:
    """All equilibria of x' = satlins(W x + b), stuck corners first, those with more free units later.

    Example:
        >>> for e in equilibria([[1.5]]):
        ...     print(e.point, e.eigenvalues, e.kind)
        [-1.] [] stable
        [1.] [] stable
        [0.] [1.5] maximum
    """
    w, b = _network(W, b)
    if len(w) > MAX_FACE_UNITS:
        raise InputError(
            f"The network has {len(w)} units, and its cube 3^{len(w)} faces; all are looked at for up to "
            f"{MAX_FACE_UNITS} units. Measure basins from random starts instead."
        )
    units = range(len(w))
    free = chain.from_iterable(combinations(units, k) for k in range(len(w) + 1))
    return [e for f in free for e in _on_faces(w, b, list(f))]


def _network(W: ArrayLike, b: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    w = np.asarray(W, dtype=float)
    bias = np.zeros(len(w)) if b is None else np.asarray(b, dtype=float)
    good = w.ndim == 2 and w.shape[0] == w.shape[1] > 0 and bias.shape == w.shape[:1]
    if not good or not (np.isfinite(w).all() and np.isfinite(bias).all()):
        raise InputError(f"W has shape {w.shape} and b {bias.shape}; give finite numbers (N, N) and (N,).")
    return w, bias


def _on_faces(w: np.ndarray, b: np.ndarray, free: list[int]) -> Iterator[Equilibrium]:
    """Equilibria with exactly these units free, for all signs of the others."""
    stuck = [i for i in range(len(w)) if i not in free]
    x = np.zeros((2 ** len(stuck), len(w)))
    x[:, stuck] = _corners(len(stuck))
    rest = np.eye(len(free)) - w[np.ix_(free, free)]  # of (I - W_FF) x_F = W_FS s + b_F
    pull = (x @ w.T + b)[:, free]  # (2^S, F)
    u, sizes, axes = np.linalg.svd(rest)
    bent = sizes > NEAR * max(1.0, np.abs(w).max())
    x[:, free] = pull @ u[:, bent] / sizes[bent] @ axes[bent]
    flat = axes[~bent]  # (K, F): where nothing pulls
    holds = np.abs(x[:, free] @ rest.T - pull).max(1, initial=0) < NEAR * (1 + np.abs(pull).max(1, initial=0))
    holds &= _may_rest(w, b, free, x, flat)
    for state in x[holds]:
        point = _inside(w, b, free, state, flat) if len(flat) else state
        if point is not None:
            yield _judged(w, free, point, flat)


def _may_rest(w: np.ndarray, b: np.ndarray, free: list[int], x: np.ndarray, flat: np.ndarray) -> np.ndarray:
    """Which states (n, N) have their free units in range and the others strictly beyond it on their side.

    Those of a continuum may move along it, by at most what keeps them in the ball around the cube.
    """
    left = len(free) - np.square(x[:, free]).sum(1) if len(flat) else np.zeros(len(x))
    reach = np.sqrt(np.maximum(left, 0))[:, None] * np.linalg.norm(w[:, free] @ flat.T, axis=1)  # (n, N)
    beyond = np.delete(x * (x @ w.T + b) + reach, free, axis=1)
    within = left >= 0 if len(flat) else (np.abs(x[:, free]) <= 1 + NEAR).all(1)
    return within & (beyond > 1 + NEAR).all(1)


def _inside(w: np.ndarray, b: np.ndarray, free: list[int], x: np.ndarray, flat: np.ndarray) -> np.ndarray | None:
    """The point of x + span(flat) whose free units are furthest from their ends; None where none is on the face.

    A linear programme in (c, t): maximise t >= 0 with |x_F| <= 1 - t and s (W x + b)_S > 1, x + c flat in place of x.
    """
    from scipy.optimize import linprog

    ways = np.zeros((len(flat), len(w)))
    ways[:, free] = flat
    stuck = [i for i in range(len(w)) if i not in free]
    s, y = x[stuck], w @ x + b
    left = np.vstack([flat.T, -flat.T, -s[:, None] * (w @ ways.T)[stuck]])
    right = np.concatenate([1 - x[free], 1 + x[free], s * y[stuck] - 1 - 10 * NEAR])
    cost = np.append(np.zeros(len(flat)), -1.0)
    room = np.append(np.ones(2 * len(free)), np.zeros(len(stuck)))  # what t takes of each side
    bounds = [(None, None)] * len(flat) + [(-NEAR, 1.0)]
    answer = linprog(cost, np.c_[left, room], right, bounds=bounds)
    return x + answer.x[:-1] @ ways if answer.success else None


def _judged(w: np.ndarray, free: list[int], x: np.ndarray, flat: np.ndarray) -> Equilibrium:
    values = _eigenvalues(w[np.ix_(free, free)])
    kind = "continuum" if len(flat) else _verdict(values)
    if kind != "stable" and (np.abs(x[free]) > 1 - NEAR).any():
        kind = "marginal"  # a free unit at its end is stuck to one side
    if kind == "maximum" and len(free) < len(w):
        kind = "saddle"  # the stuck units come back
    ways = np.zeros((len(flat), len(w)))
    ways[:, free] = flat
    return Equilibrium(x + 0.0, values, kind, ways)


def linearized(W: ArrayLike, b: ArrayLike | None, x: ArrayLike) -> Equilibrium:
    """The equilibrium of x' = satlins(W x + b) at a point, for any number of units.

    Example:
        >>> linearized([[1.2, 0.0], [0.0, 1.2]], None, [1.0, 0.0]).kind
        'saddle'
    """
    w, bias = _network(W, b)
    point = np.asarray(x, dtype=float)
    if point.shape != bias.shape:
        raise InputError(f"The point has shape {point.shape}, and the network {len(w)} units; give ({len(w)},).")
    y = w @ point + bias
    away = np.abs(np.clip(y, -1, 1) - point).max()
    if not away <= 1e-6:
        raise InputError(f"The point moves by {away:.3g} in one step: it is not an equilibrium. Pass one.")
    free = np.flatnonzero(np.abs(y) <= 1 + NEAR).tolist()
    _, sizes, axes = np.linalg.svd(np.eye(len(free)) - w[np.ix_(free, free)])
    return _judged(w, free, point, axes[sizes <= NEAR * max(1.0, np.abs(w).max())])


def fixed_corners(W: ArrayLike, b: ArrayLike | None = None) -> np.ndarray:
    """The corners of the cube that sign units leave alone, x (W x + b) >= 0 in every unit: (K, N).

    Example:
        >>> fixed_corners([[0.0, 1.0], [1.0, 0.0]]).tolist()
        [[-1.0, -1.0], [1.0, 1.0]]
    """
    w, bias = _network(W, b)
    if len(w) > MAX_CORNER_UNITS:
        raise InputError(
            f"The network has {len(w)} units and 2^{len(w)} corners; all are looked at for up to "
            f"{MAX_CORNER_UNITS} units. Measure basins from random starts instead."
        )
    x = _corners(len(w))
    near = 1e-12 * (np.abs(w).sum(1) + np.abs(bias))  # nothing but rounding
    return x[(x * (x @ w.T + bias) >= -near).all(1)]


def _corners(n: int) -> np.ndarray:
    """All signs of n units: (2^n, n)."""
    return 2.0 * (np.arange(2**n)[:, None] >> np.arange(n)[::-1] & 1) - 1
