"""Machines and generators as explanations ask them: rows of numbers in, rows of numbers out, and no trace.

Shapes: n rows, V visible units; a row is a picture of shape (H, W) or (C, H, W), else a line (1, V).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from inspect import signature
from math import isqrt, prod
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import nn

from ..draw import Draw
from ..errors import InputError
from ._probe import DRAW, untouched
from ._rows import finite, numbers

__all__ = [
    "HasGibbs",
    "HasSample",
    "aside",
    "ask",
    "fitted",
    "shape_of",
    "some_rows",
    "whole_numbers",
]


@runtime_checkable
class HasGibbs(Protocol):
    """a fitted machine with gibbs(X, steps)"""

    def gibbs(self, X: Any, steps: int = 1) -> Any:
        """Rows after some steps of a chain that starts at X: (n, V)."""
        ...


@runtime_checkable
class HasSample(Protocol):
    """a fitted model with sample(n)"""

    def sample(self, n: int) -> Any:
        """New rows, or a pair of rows and their classes."""
        ...


def fitted(obj: Any) -> bool:
    """Whether an estimator has learned something: what `explanation(when=)` asks; other objects always have."""
    return not hasattr(obj, "fit") or any(name.endswith("_") and not name.startswith("_") for name in vars(obj))


@contextmanager
def aside(obj: Any) -> Iterator[Any]:
    """The object to ask: global generators, modes and buffers go back on every exit; its own generator is a copy."""
    module = obj if isinstance(obj, nn.Module) else getattr(obj, "module_", None)
    if isinstance(module, nn.Module):
        with untouched(module):
            yield obj
        return
    other = copy(obj)
    for name in ("random_state", "random_state_", "rng"):
        if hasattr(obj, name):
            setattr(other, name, deepcopy(getattr(obj, name)))
    with DRAW.scope():
        yield other


def ask(function: Callable[..., Any], *given: Any, draw: Draw, **named: Any) -> Any:
    """Call with a seed: as `random_state` or `generator` where these are taken, and of the global generators."""
    known = signature(function).parameters
    if "random_state" in known:
        named["random_state"] = draw.key() % 2**31
    elif "generator" in known:
        named["generator"] = draw.generator()
    with draw.scope(), torch.no_grad():
        return function(*given, **named)


def some_rows(X: Any, most: int | None = None) -> tuple[np.ndarray, tuple[int, ...]]:
    """Rows, at most so many and evenly spaced, flat (n, V), and the shape of a row as it was given."""
    x = finite("X", numbers("X", X))
    if x.ndim < 2 or not x.size:
        raise InputError(f"X has shape {x.shape}; rows (n, V) or pictures (n, H, W) are needed, one or more.")
    x = x[:: -(-len(x) // (most or len(x)))]
    return x.reshape(len(x), -1), x.shape[1:]


def shape_of(obj: Any, given: Sequence[int] | None, row: Sequence[int]) -> tuple[int, ...]:
    """Shape of a row as a picture: the given one, that of rows or of the model, a square, else a line (1, V)."""
    size = prod(row)
    own = getattr(obj, "image_shape", None)
    shape = tuple(given or (row if len(row) > 1 else own or ()))
    if not shape:
        side = isqrt(size)
        return (side, side) if side**2 == size else (1, size)
    if len(shape) not in (2, 3) or prod(shape) != size:
        raise InputError(f"shape={shape} does not hold rows of {size} numbers; pass (height, width) of that size.")
    return shape


def whole_numbers(name: str, given: Sequence[int], least: int, most: float = np.inf) -> tuple[int, ...]:
    """Different whole numbers from the least to the largest."""
    found = tuple(sorted({int(v) for v in given if isinstance(v, int | np.integer)}))
    if len(found) != len(given) or not found or found[0] < least or found[-1] > most:
        limits = f"of at least {least}" if most == np.inf else f"from {least} to {most}"
        raise InputError(f"{name}={given}; different whole numbers {limits} are needed.")
    return found
