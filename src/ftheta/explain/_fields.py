"""Which inputs can reach a unit: an interval of positions on each axis, taken back through every operation of a pass.

    convolution, pooling:     [a, b] -> [a s - p, b s - p + (k - 1) d]
    transposed convolution:   [a, b] -> [⌈(a + p - (k - 1) d) / s⌉, ⌊(b + p) / s⌋]
    a sum, a concatenation:   the hull of what all parts see

An operation without a rule keeps positions where it keeps the size of the map, and mixes all of them where it does not;
products of matrices, attention, turns and the like mix all of them in any case.
Between the taps of a dilated kernel lie places that a unit does not see: its interval holds them too.
Letters: k kernel, s stride, p padding on each side, d dilation; a and b are the ends of an interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil, floor
from typing import Any

from torch import Tensor

from ._trace import Following

__all__ = ["Back", "Field", "follow_fields", "seen_by", "step"]

Span = tuple[int, int]
Back = Callable[[int, int, bool], Span]  # ends of an interval; True: cut to the places that exist
Field = tuple[Back, ...]  # one for each axis of the input

_CONV = ("stride", "padding", "dilation")
_UP = ("stride", "padding", "output_padding", "groups", "dilation")
_ORDERS = {  # of the arguments after the first (of a convolution, after the third)
    **{f"conv{d}d": _CONV for d in (1, 2, 3)},
    **{f"conv_transpose{d}d": _UP for d in (1, 2, 3)},
    **{f"max_pool{d}d": ("kernel_size", "stride", "padding", "dilation") for d in (1, 2, 3)},
    **{f"max_pool{d}d_with_indices": ("kernel_size", "stride", "padding", "dilation") for d in (1, 2, 3)},
    **{f"avg_pool{d}d": ("kernel_size", "stride", "padding") for d in (1, 2, 3)},
    **{f"max_unpool{d}d": ("indices", "kernel_size", "stride", "padding") for d in (1, 2, 3)},
    "pad": ("pad", "mode"),
    "interpolate": ("size", "scale_factor", "mode", "align_corners"),
    "pixel_shuffle": ("upscale_factor",),
    "pixel_unshuffle": ("downscale_factor",),
    "getitem": ("index",),
}
_MIXING = (  # beginnings of names: what takes places from elsewhere, also where the size of the map stays
    *("group_norm", "instance_norm", "layer_norm", "adaptive", "linear", "bilinear", "einsum", "tensordot", "fft"),
    *("matmul", "rmatmul", "bmm", "baddbmm", "scaled_dot_product", "multi_head", "grid_sample", "gather"),
    *("index_select", "take_along", "roll", "flip", "rot90", "transpose", "permute", "swap", "movedim", "moveaxis"),
)
_ALONG = ("softmax", "log_softmax", "normalize", "cumsum", "cumprod", "sort")  # mix an axis, often that of channels


def seen_by(field: Field, unit: Sequence[int], *, inside: bool) -> list[Span]:
    """First and last position that a unit sees on each axis; with `inside`, of the places that exist."""
    return [back(p, p, inside) for back, p in zip(field, unit, strict=True)]


def step(back: Back) -> float | None:
    """How far the field moves from a unit to the next, in places of the input; None where all units see the same."""
    far = 2**20
    moved = back(2 * far, 2 * far, False)[0] - back(far, far, False)[0]
    return moved / far if moved else None


def follow_fields(x: Tensor) -> Following[Field]:
    """A mode in which every tensor that is computed from x (B, C, ...) is tagged with its field."""
    sizes = x.shape[-max(1, x.ndim - 2) :]
    mode = Following(lambda *call: _rule(len(sizes), *call))
    mode.tag(x, tuple(_cut(size, lambda a, b, inside: (a, b)) for size in sizes))
    return mode


def _rule(dims: int, name: str, tagged: list[tuple[Tensor, Field]], args: Any, kwargs: Any, out: Tensor) -> Field:
    x = tagged[0][0]
    moves = None
    if min(x.ndim, out.ndim) > dims and not _mixes(name, args, kwargs, x.ndim, dims):
        moves = _moves(name, args, kwargs, x.shape[-dims:], out.shape[-dims:])
    if moves is None:
        return _everything(dims, tagged)
    # what is spread over the map, such as a gate, gives all that it has seen to every place
    fields = [f if t.shape[-dims:] == x.shape[-dims:] else _everything(dims, [(t, f)]) for t, f in tagged]
    return tuple(
        _cut(size, _after(move, backs))
        for size, move, backs in zip(out.shape[-dims:], moves, zip(*fields, strict=True), strict=True)
    )


def _mixes(name: str, args: Any, kwargs: Any, ndim: int, dims: int) -> bool:
    """Whether what an operation gives at a place depends on other places, with no rule for which."""
    if name not in _ALONG:
        return name.startswith(_MIXING)
    at, usual = (2, 1) if name == "normalize" else (1, -1)
    axis = kwargs.get("dim", args[at] if len(args) > at else usual)
    return not isinstance(axis, int) or axis % ndim >= ndim - dims


def _everything(dims: int, tagged: Sequence[tuple[Tensor, Field]]) -> Field:
    """What all units of these maps together see."""

    def along(axis: int) -> Back:
        sizes = [tensor.shape[axis] if tensor.ndim >= -axis else 1 for tensor, _ in tagged]
        spans = [field[axis](0, size - 1, True) for size, (_, field) in zip(sizes, tagged, strict=True)]
        span = min(low for low, _ in spans), max(high for _, high in spans)
        return lambda a, b, inside: span

    return tuple(along(axis) for axis in range(-dims, 0))


def _cut(size: int, back: Back) -> Back:
    """Places outside the map see nothing."""
    return lambda a, b, inside: back(max(a, 0), min(b, size - 1), True) if inside else back(a, b, False)


def _after(move: Back, backs: Sequence[Back]) -> Back:
    """One operation after what its arguments see."""

    def back(a: int, b: int, inside: bool) -> Span:
        spans = [earlier(*move(a, b, inside), inside) for earlier in backs]
        return min(low for low, _ in spans), max(high for _, high in spans)

    return back


def _moves(name: str, args: Any, kwargs: Any, before: Sequence[int], after: Sequence[int]) -> list[Back] | None:
    """For each axis: from an interval of what an operation gives to the interval of what it takes."""
    if name.startswith(("conv", "max", "avg")) and name in _ORDERS and f"{len(after)}d" not in name:
        return None  # on other axes than those of the input
    if name not in _ORDERS:
        return [_same] * len(after) if before == after else None
    first = 3 if name.startswith("conv") else 1
    given = dict(zip(_ORDERS[name], args[first:], strict=False)) | kwargs
    if name.startswith("conv"):
        given["kernel_size"] = (args[1] if len(args) > 1 else kwargs["weight"]).shape[2:]
    if name.startswith(("conv", "max", "avg")):
        return list(_windows(name, given, len(after)))
    axes = zip(before, after, range(len(after)), strict=True)
    return [_resampled(name, given, n, m, axis - len(after), len(after)) for n, m, axis in axes]


def _windows(name: str, given: dict[str, Any], dims: int) -> Iterator[Back]:
    """Convolutions, poolings, and what undoes them."""
    kernel = _each(given["kernel_size"], dims)
    stride = _each(given.get("stride") or (1 if name.startswith("conv") else kernel), dims)
    dilation, padding = _each(given.get("dilation", 1), dims), given.get("padding", 0)
    if isinstance(padding, str):
        padding = [d * (k - 1) // 2 if padding == "same" else 0 for d, k in zip(dilation, kernel, strict=True)]
    back = _transposed if "transpose" in name or "unpool" in name else _window
    for k, s, p, d in zip(kernel, stride, _each(padding, dims), dilation, strict=True):
        yield back(d * (k - 1), s, p)


def _each(value: Any, dims: int) -> list[int]:
    values = [int(v) for v in value] if hasattr(value, "__len__") else [int(value)]
    return values * dims if len(values) == 1 else values


def _same(a: int, b: int, inside: bool) -> Span:
    return a, b


def _window(reach: int, s: int, p: int) -> Back:
    return lambda a, b, inside: (a * s - p, b * s - p + reach)


def _transposed(reach: int, s: int, p: int) -> Back:
    return lambda a, b, inside: (-((reach - a - p) // s), (b + p) // s)  # -(-x // s) is ⌈x / s⌉


def _resampled(name: str, given: dict[str, Any], n: int, m: int, axis: int, dims: int) -> Back:
    """An axis of n places, one of `dims`, that has m of them afterwards."""
    mode = given.get("mode") or ("constant" if name == "pad" else "nearest")
    if name == "pad":
        pads = given["pad"]  # of the last axis first
        return _padded(pads[-2 * axis - 2] if len(pads) >= -2 * axis else 0, n, mode)
    if name == "getitem":
        return _sliced(given["index"], n, axis, dims + 2)
    if name == "pixel_unshuffle" or mode == "area":
        return lambda a, b, inside: (a * n // m, -(-(b + 1) * n // m) - 1)
    if "nearest" in mode:
        half = int(mode == "nearest-exact")
        return lambda a, b, inside: ((2 * a + half) * n // (2 * m), (2 * b + half) * n // (2 * m))
    more = mode == "bicubic"
    scale, start = ((n - 1) / max(m - 1, 1), 0.0) if given.get("align_corners") else (n / m, (n / m - 1) / 2)
    return lambda a, b, inside: (floor(a * scale + start) - more, ceil(b * scale + start) + more)


def _padded(left: int, n: int, mode: str) -> Back:
    """Padding shows what lies at the other end (circular), or on this side of the edge (reflect), or nothing."""

    def back(a: int, b: int, inside: bool) -> Span:
        low, high = a - left, b - left
        if inside and mode == "circular" and (low < 0 or high >= n):
            return 0, n - 1
        if inside and mode == "reflect":
            return min(low, 2 * (n - 1) - high), max(high, -low)
        return low, high

    return back


def _sliced(index: Any, n: int, axis: int, axes: int) -> Back:
    """x[..., i, j], x[:, :, i, j] and x[:, :, i] with slices i and j, of a tensor with so many axes."""
    parts = index if isinstance(index, tuple) else (index,)
    if not any(part is Ellipsis for part in parts):
        parts = (*parts, *[slice(None)] * (axes - len(parts)))
    given = parts[axis] if len(parts) >= -axis else slice(None)
    start, _, by = given.indices(n) if isinstance(given, slice) else (0, n, 1)
    return lambda a, b, inside: (start + a * by, start + b * by)
