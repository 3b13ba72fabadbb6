"""The gradient process: objective + source + optimizers (+ validation source), one update at a time.

    θ_{t+1} = rule(θ_t, ∇F_t(θ_t)),     F_t: the problem of the rows and the noise of step t

Nothing in a step waits for the device: sums stay there until the epoch is complete; the guard checks every 100 steps.
A source may have a state (`state_dict`), add columns to the history (`columns()`), and set `guarded = False` where a
copy of its state every 100 steps is too much: a number that is not finite is then reported without its tensor's name.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from math import ceil, isfinite
from operator import index
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from .. import optim
from ..data.batch import Batch
from ..data.sources import Source
from ..draw import Draw
from ..errors import InputError
from ..store import Run, Tree
from ._guard import all_finite, explain, explain_validation, lone_row
from ._rules import as_source, bare_step, check_rule, check_settings, restore
from .callbacks import Callback
from .evaluating import Drawing, Foreign, batches_of, evaluate, is_foreign
from .iterate import iterate
from .objective import Loss, Objective, Player
from .placing import threads, threads_for
from .problem import Problem
from .process import Interrupted, copied
from .progress import Progress
from .recording import Average
from .training import Rates, Training

CHECK_EVERY = 100  # steps between two checks of the guard
OF_EPOCH = ("sums", "weights_seen", "once")  # what players have seen in it so far


class Trainer:
    """Train any objective from any source, by `fit` or `iterate`.

    Args:
        objective: What is minimized, e.g. `Supervised(module, function)`.
        source: Where batches come from, e.g. `Rows(x, y, batch_size=64)` or a `DataLoader`.
        optimizer: A name of the optimizer table, or a class or factory (params, lr=...) -> torch.optim.Optimizer.
        lr: Learning rate; None takes the rule's own default.
        training: The other settings.
        validation: Source of the rows that early stopping watches.
        augment: A function (batch, draw) -> batch, applied to every batch before the update.
        horizon: Updates in all, for schedules.
        seed: Seed of order, dropout and noise.

    Example:
        >>> from ftheta.data import Rows
        >>> from ftheta.train import Supervised
        >>> x = torch.linspace(-1, 1, 32)[:, None]
        >>> net = torch.nn.Linear(1, 1)
        >>> objective = Supervised(net, lambda raw, y: (raw[:, 0] - y) ** 2)
        >>> history = Trainer(objective, Rows(x, 3 * x[:, 0], batch_size=8), lr=0.1).fit(epochs=50)
        >>> round(net.weight.item(), 2)
        3.0
    """

    def __init__(
        self,
        objective: Objective,
        source: Source | Iterable[Any],
        *,
        optimizer: optim.Choice = "adam",
        lr: float | None = None,
        training: Training = Training(),
        validation: Source | Iterable[Any] | None = None,
        augment: Callable[[Batch, Draw], Batch] | None = None,
        horizon: int | None = None,
        seed: int = 0,
    ) -> None:
        self.objective, self.augment = objective, augment
        self.source: Any = as_source(source)
        self.validation: Any = None if validation is None else as_source(validation)
        self.training, self.draw = training, Draw(seed)
        optim.freeze(objective, training.freeze)
        self.players = {p.name: p for p in objective.player_list}
        self.names = {n: {**training.options, **p.optim}.get("rule", optimizer) for n, p in self.players.items()}
        self.closures = {n for n, name in self.names.items() if optim.rule(name).needs != "gradient"}
        check_settings(self, optimizer, lr)
        self.drawing, self.foreign = Drawing(objective), Foreign() if is_foreign(augment) else None
        self.problems = {
            n: Problem(objective, p, training, pure=n in self.closures, drawing=self.drawing)
            for n, p in self.players.items()
        }
        self.optimizers = {n: self._optimizer(p, optimizer, lr) for n, p in self.players.items()}
        self.rates = Rates(training, horizon, self.optimizers)
        self.has_after = type(objective).after is not Objective.after
        self.has_turns = type(objective).turn is not Objective.turn
        self.reason, self.caught = "", list[BaseException]()
        self.average = Average(objective, training.ema) if training.ema else None
        self.set_source(self.source)
        self.step = self.epoch = self.position = self.rows = 0
        self.seconds, self._clock = 0.0, time.perf_counter()
        self._begin_epoch()
        self._good, self._checked = None, 0
        self._steps: dict[str, Callable[[], Any]] = {name: o.step for name, o in self.optimizers.items()}

    def _optimizer(self, player: Player, name: optim.Choice, lr: float | None) -> Optimizer:
        options = {**self.training.options, **player.optim}
        rule, rate, parameters = options.pop("rule", name), options.pop("lr", lr), player.parameters
        if self.training.rate_factors:
            base = optim.rule(rule).lr if rate is None else rate
            parameters = optim.scaled_rates(self.objective, player.tensors(), self.training.rate_factors, base or 1.0)
        return optim.make(rule, parameters, rate, options)

    def fit(self, epochs: int, *, callbacks: Sequence[Callback] = (), run: Run | None = None) -> list[dict[str, float]]:
        """Train for so many epochs; returns one row per epoch.

        Args:
            epochs: Passes over the source: from now, or in all where `run` has some of them.
            callbacks: Called in this order, e.g. `EarlyStopping(5)`.
            run: Folder for metrics and checkpoints; continued if it has a checkpoint.
        """
        t, shown = self.training, [*callbacks, Progress(self.training.progress)]
        if self.rates.horizon is None:
            self.rates.horizon = epochs * ceil(self.length / t.accumulate)
        return iterate(self, rounds=epochs, seconds=t.seconds, callbacks=shown, run=run, every=t.every)

    def set_source(self, source: Source) -> None:
        """Train on these rows from now on, if the rules can."""
        self.source, self.first_size, self.first_length = source, getattr(source, "batch_size", 1), len(source)
        for player, name in self.names.items():
            check_rule(self, self.problems[player], name)

    # ---- the process

    @property
    def exact(self) -> bool:
        """Whether a resumed run is bit for bit the uninterrupted one."""
        return self.source.exact

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Training mode, and the thread count for this size of work."""
        weights = sum(p.numel() for player in self.players.values() for p in player.tensors() if p.ndim > 1)
        count = self.training.threads or threads_for(weights * getattr(self.source, "batch_size", 1))
        self.rates.check_horizon()
        device = next(iter(self.problems.values())).device.type
        outer_off = torch.autocast(device, enabled=False)  # it would keep copies of weights that have moved since
        self._steps = {name: bare_step(optimizer) for name, optimizer in self.optimizers.items()}
        with threads(count), outer_off, self.average.shown(False) if self.average else nullcontext():
            self.train_mode()
            self.check_finite()
            self._clock = time.perf_counter()
            try:
                yield
                self.check_finite()
            finally:
                self._good = None

    def train_mode(self) -> None:
        """Training mode, except for modules that are frozen completely: their statistics and dropout rest too."""
        self.objective.train()
        for module in self.objective.modules():
            own = list(module.parameters())
            if own and not any(p.requires_grad for p in own):
                module.eval()

    def advance(self) -> dict[str, float] | None:
        """One update; at the end of an epoch its row, with validation."""
        kept = copied(self.source.state_dict()) if self.closures else None
        batches = self._take()
        if self.rates.moving:
            self.rates.set(self.step)
        try:
            self._update(batches)
        except Interrupted:
            self.position, self.rows = self.position - len(batches), self.rows - sum(b.n for b in batches)
            self._stream = self.source.load_state_dict(kept)
            raise
        except ValueError as error:
            if "more than 1 value per channel" in str(error):  # torch, of a batch norm
                raise InputError(lone_row(self)) from None
            raise
        if self.average:
            self.average.update(self.step)
        self.step += 1
        row = self._end_epoch() if self.position >= self.length else None
        if self.step - self._checked >= CHECK_EVERY:
            self.check_finite()
        return row

    def _take(self) -> list[Batch]:
        if self._stream is None:
            if self.training.grow_batch:
                done = self.epoch * ceil(self.first_length / self.training.accumulate)  # updates, had it not grown
                self.source = self.source.resized(self.rates.batch_size(self.first_size, done, self.source.n))
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
                problem.step(self.optimizers[name], self.caught if len(self.players) == 1 else ())
                self.reason = getattr(self.optimizers[name], "stop_reason", "")
            else:
                problem.gradient()
                if self.training.gradient_noise:
                    self._add_gradient_noise(problem, draw)
                if not together:
                    self._steps[name]()
            self._tally(name, problem.first or [])
            if not together:
                self._after(name, batches, draw)
        if together:
            for name in movers:
                self._steps[name]()
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

    def _add_gradient_noise(self, problem: Problem, draw: Draw) -> None:
        """Gaussian noise on the gradients, less of it the longer training lasts."""
        scale, place = self.training.gradient_noise * (1 + self.step) ** -0.55, draw.at(problem.player, "shake")
        for i, p in enumerate(problem.parameters):
            if p.grad is not None:
                noise = torch.randn(p.shape, generator=place.generator(str(i)), dtype=p.dtype)
                p.grad.add_(noise.to(p.device), alpha=scale)

    # ---- epochs

    @property
    def length(self) -> int:
        return len(self.source)  # batches per epoch

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
            shown = self.average.shown(True) if self.average else nullcontext()
            with shown, next(iter(self.problems.values())).precision():
                values = evaluate(self.objective, self.validation, self.draw.at("valid", self.epoch), self.drawing)
            row |= {f"valid_{name}": value for name, value in values.items()}
        if not all(map(isfinite, row.values())):
            self.check_finite()
        if self.validation is not None and not all(isfinite(v) for k, v in row.items() if k.startswith("valid_")):
            explain_validation(self)
        loss = next((row[k] for k in ("valid_loss", "loss", *self.players) if k in row), None)
        if self.rates.plateau and loss is not None:
            self.rates.plateau.see(loss)
        self.epoch += 1
        self._begin_epoch()
        return row

    @property
    def part(self) -> float:
        """Share of the epoch that is done; 0 at its end."""
        return self.position / self.length

    @property
    def losses(self) -> dict[str, float]:
        """Mean loss of each player in the epoch so far."""
        seen = {name: sums["loss"] for name, sums in self.sums.items()}
        one = len(self.players) == 1
        return {"loss" if one else name: float(total) / float(self.weights_seen[name]) for name, total in seen.items()}

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
                row |= {"evaluations": self.problems[name].evaluations, **getattr(self.optimizers[name], "info", {})}
        row |= getattr(self.source, "columns", dict)()  # e.g. the mean return of the episodes
        return row | {"lr": next(iter(self.optimizers.values())).param_groups[0]["lr"]}

    # ---- state

    def weights(self) -> dict[str, Tensor]:
        """Copies of the objective's parameters and buffers; of their average where there is one."""
        return copied(self.average.values) if self.average else self.objective.weights()

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        if self.average:
            self.average.values = copied(weights)
        else:
            self.objective.set_weights(weights)

    def state_dict(self, *, check: bool = True) -> Tree:
        """All of the state; `NonFiniteError` if a number in it is not finite."""
        if check:
            self.check_finite()
        return {
            "objective": (self.average and self.average.trained) or self.objective.weights(),
            "average": copied(self.average.values) if self.average else None,
            "optimizers": {n: copied(o.state_dict()) for n, o in self.optimizers.items()},
            "source": copied(self.source.state_dict()),
            "place": [self.step, self.epoch, self.position, self.rows],
            **{name: copied(getattr(self, name)) for name in OF_EPOCH},
            "plateau": self.rates.plateau.state if self.rates.plateau else None,
            "evaluations": {n: p.evaluations for n, p in self.problems.items()},
        }

    def load_state_dict(self, tree: Tree) -> None:
        self.objective.set_weights(tree["objective"])
        if self.average:
            self.average.values, self.average.trained = copied(tree["average"]), None
        for name, state in tree["optimizers"].items():
            restore(self.optimizers[name], state)
        self.source.load_state_dict(tree["source"])
        self.step, self.epoch, self.position, self.rows = map(index, tree["place"])
        self._stream, self._checked, self.reason = None, self.step, ""
        if self.rates.plateau:
            self.rates.plateau.state = list(tree["plateau"])
        for name, count in tree["evaluations"].items():
            self.problems[name].evaluations = count
        for name in OF_EPOCH:
            setattr(self, name, dict(copied(tree[name])))
        self._good = self._kept()

    def _kept(self) -> Tree:
        """What the guard replays from; None for a source that cannot go back, or does not want to be copied for it."""
        return self.state_dict(check=False) if self.exact and getattr(self.source, "guarded", True) else None

    def check_finite(self) -> None:
        """The guard: everything finite, or a `NonFiniteError` that names epoch, step, rows and tensor."""
        self._checked, made = self.step, self.optimizers.values()
        rates = [float(group["lr"]) for optimizer in made for group in optimizer.param_groups]
        if all(map(isfinite, rates)) and all_finite([self.objective.state_dict(), [o.state for o in made], self.sums]):
            self._good = self._kept()
        else:
            explain(self, self._good)

    def drop_data(self) -> None:
        """Release the data; `source` is set again before the next step."""
        self.source = self.validation = self._stream = self._good = None
        for problem in self.problems.values():
            problem.bind([], self.draw)

    def __getstate__(self) -> dict[str, Any]:
        """For pickling: without the iterator, which is made anew from (epoch, position)."""
        steps = {name: optimizer.step for name, optimizer in self.optimizers.items()}
        return {**vars(self), "_stream": None, "_good": None, "_steps": steps}
