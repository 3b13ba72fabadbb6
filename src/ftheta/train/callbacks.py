"""What happens beside the steps: early stopping that restores the best weights, and progress.

stop when  min over the last `patience` rounds  >=  best - min_delta
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from math import inf, isfinite
from multiprocessing import parent_process
from typing import Any

from ..catalog import nearest
from ..errors import InputError
from ..store import Run, Tree
from .process import Process
from .training import Training


class Context:
    """What callbacks see: the process, where it is, its history, and `stop`."""

    def __init__(self, process: Process, history: list[dict[str, float]], run: Run | None, rounds: float) -> None:
        self.process, self.history, self.run, self.rounds = process, history, run, rounds
        self.step, self.round, self.reason = 0, 0, ""
        self.caught: list[BaseException] = []  # ends the loop after this step and its checkpoint, then is raised

    def stop(self, reason: str) -> None:
        """End the loop after this step."""
        self.reason = self.reason or reason


class Callback:
    """Called by the loop; all of `state` is in the checkpoint."""

    state: Tree = None

    def on_start(self, ctx: Context) -> None:
        """Before the first step, after a resume."""

    def on_step(self, ctx: Context) -> None:
        """After every step."""

    def on_row(self, ctx: Context, row: Mapping[str, float]) -> None:
        """After every round; may call `ctx.stop("why")`."""

    def on_end(self, ctx: Context) -> None:
        """However it ended."""


class EarlyStopping(Callback):
    """Stop after `patience` rounds without improvement; at the end restore the best weights.

    Args:
        patience: Rounds without improvement before stopping; None only keeps the best.
        monitor: Column of the history; without validation "valid_loss" means the training loss.
        min_delta: Improvement that counts.
        restore: Restore the best weights at the end.
        start: First round that counts.
    """

    def __init__(
        self,
        patience: int | None = 10,
        *,
        monitor: str = "valid_loss",
        min_delta: float = 0.0,
        restore: bool = True,
        start: int = 1,
    ) -> None:
        self.patience, self.monitor, self.min_delta = patience, monitor, min_delta
        self.restore, self.start = restore, start
        self.state = {"best": inf, "round": 0, "weights": None}

    @classmethod
    def of(cls, patience: int | None, training: Training) -> list[Callback]:
        """The early stopping that an estimator's `patience` and `training` ask for: one, or none."""
        settings = {"min_delta": training.min_delta, "restore": training.restore_best, "start": training.start}
        return [] if patience is None else [cls(patience, **settings)]

    def on_row(self, ctx: Context, row: Mapping[str, float]) -> None:
        column = _loss_column(ctx, row) if self.monitor == "valid_loss" not in row else self.monitor
        if column not in row:
            raise InputError(nearest("column of the history:", column, row))
        if ctx.round < self.start or not getattr(ctx.process, "last", True):  # of several phases, only the last
            return
        value = row[column]
        if value < self.state["best"] - self.min_delta:
            # the training loss of a round is of weights that have moved since: there is no best to go back to
            kept = ctx.process.weights() if self.restore and column == self.monitor else None  # type: ignore[attr-defined]
            self.state = {"best": value, "round": ctx.round, "weights": kept}
        elif self.patience is not None and ctx.round - self.state["round"] >= self.patience:
            ctx.stop(f"no better {column} for {self.patience} rounds; best was round {self.state['round']}")

    def on_end(self, ctx: Context) -> None:
        if self.state["weights"] is not None:
            ctx.process.set_weights(self.state["weights"])  # type: ignore[attr-defined]


class Progress(Callback):
    """One line on stderr, or in the notebook: round, loss, time left. Silent for the first two seconds.

    Args:
        show: True: always (plain lines where there is no terminal); None: on a terminal or in a notebook; False: never.
        delay: Seconds of silence at the start.
    """

    active = 0  # loops that are under way: only the outermost shows itself
    unit = "epoch"  # what a round is

    def __init__(self, show: bool | None = None, *, delay: float = 2.0) -> None:
        self.show, self.delay = show, delay
        self.bar: Any = None

    def on_start(self, ctx: Context) -> None:
        Progress.active += 1
        self.begin = self.shown = time.monotonic()
        self.done = ctx.round
        wanted = sys.stderr.isatty() or _in_notebook() if self.show is None else self.show
        self.visible = (
            wanted and Progress.active == 1 and parent_process() is None and os.environ.get("FTHETA_PROGRESS") != "0"
        )

    def on_step(self, ctx: Context) -> None:
        """Refresh at most ten times a second, and plain lines every two seconds."""
        if not self.visible:
            return
        now = time.monotonic()
        if now - self.begin < self.delay or now - self.shown < (0.1 if self.bar else self.delay):
            return
        self.shown = now
        try:
            self._draw(ctx)
        except BrokenPipeError as error:  # nobody reads it: the run ends with a checkpoint
            self.visible, self.bar = False, None
            ctx.caught.append(error)

    def on_end(self, ctx: Context) -> None:
        Progress.active -= 1
        if self.bar is not None:
            self._draw(ctx)
            self.bar.stop()
            self.bar = None

    def _draw(self, ctx: Context) -> None:
        text = _describe(ctx, self.unit)
        if not (sys.stderr.isatty() or _in_notebook()):
            sys.stderr.write(text + "\n")
            return
        if self.bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn()
            self.bar = Bar(*columns, console=Console(stderr=True))
            self.bar.start()
            self.bar.add_task("", total=ctx.rounds if isfinite(ctx.rounds) else None)
        self.bar.update(self.bar.task_ids[0], completed=ctx.round, description=text)


def _loss_column(ctx: Context, row: Mapping[str, float]) -> str:
    """The training loss; of several players, that of the first."""
    return next((name for name in ("loss", *getattr(ctx.process, "players", ())) if name in row), "loss")


def _describe(ctx: Context, unit: str) -> str:
    of = f"/{ctx.rounds:.0f}" if isfinite(ctx.rounds) else ""
    row = ctx.history[-1] if ctx.history else {}
    keys = dict.fromkeys(("loss", *getattr(ctx.process, "players", ()), "valid_loss", "valid_accuracy"))
    values = [f"{key} {row[key]:.4g}" for key in keys if key in row]
    return "  ".join([f"{unit} {ctx.round}{of}", *values])


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
