"""What copies of a model say that are fitted again: whether more rows would help, and which rows look mislabeled.

    more rows     the error of rows held out, by copies that learned from n/8, n/4, n/2 and n rows of a fold
    mislabeled    classes: the likeliest class j with p_ij >= t_j is not y_i;   t_j: mean of p_ij over rows of class j
                  numbers: |r_i| > 6 median |r|;   r_i = y_i - f(x_i)

p_i and f(x_i) are of copies that did not learn from row i.
Shapes: n rows, K classes or folds, S numbers of rows.
Reference: Northcutt, Jiang and Chuang, Confident learning, JAIR 70 (2021).
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import stdtr
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import _safe_indexing as taken

from ...check import RandomState
from ...errors import InputError
from ...plots import PALETTE, Figure, canvas, drawn
from ...results import Result
from .._registry import Names, explanation

SHARES, FOLDS, LEAST, FAR = (0.125, 0.25, 0.5, 1.0), 5, 10, 6.0  # LEAST: rows that are learned from
OTHERWISE = "does not predict one class or number per row, with probabilities where asked for; {} needs that"


def _answers(obj: Any) -> bool:
    return (is_classifier(obj) or is_regressor(obj)) and not hasattr(obj, "ignore_label")


def _probabilities(obj: Any) -> bool:
    return _answers(obj) and (is_regressor(obj) or hasattr(obj, "predict_proba"))


class MoreRows(Result):
    """Errors of copies by the number of rows that they learned from."""

    rows: np.ndarray  # learned from (S,)
    held: np.ndarray  # error of rows held out (S, K)
    own: np.ndarray  # error of the rows learned from (S, K)
    error: str  # what it is

    def columns(self) -> dict[str, Any]:
        spread = self.held.std(1, ddof=1) / np.sqrt(self.held.shape[1])
        means = {"rows held out": self.held.mean(1), "standard error": spread, "rows learned from": self.own.mean(1)}
        return {"learned from": self.rows, **means}

    @property
    def caption(self) -> str:
        before, last, own = self.held[-2].mean(), self.held[-1].mean(), self.own[-1].mean()
        helps, fits = _above_0(self.held[-2] - self.held[-1]), _above_0(self.held[-1] - self.own[-1])
        said = (
            f"From {self.rows[-2]:,} to {self.rows[-1]:,} rows the {self.error} among rows held out went from "
            f"{before:.4g} to {last:.4g}: more rows would {'help' if helps else 'hardly help'}."
        )
        if fits and own < last / 2:
            return f"{said} Among the rows learned from it is {own:.4g}, so it overfits: try a stronger penalty."
        more = " A larger model or other columns could help." if last > 0 and not helps else ""
        return f"{said} Among the rows learned from it is {own:.4g}, so it does not clearly overfit.{more}"

    @drawn
    def figure(self) -> Figure:
        figure, axes = canvas(width=5.6, height=3.4)
        for values, name, color in ((self.held, "rows held out", 0), (self.own, "rows learned from", 1)):
            axes.errorbar(
                self.rows, values.mean(1), values.std(1, ddof=1) / np.sqrt(values.shape[1]), color=PALETTE[color],
                ls=("-", "--")[color], marker="o", label=name,
            )  # fmt: skip
        axes.set(xscale="log", xlabel="rows learned from", ylabel=self.error, title="Would more rows help?")
        axes.set_xticks(self.rows, [f"{n:,}" for n in self.rows])
        axes.minorticks_off()  # their labels would lie over these
        axes.legend()
        return figure


def _above_0(values: np.ndarray) -> bool:
    """Whether the mean over folds is above 0, by a one-sided t-test at 5 %."""
    n, mean, spread = len(values), values.mean(), values.std(ddof=1)
    return bool(mean > 0 and (spread == 0 or stdtr(n - 1, mean / (spread / np.sqrt(n))) > 0.95))


@explanation("more-rows", all_rows=True, when=_answers, otherwise=OTHERWISE)
def more_rows(model: Any, X: Any, y: Any, *, random_state: RandomState = 0) -> MoreRows:
    """Errors of copies that learned from an eighth, a quarter, half and all rows of each of five folds.

    Args:
        X: Rows that the model may learn from.
    """
    classes, y = is_classifier(model), np.asarray(y)
    folds = list(_folds(model, y, random_state))
    n = min(len(learn) for learn, _ in folds)
    sizes = np.unique([max(LEAST, round(share * n)) for share in SHARES])
    errors = np.empty((2, len(sizes), FOLDS))
    for k, (learn, held) in enumerate(folds):
        for s, size in enumerate(sizes):
            some = np.sort(learn[:size])
            copy = _fitted(model, X, y, some)
            for which, rows in enumerate((held, some)):
                predicted = copy.predict(taken(X, rows))
                wrong = y[rows] != predicted if classes else (y[rows] - predicted) ** 2
                errors[which, s, k] = wrong.mean() if classes else np.sqrt(wrong.mean())
    error = "share of wrong rows" if classes else "root mean squared error"
    return MoreRows(sizes, errors[0], errors[1], error)


def _folds(model: Any, y: np.ndarray, seed: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows to learn from, in random order, and rows held out; a few rows of each class come first."""
    if len(y) < 2 * LEAST:
        raise InputError(f"X has {len(y)} rows; {2 * LEAST} or more are needed for copies that are fitted again.")
    labels = y if is_classifier(model) and y.ndim == 1 else np.zeros(len(y))
    maker = StratifiedKFold if np.unique(labels, return_counts=True)[1].min() >= FOLDS else KFold
    rng = np.random.default_rng(seed if isinstance(seed, int) else None)
    for learn, held in maker(FOLDS, shuffle=True, random_state=int(rng.integers(2**31))).split(y, labels):
        order = rng.permutation(learn)
        turn = np.empty(len(order))  # the first row of each class, the second of each, ...
        for label in np.unique(labels):
            turn[labels[order] == label] = np.arange((labels[order] == label).sum())
        few = turn < 2
        yield np.concatenate([order[few], order[~few]]), held


