"""Recall: the stored pattern that is nearest to a cue; y may name the patterns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import check
from ..data.specs import TargetSpec
from .base import Held, Names, Predictions
from .generate import Generate


@dataclass(frozen=True)
class Recall(Generate):
    """Stored patterns."""

    name: ClassVar[str] = "recall"
    title: ClassVar[str] = "memory of patterns"
    wait: ClassVar[str] = ""

    def encode(self, owner: str, y: Any, n: int, spec: TargetSpec) -> np.ndarray | None:
        """Labels of the patterns as they are, (n,); None where they have none."""
        if y is None:
            return None
        found = check.target(owner, y, n, numeric=False, columns=False)
        return found.astype(str) if found.dtype.kind == "O" and all(isinstance(v, str) for v in found) else found

    def defaults(self, known: Mapping[str, Any], *, watched: bool, labeled: bool, optimizer: str | None) -> Any:
        return ({"keep": "medoid"} if "keep" in known and labeled else {}), {}

    def predict(self, model: Any, X: Any, names: Names = (), held: Held = None) -> Predictions:
        return {"predicted": model.predict(X), "none": model.spurious}

    def notes(self, predictions: Predictions) -> list[str]:
        predicted, none = predictions["predicted"], predictions["none"]
        lost = int((predicted == none).sum())
        return [f"{lost} of {len(predicted)} rows ended in no stored pattern: {none!r}"] if lost else []
