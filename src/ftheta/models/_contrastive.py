"""Contrastive divergence: the free energy of data is lowered, that of the machine's own fantasies raised.

    ∇ log p(v) = -∇F(v) + E_p[∇F],       loss = mean F(data) - mean F(fantasies),      the fantasies are constants
    -∂F/∂W = p(h = 1 | v) v',            -∂F/∂b = v,      -∂F/∂c = p(h = 1 | v)

Where the fantasies come from: "cd", k sweeps that start at the data (biased, little noise); "pcd", chains that go on
from update to update (stochastic maximum likelihood); "tempering", such chains at M temperatures: after each sweep
neighbours exchange their states with probability min(1, exp((β_m - β_l)(E_m - E_l))), and the fantasies are those
at β = 1.

The centred gradient is the gradient in the coordinates E = -(v - μ)'b - (h - λ)'c - (h - λ)'W(v - μ), taken back to the
usual ones: a change of coordinates θ = Jθ' turns a step g into J J'g. With μ and λ the means it does not change when
bits are flipped.

Shapes: B rows, C chains, M temperatures, V visible and H hidden units; W (H, V), b and μ (V,), c and λ (H,).
References: Hinton, Training products of experts by minimizing contrastive divergence, Neural Computation 14 (2002);
Tieleman, Training restricted Boltzmann machines using approximations to the likelihood gradient, ICML (2008);
Desjardins et al., Tempered Markov chain Monte Carlo for training of restricted Boltzmann machines, AISTATS (2010);
Melchior, Fischer and Wiskott, How to center deep Boltzmann machines, JMLR 17 (2016).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from ..data import Batch
from ..draw import Draw
from ..nn.rbm import RBM, bernoulli
from ..train import Loss, Objective

__all__ = ["Contrastive", "FreeEnergies", "Tempering", "exchange"]

SLIDE = 0.01  # of the mean of the hidden units, an update
SAME = Draw(0).at("validation")  # the same bits in every epoch: what changes is the machine
LISTED = 10  # units of the smaller layer up to which validation reports the exact likelihood


class FreeEnergies(torch.autograd.Function):
    """-Σ_i r_i F(v_i) over rows and fantasies as autograd sees it, with the gradient of `free_energies`."""

    @staticmethod
    def forward(ctx: Any, objective: Contrastive, x: Tensor, r: Tensor, *theta: Tensor) -> Tensor:
        """Rows x (B, V) and weights r (B + C,) to the sum."""
        total, ctx.slopes = free_energies(objective, x, r, theta)
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        """What forward found, times the factor from above."""
        return None, None, None, *(slope * grads[0] for slope in ctx.slopes)


def free_energies(
    objective: Contrastive, x: Tensor, r: Tensor, theta: Sequence[Tensor]
) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
    """-Σ_i r_i F(v_i) over rows x (B, V) and fantasies, for weights r (B + C,) that add up to 0, and its gradient.

    To be called without gradients. p(h = 1 | v) of all is left with the objective.
    """
    weight, visible_bias, hidden_bias = theta
    v = torch.cat([x, objective.fantasies(x)])  # (B + C, V)
    logits = F.linear(v, weight, hidden_bias)  # (B + C, H)
    pull, p = torch.mv(v.t(), r), logits.sigmoid()
    total = torch.dot(pull, visible_bias).add_(torch.dot(r, F.softplus(logits).sum(1)))
    if objective.gaussian:
        total -= torch.dot(r, v.square().sum(1)) / 2
    vars(objective)["seen"] = p  # past nn.Module, which looks at every tensor that it is given
    slopes = torch.mm((p * r.unsqueeze(1)).t(), v), pull, torch.mv(p.t(), r)
    return total, centred(*slopes, objective.mu, objective.lam) if objective.centred else slopes


def centred(weight: Tensor, visible: Tensor, hidden: Tensor, mu: Tensor, lam: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """J J'g of a gradient g = (H, V), (V,), (H,), for the offsets μ of the visible and λ of the hidden units."""
    weight = weight.addr(lam, visible, alpha=-1).addr_(hidden, mu, alpha=-1)
    return weight, visible - lam @ weight, hidden - weight @ mu


