"""Contrastive divergence: the free energy of data is lowered, that of the machine's own samples ("fantasies") raised.

    ∇ log p(v) = -∇F(v) + E_p[∇F],       loss = mean F(data) - mean F(fantasies),      the fantasies are constants
    -∂F/∂W = p(h = 1 | v) v',            -∂F/∂b = v,      -∂F/∂c = p(h = 1 | v)

Where the fantasies come from: "cd", k sweeps that start at the data (biased, little noise); "pcd", chains that go on
from update to update (stochastic maximum likelihood); "tempering", such chains at M temperatures: after each sweep
neighbors exchange their states with probability min(1, exp((β_m - β_l)(E_m - E_l))), and the fantasies are those
at β = 1. Machines without a closed form of F compare energies E of completed rows with those of persistent chains.

The centered gradient is the gradient in the coordinates E = -(v - μ)'b - (h - λ)'c - (h - λ)'W(v - μ), transformed to
the usual ones: a change of coordinates θ = Jθ' turns a step g into J J'g. With μ and λ the means it does not change
when bits are flipped.

Shapes: B rows, C chains, M temperatures, V visible and H hidden units; W (H, V), b and μ (V,), c and λ (H,).
References: Hinton, Training products of experts by minimizing contrastive divergence, Neural Computation 14 (2002);
Tieleman, Training restricted Boltzmann machines using approximations to the likelihood gradient, ICML (2008);
Desjardins et al., Tempered Markov chain Monte Carlo for training of restricted Boltzmann machines, AISTATS (2010);
Melchior, Fischer and Wiskott, How to center deep Boltzmann machines, JMLR 17 (2016).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ...data import Batch
from ...draw import Draw
from ...train import Loss, Objective
from .rbm_net import RBM, bernoulli

__all__ = ["Contrastive", "PersistentChains", "Tempering", "exchange", "one_bit"]

AVERAGING = 0.01  # share of a new mean of the hidden units, per update
VALIDATION = Draw(0).at("validation")  # the same bits in every epoch: what changes is the machine
MAX_LISTED_UNITS = 10  # of the smaller layer, for the exact likelihood in validation
Slopes = tuple[Tensor, Tensor, Tensor]  # of W, b and c


class Contrastive(Objective):
    """Mean F(data) - mean F(fantasies).

    Args:
        machine: What learns.
        persistent: Whether chains go on from update to update; else they start at the data.
        k: Sweeps per update.
        chains: Persistent chains C.
        mean: Mean of the visible units (V,), for the centered gradient; None takes the plain one.
        sample_pixels: Whether data in [0, 1] are drawn as bits, anew in each update.
    """

    surrogate = True
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
        self.chains, self.centered = chains, mean is not None
        self.register_buffer("hidden", torch.zeros(chains if persistent else 0, machine.n_hidden))
        if mean is not None:
            self.register_buffer("mu", mean)
            self.register_buffer("lam", torch.full((machine.n_hidden,), 0.5))
        self._same_weights: dict[int, Tensor] = {}  # by the number of rows
        self.seen: Tensor | None = None  # p(h = 1 | v) of the rows and fantasies of the last loss: (B + C, H)

    def loss(self, player: str, batch: Batch, draw: Draw) -> Loss:
        """Σ w (F(v) - mean F(fantasies)) and Σ w, with the derivative that `gradient` gives."""
        known, slopes = self.gradient(player, batch, draw)
        linear = sum(((p - p.detach()) * slope).sum() for p, slope in slopes)  # 0, with the right derivative
        return Loss(known.total + linear * known.weight, known.weight)

    def gradient(self, player: str, batch: Batch, draw: Draw) -> tuple[Loss, Iterable[tuple[Tensor, Tensor]]]:
        """The loss, and the gradient of its mean in closed form: with autograd a step takes 1.3 to 2.5 times longer."""
        x = bernoulli(batch.x) if self.sample_pixels else batch.x
        (r, total), m = self._weights(batch), self.machine
        weight, visible_bias, hidden_bias = m.weight, m.visible_bias, m.hidden_bias
        with torch.no_grad():
            v = torch.cat([x, self.fantasies(x)])  # (B + C, V)
            logits = F.linear(v, weight, hidden_bias)  # (B + C, H)
            pull, self.seen = torch.mv(v.t(), r), logits.sigmoid()
            mean = torch.dot(pull, visible_bias) + torch.dot(r, F.softplus(logits).sum(1))  # -Σ r F(v)
            if m.visible == "gaussian":
                mean -= torch.dot(r, v.square().sum(1)) / 2
            slopes: Slopes = torch.mm((self.seen * r.unsqueeze(1)).t(), v), pull, torch.mv(self.seen.t(), r)
            slopes = _centered(*slopes, self.mu, self.lam) if self.centered else slopes
        return Loss(mean * total, total), zip((weight, visible_bias, hidden_bias), slopes, strict=True)

    def _weights(self, batch: Batch) -> tuple[Tensor, Any]:
        """Weights of -F in a mean: of rows -1 in all, of fantasies 1 in all, (B + C,); and Σ w of the rows."""
        n, x = len(batch.x), batch.x
        made = self.chains if self.persistent else n
        if batch.weight is not None:
            w = batch.weight.to(x.dtype)
            return torch.cat([-w / w.sum(), x.new_full((made,), 1 / made)]), w.sum()
        if n not in self._same_weights:
            self._same_weights[n] = torch.cat([x.new_full((n,), -1 / n), x.new_full((made,), 1 / made)])
        return self._same_weights[n], float(n)

    def after(self, player: str, batch: Batch, draw: Draw) -> None:
        """Chains go on from where the loss left them; the mean of the hidden units is averaged."""
        if self.seen is not None:
            if self.centered:
                self.lam.lerp_(self.seen[: len(batch.x)].mean(0), AVERAGING)
            self.go_on(self.seen[len(batch.x) :])

    def fantasies(self, x: Tensor) -> Tensor:
        """The visible units of the fantasies, without gradients: (C, V), or (B, V) where they start at the data."""
        if not self.persistent:
            return self.machine.gibbs(x, self.k)
        m = self.machine
        v = m.draw_visible(m.visible_logits(self.hidden))
        return m.gibbs(v, self.k - 1) if self.k > 1 else v

    def go_on(self, p: Tensor) -> None:
        """Set the hidden units of the chains for the next update, by their probabilities given the fantasies (C, H)."""
        if self.persistent:
            self.hidden.copy_(bernoulli(p))

    def evaluate(self, batch: Batch, draw: Draw) -> Mapping[str, Loss]:
        """Minus the one-bit pseudo-likelihood, the mean squared reconstruction error, and log p(v) of small machines.

        Gaussian visibles have no pseudo-likelihood: their loss is the reconstruction error.
        """
        m, x = self.machine, batch.x
        rebuilt = (x - m.visible_mean(m(x))).square().mean(-1)
        each = {"loss": rebuilt, "reconstruction": rebuilt}
        if m.visible != "gaussian":
            each["loss"] = -one_bit(m, x, VALIDATION)
        if m.n_summed <= MAX_LISTED_UNITS:
            each["log_likelihood"] = m.log_prob(x, m.log_partition()).to(x.dtype)
        return {name: Loss(*batch.sum(values)) for name, values in each.items()}


def _centered(weight: Tensor, visible: Tensor, hidden: Tensor, mu: Tensor, lam: Tensor) -> Slopes:
    """J J'g of a gradient g = (H, V), (V,), (H,), for the offsets μ of the visible and λ of the hidden units."""
    weight = weight.addr(lam, visible, alpha=-1).addr_(hidden, mu, alpha=-1)
    return weight, visible - lam @ weight, hidden - weight @ mu


