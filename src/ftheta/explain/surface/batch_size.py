"""The largest useful batch: from one power of two to the next, until the rows per second no longer grow.

    v(B) = B / (seconds per update);    while the machine is not full v(2B) = 2 v(B), afterwards v(2B) = v(B)

A batch beyond that makes every update longer and an epoch no shorter.
Reference: Godbole et al., Deep Learning Tuning Playbook (2023).
"""

import time
from typing import Annotated, Any

import numpy as np
from annotated_types import Gt
from sklearn.base import clone

from ...check import Count
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend
from ...results import Result
from .._registry import explanation
from .learning_rate import seed_of, takes_rate


class BatchSize(Result):
    """How fast batches of each size are learned from."""

    sizes: np.ndarray  # of a batch: 1, 2, 4, ...: (M,)
    seconds: np.ndarray  # of an update, the quickest of some: (M,)
    gain: float  # times as many rows per second that a doubling has to bring
    full: bool  # whether the next size did not fit in memory

    @property
    def speed(self) -> np.ndarray:
        """Rows per second: (M,)."""
        return self.sizes / self.seconds

    @property
    def best(self) -> int:
        """The largest size up to which every doubling brought at least `gain` times as many rows per second."""
        enough = self.speed[1:] >= self.gain * self.speed[:-1]
        return int(self.sizes[len(enough) if enough.all() else enough.argmin()])

    def columns(self) -> dict[str, Any]:
        """One row per size."""
        grown = np.append(np.nan, self.speed[1:] / self.speed[:-1])
        found = {"batch size": self.sizes, "seconds per update": self.seconds, "rows per second": self.speed}
        return found | {"times that of half the size": grown}

    @property
    def caption(self) -> str:
        memory = f" {2 * self.sizes[-1]} rows do not fit in memory." if self.full else ""
        return f"Largest useful batch: {self.best} rows. A doubling has to bring {self.gain:g} times the speed.{memory}"

    @drawn
    def figure(self) -> Figure:
        """Rows per second against the size of a batch, beside a speed that doubles with it."""
        figure, axes = canvas()
        axes.plot(self.sizes, self.speed[0] * self.sizes, color=GREY, ls="--", label="doubles with the batch")
        axes.plot(self.sizes, self.speed, color=PALETTE[0], marker="o", label="measured")
        at = {"ls": "", "marker": "*", "ms": 15, "color": PALETTE[1], "mec": "white", "zorder": 5}
        axes.plot([self.best], self.speed[self.sizes == self.best], label=f"largest useful batch {self.best}", **at)
        axes.set_xscale("log", base=2)
        axes.set_ylim(0.8 * self.speed.min(), 2 * self.speed.max())
        axes.set(yscale="log", xlabel="batch size (rows, log scale)", ylabel="rows per second (log scale)")
        axes.set_title("Speed of training by batch size")
        legend(figure)
        return figure


@explanation("batch-size", when=takes_rate)
def batch_size(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    updates: Count = 10,
    gain: Annotated[float, Gt(1)] = 1.5,
    largest: Count = 4096,
) -> BatchSize:
    """Which batch size trains fastest: some updates of a copy with 1, 2, 4, ... rows, until memory or rows run out.

    Args:
        estimator: A neural estimator, fitted or not; it stays as it is.
        updates: Timed for each size, after one that is not.
        gain: Times as many rows per second that a doubling has to bring.
        largest: Size at which to stop.

    Example:
        >>> from ftheta import MLPRegressor
        >>> x = np.linspace(-1, 1, 20)[:, None]
        >>> batch_size(MLPRegressor(hidden=(8,)), x, x[:, 0], updates=2).sizes
        array([ 1,  2,  4,  8, 16])
    """
    sizes = [2**k for k in range(min(len(X), largest).bit_length())]
    seconds: list[float] = []
    for size in sizes:
        try:
            seconds.append(_seconds(estimator, X, y, size, updates))
        except (MemoryError, RuntimeError) as error:  # torch has an error of its own for each device
            if not seconds or not (isinstance(error, MemoryError) or "memory" in str(error)):
                raise
            break
    return BatchSize(np.array(sizes[: len(seconds)]), np.array(seconds), gain, len(seconds) < len(sizes))


def _seconds(estimator: Any, X: Any, y: Any, size: int, updates: int) -> float:
    """Of an update with batches of this size; other work makes some of them slower."""
    own: Any = clone(estimator)
    trainer = own.set_params(batch_size=size, random_state=seed_of(estimator)).prepare(X, y)
    trainer.validation = None
    with trainer.scope():
        trainer.advance()
        times = [time.perf_counter()]
        for _ in range(updates):
            trainer.advance()
            times.append(time.perf_counter())
    return float(np.diff(times).min())
