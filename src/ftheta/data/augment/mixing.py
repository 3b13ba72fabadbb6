"""Mixed rows: the only augmentations that change labels, as they must.

    x = λ xᵢ + (1 - λ) xⱼ,     p = λ e_{yᵢ} + (1 - λ) e_{yⱼ},     λ ~ Beta(α, α)

Mixup blends two inputs, cutmix pastes a rectangle of one image into another and counts λ as the area left. Weighted
rows: λ wᵢ and (1 - λ) wⱼ in place of λ and 1 - λ, and the mixed row weighs their sum, so that w nll is λ times the
weighted loss of label yᵢ and 1 - λ times that of yⱼ, both at the mixed input.

References: Zhang et al., mixup (2018); Yun et al., CutMix (2019).
Shapes: B rows, K classes, x (B, ...), for cutmix (B, C, H, W); class indices y (B,) become probabilities (B, K), and
y (B,) of 0.0 and 1.0 becomes the probability of 1, (B,).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ...draw import Draw
from ...errors import InputError
from ..batch import Batch
from .pixels import box, floats, images, spread, strength_of


def mixup(batch: Batch, draw: Draw, alpha: float = 0.2, *, n_classes: int) -> Batch:
    """Each row blended with another one, λ ~ Beta(α, α); y (B,) becomes probabilities (B, K)."""
    strength_of("mixup", alpha)
    if not alpha:
        return batch
    own, partner = _partners(batch, draw, "mixup", alpha)
    return blend(batch, partner, own, n_classes)


def cutmix(batch: Batch, draw: Draw, alpha: float = 1.0, *, n_classes: int) -> Batch:
    """A rectangle of another image pasted into each, of area 1 - λ, λ ~ Beta(α, α); labels by the area pasted."""
    strength_of("cutmix", alpha)
    if not alpha:
        return batch
    x = images(batch)
    own, partner = _partners(batch, draw, "cutmix", alpha)
    side = (1 - own).sqrt()
    mask = box(x, (side * x.shape[2]).round(), (side * x.shape[3]).round(), draw)
    kept = 1 - mask.flatten(1).mean(1, dtype=torch.double)
    mixed = _labels(batch, partner, kept, n_classes)
    return mixed._replace(x=torch.where(mask, x[partner], x))


def blend(batch: Batch, partner: Tensor, own: Tensor, n_classes: int) -> Batch:
    """Row i as own[i] of itself and 1 - own[i] of row partner[i]: inputs, labels, weights.

    Example:
        >>> pair = Batch(torch.eye(2), torch.tensor([0, 2]))
        >>> blend(pair, torch.tensor([1, 0]), torch.tensor([0.3, 1.0]), 3).y
        tensor([[0.3000, 0.0000, 0.7000],
                [0.0000, 0.0000, 1.0000]])
    """
    x = floats(batch)
    mixed = _labels(batch, partner, own, n_classes)
    return mixed._replace(x=torch.lerp(x[partner], x, spread(own.to(x.dtype), x)))


def _partners(batch: Batch, draw: Draw, name: str, alpha: float) -> tuple[Tensor, Tensor]:
    """λ (B,), and the row that each is mixed with, another one: the next in a circle of random order, (B,)."""
    own = np.random.default_rng(draw.key(name)).beta(alpha, alpha, batch.n)  # torch's takes no generator
    x = floats(batch)
    circle = torch.randperm(batch.n, generator=draw.generator("partner", x.device), device=x.device)
    return torch.from_numpy(own).to(x.device), torch.empty_like(circle).scatter_(0, circle, circle.roll(1))


def _labels(batch: Batch, partner: Tensor, own: Tensor, n_classes: int) -> Batch:
    y, w = _classes(batch), batch.weight
    shares = torch.stack((own, 1 - own), 1)  # (B, 2)
    if w is not None:
        parts = shares * torch.stack((w, w[partner]), 1)
        total = parts.sum(1, keepdim=True)
        shares = torch.where(total > 0, parts / total, shares)  # two rows of weight 0: any label will do
        w = total[:, 0].to(w.dtype)
    pair = torch.stack((y, y[partner]), 1)
    if y.is_floating_point():
        return batch._replace(y=(shares * pair).sum(1).to(y.dtype), weight=w)
    if n_classes < 1:
        raise InputError(f"mixup and cutmix need the number of classes, got n_classes={n_classes}; pass how many.")
    p = shares.new_zeros(batch.n, n_classes).scatter_add_(1, pair.long(), shares)
    return batch._replace(y=p.to(batch.x.dtype), weight=w)


def _classes(batch: Batch) -> Tensor:
    """y (B,): class indices, or 0.0 and 1.0 of two classes."""
    y = batch.y
    if isinstance(y, Tensor) and y.ndim == 1 and (not y.is_floating_point() or ((y == 0) | (y == 1)).all()):
        return y
    found = f"{y.dtype} of shape {tuple(y.shape)}" if isinstance(y, Tensor) else type(y).__name__
    raise InputError(
        f"mixup and cutmix mix classes: y must hold class indices of shape ({batch.n},), got {found}; "
        "leave them out for regression, several labels, labels of pixels and labels mixed already."
    )