class Contrastive(Objective):
    """Mean F(data) - mean F(fantasies).

    Args:
        machine: What learns.
        persistent: Whether chains go on from update to update; else they start at the data.
        k: Sweeps an update.
        chains: Persistent chains C.
        mean: Mean of the visible units (V,), for the centred gradient; None takes the plain one.
        sample_pixels: Whether data in [0, 1] are drawn as bits, anew in each update.
    """

    surrogate = True
    own: RBM
    hidden: Tensor
    mu: Tensor
    lam: Tensor

    def __init__(
        self,
        machine: RBM,
        *,
        persistent: bool = True,
        k: int = 1,
        chains: int = 10,
        mean: Tensor | None = None,
        sample_pixels: bool = False,
    ) -> None:
        super().__init__()
        self.machine, self.persistent, self.k, self.sample_pixels = machine, persistent, k, sample_pixels
        self.chains, self.centred, self.gaussian = chains, mean is not None, machine.visible == "gaussian"
        self.register_buffer("hidden", torch.zeros(chains if persistent else 0, machine.n_hidden))
        if mean is not None:
            self.register_buffer("mu", mean)
            self.register_buffer("lam", torch.full((machine.n_hidden,), 0.5))
        self._signs: dict[int, Tensor] = {}
        vars(self)["own"] = machine  # what is registered, nn.Module takes three microseconds to find
        self.seen: Tensor | None = None  # p(h = 1 | v) of the rows and fantasies of the last loss: (B + C, H)

    def loss(self, player: str, batch: Batch, draw: Draw) -> Loss:
        """Σ w (F(v) - mean F(fantasies)) and Σ w."""
        x = bernoulli(batch.x) if self.sample_pixels else batch.x
        r, weight = self._weights(batch)
        return Loss(FreeEnergies.apply(self, x, r, *self.machine.theta) * weight, weight)  # type: ignore

    def gradient(self, player: str, batch: Batch, draw: Draw) -> tuple[Loss, Iterable[tuple[Tensor, Tensor]]]:
        """The same and its gradient, without autograd: a graph makes a step of a small machine a quarter longer."""
        x = bernoulli(batch.x) if self.sample_pixels else batch.x
        (r, weight), theta = self._weights(batch), self.own.theta
        with torch.no_grad():
            mean, slopes = free_energies(self, x, r, theta)
        return Loss(mean.mul_(weight), weight), zip(theta, slopes, strict=True)

    def after(self, player: str, batch: Batch, draw: Draw) -> None:
        """Chains go on to where the loss left them, and the mean of the hidden units slides."""
        if self.seen is not None:
            if self.centred:
                self.lam.lerp_(self.seen[: batch.x.shape[0]].mean(0), SLIDE)
            self.go_on(self.seen[batch.x.shape[0] :])

    def fantasies(self, x: Tensor) -> Tensor:
        """The visible units of the fantasies: (C, V), or (B, V) where they start at the data."""
        m = self.own
        if not self.persistent:
            return m.gibbs(x, self.k)
        v = m.draw_visible(m.visible_logits(cast(Tensor, self._buffers["hidden"])))
        return m.gibbs(v, self.k - 1) if self.k > 1 else v

    def go_on(self, p: Tensor) -> None:
        """Hidden units of the chains for the next update, from their probabilities given the fantasies: (C, H)."""
        if self.persistent:
            bernoulli(p, out=self._buffers["hidden"])

    def _weights(self, batch: Batch) -> tuple[Tensor, Tensor | float]:
        """Weights of -F in a mean: rows have -1 in all, fantasies 1, (B + C,); and what those of the rows were."""
        n = batch.x.shape[0]
        made = self.chains if self.persistent else n
        if batch.weight is not None:
            w, raised = batch.weight.to(batch.x.dtype), batch.x.new_full((made,), 1 / made)
            return torch.cat([-w / w.sum(), raised]), w.sum()
        if n not in self._signs:
            self._signs[n] = torch.cat([batch.x.new_full((n,), -1 / n), batch.x.new_full((made,), 1 / made)])
        return self._signs[n], float(n)

    def evaluate(self, batch: Batch, draw: Draw) -> Mapping[str, Loss]:
        """Minus the one-bit pseudo-likelihood, the mean squared reconstruction error, and log p(v) of small machines.

        Gaussian visibles have no pseudo-likelihood: their loss is the reconstruction error.
        """
        m, x = self.machine, batch.x
        rebuilt = (x - m.visible_mean(m(x))).square().mean(-1)
        found = {"loss": rebuilt, "reconstruction": rebuilt}
        if m.visible != "gaussian":
            found["loss"] = -one_bit(m, x, SAME)
        if m.n_hidden <= LISTED or m.n_visible <= LISTED and m.visible == "bernoulli":
            found["log_likelihood"] = m.log_prob(x, m.log_partition()).to(x.dtype)
        return {name: Loss(*batch.sum(each)) for name, each in found.items()}


