"""Residual networks: blocks that change their input instead of replacing it.

    y = a(s[h] + f[h])        f: branch;  s: identity, or a projection where sizes differ;  a: identity but for post

    post:      f = conv norm act conv norm, a = act          He et al., arXiv:1512.03385
    pre:       f = norm act conv norm act conv               He et al., arXiv:1603.05027; changes of both signs

With the last layer of f at zero a block starts as its shortcut and learns from there; with all layers at zero every
gradient is 0 and it never moves. Stochastic depth drops the branch of a row with probability p in training and divides
the others by 1 - p, so that the expectation is what evaluation computes. A dense block concatenates instead of adding.
A residual network has stages of blocks; the first block of a stage but the first halves height and width.

Shapes: h (B, C, H, W), signals (B, C, L), rows (B, C).
References: above; Huang et al., arXiv:1603.09382 (stochastic depth), arXiv:1608.06993 (dense blocks); Hu et al.,
arXiv:1709.01507 (squeeze and excitation); Goyal et al., arXiv:1706.02677 (zero-initialized last norm).
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from copy import deepcopy
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..catalog import check_known
from ..errors import InputError
from ..formulas.residual import survival_probabilities
from .activations import ACTIVATIONS, initialize
from .activations import activation as make_activation
from .conv import check_net, check_share, check_sizes, convolution
from .dense import Chain, Dropout
from .norm import norm as make_norm
from .pooling import pooling

BLOCKS: dict[str, Callable[[int, int, int], list[tuple[int, int, int, int]]]] = {
    "basic": lambda c, d, stride: [(c, d, 3, stride), (d, d, 3, 1)],
    "bottleneck": lambda c, d, stride: [(c, h := max(1, d // 4), 1, 1), (h, h, 3, stride), (h, d, 1, 1)],
}
"""Convolutions of a branch by kind: (n_in, n_out, stride) gives (channels in, out, kernel, stride) of each."""

ORDERS = {"post": ("conv", "norm", "act"), "pre": ("norm", "act", "conv")}
"""Steps around each convolution of a branch; the last activation of "post" comes after the sum."""


class StochasticDepth(nn.Module):
    """Sets entire rows to 0 with probability p in training and divides the others by 1 - p; the identity in evaluation.

    Args:
        p: Probability that a row is dropped, in [0, 1).
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        check_share("p of StochasticDepth", p)
        self.p = float(p)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.p:
            return x
        return x * F.dropout(x.new_ones(len(x), *(1 for _ in x.shape[1:])), self.p)  # (B, 1, ...)

    def extra_repr(self) -> str:
        return f"p={self.p:g}"


class Residual(nn.Module):
    """y = after(shortcut[h] + branch[h]).

    Args:
        branch: f, any module.
        shortcut: s; None is the identity. `project` makes one, `residual_around` finds out which is needed.
        after: Applied to the sum; None is the identity.
        survival: Probability that a row keeps its branch in training (stochastic depth).

    Example:
        >>> Residual(nn.Linear(3, 3, bias=False))(torch.zeros(1, 3))
        tensor([[0., 0., 0.]], grad_fn=<AddBackward0>)
    """

    def __init__(
        self,
        branch: nn.Module,
        shortcut: nn.Module | None = None,
        *,
        after: nn.Module | None = None,
        survival: float = 1.0,
    ) -> None:
        super().__init__()
        if not isinstance(survival, Real) or not 0 < survival <= 1:
            raise InputError(f"survival must be a probability in the range (0, 1]. Got {survival!r} instead.")
        self.branch = branch
        self.shortcut = nn.Identity() if shortcut is None else shortcut
        self.depth = StochasticDepth(1 - survival) if survival < 1 else nn.Identity()
        self.after = nn.Identity() if after is None else after

    def forward(self, h: Tensor) -> Tensor:
        f, s = self.branch(h), self.shortcut(h)
        if f.shape != s.shape:
            raise InputError(
                f"The branch of a residual block makes {tuple(f.shape)} of {tuple(h.shape)} and its shortcut "
                f"{tuple(s.shape)}, which cannot be added; residual_around(branch, shape) adds a projection."
            )
        return self.after(s + self.depth(f))


