"""Minimize a function of a vector with any rule of the table, and say why the descent ended.

    θ_{t+1} = rule(θ_t, ∇f(θ_t), ...),     until   ‖∇f‖ <= tolerance  |  no lower f for `patience` steps  |  steps

The same trainer and loop that train networks. A list of functions is minimized in the mean: rules for mini-batches take
one of them per step, in an order drawn anew in every epoch.
Shapes: θ is (n,), T steps were made.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .. import optim, plots
from ..data.batch import Batch
from ..data.sources import Rows
from ..draw import Draw
from ..errors import InputError, NonFiniteError
from ..plots import Figure
from ..results import Result, Table
from .callbacks import Callback, Context
from .iterate import iterate
from .objective import Loss, Objective
from .trainer import Trainer
from .training import Training

LIMIT = 1e18  # times the size of f at the start: beyond it f is taken to fall, or the descent to diverge, without end


class FunctionObjective(Objective):
    """A function of θ, or the mean of several, as an objective; a batch holds the numbers of functions.

    Args:
        f: A torch function (n,) -> one number, or several of them. Where each has `residuals` (as a `Surface` has),
            rules for least squares work too.
        start: Where θ begins: (n,).

    Example:
        >>> float(FunctionObjective([torch.sum, torch.prod], [2.0, 3.0]).value().detach())
        5.5
    """

    def __init__(self, f: Callable[[Tensor], Tensor] | Sequence[Callable[[Tensor], Tensor]], start: Any) -> None:
        super().__init__()
        self.functions = list(f) if isinstance(f, Sequence) else [f]
        if not self.functions or not all(map(callable, self.functions)):
            raise InputError(f"f is {f!r}; a torch function of a vector, or a list of them, is needed.")
        with suppress(TypeError, ValueError):
            theta = torch.atleast_1d(torch.as_tensor(start, dtype=torch.float64).detach().clone())
            if theta.ndim == 1 and len(theta) and theta.isfinite().all():
                self.theta = nn.Parameter(theta)
                return
        raise InputError(f"start is {start}; one vector of finite numbers is needed.")

    def loss(self, player: str, batch: Batch, draw: Draw) -> Loss:
        total, weight = batch.sum(torch.stack([self._of(i) for i in batch.x.tolist()]))
        if torch.is_grad_enabled() and not total.requires_grad:
            advice = "Write it with them, or use optimizer='genetic', which needs none."
            raise InputError(f"f has no gradient: it does not reach θ by differentiable torch operations. {advice}")
        return Loss(total, weight)

    def residual(self, batch: Batch) -> Tensor | None:
        found = [getattr(self.functions[i], "residuals", None) for i in batch.x.tolist()]
        return None if None in found else torch.stack([r(self.theta) for r in found if r])

    def value(self) -> Tensor:
        """The mean of all functions at θ."""
        return torch.stack([self._of(i) for i in range(len(self.functions))]).mean()

    def _of(self, i: int) -> Tensor:
        value = self.functions[i](self.theta)
        if not isinstance(value, Tensor) or value.numel() != 1:
            got = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
            raise InputError(f"f gives {got} for a vector of {self.theta.numel()}; one number as a tensor is needed.")
        return value.reshape(()).to(self.theta)


class DescentPath(Result):
    """The path of a descent."""

    points: np.ndarray  # θ at the start and after every step: (T + 1, n)
    values: np.ndarray  # f there: (T + 1,)
    evaluations: np.ndarray  # passes over f, with or without derivatives, that the rule has made by then: (T + 1,)
    seconds: np.ndarray  # time of the steps by then, without that of this record: (T + 1,)
    best: np.ndarray  # the point of the lowest value: (n,)
    reason: str  # what ended it

    def table(self) -> Table:
        moved = np.linalg.norm(np.diff(self.points, axis=0), axis=1)
        columns = {"step": range(len(self.values)), "value": self.values, "‖Δθ‖": [None, *moved]}
        columns |= {"evaluations": self.evaluations, "seconds": self.seconds}
        return Table(columns, f"Ended: {self.reason}.")

    def figure(self) -> Figure:
        columns = {"step": list(range(len(self.values))), "f(θ)": self.values.tolist()}
        return plots.curves(columns, x="step", label="value f(θ)", title=f"Ended: {self.reason}")


def minimize(
    f: Callable[[Tensor], Tensor] | Sequence[Callable[[Tensor], Tensor]],
    start: Any,
    *,
    optimizer: str = "gd",
    lr: float | None = None,
    steps: int = 100,
    options: Mapping[str, Any] | None = None,
    training: Training | None = None,
    tolerance: float = 0.0,
    patience: int | None = None,
    seed: int = 0,
) -> DescentPath:
    """Descend from a point, step by step, in float64.

    Args:
        f: A torch function (n,) -> one number, or several, whose mean is minimized.
        start: Where to begin: (n,).
        optimizer: A name of the optimizer table.
        lr: Learning rate; None is the rule's own.
        steps: Most steps.
        options: Options of the rule, e.g. {"momentum": 0.5}.
        training: Schedules, clipping and the other settings of training.
        tolerance: End where the norm of the gradient is not above it.
        patience: End after so many steps without a lower value; None: never for that.
        seed: Seed of the order of several functions, and of rules that draw.

    Returns:
        The path with the rule that ended it. A value that is not finite, and one that falls or grows without end,
        end it too; `best` is then the best point so far.

    Example:
        >>> path = minimize(lambda x: x @ x, [3.0, 4.0], lr=0.25, tolerance=1e-3)
        >>> path.reason, path.points[1].tolist()
        ('the gradient, 0.000610352, is not above the tolerance 0.001', [1.5, 2.0])
    """
    if steps < 1 or tolerance < 0 or (patience is not None and patience < 1):
        rest = "at least 1 step, a tolerance of at least 0 and a patience of at least 1 (or None) are needed."
        raise InputError(f"steps={steps}, tolerance={tolerance}, patience={patience}: {rest}")
    objective, training = FunctionObjective(f, start), training or Training()
    training = replace(training, options={**training.options, **(options or {})})
    size = len(objective.functions) if optim.rule(optimizer).full_batch else 1
    source = Rows(torch.arange(len(objective.functions)), batch_size=size)
    trainer = Trainer(objective, source, optimizer=optimizer, lr=lr, training=training, horizon=steps, seed=seed)
    record = _Record(objective, trainer, tolerance, patience)
    try:
        iterate(trainer, steps=steps, seconds=training.seconds, callbacks=[record])
    except NonFiniteError as error:
        record.reason = record.reason or str(error).rstrip(".")
    return record.path()


class _Record(Callback):
    """Where the descent was, and when to end it."""

    def __init__(self, objective: FunctionObjective, trainer: Trainer, tolerance: float, patience: int | None) -> None:
        self.objective, self.trainer, self.tolerance, self.patience = objective, trainer, tolerance, patience
        self.rows: list[tuple[np.ndarray, float, int, float]] = []
        self.reason, self.spent, self.best = "", 0.0, 0
        value, _ = self.note()
        if not np.isfinite(value):
            raise InputError(f"f is {value} at the start {objective.theta.tolist()}; begin where it is finite.")
        self.clock = time.perf_counter()

    def note(self) -> tuple[float, float]:
        """Keep this point; f and the norm of its gradient, where it has one. Not counted as an evaluation."""
        theta = self.objective.theta
        with torch.enable_grad():
            f = self.objective.value()
            g = torch.autograd.grad(f, theta)[0] if f.requires_grad else torch.full_like(theta, torch.inf)
        value, count = float(f.detach()), self.trainer.problems["loss"].evaluations
        self.rows.append((theta.detach().numpy().copy(), value, count, self.spent))
        lower = value < self.rows[self.best][1] and np.isfinite(value)
        self.best = len(self.rows) - 1 if lower else self.best
        return value, float(g.norm())

    def on_step(self, ctx: Context) -> None:
        """Record, and look at the rules that end a descent; the clock stands still meanwhile."""
        self.spent += time.perf_counter() - self.clock
        value, slope = self.note()
        if reason := self._end(value, slope):
            ctx.stop(reason)
        self.clock = time.perf_counter()

    def _end(self, value: float, slope: float) -> str:
        last, first = len(self.rows) - 1, self.rows[0][1]
        size = max(1.0, abs(first))
        if not (np.isfinite(self.rows[-1][0]).all() and np.isfinite(value)):
            what = "θ is not finite after" if not np.isfinite(self.rows[-1][0]).all() else f"f became {value} at"
            return f"{what} step {last}; the best point is that of step {self.best}: try a smaller lr"
        if value < -LIMIT * size:
            return f"f is unbounded below: it fell from {first:g} to {value:g} in {last} steps"
        if value > LIMIT * size:
            return f"diverged: f rose from {first:g} to {value:g} in {last} steps; try a smaller lr"
        if slope <= self.tolerance:
            return f"the gradient, {slope:g}, is not above the tolerance {self.tolerance:g}"
        if self.patience is not None and last - self.best >= self.patience:
            return f"no lower value for {self.patience} steps"
        return ""

    def on_end(self, ctx: Context) -> None:
        n, first, last = len(self.rows) - 1, self.rows[0][1], self.rows[-1][1]
        worse = f"; f rose from {first:g} to {last:g}: try a smaller lr" if last > first else ""
        plain = {"steps": f"all {n} steps are made{worse}", "seconds": f"the time is used up after {n} steps"}
        self.reason = plain.get(ctx.reason, ctx.reason)
        if not np.isfinite(self.rows[-1][0]).all():
            self.trainer.set_weights({"theta": torch.from_numpy(self.rows[self.best][0])})

    def path(self) -> DescentPath:
        """All of it, as arrays."""
        points, values, evaluations, seconds = map(np.array, zip(*self.rows, strict=True))
        return DescentPath(points, values, evaluations, seconds, points[self.best], self.reason)
