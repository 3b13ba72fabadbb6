"""Primitives: NumPy functions with their two derivative rules.

    vjp(g, y, *args)          adjoints of the arguments:  gᵀ ∂y/∂arg
    jvp(tangents, y, *args)   the tangent of the value:   Σ ∂y/∂arg v̇

Elementwise ones state their derivatives, from which both rules follow; a linear map is its own JVP. Rules are made of
primitives, so they can be differentiated again. At a kink: equal shares to equal maxima, abs' = relu' = 0 at 0, the
slope of the negative side for leaky_relu and elu, 1 for clip.
Shapes: B batch, I inputs, O outputs, C channels, ... any number of axes.
"""

# pyright: reportGeneralTypeIssues=false
# (rules call the primitive that they belong to, whose type then refers to itself)

import math
import operator
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any

import numpy as np

from ._boxes import Primitive, by_argument, elementwise, linear_map, plain, primitive, total_of, unbroadcast

_BASIC = (int, slice, EllipsisType)


# ---- shapes and indices


reshape = linear_map(lambda g, y, x, shape: reshape(g, x.shape))(np.reshape)
broadcast_to = linear_map(lambda g, y, x, shape: unbroadcast(g, x))(np.broadcast_to)
swapaxes = linear_map(lambda g, y, x, a, b: swapaxes(g, a, b))(np.swapaxes)


@linear_map(lambda g, y, x, axes=None: transpose(g, None if axes is None else tuple(np.argsort(axes).tolist())))
def transpose(x: Any, axes: Any = None) -> Any:
    return np.transpose(x, axes)


@linear_map(lambda g, y, x, width: getitem(g, tuple(slice(a, a + n) for (a, _), n in zip(width, x.shape, strict=True))))
def pad(x: Any, width: Sequence[tuple[int, int]]) -> Any:
    """Zeros before and after, a pair for each axis."""
    return np.pad(x, width)


@linear_map(lambda g, y, x, index: scatter(g, index, x.shape))
def getitem(x: Any, index: Any) -> Any:
    return x[index]


def _is_basic(index: Any) -> bool:
    """Whether an index names no place twice."""
    return all(i is None or isinstance(i, _BASIC) for i in (index if isinstance(index, tuple) else (index,)))


@linear_map(lambda g, y, x, index, shape: getitem(g, index))
def scatter(x: Any, index: Any, shape: tuple[int, ...]) -> Any:
    """Zeros of a shape, with x added at an index; what falls on one place adds up."""
    out = np.zeros(shape, x.dtype)
    put: Callable = operator.setitem if _is_basic(index) else np.add.at
    put(out, index, x)
    return out


def _tangents(tangents: list, arrays: tuple) -> list:
    return [np.zeros(a.shape, a.dtype) if t is None else t for t, a in zip(tangents, arrays, strict=True)]


def _cut(g: Any, arrays: tuple, axis: int) -> Callable[[int], Any]:
    ends, before = [0, *np.cumsum([a.shape[axis] for a in arrays]).tolist()], (slice(None),) * (axis % g.ndim)
    return lambda k: getitem(g, (*before, slice(ends[k], ends[k + 1])))


@primitive(
    lambda g, y, *arrays, axis=0: _cut(g, arrays, axis),
    lambda tangents, y, *arrays, axis=0: concatenate(*_tangents(tangents, arrays), axis=axis),
)
def concatenate(*arrays: Any, axis: int = 0) -> Any:
    return np.concatenate(arrays, axis=axis)


@primitive(
    lambda g, y, *arrays, axis=0: lambda k: getitem(g, (slice(None),) * (axis % g.ndim) + (k,)),
    lambda tangents, y, *arrays, axis=0: stack(*_tangents(tangents, arrays), axis=axis),
)
def stack(*arrays: Any, axis: int = 0) -> Any:
    return np.stack(arrays, axis=axis)


# ---- reductions


