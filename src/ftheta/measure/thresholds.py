"""Decisions from probabilities: the cheapest answer, and the best threshold of a score by a stated criterion.

    answer(x) = argmin_a Σ_k L_ka P(k | x),    P(k | x) ∝ p_k π'_k / π_k   where classes come as often as π', not as π
    threshold t:  of two classes the second is predicted where p > t, as with the costs t and 1 - t
    sensitivity = recall = TP / P     specificity = TN / N = 1 - FPR     precision = TP / (TP + FP)
    cost(t) = (L₀₀ TN + L₀₁ FP + L₁₀ FN + L₁₁ TP) / n;   for calibrated p least at t = l₀ / (l₀ + l₁),
                                                         l₀ = L₀₁ - L₀₀,  l₁ = L₁₀ - L₁₁

Without a loss all errors cost 1. `reject` is what no answer costs: rows whose largest probability is below 1 - reject
then have none (Chow's rule).
A threshold is chosen on validation rows: on training rows p is too sure, and on test rows the choice would use them up.
The rows that chose it flatter it: `corrected` takes off what resampling shows of that (Efron's optimism).
Shapes: n rows, K classes, A answers, J + 1 thresholds for J distinct scores, R resamples.
Reference: Elkan, The foundations of cost-sensitive learning, IJCAI (2001); Efron and Tibshirani, An Introduction to the
Bootstrap (1993), chapter 17.
"""

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from ..catalog import nearest
from ..errors import InputError
from ..formulas import decisions
from ..plots import GREY, PALETTE, Figure, canvas, drawn, legend
from ..results import Result
from ._rows import array, level_of, optional, probabilities, two
from ._sweep import sweep

STEPS, RESAMPLES = 400, 500


class Threshold(Result):
    """The threshold that is best on the rows given, which must be validation rows, and the curve behind it."""

    by: str  # the criterion
    threshold: float  # the best; of equals the middle one
    low: float  # ends of the thresholds that resampled rows choose, at `level`
    high: float
    value: float  # the criterion there, on the rows that chose it
    corrected: float | None  # the same without the optimism of choosing; None where a precision or recall must be kept
    calibrated: float | None  # what would be best for calibrated p and infinitely many rows; None where there is none
    name: str  # the class that is predicted above the threshold
    score: np.ndarray  # distinct scores, falling: (J,)
    thresholds: np.ndarray  # between them, above and below all: (J + 1,)
    criterion: np.ndarray  # at each; NaN where it has no value or is not allowed: (J + 1,)
    tp: np.ndarray  # rows of that class above each: (J + 1,)
    fp: np.ndarray  # other rows above each: (J + 1,)
    level: float  # share of the resamples between low and high

    n = property(lambda self: int(self.tp[-1] + self.fp[-1]), doc="Number of rows.")
    recall = property(lambda self: self.tp / self.tp[-1], doc="At each threshold; it never rises with it: (J + 1,).")
    precision = property(lambda self: _share(self.tp, self.tp + self.fp), doc="At each, NaN above all: (J + 1,).")

    def columns(self) -> Mapping[str, Any]:
        """The choice, one half, and what calibrated probabilities would ask for."""
        marks = {"chosen": self.threshold, "one half": 0.5, "if p is calibrated": self.calibrated}
        kept = {name: t for name, t in marks.items() if t is not None}
        at = [int(np.searchsorted(-self.score, -t)) for t in kept.values()]  # that many scores are above t
        rates = {self.by: self.criterion, "precision": self.precision, "recall": self.recall}
        values = {name: optional(v[at]) for name, v in rates.items()}
        return {"threshold": list(kept), "p above": list(kept.values()), **values}

    @drawn
    def figure(self) -> Figure:
        figure, both = canvas(2, across=1, width=6.4, height=2.9, sharex=True)
        upper, lower = both
        keep = some(len(self.thresholds), 1000)
        at, step = self.thresholds[keep], "steps-mid"
        upper.plot(at, self.criterion[keep], color=PALETTE[0], drawstyle=step, label=self.by)
        lower.plot(at, self.precision[keep], color=PALETTE[1], drawstyle=step, label="precision")
        lower.plot(at, self.recall[keep], color=PALETTE[2], ls="--", drawstyle=step, label="recall")
        for axes in both:
            first = axes is upper
            axes.axvspan(self.low, self.high, color=GREY, alpha=0.2, lw=0, label="choices of resampled rows" * first)
            axes.axvline(self.threshold, color="black", lw=1.2, label=f"chosen: {self.threshold:.3g}" * first)
            if self.calibrated is not None:
                label = f"if p is calibrated: {self.calibrated:.3g}" * first
                axes.axvline(self.calibrated, color=GREY, lw=1.2, ls=(0, (4, 3)), label=label)
        unit = "per row, in units of the loss" if self.by == "cost" else "share"
        upper.set(title=f"Threshold for class {self.name} by {self.by}, on {self.n:,} validation rows")
        upper.set(ylabel=f"{self.by} ({unit})")
        lower.set(xlim=(0, 1), ylim=(-0.02, 1.02), ylabel="share of rows")
        lower.set(xlabel="threshold (probability above which the class is predicted)")
        legend(figure)
        return figure

    @property
    def caption(self) -> str:
        rest = "" if self.corrected is None else f", {self.corrected:.4g} without the optimism of choosing"
        return (
            f"Chosen on these {self.n:,} rows, which must be validation rows: class {self.name} where p > "
            f"{self.threshold:.4g} ({self.low:.4g} to {self.high:.4g} in {100 * self.level:g} % of resamples); "
            f"{self.by} {self.value:.4g} there{rest}."
        )


