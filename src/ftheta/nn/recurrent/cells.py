"""Recurrent cells: one step (state, x) -> (state, output), with the same weights at every step.

    plain      h = φ(W x + U h' + b)                                 h' is the state before the step
    residual   h = Q h' + φ(W x + U h' + b)                          Q: identity, fixed or learned
    highway    h = a h̃ + (1 - a) h',   h̃ = φ(W x + U h' + b),   a = σ(W_a x + U_a h' + b_a)
    GRU        h = u h̃ + (1 - u) h',   h̃ = tanh(W x + U (r h') + b)                       convention "notes"
               h = u h' + (1 - u) h̃,   h̃ = tanh(W x + r (U h') + b)                       convention "torch"
               u = σ(W_u x + U_u h' + b_u),   r = σ(W_r x + U_r h' + b_r)
    LSTM       c = f c' + i c̃,   h = o tanh(c),   c̃ = tanh(W_c x + U_c h' + b_c)
               i, f, o = σ(W x + U h' + b), each with its own weights; with peepholes + p c' (+ p c for o)

A cell has `n_inputs`, `n_units`, `initial(n, like)` and `gates(state, x)`, the gate values of one step by name. A
layer of G gates has one bias for each: G (K (D + K) + K) parameters, 3 K more with peepholes.

Shapes: B sequences, x (B, D), state h (B, K), of the LSTM (h, c); weight_x (G K, D), weight_h (G K, K), bias (G K,);
gates in torch's order: reset, update, candidate; input, forget, candidate, output.
References: Cho et al., arXiv:1406.1078 (GRU); Hochreiter and Schmidhuber, Neural Computation 9 (1997), and Gers et
al., Neural Computation 12 (2000), for the forget gate; Gers and Schmidhuber (2000), peepholes; Srivastava et al.,
arXiv:1505.00387 (highway).
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ... import check
from ...catalog import check_known
from ..activations import activation as make_activation

LSTMState = tuple[Tensor, Tensor]


class _Cell(nn.Module):
    """Weights of some gates, one block for each: Glorot's for the input, orthogonal ones for the state, biases 0."""

    def __init__(self, n_inputs: int, n_units: int, gates: int) -> None:
        super().__init__()
        for name, value in (("n_inputs", n_inputs), ("n_units", n_units)):
            check.at_least(f"{name} of a recurrent cell", value, 1, integer=True)
        self.n_inputs, self.n_units = n_inputs, n_units
        self.weight_x = nn.Parameter(torch.empty(gates * n_units, n_inputs))
        self.weight_h = nn.Parameter(torch.empty(gates * n_units, n_units))
        self.bias = nn.Parameter(torch.zeros(gates * n_units))
        for draw, weight in ((nn.init.xavier_uniform_, self.weight_x), (nn.init.orthogonal_, self.weight_h)):
            for block in weight.detach().split(n_units):
                draw(block)

    def initial(self, n: int, like: Tensor) -> Any:
        """The state before the first step of n sequences, in the dtype and on the device of `like`."""
        return like.new_zeros(n, self.n_units)

    def extra_repr(self) -> str:
        return f"{self.n_inputs}, {self.n_units}"


