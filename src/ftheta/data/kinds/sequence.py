"""Steps in time: sequences (T_i, D), and text, a string or documents, as numbers of characters.

A batch of sequences is padded with zeros to its longest: x (B, T, D + 1), where the last channel is 1 at real steps and
0 in the padding; of tokens and of documents it is (B, T) integers, 0 in the padding. The net of one sequence alone sees
what it sees in a batch only if it uses that. A batch of one long text holds windows and, as
targets, the steps that follow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ... import check
from ...errors import InputError, InputTypeError
from ...results import Table, counted
from ..datasets import Dataset
from ..encode.table import SequenceEncoder
from ..specs import InputSpec
from .base import Inputs, Items, Kind, Windows, field, padded

PADDING, UNKNOWN, FIRST = 0, 1, 2  # numbers: after the end, a token that fit never saw, the first known one


@dataclass(frozen=True)
class Sequences(Kind):
    """A list of sequences of numbers, (T_i, D), or (T_i,) for D = 1, or of tokens: text, or integers if asked for."""

    dtype: str = "float32"
    tokens: bool = False  # whether integers are tokens

    name: ClassVar[str] = "sequence"
    unit: ClassVar[str] = "sequences"
    made_by: ClassVar[str] = "--group COLUMN makes a sequence of the rows with equal cells."

    def check(self, X: Any, owner: Any, spec: InputSpec | None = None) -> Items:
        """X as a list of finite arrays (T_i, D), or of the numbers of tokens (T_i,)."""
        name = type(owner).__name__
        if isinstance(X, str | bytes | Mapping) or not hasattr(X, "__len__") or not len(X):
            raise InputTypeError(f"X is {X!r:.40}; {name} takes a list of sequences, arrays (T, D) or (T,).")
        try:
            rows = [_steps(check.plain(X[i])) for i in range(len(X))]
            text = rows[0].dtype.kind in "UOT"
            rows = [row.astype(str if text else row.dtype if self.tokens else self.dtype) for row in rows]
        except (TypeError, ValueError, LookupError) as error:
            raise InputTypeError(f"X must be a list of sequences of numbers, or of tokens: {error}.") from None
        if text or self.tokens:
            return self._tokens(rows, owner, spec)
        rows = [x[:, None] if x.ndim == 1 else x for x in rows]
        width = int(rows[0].shape[-1] if rows[0].ndim else 0) if spec is None else (*spec.shape, 0)[0]
        for i, x in enumerate(rows):
            if x.ndim != 2 or x.shape[1] != width or not x.size:
                raise InputError(f"X[{i}] has shape {x.shape}; {name} needs sequences of shape (T, {width}), T >= 1.")
            if not np.isfinite(x).all():
                raise InputError(f"X[{i}] contains NaN or inf. Fill or drop those steps.")
        owner.n_features_in_ = width
        made = Items(rows, spec or InputSpec((width,)), _marked)
        return made if spec is not None else replace(made, spec=self.learn(made))

    def _tokens(self, rows: list[np.ndarray], owner: Any, spec: InputSpec | None) -> Items:
        for i, x in enumerate(rows):
            if x.ndim != 1 or not len(x) or (x.dtype.kind == "f" and (x != np.round(x)).any()):
                name = type(owner).__name__
                raise InputError(f"X[{i}] has shape {x.shape}; {name} needs tokens (T,), text or integers, T >= 1.")
        rows = [x.astype(np.int64) if x.dtype.kind in "fu" else x for x in rows]
        spec = spec or InputSpec((), {"tokens": np.unique(np.concatenate(rows))})
        known, owner.n_features_in_ = np.asarray(spec.facts.get("tokens", ())), 1
        if (known.dtype.kind == "U") != (rows[0].dtype.kind == "U"):
            raise InputError(f"X[0] holds {rows[0].dtype}; {type(owner).__name__} was fitted with {known.dtype}.")
        return Items([numbered(x, known) for x in rows], spec, padded)

    def learn(self, inputs: Items) -> InputSpec:
        """Mean and scale of each column over all steps; tokens are as they are."""
        if not inputs.spec.shape:
            return inputs.spec
        steps = np.concatenate(inputs.values).astype(np.float64)
        scale = steps.std(0)
        return inputs.spec._replace(facts={"mean": steps.mean(0), "scale": np.where(scale > 0, scale, 1.0)})

    def verify(self, spec: InputSpec) -> None:
        """Mean and scale of the columns, or tokens, each once, in order."""
        known = np.asarray(spec.facts.get("tokens", ()))
        columns = all(np.shape(spec.facts.get(name, ())) == tuple(spec.shape) for name in ("mean", "scale"))
        ordered = known.ndim == 1 and known.dtype.kind in "iU" and len(known) and (known[1:] > known[:-1]).all()
        if not (columns if len(spec.shape) == 1 else ordered):
            raise ValueError(f"sequences of shape {spec.shape} with facts {', '.join(spec.facts)}")

    # ---- data sets of this kind, for jobs

    @classmethod
    def content(cls, x: Any) -> bytes:
        return super().content([frame.to_numpy().astype(str) if hasattr(frame, "iloc") else frame for frame in x])

    @classmethod
    def encoder(cls, data: Dataset, estimator: Any) -> SequenceEncoder | None:
        """Columns of a table as numbers; arrays, and one column of tokens, are taken as they are."""
        one = hasattr(data.x[0], "iloc") and data.x[0].shape[1] == 1
        tokens = one and (getattr(estimator, "embedding", None) or data.x[0].dtypes.iloc[0] == "category")
        if tokens or not hasattr(data.x[0], "iloc"):
            return None
        dtype: Any = getattr(estimator, "dtype", "float32")
        return SequenceEncoder(dtype)

    @classmethod
    def size(cls, data: Dataset) -> str:
        lengths = [len(row) for row in data.x]
        return f"{counted(data.columns, 'column')}, {min(lengths)} to {max(lengths)} steps"

    @classmethod
    def fields(cls, data: Dataset) -> list[dict[str, Any]]:
        if not hasattr(data.x[0], "iloc"):
            return [field("value", np.concatenate([np.ravel(row) for row in data.x]))]
        return [field(str(name), column) for name, column in pd.concat(list(data.x)).items()]

    @classmethod
    def first(cls, data: Dataset, rows: int) -> Table:
        cells = [np.ravel(np.asarray(row)).tolist()[:8] for row in data.x[:rows]]
        shown = [" ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row) for row in cells]
        return Table({"steps": [len(row) for row in data.x[:rows]], "first values": shown})


def _steps(row: Any) -> np.ndarray:
    """One sequence as an array; a string is words with blanks between them."""
    found = np.asarray(row.split() if isinstance(row, str) else row)
    return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found


def numbered(tokens: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The numbers of tokens in a sorted vocabulary, (T,) int64."""
    index = np.searchsorted(known, tokens).clip(max=len(known) - 1)
    return np.where(known[index] == tokens, index + FIRST, UNKNOWN)


def _marked(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays (T_i, D) as one (B, T, D + 1); the last channel is 1 at real steps."""
    return padded([np.column_stack([row, np.ones(len(row), row.dtype)]) for row in rows])


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
        for i, text in enumerate(texts := list(texts)):
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
        return Table({"first lines": data.x[:1000].splitlines()[:rows]})


def encode(text: str, spec: InputSpec) -> np.ndarray:
    """The numbers of the characters of a text, (T,) int64."""
    return numbered(_points(text), np.asarray(spec.facts["characters"]))


def decode(numbers: Any, spec: InputSpec) -> str:
    """The text of these numbers; an unknown character is the replacement character."""
    known = np.asarray(spec.facts["characters"]).tolist()
    return "".join(chr(known[i - FIRST]) if i >= FIRST else "\ufffd" for i in np.asarray(numbers).tolist() if i)


def vocabulary_size(spec: InputSpec) -> int:
    """How many numbers there are, with padding and unknown."""
    return FIRST + len(spec.facts["characters"])


def _points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
