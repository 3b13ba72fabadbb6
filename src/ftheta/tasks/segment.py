"""Segment: a class for every pixel. Detect: boxes around objects, and what the objects are.

Segment:  y (n, H, W) integers; pixels of the ignored label have weight 0
Detect:   y a list of n dicts {"boxes": (m, 4) as x0, y0, x1, y1 in pixels, "labels": (m,)}
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .. import measure, plots
from ..check import plain
from ..data.specs import TargetSpec
from ..errors import InputError, InputTypeError
from ..results import Result, percent
from .base import Headline, Held, Names, Predictions, Task, Values
from .classify import Classify, Parts, class_names, encode_labels, learned_classes, weighted

OVERLAP = "IoU of "  # and the name of a class: a score
MIN_OF_CLASS = 5  # fewer images with a class give its scores no interval


@dataclass(frozen=True)
class Segment(Parts):
    """Classes of pixels; the spec holds `classes`, and `weights` where they differ."""

    ignore: int | None = None  # label of pixels that do not count
    class_weight: Mapping[int, float] | str | None = None
    size: Sequence[int] | None = None  # (H, W) of the images; None: any

    name: ClassVar[str] = "segment"
    part_of: ClassVar[str] = "image"
    needs_y: ClassVar[bool] = True
    title: ClassVar[str] = "segmentation"
    answers: ClassVar[str] = "classes of pixels"
    targets: ClassVar[tuple[str, ...]] = ("segment",)
    judged: ClassVar[str] = "pixel accuracy"

    def learn(self, owner: str, y: Any, n: int, weight: np.ndarray | None = None, classes: Any = None) -> TargetSpec:
        y = self._labels(owner, y, n)
        counted = self._counted(y)
        found = np.unique(y[counted] if classes is None else np.asarray(classes))
        if len(found) < 2:
            have = f"The pixels of y have {len(found)} class(es) {found.tolist()}"
            raise InputError(f"{have}; {owner} needs at least 2. Check the labels.")
        each = None if weight is None else np.broadcast_to(weight[:, None, None], y.shape)[counted]
        return weighted(TargetSpec("segment", len(found), {"classes": found}), self.class_weight, y[counted], each)

    def encode(self, owner: str, y: Any, n: int, spec: TargetSpec) -> np.ndarray:
        """Positions in `classes`, (n, H, W); -1 where the label is ignored."""
        y = self._labels(owner, y, n)
        index, counted = np.full(y.shape, -1, np.int64), self._counted(y)
        if not counted.any():
            raise InputError(f"No pixel of y counts: all are {self.ignore}, which is ignored. Check ignore_label.")
        index[counted] = encode_labels(y[counted], spec.facts["classes"])
        return index

    def decode(self, predictions: np.ndarray, spec: TargetSpec) -> np.ndarray:
        return spec.facts["classes"][predictions]

    def _counted(self, y: np.ndarray) -> np.ndarray:
        return np.ones(y.shape, bool) if self.ignore is None else y != self.ignore

    def _labels(self, owner: str, y: Any, n: int) -> np.ndarray:
        if y is None:
            raise InputError(f"{owner} learns from labels: pass y, (n, height, width), one for every pixel of X.")
        y = np.asarray(plain(y))
        if y.dtype.kind not in "iub":
            raise InputTypeError(f"y holds {y.dtype}; {owner} needs an integer for every pixel, the class.")
        if y.ndim != 3 or len(y) != n:
            needs = f"labels (n, height, width) of all pixels of the {n} images of X"
            raise InputError(f"y has shape {y.shape}; {owner} needs {needs}.")
        if self.size is not None and y.shape[1:] != tuple(self.size):
            sizes = f"{y.shape[1:]} pixels of each image, but the images of X have {tuple(self.size)} (height, width)"
            raise InputError(f"y labels {sizes}; give one label for every pixel.")
        return y

    # ---- before training

    def check_split(self, name: str, y_train: Any, y_test: Any) -> None:
        Classify().check_split(name, y_train, y_test)

    # ---- predictions: maps (n, H, W) of positions in the classes, since names would take too much memory

    def truth(self, y: Any, model: Any, names: Names = ()) -> np.ndarray:
        return np.searchsorted(model.classes_, y)

    def predict(self, model: Any, X: Any, names: Names = (), held: Held = None) -> Predictions:
        return {"predicted": self.truth(model.predict(X), model), "classes": class_names(model, names)}

    def columns(self, predictions: Predictions) -> dict[str, Any]:
        """share(class): of the pixels of an image."""
        maps = predictions["predicted"]
        return {f"share({name})": (maps == k).mean((1, 2)) for k, name in enumerate(predictions["classes"])}

    def draw(self, model: Any, X: Any, predictions: Predictions, title: str) -> tuple[Any, str] | None:
        drawn = plots.segmented(X, None, predictions["predicted"], predictions["classes"], title=title)
        return drawn, "the class of every pixel"

    # ---- how good they are: pixels of an image go together, so images are resampled

    def score(self, y: Any, predictions: Predictions, *, model: Any = None, X: Any = None, seed: int = 0) -> Values:
        """Pixel accuracy, mean IoU, accuracy beside outlines, and the IoU of each class."""
        predicted, names, near = predictions["predicted"], predictions["classes"], measure.boundary(y)
        n, labels = len(y), range(len(names))
        counts = np.stack([measure.pixel_counts(t, a, labels) for t, a in zip(y, predicted, strict=True)])  # (n, K, K)
        columns = np.column_stack([counts.reshape(n, -1), ((y == predicted) & near).sum((1, 2)), near.sum((1, 2))])
        images = (counts.sum(2) > 0).sum(0)  # with a class: (K,)
        few = {f"{OVERLAP}{name}": images[k] < MIN_OF_CLASS for k, name in enumerate(names)}
        few["mean IoU"] = (images[images > 0] < MIN_OF_CLASS).any()
        return self.resampled(columns, lambda sums: _metrics(sums, names), seed, few)

    def constant(self, y: Any) -> dict[str, float] | None:
        """The share of the pixels of each class, by its position."""
        return {str(k): float(count / y.size) for k, count in enumerate(np.bincount(y.ravel()))}

    def baseline(self, constant: Mapping[str, float], like: Predictions) -> Predictions:
        """The most frequent class in every pixel."""
        most = max(range(len(like["classes"])), key=lambda k: constant.get(str(k), 0.0))
        return {**like, "predicted": np.full_like(like["predicted"], most)}

    def baseline_name(self, made: Predictions) -> str:
        return f"always '{made['classes'][made['predicted'].flat[0]]}'"

    def compare(self, y: Any, a: Predictions, b: Predictions, names: tuple[str, str]) -> Any:
        classes = list(dict.fromkeys([*a["classes"], *b["classes"]]))
        place_a, place_b = (np.array([classes.index(name) for name in found["classes"]]) for found in (a, b))
        y = place_a[y]
        of_a, of_b = ((y == place[f["predicted"]]).mean((1, 2)) for place, f in ((place_a, a), (place_b, b)))
        return self.compared(of_a, of_b, names)

    def headlines(self, scores: Mapping[str, Any], y: Any, predictions: Predictions) -> Iterator[Headline]:
        """Pixels that are right; the overlap of the classes; that of the class with the least."""
        yield Headline("right pixels (pixel accuracy)", "pixel accuracy", percent)
        yield Headline("overlap (mean IoU)", "mean IoU", percent)
        least = min((s for s in scores if s.startswith(OVERLAP) and scores[s] is not None), key=scores.__getitem__)
        yield Headline(f"least overlap: {least.removeprefix(OVERLAP)}", least, percent)

    def figures(self, y: Any, predictions: Predictions, target: str) -> dict[str, Callable[[], Result]]:
        classes, predicted = tuple(predictions["classes"]), predictions["predicted"]
        counts = partial(measure.pixel_counts, y, predicted, range(len(classes)))
        return {"Confusion matrix of the pixels": lambda: measure.Confusion(classes, counts())}

    def worst(self, y: Any, predictions: Predictions) -> dict[str, np.ndarray]:
        predicted = predictions["predicted"]
        return {"true": y, "predicted": predicted, "wrong": (y != predicted).mean((1, 2))}

    def worst_note(self, y: Any, predictions: Predictions) -> str:
        wrong = self.worst(y, predictions)["wrong"]
        return f"The images with the most wrong pixels, up to {100 * wrong.max():.1f} % of them."

    def draw_worst(self, images: Any, y: Any, predictions: Predictions, worst: np.ndarray) -> Any:
        maps, x = predictions["predicted"], np.moveaxis(images, -1, 1)
        rows = predictions["rows"][worst] if "rows" in predictions else None
        given = y[worst], maps[worst], predictions["classes"]
        return plots.segmented(x, *given, title="Most wrong images", numbers=rows)


def _metrics(sums: np.ndarray, names: Names) -> dict[str, np.ndarray]:
    """Metrics of sums over images: K² counts of pixels of class k predicted as l, then right pixels beside an outline
    and all of those: (..., K² + 2) -> (...).
    """
    counts = sums[..., :-2].reshape(*sums.shape[:-1], len(names), len(names))
    both = np.diagonal(counts, axis1=-2, axis2=-1)
    with np.errstate(invalid="ignore"):  # 0 / 0, of a class that is nowhere, is NaN
        iou = both / (counts.sum(-1) + counts.sum(-2) - both)
        near = sums[..., -2] / sums[..., -1]
    right = {"pixel accuracy": both.sum(-1) / counts.sum((-1, -2)), "mean IoU": np.nanmean(iou, axis=-1)}
    return right | {"boundary accuracy": near, **{f"{OVERLAP}{name}": iou[..., k] for k, name in enumerate(names)}}


@dataclass(frozen=True)
class Detect(Task):
    """Boxes with labels; the spec holds `classes`."""

    name: ClassVar[str] = "detect"
    title: ClassVar[str] = "detection of objects"
    answers: ClassVar[str] = "boxes"
    targets: ClassVar[tuple[str, ...]] = ("detect",)
    needs_y: ClassVar[bool] = True

    def learn(self, owner: str, y: Any, n: int, weight: np.ndarray | None = None, classes: Any = None) -> TargetSpec:
        labels = [labels for _, labels in _boxes(owner, y, n)]
        found = np.unique(np.concatenate(labels) if classes is None else np.asarray(classes))
        if not len(found):
            raise InputError(f"No image of y has a box; {owner} needs at least one.")
        return TargetSpec("detect", len(found), {"classes": found})

    def encode(self, owner: str, y: Any, n: int, spec: TargetSpec) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each image boxes (m, 4) and positions in `classes` (m,)."""
        return [(boxes, encode_labels(labels, spec.facts["classes"])) for boxes, labels in _boxes(owner, y, n)]

    def decode(self, predictions: Any, spec: TargetSpec) -> list[dict[str, np.ndarray]]:
        """Boxes (m, 4), positions (m,) and scores (m,) of each image as dicts like those of y."""
        known = spec.facts["classes"]
        named = ((boxes, known[np.asarray(index, np.int64)], scores) for boxes, index, scores in predictions)
        return [dict(zip(("boxes", "labels", "scores"), map(np.asarray, each), strict=True)) for each in named]

    def learned(self, spec: TargetSpec) -> Mapping[str, tuple[tuple[int, ...], str]]:
        return learned_classes(spec)


def _boxes(owner: str, y: Any, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    if y is None or not hasattr(y, "__len__") or len(y) != n:
        raise InputError(f"{owner} learns from a list of {n} dicts, one for each image of X.")
    found = []
    for i, each in enumerate(y):
        if not isinstance(each, Mapping) or not {"boxes", "labels"} <= each.keys():
            raise InputTypeError(f"y[{i}] is {each!r:.40}; it must be a dict with boxes (m, 4) and labels (m,).")
        boxes, labels = np.asarray(each["boxes"], dtype=np.float64).reshape(-1, 4), np.asarray(each["labels"])
        if len(boxes) != len(labels) or not np.isfinite(boxes).all() or (boxes[:, 2:] <= boxes[:, :2]).any():
            raise InputError(f"y[{i}] has {len(boxes)} boxes and {len(labels)} labels; boxes need x0 < x1 and y0 < y1.")
        found.append((boxes, labels))
    return found
