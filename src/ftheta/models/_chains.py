"""What machines that sample share: seeds, whole numbers of chains and steps, looks on the way, and what is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from torch import Generator, nn

from ..check import RandomState
from ..draw import Draw, fresh_seed
from ..errors import InputError, NonFiniteError

__all__ = ["followed", "generator_of", "known_part", "seed_of", "sound", "whole"]


def seed_of(random_state: RandomState) -> int:
    """A seed as a number; None is fresh entropy at every call."""
    if random_state is None or isinstance(random_state, Integral):
        return fresh_seed() if random_state is None else int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def generator_of(random_state: RandomState, use: str, device: Any) -> Generator:
    """The generator of a named use."""
    return Draw(seed_of(random_state)).at(use).generator(device=device)


def whole(name: str, value: Any, least: int) -> int:
    """A whole number that is not too small."""
    if not isinstance(value, Integral) or value < least:
        raise InputError(f"{name}={value!r}; give a whole number, at least {least}.")
    return int(value)


def sound(machine: nn.Module) -> None:
    """Refuse to draw from weights that are not finite: comparing with them would give zeros."""
    broken = [name for name, p in machine.named_parameters() if not p.isfinite().all()]
    if broken:
        raise NonFiniteError(
            f"The machine's {broken[0]} is not finite, so its chains lead nowhere. Train it with a smaller learning "
            "rate, on standardised columns."
        )


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
    steps = whole("steps", max(keep, default=1) if steps is None else steps, 0)
    if any(not 0 <= step <= steps for step in keep):
        raise InputError(f"keep={tuple(keep)} for {steps} sweeps: give numbers from 0 to {steps}.")
    at, seen = 0, {}
    for step in sorted({*keep, steps}):
        state, at = advance(state, step - at), step
        seen[step] = shown(state)
    return np.stack([seen[step] for step in keep]) if len(keep) else seen[steps]


def known_part(
    estimator: Any, X: Any, missing: ArrayLike, neutral: np.ndarray, group: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Rows checked as the estimator checks them, whatever stands at missing entries, and the mask: (n, V) both.

    Args:
        estimator: Whose rows they are.
        X: Rows (n, V), or a frame.
        missing: True where an entry is not known: (V,) or (n, V).
        neutral: A row (V,) that is in order; it stands at the missing entries of what is returned.
        group: Columns that are missing together or not at all.
    """
    x = np.array(X, dtype=estimator.dtype)
    if x.shape[1:] != neutral.shape or not len(x):
        estimator._table(x)  # says what is wrong with the shape
    gone = _mask(missing, x.shape)
    groups = gone.reshape(len(x), -1, group)
    if (groups.any(2) != groups.all(2)).any():
        raise InputError("missing cuts through a softmax group; mark all columns of a group or none.")
    x[gone] = np.broadcast_to(neutral, x.shape)[gone]
    if hasattr(X, "columns"):
        import pandas as pd

        return np.array(estimator._table(pd.DataFrame(x, columns=X.columns))), gone
    return np.array(estimator._table(x)), gone


def _mask(missing: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """True where an entry is not known, for every entry: (V,) or (n, V) -> (n, V)."""
    gone = np.asarray(missing)
    if gone.dtype != bool or gone.shape not in (shape, shape[1:]):
        raise InputError(
            f"missing has shape {gone.shape} and dtype {gone.dtype}; it must be True or False for every column "
            f"{shape[1:]} or entry {shape} of X."
        )
    return np.broadcast_to(gone, shape)
