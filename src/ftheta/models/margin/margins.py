"""A machine seen: who lies on its margins, within and beyond; is it solved; what would leaving one row out do.

    margin of row i    m_i = min_k t_ik f_k(x_i)       over the machines k; t_ik = ±1, on which side of k it belongs
    m > 1: beyond the margin, β = 0;    m = 1: on it, free;    m < 1: violates it, |β| = C;    m < 0: on the wrong side
    residual           y_i - f(x_i),      within the tube where it is at most ε

Without a row beyond the margin, or within the tube, the solution stays the same. For more than two classes a machine
tells each class from all others, so a row may be on the wrong side of one and still be predicted rightly.

    gap              P - D >= P - min P >= 0
    conditions       how far any residual is from where its β allows it; |Σ β|
    leave one out    error <= #support vectors / n,      because a row with β = 0 is right and changes nothing
    hard margin      error <= 4 R² ‖w‖² / n,             R: radius of a ball that holds all φ(x_i)

Shapes: n rows, D features, R machines, G positions along each axis.
Reference: Vapnik, Statistical Learning Theory (1998), section 10.4; Chapelle, Vapnik, Bousquet and Mukherjee, Choosing
Multiple Parameters for Support Vector Machines, Machine Learning 46 (2002).
"""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from ...check import Count
from ...errors import InputError
from ...explain import Names, classes_of, codes, explanation, names_of, regions, targets
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend, short
from ...results import Result, counted
from .problem import Kernel

ON = 1e-3  # how far from 1 a margin that counts as 1 may be
STATES = ("beyond the margin", "on the margin", "within the margin", "on the wrong side")
MARKERS = "osD^vPX"
LEAST = 1e-17  # what is drawn for 0


def margins_of(raw: np.ndarray, code: np.ndarray) -> np.ndarray:
    """The margin of each row, t f at its worst machine, of outputs (n,) or (n, K) and places of classes: (n,)."""
    if raw.ndim == 1:
        return raw * (2 * code - 1)
    return (raw * np.where(code[:, None] == np.arange(raw.shape[1]), 1, -1)).min(1)


def states_of(margin: np.ndarray) -> np.ndarray:
    """Places in STATES (n,)."""
    return np.select([margin > 1 + ON, margin >= 1 - ON, margin >= 0], [0, 1, 2], 3)


class Margins(Result):
    """Rows and their margins."""

    margin: np.ndarray  # (n,)
    output: np.ndarray  # f of the machine of the second class (n,), or the margin for more classes
    code: np.ndarray  # places of the classes of the rows (n,)
    classes: tuple[str, ...]  # their names
    width: tuple[float, ...]  # 1 / ‖w‖ of each machine, on either side (R,)
    plane: Any = None  # regions over two features, whose scores are the outputs

    title: ClassVar[str] = "Margins"

    def columns(self) -> dict[str, Any]:
        """One row per class: how many of its rows are in each state."""
        state, k = states_of(self.margin), len(self.classes)
        each = {name: np.bincount(self.code[state == i], minlength=k) for i, name in enumerate(STATES)}
        return {"class": self.classes, "rows": np.bincount(self.code, minlength=k), **each}

    @property
    def caption(self) -> str:
        beyond, n = int((states_of(self.margin) == 0).sum()), len(self.margin)
        widths = ", ".join(f"{width:.4g}" for width in self.width[:5]) + ", ..." * (len(self.width) > 5)
        said = f"{beyond:,} of {counted(n, 'row')} lie beyond the margin: without them the model stays the same. "
        several = f"the margins of the {len(self.width)} machines are" if len(self.width) > 1 else "the margin is"
        return f"{said}On either side of the boundary {several} {widths} wide (1 / ‖w‖, as the kernel measures)."

    @drawn
    def figure(self) -> Figure:
        """On the plane of two features the boundary, the margins and the support vectors; else the outputs of rows."""
        return self._histogram() if self.plane is None else self._plane()

    def _plane(self) -> Figure:
        figure, axes = canvas(width=6.6, height=5.6)
        state, rows = states_of(self.margin), self.plane.rows
        scores = np.moveaxis(self.plane.scores, -1, 0)
        machines = scores[1:] if len(scores) == 2 else scores
        for k, f in enumerate(machines):
            color = "black" if len(machines) == 1 else PALETTE[k % len(PALETTE)]
            axes.contour(self.plane.x, self.plane.y, f, levels=[0.0], colors=color, linewidths=1.6)
            axes.contour(self.plane.x, self.plane.y, f, levels=[-1.0, 1.0], colors=color, linewidths=1, linestyles="--")
        axes.plot([], [], "-", color="black", label="boundary, f = 0")
        axes.plot([], [], "--", color="black", label="margins, f = ±1")
        for k, name in enumerate(self.classes):
            look = {"marker": MARKERS[k % 7], "color": PALETTE[k % len(PALETTE)], "label": short(name, 20)}
            axes.scatter(*rows[self.code == k].T, s=22, linewidths=0, zorder=3, **look)
        rings = {"s": 90, "facecolors": "none", "edgecolors": "black", "zorder": 4}
        axes.scatter(*rows[state > 0].T, linewidths=1, label="support vector", **rings)
        if (state == 3).any():
            axes.scatter(*rows[state == 3].T, marker="x", s=40, color="black", lw=1.2, label=STATES[3], zorder=5)
        axes.set(title=self.title, xlabel=short(self.plane.names[0]), ylabel=short(self.plane.names[1]))
        legend(figure)
        return figure

    def _histogram(self) -> Figure:
        figure, axes = canvas(width=6.6, height=4.2)
        two = len(self.classes) == 2
        bins = np.histogram_bin_edges(self.output, 40).tolist()
        parts = [self.output[self.code == k] for k in range(len(self.classes))]
        colors = [PALETTE[k % len(PALETTE)] for k in range(len(parts))]
        axes.hist(parts, bins=bins, stacked=True, color=colors, label=[short(name, 20) for name in self.classes])
        axes.axvline(0, color="black", lw=1.6, label="boundary")
        for i, place in enumerate((-1, 1) if two else (1,)):
            axes.axvline(place, color="black", lw=1, ls="--", label="margin" if not i else "")
        what = f"output f, above 0 for {short(self.classes[1], 20)}" if two else "least t f over the machines"
        axes.set(title=self.title, xlabel=what, ylabel="rows")
        legend(figure)
        return figure


