"""Ridge regression: least squares with a penalty on the squares of the coefficients, for all penalties at once.

    (w, b) = argmin Σ_i v_i (y_i - x_i·w - b)² + α ‖w‖²,          X̃ = U diag(s) Vᵀ,   X̃ = √v (X - x̄)
    w(α) = V diag(s / (s² + α)) Uᵀỹ,      degrees of freedom(α) = Σ_k s_k² / (s_k² + α)
    leave-one-out error of row i = residual_i / (1 - h_i),    h_i = v_i/Σv + Σ_k u_ik² s_k² / (s_k² + α)
    generalized cross-validation = mean residual² / (1 - Σ_i h_i / n)²

One decomposition serves every α. The intercept is not penalized. α = 0 is the shortest least-squares solution.
Shapes: n rows, D features, T targets, r = rank, L penalties, K knots of the lasso.
Reference: Golub, Heath and Wahba, Generalized Cross-Validation as a Method for Choosing a Good Ridge Parameter,
Technometrics 21 (1979); Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 3.4.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from ...check import NonNegative
from ...errors import InputError
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend, short
from ...results import Result, Table
from ...selection import Range, Space
from ...store import Tree
from .._base.plain import PlainRegressor, Rows
from .base import LinearAnswers, centered, feature_names

BLOCK = 2**18  # numbers of U at a time
NAMED = 7  # coefficients of a path that get a color and a name
EXACT = 1e-13  # 1 - h of a row that is met exactly where nothing is penalized


class Decomposed(NamedTuple):
    """X̃ = U diag(s) Vᵀ without what is below rounding, and ỹ = U uy + rest."""

    u: np.ndarray  # (n, r)
    s: np.ndarray  # (r,)
    vt: np.ndarray  # (r, D)
    uy: np.ndarray  # (r, T)
    rest: np.ndarray  # (n, T)
    x_mean: np.ndarray  # (D,), 0 without an intercept
    y_mean: np.ndarray  # (T,)
    share: np.ndarray  # v_i / Σv (n,), 0 without an intercept
    total: float  # Σv

    def coefficients(self, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w (L, T, D) and b (L, T) of every α."""
        gain = self.s[:, None] / (self.s[:, None] ** 2 + alphas)  # (r, L)
        w = np.einsum("rl,rt->ltr", gain, self.uy) @ self.vt
        return w, self.y_mean - w @ self.x_mean

    def freedom(self, alphas: np.ndarray) -> np.ndarray:
        """Effective degrees of freedom, the intercept not counted: (L,)."""
        d = self.s[:, None] ** 2
        return (d / (d + alphas)).sum(0)

    def errors(self, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean squares of leave-one-out errors, and generalized cross-validation: (L,), (L,)."""
        d, (n, targets) = self.s[:, None] ** 2, self.rest.shape
        # α / (s² + α), what the penalty leaves of a residual along each direction (r, L); 0 as the limit of small ones
        left = 1 / (1 + d / np.maximum(alphas, 1e-20 * d.min(initial=1.0)))
        spare = n - len(self.s) - int(self.share.any())
        squares = (self.rest**2).sum() * (spare > 0) + left.T**2 @ (self.uy**2).sum(1)
        gcv = squares / ((max(spare, 0) + left.sum(0)) / n) ** 2
        return self._leave_one_out(left) / (self.total * targets), gcv / (self.total * targets)

    def _leave_one_out(self, left: np.ndarray) -> np.ndarray:
        """Σ_i v_i e_i² over rows and targets, e_i of the fit without row i: (L,)."""
        total, step = np.zeros(left.shape[1]), max(1, BLOCK // max(left.shape))
        slack = 1 - self.share - (self.u**2).sum(1)
        rest, slack = np.where(slack[:, None] < EXACT, 0.0, self.rest), np.where(slack < EXACT, 0.0, slack)
        for low in range(0, len(self.u), step):
            rows = slice(low, low + step)
            free = self.u[rows] ** 2 @ left + slack[rows, None]  # 1 - h: (m, L)
            for t in range(rest.shape[1]):
                error = self.u[rows] @ (left * self.uy[:, t, None]) + rest[rows, t, None]
                total += ((error / np.where(free > 0, free, 1.0)) ** 2).sum(0)
        return total


def decompose_rows(rows: Rows, intercept: bool) -> Decomposed:
    """The decomposition of rows around their means where there is an intercept, times √v."""
    x, y, n = rows.x, rows.y.reshape(len(rows.x), -1), len(rows.x)
    weight = np.ones(n) if rows.weight is None else rows.weight
    x, x_mean = centered(x, weight) if intercept else (x, np.zeros(x.shape[1]))
    y_mean = np.average(y, axis=0, weights=weight) * intercept
    x, y = (part if rows.weight is None else part * np.sqrt(weight)[:, None] for part in (x, y - y_mean))
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    rank = int((s > max(x.shape) * np.finfo(float).eps * s.max(initial=0.0)).sum())
    u, s, vt = u[:, :rank], s[:rank], vt[:rank]
    uy = u.T @ y
    return Decomposed(u, s, vt, uy, y - u @ uy, x_mean, y_mean, weight / weight.sum() * intercept, weight.sum())


class CoefficientPath(Result):
    """Ridge regression, the lasso or the elastic net for every penalty."""

    title: str  # what was fitted
    alphas: np.ndarray  # penalties (L,); of the lasso falling, the first the least that sets all coefficients to 0
    coefs: np.ndarray  # (L, D), or (L, T, D) for several targets
    intercepts: np.ndarray  # (L,) or (L, T)
    dof: np.ndarray  # effective degrees of freedom, the intercept not counted (L,)
    names: tuple[str, ...]  # of the features (D,)
    loo: np.ndarray | None = None  # of ridge: weighted mean square of leave-one-out errors (L,)
    gcv: np.ndarray | None = None  # of ridge: generalized cross-validation, in the same units (L,)
    gaps: np.ndarray | None = None  # of the lasso: duality gap of each solution, in the units of the objective (L,)
    knots: np.ndarray | None = None  # of the lasso: exact penalties where a coefficient enters or leaves, falling (K,)
    chosen: float | None = None  # the penalty of a model
    label: str = "coefficient"
    moves: tuple[tuple[int, str], ...] = ()  # for each knot the place of the coefficient, and "enters" or "leaves"

    def best(self, choose: str = "loo") -> int:
        """Place of the penalty with the least error, "loo" or "gcv"; the larger of two that tie."""
        error = np.asarray(getattr(self, choose))
        return int(max(np.flatnonzero(error == error.min()), key=lambda i: self.alphas[i]))

    def columns(self) -> dict[str, Any]:
        """One row per penalty."""
        if self.gaps is None:
            return {"alpha": self.alphas, "degrees of freedom": self.dof, "leave-one-out": self.loo, "GCV": self.gcv}
        sizes = {"non-zero": np.count_nonzero(self.coefs, axis=1), "degrees of freedom": self.dof}
        return {"alpha": self.alphas, **sizes, "norm of w": np.abs(self.coefs).sum(1), "duality gap": self.gaps}

    def knot_table(self) -> Table:
        """One row per knot of the lasso: which coefficient enters or leaves."""
        names, events = [self.names[j] for j, _ in self.moves], [event for _, event in self.moves]
        return Table({"alpha": np.asarray(self.knots).tolist(), "coefficient": names, "event": events}, "Knots.")

    @property
    def caption(self) -> str:
        own = "" if self.chosen is None else f", chosen was {self.chosen:.4g}"
        first = f"{self.title}: {len(self.alphas)} penalties{own}"
        if self.gaps is None:
            loo, gcv = (self.alphas[self.best(choose)] for choose in ("loo", "gcv"))
            return f"{first}. Least leave-one-out error at alpha {loo:.4g}, least GCV at {gcv:.4g}."
        entered = list(dict.fromkeys(self.names[j] for j in np.nonzero(self.coefs)[1]))
        order = ", ".join(entered[:10])
        return f"{first}, largest duality gap {self.gaps.max():.2g}. Coefficients leave 0 in the order {order}."

    @drawn
    def figure(self) -> Figure:
        """Coefficients against the penalty, knots as ticks, errors below; of several targets the first is drawn."""
        coefs = self.coefs if self.coefs.ndim == 2 else self.coefs[:, 0]
        order = np.argsort(-self.alphas, kind="stable")
        order = order[self.alphas[order] > 0]
        if not len(order):
            raise InputError("There is no penalty above 0, so there is nothing to draw on a log axis.")
        at, knots = self.alphas[order], np.empty(0) if self.knots is None else self.knots
        figure, axes = _lines(at, coefs[order], self.names, knots, below=self.loo is not None)
        axes[0].set(title=f"{self.title}: coefficients against the penalty", xscale="log")
        axes[0].set_ylabel(self.label)
        for part in axes:
            part.set_xlabel("penalty α (log scale, falling)")
        if self.chosen:
            axes[0].axvline(self.chosen, color=GREY, lw=2.2, ls="-", zorder=1, label=f"chosen: {self.chosen:.3g}")
        legend(figure, axes=axes[:1])
        axes[0].invert_xaxis()
        above, places = axes[0].twiny(), np.unique(np.linspace(0, len(at) - 1, 7).round().astype(int))
        above.set(xscale="log", xlim=axes[0].get_xlim(), xlabel="effective degrees of freedom")
        above.set_xticks(at[places], [f"{dof:.3g}" for dof in self.dof[order][places]])
        above.minorticks_off()
        above.grid(visible=False)
        errors = {"leave-one-out": (self.loo, "-o"), "generalized cross-validation": (self.gcv, "--D")}
        for i, (name, (values, style)) in enumerate(errors.items()):
            if values is not None:
                values, best, color = values[order], np.argmin(values[order]), PALETTE[i]
                axes[i].axvline(self.alphas[self.best()], color=GREY, lw=1.2, ls=(0, (4, 3)), zorder=1)
                axes[1].plot(at, values, style[:-1], color=color, label=f"{name}, least at {at[best]:.3g}")
                axes[1].plot(at[best], values[best], style[-1], color=color, ms=6, mec="white", zorder=4)
                axes[1].set_ylabel("mean error²")
                axes[1].legend(loc="best")
        return figure


def penalties(alphas: Any, *, zero: bool) -> np.ndarray:
    """Penalties as an array (L,), each finite and > 0, or >= 0 where `zero` is allowed."""
    try:
        found = np.asarray(alphas, dtype=float)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.ndim != 1 or not found.size or not (np.isfinite(found) & (found >= 0) & (zero | (found > 0))).all():
        least = ">= 0" if zero else "> 0"
        raise InputError(f"alphas is {alphas!r}; it must hold one or more penalties, each finite and {least}.")
    return found


def _lines(
    at: np.ndarray, coefs: np.ndarray, names: Sequence[str], knots: np.ndarray, *, below: bool
) -> tuple[Figure, Any]:
    """One line per coefficient (L, D) over penalties (L,), the largest named; knots as ticks; perhaps a panel below."""
    figure, axes = canvas(1 + below, across=1, width=7.0, height=4.4 - 1.2 * below, sharex=True)
    axes[0].axhline(0, color="0.6", lw=0.8, zorder=1)
    largest = np.argsort(-np.abs(coefs).max(0), kind="stable")[:NAMED].tolist()
    look = {"ls": "-", "marker": "." if len(at) < 31 else ""}
    axes[0].plot(at, np.delete(coefs, largest, 1), color="0.75", lw=0.9, zorder=2, **look)
    for i, j in enumerate(largest):
        axes[0].plot(at, coefs[:, j], color=PALETTE[i], label=short(str(names[j]), 18), zorder=3, **look)
    if len(knots):
        place = {"transform": axes[0].get_xaxis_transform(), "ls": "", "marker": "|", "ms": 9, "color": "black"}
        axes[0].plot(knots, np.full(len(knots), 0.02), label="knots", **place)
    return figure, axes


class Ridge(LinearAnswers, PlainRegressor):
    """Least squares with the penalty α ‖w‖²; of several α, the one with the least leave-one-out error is taken.

    Args:
        alpha: The penalty beside the sum of squares, where `alphas` is None.
        alphas: Penalties to choose from; learned are then `alphas_`, `coefs_` and `intercepts_` of each, and
            `loo_`, `gcv_` and `dof_`, all of which `path()` holds together.
        choose: What decides: the leave-one-out error or generalized cross-validation.
        fit_intercept: Learn b; else b = 0.

    Example:
        >>> model = Ridge(alphas=[0.1, 1, 10]).fit([[0.0], [1], [2], [3]], [1, 3, 2, 5])
        >>> model.alpha_, model.coef_.round(4)
        (0.1, array([1.0784]))
    """

    alpha: NonNegative = 1.0
    alphas: tuple[NonNegative, ...] | np.ndarray | None = None
    choose: Literal["loo", "gcv"] = "loo"
    fit_intercept: bool = True

    space: ClassVar[Space] = {"alpha": Range(1e-3, 1e4, log=True)}

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Solve the penalized least-squares problem, for every penalty that is offered."""
        if self.alphas is None:
            rows = self._learned(X, y, sample_weight)
            found, alpha = decompose_rows(rows, self.fit_intercept), np.array([self.alpha], dtype=float)
            coef, intercept = found.coefficients(alpha)
            self.alpha_, self.dof_ = float(self.alpha), found.freedom(alpha)
            one = (0, 0) if rows.y.ndim == 1 else (0,)
            self._set_planes(coef[one], intercept[one])
            return self
        path = self._path(X, y, self.alphas, sample_weight)
        best = path.best(self.choose)
        self.alphas_, self.coefs_, self.intercepts_ = path.alphas, path.coefs, path.intercepts
        self.loo_, self.gcv_, self.dof_ = path.loo, path.gcv, path.dof
        self.alpha_ = float(path.alphas[best])
        self._set_planes(path.coefs[best], path.intercepts[best])
        return self

    def _path(
        self, X: ArrayLike, y: ArrayLike, alphas: Sequence[float] | np.ndarray | int, sample_weight: ArrayLike | None
    ) -> CoefficientPath:
        rows = self._learned(X, y, sample_weight)
        if len(rows.x) < 2:
            raise InputError("Leaving one out needs at least 2 rows (of weight > 0), got 1. Give alpha, not alphas.")
        found = decompose_rows(rows, self.fit_intercept)
        if isinstance(alphas, (int, np.integer)) and alphas > 0:
            alphas = np.geomspace(10, 1e-6, alphas) * (found.s.max(initial=0.0) ** 2 or 1.0)
        ladder = penalties(alphas, zero=True)
        coefs, intercepts = found.coefficients(ladder)
        if rows.y.ndim == 1:
            coefs, intercepts = coefs[:, 0], intercepts[:, 0]
        errors, names = found.errors(ladder), tuple(feature_names(self))
        return CoefficientPath("Ridge", ladder, coefs, intercepts, found.freedom(ladder), names, *errors)

    def _params_tree(self) -> dict[str, Tree]:
        """With an array of penalties as plain numbers."""
        if not isinstance(self.alphas, np.ndarray):
            return super()._params_tree()
        return Ridge(**{**self.get_params(), "alphas": tuple(self.alphas.tolist())})._params_tree()

    def coefficient_path(self, X: ArrayLike, y: ArrayLike) -> CoefficientPath:
        """100 penalties for the rows that it was fitted to, its own marked."""
        copied: Any = clone(self)
        return replace(copied._path(X, y, 100, None), chosen=self.alpha_)

    def path(self) -> CoefficientPath:
        """Everything that was learned for every one of `alphas`."""
        if not hasattr(self, "alphas_"):
            raise InputError("This Ridge was not fitted to several penalties; give alphas, or call coefficient_path.")
        numbers = self.alphas_, self.coefs_, self.intercepts_, self.dof_
        return CoefficientPath("Ridge", *numbers, tuple(feature_names(self)), self.loo_, self.gcv_)
