"""The statistics of a plane: how sure its coefficients are, how well it fits, and which rows decide.

    y = A θ + ε,   ε_i ~ N(0, σ²/v_i)        θ̂ = root qᵀ√V y,   √V A = q R,   root = R⁻¹,   s² = Σ v_i e_i² / (n - r)
    classical  cov θ̂ = s² root rootᵀ         HC3  cov θ̂ = root (Σ_i v_i e_i²/(1 - h_i)² q_i q_iᵀ) rootᵀ
    leverage   h_i = ‖q_i‖²                  Cook  D_i = r_i² h_i / (r (1 - h_i)),   r_i = √v_i e_i / (s √(1 - h_i))
    R²         Σ v (ŷ - ȳ)²/TSS  =  1 - RSS/TSS  =  corr(y, ŷ)²    for least squares with an intercept, on its own rows
    VIF_j      1/(1 - R²_j) of column j on the others

Weights v are inverse variances up to a factor, not counts; rows of weight 0 are left out. AIC and BIC count the
coefficients, not σ. A column that follows from those before it is left out, and a note says so.
Shapes: n rows, D features, P = D + 1 coefficients with the intercept first, or D without; r their rank.
References: Weisberg, Applied Linear Regression (2014); MacKinnon and White, Journal of Econometrics 29 (1985); Belsley,
Kuh and Welsch, Regression Diagnostics (1980).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from .. import plots
from ..errors import InputError
from ..formulas import f_test, interval, two_sided
from ..results import Result, Table
from ._linearity import Linearity, linearity
from ._plane import Plane, independent, norms
from ._plane_statistics import (
    PINNED,
    ResidualTests,
    f_ratio,
    inflation,
    influence,
    log_likelihood,
    r2_forms,
    residual_tests,
    robust_errors,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LinearSummary", "summarise"]

WIDTH = 78  # letters of a printed line
PRINTED = 50  # columns up to which linearity is part of what is printed


@dataclass(frozen=True, eq=False)
class LinearSummary(Result):
    """Coefficients of least squares with their errors, tests, fit and diagnostics. NaN is what cannot be said.

    Args:
        names: Of the coefficients (P,).
        coefficients: θ̂ (P,); NaN of a column that is left out.
        errors: Standard errors under equal variances (P,).
        robust: Standard errors that hold under unequal variances, HC3 (P,).
        inflation: Variance inflation factors (P,); of the intercept NaN.
        rows: Places of the rows that count (n,), those of weight 0 are gone.
        fitted: ŷ (n,).
        residuals: y - ŷ (n,).
        leverage: h (n,).
        standardized: Residuals over their standard errors (n,).
        studentized: The same with s of all other rows (n,).
        cooks: Cook's distance (n,).
        rank: Independent coefficients r.
        sigma: s, in units of y.
        squares: Sum of v e².
        r2: 1 - RSS/TSS; TSS about 0 where the columns hold no constant.
        r2_forms: Explained ratio, 1 - RSS/TSS and squared correlation, all about the mean.
        adjusted: R² corrected for the number of coefficients.
        f: Of all coefficients but the constant, and its degrees of freedom.
        f_p: Probability of it if they are all 0.
        log_likelihood: At θ̂ and RSS/n.
        tests: Of the residuals: Durbin-Watson, Jarque-Bera, Breusch-Pagan.
        condition: Of the columns, scaled to length 1.
        constant: Whether the columns hold a constant.
        weighted: Whether there were weights.
        level: Of the confidence intervals.
        notes: What a reader must know.
    """

    names: tuple[str, ...]
    coefficients: np.ndarray
    errors: np.ndarray
    robust: np.ndarray
    inflation: np.ndarray
    rows: np.ndarray
    fitted: np.ndarray
    residuals: np.ndarray
    leverage: np.ndarray
    standardized: np.ndarray
    studentized: np.ndarray
    cooks: np.ndarray
    rank: int
    sigma: float
    squares: float
    r2: float
    r2_forms: tuple[float, float, float]
    adjusted: float
    f: float
    f_p: float
    log_likelihood: float
    tests: ResidualTests
    condition: float
    constant: bool
    weighted: bool
    level: float
    notes: tuple[str, ...]
    _plane: Plane = field(repr=False)

    @property
    def n(self) -> int:
        """Rows that count."""
        return len(self.rows)

    @property
    def dof(self) -> int:
        """Degrees of freedom n - r."""
        return self.n - self.rank

    @property
    def t(self) -> np.ndarray:
        """Coefficients over their standard errors (P,)."""
        return _over(self.coefficients, self.errors)

    @property
    def p(self) -> np.ndarray:
        """Probability of a t at least as far from 0 if the coefficient is 0 (P,)."""
        return two_sided(self.t, self.dof)

    @property
    def robust_p(self) -> np.ndarray:
        """The same with the robust errors (P,)."""
        return two_sided(_over(self.coefficients, self.robust), self.dof)

    @property
    def aic(self) -> float:
        """2 r - 2 log L."""
        return 2 * self.rank - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """r log n - 2 log L."""
        return self.rank * float(np.log(self.n)) - 2 * self.log_likelihood

    def interval(self, level: float | None = None, *, robust: bool = False) -> np.ndarray:
        """Confidence intervals of the coefficients (P, 2).

        Args:
            level: Probability; None: that of the summary.
            robust: Use the HC3 errors.
        """
        errors = self.robust if robust else self.errors
        return np.stack(interval(self.coefficients, errors, self.level if level is None else level, self.dof), 1)

    @cached_property
    def linearity(self) -> Linearity:
        """Whether a spline in a column explains more than the plane; computed when first asked for."""
        plane = self._plane
        names = [name for name, w in zip(self.names, self.coefficients, strict=True) if not np.isnan(w)]
        names = names[len(names) - plane.x.shape[1] :]
        if not self.sigma > 0:
            return Linearity((), (), (), (), self.r2, (), "Nothing is left for a spline to explain.")
        some = plane.x if plane.varies.all() else plane.x[:, plane.varies]
        kept = [name for name, yes in zip(names, plane.varies, strict=True) if yes]
        return linearity(some, plane.q, plane.residual, plane.total, plane.ones, kept)

    def table(self) -> Table:
        """One line a coefficient."""
        low, high = self.interval().T
        columns = {"coefficient": self.coefficients, "std error": self.errors, "t": self.t, "p": self.p}
        columns |= {f"{100 * self.level:g} % from": low, "to": high, "HC3 error": self.robust, "HC3 p": self.robust_p}
        columns |= {"VIF": self.inflation}
        return Table({"": self.names, **{name: _blank(values) for name, values in columns.items()}})

    def influence(self, largest: int | None = None) -> Table:
        """One line a row: fitted, residual, leverage, Cook's distance.

        Args:
            largest: Only so many rows, those with the largest Cook's distance first; None: all, in order.
        """
        chosen = slice(None) if largest is None else np.argsort(-np.nan_to_num(self.cooks), kind="stable")[:largest]
        columns = {"fitted": self.fitted, "residual": self.residuals, "standardized": self.standardized}
        columns |= {"studentized": self.studentized, "leverage": self.leverage, "Cook's distance": self.cooks}
        shown = {name: _blank(values[chosen]) for name, values in columns.items()}
        return Table({"row": self.rows[chosen].tolist(), **shown})

    def figure(self) -> Figure:
        """Residuals against fitted values and normal quantiles, their spread, and leverage with Cook's distance."""
        return plots.diagnostics(
            self.fitted, self.residuals, self.standardized, self.leverage, rank=self.rank, rows=self.rows
        )

    @property
    def r2_said(self) -> str:
        """The three forms of R², and whether they agree."""
        explained, left, correlated = self.r2_forms
        shown = f"explained ratio {explained:.7f}, 1 - RSS/TSS {left:.7f}, squared correlation {correlated:.7f}"
        if np.isnan(self.r2_forms).any():
            return "There is no correlation to square: y or the prediction does not vary."
        if self.constant:
            return f"R²: {shown}; they agree, as for any plane with a constant, on the rows it was fitted to."
        return f"R² about the mean: {shown}; without a constant they differ, and R² = {self.r2:.7f} is about 0."

    @property
    def alt(self) -> str:
        """What the picture shows."""
        most = int(np.argmax(np.nan_to_num(self.cooks)))
        return (
            f"Residuals of a plane with {self.rank} coefficients on {self.n:,} rows: s {self.sigma:.4g}, "
            f"R² {self.r2:.4g}; row {self.rows[most]} has the largest Cook's distance, {self.cooks[most]:.3g}."
        )

    def __str__(self) -> str:
        """The whole, as a statistics package prints it."""
        kind, table = "weighted least squares" if self.weighted else "least squares", str(self.table())
        width = max(WIDTH, *map(len, table.splitlines()))
        head, foot = _sides(*_head(self), width), _sides(*_foot(self), width)
        parts = ["=" * width, head, "-" * width, table, "-" * width, foot, "-" * width]
        said = [self.r2_said, *self.notes]
        if len(self.names) > PRINTED:
            said.append("Is it linear? Ask linearity.table().")
        elif self.linearity.names:
            parts += ["Is it linear? Splines against the plane", str(self.linearity.table()), "-" * width]
        else:
            said.append(self.linearity.said)
        title = f"Linear regression: {kind}".center(width).rstrip()
        return "\n".join([title, *parts, *(fill(sentence, width) for sentence in said)])


