"""Restricted Boltzmann machine: visible and hidden units, weights between the layers and none within them.

    p(v, h) = exp(-E(v, h)) / Z,        E(v, h) = -b.v - c.h - h'Wv          (Bernoulli visibles)
                                        E(v, h) = |v - b|²/2 - c.h - h'Wv    (Gaussian visibles of unit variance)

    p(h_j = 1 | v) = σ(c_j + W_j.v),    p(v_i = 1 | h) = σ(b_i + (W'h)_i):   independent in a layer
    F(v) = -log Σ_h exp(-E(v, h)) = -b.v - Σ_j softplus(c_j + W_j.v),        log p(v) = -F(v) - log Z

One layer is summed in closed form, so that Z takes 2^min(V, H) terms, not 2^(V + H). Of larger machines annealed
importance sampling estimates it:

    p_β(v) ∝ exp((1 - β) a·v + β b·v) Π_j (1 + e^{β u_j}),     u = c + W v,     0 = β_0 < β_1 < ... < β_K = 1
    log w  = Σ_k log p*_{β_k}(v_k) - log p*_{β_{k-1}}(v_k),    v_1 ~ p_0,  v_{k+1} ~ T_{β_k}(v_k): one Gibbs step
    log Z  ≈ log Z_0 + log (1/M Σ_m w_m),                      Z_0 = 2^H Π_i (1 + e^{a_i})
    error  = sd(w) / (mean(w) √M)                              of log Z, by the delta method
    ESS    = (Σ w)² / Σ w²                                     as many equal weights would be as precise

β = 0 is a machine whose visible units are independent with biases a; the closer a is to the machine's own rates, the
fewer steps are needed. Gaussian visibles start from N(a, I). The estimate of Z is unbiased, that of log Z is low on
average, and far too low when no chain finds where the mass is: then the weights are uneven, which the effective sample
size shows (fewer than 30 % of the chains: a warning).

Shapes: B rows, V visible and H hidden units, M chains; v (B, V) or (M, V), h (B, H), W (H, V), b (V,), c (H,).
References: Smolensky, Information processing in dynamical systems, in Parallel Distributed Processing 1 (1986); Neal,
Annealed Importance Sampling (2001), arXiv:physics/9803008; Salakhutdinov and Murray, On the Quantitative Analysis of
Deep Belief Networks (2008).
"""

import math
import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import torch
from scipy.stats import t
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from ...draw import Draw
from ...errors import InputError, NonFiniteError

MAX_SUMMED_UNITS = 22  # of the smaller layer, for the exact log Z
STATES_AT_ONCE = 2**13
NUMBERS_AT_ONCE = 2**22
MAX_EXACT_UNITS = 20  # of the smaller side, up to which "auto" sums over all states
MIN_EFFECTIVE_SHARE = 0.3  # of the chains: a smaller effective sample size gives a warning
MIN_CHAINS = 10  # for an estimate of the variance of their weights
MIN_TEMPERATURES = 100  # larger steps are not annealing, and overflow
MIN_RATE = 1e-3  # of a base unit


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
            return own + squares / 2 - self.n_visible / 2 * math.log(2 * math.pi)
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
            what = "P(v_i | the others) of Gaussian visibles has no closed form, so there is no pseudo-likelihood;"
            raise InputError(f"{what} use log_prob, with the partition function exact or annealed.")

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
            what = f"The exact partition function is a sum over 2^{self.n_summed} states of the smaller layer;"
            rest = f"at most {MAX_SUMMED_UNITS} units are possible. Use annealed importance sampling"
            raise InputError(f"{what} {rest}: partition(method='ais').")
        free = self.hidden_free_energy if self.n_summed == self.n_hidden else self.free_energy
        parts = [(-free(states)).double().logsumexp(0) for states in all_states(self.n_summed, self.weight)]
        return torch.stack(parts).logsumexp(0)

    def log_prob(self, v: Tensor, log_z: Tensor | float) -> Tensor:
        """log p(v) = -F(v) - log Z of each row: (B,)."""
        return -self.free_energy(v) - log_z


class LogPartition(NamedTuple):
    """The logarithm of a partition function, in nats."""

    log_z: float
    error: float = 0.0  # standard error; 0 where it is exact
    ess: float | None = None  # effective sample size: as many equal weights would be as precise; None where exact
    chains: int = 0  # how many were annealed
    temperatures: int = 0  # how many each passed through
    method: str = "exact"  # or "ais"

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of log Z: Student's, of as many chains."""
        half = float(t.ppf(0.975, self.chains - 1)) * self.error if self.error else 0.0
        return self.log_z - half, self.log_z + half


@torch.no_grad()
def log_partition(machine: Any, method: Literal["auto", "exact", "ais"] = "auto", **options: Any) -> LogPartition:
    """log Z by summing over all states of the smaller side (auto: up to 20 units), or by annealing."""
    flat = machine.flat() if hasattr(machine, "flat") else None
    if flat is None and method == "ais":
        raise InputError(f"{type(machine).__name__} has no layers to anneal; its log Z is exact: method='exact'.")
    if flat is None or method == "exact" or method == "auto" and flat.n_summed <= MAX_EXACT_UNITS:
        return LogPartition(float((flat or machine).log_partition()))
    return annealed_importance(flat, **options)


def mean_and_error(each: np.ndarray, shared: float = 0.0) -> tuple[float, float]:
    """Mean of rows and its standard error; `shared` is an error that all rows have in common."""
    return float(each.mean()), math.hypot(float(each.std()) / max(len(each) - 1, 1) ** 0.5, shared)


