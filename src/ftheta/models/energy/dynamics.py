"""Equilibria of networks of saturated units, and whether a small perturbation grows or dies out.

    x' = satlins(W x + b),     x* = satlins(W x* + b),     stable if all |λ| < 1,     λ: eigenvalues of the Jacobian

The map is linear where each unit is either free or saturated at -1 or +1: on each of the 3^N faces of the cube one
linear system gives its equilibria, which are all there are. Free units F have |W x + b| <= 1 and Jacobian W_FF;
saturated ones have eigenvalue 0. Of a line or plane of equilibria the point with the smallest free units is given.

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
ROUNDING = 1e-9


class Equilibrium(NamedTuple):
    """A fixed point."""

    point: np.ndarray  # (N,)
    eigenvalues: np.ndarray  # of the Jacobian in the free units, largest magnitude first
    kind: str  # stable, saddle, maximum (every perturbation grows), marginal (undecided), continuum (a line or plane)
    directions: np.ndarray  # of a continuum: an orthonormal basis (K, N), else (0, N)
    stored: bool | None = None  # whether it is a stored pattern; None: not known

    @property
    def spurious(self) -> bool:
        """Whether it is an attractor that was not stored."""
        return self.kind == "stable" and self.stored is False


def equilibria(W: ArrayLike, b: ArrayLike | None = None) -> list[Equilibrium]:
    """All equilibria of x' = satlins(W x + b), corners first, those with more free units later.

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
            f"The network has {len(w)} units, and its cube 3^{len(w)} faces; {MAX_FACE_UNITS} units are the most. "
            "Measure basins from random starts instead."
        )
    free = chain.from_iterable(combinations(range(len(w)), k) for k in range(len(w) + 1))
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
    fixed = [i for i in range(len(w)) if i not in free]
    x = np.zeros((2 ** len(fixed), len(w)))
    x[:, fixed] = _corners(len(fixed))
    left = np.eye(len(free)) - w[np.ix_(free, free)]  # of (I - W_FF) x_F = W_FS s + b_F
    right = (x @ w.T + b)[:, free]  # (2^S, F)
    u, sizes, axes = np.linalg.svd(left)
    full = sizes > ROUNDING * max(1.0, np.abs(w).max())
    x[:, free] = right @ u[:, full] / sizes[full] @ axes[full]
    solved = np.abs(x[:, free] @ left.T - right).max(1, initial=0) < ROUNDING * (1 + np.abs(right).max(1, initial=0))
    inside = (np.abs(x[:, free]) <= 1 + ROUNDING).all(1)
    beyond = (np.delete(x * (x @ w.T + b), free, axis=1) > 1 + ROUNDING).all(1)
    for point in x[solved & inside & beyond]:
        yield _judged(w, free, point, axes[~full])


def _judged(w: np.ndarray, free: list[int], x: np.ndarray, flat: np.ndarray) -> Equilibrium:
    """An equilibrium with its kind; `flat` (K, F) are the directions in which nothing changes."""
    j = w[np.ix_(free, free)]
    values: Any = np.linalg.eigvalsh(j) if np.array_equal(j, j.T) else np.linalg.eigvals(j)
    values = values[np.argsort(-np.abs(values), kind="stable")]
    near = ROUNDING * max(1.0, float(np.abs(values).max(initial=0)))
    grow, die = np.abs(values) > 1 + near, np.abs(values) < 1 - near
    kind = "stable" if die.all() else "maximum" if grow.all() else "saddle" if grow.any() else "marginal"
    kind = "continuum" if len(flat) else kind
    if kind != "stable" and (np.abs(x[free]) > 1 - ROUNDING).any():
        kind = "marginal"  # a free unit at its end is saturated on one side
    if kind == "maximum" and len(free) < len(w):
        kind = "saddle"  # the saturated units come back
    directions = np.zeros((len(flat), len(w)))
    directions[:, free] = flat
    return Equilibrium(x + 0.0, values, kind, directions)


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
    free = np.flatnonzero(np.abs(y) <= 1 + ROUNDING).tolist()
    _, sizes, axes = np.linalg.svd(np.eye(len(free)) - w[np.ix_(free, free)])
    return _judged(w, free, point, axes[sizes <= ROUNDING * max(1.0, np.abs(w).max())])


def fixed_corners(W: ArrayLike, b: ArrayLike | None = None) -> np.ndarray:
    """The corners of the cube that are fixed points of sign units, x (W x + b) >= 0 in every unit: (K, N).

    Example:
        >>> fixed_corners([[0.0, 1.0], [1.0, 0.0]]).tolist()
        [[-1.0, -1.0], [1.0, 1.0]]
    """
    w, bias = _network(W, b)
    if len(w) > MAX_CORNER_UNITS:
        raise InputError(
            f"The network has {len(w)} units and 2^{len(w)} corners; {MAX_CORNER_UNITS} units are the most. Measure "
            "basins from random starts instead."
        )
    x = _corners(len(w))
    near = 1e-12 * (np.abs(w).sum(1) + np.abs(bias))  # rounding
    return x[(x * (x @ w.T + bias) >= -near).all(1)]


def _corners(n: int) -> np.ndarray:
    """All signs of n units: (2^n, n)."""
    return 2.0 * (np.arange(2**n)[:, None] >> np.arange(n)[::-1] & 1) - 1
