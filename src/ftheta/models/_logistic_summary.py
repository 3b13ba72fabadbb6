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
from dataclasses import InitVar, dataclass
from functools import cached_property, partial
from itertools import zip_longest
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from .. import plots
from ..errors import InputError
from ..formulas import chi2_test, interval, two_sided
from ..results import Result, Table
from ._logistic_maximum import Maximum, Rows, derivatives, maximum
from ._logistic_separated import no_maximum
from ._softmax import Softmax

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LogisticSummary", "summarise"]

WIDTH = 78  # letters of a printed line
MOST = 2000  # parameters of a summary
DRAWN = 40  # coefficients of a picture
FLAT = 1e-11  # eigenvalues of the information, its diagonal 1, that are none


@dataclass(frozen=True, eq=False)
class LogisticSummary(Result):
    """Log-odds with their errors and tests, and how well they fit. NaN is what cannot be said.

    Args:
        names: Of the coefficients, the intercept first (P,).
        outcomes: The class whose odds against the first class each is about (P,).
        classes: Of y; the first is the one compared with.
        coefficients: Log-odds θ̂ (P,).
        covariance: Of θ̂ (P, P).
        n: Weight of all rows: their count where there were no weights.
        rank: Independent coefficients.
        log_likelihood: ℓ at θ̂.
        null: ℓ₀ of the intercepts alone.
        tjur: Difference of mean probabilities.
        level: Of the confidence intervals.
        notes: What a reader must know.
    """

    names: tuple[str, ...]
    outcomes: tuple[Any, ...]
    classes: tuple[Any, ...]
    coefficients: np.ndarray
    covariance: np.ndarray
    n: float
    rank: int
    log_likelihood: float
    null: float
    tjur: float
    level: float
    notes: tuple[str, ...]
    refit: InitVar[Callable[[np.ndarray], np.ndarray]]  # which coefficients (P,) -> their likelihood ratios (P,)

    def __post_init__(self, refit: Callable[[np.ndarray], np.ndarray]) -> None:
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
        return two_sided(self.z)

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
        return vars(self)["_refit"](np.isfinite(self.errors))

    @property
    def ratios_p(self) -> np.ndarray:
        """Probability of a ratio at least as large if the coefficient is 0 (P,)."""
        return chi2_test(self.ratios, 1)

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
        return float(chi2_test(self.ratio, self.dof)) if np.isfinite(self.errors).any() else np.nan

    @property
    def mcfadden(self) -> float:
        """1 - ℓ/ℓ₀."""
        return 1 - self.log_likelihood / self.null

    @property
    def cox_snell(self) -> float:
        """1 - exp(2 (ℓ₀ - ℓ)/n)."""
        return float(-np.expm1(-self.ratio / self.n))

    @property
    def aic(self) -> float:
        """2 r - 2 ℓ."""
        return 2 * self.rank - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """r log n - 2 ℓ."""
        return self.rank * float(np.log(self.n)) - 2 * self.log_likelihood

    def table(self) -> Table:
        """One line a coefficient."""
        low, high = self.interval().T
        columns = {"log-odds": self.coefficients, "std error": self.errors, "z": self.z, "p": self.p}
        columns |= {f"{100 * self.level:g} % from": low, "to": high, "odds ratio": self.odds_ratios}
        columns |= {"LR": self.ratios, "LR p": self.ratios_p}
        first = {"class": [str(c) for c in self.outcomes]} if len(self.classes) > 2 else {}
        return Table({**first, "": self.names, **{name: _blank(values) for name, values in columns.items()}})

    def figure(self) -> Figure:
        """Log-odds of the features with their intervals, a panel a class; of many those with the largest |z|."""
        panels: dict[str, list[tuple[str, float, float | None, float | None]]] = {}
        width = len(self.names) // (len(self.classes) - 1)
        slopes = [i for i in range(len(self.names)) if i % width]
        shown = sorted(sorted(slopes, key=lambda i: -np.nan_to_num(abs(self.z[i])))[:DRAWN])
        for i in shown:
            label = f"log-odds of {self.outcomes[i]} against {self.classes[0]}, for each unit of a feature"
            low, high = _blank(self.interval()[i])
            panels.setdefault(label, []).append((self.names[i], float(self.coefficients[i]), low, high))
        figure = plots.whiskers(panels, at=0.0)
        figure.axes[0].set_title(f"Coefficients with {100 * self.level:g} % intervals")
        return figure

    @property
    def alt(self) -> str:
        """What the picture shows."""
        clear = int(np.sum(self.p < 1 - self.level))
        return (
            f"Log-odds of {len(self.names)} coefficients on {self.n:,.10g} rows, McFadden's R² {self.mcfadden:.4g}; "
            f"the intervals of {clear} do not hold 0."
        )

    def __str__(self) -> str:
        """The whole, as a statistics package prints it."""
        table = str(self.table())
        width = max(WIDTH, *map(len, table.splitlines()))
        left = {"rows": self.n, "coefficients": self.rank, "log-likelihood": self.log_likelihood}
        left |= {"of the intercepts alone": self.null, f"ratio, χ²({self.dof})": self.ratio, "p of it": self.ratio_p}
        right = {"McFadden's R²": self.mcfadden, "Cox and Snell's": self.cox_snell, "Tjur's": self.tjur}
        right |= {"AIC": self.aic, "BIC": self.bic}
        title = f"Logistic regression: {len(self.classes)} classes, odds against {self.classes[0]}"
        parts = [title.center(width).rstrip(), "=" * width, _sides(left, right, width), "-" * width, table, "-" * width]
        return "\n".join([*parts, *(fill(note, width) for note in self.notes)])