# of TP, FP (..., J + 1) and P, N (..., 1)
CRITERIA: dict[str, Callable[..., np.ndarray]] = {
    "accuracy": lambda tp, fp, p, n: (tp + n - fp) / (p + n),
    "balanced accuracy": lambda tp, fp, p, n: (_share(tp, p) + _share(n - fp, n)) / 2,
    "f1": lambda tp, fp, p, n: _share(2 * tp, tp + fp + p),
    "recall at precision": lambda tp, fp, p, n, least: np.where(_share(tp, tp + fp) >= least, _share(tp, p), np.nan),
    "precision at recall": lambda tp, fp, p, n, least: np.where(_share(tp, p) >= least, _share(tp, tp + fp), np.nan),
}


def threshold(
    y: Any,
    p: Any,
    by: str = "cost",
    *,
    loss: Any = None,
    at_least: float | None = None,
    classes: Sequence[Any] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Threshold:
    """The best threshold on validation rows: neither those that the model learned from nor the test rows.

    Args:
        by: "cost" (with `loss`; least is best), "accuracy", "balanced accuracy", "f1", "recall at precision" or
            "precision at recall" (with `at_least`).
        loss: What each answer costs (2, 2), a row for each true class.
        at_least: The precision or the recall that must be kept.

    Example:
        >>> threshold([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.9], "cost", loss=[[0, 1], [10, 0]]).threshold
        0.2
    """
    criterion, sign, calibrated = _criterion(by, loss, at_least)
    positive, score, listed = two(y, p, classes)
    s = sweep(positive, score)
    cuts = between(s.score)
    tp, fp = (np.append(0, v).astype(float) for v in (s.tp, s.fp))
    values = criterion(tp, fp, tp[-1], fp[-1])
    best = _best(sign * values)
    if best < 0:
        what = by.split(" at ")[1]
        raise InputError(f"No threshold has {what} of at least {at_least} on these {len(score)} rows; lower at_least.")
    picked, optimism = _resampled(tp, fp, best, criterion, sign, seed)
    tail = (1 - level_of(level)) / 2
    low, high = np.quantile(cuts[picked if picked.size else [best]], [tail, 1 - tail], method="inverted_cdf")
    corrected = float(values[best] - sign * optimism) if at_least is None else None
    chosen = float(cuts[best]), float(low), float(high), float(values[best])
    rates = s.score, cuts, values, tp.astype(int), fp.astype(int)
    return Threshold(by, *chosen, corrected, calibrated, str(listed[1]), *rates, level)


def _criterion(by: str, loss: Any, at_least: float | None) -> tuple[Callable[..., np.ndarray], int, float | None]:
    """The criterion of counts, +1 where much is good and -1 where little is, and its calibrated threshold."""
    if by not in ("cost", *CRITERIA):
        raise InputError(nearest("criterion", by, ["cost", *CRITERIA]))
    if (at_least is None) == (" at " in by):
        raise InputError(f"at_least={at_least} with by={by!r}; it belongs to 'recall at precision' and the reverse.")
    if loss is not None and by != "cost":
        raise InputError(f"A loss was given with by={by!r}; it belongs to by='cost'.")
    if at_least is not None:
        if not isinstance(at_least, Real) or not 0 < at_least <= 1:
            raise InputError(f"at_least is {at_least}; a share above 0 and up to 1 is needed.")
        return lambda *counts: CRITERIA[by](*counts, at_least), 1, None
    if by != "cost":
        return CRITERIA[by], 1, 0.5 if by == "accuracy" else None
    cost = decisions.loss_matrix(loss, 2)
    extra = (cost[0, 1] - cost[0, 0], cost[1, 0] - cost[1, 1]) if cost.shape == (2, 2) else (0.0, 0.0)
    if min(extra) <= 0:
        raise InputError(f"loss is {cost.tolist()}; it must be (2, 2), and each error must cost more than no error.")

    def mean(tp: Any, fp: Any, p: Any, n: Any) -> Any:
        return (cost[0, 0] * (n - fp) + cost[0, 1] * fp + cost[1, 0] * (p - tp) + cost[1, 1] * tp) / (p + n)

    return mean, -1, float(extra[0] / sum(extra))


def between(score: np.ndarray) -> np.ndarray:
    """Thresholds between falling scores (J,), one above and one below all: (J + 1,)."""
    upper, lower = np.append(max(1.0, score[0]), score), np.append(score, min(0.0, score[-1]))
    middle = (upper + lower) / 2
    found = np.where(middle < upper, middle, lower)  # of neighboring floats the lower one separates them
    found[-1] = found[-1] if score[-1] > 0 else -1.0  # p > -1: every row
    return found


def _best(good: np.ndarray) -> int:
    """Where it is largest, of equals the middle one; -1 where there is no value."""
    equal = np.flatnonzero(good == np.fmax.reduce(good))
    return int(equal[len(equal) // 2]) if len(equal) else -1


def _resampled(
    tp: np.ndarray, fp: np.ndarray, best: int, criterion: Callable[..., np.ndarray], sign: int, seed: int
) -> tuple[np.ndarray, float]:
    """What resampled rows choose (R,), and how much better their choice looks on them than on all rows."""
    at = np.unique(np.append(some(len(tp), STEPS + 1), best))
    cells = np.concatenate([np.diff(tp[at]), np.diff(fp[at])])
    n = int(cells.sum())
    drawn = np.random.default_rng([seed, 2]).multinomial(n, cells / n, RESAMPLES).astype(float)
    both = np.pad(drawn.reshape(RESAMPLES, 2, -1).cumsum(-1), ((0, 0), (0, 0), (1, 0)))  # (R, 2, steps + 1)
    found = criterion(both[:, 0], both[:, 1], both[:, 0, -1:], both[:, 1, -1:])
    chosen = np.array([_best(row) for row in sign * found])
    kept = np.flatnonzero((chosen >= 0) & (both[..., -1] > 0).all(1))
    chosen, full = chosen[kept], criterion(tp[at], fp[at], tp[-1], fp[-1])
    return at[chosen], float((sign * (found[kept, chosen] - full[chosen])).sum() / max(len(kept), 1))


def some(n: int, most: int) -> np.ndarray:
    """Positions of at most so many of n points, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))


def _share(part: Any, total: Any) -> np.ndarray:
    """part / total, NaN where there is nothing."""
    return np.where(total > 0, part / np.maximum(total, 1), np.nan)


def decide(
    p: Any,
    loss: Any = None,
    priors: Any = None,
    trained_priors: Any = None,
    reject: float | None = None,
    threshold: float | None = None,
    classes: Sequence[Any] | None = None,
    rejected: Any = "reject",
) -> np.ndarray:
    """The label of each row (n,).

    Args:
        p: Probabilities (n, K), one column per class; (n,) is the probability of the second of two.
        loss: Cost of each answer (K, K), a row for each true class; None: 1 for every error.
        priors: Share of each class where the answers are used (K,); None: as in training.
        trained_priors: Share of each class in the training rows (K,); needed with `priors`.
        reject: Cost of giving no answer; None: one is always given.
        threshold: The second of two classes is the answer where its probability is above it; in place of a loss.
        classes: Labels in the order of the columns; None: 0, 1, ...
        rejected: Label of the rows without an answer.

    Example:
        >>> decide([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]], loss=[[0, 1], [5, 0]], classes=["well", "ill"])
        array(['well', 'ill', 'ill'], dtype='<U4')
    """
    shape = array("p", p).shape
    if len(shape) not in (1, 2) or not shape[0]:
        raise InputError(f"p has shape {shape}; probabilities (n, K) of at least one row are needed.")
    rows, k = shape[0], (*shape, 2)[1]
    labels = list(range(k)) if classes is None else list(classes)
    q = probabilities(p, labels, rows).astype(np.float64)
    if (priors is None) != (trained_priors is None):
        raise InputError("priors= are the shares of use, trained_priors= those of training; pass both or neither.")
    if priors is not None:
        q = decisions.reweigh(q, trained_priors, priors)
    if threshold is None:
        cost = decisions.loss_matrix(loss, k)
        if cost.shape[1] != k:
            raise InputError(f"loss has shape {cost.shape}; an answer for each class is needed, so ({k}, {k}).")
        answer = decisions.decide(q, cost, reject)
    else:
        if k != 2:
            raise InputError(f"threshold={threshold} parts two classes, but p has {k}; give a loss matrix instead.")
        if loss is not None or reject is not None:
            raise InputError(f"threshold={threshold} is a decision by itself; leave loss= and reject= out.")
        if not isinstance(threshold, Real) or not np.isfinite(threshold):
            raise InputError(f"threshold is {threshold!r}; give a finite number.")
        answer = (q[:, 1] > threshold).astype(int)
    return _labeled(answer, labels, rejected)


def _labeled(answer: np.ndarray, labels: list[Any], rejected: Any) -> np.ndarray:
    """Labels in an array of their own kind, or of objects where the label of rejected rows is of another."""
    known = np.array(labels)
    if (answer >= 0).all():
        return known[answer]
    if rejected in labels:
        raise InputError(f"rejected={rejected!r} is the name of a class; give rows without an answer another label.")
    same = np.array([rejected]).dtype.kind == known.dtype.kind
    return np.array([*labels, rejected], dtype=None if same else object)[answer]
