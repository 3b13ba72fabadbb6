"""Text: one string, or a list of documents, as numbers of characters.

Without a window a row is a document, and a batch is padded to its longest: (B, T) integers. With a window, the
documents are one long text, and a batch holds windows of it with the characters that follow as targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...errors import InputError, InputTypeError
from ..specs import InputSpec
from .base import Inputs, Kind
from .inputs import Items, Windows, padded

if TYPE_CHECKING:
    from ...results import Table
    from ..datasets import Dataset

PADDING, UNKNOWN, FIRST = 0, 1, 2  # numbers: after the end, a character that fit never saw, the first known one


@dataclass(frozen=True)
class Text(Kind):
    """A string or a list of strings."""

    window: int | None = None  # characters that a net sees; None: complete documents

    name: ClassVar[str] = "text"
    split: ClassVar[str] = "chronological"
    unit: ClassVar[str] = "characters"

    def check(self, X: Any, owner: Any, spec: InputSpec | None = None) -> Inputs:
        """X as numbers of characters; the vocabulary is learned by `fit`."""
        name = type(owner).__name__
        texts = [X] if isinstance(X, str) else X
        if isinstance(texts, bytes) or not hasattr(texts, "__len__") or not len(texts):
            raise InputTypeError(f"X is a {type(X).__name__}; {name} takes a string or a list of strings.")
        texts = [texts[i] for i in range(len(texts))] if isinstance(texts, list | tuple) else list(texts)
        for i, text in enumerate(texts):
            if not isinstance(text, str) or not text:
                raise InputTypeError(f"X[{i}] is {text!r:.40}; {name} takes strings that are not empty.")
        if spec is None:
            points = np.unique(_points("".join(texts)))
            spec = InputSpec(() if self.window is None else (self.window,), {"characters": points})
        numbers = [encode(text, spec) for text in texts]
        if self.window is None:
            return Items(numbers, spec, padded)
        stream = np.concatenate(numbers)
        if len(stream) <= self.window:
            raise InputError(f"X has {len(stream)} characters; windows of {self.window} need at least one more.")
        return Windows(stream, spec, self.window, stride=self.window)

    def verify(self, spec: InputSpec) -> None:
        """The vocabulary holds code points, each once, in order."""
        points = np.asarray(spec.facts["characters"])
        ordered = points.ndim == 1 and points.dtype.kind == "i" and len(points) and (np.diff(points) > 0).all()
        if not ordered or points[0] < 0 or points[-1] > 0x10FFFF:
            raise ValueError("a vocabulary that is not a list of characters")

    # ---- data sets of this kind, for jobs

    @classmethod
    def take(cls, x: Any, rows: Any) -> Any:
        if not isinstance(x, str):
            return super().take(x, rows)
        index = np.arange(len(x))[rows]
        return x[index[0] : index[-1] + 1] if len(index) else ""

    @classmethod
    def content(cls, x: Any) -> bytes:
        return "\0".join([x] if isinstance(x, str) else x).encode("utf-8", "surrogatepass")

    @classmethod
    def fields(cls, data: Dataset) -> list[dict[str, Any]]:
        ends = {"lowest": None, "highest": None}
        return [{"name": "character", "kind": "category", "missing": 0, "levels": len(set(data.x)), **ends}]

    @classmethod
    def first(cls, data: Dataset, rows: int) -> Table:
        from ...results import Table

        return Table({"first lines": data.x[:1000].splitlines()[:rows]})


def encode(text: str, spec: InputSpec) -> np.ndarray:
    """The numbers of the characters of a text, (T,) int64."""
    points, known = _points(text), np.asarray(spec.facts["characters"])
    index = np.searchsorted(known, points).clip(max=len(known) - 1)
    return np.where(known[index] == points, index + FIRST, UNKNOWN)


def decode(numbers: Any, spec: InputSpec) -> str:
    """The text of these numbers; an unknown character is the replacement character."""
    known = np.asarray(spec.facts["characters"]).tolist()
    return "".join(chr(known[i - FIRST]) if i >= FIRST else "\ufffd" for i in np.asarray(numbers).tolist() if i)


def vocabulary_size(spec: InputSpec) -> int:
    """How many numbers there are, with padding and unknown."""
    return FIRST + len(spec.facts["characters"])


def _points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
