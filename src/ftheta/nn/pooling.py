"""Pooling and upsampling: smaller maps from large ones, and larger maps from small ones.

    pooling       y_c[i] = max_m x_c[i S + m - P]        or the min, or the mean, over m = 0 ... K - 1
    nearest       y[i] = x[⌊i / f⌋]                      every value f times
    bilinear      y[i] = (1 - t) x[k] + t x[k + 1]       k + t = (i + 1/2) / f - 1/2, held at the ends  (half-pixel)
                                                         k + t = i (n - 1) / (f n - 1)  (align-corners)
    transposed    y[i S + m - P] += w[m] x[i]            the adjoint Cᵀ of a convolution C: ⟨C u, x⟩ = ⟨u, Cᵀ x⟩
    sub-pixel     y_c[f i + r] = h_{cf + r}[i]           f (of an image f²) maps of a convolution h, interleaved
    unpooling     y[p] = x[i]                            p the place of the maximum that pooling kept, 0 elsewhere

(of images: on each axis alike). K is the size of the window, S the stride (K unless given), P the padding on each side,
which is never the extremum and does not count in a mean; f is the factor. The mean is linear, max and min are not;
`stride` keeps the first place of each window. The gradient goes to the place of the extremum (the first of equal ones),
or in equal parts to all places of a mean. A transposed convolution ("deconvolution") is not an inverse: Cᵀ C is not the
identity. Its kernel is as wide as its stride: overlapping copies would leave a checkerboard pattern.

Shapes: signals (B, C, L), images (B, C, H, W); sizes follow `ftheta.formulas.output_size`.
References: Odena, Dumoulin and Olah, Deconvolution and Checkerboard Artifacts (2016); Shi et al., arXiv:1609.05158
(2016), sub-pixel; Zeiler and Fergus, arXiv:1311.2901 (2013), unpooling.
"""

from collections import OrderedDict
from functools import partial
from typing import Any, NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from .. import check
from ..catalog import check_known
from ..errors import InputError, RunError
from .conv import check_dims, check_sizes, convolution


class _Negated:
    """min x = -max(-x)."""

    def forward(self, input: Tensor) -> Tensor:
        return -super().forward(-input)  # pyright: ignore[reportAttributeAccessIssue]


class MinPool1d(_Negated, nn.MaxPool1d): ...


class MinPool2d(_Negated, nn.MaxPool2d): ...


class Subsample(nn.Module):
    """The first place of each window: every S-th place of each axis."""

    def __init__(self, dims: int, kernel_size: int, stride: int) -> None:
        super().__init__()
        self.dims, self.kernel_size, self.stride = dims, kernel_size, stride

    def forward(self, x: Tensor) -> Tensor:
        return x[..., *(slice(0, n - self.kernel_size + 1, self.stride) for n in x.shape[-self.dims :])]

    def extra_repr(self) -> str:
        return f"{self.dims}, kernel_size={self.kernel_size}, stride={self.stride}"


class Pooling(NamedTuple):
    """What there is to know of a way to pool."""

    layers: tuple[Any, Any]  # make the module for signals and for images
    formula: str  # what becomes of a window
    linear: bool  # whether the pooled sum of two maps is the sum of the pooled maps
    windows: bool = True  # False: the complete map is one window, whatever its size


POOLINGS: dict[str, Pooling] = {
    "max": Pooling((nn.MaxPool1d, nn.MaxPool2d), "the largest", False),
    "mean": Pooling((nn.AvgPool1d, nn.AvgPool2d), "the mean", True),
    "min": Pooling((MinPool1d, MinPool2d), "the smallest", False),
    "stride": Pooling((partial(Subsample, 1), partial(Subsample, 2)), "the first", True),
    "global_max": Pooling((nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d), "the largest of the map", False, False),
    "global_mean": Pooling((nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d), "the mean of the map", True, False),
}


def pooling(kind: str, size: int = 2, *, dims: int = 2, stride: int | None = None, padding: int = 0) -> nn.Module:
    """A pooling layer by its name.

    Args:
        kind: A key of `POOLINGS`. The global ones take all of a map as their window, whatever `size` is, and leave one
            number of each: (B, C, 1, 1).
        size: Size K of the window.
        dims: 1 for signals (B, C, L), 2 for images (B, C, H, W).
        stride: Step S from one window to the next; K if None.
        padding: Places added on each side, at most K/2.

    Example:
        >>> import torch
        >>> pooling("min")(torch.tensor([[[[1.0, 3.0], [2.0, 8.0]]]])).item()
        1.0
    """
    check_known("pooling", kind, POOLINGS)
    check_dims("pooling", dims)
    layer, step = POOLINGS[kind].layers[dims - 1], size if stride is None else stride
    if not POOLINGS[kind].windows:
        return layer(1)
    for name, value, least in (("size", size, 1), ("stride", step, 1), ("padding", padding, 0)):
        check.at_least(f"{name} of pooling", value, least, integer=True)
    if 2 * padding > (0 if kind == "stride" else size):
        raise InputError(
            f"padding={padding} is more than half of the window of pooling {kind!r} with size={size}; some windows "
            "would hold nothing else."
        )
    if kind == "stride":
        return layer(size, step)
    return layer(size, step, padding, **({"count_include_pad": False} if kind == "mean" else {}))


