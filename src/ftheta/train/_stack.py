"""Members that are trained together, update by update; one that has stopped leaves, so that the others go faster.

    θ_m <- θ_m + η_m Δ_m,      Δ_m the step of the rule at rate 1: of an elementwise rule it is linear in the rate

Penalties, clipping and stopping are each member's own.
Shapes: M members that are still here.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from .. import optim
from ..data.batch import Batch
from ..store import Tree
from ._stack_loss import StackedLoss
from ._stack_rows import StackedRows
from ._state import copied
from .objective import Player
from .stacked import Stacked
from .trainer import LOOK, Trainer

__all__ = ["Stack"]

UNIT = 50  # multiply-adds that a unit's activation is worth
OWN = ("rates", "slowed", "best", "best_round", "l2", "l1")  # arrays with a number for each member


class Stack:
    """Members that step together.

    Args:
        trainers: The trainers of all members, with the objectives that receive what is learned.
        rows: Their rows.
        held: Rows for validation.
        optimizer: An elementwise rule.
        patience: Rounds without improvement before a member stops.
    """

    def __init__(
        self,
        trainers: Sequence[Trainer],
        rows: StackedRows,
        held: StackedRows | None,
        *,
        optimizer: str,
        patience: int | None,
    ) -> None:
        self.trainers, self.rows, self.held, self.rule, self.patience = trainers, rows, held, optimizer, patience
        self.drawing = trainers[0].drawing
        self.training, self.horizon = trainers[0].training, trainers[0].horizon or 1
        self.members = np.arange(len(trainers))  # who is still here
        self.reasons, self.sizes = [""] * len(trainers), rows.sizes.tolist()
        self.table: list[dict[str, np.ndarray]] = []  # columns of each round, (M,) of those who were here
        self.seen: list[np.ndarray] = []  # who they were
        self.rates = np.array([t.rates["loss"][0] for t in trainers])
        self.slowed = np.ones(len(trainers))
        self.best, self.best_round = np.full(len(trainers), inf), np.zeros(len(trainers), dtype=int)
        self.kept: dict[str, Tensor] | None = None  # weights of each member's best round
        self._settle(Stacked([t.objective for t in trainers]))
        names = {id(p): name for name, p in trainers[0].objective.named_parameters()}
        self.penalised = [names[id(p)] for p in trainers[0].problems["loss"].penalised]
        self.l2, self.l1 = (np.array([getattr(t.training, k) for t in trainers]) for k in ("l2", "l1"))
        self.good, self.looked = self.stack.weights(), 0
        self.begin()

    def _settle(self, stack: Stacked) -> None:
        """A stack of those who are here, with a new optimizer."""
        self.stack, self.loss = stack, StackedLoss(stack.each)
        self.named = {n: p for n, p in stack.each.named_parameters() if p.requires_grad}
        self.parameters = list(self.named.values())
        self.one_rate = (self.rates == self.rates[0]).all() and self.training.schedule != "plateau"
        rate = float(self.rates[0]) if self.one_rate else 1.0
        self.optimizer = self.trainers[0]._optimizer(Player("loss", self.parameters), self.rule, rate)

    # ---- an update

    def update(self, step: int, batches: range) -> None:
        """Move every member by the gradient over these batches of its own."""
        self._gradient([self.rows.batch(b) for b in batches], step)
        self._penalise()
        self._clip()
        if self.training.gradient_noise:
            self._shake(step)
        self._move(self.factor(step))

    def factor(self, step: int) -> float:
        """What the schedule makes of the rate."""
        t = self.training
        return optim.factor(t.schedule, step, self.horizon, t.warmup, t.shape)

    def _gradient(self, batches: Sequence[Batch], step: int) -> None:
        for p in self.parameters:
            p.grad = None
        several, whole = len(batches) > 1, cast(Any, 0.0)
        for micro, batch in enumerate(batches):
            with self.drawing.scope(self.rows.draws[0].at("train", step, micro, "stack")):
                loss = self.loss.losses(batch)
                whole = whole + loss.weight
                roots, seeds = [loss.total], [self._full(loss.total, 1.0 if several else 1 / whole)]
                if loss.once is not None and micro == len(batches) - 1 and loss.once.requires_grad:
                    roots, seeds = [*roots, loss.once], [*seeds, self._full(loss.once, whole if several else 1.0)]
                torch.autograd.backward(roots, seeds)
            self._tally(loss)
        for p in self.parameters if several else ():
            if p.grad is not None:
                p.grad.div_(whole if isinstance(whole, float) else whole.view(-1, *[1] * (p.ndim - 1)))

    @staticmethod
    def _full(like: Tensor, value: Tensor | float) -> Tensor:
        return value if isinstance(value, Tensor) else torch.full_like(like, value)

    def _tally(self, loss: Any) -> None:
        for name, value in {"loss": loss.total, **loss.terms, "": loss.weight}.items():
            value = value.detach().double() if isinstance(value, Tensor) else value
            self.sums[name] = self.sums[name] + value if name in self.sums else value
        self.once = None if loss.once is None else loss.once.detach()

    def _penalise(self) -> None:
        for name in self.penalised:
            p = self.named[name]
            if p.grad is not None and self.l2.any():
                p.grad.add_(p.detach() * self._spread(2 * self.l2, p))
            if p.grad is not None and self.l1.any():
                p.grad.add_(p.detach().sign() * self._spread(self.l1, p))

    def _clip(self) -> None:
        t, grads = self.training, [p.grad for p in self.parameters if p.grad is not None]
        if t.clip_value is not None:
            nn.utils.clip_grad_value_(self.parameters, t.clip_value)
        if t.clip_norm is not None:
            norm = torch.stack([g.flatten(1).norm(dim=1) for g in grads]).norm(dim=0)  # (M,)
            scale = (t.clip_norm / (norm + 1e-6)).clamp(max=1.0)
            for g in grads:
                g.mul_(scale.view(-1, *[1] * (g.ndim - 1)))

    def _shake(self, step: int) -> None:
        """Each member's own noise, as alone."""
        scale = self.training.gradient_noise * (1 + step) ** -0.55
        for m, draw in enumerate(self.rows.draws):
            place = draw.at("train", step, "loss", "shake")
            for i, p in enumerate(self.parameters):
                if p.grad is not None:
                    noise = torch.randn(p.shape[1:], generator=place.generator(str(i)), dtype=p.dtype)
                    p.grad[m].add_(noise.to(p.device), alpha=scale)

    def _move(self, factor: float) -> None:
        self.optimizer.param_groups[0]["lr"] = (float(self.rates[0]) if self.one_rate else 1.0) * factor
        old = None if self.one_rate else [p.detach().clone() for p in self.parameters]
        optim.step(self.optimizer)
        if old is not None:
            rates = self.rates * self.slowed
            for before, p in zip(old, self.parameters, strict=True):
                p.detach().copy_(before.lerp(p.detach(), self._spread(rates, p)))

    @staticmethod
    def _spread(values: np.ndarray, p: Tensor) -> Tensor:
        """One number for each member, along the first axis of p."""
        return torch.as_tensor(values, dtype=p.dtype, device=p.device).view(-1, *[1] * (p.ndim - 1))

    # ---- a round

    def begin(self) -> None:
        """Sums of a new round."""
        self.sums: dict[str, Any] = {}
        self.once: Tensor | None = None

    def end(self, epoch: int, step: int) -> dict[str, np.ndarray]:
        """The columns of this round; then those who have stopped leave."""
        row = {name: _numbers(value / self.sums[""]) for name, value in self.sums.items() if name}
        penalty = self._penalty()
        row |= {} if penalty is None else {"penalty": penalty}
        row["lr"] = self.rates * self.slowed * self.factor(step - 1)
        row |= self._validate(epoch)
        finite = np.asarray(np.isfinite(list(row.values())).all(0))
        self.table.append(row)
        self.seen.append(self.members)
        reasons = self._stopping(row, epoch + 1)
        reasons |= self._broken(finite, step, look=bool(reasons))
        self._slow(row)
        self.begin()
        self._leave(reasons)
        return row

    def _penalty(self) -> np.ndarray | None:
        parts = [] if self.once is None else [self.once]
        if (self.l2.any() or self.l1.any()) and self.penalised:
            with torch.no_grad():
                for p in (self.named[name].flatten(1) for name in self.penalised):
                    parts.append((p.square() * self._spread(self.l2, p) + p.abs() * self._spread(self.l1, p)).sum(1))
        return _numbers(sum(parts, torch.zeros(()))) if parts else None

    @torch.no_grad()
    def _validate(self, epoch: int) -> dict[str, np.ndarray]:
        if self.held is None:
            return {}
        sums: dict[str, Any] = {}
        self.stack.eval()
        for b in range(len(self.held)):
            with self.drawing.scope(self.rows.draws[0].at("valid", epoch, b), training=False):
                found = self.loss.reports(self.held.batch(b))
            for name, (total, weight) in found.items():
                kept = sums.get(name, (0.0, 0.0))
                sums[name] = kept[0] + total.double(), kept[1] + weight
        self.stack.train()
        return {f"valid_{name}": _numbers(total / weight) for name, (total, weight) in sums.items() if name != "once"}

    def _stopping(self, row: dict[str, np.ndarray], now: int) -> dict[int, str]:
        """Who has waited for too long; the best weights of the others are kept."""
        if self.patience is None:
            return {}
        column = "valid_loss" if "valid_loss" in row else "loss"
        better = row[column] < self.best
        if better.any():
            self.best, self.best_round = (
                np.where(better, row[column], self.best),
                np.where(better, now, self.best_round),
            )
            if column == "valid_loss" and self.training.restore_best:
                self.kept = self._merged(self.kept or self.good, better)  # one that never was finite has no best
        late = np.flatnonzero(~better & (now - self.best_round >= self.patience))
        said = "no better {} for {} rounds; best was round {}"
        return {int(i): said.format(column, self.patience, self.best_round[i]) for i in late}

    def _merged(self, old: dict[str, Tensor], fresh: np.ndarray) -> dict[str, Tensor]:
        """The weights now of members that are fresh, the old ones of the others."""
        now = self.stack.weights()
        if not fresh.all():
            mask = torch.from_numpy(fresh)
            for name, value in now.items():
                value[~mask] = old[name][~mask]
        return now

    def _broken(self, finite: np.ndarray, step: int, *, look: bool) -> dict[int, str]:
        """Who is no longer finite; their last good weights are put back. Looked at now and then and at an end."""
        if finite.all() and step - self.looked < LOOK and not look:
            return {}
        state = [v for s in self.optimizer.state.values() for v in s.values() if isinstance(v, Tensor) and v.ndim]
        tensors = [t for t in [*self.stack.each.state_dict().values(), *state] if t.is_floating_point()]
        whole = finite & np.all([t.detach().flatten(1).isfinite().all(1).cpu().numpy() for t in tensors], axis=0)
        self.good, good_step, self.looked = self._merged(self.good, whole), self.looked, step
        if not whole.all():
            self.stack.each.load_state_dict(self.good)
        said = "loss or weights became nan or inf by step {}; last good state: step {}. Try lr={:.3g} (now {:.3g})."
        return {
            int(i): said.format(step, good_step, r / 10, r) for i in np.flatnonzero(~whole) for r in [self.rates[i]]
        }

    def _slow(self, row: dict[str, np.ndarray]) -> None:
        """The schedule "plateau", each member by its own loss."""
        if self.training.schedule == "plateau":
            for i, m in enumerate(self.members):
                self.trainers[m].plateau.see(float(row.get("valid_loss", row["loss"])[i]))  # type: ignore[union-attr]
                self.slowed[i] = self.trainers[m].plateau.state[2]  # type: ignore[union-attr]

    # ---- leaving

    def _leave(self, reasons: dict[int, str]) -> None:
        if not reasons:
            return
        self.write(reasons)
        self._narrow(np.array([i for i in range(len(self.members)) if i not in reasons], dtype=int))

    def _narrow(self, stay: np.ndarray) -> None:
        """Go on with some of those who are here."""
        self.members = self.members[stay]
        if not len(stay):
            return
        for name in OWN:
            setattr(self, name, getattr(self, name)[stay])
        self.rows, self.held = self.rows.take(stay), None if self.held is None else self.held.take(stay)
        index = torch.from_numpy(stay)
        self.kept = None if self.kept is None else {name: value[index] for name, value in self.kept.items()}
        self.good = {name: value[index] for name, value in self.good.items()}
        old = [self.optimizer.state[p] for p in self.parameters]
        self._settle(self.stack.take(stay.tolist()))
        self.stack.train()
        for p, state in zip(self.parameters, old, strict=True):
            own = {k: v[index] if isinstance(v, Tensor) and v.ndim else v for k, v in state.items()}
            self.optimizer.state[p] = own

    def write(self, reasons: dict[int, str]) -> None:
        """Give members what they have learned, the best of it where that was kept, and the reason of their end."""
        learned = self.stack.weights() if self.kept is None else self.kept
        for i, reason in reasons.items():
            member = self.members[i]
            self.trainers[member].objective.load_state_dict({name: value[i] for name, value in learned.items()})
            self.reasons[member] = reason

    def finish(self, reason: str, step: int) -> None:
        """Give what they have learned to all who are still here."""
        if here := len(self.members):
            broken = self._broken(np.ones(here, dtype=bool), step, look=True)
            self.write(dict.fromkeys(range(here), reason) | broken)

    # ---- what is known of them

    def work(self) -> float:
        """Multiply-adds of a forward pass, about; an activation and its slope cost as much as some of them."""
        weights = [p for p in self.parameters if p.ndim > 2]  # (M, out, in)
        return self.rows.most * sum(p.numel() + UNIT * p.shape[0] * p.shape[1] for p in weights)

    def columns(self) -> tuple[list[str], np.ndarray]:
        """Names of the columns, and their values: (rounds, columns, M), NaN where a member was no longer here."""
        names = list(self.table[0]) if self.table else []
        values = np.full((len(self.table), len(names), len(self.trainers)), np.nan)
        for into, row, members in zip(values, self.table, self.seen, strict=True):
            into[:, members] = list(row.values())
        return names, values

    def state_dict(self) -> Tree:
        """All of the state; of those who have left, what they took with them."""
        left = [i for i in range(len(self.trainers)) if i not in self.members]
        return {
            "members": self.members.tolist(),
            "left": {str(i): self.trainers[i].objective.weights() for i in left},
            "reasons": list(self.reasons),
            "weights": self.stack.weights(),
            "optimizer": copied(self.optimizer.state_dict()),
            "arrays": {name: getattr(self, name).tolist() for name in OWN},
            "slow": [t.plateau.state if t.plateau else None for t in self.trainers],
            "kept": self.kept,
            "good": [self.good, self.looked],
            "sums": [copied(self.sums), self.once],
            "table": [{name: values.tolist() for name, values in row.items()} for row in self.table],
            "seen": [members.tolist() for members in self.seen],
        }

    def load_state_dict(self, tree: Tree) -> None:
        """Put such a state back into a new stack."""
        self._narrow(np.array(tree["members"], dtype=int))
        if len(self.members):
            self.stack.each.load_state_dict(tree["weights"])
            self.optimizer.load_state_dict(copied(tree["optimizer"]))
        for i, weights in tree["left"].items():
            self.trainers[int(i)].objective.set_weights(weights)
        for name, values in tree["arrays"].items():
            setattr(self, name, np.array(values))
        for trainer, state in zip(self.trainers, tree["slow"], strict=True):
            if trainer.plateau:
                trainer.plateau.state = state
        self.reasons, self.kept = list(tree["reasons"]), copied(tree["kept"])
        (self.good, self.looked), (self.sums, self.once) = copied(tree["good"]), copied(tree["sums"])
        self.table = [{name: np.array(values) for name, values in row.items()} for row in tree["table"]]
        self.seen = [np.array(members) for members in tree["seen"]]


def _numbers(values: Tensor) -> np.ndarray:
    return values.detach().double().cpu().numpy()