def _blank(values: np.ndarray) -> list[float | None]:
    """NaN as nothing."""
    return [None if np.isnan(v) else v for v in values.tolist()]


def _sides(left: dict[str, float], right: dict[str, float], width: int) -> str:
    """Two blocks of names and numbers, side by side."""
    half = width // 2 - 2
    sides = [[f"{name}{_shown(v):>{half - len(name)}}" for name, v in side.items()] for side in (left, right)]
    return "\n".join("    ".join(line).rstrip() for line in zip_longest(*sides, fillvalue=" " * half))


def _shown(value: float) -> str:
    if np.isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) < 1e15 and value == round(value) else f"{value:#.5g}".rstrip(".")


# ---- computing


def summarise(
    x: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    names: Sequence[str],
    classes: Sequence[Any],
    fitted: np.ndarray,
    *,
    l1: float = 0.0,
    l2: float = 0.0,
    level: float = 0.95,
) -> LogisticSummary:
    """The statistics of logistic regression of y on the columns of x, without a penalty.

    Args:
        x: Features (n, D), checked.
        y: Places in `classes` (n,).
        weight: Counts of the rows (n,).
        names: Of the features (D,).
        classes: The first is the one compared with.
        fitted: Coefficients of the model with its penalty, told where there are none without (K - 1, D + 1).
        l1: That penalty.
        l2: The same.
        level: Of the confidence intervals.
    """
    k, width = len(classes), x.shape[1] + 1
    if (k - 1) * width > MOST:
        raise InputError(
            f"The model has {(k - 1) * width:,} coefficients; a summary is for at most {MOST:,}. Choose fewer columns."
        )
    x1, y1, weight1 = (torch.from_numpy(np.array(a)) for a in (x, y, weight))
    model = Softmax(x1, y1, weight1, k, 0.0)
    rows = Rows(torch.cat([torch.ones_like(x1[:, :1]), model.rows(slice(None))], 1), y1, weight1)
    best, turn = maximum(rows, torch.ones(k - 1, width, dtype=torch.bool)), _turn(model, k)
    if lost := _separated(best, model):
        held = torch.from_numpy(fitted)
        theta = model.standardised(held[:, 1:], held[:, 0]).roll(1, 1)
        best = best._replace(theta=theta, value=derivatives(rows, theta)[0])
    covariance, rank = _covariance(best, turn, _undecided(model, k))
    known = np.isfinite(covariance.diagonal())
    shares = np.bincount(y, weights=weight, minlength=k)
    return LogisticSummary(
        names=tuple(["intercept", *map(str, names)] * (k - 1)),
        outcomes=tuple(c for c in classes[1:] for _ in range(width)),
        classes=tuple(classes),
        coefficients=np.where(known | lost, turn @ best.theta.flatten().numpy(), np.nan),
        covariance=np.full_like(covariance, np.nan) if lost else covariance,
        n=float(weight.sum()),
        rank=rank,
        log_likelihood=best.value,
        null=float((shares * np.log(shares / shares.sum())).sum()),
        tjur=_tjur(rows, best.theta),
        level=level,
        notes=_notes(lost, best.converged, known, l1, l2),
        refit=partial(_ratios, rows, model.mean / model.scale, best),
    )


