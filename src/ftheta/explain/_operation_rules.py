"""How δ goes back through what is computed between layers: sums, products, reductions, and moves.

    y = x + f(x)       δ goes both ways, and what comes back is added: the skip of a residual block
    y = a ⊙ b          δ_a = b ⊙ δ,   δ_b = a ⊙ δ
    y = A B            δ_A = δ Bᵀ,   δ_B = Aᵀ δ
    concatenations, slices, transpositions: each δ goes back to the place that its number came from

What was broadcast gets the sum of its δ. Any other operation is a box with its VJP.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ._layer_rules import BOX, LAYERS, SLOPES, route, slope_of
from ._map_rules import MAPS
from ._recurrence_rules import RECURRENT
from ._tape import Back, Call, Kind, Rule
from .report_example import HybridOutput

__all__ = ["KINDS", "OPERATIONS", "kind_of", "sign_of"]

_SIGNS = {"add": "+", "iadd": "+", "sub": "-", "mul": "⊙", "truediv": "/", "div": "/", "cat": "concat", "matmul": "@"}
_MOVES = (
    *("view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "permute", "transpose", "t", "T", "mT"),
    *("movedim", "swapaxes", "contiguous", "clone", "getitem", "select", "narrow", "split", "chunk", "unbind"),
    *("expand", "expand_as", "repeat", "flip", "roll", "cat", "concat", "stack", "hstack", "vstack", "index_select"),
)
_FUNCTIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "silu": nn.SiLU,
    "gelu": nn.GELU,
    "elu": nn.ELU,
    "selu": nn.SELU,
    "leaky_relu": nn.LeakyReLU,
    "softplus": nn.Softplus,
    "log_sigmoid": nn.LogSigmoid,
}
_CALCULUS: dict[str, tuple[str, str, Callable[[Any, Tensor, Tensor], Tensor]]] = {
    "exp": ("exp(z)", "a", lambda p, z, a: a),
    "log": ("log z", "1 / z", lambda p, z, a: 1 / z),
    "sqrt": ("√z", "1 / (2 a)", lambda p, z, a: 1 / (2 * a)),
    "square": ("z²", "2 z", lambda p, z, a: 2 * z),
    "sin": ("sin z", "cos z", lambda p, z, a: torch.cos(z)),
    "cos": ("cos z", "-sin z", lambda p, z, a: -torch.sin(z)),
    "abs": ("|z|", "sign z", lambda p, z, a: torch.sign(z)),
    "neg": ("-z", "-1", lambda p, z, a: -torch.ones_like(z)),
}


def _summed(delta: Tensor, like: Tensor) -> Tensor:
    """δ of what was broadcast: summed over the axes that it did not have."""
    more = delta.ndim - like.ndim
    axes = [k for k in range(delta.ndim) if k < more or (like.shape[k - more] == 1 and delta.shape[k] != 1)]
    return delta.sum(axes).view(like.shape) if axes else delta


def _by(*slopes: Callable[[Any, Any], Any]) -> Any:
    """y of two numbers or tensors, with its two partial derivatives."""

    def rule(call: Call, deltas: Sequence[Tensor]) -> Back:
        a, b = call.arguments[0]
        pairs = [(v, slope(a, b)) for v, slope in zip((a, b), slopes, strict=True) if isinstance(v, Tensor)]
        return Back([_summed(deltas[0] * by, v) for v, by in pairs if v.is_floating_point()])

    return rule


def _matmul(call: Call, deltas: Sequence[Tensor]) -> Back:
    a, b = call.inputs
    return Back([_summed(deltas[0] @ b.mT, a), _summed(a.mT @ deltas[0], b)])


def _linear(call: Call, deltas: Sequence[Tensor]) -> Back:
    (h, weight, *bias), (delta,) = call.inputs, deltas
    flat = delta.reshape(-1, delta.shape[-1])
    return Back([delta @ weight, flat.T @ h.reshape(-1, h.shape[-1]), *([flat.sum(0)] if bias else [])])


def _reduced(call: Call, deltas: Sequence[Tensor]) -> Back:
    """Sum or mean over some axes, or over all."""
    (delta,), (x,) = deltas, call.inputs
    args, kwargs = call.arguments
    dims = kwargs.get("dim", args[1] if len(args) > 1 else None)
    axes = (
        list(range(x.ndim)) if dims is None else [d % x.ndim for d in (dims if isinstance(dims, Sequence) else [dims])]
    )
    for axis in sorted(axes if delta.ndim < x.ndim else ()):
        delta = delta.unsqueeze(axis)
    share = 1 / math.prod(x.shape[axis] for axis in axes) if call.name.strip("_") == "mean" else 1.0
    return Back([(share * delta).expand(x.shape)])


def _bent(kind: type[nn.Module]) -> Rule:
    """φ'(z) ⊙ δ of an activation that is called as a function, with the options of the call."""
    slope = SLOPES[kind][2]

    def rule(call: Call, deltas: Sequence[Tensor]) -> Back:
        options = {name: value for name, value in call.arguments[1].items() if name != "inplace"}
        return slope_of(kind(**options), slope)(call, deltas)

    return rule


