"""Randomness as a function of (seed, path): the same place in a run always draws the same numbers.

    numbers = g(seed, path),     path = ("train", step, micro), ("order", epoch), ("build",), ...

There is no generator state to save: a resumed run, a repeated evaluation and a replay see the same noise.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import torch
from torch import Generator

__all__ = ["Draw", "fresh_seed"]


def fresh_seed() -> int:
    """A seed from the operating system's entropy."""
    return secrets.randbits(31)


@dataclass(frozen=True, slots=True)
class Draw:
    """A place in a run, from which randomness is drawn.

    Args:
        seed: Seed of the whole run.
        path: Where in the run this is; grows with `at`.

    Example:
        >>> here = Draw(7).at("train", 3, 0)
        >>> torch.equal(torch.rand(2, generator=here.generator()), torch.rand(2, generator=here.generator()))
        True
    """

    seed: int
    path: tuple[int | str, ...] = ()

    def at(self, *path: int | str) -> Draw:
        """The place further along: `Draw(0).at("train", 5).at("critic")` is `Draw(0).at("train", 5, "critic")`."""
        return Draw(self.seed, self.path + path)

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
    def scope(self) -> Iterator[None]:
        """Seed the global generators of torch, NumPy and Python, and put their old states back on every exit."""
        devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
        cuda = [torch.cuda.get_rng_state(i) for i in devices]
        saved = torch.get_rng_state(), np.random.get_state(), random.getstate()
        self.seed_global()
        np.random.seed(self.key() % 2**32)
        random.seed(self.key())
        try:
            yield
        finally:
            torch.set_rng_state(saved[0])
            np.random.set_state(saved[1])
            random.setstate(saved[2])
            for i, state in zip(devices, cuda, strict=True):
                torch.cuda.set_rng_state(state, i)
