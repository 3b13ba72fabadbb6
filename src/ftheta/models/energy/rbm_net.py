"""Restricted Boltzmann machine: visible and hidden units, weights between the layers and none within them.

    p(v, h) = exp(-E(v, h)) / Z,        E(v, h) = -b.v - c.h - h'Wv          (Bernoulli visibles)
                                        E(v, h) = |v - b|²/2 - c.h - h'Wv    (Gaussian visibles of unit variance)

    p(h_j = 1 | v) = σ(c_j + W_j.v),    p(v_i = 1 | h) = σ(b_i + (W'h)_i):   independent in a layer
    F(v) = -log Σ_h exp(-E(v, h)) = -b.v - Σ_j softplus(c_j + W_j.v),        log p(v) = -F(v) - log Z

One layer is summed in closed form, so that Z takes 2^min(V, H) terms, not 2^(V + H).

Shapes: B rows, V visible units, H hidden units; v (B, V), h (B, H), W (H, V), b (V,), c (H,).
Reference: Smolensky, Information processing in dynamical systems, in Parallel Distributed Processing 1 (1986).
"""

from collections.abc import Iterator
from math import log, pi
from typing import Self

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from ...errors import InputError

MAX_SUMMED_UNITS = 22  # of the smaller layer, for the exact log Z
STATES_AT_ONCE = 2**13
NUMBERS_AT_ONCE = 2**22


