"""Small networks on small images: one way to train them all, and when a gain counts.

    every network: Adam, the same number of updates, a rate that falls to zero along a half cosine

Shapes: B images, x (B, C, H, W) or whatever the network takes, y (B,); S seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...data import Batch, Rows, load
from ...draw import Draw
from ...likelihoods import Categorical
from ...train import Supervised, Trainer, Training, iterate
from ._deep import Part

__all__ = ["above", "images", "points", "probabilities", "right", "shuffled", "size", "train"]


@cache
def _whole(name: str) -> Part:
    data = load(name)
    x = torch.tensor(np.asarray(data.x, dtype=np.float32)).view(-1, 1, *data.shape)
    return x / x.max(), torch.tensor(np.asarray(data.y), dtype=torch.long)


def shuffled(name: str, seed: int, *, rim: int = 0, moved: bool = False) -> Part:
    """All images of a data set, grey in [0, 1], in an order of their own for each seed.

    Args:
        name: A data set of grey images.
        seed: Decides the order, and where images are moved.
        rim: Dark pixels that are put around an image on each side.
        moved: Put each image at a random place within its rim, not in the middle.
    """
    x, y = _whole(name)
    x = F.pad(x, [rim] * 4)
    draw = Draw(seed).at("images")
    if moved:
        by = torch.randint(-rim, rim + 1, (len(x), 2), generator=draw.generator("places")).tolist()
        x = torch.stack([image.roll(place, (1, 2)) for image, place in zip(x, by, strict=True)])
    order = torch.randperm(len(y), generator=draw.generator("order"))
    return x[order], y[order]


def images(name: str, n: int, seed: int, *, rim: int = 0) -> tuple[Part, Part]:
    """The first n as training images and all others as test images."""
    x, y = shuffled(name, seed, rim=rim)
    return (x[:n], y[:n]), (x[n:], y[n:])


def train(
    make: Callable[[], nn.Module],
    rows: Part,
    *,
    updates: int,
    seed: int,
    lr: float = 0.003,
    batch: int = 50,
    augment: Callable[[Batch, Draw], Batch] | None = None,
) -> nn.Module:
    """A network, built and trained on classes, in evaluation mode."""
    with Draw(seed).at("build").scope():
        net = make()
    trainer = Trainer(
        Supervised(net, Categorical()),
        Rows(*rows, batch_size=min(batch, len(rows[1]))),
        lr=lr,
        training=Training(schedule="cosine", threads=1),
        augment=augment,
        horizon=updates,
        seed=seed,
    )
    iterate(trainer, steps=updates)
    return net.eval()


@torch.no_grad()
def probabilities(net: nn.Module, x: Tensor) -> Tensor:
    """Of the classes: (B, K)."""
    return net(x).softmax(-1)


@torch.no_grad()
def right(net: nn.Module, rows: Part) -> float:
    """Share of the rows whose class is read right."""
    return (net(rows[0]).argmax(-1) == rows[1]).double().mean().item()


def size(net: nn.Module) -> int:
    """Number of parameters."""
    return sum(p.numel() for p in net.parameters())


def above(gain: np.ndarray) -> bool:
    """Whether a gain (S,) is there in every seed, and in the mean by more than two standard errors.

    Example:
        >>> above(np.array([0.2, 0.1, 0.3])), above(np.array([0.2, -0.1, 0.3]))
        (True, False)
    """
    return bool((gain > 0).all() and gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(len(gain)))


def points(gain: np.ndarray) -> str:
    """Mean ± standard deviation of differences of shares (S,), in points of %, with the sign.

    Example:
        >>> points(np.array([0.01, 0.03]))
        '+2.0 ± 1.4'
    """
    return f"{100 * gain.mean():+.1f} ± {100 * gain.std(ddof=1):.1f}"
