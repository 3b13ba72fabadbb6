"""Basis functions: nonlinear in x, linear in the weights, solved in closed form.

    ŷ = w_0 + Σ_k w_k φ_k(x),        w = argmin Σ_i v_i (y_i - ŷ_i)² + α Σ_{k>0} w_k²

Polynomials are orthonormal on the data, and shown in powers of x: what is solved has a condition number near 1 where
powers have 1e10. With several inputs a polynomial has their products; other functions are those of each input.
Shapes: n rows, D inputs, M functions of each, P functions in all, T targets.
Reference: Bishop, Pattern Recognition and Machine Learning (2006), section 3.1.
"""

import warnings
from collections.abc import Mapping
from math import comb
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ... import check
from ...check import Count, NonNegative, Positive
from ...errors import InputError
from ...selection import Range, Space
from ...store import Tree
from .._base.plain import PlainRegressor, Rows
from . import bases
from .bases import SHAPES, Terms, exponents, translated
from .ridge import decompose_rows

PART = 4096  # rows whose functions are computed at once
MAX_NUMBERS = 2 * 10**8  # in a design matrix
POLYNOMIALS = {"legendre": np.polynomial.legendre.legvander, "chebyshev": np.polynomial.chebyshev.chebvander}
WITH_DEGREE = ("polynomial", *POLYNOMIALS)


