"""Patterns in a matrix: what a Hopfield network stores, the energy that it descends, and its equilibria.

    Hebb              W = Σ_p ξ_p ξ_pᵀ                                    (times 1/N, without its diagonal)
    pseudo-inverse    W = Ξ⁺ Ξ, the projection on the span of the patterns
    Storkey           W += (ξ ξᵀ - ξ hᵀ - h ξᵀ) / N,   h_ij = Σ_{k≠i,j} W_ik ξ_k, one pattern after the other
    design            W = e^-τδ I + (e^δ - e^-τδ) P,   b = (1 - e^-τδ)(1 + 1/τ)(I - P) ξ   for x <- satlins(W x + b)

P projects on the span of the differences of the patterns: there states grow by e^δ a step until they saturate, across
it they shrink by e^-τδ. This is MATLAB's `newhop`, τ = 10 and δ = 0.15.

    equilibrium       x* = satlins(W x* + b),  stable if all |λ| < 1,  λ the eigenvalues of the Jacobian at x*

satlins is linear where each unit is either free or saturated at -1 or +1: on each of the 3^N faces of the cube one
linear system gives its equilibria, which are all there are. Free units F have |W x + b| <= 1 and Jacobian W_FF;
saturated ones have eigenvalue 0. Of a line or plane of equilibria the point with the smallest free units is given.

Shapes: patterns (P, N) of -1 and +1, states x (..., N), W (N, N), b (N,).
References: Hopfield, PNAS 79 (1982) and 81 (1984); Personnaz, Guyon and Dreyfus, J. Physique Lett. 46 (1985); Storkey,
ICANN (1997); Li, Michel and Porod, IEEE Trans. Circuits and Systems 36 (1989); McEliece et al., IEEE Trans. Information
Theory 33 (1987) and Amit, Gutfreund and Sompolinsky, Phys. Rev. Lett. 55 (1985) for the capacities.
"""

import math
from collections.abc import Iterator
from itertools import chain, combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...catalog import nearest
from ...errors import InputError

MAX_FACE_UNITS, MAX_CORNER_UNITS = 10, 20
ROUNDING = 1e-9
Noise = Literal["flip", "replace", "gaussian"]  # units change sign, are drawn anew, or numbers are added


def bipolar(patterns: ArrayLike) -> np.ndarray:
    """Patterns as float64 rows (P, N), if they are made of -1 and +1."""
    x = np.asarray(patterns, dtype=float)
    if x.ndim != 2 or not x.size:
        raise InputError(f"The patterns have shape {x.shape}; give one row for each: (P, N), both at least 1.")
    wrong = np.argwhere(np.abs(x) != 1)
    if len(wrong):
        p, i = wrong[0].tolist()
        advice = "Write numbers in [0, 1] as np.where(x > 0.5, 1, -1)."
        raise InputError(f"Pattern {p} has {x[p, i]:g} at position {i}; patterns are made of -1 and +1. {advice}")
    return x


def hebb(patterns: ArrayLike, *, zero_diagonal: bool = True) -> np.ndarray:
    """Hebb's rule: W = Σ_p ξ_p ξ_pᵀ."""
    x = bipolar(patterns)
    w = x.T @ x
    return w - np.diag(w.diagonal()) if zero_diagonal else w


def pseudo_inverse(patterns: ArrayLike, *, zero_diagonal: bool = False) -> np.ndarray:
    """The projection on the span of the patterns: W ξ_p = ξ_p for all of them, however they overlap."""
    w = _projection(bipolar(patterns))
    return w - np.diag(w.diagonal()) if zero_diagonal else w


def storkey_step(w: np.ndarray, pattern: np.ndarray) -> np.ndarray:
    """Storkey's rule: weights (N, N) after one pattern (N,) more; local, incremental, and it depends on the order."""
    own = w.diagonal() * pattern
    h = (w @ pattern - own)[:, None] - w * pattern + np.diag(own)  # h_ij: without what i and j themselves send
    return w + (np.outer(pattern, pattern) - (h * pattern + (h * pattern).T)) / len(pattern)


def design(patterns: ArrayLike, *, decay: float = 10.0, step: float = 0.15) -> tuple[np.ndarray, np.ndarray]:
    """Weights (N, N) and bias (N,) of Li, Michel and Porod, for saturated units; τ is `decay`, δ is `step`."""
    x = bipolar(patterns)
    along = _projection(x[:-1] - x[-1])
    grow, shrink = math.exp(step), math.exp(-decay * step)
    across = x[-1] - along @ x[-1]
    across[np.abs(across) < 1e-12] = 0
    return shrink * np.eye(len(along)) + (grow - shrink) * along, (1 - shrink) * (1 + 1 / decay) * across


