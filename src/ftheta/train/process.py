"""Processes: whatever runs in steps, those whose state is a few attributes, and several of them in order.

Steps:   state = {name: value for name in kept}
Phases:  state = the states of the phases so far, the last one being under way
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, ClassVar, Protocol

import numpy as np
from torch import Tensor

from ..errors import InputError
from ..store import Tree

__all__ = ["Interrupted", "Phases", "Process", "Steps", "copied"]

ADDED_UP = ("epoch", "step", "rows")  # columns that continue over the phases


class Interrupted(Exception):
    """Raised by a step that the user has interrupted; the process is where it was before the step."""


class Process(Protocol):
    """Whatever runs in steps. Optional: `scope()`, entered once; `exact`, False where a resumed run differs; `reason`,
    not empty where it has come to its end; `caught`, set to what interrupts the loop, for steps that take long."""

    def advance(self) -> Mapping[str, float] | None:
        """Make one step; a row of floats at the end of a round (an epoch), else None."""
        ...

    def state_dict(self) -> Tree:
        """The complete state, as a value."""
        ...

    def load_state_dict(self, tree: Tree) -> None:
        """Restore such a state."""
        ...


class Steps(ABC):
    """A process whose state is a few attributes: tensors, arrays, plain values and containers of them.

    Example:
        >>> class Countdown(Steps):
        ...     kept = ("n",)
        ...     n = 3
        ...     def advance(self):
        ...         self.n -= 1
        ...         self.reason = "" if self.n else "nothing left"
        ...         return {"left": self.n}
        >>> from ftheta.train import iterate
        >>> iterate(Countdown())
        [{'left': 2}, {'left': 1}, {'left': 0}]
    """

    kept: ClassVar[tuple[str, ...]]  # names of the attributes that are the state
    reason: str = ""  # why it has come to its end

    @abstractmethod
    def advance(self) -> Mapping[str, float] | None:
        """Make one step; a row of floats at the end of a round, else None."""

    def state_dict(self) -> Tree:
        return {name: copied(getattr(self, name)) for name in self.kept}

    def load_state_dict(self, tree: Tree) -> None:
        for name in self.kept:
            setattr(self, name, copied(tree[name]))


class Phases:
    """Several processes in order as one; what else is asked of it, the one under way answers.

    A phase is made when its turn comes, or when a run is resumed in it or after it, with the phases before it restored:
    it may use what they have learned. Rows get a column "phase", from 1.

    Args:
        phases: For each, a function that makes its process, and its number of rounds (`inf`: until it ends by itself);
            those of 0 rounds are left out.
    """

    def __init__(self, phases: Sequence[tuple[Callable[[], Process], float]]) -> None:
        self.phases = [phase for phase in phases if phase[1] > 0]
        if not self.phases:
            raise InputError("Phases has no phase of at least 1 round. Pass one, e.g. [(make, 10)].")
        self._scopes: ExitStack | None = None
        self._restart()

    def _restart(self) -> None:
        self.process: Any = self.phases[0][0]()
        self.done: list[Tree] = []  # states of the phases before
        self.round, self.ended = 0, ""  # of the phase under way: rounds, and why it has come to its end
        self.before: dict[str, float] = dict.fromkeys(ADDED_UP, 0)
        self.total = dict(self.before)

    @property
    def last(self) -> bool:
        """Whether the last phase is under way."""
        return len(self.done) == len(self.phases) - 1

    @property
    def epoch(self) -> float:
        """Epochs of all phases so far."""
        return self.total["epoch"]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """The scope of each process while it is under way."""
        try:
            with ExitStack() as self._scopes:
                self._enter()
                yield
        finally:
            self._scopes = None

    def _enter(self) -> None:
        if self._scopes is not None:
            self._scopes.enter_context(getattr(self.process, "scope", nullcontext)())

    def _leave(self) -> None:
        if self._scopes is not None:
            self._scopes.close()

    @property
    def reason(self) -> str:
        """Why the last phase has come to its end."""
        return self.ended if self.last else ""

    def advance(self) -> Mapping[str, float] | None:
        """A step of the process under way, or of the next one if that is complete."""
        if self.ended and not self.last:
            self._leave()
            self._begin(self.process.state_dict())
            self._enter()
        row: Mapping[str, float] | None = self.process.advance()
        if row is not None:
            self.round += 1
            added: dict[str, float] = {k: row[k] + self.before[k] for k in ADDED_UP if k in row}
            self.total = self.total | added
            row = dict(row) | added | {"phase": len(self.done) + 1}
        used_up = self.round >= self.phases[len(self.done)][1]
        self.ended = getattr(self.process, "reason", "") or ("rounds" if used_up else "")
        return row

    def _begin(self, done: Tree) -> None:
        """Make the process of the next phase."""
        seconds = getattr(self.process, "seconds", 0.0)
        self.done, self.round, self.ended, self.before = [*self.done, done], 0, "", self.total
        self.process = self.phases[len(self.done)][0]()
        self.seconds = seconds

    @property
    def seconds(self) -> float:
        """Time spent by now, where the process says it."""
        return getattr(self.process, "seconds", 0.0)

    @seconds.setter
    def seconds(self, value: float) -> None:
        if hasattr(self.process, "seconds"):
            self.process.seconds = value

    def __getattr__(self, name: str) -> Any:
        """An attribute of the process under way."""
        if name.startswith("__") or "process" not in vars(self):
            raise AttributeError(name)
        return getattr(self.process, name)

    def state_dict(self) -> Tree:
        """The states of all phases so far, and where the last of them is."""
        place = {"round": self.round, "ended": self.ended, "before": self.before, "total": self.total}
        return {"states": [*copied(self.done), self.process.state_dict()], **place}

    def load_state_dict(self, tree: Tree) -> None:
        """Restore the phases so far, one after the other."""
        *done, now = tree["states"]
        self._leave()
        self._restart()
        for state in done:
            self.process.load_state_dict(state)
            self._begin(copied(state))
        self._enter()
        self.process.load_state_dict(now)
        self.round, self.before, self.total = tree["round"], dict(tree["before"]), dict(tree["total"])
        self.ended = "" if tree["ended"] == "rounds" and self.round < self.phases[len(done)][1] else tree["ended"]


def copied(tree: Any) -> Any:
    """The tree with tensors and arrays of its own."""
    if isinstance(tree, Tensor):
        return tree.detach().clone()
    if isinstance(tree, np.ndarray):
        return tree.copy()
    if isinstance(tree, Mapping):
        return {k: copied(v) for k, v in tree.items()}
    return type(tree)(map(copied, tree)) if isinstance(tree, list | tuple) else tree
