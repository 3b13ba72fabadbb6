"""Multi-layer perceptron: dense layers with an activation between them; and a dense layer with a gate.

    perceptron   h₀ = x,    h_k = σ_k(W_k h_{k-1} + b_k),  k = 1 ... K,      f(x) = W_{K+1} h_K + b_{K+1}
    highway      y = T(x) H(x) + (1 - T(x)) x,      H(x) = φ(W x + b),   T(x) = σ(W_T x + b_T)

W_k is D_k × D_{k-1} and b_k has D_k entries: Σ D_k (D_{k-1} + 1) parameters. The batch is the leading axis, so that b
is added to every row: H = σ(X Wᵀ + b). (With samples as columns b must be a D × 1 matrix; a vector of D entries would
be added along the rows.) With b_T far below 0 a highway layer starts as the identity, and so does a stack of fifty.

Shapes: B rows, X (B, D₀), f (B, D_{K+1}); of a highway layer x and y (..., D).
Reference: Srivastava, Greff and Schmidhuber, Highway Networks, arXiv:1505.00387 (2015).
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .. import check
from ..errors import InputError
from .activations import ACTIVATIONS, initialize
from .activations import activation as make_activation
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
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        for k, (name, share) in enumerate(zip(names, shares, strict=True), start=1):
            check_share("dropout of MLP", share)
            layers |= {f"hidden{k}": nn.Linear(widths[k - 1], widths[k]), f"act{k}": make_activation(name)}
            if share:
                layers[f"drop{k}"] = Dropout(float(share))
        layers["output"] = nn.Linear(widths[-2], widths[-1])
        dense = [layer for layer in layers.values() if isinstance(layer, nn.Linear)]
        for layer, name in zip(dense, [*names, "identity"], strict=True):
            initialize(layer, ACTIVATIONS[name].init if init == "auto" else init)
        super().__init__(layers)


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


class Highway(nn.Module):
    """A dense layer of D units with a gate that lets x pass.

    Args:
        n_units: Width D of what comes in and goes out.
        activation: φ, a key of `ACTIVATIONS`.
        transform_bias: What b_T starts with; the gate is then σ(b_T) on average.

    Example:
        >>> Highway(3, transform_bias=-100.0)(torch.tensor([1.0, -2.0, 0.5]))
        tensor([ 1.0000, -2.0000,  0.5000], grad_fn=<LerpBackward1>)
    """

    def __init__(self, n_units: int, activation: str = "relu", transform_bias: float = -2.0) -> None:
        super().__init__()
        self.candidate, self.transform = nn.Linear(n_units, n_units), nn.Linear(n_units, n_units)
        self.activation = make_activation(activation)
        initialize(self.candidate, ACTIVATIONS[activation].init)
        initialize(self.transform, "lecun")
        nn.init.constant_(self.transform.bias, transform_bias)

    def gates(self, x: Tensor) -> dict[str, Tensor]:
        """`candidate` H(x) and `transform` T(x)."""
        return {"candidate": self.activation(self.candidate(x)), "transform": self.transform(x).sigmoid()}

    def forward(self, x: Tensor) -> Tensor:
        now = self.gates(x)
        return torch.lerp(x, now["candidate"], now["transform"])