class RNNCell(_Cell):
    """h = φ(W x + U h' + b).

    Args:
        n_inputs: Width D of x.
        n_units: Width K of the state.
        activation: φ, a key of `ACTIVATIONS`.

    Example:
        >>> cell = RNNCell(10, 20)
        >>> sum(p.numel() for p in cell.parameters())
        620
    """

    def __init__(self, n_inputs: int, n_units: int, activation: str = "tanh") -> None:
        super().__init__(n_inputs, n_units, 1)
        self.activation = make_activation(activation)
        self.kernel = f"rnn_{activation}" if activation in ("tanh", "relu") else None

    def gates(self, state: Tensor, x: Tensor) -> dict[str, Tensor]:
        """`candidate`, which is the new state."""
        raw = F.linear(x, self.weight_x, self.bias) + F.linear(state, self.weight_h)
        return {"candidate": self.activation(raw)}

    def forward(self, state: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        state = self.gates(state, x)["candidate"]
        return state, state


CARRIES = ("identity", "fixed", "learned")


class ResidualCell(RNNCell):
    """h = Q h' + φ(W x + U h' + b).

    Args:
        n_inputs: Width D of x.
        n_units: Width K of the state.
        carry: Q: "identity"; "fixed", decay times the identity; "learned", a matrix that starts there.
        decay: What Q starts with on its diagonal; 1 for the identity.
        activation: φ, a key of `ACTIVATIONS`.
    """

    def __init__(
        self, n_inputs: int, n_units: int, carry: str = "identity", decay: float = 0.9, activation: str = "tanh"
    ) -> None:
        super().__init__(n_inputs, n_units, activation)
        self.kernel = None
        check_known("carry", carry, CARRIES)
        self.carry = nn.Buffer(torch.eye(n_units) * (1.0 if carry == "identity" else decay))
        if carry == "learned":
            self.carry = nn.Parameter(self.carry)

    def forward(self, state: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        state = F.linear(state, self.carry) + self.gates(state, x)["candidate"]
        return state, state


class HighwayCell(_Cell):
    """h = a h̃ + (1 - a) h': where the gate a is closed, the state is kept.

    Args:
        n_inputs: Width D of x.
        n_units: Width K of the state.
        transform_bias: What the bias of the gate starts with; far below 0 the state hardly changes at first.
        activation: φ, a key of `ACTIVATIONS`.
    """

    def __init__(self, n_inputs: int, n_units: int, transform_bias: float = -1.0, activation: str = "tanh") -> None:
        super().__init__(n_inputs, n_units, 2)
        nn.init.constant_(self.bias[n_units:], transform_bias)
        self.activation = make_activation(activation)

    def gates(self, state: Tensor, x: Tensor) -> dict[str, Tensor]:
        """`candidate` h̃ and `transform` a."""
        raw = F.linear(x, self.weight_x, self.bias) + F.linear(state, self.weight_h)
        candidate, transform = raw.chunk(2, -1)
        return {"candidate": self.activation(candidate), "transform": transform.sigmoid()}

    def forward(self, state: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        now = self.gates(state, x)
        state = torch.lerp(state, now["candidate"], now["transform"])
        return state, state


CONVENTIONS = ("notes", "torch")


class GRUCell(_Cell):
    """Gated recurrent unit: an update gate mixes state and candidate, a reset gate says what the candidate sees.

    Args:
        n_inputs: Width D of x.
        n_units: Width K of the state.
        convention: "torch": an update gate of 1 keeps the state, and the reset gate comes after the product U h';
            "notes": 1 takes the candidate, and the reset gate comes before. Weights of one do not fit the other.

    Example:
        >>> sum(p.numel() for p in GRUCell(10, 20).parameters())
        1860
    """

    def __init__(self, n_inputs: int, n_units: int, convention: str = "torch") -> None:
        super().__init__(n_inputs, n_units, 3)
        check_known("convention", convention, CONVENTIONS)
        self.convention = convention
        self.kernel = "gru" if convention == "torch" else None

    def gates(self, state: Tensor, x: Tensor) -> dict[str, Tensor]:
        """`reset`, `update` and `candidate`."""
        two = 2 * self.n_units
        from_x = F.linear(x, self.weight_x, self.bias)
        gates = from_x[..., :two] + F.linear(state, self.weight_h[:two])
        reset, update = gates.sigmoid().chunk(2, -1)
        u = self.weight_h[two:]
        past = reset * F.linear(state, u) if self.convention == "torch" else F.linear(reset * state, u)
        return {"reset": reset, "update": update, "candidate": (from_x[..., two:] + past).tanh()}

    def forward(self, state: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        now = self.gates(state, x)
        old, new = (state, now["candidate"]) if self.convention == "notes" else (now["candidate"], state)
        state = torch.lerp(old, new, now["update"])
        return state, state


class LSTMCell(_Cell):
    """Long short-term memory: gates say what the memory c forgets, takes in and shows.

    Args:
        n_inputs: Width D of x.
        n_units: Width K of h and of c.
        peephole: Whether the gates see c too, each unit its own.
        forget_bias: What the bias of the forget gate starts with.

    Example:
        >>> [sum(p.numel() for p in LSTMCell(10, 20, peephole).parameters()) for peephole in (False, True)]
        [2480, 2540]
    """

    def __init__(self, n_inputs: int, n_units: int, peephole: bool = False, forget_bias: float = 1.0) -> None:
        super().__init__(n_inputs, n_units, 4)
        nn.init.constant_(self.bias[n_units : 2 * n_units], forget_bias)
        self.peephole = nn.Parameter(torch.zeros(3, n_units)) if peephole else None  # of input, forget, output
        self.kernel = None if peephole else "lstm"

    def initial(self, n: int, like: Tensor) -> LSTMState:
        """The state (h, c) before the first step."""
        return super().initial(n, like), super().initial(n, like)

    def gates(self, state: LSTMState, x: Tensor) -> dict[str, Tensor]:
        """`input`, `forget`, `candidate` and `output`."""
        (h, c), p = state, self.peephole
        raw = F.linear(x, self.weight_x, self.bias) + F.linear(h, self.weight_h)
        i, f, g, o = raw.chunk(4, -1)
        if p is not None:
            i, f = i + p[0] * c, f + p[1] * c
        i, f, g = i.sigmoid(), f.sigmoid(), g.tanh()
        if p is not None:
            o = o + p[2] * (f * c + i * g)
        return {"input": i, "forget": f, "candidate": g, "output": o.sigmoid()}

    def forward(self, state: LSTMState, x: Tensor) -> tuple[LSTMState, Tensor]:
        now = self.gates(state, x)
        c = now["forget"] * state[1] + now["input"] * now["candidate"]
        h = now["output"] * c.tanh()
        return (h, c), h


CELLS: dict[str, Callable[..., nn.Module]] = {  # by name, as `Recurrent` takes them
    **{"rnn": RNNCell, "residual": ResidualCell, "highway": HighwayCell, "gru": GRUCell, "lstm": LSTMCell}
}
