"""Basis functions: nonlinear in x, linear in the weights, solved in closed form.

    ŷ = w_0 + Σ_k w_k φ_k(x),        w = argmin Σ_i v_i (y_i - ŷ_i)² + α Σ_{k>0} w_k²

Polynomials are made of polynomials that are orthonormal on the data, and told in powers of x: what is solved has a
condition number near 1 where powers have 1e10. With several inputs a polynomial has their products; sinusoids and
translated functions are those of each input.
Shapes: n rows, D inputs, M functions of each, P functions in all, T targets.
Reference: Bishop, Pattern Recognition and Machine Learning (2006), section 3.1.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .. import check
from ..check import Count, NonNegative, Positive
from ..errors import InputError
from ..formulas import SHAPES, exponents, in_powers, orthogonal, products, recurrence, sinusoids, solve, translated
from ..store import Tree
from ..train import iterate
from ._basis_learn import VariableProjection
from ._basis_terms import Terms, called, function_name, monomial, placed
from ._plain import Learned, PlainRegressor

__all__ = ["BasisRegression"]

MOST = 2 * 10**8  # numbers in a design matrix
PART = 2**22  # numbers of it that are made at a time to predict
POLYNOMIALS = {"legendre": np.polynomial.legendre.legvander, "chebyshev": np.polynomial.chebyshev.chebvander}
WITH_DEGREE = ("polynomial", *POLYNOMIALS)


class BeyondError(InputError, AttributeError):
    """A coefficient that no float64 can hold: `hasattr(model, "coef_")` is False."""


@dataclass(kw_only=True, eq=False, repr=False)
class BasisRegression(PlainRegressor):
    """Least squares on functions of the inputs.

    Args:
        basis: "polynomial"; "legendre" and "chebyshev" on the range of the rows; "fourier"; "gaussian", "sigmoid",
            "tanh" and "relu", translated; or a list of functions, each of which is called with one array (n,) an input.
        degree: Of the polynomials, in all inputs together.
        size: How many centres or frequencies each input has.
        frequencies: Of sinusoids, in radians a unit of x; None: whole numbers of periods in the range of the rows.
        centres: "even" in the range, at every "quantile" of the distinct values, or a list for each input to have.
        widths: One, or one a centre; None: how far centres lie apart, and 1 for a hinge.
        learn: Move centres and widths too, to lower the loss; from three starts, the best of which is kept.
        alpha: Weight of Σ w², of the orthonormal polynomials or of the functions as they are; never of the constant.
        fit_intercept: Have a constant.
        max_iter: Steps of learning at most.

    Example:
        >>> model = BasisRegression(degree=2).fit([[0.0], [1], [2], [3], [4]], [1, -0.5, -1, -0.5, 1])
        >>> dict(zip(model.names_, model.coef_.round(9).tolist())), round(float(model.intercept_), 9)
        ({'x': -2.0, 'x^2': 0.5}, 1.0)
    """

    basis: (
        Literal["polynomial", "legendre", "chebyshev", "fourier", "gaussian", "sigmoid", "tanh", "relu"] | list[Any]
    ) = "polynomial"
    degree: Count = 3
    size: Count = 6
    frequencies: list[float] | None = None
    centres: Literal["even", "quantile"] | list[float] = "even"
    widths: Positive | list[float] | None = None
    learn: bool = False
    alpha: NonNegative = 0.0
    fit_intercept: bool = True
    max_iter: Count = 1000

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    # ---- learning

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Place the functions, learn where they belong if asked to, and solve for their weights."""
        x, y, weight = self._learned(X, y, sample_weight, columns=True)
        if weight is not None and not weight.all():
            x, y, weight = (part[weight > 0] for part in (x, y, weight))
        self._refuse(x)
        targets, alpha = y.reshape(len(x), -1), self.alpha
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if weight is not None:  # the heaviest row weighs 1
                weight, alpha = weight / weight.max(), float(min(alpha / weight.max(), 1e300))
            self._place(x, weight)
            self.n_iter_ = 1
            phi = self._finite(x)  # (n, P)
            if self.learn:
                self._move(x, targets, weight, alpha)
                phi = self._finite(x)
            if alpha:
                w, self.condition_ = _ridge(phi, targets, weight, alpha, self.fit_intercept)
            else:
                found = solve(phi, targets, weight, intercept=self.fit_intercept)
                w, self.condition_ = found.x, found.condition
        if not np.isfinite(w).all():
            raise InputError(
                f"A weight is beyond float64: y is as large as {np.abs(y).max():.2g} and a function as small as "
                f"{np.abs(phi).max(0).min():.2g}. Rescale X or y."
            )
        w = w if self.fit_intercept else np.vstack([np.zeros(w.shape[1]), w])
        self.weights_ = w if y.ndim == 2 else w[:, 0]  # (1 + P, T) or (1 + P,): of the functions inside
        return self

    def _refuse(self, x: np.ndarray) -> None:
        """Settings that do not go together, and tables that are too large."""
        if not isinstance(self.basis, str) and not (self.basis and all(map(callable, self.basis))):
            raise InputError(f"basis={self.basis!r}: a list holds functions, at least one, such as [np.sin, np.exp].")
        if self.learn and str(self.basis) not in SHAPES:
            raise InputError(
                f"learn=True moves centres and widths, and basis={self.basis!r} has none. Choose one of "
                f"{', '.join(SHAPES)}, or learn=False."
            )
        if self.basis == "polynomial" and not self.fit_intercept:
            raise InputError(
                "fit_intercept=False: a polynomial has its constant among its functions. Leave it in, or give the "
                "powers as functions: basis=[lambda x: x, lambda x: x**2]."
            )
        count = self._count(x.shape[1])
        degree = self.degree if self.basis in WITH_DEGREE else 0
        if max(len(x), 1000, degree) * count > MOST:
            raise InputError(
                f"{x.shape[1]} inputs have {count} functions ({self.basis}, degree={self.degree}, size={self.size}), "
                f"too many for {len(x)} rows in memory. Lower degree or size, or choose fewer columns."
            )

    def _count(self, d: int) -> int:
        """How many functions d inputs have."""
        if not isinstance(self.basis, str):
            return len(self.basis)
        if self.basis == "fourier":
            return 2 * d * (self.size if self.frequencies is None else len(self.frequencies))
        if self.basis in SHAPES:
            return d * (len(self.centres) if isinstance(self.centres, list) else self.size)
        return comb(d + self.degree, d)

    def _place(self, x: np.ndarray, weight: np.ndarray | None) -> None:
        """Where the rows are, and the functions on them."""
        distinct = [np.unique(column) for column in x.T]
        self.ends_ = ends = np.array([[values[0], values[-1]] for values in distinct])  # (D, 2)
        if not (np.abs(ends) < 8e307).all():
            raise InputError(f"X spans {ends.min():g} to {ends.max():g}, more than float64 can hold. Rescale it.")
        at_rows = self.basis not in WITH_DEGREE[1:]  # exact where most of the values are
        self.middle_ = np.array([np.median(values) for values in distinct]) if at_rows else ends.mean(1)
        half = np.abs(ends - self.middle_[:, None]).max(1)
        self.half_ = np.where(half > 0, half, 1.0)
        if self.basis == "polynomial":
            t = (x - self.middle_) / self.half_
            self.tables_ = np.stack([recurrence(column, self.degree, weight) for column in t.T])  # (D, d + 1, d)
        elif self.basis == "fourier":
            self.frequencies_ = self._frequencies()
        elif isinstance(self.basis, str) and self.basis in SHAPES:
            self.centres_ = self._centres(distinct)
            self.widths_ = self._widths()

    def _frequencies(self) -> np.ndarray:
        """(D, K)."""
        if self.frequencies is not None:
            return np.tile(_numbers("frequencies", self.frequencies), (len(self.half_), 1))
        span = np.where(self._span() > 0, self._span(), 2.0)
        return 2 * np.pi * np.arange(1, self.size + 1) / span[:, None]

    def _span(self) -> np.ndarray:
        return self.ends_[:, 1] - self.ends_[:, 0]

    def _centres(self, distinct: list[np.ndarray]) -> np.ndarray:
        """(D, M); a hinge at the upper end would be 0 on all rows, so hinges have none there."""
        if isinstance(self.centres, list):
            return np.tile(np.sort(_numbers("centres", self.centres)), (len(distinct), 1))
        m, closed = self.size, self.basis != "relu"
        at = np.linspace(0, 1, m, endpoint=closed) if m > 1 else np.array([0.5 if closed else 0.0])
        if self.centres == "even":
            return self.ends_[:, :1] + at * self._span()[:, None]
        return np.stack([np.quantile(values, at) for values in distinct])

    def _widths(self) -> np.ndarray:
        """(D, M)."""
        if self.widths is not None:
            given = _numbers("widths", self.widths)
            if len(given) not in (1, self.centres_.shape[1]) or not (given > 0).all():
                raise InputError(
                    f"widths={self.widths}: one positive number, or one for each of the {self.centres_.shape[1]} "
                    "centres, is needed."
                )
            order = np.argsort(self.centres, kind="stable") if isinstance(self.centres, list) else slice(None)
            return np.broadcast_to(given[order] if len(given) > 1 else given, self.centres_.shape).copy()
        if self.basis == "relu":
            return np.ones_like(self.centres_)
        gaps = np.diff(self.centres_)  # (D, M - 1)
        if not gaps.shape[1]:
            return self.half_[:, None]
        around = (np.hstack([gaps[:, :1], gaps]) + np.hstack([gaps, gaps[:, -1:]])) / 2
        return np.maximum(around, 1e-3 * self.half_[:, None])

    def _move(self, x: np.ndarray, y: np.ndarray, weight: np.ndarray | None, alpha: float) -> None:
        """Variable projection, in units of one."""
        middle, half = self.middle_[:, None], self.half_[:, None]
        size = np.abs(y).max() or 1.0
        rows, c, s = Learned((x - self.middle_) / self.half_, y / size, weight), self.centres_, self.widths_
        found = []
        for narrow in (1.0,) if self.basis == "relu" else (1.0, 0.5, 0.25):  # where it ends hangs on where it starts
            start = np.clip((c - middle) / half, -1e150, 1e150), np.clip(s * narrow / half, 1e-150, 1e150)
            process = VariableProjection(rows, str(self.basis), *start, alpha, intercept=self.fit_intercept)
            found.append((process, iterate(process, rounds=self.max_iter)))
        process, self.history_ = min(found, key=lambda pair: pair[0].loss)
        self.n_iter_, self.start_ = len(self.history_), {"centres": c, "widths": s}
        self.centres_ = process.centres * half + middle
        self.widths_ = s if self.basis == "relu" else process.widths * half
        if not process.reason:
            warnings.warn(
                f"The loss still fell after max_iter={self.max_iter} steps of learning; take more of them, or fewer "
                "functions.",
                ConvergenceWarning,
                stacklevel=4,
            )

    # ---- the functions

    def set_state(self, state: Mapping[str, Tree]) -> None:
        """Put back what `get_state` gave; a degree that a file names is compared with the weights before it is used."""
        super().set_state(state)
        d, n = len(self.half_), len(self.weights_)
        if self.basis in WITH_DEGREE and (max(self.degree, d) > n or comb(d + self.degree, d) != n):
            raise InputError(f"degree={self.degree} does not fit {n} weights of {d} columns.")

    def _finite(self, x: np.ndarray) -> np.ndarray:
        """The functions of the rows of fit."""
        phi = self._functions(x)
        if not np.isfinite([phi.min(), phi.max()]).all():
            k = int(np.argmin(np.isfinite(phi).all(0)))
            raise InputError(
                f"{self.names_[k]} is beyond float64 on rows from {self.ends_[:, 0].min():g} to "
                f"{self.ends_[:, 1].max():g}. Rescale X, or choose other functions."
            )
        return phi

    def _functions(self, x: np.ndarray) -> np.ndarray:
        """Every function but the constant, of each row: (n, P)."""
        if not isinstance(self.basis, str):
            return called(self.basis, x)
        if self.basis == "fourier":
            return sinusoids(x, self.frequencies_)
        if self.basis in SHAPES:
            return translated(x, self.centres_, self.widths_, self.basis)
        with np.errstate(over="ignore"):
            t = ((x - self.middle_) / self.half_).T
        if self.basis == "polynomial":
            each = [orthogonal(column, h) for column, h in zip(t, self.tables_, strict=True)]
        else:
            each = [POLYNOMIALS[self.basis](column, self.degree) for column in t]
        return products(each, exponents(len(t), self.degree)[1:])

    def predict(self, X: ArrayLike) -> np.ndarray:
        """w_0 + Σ w_k φ_k(x) of each row: (n,) or (n, T)."""
        check_is_fitted(self)
        return self._answers(check.table(self, X, dtype="float64", reset=False))

    def _answers(self, x: np.ndarray) -> np.ndarray:
        step = max(1, PART // len(self.weights_))
        with np.errstate(over="ignore", invalid="ignore"):
            parts = [self._functions(x[i : i + step]) @ self.weights_[1:] for i in range(0, len(x), step)]
            found = np.concatenate(parts) + self.weights_[0]
        if not np.isfinite(found).all():
            row = int(np.argwhere(~np.isfinite(found))[0][0])
            raise InputError(
                f"The answer for row {row} ({', '.join(f'{v:g}' for v in x[row][:4])}) is beyond float64: it lies far "
                f"outside of the rows of fit, {self.ends_[:, 0].min():g} to {self.ends_[:, 1].max():g}. Leave it out."
            )
        return found

    # ---- what it says of itself

    @property
    def names_(self) -> list[str]:
        """What each coefficient multiplies, in the order of `coef_`: P."""
        check_is_fitted(self)
        d = len(self.half_)
        plain = ["x"] if d == 1 else [f"x{j + 1}" for j in range(d)]
        inputs = [str(name) for name in getattr(self, "feature_names_in_", plain)]
        if not isinstance(self.basis, str):
            return [function_name(f, k) for k, f in enumerate(self.basis)]
        if self.basis == "fourier":
            pairs = zip(inputs, self.frequencies_, strict=True)
            return [f"{f}({w:.6g} {x})" for x, ws in pairs for w in ws for f in ("sin", "cos")]
        if self.basis in SHAPES:
            rows = zip(inputs, self.centres_, self.widths_, strict=True)
            return [placed(str(self.basis), x, c, s) for x, cs, ss in rows for c, s in zip(cs, ss, strict=True)]
        letter = {"legendre": "P", "chebyshev": "T"}.get(self.basis, "")
        return [monomial(e, inputs, letter) for e in exponents(d, self.degree)[1:].tolist()]

    @property
    def intercept_(self) -> Any:
        """The constant: (), or (T,)."""
        return self._coefficients()[0][..., 0]

    @property
    def coef_(self) -> np.ndarray:
        """The coefficient of each function, of each power for polynomials: (P,), or (T, P)."""
        return self._coefficients()[0][..., 1:]

    def _coefficients(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients, the constant first, and the digits that the way to them cost: both (1 + P,) or (T, 1 + P)."""
        check_is_fitted(self)
        if self.basis != "polynomial":
            return self.weights_.T, np.zeros(self.weights_.T.shape)
        if getattr(self, "_told", (None,))[0] is not self.weights_:  # once a fit: exact numbers are slow
            self._told = self.weights_, *self._in_powers()
        return self._told[1:]

    def _in_powers(self) -> tuple[np.ndarray, np.ndarray]:
        powers, found = exponents(len(self.half_), self.degree), []
        for w in np.atleast_2d(self.weights_.T):
            exact, size = in_powers(w, self.tables_, self.middle_, self.half_, powers)
            try:
                lost = [max(float(s / abs(c)), 1.0) if c else 1.0 for c, s in zip(exact, size, strict=True)]
                found.append((list(map(float, exact)), np.log10(lost)))
            except OverflowError:
                raise BeyondError(
                    f"A coefficient of degree {self.degree} is beyond float64, as x is about {self.half_.min():g}. "
                    "Rescale X to have coefficients of powers; predictions need none."
                ) from None
        coefficients, lost = (np.array(part).reshape(self.weights_.T.shape) for part in zip(*found, strict=True))
        coefficients.flags.writeable = False
        return coefficients, lost

    def terms(self, X: ArrayLike | None = None, y: ArrayLike | None = None) -> Terms:
        """Every term: its name, its coefficient, and for one input its curve.

        Args:
            X: Rows to draw beside the curves, or None.
            y: Their targets.
        """
        coefficients, lost = self._coefficients()
        if coefficients.ndim > 1:
            raise InputError(f"terms() shows one target, and there were {len(coefficients)} in fit. Fit one each.")
        names = ["1", *self.names_]
        grid = parts = None
        if len(self.half_) == 1:
            grid = np.linspace(self.ends_[0, 0], self.ends_[0, 1], 201)
            with np.errstate(over="ignore", invalid="ignore"):
                powers = grid[:, None] ** np.arange(1, self.degree + 1)
                phi = powers if self.basis == "polynomial" else self._functions(grid[:, None])
                parts = np.column_stack([np.ones(len(grid)), phi]) * coefficients  # (G, 1 + P)
        fit = None if grid is None else self._answers(grid[:, None])
        data = None
        if X is not None and y is not None:
            x = check.table(self, X, dtype="float64", reset=False)
            data = np.column_stack([x, check.target("terms", y, len(x), numeric=True, columns=False)])
        return Terms(names, coefficients, lost, self.condition_, grid, parts, fit, data)


def _numbers(name: str, given: Any) -> np.ndarray:
    """A list of finite numbers."""
    try:
        found = np.atleast_1d(np.asarray(given, dtype=float))
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all():
        raise InputError(f"{name}={given!r}: a list of finite numbers, at least one, is needed.")
    return found


def _ridge(
    phi: np.ndarray, y: np.ndarray, weight: np.ndarray | None, alpha: float, intercept: bool
) -> tuple[np.ndarray, float]:
    """Weights (1 + P, T), or (P, T) without a constant, and the condition number of what was solved."""
    v = np.ones(len(phi)) if weight is None else weight
    root = np.sqrt(v)[:, None]
    at, up = (np.average(part, axis=0, weights=v) * intercept for part in (phi, y))
    u, s, vt = np.linalg.svd((phi - at) * root, full_matrices=False)
    safe = np.where(s > 0, s, 1.0)
    gain = np.where(s > 0, 1 / (safe + alpha / safe), 0.0)
    w = vt.T @ (gain[:, None] * (u.T @ ((y - up) * root)))
    condition = float(np.hypot(s[0], alpha**0.5) / np.hypot(s[-1], alpha**0.5))
    return (np.vstack([up - at @ w, w]) if intercept else w), condition