@torch.no_grad()
def annealed_importance(
    machine: Any, *, chains: int = 100, temperatures: int = 10_000, base_bias: Tensor | None = None, draw: Draw
) -> LogPartition:
    """log Z of a machine by annealed importance sampling.

    Args:
        machine: An RBM; a DBM is annealed as the RBM between its even and its odd layers.
        chains: How many, M.
        temperatures: How many machines between base and target, K.
        base_bias: Biases a of the base machine (V,), e.g. `base_rates` of the training rows; None takes the rates of
            a short run of the machine's own chains. For a DBM (all units of even layers,).
        draw: Where the randomness comes from.
    """
    flat = machine.flat()
    if chains < MIN_CHAINS or temperatures < MIN_TEMPERATURES:
        what = f"Annealed importance sampling got {chains=} and {temperatures=}; it needs at least {MIN_CHAINS} chains"
        raise InputError(f"{what} for its error, and {MIN_TEMPERATURES} temperatures. Usual are 100 and 10,000.")
    if base_bias is not None and base_bias.shape != flat.visible_bias.shape:
        rest = f"the machine has {len(flat.visible_bias)} units to start from. Give one bias for each, or None."
        raise InputError(f"base_bias has shape {tuple(base_bias.shape)}; {rest}")
    start = _own_rates(flat, chains, temperatures, draw) if base_bias is None else base_bias
    path = _Path(flat, start, chains, draw.generator("anneal", flat.weight.device))
    log_w = torch.zeros(chains, dtype=torch.float64, device=flat.weight.device)
    left = torch.linspace(1, 0, temperatures + 1, dtype=torch.float64)
    for before, beta in pairwise((1 - left**1.5).tolist()):  # denser towards 1, where a trained machine changes most
        log_w += path.log_weight(before, beta)
        path.move(beta)
    return _estimate(log_w, path.log_base(), temperatures)


def base_rates(means: Tensor, visible: str = "bernoulli") -> Tensor:
    """Biases of independent units with these means (V,): those of the rows that a machine learned from."""
    if visible == "gaussian":
        return means
    return means.clamp(MIN_RATE, 1 - MIN_RATE).logit()


def _own_rates(machine: RBM, chains: int, temperatures: int, draw: Draw) -> Tensor:
    """Biases of the rates that the machine's own chains have in the second half of a short run."""
    path = _Path(machine, torch.zeros_like(machine.visible_bias), chains, draw.generator("base", machine.weight.device))
    steps, seen = max(20, min(temperatures // 20, 500)), torch.zeros_like(machine.visible_bias)
    for step in range(steps):
        path.log_weight(1.0, 1.0)
        path.move(1.0)
        seen += path.v.mean(0) * (2 * step >= steps)
    return base_rates(seen / (steps - (steps + 1) // 2), machine.visible)


def _estimate(log_w: Tensor, log_base: float, temperatures: int) -> LogPartition:
    """Weights to log Z, its error and the effective sample size."""
    chains, top = len(log_w), log_w.max()
    w = (log_w - top).exp()  # (M,), the largest is 1
    log_z = float(log_base + top + w.mean().log())
    if not math.isfinite(log_z):
        rest = "its weights are not, or too large for float32. Train it with a lower learning rate."
        raise NonFiniteError(f"Annealing the machine gave numbers that are not finite: {rest}")
    ess = float(w.sum() ** 2 / (w**2).sum())
    if ess < MIN_EFFECTIVE_SHARE * chains:
        what = f"The weights of {chains} annealed chains are as precise as {ess:.1f} equal ones: log Z = {log_z:.2f}"
        rest = f"may be too low by more than its error. Use more than {temperatures} temperatures."
        warnings.warn(f"{what} {rest}", stacklevel=3)
    return LogPartition(log_z, float(w.std() / w.mean() / chains**0.5), ess, chains, temperatures, "ais")


class _Path:
    """The machines between base and target, and the visible units v (M, V) of every chain."""

    def __init__(self, machine: RBM, base: Tensor, chains: int, generator: Generator) -> None:
        self.machine, self.base, self.generator = machine, base.to(machine.weight), generator
        self.v = machine.draw_visible(self.base.repeat(chains, 1), generator)

    def log_weight(self, before: float, beta: float) -> Tensor:
        """log p*_β(v) - log p*_before(v) of every chain: (M,).

        log (1 + e^{βu}) / (1 + e^{β'u}) = -log(1 + σ(βu) (e^{-(β - β')u} - 1)), exact also where β and β' are close.
        """
        u = self.machine.hidden_logits(self.v)  # (M, H)
        self.p = (u * beta).sigmoid_()  # P(h = 1 | v), used again by `move`
        hidden = u.mul_(before - beta).expm1_().mul_(self.p).log1p_().sum(1)
        return (self.v @ (self.machine.visible_bias - self.base)).double() * (beta - before) - hidden.double()

    def move(self, beta: float) -> None:
        """One Gibbs step of the machine at β; `log_weight` came before."""
        h = bernoulli(self.p, self.generator)
        bias = torch.lerp(self.base, self.machine.visible_bias, beta)
        self.v = self.machine.draw_visible(torch.addmm(bias, h, self.machine.weight, alpha=beta), self.generator)

    def log_base(self) -> float:
        """log Z of the base machine, measured as the machine measures its energy."""
        a, units = self.base.double(), self.machine.n_hidden * math.log(2)
        if self.machine.visible == "gaussian":  # E has |v - b|² / 2, the path |v|² / 2 - b·v
            squares = (a**2 - self.machine.visible_bias.double() ** 2).sum()
            return float(squares / 2) + len(a) / 2 * math.log(2 * math.pi) + units
        return float(F.softplus(a).sum()) + units
