"""Convolution layers of signals and images: one small kernel, the same at every place.

    y_o[i] = b_o + Σ_c Σ_m w_oc[m] x_c[i S + m D - P],      m = 0 ... K - 1        (on each axis of an image alike)

S is the stride, D the dilation (taps are D apart), P the padding on each side; what lies outside is 0 (`zeros`), the
mirror image without the edge (`reflect`) or the other end (`circular`). The sum is a cross-correlation; a true
convolution has the kernel turned around, which makes no difference to learning. A layer has O C K + O weights for C
maps to O (O C K² + O for images) at any size of the input; with G groups that share no weights O C/G K + O.

Shapes: signals (B, C, L), images (B, C, H, W); sizes follow `ftheta.formulas.output_size`.
References: LeCun et al., Gradient-Based Learning (1998); Chollet, arXiv:1610.02357 (2017), for separable layers.
"""

from collections import OrderedDict
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from .. import check
from ..catalog import check_known
from ..errors import InputError
from ..formulas.convolution import MODES, of_a_group, side


class Conv2d(nn.Conv2d):
    """torch's layer, but for 1x1 kernels with a stride."""

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """A 1x1 kernel with a stride is one without a stride on a part of the input: oneDNN writes past its workspace
        where channels come last and are fewer than eight, or sixteen with AVX-512 (its issue 6035)."""
        if self.kernel_size == (1, 1) and self.stride != (1, 1) and self.padding == (0, 0):
            down, right = self.stride
            return F.conv2d(input[..., ::down, ::right], weight, bias, groups=self.groups)
        return super()._conv_forward(input, weight, bias)


def convolution(
    n_in: int,
    n_out: int,
    kernel: int | Sequence[int] = 3,
    *,
    dims: int = 2,
    stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[int] = "same",
    mode: str = "zeros",
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    bias: bool = True,
) -> nn.Conv1d | nn.Conv2d:
    """A convolution layer of torch; sizes are one number, or one for each axis.

    Args:
        n_in: Maps that come in.
        n_out: Maps that go out.
        kernel: Size K of the kernel; 1 is a dense layer at every pixel.
        dims: 1 for signals (B, C, L), 2 for images (B, C, H, W).
        stride: Step S from one window to the next.
        padding: "same" keeps the size at stride 1 and gives ⌈n/S⌉ else, "valid" adds nothing; or P on each side.
        mode: What the padding is filled with: zeros, reflect or circular.
        dilation: Distance D of the taps.
        groups: Parts of the maps that do not see one another; n_in for a depthwise layer.
        bias: Whether each map has an offset.

    Example:
        >>> convolution(3, 16)
        Conv2d(3, 16, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    """
    check_dims("convolution", dims)
    check_known("padding mode", mode, MODES)
    for name, count in (("n_in", n_in), ("n_out", n_out), ("groups", groups)):
        check.at_least(f"{name} of convolution", count, 1, integer=True)
    of_a_group(n_in, n_out, groups)
    sizes = {"kernel": kernel, "stride": stride, "dilation": dilation}
    window, step, apart = (per_axis(check_sizes("convolution", name, v), dims) for name, v in sizes.items())
    layer: Any = nn.Conv1d if dims == 1 else Conv2d  # the number of axes is not known to the type checker
    return layer(n_in, n_out, window, step, _padding(padding, window, apart), apart, groups, bias, mode)


def separable(
    n_in: int, n_out: int, kernel: int | Sequence[int] = 3, *, dims: int = 2, bias: bool = True, **options: Any
) -> nn.Sequential:
    """A kernel for each map (`depth`), then a mixture of the maps at each place (`point`): C K² + O C weights.

    Args: as of `convolution`; only `depth` has a kernel, and only `point` a bias.

    Example:
        >>> sum(p.numel() for p in separable(64, 128).parameters())  # 73,856 for convolution(64, 128)
        8896
    """
    depth = convolution(n_in, n_in, kernel, dims=dims, groups=n_in, bias=False, **options)
    return nn.Sequential(OrderedDict(depth=depth, point=convolution(n_in, n_out, 1, dims=dims, bias=bias)))


def check_dims(what: str, dims: int) -> None:
    """Raise unless there are one or two axes of positions."""
    if dims not in (1, 2):
        raise InputError(f"dims of {what}={dims!r}; it must be 1 (signals) or 2 (images).")


def per_axis(value: int | Sequence[int], dims: int) -> tuple[int, ...]:
    """One number for each axis."""
    given = (value,) * dims if isinstance(value, Integral) else tuple(value)  # pyright: ignore[reportArgumentType]
    if len(given) != dims:
        raise InputError(f"Got {given!r} for {dims} axes; give one number for all axes or one for each.")
    return tuple(int(v) for v in given)


def check_sizes(what: str, name: str, value: Any, least: int = 1, *, several: bool = True) -> Any:
    """The value, if it is an integer of at least `least`, or a sequence of such where several may be given."""
    for number in value if several and isinstance(value, Sequence) else (value,):
        check.at_least(f"{name} of {what}", number, least, integer=True)
    return value


def check_share(name: str, value: Any) -> None:
    """Raise unless it is a probability of dropout: a number in [0, 1)."""
    if not check.at_least(name, value, 0) < 1:
        raise InputError(f"{name}={value!r}; it must be a number in the range [0, 1).")


def _padding(given: str | int | Sequence[int], kernel: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    """Padding on each side of each axis."""
    if not isinstance(given, str):
        return per_axis(check_sizes("convolution", "padding", given, 0), len(kernel))
    return tuple(side(given, k, d) for k, d in zip(kernel, dilation, strict=True))


def check_net(what: str, shape: Sequence[int], filters: Sequence[int], **shares: float) -> None:
    """Raise unless a net of this name can be made for images of this shape; shares are probabilities of dropout."""
    if len(shape) != 3:
        raise InputError(f"shape={tuple(shape)}: {what} takes images, (channels, height, width), e.g. (1, 32, 32).")
    if not isinstance(filters, Sequence) or not filters:
        raise InputError(f"filters must be a sequence of channels such as (16, 32, 64). Got {filters!r} instead.")
    check_sizes(what, "filters", filters)
    for name, share in shares.items():
        check_share(f"{name} of {what}", share)