def span(rows: np.ndarray) -> np.ndarray:
    """Orthonormal axes (K, N) of the span of some rows; (0, N) where there are none."""
    if not len(rows):
        return rows
    _, s, axes = np.linalg.svd(rows, full_matrices=False)
    return axes[s > s[0] * max(rows.shape) * np.finfo(float).eps]


def _projection(rows: np.ndarray) -> np.ndarray:
    """On the span of some rows: (N, N), exactly symmetric."""
    axes = span(rows)
    p = axes.T @ axes
    return np.eye(len(axes)) if len(axes) == rows.shape[1] else (p + p.T) / 2


def energy(
    x: ArrayLike, W: ArrayLike, b: ArrayLike = 0.0, *, unit: Literal["sign", "saturated"] = "sign"
) -> np.ndarray:
    """E = -xᵀWx/2 - b·x of states (..., N): (...). With saturated units also xᵀx/2, the integral of their inverse.

    With a symmetric W and |x_i| <= 1 it never rises when one unit is updated after the other (sign units: no negative
    W_ii; saturated ones: none below -1), nor when all are at once and W has no negative eigenvalue (saturated: none
    below -1).
    """
    x, w, b = (np.asarray(a, dtype=float) for a in (x, W, b))
    own = (x * x).sum(-1) / 2 if unit == "saturated" else 0.0
    return own - ((x @ w.T) * x).sum(-1) / 2 - (b * x).sum(-1) + 0.0  # no -0.0


def capacity(n: int, kind: Literal["all", "most", "errors"] = "all") -> float:
    """How many random patterns Hebb's rule stores in n units.

    Args:
        n: Number of units, at least 2.
        kind: "all": every pattern is stable, n / (4 ln n); "most": nearly every one, n / (2 ln n); "errors": near to
            every pattern there is a stable state, with some units wrong, 0.138 n.

    Example:
        >>> [round(capacity(n), 2) for n in (240, 784, 1000)]
        [10.95, 29.41, 36.19]
    """
    if n < 2:
        raise InputError(f"n={n}; a network has at least 2 units.")
    kinds = {"all": n / (4 * math.log(n)), "most": n / (2 * math.log(n)), "errors": 0.138 * n}
    if kind not in kinds:
        raise InputError(nearest("kind of capacity:", kind, kinds))
    return kinds[kind]


def corrupt(x: ArrayLike, noise: float, *, kind: Noise = "flip", rng: np.random.Generator | int = 0) -> np.ndarray:
    """States (..., N) with noise, independent for every entry.

    "flip": the sign changes with this probability (0.5 leaves nothing of the pattern); "replace": -1 or +1 at random in
    its place (half of them what was there: 1 leaves nothing); "gaussian": normal numbers of this deviation are added.
    """
    x, rng = np.asarray(x, dtype=float), np.random.default_rng(rng)
    if kind not in ("flip", "replace", "gaussian"):
        raise InputError(nearest("kind of noise:", kind, ("flip", "replace", "gaussian")))
    if not 0 <= noise <= (math.inf if kind == "gaussian" else 1) or math.isinf(noise):
        what = "a standard deviation >= 0" if kind == "gaussian" else "a probability from 0 to 1"
        raise InputError(f"noise={noise}; noise of kind {kind!r} is {what}.")
    if kind == "gaussian":
        return x + noise * rng.standard_normal(x.shape)
    hit = rng.random(x.shape) < noise
    return np.where(hit, -x if kind == "flip" else rng.choice([-1.0, 1.0], x.shape), x)


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
    """All equilibria of x' = satlins(W x + b), corners first, those with more free units later."""
    w, b = _network(W, b)
    _countable(len(w), MAX_FACE_UNITS, f", and its cube 3^{len(w)} faces")
    free = chain.from_iterable(combinations(range(len(w)), k) for k in range(len(w) + 1))
    return [e for f in free for e in _on_faces(w, b, list(f))]


def _countable(n: int, most: int, states: str) -> None:
    if n > most:
        rest = f"{most} units are the most. Measure basins from random starts instead."
        raise InputError(f"The network has {n} units{states}; {rest}")


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


def fixed_corners(W: ArrayLike, b: ArrayLike | None = None) -> np.ndarray:
    """The corners of the cube that are fixed points of sign units, x (W x + b) >= 0 in every unit: (K, N)."""
    w, bias = _network(W, b)
    _countable(len(w), MAX_CORNER_UNITS, f" and 2^{len(w)} corners")
    x = _corners(len(w))
    near = 1e-12 * (np.abs(w).sum(1) + np.abs(bias))  # rounding
    return x[(x * (x @ w.T + bias) >= -near).all(1)]


def _corners(n: int) -> np.ndarray:
    """All signs of n units: (2^n, n)."""
    return 2.0 * (np.arange(2**n)[:, None] >> np.arange(n)[::-1] & 1) - 1
