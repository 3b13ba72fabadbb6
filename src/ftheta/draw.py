"""Randomness as a function of (seed, path): the same place in a run always draws the same numbers.

    numbers = g(seed, path),     path = ("train", step, micro), ("order", epoch), ("build",), ...

There is no generator state to save: a resumed run, a repeated evaluation and a replay see the same noise.

Dropout and the code of others draw from the global generators, of which a process has one each. Who seeds them holds
`GENERATORS` until their old states are back, so threads do not see each other's numbers.
"""

import os
import random
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from numbers import Integral
from threading import RLock
from typing import Any, Self

import numpy as np
import torch
from sklearn.utils import check_random_state
from torch import Generator

__all__ = ["GENERATORS", "Draw", "Kept", "process_lock", "seed_of"]


def process_lock() -> Any:
    """A re-entrant lock; a fork waits until no other thread holds it, as in the child nobody would release it."""
    lock = RLock()
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


GENERATORS = process_lock()
"""Held while the global generators of torch, NumPy and Python are seeded."""


def seed_of(random_state: Any) -> int:
    """A seed from what scikit-learn takes as random_state; None is fresh entropy at every call."""
    if random_state is None:
        return secrets.randbits(31)
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


@dataclass(frozen=True, slots=True)
class Draw:
    """A place in a run, from which randomness is drawn.

    Args:
        seed: Seed of the run.
        path: Where in the run this is; grows with `at`.

    Example:
        >>> here = Draw(7).at("train", 3, 0)
        >>> torch.equal(torch.rand(2, generator=here.generator()), torch.rand(2, generator=here.generator()))
        True
    """

    seed: int
    path: tuple[int | str, ...] = ()

    def at(self, *path: int | str) -> Self:
        """The place further along: `Draw(0).at("train", 5).at("critic")` is `Draw(0).at("train", 5, "critic")`."""
        return type(self)(self.seed, self.path + path)

    def key(self, stream: str = "") -> int:
        """The 64-bit number that stands for this place and stream."""
        return int.from_bytes(blake2b(repr((self.seed, self.path, stream)).encode(), digest_size=8).digest(), "little")

    def generator(self, stream: str = "", device: str | torch.device = "cpu") -> Generator:
        """A fresh generator for one named use here."""
        return Generator(device).manual_seed(self.key(stream))

    def seed_global(self) -> None:
        """Seed torch's global generators (dropout and foreign modules use them); only inside `scope`."""
        key = self.key()
        torch.default_generator.manual_seed(key)  # torch.manual_seed costs a hundred times as much
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed_all(key)

    @contextmanager
    def scope(self, *, only_torch: bool = False) -> Iterator[None]:
        """Seed the global generators of torch, NumPy and Python, and restore their old states on every exit."""
        with Kept(only_torch=only_torch):
            self.seed_global()
            if not only_torch:
                np.random.seed(self.key() % 2**32)
                random.seed(self.key())
            yield


class Kept:
    """The global generators for one thread; their states are restored on every exit.

    Args:
        only_torch: Not NumPy's and Python's, which take 100 microseconds; torch's take 2.
    """

    __slots__ = ("cuda", "numpy", "only_torch", "python", "torch")

    def __init__(self, *, only_torch: bool = False) -> None:
        self.only_torch = only_torch

    def __enter__(self) -> None:
        GENERATORS.acquire()
        self.torch = torch.default_generator.get_state()
        self.cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
        if not self.only_torch:
            self.numpy, self.python = np.random.get_state(), random.getstate()

    def __exit__(self, *error: object) -> None:
        torch.default_generator.set_state(self.torch)
        if self.cuda is not None:
            torch.cuda.set_rng_state_all(self.cuda)
        if not self.only_torch:
            np.random.set_state(self.numpy)
            random.setstate(self.python)
        GENERATORS.release()