def one_bit(machine: RBM, v: Tensor, draw: Draw) -> Tensor:
    """The proxy of the log-pseudo-likelihood: units times log P(v_i | others) of one random unit i per row: (B,)."""
    unit = torch.randint(machine.n_units, (len(v),), generator=draw.generator("bit")).to(v.device)
    return machine.n_units * machine.log_conditional(v, unit)


class PersistentChains(Objective):
    """E of completed rows minus the mean E of persistent chains, which are constants; k sweeps after each update."""

    surrogate = True
    term = ""  # name in the history for the mean of `each` over the training rows; "": none
    chains: Tensor

    def __init__(self, module: Any, units: int, chains: int, k: int) -> None:
        super().__init__()
        self.module, self.k = module, k
        self.register_buffer("chains", torch.bernoulli(torch.full((chains, units), 0.5)))  # states

    @abstractmethod
    def complete(self, v: Tensor) -> Tensor:
        """Rows with hidden units given them: (B, V) -> (B, units)."""

    @abstractmethod
    def each(self, state: Tensor) -> Tensor:
        """The measure of validation, of each completed row: (B,)."""

    def loss(self, player: str, batch: Batch, draw: Draw) -> Loss:
        """E of the rows, and once per update minus the mean energy of the chains."""
        state = self.complete(batch.x)
        terms = {self.term: batch.sum(self.each(state).detach())[0]} if self.term else {}
        return Loss(*batch.sum(self.module.energy(state)), -self.module.energy(self.chains).mean(), terms)

    def after(self, player: str, batch: Batch, draw: Draw) -> None:
        """k sweeps of the chains, with the weights as they are now."""
        self.chains.copy_(self.module.sweep(self.chains, self.k))

    def evaluate(self, batch: Batch, draw: Draw) -> Mapping[str, Loss]:
        """A measure of single rows: energies say nothing without those of all other states."""
        return {"loss": Loss(*batch.sum(self.each(self.complete(batch.x))))}


class Tempering(Contrastive):
    """Fantasies by parallel tempering: C chains at each of the inverse temperatures 1/M, 2/M, ..., 1.

    Args:
        machine: What learns.
        temperatures: M.
        chains: C, at each temperature.
        **options: As of `Contrastive`; each of the k sweeps is followed by an exchange.
    """

    beta: Tensor

    def __init__(self, machine: RBM, *, temperatures: int = 10, chains: int = 10, **options: Any) -> None:
        super().__init__(machine, chains=temperatures * chains, **options)
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
    """Which state each place gets when neighbors exchange theirs: (M, C) energies, (M,) -> (M, C) numbers below M C.

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
