"""How δ goes back through recurrence, unrolled: one step of time after the other, the last first.

    a_t = W_ih x_t + b_ih,   u_t = W_hh h_{t-1} + b_hh

    plain   h_t = φ(a_t + u_t)
    LSTM    (i, f, g, o) = (σ, σ, tanh, σ)(a_t + u_t),   c_t = f ⊙ c_{t-1} + i ⊙ g,   h_t = o ⊙ tanh c_t
    GRU     (r, z) = σ(a_t + u_t),   n = tanh(a_t + r ⊙ u_t),   h_t = (1 - z) ⊙ n + z ⊙ h_{t-1}

    back    δ_x = W_ihᵀ δ_a,   δ_h = W_hhᵀ δ_u + (what h_{t-1} gets directly),   ∂ℓ/∂W_ih = Σ_t δ_a x_tᵀ,   ...

Shapes: T steps, B rows, I inputs, H units; a and u (B, H), (B, 4H) or (B, 3H).
References: Werbos, Proceedings of the IEEE 78 (1990); Hochreiter and Schmidhuber (1997); Cho et al. (2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ._tape import Back, Call, Kind

__all__ = ["RECURRENT"]

State = tuple[Tensor, ...]  # (h,), or (h, c) of an LSTM
Gates = tuple[State, tuple[Tensor, ...]]  # the new state, and what its way back needs


class _Cell(NamedTuple):
    forward: Any  # (layer, a, u, state) -> Gates
    backward: Any  # (layer, δ of the new state, state, kept) -> δ_a, δ_u, δ of the state directly


def _plain(layer: Any, a: Tensor, u: Tensor, state: State) -> Gates:
    h = torch.tanh(a + u) if layer.nonlinearity == "tanh" else (a + u).clamp(min=0)
    return (h,), (h,)


def _plain_back(layer: Any, delta: State, state: State, kept: tuple[Tensor, ...]) -> tuple[Tensor, Tensor, State]:
    (h,) = kept
    d = delta[0] * ((1 - h * h) if layer.nonlinearity == "tanh" else (h > 0))
    return d, d, (torch.zeros_like(h),)


def _lstm(layer: Any, a: Tensor, u: Tensor, state: State) -> Gates:
    i, f, g, o = (a + u).chunk(4, -1)
    i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
    c = f * state[1] + i * g
    return (o * torch.tanh(c), c), (i, f, g, o, torch.tanh(c))


def _lstm_back(layer: Any, delta: State, state: State, kept: tuple[Tensor, ...]) -> tuple[Tensor, Tensor, State]:
    i, f, g, o, t = kept
    c = delta[1] + delta[0] * o * (1 - t * t)  # δ of c_t
    d = torch.cat(
        (
            c * g * i * (1 - i),
            c * state[1] * f * (1 - f),
            c * i * (1 - g * g),
            delta[0] * t * o * (1 - o),
        ),
        -1,
    )
    return d, d, (torch.zeros_like(c), c * f)


def _gru(layer: Any, a: Tensor, u: Tensor, state: State) -> Gates:
    (ar, az, an), (ur, uz, un) = a.chunk(3, -1), u.chunk(3, -1)
    r, z = torch.sigmoid(ar + ur), torch.sigmoid(az + uz)
    n = torch.tanh(an + r * un)
    return ((1 - z) * n + z * state[0],), (r, z, n, un)


def _gru_back(layer: Any, delta: State, state: State, kept: tuple[Tensor, ...]) -> tuple[Tensor, Tensor, State]:
    r, z, n, un = kept
    dn = delta[0] * (1 - z) * (1 - n * n)
    dr, dz = dn * un * r * (1 - r), delta[0] * (state[0] - n) * z * (1 - z)
    return torch.cat((dr, dz, dn), -1), torch.cat((dr, dz, dn * r), -1), (delta[0] * z,)


_CELLS = {
    (nn.RNN, nn.RNNCell): _Cell(_plain, _plain_back),
    (nn.LSTM, nn.LSTMCell): _Cell(_lstm, _lstm_back),
    (nn.GRU, nn.GRUCell): _Cell(_gru, _gru_back),
}


class _Unrolled:
    """One layer in one direction: its steps, and their way back.

    Args:
        layer: The module.
        theta: Its parameters in double precision.
        end: What the names of the parameters of this layer and direction end with.
    """

    def __init__(self, layer: Any, theta: dict[str, Tensor], end: str) -> None:
        self.layer, self.cell, self.end = layer, next(c for k, c in _CELLS.items() if isinstance(layer, k)), end
        self.own = {
            n: theta[f"{n}{end}"] for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh") if f"{n}{end}" in theta
        }

    def forward(self, x: Tensor, state: State) -> Tensor:
        """(T, B, I) -> h of every step: (T, B, H)."""
        self.x, self.kept, self.states, self.pre = x, [], [state], []
        for step in x:
            a = step @ self.own["weight_ih"].T + self.own.get("bias_ih", 0.0)
            u = self.states[-1][0] @ self.own["weight_hh"].T + self.own.get("bias_hh", 0.0)
            state, kept = self.cell.forward(self.layer, a, u, self.states[-1])
            self.states.append(state)
            self.kept.append(kept)
            self.pre.append(a + u)
        return torch.stack([state[0] for state in self.states[1:]])

    def backward(self, delta: Tensor, last: State) -> tuple[Tensor, State]:
        """δ of every h (T, B, H) and of the last state -> δ_x (T, B, I) and δ of the first state."""
        self.gradient = {n: torch.zeros_like(p) for n, p in self.own.items()}
        self.deltas: list[Tensor] = []
        delta_x = torch.zeros_like(self.x)
        for t in reversed(range(len(self.x))):
            h = self.states[t]
            new = (last[0] + delta[t], *last[1:])
            a, u, direct = self.cell.backward(self.layer, new, h, self.kept[t])
            delta_x[t] = a @ self.own["weight_ih"]
            last = (direct[0] + u @ self.own["weight_hh"], *direct[1:])
            steps = {"weight_ih": a.T @ self.x[t], "weight_hh": u.T @ h[0], "bias_ih": a.sum(0), "bias_hh": u.sum(0)}
            for name in self.gradient:
                self.gradient[name] += steps[name]
            self.deltas.insert(0, a)
        return delta_x, last


def _sequence(call: Call, deltas: Sequence[Tensor]) -> Back:
    """All layers and directions of nn.RNN, nn.LSTM or nn.GRU."""
    layer: Any = call.layer
    turn = (lambda v: v.transpose(0, 1)) if layer.batch_first else (lambda v: v)
    x, ways = turn(call.inputs[0]), 2 if layer.bidirectional else 1
    start = call.inputs[1:] or [torch.zeros_like(v) for v in call.values[1:]]  # h₀ (and c₀): (layers × ways, B, H)
    parts: list[list[_Unrolled]] = []
    for k in range(layer.num_layers):
        parts.append([_Unrolled(layer, call.theta, f"_l{k}{'_reverse' * way}") for way in range(ways)])
        states = [tuple(s[k * ways + way] for s in start) for way in range(ways)]
        found = [_there(part, x, s, way) for way, (part, s) in enumerate(zip(parts[-1], states, strict=True))]
        x = torch.cat(found, -1)  # (T, B, ways H)
    delta, first = turn(deltas[0]), [torch.zeros_like(s) for s in start]
    for k in reversed(range(layer.num_layers)):
        below: Any = 0
        for way, (part, d) in enumerate(zip(parts[k], delta.chunk(ways, -1), strict=True)):
            n = k * ways + way
            back, begun = part.backward(_flipped(d, way), tuple(s[n] for s in deltas[1:]))
            below = below + _flipped(back, way)
            for s, value in zip(first, begun, strict=True):
                s[n] = value
        delta = below
    flat = [part for level in parts for part in level]
    gradients = {f"{name}{part.end}": g for part in flat for name, g in part.gradient.items()}
    inner = {f"z{p.end}": torch.stack(p.pre, 1) for p in flat} | {f"δ z{p.end}": torch.stack(p.deltas, 1) for p in flat}
    return Back([turn(delta), *(first if call.inputs[1:] else ())], gradients, inner)  # inner: (B, T, gates)


def _flipped(value: Tensor, way: int) -> Tensor:
    return value.flip(0) if way else value


def _there(part: _Unrolled, x: Tensor, state: State, way: int) -> Tensor:
    return _flipped(part.forward(_flipped(x, way), state), way)


def _one_step(call: Call, deltas: Sequence[Tensor]) -> Back:
    """A cell: one step of time."""
    x, *state = call.inputs
    part = _Unrolled(call.layer, call.theta, "")
    given = tuple(state) or tuple(torch.zeros_like(v) for v in call.values)
    part.forward(x[None], given)
    delta_x, first = part.backward(torch.zeros_like(deltas[0])[None], tuple(deltas))
    inner = {"z": part.pre[0], "δ z": part.deltas[0]}
    return Back([delta_x[0], *(first if state else ())], part.gradient, inner)


def _plain_sequence(call: Call) -> bool:
    layer: Any = call.layer
    packed = any(isinstance(leaf, Tensor) and not leaf.is_floating_point() for leaf in call.leaves)
    dropped = layer.training and layer.dropout and layer.num_layers > 1
    return call.inputs[0].ndim == 3 and not (layer.proj_size or packed or dropped)


_FORWARD = {
    nn.RNN: "h_t = φ(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh)",
    nn.LSTM: "c_t = f ⊙ c_{t-1} + i ⊙ g, h_t = o ⊙ tanh(c_t)",
    nn.GRU: "h_t = (1 - z) ⊙ n + z ⊙ h_{t-1}",
}
_BACK = "δ_{h,t-1} = W_hhᵀ δ_{u,t} + direct, δ_{x,t} = W_ihᵀ δ_{a,t}"
_SUMS = "∂ℓ/∂W_ih = Σ_t δ_{a,t} x_tᵀ, ∂ℓ/∂W_hh = Σ_t δ_{u,t} h_{t-1}ᵀ"
_SINGLE = {nn.RNN: nn.RNNCell, nn.LSTM: nn.LSTMCell, nn.GRU: nn.GRUCell}

RECURRENT: dict[type, Kind] = {
    **{kind: Kind(words, _BACK, _sequence, _plain_sequence, _SUMS) for kind, words in _FORWARD.items()},
    **{
        _SINGLE[kind]: Kind(words, _BACK, _one_step, lambda call: call.inputs[0].ndim == 2, _SUMS)
        for kind, words in _FORWARD.items()
    },
}
"""Recurrent layers and cells."""
