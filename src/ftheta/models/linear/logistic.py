"""Logistic regression: linear log-odds by maximum likelihood, and how sure its coefficients are.

    p(k | x) ∝ exp(x·w_k + b_k),     minimized:  Σ_i v_i (-log p(y_i | x_i)) / Σ_i v_i + l2 Σ w² + l1 Σ |w|

Newton's method is for few parameters, L-BFGS for many and for l1; both standardize the columns. The summary is of
maximum likelihood without a penalty: log-odds of each class against the first, so e^θ is an odds ratio.

    log p(k | x) / p(1 | x) = θ_k·(1, x),  k = 2 ... K          ℓ(θ) = Σ_i v_i log p(y_i | x_i),        n = Σ v
    Fisher information  I = Σ_i v_i (diag p_i - p_i p_iᵀ) ⊗ x_i x_iᵀ,     cov θ̂ = I⁻¹
    Wald  z = θ̂_j / se_j ~ N(0, 1)        likelihood ratio  2 (ℓ(θ̂) - max_{θ_j = 0} ℓ) ~ χ²_1        both if θ_j = 0
    McFadden  1 - ℓ/ℓ₀        Cox-Snell  1 - exp(2 (ℓ₀ - ℓ)/n)        Tjur  mean p_k where y = k - mean p_k elsewhere

ℓ₀ is that of the intercepts alone; all three are 0 there. Tjur's is the mean over the classes.
Shapes: n rows, D features, K classes, R raw outputs (1 for two classes, K for more); θ (K - 1, D + 1), the intercept
first, P = (K - 1)(D + 1).
References: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 4.4; Albert and
Anderson, On the Existence of Maximum Likelihood Estimates in Logistic Regression Models, Biometrika 71 (1984);
Agresti, Categorical Data Analysis (2013), chapters 5 and 8; Tjur, The American Statistician 63 (2009).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import InitVar
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.special import expit, log_expit, log_softmax, softmax

from ... import plots
from ...check import Count, NonNegative, Positive
from ...errors import InputError
from ...formulas import interval
from ...plots import Figure
from ...results import Table
from ...selection import Range, Space
from ...train import iterate
from .._base.plain import Rows
from .._base.rows import Data
from .base import SteppedClassifier, Summarized, design, feature_names
from .logistic_solvers import ENDLESS, LogisticLBFGS, LogisticNewton, LogisticProblem, mean_loss
from .summary import Summary, among_all, blank, changed, p_text, page

MAX_NEWTON_PARAMETERS = 300  # up to which a Hessian is cheaper than more steps without it
MAX_PARAMETERS = 2000  # of a summary
MAX_DRAWN = 40  # coefficients of a picture
STEPS = 100  # of Newton's method for a summary
SEPARATED = 1e-3  # l2 where the classes can be separated and none was given
SEPARABLE = (
    "Planes separate the classes, so the likelihood has no maximum: the weights would grow without end. l2=1e-3 is "
    "used in place of l2=0; give l2 or l1 to choose yourself, or leave out the columns that tell the classes apart."
)


class LogisticRegression(Summarized, SteppedClassifier):
    """Linear log-odds by maximum likelihood, penalized or not; two classes or more.

    Classes that planes can separate have no maximum of the likelihood: with l1 = l2 = 0 a warning says so, and
    l2 = 1e-3 is used in its place (`l2_`). Learned: coef_ (R, D), intercept_ (R,), loss_, the mean of -log p(y | x).

    Args:
        l2: Weight of Σ w² beside the mean loss; scikit-learn's C is 1 / (2 l2 n).
        l1: Weight of Σ |w|; it makes coefficients exactly 0.
        class_weight: Weights of the classes, or "balanced".
        tol: Stop when no component of the gradient by standardized weights is larger.

    Example:
        >>> model = LogisticRegression().fit([[0.0], [1], [2], [3]], ["no", "no", "yes", "yes"])
        >>> model.predict([[0.5], [2.5]])
        array(['no', 'yes'], dtype='<U3')
    """

    l2: NonNegative = 1e-3
    l1: NonNegative = 0.0
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    tol: Positive = 1e-6
    epochs: Count = 1000

    space: ClassVar[Space] = {"l2": Range(1e-6, 1.0, log=True)}

    def read(self, *args: Any, **named: Any) -> tuple[Data, Data | None]:
        """Rows to learn from, a copy of which the summary needs."""
        data, held = super().read(*args, **named)
        self._kept = self._rows(data).copied()
        return data, held

    def _rows(self, data: Data) -> Rows:
        weights = self.target_.facts.get("weights", np.ones(1))
        if not weights.all():
            label = self.classes_[weights == 0].tolist()[0]
            raise InputError(f"class_weight gives class {label!r} the weight 0: its log-odds would fall without end.")
        rows = super()._rows(data)
        return rows if rows.weight is not None else rows._replace(weight=np.ones(len(rows.x)))

    def _problem(self, rows: Rows) -> LogisticProblem:
        k, weight = len(self.classes_), np.asarray(rows.weight)
        return LogisticProblem(rows.x, rows.y, weight / weight.sum(), 1 if k == 2 else k, self.l2)

    def process(self, data: Data, held: Data | None) -> LogisticNewton | LogisticLBFGS:
        """Newton's method, or L-BFGS."""
        problem = self._problem(self._rows(data))
        if self.l1 or problem.outputs * problem.x.shape[1] > MAX_NEWTON_PARAMETERS:
            process = LogisticLBFGS(problem, self.tol, 0.0 if self.l1 else SEPARATED, self.l1)
        else:
            process = LogisticNewton(problem, self.tol, SEPARATED)
        if held is not None:
            process.held = self._rows(held)
        if self.warm_start and hasattr(self, "coef_"):
            process.theta = problem.theta(self.coef_, self.intercept_)
        return process

    def finish(self, process: Any) -> None:
        """Coefficients in the units of x."""
        self.l2_, (w, b) = process.l2, process.problem.coefficients(process.theta)
        # a constant added to all classes changes nothing but Σ |w|
        self._set_planes(w - w.mean(0) if len(w) > 1 and not self.l1 else w, b - b.mean() if len(b) > 1 else b)
        self.loss_ = mean_loss(self.coef_, self.intercept_, *self._kept)

    def unfinished(self, process: Any) -> str:
        """Classes that planes separate, or a gradient that is too large."""
        last = self.history_[-1] if self.history_ else {"gradient": 0.0}
        if last["gradient"] > 10 * self.tol and self.stop_reason_ in ("rounds", "no step lowers the loss"):
            steps = f"{last['gradient']:.2g} after {last['step']:.0f} of {self.epochs} steps"
            return f"The gradient is still {steps}, and tol is {self.tol:g}. Raise epochs, tol, l1 or l2."
        return SEPARABLE if self.l2_ != self.l2 else ""

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """The probability of each class: (n, K)."""
        raw = self.decision_function(X)
        return softmax(raw, axis=1) if raw.ndim == 2 else np.stack([expit(-raw), expit(raw)], 1)

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Logarithms of `predict_proba`, also where those are too small for a float: (n, K)."""
        raw = self.decision_function(X)
        return log_softmax(raw, axis=1) if raw.ndim == 2 else np.stack([log_expit(-raw), log_expit(raw)], 1)

    def summarize(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LogisticSummary:
        """The summary for the rows it was fitted to, passed again: after loading from a file."""
        return self._summarized(self._rows(self.checked(X, y, sample_weight, train=True)))

    def _summarized(self, rows: Rows) -> LogisticSummary:
        loss = mean_loss(self.coef_, self.intercept_, *rows)
        if not abs(loss - self.loss_) <= 1e-6 * (1e-3 + self.loss_):
            what = f"These rows are not those of the fit: their loss is {loss:.4g}, and it had {self.loss_:.4g}."
            raise InputError(f"{what} Pass the rows and weights that the model was fitted to, or fit it again.")
        theta = np.c_[self.intercept_, self.coef_]
        theta = theta[1:] - theta[0] if len(theta) > 1 else theta  # (K - 1, D + 1), against the first class
        return summarize(rows, feature_names(self), self.classes_.tolist(), theta, self.l1, self.l2_)


class LogisticSummary(Summary, kw_only=True):
    """Log-odds with their errors and tests, and how well they fit. NaN where undefined."""

    outcomes: tuple[Any, ...]  # the class whose odds against the first class each is about (P,)
    classes: tuple[Any, ...]  # of y; the first is the one compared with
    covariance: np.ndarray  # of θ̂ (P, P)
    null: float  # ℓ₀ of the intercepts alone
    tjur: float  # difference of mean probabilities
    refit: InitVar[Callable[[], np.ndarray]]  # likelihood ratios (P,)

    def __post_init__(self, refit: Callable[[], np.ndarray]) -> None:
        object.__setattr__(self, "_refit", refit)

    errors = property(lambda self: np.sqrt(self.covariance.diagonal()), doc="Standard errors (P,).")
    z = property(lambda self: self.coefficients / self.errors, doc="Wald statistics (P,).")
    p = property(lambda self: 2 * stats.norm.sf(np.abs(self.z)), doc="Two-sided p of each coefficient (P,).")
    ratios_p = property(lambda self: stats.chi2.sf(self.ratios, 1), doc="p of each likelihood ratio (P,).")
    dof = property(lambda self: self.rank - len(self.classes) + 1, doc="Coefficients besides the intercepts.")
    ratio = property(lambda self: 2 * (self.log_likelihood - self.null), doc="Likelihood ratio against the intercepts.")
    mcfadden = property(lambda self: 1 - self.log_likelihood / self.null, doc="1 - ℓ/ℓ₀.")
    cox_snell = property(lambda self: float(-np.expm1(-self.ratio / self.n)), doc="1 - exp(2 (ℓ₀ - ℓ)/n).")

    @property
    def odds_ratios(self) -> np.ndarray:
        """By what the odds are multiplied where a feature grows by 1: e^θ̂ (P,)."""
        with np.errstate(over="ignore"):
            return np.exp(self.coefficients)

    @property
    def ratio_p(self) -> float:
        """Probability of the ratio if no feature matters."""
        return float(stats.chi2.sf(self.ratio, self.dof)) if np.isfinite(self.errors).any() else np.nan

    @cached_property
    def ratios(self) -> np.ndarray:
        """Likelihood-ratio statistics of each coefficient, by a fit without it (P,); computed when first used."""
        return vars(self)["_refit"]()

    def interval(self, level: float | None = None) -> np.ndarray:
        """Confidence intervals of the coefficients (P, 2)."""
        return np.stack(interval(self.coefficients, self.errors, self.level if level is None else level), 1)

    def table(self) -> Table:
        """One row per coefficient."""
        low, high = self.interval().T
        columns = {"log-odds": self.coefficients, "std error": self.errors, "z": self.z, "p": self.p}
        columns |= {f"{100 * self.level:g} % from": low, "to": high, "odds ratio": self.odds_ratios}
        columns |= {"LR": self.ratios, "LR p": self.ratios_p}
        first = {"class": [str(c) for c in self.outcomes]} if len(self.classes) > 2 else {}
        known = {name: v for name, v in columns.items() if np.isfinite(v).any()}
        return Table({**first, "": self.names, **blank(known)}, " ".join(self.notes))

    def figure(self) -> Figure:
        """Log-odds of the features with their intervals, a panel per class; of many those with the largest |z|."""
        panels: dict[str, list[tuple[str, float, float | None, float | None]]] = {}
        width = len(self.names) // (len(self.classes) - 1)
        slopes = [i for i in range(len(self.names)) if i % width]
        shown = sorted(sorted(slopes, key=lambda i: -np.nan_to_num(abs(self.z[i])))[:MAX_DRAWN])
        for i in shown:
            label = f"log-odds of {self.outcomes[i]} against {self.classes[0]}, per unit of the column as it was fitted"
            low, high = (None if np.isnan(end) else float(end) for end in self.interval()[i])
            panels.setdefault(label, []).append((self.names[i], float(self.coefficients[i]), low, high))
        figure = plots.whiskers(panels, at=0.0)
        known = np.isfinite(self.errors).any()
        title = f"Coefficients with {100 * self.level:g} % intervals" if known else "Coefficients, without intervals"
        figure.axes[0].set_title(title)
        return figure

    @property
    def caption(self) -> str:
        clear = int(np.sum(self.p < 1 - self.level))
        if not np.isfinite(self.errors).any():
            return " ".join(self.notes)
        rest = f"McFadden's R² {self.mcfadden:.4g}; the intervals of {clear} do not hold 0."
        return f"Log-odds of {len(self.names)} coefficients on {self.n:,.10g} rows, {rest}"

    def __str__(self) -> str:
        """As a statistics package prints it."""
        left = {"rows": f"{self.n:,.10g}", "coefficients": self.rank, "log-likelihood": self.log_likelihood}
        left |= {"of the intercepts alone": self.null, f"ratio, χ²({self.dof})": self.ratio}
        left["p of it"] = p_text(self.ratio_p)
        right = {"McFadden's R²": self.mcfadden, "Cox and Snell's": self.cox_snell, "Tjur's": self.tjur}
        right |= {"AIC": self.aic, "BIC": self.bic}
        title = f"Logistic regression: {len(self.classes)} classes, odds against {self.classes[0]}"
        columns = {n: cells for n, cells in self.table().columns.items() if n not in ("LR", "LR p")}
        doubts = changed("Likelihood ratios, better for few rows,", self.names, self.p, self.ratios_p)
        return self._printed(title, [(left, right), page(columns)], [*doubts, *self.notes])


def summarize(
    rows: Rows, names: Sequence[str], classes: Sequence[Any], fitted: np.ndarray, l1: float, l2: float
) -> LogisticSummary:
    """The statistics of logistic regression without a penalty of rows with weights; y are places in `classes`.

    Where planes separate the classes, `fitted` (K - 1, D + 1) is shown: the coefficients of a model with l1 and l2.
    """
    x, y, weight = rows.x, rows.y, np.asarray(rows.weight)
    k, width = len(classes), x.shape[1] + 1
    if (k - 1) * width > MAX_PARAMETERS:
        raise InputError(f"The model has {(k - 1) * width:,} coefficients; a summary is for at most {MAX_PARAMETERS}.")
    kept = design(x, None, True).kept  # of the coefficients of a class (D + 1,)
    problem = LogisticProblem(x[:, kept[1:]], y, weight, k - 1, 0.0)
    best, converged, jump = _maximum(problem)
    lost = converged and jump > ENDLESS or problem.margin(best) > 0
    shares, known = np.bincount(y, weights=weight, minlength=k), np.tile(kept, k - 1)
    covariance = np.full((known.size, known.size), np.nan)
    if lost:
        coefficients = fitted.ravel()
        best = problem.theta(fitted[:, 1:][:, kept[1:]], fitted[:, 0])
    else:
        turn = _turn(problem)
        covariance[np.ix_(known, known)] = turn @ np.linalg.pinv(problem.hessian(best), hermitian=True) @ turn.T
        coefficients = among_all(known, turn @ best.ravel())
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


def _maximum(problem: LogisticProblem, free: Any = True) -> tuple[np.ndarray, bool, float]:
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
    biased = "A penalty biases its coefficients, and no standard error shows by how much, so all numbers here are of"
    notes = {
        "The maximum was not reached to the last digits: take these numbers with care.": not converged,
        f"The model was fitted with {penalty}. {biased} the same model without it.": penalty,
        f"{unknown} coefficients have no number: their columns are constant or follow from those before.": unknown,
    }
    return tuple(note for note, true in notes.items() if true)