def bernoulli(p: Tensor, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """1 with probability p, else 0, without gradients; a quarter of the time of torch.bernoulli."""
    u = (torch.empty_like(p) if out is None else out).uniform_(generator=generator)
    return torch.lt(u, p, out=u)


def all_states(n: int, like: Tensor) -> Iterator[Tensor]:
    """All 2^n rows of n bits, some at a time: (S, n)."""
    for numbers in torch.arange(2**n, device=like.device).split(STATES_AT_ONCE):
        yield (numbers[:, None] >> torch.arange(n, device=like.device) & 1).to(like.dtype)


class RBM(nn.Module):
    """Energies, conditionals and Gibbs sampling of a restricted Boltzmann machine.

    Args:
        n_visible: Visible units V.
        n_hidden: Hidden units H.
        visible: "bernoulli" or "gaussian" (unit variance).
        std: Standard deviation of the initial weights; biases start at 0.

    Example:
        >>> machine = RBM(4, 3)
        >>> v = machine.gibbs(torch.zeros(2, 4), steps=5)
        >>> v.shape, bool(((v == 0) | (v == 1)).all())
        (torch.Size([2, 4]), True)
        >>> round(RBM(4, 3, std=0.0).log_partition().item(), 4)  # 2⁷ states of energy 0
        4.852
    """

    def __init__(self, n_visible: int, n_hidden: int, *, visible: str = "bernoulli", std: float = 0.01) -> None:
        super().__init__()
        self.n_visible, self.n_hidden, self.visible = n_visible, n_hidden, visible
        self.weight = nn.Parameter(torch.randn(n_hidden, n_visible) * std)
        self.visible_bias = nn.Parameter(torch.zeros(n_visible))
        self.hidden_bias = nn.Parameter(torch.zeros(n_hidden))

    def extra_repr(self) -> str:
        return f"{self.n_visible}, {self.n_hidden}, visible={self.visible!r}"

    # ---- energies

    def energy(self, v: Tensor, h: Tensor) -> Tensor:
        """E(v, h) of each row: (B, V), (B, H) -> (B,)."""
        return self._visible_energy(v) - (h * self.hidden_logits(v)).sum(-1)

    def free_energy(self, v: Tensor) -> Tensor:
        """F(v) of each row: (B, V) -> (B,)."""
        return self._visible_energy(v) - F.softplus(self.hidden_logits(v)).sum(-1)

    def hidden_free_energy(self, h: Tensor) -> Tensor:
        """-log Σ_v exp(-E(v, h)) of each row, an integral for Gaussian visibles: (B, H) -> (B,)."""
        logits, own = self.visible_logits(h), -h @ self.hidden_bias
        if self.visible == "gaussian":  # |b|²/2 - |b + W'h|²/2 - V/2 log 2π
            squares = self.visible_bias.square().sum() - logits.square().sum(-1)
            return own + squares / 2 - self.n_visible / 2 * log(2 * pi)
        return own - F.softplus(logits).sum(-1)

    def _visible_energy(self, v: Tensor) -> Tensor:
        return (v - self.visible_bias).square().sum(-1) / 2 if self.visible == "gaussian" else -v @ self.visible_bias

    # ---- conditionals

    def hidden_logits(self, v: Tensor) -> Tensor:
        """Log-odds of h_j = 1 given v: (B, V) -> (B, H)."""
        return F.linear(v, self.weight, self.hidden_bias)

    def visible_logits(self, h: Tensor) -> Tensor:
        """Log-odds of v_i = 1 given h; means of Gaussian visibles: (B, H) -> (B, V)."""
        return torch.addmm(self.visible_bias, h, self.weight)

    def visible_mean(self, h: Tensor) -> Tensor:
        """E[v | h]: (B, H) -> (B, V)."""
        logits = self.visible_logits(h)
        return logits if self.visible == "gaussian" else logits.sigmoid()

    def forward(self, v: Tensor) -> Tensor:
        """P(h_j = 1 | v), the features: (B, V) -> (B, H)."""
        return self.hidden_logits(v).sigmoid()

    @torch.no_grad()
    def log_conditionals(self, v: Tensor) -> Tensor:
        """log P(v_i | all other visibles) of each unit, exactly: (B, V) -> (B, V).

        Their sum is the log-pseudo-likelihood. A gray value v_i is compared with 1 - v_i.
        """
        self._check_bits()
        found = []
        for part in v.split(max(1, NUMBERS_AT_ONCE // (self.n_visible * self.n_hidden))):
            logits, turn = self.hidden_logits(part)[:, None], 1 - 2 * part  # (B, 1, H), (B, V)
            gain = F.softplus(logits + turn[..., None] * self.weight.t()) - F.softplus(logits)  # (B, V, H)
            found.append(F.logsigmoid(-gain.sum(-1) - turn * self.visible_bias))
        return torch.cat(found)

    @torch.no_grad()
    def log_conditional(self, v: Tensor, unit: Tensor) -> Tensor:
        """log P(v_i | all other visibles) of one unit i per row: (B, V), (B,) -> (B,)."""
        self._check_bits()
        place, turned = torch.arange(len(v), device=v.device), v.clone()
        turned[place, unit] = 1 - v[place, unit]
        return F.logsigmoid(self.free_energy(turned) - self.free_energy(v))

    def _check_bits(self) -> None:
        if self.visible == "gaussian":
            raise InputError(
                "P(v_i | the others) of Gaussian visibles has no closed form, so there is no pseudo-likelihood; use "
                "log_prob, with the exact partition function or the one by annealed importance sampling."
            )

    # ---- sampling

    @torch.no_grad()
    def sample_hidden(self, v: Tensor, generator: Generator | None = None) -> Tensor:
        """h ~ p(h | v): (B, V) -> (B, H)."""
        return bernoulli(self.hidden_logits(v).sigmoid_(), generator)

    @torch.no_grad()
    def sample_visible(self, h: Tensor, generator: Generator | None = None) -> Tensor:
        """v ~ p(v | h): (B, H) -> (B, V)."""
        return self.draw_visible(self.visible_logits(h), generator)

    def draw_visible(self, logits: Tensor, generator: Generator | None = None) -> Tensor:
        """v drawn from what `visible_logits` gives, which is overwritten; without gradients: (B, V)."""
        if self.visible == "bernoulli":
            return bernoulli(logits.sigmoid_(), generator)
        return logits + torch.empty_like(logits).normal_(generator=generator)

    @torch.no_grad()
    def gibbs(
        self, v: Tensor, steps: int = 1, generator: Generator | None = None, *, clamp: Tensor | None = None
    ) -> Tensor:
        """Visibles (B, V) after sweeps h ~ p(h | v), v ~ p(v | h); those stay where clamp, (V,) or (B, V), is True."""
        now = v
        for _ in range(steps):
            now = self.sample_visible(self.sample_hidden(now, generator), generator)
            now = now if clamp is None else torch.where(clamp, v, now)
        return now

    sweep = gibbs

    def start(self, v: Tensor, generator: Generator | None = None) -> Tensor:
        """The state of a chain: the visibles alone, as hidden units are drawn first."""
        return v

    # ---- likelihood

    def flat(self) -> Self:
        """The machine itself; a deep machine is another RBM."""
        return self

    @property
    def n_summed(self) -> int:
        """Units of the layer that log Z is a sum over: the hidden one, or the visible one if that is smaller."""
        return min(self.n_hidden, self.n_visible) if self.visible == "bernoulli" else self.n_hidden

    def log_partition(self) -> Tensor:
        """log Z, exactly, by adding up all states of the smaller layer: a scalar in float64."""
        if self.n_summed > MAX_SUMMED_UNITS:
            raise InputError(
                f"The exact partition function is a sum over 2^{self.n_summed} states of the smaller layer; at most "
                f"{MAX_SUMMED_UNITS} units are possible. Use annealed importance sampling: partition(method='ais')."
            )
        free = self.hidden_free_energy if self.n_summed == self.n_hidden else self.free_energy
        parts = [(-free(states)).double().logsumexp(0) for states in all_states(self.n_summed, self.weight)]
        return torch.stack(parts).logsumexp(0)

    def log_prob(self, v: Tensor, log_z: Tensor | float) -> Tensor:
        """log p(v) = -F(v) - log Z of each row: (B,)."""
        return -self.free_energy(v) - log_z
