"""What size and averaging gain: the error against the leaves of one tree, against the number of trees, of a committee.

    committee   E_AVG = Σ_l w_l mean e_l²,   E_COM = mean (Σ_l w_l e_l)²,   E_AVG - E_COM = mean Σ_l w_l (f_l - f)² >= 0
                equal weights, errors of mean 0, variance σ² and correlation ρ:      E_COM = σ² (ρ + (1 - ρ) / L)

For classes e is the difference of the probabilities and the truth, summed over the classes (the Brier score).
Shapes: A prices of a leaf, M numbers of trees, n rows, L members, K classes, T targets.
Reference: Krogh and Vedelsby, Neural network ensembles, cross validation, and active learning, NIPS (1994).
"""

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ... import check
from ...errors import InputError
from ...explain import codes, explanation
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend, wide_range
from ...results import Result
from .forest import counts_of


class Pruning(Result):
    """The error of a tree in cross-validation at each size."""

    alpha: np.ndarray  # prices of a leaf (A,)
    leaves: np.ndarray  # of the whole tree at each price (A,)
    error: np.ndarray  # share of wrong rows, or mean squared error, in 5 folds (A,)
    deviation: np.ndarray  # standard error (A,)
    chosen: int  # place of the price that was taken
    label: str  # what the error is

    def columns(self) -> dict[str, Any]:
        """One row per price."""
        taken = ["chosen" if i == self.chosen else "" for i in range(len(self.alpha))]
        known = {"price of a leaf": self.alpha, "leaves": self.leaves, self.label: self.error}
        return {**known, "standard error": self.deviation, "taken": taken}

    @property
    def caption(self) -> str:
        best, i = int(self.error.argmin()), self.chosen
        least = f"The {self.label} in 5 folds is least, {self.error[best]:.4g}, at {self.leaves[best]} leaves"
        return f"{least}; {self.leaves[i]} leaves have {self.error[i]:.4g}, which is within one standard error."

    @property
    def excerpt(self) -> list[int]:
        """What is near the choice."""
        return list(range(max(0, self.chosen - 4), min(len(self.alpha), self.chosen + 5)))

    @drawn
    def figure(self) -> Figure:
        """Error against leaves, with one standard error to each side."""
        figure, axes = canvas()
        low, high = self.error - self.deviation, self.error + self.deviation
        axes.fill_between(self.leaves, low, high, color=PALETTE[0], alpha=0.15, lw=0)
        axes.plot(self.leaves, self.error, "-o", ms=4, color=PALETTE[0], label="in 5 folds, ± 1 standard error")
        limit = high[self.error.argmin()]
        axes.axhline(limit, color=GREY, lw=1, ls="--", label="least error + 1 standard error")
        at = self.leaves[self.chosen], self.error[self.chosen]
        axes.plot(*at, "*", ms=14, color=PALETTE[1], mec="white", zorder=5, label=f"chosen: {at[0]} leaves")
        log = wide_range(self.leaves, 20)
        axes.set(xlabel=f"leaves{' (log scale)' * log}", ylabel=self.label, xscale="log" if log else "linear")
        axes.set(title="How small may the tree be?")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        legend(figure)
        return figure


@explanation("pruning")
def pruning(obj: Any) -> Pruning:
    """The error of a tree in cross-validation against its leaves, as `fit` found it.

    Args:
        obj: A tree fitted with `ccp_alpha="auto"`.
    """
    label = "share of wrong rows" if is_classifier(obj) else "mean squared error"
    return Pruning(**obj.pruning_, label=label)


class MoreTrees(Result):
    """The error against the number of trees."""

    trees: np.ndarray  # numbers of trees, or of steps of boosting (M,)
    error: np.ndarray  # share of wrong rows, or root mean squared error, of rows not learned from (M,)
    brier: np.ndarray | None  # of classes: mean squared error of the probabilities (M,)
    out_of_bag: np.ndarray | None  # of a forest: error of rows that a tree was grown without (M,)
    label: str  # what the error is
    unit: str  # trees or steps

    def columns(self) -> dict[str, Any]:
        """One row per number of trees."""
        more = {"out of bag": self.out_of_bag, "Brier score": self.brier}
        return {self.unit: self.trees, self.label: self.error, **more}

    @property
    def caption(self) -> str:
        best, what = int(self.error.argmin()), self.label[0].upper() + self.label[1:]
        last = f"{what} of rows held out: {self.error[-1]:.4g} with all {self.trees[-1]:,} {self.unit}"
        least = f", least {self.error[best]:.4g} with {self.trees[best]:,}"
        bag = "" if self.out_of_bag is None else f"; out of bag {self.out_of_bag[-1]:.4g}"
        return f"{last}{least}{bag}."

    @property
    def excerpt(self) -> list[int]:
        """Every third number."""
        return list(range(0, len(self.trees), 3))

    @drawn
    def figure(self) -> Figure:
        """Error, and for classes the Brier score, against the number of trees."""
        panels = {self.label: self.error, **({} if self.brier is None else {"Brier score": self.brier})}
        figure, grid = canvas(len(panels), across=2, width=6.4 if len(panels) == 1 else 4.2, height=3.8)
        for axes, (label, values) in zip(grid, panels.items(), strict=True):
            axes.plot(self.trees, values, "-o", ms=3, color=PALETTE[0], label="rows held out")
            axes.set(xlabel=f"{self.unit} (log scale)", ylabel=label, xscale="log", title=f"Error by {self.unit}")
        if self.out_of_bag is not None:
            grid[0].plot(self.trees, self.out_of_bag, "--D", ms=3, color=PALETTE[1], label="out of bag")
        for axes in grid:
            axes.set_ylim(bottom=0)
            axes.xaxis.set_major_formatter("{x:,.0f}")
        legend(figure)
        return figure


