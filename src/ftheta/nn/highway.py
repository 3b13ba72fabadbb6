"""Highway layer: a gate mixes what a dense layer makes of x with x itself.

    y = T(x) H(x) + (1 - T(x)) x,      H(x) = φ(W x + b),   T(x) = σ(W_T x + b_T)

With b_T far below 0 the layer starts as the identity, and so does a stack of fifty.

Shapes: x and y (..., D).
Reference: Srivastava, Greff and Schmidhuber, Highway Networks, arXiv:1505.00387 (2015).
"""

import torch
from torch import Tensor, nn

from .activations import ACTIVATIONS, initialize
from .activations import activation as make_activation


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
