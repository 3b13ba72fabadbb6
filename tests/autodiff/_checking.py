"""How a primitive is checked: value, both rules and second derivatives against torch, and J v against differences.

VJP  gᵀ J      JVP  J v      second: H v of Σ w (f + f²)
"""

from collections.abc import Callable

import numpy as np
import torch

from ftheta.autodiff import PRIMITIVES, grad, hvp, jvp, vjp
from tests.autodiff import _layers as layers
from tests.autodiff._samples import SAMPLES
from tests.autodiff._torch import TORCH

TOLERANCE = 1e-7
FLOOR = 1e-6  # of the largest entry: below it, an entry is compared with it instead of with itself


def relative(got, want, floor=FLOOR):
    """Largest relative error of an entry; a shape or dtype that differs is an error of its own."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"shape {got.shape} instead of {want.shape}"
    if not want.size:
        return 0.0
    scale = np.abs(want).max()
    return float((np.abs(got - want) / np.maximum(np.abs(want), floor * scale + 1e-300)).max())


def function(name):
    """The primitive of a name, or what is composed of primitives."""
    return PRIMITIVES[name] if name in PRIMITIVES else getattr(layers, name)


class Case:
    """One primitive at one sample, as a function of its differentiable arguments only."""

    def __init__(self, name, sample):
        self.name, self.sample, self.entry = name, sample, SAMPLES[name]
        self.x = tuple(sample.args[i] for i in self.entry.differentiable)
        rng = np.random.default_rng(7)
        self.v = tuple(rng.normal(size=np.shape(x)) for x in self.x)
        self.y = self.value(*self.x)
        self.g, self.w = rng.normal(size=(2, *np.shape(self.y)))

    def _put(self, x):
        args = list(self.sample.args)
        for i, value in zip(self.entry.differentiable, x, strict=True):
            args[i] = value
        return args

    def f(self, *x):
        return function(self.name)(*self._put(x), **self.sample.static)

    def value(self, *x):
        """By NumPy alone."""
        call = function(self.name)
        return getattr(call, "value", call)(*self._put(x), **self.sample.static)

    def scalar(self, *x):
        y = self.f(*x)
        return (self.w * (y + y * y)).sum()

    def torch(self, *x):
        tensors = [torch.tensor(a) if isinstance(a, np.ndarray | np.generic) else a for a in self._put(x)]
        return TORCH[self.name](*tensors, **self.sample.static)

    def inputs(self):
        return tuple(torch.tensor(x, requires_grad=True) for x in self.x)


def several(value):
    return value if isinstance(value, tuple) else (value,)


def close(got, want, floor=FLOOR):
    got, want = several(got), several(want)
    assert len(got) == len(want)
    errors = [relative(a, b, floor) for a, b in zip(got, want, strict=True)]
    assert max(errors) < TOLERANCE, errors


def differences(f, x, v, step=0.01):
    """d f(x + t v) / dt by central differences at four steps, extrapolated: the error is of order step⁸."""
    table = []
    for k in range(4):
        h = step / 2**k
        moved = [np.asarray(f(*(a + s * h * b for a, b in zip(x, v, strict=True)))) for s in (1, -1)]
        table.append((moved[0] - moved[1]) / (2 * h))
    for order in range(1, 4):
        table = [(4**order * b - a) / (4**order - 1) for a, b in zip(table, table[1:], strict=False)]
    return table[0]


def value(case):
    want = case.torch(*case.x)
    got = case.f(*case.x)
    assert type(got) in (np.ndarray, np.float64)  # plain of plain
    close(got, want.numpy())


def vjp_is_torchs(case):
    x = case.inputs()
    want = torch.autograd.grad(case.torch(*x), x, torch.tensor(case.g), materialize_grads=True)
    y, pull = vjp(case.f, *case.x)
    np.testing.assert_array_equal(y, case.y)
    close(pull(case.g), tuple(w.numpy() for w in want))


def jvp_is_torchs(case):
    x = tuple(torch.tensor(a) for a in case.x)
    _, want = torch.autograd.functional.jvp(case.torch, x, tuple(map(torch.tensor, case.v)))
    y, got = jvp(case.f, case.x, case.v)
    np.testing.assert_array_equal(y, case.y)
    close(got, want.numpy())


def jvp_is_that_of_differences(case):
    close(jvp(case.f, case.x, case.v)[1], differences(case.value, case.x, case.v), floor=1.0)


def second_derivatives_are_torchs(case):
    """Of Σ w (f + f²): forward over reverse, and reverse over reverse."""
    w = torch.tensor(case.w)
    _, want = torch.autograd.functional.hvp(
        lambda *x: (w * (case.torch(*x) + case.torch(*x) ** 2)).sum(), case.inputs(), tuple(map(torch.tensor, case.v))
    )
    want = tuple(h.numpy() for h in want)
    numbers = tuple(range(len(case.x)))
    if len(case.x) == 1:
        close(hvp(case.scalar, case.x[0], case.v[0]), want)
    else:
        close(tuple(jvp(grad(case.scalar, k), case.x, case.v)[1] for k in numbers), want)

    def along(*x):
        return sum((d * v).sum() for d, v in zip(several(grad(case.scalar, numbers)(*x)), case.v, strict=True))

    close(grad(along, numbers)(*case.x), want)


CHECKS: tuple[Callable[[Case], None], ...] = (
    value,
    vjp_is_torchs,
    jvp_is_torchs,
    jvp_is_that_of_differences,
    second_derivatives_are_torchs,
)
