"""Progress of a loop: one line on stderr or in a notebook, or a bar."""

import os
import sys
import time
from math import ceil, inf, isfinite
from multiprocessing import parent_process
from typing import Any

from .callbacks import Callback, Context


class Progress(Callback):
    """One line on stderr, or in the notebook: round, loss, time spent and left. Silent for the first two seconds.

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
        self.first = ctx.round + getattr(ctx.process, "part", 0.0)
        wanted = sys.stderr.isatty() or _in_notebook() if self.show is None else self.show
        allowed = parent_process() is None and os.environ.get("FTHETA_PROGRESS") != "0"
        self.visible = wanted and Progress.active == 1 and allowed

    def on_step(self, ctx: Context) -> None:
        """Refresh at most ten times a second, and plain lines every two seconds."""
        if not self.visible:
            return
        now = time.monotonic()
        if now - self.begin < self.delay or now - self.shown < (0.1 if self.bar else self.delay):
            return
        self.shown = now
        part = getattr(ctx.process, "part", None)
        try:
            self._draw(ctx, ctx.round if part is None else ctx.round + (part or 1.0))  # the last step ends its round
        except BrokenPipeError as error:  # nobody reads it: the run ends with a checkpoint
            self.visible, self.bar = False, None
            ctx.caught.append(error)

    def on_end(self, ctx: Context) -> None:
        Progress.active -= 1
        if self.bar is not None:
            self.shown = time.monotonic()
            self._draw(ctx, ctx.round + getattr(ctx.process, "part", 0.0))
            self.bar.stop()
            self.bar = None

    def _draw(self, ctx: Context, done: float) -> None:
        """The round that is under way, the training loss in it so far, the last of the other numbers, and times."""
        of, spent = f"/{ctx.rounds:.0f}" if isfinite(ctx.rounds) else "", self.shown - self.begin
        row = (ctx.history[-1] if ctx.history else {}) | (getattr(ctx.process, "losses", {}) if done % 1 else {})
        keys = dict.fromkeys(("loss", *getattr(ctx.process, "players", ()), "valid_loss", "valid_accuracy"))
        text = "  ".join([f"{self.unit} {ceil(done)}{of}", *(f"{key} {row[key]:.4g}" for key in keys if key in row)])
        new, left = done - self.first, ctx.rounds - done
        times = _seconds(spent) + (f", {_seconds(spent / new * left)} left" if new > 0 and 0 < left < inf else "")
        if not (sys.stderr.isatty() or _in_notebook()):
            sys.stderr.write(f"{text}  {times}\n")
            return
        if self.bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[times]}")
            self.bar = Bar(*columns, console=Console(stderr=True))
            self.bar.start()
            self.bar.add_task("", total=ctx.rounds if isfinite(ctx.rounds) else None, times="")
        self.bar.update(self.bar.task_ids[0], completed=done, description=text, times=times)


def _seconds(seconds: float) -> str:
    """A time in two units at most."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60:02} s" if whole < 3600 else f"{whole // 3600} h {whole // 60 % 60:02} min"


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
