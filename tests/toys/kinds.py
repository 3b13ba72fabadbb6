"""Kinds and a task that a user could have written: text by its characters, boxes in images, environments to act in.

Text is numbers of characters; a batch of one long text holds windows and, as targets, the steps that follow:
x = steps s + i·stride, ..., T of them, y = the same one step later. Environments follow gymnasium's protocol (reset,
step, observation_space, action_space).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ftheta.data import Batch, Dataset, Indexed, InputSpec, Source, TargetSpec
from ftheta.data.kinds import KINDS, Images, Inputs, Items, Kind, Text
from ftheta.data.kinds.base import on_device, padded
from ftheta.data.kinds.sequence import FIRST, numbered
from ftheta.draw import Draw
from ftheta.errors import InputError, InputTypeError
from ftheta.tasks import TASKS, Task, encode_labels
from ftheta.tasks.classify import learned_classes

# ---- text


@dataclass(frozen=True)
class Windows:
    """Steps one after the other, (n, ...); a batch holds windows of them and, as targets, the steps that follow."""

    values: np.ndarray
    spec: InputSpec
    length: int  # T
    stride: int = 1  # steps between the starts of two windows

    def __len__(self) -> int:
        return len(self.values)

    def take(self, index: Any) -> Windows:
        """A contiguous part."""
        index = np.arange(len(self))[index]
        if len(index) and index[-1] - index[0] + 1 != len(index):
            raise InputError("Steps that follow each other cannot be taken apart at random: take a contiguous part.")
        return replace(self, values=self.values[index])

    def content(self) -> Sequence[np.ndarray]:
        """The steps."""
        return [self.values]

    def source(self, y: Any, weight: Any, *, batch_size: int, shuffle: bool, dtype: torch.dtype, device: Any) -> Source:
        """Batches of windows: x (B, T, ...), y (B, T, ...); in training the first window starts at random."""
        values: Any = on_device(self.values, dtype, device)
        phases = self.stride if shuffle else 1
        n = (len(values) - self.length - phases) // self.stride + 1
        if n < 1:
            raise InputError(
                f"X has {len(values)} steps, but windows of {self.length} steps and the one that follows need at "
                f"least {self.length + phases}. Pass a longer X, hold out less of it, or use shorter windows."
            )
        within = torch.arange(self.length + 1)

        def get(index: Tensor, draw: Draw) -> Batch:
            start = torch.randint(phases, (), generator=draw.generator("phase"))
            window = values[((index * self.stride + start)[:, None] + within).to(device)]  # (B, T + 1, ...)
            return Batch(window[:, :-1], window[:, 1:], None, index)

        return Indexed(n, get, batch_size=batch_size, shuffle=shuffle)


@dataclass(frozen=True)
class Characters(Text):
    """A string or a list of strings."""

    window: int | None = None  # characters that a net sees; None: complete documents

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


# ---- boxes


@dataclass(frozen=True)
class Boxes(Images):
    """Images in which objects are to be found: X as for images, y a list of dicts."""

    name: ClassVar[str] = "boxes"

    @classmethod
    def also(cls, data: Dataset) -> tuple[str, ...]:
        return ()

    @classmethod
    def encoder(cls, data: Dataset, estimator: Any) -> None:
        return None


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


# ---- environments


@dataclass(frozen=True)
class Environment(Kind):
    """The id of an environment of gymnasium, or a function that makes an environment."""

    play: Callable[..., Source] | None = None  # env, batch_size, device -> source; None: the process plays itself

    name: ClassVar[str] = "environment"
    split: ClassVar[str] = "none"
    unit: ClassVar[str] = "environment"

    def check(self, X: Any, owner: Any, spec: InputSpec | None = None) -> Played:
        """An environment with discrete actions, made anew."""
        name, make = (X, _registered(X)) if isinstance(X, str) else (_name(X), X)
        if not callable(make):
            takes = "takes the id of an environment or a function that makes one"
            raise InputTypeError(f"X is {X!r:.40}; {type(owner).__name__} {takes}.")
        env: Any = make()
        actions = getattr(getattr(env, "action_space", None), "n", None)
        if actions is None:
            raise InputError(f"{name} has no discrete actions (action_space.n); {type(owner).__name__} needs those.")
        states, shape = env.observation_space, tuple(getattr(env.observation_space, "shape", ()) or ())
        facts = {"name": name, "actions": int(actions), "states": int(getattr(states, "n", 0))}
        found = InputSpec(tuple(map(int, shape)), facts)
        if spec is not None and (found.shape, facts["actions"]) != (tuple(spec.shape), spec.facts["actions"]):
            raise InputError(f"{name} has other observations or actions than {spec.facts['name']}, used in fit.")
        owner.n_features_in_ = int(np.prod(shape)) if shape else 1
        return Played(make, spec or found, self.play)

    # ---- for jobs: x makes the environment, and has length 1

    @classmethod
    def take(cls, x: Any, rows: Any) -> Any:
        return x

    @classmethod
    def content(cls, x: Any) -> bytes:
        return _name(x).encode()

    @classmethod
    def fields(cls, data: Dataset) -> list[dict[str, Any]]:
        ends = {"missing": 0, "levels": 1, "lowest": None, "highest": None}
        return [{"name": _name(data.x), "kind": cls.name, **ends}]


@dataclass(frozen=True)
class Played:
    """An environment that is played in."""

    make: Callable[[], Any]
    spec: InputSpec
    play: Callable[..., Source] | None = None

    def __len__(self) -> int:
        return 1

    def take(self, index: Any) -> Played:
        return self  # an environment has no parts

    def content(self) -> Sequence[np.ndarray]:
        return [np.frombuffer(self.spec.facts["name"].encode(), np.uint8)]

    def source(self, y: Any, weight: Any, *, batch_size: int, shuffle: bool, dtype: torch.dtype, device: Any) -> Source:
        """What the agent lives through."""
        if self.play is None:
            raise InputError(f"{self.spec.facts['name']} has no batches: it is played in by a process.")
        return self.play(self.make(), batch_size=batch_size, device=device)


def _registered(name: str) -> Callable[[], Any]:
    import gymnasium

    return lambda: gymnasium.make(name)


def _name(make: Any) -> str:
    return f"{getattr(make, '__module__', '')}:{getattr(make, '__qualname__', type(make).__name__)}"


KINDS |= {kind.name: kind for kind in (Boxes, Environment)}
TASKS |= {Detect.name: Detect}
