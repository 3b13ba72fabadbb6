"""Multi-layer perceptron: dense layers with an activation between them.

    h₀ = x,    h_k = σ_k(W_k h_{k-1} + b_k),  k = 1 ... K,      f(x) = W_{K+1} h_K + b_{K+1}

W_k is D_k × D_{k-1} and b_k has D_k entries: Σ D_k (D_{k-1} + 1) parameters. The batch is the leading axis, so that b
is added to every row: H = σ(X Wᵀ + b). (With samples as columns b must be a D × 1 matrix; a vector of D entries would
be added along the rows.)

Shapes: B rows, X (B, D₀), f (B, D_{K+1}).
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .. import check
from ..errors import InputError
from .activations import ACTIVATIONS, activation, initialize
from .conv import check_share

_STEPS = 1 << 15  # of p, on a CPU


class Dropout(nn.Dropout):
    """torch's dropout with a mask that is cheap to draw: y = x m / (1 - p), m ~ Bernoulli(1 - p) for every number.

    On a CPU four numbers share one draw of 63 bits, 15 bits for each: p is taken to the nearest k/32768, and the scale
    is that of the p taken, so that E[y] = x exactly.
    Reference: Srivastava et al., Dropout, Journal of Machine Learning Research 15 (2014).

    Example:
        >>> sorted(set(Dropout(0.75)(torch.ones(100)).tolist()))
        [0.0, 4.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        silent = round(self.p * _STEPS)
        if not (self.training and 0 < silent < _STEPS and input.device.type == "cpu"):
            return super().forward(input)
        n = input.numel()
        bits = torch.randint(2**63 - 1, ((n + 3) // 4,)).view(torch.int16)[:n].view(input.shape) & (_STEPS - 1)
        return input * (bits >= silent).to(input.dtype).mul_(_STEPS / (_STEPS - silent))


class Chain(nn.Sequential):
    """Layers by name; the base of nets whose constructor does not take layers."""

    def __getitem__(self, idx: slice | int) -> nn.Sequential | nn.Module:
        """A layer, or some of them as a plain Sequential (that of torch would call our constructor)."""
        if isinstance(idx, slice):
            return nn.Sequential(OrderedDict(list(self._modules.items())[idx]))  # pyright: ignore[reportArgumentType]
        return super().__getitem__(idx)


class MLP(Chain):
    """Dense layers `hidden1 act1 drop1 hidden2 ... output`; the output is raw, for a likelihood to read.

    Args:
        n_in: Features.
        n_out: Raw outputs.
        hidden: Widths of the hidden layers; () is one affine map.
        activation: Name of the activation, or one name for each hidden layer.
        dropout: Probability p that a hidden activation is set to 0 in training, anew for every unit, row and pass;
            the others are scaled by 1/(1-p), and evaluation changes nothing. One for all layers, or one for each.
        init: A scheme of `initialize` for all layers; "auto" takes the one that the activation after a layer asks for
            (He for the ReLU kind, Glorot for tanh and sigmoid, LeCun for the rest and for the output).

    Example:
        >>> MLP(4, 3, (16, 8), activation="tanh")
        MLP(
          (hidden1): Linear(in_features=4, out_features=16, bias=True)
          (act1): Tanh()
          (hidden2): Linear(in_features=16, out_features=8, bias=True)
          (act2): Tanh()
          (output): Linear(in_features=8, out_features=3, bias=True)
        )
    """

    def __init__(
        self,
        n_in: int,
        n_out: int,
        hidden: Sequence[int] = (64,),
        *,
        activation: str | Sequence[str] = "relu",
        dropout: float | Sequence[float] = 0.0,
        init: str = "auto",
    ) -> None:
        widths = _widths(n_in, hidden, n_out)
        given = {"activation": activation, "dropout": dropout}
        names, shares = (_each(name, value, len(widths) - 2) for name, value in given.items())
        for share in shares:
            check_share("dropout of MLP", share)
        super().__init__(_layers(widths, names, shares, init))


def _layers(widths: list[int], names: list[str], shares: list[float], init: str) -> OrderedDict[str, nn.Module]:
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for k, name in enumerate(names, start=1):
        layers[f"hidden{k}"] = nn.Linear(widths[k - 1], widths[k])
        layers[f"act{k}"] = activation(name)
        if shares[k - 1]:
            layers[f"drop{k}"] = Dropout(float(shares[k - 1]))
    layers["output"] = nn.Linear(widths[-2], widths[-1])
    dense = [layer for layer in layers.values() if isinstance(layer, nn.Linear)]
    for layer, name in zip(dense, [*names, "identity"], strict=True):
        initialize(layer, ACTIVATIONS[name].init if init == "auto" else init)
    return layers


def _widths(n_in: int, hidden: Sequence[int], n_out: int) -> list[int]:
    if not isinstance(hidden, Sequence):
        raise InputError(f"hidden must be a sequence of widths such as (64, 64). Got {hidden!r} instead.")
    names = ["input", *(f"hidden{k}" for k in range(1, len(hidden) + 1)), "output"]
    widths = zip(names, [n_in, *hidden, n_out], strict=True)
    return [int(check.at_least(f"width of layer '{name}'", width, 1, integer=True)) for name, width in widths]


def _each(name: str, given: Any, n: int) -> list[Any]:
    """One value for each hidden layer."""
    values = [given] * n if isinstance(given, str) or not isinstance(given, Sequence) else list(given)
    if len(values) != n:
        raise InputError(f"{name} has {len(values)} values for {n} hidden layers; give one for all or one for each.")
    return values
