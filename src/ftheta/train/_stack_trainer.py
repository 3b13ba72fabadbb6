"""The process that trains many members: stacks of as many as the cache holds, side by side, one update of all a step.

A round is an epoch; what it says is the mean over the members that are still training.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
from torch import nn

from .. import optim
from ..errors import InputError
from ..store import Tree
from ._guard import lone_row
from ._stack import Stack
from ._stack_rows import StackedRows
from ._stacking import check_alike
from .placing import threads, threads_for
from .trainer import Trainer

__all__ = ["StackTrainer"]

CACHED = 2**21  # bytes of the largest layer's outputs in a stack: larger ones leave the cache and cost page faults
ALL_STOPPED = "every member has stopped"
NORMS = nn.modules.batchnorm._NormBase


class StackTrainer:
    """Train the members of several trainers together. Advance it with `iterate`, then `finish`.

    Args:
        trainers: One for each member, not yet advanced; their objectives receive what is learned.
        optimizer: Name of the rule, one that is elementwise.
        patience: Rounds without improvement before a member stops; None never stops early.
    """

    def __init__(self, trainers: Sequence[Trainer], *, optimizer: str = "adam", patience: int | None = None) -> None:
        _check(trainers, optimizer)
        self.trainers, self.training, self.draw = trainers, trainers[0].training, trainers[0].draw
        draws = [t.draw for t in trainers]
        rows = StackedRows([t.source for t in trainers], draws)
        held = None if trainers[0].validation is None else StackedRows([t.validation for t in trainers], draws)  # type: ignore[misc]
        _check_rows(trainers, rows)
        self.length = len(rows)
        parts = np.array_split(np.arange(len(trainers)), ceil(len(trainers) / _at_once(trainers[0], rows)))
        knobs: dict[str, Any] = {"optimizer": optimizer, "patience": patience}
        self.stacks = [
            Stack([trainers[i] for i in p], rows.take(p), None if held is None else held.take(p), **knobs)
            for p in parts
        ]
        self.where = {int(m): (stack, i) for stack, p in zip(self.stacks, parts, strict=True) for i, m in enumerate(p)}
        self.step = self.epoch = self.position = 0
        self.rounds: list[tuple[int, float]] = []  # step and seconds at the end of each
        self.seconds, self._clock, self.reason = 0.0, time.perf_counter(), ""

    # ---- the process

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Training mode, and the thread count for this size of work."""
        work = max(stack.work() for stack in self.stacks)
        with threads(self.training.threads or threads_for(work)):
            for stack in self.stacks:
                stack.stack.train()
            self._clock = time.perf_counter()
            yield

    def advance(self) -> dict[str, float] | None:
        """One update of every member; at the end of an epoch its row."""
        batches = range(self.position, min(self.position + self.training.accumulate, self.length))
        try:
            for stack in self.going:
                stack.update(self.step, batches)
        except ValueError as error:
            if "more than 1 value per channel" in str(error):  # torch, of a batch norm
                raise InputError(lone_row(self.trainers[0])) from None
            raise
        self.step, self.position = self.step + 1, batches.stop
        return self._end_epoch() if self.position >= self.length else None

    @property
    def going(self) -> list[Stack]:
        """Stacks with members that are still training."""
        return [stack for stack in self.stacks if len(stack.members)]

    def _end_epoch(self) -> dict[str, float]:
        now = time.perf_counter()
        self.seconds, self._clock = self.seconds + now - self._clock, now
        rows = [stack.end(self.epoch, self.step) for stack in self.going]
        self.rounds.append((self.step, self.seconds))
        self.epoch, self.position = self.epoch + 1, 0
        for stack in self.going:
            stack.rows.begin(self.epoch)
        self.reason = "" if self.going else ALL_STOPPED
        values = np.concatenate([list(row.values()) for row in rows], axis=1)  # (columns, M)
        values = values[:, np.isfinite(values).all(0)]
        means = dict(zip(rows[0], values.mean(1).tolist(), strict=True)) if values.size else {}
        members = sum(len(stack.members) for stack in self.stacks)
        return {"epoch": self.epoch, "step": self.step, "seconds": self.seconds, "members": members, **means}

    def finish(self, reason: str) -> None:
        """Give what they have learned to the members that are still training."""
        for stack in self.stacks:
            stack.finish(reason, self.step)

    def hand_over(self, estimators: Sequence[Any]) -> None:
        """Make the estimators, whose trainers the members are, fitted ones."""
        for member, (estimator, rows) in enumerate(zip(estimators, self.histories(), strict=True)):
            stack, place = self.where[member]
            estimator.history_, estimator.stop_reason_ = rows, stack.reasons[place]
            estimator.n_iter_ = sum(place in members for members in stack.seen)
            estimator.module_.eval()
            vars(estimator).pop("_trainer", None)

    def histories(self) -> Iterator[list[dict[str, float]]]:
        """The rows of each member, as if it had been trained alone; without those that are not finite."""
        steps, seconds = [end[0] for end in self.rounds], [end[1] for end in self.rounds]
        for stack in self.stacks:
            names, values = stack.columns()
            names, finite = (
                ["epoch", "step", "rows", "seconds", *names],
                np.asarray(np.isfinite(values).all(1)),
            )  # (rounds, M)
            for place, n in enumerate(stack.sizes):
                own = values[finite[:, place], :, place].T.tolist()
                rounds = range(1, finite[:, place].sum() + 1)
                columns = [rounds, steps, [n * r for r in rounds], seconds, *own]
                found = [dict(zip(names, row, strict=False)) for row in zip(*columns, strict=False)]
                t = stack.trainers[place].training
                bare = not (t.l1 or t.l2 or any(row.get("penalty") for row in found))  # others may have a penalty
                yield [{k: v for k, v in row.items() if k != "penalty"} for row in found] if bare else found

    # ---- state

    def state_dict(self) -> Tree:
        """All of the state."""
        rounds = {"steps": [step for step, _ in self.rounds], "seconds": [seconds for _, seconds in self.rounds]}
        stacks = [stack.state_dict() for stack in self.stacks]
        place = [self.step, self.epoch, self.position]
        return {"place": place, "seconds": self.seconds, "rounds": rounds, "stacks": stacks}

    def load_state_dict(self, tree: Tree) -> None:
        """Put such a state back."""
        self.step, self.epoch, self.position = tree["place"]
        self.seconds, rounds = tree["seconds"], tree["rounds"]
        self.rounds = list(zip(rounds["steps"], rounds["seconds"], strict=True))
        for stack, state in zip(self.stacks, tree["stacks"], strict=True):
            stack.load_state_dict(state)
            stack.rows.begin(self.epoch)
        self.reason = "" if self.going else ALL_STOPPED


