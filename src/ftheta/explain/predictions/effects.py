"""How predictions follow columns: with one column set to each of its values, and from the mean to the one of a row.

    ICE_i(v) = f(x_i with column j set to v),      PD(v) = 1/n Σ_i ICE_i(v)           dependence
    φ_j = Σ_{S ∌ j} |S|! (D - |S| - 1)! / D! (v(S ∪ j) - v(S)),      v(S) = mean_z f(x on S, z elsewhere)
    Σ_j φ_j = f(x) - mean_z f(z)                                                      attribution: Shapley values

Positions v are between the 2nd and the 98th percentile of a number or a date, and the most frequent levels of others,
in the user's units. Crossing curves of individual conditional expectations (ICE) say that the effect depends on other
columns; their mean is the partial dependence. z are rows of a background. Up to 12 columns all 2^D sets are counted.
Beyond, columns are exchanged one after the other on the way from each z to x, in random orders and their reverses, and
φ_j is the mean change at j, with its standard error over z.
Shapes: n rows, V positions, K outputs, D columns, B rows of the background, S sets.
References: Friedman, Greedy function approximation, Annals of Statistics 29 (2001); Goldstein et al., Peeking inside
the black box, JCGS 24 (2015); Shapley, A value for n-person games (1953); Strumbelj and Kononenko, Explaining
prediction models and individual predictions with feature contributions, KAIS 41 (2014).
"""

from collections.abc import Sequence
from math import factorial
from typing import Any, NamedTuple

import numpy as np

from ... import check
from ...check import Count, RandomState
from ...draw import Draw
from ...errors import InputError
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend, short
from ...results import Result
from .._probe import row_number
from .._registry import Names, explanation
from ._columns import TABLES, Columns, Output, missing, of_a_table, outputs_of, word
from .importance import importance

POSITIONS, LEVELS = 25, 10  # of numbers and dates; of others
ROWS, LINES = 500, 40  # rows that are averaged, and drawn
CURVES, TICKS = 6, 200  # outputs that are drawn, and rows as ticks
EXACT = 12  # columns whose sets are all counted
BARS = 12  # that are drawn


class Effect(NamedTuple):
    """One column: where it was set to what, and what was predicted."""

    name: str
    at: np.ndarray  # positions: numbers, dates or levels; the last may be missing (V,)
    ice: np.ndarray  # predictions (n, V, K)
    cells: np.ndarray  # of the rows (n,)
    ordered: bool  # numbers or dates

    @property
    def mean(self) -> np.ndarray:
        """Partial dependence: (V, K)."""
        return self.ice.mean(0)


