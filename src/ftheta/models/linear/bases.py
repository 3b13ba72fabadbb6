"""Basis functions φ_k of models that are linear in their weights, f(x) = w_0 + Σ_k w_k φ_k(x), and the terms of a fit.

    powers      x_1^{e_1} ... x_D^{e_D} with Σ e <= d: C(D + d, d) of them
    orthogonal  x q_k = Σ_{i<=k+1} h_{ik} q_i with the mean of q_i q_k over the data 1 if i = k, else 0
    sinusoids   sin ωx, cos ωx
    translated  φ((x - c) / s), with φ a Gaussian, a sigmoid, tanh or a hinge

Shapes: n rows, D inputs, d degree, K frequencies, M centers, P functions.
Reference: Brubeck, Nakatsukasa and Trefethen, Vandermonde with Arnoldi, SIAM Review 63 (2021); Forsythe, Generation and
use of orthogonal polynomials for data-fitting, J. SIAM 5 (1957).
"""

from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
from scipy.special import expit

from ...plots import GREY, PALETTE, Figure, legend, panel, short
from ...results import Result

NAMED = 6  # terms that have a place in the legend
SHOWN = 20  # coefficients in one figure
STYLES = ("--", ":", "-.")
SHAPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # of u = (x - c) / s
    "gaussian": lambda u: np.exp(-u * u / 2),
    "sigmoid": expit,
    "tanh": np.tanh,
    "relu": lambda u: np.maximum(u, 0.0),
}


def translated(x: np.ndarray, centers: np.ndarray, widths: np.ndarray, shape: str) -> np.ndarray:
    """φ((x - c) / s) of every input and center: (n, D), (D, M), (D, M) -> (n, D M)."""
    with np.errstate(over="ignore"):
        return SHAPES[shape]((x[:, :, None] - centers) / widths).reshape(len(x), -1)