def _spread(g: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """g along the axes that were reduced."""
    axes = range(x.ndim) if axis is None else np.atleast_1d(axis) % x.ndim
    kept = g if keepdims else reshape(g, tuple(1 if i in axes else n for i, n in enumerate(x.shape)))
    return broadcast_to(kept, x.shape)


@linear_map(lambda g, y, x, axis=None, keepdims=False: _spread(g, x, axis, keepdims))
def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.sum(x, axis=axis, keepdims=keepdims)


@linear_map(lambda g, y, x, axis=None, keepdims=False: _spread(g * (y.size / (x.size or 1)), x, axis, keepdims))
def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.mean(x, axis=axis, keepdims=keepdims)


def _weighted(weights: Callable, kink: Callable | None = None) -> Callable[[Callable], Primitive]:
    """A reduction whose tangent is the sum of tangents with weights(y, x, axis, keepdims)."""

    def rule(g: Any, y: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return _spread(g, x, axis, keepdims) * weights(y, x, axis, keepdims)

    def jvp(tangents: list, y: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return sum(tangents[0] * weights(y, x, axis, keepdims), axis, keepdims)

    return primitive(by_argument(rule), jvp, kink)


def _share(y: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """1 at the place of an extreme value, in equal parts where there are several."""
    hit = plain(x) == plain(_spread(y, x, axis, keepdims))
    return (hit / hit.sum(axis=axis, keepdims=True)).astype(x.dtype)


def _ties(value: Callable) -> Callable:
    return lambda x, axis=None, keepdims=False: _share(value(x, axis=axis), x, axis, False) % 1 > 0


max, min = _weighted(_share, _ties(np.max))(np.max), _weighted(_share, _ties(np.min))(np.min)


def _top(x: Any, axis: Any) -> Any:
    """The largest, or 0 if that is infinite: what is taken from exponents."""
    top = np.max(x, axis=axis, keepdims=True)
    return np.where(np.isfinite(top), top, 0)


@_weighted(lambda y, x, axis, keepdims: exp(x - _spread(y, x, axis, keepdims)))
def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """log Σ exp x, without overflow."""
    top = _top(x, axis)
    kept = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return np.sum(kept, axis=axis, keepdims=keepdims)  # of one number each


# ---- elementwise


add, subtract = elementwise(1, 1)(np.add), elementwise(1, -1)(np.subtract)
multiply = elementwise(lambda y, a, b: b, lambda y, a, b: a)(np.multiply)
divide = elementwise(lambda y, a, b: 1 / b, lambda y, a, b: -y / b)(np.divide)
negative = elementwise(-1)(np.negative)
exp, expm1 = elementwise(lambda y, x: y)(np.exp), elementwise(lambda y, x: y + 1)(np.expm1)
log, log1p = elementwise(lambda y, x: 1 / x)(np.log), elementwise(lambda y, x: 1 / (1 + x))(np.log1p)
sqrt, square = elementwise(lambda y, x: 0.5 / y)(np.sqrt), elementwise(lambda y, x: 2 * x)(np.square)
sin, cos = elementwise(lambda y, x: cos(x))(np.sin), elementwise(lambda y, x: -sin(x))(np.cos)
tanh = elementwise(lambda y, x: 1 - y * y)(np.tanh)


def _base_slope(y: Any, a: Any, b: Any) -> Any:
    flat = (np.asarray(plain(a)) == 0) & (np.asarray(plain(b)) == 0)  # 0**0: constant in a
    return where(flat, 0.0, b * power(where(flat, 1.0, a), b - 1)) if flat.any() else b * power(a, b - 1)


power = elementwise(_base_slope, lambda y, a, b: y * log(where(plain(a) == 0, 1.0, a)))(np.power)


def _ahead(a: Any, b: Any) -> Any:
    """1 where a > b, 1/2 where they are equal, 0 elsewhere."""
    return (np.sign(plain(a) - plain(b)) + 1) / 2


maximum = elementwise(lambda y, a, b: _ahead(a, b), lambda y, a, b: _ahead(b, a), kink=np.equal)(np.maximum)
minimum = elementwise(lambda y, a, b: _ahead(b, a), lambda y, a, b: _ahead(a, b), kink=np.equal)(np.minimum)


@elementwise(lambda y, x: np.sign(plain(x)), kink=lambda x: x == 0)
def abs(x: Any) -> Any:
    return np.abs(x)


_SLOPES = (
    lambda y, x, low, high: plain(x) == plain(y),
    lambda y, x, low, high: plain(x) < plain(low),
    lambda y, x, low, high: plain(x) > plain(high),
)
clip = elementwise(*_SLOPES, kink=lambda x, low, high: (x == low) | (x == high))(np.clip)


def _picked(c: Any, a: Any, b: Any, like: Any) -> Any:
    return unbroadcast(where(c, a, b), like)


@primitive(
    by_argument(None, lambda g, y, c, a, b: _picked(c, g, 0.0, a), lambda g, y, c, a, b: _picked(c, 0.0, g, b)),
    lambda tangents, y, c, a, b: where(c, *(0.0 if t is None else t for t in tangents[1:])),
)
def where(condition: Any, a: Any, b: Any) -> Any:
    return np.where(condition, a, b)[()]


# ---- activations


@elementwise(lambda y, x: 2 / math.sqrt(math.pi) * exp(-square(x)))
def erf(x: Any) -> Any:
    from scipy.special import erf as value

    return value(x)


@elementwise(lambda y, x: y * (1 - y))
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), without overflow."""
    e = np.exp(-np.where(np.real(x) < 0, -x, x))[()]
    return np.where(np.real(x) < 0, e, 1)[()] / (1 + e)


@elementwise(lambda y, x: sigmoid(x))
def softplus(x: Any) -> Any:
    """log(1 + exp x), without overflow."""
    return np.log1p(np.exp(-np.where(np.real(x) < 0, -x, x))) + np.where(np.real(x) < 0, 0, x)


@elementwise(lambda y, x: plain(x) > 0, kink=lambda x: x == 0)
def relu(x: Any) -> Any:
    return np.maximum(x, 0)


@elementwise(
    lambda y, x, slope=0.01: np.where(plain(x) > 0, 1, slope).astype(x.dtype),
    kink=lambda x, slope=0.01: (x == 0) & (slope != 1),
)
def leaky_relu(x: Any, slope: float = 0.01) -> Any:
    return np.where(x > 0, x, slope * x)[()]


@elementwise(
    lambda y, x, alpha=1.0: where(plain(x) > 0, 1.0, y + alpha), kink=lambda x, alpha=1.0: (x == 0) & (alpha != 1)
)
def elu(x: Any, alpha: float = 1.0) -> Any:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))[()]


@elementwise(lambda y, x: 0.5 * (1 + erf(x / math.sqrt(2))) + x * exp(-square(x) / 2) / math.sqrt(2 * math.pi))
def gelu(x: Any) -> Any:
    """x Φ(x), Φ the normal distribution function."""
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


@elementwise(lambda y, x: (s := sigmoid(x)) * (1 + x * (1 - s)))
def silu(x: Any) -> Any:
    """x sigmoid(x)."""
    return x * sigmoid(x)


def _symmetric(rule: Callable) -> Callable[[Callable], Primitive]:
    """A primitive with a symmetric Jacobian: one rule for both."""
    return primitive(by_argument(rule), lambda tangents, *given, **static: rule(tangents[0], *given, **static))


@_symmetric(lambda g, y, x, axis=-1, mask=None: y * (g - sum(g * y, axis, True)))  # diag(y) - y yᵀ
def softmax(x: Any, axis: int = -1, mask: Any = None) -> Any:
    """exp x / Σ exp x over the places where the mask is true; all zeros where it is false everywhere."""
    z = x if mask is None else np.where(mask, x, -np.inf)
    e = np.exp(z - _top(z, axis))
    total = e.sum(axis=axis, keepdims=True)
    return e / (total + (total == 0))


# ---- products


def _matrices(g: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Vectors as matrices of one row (left) or column (right)."""
    rows, columns = a.shape[-2:-1] or (1,), b.shape[-1:] if b.ndim > 1 else (1,)
    lead = g.shape[: g.ndim - (a.ndim > 1) - (b.ndim > 1)]
    left, right = reshape(a, (1, a.size)) if a.ndim == 1 else a, reshape(b, (b.size, 1)) if b.ndim == 1 else b
    return reshape(g, lead + rows + columns), left, right


def _to_left(g: Any, y: Any, a: Any, b: Any) -> Any:
    g, left, right = _matrices(g, a, b)
    return reshape(unbroadcast(g @ swapaxes(right, -1, -2), left), a.shape)


def _to_right(g: Any, y: Any, a: Any, b: Any) -> Any:
    g, left, right = _matrices(g, a, b)
    return reshape(unbroadcast(swapaxes(left, -1, -2) @ g, right), b.shape)


def _in_each(p: Callable, tangents: list, *args: Any) -> list:
    """A product with one factor at a time replaced by its tangent."""
    return [p(*args[:k], t, *args[k + 1 :]) for k, t in enumerate(tangents) if t is not None]


matmul = primitive(
    by_argument(_to_left, _to_right), lambda tangents, y, a, b: total_of(_in_each(matmul, tangents, a, b))
)(np.matmul)


def _rows(x: Any) -> Any:
    return reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))  # (..., I) -> (B, I)


def _to_weights(g: Any, y: Any, x: Any, w: Any, b: Any = 0.0) -> Any:
    return _rows(g).T @ _rows(x)


def _linear_tangent(tangents: list, y: Any, x: Any, w: Any, b: Any = 0.0) -> Any:
    return total_of(_in_each(linear, tangents[:2], x, w) + [t for t in tangents[2:] if t is not None])


@primitive(
    by_argument(lambda g, y, x, w, b=0.0: g @ w, _to_weights, lambda g, y, x, w, b: unbroadcast(g, b)), _linear_tangent
)
def linear(x: Any, w: Any, b: Any = 0.0) -> Any:
    """x wᵀ + b: (..., I), (O, I), (O,) -> (..., O)."""
    return x @ w.T + b


@linear_map(lambda g, y, x, size, stride, dilation: unwindows(g, x.shape, stride, dilation))
def windows(x: Any, size: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> Any:
    """What a window sees at each place, over the last n axes: (..., H) -> (..., places, size)."""
    span = tuple((k - 1) * d + 1 for k, d in zip(size, dilation, strict=True))
    view = np.lib.stride_tricks.sliding_window_view(x, span, tuple(range(-len(size), 0)))  # type: ignore
    return view[(..., *(slice(None, None, step) for step in (*stride, *dilation)))]


def _under(at: tuple, places: tuple, stride: tuple, dilation: tuple) -> tuple:
    """What one entry of the window sees at all places."""
    steps = zip(at, places, stride, dilation, strict=True)
    return (..., *(slice(i * d, i * d + s * (n - 1) + 1, s) for i, n, s, d in steps))


@linear_map(lambda g, y, x, shape, stride, dilation: windows(g, x.shape[-len(stride) :], stride, dilation))
def unwindows(x: Any, shape: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> Any:
    """Windows added up where they lay: (..., places, size) -> shape."""
    out, n = np.zeros(shape, x.dtype), len(stride)
    for at in np.ndindex(x.shape[-n:]):
        out[_under(at, x.shape[-2 * n : -n], stride, dilation)] += x[(..., *at)]
    return out
