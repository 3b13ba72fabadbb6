"""What machines that sample share: a seed's generator, looks at a chain on its way, and masks of what is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from torch import Generator

from ..check import RandomState
from ..draw import Draw, fresh_seed
from ..errors import InputError

__all__ = ["followed", "generator_of", "mask_of"]


def generator_of(random_state: RandomState, use: str, device: Any) -> Generator:
    """The generator of a named use; None is fresh entropy at every call."""
    seed = fresh_seed() if random_state is None else int(random_state)
    return Draw(seed).at(use).generator(device=device)


def followed(
    state: Any,
    advance: Callable[[Any, int], Any],
    shown: Callable[[Any], np.ndarray],
    steps: int | None,
    keep: Sequence[int],
) -> np.ndarray:
    """What a chain shows after each number of sweeps in `keep`, (len(keep), n, V); () looks at the end alone: (n, V).

    Args:
        state: Where it starts.
        advance: State and sweeps to the state after them.
        shown: State to the visible units (n, V).
        steps: Sweeps; None: the last of `keep`, or 1.
        keep: Numbers of sweeps.
    """
    steps = max(keep, default=1) if steps is None else steps
    if any(not 0 <= step <= steps for step in keep):
        raise InputError(f"keep={tuple(keep)} for {steps} sweeps: give numbers from 0 to {steps}.")
    at, seen = 0, {}
    for step in sorted({*keep, steps}):
        state, at = advance(state, step - at), step
        seen[step] = shown(state)
    return np.stack([seen[step] for step in keep]) if len(keep) else seen[steps]


def mask_of(missing: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """True where an entry is not known, for every entry: (V,) or (n, V) -> (n, V)."""
    gone = np.asarray(missing)
    if gone.dtype != bool or gone.shape not in (shape, shape[1:]):
        raise InputError(
            f"missing has shape {gone.shape} and dtype {gone.dtype}; it must be True or False for every column "
            f"{shape[1:]} or entry {shape} of X."
        )
    return np.broadcast_to(gone, shape)
