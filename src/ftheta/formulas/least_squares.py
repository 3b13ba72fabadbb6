"""Least squares: the shortest x that brings a x closest to b.

    x = argmin Σ_i v_i ‖b_i - a_i x‖²,      aᵀV (b - a x) = 0

Columns are centred where there is an intercept and scaled by powers of two; Householder's QR of a itself, never aᵀa,
whose condition number is squared. Refinement then solves the augmented system

    r + a x = b,   aᵀ r = 0

again for what its residuals, computed in twice the precision, leave over.

Shapes: n rows, P columns, T targets, F = 1 with an intercept and 0 without; M = F + P unknowns.
References: Björck, Iterative refinement of linear least squares solutions I, BIT 7 (1967); Demmel, Grigori, Hoemmen and
Langou, Communication-optimal parallel and sequential QR, SISC 34 (2012).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular

from ..errors import InputError
from .error_free import Pair, two_product, two_sum, two_sums

__all__ = ["Solution", "solve"]

EPS = float(np.finfo(float).eps)
BLOCK = 2**16  # numbers in the rows that are looked at together
SMALL = 2**18  # numbers in a table that is refined from a condition number of MILD
MILD = 10.0  # up to which rounding touches the last digits only
STEEP = 1e4  # condition number from which every table is refined
NEAR = 1e-9  # relative singular value below which the rank is in doubt
STEPS = 10  # of refinement at most


class Solution(NamedTuple):
    """A least-squares solution.

    Args:
        x: The shortest of the best: (M, T), an intercept first; it does not count for the length.
        residual: b - a x: (n, T).
        root: (aᵀV a)⁻¹ = root rootᵀ: (M, M), upper triangular; None where the rank is short.
        centre: The weighted means of the columns of a (P,); 0 without an intercept.
        rank: How many of the M columns are independent.
        condition: Largest over smallest singular value of the columns (centred where there is an intercept, scaled to
            length 1) that count for the rank: the units of the columns are not in it.
        doubtful: One sentence where rounding could decide the rank, else "".
    """

    x: np.ndarray
    residual: np.ndarray
    root: np.ndarray | None
    centre: np.ndarray
    rank: int
    condition: float
    doubtful: str


def solve(a: Any, b: Any, weight: Any = None, *, intercept: bool = False) -> Solution:
    """Minimum-norm least squares of a x = b, to the last digits where the rank is full.

    Args:
        a: The table (n, P), n > 0, finite.
        b: Right-hand sides (n, T) or (n,).
        weight: v >= 0 of the rows (n,), not all 0, or None where all weigh the same.
        intercept: Put a column of ones in front.

    Example:
        >>> found = solve([[0.0], [1], [2], [3]], [1.0, 3, 2, 5], intercept=True)
        >>> found.x.ravel(), found.rank
        (array([1.1, 1.1]), 2)
    """
    rows = _Rows.of(np.asarray(a, dtype=float), np.asarray(b, dtype=float), weight, intercept)
    m = rows.unknowns
    blocks = (rows.block(c) for c in rows.chunks())
    upper = reduce(partial(_stack, m=m), blocks, np.empty((0, m + rows.b.shape[1])))
    r, z = upper[: min(len(upper), m), :m], upper[: min(len(upper), m), m:]
    rank, spectrum, rounding = _rank(r[intercept:, intercept:], len(rows.a), rows.offset)
    full = rank + intercept == m
    condition = float(spectrum[0] / spectrum[rank - 1]) if rank else 1.0
    if full:
        x = solve_triangular(r, z)
        if condition > (MILD if rows.a.size * z.shape[1] <= SMALL else STEEP):
            x = _refined(rows, x)
    else:
        x = _shortest(r, z, rank, int(intercept), rows.exponent)
    with np.errstate(over="ignore", invalid="ignore"):
        solution, root = rows.original(x), rows.root(r) if full else None
    if not (np.isfinite(solution).all() and (root is None or np.isfinite(root).all())):
        raise InputError("A coefficient or its error is beyond what float64 can count. Rescale the columns or y.")
    doubtful = _doubt(spectrum, rank, rounding) or rows.doubt or rows.lost(rank)
    centre = rows.centre[: rows.a.shape[1]]
    return Solution(solution, rows.residual(x), root, centre, rank + intercept, condition, doubtful)


@dataclass(frozen=True)
class _Rows:
    """The rows of a problem, a block at a time: weighted, centred, about 1 in size.

    Args:
        a: The table (n, P) as it was given.
        b: (n, T).
        weight: √v of the rows (n, 1), the largest 1; or None.
        heaviest: The largest v.
        centre: What is taken off the columns of a (P,) and b (T,), joined; 0 without an intercept.
        exponent: Column j of a is divided by 2^exponent[j]: (P,).
        exponent_b: (T,).
        offset: The largest number of each column over its distance from the centre: (P,).
        doubt: A sentence where a column is constant up to rounding.
    """

    a: np.ndarray
    b: np.ndarray
    weight: np.ndarray | None
    heaviest: float
    intercept: bool
    centre: np.ndarray
    exponent: np.ndarray
    exponent_b: np.ndarray
    offset: np.ndarray
    doubt: str

    @classmethod
    def of(cls, a: np.ndarray, b: np.ndarray, weight: Any, intercept: bool) -> _Rows:
        if a.ndim != 2 or not a.size or b.ndim not in (1, 2) or len(a) != len(b):
            raise InputError(
                f"a is {a.shape} and b is {b.shape}; (n, P) and (n,) or (n, T) are needed, none of them 0."
            )
        b = b.reshape(len(b), -1)
        v = None if weight is None else np.asarray(weight, dtype=float)
        heaviest = 1.0 if v is None else float(v.max())
        root = None if v is None else np.sqrt(v / heaviest)[:, None]
        parts = [(part, _centre(part, root) if intercept else np.zeros(part.shape[1])) for part in (a, b)]
        size, size_b = (_size(part, centre) for part, centre in parts)
        if not np.isfinite([size.sum(), size_b.sum()]).all():
            raise InputError("a or b holds a number that is not finite, or a column is wider than float64 can count.")
        centre = parts[0][1]
        flat = intercept & (size <= 4 * EPS * np.abs(centre))
        named = ", ".join(map(str, np.flatnonzero(flat & (size > 0))))
        doubt = f"Column {named} of X is constant up to rounding and got the coefficient 0; drop it." if named else ""
        exponent, exponent_b = (np.clip(np.frexp(part)[1], -1000, None) for part in (size, size_b))
        exponent[flat] = 3000  # 2^-3000 is 0
        offset = 1 + np.abs(centre) / np.where(flat | (size == 0), np.inf, size)
        centre = np.concatenate([c for _, c in parts])
        return cls(a, b, root, heaviest, intercept, centre, exponent, exponent_b, offset, doubt)

    @property
    def unknowns(self) -> int:
        return self.intercept + self.a.shape[1]

    def chunks(self) -> Iterator[slice]:
        return _slices(len(self.a), max(BLOCK // (self.unknowns + self.b.shape[1]), 2 * self.unknowns))

    @property
    def scale(self) -> np.ndarray:
        return np.ldexp(1.0, -np.concatenate([self.exponent, self.exponent_b]))  # (P + T,)

    def block(self, rows: slice, *, weighted: bool = True) -> np.ndarray:
        """Ones, a and b side by side: (c, M + T), column by column in memory."""
        f, m, a = int(self.intercept), self.unknowns, self.a[rows]
        found = np.ones((m + self.b.shape[1], len(a)))
        found[f:m], found[m:] = a.T, self.b[rows].T
        found[f:] -= self.centre[:, None]
        found[f:] *= self.scale[:, None]
        return found.T if self.weight is None or not weighted else np.multiply(found, self.weight[rows].T, out=found).T

    def pair(self) -> Pair:
        """All rows, high and low part of each number: (n, M + T)."""
        high, low = (part * self.scale for part in two_sum(np.hstack([self.a, self.b]), -self.centre))
        ones = np.ones((len(high), int(self.intercept)))
        high, low = np.hstack([ones, high]), np.hstack([0 * ones, low])
        if self.weight is None:
            return high, low
        product, error = two_product(self.weight, high)
        return product, error + self.weight * low

    def original(self, x: np.ndarray) -> np.ndarray:
        """Of the scaled and centred columns -> of the columns as they are: (M, T)."""
        f, p = int(self.intercept), self.a.shape[1]
        w = np.ldexp(x[f:], self.exponent_b - self.exponent[:, None])  # (P, T)
        if not f:
            return w
        shift, error = two_product(-np.ldexp(self.centre[:p], -self.exponent)[:, None], x[1:])
        terms = np.vstack([np.ldexp(self.centre[None, p:], -self.exponent_b), x[:1], shift])
        high, low = two_sums(terms, error.sum(0))
        return np.vstack([np.ldexp(high + low, self.exponent_b), w])

    def residual(self, x: np.ndarray) -> np.ndarray:
        blocks = (self.block(c, weighted=False) for c in self.chunks())
        found = [block[:, self.unknowns :] - block[:, : self.unknowns] @ x for block in blocks]
        return np.ldexp(np.concatenate(found), self.exponent_b)

    def lost(self, rank: int) -> str:
        """A sentence where heavy rows may have hidden what light ones say of the rank."""
        if self.weight is None or rank + self.intercept >= min(len(self.a), self.unknowns):
            return ""
        lightest = float(self.weight[self.weight > 0].min())
        if lightest > 1e-6:
            return ""
        return (
            f"Weights are up to a factor {lightest**-2:.0e} apart, so that light rows vanish in the rounding of heavy "
            f"ones: rank {rank} of {self.a.shape[1]} is in doubt. Use weights that are closer together."
        )

    def root(self, r: np.ndarray) -> np.ndarray:
        """(M, M) with (aᵀV a)⁻¹ = root rootᵀ, of the columns as they are."""
        f = int(self.intercept)
        found = solve_triangular(r, np.diag(np.copysign(1.0, np.diag(r)))) / np.sqrt(self.heaviest)  # diagonal > 0
        found[f:] = np.ldexp(found[f:], -self.exponent[:, None])
        if f:
            found[0] -= self.centre[: self.a.shape[1]] @ found[1:]
        return found


def _centre(part: np.ndarray, root: np.ndarray | None) -> np.ndarray:
    """The (weighted) mean of the columns; a second pass finds what the first lost."""
    v = np.ones(len(part)) if root is None else root[:, 0] ** 2
    v = v / v.sum()
    first = v @ part
    return first + sum(v[c] @ (part[c] - first) for c in _slices(len(part), BLOCK // part.shape[1]))


def _size(part: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """The largest absolute value of each centred column."""
    return np.maximum(part.max(0) - centre, centre - part.min(0))


def _stack(upper: np.ndarray, block: np.ndarray, m: int) -> np.ndarray:
    """R and Qᵀb of the rows so far, as they stand in `upper`, and of a block of rows: (k, M + T), k <= M + T."""
    rows = np.hstack([upper.T, block.T]).T if len(upper) else block  # column by column
    if rows.shape[1] > 2 * m:  # many targets need not be made triangular
        q, r = np.linalg.qr(rows[:, :m])
        return np.hstack([r, q.T @ rows[:, m:]])
    found: Any = np.linalg.qr(rows, mode="r")
    return found


def _rank(r: np.ndarray, n: int, offset: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """How many singular values of the columns at length 1 are more than rounding; all of them, the largest as 1; and
    what is left of each where it is 0: rounding of the sums, and of the numbers themselves where they are far from 0.
    """
    length = np.linalg.norm(r, axis=0)
    live = length > 0
    _, spectrum, vt = np.linalg.svd(r[:, live] / length[live], full_matrices=False)
    spectrum = spectrum / spectrum[:1]
    rounding = EPS * np.maximum(max(r.shape[1], n**0.5), np.minimum(np.abs(vt) @ offset[live], 1e-3 / EPS))
    return int(np.flatnonzero(np.r_[True, spectrum > 10 * rounding])[-1]), spectrum, rounding


def _doubt(spectrum: np.ndarray, rank: int, rounding: np.ndarray) -> str:
    between = spectrum[(spectrum > rounding) & (spectrum < np.maximum(NEAR, 10 * rounding))]
    if not len(between):
        return ""
    return (
        f"The columns are nearly dependent: condition number {1 / between[-1]:.1e} after scaling, so that rank {rank} "
        f"of {len(spectrum)} is in doubt and the coefficients hang on the last digits of the data. Use an orthogonal "
        "basis, drop columns or add a penalty."
    )


def _shortest(r: np.ndarray, z: np.ndarray, rank: int, f: int, exponent: np.ndarray) -> np.ndarray:
    """The solution of r x = z of least length in the units of the columns as they are, 2^exponent: (M, T).

    A pivoted QR expresses the dependent columns by the others, [I K] u = basic; QR of [I K]ᵀ in the right units is the
    other half of a complete orthogonal decomposition, with rows sorted for units many powers of ten apart.
    """
    x = np.zeros((r.shape[1], z.shape[1]))
    length = np.linalg.norm(r[f:, f:], axis=0)  # (P,)
    live = np.flatnonzero(length)
    if rank:
        q, upper, order = _pivoted(r[f:, f + live] / length[live])
        live, head = live[order], upper[:rank, :rank]
        basic, k = solve_triangular(head, (q.T @ z[f:])[:rank]), solve_triangular(head, upper[:rank, rank:])
        k[np.abs(k) < 100 * EPS * rank] = 0  # rounding, that units of 1e150 would blow up
        unit = exponent[live] - exponent[live].max()
        span = np.vstack([np.eye(rank), k.T]) * np.ldexp(length[live], unit)[:, None]
        down = np.argsort(-np.abs(span).max(1), kind="stable")
        q, upper, order = _pivoted(span[down])
        shortest = q @ solve_triangular(upper, basic[order], trans=1)
        x[f + live[down]] = np.ldexp(shortest, unit[down, None])
    if f:
        x[0] = (z[0] - r[0, 1:] @ x[1:]) / r[0, 0]
    return x


def _pivoted(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """a[:, order] = q upper, the longest column first."""
    found: Any = qr(a, mode="economic", pivoting=True)
    return found


def _refined(rows: _Rows, x: np.ndarray) -> np.ndarray:
    """Björck's refinement: the augmented system is solved again for its residuals until that changes nothing."""
    high, low = rows.pair()
    m = rows.unknowns
    q, upper = np.linalg.qr(high[:, :m])  # (n, M), (M, M)
    r, last = high[:, m:] - high[:, :m] @ x, np.inf
    for _ in range(STEPS):
        f, g = _left_over(rows, high, low, x, r)
        d = q.T @ f - solve_triangular(upper, g, trans=1)
        step = solve_triangular(upper, d)
        size = float(np.max(np.linalg.norm(step, axis=0) / np.maximum(np.linalg.norm(x, axis=0), 1e-300)))
        if not size < last / 2:
            break
        x, r, last = x + step, r + f - q @ d, size
        if size <= EPS / 4:
            break
    return x


def _left_over(rows: _Rows, high: np.ndarray, low: np.ndarray, x: np.ndarray, r: np.ndarray) -> Pair:
    """Of the augmented system: b - r - a x (n, T) and -aᵀ r (M, T), summed in twice the precision."""
    m, f, g = rows.unknowns, np.empty_like(r), []
    for c in _slices(len(r), BLOCK // (m * r.shape[1])):
        a, small = high[c, :m, None], low[c, :m]  # (c, M, 1)
        product, error = two_product(a, -x)
        terms = np.concatenate([high[None, c, m:], -r[None, c], product.swapaxes(0, 1)])  # (2 + M, c, T)
        f[c] = np.add(*two_sums(terms, error.sum(1) + low[c, m:] - small @ x))
        product, error = two_product(a, -r[c, None])
        g.append(two_sums(product, error.sum(0) - small.T @ r[c]))
    above, below = (np.array([pair[k] for pair in g]) for k in (0, 1))  # (chunks, M, T)
    return f, np.add(*two_sums(above, below.sum(0)))


def _slices(n: int, step: int) -> Iterator[slice]:
    return (slice(i, i + max(step, 1)) for i in range(0, n, max(step, 1)))
