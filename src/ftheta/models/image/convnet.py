"""Convolutional networks for images: small windows with the same weights at every place.

    z_{o,i,j} = b_o + Σ_c Σ_m Σ_n K_{o,c,m,n} h_{c,i+m,j+n}        one kernel K_o for every position (i, j)

Shapes: B images, X (B, C, H, W), K (C_out, C_in, k, k), R raw outputs of the likelihood.
References: LeCun et al. (1998); He et al., arXiv:1512.03385 (2015).
"""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge

from ...check import Count, Share, Widths
from ...data import InputSpec, TargetSpec
from ...nn import ConvNet, ResNet
from ...selection import Range, Space
from ._images import ImageClassifier

__all__ = ["ConvNetClassifier", "ResNetClassifier"]

Norm = Literal["none", "batch", "layer", "instance", "group", "rms"]
SMALL = 16  # shorter side in pixels of images that keep their size until they are pooled


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
