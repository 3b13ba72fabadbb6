"""The statistics of logistic regression: how sure its coefficients are, and what they explain.

    log p(k | x) / p(1 | x) = θ_k·(1, x),  k = 2 ... K          ℓ(θ) = Σ_i v_i log p(y_i | x_i)
    Fisher information  I = Σ_i v_i (diag p_i - p_i p_iᵀ) ⊗ x_i x_iᵀ,     cov θ̂ = I⁻¹
    Wald  z = θ̂_j / se_j ~ N(0, 1)        likelihood ratio  2 (ℓ(θ̂) - max_{θ_j = 0} ℓ) ~ χ²_1        both if θ_j = 0
    McFadden  1 - ℓ/ℓ₀        Cox-Snell  1 - exp(2 (ℓ₀ - ℓ)/n)        Tjur  mean p_k where y = k - mean p_k elsewhere

ℓ₀ is that of the intercepts alone; all three are 0 there. Tjur's is the mean over the classes, which of two classes
have the same. Coefficients are of each class against the first: log-odds, so e^θ is an odds ratio. All of it is of
maximum likelihood without a penalty. Weights count rows: n = Σ v.
Shapes: n rows, D features, K classes, θ (K - 1, D + 1) with the intercept first, P = (K - 1)(D + 1).
References: Agresti, Categorical Data Analysis (2013), chapters 5 and 8; Tjur, The American Statistician 63 (2009).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from scipy.special import softmax

from ... import plots
from ...errors import InputError
from ...formulas import interval
from ...results import Table
from ...train import iterate
from .least_squares import design
from .logistic_solvers import ENDLESS, LogisticNewton, LogisticProblem
from .summary import Summary, among_all, blank

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LogisticSummary", "summarize"]

MAX_PARAMETERS = 2000  # of a summary
MAX_DRAWN = 40  # coefficients of a picture
STEPS = 100  # of Newton's method


@dataclass(frozen=True, eq=False, kw_only=True)
class LogisticSummary(Summary):
    """Log-odds with their errors and tests, and how well they fit. NaN where undefined."""

    outcomes: tuple[Any, ...]  # the class whose odds against the first class each is about (P,)
    classes: tuple[Any, ...]  # of y; the first is the one compared with
    covariance: np.ndarray  # of θ̂ (P, P)
    null: float  # ℓ₀ of the intercepts alone
    tjur: float  # difference of mean probabilities
    refit: InitVar[Callable[[], np.ndarray]]  # likelihood ratios (P,)

    def __post_init__(self, refit: Callable[[], np.ndarray]) -> None:
        object.__setattr__(self, "_refit", refit)

    @property
    def errors(self) -> np.ndarray:
        """Standard errors (P,)."""
        return np.sqrt(self.covariance.diagonal())

    @property
    def z(self) -> np.ndarray:
        """Wald statistics: coefficients over their standard errors (P,)."""
        return self.coefficients / self.errors

    @property
    def p(self) -> np.ndarray:
        """Probability of a z at least as far from 0 if the coefficient is 0 (P,)."""
        return 2 * stats.norm.sf(np.abs(self.z))

    @property
    def odds_ratios(self) -> np.ndarray:
        """By what the odds are multiplied where a feature grows by 1: e^θ̂ (P,)."""
        with np.errstate(over="ignore"):
            return np.exp(self.coefficients)

    def interval(self, level: float | None = None) -> np.ndarray:
        """Confidence intervals of the coefficients (P, 2)."""
        return np.stack(interval(self.coefficients, self.errors, self.level if level is None else level), 1)

    @cached_property
    def ratios(self) -> np.ndarray:
        """Likelihood-ratio statistics of each coefficient, by a fit without it (P,); computed when first asked for."""
        return vars(self)["_refit"]()

    @property
    def ratios_p(self) -> np.ndarray:
        """Probability of a ratio at least as large if the coefficient is 0 (P,)."""
        return stats.chi2.sf(self.ratios, 1)

    @property
    def dof(self) -> int:
        """Independent coefficients besides the intercepts."""
        return self.rank - len(self.classes) + 1

    @property
    def ratio(self) -> float:
        """Likelihood-ratio statistic of the whole model against the intercepts."""
        return 2 * (self.log_likelihood - self.null)

    @property
    def ratio_p(self) -> float:
        """Probability of it if no feature matters."""
        return float(stats.chi2.sf(self.ratio, self.dof)) if np.isfinite(self.errors).any() else np.nan

    @property
    def mcfadden(self) -> float:
        """1 - ℓ/ℓ₀."""
        return 1 - self.log_likelihood / self.null

    @property
    def cox_snell(self) -> float:
        """1 - exp(2 (ℓ₀ - ℓ)/n)."""
        return float(-np.expm1(-self.ratio / self.n))

    def table(self) -> Table:
        """One row per coefficient."""
        low, high = self.interval().T
        columns = {"log-odds": self.coefficients, "std error": self.errors, "z": self.z, "p": self.p}
        columns |= {f"{100 * self.level:g} % from": low, "to": high, "odds ratio": self.odds_ratios}
        columns |= {"LR": self.ratios, "LR p": self.ratios_p}
        first = {"class": [str(c) for c in self.outcomes]} if len(self.classes) > 2 else {}
        return Table({**first, "": self.names, **blank(columns)})

    def figure(self) -> Figure:
        """Log-odds of the features with their intervals, a panel per class; of many those with the largest |z|."""
        panels: dict[str, list[tuple[str, float, float | None, float | None]]] = {}
        width = len(self.names) // (len(self.classes) - 1)
        slopes = [i for i in range(len(self.names)) if i % width]
        shown = sorted(sorted(slopes, key=lambda i: -np.nan_to_num(abs(self.z[i])))[:MAX_DRAWN])
        for i in shown:
            label = f"log-odds of {self.outcomes[i]} against {self.classes[0]}, for each unit of a feature"
            low, high = (None if np.isnan(end) else float(end) for end in self.interval()[i])
            panels.setdefault(label, []).append((self.names[i], float(self.coefficients[i]), low, high))
        figure = plots.whiskers(panels, at=0.0)
        figure.axes[0].set_title(f"Coefficients with {100 * self.level:g} % intervals")
        return figure

    @property
    def caption(self) -> str:
        """What the picture shows."""
        clear = int(np.sum(self.p < 1 - self.level))
        return (
            f"Log-odds of {len(self.names)} coefficients on {self.n:,.10g} rows, McFadden's R² {self.mcfadden:.4g}; "
            f"the intervals of {clear} do not hold 0."
        )

    def __str__(self) -> str:
        """As a statistics package prints it."""
        left = {"rows": f"{self.n:,.10g}", "coefficients": self.rank, "log-likelihood": self.log_likelihood}
        left |= {"of the intercepts alone": self.null, f"ratio, χ²({self.dof})": self.ratio, "p of it": self.ratio_p}
        right = {"McFadden's R²": self.mcfadden, "Cox and Snell's": self.cox_snell, "Tjur's": self.tjur}
        right |= {"AIC": self.aic, "BIC": self.bic}
        title = f"Logistic regression: {len(self.classes)} classes, odds against {self.classes[0]}"
        return self._printed(title, [(left, right), str(self.table())], self.notes)


# ---- computing


def summarize(
    x: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    names: Sequence[str],
    classes: Sequence[Any],
    fitted: np.ndarray,
    *,
    l1: float = 0.0,
    l2: float = 0.0,
) -> LogisticSummary:
    """The statistics of logistic regression of y (n,), places in `classes`, on the columns of x (n, D), no penalty.

    Args:
        x: Features (n, D), checked.
        y: Places in `classes` (n,).
        weight: Counts of the rows (n,).
        names: Of the features (D,).
        classes: The first is the one compared with.
        fitted: Coefficients of the model with its penalty (K - 1, D + 1), shown where the classes are separated.
        l1: That penalty.
        l2: The same.
    """
    k, width = len(classes), x.shape[1] + 1
    if (k - 1) * width > MAX_PARAMETERS:
        raise InputError(
            f"The model has {(k - 1) * width:,} coefficients; a summary is for at most {MAX_PARAMETERS:,}. Choose "
            "fewer columns."
        )
    kept = design(x, None, True).kept  # of the coefficients of a class (D + 1,)
    problem = LogisticProblem(x[:, kept[1:]], y, weight, k - 1, 0.0)
    best, converged, jump = _maximum(problem)
    lost = converged and jump > ENDLESS or problem.margin(best) > 0
    turn = _turn(problem)
    shares, known = np.bincount(y, weights=weight, minlength=k), np.tile(kept, k - 1)
    covariance = np.full((known.size, known.size), np.nan)
    if not lost:
        covariance[np.ix_(known, known)] = turn @ np.linalg.pinv(problem.hessian(best), hermitian=True) @ turn.T
    coefficients = fitted.ravel().copy() if lost else among_all(known, turn @ best.ravel())
    if lost:
        scale = np.append(problem.scale, 1.0)
        shifted = fitted[:, 0] + fitted[:, 1:][:, kept[1:]] @ problem.mean
        best = np.c_[fitted[:, 1:][:, kept[1:]], shifted] * scale
    return LogisticSummary(
        names=tuple(["intercept", *names] * (k - 1)),
        outcomes=tuple(c for c in classes[1:] for _ in range(width)),
        classes=tuple(classes),
        coefficients=coefficients,
        covariance=covariance,
        n=float(weight.sum()),
        rank=int(known.sum()),
        log_likelihood=-problem.value(best)[0],
        null=float((shares * np.log(shares / shares.sum())).sum()),
        tjur=_tjur(problem, best),
        notes=_notes(lost, converged, int((~known).sum()), l1, l2),
        refit=lambda: np.full(known.size, np.nan) if lost else among_all(known, _ratios(problem, best)),
    )


def _maximum(problem: LogisticProblem, free: np.ndarray | None = None) -> tuple[np.ndarray, bool, float]:
    """θ of the largest likelihood, whether it was reached, and the last change of raw outputs."""
    newton = LogisticNewton(problem, 1e-11 * problem.weight.sum())
    newton.free = free
    row = iterate(newton, rounds=STEPS)[-1]
    return newton.theta, row["gradient"] <= 1e-6 * problem.weight.sum(), newton.jump


def _turn(problem: LogisticProblem) -> np.ndarray:
    """θ of standardized columns, b last -> coefficients of x, b first: (P, P)."""
    d = len(problem.mean)
    turn = np.zeros((d + 1, d + 1))
    turn[0, -1], turn[0, :-1], turn[1:, :-1] = 1.0, -problem.mean / problem.scale, np.diag(1 / problem.scale)
    return np.kron(np.eye(problem.outputs), turn)


def _ratios(problem: LogisticProblem, best: np.ndarray) -> np.ndarray:
    """2 (ℓ - max ℓ without it) of each coefficient, the intercept of each class first (P,)."""
    found, least = [], problem.value(best)[0]
    around_0 = copy(problem)  # where an intercept of 0 means what it says
    around_0.x = problem.x + np.append(problem.mean / problem.scale, 0.0)
    for k in range(len(best)):
        for j in (-1, *range(best.shape[1] - 1)):
            free = np.ones(best.shape, bool)
            free[k, j] = False
            theta, reached, _ = _maximum(around_0 if j < 0 else problem, free)
            loss = (around_0 if j < 0 else problem).value(theta)[0]
            found.append(max(0.0, 2 * (loss - least)) if reached else np.nan)
    return np.array(found)


def _tjur(problem: LogisticProblem, theta: np.ndarray) -> float:
    """Mean p_k over rows of class k minus that over the others, the mean over the classes."""
    p, v = softmax(problem.raw(theta), axis=1), problem.weight[:, None]
    own, other = problem.own * v, ~problem.own * v
    return float(((p * own).sum(0) / own.sum(0) - (p * other).sum(0) / other.sum(0)).mean())


def _notes(lost: bool, converged: bool, unknown: int, l1: float, l2: float) -> tuple[str, ...]:
    penalty = " and ".join(f"{name}={value:g}" for name, value in (("l1", l1), ("l2", l2)) if value)
    if lost:
        return (
            "Planes separate the classes, so the likelihood has no maximum and there are no standard errors and no "
            f"tests; the coefficients are those of the penalized fit ({penalty}).",
        )
    notes = []
    if not converged:
        notes.append("The maximum was not reached to the last digits: take these numbers with care.")
    if penalty:
        notes.append(
            f"The model was fitted with {penalty}. A penalty biases its coefficients, and no standard error shows by "
            "how much, so all numbers here are of the same model without it."
        )
    if unknown:
        notes.append(f"{unknown} coefficients have no number: their columns are constant or follow from those before.")
    return tuple(notes)
