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
from ...plots import GREY, PALETTE, Axes, Figure, canvas, drawn, mosaic, short, tiles
from ...results import Result, counted
from .._probe import classes_of, finite, image_shape, in_units, untouched
from .._registry import Names, explanation

MAX_TILES = 64  # samples that are drawn
BELOW: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14)}


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
        columns = {"sample": range(len(self.rows)), "mean": self.rows.mean(1), "class": self.labels}
        return columns | {"nearest row": self.nearest, "distance": self.distance}

    @drawn
    def figure(self) -> Figure:
        """At most 64 samples, their nearest rows at the same places, and the distances; points where rows are not
        images: the first two columns, or the order of one."""
        return self._points() if self.shape[-2] == 1 else self._images()

    def _images(self) -> Figure:
        cut = f", the first {MAX_TILES} of {len(self.rows)}" if len(self.rows) > MAX_TILES else ""
        given = {f"Samples{cut}": self.rows, "Nearest training rows": self.neighbors}
        some = {k: v[:MAX_TILES].reshape(-1, *self.shape).astype(float) for k, v in given.items() if v is not None}
        n, high = min(len(self.rows), MAX_TILES), min(1.0, self.shape[-2] / self.shape[-1])
        columns = min(8, n)
        height, wide = max(3.0, 1.0 + 0.42 * -(-n // columns) * high), 0.8 + 0.42 * columns
        widths = [max(3.2, wide)] if self.neighbors is None else [wide, wide, 3.2]
        width = sum(widths) / len(widths)
        figure, grid = canvas(len(widths), across=3, width=width, height=height, width_ratios=widths)
        both = np.concatenate(list(some.values()))
        for axes, (title, shown) in zip(grid, some.items(), strict=False):
            mosaic(axes, tiles(shown), columns, limits=(float(both.min()), float(both.max()) or 1.0))
            axes.set(title=title)
        self._distances(grid[-1])
        return figure

    def _points(self) -> Figure:
        figure, grid = canvas(1 if self.neighbors is None else 2, width=4.4, height=4.0)
        d = self.rows.shape[1]
        few = d > 1 and len(np.unique(self.rows)) <= 3  # values: points that lie on one another are spread
        for k, (label, given) in enumerate({"sample": self.rows, "nearest training row": self.neighbors}.items()):
            if given is not None:
                x = np.column_stack([np.arange(len(given)), given]) if d == 1 else given[:, :2].astype(float)
                x += 0.4 * few * (np.random.default_rng(k).random(x.shape) - 0.5)
                grid[0].scatter(*x.T, s=18, marker="ox"[k], color=PALETTE[k], label=label)
        called = [short(name) for name in self.names] or ["column 1", "column 2"]
        x, y = ("sample", called[0]) if d == 1 else called[:2]
        grid[0].set(title="Samples" + ", points spread to be seen" * few, xlabel=x, ylabel=y)
        if self.neighbors is not None:
            grid[0].legend(**BELOW)
        self._distances(grid[-1])
        return figure

    def _distances(self, axes: Axes) -> None:
        """Shares of samples and of training rows that lie nearer than this to a training row, where it is known."""
        if self.distance is None or self.usual is None:
            return
        looks = {"samples": (self.distance, PALETTE[0], "-"), "training rows, to the others": (self.usual, GREY, "--")}
        for label, (values, color, style) in looks.items():
            if len(values):
                x = np.sort(values)
                axes.step([0.0, *x], np.arange(len(x) + 1) / len(x), where="post", color=color, ls=style, label=label)
        axes.set(title="Copies?", xlabel="distance to the nearest training row", ylim=(0, 1.02), xlim=(0, None))
        axes.set(ylabel="share that is nearer than this")
        axes.legend(**BELOW)

    @property
    def caption(self) -> str:
        count = counted(len(self.rows), "sample")
        if self.distance is None or self.usual is None:
            return f"{count}."
        near = f"{count}; median distance to the nearest training row {np.median(self.distance):.4g}"
        usual = f", of training rows to one another {np.median(self.usual):.4g}" if len(self.usual) else ""
        return f"{near}{usual}; {int((self.distance == 0).sum())} copies."


@explanation(
    "samples",  # other objects than estimators always are fitted
    when=lambda obj: not hasattr(obj, "fit") or any(n.endswith("_") and not n.startswith("_") for n in vars(obj)),
    otherwise="is not fitted; {} needs a fitted model",
)
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
    found = Samples(rows, shown, None if labels is None else np.asarray(labels))
    if X is not None:
        x = finite("X", X)
        x = x.reshape(len(x), -1)
        if x.shape[1:] != rows.shape[1:] or not len(x):
            both = f"X has rows of {x.shape[1]} numbers, the samples of {rows.shape[1]}"
            raise InputError(f"{both}; pass the training rows.")
        known = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(x)
        near = known.kneighbors(rows, return_distance=False)[:, 0]
        some = x[:: -(-len(x) // len(rows))] if len(x) > 1 else x[:0]
        other = known.kneighbors(some, 2, return_distance=False)[:, 1] if len(some) else np.zeros(0, int)
        far, usual = np.linalg.norm(rows - x[near], axis=1), np.linalg.norm(some - x[other], axis=1)
        found = replace(found, nearest=near, neighbors=x[near], distance=far, usual=usual)
    if shown[-2] > 1:
        return found
    neighbors = None if found.neighbors is None else in_units(found.neighbors, scales)
    return replace(found, rows=in_units(rows, scales), neighbors=neighbors, names=tuple(names or ()))


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
