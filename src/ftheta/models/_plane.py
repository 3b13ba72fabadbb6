"""A plane in the form from which its statistics follow: orthonormal columns and the way back to the coefficients.

    √V A = q R,      θ = root qᵀ √V y,      root = R⁻¹,   or a generalised inverse where the rank is short

Columns are centred where there is an intercept, y is scaled by a power of two. θ_j is known if e_jᵀθ is the same for
all solutions, which is so if e_j lies in the row space of A.
Shapes: n rows, D features, P = D + 1 coefficients with the intercept first, or D without; r their rank.
Reference: Searle, Linear Models (1971), chapter 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..formulas import Solution, solve

__all__ = ["EPS", "Plane", "independent", "norms", "plane"]

EPS = float(np.finfo(float).eps)
NEAR = 1e-8  # how far e_j may lie from the row space


class Plane(NamedTuple):
    """Least squares, taken apart.

    Args:
        x: Features (n, D) as they were given.
        ones: √v (n,).
        theta: Coefficients (P,), the shortest where they are not decided.
        root: (P, r).
        q: Orthonormal columns (n, r).
        residual: √v (y - ŷ) / unit (n,).
        response: √v (y - ȳ) / unit (n,).
        mean: ȳ / unit.
        unit: A power of two of the size of y.
        varies: Columns that are not constant (D,); where there is no intercept: not 0.
        known: Coefficients that the rows decide (P,).
        length: Of the columns (P,), centred where there is an intercept, whose own is NaN.
        condition: Of all columns, scaled to length 1; ∞ where the rank is short.
        constant: Whether the columns span the constant.
        exact: Whether only rounding is left of y.
        doubtful: What the solver doubts.
    """

    x: np.ndarray
    ones: np.ndarray
    theta: np.ndarray
    root: np.ndarray
    q: np.ndarray
    residual: np.ndarray
    response: np.ndarray
    mean: float
    unit: float
    varies: np.ndarray
    known: np.ndarray
    length: np.ndarray
    condition: float
    constant: bool
    exact: bool
    doubtful: str

    @property
    def weight(self) -> float:
        """Sum of the weights."""
        return float(self.ones @ self.ones)

    @property
    def total(self) -> float:
        """Sum of squares of y that R² is of: about the mean if there is a constant, else about 0."""
        about_mean = float(self.response @ self.response)
        return about_mean if self.constant else about_mean + self.weight * self.mean**2


def plane(x: np.ndarray, y: np.ndarray, weight: np.ndarray | None, intercept: bool) -> Plane:
    """Least squares of y (n,) on the columns of x (n, D), with weights (n,) > 0 or None."""
    found = solve(x, y, weight, intercept=intercept)
    ones = np.ones(len(x)) if weight is None else np.sqrt(weight)
    a, centre, size = _columns(x, weight, ones, intercept)
    length, varies = norms(a.T), size > 0
    root, known = _root(a, found, length, centre, varies, intercept)
    root, q = _orthonormal(root, a)
    shift = np.linalg.norm(ones) * centre if intercept else None
    condition = _condition(q.T @ a, length, shift) if known.all() else np.inf
    if intercept:
        root, q = _with_constant(root, q, centre, ones)
    mean = float(_mean(y[:, None], weight)[0])
    around = np.where(abs(y - mean) <= 4 * EPS * abs(mean), 0.0, y - mean)
    unit = float(np.ldexp(1.0, np.frexp(abs(around if intercept else y).max())[1]))
    residual, theta = ones * found.residual[:, 0] / unit, found.x[:, 0]
    return Plane(
        x=x,
        ones=ones,
        theta=theta,
        root=root,
        q=q,
        residual=residual,
        response=ones * around / unit,
        mean=mean / unit,
        unit=unit,
        varies=varies,
        known=known,
        length=np.append(np.nan, length) if intercept else length,
        condition=condition,
        constant=intercept or _spans_constant(q, ones),
        exact=_exact(residual, ones * y / unit, ones.max() * size * abs(theta[intercept:] / unit)),
        doubtful=found.doubtful,
    )


def _columns(
    x: np.ndarray, weight: np.ndarray | None, ones: np.ndarray, intercept: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centred and weighted columns (n, D), what was taken off (D,), and their largest values before weighting (D,)."""
    centre = _mean(x, weight) if intercept else np.zeros(x.shape[1])
    size = np.maximum(x.max(0) - centre, centre - x.min(0))
    flat = size <= 4 * EPS * abs(centre)
    a = x - centre
    a[:, flat] = size[flat] = 0.0
    if weight is not None:
        a *= ones[:, None]
    return a, centre, size


def norms(rows: np.ndarray) -> np.ndarray:
    """Lengths of rows, whose squares need not be numbers: (k, n) -> (k,)."""
    size = np.maximum(rows.max(1, initial=0.0), -rows.min(1, initial=0.0))
    if ((size > 1e-140) & (size < 1e140)).all():
        return np.sqrt(np.einsum("kn,kn->k", rows, rows))
    size = np.where(size > 0, size, 1.0)
    return size * np.linalg.norm(rows / size[:, None], axis=1)