@explanation("margins")
def margins(obj: Any, X: Any, y: Any, *, names: Names = None, scales: Any = None, classes: Names = None) -> Margins:
    """Which rows lie on the margins, within them and beyond; on the plane where there are two features.

    Args:
        obj: A fitted SVMClassifier.
        X: The rows that it was fitted to (n, D).
        y: Their classes (n,).

    Example:
        >>> from ftheta import SVMClassifier
        >>> X, y = [[1.0, 1], [2, 2], [0, 0], [-1, 0]], [1, 1, 0, 0]
        >>> margins(SVMClassifier(kernel="linear", C=np.inf).fit(X, y), X, y).margin.round(3).tolist()
        [1.0, 3.0, 1.0, 2.0]
    """
    raw = obj.decision_function(X)
    code = codes(y, len(raw), obj.classes_)
    margin, called = margins_of(raw, code), classes_of(obj, classes)
    flat = obj.n_features_in_ == 2
    plane = regions(obj, X, y, names=names, scales=scales, classes=classes) if flat else None
    width = tuple(1 / norm if norm else np.inf for norm in obj.optimality_["norm"])
    return Margins(margin, raw if raw.ndim == 1 else margin, code, called, width, plane)


class Tube(Result):
    """Rows around a fit, and its tube."""

    at: np.ndarray  # the feature where there is one, else the prediction (n,)
    y: np.ndarray  # (n,)
    predicted: np.ndarray  # (n,)
    epsilon: float  # in units of y
    name: str  # of `at`
    target: str

    def columns(self) -> dict[str, Any]:
        """How many rows are within the tube, on its edge and outside, and their mean absolute residuals."""
        rest, state = np.abs(self.y - self.predicted), self._states()
        named = ("within the tube", "on its edge", "outside")
        mean = [rest[state == i].mean() if (state == i).any() else None for i in range(3)]
        return {"rows": named, "count": np.bincount(state, minlength=3), "mean |residual|": mean}

    def _states(self) -> np.ndarray:
        away = np.abs(self.y - self.predicted) - self.epsilon
        slack = ON * max(self.epsilon, 1e-3 * float(np.std(self.y)))
        return np.select([away < -slack, away <= slack], [0, 1], 2)

    @property
    def caption(self) -> str:
        within, n = int((self._states() == 0).sum()), len(self.y)
        return (
            f"{within:,} of {counted(n, 'row')} lie within the tube of ±{self.epsilon:.4g}: without them the model "
            "stays the same. The others are its support vectors."
        )

    @drawn
    def figure(self) -> Figure:
        """Rows, the fit and its tube; rows outside the tube are support vectors."""
        figure, axes = canvas(width=6.6, height=4.6)
        order, state = np.argsort(self.at), self._states()
        at, fit = self.at[order], self.predicted[order]
        axes.fill_between(at, fit - self.epsilon, fit + self.epsilon, color=PALETTE[2], alpha=0.25, label="tube")
        axes.plot(at, fit, "-", color=PALETTE[2], label="fit")
        axes.scatter(self.at[state == 0], self.y[state == 0], s=14, color=GREY, label="may be removed", linewidths=0)
        outside = state > 0
        axes.scatter(self.at[outside], self.y[outside], s=18, color=PALETTE[0], label="support vector", linewidths=0)
        axes.set(title="Tube of the regression", xlabel=short(self.name), ylabel=short(self.target))
        legend(figure)
        return figure


