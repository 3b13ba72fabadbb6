"""Segmentation: a class for every pixel of an image, by a U-Net.

    raw = UNet(x) in every pixel,      p(y_hw = k | x) = softmax(raw_hw)_k,      loss = mean over pixels of -log p

The label is of each pixel of the image, and the net is convolutional throughout: it answers for images of other sizes.

Shapes: n images, X (n, C, H, W) or (n, H, W), y (n, H, W) integers, K classes, raw (B, H, W, K).
Reference: Ronneberger, Fischer and Brox, U-Net, arXiv:1505.04597 (2015).
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from torch import Tensor, nn

from ... import check
from ...check import Share, Widths
from ...data import Batch, InputSpec, TargetSpec
from ...data.kinds import Images
from ...draw import Draw
from ...errors import InputError
from ...nn import UNet
from ...selection import Range, Space
from ...tasks import Segment
from ...train import Loss, Objective, Supervised
from .._base.plain import Classes
from .convnet import ImageEstimator

LOUD = 2.0**20  # labels as images this bright: noise does not change them
Augment = Callable[[Batch, Draw], Batch]


class PixelObjective(Supervised):
    """Negative log-likelihood of the class of every pixel."""

    def loss(self, player: str, batch: Batch, draw: Draw) -> Loss:
        return super().loss(player, _same_size(batch), draw)

    def evaluate(self, batch: Batch, draw: Draw) -> Mapping[str, Loss]:
        return super().evaluate(_same_size(batch), draw)


def _same_size(batch: Batch) -> Batch:
    if batch.y.shape[1:] != batch.x.shape[2:]:
        what = f"y labels {tuple(batch.y.shape[1:])} pixels of each image, but the images of X have"
        raise InputError(f"{what} {tuple(batch.x.shape[2:])} (height, width); give one label for every pixel.")
    return batch._replace(y=batch.y.clamp_min(0))  # -1: ignored, with weight 0


class _Pixels(nn.Module):
    """Raw outputs of a pixel last, where a likelihood reads them: (B, K, H, W) -> (B, H, W, K)."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x).movedim(1, -1)


def _with_labels(augment: Augment, n_classes: int) -> Augment:
    """The same change of images and their labels: same draw, same moves. What is blank afterwards is not counted."""

    def both(batch: Batch, draw: Draw) -> Batch:
        found, y, w = augment(batch, draw), batch.y.clamp_min(0), batch.weight  # ignored ones have weight 0
        w = torch.ones_like(y, dtype=batch.x.dtype) if w is None else w.view(-1, *(w.shape[1:] or (1, 1))).expand_as(y)
        planes = torch.cat([F.one_hot(y, n_classes).movedim(-1, 1).to(batch.x), w[:, None].to(batch.x)], 1)
        moved = augment(Batch(LOUD * planes), draw).x / LOUD  # (B, K + 1, H, W)
        return found._replace(y=moved[:, :-1].argmax(1), weight=moved[:, -1])

    return both


class UNetSegmenter(Classes, ImageEstimator):
    """Learn from images with a label for every pixel, and label every pixel of new images, of any size.

    Args:
        skip: How levels of the way down reach the way up: concat (U-Net), sum (hourglass) or none.
        class_weight: Weights of the classes of pixels, or "balanced".
        ignore_label: Pixels of y with this label are neither learned from nor scored.

    Example:
        >>> from ftheta.data import shapes
        >>> made = shapes(64, noise=0.0)
        >>> X, y = made.x.reshape(-1, 32, 32), (made.y > 0).astype(int)
        >>> net = UNetSegmenter(filters=(4, 8), epochs=8, batch_size=8, lr=0.01, random_state=0).fit(X[:48], y[:48])
        >>> net.predict(X[48:]).shape, net.score(X[48:], y[48:]) > 0.95
        ((16, 32, 32), True)
    """

    space: ClassVar[Space] = {
        "filters": [(8, 16), (16, 32, 64)],
        "dropout": Range(0.0, 0.5),
        "lr": Range(1e-4, 1e-2, log=True),
    }
    net: ClassVar[type | None] = UNet
    filters: Widths = (16, 32, 64)
    skip: str = "concat"
    up: str = "nearest"
    norm: str = "batch"
    activation: str = "relu"
    dropout: Share = 0.0
    class_weight: Mapping[int, float] | Literal["balanced"] | None = None
    ignore_label: int | None = None

    def build(self, x: InputSpec, y: TargetSpec) -> UNet:
        own = {name: getattr(self, name) for name in ("skip", "up", "norm", "activation", "dropout")}
        return UNet(x.shape, y.n, tuple(self.filters), **own)

    def kind(self) -> Images:
        """Images of one size; after `fit` of any."""
        return Images(self.dtype, self.image_shape, any_size=True)

    def task(self) -> Segment:
        return Segment(self.ignore_label, self.class_weight)

    def objective(self, module: nn.Module, y: TargetSpec) -> Objective:
        return PixelObjective(_Pixels(module), self.likelihood_)

    def raw(self, x: Tensor) -> Tensor:
        """Raw outputs of every pixel: (B, H, W, K)."""
        return _Pixels(self.module_)(x)

    def augmentation(self) -> Augment | None:
        augment = super().augmentation()
        return None if augment is None else _with_labels(augment, self.target_.n)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each pixel: (n, H, W)."""
        return self.task().decode(self.apply(lambda x: self.likelihood_.mode(self.raw(x)), X), self.target_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class in each pixel: (n, H, W, K)."""
        return self.apply(lambda x: self.likelihood_.probabilities(self.raw(x)), X)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Pixel accuracy, of the pixels that are not ignored; weights are of images."""
        found, y = self.predict(X), np.asarray(check.plain(y))
        if y.shape != found.shape:
            raise InputError(f"y has shape {y.shape}, but X has {len(found)} images of {found.shape[1:]} pixels.")
        weight = np.asarray(check.weights(1.0 if sample_weight is None else sample_weight, len(y)))
        counted = (y == y if self.ignore_label is None else y != self.ignore_label) * weight[:, None, None]
        if not counted.any():
            raise InputError(f"All pixels of y with a weight are {self.ignore_label}, which is ignored; none is left.")
        return float(np.average(found == y, weights=counted))
