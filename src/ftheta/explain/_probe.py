"""Looking into a module (hooks are removed; mode, buffers and generators are restored), and rows of an estimator."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isqrt, prod
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from .. import check
from ..catalog import nearest
from ..data import Batch
from ..draw import Draw
from ..errors import FThetaError, InputError, InputTypeError
from ..nn import Recurrent
from ._registry import OBJECTIVE, has

DRAW = Draw(0).at("explain")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Call(NamedTuple):
    """One call of a layer."""

    name: str
    layer: nn.Module
    inputs: tuple[Any, ...]
    out: Tensor  # the first tensor that it returned


def module_of(obj: Any) -> nn.Module:
    """The module itself, or that of a fitted estimator."""
    return obj if isinstance(obj, nn.Module) else obj.module_


def layers_of(module: nn.Module) -> list[tuple[str, nn.Module]]:
    """The parts that compute something of their own: those with parameters, and those without parts. A recurrent layer
    is one: its cells run inside a kernel that does not call them."""
    inside = {id(cell) for part in module.modules() if isinstance(part, Recurrent) for cell in part.cells.modules()}

    def own(part: nn.Module) -> bool:
        return id(part) not in inside and bool(isinstance(part, Recurrent) or part._parameters or not part._modules)

    return [(name or type(part).__name__, part) for name, part in module.named_modules() if own(part)]


def layer_named(module: nn.Module, name: str) -> nn.Module:
    """The part of this name."""
    parts = {key or type(part).__name__: part for key, part in module.named_modules()}
    if name not in parts:
        raise InputError(nearest("layer", name, parts))
    return parts[name]


NO_MAPS = "has no convolution; {} needs a net with convolutions or pooling"


def has_maps(obj: Any) -> bool:
    """True if a net has a convolution or a pooling layer."""
    kinds = (nn.modules.conv._ConvNd, nn.modules.pooling._MaxPoolNd, nn.modules.pooling._AvgPoolNd)
    return any(isinstance(part, kinds) for part in module_of(obj).modules())


def numbered(names: Sequence[str]) -> tuple[str, ...]:
    """Names of calls: of a layer that runs more than once, with the number of the call: conv[2]."""
    many = {name for name in names if names.count(name) > 1}
    return tuple(f"{n}[{names[: i + 1].count(n)}]" if n in many else n for i, n in enumerate(names))


def array(value: Any) -> np.ndarray:
    """A copy, in double precision where it is floating."""
    tensor = torch.as_tensor(value).detach().cpu()
    return tensor.double().numpy().copy() if tensor.is_floating_point() else tensor.numpy().copy()


def first_tensor(value: Any) -> Tensor | None:
    """The tensor, or the first one in a tuple, list or mapping, however deep."""
    if isinstance(value, Tensor):
        return value
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple | list) else ()
    return next((found for part in parts if (found := first_tensor(part)) is not None), None)


def gradients(value: Tensor, tensors: Sequence[Tensor], *, zeros: bool = True) -> list[Any]:
    """∂ value / ∂ tensor; where the graph does not reach zeros, or None."""
    reached = [t for t in tensors if t.requires_grad] if value.requires_grad else []
    found = torch.autograd.grad(value, reached, retain_graph=True, allow_unused=True) if reached else ()
    by_id = {id(t): g for t, g in zip(reached, found, strict=True) if g is not None}
    return [by_id.get(id(t), torch.zeros_like(t) if zeros else None) for t in tensors]


def batch_of(obj: Any, X: Any, y: Any = None) -> Batch:
    """Rows as the net sees them: an estimator's own batch, or copies as tensors of the module's dtype and device."""
    if hasattr(obj, "batch") and not isinstance(obj, nn.Module):
        return obj.batch(X, y)
    like = next(module_of(obj).parameters(), torch.zeros(()))
    batch = Batch(_tensors(X, like, "X"), None if y is None else _tensors(y, like, "y"))
    if not batch.n:
        raise InputError("X has no rows; pass at least one.")
    return batch


def _tensors(value: Any, like: Tensor, name: str) -> Any:
    if isinstance(value, Mapping):
        return {key: _tensors(part, like, name) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(_tensors(part, like, name) for part in value)
    array = value if isinstance(value, Tensor) else np.asarray(value)
    if isinstance(array, np.ndarray) and array.dtype.kind not in "fiub":
        raise InputTypeError(f"{name} holds {array.dtype}; a plain module takes numbers. Encode {name} first.")
    copy = array.detach().clone() if isinstance(array, Tensor) else torch.tensor(array)
    return copy.to(like.device, like.dtype if copy.is_floating_point() else copy.dtype)


@contextmanager
def untouched(module: nn.Module, *, training: bool = False) -> Iterator[None]:
    """Evaluation mode (or training mode) and a fixed draw; modes, buffers and generators are restored on every exit."""
    with DRAW.scope():
        modes = [(part, part.training) for part in module.modules()]
        buffers = [(b, b.clone()) for b in module.buffers()]
        held = [(part, dict(part._buffers)) for part in module.modules()]
        try:
            module.train(training)
            yield
        finally:
            for part, mode in modes:
                part.training = mode
            for part, names in held:
                part._buffers.update(names)
            for buffer, copy in buffers:
                if not torch.equal(buffer, copy):  # a write would break a backward pass that waits outside
                    buffer.detach().copy_(copy)


@contextmanager
def calls(module: nn.Module, names: Iterable[str] | None = None, *, clone: bool = False) -> Iterator[list[Call]]:
    """Every call of a layer, in order; of some parts by name, or of all layers.

    With clone the next layer gets a copy, so that each output keeps its values and has its own δ.
    """
    found: list[Call] = []

    def hook(name: str) -> Callable[..., Any]:
        def see(layer: nn.Module, inputs: tuple[Any, ...], output: Any) -> Any:
            if (out := first_tensor(output)) is not None:
                found.append(Call(name, layer, inputs, out))
            return output.clone() if clone and isinstance(output, Tensor) else None

        return see

    every = [(name, part) for name, part in layers_of(module) if "parametrizations" not in name.split(".")]
    layers = every if names is None else [(name, layer_named(module, name)) for name in names]
    handles = [part.register_forward_hook(hook(name)) for name, part in layers]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def passed(module: nn.Module, x: Tensor, names: Iterable[str] | None = None) -> list[Call]:
    """Calls of one pass in evaluation mode that gave something for each row; the output comes last, unless the last
    layer gave it."""
    with untouched(module), fitting(module, Batch(x)), calls(module, names, clone=True) as seen:
        out = first_tensor(module(x))
    found = [call for call in seen if call.out.shape[:1] == x.shape[:1]]
    given = any(torch.equal(call.out.nan_to_num(), out.nan_to_num()) for call in found[-1:] if out is not None)
    if out is not None and out.shape[:1] == x.shape[:1] and not given:
        found.append(Call("output", module, tuple(call.out for call in found[-1:]), out))
    return found


def forward(obj: Any, batch: Batch) -> None:
    """One pass without gradients; a net without `forward` is run by its objective."""
    module = module_of(obj)
    with torch.no_grad(), fitting(module, batch):
        if type(module).forward is nn.Module.forward and has(obj, OBJECTIVE):
            obj.objective(module, obj.target_).evaluate(batch, DRAW)
        else:
            module(batch.x)


@contextmanager
def fitting(module: nn.Module, batch: Batch) -> Iterator[None]:
    """A clear message for rows that a module cannot take."""
    try:
        yield
    except FThetaError:
        raise
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        x = first_tensor(batch.x)
        shape = "" if x is None else f" of shape {tuple(x.shape[1:])} and {x.dtype}"
        why = str(error).partition("\n")[0].rstrip(".")
        raise InputError(
            f"{type(module).__name__} failed on {batch.n} rows{shape}: {why}. Pass rows and targets that fit it."
        ) from error


def rows_for(obj: Any, X: Any, input_shape: Any, n: int) -> Batch:
    """Rows that are given, or n random ones of a shape: (n, ...); an estimator knows the shape of its rows."""
    if X is not None:
        return batch_of(obj, X)
    spec = getattr(obj, "input_", None)
    shape = spec.shape if input_shape is None and spec is not None else input_shape
    if shape is None:
        raise InputError(f"{type(obj).__name__} does not know the shape of its rows; pass X, or input_shape=.")
    like = next(module_of(obj).parameters(), torch.zeros(()))
    drawn = torch.randn(n, *shape, generator=DRAW.generator("rows"), dtype=torch.float64)
    return Batch(drawn.to(like.device, like.dtype))


def finite(name: str, given: Any) -> np.ndarray:
    """A copy of what was given as float64, if all of its numbers are finite."""
    try:
        found = np.array(check.plain(given), dtype=float)
    except (TypeError, ValueError):
        raise InputTypeError(f"{name} must be numeric, with rows of equal length; encode it first.") from None
    if not np.isfinite(found).all():
        at = np.argwhere(~np.isfinite(found))[0].tolist()
        raise InputError(f"{name} holds {found[tuple(at)]} at {at}; finite numbers are needed: fill or drop it.")
    return found


def features(obj: Any, X: Any) -> np.ndarray:
    """Rows of the features that a model was fitted to: (n, D)."""
    x = finite("X", X)
    if x.ndim != 2 or x.shape[1] != obj.n_features_in_ or not len(x):
        raise InputError(f"X has shape {x.shape}; pass rows of the {obj.n_features_in_} features of the model.")
    return x


def targets(y: Any, n: int) -> np.ndarray:
    """One target for each of n rows: (n,)."""
    found = np.array(check.plain(y))
    if found.shape != (n,):
        raise InputError(f"y has shape {found.shape}; pass one target for each of the {n} rows of X.")
    return found


def codes(y: Any, n: int, classes: Any) -> np.ndarray:
    """Places in the classes of a model of the targets of n rows: (n,)."""
    same = targets(y, n)[:, None] == (known := np.asarray(classes))  # (n, K)
    if not same.any(1).all():
        raise InputError(f"y holds labels that are not classes of the model, {known.tolist()}; pass its own rows.")
    return same.argmax(1)


def classes_of(obj: Any, names: Sequence[str] | None = None) -> tuple[str, ...]:
    """Names of the classes of a model: the given ones, if there are as many, or its own; none of numbers."""
    own = np.ravel(getattr(obj, "classes_", ())).tolist()
    return tuple(map(str, own if names is None or len(names) != len(own) else names))


def row_number(row: int, n: int) -> int:
    """The number of one of n rows; below 0 it is counted from the end."""
    if not -n <= row < n:
        raise InputError(f"row={row}, but X has {n} rows; pass a number from 0 to {n - 1}.")
    return row % n


def pair_of(columns: Any, d: int) -> tuple[int, int]:
    """Two different columns of d."""
    pair = tuple(columns) if isinstance(columns, Sequence | np.ndarray) else ()
    if len(pair) != 2 or pair[0] == pair[1] or not all(isinstance(j, int | np.integer) and 0 <= j < d for j in pair):
        raise InputError(f"columns={columns}; two different numbers from 0 to {d - 1} are needed.")
    return int(pair[0]), int(pair[1])


def image_shape(size: int, given: Sequence[int] | None, smallest: int = 1) -> tuple[int, ...]:
    """Shape of a row of `size` numbers as an image: the given one, a square, else a line (1, size)."""
    side = isqrt(size)
    shape = tuple(given or ((side, side) if side**2 == size and side >= smallest else (1, size)))
    if len(shape) not in (2, 3) or prod(shape) != size:
        raise InputError(f"shape={shape} does not hold rows of {size} numbers; pass (height, width) of that size.")
    return shape


def in_units(x: np.ndarray, scales: Any, columns: Any = slice(None)) -> np.ndarray:
    """Values (..., d) of some columns in the user's units."""
    shift, scale = (0.0, 1.0) if scales is None else np.asarray(scales, dtype=float).T[:, columns]
    return shift + scale * x


def names_of(obj: Any, names: Sequence[str] | None = None) -> list[str]:
    """Names of the features: the given ones, those of the model, or x1, x2, ..."""
    if names is not None:
        if len(names) != obj.n_features_in_:
            raise InputError(f"names has {len(names)} names; the model has {obj.n_features_in_} columns.")
        return [str(name) for name in names]
    return [str(name) for name in getattr(obj, "feature_names_in_", [f"x{j + 1}" for j in range(obj.n_features_in_)])]


def named(obj: Any, rows: np.ndarray) -> Any:
    """Rows as the model knows them: in a frame, if it was fitted to one."""
    if not hasattr(obj, "feature_names_in_"):
        return rows
    return pd.DataFrame(rows, columns=list(obj.feature_names_in_))


def is_one_plane(obj: Any) -> bool:
    """True if a linear model has one plane over the features themselves: of one number, or of two classes."""
    shape = np.shape(getattr(obj, "coef_", ()))
    return shape[-1:] == (obj.n_features_in_,) and shape[:-1] in ((), (1,))
