"""Which columns moved the prediction of one row: Shapley values.

    φ_j = Σ_{S ∌ j} |S|! (D - |S| - 1)! / D! (v(S ∪ j) - v(S)),      v(S) = mean_z f(x on S, z elsewhere)
    Σ_j φ_j = f(x) - mean_z f(z)

z are rows of a background. Up to 12 columns all 2^D sets are counted. Beyond, columns are exchanged one after the other
on the way from each z to x, in random orders and their reverses, and φ_j is the mean change at j, with its standard
error over z.
Shapes: D columns, B rows of the background, S sets.
Reference: Shapley, A value for n-person games (1953); Strumbelj and Kononenko, Explaining prediction models and
individual predictions with feature contributions, KAIS 41 (2014).
"""

from math import factorial
from typing import Any

import numpy as np

from ... import check
from ...check import Count, RandomState
from ...draw import Draw
from ...errors import InputError
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend, short
from ...results import Result
from .._probe import row_number
from .._registry import Names, explanation
from ._columns import TABLES, Columns, of_a_table, outputs_of, word

EXACT = 12  # columns whose sets are all counted
BARS = 12  # that are drawn


class Attribution(Result):
    """What each column added to the prediction of one row, in the order of the table."""

    names: tuple[str, ...]  # of the D columns that the model uses
    cells: tuple[str, ...]  # of the row, as they were given (D,)
    values: np.ndarray  # Shapley values (D,)
    error: np.ndarray | None  # their standard errors (D,); None: exact
    mean: float  # prediction of the background
    prediction: float  # of the row
    label: str  # what the row is called
    truth: str  # its target; empty: unknown
    output: str  # what is predicted
    background: int  # rows

    @property
    def order(self) -> np.ndarray:
        """Places of the columns, the largest effect first."""
        return np.argsort(-np.abs(self.values), kind="stable")

    def columns(self) -> dict[str, Any]:
        """One row for each column, the largest effect first."""
        order, half = self.order, None if self.error is None else 1.96 * self.error
        return {
            "column": [self.names[j] for j in order],
            "cell": [self.cells[j] for j in order],
            "effect": self.values[order],
            "low": None if half is None else (self.values - half)[order],
            "high": None if half is None else (self.values + half)[order],
        }

    @property
    def caption(self) -> str:
        first = self.order[:2]
        moved = " and ".join(f"{self.names[j]} = {self.cells[j]} ({self.values[j]:+.4g})" for j in first)
        how = "exact Shapley values" if self.error is None else "Shapley values from random orders"
        return (
            f"{self.label}: {self.output} {self.prediction:.4g}{self._truth}; the mean of {self.background} rows is "
            f"{self.mean:.4g}. The difference is due to {moved} most ({how}, which add up to it)."
        )

    @property
    def _truth(self) -> str:
        return f" (truth: {self.truth})" if self.truth else ""

    @drawn
    def figure(self) -> Figure:
        """From the mean of the background, at the bottom, to the prediction of the row, on top: a bar per column."""
        order = self.order
        shown = order if len(order) <= BARS else order[: BARS - 1]
        steps = [(f"{short(self.names[j], 26)} = {short(self.cells[j], 18)}", float(self.values[j])) for j in shown]
        if rest := len(order) - len(shown):
            steps.append((f"{rest} other columns", float(self.values[order[len(shown) :]].sum())))
        figure, axes = canvas(width=6.6, height=1.3 + 0.32 * len(steps))
        end = self.prediction
        for i, (_, value) in enumerate(steps):
            axes.barh(i, -value, left=end, height=0.66, color=PALETTE[0] if value >= 0 else PALETTE[1])
            side = -1 if value < 0 else 1
            axes.annotate(f"{value:+.2g}", (end if side > 0 else end, i), (4 * side, 0), textcoords="offset points",
                          va="center", ha="left" if side > 0 else "right", size="small")  # fmt: skip
            axes.vlines(end - value, i - 0.33, min(i + 1.33, len(steps) - 0.67), color=GREY, lw=0.8)
            end -= value
        axes.axvline(self.mean, color="black", lw=1, ls=":", zorder=0, label=f"mean of {self.background} rows")
        axes.axvline(self.prediction, color="black", lw=1, ls="--", zorder=0, label="this row")
        axes.set_yticks(range(len(steps)), [name for name, _ in steps])
        axes.set(ylim=(len(steps) - 0.4, -0.6), xlabel=self.output)
        axes.set_title(f"{self.label}: {self.prediction:.4g}{self._truth}; on average {self.mean:.4g}", wrap=True)
        left, right = axes.dataLim.intervalx
        axes.set_xlim(left - 0.2 * (right - left or 1), right + 0.2 * (right - left or 1))
        axes.grid(visible=False, axis="y")
        legend(figure)
        return figure