def _at_once(trainer: Trainer, rows: StackedRows) -> int:
    """Members of a stack: as many as keep the outputs of the widest layer in the cache."""
    weights = [p for p in trainer.objective.parameters() if p.ndim > 1]
    widest = max((len(p) * p.element_size() for p in weights), default=1)
    return max(1, CACHED // (widest * rows.most))


def _check(trainers: Sequence[Trainer], optimizer: str) -> None:
    check_alike([t.objective for t in trainers])
    first, objective = trainers[0], trainers[0].objective
    name = str(first.training.options.get("rule", optimizer))
    if not optim.rule(name).elementwise or optim.rule(name).needs != "gradient":
        raise InputError(
            f"optimizer={name!r} looks at all parameters together, so it cannot move many members as one. Use one that "
            "moves each parameter by its own gradient, e.g. 'adam', or fit in a loop."
        )
    players = first.players
    if list(players) != ["loss"] or players["loss"].optim or first.has_after or first.has_turns or objective.constants:
        raise InputError(
            f"{type(objective).__name__} has more than a loss of one player, which a stack does not know. Fit "
            "its members in a loop."
        )
    if asked := [name for name in ("grow", "ema", "rates") if getattr(first.training, name)]:
        raise InputError(f"training.{asked[0]} is not for a stack. Leave it out, or fit the members in a loop.")
    if first.augment:
        raise InputError("A stack does not augment batches. Leave augment out, or fit the members in a loop.")
    plain = [replace(t.training, l1=0.0, l2=0.0) for t in trainers]
    if any(p != plain[0] for p in plain):
        raise InputError("Members of a stack must share all of `training` but l1 and l2. Train the others apart.")
    if len({t.validation is None for t in trainers}) > 1:
        raise InputError("Some problems have rows for validation and some have none. Give them to all or to none.")


def _check_rows(trainers: Sequence[Trainer], rows: StackedRows) -> None:
    horizons, objective = sorted({t.horizon or 0 for t in trainers}), trainers[0].objective
    if len(horizons) > 1:
        raise InputError(f"Members of a stack follow one schedule; got horizons from {horizons[0]} to {horizons[-1]}.")
    together = any(isinstance(m, NORMS) for m in objective.modules()) or not objective.separable
    if rows.padded and together:
        raise InputError(
            "Members with unequal numbers of rows are filled up with rows of weight 0, which a batch norm or a loss "
            "that is no sum over rows would see. Give all members as many rows."
        )