UPSAMPLINGS = ("nearest", "bilinear", "transposed", "subpixel")


def upsampling(
    kind: str, n_in: int, n_out: int, factor: int = 2, *, dims: int = 2, align_corners: bool = False
) -> nn.Module:
    """A layer that enlarges maps by a factor.

    Args:
        kind: nearest, bilinear, transposed or subpixel. The first two have no weights; where n_out is not n_in, a 3x3
            convolution follows them.
        n_in: Maps that come in.
        n_out: Maps that go out.
        factor: Places for one, on each axis.
        dims: 1 for signals (B, C, L), 2 for images (B, C, H, W).
        align_corners: Whether bilinear puts the outermost values of both grids, not their edges, over each other.

    Example:
        >>> import torch
        >>> upsampling("bilinear", 1, 1, dims=1)(torch.tensor([[[1.0, 2.0]]])).tolist()
        [[[1.0, 1.25, 1.75, 2.0]]]
    """
    check_known("upsampling", kind, UPSAMPLINGS)
    check_dims("upsampling", dims)
    for name, value in (("n_in", n_in), ("n_out", n_out), ("factor", factor)):
        check_sizes("upsampling", name, value, several=False)
    if kind == "transposed":
        return (nn.ConvTranspose1d if dims == 1 else nn.ConvTranspose2d)(n_in, n_out, factor, stride=factor)
    if kind == "subpixel":
        shuffle: Any = Interleave1d(factor) if dims == 1 else nn.PixelShuffle(factor)
        return nn.Sequential(OrderedDict(conv=convolution(n_in, n_out * factor**dims, dims=dims), shuffle=shuffle))
    mode = kind if kind == "nearest" else ("linear", "bilinear")[dims - 1]
    corners = None if kind == "nearest" else align_corners
    resize: Any = nn.Upsample(scale_factor=factor, mode=mode, align_corners=corners)
    if n_in == n_out:
        return resize
    return nn.Sequential(OrderedDict(resize=resize, conv=convolution(n_in, n_out, dims=dims)))


class Interleave1d(nn.Module):
    """Each group of f maps becomes one that is f times as long: nn.PixelShuffle of signals."""

    def __init__(self, factor: int) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return x.unflatten(-2, (-1, self.factor)).transpose(-2, -1).flatten(-2)  # (B, C, f, L) -> (B, C, L, f)

    def extra_repr(self) -> str:
        return f"factor={self.factor}"


class RememberingPool(nn.Module):
    """Max pooling of windows side by side that remembers where the maxima were, for the `Unpool` made of it.

    Args:
        size: Size of the window, and its step.
        dims: 1 for signals (B, C, L), 2 for images (B, C, H, W).
    """

    def __init__(self, size: int = 2, *, dims: int = 2) -> None:
        super().__init__()
        self.max: Any = pooling("max", size, dims=dims)
        self.max.return_indices, self.dims = True, dims
        self.positions: Tensor | None = None  # (B, C, ...), places in the flattened map, of the last pass
        self.before: tuple[int, ...] = ()  # size of the map before pooling

    def forward(self, x: Tensor) -> Tensor:
        y, self.positions = self.max(x)
        self.before = tuple(x.shape[-self.dims :])
        return y


class Unpool(nn.Module):
    """Puts values where the pooling before it found its maxima, and zeros elsewhere.

    Args:
        pool: The pooling whose last positions are taken.

    Example:
        >>> import torch
        >>> pool = RememberingPool(dims=1)
        >>> Unpool(pool)(pool(torch.tensor([[[1.0, 4.0, 3.0, 2.0]]]))).tolist()
        [[[0.0, 4.0, 3.0, 0.0]]]
    """

    def __init__(self, pool: RememberingPool) -> None:
        super().__init__()
        self.pool = pool

    def forward(self, y: Tensor) -> Tensor:
        positions = self.pool.positions
        if positions is None:
            raise RunError("Unpool has no positions yet; pass the maps through its RememberingPool first.")
        if positions.shape != y.shape:
            raise InputError(
                f"Unpool got values of shape {tuple(y.shape)} for positions of shape {tuple(positions.shape)}; their "
                "number of rows, maps and places must be what the pooling gave."
            )
        unpool = F.max_unpool1d if self.pool.dims == 1 else F.max_unpool2d
        return unpool(y, positions, self.pool.max.kernel_size, output_size=self.pool.before)