def one_bit(machine: RBM, v: Tensor, draw: Draw) -> Tensor:
    """The proxy of the log-pseudo-likelihood: units times log P(v_i | others) of one random unit i a row: (B,)."""
    unit = torch.randint(machine.n_units, (len(v),), generator=draw.generator("bit")).to(v.device)
    return machine.n_units * machine.log_conditional(v, unit)


class Tempering(Contrastive):
    """Fantasies by parallel tempering: chains at inverse temperatures 1/M, 2/M, ..., 1.

    Args:
        machine: What learns.
        temperatures: M.
        k: Sweeps, each with an exchange, an update.
        chains: C, at each temperature.
        mean: Mean of the visible units (V,), for the centred gradient; None takes the plain one.
        sample_pixels: Whether data in [0, 1] are drawn as bits, anew in each update.
    """

    beta: Tensor

    def __init__(
        self,
        machine: RBM,
        *,
        temperatures: int = 10,
        k: int = 1,
        chains: int = 10,
        mean: Tensor | None = None,
        sample_pixels: bool = False,
    ) -> None:
        super().__init__(machine, k=k, chains=temperatures * chains, mean=mean, sample_pixels=sample_pixels)
        self.chains = chains
        self.register_buffer("beta", torch.arange(1, temperatures + 1) / temperatures)

    @torch.no_grad()
    def fantasies(self, x: Tensor) -> Tensor:
        """Visible units of the chains at β = 1, after k sweeps and exchanges of all: (C, V)."""
        m, beta = self.machine, self.beta.repeat_interleave(self.chains)[:, None]  # (M C, 1)
        v, h = x, self.hidden
        for _ in range(self.k):
            v = m.sample_visible(h, beta=beta)
            h = m.sample_hidden(v, beta=beta)
            source = exchange(m.energy(v, h).view(-1, self.chains), self.beta).flatten()
            v, h = v[source], h[source]
        self._moved = h
        return v[-self.chains :]

    def go_on(self, p: Tensor) -> None:
        """Hidden units of all chains after the exchange."""
        self.hidden.copy_(self._moved)


def exchange(energy: Tensor, beta: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Which state each place gets when neighbours exchange theirs: (M, C) energies, (M,) -> (M, C) numbers below M C.

    Pairs (0, 1), (2, 3), ... first, then (1, 2), (3, 4), ...; each pair keeps the product of the tempered laws.
    """
    levels, chains = energy.shape
    source = torch.arange(levels * chains, device=energy.device).view(levels, chains)
    for first in (0, 1):
        low = torch.arange(first, levels - 1, 2, device=energy.device)
        now = energy.flatten()[source]
        gain = (beta[low + 1] - beta[low])[:, None] * (now[low + 1] - now[low])  # (pairs, C)
        go = torch.empty_like(gain).uniform_(generator=generator).log_() < gain
        source[low], source[low + 1] = (
            torch.where(go, source[low + 1], source[low]),
            torch.where(go, source[low], source[low + 1]),
        )
    return source
