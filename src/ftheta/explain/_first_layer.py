"""The first affine layer along directions: what it gives is linear in θ, so it is computed once for all points.

    x (W_0 + Σ_k c_k D_k)ᵀ + b_0 + Σ_k c_k e_k  =  Z_0 + Σ_k c_k Z_k,      Z_0 = x W_0ᵀ + b_0,   Z_k = x D_kᵀ + e_k

In a net with wide inputs that is most of the work of a point. It stands in for a layer that is called once, with the
rows themselves; whether it gives the same losses is tried before.
Shapes: n rows, H outputs of the layer, K directions, P parameters, of which the first Q are the layer's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from ..data import Batch
from ._probe import watching
from ._theta import Theta

__all__ = ["FirstLayer", "first_layer"]


class FirstLayer:
    """Outputs of the first layer at points of a plane; to be used while the layer's place is taken.

    Args:
        layer: The layer.
        size: Q.
        origin: θ_0: (P,).
        directions: d: (K, P).
        batches: Sets of rows.
    """

    def __init__(
        self, layer: nn.Linear, size: int, origin: Tensor, directions: Tensor, batches: Sequence[Batch]
    ) -> None:
        self.layer, self.size = layer, size
        each = [_split(layer, theta[:size]) for theta in (origin, *directions)]
        self.parts = [[linear(batch.x, *pair) for pair in each] for batch in batches]  # (n, H) for each set and k
        self.out = [parts[0].clone() for parts in self.parts]
        self.base, self.now = self.out, 0

    def turn(self, rest: Sequence[float]) -> None:
        """A new row of the grid: what all directions but the first add."""
        self.base = [parts[0].clone() for parts in self.parts]
        for base, parts in zip(self.base, self.parts, strict=True):
            for c, z in zip(rest, parts[2:], strict=True):
                base.add_(z, alpha=c)

    def move(self, first: float) -> None:
        """A point of that row."""
        for base, parts, out in zip(self.base, self.parts, self.out, strict=True):
            torch.add(base, parts[1], alpha=first, out=out)

    @contextmanager
    def standing_in(self) -> Iterator[None]:
        """In the layer's place: it gives the outputs for the set of rows with the number `now`."""
        self.layer.forward = lambda input: self.out[self.now]  # type: ignore[method-assign]
        try:
            yield
        finally:
            del self.layer.forward


def first_layer(theta: Theta, origin: Tensor, directions: Tensor, batches: Sequence[Batch]) -> FirstLayer | None:
    """The first layer, if it is an affine one, is called once and with the rows, and its parameters come first."""
    seen: list[tuple[str, nn.Module, object]] = []
    names = {id(part): name for name, part in theta.objective.named_modules()}
    with watching(theta.module, lambda name, layer, inputs, output: seen.append((names[id(layer)], layer, inputs[0]))):
        theta.here(batches[0])
    name, layer, rows = seen[0] if seen else ("", None, None)
    if type(layer) is not nn.Linear or rows is not batches[0].x:
        return None
    own = [f"{name}.weight", f"{name}.bias"][: 1 if layer.bias is None else 2]
    if [who for who, *_ in seen].count(name) > 1 or list(theta.shapes)[: len(own)] != own:
        return None
    return FirstLayer(layer, sum(theta.shapes[key].numel() for key in own), origin, directions, batches)


def _split(layer: nn.Linear, flat: Tensor) -> tuple[Tensor, Tensor | None]:
    """Weight and bias of a flat part of θ: (Q,) -> (H, D), (H,)."""
    weight = flat[: layer.weight.numel()].view_as(layer.weight)
    return weight, None if layer.bias is None else flat[layer.weight.numel() :]
