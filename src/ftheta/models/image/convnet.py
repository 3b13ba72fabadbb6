"""Estimators of images, and convolutional networks: small windows with the same weights at every place.

    z_{o,i,j} = b_o + Σ_c Σ_m Σ_n K_{o,c,m,n} h_{c,i+m,j+n}        one kernel K_o for every position (i, j)
    f(x) = mean over views v of net(v(x))

Shapes: X (n, H, W), (n, H, W, C) or (n, C, H, W); (n, D) with image_shape=(H, W) or (C, H, W); K (C_out, C_in, k, k).
References: LeCun et al. (1998); He et al., arXiv:1512.03385 (2015).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from annotated_types import Ge
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from ...catalog import nearest
from ...check import Count, Share, Widths
from ...data import Batch, InputSpec, TargetSpec, augmentation, views
from ...data.kinds import Images
from ...draw import Draw
from ...errors import InputError
from ...nn import ConvNet, ResNet
from ...selection import Range, Space
from ...train import Objective, Trainer
from .._base.files import load
from .._base.neural import NeuralEstimator
from .._base.rows import Data
from .._base.supervised import NeuralClassifier

Norm = Literal["none", "batch", "layer", "instance", "group", "rms"]
SMALL = 16  # shorter side in pixels of images that keep their size until they are pooled


class ImageEstimator(NeuralEstimator):
    """What all estimators of images share.

    Args:
        image_shape: Of a flat row: (H, W) or (C, H, W); None where X has these axes.
        augment: Random changes of every training batch, by name: "shift", ("shift", "rotate"), {"rotate": 15}.
        start: Folder of a saved model: layers of the same names and shapes start with its weights.
    """

    image_shape: Widths | None = None
    augment: str | Sequence[str] | Mapping[str, Any] | None = None
    start: str = ""

    default_lr: ClassVar[Mapping[str, float]] = {"adam": 1e-3, "adamw": 1e-3}

    @classmethod
    def first_try(cls, rows: int, *, watched: bool, shape: Sequence[int] = ()) -> dict[str, Any]:
        """Settings by default: about 400,000 images (H, W, ...) are seen, each at least 15 times."""
        epochs = min(200, max(15, -(-400_000 // rows)))
        return {"epochs": epochs, "batch_size": 128, **({"patience": max(5, epochs // 5)} if watched else {})}

    def kind(self) -> Images:
        return Images(self.dtype, self.image_shape)

    def augmentation(self) -> Callable[[Batch, Draw], Batch] | None:
        return None if self.augment is None else augmentation(self.augment, n_classes=self.target_.n)

    def process(self, data: Data, held: Data | None) -> Trainer:
        """The trainer of a new net, which starts with the weights of another where `start` says so."""
        if not self.warm_start:
            vars(self).pop("started_", None)
        return super().process(data, held)

    def make(self) -> Objective:
        """Channels last: twice as fast on a CPU."""
        objective = super().make()
        self.module_.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        if self.start and "started_" not in vars(self):  # a model that is loaded has it
            self.started_ = take_over(self, self.start)
        return objective

    def features(self, X: Any, layer: str = "") -> np.ndarray:
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
            return self.apply(through, X)
        finally:
            hook.remove()


class ImageClassifier(ImageEstimator, NeuralClassifier):
    """A net that classifies images.

    Args:
        views: Copies of an image, shifted a little, whose raw outputs are averaged in prediction; 1 is the image alone.
    """

    views: Count = 1

    def raw(self, x: Tensor) -> Tensor:
        if self.views == 1:
            return self.module_(x)
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
        layers = ", ".join(list(given)[:3])
        what = f"start={path!r}: no layer has the name and the shape of one of that model ({layers}, ...)."
        raise InputError(f"{what} Build the same net as that one, but for the output.")
    with torch.no_grad():
        for name in taken:
            own[name].copy_(given[name])
    return {"taken": taken, "fresh": [name for name in own if name not in taken]}


class ConvNetClassifier(ImageClassifier):
    """Classify images with stages of convolutions and poolings, then dense layers.

    Args:
        padding: "valid" (none) or "same".

    Example:
        >>> import numpy as np
        >>> X = np.zeros((20, 8, 8)); X[:10, 2:6, 3] = 1; X[10:, 3, 2:6] = 1  # upright bars, flat bars
        >>> net = ConvNetClassifier(filters=(4,), epochs=30, lr=0.01, random_state=0)
        >>> net.fit(X, np.repeat(["upright", "flat"], 10)).predict(X[[0, -1]]).tolist()
        ['upright', 'flat']
    """

    space: ClassVar[Space] = {
        "filters": [(16,), (32, 64), (32, 64, 128)],
        "kernel": [3, 5],
        "lr": Range(1e-4, 1e-2, log=True),
    }
    net: ClassVar[type | None] = ConvNet
    filters: Widths = (32, 64)
    convs: Count | Widths = 1
    kernel: Count = 3
    padding: Literal["valid", "same"] = "valid"
    pool: Literal["max", "mean", "min", "stride", "none"] = "max"
    norm: Norm = "none"
    activation: str = "relu"
    dropout: Share = 0.0
    hidden: Widths = ()
    head: Literal["flatten", "mean", "max"] = "flatten"

    @classmethod
    def first_try(cls, rows: int, *, watched: bool, shape: Sequence[int] = ()) -> dict[str, Any]:
        """Settings by default; small images are padded."""
        small = {"padding": "same"} if shape and min(shape[:2]) < SMALL else {}
        return super().first_try(rows, watched=watched, shape=shape) | small

    def build(self, x: InputSpec, y: TargetSpec) -> ConvNet:
        names = ("kernel", "padding", "pool", "norm", "activation", "dropout", "head")
        own: dict[str, Any] = {name: getattr(self, name) for name in names} | {"hidden": tuple(self.hidden)}
        convs = self.convs if isinstance(self.convs, int) else tuple(self.convs)
        return ConvNet(x.shape, self.task().likelihood(y).n_raw(y), tuple(self.filters), convs=convs, **own)


class ResNetClassifier(ImageClassifier):
    """Classify images with residual blocks.

    Args:
        filters: Feature maps of each stage; the first block of a stage but the first halves height and width.
        block: "basic" (two 3x3 convolutions) or "bottleneck" (1x1, 3x3, 1x1).

    Example:
        >>> import numpy as np
        >>> X = np.zeros((20, 8, 8)); X[:10, 2:6, 3] = 1; X[10:, 3, 2:6] = 1  # upright bars, flat bars
        >>> net = ResNetClassifier(filters=(4, 8), blocks=1, epochs=20, lr=0.01, random_state=0)
        >>> net.fit(X, np.repeat(["upright", "flat"], 10)).predict(X[[0, -1]]).tolist()
        ['upright', 'flat']
    """

    space: ClassVar[Space] = {"blocks": Range(1, 3), "dropout": Range(0.0, 0.5), "lr": Range(1e-4, 1e-2, log=True)}
    net: ClassVar[type | None] = ResNet
    filters: Widths = (16, 32, 64)
    blocks: Count = 2
    block: Literal["basic", "bottleneck"] = "basic"
    order: Literal["post", "pre"] = "post"
    norm: Norm = "batch"
    activation: str = "relu"
    squeeze: Annotated[int, Ge(0)] = 0
    survival: float = 1.0
    dropout: Share = 0.0

    def build(self, x: InputSpec, y: TargetSpec) -> ResNet:
        names = ("order", "norm", "activation", "squeeze", "survival", "dropout")
        own: dict[str, Any] = {name: getattr(self, name) for name in names} | {"kind": self.block}
        return ResNet(x.shape, self.task().likelihood(y).n_raw(y), tuple(self.filters), self.blocks, **own)
