"""The loop: for whatever runs in steps.

    while not done:  row = process.advance();  row -> history, metrics.jsonl, callbacks;  now and then a checkpoint

Training by gradients, EM, k-means, Gibbs sampling, value iteration and a search are processes; all get progress,
history, checkpoints, resume and Ctrl-C here.
"""

import platform
import signal
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from math import inf, isfinite
from operator import index
from typing import Any

import torch

from ..errors import FileFormatError, NonFiniteError, RunError
from ..store import Run
from .callbacks import Callback, Context
from .process import Interrupted, Process

USED_UP = ("rounds", "steps", "seconds", "interrupted")  # a resumed run with more of them goes on

_watchers: ContextVar[tuple[Callback, ...]] = ContextVar("watchers", default=())


@contextmanager
def watched(*watchers: Callback) -> Iterator[None]:
    """Add observers to every loop inside the block, after its own callbacks; checkpoints do not hold their state.

    Example:
        >>> class Count(Callback):
        ...     n = 0
        ...     def on_step(self, ctx):
        ...         self.n += 1
        >>> from ftheta.models import MLPRegressor
        >>> with watched(count := Count()):
        ...     net = MLPRegressor(epochs=3).fit([[0.0], [1.0]], [0.0, 1.0])
        >>> count.n
        3
    """
    token = _watchers.set((*_watchers.get(), *watchers))
    try:
        yield
    finally:
        _watchers.reset(token)


def iterate(
    process: Process,
    *,
    rounds: float = inf,
    steps: float = inf,
    seconds: float = inf,
    callbacks: Sequence[Callback] = (),
    run: Run | None = None,
    every: float = 30.0,
    history: list[dict[str, float]] | None = None,
) -> list[dict[str, float]]:
    """Advance a process until its rounds, steps or seconds are used up, a callback stops it, or Ctrl-C.

    Args:
        process: What is advanced.
        rounds: Rounds (epochs) in all, counting those of a resumed run.
        steps: Steps in all.
        seconds: Time from now.
        callbacks: Called in this order.
        run: Folder for metrics and checkpoints; continued if it has a checkpoint.
        every: Seconds between checkpoints.
        history: Rows are appended to it as they come, so they survive an interruption.

    Returns:
        The history.
    """
    context = Context(process, [] if history is None else history, run, rounds)
    loop = _Loop(context, callbacks, every)
    if hasattr(process, "caught"):
        process.caught = context.caught  # type: ignore[attr-defined]
    scope = process.scope() if hasattr(process, "scope") else nullcontext()  # type: ignore[attr-defined]
    with nullcontext() if run is None else run, scope, _deferred(context.caught):
        loop.resume()
        for callback in loop.callbacks:
            callback.on_start(context)
        deadline = time.monotonic() + seconds
        try:
            while not context.reason:
                if context.round >= rounds:
                    context.stop("rounds")
                elif context.step >= steps:
                    context.stop("steps")
                elif time.monotonic() >= deadline:
                    context.stop("seconds")
                elif context.caught:
                    context.stop("interrupted")
                else:
                    loop.step()
            loop.checkpoint()
        finally:
            for callback in loop.callbacks:
                callback.on_end(context)
    if context.caught:
        raise context.caught[0]
    return context.history