@explanation(
    "tube", when=lambda obj: np.ndim(obj.intercept_) == 0, otherwise="has several targets; {} needs a machine of one"
)
def tube(obj: Any, X: Any, y: Any, *, names: Names = None, scales: Any = None, target: str = "y") -> Tube:
    """Which rows lie within the tube of a support vector regression.

    Args:
        obj: A fitted SVMRegressor of one target.
        X: The rows that it was fitted to (n, D).
        y: Their targets (n,).

    Example:
        >>> from ftheta import SVMRegressor
        >>> X = np.arange(5.0)[:, None]
        >>> tube(SVMRegressor(kernel="linear", C=10).fit(X, X[:, 0]), X, X[:, 0]).table().columns["count"]
        [3, 2, 0]
    """
    predicted = obj.predict(X)
    truth = targets(y, len(predicted)).astype(float)
    if obj.n_features_in_ > 1:
        return Tube(predicted, truth, predicted, float(obj.epsilon_), f"predicted {target}", target)
    shift, scale = (0.0, 1.0) if scales is None else np.asarray(scales, dtype=float)[0]
    at = shift + scale * np.asarray(X, dtype=float)[:, 0]
    return Tube(at, truth, predicted, float(obj.epsilon_), names_of(obj, names)[0], target)


class Optimality(Result):
    """How well the conditions of the solution hold, machine by machine."""

    machines: tuple[str, ...]  # names (R,)
    numbers: dict[str, list[float]]  # of each (R,)
    tol: float

    def columns(self) -> dict[str, Any]:
        """Objectives, their gap, the largest violation of a condition, |Σ β|, and the support vectors."""
        named = {name: name for name in ("primal", "dual", "gap")}
        named |= {"largest violation": "violation", "|sum of β|": "sum"}
        named |= {"rows": "rows", "support vectors": "support", "of them free": "free"}
        return {"machine": self.machines, **{name: self.numbers[key] for name, key in named.items()}}

    @property
    def shares(self) -> dict[str, np.ndarray]:
        """What is drawn, without units (R,)."""
        scale = np.maximum(np.abs(self.numbers["primal"]), np.finfo(float).tiny)
        size = np.array(self.numbers["norm"]) + 1
        return {
            "duality gap / objective": np.abs(self.numbers["gap"]) / scale,
            "violation of a condition": np.array(self.numbers["violation"]) / size,
            "|sum of β|": np.array(self.numbers["sum"]),
        }

    @property
    def caption(self) -> str:
        gap = self.shares["duality gap / objective"].max()
        return f"The objective is at most a share {gap:.1g} above its minimum; tol was {self.tol:g}."

    @drawn
    def figure(self) -> Figure:
        """Each number on a logarithmic scale, beside the tolerance."""
        figure, axes = canvas(width=6.8, height=1.6 + 0.4 * len(self.machines))
        for i, (name, values) in enumerate(self.shares.items()):
            places = np.arange(len(values)) + 0.2 * (i - 1)
            axes.plot(np.maximum(values, LEAST), places, "os^"[i], color=PALETTE[i], label=name)
        axes.axvline(self.tol, color=GREY, ls="--", label="tol")
        axes.set(xscale="log", title="Optimality", xlabel="how far from 0", ylabel="machine", xlim=(LEAST / 2, None))
        axes.set_yticks(range(len(self.machines)), self.machines)
        axes.set_ylim(-0.6, len(self.machines) - 0.4)
        legend(figure)
        return figure