class SqueezeExcitation(nn.Module):
    """x_c · sigmoid(W₂ relu(W₁ m + b₁) + b₂)_c with m the means of the channels over all positions.

    Args:
        channels: C; the cost beside the means does not depend on the count of positions.
        reduction: The hidden layer has C / reduction units, at least one.
    """

    def __init__(self, channels: int, reduction: int = 4) -> None:
        super().__init__()
        hidden = max(1, channels // check_sizes("SqueezeExcitation", "reduction", reduction))
        self.gate = nn.Sequential(nn.Linear(channels, hidden), nn.ReLU(), nn.Linear(hidden, channels), nn.Sigmoid())

    def forward(self, x: Tensor) -> Tensor:
        means = x.unsqueeze(-1).flatten(2).mean(2)  # (B, C), also of rows
        return x * self.gate(means).view(*means.shape, *(1 for _ in x.shape[2:]))


class DenseBlock(nn.Module):
    """Layers norm-act-conv that each see all maps before them: h ← [h, f_k(h)], `growth` channels more each time.

    Args:
        n_in: Channels in.
        growth: Channels that each layer adds.
        layers: Count of layers; `channels` lists the counts before and after each.
        norm: A key of `NORMS`.
        activation: A key of `ACTIVATIONS`.
        dims: 1 for signals, 2 for maps.

    Example:
        >>> DenseBlock(3, 32, 3).channels
        [3, 35, 67, 99]
    """

    def __init__(
        self, n_in: int, growth: int, layers: int, *, norm: str = "batch", activation: str = "relu", dims: int = 2
    ) -> None:
        super().__init__()
        self.channels = [n_in + k * growth for k in range(check_sizes("DenseBlock", "layers", layers, 0) + 1)]
        shapes = [[(c, growth, 3, 1)] for c in self.channels[:-1]]
        self.layers = nn.ModuleList(_branch(shape, "pre", norm, activation, dims) for shape in shapes)

    def forward(self, h: Tensor) -> Tensor:
        for layer in self.layers:
            h = torch.cat([h, layer(h)], 1)
        return h


def project(n_in: int, n_out: int, stride: int = 1, dims: int = 2) -> nn.Module:
    """The identity where nothing changes, else the linear map that fits a shortcut to its branch.

    Args:
        n_in: Channels in.
        n_out: Channels out.
        stride: Step between the positions that are kept.
        dims: 0 for rows (a linear layer), 1 for signals, 2 for maps (a 1x1 convolution).
    """
    if n_in == n_out and stride == 1:
        return nn.Identity()
    options: dict[str, Any] = {"dims": dims, "stride": stride, "padding": "valid", "bias": False}
    layer = convolution(n_in, n_out, 1, **options) if dims else nn.Linear(n_in, n_out, bias=False)
    initialize(layer, "lecun")
    return layer


def residual_around(
    branch: nn.Module, shape: Sequence[int], *, after: nn.Module | None = None, survival: float = 1.0
) -> Residual:
    """Any sub-network as a residual block, with a projection in the shortcut where its output has another size.

    Args:
        branch: f, any module on rows, signals or maps.
        shape: Shape of one input: (C,), (C, L) or (C, H, W).
        after: As `Residual` has it.
        survival: As `Residual` has it.

    Example:
        >>> residual_around(nn.Linear(4, 2), (4,)).shortcut
        Linear(in_features=4, out_features=2, bias=False)
    """
    like = next(branch.parameters(), torch.empty(0))
    with torch.no_grad():
        out = tuple(deepcopy(branch).eval()(like.new_zeros(1, *shape)).shape[1:])
    stride = max((-(-n // m) for n, m in zip(shape[1:], out[1:], strict=False)), default=1)
    if len(out) != len(shape) or any(-(-n // stride) != m for n, m in zip(shape[1:], out[1:], strict=True)):
        raise InputError(
            f"The branch makes {out} of {tuple(shape)}, and no 1x1 projection with a stride does; pad its convolutions "
            "so that the size stays or is divided by one number."
        )
    shortcut = project(shape[0], out[0], stride, len(shape) - 1).to(like)
    return Residual(branch, shortcut, after=after, survival=survival)


def residual_block(
    n_in: int,
    n_out: int,
    *,
    stride: int = 1,
    kind: str = "basic",
    order: str = "post",
    norm: str = "batch",
    activation: str = "relu",
    squeeze: int = 0,
    survival: float = 1.0,
    zero_last: bool = True,
    dims: int = 2,
) -> Residual:
    """A block of a residual network; its shortcut is projected where channels or stride ask for it.

    Args:
        n_in: Channels in.
        n_out: Channels out.
        stride: Of the first 3x3 convolution.
        kind: "basic" (3x3, 3x3) or "bottleneck" (1x1 to a quarter of the channels, 3x3, 1x1).
        order: "post" or "pre", see the top of this file.
        norm: A key of `NORMS`; with "none" the convolutions have biases.
        activation: A key of `ACTIVATIONS`.
        squeeze: Reduction of a squeeze-excitation at the end of the branch; 0 is none.
        survival: Probability that a row keeps the branch in training.
        zero_last: Whether the last norm of the branch (the last convolution, where that comes last) starts at 0.
        dims: 1 for signals, 2 for maps.
    """
    check_known("kind of block", kind, BLOCKS)
    check_known("order", order, ORDERS)
    branch = _branch(BLOCKS[kind](n_in, n_out, stride), order, norm, activation, dims)
    if zero_last:
        for p in [layer for layer in branch if getattr(layer, "weight", None) is not None][-1].parameters():
            nn.init.zeros_(p)
    if squeeze:
        branch.add_module("squeeze", SqueezeExcitation(n_out, squeeze))
    shortcut = project(n_in, n_out, stride, dims)
    if order == "post" and norm != "none" and not isinstance(shortcut, nn.Identity):
        shortcut = nn.Sequential(OrderedDict(conv=shortcut, norm=make_norm(norm, n_out, dims=dims)))
    return Residual(branch, shortcut, after=make_activation(activation) if order == "post" else None, survival=survival)


def _branch(convs: list[tuple[int, int, int, int]], order: str, norm: str, activation: str, dims: int) -> nn.Sequential:
    """conv1 norm1 act1 conv2 ... in the given order."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for k, (c, d, kernel, stride) in enumerate(convs, start=1):
        made = {
            "conv": convolution(c, d, kernel, dims=dims, stride=stride, bias=norm == "none"),
            "norm": make_norm(norm, c if order == "pre" else d, dims=dims),
            "act": make_activation(activation),
        }
        layers.update({f"{step}{k}": made[step] for step in ORDERS[order] if (step, norm) != ("norm", "none")})
    if order == "post":
        layers.popitem()  # it comes after the sum
    branch = nn.Sequential(layers)
    initialize(branch, ACTIVATIONS[activation].init)
    return branch


class ResNet(Chain):
    """Layers `stem stage1 stage2 ... [last] mean flatten [drop] output`; the output is raw.

    Args:
        shape: Of one image: (C, H, W).
        n_out: Raw outputs.
        filters: Feature maps of each stage.
        blocks: Residual blocks of a stage.
        kind: "basic" (two 3x3 convolutions) or "bottleneck" (1x1, 3x3, 1x1).
        order: "post" (activation after the sum) or "pre" (norm and activation before each convolution).
        norm: none, batch, layer, instance, group or rms.
        activation: Its name.
        squeeze: Reduction of squeeze-and-excitation; 0 for none.
        survival: Probability that the last block takes part in a training step; it falls linearly from 1.
        dropout: Probability that a feature is silenced before the output.

    Example:
        >>> ResNet((3, 32, 32), 10, (8, 16), blocks=1)(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self,
        shape: Sequence[int],
        n_out: int,
        filters: Sequence[int] = (16, 32, 64),
        blocks: int = 2,
        *,
        kind: str = "basic",
        order: str = "post",
        norm: str = "batch",
        activation: str = "relu",
        squeeze: int = 0,
        survival: float = 1.0,
        dropout: float = 0.0,
    ) -> None:
        check_net("ResNet", shape, filters, dropout=dropout)
        for name, count in (("n_out", n_out), ("blocks", blocks)):
            check_sizes("ResNet", name, count)
        width, survivals = filters[0], iter(survival_probabilities(len(filters) * blocks, survival).tolist())
        stem = [convolution(shape[0], width, bias=norm == "none"), make_norm(norm, width), make_activation(activation)]
        layers: OrderedDict[str, nn.Module] = OrderedDict(stem=nn.Sequential(*stem))
        options: dict[str, Any] = {"kind": kind, "order": order, "norm": norm, "activation": activation}
        for stage, wide in enumerate(filters, start=1):
            made = layers[f"stage{stage}"] = nn.Sequential()
            for block in range(blocks):
                options |= {"stride": 2 if stage > 1 and not block else 1, "survival": next(survivals)}
                made.append(residual_block(width, wide, squeeze=squeeze, **options))
                width = wide
        if order == "pre":
            layers["last"] = nn.Sequential(make_norm(norm, width), make_activation(activation))
        layers["mean"] = pooling("global_mean")
        layers["flatten"] = nn.Flatten()
        if dropout:
            layers["drop"] = Dropout(dropout)
        layers["output"] = nn.Linear(width, n_out)
        initialize(layers["stem"], ACTIVATIONS[activation].init)
        initialize(layers["output"], "lecun")
        super().__init__(layers)
