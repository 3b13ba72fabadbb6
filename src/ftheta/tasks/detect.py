"""Detect: boxes around objects, and what the objects are.

y: a list of n dicts {"boxes": (m, 4) as x0, y0, x1, y1 in pixels, "labels": (m,)}.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..data.specs import TargetSpec
from ..errors import InputError, InputTypeError
from .base import Task
from .labels import encode_labels, learned_classes


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
        classes = spec.facts["classes"]
        return [
            {"boxes": np.asarray(boxes), "labels": classes[np.asarray(index, np.int64)], "scores": np.asarray(scores)}
            for boxes, index, scores in predictions
        ]

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
