"""Which columns matter: how much the loss grows when the cells of a column are permuted among the rows.

    growth_j = 1/R Σ_r mean_i l(y_i, f(x_i with column j of row π_r(i))) - mean_i l(y_i, f(x_i))

Columns are those before encoding. Of correlated columns each stands in for the others, so they are permuted together
as well. The interval is mean ± 1.96 standard errors of the growth over rows.
Shapes: n rows, C columns and groups of them, R repeats.
Reference: Breiman, Random forests, Machine Learning 45 (2001); Fisher, Rudin and Dominici, All models are wrong, but
many are useful, JMLR 20 (2019).
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ... import check
from ...check import Count, RandomState
from ...errors import InputError
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend, short
from ...results import Result
from .._registry import explanation
from ._columns import TABLES, Columns, correlated, of_a_table

BARS = 15  # that are drawn
Losses = Literal["absolute", "square", "log", "wrong"]
RowLoss = Callable[[Any, Any], Any]


class Loss(NamedTuple):
    """A loss of each row."""

    words: str  # what its mean is
    unit: str
    of: RowLoss  # (y, predictions) -> (n,)
    labels: bool = True  # whether it compares with predictions, not with probabilities


class Importance(Result):
    """Growth of the loss, the strongest column or group of columns first."""

    names: tuple[str, ...]  # of the C columns, and of groups: a + b
    members: tuple[tuple[int, ...], ...]  # the places of their columns; two or more are a group
    repeats: np.ndarray  # growth of each permutation (C, R)
    low: np.ndarray  # ends of the 95 % interval (C,)
    high: np.ndarray
    base: float  # mean loss of the rows as they are
    loss: str  # what the mean loss is
    unit: str  # of the loss
    n: int  # rows
    part: str  # what the rows are
    correlation: tuple[float, ...]  # the smallest between two columns of each group, 0 for one column (C,)

    @property
    def growth(self) -> np.ndarray:
        """Mean over permutations: (C,)."""
        mean = self.repeats.mean(1)
        return np.where(abs(mean) > 1e-12 * abs(self.repeats).max(), mean, 0.0)  # changes that cancel leave rounding

    def columns(self) -> dict[str, Any]:
        """One row for each column, or group of columns that were permuted together."""
        unit = f" ({self.unit})" * bool(self.unit)
        return {"column": self.names, f"growth{unit}": self.growth, "low": self.low, "high": self.high}

    @property
    def apart(self) -> list[int]:
        """Places of what can be judged alone: groups, and columns that are in none; the strongest first."""
        grouped = {j for places in self.members if len(places) > 1 for j in places}
        return [c for c, places in enumerate(self.members) if len(places) > 1 or not grouped & {*places}]

    @property
    def finding(self) -> str:
        """What matters most."""
        first = self.apart[0]
        if self.low[first] <= 0:
            return f"No column has an effect that {self.n:,} {self.part} can show"
        return f"{self.names[first]} matter{'s' * (len(self.members[first]) == 1)} most"

    @property
    def caption(self) -> str:
        first, unit = self.apart[0], f" {self.unit}" if self.unit else ""
        ends = f"{self.growth[first]:.4g} [{self.low[first]:.3g}, {self.high[first]:.3g}]{unit}"
        text = f"{self.finding}: permuted, the {self.loss} of {self.n:,} {self.part}, {self.base:.4g}, grows by {ends}."
        none = [self.names[c] for c in self.apart if self.low[c] <= 0]
        more = f" and {len(none) - 4} more" * (len(none) > 4)
        text += f" No effect is shown by {', '.join(none[:4])}{more}." if 0 < len(none) < len(self.apart) else ""
        groups = [c for c in self.apart if len(self.members[c]) > 1]
        if not groups:
            return text
        named = [f"{self.names[c].replace(' + ', ' and ')} ({self.correlation[c]:.2f})" for c in groups[:3]]
        advice = "Permuted alone, one of them makes rows that do not occur, so look at the bar of them together."
        return f"{text} Correlated: {'; '.join(named)}. {advice}"

    @drawn
    def figure(self) -> Figure:
        """Bars with intervals, the strongest on top; correlated columns, permuted together, are hatched."""
        shown, growth = len(self.names[:BARS]), self.growth
        figure, axes = canvas(width=6.6, height=1.2 + 0.3 * shown)
        for c in range(shown):
            group = len(self.members[c]) > 1
            look: dict[str, Any] = {"color": PALETTE[0], "label": "one column"}
            if group:
                look = {"color": PALETTE[4], "hatch": "//", "ec": "white", "label": "correlated columns together"}
            axes.barh(c, growth[c], height=0.66, **look)
            axes.hlines(c, self.low[c], self.high[c], color="black", lw=1.2)
            far = max(growth[c], self.high[c], 0)
            axes.annotate(f"{growth[c]:.3g}", (far, c), (4, 0), textcoords="offset points", va="center", size="small")
        axes.axvline(0, color=GREY, lw=1)
        axes.set_yticks(range(shown), [short(name, 30) for name in self.names[:shown]])
        unit = f" / {self.unit}" if self.unit else ""
        axes.set(ylim=(shown - 0.4, -0.6), xlabel=f"growth of the {self.loss}{unit}")
        more = len(self.names) - shown
        place: dict[str, Any] = {"x": 1, "ha": "right"} if more else {}  # room for a longer line
        axes.set_title(
            f"{short(self.finding, 44 if more else 60)}{f' (not shown: {more} smaller)' * bool(more)}", **place
        )
        axes.margins(x=0.12)
        axes.grid(visible=False, axis="y")
        if any(len(places) > 1 for places in self.members[:BARS]):
            legend(figure)
        return figure


@explanation("importance", when=of_a_table, otherwise=TABLES["otherwise"], tested=True)
def importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    loss: Losses | RowLoss | None = None,
    repeats: Count = 10,
    max_rows: Count | None = None,
    target: str = "",
    part: str = "rows",
    random_state: RandomState = 0,
) -> Importance:
    """Growth of the loss when the cells of a column are permuted among the rows; correlated columns also together.

    Args:
        X: Rows that the model was not fitted to: an array or a data frame (n, D).
        y: Their targets: (n,), or (n, T).
        loss: absolute, square, log (of probabilities), wrong (1 where the class is wrong), or a function
            (y, predictions) -> loss of each row. None: log or wrong for classes, absolute for numbers.
        repeats: Permutations of each column that the model uses: those of scikit-learn's `permutation_importance`.
        part: What the rows are, for the caption.

    Example:
        >>> from sklearn.linear_model import LinearRegression
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> model = LinearRegression().fit(X, 5 * X[:, 0] + X[:, 2])
        >>> importance(model, X, 5 * X[:, 0] + X[:, 2]).names
        ('x1', 'x3', 'x2')
    """
    step = 1 if max_rows is None else -(-len(y) // max_rows)
    columns = Columns(model, X).take(slice(None, None, step))
    y = np.asarray(check.plain(y))[::step]
    if len(y) != len(columns):
        raise InputError(f"X has {len(columns)} rows and y has {len(y)}; pass one target for each row.")
    found = row_loss(loss, columns.model, y, target)
    before = _losses(found, y, columns.predict(labels=found.labels))  # (n,)
    groups, correlation = correlated(columns)
    members = [(j,) for j in columns.used] + [tuple(group) for group in groups]
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max + 1)
    rng, shuffled, orders = np.random.RandomState(seed), np.arange(len(y)), [np.arange(len(y))]
    for _ in range(repeats):  # the permutations that scikit-learn's function applies to every column
        rng.shuffle(shuffled)
        orders.append(orders[-1][shuffled])  # it shuffles what was shuffled before
    growth, error = [], []
    for places in members:
        made = columns.exchanges(places, columns, orders[1:], labels=found.labels)
        change = np.array([_losses(found, y, predictions) for predictions in made]) - before  # (R, n)
        growth.append(change.mean(1))
        error.append(change.mean(0).std(ddof=min(1, len(y) - 1)) / np.sqrt(len(y)))
    order = np.argsort(-np.mean(growth, 1), kind="stable")
    members, made, half = [members[c] for c in order], np.array(growth)[order], 1.96 * np.array(error)[order]
    called = [[columns.names[j] for j in places] for places in members]
    names = (" + ".join(c) if len(c) <= 3 else f"{c[0]} + {len(c) - 1} more" for c in called)
    return Importance(
        *(tuple(names), tuple(members)),
        *(made, made.mean(1) - half, made.mean(1) + half),
        *(float(before.mean()), found.words, found.unit, len(y), part),
        tuple(min((float(correlation[i, j]) for i in p for j in p if i < j), default=0.0) for p in members),
    )


def _losses(loss: Loss, y: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    found = np.asarray(loss.of(y, predictions), dtype=float)
    if found.shape != (len(y),):
        raise InputError(f"loss gives an array of shape {found.shape}; one number for each of {len(y)} rows is needed.")
    return found


def row_loss(loss: Any, model: Any, y: np.ndarray, target: str = "") -> Loss:
    """The loss of each row by its name, or the usual one of a model."""
    classes = getattr(model, "classes_", None)
    if loss is None:
        loss = "absolute" if classes is None else "log" if hasattr(model, "predict_proba") else "wrong"
    if callable(loss):
        return Loss(f"mean of {getattr(loss, '__name__', 'the loss')}", "", loss)
    if (loss in ("log", "wrong")) != (classes is not None) or (loss == "log" and not hasattr(model, "predict_proba")):
        raise InputError(f"loss={loss!r} does not fit {type(model).__name__}; leave it out, or pass a function.")
    if loss == "log":
        return Loss("log loss", "nats", lambda y, p: _log_loss(y, p, np.asarray(classes)), labels=False)
    if loss == "wrong":
        return Loss("share of wrong classes", "", lambda y, p: _by_row(np.asarray(y != p)))
    power, of = (1, "mean absolute error") if loss == "absolute" else (2, "mean squared error")
    unit = ("" if power == 1 else "squared ") + f"units of {target or 'y'}"
    if y.ndim == 1:
        return Loss(of, unit, lambda y, p: np.abs(y - p.reshape(y.shape)) ** power)
    scale = np.where(y.std(0) > 0, y.std(0), 1.0)
    return Loss(
        of,
        f"{'squared ' * (power == 2)}standard deviations, averaged over {y.shape[1]} targets",
        lambda y, p: _by_row(np.abs((y - p) / scale) ** power),
    )


def _by_row(values: np.ndarray) -> np.ndarray:
    """Means over the targets of each row: (n,) or (n, T) -> (n,)."""
    return values.reshape(len(values), -1).mean(1)


def _log_loss(y: np.ndarray, p: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """-log p(y), and 0 for a class that the model does not know; of several labels the mean over labels."""
    p = np.clip(p, np.finfo(p.dtype).eps, 1 - np.finfo(p.dtype).eps).astype(float)
    if y.ndim == 2:
        return _by_row(-np.log(np.where(y == 1, p, 1 - p)))
    at = np.searchsorted(classes, y).clip(0, len(classes) - 1)
    known = np.where(classes[at] == y, p[np.arange(len(y)), at], np.finfo(p.dtype).eps)
    return -np.log(known)
