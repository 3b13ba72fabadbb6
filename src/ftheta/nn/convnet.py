"""Convolutional network: stages of convolutions that end in a pooling, then dense layers.

    h ← σ(pool(norm(K ⋆ h + b)))  in every stage,      f(x) = W h + b

A pooling that takes a maximum commutes with a σ that never falls, max σ(z) = σ(max z), so the pooling comes first, and
σ has a quarter of the work. Poolings drop the last row and column of an odd map, so without padding the last pixels may
reach no output (28 → 26 → 13 → 11 → 5 uses 26 of 28): training leaves them out, which saves a sixth of the work.

Shapes: B images, x (B, C, H, W), f (B, R). One 3x3 filter for C channels has 9C weights and a bias, at any H and W.
Reference: LeCun, Bottou, Bengio and Haffner, Gradient-based learning applied to document recognition (1998).
"""

from collections import OrderedDict
from collections.abc import Sequence
from math import prod

from torch import Tensor, nn

from ..catalog import check_known
from ..errors import InputError
from ..formulas.convolution import output_size
from .activations import ACTIVATIONS, initialize
from .activations import activation as make_activation
from .conv import check_net, check_sizes, convolution
from .dense import Chain, Dropout
from .norm import norm as make_norm
from .pooling import pooling

HEADS = ("flatten", "mean", "max")
_COMMUTE = {"max": True, "min": True, "stride": True, "mean": False}  # with an activation that never falls
Layers = OrderedDict[str, nn.Module]


class ConvNet(Chain):
    """Layers `conv1 [norm1] pool1 act1 conv2 ... flatten [drop] [dense1 ...] output`; the output is raw.

    Args:
        shape: Of one image: (C, H, W).
        n_out: Raw outputs.
        filters: Feature maps of each stage; a stage ends in a pooling that halves height and width.
        convs: Convolutions of a stage, or of each stage.
        kernel: Size of the windows.
        padding: "valid" (none) or "same", or places on each side.
        pool: max, mean, min, stride, or none.
        norm: none, batch, layer, instance, group or rms, between convolution and activation.
        activation: Its name.
        dropout: Probability that a feature is silenced before the dense layers, and after each hidden one.
        hidden: Widths of hidden dense layers.
        head: What the dense layers see: all positions ("flatten"), or the "mean" or "max" of each map.

    Example:
        >>> net = ConvNet((1, 28, 28), 10, dropout=0.5)
        >>> sum(p.numel() for p in net.parameters())
        34826
    """

    def __init__(
        self,
        shape: Sequence[int],
        n_out: int,
        filters: Sequence[int] = (32, 64),
        *,
        convs: int | Sequence[int] = 1,
        kernel: int = 3,
        padding: str | int = "valid",
        pool: str = "max",
        norm: str = "none",
        activation: str = "relu",
        dropout: float = 0.0,
        hidden: Sequence[int] = (),
        head: str = "flatten",
    ) -> None:
        check_net("ConvNet", shape, filters, dropout=dropout)
        check_known("head", head, HEADS)
        check_known("pooling", pool, ("none", *_COMMUTE))
        for name, count in (("n_out", n_out), ("kernel", kernel), ("convs", convs), ("hidden", hidden)):
            check_sizes("ConvNet", name, count, several=name in ("convs", "hidden"))
        plan = _Plan(shape, kernel, padding, pool, norm, activation)
        layers = plan.layers
        each = [convs] * len(filters) if isinstance(convs, int) else list(convs)
        if len(each) != len(filters):
            raise InputError(f"convs={convs} is for {len(each)} stages, filters={tuple(filters)} has {len(filters)}.")
        for width, count in zip(filters, each, strict=True):
            plan.stage(width, count)
        if head != "flatten":
            layers[head] = pooling(f"global_{head}")
        layers["flatten"] = nn.Flatten()
        width = plan.channels * (prod(plan.size) if head == "flatten" else 1)
        if dropout:
            layers["drop"] = Dropout(dropout)
        for k, wide in enumerate(hidden, start=1):
            layers |= {f"dense{k}": nn.Linear(width, wide), f"dense_act{k}": make_activation(activation)}
            if dropout:
                layers[f"dense_drop{k}"] = Dropout(dropout)
            width = wide
        layers["output"] = nn.Linear(width, n_out)
        for name, layer in layers.items():
            initialize(layer, ACTIVATIONS["identity" if name == "output" else activation].init)
        super().__init__(layers)
        self.image, self.reach = plan.image, plan.reach(each)

    def forward(self, input: Tensor) -> Tensor:
        if self.training and input.shape[-2:] == self.image:
            input = input[..., : self.reach[0], : self.reach[1]]
        return super().forward(input)


class _Plan:
    """Layers so far, and what they make of an image."""

    def __init__(self, shape: Sequence[int], kernel: int, padding: str | int, pool: str, norm: str, act: str) -> None:
        self.channels, self.image = shape[0], tuple(shape[1:])
        self.size = self.image
        self.kernel, self.padding, self.pool, self.norm, self.act = kernel, padding, pool, norm, act
        self.layers: Layers = OrderedDict()
        self.convs = self.stages = 0

    def stage(self, width: int, convs: int) -> None:
        self.stages += 1
        for k in range(convs):
            self._convolve(width)
            made = {f"act{self.convs}": make_activation(self.act)}
            if k == convs - 1 and self.pool != "none":
                name = f"pool{self.stages}"
                self.size, pools = self._after(name, 2, 2, 0), {name: pooling(self.pool, 2)}
                commute = ACTIVATIONS[self.act].monotone and _COMMUTE[self.pool]
                made = pools | made if commute else made | pools
            self.layers |= made

    def reach(self, convs: Sequence[int]) -> tuple[int, ...]:
        """Rows and columns of an image that reach an output: all of them where a border or a norm sees all."""
        if self.norm != "none" or any(self.layers["conv1"].padding):  # pyright: ignore[reportArgumentType]
            return self.image
        size = self.size
        for count in reversed(convs):
            size = tuple(n * (1 if self.pool == "none" else 2) + count * (self.kernel - 1) for n in size)
        return size

    def _convolve(self, width: int) -> None:
        self.convs += 1
        name = f"conv{self.convs}"
        layer = convolution(self.channels, width, self.kernel, padding=self.padding)
        self.size = self._after(name, self.kernel, 1, int(layer.padding[0]))
        self.channels, self.layers[name] = width, layer
        if self.norm != "none":
            self.layers[f"norm{self.convs}"] = make_norm(self.norm, width)

    def _after(self, name: str, kernel: int, stride: int, padding: int) -> tuple[int, ...]:
        if min(self.size) + 2 * padding < kernel:
            height, width = self.size
            raise InputError(
                f"{name} has windows of {kernel}x{kernel}, but only {height}x{width} pixels reach it. Use fewer stages "
                "(filters), a smaller kernel, padding='same' or larger images."
            )
        return tuple(output_size(n, kernel, stride=stride, padding=padding) for n in self.size)
