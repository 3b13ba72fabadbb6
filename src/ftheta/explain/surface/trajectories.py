"""Trajectories: update rules raced from one start, against steps, evaluations and time.

    gap_t = f(θ_t) - f*,      f* = f at the lowest known minimum

A step of one rule may cost as much as many of another: evaluations count passes over f, with or without derivatives.
Shapes: θ is (n,); a picture of the surface is made where n = 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ... import optim, plots
from ...check import Count, NonNegative
from ...errors import InputError
from ...formulas import Surface, surface
from ...plots import Figure
from ...results import Result
from ...train import DescentPath, minimize
from .._registry import checked

__all__ = ["Trajectories", "trajectories"]

GRID, OWN_GRID = 201, 41  # points along each axis of a picture; of a function that takes one point at a time

Spec = str | tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Trajectories(Result):
    """Paths by rule."""

    surface: Surface  # what was descended
    paths: dict[str, DescentPath]  # name of the rule, with its rate where one was given, to its path
    grid: tuple[np.ndarray, np.ndarray, np.ndarray] | None  # (G,), (G,) and values (G, G); None where n is not 2

    @property
    def distances(self) -> dict[str, float | None]:
        """From the last finite point to the nearest known minimum; None where none is known."""
        minima = np.array(self.surface.minima)
        ends = {name: path.points[np.isfinite(path.points).all(1)][-1] for name, path in self.paths.items()}
        return {n: float(np.linalg.norm(minima - e, axis=1).min()) if len(minima) else None for n, e in ends.items()}

    def columns(self) -> dict[str, Any]:
        """One row per rule."""
        paths = self.paths.values()
        return {
            "rule": list(self.paths),
            "final value": [path.values[-1] for path in paths],
            "lowest value": [np.nanmin(path.values) for path in paths],
            "distance to a minimum": list(self.distances.values()),
            "steps": [len(path.values) - 1 for path in paths],
            "evaluations": [path.evaluations[-1] for path in paths],
            "seconds": [path.seconds[-1] for path in paths],
            "ended": [path.reason for path in paths],
        }

    @property
    def caption(self) -> str:
        return f"{self._title}, from {_words(self.surface.start)}."

    def figure(self) -> Figure:
        """The paths from above, and the values against steps, evaluations and seconds."""
        least = self._least()
        clocks: dict[str, Callable[[DescentPath], np.ndarray]] = {
            "steps": lambda path: np.arange(len(path.values)),
            "evaluations of f": lambda path: path.evaluations,
            "time (ms)": lambda path: 1e3 * path.seconds,
        }
        lines = {
            name: {rule: (clock(path), path.values - (least or 0.0)) for rule, path in self.paths.items()}
            for name, clock in clocks.items()
        }
        flat = {name: path.points for name, path in self.paths.items() if self.grid}
        label, minima = "f" if least in (None, 0.0) else "f - lowest f", self.surface.minima if self.grid else ()
        return plots.race(lines, label=label, title=self._title, grid=self.grid, paths=flat, minima=minima)

    def contours(self) -> Figure:
        """The paths from above alone."""
        if self.grid is None:
            raise InputError(f"{self.surface.name} has {len(self.surface.start)} coordinates; contours need 2.")
        points = {name: path.points for name, path in self.paths.items()}
        return plots.contours(self.grid, points, minima=self.surface.minima, title=self._title, value="f")

    @property
    def _title(self) -> str:
        return f"{self.surface.name}: f = {self.surface.equation}" if self.surface.equation else self.surface.name

    def _least(self) -> float | None:
        """f at the lowest known minimum."""
        if not self.surface.minima:
            return None
        return min(float(self.surface(torch.tensor(m, dtype=torch.float64))) for m in self.surface.minima)


@checked()
def trajectories(
    f: str | Surface | Callable[[Tensor], Tensor],
    optimizers: Sequence[Spec],
    *,
    start: Sequence[float] | None = None,
    steps: Count = 200,
    lr: float | None = None,
    box: Sequence[tuple[float, float]] | None = None,
    tolerance: NonNegative = 0.0,
    random_state: int = 0,
    size: Count | None = None,
) -> Trajectories:
    """Race rules from one start.

    Args:
        f: A surface or its name; or any torch function (n,) -> one number, e.g. the loss of a network along two
            directions, together with `start` and `box`.
        optimizers: Names of the optimizer table, or (name, lr) or (name, lr, options).
        start: Where to begin, (n,); None: where the surface says.
        steps: Most steps of each.
        lr: Learning rate of those that have none of their own; None: each rule's default.
        box: Lowest and highest value of each coordinate in the picture.
        tolerance: End a path where the norm of the gradient is not above it.
        size: Points along each axis of the picture; None: 201 for a surface, 41 for a function of one point at a time.

    Example:
        >>> found = trajectories("quadratic", [("gd", 0.019), ("momentum", 0.01)], steps=300)
        >>> found.distances["gd lr=0.019"] < found.distances["momentum lr=0.01"]
        False
    """
    ground = _ground(f, start, box)
    specs = [_spec(each, lr) for each in ([optimizers] if isinstance(optimizers, str) else optimizers)]
    if not specs:
        raise InputError("optimizers is empty; name at least one rule, e.g. ['gd', 'adam'].")
    names = [_label(*each) for each in specs]
    if len(set(names)) < len(names):
        raise InputError(f"Two of the optimizers are the same: {', '.join(names)}. Give each once.")
    same: Any = {"steps": steps, "tolerance": tolerance, "seed": random_state}
    paths = {
        label: minimize(ground, ground.start, optimizer=name, lr=rate, options=more, **same)
        for label, (name, rate, more) in zip(names, specs, strict=True)
    }
    return Trajectories(ground, paths, _grid(ground, size or (GRID if isinstance(f, str | Surface) else OWN_GRID)))


def _ground(f: Any, start: Any, box: Any) -> Surface:
    known: Surface | None = surface(f) if isinstance(f, str) else f if isinstance(f, Surface) else None
    if known is None and not callable(f):
        raise InputError(f"f is {f!r}; a surface, its name, or a torch function of a vector is needed.")
    if known is None and (start is None or box is None):
        raise InputError("Pass start= and box= of your own function, e.g. start=(0, 0), box=((-1, 1), (-1, 1)).")
    base: Surface = known or Surface("own function", f, (), (), (), "")  # pyright: ignore[reportArgumentType]
    start = tuple(map(float, base.start if start is None else start))
    box = tuple((float(a), float(b)) for a, b in (base.box if box is None else box))
    if known and len(start) != len(known.start) or len(box) != len(start) or any(a >= b for a, b in box):
        raise InputError(f"start {start} and box {box} do not fit {base.name}; give (low, high) for each coordinate.")
    return replace(base, start=start, box=box)


def _spec(each: Spec, lr: float | None) -> tuple[str, float | None, Mapping[str, Any]]:
    parts = (each,) if isinstance(each, str) else tuple(each)
    if not 1 <= len(parts) <= 3:
        raise InputError(f"{each!r} is not a rule; a name, (name, lr) or (name, lr, options) is needed.")
    optim.rule(parts[0])
    return parts[0], parts[1] if len(parts) > 1 and parts[1] is not None else lr, parts[2] if len(parts) > 2 else {}


def _label(name: str, rate: float | None, more: Mapping[str, Any]) -> str:
    """The name, with rate and options where they were given."""
    return " ".join([name, *([] if rate is None else [f"lr={rate:g}"]), *(f"{k}={v}" for k, v in more.items())])


def _grid(ground: Surface, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Values on a grid: all at once where f takes many points, else one by one."""
    if len(ground.start) != 2:
        return None
    x, y = (torch.linspace(low, high, size, dtype=torch.float64) for low, high in ground.box)
    points = torch.stack(torch.meshgrid(x, y, indexing="xy"), -1)  # (G, G, 2)
    with torch.no_grad():
        probe = points[:2, :2]
        one_by_one = torch.stack([ground(p).reshape(()) for p in probe.reshape(-1, 2)])
        try:
            together = ground(probe)
            many = together.shape == (2, 2) and torch.allclose(together.flatten(), one_by_one, equal_nan=True)
        except (RuntimeError, IndexError, ValueError):
            many = False
        each = None if many else [ground(p).reshape(()) for p in points.reshape(-1, 2)]
        z = ground(points) if each is None else torch.stack(each).reshape(size, size)
    return x.numpy(), y.numpy(), z.double().numpy()


def _words(point: Sequence[float]) -> str:
    shown = ", ".join(f"{v:g}" for v in point[:4])
    return f"({shown}{', ...' if len(point) > 4 else ''})"