def sinusoids(x: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """sin ωx and cos ωx of every input and frequency: (n, D), (D, K) -> (n, 2 D K)."""
    phase = x[:, :, None] * frequencies  # (n, D, K)
    return np.stack([np.sin(phase), np.cos(phase)], -1).reshape(len(x), -1)


def exponents(inputs: int, degree: int) -> np.ndarray:
    """The exponents of every monomial up to a degree, lower degrees first: (C(D + d, d), D)."""
    chosen = [c for k in range(degree + 1) for c in combinations_with_replacement(range(inputs), k)]
    return np.array([np.bincount(np.array(c, dtype=int), minlength=inputs) for c in chosen], dtype=np.int16)


def products(each: Sequence[np.ndarray], powers: np.ndarray) -> np.ndarray:
    """Products over the inputs of one function of each: D of (n, d + 1), (P, D) -> (n, P)."""
    found = np.ones((len(each[0]), len(powers)))
    for values, e in zip(each, powers.T, strict=True):
        used = np.flatnonzero(e)
        found[:, used] *= values[:, e[used]]
    return found


def recurrence(t: np.ndarray, degree: int, weight: np.ndarray | None = None) -> np.ndarray:
    """The coefficients h of the polynomials that are orthonormal on t (n,), 0 past its distinct values: (d + 1, d)."""
    w = np.full(len(t), 1 / len(t)) if weight is None else weight / weight.sum()
    h, q = np.zeros((degree + 1, degree)), np.ones((len(t), degree + 1))
    for k in range(min(degree, len(np.unique(t)) - 1)):
        h[: k + 1, k] = (q[:, : k + 1].T * w) @ (t * q[:, k])
        next_ = t * q[:, k] - q[:, : k + 1] @ h[: k + 1, k]  # once, as it will be evaluated
        h[k + 1, k] = np.sqrt(w @ next_**2)
        if h[k + 1, k] <= 1e-14:
            h[:, k] = 0.0
            break
        q[:, k + 1] = next_ / h[k + 1, k]
    return h


def orthogonal(t: np.ndarray, h: np.ndarray) -> np.ndarray:
    """The polynomials of a recurrence at any points: (n,), (d + 1, d) -> (n, d + 1)."""
    q = np.zeros((len(t), len(h)))
    q[:, 0] = 1.0
    with np.errstate(over="ignore", invalid="ignore"):  # far outside of the data
        for k in range(int(np.count_nonzero(np.diagonal(h, -1)))):
            q[:, k + 1] = (t * q[:, k] - q[:, : k + 1] @ h[: k + 1, k]) / h[k + 1, k]
    return q


def to_monomials(
    weights: np.ndarray, tables: np.ndarray, middle: np.ndarray, half: np.ndarray, powers: np.ndarray
) -> np.ndarray:
    """Weights of products of orthogonal polynomials of (x - middle) / half as coefficients of powers of x: (P,)."""
    lines = [_monomials(*each) for each in zip(tables, middle, half, strict=True)]
    place = {tuple(e): k for k, e in enumerate(powers.tolist())}
    found = np.zeros(len(weights))
    for w, e in zip(weights, powers.tolist(), strict=True):
        for lower in product(*(range(k + 1) for k in e)):
            found[place[lower]] += w * np.prod([line[k, i] for line, k, i in zip(lines, e, lower, strict=True)])
    return found


def _monomials(h: np.ndarray, middle: float, half: float) -> np.ndarray:
    """Each polynomial of a recurrence in powers of x: (d + 1, d + 1), row k that of degree k."""
    found = np.zeros((len(h), len(h)))
    found[0, 0] = 1.0
    for k in range(int(np.count_nonzero(np.diagonal(h, -1)))):
        shifted = (np.append(0.0, found[k, :-1]) - middle * found[k]) / half  # t q_k
        found[k + 1] = (shifted - h[: k + 1, k] @ found[: k + 1]) / h[k + 1, k]
    return found


def monomial(powers: Sequence[int], inputs: Sequence[str], letter: str = "") -> str:
    """The name of a product of powers, "a b^2", or of polynomials of a letter, "P3(b)"."""
    used = [(x, e) for x, e in zip(inputs, powers, strict=True) if e]
    return " ".join(f"{letter}{e}({x})" if letter else x if e == 1 else f"{x}^{e}" for x, e in used)


class Terms(Result):
    """Every term of a fit."""

    names: list[str]  # what each coefficient multiplies, "1" first: 1 + P
    coefficients: np.ndarray  # (1 + P,)
    condition: float  # condition number of what was solved
    grid: np.ndarray | None = None  # points of the only input (G,); None where there are several
    parts: np.ndarray | None = None  # each term there: (G, 1 + P)
    fit: np.ndarray | None = None  # their sum (G,)
    data: np.ndarray | None = None  # input and target of rows (n, 2)

    def columns(self) -> dict[str, Any]:
        """One row per term."""
        return {"term": self.names, "coefficient": self.coefficients}

    @property
    def caption(self) -> str:
        """How well the terms were determined."""
        return f"Condition number of what was solved: {self.condition:.3g}."

    def figure(self) -> Figure:
        """Fit, rows and each term for one input, the largest named; for several inputs the largest coefficients."""
        if self.grid is None or self.parts is None or self.fit is None:
            return self._bars()
        figure, axes = panel(7.2, 4.6, title="A fit and its terms", x="input x", y="target y, and terms of the fit")
        largest = np.sort(np.argsort(-np.abs(self.parts).max(0), kind="stable")[:NAMED])
        axes.plot(self.grid, np.delete(self.parts, largest, 1), color=GREY, lw=0.8, alpha=0.6)
        for i, k in enumerate(largest):
            color, name = PALETTE[(i + 1) % len(PALETTE)], short(self.names[k], 30)
            axes.plot(self.grid, self.parts[:, k], lw=1.5, color=color, ls=STYLES[i % 3], label=name)
        if self.data is not None:
            axes.plot(*self.data.T, "o", ms=4, color=GREY, alpha=0.7, label="rows", zorder=1)
        axes.plot(self.grid, self.fit, color=PALETTE[0], lw=2.6, label="fit: the sum", zorder=4)
        legend(figure, width=70)
        return figure

    def _bars(self) -> Figure:
        values = self.coefficients
        order = sorted(np.argsort(-np.abs(values), kind="stable")[:SHOWN].tolist())
        more = f", the {SHOWN} largest of {len(values)}" if len(values) > SHOWN else ""
        label = "coefficient (units of y per unit of the term)"
        figure, axes = panel(6.4, 1.2 + 0.26 * len(order), title=f"Coefficients{more}", x=label, y="")
        axes.barh(range(len(order)), values[order], color=[PALETTE[int(values[k] < 0)] for k in order])
        axes.axvline(0, color=GREY, lw=1)
        axes.set_yticks(range(len(order)), [short(self.names[k], 30) for k in order])
        axes.set_ylim(len(order) - 0.4, -0.6)
        return figure
