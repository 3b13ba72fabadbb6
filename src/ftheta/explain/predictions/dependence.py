"""How the prediction follows a column: individual conditional expectations (ICE) and their mean, partial dependence.

    ICE_i(v) = f(x_i with column j set to v),      PD(v) = 1/n Σ_i ICE_i(v)

Positions are between the 2nd and the 98th percentile of a number or a date, and the most frequent levels of others, in
the user's units. Crossing curves say that the effect depends on other columns.
Shapes: n rows, V positions, K outputs.
Reference: Friedman, Greedy function approximation, Annals of Statistics 29 (2001); Goldstein et al., Peeking inside the
black box, JCGS 24 (2015).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...check import Count, RandomState
from ...errors import InputError
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend, short
from ...results import Result
from .._registry import Names, explanation
from ._columns import TABLES, Columns, Output, missing, of_a_table, outputs_of, word
from .importance import importance

POSITIONS, LEVELS = 25, 10  # of numbers and dates; of others
ROWS, LINES = 500, 40  # rows that are averaged, and drawn
CURVES, TICKS = 6, 200  # outputs that are drawn, and rows as ticks


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