def _mean(part: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Of columns; a second pass finds what the first lost."""
    first = np.average(part, axis=0, weights=weight)
    return first + np.average(part - first, axis=0, weights=weight)


def _root(
    a: np.ndarray, found: Solution, length: np.ndarray, centre: np.ndarray, varies: np.ndarray, intercept: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of the centred columns from orthonormal ones (D, r), and which coefficients are known (P,)."""
    f = int(intercept)
    if found.root is not None:
        return found.root[f:, f:], np.ones(len(found.x), dtype=bool)
    size = np.where(length > 0, length, 1.0)
    _, values, right = np.linalg.svd(np.linalg.qr(a / size, mode="r"), full_matrices=False)
    right = right[: found.rank - f]  # (r, D): the row space
    known = varies & ((right**2).sum(0) > 1 - NEAR)
    at_zero = np.where(varies, centre / size, 0.0)  # the intercept is the height over x = 0
    inside = norms((at_zero - right.T @ (right @ at_zero))[None])[0] <= NEAR * max(norms(at_zero[None])[0], 1.0)
    return right.T / values[: len(right)] / size[:, None], np.append(inside, known) if f else known


def independent(x: np.ndarray, y: np.ndarray, weight: np.ndarray | None, intercept: bool) -> tuple[Plane, np.ndarray]:
    """The plane of columns that do not follow from those before them, and which are left out for it (D,).

    Where no degrees of freedom remain, nothing has an error anyway, and all columns stay.
    """
    fit = plane(x, y, weight, intercept)
    if len(fit.q) <= fit.q.shape[1] or fit.known[int(intercept) :][fit.varies].all():
        return fit, np.zeros(x.shape[1], dtype=bool)
    left_out = _dependent(fit)
    return plane(x[:, ~left_out], y, weight, intercept), left_out


def _dependent(fit: Plane) -> np.ndarray:
    """Columns that vary but follow from those before them, as many as the rank is short of: (D,).

    The first that span the row space are pivots of V Vᵀ, the others, from the last on, those of I - V Vᵀ.
    """
    f = len(fit.theta) - len(fit.varies)
    length = np.where(fit.varies, fit.length[f:], 1.0)
    span = np.linalg.qr(fit.root[f:, f:] * length[:, None])[0]  # V (D, r): the row space at columns of length 1
    inside, places = span @ span.T, np.flatnonzero(fit.varies)
    r, short = span.shape[1], len(places) - span.shape[1]
    if r < short:
        return fit.varies & ~_pivots(inside, places, r)
    return _pivots(np.diag(fit.varies.astype(float)) - inside, places[::-1], short)


def _pivots(gram: np.ndarray, order: np.ndarray, most: int) -> np.ndarray:
    """The first columns in this order that are not combinations of those chosen before: (D,)."""
    found = np.zeros(len(gram), dtype=bool)
    for j in order:
        if found.sum() < most and gram[j, j] > NEAR:
            gram = gram - np.outer(gram[j], gram[j] / gram[j, j])
            found[j] = True
    return found


def _orthonormal(root: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a root, made orthonormal once more, and the root that belongs to it."""
    q = a @ root
    values, vectors = np.linalg.eigh(q.T @ q)
    last = vectors / np.sqrt(np.maximum(values, EPS))
    return root @ last, q @ last


def _with_constant(
    root: np.ndarray, q: np.ndarray, centre: np.ndarray, ones: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The same with the constant in front: (P, r), (n, r)."""
    size = np.linalg.norm(ones)
    top = np.append(1 / size, -centre @ root)
    return np.vstack([top, np.hstack([np.zeros((len(root), 1)), root])]), np.column_stack([ones / size, q])


def _condition(upper: np.ndarray, length: np.ndarray, shift: np.ndarray | None) -> float:
    """Largest over smallest singular value of the columns as they are, each scaled to length 1.

    Args:
        upper: qᵀa (r, D) of the centred columns.
        length: Of these (D,).
        shift: How far centring moved them, ‖1‖ centre (D,); None without an intercept.
    """
    if shift is None:
        return float(np.linalg.cond(upper / length))
    columns = np.vstack([shift, upper]) / np.hypot(shift, length)
    return float(np.linalg.cond(np.column_stack([np.eye(len(columns))[0], columns])))


def _spans_constant(q: np.ndarray, ones: np.ndarray) -> bool:
    return bool(np.linalg.norm(ones - q @ (q.T @ ones)) <= NEAR * np.linalg.norm(ones))


def _exact(residual: np.ndarray, y: np.ndarray, terms: np.ndarray) -> bool:
    """Whether residuals are what the rounding of y and of the terms of x·w leaves."""
    return bool(abs(residual).max() <= 4 * (len(terms) + 2) * EPS * max(abs(y).max(), terms.max(initial=0.0)))
