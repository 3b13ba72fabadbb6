"""Multi-layer perceptron: dense layers with an activation between them.

    h₀ = x,    h_k = σ_k(W_k h_{k-1} + b_k),  k = 1 ... K,      f(x) = W_{K+1} h_K + b_{K+1}

W_k is D_k × D_{k-1} and b_k has D_k entries: Σ D_k (D_{k-1} + 1) parameters. The batch is the leading axis, so that b
is added to every row: H = σ(X Wᵀ + b). (With samples as columns b must be a D × 1 matrix; a vector of D entries would
be added along the rows.)

Shapes: B rows, X (B, D₀), f (B, D_{K+1}).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from numbers import Integral, Real

from torch import nn

from ..errors import InputError
from .activations import ACTIVATIONS, activation
from .dropout import Dropout
from .init import initialise

__all__ = ["MLP"]


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
            the others are scaled by 1/(1-p), and evaluation changes nothing.
        init: A scheme of `initialise` for all layers; "auto" takes the one that the activation after a layer asks for
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
        dropout: float = 0.0,
        init: str = "auto",
    ) -> None:
        widths = _widths(n_in, hidden, n_out)
        names = _activations(activation, len(widths) - 2)
        if not isinstance(dropout, Real) or not 0 <= dropout < 1:
            raise InputError(
                f"The 'dropout' parameter of MLP must be a float in the range [0, 1). Got {dropout!r} instead."
            )
        super().__init__(_layers(widths, names, float(dropout), init))


def _layers(widths: list[int], names: list[str], dropout: float, init: str) -> OrderedDict[str, nn.Module]:
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for k, name in enumerate(names, start=1):
        layers[f"hidden{k}"] = nn.Linear(widths[k - 1], widths[k])
        layers[f"act{k}"] = activation(name)
        if dropout:
            layers[f"drop{k}"] = Dropout(dropout)
    layers["output"] = nn.Linear(widths[-2], widths[-1])
    dense = [layer for layer in layers.values() if isinstance(layer, nn.Linear)]
    for layer, name in zip(dense, [*names, "identity"], strict=True):
        initialise(layer, ACTIVATIONS[name].init if init == "auto" else init)
    return layers


def _widths(n_in: int, hidden: Sequence[int], n_out: int) -> list[int]:
    if not isinstance(hidden, Sequence):
        raise InputError(f"hidden must be a sequence of widths such as (64, 64). Got {hidden!r} instead.")
    widths = [n_in, *hidden, n_out]
    for k, width in enumerate(widths):
        whole = type(width) is int or isinstance(width, Integral) and not isinstance(width, bool)
        if not whole or width < 1:
            place = "input" if k == 0 else "output" if k == len(hidden) + 1 else f"hidden{k}"
            raise InputError(
                f"The width of layer '{place}' must be an int in the range [1, inf). Got {width!r} instead."
            )
    return [int(width) for width in widths]


def _activations(given: str | Sequence[str], n: int) -> list[str]:
    names = [given] * n if isinstance(given, str) else list(given)
    if len(names) != n:
        raise InputError(
            f"activation names {len(names)} activations for {n} hidden layers; give one name for all or one for each."
        )
    return names
