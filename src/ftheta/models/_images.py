"""Estimators that take images: arrays, flat rows, pictures on disk or a folder.

    whole numbers of 8 or 16 bits -> [0, 1];   floats stay as they are;   f(x) = mean over views v of net(v(x))

Shapes: X (n, C, H, W); (n, H, W) is grey; (n, D) with image_shape=(H, W) or (C, H, W).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from ..catalog import nearest
from ..check import Count, Widths
from ..data import Batch, InputSpec, Pictures, augmentation, open_images, views
from ..draw import Draw
from ..errors import InputError
from ..train import Objective
from ._files import load
from ._neural import NeuralEstimator
from ._pixels import images
from ._rows import Arrays
from ._supervised import NeuralClassifier

__all__ = ["ImageClassifier", "ImageInput"]


@dataclass(kw_only=True, eq=False, repr=False)
class ImageInput(NeuralEstimator):
    """What all estimators of images share.

    Args:
        image_shape: Of a flat row: (H, W) or (C, H, W); None where X has these axes.
        augment: Random changes of every training batch, by name: "shift", ("shift", "rotate"), {"rotate": 15}.
        start: Folder of a saved model: layers of the same names and shapes start with its weights.
    """

    image_shape: Widths | None = None
    augment: str | Sequence[str] | Mapping[str, Any] | None = None
    start: str = ""

    part: ClassVar[int] = 256
    usual_rates: ClassVar[Mapping[str, float]] = {"adam": 1e-3, "adamw": 1e-3}

    @classmethod
    def first_try(cls, rows: int, *, watched: bool, shape: Sequence[int] = ()) -> dict[str, Any]:
        """Settings where nothing is said: about 400,000 images (H, W, ...) are seen, each at least 15 times."""
        epochs = min(200, max(15, -(-400_000 // rows)))
        return {"epochs": epochs, "batch_size": 128, **({"patience": max(5, epochs // 5)} if watched else {})}

    def _table(self, X: Any, *, reset: bool = False) -> Any:
        if isinstance(X, str | Path):
            shape = None if reset else self.input_.shape
            size = {} if shape is None else {"size": shape[1:], "channels": shape[0]}
            X = open_images(X, required=False, **size).x
        if not isinstance(X, Pictures):
            X = images(type(self).__name__, X, dtype=self.dtype, shape=self.image_shape)
        if not reset and X.shape[1:] != tuple(self.input_.shape):
            name, given, fitted = type(self).__name__, _times(X.shape[1:]), _times(self.input_.shape)
            raise InputError(
                f"X has images of {given} (channels x height x width), but {name} was fitted with {fitted}. Resize or "
                "convert them, e.g. with ftheta.data.read_picture."
            )
        return X

    def _learn_rows(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Arrays:
        X, y = self._labelled(X, y)
        x = self._table(X, reset=True)
        self.input_ = InputSpec(tuple(map(int, x.shape[1:])))
        self.n_features_in_ = int(np.prod(x.shape[1:]))
        self.target_ = self._learn_target(y, len(x), classes)
        return self._weighted(x, y, sample_weight)

    def _encode(self, X: Any, y: Any, sample_weight: Any) -> Arrays:
        return super()._encode(*self._labelled(X, y, *self.input_.shape), sample_weight)

    def _labelled(self, X: Any, y: Any, channels: int | None = None, *size: int) -> tuple[Any, Any]:
        """Pictures of a folder with the names of their folders, where no labels are given."""
        if not isinstance(X, str | Path) or y is not None:
            return X, y
        found = open_images(X, size=size or None, channels=channels)  # type: ignore[arg-type]
        return found.x, found.y

    def _augmentation(self) -> Callable[[Batch, Draw], Batch] | None:
        return None if self.augment is None else augmentation(self.augment, n_classes=self.target_.n)

    def _build(self, seed: int, *, fresh: bool = True) -> Objective:
        objective = super()._build(seed, fresh=fresh)
        self.module_.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # twice as fast on a CPU
        if self.start and fresh:
            self.started_ = take_over(self, self.start)
        return objective

    def features(self, X: ArrayLike, layer: str = "") -> np.ndarray:
        """What a layer gives for each image, (n, ...); without a name, what the last one with weights sees: (n, D)."""
        check_is_fitted(self)
        known = dict(self.module_.named_modules())
        name = layer or [n for n, m in known.items() if isinstance(m, nn.Linear | nn.Conv2d)][-1]
        if name not in known or not name:
            raise InputError(nearest("layer", layer, [n for n in known if n]))
        kept: list[Tensor] = []

        def keep(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            kept.append(output if layer else inputs[0])

        def through(x: Tensor) -> Tensor:
            self.module_(x)
            return kept.pop()

        hook = known[name].register_forward_hook(keep)
        try:
            return self._apply(through, X)
        finally:
            hook.remove()


@dataclass(kw_only=True, eq=False, repr=False)
class ImageClassifier(ImageInput, NeuralClassifier):
    """A net that classifies images.

    Args:
        views: Copies of an image, shifted a little, whose raw outputs are averaged in prediction; 1 is the image alone.
    """

    views: Count = 1

    def _raw(self, x: Tensor) -> Tensor:
        return torch.stack([self.module_(view(x)) for view in views(self.views)]).mean(0)


def take_over(estimator: Any, path: str) -> dict[str, list[str]]:
    """Weights of a saved model into the layers that have the same names and shapes; which were, and which were not.

    The output layer is taken over only where the classes are the same too.
    """
    loaded = load(path)
    other = loaded[-1] if hasattr(loaded, "steps") else loaded
    given, own = other.module_.state_dict(), estimator.module_.state_dict()
    same_classes = np.array_equal(getattr(other, "classes_", ()), getattr(estimator, "classes_", ()))
    taken = [
        name
        for name, value in own.items()
        if name in given and given[name].shape == value.shape and (same_classes or "output" not in name.split("."))
    ]
    if not any(own[name].ndim > 1 for name in taken):
        raise InputError(
            f"start={path!r}: no layer has the name and the shape of one of that model ({', '.join(list(given)[:3])}, "
            "...). Build the same net as that one, but for the output."
        )
    with torch.no_grad():
        for name in taken:
            own[name].copy_(given[name])
    return {"taken": taken, "fresh": [name for name in own if name not in taken]}


def _times(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))
