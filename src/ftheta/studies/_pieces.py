"""Units of work as a process: one step a unit, kept in the run as soon as it is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..train import Context, Progress

__all__ = ["Pieces", "Shown"]


class Pieces:
    """work(*key) for every key, in order; what is done is the state."""

    def __init__(self, work: Callable[..., Any], keys: Iterable[tuple[Any, ...]]) -> None:
        self.work, self.keys, self.done = work, list(keys), []

    def advance(self) -> Mapping[str, float]:
        """Make the next piece."""
        begin = time.perf_counter()
        self.done.append(self.work(*self.keys[len(self.done)]))
        return {"piece": len(self.done), "seconds": time.perf_counter() - begin}

    def state_dict(self) -> dict[str, Any]:
        """What is done."""
        return {"done": self.done}

    def load_state_dict(self, tree: Any) -> None:
        """Go on from there."""
        self.done = list(tree["done"])


class Shown(Progress):
    """Progress by pieces: shown after one is counted."""

    unit = "piece"

    def on_step(self, ctx: Context) -> None:
        """Nothing: a step is a round here."""

    def on_row(self, ctx: Context, row: Mapping[str, float]) -> None:
        """One more is done."""
        Progress.on_step(self, ctx)