class Dependence(Result):
    """How the prediction follows some columns."""

    effects: tuple[Effect, ...]
    output: Output

    def columns(self) -> dict[str, Any]:
        """One row for each column and output: where its mean prediction is lowest and highest."""
        pairs = [(effect, k) for effect in self.effects for k in self.output.kept]
        low, high = ([(e, k, pick(e.mean[:, k])) for e, k in pairs] for pick in (np.argmin, np.argmax))
        return {
            "column": [e.name for e, _ in pairs],
            "prediction of": [self.output.names[k] for _, k in pairs] if len(self.output.kept) > 1 else None,
            "lowest": [e.mean[v, k] for e, k, v in low],
            "at": [word(e.at[v]) for e, _, v in low],
            "highest": [e.mean[v, k] for e, k, v in high],
            "at ": [word(e.at[v]) for e, _, v in high],
            "range": [np.ptp(e.mean[:, k]) for e, k in pairs],
        }

    @property
    def caption(self) -> str:
        first = self.effects[0]
        k = self.output.kept[int(np.ptp(first.mean[:, self.output.kept], axis=0).argmax())]
        mean = first.mean[:, k]
        ends = [f"{mean[v]:.4g} at {word(first.at[v])}" for v in (mean.argmin(), mean.argmax())]
        return (
            f"Mean {self.output.words(k)} of {len(first.ice):,} rows when one column is set to a value and the others "
            f"stay: with {first.name} it goes from {ends[0]} to {ends[1]}."
        )

    @drawn
    def figure(self) -> Figure:
        """A panel for each column: means thick, single rows thin, where rows are as ticks; levels and missing as
        dots."""
        figure, grid = canvas(len(self.effects), across=2, width=4.2, height=3.3, sharey=True)
        for axes, effect in zip(grid, self.effects, strict=True):
            self._panel(axes, effect)
        for axes in grid[::2]:
            axes.set_ylabel(self.output.label)
        legend(figure)
        figure.set_layout_engine("constrained", h_pad=0.1)  # between the label of a panel and the title below
        return figure

    def _panel(self, axes: Any, effect: Effect) -> None:
        known = ~missing(effect.at) if effect.ordered else np.zeros(len(effect.at), bool)
        places = np.flatnonzero(~known)  # drawn as dots
        where: Any = [_beyond(effect.at[known])] * len(places) if effect.ordered else places
        spread = np.ptp(effect.mean, axis=0)
        kept = sorted(self.output.kept, key=lambda k: -spread[k])[:CURVES]
        if len(kept) == 1:
            some = effect.ice[:: -(-len(effect.ice) // LINES), :, kept[0]][:, known]
            axes.plot(effect.at[known], some.T, "-", color="0.75", lw=0.6, label="_")
            axes.plot([], [], "-", color="0.75", lw=1, label="single rows")
            ends = np.quantile(effect.ice[:, places, kept[0]], [0.1, 0.9], axis=0)
            axes.vlines(where, *ends, color="0.75", lw=3, label="80 % of the rows" if len(places) else "_")
        for k in kept:
            look = {"color": PALETTE[k % len(PALETTE)], "label": "mean" if len(kept) == 1 else self.output.names[k]}
            if known.any():
                axes.plot(effect.at[known], effect.mean[known, k], ls=("-", "--", ":", "-.")[k % 4], lw=2.2, **look)
                look["label"] = "_"
            axes.plot(where, effect.mean[places, k], "o", ms=7, **look)
        _scale(axes, effect, known)
        axes.set(title=f"{short(effect.name, 30)}: range {spread[kept[0]]:.3g}", xlabel=short(effect.name))


def _scale(axes: Any, effect: Effect, known: np.ndarray) -> None:
    """What is below the horizontal axis: a tick for each row, or the levels and how many rows have them."""
    if not effect.ordered:
        levels, cells = map(word, effect.at), [word(cell) for cell in effect.cells]
        named = [f"{short(level, 14)} ({cells.count(level)})" for level in levels]
        axes.set_xticks(range(len(named)), named, rotation=30 if sum(map(len, named)) > 40 else 0)
        axes.margins(x=0.12)
        return
    below, at = axes.get_xaxis_transform(), effect.at[known]
    cells = effect.cells[~missing(effect.cells)]
    rug = cells[(cells >= at.min()) & (cells <= at.max())][:TICKS]
    axes.plot(rug, np.zeros(len(rug)), "|", color=GREY, ms=7, transform=below)
    if not known.all():
        look = {"xycoords": below, "textcoords": "offset points", "ha": "center", "size": "small"}
        axes.annotate("missing", (_beyond(at), 0), (0, 8), **look)
    if at.dtype.kind == "M":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        axes.xaxis.set_major_locator(found := AutoDateLocator(minticks=3, maxticks=7))
        axes.xaxis.set_major_formatter(ConciseDateFormatter(found))


def _beyond(known: np.ndarray) -> Any:
    """A place right of the positions, for missing cells."""
    return known[-1] + (known[-1] - known[0]) / 8


@explanation("dependence", when=of_a_table, otherwise=TABLES["otherwise"], tested=True)
def dependence(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    columns: Sequence[str | int] | None = None,
    most: Count = 4,
    classes: Names = None,
    target: str = "",
    random_state: RandomState = 0,
) -> Dependence:
    """Mean prediction, and that of single rows, when one column is set to each of its values: the strongest columns.

    Args:
        X: Rows: an array or a data frame (n, D).
        y: Their targets, by which the strongest columns are found; not needed with `columns`.
        columns: Names or places of the columns; None: the strongest by `importance`.
        most: How many of the strongest.

    Example:
        >>> from sklearn.linear_model import LinearRegression
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> model = LinearRegression().fit(X, 5 * X[:, 0] + X[:, 2])
        >>> found = dependence(model, X, columns=["x3"]).effects[0]
        >>> bool(np.allclose(np.diff(found.mean[:, 0]), np.diff(found.at)))
        True
    """
    table = Columns(model, X)
    table = table.take(slice(None, None, -(-len(table) // ROWS)))
    if columns is None:
        if y is None:
            raise InputError("dependence finds the strongest columns by y, which is None; pass y, or columns=.")
        found = importance(model, X, y, repeats=3, max_rows=ROWS, random_state=random_state)
        columns = [places[0] for places in found.members if len(places) == 1][:most]
    effects = tuple(_effect(table, j) for j in table.numbers(columns))
    return Dependence(effects, outputs_of(table.model, effects[0].ice.shape[-1], target, classes))


def _effect(table: Columns, j: int) -> Effect:
    """The column set to each of its positions, for every row."""
    cells, n = table.column(j), len(table)
    ordered = cells.dtype.kind in "iufM"
    if ordered:
        at = _positions(cells)
        probe = table.with_cells(j, np.zeros(len(at), int), at)
    else:
        _, first, count = np.unique([word(cell) for cell in cells], return_index=True, return_counts=True)
        rows = first[np.argsort(-count, kind="stable")][:LEVELS]  # a row that has each of the most frequent levels
        at, probe = cells[rows], table.with_cells(j, rows)
    made = table.exchanges([j], probe, [np.full(n, v) for v in range(len(at))])
    return Effect(table.names[j], at, np.stack([table.outputs(m) for m in made], 1), cells, ordered)


def _positions(cells: np.ndarray) -> np.ndarray:
    """Numbers or dates: all where they are few; last a missing one, if there are such cells."""
    gone = missing(cells)
    at = np.unique(cells[~gone])
    if len(at) > POSITIONS:
        low, high = np.quantile(cells[~gone].astype("int64" if at.dtype.kind == "M" else float), [0.02, 0.98])
        spread = np.linspace(low, high, POSITIONS)
        whole = (at == np.round(at)).all() if at.dtype.kind != "M" else True
        at = np.unique((np.round(spread) if whole else spread).astype("int64" if whole else at.dtype).astype(at.dtype))
    return np.concatenate([at, cells[gone][:1]])


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
        means = " is" if self.output.startswith("probability") else ""  # the class before it may be a number
        return (
            f"{self.label}: {self.output}{means} {self.prediction:.4g}{self._truth}; the mean of {self.background} "
            f"rows is {self.mean:.4g}. The difference is due to {moved} most ({how}, which add up to it)."
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
