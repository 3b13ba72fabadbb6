"""A pass forward and back with everything kept: values, δ, gradients of each row, and the losses after a step.

Shapes: B rows; a value and its δ (B, ...), gradients of a parameter (B, its shape).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call
from torch.utils._pytree import tree_map

from ..data import Batch
from ..errors import InputError
from ._layer_rules import BOX
from ._losses import Rows, Start, start
from ._operation_rules import KINDS, kind_of, sign_of
from ._probe import DRAW
from ._tape import Source, Swept, Tape
from ._trace import numbered, tensors_in

__all__ = ["BackpropStep", "Passed", "both_ways"]


class BackpropStep(NamedTuple):
    """One call of a layer or an operation; the first ones are the inputs.

    Args:
        name: Of the layer, with the number of the call where it ran more than once; the sign of an operation.
        kind: Class of the layer; `input`, or `operation`.
        known: Whether δ goes back by the kind's own formula; else it is a box with its VJP.
        forward: Formula of what it gives.
        backward: Formula of δ of what it took.
        gradient: Formula of its parameters' gradients.
        sources: Numbers of the steps whose values it takes.
        value: What it gives: (B, ...).
        delta: ∂ℓ/∂value: (B, ...).
        inner: What was computed on the way: gates, normalised values.
    """

    name: str
    kind: str
    known: bool
    forward: str
    backward: str
    gradient: str
    sources: tuple[int, ...]
    value: np.ndarray
    delta: np.ndarray
    inner: dict[str, np.ndarray]


class Passed(NamedTuple):
    """What `Backprop` holds, but for the rate."""

    steps: tuple[BackpropStep, ...]
    words: tuple[str, str]
    losses: np.ndarray
    losses_after: np.ndarray
    shares: np.ndarray
    targets: np.ndarray | None
    parameters: dict[str, np.ndarray]
    gradients: dict[str, np.ndarray]
    gap: float


def both_ways(rows: Rows, batch: Batch, rate: float, reduction: str) -> Passed:
    """One pass forward, one sweep back for all rows and one for each, and the losses after a step."""
    tape = Tape(rows.module, KINDS, rows.head)
    given = tree_map(_followed, batch.x)
    inputs = list(tensors_in(batch.x))
    for k, (x, copy) in enumerate(zip(tensors_in(given), inputs, strict=True)):
        tape.tag(x, ("input", k), copy)
    with DRAW.scope(), tape.recording():
        raw = rows.module(given)
    if not isinstance(raw, Tensor):
        raise InputError(f"The module returned a {type(raw).__name__}; backprop needs one tensor of outputs.")
    end = tape.source(raw)
    if end is None:
        raise InputError("The module's output was not computed from X by its layers; there is nothing to pass back.")
    raw = raw.detach()
    begun = start(rows, raw, batch)
    rule_of = lambda call: kind_of(call).rule  # noqa: E731
    whole = tape.sweep(end, begun.delta, rule_of)
    single = [tape.sweep(end, _only(begun.delta, i), rule_of).gradient for i in range(batch.n)]
    parameters = {n: p for n, p in rows.named().items() if p.requires_grad}
    gradients = {n: _stacked(n, p, single, begun) for n, p in parameters.items()}
    shares = _shares(batch, raw, rows, reduction)
    values = {n: array(p) for n, p in parameters.items()}
    total = {n: np.tensordot(shares, g, 1) for n, g in gradients.items()}
    return Passed(
        steps=tuple(_steps(tape, inputs, whole)),
        words=begun.words,
        losses=array(begun.each),
        losses_after=array(_losses_at(rows, batch, {n: values[n] - rate * g for n, g in total.items()})),
        shares=shares,
        targets=array(batch.y) if isinstance(batch.y, Tensor) else None,
        parameters=values,
        gradients=gradients,
        gap=_gap(rows, batch, values, total, shares),
    )


def _followed(value: Any) -> Any:
    """A copy of a floating tensor that autograd follows too, and that may be changed in place."""
    floats = isinstance(value, Tensor) and value.is_floating_point()
    return value.detach().requires_grad_().clone() if floats else value


def _only(delta: Tensor, row: int) -> Tensor:
    """δ of one row, all others 0."""
    seed = torch.zeros_like(delta)
    seed[row] = delta[row]
    return seed


def _stacked(name: str, p: Tensor, single: list[dict[str, Tensor]], begun: Start) -> np.ndarray:
    none = torch.zeros(p.shape, dtype=torch.float64)
    return np.stack([array({**g, **own}.get(name, none)) for g, own in zip(single, begun.gradient, strict=True)])


def _shares(batch: Batch, raw: Tensor, rows: Rows, reduction: str) -> np.ndarray:
    """s_i: one for a sum, over Σ w for a mean; pixels and tokens of a row count each."""
    weight = batch.weight
    own = torch.ones(batch.n, dtype=torch.float64) if weight is None or weight.ndim > 1 else weight.double()
    if reduction == "mean":
        own = own / float(batch.sum(rows.each(raw, batch.y))[1])
    return array(own)


def _steps(tape: Tape, inputs: list[Tensor], swept: Swept) -> Iterator[BackpropStep]:
    first = len(inputs)
    for k, x in enumerate(inputs):
        name = "input" if first == 1 else f"input[{k + 1}]"
        yield BackpropStep(name, "input", True, "x", "", "", (), array(x), _delta(swept, ("input", k), x), {})
    names = numbered([call.name if call.layer is not None else sign_of(call.name) for call in tape.calls])
    for number, call in enumerate(tape.calls):
        kind, source = kind_of(call), ("value", (number, 0))
        places = [
            k if what == "input" else k[0] + first for what, k in filter(None, call.sources) if what != "parameter"
        ]
        yield BackpropStep(
            name=names[number],
            kind="operation" if call.layer is None else type(call.layer).__name__,
            known=kind is not BOX,
            forward=kind.forward,
            backward=kind.backward,
            gradient=kind.gradient,
            sources=tuple(dict.fromkeys(places)),
            value=array(call.outputs[0]),
            delta=_delta(swept, source, call.outputs[0]),
            inner={key: array(value) for key, value in swept.inner.get(number, {}).items()},
        )


def _delta(swept: Swept, source: Source, like: Tensor) -> np.ndarray:
    return array(swept.delta.get(source, torch.zeros(like.shape, dtype=torch.float64)))


def _losses_at(rows: Rows, batch: Batch, at: dict[str, np.ndarray], dtype: torch.dtype | None = None) -> Tensor:
    """Loss of each row at other parameters."""
    full = dict(zip(rows.named(), rows.named_parameters(), strict=True))  # short name: (full name, parameter)
    theta = {full[n][0]: torch.as_tensor(v).to(dtype or full[n][1].dtype) for n, v in at.items()}
    if dtype is not None:
        theta = {n: v.detach().to(dtype) for n, v in rows.state_dict().items() if v.is_floating_point()} | theta
        cast = lambda v: v.to(dtype) if isinstance(v, Tensor) and v.is_floating_point() else v  # noqa: E731
        batch = Batch(*(tree_map(cast, part) for part in batch[:3]))
    with DRAW.scope(), torch.no_grad():
        return functional_call(rows, theta, (batch,))[1].double()


def _gap(
    rows: Rows, batch: Batch, at: dict[str, np.ndarray], gradient: dict[str, np.ndarray], shares: np.ndarray
) -> float:
    """How far the directional derivative is from a central difference, in double precision and without draws."""
    if rows.training or not at:
        return math.nan
    rng = np.random.default_rng(DRAW.generator("direction").initial_seed())
    way = {n: rng.normal(size=v.shape) for n, v in at.items()}
    eps, found = 1e-6, sum((gradient[n] * way[n]).sum() for n in at)
    try:
        high, low = (
            shares @ array(_losses_at(rows, batch, {n: at[n] + s * eps * way[n] for n in at}, torch.float64))
            for s in (1, -1)
        )
    except (RuntimeError, TypeError):  # a module that is of single precision inside
        return math.nan
    slope = (high - low) / (2 * eps)
    return float(abs(slope - found) / max(abs(slope), abs(found), 1e-5 * (1 + abs(high))))


def array(value: Any) -> np.ndarray:
    """A copy, in double precision where it is floating."""
    tensor = torch.as_tensor(value).detach().cpu()
    return tensor.double().numpy().copy() if tensor.is_floating_point() else tensor.numpy().copy()
