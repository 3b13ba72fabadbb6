"""Curves over every threshold of a score: ROC, precision and recall, costs, and rejection; calibration.

    TPR = TP / P (recall)      FPR = FP / N      precision = TP / (TP + FP)
    cost(PC) = FNR PC + FPR (1 - PC),    PC = π₁ l₁ / (π₁ l₁ + π₀ l₀)     π_k: share of class k, l_k: cost of its errors
    coverage(t) = share of rows with max_k p_k >= t,      accuracy(t) = share of these that are right
    ECE = Σ_b (n_b / n) |accuracy_b - confidence_b|,      confidence = max_k p_k,   right = (argmax_k p_k = y)

ROC and precision-recall have one curve for the second of two classes; of more, one for each class in y. A point of the
ROC curve is a line of cost; the least cost at each PC is their lower envelope. By Chow's rule no other order of
rejecting rows is better where p is the truth. Bins b of calibration are of equal width on [0, 1], open to the left; the
ECE of a finite sample is too large on average, most of all where the model is calibrated.
Shapes: n rows, K classes, C curves, J distinct scores of a curve, G places along PC, B bins.
Reference: Fawcett, An introduction to ROC analysis, Pattern Recognition Letters 27 (2006); Drummond and Holte, Cost
curves, Machine Learning 65 (2006); Chow, On optimum recognition error and reject tradeoff, IEEE Trans. IT 16 (1970);
Guo, Pleiss, Sun and Weinberger, On calibration of modern neural networks, ICML (2017).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError
from ..plots import GREY, PALETTE, Figure, canvas, drawn, legend, short
from ..results import Result
from ._rows import scored, two
from ._sweep import ap_of, auc_of, sweep, sweeps
from .intervals import wilsons
from .thresholds import between, some

MAX_POINTS = 400  # drawn of a line
GRID, BINS = np.linspace(0, 1, 201), 10  # BINS: of confidence


class _Curves(Result):
    """Two rates over all thresholds, one curve per class."""

    names: tuple[str, ...]  # the positive class of each curve
    n: int  # rows
    positives: np.ndarray  # rows of that class: (C,)
    x: tuple[np.ndarray, ...]  # from 0 to 1: C arrays (J + 1,)
    y: tuple[np.ndarray, ...]  # C arrays (J + 1,)
    areas: np.ndarray  # (C,)

    title: ClassVar[str]
    area: ClassVar[tuple[str, str]]  # name of the area, and what it is called in a legend
    labels: ClassVar[tuple[str, str]]
    style: ClassVar[str] = "default"
    chance: ClassVar[Any]  # height of the line of chance at its ends

    mean: ClassVar[Callable[..., np.ndarray]]  # of all curves, on GRID

    def columns(self) -> Mapping[str, Any]:
        return {"class": list(self.names), "rows": self.positives.tolist(), self.area[0]: self.areas.tolist()}

    @drawn
    def figure(self) -> Figure:
        short_name, (low, high) = self.area[1], self.chance
        lines = {
            f"{name} ({short_name} {area:.3f})": (x, y)
            for name, area, x, y in zip(self.names, self.areas, self.x, self.y, strict=True)
        }
        if len(self.names) > len(PALETTE):
            lines = {f"mean of {len(self.names)} classes ({short_name} {self.areas.mean():.3f})": (GRID, self.mean())}
        figure, axes = canvas(width=5.4, height=5.2)
        for name, (x, y) in lines.items():
            keep = some(len(x), MAX_POINTS)
            axes.plot(x[keep], y[keep], drawstyle=self.style, clip_on=False, label=short(name))
        axes.plot((0, 1), (low, high), color=GREY, lw=1, ls=(0, (4, 3)), label="chance", zorder=1)
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", title=self.title)
        axes.set(xlabel=self.labels[0], ylabel=self.labels[1])
        legend(figure, width=60)
        return figure

    @property
    def caption(self) -> str:
        (name, _), areas = self.area, self.areas
        low, high = int(areas.argmin()), int(areas.argmax())
        ends = f"from {areas[low]:.3f} ({self.names[low]}) to {areas[high]:.3f} ({self.names[high]})"
        text = f"mean {name} {areas.mean():.3f} over {len(areas)} classes, {ends}"
        text = f"{name} {areas[0]:.3f} for class {self.names[0]}" if len(areas) == 1 else text
        return f"{self.title} on {self.n:,} rows: {text}; chance is {np.mean(self.chance):.3g}."


class Roc(_Curves):
    """ROC curves: `x` is the false positive rate, `y` the true positive rate."""

    title, area = "ROC", ("ROC AUC", "AUC")
    labels = "false positive rate (share of negatives)", "true positive rate (share of positives)"
    fpr = property(lambda self: self.x)
    tpr = property(lambda self: self.y)
    chance = property(lambda self: (0.0, 1.0))

    def mean(self) -> np.ndarray:
        found = np.mean([np.interp(GRID, x, y) for x, y in zip(self.x, self.y, strict=True)], axis=0)
        found[0] = 0
        return found


class PrecisionRecall(_Curves):
    """Precision-recall curves: `x` is the recall, `y` the precision of all rows down to the score that gives it."""

    title, area, style = "Precision and recall", ("average precision", "AP"), "steps-pre"
    labels = "recall (share of positives found)", "precision (share of the found that are positive)"
    recall = property(lambda self: self.x)
    precision = property(lambda self: self.y)
    chance = property(lambda self: (float(self.positives.mean() / self.n),) * 2)

    def mean(self) -> np.ndarray:
        return np.mean([y[np.searchsorted(x, GRID)] for x, y in zip(self.x, self.y, strict=True)], axis=0)


def roc(y: Any, p: Any, classes: Sequence[Any] | None = None) -> Roc:
    """The ROC curves of predicted probabilities."""
    return _swept(Roc, y, p, classes, lambda s: (s.fp / s.fp[-1], s.tp / s.tp[-1]), (0, 0), auc_of)


def precision_recall(y: Any, p: Any, classes: Sequence[Any] | None = None) -> PrecisionRecall:
    """The precision-recall curves of predicted probabilities; arguments as in `roc`."""
    rates: Any = lambda s: (s.tp / s.tp[-1], s.tp / (s.tp + s.fp))  # noqa: E731
    return _swept(PrecisionRecall, y, p, classes, rates, (0, 1), ap_of)


def _swept(kind: Any, y: Any, p: Any, classes: Any, rates: Any, start: tuple[int, int], area: Any) -> Any:
    """The curves of each class: their rates from `start` on, and their areas."""
    truth, q, listed = scored(y, p, classes)
    seen = np.unique(truth)
    if len(seen) < 2:
        raise InputError(f"All rows of y are {listed[seen[0]]!s}; a curve over thresholds needs rows of two classes.")
    names = (str(listed[1]),) if len(listed) == 2 else tuple(str(listed[k]) for k in seen)
    found = [s for _, s in sweeps(truth, q)]
    x, y = zip(*([np.append(a, v) for a, v in zip(start, rates(s), strict=True)] for s in found), strict=True)
    return kind(names, len(truth), np.array([s.tp[-1] for s in found]), x, y, np.array([area(s) for s in found]))


class CostCurve(Result):
    """Normalized expected cost over the probability-cost PC."""

    name: str  # the second class, which is predicted above a threshold
    n: int  # rows
    thresholds: np.ndarray  # falling, from none to all rows above: (J + 1,)
    fpr: np.ndarray  # false positive rate of each: (J + 1,)
    fnr: np.ndarray  # false negative rate of each: (J + 1,)
    pc: np.ndarray  # places along PC: (G,)
    best: np.ndarray  # index of the cheapest threshold at each: (G,)
    envelope: np.ndarray  # the least cost at each: (G,)

    trivial = property(lambda self: np.minimum(self.pc, 1 - self.pc), doc="Cost of the better constant answer: (G,).")

    @property
    def area(self) -> float:
        """Under the envelope: the mean cost where every PC is as likely; 0 is perfect, 0.25 the constant answers."""
        return float(np.trapezoid(self.envelope, self.pc))

    def columns(self) -> Mapping[str, Any]:
        """Nine places along PC: the best threshold, its rates and its cost, and that of the better constant answer."""
        at = np.searchsorted(self.pc, np.arange(1, 10) / 10 - 1e-9)
        best = self.best[at]
        rates = {"false positive rate": self.fpr[best], "false negative rate": self.fnr[best]}
        costs = {"cost": self.envelope[at], "constant answer": self.trivial[at]}
        return {"PC": self.pc[at], "threshold": self.thresholds[best], **rates, **costs}

    @drawn
    def figure(self) -> Figure:
        figure, axes = canvas(width=6.0, height=4.6)
        keep = some(len(self.fpr), 40)
        lines = axes.plot((0, 1), (self.fpr[keep], self.fnr[keep]), color=GREY, ls="-", lw=0.5, alpha=0.6)
        lines[0].set_label("one threshold")
        axes.plot((0, 0.5, 1), (0, 0.5, 0), color=PALETTE[1], ls="--", label="constant answers")
        axes.plot(self.pc, self.envelope, color=PALETTE[0], ls="-", lw=2.4, label="best threshold")
        axes.set(xlim=(0, 1), ylim=(0, max(0.52, 1.1 * float(self.envelope.max()))))
        axes.set(title=f"Cost curve for class {self.name}", ylabel="expected cost (share of the worst)")
        axes.set_xlabel("probability-cost PC (share of the worst cost that misses would make)")
        legend(figure)
        return figure

    @property
    def caption(self) -> str:
        useful = self.pc[self.trivial - self.envelope > 1e-12]
        where = f"from {useful[0]:.3g} to {useful[-1]:.3g}" if useful.size else "nowhere"
        rest = f"PC where the score beats the constant answers: {where}."
        return f"Cost curve on {self.n:,} rows: area {self.area:.4g} (constant answers 0.25); {rest}"


def cost_curve(y: Any, p: Any, classes: Sequence[Any] | None = None) -> CostCurve:
    """Normalized expected cost for every mix of classes and costs.

    Example:
        >>> cost_curve([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9]).area
        0.125
    """
    positive, score, listed = two(y, p, classes)
    s = sweep(positive, score)
    fpr, fnr = np.append(0, s.fp) / s.fp[-1], 1 - np.append(0, s.tp) / s.tp[-1]
    best = np.array([np.argmin(fnr * pc + fpr * (1 - pc)) for pc in GRID])
    least = fnr[best] * GRID + fpr[best] * (1 - GRID)
    return CostCurve(str(listed[1]), len(score), between(s.score), fpr, fnr, GRID, best, least)


class Rejection(Result):
    """Accuracy of the rows that get an answer, as ever more of them do."""

    sure: np.ndarray  # distinct largest probabilities, falling: (J,)
    kept: np.ndarray  # rows that are at least so sure: (J,)
    right: np.ndarray  # of these, how many are right: (J,)

    coverage = property(lambda self: self.kept / self.kept[-1], doc="Share of rows with an answer: (J,).")
    accuracy = property(lambda self: self.right / self.kept, doc="Share of the answers that is right: (J,).")

    @property
    def area(self) -> float:
        """Mean error over all coverages (AURC): each row counts with the error of those at least as sure."""
        return float(np.sum((1 - self.accuracy) * np.diff(self.kept, prepend=0)) / self.kept[-1])

    def columns(self) -> Mapping[str, Any]:
        """The first confidence that covers 50, 60, ... 100 % of the rows."""
        at = np.searchsorted(self.kept, np.ceil(self.kept[-1] * np.arange(5, 11) / 10 - 1e-9))
        low, high = wilsons(self.right[at], self.kept[at])
        where = {"answered": self.coverage[at], "where p is at least": self.sure[at]}
        return where | {"accuracy": self.accuracy[at], "low": low, "high": high}

    @drawn
    def figure(self) -> Figure:
        at = some(len(self.kept), MAX_POINTS)
        (low, high), share = wilsons(self.right[at], self.kept[at]), self.coverage[at]
        figure, axes = canvas(width=6.0, height=4.2)
        axes.fill_between(share, low, high, color=PALETTE[5], alpha=0.3, lw=0, label="95 % interval")
        axes.plot(share, self.accuracy[at], color=PALETTE[0], label="least sure rejected first")
        axes.axhline(self.accuracy[-1], color=GREY, lw=1, ls=(0, (4, 3)), label="rejected at random")
        bottom = max(0.0, float(low[share >= 0.1].min()) - 0.02)  # with fewer rows the band is too wide to show
        axes.set(xlim=(0, 1), ylim=(bottom, 1.005), title="Accuracy and rejection")
        axes.set(xlabel="coverage (share of rows that get an answer)", ylabel="accuracy (share of answers)")
        legend(figure)
        return figure

    @property
    def caption(self) -> str:
        half = int(np.searchsorted(self.kept, self.kept[-1] / 2))
        return (
            f"Rejection on {self.kept[-1]:,} rows: accuracy {self.accuracy[-1]:.3f} where all are answered, "
            f"{self.accuracy[half]:.3f} on the surest {100 * self.coverage[half]:.0f} %; mean error {self.area:.3f}."
        )


def rejection(y: Any, p: Any, classes: Sequence[Any] | None = None) -> Rejection:
    """The error-reject curve of predicted probabilities.

    Example:
        >>> rejection([0, 1, 1], [0.1, 0.9, 0.4]).accuracy.tolist()
        [1.0, 0.667]
    """
    truth, q, _ = scored(y, p, classes)
    s = sweep(q.argmax(1) == truth, q.max(1).astype(np.float64))
    return Rejection(s.score, s.tp + s.fp, s.tp)


class Calibration(Result):
    """A reliability diagram by bin."""

    edges: np.ndarray  # ends of the bins: (B + 1,)
    rows: np.ndarray  # in each: (B,)
    confidence: np.ndarray  # mean of each, NaN where it is empty: (B,)
    accuracy: np.ndarray  # share of right rows in each, NaN where it is empty: (B,)
    ece: float  # expected calibration error

    def columns(self) -> Mapping[str, Any]:
        """One row per bin that has rows, with the Wilson interval of its accuracy."""
        full = np.flatnonzero(self.rows)
        low, high = self._whiskers()
        ends = {"from": self.edges[full], "to": self.edges[full + 1], "rows": self.rows[full]}
        shares = {"confidence": self.confidence, "accuracy": self.accuracy, "low": low, "high": high}
        return ends | {name: v[full] for name, v in shares.items()}

    @drawn
    def figure(self) -> Figure:
        figure, (upper, lower) = canvas(2, across=1, width=5.4, height=2.8, sharex=True, height_ratios=(3, 1))
        full, (low, high) = self.rows > 0, self._whiskers()
        upper.plot((0, 1), (0, 1), color=GREY, lw=1, ls=(0, (4, 3)), label="perfect", zorder=1)
        upper.vlines(self.confidence[full], low[full], high[full], color=PALETTE[0], lw=1.4, label="95 % interval")
        upper.plot(self.confidence[full], self.accuracy[full], "o-", color=PALETTE[0], ms=5, lw=1.2, label="model")
        upper.set(title=f"Calibration (ECE {self.ece:.3f})", ylabel="accuracy (share)", ylim=(0, 1.02))
        upper.set_xlim(self.edges[full.argmax()], 1)  # of two classes none is below 0.5
        upper.legend(loc="best")
        lower.bar(self.edges[:-1], self.rows, np.diff(self.edges), align="edge", color=PALETTE[5], edgecolor="white")
        lower.set(xlabel="confidence (probability of the predicted class)", ylabel="rows")
        return figure

    @property
    def caption(self) -> str:
        n = self.rows.sum()
        sure, right = (np.nansum(v * self.rows) / n for v in (self.confidence, self.accuracy))
        rest = f"expected calibration error {self.ece:.3f} over {len(self.rows)} bins of equal width."
        return f"Calibration on {n:,} rows: mean confidence {sure:.3f}, accuracy {right:.3f}, {rest}"

    def _whiskers(self) -> np.ndarray:
        return wilsons(np.nan_to_num(self.accuracy * self.rows).round(), self.rows)


def calibration(y: Any, p: Any, classes: Sequence[Any] | None = None, *, bins: int = BINS) -> Calibration:
    """Confidence against accuracy, in bins of equal width."""
    truth, q, _ = scored(y, p, classes)
    right, sure, place = binned(truth, q, bins)
    rows = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        confidence, accuracy = (np.bincount(place, v, bins) / rows for v in (sure, right))
    error = np.nansum(rows * abs(accuracy - confidence)) / len(truth)
    return Calibration(np.linspace(0, 1, bins + 1), rows, confidence, accuracy, float(error))


def binned(truth: np.ndarray, p: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether each row is right, its confidence, and its bin: (n,), (n, K) -> (n,), (n,), (n,)."""
    if bins < 1:
        raise InputError(f"bins is {bins}; at least one bin is needed.")
    sure = p.max(1).astype(np.float64)
    return p.argmax(1) == truth, sure, np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], sure)


def gaps(truth: np.ndarray, p: np.ndarray) -> Iterator[np.ndarray]:
    """What each row adds to the gap of each bin that has rows: B' times (n,)."""
    right, sure, place = binned(truth, p, BINS)
    return ((right - sure) * (place == b) for b in np.unique(place))
