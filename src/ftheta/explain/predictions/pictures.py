"""Samples beside the training rows nearest to them, and images beside the true and predicted class of each pixel.

    d(x) = min_i |x - x_i|,     x_i the training rows; of a training row: its nearest other one
    IoU_k = |truth is k and so is the prediction| / |truth or prediction is k|

Samples that lie much closer to training rows than these lie to one another are copies: the model has memorized them.

Shapes: N samples, n training rows of D columns; n images of H x W pixels, C channels, K classes.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from inspect import signature
from math import prod
from typing import Any

import numpy as np
import torch
from sklearn.neighbors import NearestNeighbors

from ... import check, measure, plots
from ...check import Count
from ...draw import Draw
from ...errors import InputError
from ...plots import Figure
from ...results import Result, counted
from .._probe import classes_of, finite, image_shape, in_units, untouched
from .._registry import Names, explanation


class Samples(Result):
    """New rows, and the rows that they are nearest to; the last four fields only where training rows were given."""

    rows: np.ndarray  # the samples (N, D)
    shape: tuple[int, ...]  # of a row as an image; (1, D) where rows are not images
    labels: np.ndarray | None = None  # their classes (N,), where the model draws those too
    nearest: np.ndarray | None = None  # position of the nearest training row (N,)
    neighbors: np.ndarray | None = None  # these rows (N, D)
    distance: np.ndarray | None = None  # how far they are, |difference| (N,)
    usual: np.ndarray | None = None  # how far a training row is from its nearest other one, for as many of them
    names: tuple[str, ...] = ()  # of the columns, where rows are not images

    def columns(self) -> dict[str, Any]:
        """One row per sample."""
        columns = {"sample": range(len(self.rows)), "mean": self.rows.mean(1), "class": self.labels}
        return columns | {"nearest row": self.nearest, "distance": self.distance}

    def figure(self) -> Figure:
        """Samples, their nearest rows in the same order, and the distances; points where rows are not images."""
        if self.shape[-2] == 1:
            return plots.sampled_points(self.rows, self.neighbors, self.distance, self.usual, names=self.names)
        near = None if self.neighbors is None else self.neighbors.reshape(-1, *self.shape)
        return plots.sampled(self.rows.reshape(-1, *self.shape), near, self.distance, self.usual)

    @property
    def caption(self) -> str:
        count = counted(len(self.rows), "sample")
        if self.distance is None or self.usual is None:
            return f"{count}."
        near = f"{count}; median distance to the nearest training row {np.median(self.distance):.4g}"
        usual = f", of training rows to one another {np.median(self.usual):.4g}" if len(self.usual) else ""
        return f"{near}{usual}; {int((self.distance == 0).sum())} copies."


def _is_fitted(obj: Any) -> bool:  # other objects than estimators always are
    return not hasattr(obj, "fit") or any(name.endswith("_") and not name.startswith("_") for name in vars(obj))


@explanation("samples", when=_is_fitted, otherwise="is not fitted; {} needs a fitted model")
def samples(
    obj: Any,
    X: Any = None,
    n: Count = 64,
    *,
    shape: Sequence[int] | None = None,
    random_state: int = 0,
    names: Names = None,
    scales: Any = None,
) -> Samples:
    """New rows of a model, beside the training rows that are nearest to them.

    Args:
        obj: A model with `sample(n)`, which gives rows, or rows and their classes.
        X: Training rows, of the columns of the samples; None: samples alone.
        n: How many samples.
        shape: (height, width) of a row; None: as the samples have it, or a square from 4 x 4 on.

    Example:
        >>> from ftheta import QuadraticDiscriminant
        >>> x = np.random.default_rng(0).normal(size=(20, 2))
        >>> samples(QuadraticDiscriminant().fit(x, x[:, 0] > 0), x, n=5).distance.shape
        (5,)
    """
    draw = Draw(random_state).at("samples")
    module = getattr(obj, "module_", obj)
    seed = {"random_state": draw.key() % 2**31} if "random_state" in signature(obj.sample).parameters else {}
    restored = untouched(module) if isinstance(module, torch.nn.Module) else nullcontext()
    with restored, draw.scope(), torch.no_grad():
        made = obj.sample(n, **seed)
    made, labels = made if isinstance(made, tuple) else (made, None)
    rows = finite("The samples", made)
    own = rows.shape[1:] if rows.ndim > 2 else None
    shown = image_shape(prod(rows.shape[1:]), shape or getattr(obj, "image_shape", None) or own, smallest=4)
    rows = rows.reshape(len(rows), -1)
    near = () if X is None else _nearest(rows, X)
    labels = None if labels is None else np.asarray(labels)
    found = Samples(rows, shown, labels, **dict(zip(("nearest", "neighbors", "distance", "usual"), near, strict=False)))
    if shown[-2] > 1:
        return found
    neighbors = None if found.neighbors is None else in_units(found.neighbors, scales)
    return replace(found, rows=in_units(rows, scales), neighbors=neighbors, names=tuple(names or ()))


def _nearest(rows: np.ndarray, X: Any) -> tuple[np.ndarray, ...]:
    """Nearest training rows, they themselves, their distances, and the usual distances among training rows."""
    x = finite("X", X)
    x = x.reshape(len(x), -1)
    if x.shape[1:] != rows.shape[1:] or not len(x):
        raise InputError(f"X has rows of {x.shape[1]} numbers, the samples of {rows.shape[1]}; pass the training rows.")
    known = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(x)
    near = known.kneighbors(rows, return_distance=False)[:, 0]
    some = x[:: -(-len(x) // len(rows))] if len(x) > 1 else x[:0]
    other = known.kneighbors(some, 2, return_distance=False)[:, 1] if len(some) else np.zeros(0, int)
    return near, x[near], np.linalg.norm(rows - x[near], axis=1), np.linalg.norm(some - x[other], axis=1)


class Segmentation(Result):
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
        images, truth, predicted = (v[:6] for v in (self.images, self.truth, self.predicted))
        return plots.segmented(images, truth, predicted, self.names)

    @property
    def caption(self) -> str:
        right = measure.pixel_accuracy(self.truth, self.predicted, ignore=-1)
        outline = measure.boundary_accuracy(self.truth, self.predicted, ignore=-1)
        edges = "" if np.isnan(outline) else f", {100 * outline:.1f} % of those beside another class"
        overlap = measure.mean_iou(self.truth, self.predicted, range(len(self.names)), ignore=-1)
        rest = f"{100 * right:.1f} % of the pixels are right{edges}; mean IoU {overlap:.3f}."
        return f"{counted(len(self.truth), 'image')} and {len(self.names)} classes: {rest}"


@explanation("segmentation")
def segmentation(obj: Any, X: Any, y: Any, *, classes: Names = None) -> Segmentation:
    """Images, true and predicted classes, and the overlap of each class.

    Args:
        obj: A fitted segmenter.
        X: Images: (n, C, H, W) or (n, H, W), or flat rows where the segmenter takes them.
        y: The label of each pixel: (n, H, W).

    Example:
        >>> from ftheta import UNetSegmenter
        >>> x = np.arange(16.0).reshape(1, 4, 4)
        >>> net = UNetSegmenter(filters=(2, 2), epochs=1, random_state=0).fit(x, (x > 5).astype(int))
        >>> segmentation(net, x, (x > 5).astype(int)).table().columns["pixels"]
        [6, 10]
    """
    with untouched(obj.module_) if hasattr(obj, "module_") else nullcontext():
        predicted = np.asarray(obj.predict(X))
    truth = np.asarray(check.plain(y))
    if predicted.ndim != 3 or truth.shape != predicted.shape:
        raise InputError(
            f"y has shape {truth.shape}, but the segmenter labels pixels of shape {predicted.shape}; pass the class of "
            "each of them."
        )
    images = np.array(check.plain(X))
    if images.dtype.kind not in "fiub" or images.size % truth.size:
        raise InputError(f"X is {type(X).__name__} {images.shape} for pixels {truth.shape}; segmentation draws arrays.")
    images = images.reshape(len(truth), -1, *truth.shape[1:])
    names, codes = classes_of(obj, classes), {label: k for k, label in enumerate(obj.classes_.tolist())}
    strange = set(np.unique(truth).tolist()) - set(codes) - {obj.ignore_label}
    if strange:
        raise InputError(f"y holds label {min(strange)}, which is not one of the classes {', '.join(names)}.")
    return Segmentation(images, _coded(truth, codes), _coded(predicted, codes), names)


def _coded(labels: np.ndarray, codes: dict[Any, int]) -> np.ndarray:
    known, inverse = np.unique(labels, return_inverse=True)
    return np.array([codes.get(label, -1) for label in known.tolist()])[inverse].reshape(labels.shape)
