"""Dense networks of many members without vmap: each layer is one call for all of them.

    y = x Wᵀ + b;      ∂x = g W,   ∂W = gᵀ x,   ∂b = Σ g      of each member

Activations, dropout and likelihoods take a leading axis as they are, so only affine layers and sums over rows are left.
A step of a hundred small networks takes half the time that it takes under vmap.

Shapes: M members, B rows, x (M, B, D), W (M, R, D), b (M, R), y and g (M, B, R).
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from ..data.batch import Batch, take
from ..data.sources import Rows
from ..draw import Draw
from ..nn import ACTIVATIONS, MLP, Dropout
from .objective import Objective, Supervised

LAYERS = {MLP, Dropout, nn.Dropout, nn.Linear, nn.Sequential, *(a.factory for a in ACTIVATIONS.values())}
FEW = 8  # outputs of a layer, where BLAS is faster with them as rows


class Members(Batch):
    """A batch of each member: x (M, B, ...), weights (M, B)."""

    def sum(self, each: Tensor) -> tuple[Tensor, Tensor]:
        """Σ w l and Σ w of each member: (M,)."""
        weight = self.weight.to(each.dtype)  # type: ignore[union-attr]
        return (weight * each).sum(1), weight.sum(1)


class MembersRows:
    """The rows of all members, a batch of each at a time: a short one is filled up with a row of weight 0, the last.

    Args:
        sources: Of each member.
        weighed: Whether there are weights even where all are 1.
    """

    def __init__(self, sources: Sequence[Rows], *, weighed: bool) -> None:
        self.sources, self.n, first = sources, sum(s.n for s in sources), sources[0]
        even = len({(s.n, s.batch_size) for s in sources}) == 1 and all(s.weight is None for s in sources)
        weights = [torch.ones(s.n, device=s.x.device) if s.weight is None else s.weight for s in sources]
        fields = [[s.x for s in sources], [s.y for s in sources], None if even and not weighed else weights]
        self.fields = [
            None if f is None or f[0] is None else torch.cat([*f, torch.zeros_like(f[0][:1])]) for f in fields
        ]
        self.expand = first.expand

    def batches(self, draws: Sequence[Draw]) -> Iterator[Members]:
        """An epoch, each member in an order of its own."""
        starts = torch.tensor([0, *(s.n for s in self.sources)]).cumsum(0).tolist()
        orders = [start + s.order(d) for start, s, d in zip(starts, self.sources, draws, strict=False)]
        for parts in zip(*(o.split(s.batch_size) for o, s in zip(orders, self.sources, strict=True)), strict=True):
            index = pad_sequence([*parts], batch_first=True, padding_value=self.n)  # (M, B)
            x, *rest = (take(f, index.flatten()) for f in self.fields)
            parts = (x if self.expand is None else self.expand(x), *rest)
            yield Members(*(None if f is None else f.unflatten(0, index.shape) for f in parts))


def is_dense(objective: Objective, source: Rows) -> bool:
    """Whether all that has parameters is an affine layer, and nothing else looks at more than one row."""
    if type(objective) is not Supervised or objective.penalty is not None or source.x.ndim != 2:
        return False
    likelihood, layers = objective.likelihood, [*objective.module.modules()]
    if likelihood is None or [*likelihood.parameters(), *likelihood.buffers()]:
        return False
    return all(type(a) in LAYERS and not (a._forward_hooks or a._forward_pre_hooks) for a in layers)


def stack_layers(objective: Objective) -> None:
    """Let its affine layers take the weights of all members."""
    for parent in [*objective.modules()]:
        for name, layer in parent.named_children():
            if isinstance(layer, nn.Linear):
                setattr(parent, name, _Layer(layer))


class _Layer(nn.Module):
    """An affine layer of all members."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, x: Tensor) -> Tensor:
        return _Affine.apply(x, self.weight, self.bias)


class _Affine(torch.autograd.Function):
    """Products in the order in which BLAS is fast: few outputs as rows; those with one inner number without it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        if bias is None:
            return x @ weight.mT
        if weight.shape[1] < FEW:
            return torch.baddbmm(bias.unsqueeze(2), weight, x.mT).mT
        add = torch.addcmul if x.shape[2] == 1 else torch.baddbmm
        return add(bias.unsqueeze(1), x, weight.mT)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        (x, weight), (_, r, d) = ctx.saved_tensors, ctx.saved_tensors[1].shape
        back = (g * weight if r == 1 else g @ weight) if ctx.needs_input_grad[0] else None
        slope = g.mT @ x if r <= d else (x.mT @ g).mT
        return back, slope, g.sum(1) if ctx.needs_input_grad[2] else None
