"""Scores: every metric of one set of predictions, each with an interval.

    value [low, high]: with other rows of the same kind, the interval holds the true value in `level` of all cases

    log loss   -mean ln p_y                           Brier      mean Σ_k (p_k - 1[y = k])², halved for two classes
    ROC AUC    P(s⁺ > s⁻) + P(s⁺ = s⁻)/2              average precision   Σ_j (R_j - R_{j-1}) P_j
    R²         1 - Σ(y - ŷ)² / Σ(y - ȳ)²              pinball    mean max(q e, (q - 1) e),  e = y - ŷ_q

Where the rarest class has less than half of n / K rows, as in 10 % against 90 %, its recall comes second.
Over more than two classes, ROC AUC and average precision are means over the classes in y, each against the rest.
Intervals are bootstrap BCa of 1,000 resamples; the ECE has its own (`Bootstrap.abs_interval`), shares with fewer than
10 rows of either kind have Wilson's, areas the normal interval of the log-odds. There is none with fewer than 10 rows,
fewer than 5 of a class that counts by itself, or for a value that no resample moves.

At 400 rows, 95 % intervals cover 93 to 97 % (`results/coverage.json`). Where a few odd rows carry a score they cover
less: with 1 % of the labels at random 91 % (ROC AUC) and 89 % (average precision).
Shapes: n rows, K classes.
Reference: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 14.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from .. import plots
from ..errors import InputError
from ..plots import GREY, PALETTE, Figure, canvas, drawn, short
from ..results import Result, Table
from ._rows import labeled, level_of, numbers, scored
from ._sweep import ap_influence, ap_of, auc_influence, auc_of, log_odds, sweeps
from .curves import gaps
from .intervals import Bootstrap, wilson

MIN_ROWS, MIN_OF_A_CLASS = 10, 5  # fewer have no interval
RARE = 0.5  # a class with less than this share of n / K rows is rare, and its recall is a score
AREAS = ("ROC AUC", "average precision")
_BETTER = {  # panels of the figure
    "share (1 is best)": ("accuracy", "recall", "balanced accuracy", "ROC AUC", "average precision"),
    "loss (0 is best; log loss in nats)": ("log loss", "Brier score", "ECE"),
    "error over that of the naive forecast": ("MASE",),
    "share": ("R²", "coverage"),
    "in units of y": ("RMSE", "MAE", "CRPS", "pinball", "mean width"),
}
_LOSSES = {"MASE", *_BETTER["loss (0 is best; log loss in nats)"], *_BETTER["in units of y"]}
MAX_POINTS = 2000
_QUANTILES = {"smallest": 0.0, "5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95, "largest": 1.0}


class Score(NamedTuple):
    """A metric with its interval, None where there is none; `method` is how it was computed."""

    name: str
    value: float
    low: float | None
    high: float | None
    method: str

    @classmethod
    def of(cls, name: str, value: Any, ends: tuple[float, float] | None, method: str) -> Self:
        """With the ends of its interval, if it has one."""
        return cls(name, float(value), *(ends or (None, None)), method if ends else "none")


class Scores(Result, eq=True):
    """Metrics of one set of predictions."""

    n: int  # rows
    level: float  # confidence level of the intervals
    scores: tuple[Score, ...]

    def table(self) -> Table:
        """One row per metric; "none" where no interval could be computed."""
        rows = [(s.name, s.value, *(("none", "none") if s.low is None else (s.low, s.high))) for s in self.scores]
        columns: dict[str, Any] = dict(zip(("metric", "value", "low", "high"), zip(*rows, strict=True), strict=True))
        return Table(columns, f"{self.n:,} rows; low and high are {100 * self.level:g} % confidence intervals.")

    def figure(self) -> Figure:
        kinds = [(s.name.partition("(")[0], s[:4]) for s in self.scores]
        panels = {label: [row for kind, row in kinds if kind in names] for label, names in _BETTER.items()}
        title = f"Scores on {self.n:,} rows with {100 * self.level:g} % intervals"
        return plots.whiskers({label: rows for label, rows in panels.items() if rows}, title=title)

    def as_json(self) -> dict[str, Any]:
        """Rows, level, and the score, interval and method of each metric as JSON values; None is undefined."""
        values = {s.name: s.value if np.isfinite(s.value) else None for s in self.scores}
        intervals = {s.name: None if s.low is None else [s.low, s.high] for s in self.scores}
        method = {s.name: s.method for s in self.scores}
        return {"rows": self.n, "level": self.level, "scores": values, "intervals": intervals, "method": method}

    @property
    def caption(self) -> str:
        found = in_words(s[:4] for s in self.scores)
        return f"Scores on {self.n:,} rows with {100 * self.level:g} % intervals: {found}."


def in_words(rows: Iterable[tuple[str, float, float | None, float | None]]) -> str:
    """Names, values and intervals in one line."""
    return ", ".join(f"{n} {v:.4g}" + ("" if a is None else f" ({a:.4g} to {b:.4g})") for n, v, a, b in rows)


def classification(
    y: Any, p: Any, classes: Sequence[Any] | None = None, *, level: float = 0.95, seed: int = 0
) -> Scores:
    """Every metric of predicted probabilities.

    Args:
        y: True labels (n,).
        p: Probabilities (n, K), one column per class; the likeliest is what is predicted.
        classes: The classes in the order of the columns; None takes the sorted labels of y.
        level: Confidence level of the intervals.
        seed: Seed of the resamples.

    Example:
        >>> classification([0, 1, 1], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]).scores[0]
        Score(name='accuracy', value=0.667, low=0.208, high=0.939, method='Wilson')
    """
    truth, q, listed = scored(y, p, classes)
    rows = np.bincount(truth, minlength=len(listed))
    boot = Bootstrap(len(truth), level_of(level), seed=seed)
    few = rows[rows > 0].min() < MIN_OF_A_CLASS or (rows > 0).sum() < 2
    ece = float(sum(abs(c.sum()) for c in gaps(truth, q)) / boot.n)
    found = (
        *_hits(truth, q.argmax(1), listed, boot),
        mean_score("log loss", log_loss_rows(truth, q), boot),
        mean_score("Brier score", brier_rows(truth, q), boot),
        *_areas(truth, q, boot.level, few),
        Score.of("ECE", ece, None if boot.n < MIN_ROWS else boot.abs_interval(gaps(truth, q)), "bootstrap, basic"),
    )
    return Scores(len(truth), boot.level, found)


def labels(
    y: Any, predicted: Any, classes: Sequence[Any] | None = None, *, level: float = 0.95, seed: int = 0
) -> Scores:
    """Every metric of predicted labels (n,), without probabilities; other arguments as in `classification`."""
    listed, (truth, guess) = labeled(classes, y=y, predicted=predicted)
    boot = Bootstrap(len(truth), level_of(level), seed=seed)
    return Scores(len(truth), boot.level, _hits(truth, guess, listed, boot))


def _hits(truth: np.ndarray, guess: np.ndarray, listed: Sequence[Any], boot: Bootstrap) -> tuple[Score, ...]:
    """Accuracy, the recall of a rare class, and the mean recall of the classes."""
    hit, seen = guess == truth, np.unique(truth)
    own = [truth == k for k in seen]
    few = min(k.sum() for k in own) < MIN_OF_A_CLASS
    balanced = float(np.mean([hit[k].mean() for k in own]))
    pairs = (c for k in own for c in (k, k & hit))
    k = int(np.argmin([k.sum() for k in own]))
    rare = hit[own[k]] if own[k].sum() < RARE * len(truth) / len(seen) else hit[:0]
    recall = [_share(f"recall({listed[seen[k]]})", rare, replace(boot, n=len(rare)))] if len(rare) else []
    return _share("accuracy", hit, boot), *recall, _other("balanced accuracy", balanced, boot, pairs, _mean_recall, few)


def regression(
    y: Any,
    predicted: Any,
    *,
    low: Any = None,
    high: Any = None,
    nominal: float = 0.95,
    level: float = 0.95,
    seed: int = 0,
) -> Scores:
    """Every metric of predicted numbers, in units of y; with intervals, their coverage, width and pinball loss too.

    Args:
        y: True numbers (n,).
        predicted: Predictions (n,).
        low: Lower ends of prediction intervals (n,).
        high: Upper ends (n,).
        nominal: What the prediction intervals promise; `pinball` is the mean loss of their ends at (1 ± nominal) / 2.
        level: Confidence level of the intervals of the scores.
        seed: Seed of the resamples.
    """
    y, predicted = numbers(y=y, predicted=predicted)
    boot = Bootstrap(len(y), level_of(level), seed=seed)
    one, square, centered = np.ones(len(y)), (y - predicted) ** 2, y - y.mean()
    r2, rmse = float(_r2(np.array([len(y), square.sum(), 0.0, (centered**2).sum()]))), float(np.sqrt(square.mean()))
    found = [
        _other("R²", r2, boot, (one, square, centered, centered**2), _r2),
        _other("RMSE", rmse, boot, (one, square), lambda s: np.sqrt(s[..., 1] / s[..., 0])),
        mean_score("MAE", abs(y - predicted), boot),
    ]
    if (low is None) != (high is None):
        raise InputError("One end of the prediction intervals is missing; pass both low= and high=.")
    if low is not None:
        y, low, high = numbers(y=y, low=low, high=high, infinite=True)
        tail = (1 - level_of(nominal)) / 2
        below, above = (np.maximum(q * (y - end), (q - 1) * (y - end)) for q, end in ((tail, low), (1 - tail, high)))
        found += [
            mean_score("pinball", (below + above) / 2, boot),
            _share("coverage", (low <= y) & (y <= high), boot),
            mean_score("mean width", high - low, boot),
        ]
    return Scores(len(y), boot.level, tuple(found))


# ---- each with its interval


def _share(name: str, hit: np.ndarray, boot: Bootstrap) -> Score:
    k, n = int(hit.sum()), len(hit)
    if min(k, n - k) < MIN_ROWS:
        return Score(name, k / n, *wilson(k, n, boot.level), "Wilson")
    return mean_score(name, hit, boot)


def mean_score(name: str, rows: np.ndarray, boot: Bootstrap) -> Score:
    """The mean of rows (n,) with its interval."""
    return _other(name, float(rows.mean()), boot, (np.ones(len(rows)), rows), lambda s: s[..., 1] / s[..., 0])


def _other(
    name: str,
    value: float,
    boot: Bootstrap,
    columns: Iterable[np.ndarray],
    f: Callable[[np.ndarray], np.ndarray],
    few: bool | np.bool_ = False,
) -> Score:
    """A score whose interval is bootstrapped, if there is enough to resample."""
    found = None if few or boot.n < MIN_ROWS or not np.isfinite(value) else boot.interval(columns, f)
    return Score.of(name, value, found, "bootstrap BCa")


def _areas(truth: np.ndarray, p: np.ndarray, level: float, few: bool | np.bool_) -> list[Score]:
    """ROC AUC and average precision, means over classes; with few rows in a class they have no interval."""
    values, influence, none = [], np.zeros((2, len(truth))), bool(few) or len(truth) < MIN_ROWS
    for rows, s in sweeps(truth, p):
        values.append((auc_of(s), ap_of(s)))
        influence += 0.0 if none else (auc_influence(rows, s), ap_influence(rows, s))
    found = []
    for name, value, phi in zip(AREAS, np.mean(values, axis=0), influence / len(values), strict=True):
        found.append(Score.of(name, value, log_odds(float(value), phi, level), "influence, log-odds"))
    return found


def log_loss_rows(truth: np.ndarray, p: np.ndarray) -> np.ndarray:
    """-ln p_y in nats, p clipped to [ε, 1 - ε] with ε of its dtype: (n,), (n, K) -> (n,)."""
    eps = np.finfo(p.dtype).eps
    return -np.log(np.clip(p[np.arange(len(p)), truth], eps, 1 - eps).astype(np.float64))


def brier_rows(truth: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Σ_k (p_k - 1[y = k])², halved for two classes: (n,), (n, K) -> (n,)."""
    own = p[np.arange(len(p)), truth].astype(np.float64)
    rest = np.einsum("nk,nk->n", p, p, dtype=np.float64) - own**2  # Σ_{k != y} p_k²
    return ((1 - own) ** 2 + rest) / (2 if p.shape[1] == 2 else 1)


