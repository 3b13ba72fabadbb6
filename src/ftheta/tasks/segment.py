"""Segment: a class for every pixel.

y (n, H, W) whole numbers; pixels of the ignored label have weight 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .. import likelihoods
from ..check import plain
from ..data.specs import TargetSpec
from ..errors import InputError, InputTypeError
from ..likelihoods import Likelihood
from ..results import Result
from .base import LEVEL, Predictions, Task, as_json
from .classify import Classify, class_names
from .labels import class_weights, encode_labels

__all__ = ["Segment"]

FEWEST_IMAGES, FEWEST_OF_A_CLASS = 10, 5  # fewer images, or fewer with a class, give no interval


@dataclass(frozen=True)
class Segment(Task):
    """Classes of pixels; the spec holds `classes`, and `weights` where they differ."""

    ignore: int | None = None  # label of pixels that do not count
    class_weight: Mapping[int, float] | str | None = None
    size: Sequence[int] | None = None  # (H, W) of the images; None: any

    name: ClassVar[str] = "segment"
    needs_y: ClassVar[bool] = True
    title: ClassVar[str] = "segmentation: a class for every pixel"
    answers: ClassVar[str] = "classes of pixels"
    targets: ClassVar[tuple[str, ...]] = ("segment",)

    def learn(self, owner: str, y: Any, n: int, weight: np.ndarray | None = None, classes: Any = None) -> TargetSpec:
        """Classes of the pixels that count."""
        y = self._labels(owner, y, n)
        counted = self._counted(y)
        found = np.unique(y[counted] if classes is None else np.asarray(classes))
        if len(found) < 2:
            raise InputError(
                f"The pixels of y have {len(found)} class(es) {found.tolist()}; {owner} needs at least 2. Check the "
                "labels."
            )
        if self.class_weight is None:
            return TargetSpec("segment", len(found), {"classes": found})
        each = counted * (np.ones(n) if weight is None else weight)[:, None, None]
        counts = np.bincount(encode_labels(y[counted], found), weights=each[counted], minlength=len(found))
        weights = class_weights(self.class_weight, found, counts)
        return TargetSpec("segment", len(found), {"classes": found, "weights": weights})

    def encode(self, owner: str, y: Any, n: int, spec: TargetSpec) -> np.ndarray:
        """Positions in `classes`, (n, H, W); -1 where the label is ignored."""
        y = self._labels(owner, y, n)
        index, counted = np.full(y.shape, -1, np.int64), self._counted(y)
        if not counted.any():
            raise InputError(f"No pixel of y counts: all are {self.ignore}, which is ignored. Check ignore_label.")
        index[counted] = encode_labels(y[counted], spec.facts["classes"])
        return index

    def weigh(self, y: Any, weight: np.ndarray | None, spec: TargetSpec, *, train: bool) -> np.ndarray | None:
        """Weights of pixels (n, H, W) where they differ within an image."""
        counted, own = y >= 0, spec.facts.get("weights") if train else None
        if counted.all() and own is None:
            return weight
        each = counted * (1.0 if weight is None else weight[:, None, None])
        return each if own is None else each * own[y]

    def likelihood(self, spec: TargetSpec) -> Likelihood:
        """Categorical in every pixel."""
        return likelihoods.Categorical()

    def decode(self, predictions: np.ndarray, spec: TargetSpec) -> np.ndarray:
        """Positions as classes."""
        return spec.facts["classes"][predictions]

    def learned(self, spec: TargetSpec) -> Mapping[str, tuple[tuple[int, ...], str]]:
        """Classes, and their weights where they differ."""
        weights = {"weights": ((spec.n,), "f")} if "weights" in spec.facts else {}
        return {"classes": ((spec.n,), "biufUO"), **weights}

    def _counted(self, y: np.ndarray) -> np.ndarray:
        return np.ones(y.shape, bool) if self.ignore is None else y != self.ignore

    def _labels(self, owner: str, y: Any, n: int) -> np.ndarray:
        if y is None:
            raise InputError(f"{owner} learns from labels: pass y, (n, height, width), one for every pixel of X.")
        y = np.asarray(plain(y))
        if y.dtype.kind not in "iub":
            raise InputTypeError(f"y holds {y.dtype}; {owner} needs a whole number for every pixel, the class.")
        if y.ndim != 3 or len(y) != n:
            raise InputError(
                f"y has shape {y.shape}; {owner} needs labels (n, height, width) of all pixels of the {n} images of X."
            )
        if self.size is not None and y.shape[1:] != tuple(self.size):
            raise InputError(
                f"y labels {y.shape[1:]} pixels of each image, but the images of X have {tuple(self.size)} (height, "
                "width); give one label for every pixel."
            )
        return y

    # ---- before training

    def check_split(self, name: str, y_train: Any, y_test: Any) -> None:
        """No class that only test images have."""
        Classify().check_split(name, y_train, y_test)

    def validation_share(self, n: int) -> float:
        """A tenth."""
        return 0.1

    # ---- answers: maps (n, H, W) of positions in the classes, since names would take too much memory

    def truth(self, y: Any, model: Any, names: Sequence[str] = ()) -> np.ndarray:
        """Positions in the classes."""
        return np.searchsorted(model.classes_, y)

    def predict(
        self, model: Any, X: Any, names: Sequence[str] = (), held: Mapping[str, Any] | None = None
    ) -> Predictions:
        """A map per image."""
        return {"predicted": self.truth(model.predict(X), model), "classes": class_names(model, names)}

    def columns(self, predictions: Predictions) -> dict[str, Any]:
        """share(class): of the pixels of an image."""
        maps = predictions["predicted"]
        return {f"share({name})": (maps == k).mean((1, 2)) for k, name in enumerate(predictions["classes"])}

    def draw(self, model: Any, X: Any, predictions: Predictions, title: str) -> tuple[Any, str] | None:
        """An image with the classes of its pixels."""
        from ..plots import segmented

        drawn = segmented(X, None, predictions["predicted"], predictions["classes"], title=title)
        return drawn, "the class of every pixel"

    # ---- how good they are: pixels of an image go together, so images are resampled

    def score(
        self, y: Any, predictions: Predictions, *, model: Any = None, X: Any = None, seed: int = 0
    ) -> dict[str, Any]:
        """Pixel accuracy, mean IoU, accuracy beside outlines, and the IoU of each class.

        C_kl = Σ_i C_kl of image i, pixels of class k predicted as l;      score = f(C)
        """
        from .. import measure

        predicted, names = predictions["predicted"], predictions["classes"]
        n, k, near = len(y), len(names), measure.boundary(y)
        counts = np.stack(
            [measure.pixel_counts(t, a, range(k)) for t, a in zip(y, predicted, strict=True)]
        )  # (n, K, K)
        columns = np.column_stack([counts.reshape(n, -1), ((y == predicted) & near).sum((1, 2)), near.sum((1, 2))])
        boot = measure.Bootstrap(n, LEVEL, seed=seed)
        images = (counts.sum(2) > 0).sum(0)  # with a class: (K,)
        few = bool((images[images > 0] < FEWEST_OF_A_CLASS).any())
        metrics: dict[str, tuple[Callable[[np.ndarray], Any], bool]] = {
            "pixel accuracy": (partial(_accuracy, k=k), False),
            "mean IoU": (lambda s: np.nanmean(_iou(s, k), axis=-1), few),
            "boundary accuracy": (lambda s: _ratio(s[..., -2], s[..., -1]), False),
        }
        for i, name in enumerate(names):
            metrics[f"IoU({name})"] = partial(_iou_of, k=k, place=i), bool(images[i] < FEWEST_OF_A_CLASS)
        scores = [_score(name, columns, f, boot, none) for name, (f, none) in metrics.items()]
        return as_json(measure.Scores(n, LEVEL, tuple(scores)))

    def compare(self, y: Any, a: Predictions, b: Predictions, names: tuple[str, str]) -> Any:
        """The accuracy in each image, in pairs."""
        from .. import measure

        if len(y) < 2:
            raise InputError("There is one test image; two models cannot be compared on fewer than two.")
        classes = list(dict.fromkeys([*a["classes"], *b["classes"]]))
        place_a, place_b = (np.array([classes.index(name) for name in found["classes"]]) for found in (a, b))
        y = place_a[y]
        of_a, of_b = ((y == place[f["predicted"]]).mean((1, 2)) for place, f in ((place_a, a), (place_b, b)))
        d, boot = of_a - of_b, measure.Bootstrap(len(y), LEVEL, seed=0)
        mean = partial(boot.interval, (np.ones(len(d)), d), lambda s: s[..., 1] / s[..., 0])
        low, high = (mean() if len(d) >= FEWEST_IMAGES else None) or (None, None)
        tests = {
            "sign flips": measure.sign_flip(d, 0),
            "paired t": measure.paired_t(d),
            "Wilcoxon signed ranks": measure.wilcoxon(d),
        }
        tested = (measure.PairedTest("accuracy", name, *f, float(d.mean()), low, high) for name, f in tests.items())
        values = {"accuracy": (float(of_a.mean()), float(of_b.mean()))}
        return measure.Comparison(names, len(y), LEVEL, values, tuple(tested))

    def figures(self, y: Any, predictions: Predictions, target: str) -> dict[str, Callable[[], Result]]:
        """Confusion matrix."""
        from .. import measure

        classes = tuple(predictions["classes"])
        counts = partial(measure.pixel_counts, y, predictions["predicted"], range(len(classes)))
        return {"Confusion matrix of the pixels": lambda: measure.Confusion(classes, counts())}

    def worst(self, y: Any, predictions: Predictions) -> dict[str, np.ndarray]:
        """The largest share of wrong pixels first."""
        return {
            "true": y,
            "predicted": predictions["predicted"],
            "wrong": (y != predictions["predicted"]).mean((1, 2)),
        }

    def worst_note(self, y: Any, predictions: Predictions) -> str:
        """How wrong the worst is."""
        wrong = self.worst(y, predictions)["wrong"]
        return f"The images with the most wrong pixels, up to {100 * wrong.max():.1f} % of them."

    def draw_worst(self, images: Any, y: Any, predictions: Predictions, worst: np.ndarray) -> Any:
        """Images beside their true and predicted classes."""
        from ..plots import segmented

        maps, x = predictions["predicted"], np.moveaxis(images, -1, 1)
        return segmented(x, y[worst], maps[worst], predictions["classes"], title="Most wrong images")


def _score(name: str, columns: np.ndarray, f: Callable[[np.ndarray], Any], boot: Any, few: bool) -> Any:
    from .. import measure

    value = float(f(columns.sum(0)))
    found = None if few or boot.n < FEWEST_IMAGES or not np.isfinite(value) else boot.interval(columns.T, f)
    low, high = found or (None, None)
    return measure.Score(name, value, low, high, "none" if found is None else "bootstrap BCa of images")


# ---- of sums of columns: K² counts, then right pixels near an outline and all of them; (..., K² + 2) -> (...)


def _accuracy(s: np.ndarray, k: int) -> np.ndarray:
    counts = s[..., : k * k]
    return counts[..., :: k + 1].sum(-1) / counts.sum(-1)


def _iou(s: np.ndarray, k: int) -> np.ndarray:
    """Of all classes: (..., K)."""
    counts = s[..., : k * k].reshape(*s.shape[:-1], k, k)
    both = np.diagonal(counts, axis1=-2, axis2=-1)
    return _ratio(both, counts.sum(-1) + counts.sum(-2) - both)


def _iou_of(s: np.ndarray, k: int, place: int) -> np.ndarray:
    return _iou(s, k)[..., place]


def _ratio(part: np.ndarray, total: np.ndarray) -> np.ndarray:
    """NaN where there is nothing."""
    return np.divide(part, total, out=np.full(np.shape(part), np.nan), where=np.asarray(total) > 0)
