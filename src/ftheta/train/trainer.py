"""The gradient process: objective + source + optimizers (+ validation source), one update at a time.

    θ_{t+1} = rule(θ_t, ∇F_t(θ_t)),     F_t: the problem of the rows and the noise of step t

Nothing in a step waits for the device: sums stay there until the epoch is complete; the guard looks every 100 steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from math import ceil, isfinite
from operator import index
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from .. import check, optim
from ..data.batch import Batch
from ..data.sources import Source
from ..draw import Draw
from ..errors import InputError
from ..store import Tree
from ._drawing import Drawing, Foreign, batches_of, is_foreign
from ._guard import all_finite, explain, lone_row
from ._state import copied, restore
from .averaging import Average
from .evaluating import evaluate
from .objective import Loss, Objective, Player
from .placing import threads, threads_for
from .problem import Problem
from .training import Training

__all__ = ["LOOK", "Trainer"]

LOOK = 100  # steps between two looks of the guard


class Trainer:
    """Train any objective from any source. Advance it with `iterate`.

    Args:
        objective: What is minimised, e.g. `Supervised(module, function)`.
        source: Where batches come from, e.g. `Rows(x, y, batch_size=64)`.
        optimizer: A name of the optimizer table.
        lr: Learning rate; None takes the rule's own default.
        training: The other knobs.
        validation: Source of the rows that early stopping watches.
        augment: A function (batch, draw) -> batch, applied to every batch before the update.
        horizon: Updates in all, for schedules.
        seed: Seed of order, dropout and noise.

    Example:
        >>> from ftheta.data import Rows
        >>> from ftheta.train import Supervised, iterate
        >>> x = torch.linspace(-1, 1, 32)[:, None]
        >>> net = torch.nn.Linear(1, 1)
        >>> objective = Supervised(net, lambda raw, y: (raw[:, 0] - y) ** 2)
        >>> history = iterate(Trainer(objective, Rows(x, 3 * x[:, 0], batch_size=8), lr=0.1), rounds=50)
        >>> round(net.weight.item(), 2)
        3.0
    """

    def __init__(
        self,
        objective: Objective,
        source: Source,
        *,
        optimizer: str = "adam",
        lr: float | None = None,
        training: Training = Training(),
        validation: Source | None = None,
        augment: Callable[[Batch, Draw], Batch] | None = None,
        horizon: int | None = None,
        seed: int = 0,
    ) -> None:
        self.objective, self.validation, self.augment = objective, validation, augment
        self.source: Any = source
        self.training, self.horizon, self.draw = training, horizon, Draw(seed)
        optim.freeze(objective, training.freeze)
        self.players = {p.name: p for p in objective.roster}
        self.names = {n: {**training.options, **p.optim}.get("rule", optimizer) for n, p in self.players.items()}
        self.closures = {n for n, name in self.names.items() if optim.rule(name).needs != "gradient"}
        self.drawing, self.foreign = Drawing(objective), Foreign() if is_foreign(augment) else None
        self.problems = {
            n: Problem(objective, p, training, pure=n in self.closures, drawing=self.drawing)
            for n, p in self.players.items()
        }
        self.optimizers = {n: self._optimizer(p, optimizer, lr) for n, p in self.players.items()}
        self.rates = {n: [g["lr"] for g in o.param_groups] for n, o in self.optimizers.items()}
        self.has_after = type(objective).after is not Objective.after
        self.has_turns = type(objective).turn is not Objective.turn
        self.scheduled = training.schedule != "constant" or training.warmup > 0
        self.reason = ""
        self._check()
        self.average = Average(objective, training.ema) if training.ema else None
        self.feed(source)
        shape: Any = training.shape
        self.plateau = optim.Plateau(**shape) if training.schedule == "plateau" else None
        self.step = self.epoch = self.position = self.rows = 0
        self.seconds, self._clock = 0.0, time.perf_counter()
        self._begin_epoch()
        self._good: Tree = None
        self._looked = 0

    def _optimizer(self, player: Player, name: str, lr: float | None) -> Optimizer:
        options = {**self.training.options, **player.optim}
        rule, rate, parameters = options.pop("rule", name), options.pop("lr", lr), player.parameters
        if self.training.rates:
            base = optim.rule(rule).lr if rate is None else rate
            parameters = optim.scaled_rates(self.objective, player.tensors(), self.training.rates, base)
        return optim.make(rule, parameters, rate, options)

    def _check(self) -> None:
        t = self.training
        check.parameters("Training", check.constraints(Training, vars(t)), vars(t))
        if t.accumulate > 1 and not self.objective.separable:
            raise InputError(
                f"accumulate={t.accumulate}, but {type(self.objective).__name__} is not a sum over rows; "
                "use accumulate=1 and a larger batch_size."
            )
        if self.closures and self.objective.simultaneous:
            raise InputError(
                f"{type(self.objective).__name__} moves its players from the same θ, which a rule that evaluates the "
                "loss itself cannot do. Use a rule that needs the gradient only, e.g. optimizer='adam'."
            )
        optim.factor(t.schedule, t.warmup, self.horizon or 1, t.warmup, t.shape)
        if t.grow and (t.schedule == "constant" or not hasattr(self.source, "resized")):
            raise InputError("grow=True needs a schedule and a source of rows, e.g. schedule='step' and Rows(x, y).")
        if t.schedule not in ("constant", "plateau") and self.horizon is None:
            raise InputError(
                f"schedule={t.schedule!r} needs to know the end: pass horizon=, the number of updates in all."
            )

    def feed(self, source: Source) -> None:
        """Train on these rows from now on, if the rules can."""
        self.source, self.first_size, self.first_length = source, getattr(source, "batch_size", 1), len(source)
        for player, name in self.names.items():
            self._check_rule(self.problems[player], name)

    def _check_rule(self, problem: Problem, name: str) -> None:
        """What a rule needs, and the rows and memory that it needs it of."""
        rule, n = optim.rule(name), getattr(self.source, "n", 0)
        problem.check(rule.needs)
        if rule.full_batch and self.length > self.training.accumulate:
            raise InputError(
                f"optimizer={name!r} needs all {n or ''} rows in one batch, but batch_size={self.first_size}. Use "
                "batch_size='auto' or another optimizer."
            )
        if rule.needs != "gradient":
            dtype = str(problem.parameters[0].dtype).removeprefix("torch.") if problem.parameters else "float32"
            optim.refuse_large(name, sum(p.numel() for p in problem.parameters), n, dtype=dtype)

    # ---- the process

    @property
    def exact(self) -> bool:
        """Whether a resumed run is bit for bit the uninterrupted one."""
        return self.source.exact

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Training mode, and the thread count for this size of work."""
        count = self.training.threads or threads_for(self._work())
        with threads(count), self.average.hidden() if self.average else nullcontext():
            self.train_mode()
            self.look()
            self._clock = time.perf_counter()
            try:
                yield
                self.look()
            finally:
                self._good = None

    def train_mode(self) -> None:
        """Training mode for all but what is frozen as a whole: its statistics and dropout rest too."""
        self.objective.train()
        for module in self.objective.modules():
            own = list(module.parameters())
            if own and not any(p.requires_grad for p in own):
                module.eval()

    def _work(self) -> float:
        weights = sum(p.numel() for player in self.players.values() for p in player.tensors() if p.ndim > 1)
        return weights * getattr(self.source, "batch_size", 1)

    def advance(self) -> dict[str, float] | None:
        """One update; at the end of an epoch its row, with validation."""
        batches = self._take()
        if self.scheduled:
            self._set_rates()
        try:
            self._update(batches)
        except ValueError as error:
            if "more than 1 value per channel" in str(error):  # torch, of a batch norm
                raise InputError(lone_row(self)) from None
            raise
        if self.average:
            self.average.update(self.step)
        self.step += 1
        row = self._end_epoch() if self.position >= self.length else None
        if self.step - self._looked >= LOOK:
            self.look()
        return row

    def _take(self) -> list[Batch]:
        if self._stream is None:
            if self.training.grow:
                done = self.epoch * ceil(self.first_length / self.training.accumulate)  # updates, had it not grown
                size = round(self.first_size / max(self._shape(done), 1e-9))
                self.source = self.source.resized(min(max(size, 1), self.source.n))
            self._stream = batches_of(self.source, self.epoch, self.position, self.draw.at("order", self.epoch))
        batches = [next(self._stream)]
        while len(batches) < self.training.accumulate and self.position + len(batches) < self.length:
            batches.append(next(self._stream))
        self.position += len(batches)
        self.rows += batches[0].n if len(batches) == 1 else sum(b.n for b in batches)
        return batches

    def _update(self, batches: Sequence[Batch]) -> None:
        draw, together = self.draw.at("train", self.step), self.objective.simultaneous
        if self.augment:
            with self.foreign.scope(draw) if self.foreign else nullcontext():
                batches = [self.augment(batch, draw.at("augment", i)) for i, batch in enumerate(batches)]
        movers = self.players if not self.has_turns or (turn := self.objective.turn(self.step)) is None else turn
        for name in movers:
            problem = self.problems[name]
            problem.bind(batches, draw if len(self.players) == 1 else draw.at(name))
            if name in self.closures:
                self.optimizers[name].step(problem)  # type: ignore[arg-type]
                self.reason = getattr(self.optimizers[name], "reason", "")
            else:
                problem.gradient()
                if self.training.gradient_noise:
                    self._shake(problem, draw)
                if not together:
                    optim.step(self.optimizers[name])
            self._tally(name, problem.first or [])
            if not together:
                self._after(name, batches, draw)
        if together:
            for name in movers:
                optim.step(self.optimizers[name])
            for name in movers:
                self._after(name, batches, draw)

    def _after(self, name: str, batches: Sequence[Batch], draw: Draw) -> None:
        if self.has_after:
            here = draw.at("after", name)
            with torch.no_grad(), self.drawing.scope(here):
                self.objective.after(name, batches[-1], here)

    def _tally(self, name: str, losses: Sequence[Loss]) -> None:
        """Add what this player saw to the sums of the epoch, on the device."""
        sums = self.sums.get(name)
        if sums is None:
            sums = self.sums[name] = {"loss": torch.zeros((), dtype=torch.float64, device=losses[0].total.device)}
        for loss in losses:
            sums["loss"].add_(loss.total.detach())
            self.weights_seen[name] = self.weights_seen.get(name, 0.0) + loss.weight
            for term, value in loss.terms.items():
                sums[term] = sums.get(term, 0.0) + value.detach().double()
        if losses[-1].once is not None:
            self.once[name] = losses[-1].once.detach()

    def _shape(self, step: int, warmup: int = 0) -> float:
        t, slowed = self.training, self.plateau.state[2] if self.plateau else 1.0
        return slowed * optim.factor(t.schedule, step, self.horizon or 1, warmup, t.shape)

    def _shake(self, problem: Problem, draw: Draw) -> None:
        """Gaussian noise on the gradients, less of it the longer training lasts."""
        scale, place = self.training.gradient_noise * (1 + self.step) ** -0.55, draw.at(problem.player, "shake")
        for i, p in enumerate(problem.parameters):
            if p.grad is not None:
                noise = torch.randn(p.shape, generator=place.generator(str(i)), dtype=p.dtype)
                p.grad.add_(noise.to(p.device), alpha=scale)

    def _set_rates(self) -> None:
        t = self.training
        ramp = optim.factor("constant", self.step, 1, t.warmup)
        factor = ramp if t.grow else self._shape(self.step, t.warmup)
        for name, optimizer in self.optimizers.items():
            for group, rate in zip(optimizer.param_groups, self.rates[name], strict=True):
                group["lr"] = rate * factor

    # ---- epochs

    @property
    def length(self) -> int:
        """Batches an epoch."""
        return len(self.source)

    def _begin_epoch(self) -> None:
        self.position, self._stream = 0, None
        self.sums: dict[str, dict[str, Tensor]] = {}
        self.weights_seen: dict[str, Tensor | float] = {}
        self.once: dict[str, Tensor] = {}

    def _end_epoch(self) -> dict[str, float]:
        now = time.perf_counter()
        self.seconds, self._clock = self.seconds + now - self._clock, now
        row = self._row()
        if self.validation is not None:
            with self.average.shown() if self.average else nullcontext():
                found = evaluate(self.objective, self.validation, self.draw.at("valid", self.epoch), self.drawing)
            row |= {f"valid_{name}": value for name, value in found.items()}
        if not all(map(isfinite, row.values())):
            self.look()
        watched = next((row[k] for k in ("valid_loss", "loss", *self.players) if k in row), None)
        if self.plateau and watched is not None:
            self.plateau.see(watched)
        self.epoch += 1
        self._begin_epoch()
        return row

    def _row(self) -> dict[str, float]:
        row = {"epoch": self.epoch + 1, "step": self.step, "rows": self.rows, "seconds": self.seconds}
        for name, sums in self.sums.items():
            main = "loss" if len(self.players) == 1 else name
            weight = float(self.weights_seen[name])
            row |= {main if term == "loss" else term: float(total) / weight for term, total in sums.items()}
            penalty = self.problems[name].penalty()
            extra = [float(v) for v in (self.once.get(name), penalty) if v is not None]
            row |= {f"{'' if main == 'loss' else main + '_'}penalty": sum(extra)} if extra else {}
            if name in self.closures:
                row |= {"evaluations": self.problems[name].evaluations, **getattr(self.optimizers[name], "facts", {})}
        return row | {"lr": next(iter(self.optimizers.values())).param_groups[0]["lr"]}

    # ---- state

    def weights(self) -> dict[str, Tensor]:
        """Copies of the objective's parameters and buffers; of their average where there is one."""
        return copied(self.average.values) if self.average else self.objective.weights()

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Put such copies back."""
        (self.average.replace if self.average else self.objective.set_weights)(weights)

    def state_dict(self) -> Tree:
        """All of the state; refused by `NonFiniteError` if a number in it is not finite."""
        self.look()
        return self._state()

    def _state(self) -> Tree:
        return {
            "objective": (self.average and self.average.trained) or self.objective.weights(),
            "average": copied(self.average.values) if self.average else None,
            "optimizers": {n: copied(o.state_dict()) for n, o in self.optimizers.items()},
            "source": self.source.state_dict(),
            "place": [self.step, self.epoch, self.position, self.rows],
            "sums": copied(self.sums),
            "weights_seen": dict(self.weights_seen),
            "once": dict(self.once),
            "plateau": self.plateau.state if self.plateau else None,
            "evaluations": {n: p.evaluations for n, p in self.problems.items()},
        }

    def load_state_dict(self, tree: Tree) -> None:
        """Put such a state back."""
        self.objective.set_weights(tree["objective"])
        if self.average:
            self.average.load(tree["average"])
        for name, state in tree["optimizers"].items():
            restore(self.optimizers[name], state)
        self.source.load_state_dict(tree["source"])
        self.step, self.epoch, self.position, self.rows = map(index, tree["place"])
        self._stream, self._looked = None, self.step
        if self.plateau:
            self.plateau.state = list(tree["plateau"])
        for name, count in tree["evaluations"].items():
            self.problems[name].evaluations = count
        self.sums, self.weights_seen, self.once = (
            dict(copied(tree["sums"])),
            dict(tree["weights_seen"]),
            dict(tree["once"]),
        )
        self._good = self._state() if self.exact else None

    def look(self) -> None:
        """The guard: everything finite, or a `NonFiniteError` that names epoch, step, rows and tensor."""
        self._looked, made = self.step, self.optimizers.values()
        rates = [float(group["lr"]) for optimizer in made for group in optimizer.param_groups]
        if all(map(isfinite, rates)) and all_finite([self.objective.state_dict(), [o.state for o in made], self.sums]):
            self._good = self._state() if self.exact else None
        else:
            explain(self, self._good)

    def release(self) -> None:
        """Let go of the data; `source` is set anew before the next step."""
        self.source = self.validation = self._stream = self._good = None
        for problem in self.problems.values():
            problem.bind([], self.draw)

    def __getstate__(self) -> dict[str, Any]:
        """For pickling: without the iterator, which is made anew from (epoch, position)."""
        return {**vars(self), "_stream": None, "_good": None}