@explanation("attribution", when=of_a_table, otherwise=TABLES["otherwise"], tested=True)
def attribution(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    row: int = 0,
    label: str = "",
    background: Any = None,
    output: int | None = None,
    most: Count = 100,
    classes: Names = None,
    target: str = "",
    random_state: RandomState = 0,
) -> Attribution:
    """Which columns moved the prediction of one row away from the mean prediction: Shapley values.

    Args:
        X: Rows: an array or a data frame (n, D).
        y: Their targets, where they are known.
        row: The row of X to explain.
        label: What it is called; empty: by its number.
        background: Rows that columns are taken from where they are not the row's own, e.g. training rows; None: X.
        output: Place of the class or the target; None: the predicted class, the first target.
        most: At most this many rows of the background are used, evenly spaced.

    Example:
        >>> from sklearn.linear_model import LinearRegression
        >>> X = np.arange(20.0).reshape(10, 2) ** [1, 2]
        >>> model = LinearRegression().fit(X, X @ [3.0, -1.0])
        >>> found = attribution(model, X, row=4)
        >>> np.allclose(found.values, [3.0, -1.0] * (X[4] - X.mean(0)))
        True
    """
    rows = Columns(model, X)
    row = row_number(row, len(rows))
    own, known = rows.take([row]), rows if background is None else Columns(model, background)
    known = known.take(slice(None, None, -(-len(known) // most)))
    source = own.joined(known)  # the row first
    predicted = source.outputs(source.predict())
    named = outputs_of(source.model, predicted.shape[1], target, classes)
    k = (int(predicted[0].argmax()) if named.classes else 0) if output is None else output
    if not 0 <= k < predicted.shape[1]:
        raise InputError(f"output={output}, but the model has {predicted.shape[1]}; pass a number below.")
    values, error = (_exact(source, k), None) if len(source.used) <= EXACT else _sampled(source, k, random_state)
    cells = tuple(word(own.column(j)[0]) for j in source.used)
    truth = ""
    if y is not None and named.classes:
        own_class = np.asarray(check.plain(y))[row]
        at = np.flatnonzero(np.ravel(source.model.classes_) == own_class) if np.ndim(own_class) == 0 else []
        truth = named.names[at[0]] if len(at) else str(own_class)
    elif y is not None:
        truth = word(np.ravel(np.asarray(check.plain(y))[row])[k])
    return Attribution(
        *(tuple(rows.names[j] for j in source.used), cells, values, error, float(predicted[1:, k].mean())),
        *(float(predicted[0, k]), label or f"Row {row}", truth, named.words(k), len(known)),
    )


def _exact(source: Columns, k: int) -> np.ndarray:
    """From v of all sets; bit j of the number of a set says whether it has column j."""
    used, b = source.used, len(source) - 1
    d = len(used)
    sets = np.arange(2**d)
    has = (sets[:, None] >> np.arange(d)) & 1 == 1  # (S, D)
    step, v = max(1, 2**18 // (b * len(source.names))), np.zeros(len(sets))
    for at in range(0, len(sets), step):
        some = has[at : at + step]
        rows = np.zeros((len(some), b, len(source.names)), int)
        rows[..., source.used] = np.where(some[:, None], 0, np.arange(1, b + 1)[:, None])
        v[at : at + step] = source.batched(rows.reshape(len(some) * b, -1))[:, k].reshape(len(some), b).mean(1)
    weight = np.array([factorial(s) * factorial(d - s - 1) / factorial(d) for s in range(d)] + [0.0])[has.sum(1)]
    return np.array([(weight * (v[sets | 1 << j] - v))[~has[:, j]].sum() for j in range(d)])


def _sampled(source: Columns, k: int, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
    """Means over the background of the changes on the way to the row, and their standard errors."""
    used, b = np.array(source.used), len(source) - 1
    rng = np.random.default_rng(Draw(random_state).at("attribution").key())
    found = np.zeros((b, len(used)))
    for z in range(b):
        order = rng.permutation(len(used))
        for way in (order, order[::-1]):
            rows = np.zeros((len(used) + 1, len(source.names)), int)
            place = np.argsort(way)  # when each column is exchanged
            rows[:, used] = np.where(place < np.arange(len(used) + 1)[:, None], 0, z + 1)
            found[z, way] += np.diff(source.batched(rows)[:, k]) / 2
    return found.mean(0), found.std(0, ddof=min(1, b - 1)) / np.sqrt(b)
