"""The statistics of least squares: how sure its coefficients are, and what they explain.

    A = (1, x) √v = Q R,    θ̂ = R⁻¹Qᵀy,   B = (AᵀA)⁻¹ = R⁻¹R⁻ᵀ,   e = y - ŷ,   s² = Σ v e² / (n - r),   cov θ̂ = s² B
    HC3        cov θ̂ = B (Σ v_i e_i²/(1 - h_i)² a_i a_iᵀ) B          leverage  h_i = ‖Q_i‖²
    Cook       D_i = z_i² h_i / (r (1 - h_i)),   z_i = √v_i e_i / (s √(1 - h_i))         VIF_j = B_jj Σ v (x_j - x̄_j)²

A column that is constant or follows from those before it is left out, as in R: its numbers are NaN.
Shapes: n rows, D features, P = D + 1 coefficients with the intercept first, r of them independent.
References: Weisberg, Applied Linear Regression (2014); MacKinnon and White, J. Econometrics 29 (1985).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import InitVar
from functools import cached_property, partial
from textwrap import fill
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import stats

from ...formulas import interval
from ...plots import Figure
from ...results import Result, Table
from .base import decompose, design
from .diagnostics import Linearity, diagnostics, linearity

PINNED = 1e-10  # 1 - h of a row through which every plane goes
WIDTH, PAGE = 78, 100  # letters of a printed line: at least, at most
DOUBTFUL, COLLINEAR = 0.05, 5.0  # p of a coefficient that may be 0; VIF of a column that nearly follows from others
LISTED = 8  # coefficients that a sentence names
SPLINES_PRINTED = 30  # coefficients up to which the tests of linearity are printed


class Summary(Result, kw_only=True):
    """What the statistics of all linear models have. NaN where undefined."""

    names: tuple[str, ...]  # of the coefficients, the intercept first (P,)
    coefficients: np.ndarray  # θ̂ (P,)
    n: float  # rows, or their weight
    rank: int  # independent coefficients r
    log_likelihood: float  # at θ̂
    level: float = 0.95  # of the confidence intervals
    notes: tuple[str, ...] = ()  # what a reader must know
    target: str = "y"  # what y is called

    aic = property(lambda self: 2 * self.rank - 2 * self.log_likelihood, doc="2 r - 2 log L.")
    bic = property(lambda self: self.rank * float(np.log(self.n)) - 2 * self.log_likelihood, doc="r log n - 2 log L.")

    def _printed(self, title: str, parts: Sequence[Any], notes: Sequence[str]) -> str:
        """A title, tables and pairs of blocks side by side, and notes."""
        lines = [line for part in parts if isinstance(part, str) for line in part.splitlines()]
        width = max(WIDTH, *map(len, lines))
        texts = [part if isinstance(part, str) else _side_by_side(part[0], part[1], width // 2 - 2) for part in parts]
        body = [line for text in texts for line in (text, "-" * width)]
        return "\n".join([title.center(width).rstrip(), "=" * width, *body, *(fill(note, width) for note in notes)])


def _side_by_side(left: Mapping[str, object], right: Mapping[str, object], half: int) -> str:
    blocks = [[f"{name}{_shown(v):>{half - len(name)}}" for name, v in side.items()] for side in (left, right)]
    blocks = [block + [" " * half] * (max(map(len, blocks)) - len(block)) for block in blocks]
    return "\n".join("    ".join(line).rstrip() for line in zip(*blocks, strict=True))


def _shown(value: object) -> str:
    if isinstance(value, float):
        return "-" if np.isnan(value) else f"{value:#.5g}".rstrip(".")
    return f"{value:,}" if isinstance(value, int) else str(value)


def page(columns: Mapping[str, Sequence[Any]]) -> str:
    """A table that fits a page: without empty columns, p with three digits, names cut where they are too long."""
    kept = {name: cells for name, cells in columns.items() if any(cell is not None for cell in cells)}
    aligned = [f"{p_text(p):>6}" for p in kept.get("p", ())]
    kept = {f"{'p':>6}" if k == "p" else k: aligned if k == "p" else cells for k, cells in kept.items()}
    text = str(Table(kept))
    if (excess := max(map(len, text.splitlines())) - PAGE) <= 0:
        return text
    first = "" if "" in kept else next(iter(kept))
    most = max(max(map(len, kept[first])) - excess, 8)
    return str(Table(kept | {first: [name if len(name) <= most else f"{name[: most - 1]}…" for name in kept[first]]}))


def p_text(p: float | None) -> str:
    """A probability with three digits after the point."""
    return "-" if p is None or np.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}"


def changed(what: str, names: Sequence[str], p: np.ndarray, other: np.ndarray) -> list[str]:
    """Which coefficients another test sees on the other side of `DOUBTFUL`, as a sentence; nothing where none."""
    at = np.flatnonzero((p < DOUBTFUL) != (other < DOUBTFUL))
    at = [int(i) for i in at if np.isfinite(p[i]) and np.isfinite(other[i])]
    pairs = [f"{names[i]} (p = {p_text(other[i])}, not {p_text(p[i])})" for i in at]
    return [f"{what} decide otherwise about {listed(pairs)}."] if pairs else []


def listed(words: Sequence[str]) -> str:
    """The first words, and how many more there are."""
    more = f" and {len(words) - LISTED} more" if len(words) > LISTED else ""
    return ", ".join(words[:LISTED]) + more


def blank(columns: Mapping[str, np.ndarray]) -> dict[str, list[float | None]]:
    """NaN as an empty cell."""
    return {name: [None if np.isnan(v) else v for v in column.tolist()] for name, column in columns.items()}


def among_all(kept: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values of the coefficients that are kept, NaN for the others: (P,)."""
    found = np.full(len(kept), np.nan)
    found[kept] = values
    return found