def _mean_recall(s: np.ndarray) -> np.ndarray:
    """The mean over classes that were drawn: sums of rows and right rows, class by class (..., 2K) -> (...)."""
    rows, right = s[..., ::2], s[..., 1::2]
    return (right / np.maximum(rows, 1)).sum(-1) / (rows > 0).sum(-1)


def _r2(s: np.ndarray) -> np.ndarray:
    """R² from n, Σ(y - ŷ)², Σy, Σy²: NaN for one row; of a constant y, 1 if all is right, else 0."""
    n, error, first, second = np.moveaxis(s, -1, 0)
    total = second - first**2 / n
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(total > 0, 1 - error / total, np.where(error > 0, 0.0, 1.0))
    return np.where(n > 1, share, np.nan)


# ---- residuals r_i = y_i - ŷ_i, above 0 where the prediction is too low


class Residuals(Result):
    """True and predicted numbers."""

    y: np.ndarray  # true numbers (n,)
    predicted: np.ndarray  # (n,)
    name: str = "y"  # what y is, with its unit; it labels the axes
    low: np.ndarray | None = None  # ends of intervals (n,)
    high: np.ndarray | None = None

    def columns(self) -> Mapping[str, Any]:
        """Mean, standard deviation and quantiles of y - ŷ, and its squares: their mean and their sum."""
        r = self.y - self.predicted
        found = {"mean": r.mean(), "standard deviation": r.std()}
        found |= {name: np.quantile(r, q) for name, q in _QUANTILES.items()}
        found |= {"mean of squares (unit²)": (r**2).mean(), "sum of squares (unit²)": (r**2).sum()}
        return {"statistic": list(found), f"in units of {self.name}": list(found.values())}

    @drawn
    def figure(self) -> Figure:
        figure, (left, right) = canvas(2, width=4.5, height=4.2)
        n, name, r = len(self.y), short(self.name, 30), self.y - self.predicted
        shown = slice(None, None, -(-n // MAX_POINTS))
        some = f"{len(r[shown]):,} of {n:,} rows" if n > MAX_POINTS else f"{n:,} rows"
        if self.low is not None and self.high is not None:
            ends = self.low[shown], self.high[shown]
            left.vlines(self.y[shown], *ends, color=PALETTE[5], lw=1, alpha=0.35, label="95 % interval")
        left.plot(self.y[shown], self.predicted[shown], "o", color=PALETTE[0], ms=3.5, alpha=0.45, mew=0)
        left.axline((self.y.mean(),) * 2, slope=1, color=GREY, lw=1, ls=(0, (4, 3)), label="perfect")
        left.set(title=f"Predicted and true ({some})", xlabel=f"true {name}", ylabel=f"predicted {name}")
        right.hist(r, bins=min(50, max(5, round(2 * n ** (1 / 3)))), color=PALETTE[5], edgecolor="white", lw=0.5)
        right.axvline(0, color=GREY, lw=1, ls=(0, (4, 3)))
        right.axvline(r.mean(), color=PALETTE[1], label=f"mean {r.mean():.3g}")
        right.set(title="Residuals", xlabel=f"true - predicted {name}", ylabel="rows")
        for axes in (left, right):
            axes.legend(loc="best")
        return figure

    @property
    def caption(self) -> str:
        r = self.y - self.predicted
        return (
            f"Residuals of {self.name} on {len(r):,} rows: mean {r.mean():.4g}, standard deviation {r.std():.4g}, "
            f"half of them between {np.quantile(r, 0.25):.4g} and {np.quantile(r, 0.75):.4g}, "
            f"the largest {r[abs(r).argmax()]:.4g}."
        )


def residuals(y: Any, predicted: Any, *, low: Any = None, high: Any = None, name: str = "y") -> Residuals:
    """True minus predicted numbers of the same rows; `name` is what y is, with its unit.

    `low` and `high` are ends of intervals, for the figure.
    """
    y, predicted = numbers(y=y, predicted=predicted)
    low, high = (None, None) if low is None else numbers(low=low, high=high)
    return Residuals(y, predicted, name, low, high)


def lower_is_better(metric: str) -> bool:
    """Whether a score is a loss.

    Example:
        >>> lower_is_better("log loss"), lower_is_better("accuracy")
        (True, False)
    """
    return metric in _LOSSES
