"""What a derivative can be taken of: floats, finite numbers, seeds that fit."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import InputError, InputTypeError
from ._boxes import PRIMITIVES, Box, plain


def as_float(x: Any) -> Any:
    """An array of floats, or a box; a 0-d array as a scalar."""
    x = x if isinstance(x, Box) else np.asarray(x)[()]
    if x.dtype.kind != "f":
        raise InputTypeError(f"An input of dtype {x.dtype} has no derivative; give floats, as by x.astype(float).")
    return x


def as_tuple(x: Any) -> tuple[Any, ...]:
    """One argument or a tuple of them, as a tuple."""
    return x if isinstance(x, tuple) else (x,)


def seed_of(y: Any, seed: Any) -> Any:
    """A seed or tangent that fits y; None is 1 for a scalar."""
    if seed is None and y.shape != ():
        raise InputError(f"The output has shape {y.shape}, and a gradient is that of a scalar; sum it, or give a seed.")
    seed = y.dtype.type(1) if seed is None else seed if isinstance(seed, Box) else np.asarray(seed, y.dtype)[()]
    if seed.shape != y.shape or not finite(seed):
        raise InputError(f"A seed or direction of shape {seed.shape} was given; give finite numbers of {y.shape}.")
    return seed


def belongs_to(y: Any, sweep: int) -> bool:
    """Whether y depends on what this sweep is for."""
    return isinstance(y, Box) and y.sweep == sweep


def output(y: Any, sweep: int) -> Any:
    """What a function gave: one finite array, without the boxes of sweeps that ended within it."""
    while isinstance(y, Box) and y.sweep > sweep:
        y = y.value
    if not isinstance(y, Box | np.ndarray | np.generic | float | int):
        raise InputTypeError(f"The function gave {type(y).__name__}; it has to give one array, as by stack(...).")
    y = y if isinstance(y, Box) else np.asarray(y)[()]
    first = None if finite(y) else y
    while bad := [a for a in getattr(first, "args", ()) if isinstance(a, Box) and not finite(a)]:
        first = bad[0]
    if first is not None:
        where = f", and so in {first}" if isinstance(first, Box) else ""
        raise InputError(f"The value to differentiate is not finite{where}; move away from this point.")
    return y


def finite(x: Any) -> bool:
    """Whether all numbers are; the sum is quick, and may overflow."""
    x = plain(x)
    with np.errstate(all="ignore"):
        return bool(np.isfinite(np.sum(x)) or np.isfinite(x).all())


def basis(x: Any) -> Iterator[Any]:
    """1 at each entry in turn, 0 elsewhere."""
    for i in range(x.size):
        yield (np.arange(x.size) == i).astype(x.dtype).reshape(x.shape)[()]


def joined(parts: list, axis: int, shape: tuple[int, ...]) -> Any:
    """Parts along a new axis, in this shape."""
    return PRIMITIVES["reshape"](PRIMITIVES["stack"](*parts, axis=axis), shape) if parts else np.zeros(shape)


def refuse_kink(node: Any) -> None:
    """Raise for a node at a kink."""
    kink = node.primitive and node.primitive.kink
    at = np.argwhere(kink(*map(plain, node.args), **node.static)).tolist() if kink else []
    if at:
        place, way = tuple(at[0]), "move the input, or drop strict=True for the subgradient of its rule"
        raise InputError(f"{node} has a kink, so no derivative, at place {place} of its input; {way}.")
