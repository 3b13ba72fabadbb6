"""What a split gains: the impurity of a node without that of its children.

    entropy  H = -Σ p_k log2 p_k      Gini  1 - Σ p_k²      variance  E[y²] - E[y]²
    gain     = i(all rows) - Σ_groups w_group i(group)

Shapes: n rows, D features, K classes, G groups, M sums that an impurity is computed from: weights of K classes, or
Σ w, Σ w y, Σ w y².
Reference: Quinlan, Induction of Decision Trees, Machine Learning 1 (1986).
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier

from ...errors import InputError
from ...explain import Names, explanation, targets
from ...plots import GREY, PALETTE, Figure, canvas, drawn, short
from ...results import Result
from .pictures import Words

Criterion = Literal["entropy", "gini", "variance"]
UNITS = {"entropy": "bits", "gini": "Gini", "variance": "variance"}
BARS = 12  # columns that are drawn


class SplitGain(NamedTuple):
    """Impurity before and after a split."""

    parent: float
    children: float  # mean over the groups, weighted by their rows
    gain: float


def impurity(sums: np.ndarray, criterion: Criterion) -> np.ndarray:
    """Of sums (..., M); 0 of an empty group: (...)."""
    total = sums[..., :1] if criterion == "variance" else sums.sum(-1, keepdims=True)
    p = np.divide(sums, total, out=np.zeros(sums.shape), where=total > 0)
    if criterion == "variance":
        return np.maximum(p[..., 2] - p[..., 1] ** 2, 0)
    if criterion == "gini":
        return np.where(total[..., 0] > 0, 1 - (p**2).sum(-1), 0.0)
    return -(p * np.log2(p, out=np.zeros(p.shape), where=p > 0)).sum(-1)


def sums_of(y: np.ndarray, weight: np.ndarray, criterion: Criterion) -> np.ndarray:
    """What each row adds to the sums: (n, M)."""
    if criterion == "variance":
        return np.stack([weight, weight * y, weight * y**2], 1)
    classes, place = np.unique(y, return_inverse=True)
    return np.eye(len(classes))[place] * weight[:, None]


def split_gain(
    y: ArrayLike, groups: ArrayLike, *, criterion: Criterion = "entropy", sample_weight: ArrayLike | None = None
) -> SplitGain:
    """What is gained by splitting rows into groups, two or more.

    Args:
        y: Classes, or numbers for the variance (n,).
        groups: The group of each row (n,).
        criterion: Entropy in bits, Gini's impurity, or the variance.
        sample_weight: Weights of the rows.

    Example:
        >>> found = split_gain(["yes", "yes", "no", "no"], ["a", "a", "b", "b"])
        >>> found.parent, found.children, found.gain
        (1.0, 0.0, 1.0)
    """
    rows, labels = np.asarray(y), np.asarray(groups)
    if rows.ndim != 1 or rows.shape != labels.shape or not len(rows):
        raise InputError(f"y has shape {rows.shape}, groups {labels.shape}; one of each is needed for each row.")
    weight = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    sums = sums_of(rows - rows.mean() if criterion == "variance" else rows, weight, criterion)
    place = np.unique(labels, return_inverse=True)[1]
    each = np.stack([np.bincount(place, column) for column in sums.T], 1)  # (G, M)
    mass = np.bincount(place, weight)
    parent, children = float(impurity(sums.sum(0), criterion)), float(mass @ impurity(each, criterion) / mass.sum())
    return SplitGain(parent, children, parent - children)


def gains(x: np.ndarray, sums: np.ndarray, criterion: Criterion) -> tuple[np.ndarray, np.ndarray]:
    """Thresholds between the values of a column (n,), and the gain of each; missing cells go the better way."""
    total, missing = sums.sum(0), sums[np.isnan(x)].sum(0)
    order = np.argsort(x, kind="stable")[: int((~np.isnan(x)).sum())]  # NaN come last
    x, below = x[order], np.cumsum(sums[order], axis=0)
    cut = np.flatnonzero(np.diff(x) > 0)
    if not len(cut):
        return np.zeros(0), np.zeros(0)
    columns = slice(0, 1) if criterion == "variance" else slice(None)  # whose sum is the weight
    left = np.stack([below[cut], below[cut] + missing])  # (2, cuts, M)
    share = left[..., columns].sum(-1) / total[columns].sum()
    after = share * impurity(left, criterion) + (1 - share) * impurity(total - left, criterion)
    return (x[cut] + x[cut + 1]) / 2, impurity(total, criterion) - after.min(0)


class Splits(Result):
    """The best split of each column at the root of a tree."""

    names: tuple[str, ...]  # of the columns that can be split
    thresholds: np.ndarray  # (D,)
    gain: np.ndarray  # (D,)
    parent: float  # impurity of all rows
    curves: tuple[tuple[np.ndarray, np.ndarray], ...]  # thresholds and gain of each
    criterion: Criterion
    rows: int

    @property
    def order(self) -> np.ndarray:
        """Columns by their gain."""
        return np.argsort(-self.gain, kind="stable")

    def columns(self) -> dict[str, Any]:
        """One row per column."""
        order, gain = self.order, self.gain[self.order]
        named = {"column": [self.names[j] for j in order], "split at": self.thresholds[order]}
        return {**named, "before": np.full(len(gain), self.parent), "after": self.parent - gain, "gain": gain}

    @property
    def caption(self) -> str:
        j = int(self.order[0])
        fall = f"falls from {self.parent:.4g} to {self.parent - self.gain[j]:.4g}"
        question = f"{self.names[j]} ≤ {self.thresholds[j]:.4g}"
        return f"The best first question is {question}: the {self.criterion} of {self.rows:,} rows {fall}."

    @drawn
    def figure(self) -> Figure:
        """The best gain of each column, and the gain of each threshold of the best columns."""
        order, unit = self.order[:BARS], UNITS[self.criterion]
        figure, (left, right) = canvas(2, width=4.4, height=1.6 + 0.24 * max(len(order), 6))
        left.barh([short(self.names[j], 24) for j in order], self.gain[order], color=PALETTE[0])
        left.invert_yaxis()
        left.set(xlabel=f"gain of the best split ({unit})", title="The best split of each column")
        j = int(order[0])
        at, gain = self.curves[j]
        right.plot(at, gain, color=PALETTE[0], ls="-", marker="o" if len(at) < 60 else "", ms=3)
        right.axvline(self.thresholds[j], color=GREY, lw=1, ls="--")
        name = short(self.names[j], 24)
        right.set(xlabel=f"split of {name} at", ylabel=f"gain ({unit})", ylim=(0, None), title=f"of {name}")
        return figure


@explanation("splits", when=lambda m: len(m.trees.sizes) == 1, otherwise="has several trees; {} needs one")
def splits(
    obj: Any, X: Any, y: Any, *, criterion: Criterion | None = None, names: Names = None, scales: Any = None
) -> Splits:
    """The best first question of each column, by what it gains.

    Args:
        obj: A fitted tree.
        criterion: Entropy, Gini's impurity or the variance; None: that of the tree.
    """
    x, words, y = obj._table(X), Words.of(obj, names, scales, None), targets(y, len(X))
    kind: Criterion = criterion or (obj.criterion if is_classifier(obj) else "variance")
    y = y if is_classifier(obj) else y.astype(float) - y.mean()
    sums = sums_of(y, np.ones(len(y)), kind)
    found = {j: gains(shift + scale * x[:, j], sums, kind) for j, (shift, scale) in enumerate(words.units)}
    found = {j: curve for j, curve in found.items() if len(curve[0])}
    if not found:
        raise InputError("No column of X has two different values, so there is no split to look at.")
    at, gain = np.array([(at[gain.argmax()], gain.max()) for at, gain in found.values()]).T
    parent = float(impurity(sums.sum(0), kind))
    return Splits(tuple(words.names[j] for j in found), at, gain, parent, tuple(found.values()), kind, len(y))