@explanation("more-trees", fresh=True)
def more_trees(obj: Any, X: Any, y: Any) -> MoreTrees:
    """The error of rows that were not learned from against the number of trees.

    Args:
        obj: A fitted forest, AdaBoost or boosting.
    """
    y, classes, bag = np.asarray(check.plain(y)), is_classifier(obj), getattr(obj, "oob_", None)
    truth = (y[:, None] == obj.classes_).astype(float) if classes else y.astype(float)
    if len(y) != len(X):
        raise InputError(f"X has {len(X)} rows but y has {len(y)}. They must match.")
    steps, unit = (obj.n_iter_, "steps") if hasattr(obj, "n_iter_") else (len(obj.trees.sizes), "trees")
    marks, error, brier = counts_of(steps), [], []
    for b, found in enumerate(obj.staged(X), start=1):
        if b in marks:
            square = (found - truth) ** 2
            brier.append(square.sum(1).mean() if classes else 0.0)
            wrong = truth[np.arange(len(y)), found.argmax(1)] == 0 if classes else square
            error.append(wrong.mean() if classes else np.sqrt(wrong.mean()))
    if bag is not None:
        bag = bag["error"] if classes else np.sqrt(bag["error"])
    label = "share of wrong rows" if classes else "root mean squared error"
    return MoreTrees(marks, np.array(error), np.array(brier) if classes else None, bag, label, unit)


class CommitteeGain(Result):
    """Errors of the members and of their weighted mean, on the same rows."""

    members: tuple[str, ...]
    weights: np.ndarray  # (L,)
    errors: np.ndarray  # mean squared error of each (L,)
    correlation: np.ndarray  # of their errors (L, L)
    committee: float  # mean squared error of the weighted mean
    measure: str

    @property
    def average(self) -> float:
        """E_AVG, what a member chosen by its weight has."""
        return float(self.weights @ self.errors)

    def columns(self) -> dict[str, Any]:
        """One row per member, then their weighted mean of errors, and the committee."""
        others = np.where(np.eye(len(self.members)), np.nan, self.correlation)
        each = [None if np.isnan(row).all() else float(np.nanmean(row)) for row in others]
        return {
            "member": [*self.members, "mean of the members", "committee"],
            "weight": [*np.round(self.weights, 4), None, None],
            self.measure: [*self.errors, self.average, self.committee],
            "correlation with others": [*each, None, None],
        }

    @property
    def caption(self) -> str:
        best, least = self.members[self.errors.argmin()], self.errors.min()
        gain = 1 - self.committee / self.average if self.average else 0.0
        less = f"{100 * gain:.0f} % less than the mean of its members ({self.average:.4g})"
        beaten = f"{'below' if self.committee < least else 'not below'} that of the best one ({best}, {least:.4g})"
        return f"The committee's {self.measure} is {self.committee:.4g}, {less} and {beaten}."

    @drawn
    def figure(self) -> Figure:
        figure, (left, right) = canvas(2, width=4.2, height=3.4)
        place = np.arange(len(self.members))
        left.barh(place, self.errors, color=PALETTE[5])
        left.axvline(self.average, color=GREY, ls="--", lw=1.2, label="mean of the members")
        left.axvline(self.committee, color=PALETTE[1], label="committee")
        left.set_yticks(place, [f"{m} ({w:.2f})" for m, w in zip(self.members, self.weights, strict=True)])
        left.set(xlabel=self.measure, title="Members (weight)", ylim=(len(place) - 0.5, -0.5))
        legend(figure, axes=[left])
        image = right.imshow(self.correlation, vmin=-1, vmax=1, cmap="RdBu_r")
        right.set_xticks(place, self.members, rotation=30, ha="right")
        right.set_yticks(place, self.members)
        right.grid(False)
        right.set_title("Correlation of errors")
        figure.colorbar(image, ax=right, shrink=0.8)
        return figure


@explanation("committee", fresh=True)
def committee(obj: Any, X: Any, y: Any) -> CommitteeGain:
    """Errors of the members of a committee and what their average gains.

    Args:
        obj: A fitted committee.

    Example:
        >>> from ftheta import CommitteeRegressor
        >>> X = [[0.0], [1], [2], [3]]
        >>> found = committee(CommitteeRegressor(members=("linear", "ridge")).fit(X, [0.0, 1, 2, 3]), X, [0.0, 1, 2, 3])
        >>> found.committee <= found.average
        True
    """
    made, truth = obj.predictions(X), check.plain(y)  # (L, n, ...)
    truth = np.eye(made.shape[2])[codes(truth, made.shape[1], obj.classes_)] if is_classifier(obj) else truth
    if np.shape(truth) != made.shape[1:]:
        raise InputError(f"y has shape {np.shape(truth)}, and predictions {made.shape[1:]}; pass the targets of X.")
    errors = (made - np.asarray(truth, dtype=float)).reshape(len(made), made.shape[1], -1)
    each, together = ((e**2).sum(-1).mean(-1) for e in (errors, np.tensordot(obj.weights_, errors, 1)))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.atleast_2d(np.corrcoef(errors.reshape(len(made), -1)))
    names = tuple(f"{name} {k + 1}" if obj.members.count(name) > 1 else name for k, name in enumerate(obj.members))
    measure = "Brier score" if is_classifier(obj) else "mean squared error"
    return CommitteeGain(names, np.asarray(obj.weights_), each, correlation, float(together), measure)
