"""Many networks of one shape as one process: their tensors are stacked, and vmap computes all losses in one pass."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from math import isfinite
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.functional import pad

from .. import optim
from ..data.batch import Batch
from ..draw import Draw
from .callbacks import Context, EarlyStopping
from .objective import Loss
from .placing import threads, threads_for
from .process import Steps
from .trainer import CHECK_EVERY, Trainer


class Member:
    """A trainer whose tensors are in a stack."""

    def __init__(self, stack: Stack, trainer: Trainer, patience: int | None) -> None:
        self.stack, self.trainer, self.set_weights = stack, trainer, trainer.objective.set_weights
        self.ctx = Context(self, [], None, 0)  # type: ignore[arg-type]
        self.stopping = EarlyStopping.of(patience, trainer.training)  # one, or none

    def weights(self, tensors: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
        """Copies of its parameters and buffers, in the stack or in a copy of it."""
        tensors, shapes = tensors or self.stack.tensors, self.trainer.objective.state_dict()
        return {name: tensors[name][self.stack.places[self]].detach().clone() for name in shapes}

    def leave(self, reason: str, tensors: Mapping[str, Tensor] | None = None) -> None:
        """Give the module what it has learned."""
        ctx, trainer, penalty = self.ctx, self.trainer, self.trainer.training.l2 or self.trainer.training.l1
        ctx.stop(reason)
        self.set_weights(self.weights(tensors))
        for stopping in self.stopping:
            stopping.on_end(ctx)
        left_out = () if penalty or isinstance(self.stack.once, Tensor) else ("penalty",)
        rows = [e.row(self, left_out) for e in self.stack.log]
        ctx.history[:] = [row for row in rows if all(map(isfinite, row.values()))]
        ctx.round = len(ctx.history)
        trainer.step, trainer.epoch = self.stack.step, ctx.round


class Epoch(NamedTuple):
    """What is known of all members at the end of an epoch."""

    epoch: int
    step: int
    seconds: float
    factor: float
    places: dict[Member, int]
    columns: dict[str, list[float]]

    def row(self, member: Member, left_out: Sequence[str]) -> dict[str, float]:
        """The row of a member, as its trainer alone would say it."""
        place, trainer = self.places[member], member.trainer
        own = {name: values[place] for name, values in self.columns.items() if name not in left_out}
        held = {name: own.pop(name) for name in list(own) if name.startswith("valid_")}
        rate = next(iter(trainer.rates.base.values()))[0] * self.factor
        done = {"epoch": self.epoch, "step": self.step, "rows": self.epoch * member.stack.n[member]}
        return {**done, "seconds": self.seconds, **own, "lr": rate, **held}


class Stack(Steps):
    """All members as one process; a round is an epoch of each."""

    kept = ()

    def __init__(self, trainers: Sequence[Trainer], patience: int | None) -> None:
        first = trainers[0]
        self.training, self.draw, self.drawing, self.horizon = (
            first.training,
            first.draw,
            first.drawing,
            first.rates.horizon,
        )
        self.patience, self.player, self.length = patience, first.objective.player_list[0].name, len(first.source)
        self.all = [Member(self, trainer, patience) for trainer in trainers]
        self.n = {member: member.trainer.source.n for member in self.all}
        self.places = {member: place for place, member in enumerate(self.all)}  # of those that are still training
        self.base = deepcopy(first.objective).to("meta")
        self.params, self.buffers = stack_module_state([t.objective for t in trainers])  # type: ignore[arg-type]
        names = {id(p): name for name, p in first.objective.named_parameters()}
        problem = first.problems[self.player]
        self.penalized = [self.params[names[id(p)]] for p in problem.penalized]
        self.trained = [self.params[names[id(p)]] for p in problem.parameters]
        self._set_numbers()
        self.optimizer = optim.make(first.names[self.player], self.trained, self.rate, self.training.options)
        self.fixed = _stacked([next(t.source.batches(0, 0, t.draw)) for t in trainers]) if self.length == 1 else None
        self.held = [_stacked(batches) for batches in zip(*map(_held_batches, trainers), strict=True)]
        self.log: list[Epoch] = []
        self.step = self.epoch = self.checked = 0
        self.seconds, self.good = 0.0, self._copies()
        self._begin_epoch()

    def _set_numbers(self) -> None:
        """What each member has of its own, as (M,)."""
        trainers = [member.trainer for member in self.places]
        numbers = [[t.rates.base[self.player][0], t.training.l2, t.training.l1] for t in trainers]
        self.rate = max(rate for rate, *_ in numbers)
        self.uneven, self.punished = any(n[0] != self.rate for n in numbers), any(n[1] or n[2] for n in numbers)
        rates, self.l2, self.l1 = self.trained[0].new_tensor(numbers).T
        self.share = rates / self.rate

    @property
    def tensors(self) -> dict[str, Tensor]:
        """Parameters and buffers of all members in the stack: (M, ...)."""
        return {**self.params, **self.buffers}

    def _copies(self) -> dict[str, Tensor]:
        return {name: t.detach().clone() for name, t in self.tensors.items()}

    # ---- updates

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Training mode, and the thread count for this size of work."""
        work = sum(p.numel() for p in self.trained if p.ndim > 2) * self.all[0].trainer.first_size
        with threads(self.training.threads or threads_for(work)):
            self.base.train()
            self.clock = time.perf_counter()
            yield

    def advance(self) -> dict[str, float] | None:
        """One update of every member; at the end of an epoch its row."""
        batch = _stacked(next(self.stream)) if self.fixed is None else self.fixed
        draw = self.draw.at("train", self.step)
        for p in self.trained:
            p.grad = None
        with self.drawing.scope(draw):
            loss = self._each(batch, draw, "loss", self.player)["loss"]
            self.once = 0.0 if loss.once is None else loss.once
            (loss.total / loss.weight + self.once).sum().backward()
        self.totals = self.totals + torch.stack([loss.total, loss.weight]).detach().double()  # type: ignore[list-item]
        self._finish_gradient()
        self._move()
        self.step, self.position = self.step + 1, self.position + 1
        return self._end_epoch() if self.position == self.length else None

    def _each(self, batch: Batch, draw: Draw, what: str, *before: str) -> dict[str, Loss]:
        """What the objective of each member gives, by name: totals and weights (M,)."""

        def one(params: Any, buffers: Any, *parts: Any) -> dict[str, Any]:
            found = functional_call(self.base, (params, buffers), (what, *before, Batch(*parts), draw))
            named = {"loss": found} if isinstance(found, Loss) else found
            values = {name: (f.total, torch.as_tensor(f.weight).to(f.total), f.once) for name, f in named.items()}
            return {name: tuple(v for v in three if v is not None) for name, three in values.items()}  # tensors only

        axes = (0, 0, *(None if part is None else 0 for part in batch[:3]))
        found = vmap(one, axes, randomness="different")(self.params, self.buffers, *batch[:3])
        return {name: Loss(*values) for name, values in found.items()}

    @torch.no_grad()
    def _finish_gradient(self) -> None:
        """Penalties and clipping, for each member by itself."""
        for p in self.penalized if self.punished else ():
            if p.grad is not None:
                p.grad += 2 * _along(self.l2, p) * p + _along(self.l1, p) * p.sign()
        t, gradients = self.training, [p.grad for p in self.trained if p.grad is not None]
        for g in gradients if t.clip_value is not None else ():
            g.clamp_(-t.clip_value, t.clip_value)  # type: ignore[operator]
        if t.clip_norm is not None:
            norms = torch.stack([g.flatten(1).norm(dim=1) for g in gradients]).norm(dim=0)  # (M,)
            for g in gradients:
                g *= _along((t.clip_norm / (norms + 1e-6)).clamp(max=1.0), g)

    @torch.no_grad()
    def _move(self) -> None:
        """A step of the rule at the largest rate: it is linear in the rate, so the others go a share of it."""
        t = self.training
        self.factor = optim.factor(t.schedule, self.step, self.horizon or 1, t.warmup, t.schedule_options)
        self.optimizer.param_groups[0]["lr"] = self.rate * self.factor
        before = [p.clone() for p in self.trained] if self.uneven else []
        self.optimizer.step()
        for p, old in zip(self.trained, before, strict=False):
            p.copy_(old + _along(self.share, p) * (p - old))

    # ---- epochs

    def _begin_epoch(self) -> None:
        self.position, self.totals = 0, torch.zeros(2, len(self.places), dtype=torch.float64)
        if self.fixed is None:
            trainers, epoch = [member.trainer for member in self.places], self.epoch
            self.stream = zip(*(t.source.batches(epoch, 0, t.draw.at("order", epoch)) for t in trainers), strict=True)

    def _end_epoch(self) -> dict[str, float]:
        now = time.perf_counter()
        self.seconds, self.clock = self.seconds + now - self.clock, now
        self.epoch += 1
        columns = self._columns()
        values = torch.stack(list(columns.values()))  # (columns, M)
        columns = dict(zip(columns, values.tolist(), strict=True))
        self.log.append(Epoch(self.epoch, self.step, self.seconds, self.factor, self.places, columns))
        fine = values[:, values.isfinite().all(0)]
        if self.patience:
            self._stop_early(columns)
        if fine.shape[1] < values.shape[1] or self.step - self.checked >= CHECK_EVERY:
            self._check_finite()
        self.reason = "" if self.places else "every member has stopped"
        self._begin_epoch()
        row = {"epoch": self.epoch, "step": self.step, "members": len(self.places), "seconds": self.seconds}
        return row | (dict(zip(columns, fine.mean(1).tolist(), strict=True)) if fine.shape[1] else {})

    @torch.no_grad()
    def _columns(self) -> dict[str, Tensor]:
        """Loss, penalty and what validation reports: (M,) each."""
        columns = {"loss": self.totals[0] / self.totals[1]}
        if self.punished or isinstance(self.once, Tensor):
            flat = torch.cat([p.flatten(1) for p in self.penalized], 1).double()
            columns["penalty"] = (
                self.l2.double() * flat.square().sum(1) + self.l1.double() * flat.abs().sum(1) + self.once
            )
        sums: dict[str, Any] = {}
        for batch in self.held:
            self.base.eval()
            for name, loss in self._each(batch, self.draw.at("valid", self.epoch), "evaluate").items():
                sums[name] = sums.get(name, 0.0) + torch.stack([loss.total, loss.weight]).double()  # type: ignore[list-item]
            self.base.train()
        return columns | {f"valid_{name}": total / weight for name, (total, weight) in sums.items()}

    # ---- leaving

    def _stop_early(self, columns: Mapping[str, Sequence[float]]) -> None:
        for member, place in self.places.items():
            member.ctx.round = self.epoch
            member.stopping[0].on_row(member.ctx, {name: values[place] for name, values in columns.items()})
            if member.ctx.reason:
                member.leave("")
        self._keep([place for member, place in self.places.items() if not member.ctx.reason])

    def _check_finite(self) -> None:
        """Members whose numbers are not finite leave, with the weights of the last check."""
        fine = torch.stack([p.detach().flatten(1).isfinite().all(1) for p in self.trained]).all(0)
        fine = (fine & self.totals[0].isfinite()).tolist()
        for member, place in self.places.items():
            if not fine[place]:
                rate = member.trainer.rates.base[self.player][0]
                where = f"by step {self.step}; last good state: step {self.checked}"
                reason = f"loss or weights became nan or inf {where}. Try lr={rate / 10:.3g} (now {rate:.3g})"
                member.leave(reason, self.good)
        self._keep([place for place, good in enumerate(fine) if good])
        self.good, self.checked = self._copies(), self.step

    def _keep(self, places: Sequence[int]) -> None:
        """A stack of these members only."""
        m, members = len(self.places), list(self.places)
        if len(places) in (0, m):
            self.places = self.places if places else {}
            return
        index = torch.tensor(places, device=self.l2.device)
        self.places = {members[old]: new for new, old in enumerate(places)}
        self.buffers, self.good = ({k: t[index] for k, t in tree.items()} for tree in (self.buffers, self.good))
        for p in self.params.values():
            p.data, p.grad = p.data[index], None
        for state in self.optimizer.state.values():
            state |= {k: v[index] for k, v in state.items() if isinstance(v, Tensor) and v.shape[:1] == (m,)}
        self.totals, self.once = self.totals[:, index], self.once[index] if isinstance(self.once, Tensor) else 0.0
        batches = [b for b in (*self.held, self.fixed) if b is not None]
        some = [Batch(*(None if part is None else part[index] for part in b)) for b in batches]
        self.held, self.fixed = some[: len(self.held)], None if self.fixed is None else some[-1]
        self._set_numbers()

    def finish(self, reason: str) -> None:
        """The end, for members that are still training."""
        if self.places:
            self._check_finite()
        for member in self.places:
            member.leave(reason)


def _along(numbers: Tensor, p: Tensor) -> Tensor:
    """A number for each member, to be multiplied with (M, ...)."""
    return numbers.view(-1, *[1] * (p.ndim - 1))


def _stacked(batches: Sequence[Batch]) -> Batch:
    """The batches of all members as one: (M, B, ...); short ones are filled up with rows of weight 0."""
    rows = max(batch.n for batch in batches)
    parts = [[getattr(batch, name) for batch in batches] for name in ("x", "y")]
    x, y = (None if part[0] is None else torch.stack([_filled(p, rows) for p in part]) for part in parts)
    if all(batch.weight is None and batch.n == rows for batch in batches):
        return Batch(x, y)
    weights = [torch.ones(b.n).to(b.x) if b.weight is None else b.weight for b in batches]
    return Batch(x, y, torch.stack([_filled(w, rows) for w in weights]))


def _filled(tensor: Tensor, rows: int) -> Tensor:
    return tensor if len(tensor) == rows else pad(tensor, (0, 0) * (tensor.ndim - 1) + (0, rows - len(tensor)))


def _held_batches(trainer: Trainer) -> list[Batch]:
    return [] if trainer.validation is None else list(trainer.validation.batches(0, 0, trainer.draw.at("valid")))
