"""Linear models: the influence of one row, the paths of solvers to the minimum, and statistics.

    row       ŷ_i(t), θ(t)     with y_i = t (a number), or x_ij = t (a class)
    squares   f(a, b) = Σ_i (r_i - a x_i - b z_i)² / n               r: what the other coefficients leave of y
    log-odds  f(a, b) = Σ_i log(1 + exp(-s_i (r_i + a x_i + b z_i))) / n,   s = ±1

For least squares ŷ_i follows y_i with the slope h_ii, the leverage of the row: 0 for a row without influence, 1 for one
that the plane goes through. The loss is one over two coefficients; the others and the intercept stay as they are.
Shapes: M places, P coefficients (intercept first), n rows, D features.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import torch
from sklearn.base import clone, is_classifier

from ...check import Count
from ...errors import InputError
from ...formulas import Surface
from ...plots import GREY, PALETTE, Axes, Figure, canvas, drawn, short
from ...results import Result
from ...train import minimize
from .._probe import codes, features, finite, is_one_plane, names_of, pair_of, targets
from .._registry import Names, explanation
from ..surface.descent import Spec, Trajectories, trajectories

PLACES, SPREADS = 21, 3.0  # of a row that is moved: how many, and how far in standard deviations
ROUNDING = 1e-6  # change of coefficients, in units of the largest, that is none
GRID = 61  # of the loss over two coefficients


class RowInfluence(Result):
    """A model fitted again with one row at every place."""

    row: int  # the row that was moved
    moved: str  # what of it was moved: a feature, or "y"
    places: np.ndarray  # where it was put (M,)
    home: float  # where it was
    answers: np.ndarray  # prediction for the row itself: ŷ, or the probability of the second class (M,)
    coefficients: np.ndarray  # intercept and coefficients (M, P)
    names: tuple[str, ...]  # of the coefficients
    x: np.ndarray  # the feature of all rows, where there is only one (n,); else empty
    y: np.ndarray  # their targets; 0 and 1 for classes (n,)

    def columns(self) -> dict[str, Any]:
        """One row per coefficient: before, at both ends, and its largest change."""
        c, start = self.coefficients, self.start
        return {
            "coefficient": self.names,
            f"{self.moved} = {self.places[0]:.4g}": c[0],
            "where it was": c[start],
            f"{self.moved} = {self.places[-1]:.4g}": c[-1],
            "largest change": np.abs(c - c[start]).max(0),
        }

    @drawn
    def figure(self) -> Figure:
        """Left: lines through rows of one feature, from the lowest place (pale) to the highest (dark), or the answer
        for the row against its place. Right: the change of up to ten coefficients."""
        figure, (left, right) = canvas(2, width=5.0, height=4.4)
        if len(self.x) and self.moved == "y":
            self._lines(left)
        else:
            left.set(title=f"The answer for row {self.row}", ylabel="answer")
            left.set_xlabel(f"{short(self.moved, 24)} of the row")
            left.plot(self.places, self.answers, "o-", color=PALETTE[0], ms=4, label="answer for the row")
            if self.moved == "y":
                left.axline((self.home, self.home), slope=1, color=GREY, ls=(0, (4, 3)), lw=1, label="answer = y")
            left.axvline(self.home, color=GREY, lw=1.2, ls=":", label="where it was")
        change = (self.coefficients - self.coefficients[self.start]) * (not self.still)
        title = "Coefficients: none changes" if self.still else "Coefficients"
        right.set(title=title, xlabel=f"{short(self.moved, 24)} of row {self.row}", ylabel="change of the coefficient")
        for j in np.argsort(-np.abs(change).max(0))[:10]:
            right.plot(self.places, change[:, j], label=short(self.names[j], 18))
        right.axhline(0, color=GREY, lw=0.8)
        right.axvline(self.home, color=GREY, lw=1.2, ls=":")
        for axes in (left, right):
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)  # below, not over lines
        return figure

    def _lines(self, axes: Axes) -> None:
        axes.set(title=f"Fits as row {self.row} moves", xlabel=short(self.names[1], 24), ylabel="y")
        others = np.arange(len(self.x)) != self.row
        axes.plot(self.x[others], self.y[others], "o", color=GREY, ms=4, label="other rows")
        ends = np.array([self.x.min(), self.x.max()])
        shown = np.unique(np.linspace(0, len(self.places) - 1, 5).astype(int))
        for k, strength in zip(shown, np.linspace(0.25, 1, len(shown)), strict=True):
            b, w = self.coefficients[k]
            axes.plot(ends, b + w * ends, color=PALETTE[0], ls="-", alpha=strength)
            axes.plot(self.x[self.row], self.places[k], "D", color=PALETTE[1], alpha=strength, ms=6)
        axes.plot([], [], "D", color=PALETTE[1], label=f"row {self.row}, dragged")
        axes.plot([], [], color=PALETTE[0], ls="-", label="its fit")

    @property
    def start(self) -> int:
        """The place nearest to where it was."""
        return int(np.abs(self.places - self.home).argmin())

    @property
    def slope(self) -> float:
        """Change of the answer per unit of the move: for least squares and y the leverage."""
        return float(np.polyfit(self.places - self.home, self.answers, 1)[0])

    @property
    def still(self) -> bool:
        """Whether no coefficient changes by more than rounding."""
        return bool(np.ptp(self.coefficients, axis=0).max() <= ROUNDING * np.abs(self.coefficients).max())

    @property
    def caption(self) -> str:
        low, high = self.places[0], self.places[-1]
        if self.still:
            return f"Row {self.row} moved along {self.moved} from {low:.4g} to {high:.4g}: the fit does not change."
        return (
            f"Row {self.row} moved along {self.moved} from {low:.4g} to {high:.4g} (it was at {self.home:.4g}): the "
            f"answer for it goes from {self.answers[0]:.4g} to {self.answers[-1]:.4g}, {self.slope:.3g} per unit."
        )


@explanation("row-influence", when=is_one_plane, otherwise="is not linear for one number or two classes; {} needs that")
def row_influence(
    obj: Any,
    X: Any,
    y: Any,
    row: int | None = None,
    column: int | None = None,
    to: Sequence[float] | None = None,
    *,
    names: Names = None,
) -> RowInfluence:
    """What one row does to the fit of a linear model as it is moved.

    Args:
        obj: A linear model of one number or two classes; it is cloned and fitted again at every place.
        X: Rows (n, D) that it was fitted to.
        row: Which one is moved; None: the one farthest from the others.
        column: The feature that is moved; None: y, or for classes the first feature.
        to: Places (M,); None: 21 of them, from 3 standard deviations below to 3 above where it is.

    Example:
        >>> from ftheta import LinearRegression
        >>> X, y = [[0.0], [1], [2], [9]], [0.0, 1, 2, 3]
        >>> round(row_influence(LinearRegression().fit(X, y), X, y, row=3).slope, 3)  # the leverage of row 3
        0.97
    """
    x, classes = features(obj, X), is_classifier(obj)
    target = targets(y, len(x)) if classes else finite("y", targets(y, len(x)))
    spread = np.where(x.std(0) > 0, x.std(0), 1.0)
    row = int((((x - x.mean(0)) / spread) ** 2).sum(1).argmax()) if row is None else row
    if not all(isinstance(i, Integral) and 0 <= i < n for i, n in ((row, len(x)), (column or 0, x.shape[1]))):
        raise InputError(f"row={row}, column={column}; X has {len(x)} rows and {x.shape[1]} columns, from 0 on.")
    column = 0 if column is None and classes else column
    values = target if column is None else x[:, column]
    home = float(values[row])
    places = np.linspace(-SPREADS, SPREADS, PLACES) * (float(np.std(values)) or 1.0) + home if to is None else to
    places = finite("to", places)
    if places.ndim != 1 or len(places) < 2:
        raise InputError(f"to={to}; a list of at least two places is needed.")
    fits = []
    for place in places:
        values[row] = place
        fits.append(_fitted(obj, x, target, x[[row]]))
    values[row] = home
    known = names_of(obj, names)
    one = x[:, 0].copy() if x.shape[1] == 1 else np.zeros(0)
    shown = (target == np.unique(target)[-1]).astype(float) if classes else target.copy()
    answers, coefficients = np.array([f[0] for f in fits]), np.stack([f[1] for f in fits])
    moved = "y" if column is None else known[column]
    return RowInfluence(row, moved, places, home, answers, coefficients, ("intercept", *known), one, shown)


def _fitted(obj: Any, x: np.ndarray, y: np.ndarray, own: np.ndarray) -> tuple[float, np.ndarray]:
    """The answer of a fresh fit for one row (1, D), and its coefficients (P,), intercept first."""
    model: Any = clone(obj)
    with warnings.catch_warnings(action="ignore"):  # the first fit has warned already
        try:
            model.fit(x, y)
        except ValueError as error:
            raise InputError(
                f"{type(obj).__name__} cannot be fitted with the row there: {error} Pass other places to=."
            ) from None
    if hasattr(model, "predict_proba"):
        answer = model.predict_proba(own)[0, 1]
    else:
        answer = model.predict(own)[0]
        answer = answer == model.classes_[1] if hasattr(model, "classes_") else answer
    return float(answer), np.r_[np.ravel(model.intercept_), np.ravel(model.coef_)]


@explanation(
    "solvers",
    when=lambda obj: (
        len(getattr(obj, "classes_", (0, 1))) == 2
        and obj.n_features_in_ > 1
        and is_one_plane(obj)
        and not hasattr(obj, "optimality_")  # of a machine with a margin, which has another loss
    ),
    otherwise="is not a linear model of one number or two classes over two features or more; {} needs one",
)
def solvers(
    obj: Any,
    X: Any,
    y: Any,
    columns: Sequence[int] | None = None,
    optimizers: Sequence[Spec] | None = None,
    start: Sequence[float] = (0.0, 0.0),
    steps: Count = 100,
    *,
    names: Names = None,
) -> Trajectories:
    """The loss over two coefficients, without any penalty, and the path of every solver to its minimum.

    Args:
        obj: A fitted linear model of one number, or of two classes.
        columns: The two features whose coefficients move; None: those that change the prediction most.
        optimizers: Rules as `trajectories` takes them; None: gd and momentum at rates that the curvature allows, cg,
            lbfgs and newton.
        start: The two coefficients at the start.
        steps: Most steps of each.
    """
    x = features(obj, X)
    strongest = np.sort(np.argsort(-np.abs(np.ravel(obj.coef_)) * x.std(0), kind="stable")[:2]).tolist()
    pair = pair_of(strongest if columns is None else columns, obj.n_features_in_)
    begin = finite("start", start).ravel().tolist()
    if len(begin) != 2:
        raise InputError(f"start={start}; two numbers are needed, one for each coefficient.")
    y, coef = targets(y, len(x)), np.ravel(obj.coef_).astype(float)
    others = np.delete(np.arange(len(coef)), pair)
    rest = torch.from_numpy(x[:, others] @ coef[others] + float(np.ravel(obj.intercept_)[0]))  # (n,)
    moved = torch.from_numpy(np.ascontiguousarray(x[:, list(pair)]))  # (n, 2)
    classes = getattr(obj, "classes_", None)
    if classes is None:
        left, name = torch.from_numpy(finite("y", y)) - rest, "Mean squared residual over two coefficients"
        f = lambda theta: (left - moved @ theta).square().mean()  # noqa: E731
    else:
        sign, name = torch.from_numpy(2.0 * codes(y, len(x), classes) - 1), "Mean log loss over two coefficients"
        f = lambda theta: torch.nn.functional.softplus(-sign * (rest + moved @ theta)).mean()  # noqa: E731
    low = minimize(f, coef[list(pair)], optimizer="newton", steps=100, tolerance=1e-10).best
    ends, size = np.array([begin, low]), moved.square().mean(0).sqrt().numpy() + 1e-300
    # both coefficients in steps that change the predictions alike
    reach = 0.75 * max(float((np.ptp(ends, axis=0) * size).max()), 1e-9) / size
    box = tuple((float(m - r), float(m + r)) for m, r in zip(ends.mean(0), reach, strict=True))
    ground = Surface(name, f, tuple(begin), box, (tuple(map(float, low)),), "")
    known = names_of(obj, names)
    if not optimizers:  # rates from the largest curvature λ at the start: 1/λ for gd, a tenth of it for momentum
        curvature = torch.autograd.functional.hessian(f, torch.tensor(begin, dtype=torch.float64))
        largest = float(torch.linalg.eigvalsh(curvature)[-1])  # pyright: ignore[reportArgumentType]
        if not largest > 0:
            raise InputError("The loss is flat where the solvers start: both columns are zero. Choose other columns.")
        rate = float(f"{1 / largest:.2g}")
        optimizers = [("gd", rate), ("momentum", rate / 10), "cg", "lbfgs", "newton"]
    found = trajectories(ground, optimizers, steps=steps, size=GRID)
    return replace(found, labels=(*(f"coefficient of {known[j]}" for j in pair), "loss"))


@explanation("statistics", all_rows=True)
def statistics(obj: Any, X: Any, y: Any, *, names: Names = None, classes: Names = None, target: str = "y") -> Result:
    """Standard errors, tests and diagnostics of a model, from the rows that it was fitted to."""
    found = obj.summarize(X, y)
    own = vars(found)  # nobody else has it
    own["target"] = target
    if names is not None and not hasattr(obj, "feature_names_in_"):
        called = {f"x{j}": name for j, name in enumerate(names)}
        own["names"] = tuple(called.get(name, name) for name in found.names)
    if classes is not None and "outcomes" in own:
        called = dict(zip(np.asarray(obj.classes_).tolist(), classes, strict=True))
        own |= {part: tuple(called.get(k, k) for k in own[part]) for part in ("classes", "outcomes")}
    return found
