"""Annealed importance sampling: the partition function of a machine, with its error.

    p_β(v) ∝ exp((1 - β) a·v + β b·v) Π_j (1 + e^{β u_j}),     u = c + W v,     0 = β_0 < β_1 < ... < β_K = 1
    log w  = Σ_k log p*_{β_k}(v_k) - log p*_{β_{k-1}}(v_k),    v_1 ~ p_0,  v_{k+1} ~ T_{β_k}(v_k): one Gibbs step
    log Z  ≈ log Z_0 + log (1/M Σ_m w_m),                      Z_0 = 2^H Π_i (1 + e^{a_i})
    error  = sd(w) / (mean(w) √M)                              of log Z, by the delta method
    ESS    = (Σ w)² / Σ w²                                     as many equal weights would be as precise

β = 0 is a machine whose visible units are independent with biases a; the closer a is to the machine's own rates, the
fewer steps are needed. Gaussian visibles start from N(a, I). The estimate of Z is unbiased, that of log Z is low on
average, and far too low when no chain finds where the mass is: then the weights are uneven, which the effective sample
size shows (fewer than 30 % of the chains: a warning).

Shapes: M chains, v (M, V), h (M, H), W (H, V).
References: Neal, Annealed Importance Sampling (2001), arXiv:physics/9803008; Salakhutdinov and Murray, On the
Quantitative Analysis of Deep Belief Networks (2008).
"""

import math
import warnings
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from scipy.stats import t
from torch import Generator, Tensor

from ...draw import Draw
from ...errors import InputError, NonFiniteError
from .rbm_net import RBM, bernoulli

MAX_EXACT_UNITS = 20  # of the smaller side, up to which "auto" sums over all states
MIN_EFFECTIVE_SHARE = 0.3  # of the chains: a smaller effective sample size gives a warning
MIN_CHAINS = 10  # for an estimate of the variance of their weights
MIN_TEMPERATURES = 100  # larger steps are not annealing, and overflow
MIN_RATE = 1e-3  # of a base unit


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
        raise InputError(
            f"Annealed importance sampling got chains={chains} and temperatures={temperatures}; it needs at least "
            f"{MIN_CHAINS} chains for its error, and {MIN_TEMPERATURES} temperatures. Usual are 100 and 10,000."
        )
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
        warnings.warn(
            f"The weights of {chains} annealed chains are as precise as {ess:.1f} equal ones: log Z = {log_z:.2f} may "
            f"be too low by more than its error. Use more than {temperatures} temperatures.",
            UserWarning,
            stacklevel=3,
        )
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
