"""Solvers: the loss over two coefficients of a linear model, and the way of every solver to its minimum.

    squares    f(a, b) = Σ_i (r_i - a x_i - b z_i)² / n               r: what the other coefficients leave of y
    log-odds   f(a, b) = Σ_i log(1 + exp(-s_i (r_i + a x_i + b z_i))) / n,   s = ±1

The other coefficients and the intercept stand where the model has them.
Shapes: n rows, D features.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from .. import plots
from ..errors import InputError, InputTypeError
from ..formulas import Surface
from ..results import Result, Table
from ..train import minimize
from ._registry import explanation, require
from ._rows import features, finite, names_of, numbers, pair_of, targets
from .surface.trajectories import Spec, trajectories

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["HasPlane", "Solvers", "solvers"]

GRID = 61


@runtime_checkable
class HasPlane(Protocol):
    """a fitted linear model with coef_, intercept_ and n_features_in_"""

    coef_: np.ndarray
    intercept_: np.ndarray
    n_features_in_: int


@dataclass(frozen=True, eq=False)
class Solvers(Result):
    """The loss over two coefficients, and the ways down.

    Args:
        what: What the loss is.
        labels: Of both coefficients.
        grid: Positions (G,), positions (G,) and the loss there (G, G).
        minimum: Where it is smallest (2,).
        lowest: The loss there.
        points: Solver to its way (T + 1, 2).
        values: Solver to the loss along it (T + 1,).
        evaluations: Solver to passes over the rows by then (T + 1,).
        ended: Solver to why it ended.
    """

    what: str
    labels: tuple[str, str]
    grid: tuple[np.ndarray, np.ndarray, np.ndarray]
    minimum: np.ndarray
    lowest: float
    points: dict[str, np.ndarray]
    values: dict[str, np.ndarray]
    evaluations: dict[str, np.ndarray]
    ended: dict[str, str]

    @property
    def distances(self) -> dict[str, float]:
        """From the last point of each solver to the minimum."""
        return {name: float(np.linalg.norm(way[-1] - self.minimum)) for name, way in self.points.items()}

    def table(self) -> Table:
        """One line a solver."""
        columns = {
            "solver": list(self.points),
            "last loss": [float(v[-1]) for v in self.values.values()],
            "above the lowest": [float(v[-1] - self.lowest) for v in self.values.values()],
            "distance to the minimum": list(self.distances.values()),
            "steps": [len(v) - 1 for v in self.values.values()],
            "evaluations": [int(e[-1]) for e in self.evaluations.values()],
            "ended": list(self.ended.values()),
        }
        return Table(columns, self.caption)

    def figure(self) -> Figure:
        """The ways from above, and the loss against steps and evaluations."""
        above = {name: values - self.lowest for name, values in self.values.items()}
        lines = {
            "steps": {name: (np.arange(len(v)), v) for name, v in above.items()},
            "evaluations of the loss": {name: (self.evaluations[name], v) for name, v in above.items()},
        }
        settings: Any = {"label": "loss - lowest loss", "title": self.what, "labels": self.labels}
        return plots.race(lines, grid=self.grid, paths=self.points, minima=[self.minimum.tolist()], **settings)

    @property
    def caption(self) -> str:
        """What the picture shows."""
        a, b = self.minimum
        return f"{self.what} over two coefficients; least, {self.lowest:.6g}, at ({a:.4g}, {b:.4g})."


def _has_one(obj: HasPlane) -> bool:
    """Whether there is one plane over the features, with two coefficients or more."""
    shape = np.shape(getattr(obj, "coef_", ()))
    two = len(getattr(obj, "classes_", (0, 1))) == 2
    return two and obj.n_features_in_ > 1 and shape[-1:] == (obj.n_features_in_,) and shape[:-1] in ((), (1,))


@explanation("solvers", needs=HasPlane, when=_has_one)
def solvers(
    obj: HasPlane,
    X: Any,
    y: Any,
    columns: Sequence[int] = (0, 1),
    optimizers: Sequence[Spec] | None = None,
    start: Sequence[float] = (0.0, 0.0),
    steps: int = 100,
) -> Solvers:
    """The loss over two coefficients, without any penalty, and the way of every solver to its minimum.

    Args:
        obj: A fitted linear model of one number, or of two classes.
        X: Rows (n, D).
        y: Their targets (n,).
        columns: The two features whose coefficients move.
        optimizers: Rules as `trajectories` takes them; None: gd and momentum at rates that the curvature allows, cg,
            lbfgs and newton.
        start: The two coefficients at the start.
        steps: Most steps of each.
    """
    require(obj, HasPlane, "solvers")
    if not _has_one(obj):
        raise InputTypeError(
            f"{type(obj).__name__} is no plain linear model of one number or two classes over two features or more; "
            "solvers needs one."
        )
    pair, x = pair_of(columns, obj.n_features_in_), features(obj, X, "solvers")
    begin = finite("start", numbers("start", start)).ravel().tolist()
    if len(begin) != 2:
        raise InputError(f"start={start}; two numbers are needed, one for each coefficient.")
    ground = _surface(obj, x, targets(y, len(x), "solvers"), pair, tuple(begin))
    rules = optimizers or _rules(ground)
    names = names_of(obj)
    found, low = trajectories(ground, rules, steps=steps, size=GRID), np.array(ground.minima[0])
    paths, none = found.paths, np.empty(0)
    return Solvers(
        what=ground.name,
        labels=(f"coefficient of {names[pair[0]]}", f"coefficient of {names[pair[1]]}"),
        grid=found.grid or (none, none, none),  # of two coefficients there is one
        minimum=low,
        lowest=float(ground(torch.from_numpy(low))),
        points={name: path.points for name, path in paths.items()},
        values={name: path.values for name, path in paths.items()},
        evaluations={name: path.evaluations for name, path in paths.items()},
        ended={name: path.reason for name, path in paths.items()},
    )


def _surface(obj: HasPlane, x: np.ndarray, y: np.ndarray, pair: tuple[int, ...], start: tuple[float, ...]) -> Surface:
    coef = np.ravel(obj.coef_).astype(float)
    others = np.delete(np.arange(len(coef)), pair)
    rest = x[:, others] @ coef[others] + float(np.ravel(obj.intercept_)[0])  # (n,)
    moved = torch.from_numpy(np.ascontiguousarray(x[:, list(pair)]))  # (n, 2)
    classes = getattr(obj, "classes_", None)
    if classes is None:
        f = _squares(moved, finite("y", numbers("y", y)) - rest)
    else:
        f = _log_odds(moved, rest, _signs(y, classes))
    said = "mean squared residual" if classes is None else "mean log loss"
    low = minimize(f, coef[list(pair)], optimizer="newton", steps=100, tolerance=1e-10).best
    ends, size = np.array([start, low]), moved.square().mean(0).sqrt().numpy() + 1e-300
    # both coefficients in steps that change the answers alike
    reach = 0.75 * max(float((np.ptp(ends, axis=0) * size).max()), 1e-9) / size
    box = tuple((float(m - r), float(m + r)) for m, r in zip(ends.mean(0), reach, strict=True))
    return Surface(said, f, start, box, (tuple(map(float, low)),), "")


def _signs(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """1 for the second class and -1 for the first: (n,)."""
    same = y[:, None] == np.asarray(classes)  # (n, 2)
    if not np.all(same.any(-1)):
        raise InputError(
            f"y holds labels that are none of the classes {list(classes)} of the model; pass its own rows."
        )
    return np.where(same[:, 1], 1.0, -1.0)


def _squares(x: Tensor, target: np.ndarray) -> Callable[[Tensor], Tensor]:
    r = torch.from_numpy(np.ascontiguousarray(target, dtype=float))
    return lambda theta: (r - x @ theta).square().mean()


def _log_odds(x: Tensor, rest: np.ndarray, sign: np.ndarray) -> Callable[[Tensor], Tensor]:
    s, base = torch.from_numpy(sign), torch.from_numpy(rest)
    return lambda theta: torch.nn.functional.softplus(-s * (base + x @ theta)).mean()


def _rules(ground: Surface) -> list[Spec]:
    """Rates from the largest curvature λ at the start: 1/λ for gd, half of it for momentum."""
    curvature = torch.autograd.functional.hessian(ground.f, torch.tensor(ground.start, dtype=torch.float64))
    largest = float(torch.linalg.eigvalsh(curvature)[-1])  # pyright: ignore[reportArgumentType]
    if not largest > 0:
        raise InputError("The loss is flat where the solvers start: both columns are zero. Choose other columns.")
    rate = float(f"{1 / largest:.2g}")
    return [("gd", rate), ("momentum", rate / 2), "cg", "lbfgs", "newton"]