class _Loop:
    """The steps of the loop, each small."""

    def __init__(self, context: Context, callbacks: Sequence[Callback], every: float) -> None:
        self.context, self.own, self.every = context, callbacks, every
        self.callbacks = [*callbacks, *_watchers.get()]
        self.after_steps = [c for c in self.callbacks if type(c).on_step is not Callback.on_step]
        self.saved = time.monotonic()
        self.saved_step = -1

    def resume(self) -> None:
        context, run = self.context, self.context.run
        found = run.latest() if run else None
        if run is None or found is None:
            return
        tree, step = found
        for problem in run.verify():  # what is not needed to go on may be damaged too
            warnings.warn(problem, UserWarning, stacklevel=3)
        try:
            _compare(tree["environment"], environment(), run, getattr(context.process, "exact", True))
            context.process.load_state_dict(tree["process"])
            _give_back(self.own, tree["callbacks"], run)
            context.step, context.round = step, index(tree["round"])
            context.reason = str(tree["reason"]) or getattr(context.process, "reason", "")
            context.history[:] = run.rows()
            if context.history and hasattr(context.process, "seconds"):  # times are in metrics.jsonl only
                context.process.seconds = 0.0 + context.history[-1].get("seconds", 0.0)  # type: ignore[attr-defined]
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            if isinstance(error, RunError | FileFormatError):
                raise
            raise RunError(
                f"The checkpoint in {run.path} is not one of this process ({type(error).__name__}: {error}). Continue "
                "it with what started it, or choose another run."
            ) from error
        self.saved_step = step

    def step(self) -> None:
        context = self.context
        try:
            row = context.process.advance()
        except Interrupted:
            return
        context.step += 1
        for callback in self.after_steps:
            callback.on_step(context)
        if row is not None:
            self._row(dict(row))
        if reason := getattr(context.process, "reason", ""):
            context.stop(reason)
        if context.run is not None and time.monotonic() - self.saved >= self.every:
            self.checkpoint()

    def _row(self, row: dict[str, float]) -> None:
        context = self.context
        bad = [key for key, value in row.items() if not isfinite(value)]
        if bad:
            raise NonFiniteError(
                f"{bad[0]} became {row[bad[0]]} in round {context.round + 1}, step {context.step}. "
                "Nothing of it was written."
            )
        context.round += 1
        context.history.append(row)
        if context.run is not None:
            context.run.log(row)
        for callback in self.callbacks:
            callback.on_row(context, row)

    def checkpoint(self) -> None:
        context = self.context
        if context.run is None or context.step == self.saved_step:
            return
        tree = {
            "process": context.process.state_dict(),
            "callbacks": [[type(c).__name__, c.state] for c in self.own],
            "round": context.round,
            "reason": "" if context.reason in USED_UP else context.reason,
            "environment": environment(),
        }
        context.run.checkpoint(tree, context.step)
        self.saved, self.saved_step = time.monotonic(), context.step


def _give_back(callbacks: Sequence[Callback], kept: Sequence[Any], run: Run) -> None:
    """States to callbacks of the same class, in their order; those without a state may come and go."""
    left = list(callbacks)
    for name, state in kept:
        callback = next((c for c in left if type(c).__name__ == name), None)
        if callback is not None:
            left.remove(callback)
            callback.state = state
        elif state is not None:
            raise RunError(
                f"The checkpoint in {run.path} holds the state of {name}, which is not among the callbacks now. "
                "Pass such a callback, or choose another run folder."
            )


def environment() -> dict[str, Any]:
    """What bit-exact repetition depends on."""
    return {"torch": torch.__version__, "threads": torch.get_num_threads(), "machine": platform.machine()}


def _compare(then: Mapping[str, Any], now: Mapping[str, Any], run: Run, exact: bool) -> None:
    changes = [f"{key} {then.get(key)}, now {now[key]}" for key in now if then.get(key) != now[key]]
    changes += [] if exact else ["a plain iterator as source, which cannot return to where it was"]
    if changes and not run.allow_inexact:
        rest = "results will not be bit-exact. Add --allow-inexact to go on."
        raise RunError(f"The checkpoint in {run.path} was made with {'; '.join(changes)}: {rest}")


@contextmanager
def _deferred(caught: list[BaseException]) -> Iterator[None]:
    """What Ctrl-C and SIGTERM raise waits in `caught` until the step is done and a checkpoint is written; what a second
    one raises does not wait. A handler that raises nothing is left alone. Only in the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    left_alone = {signal.SIGINT: (None,), signal.SIGTERM: (None, signal.SIG_IGN)}
    found = {s: h for s, alone in left_alone.items() if (h := signal.getsignal(s)) not in alone}
    own = {s: getattr(h, "own", {}).get(s, h) for s, h in found.items()}  # of a loop inside a loop, the program's

    def note(number: Any, frame: Any) -> None:
        try:
            (own[number] if callable(own[number]) else _USUAL[number])(number, frame)
        except BaseException as error:
            if caught:
                raise
            caught.append(error)

    note.own = own  # type: ignore[attr-defined]
    for number in found:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in found.items():
            signal.signal(number, handler)


def _terminate(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)


_USUAL = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: _terminate}
