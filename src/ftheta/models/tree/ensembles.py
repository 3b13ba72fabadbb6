"""How many trees, and how small: the error against the number of trees, and against the leaves of one tree.

Shapes: A prices of a leaf, M numbers of trees, n rows, K classes.
"""

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ...check import plain
from ...errors import InputError
from ...explain import explanation
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
        """Which size has the least error, and which was chosen."""
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
        axes.fill_between(
            self.leaves, self.error - self.deviation, self.error + self.deviation, color=PALETTE[0], alpha=0.15, lw=0
        )
        axes.plot(self.leaves, self.error, "-o", ms=4, color=PALETTE[0], label="in 5 folds, ± 1 standard error")
        best = int(self.error.argmin())
        limit = self.error[best] + self.deviation[best]
        axes.axhline(limit, color=GREY, lw=1, ls="--", label="least error + 1 standard error")
        at = self.leaves[self.chosen], self.error[self.chosen]
        axes.plot(*at, "*", ms=14, color=PALETTE[1], mec="white", zorder=5, label=f"chosen: {at[0]} leaves")
        log = wide_range(self.leaves, 20)
        axes.set(xlabel=f"leaves{' (log scale)' * log}", ylabel=self.label, xscale="log" if log else "linear")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_title("How small may the tree be?")
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
        known = {self.unit: self.trees, self.label: self.error, "out of bag": self.out_of_bag}
        return {**known, "Brier score": self.brier}

    @property
    def caption(self) -> str:
        """Where the error is least, and where it ends."""
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
    y, classes, bag = np.asarray(plain(y)), is_classifier(obj), getattr(obj, "oob_", None)
    truth = (y[:, None] == obj.classes_).astype(float) if classes else y.astype(float)
    if len(y) != len(X):
        raise InputError(f"X has {len(X)} rows but y has {len(y)}. They must match.")
    steps = len(obj.trees.sizes) if not hasattr(obj, "n_iter_") else obj.n_iter_
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
    unit = "steps" if hasattr(obj, "n_iter_") else "trees"
    return MoreTrees(marks, np.array(error), np.array(brier) if classes else None, bag, label, unit)
