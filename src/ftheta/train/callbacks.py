"""What happens beside the steps: callbacks, and early stopping that restores the best weights.

stop when  min over the last `patience` rounds  >=  best - min_delta
"""

from collections.abc import Mapping
from math import inf

from ..catalog import nearest
from ..errors import InputError
from ..store import Run, Tree
from .process import Process


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

    def on_row(self, ctx: Context, row: Mapping[str, float]) -> None:
        column = self.monitor
        if column == "valid_loss" not in row:  # the training loss; of several players, that of the first
            column = next((name for name in ("loss", *getattr(ctx.process, "players", ())) if name in row), "loss")
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
