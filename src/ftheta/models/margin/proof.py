"""Is it solved, and will it generalize? The conditions of the solution, and what leaving one row out would do.

    gap          P - D >= P - min P >= 0
    conditions   how far any residual is from where its β allows it; |Σ β|
    leave one out   error <= #support vectors / n,      because a row with β = 0 is right and changes nothing
    hard margin     error <= 4 R² ‖w‖² / n,             R: radius of a ball that holds all φ(x_i)

Shapes: n rows, R machines.
Reference: Vapnik, Statistical Learning Theory (1998), section 10.4; Chapelle, Vapnik, Bousquet and Mukherjee, Choosing
Multiple Parameters for Support Vector Machines, Machine Learning 46 (2002).
"""

from typing import Any

import numpy as np
from sklearn.base import clone

from ...check import Count
from ...errors import InputError
from ...explain import codes, explanation, targets
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend
from ...results import Result
from .kernels import Kernel
from .margins import ON, margins_of

LEAST = 1e-17  # what is drawn for 0


class Optimality(Result):
    """How well the conditions of the solution hold, machine by machine."""

    machines: tuple[str, ...]  # names (R,)
    numbers: dict[str, list[float]]  # of each (R,)
    tol: float

    def columns(self) -> dict[str, Any]:
        """Objectives, their gap, the largest violation of a condition, |Σ β|, and the support vectors."""
        n = self.numbers
        named = {"largest violation": n["violation"], "|sum of β|": n["sum"]}
        counts = {"rows": n["rows"], "support vectors": n["support"], "of them free": n["free"]}
        return {"machine": self.machines, "primal": n["primal"], "dual": n["dual"], "gap": n["gap"], **named, **counts}

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
        """The largest of them."""
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
    found = obj.optimality_
    classes = getattr(obj, "classes_", ())
    many = len(found["gap"]) > 1
    names = [str(k) for k in (classes if many and len(classes) else range(len(found["gap"])))] if many else ["f"]
    return Optimality(tuple(names), {k: list(v) for k, v in found.items()}, float(obj.tol))


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
        """What is bounded."""
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