def _fitted(model: Any, X: Any, y: np.ndarray, rows: np.ndarray) -> Any:
    copy: Any = clone(model)
    with warnings.catch_warnings(action="ignore"):
        return copy.fit(taken(X, rows), y[rows])


class Mislabeled(Result):
    """Rows whose target does not go with what was learned from the others, the most doubtful first."""

    rows: np.ndarray  # their numbers
    y: np.ndarray  # what they have
    predicted: np.ndarray  # what the other rows say
    doubt: np.ndarray  # probability of that class; for numbers |r| / median |r|
    n: int  # rows that were looked at

    def columns(self) -> dict[str, Any]:
        how = "times the median error" if self.predicted.dtype.kind == "f" else "probability"
        return {"row": self.rows, "target": self.y, "others say": self.predicted, how: self.doubt}

    @property
    def caption(self) -> str:
        if not len(self.rows):
            return f"None of {self.n:,} rows looks mislabeled."
        first = ", ".join(map(str, self.rows[:5])) + f" and {len(self.rows) - 5:,} more" * (len(self.rows) > 5)
        look = "look" if len(self.rows) > 1 else "looks"
        return f"{len(self.rows):,} of {self.n:,} rows {look} mislabeled: row {first}."

    @drawn
    def figure(self) -> Figure:
        figure, axes = canvas(width=5.6, height=3.0)
        axes.plot(np.arange(1, len(self.doubt) + 1), self.doubt, "o", color=PALETTE[0], ms=4)
        axes.set(xlabel="rows, the most doubtful first", ylabel=list(self.columns())[-1], title=self.caption[:60])
        return figure


def suspects(y: np.ndarray, predicted: np.ndarray, p: Any, classes: Any, rows: np.ndarray) -> Mislabeled:
    """Rows that look mislabeled by predictions of models that did not learn from them; p (n, K) is None for numbers."""
    if p is None:
        r = np.abs(y - predicted)
        doubt = r / max(float(np.median(r)), np.finfo(float).tiny)
        wrong, said = doubt > FAR, np.asarray(predicted, dtype=float)
    else:
        own = y[:, None] == np.asarray(classes)  # (n, K)
        usual = (p * own).sum(0) / np.maximum(own.sum(0), 1)
        sure = np.where((p >= usual) & own.any(0), p, -1.0)
        said, doubt = np.asarray(classes)[sure.argmax(1)], sure.max(1)
        wrong = (doubt > 0) & (said != y)
    order = np.flatnonzero(wrong)[np.argsort(-doubt[wrong], kind="stable")]
    return Mislabeled(rows[order], y[order], said[order], doubt[order], len(y))


@explanation("mislabeled", all_rows=True, when=_probabilities, otherwise=OTHERWISE)
def mislabeled(
    model: Any, X: Any, y: Any, *, rows: Any = None, classes: Names = None, random_state: RandomState = 0
) -> Mislabeled:
    """Rows whose target does not go with what copies learned from the other rows.

    Args:
        X: Rows that the model may learn from.
        rows: Their numbers; None: 0, 1, 2, ...
    """
    y, known = np.asarray(y), getattr(model, "classes_", np.zeros(0))
    if y.ndim > 1:
        raise InputError(f"y has shape {y.shape}; mislabeled looks at one target per row.")
    found = np.zeros((len(y), max(1, len(known))))
    for learn, held in _folds(model, y, random_state):
        copy, x = _fitted(model, X, y, np.sort(learn)), taken(X, held)
        if is_classifier(model):
            found[np.ix_(held, np.searchsorted(known, copy.classes_))] = copy.predict_proba(x)
        else:
            found[held, 0] = copy.predict(x)
    numbers = np.arange(len(y)) if rows is None else np.asarray(rows)
    if not is_classifier(model):
        return suspects(y, found[:, 0], None, (), numbers)
    labels = np.asarray(known if classes is None else classes)
    return suspects(labels[np.searchsorted(known, y)], labels, found, labels, numbers)
