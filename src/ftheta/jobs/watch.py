"""What happens during a job, as events for a watcher, and how to stop it.

A Watcher is a callback of every training loop under it. `cancel` ends the job at its next step; what was learned is in
the run, and the same call continues it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TextIO

from ..results import Table
from ..train import Callback, Context


class Cancelled(BaseException):
    """Raised by a loop after `cancel`, once its checkpoint is written."""


class Watcher(Callback):
    """Silent: override `say`, `on_row` or `on_step`."""

    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        """End the job; any thread may call this."""
        self.cancelled = True

    def say(self, event: str, what: object) -> None:
        """Receives each event.

        Args:
            event: run, headline, note, warning, wait, stopped, result or report.
            what: A path for run and report, a Table for result, else a text.
        """

    def on_step(self, ctx: Context) -> None:
        if self.cancelled:
            ctx.caught.append(Cancelled())


class JsonLines(Watcher):
    """Writes one JSON object per event: {"event": "row", "epoch": 3, "loss": 0.2, ...}."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.stream = stream

    def say(self, event: str, what: object) -> None:
        self._write({"event": event, "what": what.as_json() if isinstance(what, Table) else str(what)})

    def on_row(self, ctx: Context, row: Mapping[str, float]) -> None:
        self._write({"event": "row", "epoch": ctx.round, "of": ctx.rounds, **row})

    def _write(self, event: Mapping[str, object]) -> None:
        self.stream.write(json.dumps(event, allow_nan=True) + "\n")
        self.stream.flush()