def _ratios(rows: Rows, centre: Tensor, best: Maximum, wanted: np.ndarray) -> np.ndarray:
    """2 (ℓ - max ℓ without it) of each coefficient that is wanted (P,); `centre` is mean over deviation (D,)."""
    found = np.full(len(wanted), np.nan)
    plain = rows._replace(x=rows.x.clone())  # around 0, where an intercept of 0 means what it says
    plain.x[:, 1:] += centre
    for i in np.flatnonzero(wanted):
        free = torch.ones_like(best.theta, dtype=torch.bool)
        free.view(-1)[i] = False
        slope = bool(i % free.shape[1])
        without = maximum(rows if slope else plain, free, best.theta if slope else None)
        found[i] = max(0.0, 2 * (best.value - without.value)) if without.converged else np.nan
    return found


def _turn(model: Softmax, k: int) -> np.ndarray:
    """What makes coefficients of standardised columns those of x: (P, P)."""
    turn = np.diag(np.r_[1.0, 1 / model.scale.numpy()])
    turn[0, 1:] = -(model.mean / model.scale).numpy()
    return np.kron(np.eye(k - 1), turn)


def _separated(best: Maximum, model: Softmax) -> bool:
    """Whether planes separate the classes."""
    all_of = torch.cat([torch.zeros_like(best.theta[:1]), best.theta])  # (K, D + 1)
    return no_maximum(model, all_of.roll(-1, 1), 1e-8 if best.converged else 1.0)


def _undecided(model: Softmax, k: int) -> np.ndarray:
    """Coefficients of columns that do not vary, and the intercepts that such a column can stand for: (P,)."""
    still = model.scale.isinf().numpy()
    return np.tile(np.r_[bool((model.mean.numpy()[still] != 0).any()), still], k - 1)


def _covariance(best: Maximum, turn: np.ndarray, unknown: np.ndarray) -> tuple[np.ndarray, int]:
    """I⁻¹ in the units of x (P, P), NaN where the rows do not decide a coefficient, and the rank of I."""
    h = best.information.numpy()
    size = np.sqrt(np.where(h.diagonal() > 0, h.diagonal(), 1.0))
    e, u = np.linalg.eigh(h / size / size[:, None])
    flat, u = e <= FLAT * e[-1], turn @ (u / size[:, None])
    some = u[:, ~flat] / np.sqrt(e[~flat])
    unknown = unknown | (np.abs(u[:, flat]).max(1, initial=0.0) > 1e-6 * np.abs(u).max(1))
    covariance = some @ some.T
    covariance[unknown] = covariance[:, unknown] = np.nan
    return covariance, int((~flat).sum())


def _tjur(rows: Rows, theta: Tensor) -> float:
    """Mean p_k over rows of class k minus that over the others, the mean over the classes."""
    p = torch.cat([torch.zeros_like(rows.weight)[None], theta @ rows.x.T]).softmax(0)  # (K, n)
    own = torch.nn.functional.one_hot(rows.y, len(p)).T * rows.weight
    other = rows.weight - own
    return float(((p * own).sum(1) / own.sum(1) - (p * other).sum(1) / other.sum(1)).mean())


def _notes(lost: bool, converged: bool, known: np.ndarray, l1: float, l2: float) -> tuple[str, ...]:
    penalty = " and ".join(f"{name}={value:g}" for name, value in (("l1", l1), ("l2", l2)) if value)
    if lost:
        return (
            "Planes separate the classes, so the likelihood has no maximum and there are no standard errors and no "
            f"tests; the coefficients are those of the penalised fit ({penalty}).",
        )
    notes = []
    if not converged:
        notes.append("The maximum was not reached to the last digits: take these numbers with care.")
    if penalty:
        notes.append(
            f"The model was fitted with {penalty}. A penalty biases its coefficients, and no standard error tells by "
            "how much, so all numbers here are of the same model without it."
        )
    if not known.all():
        notes.append(
            f"{int((~known).sum())} coefficients are not decided by these rows, since columns depend on each other or "
            "do not vary: they have no number."
        )
    return tuple(notes)