class ResidualTests(NamedTuple):
    """What residuals say of the noise; kurtosis is 3 for normal noise."""

    durbin_watson: float
    jarque_bera: float
    jarque_bera_p: float
    skew: float
    kurtosis: float
    breusch_pagan: float
    breusch_pagan_p: float


class LinearSummary(Summary, kw_only=True):
    """Coefficients with errors and tests, the fit, and diagnostics of the rows. NaN where undefined."""

    errors: np.ndarray  # standard errors under equal variances (P,)
    robust: np.ndarray  # standard errors that hold under unequal variances, HC3 (P,)
    inflation: np.ndarray  # variance inflation factors (P,)
    rows: np.ndarray  # places of the rows (n,)
    fitted: np.ndarray  # ŷ (n,)
    residuals: np.ndarray  # y - ŷ (n,)
    leverage: np.ndarray  # h (n,)
    weight: np.ndarray  # v (n,)
    n: int
    dof: int  # degrees of freedom n - r
    squares: float  # Σ v e²
    total: float  # Σ v (y - ȳ)²; about 0 where the columns hold no constant
    sigma: float  # standard deviation of the noise, in units of y
    tests: ResidualTests
    condition: float  # of the columns, scaled to length 1
    constant: bool  # whether the columns hold a constant
    splines: InitVar[Callable[[], Linearity]]

    def __post_init__(self, splines: Callable[[], Linearity]) -> None:
        object.__setattr__(self, "_splines", splines)
        object.__setattr__(self, "notes", tuple(self._notes()))

    def _notes(self) -> Iterator[str]:
        gone, y = [self.names[j] for j in np.flatnonzero(np.isnan(self.coefficients))], self.fitted + self.residuals
        if gone:
            yield (
                f"{', '.join(gone[:6])}{f' and {len(gone) - 6} more' * (len(gone) > 6)}: constant, or follows from the "
                "columns before, and is left out; the others are those of the fit without it, while coef_ is the "
                "shortest of all that predict the same."
            )
        pinned = self.rows[1 - self.leverage <= PINNED]
        if not self.dof:
            yield f"{len(y)} rows leave no degrees of freedom: R² says nothing, and nothing has an error."
        elif np.ptp(y) <= 4 * np.finfo(float).eps * np.abs(y).max():
            yield "y does not vary: there is nothing to explain or to test."
        elif not self.residuals.any():
            yield "The plane goes through every row up to rounding: there is no noise to test against."
        elif len(pinned):
            yield f"Row {pinned[0]} alone determines a coefficient (leverage 1), so HC3 errors cannot be computed."

    @property
    def r2(self) -> float:
        """1 - RSS/TSS."""
        if not self.total:
            return np.nan
        return 1 - self.squares / self.total if self.rank > self.constant else 0.0

    @property
    def adjusted(self) -> float:
        """R² corrected for the number of coefficients."""
        return 1 - (1 - self.r2) * (self.n - self.constant) / self.dof if self.dof > 0 else np.nan

    @property
    def r2_forms(self) -> tuple[float, float, float]:
        """Explained ratio, 1 - RSS/TSS and squared correlation, all about the mean."""
        v, y = self.weight, self.fitted + self.residuals
        about, own = y - np.average(y, weights=v), self.fitted - np.average(self.fitted, weights=v)
        total, spread = float(v @ about**2), float(v @ own**2)
        if not (self.total and total and spread > 1e-25 * total):
            return np.nan, np.nan, np.nan
        explained = float(v @ (self.fitted - np.average(y, weights=v)) ** 2) / total
        return explained, 1 - self.squares / total, float(v @ (about * own)) ** 2 / (total * spread)

    @property
    def f(self) -> float:
        """F of all coefficients but the constant."""
        k = self.rank - self.constant
        return (self.total - self.squares) / k / self.sigma**2 if k > 0 and self.sigma > 0 else np.nan

    f_p = property(lambda self: float(stats.f.sf(self.f, self.rank - self.constant, self.dof)), doc="p of F.")
    t = property(lambda self: _over(self.coefficients, self.errors), doc="Coefficients over standard errors (P,).")
    p = property(lambda self: 2 * stats.t.sf(np.abs(self.t), self.dof), doc="Two-sided p of each coefficient (P,).")
    robust_t = property(lambda self: _over(self.coefficients, self.robust), doc="t with the robust errors (P,).")
    robust_p = property(lambda self: 2 * stats.t.sf(np.abs(self.robust_t), self.dof), doc="p with these errors (P,).")

    def interval(self, level: float | None = None, *, robust: bool = False) -> np.ndarray:
        """Confidence intervals of the coefficients (P, 2); level None: that of the summary; robust: with HC3 errors."""
        errors = self.robust if robust else self.errors
        return np.stack(interval(self.coefficients, errors, self.level if level is None else level, self.dof), 1)

    @cached_property
    def standardized(self) -> np.ndarray:
        """Residuals over their standard errors (n,); NaN where the leverage is 1."""
        free = np.where(1 - self.leverage > PINNED, 1 - self.leverage, np.nan)
        return _over(np.sqrt(self.weight) * self.residuals, self.sigma * np.sqrt(free))

    @property
    def studentized(self) -> np.ndarray:
        """The same with s of all other rows (n,)."""
        left = self.dof - self.standardized**2
        return self.standardized * np.sqrt(_over(np.full(self.n, self.dof - 1.0), np.where(left > PINNED, left, 0)))

    @property
    def cooks(self) -> np.ndarray:
        """Cook's distance (n,)."""
        return self.standardized**2 * _over(self.leverage, self.rank * (1 - self.leverage))

    @cached_property
    def linearity(self) -> Linearity:
        """Whether a spline in a column explains more than the plane; computed when first used."""
        return vars(self)["_splines"]()

    def table(self) -> Table:
        """One row per coefficient."""
        low, high = self.interval().T
        columns = {"coefficient": self.coefficients, "std error": self.errors, "t": self.t, "p": self.p}
        columns |= {f"{100 * self.level:g} % from": low, "to": high, "HC3 error": self.robust, "HC3 p": self.robust_p}
        return Table({"": self.names, **blank(columns | {"VIF": self.inflation})})

    def influence(self, largest: int | None = None) -> Table:
        """One row per row of X; with `largest` only so many, those with the largest Cook's distance first."""
        chosen = slice(None) if largest is None else np.argsort(-np.nan_to_num(self.cooks), kind="stable")[:largest]
        columns = {"fitted": self.fitted, "residual": self.residuals, "standardized": self.standardized}
        columns |= {"studentized": self.studentized, "leverage": self.leverage, "Cook's distance": self.cooks}
        chosen_columns = blank({name: values[chosen] for name, values in columns.items()})
        return Table({"row": self.rows[chosen].tolist(), **chosen_columns})

    def figure(self) -> Figure:
        """Residuals against fitted values and normal quantiles, their spread, and leverage with Cook's distance."""
        given = self.fitted, self.residuals, self.standardized, self.leverage
        return diagnostics(*given, rank=self.rank, rows=self.rows, target=self.target)

    @property
    def r2_note(self) -> str:
        """The three forms of R², and whether they agree."""
        explained, left, correlated = self.r2_forms
        shown = f"explained ratio {explained:.7f}, 1 - RSS/TSS {left:.7f}, squared correlation {correlated:.7f}"
        if np.isnan(self.r2_forms).any():
            return "There is no correlation to square: y or the prediction does not vary."
        if self.constant:
            return f"R²: {shown}; they agree, as for any plane with a constant, on the rows it was fitted to."
        return f"R² about the mean: {shown}; without a constant they differ, and R² = {self.r2:.7f} is about 0."

    @property
    def caption(self) -> str:
        most = int(np.argmax(np.nan_to_num(self.cooks)))
        rest = f"R² {self.r2:.4g}; row {self.rows[most]} has the largest Cook's distance, {self.cooks[most]:.3g}."
        return f"Residuals of a plane with {self.rank} coefficients on {self.n:,} rows: s {self.sigma:.4g}, {rest}"

    @property
    def _doubts(self) -> list[str]:
        """What robust errors and collinear columns change, in words."""
        found = changed("HC3 errors, for variances that differ,", self.names, self.p, self.robust_p)
        order = [i for i in np.argsort(-np.nan_to_num(self.inflation)) if self.inflation[i] > COLLINEAR]
        names = [f"{self.names[i]} (VIF {self.inflation[i]:.3g})" for i in order]
        return found + ([f"Columns that nearly follow from the others: {listed(names)}."] if names else [])

    def __str__(self) -> str:
        """As a statistics package prints it; `table()` has the robust errors and the VIF of every coefficient."""
        left = {"rows": self.n, "coefficients": self.rank, "degrees of freedom": self.dof}
        left |= {"standard deviation s": self.sigma, "sum of squared residuals": self.squares}
        left |= {"mean of squared residuals": self.squares / self.n, "condition number": self.condition}
        right = {"R²" if self.constant else "R² about 0": self.r2, "adjusted R²": self.adjusted}
        right |= {f"F({self.rank - self.constant}, {self.dof})": self.f, "p of F": p_text(self.f_p)}
        right |= {"log-likelihood": self.log_likelihood, "AIC": self.aic, "BIC": self.bic}
        t = self.tests
        noise = {"Jarque-Bera": t.jarque_bera, "p, normal noise": p_text(t.jarque_bera_p)}
        noise |= {"Breusch-Pagan": t.breusch_pagan, "p, equal variances": p_text(t.breusch_pagan_p)}
        shape = {"Durbin-Watson": t.durbin_watson, "skew": t.skew, "kurtosis": t.kurtosis}
        kind = "weighted least squares" if (self.weight != 1).any() else "least squares"
        columns = {n: cells for n, cells in self.table().columns.items() if n not in ("HC3 error", "HC3 p", "VIF")}
        parts, notes = [(left, right), page(columns), (shape, noise)], [*self._doubts, self.r2_note, *self.notes]
        if len(self.names) > SPLINES_PRINTED:
            notes.append("Is it linear? See linearity.table().")
        elif self.linearity.names:
            parts.append(f"Is it linear? Splines against the plane\n{page(self.linearity.table().columns)}")
        else:
            notes.append(self.linearity.note)
        return self._printed(f"Linear regression: {kind}", parts, notes)


