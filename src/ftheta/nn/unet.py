"""U-Net: halve the image down to a bottleneck, double it back, and hand what each level saw across to the way up.

    h₀ = f₀(x),   h_k = f_k(pool h_{k-1})                k = 1 ... K         (H/2^k, W/2^k): h_K is the bottleneck
    g_K = h_K,    g_k = d_k(join(h_k, up g_{k+1}))       k = K-1 ... 0       (H/2^k, W/2^k)
    f(x) = W g₀ + b                                                          in every pixel: a 1 x 1 convolution

join stacks the channels of both (`concat`: U-Net), adds them (`sum`: the stacked hourglass; its links are residual
connections) or leaves h_k out (`none`: a plain hourglass, whose output knows only what went through the bottleneck).

Shapes: B images, C channels, H x W pixels, x (B, C, H, W), f (B, R, H, W) for any H and W: an image that 2^K does not
divide is continued by its edge, and the answer cut to size.
References: Ronneberger, Fischer and Brox, U-Net, arXiv:1505.04597 (2015); Newell, Yang and Deng, Stacked Hourglass
Networks, arXiv:1603.06937 (2016).
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..catalog import check_known
from .activations import ACTIVATIONS, activation, initialize
from .conv import check_net, convolution
from .norm import norm
from .pooling import pooling, upsampling

SKIPS = ("concat", "sum", "none")  # how a level of the way down reaches the way up


class UNet(nn.Module):
    """Raw outputs for every pixel: (B, C, H, W) -> (B, R, H, W).

    Children: `encoder` (one block of two convolutions for each of `filters`, the last is the bottleneck), `pool`,
    `drop`, `up` and `decoder` (from the bottleneck upwards), `output`.

    Args:
        shape: (C, H, W) of an image; other H and W are taken too.
        n_out: Raw outputs of a pixel.
        filters: Channels of each level, the bottleneck last: the image is halved `len(filters) - 1` times.
        skip: concat, sum or none.
        up: How a level is doubled: nearest, bilinear, transposed or subpixel.
        norm: Between convolution and activation: none, batch, layer, instance, group or rms.
        activation: Name of the activation.
        dropout: Share of the bottleneck's maps silenced in training.

    Example:
        >>> net = UNet((1, 64, 64), 3, (4, 8, 8, 16))
        >>> net.code(torch.zeros(2, 1, 64, 64)).shape, net(torch.zeros(2, 1, 64, 64)).shape
        (torch.Size([2, 16, 8, 8]), torch.Size([2, 3, 64, 64]))
    """

    def __init__(
        self,
        shape: Sequence[int],
        n_out: int,
        filters: Sequence[int] = (16, 32, 64),
        *,
        skip: str = "concat",
        up: str = "nearest",
        norm: str = "batch",
        activation: str = "relu",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_net("UNet", shape, filters, dropout=dropout)
        check_known("skip", skip, SKIPS)
        check_known("activation", activation, ACTIVATIONS)
        self.skip, wide = skip, 2 if skip == "concat" else 1
        down, rising = [shape[0], *filters], filters[::-1]
        self.encoder = nn.ModuleList(_block(a, b, norm, activation) for a, b in pairwise(down))
        self.pool = pooling("max")
        self.drop = nn.Dropout2d(dropout)
        self.up = nn.ModuleList(upsampling(up, a, b) for a, b in pairwise(rising))
        self.decoder = nn.ModuleList(_block(wide * b, b, norm, activation) for b in rising[1:])
        self.output = convolution(filters[0], n_out, 1)
        initialize(self.output, "lecun")

    def forward(self, x: Tensor) -> Tensor:
        height, width = x.shape[-2:]
        seen = self._down(x)
        h = self.drop(seen.pop())
        for up, block in zip(self.up, self.decoder, strict=True):
            h = block(self._join(seen.pop(), up(h)))
        return self.output(h)[..., :height, :width]

    def code(self, x: Tensor) -> Tensor:
        """The bottleneck: (B, C, H, W) -> (B, filters[-1], ⌈H / 2^K⌉, ⌈W / 2^K⌉)."""
        return self._down(x)[-1]

    def _down(self, x: Tensor) -> list[Tensor]:
        """What each level sees, the bottleneck last."""
        side = 2 ** len(self.decoder)
        bottom, right = (-n % side for n in x.shape[-2:])
        h = F.pad(x, (0, right, 0, bottom), mode="replicate") if bottom or right else x
        seen = []
        for k, block in enumerate(self.encoder):
            h = block(self.pool(h) if k else h)  # (B, filters[k], H / 2^k, W / 2^k)
            seen.append(h)
        return seen

    def _join(self, across: Tensor, below: Tensor) -> Tensor:
        if self.skip == "concat":
            return torch.cat([across, below], dim=1)
        return across + below if self.skip == "sum" else below


def _block(n_in: int, n_out: int, kind: str, name: str) -> nn.Sequential:
    """Convolution, norm, activation; twice."""
    layers: list[nn.Module] = []
    for width in (n_in, n_out):
        layers += [convolution(width, n_out, 3, bias=kind == "none"), norm(kind, n_out), activation(name)]
    block = nn.Sequential(*layers)
    initialize(block, ACTIVATIONS[name].init)
    return block
