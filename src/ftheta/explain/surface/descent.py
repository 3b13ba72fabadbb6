"""Update rules: raced from one start, and fed with given gradients.

    gap_t = f(θ_t) - f*,      f* = f at the lowest known minimum
    Δθ_t = rule(g_1, ..., g_t),      effective rate  -Δθ_t / g_t

A step of one rule may cost as much as many of another: evaluations count passes over f, with or without derivatives.
Where gradients are given, not computed, build-up, cancellation, rescaling and decay show by themselves.
Shapes: θ is (n,); a picture of the surface is made where n = 2. T steps, D parameters, which start at 0.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ... import optim, plots
from ...check import Count, NonNegative
from ...errors import InputError
from ...formulas import Surface, surface
from ...plots import Figure, canvas, drawn, legend, wide_range
from ...results import Result
from ...train import minimize
from .._registry import checked

GRID, OWN_GRID = 201, 41  # points along each axis of a picture; of a function that takes one point at a time
MAX_PARAMETERS = 4  # that are drawn
PARTS = ("points", "values", "evaluations", "reason")  # of each path
# torch's names of what an optimizer keeps -> those of the equations in the optimizer table
_NAMES = {"exp_avg": "m", "exp_avg_sq": "v", "momentum_buffer": "v", "sum": "G", "square_avg": "G", "acc_delta": "D"}
Spec = str | tuple[Any, ...]


class Trajectories(Result):
    """Paths by rule, named with its rate where one was given."""

    title: str  # what was descended
    start: tuple[float, ...]  # (n,)
    minima: tuple[tuple[float, ...], ...]  # all that are known
    least: float  # f*; NaN where no minimum is known
    points: dict[str, np.ndarray]  # of each rule (T + 1, n)
    values: dict[str, np.ndarray]  # f there (T + 1,)
    evaluations: dict[str, np.ndarray]  # of f by then (T + 1,)
    ended: dict[str, str]  # why
    grid: tuple[np.ndarray, np.ndarray, np.ndarray] | None  # (G,), (G,) and values (G, G); None where n is not 2
    labels: tuple[str, str, str] = ("x", "y", "f")  # of both coordinates and of the value

    @property
    def distances(self) -> dict[str, float | None]:
        """From the last finite point to the nearest known minimum; None where none is known."""
        minima = np.array(self.minima)
        ends = {name: points[np.isfinite(points).all(1)][-1] for name, points in self.points.items()}
        return {n: float(np.linalg.norm(minima - e, axis=1).min()) if len(minima) else None for n, e in ends.items()}

    def columns(self) -> dict[str, Any]:
        values = self.values.values()
        return {
            "rule": list(self.points),
            "final value": [v[-1] for v in values],
            "lowest value": [np.nanmin(v) for v in values],
            "distance to a minimum": list(self.distances.values()),
            "steps": [len(v) - 1 for v in values],
            "evaluations": [e[-1] for e in self.evaluations.values()],
            "ended": list(self.ended.values()),
        }

    @property
    def caption(self) -> str:
        shown = ", ".join([f"{v:g}" for v in self.start[:4]] + ["..."] * (len(self.start) > 4))
        least = f"; the lowest value is {self.least:.6g}" if self.minima else ""
        return f"{self.title}, from ({shown}){least}."

    def figure(self) -> Figure:
        """The paths from above, and the values against steps and evaluations."""
        gaps, value = self.values, self.labels[2]
        if self.minima:
            gaps = {rule: np.maximum(v - self.least, 0) for rule, v in gaps.items()}
        lines = {
            "steps": {rule: (np.arange(len(gap)), gap) for rule, gap in gaps.items()},
            f"evaluations of {value}": {rule: (self.evaluations[rule], gap) for rule, gap in gaps.items()},
        }
        label = f"{value} - lowest {value}" if np.nan_to_num(self.least) else value
        flat: Any = {"paths": self.points, "minima": self.minima} if self.grid else {}
        return plots.race(lines, label=label, title=self.title, labels=self.labels[:2], grid=self.grid, **flat)


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
    specs: list[tuple[str, float | None, Mapping[str, Any]]] = []
    for each in [optimizers] if isinstance(optimizers, str) else optimizers:
        parts = (each,) if isinstance(each, str) else tuple(each)
        if not 1 <= len(parts) <= 3:
            raise InputError(f"{each!r} is not a rule; a name, (name, lr) or (name, lr, options) is needed.")
        optim.rule(parts[0])
        padded: Any = (*parts, None, None)
        specs.append((padded[0], lr if padded[1] is None else padded[1], padded[2] or {}))
    if not specs:
        raise InputError("optimizers is empty; name at least one rule, e.g. ['gd', 'adam'].")
    names = [
        " ".join([name, *([] if rate is None else [f"lr={rate:g}"]), *(f"{k}={v}" for k, v in more.items())])
        for name, rate, more in specs
    ]
    if len(set(names)) < len(names):
        raise InputError(f"Two of the optimizers are the same: {', '.join(names)}. Give each once.")
    same: Any = {"steps": steps, "tolerance": tolerance, "seed": random_state}
    paths = {
        label: minimize(ground, ground.start, optimizer=name, lr=rate, options=more, **same)
        for label, (name, rate, more) in zip(names, specs, strict=True)
    }
    parts = {part: {rule: getattr(path, part) for rule, path in paths.items()} for part in PARTS}
    least = min((float(ground(torch.tensor(m, dtype=torch.float64))) for m in ground.minima), default=np.nan)
    return Trajectories(
        f"{ground.name}: f = {ground.equation}" if ground.equation else ground.name,
        *(ground.start, ground.minima, least, *parts.values()),
        grid=_grid(ground, size or (GRID if isinstance(f, str | Surface) else OWN_GRID)),
    )


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


class Updates(Result):
    """Updates by rule."""

    gradients: np.ndarray  # what was given: (T, D)
    rates: dict[str, float]  # learning rate of each rule
    updates: dict[str, np.ndarray]  # Δθ of each rule: (T, D)
    states: dict[str, dict[str, np.ndarray]]  # what each rule keeps, by the names of its equation: (T, D)

    @property
    def effective(self) -> dict[str, np.ndarray]:
        """-Δθ / g of each rule: (T, D); NaN where g = 0."""
        g = np.where(self.gradients == 0, np.nan, self.gradients)
        return {name: -u / g for name, u in self.updates.items()}

    @property
    def totals(self) -> dict[str, np.ndarray]:
        """Σ_t Δθ_t of each rule: (D,)."""
        return {name: u.sum(0) for name, u in self.updates.items()}

    def columns(self) -> dict[str, Any]:
        """One row per rule, step and parameter."""
        kept = list(dict.fromkeys(key for state in self.states.values() for key in state))
        width = self.gradients.shape[1]
        rows = [(r, t, d) for r in self.updates for t in range(len(self.gradients)) for d in range(width)]
        effective = self.effective
        return {
            "rule": [r for r, _, _ in rows],
            "step": [t + 1 for _, t, _ in rows],
            "parameter": [d + 1 for _, _, d in rows] if width > 1 else None,
            "gradient": [self.gradients[t, d] for _, t, d in rows],
            "update": [self.updates[r][t, d] for r, t, d in rows],
            "effective rate": [effective[r][t, d] for r, t, d in rows],
            **{k: [s[k][t, d] if k in (s := self.states[r]) else None for r, t, d in rows] for k in kept},
        }

    @property
    def caption(self) -> str:
        return ", ".join(f"{name} with lr={rate:g}" for name, rate in self.rates.items()) + "."

    @drawn
    def figure(self) -> Figure:
        """Gradient, update and effective rate against the step; a row of panels for each parameter."""
        width = self.gradients.shape[1]
        shown = min(width, MAX_PARAMETERS)
        figure, grid = canvas(3 * shown, width=3.8, height=2.7, sharex=True)
        parts = {"gradient g": {"given": self.gradients}, "update Δθ": self.updates}
        parts["effective rate -Δθ / g"] = self.effective
        panels = [(d, label, lines) for d in range(shown) for label, lines in parts.items()]
        for axes, (d, label, lines) in zip(grid, panels, strict=True):
            for name, values in lines.items():
                look = {"color": "black"} if name == "given" else {}
                steps = np.arange(1, len(values) + 1)
                axes.plot(steps, values[:, d], marker="o" if len(values) <= 30 else "", ms=4, label=name, **look)
            every = np.concatenate([values[:, d] for values in lines.values()])
            if wide_range(every) and (every[np.isfinite(every)] > 0).all():
                axes.set_yscale("log")
            axes.set(xlabel="step", ylabel=label + (f" of θ{'₁₂₃₄'[d]}" if width > 1 else ""))
            axes.xaxis.get_major_locator().set_params(integer=True)
        more = f" (first {shown} parameters)" if width > shown else ""
        figure.suptitle(f"What rules make of the same gradients{more}")
        legend(figure)
        return figure


def updates(
    rules: str | Sequence[str], gradients: Any, *, lr: float | None = None, options: Mapping[str, Any] | None = None
) -> Updates:
    """Feed gradients to rules, in float64.

    Args:
        rules: One or several names of the optimizer table.
        gradients: One per step: (T,) for one parameter, (T, D) for several.
        lr: Learning rate of all; None: each rule's own.
        options: Options of the rules that take them, e.g. {"momentum": 0.5}.

    Example:
        >>> found = updates("momentum", [1.0, -1.0], lr=0.1)
        >>> found.updates["momentum"][:, 0].round(9).tolist()  # opposite gradients leave a hundredth
        [-0.1, 0.01]
    """
    g = np.asarray(gradients, dtype=float)
    g = g[:, None] if g.ndim == 1 else g
    if g.ndim != 2 or not g.size or not np.isfinite(g).all():
        raise InputError(f"gradients has shape {g.shape}; finite numbers (T,) or (T, D), at least one, are needed.")
    names = [rules] if isinstance(rules, str) else list(rules)
    if not names:
        raise InputError("rules is empty; name at least one rule, e.g. ['momentum', 'adam'].")
    unknown = [key for key in options or {} if not any(key in (optim.rule(name).known or ()) for name in names)]
    if unknown:
        raise InputError(f"Option {unknown[0]!r} is known to none of {', '.join(names)}; leave it out.")
    fed = {name: _feed(name, torch.from_numpy(g), lr, options or {}) for name in names}
    rates, moves, kept = ({name: found[k] for name, found in fed.items()} for k in range(3))
    return Updates(g, rates, moves, kept)


def _feed(name: str, gradients: Tensor, lr: float | None, options: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Learning rate, updates (T, D) and states of one rule."""
    rule = optim.rule(name)
    if rule.needs != "gradient":
        raise InputError(f"{name} evaluates the loss itself, so gradients alone do not move it; choose another rule.")
    theta = torch.zeros(gradients.shape[1], dtype=torch.float64, requires_grad=True)
    optimizer = optim.make(name, [theta], lr, {k: v for k, v in options.items() if k in (rule.known or ())})
    moves, kept = [], []
    for g in gradients:
        before, theta.grad = theta.detach().clone(), g.clone()
        optimizer.step()
        moves.append(theta.detach() - before)
        state = {k: v for k, v in optimizer.state.get(theta, {}).items() if np.shape(v) == theta.shape}
        named = {_NAMES.get(key, key): value.detach().numpy().copy() for key, value in state.items()}
        if "exp_avg" in state and "betas" in optimizer.param_groups[0]:
            for key, beta in zip(("m", "v"), optimizer.param_groups[0]["betas"], strict=True):
                named[f"{key}-hat"] = named[key] / (1 - beta ** len(moves))
        kept.append(named)
    states = {key: np.array([state[key] for state in kept]) for key in kept[0]}
    return optimizer.param_groups[0]["lr"], torch.stack(moves).numpy(), states
