"""Segmentation: a class for every pixel of an image, by a U-Net.

    raw = UNet(x) in every pixel,      p(y_hw = k | x) = softmax(raw_hw)_k,      loss = mean over pixels of -log p

The label is of each pixel of the image, and the net is convolutional throughout: it answers for images of other sizes.

Shapes: n images, X (n, C, H, W) or (n, H, W), y (n, H, W) whole numbers, K classes, raw (B, H, W, K).
Reference: Ronneberger, Fischer and Brox, U-Net, arXiv:1505.04597 (2015).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from torch import Tensor, nn

from .. import check, likelihoods
from ..check import Share, Widths
from ..data import Batch, InputSpec, Pictures, TargetSpec
from ..draw import Draw
from ..errors import InputError, InputTypeError
from ..likelihoods import Likelihood
from ..nn import UNet
from ..train import Objective, Supervised
from ._images import ImageInput
from ._pixels import images
from ._rows import Arrays, class_weights
from ._supervised import NeuralSupervised, encode_labels

__all__ = ["UNetSegmenter"]

_LOUD = 2.0**20  # labels as images this bright: noise does not change them
Augment = Callable[[Batch, Draw], Batch]


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
        found, y, w = augment(batch, draw), batch.y, batch.weight
        w = torch.ones_like(y, dtype=batch.x.dtype) if w is None else w.view(-1, *(w.shape[1:] or (1, 1))).expand_as(y)
        planes = torch.cat([F.one_hot(y, n_classes).movedim(-1, 1).to(batch.x), w[:, None].to(batch.x)], 1)
        moved = augment(Batch(_LOUD * planes), draw).x / _LOUD  # (B, K + 1, H, W)
        return found._replace(y=moved[:, :-1].argmax(1), weight=moved[:, -1])

    return both


@dataclass(kw_only=True, eq=False, repr=False)
class UNetSegmenter(ImageInput, NeuralSupervised):
    """Learn from images with a label for every pixel, and label every pixel of new images, of any size.

    Args:
        filters: Channels of each level, the bottleneck last: images are halved `len(filters) - 1` times.
        skip: How levels of the way down reach the way up: concat (U-Net), sum (hourglass) or none.
        up: How a level is doubled: nearest, bilinear, transposed or subpixel.
        norm: none, batch, layer, instance, group or rms.
        activation: Name of the activation.
        dropout: Share of the bottleneck's maps silenced in training.
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

    filters: Widths = (16, 32, 64)
    skip: str = "concat"
    up: str = "nearest"
    norm: str = "batch"
    activation: str = "relu"
    dropout: Share = 0.0
    class_weight: Mapping[int, float] | Literal["balanced"] | None = None
    ignore_label: int | None = None

    def build(self, x: InputSpec, y: TargetSpec) -> UNet:
        """The net for these shapes."""
        return UNet(
            x.shape,
            y.n,
            tuple(self.filters),
            skip=self.skip,
            up=self.up,
            norm=self.norm,
            activation=self.activation,
            dropout=self.dropout,
        )

    def make_likelihood(self, y: TargetSpec) -> Likelihood:
        """Categorical in every pixel; kept as `likelihood_`."""
        return likelihoods.Categorical()

    def objective(self, module: nn.Module, y: TargetSpec) -> Objective:
        """Negative log-likelihood of the pixels."""
        return Supervised(_Pixels(module), self.likelihood_)

    def _raw(self, x: Tensor) -> Tensor:
        return _Pixels(self.module_)(x)

    def _augmentation(self) -> Augment | None:
        augment = super()._augmentation()
        return None if augment is None else _with_labels(augment, self.target_.n)

    # ---- rows

    def _table(self, X: Any, *, reset: bool = False) -> Any:
        """Images; after `fit` of any height and width."""
        if reset or isinstance(X, str | Path | Pictures):
            return super()._table(X, reset=reset)
        x = images(type(self).__name__, X, dtype=self.dtype, shape=self.image_shape)
        if x.shape[1] != self.input_.shape[0]:
            raise InputError(
                f"X has images of {x.shape[1]} channel(s), but {type(self).__name__} was fitted with "
                f"{self.input_.shape[0]}. Convert them, e.g. with ftheta.data.read_picture."
            )
        return x

    def _learn_target(self, y: Any, n: int, classes: Any) -> TargetSpec:
        y = self._labels(y, n) if classes is None else np.asarray(classes)
        found = np.unique(y)
        self.classes_ = found if self.ignore_label is None else found[found != self.ignore_label]
        if len(self.classes_) < 2:
            raise InputError(
                f"The pixels of y have {len(self.classes_)} class(es) {self.classes_.tolist()}; "
                f"{type(self).__name__} needs at least 2. Check the labels."
            )
        return TargetSpec("segment", len(self.classes_))

    def _labels(self, y: Any, n: int) -> np.ndarray:
        """Labels of the pixels of n images: (n, H, W) whole numbers."""
        name = type(self).__name__
        if y is None:
            raise InputError(f"{name} learns from labels: pass y, (n, height, width), one for every pixel of X.")
        y = np.asarray(check.plain(y))
        if y.dtype.kind not in "iub":
            raise InputTypeError(f"y holds {y.dtype}; {name} needs a whole number for every pixel, the class.")
        if y.ndim != 3 or len(y) != n:
            raise InputError(
                f"y has shape {y.shape}; {name} needs labels (n, height, width) of all pixels of the {n} images of X."
            )
        return y

    def _encode_target(self, y: Any, n: int) -> np.ndarray:
        """Positions in `classes_`; -1 where the label is ignored."""
        y = self._labels(y, n)
        counted = np.ones(y.shape, bool) if self.ignore_label is None else y != self.ignore_label
        index = np.full(y.shape, -1, np.int64)
        index[counted] = encode_labels(y[counted], self.classes_)
        return index

    def _finish_rows(self, rows: Arrays, *, learn: bool, weigh: bool = True) -> Arrays:
        """Weights of pixels (n, H, W) where they differ within an image; images without a counted pixel go."""
        if rows.y is None:
            return rows
        if rows.y.shape[1:] != rows.x.shape[2:]:
            raise InputError(
                f"y labels {rows.y.shape[1:]} pixels of each image, but the images of X have {rows.x.shape[2:]} "
                "(height, width); give one label for every pixel."
            )
        counted, weigh = rows.y >= 0, weigh and self.class_weight is not None
        if counted.all() and not weigh:
            return rows
        weight = counted * (1.0 if rows.weight is None else rows.weight[:, None, None])
        if weigh:
            if learn:
                counts = np.bincount(rows.y[counted], weights=weight[counted], minlength=len(self.classes_))
                self.class_weight_ = class_weights(self.class_weight, self.classes_, counts)
            weight = weight * self.class_weight_[rows.y]
        kept = np.flatnonzero(weight.any((1, 2)))
        if not len(kept):
            raise InputError("No pixel of y counts: all are ignored or of weight 0. Check ignore_label and weights.")
        return Arrays(rows.x, np.maximum(rows.y, 0), weight).take(kept)

    # ---- answers

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The most probable class of each pixel: (n, H, W)."""
        index = self._apply(lambda x: self.likelihood_.mode(self._raw(x)), X)
        return self.classes_[index]

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """The probability of each class in each pixel: (n, H, W, K)."""
        return self._apply(lambda x: self.likelihood_.probabilities(self._raw(x)), X)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Pixel accuracy, of the pixels that are not ignored; weights are of images."""
        found = self.predict(X)
        y = self._labels(y, len(found))
        if y.shape != found.shape:
            raise InputError(f"y has shape {y.shape}, but the images of X have {found.shape[1:]} pixels each.")
        weight = np.asarray(check.weights(1.0 if sample_weight is None else sample_weight, len(y)))
        counted = (y == y if self.ignore_label is None else y != self.ignore_label) * weight[:, None, None]
        if not counted.any():
            raise InputError(f"All pixels of y with a weight are {self.ignore_label}, which is ignored; none is left.")
        return float(np.average(found == y, weights=counted))
