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

from ...data import Batch
from ...errors import InputError
from ...likelihoods import Likelihood
from .._point import Point
from .._probe import DRAW, array, gradients, numbered
from ._record import Record, Step
from ._words import UNKNOWN, words_of, words_of_loss

_SIGNS = {"add": "+", "iadd": "+", "sub": "-", "mul": "⊙", "truediv": "/", "div": "/", "cat": "concat", "matmul": "@"}


class BackpropStep(NamedTuple):
    """One call of a layer or an operation; the first ones are the inputs."""

    name: str  # of the layer, with the number of the call where it ran more than once; the sign of an operation
    kind: str  # class of the layer; "input", or "operation"
    known: bool  # whether its formula is known
    forward: str  # formula of its output
    backward: str  # formula of δ of its inputs
    gradient: str  # formula of its parameters' gradients
    sources: tuple[int, ...]  # numbers of the steps whose values it takes
    value: np.ndarray  # its output: (B, ...)
    delta: np.ndarray  # ∂ℓ/∂value: (B, ...)


class Passes(NamedTuple):
    """What `Backprop` holds, but for the learning rate."""

    steps: tuple[BackpropStep, ...]
    words: tuple[str, str]
    losses: np.ndarray
    losses_after: np.ndarray
    shares: np.ndarray
    targets: np.ndarray | None
    parameters: dict[str, np.ndarray]
    gradients: dict[str, np.ndarray]
    gap: float


def forward_backward(point: Point, lr: float, reduction: str) -> Passes:
    """One pass forward, autograd back for all rows and for each, and the losses after a step."""
    record, batch, net = Record(), point.batch, _net(point)
    given = record.start(batch.x)
    DRAW.seed_global()
    with record.of(net, point.module):
        raw = net(given)
    if not isinstance(raw, Tensor):
        raise InputError(f"The module returned a {type(raw).__name__}; backprop needs one tensor of outputs.")
    if not record.knows(raw):
        raise InputError("The module's output was not computed from X by its layers; there is nothing to pass back.")
    with torch.enable_grad():
        each = row_losses(point, raw)
    if not each.requires_grad:
        raise InputError("The loss does not depend on the output of the module; pass a function of (raw, y).")
    deltas = gradients(each.sum(), [step.out for step in record.steps])
    single = [gradients(e, list(point.parameters.values())) for e in each]
    of_rows = {name: np.stack([array(g[k]) for g in single]) for k, name in enumerate(point.parameters)}
    shares, values = _shares(point, raw, reduction), {n: array(p) for n, p in point.parameters.items()}
    total = {n: np.tensordot(shares, g, 1) for n, g in of_rows.items()}
    return Passes(
        steps=tuple(_steps(record.steps, deltas)),
        words=words_of_loss(point.objective.nll, batch.y),
        losses=array(each),
        losses_after=_losses_at(point, {n: values[n] - lr * g for n, g in total.items()}),
        shares=shares,
        targets=array(batch.y) if isinstance(batch.y, Tensor) else None,
        parameters=values,
        gradients=of_rows,
        gap=_gap(point, values, total, shares),
    )


def row_losses(point: Point, raw: Tensor) -> Tensor:
    """Loss of each row; of pixels or tokens summed, with their weights: (B,)."""
    each, n, weight = _each(point, raw), point.batch.n, point.batch.weight
    if not isinstance(each, Tensor) or each.ndim == 0 or len(each) != n:
        shape = tuple(each.shape) if isinstance(each, Tensor) else type(each).__name__
        raise InputError(f"The loss gave {shape} for {n} rows; backprop needs one per row: use reduction='none'.")
    if weight is not None and weight.ndim > 1:
        each = each * weight.view(*weight.shape, *(1 for _ in range(each.ndim - weight.ndim)))
    return each.flatten(1).sum(1) if each.ndim > 1 else each


def _net(point: Point) -> Any:
    return point.objective.module


def _each(point: Point, raw: Tensor) -> Any:
    """Loss of each row, token or pixel: (B, ...)."""
    nll: Any = point.objective.nll
    return nll.nll(raw, point.batch.y) if isinstance(nll, Likelihood) else nll(raw, point.batch.y)


def _steps(steps: list[Step], deltas: list[Tensor]) -> Iterator[BackpropStep]:
    names = numbered([s.name if s.layer is not None else _SIGNS.get(s.name, s.name) for s in steps])
    for step, name, delta in zip(steps, names, deltas, strict=True):
        if not step.sources:
            yield BackpropStep(name, "input", True, "x", "", "", (), array(step.value), array(delta))
            continue
        words = words_of(step.layer, step.name)
        kind = "operation" if step.layer is None else type(step.layer).__name__
        yield BackpropStep(name, kind, words is not UNKNOWN, *words, step.sources, array(step.value), array(delta))


def _shares(point: Point, raw: Tensor, reduction: str) -> np.ndarray:
    """s_i: one for a sum, over Σ w for a mean; pixels and tokens of a row count each."""
    batch: Batch = point.batch
    weight = batch.weight
    own = torch.ones(batch.n, dtype=torch.float64) if weight is None or weight.ndim > 1 else weight
    if reduction == "mean":
        own = own / float(batch.sum(_each(point, raw.detach()))[1])
    return array(own)


def _losses_at(point: Point, at: dict[str, np.ndarray]) -> np.ndarray:
    """Loss of each row at other parameters: (B,)."""
    theta = {n: torch.as_tensor(v).to(point.parameters[n]) for n, v in at.items()}
    with torch.no_grad():
        return array(point.holding(theta, lambda: row_losses(point, _net(point)(point.ready().x))))


def _gap(point: Point, at: dict[str, np.ndarray], gradient: dict[str, np.ndarray], shares: np.ndarray) -> float:
    """How far the directional derivative is from a central difference, without draws."""
    if point.objective.training or not at:
        return math.nan
    rng = np.random.default_rng(DRAW.generator("direction").initial_seed())
    way, eps = {n: rng.normal(size=v.shape) for n, v in at.items()}, 1e-6
    found = sum((gradient[n] * way[n]).sum() for n in at)
    high, low = (shares @ _losses_at(point, {n: at[n] + s * eps * way[n] for n in at}) for s in (1, -1))
    slope = (high - low) / (2 * eps)
    return float(abs(slope - found) / max(abs(slope), abs(found), 1e-5 * (1 + abs(high))))