class BasisRegression(PlainRegressor):
    """Least squares on functions of the inputs.

    Args:
        basis: "polynomial"; "legendre" and "chebyshev" on the range of the rows; "fourier"; "gaussian", "sigmoid",
            "tanh" and "relu", translated; or a list of functions, each called with one array (n,) per input.
        degree: Of the polynomials, in all inputs together.
        size: How many centers or frequencies each input has.
        frequencies: Of sinusoids, in radians per unit of x; None: 1, 2, ... periods in the range of the rows.
        centers: "even" in the range, at every "quantile" of the distinct values, or a list for each input to have.
        widths: One, or one per center; None: how far centers lie apart, and 1 for a hinge.
        learn: Move centers and widths too, to lower the loss; from three starts, the best of which is kept.
        alpha: Weight of Σ w², of the orthonormal polynomials or of the functions as they are; never of the constant.
        fit_intercept: Have a constant.
        max_iter: Steps of learning at most.

    Example:
        >>> model = BasisRegression(degree=2).fit([[0.0], [1], [2], [3], [4]], [1, -0.5, -1, -0.5, 1])
        >>> dict(zip(model.names_, model.coef_.round(9).tolist())), round(float(model.intercept_), 9)
        ({'x': -2.0, 'x^2': 0.5}, 1.0)
    """

    space: ClassVar[Space] = {"degree": Range(1, 8), "alpha": Range(1e-6, 100.0, log=True)}
    basis: (
        Literal["polynomial", "legendre", "chebyshev", "fourier", "gaussian", "sigmoid", "tanh", "relu"] | list[Any]
    ) = "polynomial"
    degree: Count = 3
    size: Count = 6
    frequencies: list[float] | None = None
    centers: Literal["even", "quantile"] | list[float] = "even"
    widths: Positive | list[float] | None = None
    learn: bool = False
    alpha: NonNegative = 0.0
    fit_intercept: bool = True
    max_iter: Count = 1000

    # ---- learning

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Place the functions, learn where they belong if asked to, and solve for their weights."""
        rows = self._learned(X, y, sample_weight)
        self._refuse(rows.x)
        self.n_iter_ = 1
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self._place(rows.x, rows.weight)
            if self.learn:
                self._finite(rows.x)
                self._move(rows)
            phi = self._finite(rows.x)
        found = decompose_rows(rows._replace(x=phi), self.fit_intercept)  # (n, P)
        w, b = (part[0] for part in found.coefficients(np.array([self.alpha], dtype=float)))  # (T, P), (T,)
        ends = np.hypot(found.s[[0, -1]], self.alpha**0.5) if len(found.s) else np.ones(2)
        self.condition_ = float(ends[0] / ends[1])
        weights = np.vstack([b, w.T])
        self.weights_ = weights if rows.y.ndim == 2 else weights[:, 0]  # (1 + P, T) or (1 + P,)
        return self

    def _refuse(self, x: np.ndarray) -> None:
        """Settings that do not go together, and tables that are too large."""
        if not isinstance(self.basis, str) and not (self.basis and all(map(callable, self.basis))):
            raise InputError(f"basis={self.basis!r}: a list holds functions, at least one, such as [np.sin, np.exp].")
        if self.learn and str(self.basis) not in SHAPES:
            raise InputError(f"learn=True moves centers and widths of {', '.join(SHAPES)}, not of {self.basis!r}.")
        if self.basis == "polynomial" and not self.fit_intercept:
            advice = "Leave it in, or give the powers as functions: basis=[lambda x: x, lambda x: x**2]."
            raise InputError(f"fit_intercept=False: a polynomial has its constant among its functions. {advice}")
        count, degree = self._count(x.shape[1]), self.degree if self.basis in WITH_DEGREE else 0
        if max(len(x), 1000, degree) * count > MAX_NUMBERS:
            settings = f"({self.basis}, degree={self.degree}, size={self.size})"
            what = f"{x.shape[1]} inputs have {count} functions {settings}, too many for {len(x)} rows in memory."
            raise InputError(f"{what} Lower degree or size, or choose fewer columns.")

    def _count(self, d: int) -> int:
        """How many functions d inputs have."""
        if not isinstance(self.basis, str):
            return len(self.basis)
        if self.basis == "fourier":
            return 2 * d * (self.size if self.frequencies is None else len(self.frequencies))
        if self.basis in SHAPES:
            return d * (len(self.centers) if isinstance(self.centers, list) else self.size)
        return comb(d + self.degree, d)

    def _place(self, x: np.ndarray, weight: np.ndarray | None) -> None:
        """Where the rows are, and the functions on them."""
        distinct = [np.unique(column) for column in x.T]
        self.ends_ = ends = np.array([[values[0], values[-1]] for values in distinct])  # (D, 2)
        at_rows = self.basis not in WITH_DEGREE[1:]  # exact where most of the values are
        self.middle_ = np.array([np.median(values) for values in distinct]) if at_rows else ends.mean(1)
        half = np.abs(ends - self.middle_[:, None]).max(1)
        self.half_ = np.where(half > 0, half, 1.0)
        if self.basis == "polynomial":
            t = (x - self.middle_) / self.half_
            self.tables_ = np.stack([bases.recurrence(column, self.degree, weight) for column in t.T])  # (D, d + 1, d)
        elif self.basis == "fourier":
            span = np.ptp(ends, axis=1, keepdims=True)
            span = np.where(span > 0, span, 2.0)
            own = 2 * np.pi * np.arange(1, self.size + 1) / span  # (D, K)
            given = self.frequencies
            self.frequencies_ = own if given is None else np.tile(_numbers("frequencies", given), (len(span), 1))
        elif str(self.basis) in SHAPES:
            self.centers_ = self._centers(distinct)
            self.widths_ = self._widths()

    def _centers(self, distinct: list[np.ndarray]) -> np.ndarray:
        """(D, M); a hinge at the upper end would be 0 on all rows, so hinges have none there."""
        if isinstance(self.centers, list):
            return np.tile(np.sort(_numbers("centers", self.centers)), (len(distinct), 1))
        m, closed = self.size, self.basis != "relu"
        at = np.linspace(0, 1, m, endpoint=closed) if m > 1 else np.array([0.5 if closed else 0.0])
        if self.centers == "even":
            return self.ends_[:, :1] + at * np.ptp(self.ends_, axis=1)[:, None]
        return np.stack([np.quantile(values, at) for values in distinct])

    def _widths(self) -> np.ndarray:
        """(D, M)."""
        if self.widths is not None:
            given = _numbers("widths", self.widths)
            if len(given) not in (1, self.centers_.shape[1]) or not (given > 0).all():
                count = self.centers_.shape[1]
                raise InputError(f"widths={self.widths}: one positive number, or one for each of the {count} centers.")
            order = np.argsort(self.centers, kind="stable") if isinstance(self.centers, list) else slice(None)
            return np.broadcast_to(given[order] if len(given) > 1 else given, self.centers_.shape).copy()
        if self.basis == "relu":
            return np.ones_like(self.centers_)
        gaps = np.diff(self.centers_)  # (D, M - 1)
        if not gaps.shape[1]:
            return self.half_[:, None]
        around = (np.hstack([gaps[:, :1], gaps]) + np.hstack([gaps, gaps[:, -1:]])) / 2
        return np.maximum(around, 1e-3 * self.half_[:, None])

    def _move(self, rows: Rows) -> None:
        """Centers and widths of least loss, the weights always solved for, from three starts."""
        shape, moving = self.centers_.shape, 1 if self.basis == "relu" else 2
        apart = np.array([np.diff(np.unique(column)).max(initial=0.0) for column in rows.x.T])
        narrowest = np.where(apart > 0, apart, self.half_)  # else a function could hide between two rows
        widths = np.log([narrowest, 5 * np.maximum(np.ptp(self.ends_, axis=1), narrowest)])
        start = np.stack([self.centers_, np.log(self.widths_)])[:moving]
        low, high = np.stack([self.ends_.T, widths], 1)[:, :moving, :, None]  # (moving, D, 1) each
        low, high = np.minimum(low, start - 1e-9), np.maximum(high, start + 1e-9)

        def split(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            both = theta.reshape(moving, *shape)
            return both[0], np.exp(both[1]) if moving == 2 else self.widths_

        def residual(theta: np.ndarray) -> np.ndarray:
            phi = translated(rows.x, *split(theta), str(self.basis))
            found = decompose_rows(rows._replace(x=phi), self.fit_intercept)
            left = found.rest + found.u @ (found.uy * (self.alpha / (found.s**2 + self.alpha))[:, None])
            w = found.coefficients(np.array([self.alpha]))[0][0]  # (T, P)
            return np.vstack([left, np.sqrt(self.alpha) * w.T]).ravel()

        tried, settings = [], {"max_nfev": self.max_iter, "x_scale": "jac", "ftol": 1e-7}
        for narrow in (1.0,) if moving == 1 else (1.0, 0.5, 0.25):  # where it ends depends on where it starts
            first = start + np.log(narrow) * (np.arange(moving) == 1)[:, None, None]
            first = np.clip(first, low + 1e-10, high - 1e-10).ravel()
            tried.append(least_squares(residual, first, bounds=(low.ravel(), high.ravel()), **settings))  # type: ignore[arg-type]
        best = min(tried, key=lambda found: found.cost)
        self.start_ = {"centers": self.centers_, "widths": self.widths_}
        (self.centers_, self.widths_), self.n_iter_ = split(best.x), int(best.nfev)
        if not best.success:
            message = f"The loss still fell after max_iter={self.max_iter} steps; raise it, or take fewer functions."
            warnings.warn(message, ConvergenceWarning, stacklevel=4)

    # ---- the functions

    def set_state(self, state: Mapping[str, Tree]) -> None:
        """Restore what `get_state` returned; a degree that does not fit the weights is refused."""
        super().set_state(state)
        d, n = len(self.half_), len(self.weights_)
        if self.basis in WITH_DEGREE and (max(self.degree, d) > n or comb(d + self.degree, d) != n):
            raise InputError(f"degree={self.degree} does not fit {n} weights of {d} columns.")

    def _finite(self, x: np.ndarray) -> np.ndarray:
        """The functions of the rows of fit."""
        phi = self._functions(x)
        if not np.isfinite([phi.min(), phi.max()]).all():
            k = int(np.argmin(np.isfinite(phi).all(0)))
            ends = f"{self.ends_[:, 0].min():g} to {self.ends_[:, 1].max():g}"
            raise InputError(f"{self.names_[k]} is beyond float64 on rows from {ends}. Rescale X.")
        return phi

    def _functions(self, x: np.ndarray) -> np.ndarray:
        """Every function but the constant, of each row: (n, P)."""
        if not isinstance(self.basis, str):
            return np.stack([_called(f, k, x) for k, f in enumerate(self.basis)], 1)
        if self.basis == "fourier":
            return bases.sinusoids(x, self.frequencies_)
        if self.basis in SHAPES:
            return translated(x, self.centers_, self.widths_, self.basis)
        with np.errstate(over="ignore"):
            t = ((x - self.middle_) / self.half_).T
        if self.basis == "polynomial":
            each = [bases.orthogonal(column, h) for column, h in zip(t, self.tables_, strict=True)]
        else:
            each = [POLYNOMIALS[self.basis](column, self.degree) for column in t]
        return bases.products(each, exponents(len(t), self.degree)[1:])

    def predict(self, X: ArrayLike) -> np.ndarray:
        """w_0 + Σ w_k φ_k(x) of each row: (n,) or (n, T)."""
        return self._answers(self._table(X))

    def _answers(self, x: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            parts = [x[i : i + PART] for i in range(0, len(x), PART)] or [x]  # the functions of all rows may be large
            found = np.concatenate([self._functions(part) @ self.weights_[1:] + self.weights_[0] for part in parts])
        if not np.isfinite(found).all():
            row = int(np.argwhere(~np.isfinite(found))[0][0])
            what = f"The answer for row {row} ({', '.join(f'{v:g}' for v in x[row][:4])}) is beyond float64: it lies"
            ends = f"{self.ends_[:, 0].min():g} to {self.ends_[:, 1].max():g}"
            raise InputError(f"{what} far outside of the rows of fit, {ends}. Leave it out.")
        return found

    # ---- terms

    @property
    def names_(self) -> list[str]:
        """What each coefficient multiplies, in the order of `coef_`: P."""
        check_is_fitted(self)
        d = len(self.half_)
        plain = ["x"] if d == 1 else [f"x{j + 1}" for j in range(d)]
        inputs = [str(name) for name in getattr(self, "feature_names_in_", plain)]
        if not isinstance(self.basis, str):
            return [_name(f, k) for k, f in enumerate(self.basis)]
        if self.basis == "fourier":
            pairs = zip(inputs, self.frequencies_, strict=True)
            return [f"{f}({w:.6g} {x})" for x, ws in pairs for w in ws for f in ("sin", "cos")]
        if self.basis in SHAPES:
            rows = zip(inputs, self.centers_, self.widths_, strict=True)
            return [_placed(self.basis, x, c, s) for x, cs, ss in rows for c, s in zip(cs, ss, strict=True)]
        letter = {"legendre": "P", "chebyshev": "T"}.get(self.basis, "")
        return [bases.monomial(e, inputs, letter) for e in exponents(d, self.degree)[1:].tolist()]

    @property
    def intercept_(self) -> Any:
        """The constant: (), or (T,)."""
        return self._coefficients()[..., 0]

    @property
    def coef_(self) -> np.ndarray:
        """The coefficient of each function, of each power for polynomials: (P,), or (T, P)."""
        return self._coefficients()[..., 1:]

    def _coefficients(self) -> np.ndarray:
        """Coefficients, the constant first: (1 + P,) or (T, 1 + P)."""
        check_is_fitted(self)
        if self.basis != "polynomial":
            return self.weights_.T
        given = self.tables_, self.middle_, self.half_, exponents(len(self.half_), self.degree)
        each = [bases.to_monomials(w, *given) for w in np.atleast_2d(self.weights_.T)]
        return np.reshape(each, self.weights_.T.shape)

    def terms(self, X: ArrayLike | None = None, y: ArrayLike | None = None) -> Terms:
        """Every term: its name, its coefficient, and for one input its curve.

        Args:
            X: Rows to draw beside the curves, or None.
            y: Their targets.
        """
        coefficients = self._coefficients()
        if coefficients.ndim > 1:
            raise InputError(f"terms() shows one target, and there were {len(coefficients)} in fit. Fit one each.")
        names, data = ["1", *self.names_], None
        if X is not None and y is not None:
            x = check.table(self, X, dtype="float64", reset=False)
            data = np.column_stack([x, check.target("terms", y, len(x), numeric=True, columns=False)])
        if len(self.half_) > 1:
            return Terms(names, coefficients, self.condition_, data=data)
        grid = np.linspace(self.ends_[0, 0], self.ends_[0, 1], 201)
        with np.errstate(over="ignore", invalid="ignore"):
            powers = grid[:, None] ** np.arange(1, self.degree + 1)
            phi = powers if self.basis == "polynomial" else self._functions(grid[:, None])
            parts = np.column_stack([np.ones(len(grid)), phi]) * coefficients  # (G, 1 + P)
        return Terms(names, coefficients, self.condition_, grid, parts, self._answers(grid[:, None]), data)


def _called(f: Any, k: int, x: np.ndarray) -> np.ndarray:
    """What a function of the user's gives for the inputs: (n,)."""
    name = f"basis[{k}] ({_name(f, k)})"
    try:
        values = np.broadcast_to(np.asarray(f(*x.T.copy())), len(x))  # what it changes is not X
        values = values.astype(float, casting="same_kind" if values.dtype.kind == "c" else "unsafe")
    except Exception as error:
        given = f"{name} cannot be called with {x.shape[1]} arrays of {len(x)} numbers"
        raise InputError(f"{given}: {error}. It must give one number per row.") from error
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise InputError(f"{name} gives {values[row]} for row {row}; functions that are finite on all rows are needed.")
    return values


def _name(f: Any, k: int) -> str:
    """Its own, or φ and its number from 1."""
    found = getattr(f, "__name__", "")
    return found if found and found != "<lambda>" else f"φ{k + 1}"


def _placed(shape: str, x: str, center: float, width: float) -> str:
    """A hinge of width 1 as it is written, else with center and width."""
    if shape == "relu" and width == 1:
        return f"relu({x} {'-' if center >= 0 else '+'} {abs(center):.4g})"
    return f"{shape}({x}; {center:.4g}, {width:.4g})"


def _numbers(name: str, given: Any) -> np.ndarray:
    """A list of finite numbers."""
    try:
        found = np.atleast_1d(np.asarray(given, dtype=float))
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all():
        raise InputError(f"{name}={given!r}: a list of finite numbers, at least one, is needed.")
    return found