@explanation("optimality")
def optimality(obj: Any) -> Optimality:
    """The duality gap and the conditions of the solution of a support vector machine.

    Args:
        obj: A fitted SVMClassifier or SVMRegressor.

    Example:
        >>> from ftheta import SVMClassifier
        >>> optimality(SVMClassifier(kernel="linear").fit([[0.0], [2]], [0, 1])).table().columns["primal"]
        [0.5]
    """
    found = {name: list(values) for name, values in obj.optimality_.items()}
    n = len(found["gap"])
    names = ("f",) if n == 1 else tuple(map(str, getattr(obj, "classes_", range(n))))
    return Optimality(names, found, float(obj.tol))


class LeaveOneOut(Result):
    """The error of leaving one row out, beside its bounds."""

    rows: int
    refits: int  # of support vectors; all other rows are right
    error: float
    bounds: dict[str, float | None]  # None: holds for a hard margin between two classes only

    def columns(self) -> dict[str, Any]:
        """The measured error and every bound."""
        values = {"measured": self.error, **self.bounds}
        return {"what": list(values), "share of the rows": list(values.values())}

    @property
    def caption(self) -> str:
        return (
            f"Leaving one row out, {self.error:.1%} of {self.rows} rows are predicted wrongly; {self.refits} fits "
            "without a support vector tell, for a row that is none changes nothing."
        )

    @drawn
    def figure(self) -> Figure:
        """Bars of the error and of its bounds."""
        values = {name: value for name, value in {"measured": self.error, **self.bounds}.items() if value is not None}
        figure, axes = canvas(width=6.4, height=1.4 + 0.5 * len(values))
        axes.barh(list(values), list(values.values()), color=[PALETTE[0], *[GREY] * (len(values) - 1)])
        for i, value in enumerate(values.values()):
            axes.text(min(value, 1.0), i, f" {value:.3g}", va="center")
        axes.set(title="Leaving one out", xlabel="share of the rows that are wrong", ylabel="", xlim=(0, 1.15))
        axes.invert_yaxis()
        return figure


@explanation("leave-one-out", all_rows=True)
def leave_one_out(obj: Any, X: Any, y: Any, *, most: Count = 1000) -> LeaveOneOut:
    """The leave-one-out error of a classifier, measured, beside what its support vectors and its margin promise.

    Args:
        obj: A fitted SVMClassifier; copies of it are fitted, without weights of rows.
        X: The rows that it was fitted to (n, D).
        y: Their classes (n,).
        most: Support vectors up to which they are left out.

    Example:
        >>> from ftheta import SVMClassifier
        >>> X, y = [[1.0, 1], [2, 2], [0, 0], [-1, 0]], [1, 1, 0, 0]
        >>> leave_one_out(SVMClassifier(kernel="linear", C=np.inf).fit(X, y), X, y).bounds["support vectors / n"]
        0.5
    """
    x, raw = np.asarray(X, dtype=float), obj.decision_function(X)
    labels = targets(y, len(x))
    support = np.flatnonzero(margins_of(raw, codes(y, len(x), obj.classes_)) <= 1 + ON)
    if len(support) > most:
        raise InputError(f"The model has {len(support):,} support vectors, and most={most}. Give fewer rows, or most=.")
    wrong = 0
    for i in support:
        kept = np.arange(len(x)) != i
        alone = len(np.unique(labels[kept])) < len(obj.classes_)  # the only row of its class
        model: Any = clone(obj)
        wrong += alone or bool(model.fit(x[kept], labels[kept]).predict(x[i : i + 1])[0] != labels[i])
    hard = np.isinf(obj.C) and len(obj.classes_) == 2
    radius = 4 * _radius(obj, x) * obj.optimality_["norm"][0] ** 2 / len(x) if hard else None
    bounds = {"support vectors / n": len(support) / len(x), "4 R² ‖w‖² / n": radius}
    return LeaveOneOut(len(x), len(support), wrong / len(x), bounds)


def _radius(obj: Any, x: np.ndarray) -> float:
    """R² of the ball around the mean of φ(x): K(x, x) - 2 mean K(x, ·) + mean K."""
    k = Kernel(obj.kernel, obj.degree, obj.coef0, obj.sigma_)(x, x)
    return float((np.diagonal(k) - 2 * k.mean(0) + k.mean()).max())
