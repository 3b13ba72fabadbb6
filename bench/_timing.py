"""Time things side by side, and say how sure the numbers are.

    A B C B C A C A B ...      ratio = median over repetitions r of  t_peer,r / t_ours,r

What disturbs the machine for a while disturbs all that run in the same repetition, so it cancels in the ratio; and
nobody always follows the same peer, whose threads and memory may still be warm.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from statistics import fmean, quantiles, variance
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import torch
from threadpoolctl import threadpool_limits

__all__ = [
    "CORES",
    "Accuracy",
    "Settings",
    "Summary",
    "alternate",
    "compare",
    "fastest",
    "ratios",
    "summarise",
    "threads",
]

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
Key = TypeVar("Key", bound=Hashable)


class Settings(NamedTuple):
    """How thorough a benchmark is: quick is for tests, without peers, and its numbers mean nothing."""

    quick: bool = False
    repetitions: int = 7

    @property
    def counts(self) -> tuple[int, ...]:
        """Thread counts that are tried."""
        return (1,) if self.quick or CORES == 1 else (1, min(2, CORES))


class Summary(NamedTuple):
    """Median and quartiles of n numbers."""

    median: float
    low: float
    high: float
    n: int

    def scaled(self, factor: float) -> Summary:
        """The same numbers in another unit."""
        return Summary(self.median * factor, self.low * factor, self.high * factor, self.n)


class Accuracy(NamedTuple):
    """Mean accuracy over seeds beside ours: equal if the means differ by less than two standard errors."""

    mean: float
    difference: float
    error: float
    equal: bool


def summarise(numbers: Sequence[float]) -> Summary:
    """Median and quartiles; of a single number, itself."""
    low, middle, high = quantiles(numbers, n=4, method="inclusive") if len(numbers) > 1 else [numbers[0]] * 3
    return Summary(middle, low, high, len(numbers))


def ratios(peer: Sequence[float], ours: Sequence[float]) -> Summary:
    """How many times as long the peer takes, repetition by repetition."""
    return summarise([p / o for p, o in zip(peer, ours, strict=True)])


def compare(theirs: Sequence[float], ours: Sequence[float]) -> Accuracy:
    """Means over seeds; the standard error is that of a difference of two independent means."""
    difference = fmean(ours) - fmean(theirs)
    error = (variance(ours) / len(ours) + variance(theirs) / len(theirs)) ** 0.5 if len(ours) > 1 else 0.0
    return Accuracy(fmean(theirs), difference, float(error), bool(difference == 0 or abs(difference) < 2 * error))


def alternate(
    runs: Mapping[Key, Callable[[int], Any]],
    repetitions: int,
    *,
    before: Callable[[int], Any] = lambda repetition: None,
    around: Callable[[Key], AbstractContextManager[Any]] = lambda key: nullcontext(),
    done: Callable[[Key, int, Any], None] = lambda key, repetition, result: None,
    clock: Callable[[], float] = perf_counter,
) -> dict[Key, list[float]]:
    """Seconds of each run in each repetition, in turns.

    Args:
        runs: Called with the number of the repetition.
        repetitions: How often each is called.
        before: Called at the beginning of a repetition.
        around: Entered before the clock runs.
        done: Sees what a run returned, when the clock has stopped.
        clock: Seconds.
    """
    times: dict[Key, list[float]] = {key: [] for key in runs}
    for repetition in range(repetitions):
        before(repetition)
        first = repetition % len(runs)
        for key in [*runs][first:] + [*runs][:first]:
            gc.collect(1)  # nobody pays for the garbage of another
            with around(key):
                begin = clock()
                result = runs[key](repetition)
                times[key].append(clock() - begin)
            done(key, repetition, result)
    return times


def fastest(
    runs: Mapping[Key, Callable[[int], Any]],
    repetitions: int = 3,
    *,
    around: Callable[[Key], AbstractContextManager[Any]] = lambda key: nullcontext(),
    clock: Callable[[], float] = perf_counter,
) -> Key:
    """Which of these takes the least time, by its best repetition; a first one only warms up."""
    times = alternate(runs, repetitions + 1, around=around, clock=clock)
    return min(times, key=lambda key: min(times[key][1:]))


@contextmanager
def threads(count: int) -> Iterator[None]:
    """This many threads, for torch and for BLAS."""
    old = torch.get_num_threads()
    with threadpool_limits(count):
        torch.set_num_threads(count)
        try:
            yield
        finally:
            torch.set_num_threads(old)