def _plain(call: Call) -> bool:
    """Two arguments without options."""
    args, kwargs = call.arguments
    return len(args) == 2 and not kwargs


def _alone(call: Call) -> bool:
    """One tensor; options have names."""
    return len(call.arguments[0]) == 1


def _floats(call: Call) -> bool:
    return not call.arguments[1].get("dtype") and all(not isinstance(a, torch.dtype) for a in call.arguments[0])


def _matrices(call: Call) -> bool:
    return len(call.inputs) == 2 and min(x.ndim for x in call.inputs) >= 2


_ONE, _MINUS = lambda a, b: 1.0, lambda a, b: -1.0  # noqa: E731
_SUM = Kind("y = a + b", "δ_a = δ, δ_b = δ", _by(_ONE, _ONE), _plain)
_PRODUCT = Kind("y = a ⊙ b", "δ_a = b ⊙ δ, δ_b = a ⊙ δ", _by(lambda a, b: b, lambda a, b: a), _plain)
_OVER = Kind("y = a / b", "δ_a = δ / b, δ_b = -a δ / b²", _by(lambda a, b: 1 / b, lambda a, b: -a / b**2), _plain)

OPERATIONS: dict[str, Kind] = {
    **dict.fromkeys(("add", "iadd", "radd"), _SUM),
    **dict.fromkeys(("sub", "isub"), Kind("y = a - b", "δ_a = δ, δ_b = -δ", _by(_ONE, _MINUS), _plain)),
    "rsub": Kind("y = b - a", "δ_a = -δ, δ_b = δ", _by(_MINUS, _ONE), _plain),
    **dict.fromkeys(("mul", "imul", "rmul"), _PRODUCT),
    **dict.fromkeys(("truediv", "div", "itruediv"), _OVER),
    **dict.fromkeys(("matmul", "mm", "bmm"), Kind("Y = A B", "δ_A = δ Bᵀ, δ_B = Aᵀ δ", _matmul, _matrices)),
    "linear": Kind("z = W h + b", "δ_h = Wᵀ δ", _linear, gradient="∂ℓ/∂W = δ hᵀ, ∂ℓ/∂b = δ"),
    "sum": Kind("y = Σ x", "δ_x = δ for each", _reduced, _floats),
    "mean": Kind("y = mean of n numbers x", "δ_x = δ / n for each", _reduced, _floats),
    **dict.fromkeys(_MOVES, Kind("the same numbers at other places", "δ_x = δ at the places they came from", route)),
    **{
        name: Kind(f"a = {SLOPES[kind][0]}", f"δ_z = φ'(z) ⊙ δ, φ' = {SLOPES[kind][1]}", _bent(kind), _alone)
        for name, kind in _FUNCTIONS.items()
    },
    **{
        name: Kind(f"a = {f}", f"δ_z = φ'(z) ⊙ δ, φ' = {df}", slope_of(None, slope), _alone)
        for name, (f, df, slope) in _CALCULUS.items()
    },
}
"""Known operations by the names of torch's functions, without underscores."""

_HYBRID = Kind("y = z", "δ_z = σ'(z) ⊙ δ, which is no derivative of y", slope_of(None, HybridOutput.slope))
KINDS = {**LAYERS, **MAPS, **RECURRENT, HybridOutput: _HYBRID}


def kind_of(call: Call) -> Kind:
    """What is known of a call: by the class of its layer, whose forward pass must be that class's own, or by name."""
    if call.layer is None:
        found = OPERATIONS.get(call.name.strip("_"))
    else:
        own = type(call.layer)
        found = next((KINDS[k] for k in own.__mro__ if k in KINDS and own.forward is k.forward), None)
    if found is None:
        return BOX
    return found if found.fits(call) else found.otherwise or BOX


def sign_of(name: str) -> str:
    """How an operation is written."""
    return _SIGNS.get(name.strip("_"), name.strip("_"))