def _over(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Ratios; NaN where there is no error to compare with."""
    return np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)


def _blank(values: np.ndarray) -> list[float | None]:
    """NaN as nothing."""
    return [None if np.isnan(v) else v for v in values.tolist()]


def _sides(left: Mapping[str, object], right: Mapping[str, object], width: int) -> str:
    """Two blocks of names and values, side by side."""
    half = width // 2 - 2
    sides = [[f"{name}{_shown(v):>{half - len(name)}}" for name, v in side.items()] for side in (left, right)]
    sides = [side + [" " * half] * (max(map(len, sides)) - len(side)) for side in sides]
    return "\n".join("    ".join(line).rstrip() for line in zip(*sides, strict=True))


def _shown(value: object) -> str:
    if isinstance(value, float):
        return "-" if np.isnan(value) else f"{value:#.5g}".rstrip(".")
    return f"{value:,}" if isinstance(value, int) else str(value)


def _head(s: LinearSummary) -> tuple[Mapping[str, object], Mapping[str, object]]:
    left = {"rows": s.n, "coefficients": s.rank, "degrees of freedom": s.dof, "standard deviation s": s.sigma}
    left |= {"sum of squared residuals": s.squares, "mean of squared residuals": s.squares / s.n}
    right = {"R²" if s.constant else "R² about 0": s.r2, "adjusted R²": s.adjusted}
    right |= {f"F({s.rank - s.constant}, {s.dof})": s.f, "p of F": s.f_p}
    right |= {"log-likelihood": s.log_likelihood, "AIC": s.aic, "BIC": s.bic}
    return left | {"condition number": s.condition}, right


def _foot(s: LinearSummary) -> tuple[Mapping[str, object], Mapping[str, object]]:
    t = s.tests
    left = {"Durbin-Watson": t.durbin_watson, "skew": t.skew, "kurtosis": t.kurtosis}
    right = {"Jarque-Bera": t.jarque_bera, "p, normal noise": t.jarque_bera_p}
    return left, right | {"Breusch-Pagan": t.breusch_pagan, "p, equal variances": t.breusch_pagan_p}


# ---- computing


def summarise(
    x: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None,
    names: Sequence[str],
    fit_intercept: bool,
    level: float = 0.95,
) -> LinearSummary:
    """The statistics of least squares of y on the columns of x.

    Args:
        x: Features (n, D), checked.
        y: Numbers (n,).
        weight: Inverse variances of the rows up to a factor (n,), or None.
        names: Of the features (D,).
        fit_intercept: Whether there is an intercept.
        level: Of the confidence intervals.
    """
    if y.ndim == 2 and y.shape[1] > 1:
        raise InputError(f"y has {y.shape[1]} targets; a summary is of one. Fit one model to each and summarise it.")
    x, y, weight, rows = _counted(x, y.reshape(len(y)), weight)
    fit, left_out = independent(x, y, weight, fit_intercept)
    (n, r), rss = fit.q.shape, 0.0 if fit.exact else float(fit.residual @ fit.residual)
    sigma = float(np.sqrt(rss / (n - r))) if n > r else np.nan  # in units of unit
    r2 = np.nan if not fit.total > 0 else 1 - rss / fit.total if r > fit.constant else 0.0
    f = f_ratio(fit, rss)
    leverage, standardized, studentized = influence(fit, sigma)
    known = np.where(fit.known, 1.0, np.nan)
    in_all = partial(_in_all, np.pad(left_out, (int(fit_intercept), 0)))
    return LinearSummary(
        names=(*["intercept"] * fit_intercept, *map(str, names)),
        coefficients=in_all(fit.theta),
        errors=in_all(known * norms(fit.root) * (sigma * fit.unit)),
        robust=in_all(known * robust_errors(fit, leverage, sigma)),
        inflation=in_all(inflation(fit)),
        rows=rows,
        fitted=y - fit.residual / fit.ones * fit.unit,
        residuals=fit.residual / fit.ones * fit.unit,
        leverage=leverage,
        standardized=standardized,
        studentized=studentized,
        cooks=standardized**2 * _over(leverage, 1 - leverage) / r if r else np.full(n, np.nan),
        rank=r,
        sigma=sigma * fit.unit,
        squares=rss * fit.unit * fit.unit,
        r2=r2,
        r2_forms=r2_forms(fit),
        adjusted=1 - (1 - r2) * (n - fit.constant) / (n - r) if n > r else np.nan,
        f=f,
        f_p=float(f_test(f, r - fit.constant, n - r)),
        log_likelihood=log_likelihood(fit, rss),
        tests=residual_tests(fit, sigma),
        condition=fit.condition,
        constant=fit.constant,
        weighted=weight is not None,
        level=level,
        notes=_notes(fit, leverage, rows, names, left_out, fit_intercept),
        _plane=fit,
    )


def _counted(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
    """Rows of weight above 0, as float64, and their places."""
    x, y, rows = x.astype(float, copy=False), y.astype(float, copy=False), np.arange(len(y))
    if weight is None or weight.all():
        return x, y, weight, rows
    return x[weight > 0], y[weight > 0], weight[weight > 0], rows[weight > 0]


def _in_all(left_out: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values of the coefficients that are not left out, among all: (P,)."""
    found = np.full(len(left_out), np.nan)
    found[~left_out] = values
    return found


def _notes(
    fit: Plane, leverage: np.ndarray, rows: np.ndarray, given: Sequence[str], left_out: np.ndarray, intercept: bool
) -> tuple[str, ...]:
    """What a reader must know, one sentence each."""
    (n, r), said = fit.q.shape, []
    if left_out.any():
        gone = _few([name for name, yes in zip(given, left_out, strict=True) if yes])
        said.append(
            f"{gone}: follows from the columns before, and is left out; the others are those of the fit without it, "
            "where coef_ is the shortest of all that predict the same."
        )
    names = [name for name, yes in zip(given, left_out, strict=True) if not yes]
    flat = _few([name for name, yes in zip(names, fit.varies, strict=True) if not yes])
    if flat:
        why = "no variation, nothing that the intercept does not hold" if intercept else "0 in every row"
        said.append(f"{flat}: {why}; the coefficient is set to 0.")
    unknown = _few([a for a, yes in zip(names, fit.varies <= fit.known[intercept:], strict=True) if not yes])
    if unknown:
        said.append(
            f"{unknown}: each is a linear combination of other columns, so these coefficients are not decided one by "
            "one; the shortest are shown, without errors. Drop some of the columns."
        )
    if n <= r:
        said.append(
            f"No degrees of freedom are left (rows {n}, coefficients {r}): R² says nothing, nothing has an error."
        )
    elif not fit.total > 0:
        said.append("y does not vary: there is nothing to explain or to test.")
    elif fit.exact:
        said.append("The plane goes through every row up to rounding: there is no noise to test against.")
    elif (pinned := np.flatnonzero(1 - leverage <= PINNED)).size:
        said.append(f"A coefficient hangs on row {rows[pinned[0]]} alone (leverage 1): there are no HC3 errors.")
    return (*said, fit.doubtful) if fit.doubtful and not flat else tuple(said)


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:6])
    return f"{shown} and {len(names) - 6} more" if len(names) > 6 else shown
