"""Solvers: the loss over two coefficients of a linear model, and the path of every solver to its minimum.

    squares    f(a, b) = Σ_i (r_i - a x_i - b z_i)² / n               r: what the other coefficients leave of y
    log-odds   f(a, b) = Σ_i log(1 + exp(-s_i (r_i + a x_i + b z_i))) / n,   s = ±1

The other coefficients and the intercept stay as the model has them.
Shapes: n rows, D features.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..check import Count
from ..errors import InputError
from ..formulas import Surface
from ..plots import Figure, race
from ..results import Result
from ..train import minimize
from ._registry import explanation
from ._rows import features, finite, is_one_plane, names_of, pair_of, targets
from .surface.trajectories import Spec, trajectories

__all__ = ["Solvers", "solvers"]

GRID = 61


@dataclass(frozen=True, eq=False)
class Solvers(Result):
    """The loss over two coefficients, and the paths of solvers by name."""

    loss: str  # what the loss is
    labels: tuple[str, str]  # of both coefficients
    grid: tuple[np.ndarray, np.ndarray, np.ndarray]  # positions (G,), positions (G,) and the loss there (G, G)
    minimum: np.ndarray  # where it is smallest (2,)
    lowest: float  # the loss there
    points: dict[str, np.ndarray]  # path of each solver (T + 1, 2)
    values: dict[str, np.ndarray]  # the loss along it (T + 1,)
    evaluations: dict[str, np.ndarray]  # passes over the rows by then (T + 1,)
    ended: dict[str, str]  # why it ended

    @property
    def distances(self) -> dict[str, float]:
        """From the last point of each solver to the minimum."""
        return {name: float(np.linalg.norm(path[-1] - self.minimum)) for name, path in self.points.items()}

    def columns(self) -> dict[str, Any]:
        """One row per solver."""
        values = list(self.values.values())
        return {
            "solver": list(self.points),
            "last loss": [v[-1] for v in values],
            "above the lowest": [v[-1] - self.lowest for v in values],
            "distance to the minimum": list(self.distances.values()),
            "steps": [len(v) - 1 for v in values],
            "evaluations": [int(e[-1]) for e in self.evaluations.values()],
            "ended": list(self.ended.values()),
        }

    def figure(self) -> Figure:
        """The paths from above, and the loss against steps and evaluations."""
        above = {name: values - self.lowest for name, values in self.values.items()}
        lines = {
            "steps": {name: (np.arange(len(v)), v) for name, v in above.items()},
            "evaluations of the loss": {name: (self.evaluations[name], v) for name, v in above.items()},
        }
        settings: Any = {"label": "loss - lowest loss", "title": self.loss, "labels": self.labels}
        return race(lines, grid=self.grid, paths=self.points, minima=[self.minimum.tolist()], **settings)

    @property
    def caption(self) -> str:
        a, b = self.minimum
        return f"{self.loss} over two coefficients; least, {self.lowest:.6g}, at ({a:.4g}, {b:.4g})."


def _has_two_coefficients(obj: Any) -> bool:
    return len(getattr(obj, "classes_", (0, 1))) == 2 and obj.n_features_in_ > 1 and is_one_plane(obj)


@explanation(
    "solvers",
    when=_has_two_coefficients,
    otherwise="is not a linear model of one number or two classes over two features or more; {} needs one",
)
def solvers(
    obj: Any,
    X: Any,
    y: Any,
    columns: Sequence[int] = (0, 1),
    optimizers: Sequence[Spec] | None = None,
    start: Sequence[float] = (0.0, 0.0),
    steps: Count = 100,
) -> Solvers:
    """The loss over two coefficients, without any penalty, and the path of every solver to its minimum.

    Args:
        obj: A fitted linear model of one number, or of two classes.
        columns: The two features whose coefficients move.
        optimizers: Rules as `trajectories` takes them; None: gd and momentum at rates that the curvature allows, cg,
            lbfgs and newton.
        start: The two coefficients at the start.
        steps: Most steps of each.
    """
    pair, x = pair_of(columns, obj.n_features_in_), features(obj, X)
    begin = finite("start", start).ravel().tolist()
    if len(begin) != 2:
        raise InputError(f"start={start}; two numbers are needed, one for each coefficient.")
    ground = _surface(obj, x, targets(y, len(x)), pair, tuple(begin))
    names = names_of(obj)
    found, low = trajectories(ground, optimizers or _rules(ground), steps=steps, size=GRID), np.array(ground.minima[0])
    paths, none = found.paths, np.empty(0)
    return Solvers(
        loss=ground.name,
        labels=(f"coefficient of {names[pair[0]]}", f"coefficient of {names[pair[1]]}"),
        grid=found.grid or (none, none, none),  # of two coefficients there is one
        minimum=low,
        lowest=float(ground(torch.from_numpy(low))),
        points={name: path.points for name, path in paths.items()},
        values={name: path.values for name, path in paths.items()},
        evaluations={name: path.evaluations for name, path in paths.items()},
        ended={name: path.reason for name, path in paths.items()},
    )


def _surface(obj: Any, x: np.ndarray, y: np.ndarray, pair: tuple[int, ...], start: tuple[float, ...]) -> Surface:
    coef = np.ravel(obj.coef_).astype(float)
    others = np.delete(np.arange(len(coef)), pair)
    rest = torch.from_numpy(x[:, others] @ coef[others] + float(np.ravel(obj.intercept_)[0]))  # (n,)
    moved = torch.from_numpy(np.ascontiguousarray(x[:, list(pair)]))  # (n, 2)
    classes = getattr(obj, "classes_", None)
    if classes is None:
        f, name = _squares(moved, torch.from_numpy(finite("y", y)) - rest), "mean squared residual"
    else:
        f, name = _log_odds(moved, rest, _signs(y, classes)), "mean log loss"
    low = minimize(f, coef[list(pair)], optimizer="newton", steps=100, tolerance=1e-10).best
    ends, size = np.array([start, low]), moved.square().mean(0).sqrt().numpy() + 1e-300
    # both coefficients in steps that change the predictions alike
    reach = 0.75 * max(float((np.ptp(ends, axis=0) * size).max()), 1e-9) / size
    box = tuple((float(m - r), float(m + r)) for m, r in zip(ends.mean(0), reach, strict=True))
    return Surface(name, f, start, box, (tuple(map(float, low)),), "")


def _signs(y: np.ndarray, classes: np.ndarray) -> Tensor:
    """1 for the second class and -1 for the first: (n,)."""
    same = y[:, None] == np.asarray(classes)  # (n, 2)
    if not np.all(same.any(-1)):
        raise InputError(f"y holds labels that are not classes of the model, {list(classes)}; pass its own rows.")
    return torch.from_numpy(np.where(same[:, 1], 1.0, -1.0))


def _squares(x: Tensor, target: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda theta: (target - x @ theta).square().mean()


def _log_odds(x: Tensor, rest: Tensor, sign: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda theta: torch.nn.functional.softplus(-sign * (rest + x @ theta)).mean()


def _rules(ground: Surface) -> list[Spec]:
    """Rates from the largest curvature λ at the start: 1/λ for gd, half of it for momentum."""
    curvature = torch.autograd.functional.hessian(ground.f, torch.tensor(ground.start, dtype=torch.float64))
    largest = float(torch.linalg.eigvalsh(curvature)[-1])  # pyright: ignore[reportArgumentType]
    if not largest > 0:
        raise InputError("The loss is flat where the solvers start: both columns are zero. Choose other columns.")
    rate = float(f"{1 / largest:.2g}")
    return [("gd", rate), ("momentum", rate / 2), "cg", "lbfgs", "newton"]
