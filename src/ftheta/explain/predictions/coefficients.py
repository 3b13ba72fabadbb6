"""Linear models: the coefficient of each column in the user's units, with an interval, and the path of a penalty.

    per unit    w_j / σ_j,      where the model was given z_j = (x_j - μ_j) / σ_j, as a table's encoder gives it
    per standard deviation      w_j s_j,      s_j the standard deviation of z_j in the rows

Coefficients per standard deviation can be compared with each other, those per unit can be used. The interval is that
of the statistics of the fit; where a model has none, as with a penalty, the model is fitted again to rows drawn with
replacement.

Shapes: R outputs, D features, B draws.
Reference: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13.
"""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor

from ... import plots
from ...plots import Figure, short
from ...results import Result
from .._probe import DRAW, classes_of, features, names_of, targets
from .._registry import Names, explanation

LEVEL = 0.95
DRAWS = 100  # of a bootstrap
MAX_DRAWN = 20  # coefficients of an output
MAX_PANELS = 4  # outputs


class Coefficients(Result):
    """Slopes of a linear model in the user's units."""

    names: tuple[str, ...]  # of the columns (D,)
    outputs: tuple[str, ...]  # what grows (R,)
    per_unit: np.ndarray  # change of the output as the column grows by 1 (R, D)
    low: np.ndarray  # of the interval (R, D); NaN where there is none
    high: np.ndarray  # (R, D)
    spread: np.ndarray  # standard deviation of each column (D,)
    method: str  # of the intervals

    @property
    def order(self) -> np.ndarray:
        """Columns with the largest effect per standard deviation first, by output: (R, D)."""
        return np.argsort(-np.abs(self.per_unit * self.spread), axis=1, kind="stable")

    def columns(self) -> dict[str, Any]:
        """One row per coefficient, the largest per standard deviation first."""
        rows = [(r, j) for r, order in enumerate(self.order) for j in order]
        at = tuple(np.array(rows).T)
        return {
            "output": [self.outputs[r] for r, _ in rows] if len(self.outputs) > 1 else None,
            "column": [self.names[j] for _, j in rows],
            "per standard deviation": self.per_unit[at] * self.spread[at[1]],
            "per unit": self.per_unit[at],
            "from": self.low[at],
            "to": self.high[at],
        }

    @property
    def caption(self) -> str:
        best = self.order[0, : min(3, len(self.names))]
        first = ", ".join(f"{self.names[j]} ({self.per_unit[0, j] * self.spread[j]:+.3g})" for j in best)
        clear = int(((self.low > 0) | (self.high < 0)).sum())
        one = f"The strongest columns, by the change of {self.outputs[0]} per standard deviation: {first}."
        return f"{one} The 95 % intervals of {clear} of {self.per_unit.size} do not hold 0 ({self.method})."

    def figure(self) -> Figure:
        """Dots with intervals per standard deviation of the column, the largest first; at the right per unit."""
        panels: dict[str, list[Any]] = {}
        for r in range(min(len(self.outputs), MAX_PANELS)):
            rows = panels[f"change of {short(self.outputs[r], 44)} per standard deviation of the column"] = []
            for j in self.order[r, :MAX_DRAWN]:
                value, *ends = (float(v[r, j] * self.spread[j]) for v in (self.per_unit, self.low, self.high))
                per_unit = f"{self.per_unit[r, j]:+.3g} per unit"
                words = per_unit if np.isfinite(value) else "left out: follows from the others"
                rows.append((self.names[j], value, *(ends if np.isfinite(ends).all() else (None, None)), words))
        left = len(self.names) - MAX_DRAWN
        cut = f", the {MAX_DRAWN} largest of {len(self.names)}" if left > 0 else ""
        figure = plots.whiskers(panels, at=0.0)
        figure.axes[0].set_title(f"Coefficients with 95 % intervals{cut}")
        return figure


