"""The cells of a study as a process: one step per cell, saved in the run as soon as it is measured."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..train import Context, Progress, Steps


class Cells(Steps):
    """work(*key) for every key, in order; the results are the state."""

    kept = ("done",)

    def __init__(self, work: Callable[..., Any], keys: Sequence[tuple[Any, ...]]) -> None:
        self.work, self.keys, self.done = work, keys, []

    def advance(self) -> Mapping[str, float]:
        begin = time.perf_counter()
        self.done.append(self.work(*self.keys[len(self.done)]))
        return {"cell": len(self.done), "seconds": time.perf_counter() - begin}


class CellProgress(Progress):
    """Progress in cells: shown after one is counted."""

    unit = "cell"

    def on_step(self, ctx: Context) -> None: ...

    def on_row(self, ctx: Context, row: Mapping[str, float]) -> None:
        super().on_step(ctx)
