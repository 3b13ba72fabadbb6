"""Patterns in a matrix: what a Hopfield network stores, and the energy that it descends.

    Hebb              W = Σ_p ξ_p ξ_pᵀ                                    (times 1/N, without its diagonal)
    pseudo-inverse    W = Ξ⁺ Ξ, the projection on the span of the patterns
    Storkey           W += (ξ ξᵀ - ξ hᵀ - h ξᵀ) / N,   h_ij = Σ_{k≠i,j} W_ik ξ_k, one pattern after the other
    design            W = e^-τδ I + (e^δ - e^-τδ) P,   b = (1 - e^-τδ)(1 + 1/τ)(I - P) ξ   for x <- satlins(W x + b)

P projects on the span of the differences of the patterns: there states grow by e^δ a step until they saturate, across
it they shrink by e^-τδ towards the plane that holds the patterns. This is MATLAB's `newhop`, τ = 10 and δ = 0.15.

Shapes: patterns (P, N) of -1 and +1, states x (..., N), W (N, N), b (N,).
References: Hopfield, PNAS 79 (1982) and 81 (1984); Personnaz, Guyon and Dreyfus, J. Physique Lett. 46 (1985); Storkey,
ICANN (1997); Li, Michel and Porod, IEEE Trans. Circuits and Systems 36 (1989); McEliece et al., IEEE Trans. Information
Theory 33 (1987) and Amit, Gutfreund and Sompolinsky, Phys. Rev. Lett. 55 (1985) for the capacities.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ...catalog import nearest
from ...errors import InputError

__all__ = ["bipolar", "capacity", "corrupt", "design", "energy", "hebb", "pseudo_inverse", "span", "storkey_step"]


def bipolar(patterns: ArrayLike) -> np.ndarray:
    """Patterns as float64 rows (P, N), if they are made of -1 and +1."""
    x = np.asarray(patterns, dtype=float)
    if x.ndim != 2 or not x.size:
        raise InputError(f"The patterns have shape {x.shape}; give one row for each: (P, N), both at least 1.")
    wrong = np.argwhere(np.abs(x) != 1)
    if len(wrong):
        p, i = wrong[0].tolist()
        raise InputError(
            f"Pattern {p} has {x[p, i]:g} at position {i}; patterns are made of -1 and +1. "
            "Write numbers in [0, 1] as np.where(x > 0.5, 1, -1)."
        )
    return x


def hebb(patterns: ArrayLike, *, scale: float | Literal["N"] | None = None, zero_diagonal: bool = True) -> np.ndarray:
    """Hebb's rule: W = Σ_p ξ_p ξ_pᵀ times `scale`; "N" is 1/N, None is 1.

    Example:
        >>> hebb([[1, 1], [-1, -1], [1, -1]], zero_diagonal=False).tolist()
        [[3.0, 1.0], [1.0, 3.0]]
    """
    x = bipolar(patterns)
    factor = 1.0 if scale is None else 1 / x.shape[1] if scale == "N" else float(scale)
    return _diagonal(x.T @ x * factor, zero_diagonal)


def pseudo_inverse(patterns: ArrayLike, *, zero_diagonal: bool = False) -> np.ndarray:
    """The projection on the span of the patterns: W ξ_p = ξ_p for all of them, however they overlap.

    Example:
        >>> pseudo_inverse([[1, 1, 1, 1], [1, 1, 1, -1]])[0].round(3).tolist()
        [0.333, 0.333, 0.333, 0.0]
    """
    return _diagonal(_projection(bipolar(patterns)), zero_diagonal)


def storkey_step(w: np.ndarray, pattern: np.ndarray) -> np.ndarray:
    """Storkey's rule: weights (N, N) after one pattern (N,) more; local, incremental, and it depends on the order."""
    own = w.diagonal() * pattern
    h = (w @ pattern - own)[:, None] - w * pattern + np.diag(own)  # h_ij: without what i and j themselves send
    return w + (np.outer(pattern, pattern) - (h * pattern + (h * pattern).T)) / len(pattern)


def design(patterns: ArrayLike, *, decay: float = 10.0, step: float = 0.15) -> tuple[np.ndarray, np.ndarray]:
    """Weights (N, N) and bias (N,) of Li, Michel and Porod, for saturated units.

    Args:
        patterns: (P, N) of -1 and +1.
        decay: τ, how much faster states fall to the plane of the patterns than they move apart on it.
        step: δ, the time between two updates.

    Example:
        >>> w, b = design([[1, 1], [-1, -1], [1, -1]])
        >>> w.round(6).tolist(), b.tolist()
        ([[1.161834, 0.0], [0.0, 1.161834]], [0.0, 0.0])
    """
    x = bipolar(patterns)
    if not (decay > 0 and step > 0):
        raise InputError(f"decay={decay} and step={step}; both are times: give numbers > 0.")
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


def _diagonal(w: np.ndarray, zero: bool) -> np.ndarray:
    if zero:
        np.fill_diagonal(w, 0)
    return w


def energy(
    x: ArrayLike, W: ArrayLike, b: ArrayLike = 0.0, *, unit: Literal["sign", "saturated"] = "sign"
) -> np.ndarray:
    """E = -xᵀWx/2 - b·x of states (..., N): (...). With saturated units also xᵀx/2, the integral of their inverse.

    With a symmetric W and |x_i| <= 1 it never rises when one unit is updated after the other (sign units: no negative
    W_ii; saturated ones: none below -1), nor when all are at once and W has no negative eigenvalue (saturated: none
    below -1).

    Example:
        >>> energy([[1, 1], [1, -1], [0, 0]], [[3, 1], [1, 3]]).tolist()
        [-4.0, -2.0, 0.0]
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


def corrupt(
    x: ArrayLike,
    noise: float,
    *,
    kind: Literal["flip", "replace", "gaussian"] = "flip",
    rng: np.random.Generator | int = 0,
) -> np.ndarray:
    """States (..., N) with noise, independent for every entry.

    Args:
        x: States.
        noise: "flip" and "replace": the probability of a change; "gaussian": the standard deviation.
        kind: "flip": the sign changes (0.5 leaves nothing of the pattern); "replace": -1 or +1 at random in its place
            (half of them what was there: 1 leaves nothing); "gaussian": a normal number is added.
        rng: A generator or a seed.
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
