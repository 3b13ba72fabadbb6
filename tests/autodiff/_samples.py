"""Sample inputs of every primitive: where its rules are checked, and where they can be tried.

    SAMPLES["matmul"].samples[0].args      arrays in float64, away from kinks and from the ends of a domain

Each has an ordinary sample and, where it makes sense, an empty one, broadcast ones, one that is not contiguous and one
without axes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Sample:
    """Arguments of one call."""

    what: str  # what is particular about them
    args: tuple[Any, ...]
    static: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """What is known of one primitive."""

    samples: tuple[Sample, ...]
    differentiable: tuple[int, ...] = (0,)  # positions of the arguments that have a derivative


_rng = np.random.default_rng(1)


def _real(*shape: int) -> np.ndarray:
    """Numbers of either sign, at least 0.3 from 0 and at least 0.2 from -1 and 1."""
    size = _rng.choice([0.3, 0.5, 0.7, 1.3, 1.6, 2.0], shape) + _rng.uniform(0, 0.1, shape)
    return size * _rng.choice([-1.0, 1.0], shape)


def _positive(*shape: int) -> np.ndarray:
    return _rng.uniform(0.6, 2.5, shape)


def _distinct(*shape: int) -> np.ndarray:
    """No two are closer than 0.2."""
    n = int(np.prod(shape))
    return (0.3 * _rng.permutation(n) - 0.15 * n + _rng.uniform(0, 0.1, n) + 0.1).reshape(shape)


def _strided(a: np.ndarray) -> np.ndarray:
    """The same numbers, not contiguous in memory."""
    return np.moveaxis(np.repeat(np.moveaxis(a, 0, -1), 2, axis=-1)[..., ::2], -1, 0)


def _unary(draw: Any = _real) -> Entry:
    """Of one array, element by element."""
    args = {
        "ordinary": draw(2, 3),
        "empty": draw(0, 3),
        "not contiguous": _strided(draw(3, 4)),
        "without axes": draw()[()],
    }
    return Entry(tuple(Sample(what, (x,)) for what, x in args.items()))


def _binary(a: Any = _real, b: Any = _real) -> Entry:
    """Of two arrays, element by element."""
    pairs = {
        "ordinary": (a(2, 3), b(2, 3)),
        "broadcast: a row": (a(4, 3), b(3)),
        "broadcast: a column and a row": (a(2, 1), b(1, 3)),
        "broadcast: a number": (a()[()], b(2, 3)),
        "empty": (a(0, 3), b(1, 3)),
        "not contiguous": (_strided(a(3, 2)), b(2, 3).T),
        "without axes": (a()[()], b()[()]),
    }
    return Entry(tuple(Sample(what, args) for what, args in pairs.items()), (0, 1))


def _reduction(draw: Any = _real, empty: bool = True) -> Entry:
    """Over all axes, over some, with axes kept."""
    samples = [
        Sample("all axes", (draw(2, 3),)),
        Sample("one axis", (draw(2, 3, 4),), {"axis": 1}),
        Sample("last axis, kept", (draw(2, 3),), {"axis": -1, "keepdims": True}),
        Sample("two axes", (draw(2, 3, 4),), {"axis": (-1, 0)}),
        Sample("no rows", (draw(0, 3),), {"axis": 1}),
        Sample("not contiguous", (_strided(draw(3, 4)),), {"axis": 0}),
        Sample("without axes", (draw()[()],)),
    ]
    samples += [Sample("nothing to reduce", (draw(0, 3),), {"axis": 0})] if empty else []
    return Entry(tuple(samples))


def _of(*samples: tuple[Any, ...], differentiable: tuple[int, ...] = (0,)) -> Entry:
    """(what, arguments) or (what, arguments, static)."""
    return Entry(tuple(Sample(*sample) for sample in samples), differentiable)


_SMOOTH = "negative exp expm1 square sin cos tanh erf sigmoid softplus gelu silu"
_KINKED = "abs relu leaky_relu elu"

SAMPLES: dict[str, Entry] = {
    # ---- elementwise
    "add": _binary(),
    "subtract": _binary(),
    "multiply": _binary(),
    "divide": _binary(),
    "power": _binary(_positive),
    "maximum": _binary(_real, lambda *shape: np.zeros(shape)),
    "minimum": _binary(_real, lambda *shape: np.zeros(shape)),
    **{name: _unary() for name in f"{_SMOOTH} {_KINKED}".split()},
    **{name: _unary(_positive) for name in ("log", "log1p", "sqrt")},
    "clip": _of(
        ("ordinary", (_real(3, 4), np.float64(-1.05), np.float64(1.05))),
        ("broadcast: bounds by column", (_real(4, 3), np.array([-1.1, -0.1, -1.1]), np.array([0.1, 1.1, 1.1]))),
        ("empty", (_real(0, 2), np.float64(-1.0), np.float64(1.0))),
        ("not contiguous", (_strided(_real(3, 4)), np.full((3, 1), -1.1), np.full(4, 1.1))),
        ("without axes", (np.float64(2.0), np.float64(-1.0), np.float64(1.0))),
        differentiable=(0, 1, 2),
    ),
    "where": _of(
        ("ordinary", (_real(2, 3) > 0, _real(2, 3), _real(2, 3))),
        ("broadcast: a column and a row", (np.eye(2, 3) > 0, _real(2, 1), _real(3))),
        ("broadcast: the condition", (np.array([True, False, True]), _real(2, 3), _real(1, 3))),
        ("broadcast: a number", (_real(2, 3) > 0, _real()[()], _real(2, 3))),
        ("empty", (np.zeros((0, 3), bool), _real(0, 3), _real(1, 3))),
        ("not contiguous", (_strided(_real(3, 2)) > 0, _strided(_real(3, 2)), _real(2, 3).T)),
        ("without axes", (np.bool_(True), _real()[()], _real()[()])),
        differentiable=(1, 2),
    ),
    # ---- shapes and indices
    "reshape": _of(
        ("ordinary", (_real(2, 6), (3, 4))),
        ("one axis left open", (_real(2, 3, 2), (-1, 2))),
        ("empty", (_real(0, 6), (3, 0, 2))),
        ("not contiguous", (_real(3, 4).T, (2, 6))),
        ("without axes", (_real()[()], (1, 1))),
    ),
    "broadcast_to": _of(
        ("ordinary", (_real(3), (2, 3))),
        ("a column", (_real(2, 1), (4, 2, 3))),
        ("empty", (_real(1, 3), (0, 3))),
        ("not contiguous", (_strided(_real(2, 1)), (2, 5))),
        ("without axes", (_real()[()], (2, 2))),
    ),
    "transpose": _of(
        ("ordinary", (_real(2, 3),)),
        ("axes in turn", (_real(2, 3, 4), (2, 0, 1))),
        ("empty", (_real(0, 3),)),
        ("not contiguous", (_strided(_real(3, 2)),)),
        ("without axes", (_real()[()],)),
    ),
    "swapaxes": _of(
        ("ordinary", (_real(2, 3, 4), 0, 2)),
        ("from the end", (_real(2, 3, 4), -1, -2)),
        ("empty", (_real(0, 3), 0, 1)),
        ("not contiguous", (_strided(_real(3, 2)), 0, 1)),
    ),
    "pad": _of(
        ("ordinary", (_real(2, 3), ((1, 2), (0, 1)))),
        ("empty", (_real(0, 2), ((1, 0), (1, 1)))),
        ("not contiguous", (_strided(_real(3, 2)), ((0, 1), (2, 0)))),
    ),
    "getitem": _of(
        ("a slice", (_real(4, 3), slice(1, 4, 2))),
        ("a row", (_real(4, 3), 2)),
        ("a slice backwards and a new axis", (_real(4, 3), (slice(None, None, -1), None, 1))),
        ("all but the last axis", (_real(2, 3, 4), (..., 1))),
        ("repeated integers", (_real(4, 3), np.array([0, 2, 2, 0, 2]))),
        ("pairs of integers", (_real(4, 3), (np.array([0, 1, 1, 3]), np.array([2, 0, 0, 1])))),
        ("a mask", (_real(4, 3), np.eye(4, 3) > 0)),
        ("empty", (_real(4, 3), np.zeros(0, int))),
        ("not contiguous", (_strided(_real(4, 3)), (slice(0, 2), np.array([1, 1, 2])))),
    ),
    "scatter": _of(
        ("a slice", (_real(2, 3), slice(1, 4, 2), (4, 3))),
        ("repeated integers add up", (_real(5, 3), np.array([0, 2, 2, 0, 2]), (4, 3))),
        ("pairs of integers", (_real(4), (np.array([0, 1, 1, 3]), np.array([2, 0, 0, 1])), (4, 3))),
        ("empty", (_real(0, 3), np.zeros(0, int), (4, 3))),
        ("not contiguous", (_strided(_real(3, 2)), np.array([1, 1, 0]), (3, 2))),
        ("without axes", (_real()[()], 1, (3,))),
    ),
    "concatenate": _of(
        ("ordinary", (_real(2, 3), _real(1, 3), _real(3, 3))),
        ("last axis", (_real(2, 3), _real(2, 1), _real(2, 2)), {"axis": -1}),
        ("one of them empty", (_real(2, 0), _real(2, 3), _real(2, 1)), {"axis": 1}),
        ("not contiguous", (_strided(_real(2, 3)), _real(3, 1).T, _real(1, 3))),
        differentiable=(0, 1, 2),
    ),
    "stack": _of(
        ("ordinary", (_real(2, 3), _real(2, 3), _real(2, 3))),
        ("last axis", (_real(2, 3), _real(2, 3), _real(2, 3)), {"axis": -1}),
        ("empty", (_real(0, 3), _real(0, 3), _real(0, 3)), {"axis": 1}),
        ("not contiguous", (_strided(_real(3, 2)), _real(2, 3).T, _real(3, 2)), {"axis": 1}),
        ("without axes", (_real()[()], _real()[()], _real()[()])),
        differentiable=(0, 1, 2),
    ),
    # ---- reductions
    "sum": _reduction(),
    "mean": _reduction(empty=False),
    "max": _reduction(_distinct, empty=False),
    "min": _reduction(_distinct, empty=False),
    "logsumexp": _reduction(empty=False),
    "softmax": _of(
        ("ordinary", (_real(2, 3),)),
        ("first axis", (_real(3, 2, 2),), {"axis": 0}),
        ("masked", (_real(2, 4),), {"mask": np.array([[True, True, False, True], [False, True, True, False]])}),
        ("a row without any place", (_real(2, 3),), {"mask": np.array([[False] * 3, [True, False, True]])}),
        ("empty", (_real(0, 3),)),
        ("not contiguous", (_strided(_real(3, 4)),)),
    ),
    # ---- products
    "matmul": _of(
        ("ordinary", (_real(3, 4), _real(4, 5))),
        ("a vector on the right", (_real(2, 3), _real(3))),
        ("a vector on the left", (_real(3), _real(3, 2))),
        ("two vectors", (_real(3), _real(3))),
        ("a batch", (_real(2, 3, 2), _real(2, 2, 4))),
        ("broadcast: one matrix for a batch", (_real(2, 3, 2), _real(2, 4))),
        ("broadcast: a batch with one row of batches", (_real(2, 1, 2, 3), _real(3, 3, 2))),
        ("broadcast: a batch times a vector", (_real(2, 3, 2), _real(2))),
        ("broadcast: a vector times a batch", (_real(3), _real(2, 3, 2))),
        ("empty", (_real(0, 3), _real(3, 2))),
        ("nothing to sum over", (_real(2, 0), _real(0, 3))),
        ("not contiguous", (_strided(_real(3, 2)), _real(4, 2).T)),
        differentiable=(0, 1),
    ),
    "linear": _of(
        ("ordinary", (_real(4, 3), _real(2, 3), _real(2))),
        ("one row", (_real(3), _real(2, 3), _real(2))),
        ("rows in two axes", (_real(2, 2, 3), _real(2, 3), _real(2))),
        ("broadcast: a bias for all", (_real(4, 3), _real(2, 3), _real()[()])),
        ("empty", (_real(0, 3), _real(2, 3), _real(2))),
        ("not contiguous", (_strided(_real(4, 3)), _real(3, 2).T, _real(4)[::2])),
        differentiable=(0, 1, 2),
    ),
    "windows": _of(
        ("ordinary", (_real(2, 5), (3,), (1,), (1,))),
        ("two axes, stride and dilation", (_real(2, 5, 6), (2, 3), (2, 1), (1, 2))),
        ("empty", (_real(0, 5), (2,), (1,), (1,))),
        ("not contiguous", (_strided(_real(5, 2)).T, (2,), (2,), (1,))),
    ),
    "unwindows": _of(
        ("ordinary", (_real(2, 3, 3), (2, 5), (1,), (1,))),
        ("two axes, stride and dilation", (_real(2, 2, 2, 2, 3), (2, 5, 6), (2, 1), (1, 2))),
        ("empty", (_real(0, 4, 2), (0, 5), (1,), (1,))),
        ("not contiguous", (_strided(_real(2, 4, 2)), (2, 5), (1,), (1,))),
    ),
    # ---- composed of primitives: normalisation, dropout, losses, attention
    "var": _reduction(empty=False),
    "layer_norm": _of(
        ("ordinary", (_real(2, 4), _real(4), _real(4))),
        ("three axes, another ε", (_real(2, 2, 3), _real(3), _real(3)), {"eps": 0.5}),
        ("empty", (_real(0, 3), _real(3), _real(3))),
        ("not contiguous", (_strided(_real(3, 4)), _real(8)[::2], _real(4))),
        differentiable=(0, 1, 2),
    ),
    "rms_norm": _of(
        ("ordinary", (_real(2, 4), _real(4))),
        ("another ε", (_real(2, 4), _real(4)), {"eps": 0.5}),
        ("empty", (_real(0, 3), _real(3))),
        ("not contiguous", (_strided(_real(3, 4)), _real(8)[::2])),
        differentiable=(0, 1),
    ),
    "batch_norm": _of(
        ("ordinary", (_real(4, 3), _real(3), _real(3))),
        ("images, another ε", (_real(2, 2, 2, 3), _real(2), _real(2)), {"eps": 0.5}),
        ("not contiguous", (_strided(_real(4, 2)), _real(4)[::2], _real(2))),
        differentiable=(0, 1, 2),
    ),
    "dropout": _of(
        ("ordinary", (_real(3, 4), 0.4, 1)),
        ("nothing dropped", (_real(3), 0.0, 1)),
        ("empty", (_real(0, 4), 0.5, 1)),
        ("not contiguous", (_strided(_real(4, 3)), 0.3, 2)),
    ),
    "mse": _of(
        ("ordinary", (_real(3, 2), _real(3, 2))),
        ("broadcast: a row", (_real(3, 2), _real(2))),
        ("not contiguous", (_strided(_real(3, 2)), _real(2, 3).T)),
        ("without axes", (_real()[()], _real()[()])),
        differentiable=(0, 1),
    ),
    "bce_with_logits": _of(
        ("ordinary", (_real(3, 2), _rng.random((3, 2)))),
        ("hard targets", (3 * _real(4), np.array([0.0, 1.0, 1.0, 0.0]))),
        ("not contiguous", (_strided(_real(3, 2)), _rng.random((2, 3)).T)),
        differentiable=(0, 1),
    ),
    "cross_entropy": _of(
        ("ordinary", (_real(4, 3), np.array([2, 0, 1, 1]))),
        ("far logits", (30 * _real(3, 3), np.array([0, 2, 1]))),
        ("not contiguous", (_strided(_real(3, 2)), np.array([1, 0, 1]))),
    ),
    "log_softmax": _of(
        ("ordinary", (_real(2, 3),)),
        ("first axis", (_real(3, 2),), {"axis": 0}),
        ("empty", (_real(0, 3),)),
        ("not contiguous", (_strided(_real(3, 4)),)),
    ),
    "attention": _of(
        ("ordinary", (_real(3, 2), _real(4, 2), _real(4, 3))),
        ("causal", (_real(3, 2), _real(3, 2), _real(3, 2)), {"mask": np.tri(3) > 0}),
        (
            "a place that sees nobody",
            (_real(2, 2), _real(2, 2), _real(2, 2)),
            {"mask": np.array([[False] * 2, [True] * 2])},
        ),
        ("heads", (_real(2, 2, 3, 2), _real(2, 2, 3, 2), _real(2, 2, 3, 2))),
        ("empty", (_real(0, 2), _real(3, 2), _real(3, 2))),
        ("not contiguous", (_strided(_real(3, 2)), _real(2, 4).T, _strided(_real(4, 3)))),
        differentiable=(0, 1, 2),
    ),
    # ---- convolution and pooling
    "conv": _of(
        ("ordinary", (_real(2, 2, 4, 4), _real(3, 2, 3, 3), _real(3))),
        ("stride and padding", (_real(1, 2, 5, 4), _real(2, 2, 3, 2), _real(2)), {"stride": (2, 1), "padding": (1, 0)}),
        ("dilation", (_real(1, 1, 5, 5), _real(1, 1, 2, 2), _real(1)), {"dilation": 2, "padding": 1}),
        ("groups", (_real(2, 4, 3, 3), _real(4, 2, 2, 2), _real(4)), {"groups": 2}),
        ("one axis", (_real(2, 2, 6), _real(3, 2, 3), _real(3)), {"stride": 2}),
        ("1 x 1", (_real(2, 3, 2, 2), _real(2, 3, 1, 1), _real(2))),
        ("not contiguous", (_strided(_real(2, 1, 4, 3)), _real(2, 2, 1, 2).T, _real(4)[::2])),
        differentiable=(0, 1, 2),
    ),
    "max_pool": _of(
        ("ordinary", (_distinct(2, 2, 4, 4), 2)),
        ("overlapping", (_distinct(1, 2, 5, 5), 3), {"stride": 2}),
        ("one axis", (_distinct(2, 1, 7), 3)),
        ("not contiguous", (_strided(_distinct(2, 1, 4, 4)), (2, 1))),
    ),
    "mean_pool": _of(
        ("ordinary", (_real(2, 2, 4, 4), 2)),
        ("overlapping", (_real(1, 2, 5, 5), 3), {"stride": (2, 1)}),
        ("one axis", (_real(2, 1, 7), 3)),
        ("not contiguous", (_strided(_real(2, 1, 4, 4)), (2, 1))),
    ),
}