def _over(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Ratios; NaN where there is nothing to divide by."""
    return np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)


def summarize(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray | None, names: Sequence[str], fit_intercept: bool
) -> LinearSummary:
    """The statistics of least squares of y (n,) on the columns of x (n, D), with weights (n,) or None."""
    rows = np.arange(len(x)) if weight is None else np.flatnonzero(weight)
    x, y, v, f = x[rows], y[rows], np.ones(len(x)) if weight is None else weight[rows], int(fit_intercept)
    plane = design(x, v, fit_intercept)
    a, scale, q, kept = plane.a[:, plane.kept], plane.scale, plane.q, plane.kept
    center, first = np.average(y, weights=v) * f, np.arange(q.shape[1]) < f
    part = plane.solve(y - center)  # (r,), of centered columns
    e, dof = _residuals(a, part, y, center), len(x) - q.shape[1]
    leverage, squares = np.minimum((q**2).sum(1), 1.0), float(v @ e**2)
    shift = np.eye(len(part))  # from centered columns to x as it is
    shift[:f, f:] = -plane.mean[kept[f:]] if f else 0.0
    turned = shift @ plane.root  # inverse of R of the columns as they are
    free = np.where(1 - leverage > PINNED, 1 - leverage, np.nan)
    scores = turned @ (q * (e * scale / free)[:, None]).T  # (r, n)
    noise = float(np.sqrt(squares / dof)) if dof else np.nan
    length = np.linalg.norm(a * scale[:, None], axis=0)
    inflation = np.where(first, np.nan, (np.linalg.norm(plane.root, axis=1) * length) ** 2)
    constant = bool(f) or bool(np.linalg.norm(scale - q @ (q.T @ scale)) <= 1e-10 * np.linalg.norm(scale))
    total = float(v @ (y - (np.average(y, weights=v) if constant else 0.0)) ** 2)
    total = total if total > len(x) * v.max() * (4 * np.finfo(float).eps * np.abs(y).max()) ** 2 else 0.0
    each = np.log(2 * np.pi * squares / len(x)) + 1 if squares > 0 else -np.inf  # of a row
    triangle, named, in_all = np.linalg.inv(turned), (*["intercept"] * f, *names), partial(among_all, kept)
    return LinearSummary(
        names=named,
        coefficients=in_all(shift @ (part + center * first)),
        rank=len(part),
        log_likelihood=float(-len(x) / 2 * each + np.log(v).sum() / 2),
        errors=in_all(noise * np.linalg.norm(turned, axis=1)),
        robust=in_all(np.linalg.norm(scores, axis=1) if dof else np.full(len(part), np.nan)),
        inflation=in_all(inflation),
        rows=rows,
        fitted=y - e,
        residuals=e,
        leverage=leverage,
        weight=v,
        n=len(x),
        dof=dof,
        squares=squares,
        total=total,
        sigma=noise,
        tests=_residual_tests(scale * e, a, constant) if noise > 0 else ResidualTests(*[np.nan] * 7),
        condition=float(np.linalg.cond(triangle / np.linalg.norm(triangle, axis=0))) if len(part) else np.nan,
        constant=constant,
        splines=partial(linearity, x, y, e, plane, constant, named),
    )


def _residuals(a: np.ndarray, theta: np.ndarray, y: np.ndarray, center: float) -> np.ndarray:
    """y - ŷ (n,), exactly 0 where all of them are rounding errors."""
    e, size = y - center - a @ theta, (np.abs(a) * np.abs(theta)).sum(1) + np.abs(y)
    return np.zeros_like(e) if (np.abs(e) <= 100 * np.finfo(float).eps * size).all() else e


def _residual_tests(e: np.ndarray, a: np.ndarray, constant: bool) -> ResidualTests:
    """Of weighted residuals e (n,) and the columns a (n, r) that their spread may depend on."""
    a = a if constant else np.column_stack([np.ones(len(e)), a])
    bera, squares = cast(Any, stats.jarque_bera(e)), e**2 / (e**2).mean() - 1
    explained = decompose(a)[0].T @ squares
    pagan = len(e) * float(explained @ explained) / float(squares @ squares) if a.shape[1] > 1 else np.nan
    watson = float((np.diff(e) ** 2).sum() / (e**2).sum())
    normal = (float(bera.statistic), float(bera.pvalue), float(stats.skew(e)), float(stats.kurtosis(e, fisher=False)))
    return ResidualTests(watson, *normal, pagan, float(stats.chi2.sf(pagan, a.shape[1] - 1)))
