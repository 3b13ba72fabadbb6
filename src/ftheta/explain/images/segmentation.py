"""Segments: images beside the true and the predicted class of every pixel, and the overlap of each class.

    IoU_k = |truth is k and so is the prediction| / |truth or prediction is k|

Shapes: n images of H x W pixels, C channels, K classes.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import check, measure, plots
from ...errors import InputError
from ...plots import Figure
from ...results import Result
from .._probe import untouched
from .._registry import explanation

__all__ = ["Segments", "segments"]

MAX_IMAGES = 6  # images in the picture


@dataclass(frozen=True, eq=False)
class Segments(Result):
    """The classes that a segmenter gives to the pixels of images."""

    images: np.ndarray  # as they were given: (n, C, H, W)
    truth: np.ndarray  # position of the true class of each pixel: (n, H, W); -1 is not counted
    predicted: np.ndarray  # position of the predicted class: (n, H, W)
    names: tuple[str, ...]  # of the K classes

    def columns(self) -> dict[str, Any]:
        """One row per class: its pixels, how many are found, overlap with the truth."""
        classes = range(len(self.names))
        counts = measure.pixel_counts(self.truth, self.predicted, classes, ignore=-1)
        pixels = counts.sum(1)
        return {
            "class": self.names,
            "pixels": pixels,
            "found": np.where(pixels, counts.diagonal() / np.maximum(pixels, 1), np.nan),
            "IoU": measure.iou(self.truth, self.predicted, classes, ignore=-1),
            "Dice": measure.dice(self.truth, self.predicted, classes, ignore=-1),
        }

    def figure(self) -> Figure:
        """The first images, their true and their predicted classes."""
        images, truth, predicted = (v[:MAX_IMAGES] for v in (self.images, self.truth, self.predicted))
        return plots.segmented(images, truth, predicted, self.names)

    @property
    def caption(self) -> str:
        right = measure.pixel_accuracy(self.truth, self.predicted, ignore=-1)
        outline = measure.boundary_accuracy(self.truth, self.predicted, ignore=-1)
        edges = "" if np.isnan(outline) else f", {100 * outline:.1f} % of those beside another class"
        overlap = measure.mean_iou(self.truth, self.predicted, range(len(self.names)), ignore=-1)
        return (
            f"{len(self.truth):,} image(s) and {len(self.names)} classes: {100 * right:.1f} % of the pixels are "
            f"right{edges}; mean IoU {overlap:.3f}."
        )


@explanation("segments")
def segments(obj: Any, X: Any, y: Any) -> Segments:
    """Images, true and predicted classes, and the overlap of each class.

    Args:
        obj: A fitted segmenter.
        X: Images: (n, C, H, W) or (n, H, W), or flat rows where the segmenter takes them.
        y: The label of each pixel: (n, H, W).

    Example:
        >>> from ftheta import UNetSegmenter
        >>> x = np.arange(16.0).reshape(1, 4, 4)
        >>> net = UNetSegmenter(filters=(2, 2), epochs=1, random_state=0).fit(x, (x > 5).astype(int))
        >>> segments(net, x, (x > 5).astype(int)).table().columns["pixels"]
        [6, 10]
    """
    with untouched(obj.module_) if hasattr(obj, "module_") else nullcontext():
        predicted = np.asarray(obj.predict(X))
    truth = np.asarray(check.plain(y))
    if predicted.ndim != 3 or truth.shape != predicted.shape:
        raise InputError(
            f"y has shape {truth.shape}, but the segmenter labels pixels of shape {predicted.shape}; segments needs "
            "the class of each of them."
        )
    images = np.array(check.plain(X))
    if images.dtype.kind not in "fiub" or images.size % truth.size:
        raise InputError(f"X is {type(X).__name__} {images.shape} for pixels {truth.shape}; segments draws arrays.")
    images = images.reshape(len(truth), -1, *truth.shape[1:])
    names, codes = tuple(map(str, obj.classes_)), {label: k for k, label in enumerate(obj.classes_.tolist())}
    strange = set(np.unique(truth).tolist()) - set(codes) - {obj.ignore_label}
    if strange:
        raise InputError(f"y holds label {min(strange)}, which is not one of the classes {', '.join(names)}.")
    return Segments(images, _coded(truth, codes), _coded(predicted, codes), names)


def _coded(labels: np.ndarray, codes: dict[Any, int]) -> np.ndarray:
    known, inverse = np.unique(labels, return_inverse=True)
    return np.array([codes.get(label, -1) for label in known.tolist()])[inverse].reshape(labels.shape)
