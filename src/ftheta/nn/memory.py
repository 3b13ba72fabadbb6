"""Hopfield layers: states that retrieve stored patterns, in one step or several, as parts of any network.

    p = softmax(β q Kᵀ),      q <- p K  (steps - 1 times),      z = p V,      q = R W_q,   K = Y W_k,   V = Y W_v

One step is attention from the state R to the stored patterns Y, with β = 1/√d unless given. More steps move the state
towards one pattern, or the mean of several that lie close. `models.energy.modern_hopfield` has their energy.

    HopfieldLayer     state and stored patterns are inputs                association; with itself: self-attention
    HopfieldPooling   the states are learned, a set of patterns comes in  one vector for sets of any size
    HopfieldMemory    the patterns are learned, states come in            a lookup, as a layer of units is

Shapes: state (..., S, D), stored (..., P, D'), missing (..., P) True where there is no pattern; ... any batch axes;
inside heads H of width d: q (..., H, S, d), K (..., H, P, d), p (..., H, S, P).
Reference: Ramsauer et al., Hopfield Networks is All You Need, arXiv:2008.02217 (2020).
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputError
from .conv import check_sizes


def association(
    query: Tensor, stored: Tensor, beta: float | Tensor = 1.0, steps: int = 1, *, missing: Tensor | None = None
) -> Tensor:
    """softmax(β q Kᵀ) after steps - 1 updates: the weight of each pattern; 0 of missing ones: (..., S, P).

    Example:
        >>> association(torch.tensor([[1.0, 0.0]]), torch.eye(2), math.log(3)).tolist()
        [[0.75, 0.25]]
    """
    _check_beta(beta)
    if query.dim() < 2 or stored.dim() < 2 or query.shape[-1] != stored.shape[-1]:
        raise InputError(
            f"A query {tuple(query.shape)} cannot be compared with patterns {tuple(stored.shape)}: give (..., S, D) "
            "and (..., P, D) with the same D."
        )
    stored = _present(stored, missing)
    share = _softmax(beta * query @ stored.transpose(-2, -1), missing)
    for _ in range(check_sizes("retrieve", "steps", steps) - 1):
        share = _softmax(beta * share @ stored @ stored.transpose(-2, -1), missing)
    return share


def retrieve(
    query: Tensor,
    stored: Tensor,
    values: Tensor | None = None,
    beta: float | Tensor = 1.0,
    steps: int = 1,
    *,
    missing: Tensor | None = None,
) -> Tensor:
    """The update of a continuous Hopfield network: softmax(β q Kᵀ) V after steps - 1 updates: (..., S, E).

    Args:
        query: States (..., S, D).
        stored: Patterns (..., P, D).
        values: What is read in place of the patterns themselves: (..., P, E).
        beta: Sharpness; 1/√D and one step are attention.
        steps: Updates of the state.
        missing: (..., P), True where no pattern is stored, whatever stands there; an empty memory gives 0.

    Example:
        >>> retrieve(torch.tensor([[0.9, 0.2]]), torch.eye(2), beta=20.0, steps=2).round(decimals=3).tolist()
        [[1.0, 0.0]]
    """
    values = stored if values is None else values
    return association(query, stored, beta, steps, missing=missing) @ _present(values, missing)


def _softmax(raw: Tensor, missing: Tensor | None) -> Tensor:
    if missing is None:
        return raw.softmax(-1)
    hidden = missing[..., None, :]
    lowest = torch.finfo(raw.dtype).min  # not -inf, which makes NaN of an empty memory
    return raw.masked_fill(hidden, lowest).softmax(-1).masked_fill(hidden, 0.0)


def _present(stored: Tensor, missing: Tensor | None) -> Tensor:
    """The patterns, with 0 in place of missing ones, so that no NaN there reaches a gradient."""
    if missing is None:
        return stored
    rows = stored.shape[:-1]
    fits = all(m in (1, n) for m, n in zip(missing.shape[-2::-1], rows[-2::-1], strict=False))
    if missing.dtype != torch.bool or missing.shape[-1:] != rows[-1:] or not fits:
        rest = f"give one bool for each stored pattern, {tuple(rows)}, True where there is none."
        raise InputError(f"missing is {missing.dtype} of shape {tuple(missing.shape)}; {rest}")
    return torch.where(missing[..., None], 0.0, stored)


def _check_beta(beta: Any) -> None:
    if not isinstance(beta, Tensor) and not (beta > 0 and math.isfinite(beta)):
        raise InputError(f"beta={beta!r}; it must be a finite number above 0, e.g. 8.0.")


class HopfieldLayer(nn.Module):
    """States retrieve from stored patterns that are a second input, or from one another.

    Args:
        n_in: Width D of a state.
        n_out: Width of what comes out.
        n_stored: Width D' of a stored pattern; n_in if None.
        heads: Memories H side by side, each with projections of its own.
        width: d, in which a head compares; n_in / H, rounded up, if None.
        beta: Sharpness β; 1/√d if None.
        steps: Updates of the state.
        normalize: Whether states and patterns pass a layer norm first.

    Example:
        >>> layer = HopfieldLayer(8, 3, heads=2)
        >>> layer(torch.zeros(4, 1, 8), torch.zeros(4, 20, 8)).shape
        torch.Size([4, 1, 3])
    """

    def __init__(
        self,
        n_in: int,
        n_out: int,
        *,
        n_stored: int | None = None,
        heads: int = 1,
        width: int | None = None,
        beta: float | None = None,
        steps: int = 1,
        normalize: bool = True,
    ) -> None:
        super().__init__()
        n_stored = n_in if n_stored is None else n_stored
        sizes = {"n_in": n_in, "n_out": n_out, "n_stored": n_stored, "heads": heads, "steps": steps}
        for name, value in sizes.items():
            check_sizes("HopfieldLayer", name, value)
        each = check_sizes("HopfieldLayer", "width", -(-n_in // heads) if width is None else width)
        self.heads, self.steps, self.beta = heads, steps, 1 / math.sqrt(each) if beta is None else beta
        _check_beta(self.beta)
        if normalize and min(n_in, n_stored) == 1:
            raise InputError("A layer norm of one number leaves nothing of it; take normalize=False for width 1.")
        self.state_norm = nn.LayerNorm(n_in) if normalize else nn.Identity()
        self.stored_norm = nn.LayerNorm(n_stored) if normalize else nn.Identity()
        self.query, self.key, self.value = (nn.Linear(n, heads * each) for n in (n_in, n_stored, n_stored))
        self.out = nn.Linear(heads * each, n_out)

    def association(self, state: Tensor, stored: Tensor | None = None, *, missing: Tensor | None = None) -> Tensor:
        """How much each head takes of each pattern in its last step: (..., H, S, P)."""
        stored = state if stored is None else stored
        self._check_width(state=(state, self.query), stored=(stored, self.key))
        query = self._heads(self.query(self.state_norm(state)))
        key = self._heads(self.key(self.stored_norm(_present(stored, missing))))
        missing = None if missing is None else missing[..., None, :]  # alike for all heads
        return association(query, key, self.beta, self.steps, missing=missing)

    def forward(
        self,
        state: Tensor,
        stored: Tensor | None = None,
        values: Tensor | None = None,
        *,
        missing: Tensor | None = None,
    ) -> Tensor:
        """What states (..., S, D) read: stored patterns (..., P, D'), or the values of these."""
        share = self.association(state, stored, missing=missing)
        values = _present(next(v for v in (values, stored, state) if v is not None), missing)
        self._check_width(values=(values, self.value))
        read = share @ self._heads(self.value(self.stored_norm(values)))  # (..., H, S, d)
        return self.out(read.transpose(-3, -2).flatten(-2))  # (..., S, n_out)

    def _check_width(self, **given: tuple[Tensor, nn.Linear]) -> None:
        for name, (x, layer) in given.items():
            if x.dim() < 2 or x.shape[-1] != layer.in_features:
                raise InputError(f"{name} has shape {tuple(x.shape)}; it must be (..., rows, {layer.in_features}).")

    def _heads(self, t: Tensor) -> Tensor:
        return t.unflatten(-1, (self.heads, -1)).transpose(-3, -2)  # (..., rows, H d) -> (..., H, rows, d)

    def extra_repr(self) -> str:
        return f"heads={self.heads}, beta={self.beta:.4g}, steps={self.steps}"


class HopfieldPooling(nn.Module):
    """Learned states read a set of patterns, of any size and in any order, into one vector.

    Args:
        n_in: Width of a pattern.
        n_out: Width of what each state reads.
        n_states: Learned states Q; what they read is concatenated.
        **options: heads, width, beta, steps, normalize: as of `HopfieldLayer`.

    Example:
        >>> HopfieldPooling(8, 3, n_states=2)(torch.zeros(4, 20, 8)).shape
        torch.Size([4, 6])
    """

    def __init__(self, n_in: int, n_out: int, *, n_states: int = 1, **options: Any) -> None:
        super().__init__()
        self.layer = HopfieldLayer(n_in, n_out, **options)
        self.states = nn.Parameter(torch.randn(check_sizes("HopfieldPooling", "n_states", n_states), n_in))

    def association(self, stored: Tensor, *, missing: Tensor | None = None) -> Tensor:
        """(..., H, Q, P)."""
        return self.layer.association(self.states, stored, missing=missing)

    def forward(self, stored: Tensor, *, missing: Tensor | None = None) -> Tensor:
        return self.layer(self.states, stored, missing=missing).flatten(-2)  # (..., Q n_out)


class HopfieldMemory(nn.Module):
    """States retrieve from learned patterns the learned value of each.

    Args:
        n_in: Width of a state and of a learned pattern.
        n_out: Width of what is read.
        n_memories: Learned patterns P.
        **options: As of `HopfieldLayer`.

    Example:
        >>> HopfieldMemory(8, 3, 16)(torch.zeros(4, 8)).shape
        torch.Size([4, 3])
    """

    def __init__(self, n_in: int, n_out: int, n_memories: int, **options: Any) -> None:
        super().__init__()
        self.layer = HopfieldLayer(n_in, n_out, **options)
        self.memories = nn.Parameter(torch.randn(check_sizes("HopfieldMemory", "n_memories", n_memories), n_in))
        self.values = nn.Parameter(torch.randn(n_memories, n_in))

    def forward(self, state: Tensor) -> Tensor:
        read = self.layer(state.reshape(-1, state.shape[-1]), self.memories, self.values)
        return read.reshape(*state.shape[:-1], -1)  # (..., n_out)