def _is_linear(obj: Any) -> bool:
    shape = np.shape(obj.coef_)
    known = is_regressor(obj) or hasattr(obj, "summarize")
    return known and shape[-1:] == (obj.n_features_in_,) and (len(shape) == 1 or hasattr(obj, "classes_"))


@explanation(
    "coefficients",
    when=_is_linear,
    otherwise="is not a linear model of one number or of classes; {} needs one",
    all_rows=True,
)
def coefficients(
    obj: Any, X: Any, y: Any, *, names: Names = None, scales: Any = None, classes: Names = None, target: str = "y"
) -> Coefficients:
    """Coefficients with intervals, per unit and per standard deviation of their columns, the largest first.

    Of classes they are log-odds against the first class.

    Args:
        obj: A fitted linear model of one number or of classes.
        X: Rows (n, D) that it was fitted to.

    Example:
        >>> from ftheta import LinearRegression
        >>> X, y = [[0.0, 5], [1, 7], [2, 5], [3, 6]], [1.0, 3, 5, 8]
        >>> coefficients(LinearRegression().fit(X, y), X, y, names=["age", "size"]).table().columns["column"]
        ['age', 'size']
    """
    x, scale = features(obj, X), 1.0 if scales is None else np.asarray(scales, dtype=float)[:, 1]
    outputs = (target,)
    if hasattr(obj, "classes_"):
        called = classes_of(obj, classes)
        outputs = tuple(f"the log-odds of {name} against {called[0]}" for name in called[1:])
    w, ends, method = _slopes(obj), np.full(2, np.nan), "from the statistics of the fit"
    if hasattr(obj, "summarize"):
        found = obj.summarize(X, y)
        w, *ends = np.stack([found.coefficients, *found.interval().T]).reshape(3, -1, x.shape[1] + 1)[..., 1:]
    if not np.isfinite(ends).any():
        w, ends, method = _slopes(obj), *_bootstrap(obj, x, np.asarray(y))
    low, high = (end / scale for end in ends)
    return Coefficients(tuple(names_of(obj, names)), outputs, w / scale, low, high, x.std(0) * scale, method)


def _bootstrap(obj: Any, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, str]:
    """Both ends of the intervals of the slopes, (2, R, D), and how they were made."""
    draw, fits = np.random.default_rng(DRAW.key("coefficients")), []
    for _ in range(DRAWS):
        rows = draw.integers(0, len(x), len(x))
        model: Any = clone(obj)
        with warnings.catch_warnings(action="ignore"):  # the first fit has warned already
            if len(np.unique(y[rows])) == len(np.unique(y)) or not hasattr(obj, "classes_"):
                fits.append(_slopes(model.fit(x[rows], y[rows])))
    ends = np.quantile(fits, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return ends, f"from {len(fits)} fits to rows drawn with replacement"


def _slopes(obj: Any) -> np.ndarray:
    """(R, D), of several classes against the first."""
    w = np.atleast_2d(np.asarray(obj.coef_, dtype=float))
    return w[1:] - w[0] if len(w) > 1 else w


@explanation("path", all_rows=True)
def path(obj: Any, X: Any, y: Any, *, names: Names = None, target: str = "y") -> Result:
    """How every coefficient shrinks as the penalty grows, with the penalty of the model marked.

    Args:
        obj: A fitted linear model with a penalty.
        X: Rows (n, D) that it was fitted to.

    Example:
        >>> from ftheta import Lasso
        >>> X, y = [[0.0, 1], [1, 0], [2, 1], [3, 0]], [1, 3, 2, 5]
        >>> path(Lasso(alpha=0.5).fit(X, y), X, y).chosen
        0.5
    """
    x = features(obj, X)
    found, label = obj.coefficient_path(x, targets(y, len(x))), f"change of {target} per standard deviation"
    return replace(found, coefs=found.coefs * x.std(0), names=tuple(names_of(obj, names)), label=label)
