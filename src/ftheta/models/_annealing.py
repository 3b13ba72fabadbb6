"""Annealed importance sampling: the partition function of a machine, with its error bar.

    p_β(v) ∝ exp((1 - β) a·v + β b·v) Π_j (1 + e^{β u_j}),     u = c + W v,     0 = β_0 < β_1 < ... < β_K = 1
    log w  = Σ_k log p*_{β_k}(v_k) - log p*_{β_{k-1}}(v_k),    v_1 ~ p_0,  v_{k+1} ~ T_{β_k}(v_k): one Gibbs step
    log Z  ≈ log Z_0 + log (1/M Σ_m w_m),                      Z_0 = 2^H Π_i (1 + e^{a_i})
    error  = sd(w) / (mean(w) √M)                              of log Z, by the delta method
    ESS    = (Σ w)² / Σ w²                                     as many equal weights would say as much

β = 0 is a machine whose visible units are independent with biases a; the closer a is to the machine's own rates, the
shorter the way. Gaussian visibles start from N(a, I), softmax ones from independent categories. The estimate of Z is
unbiased, that of log Z is low on average, and far too low when no chain finds where the mass is: then the weights are
uneven, which the effective sample size shows (fewer than 30 % of the chains: a warning).

Shapes: M chains, v (M, V), h (M, H), W (H, V).
References: Neal, Annealed Importance Sampling (2001), arXiv:physics/9803008; Salakhutdinov and Murray, On the
Quantitative Analysis of Deep Belief Networks (2008).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from ..draw import Draw
from ..errors import InputError, NonFiniteError
from ..nn.dbm import DBM
from ..nn.rbm import RBM
from ..plots import whiskers
from ..results import Result, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXACT", "Partition", "annealed_importance", "base_rates", "mean_of", "partition_of"]

EXACT = 20  # units of the smaller side up to which "auto" sums over all states
EVEN = 0.3  # share of the chains below which the effective sample size is warned of
FEW = 10  # chains: fewer say little of how far their weights vary
LEAST = 100  # temperatures; larger steps are no annealing, and overflow
RARE = 1e-3  # the least rate of a base unit


@dataclass(frozen=True)
class Partition(Result):
    """The logarithm of a partition function, in nats.

    Args:
        log_z: log Z.
        error: Its standard error; 0 where it is exact.
        ess: Effective sample size: how many equal weights would say as much; None where it is exact.
        chains: How many were annealed.
        temperatures: How many each went through.
        method: "exact" or "ais".
    """

    log_z: float
    error: float = 0.0
    ess: float | None = None
    chains: int = 0
    temperatures: int = 0
    method: str = "exact"

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval of log Z."""
        return self.log_z - self._half

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval of log Z."""
        return self.log_z + self._half

    @property
    def _half(self) -> float:
        """Half of the 95 % interval: Student's, of as many chains."""
        from scipy.stats import t

        return float(t.ppf(0.975, self.chains - 1)) * self.error if self.error else 0.0

    def table(self) -> Table:
        """One line: the estimate, its error and interval, and what it is made of."""
        columns = {
            "method": [self.method],
            "log Z": [f"{self.log_z:.4f}"],
            "error": [self.error],
            "95 % low": [f"{self.low:.4f}"],
            "95 % high": [f"{self.high:.4f}"],
            "effective chains": [self.ess],
            "chains": [self.chains],
            "temperatures": [self.temperatures],
        }
        return Table(columns, "Partition function, in nats.")

    def figure(self) -> Figure:
        """log Z and its 95 % interval."""
        return whiskers({"log Z / nats": [(self.method, self.log_z, self.low, self.high)]}, title="Partition function")


@torch.no_grad()
def partition_of(
    machine: RBM | DBM,
    method: Literal["auto", "exact", "ais"] = "auto",
    *,
    chains: int = 100,
    temperatures: int = 10_000,
    base_bias: Tensor | None = None,
    draw: Draw,
) -> Partition:
    """log Z by summing over all states of the smaller side (auto: up to 20 units), or by annealing."""
    flat = machine.flat() if isinstance(machine, DBM) else machine
    if method == "exact" or method == "auto" and _side(flat) <= EXACT:
        return Partition(float(flat.log_partition()))
    return annealed_importance(flat, chains=chains, temperatures=temperatures, base_bias=base_bias, draw=draw)


def mean_of(each: np.ndarray, shared: float = 0.0) -> tuple[float, float]:
    """Mean of rows and its standard error; `shared` is an error that all rows have in common."""
    return float(each.mean()), math.hypot(float(each.std()) / max(len(each) - 1, 1) ** 0.5, shared)


def _side(machine: RBM) -> int:
    """Units of the side that would be summed over: hidden ones, or visible ones if these are fewer and binary."""
    n_hidden, n_visible = machine.weight.shape
    return min(n_hidden, n_visible) if machine.visible == "bernoulli" else n_hidden


@torch.no_grad()
def annealed_importance(
    machine: RBM | DBM,
    *,
    chains: int = 100,
    temperatures: int = 10_000,
    base_bias: Tensor | None = None,
    draw: Draw,
) -> Partition:
    """log Z of a machine by annealed importance sampling.

    Args:
        machine: An RBM; a DBM is annealed as the RBM between its even and its odd layers.
        chains: How many, M.
        temperatures: How many machines between base and target, K.
        base_bias: Biases a of the base machine (V,), e.g. `base_rates` of the training rows; None takes the rates of
            a short run of the machine's own chains. For a DBM (all units of even layers,).
        draw: Where the randomness comes from.
    """
    flat = machine.flat() if isinstance(machine, DBM) else machine
    if chains < FEW or temperatures < LEAST:
        raise InputError(
            f"Annealed importance sampling got chains={chains} and temperatures={temperatures}; its error bar needs at "
            f"least {FEW} chains, its way at least {LEAST} temperatures. The usual ones are 100 and 10,000."
        )
    start = _own_rates(flat, chains, temperatures, draw) if base_bias is None else _checked(base_bias, flat)
    path = _Path(flat, start, chains, draw.generator("anneal", flat.weight.device))
    log_w = torch.zeros(chains, dtype=torch.float64, device=flat.weight.device)
    for before, beta in pairwise(_ladder(temperatures)):
        log_w += path.gain(before, beta)
        path.move(beta)
    return _estimate(log_w, path.log_base(), temperatures)


def _ladder(temperatures: int) -> list[float]:
    """0 = β_0 < ... < β_K = 1, denser towards 1, where a trained machine changes most."""
    left = torch.linspace(1, 0, temperatures + 1, dtype=torch.float64)
    return (1 - left**1.5).tolist()


def base_rates(means: Tensor, visible: str = "bernoulli") -> Tensor:
    """Biases of independent units with these means (V,): those of the rows that a machine learned from."""
    if visible == "gaussian":
        return means
    p = means.clamp(RARE, 1 - RARE)
    return p.log() if visible == "softmax" else p.logit()


def _checked(bias: Tensor, machine: RBM) -> Tensor:
    if bias.shape != machine.visible_bias.shape:
        raise InputError(
            f"base_bias has shape {tuple(bias.shape)}; the machine has {len(machine.visible_bias)} units to start "
            "from. Give one bias for each, or None."
        )
    return bias


def _own_rates(machine: RBM, chains: int, temperatures: int, draw: Draw) -> Tensor:
    """Biases of the rates that the machine's own chains have in the second half of a short run."""
    path = _Path(machine, torch.zeros_like(machine.visible_bias), chains, draw.generator("base", machine.weight.device))
    steps, seen = max(20, min(temperatures // 20, 500)), torch.zeros_like(machine.visible_bias)
    for step in range(steps):
        path.gain(1.0, 1.0)
        path.move(1.0)
        seen += path.v.mean(0) * (2 * step >= steps)
    return base_rates(seen / (steps - (steps + 1) // 2), machine.visible)


def _estimate(log_w: Tensor, log_base: float, temperatures: int) -> Partition:
    """Weights to log Z, its error and the effective sample size."""
    chains, top = len(log_w), log_w.max()
    w = (log_w - top).exp()  # (M,), the largest is 1
    log_z = float(log_base + top + w.mean().log())
    if not math.isfinite(log_z):
        raise NonFiniteError(
            "Annealing the machine gave numbers that are not finite: its weights are not, or too large for float32. "
            "Train it with a lower learning rate."
        )
    ess = float(w.sum() ** 2 / (w**2).sum())
    if ess < EVEN * chains:
        warnings.warn(
            f"The weights of {chains} annealed chains say as much as {ess:.1f} equal ones: log Z = {log_z:.2f} may be "
            f"too low by more than its error. Use more than {temperatures} temperatures.",
            UserWarning,
            stacklevel=3,
        )
    return Partition(log_z, float(w.std() / w.mean() / chains**0.5), ess, chains, temperatures, "ais")


class _Path:
    """The machines between base and target, and a state of every chain; buffers are used again at every step."""

    def __init__(self, machine: RBM, base: Tensor, chains: int, generator: Generator) -> None:
        like = machine.weight.detach()
        self.weight, self.up = like, like.T  # (H, V), (V, H)
        self.bias, self.hidden_bias = machine.visible_bias.detach(), machine.hidden_bias.detach()
        self.base = base.to(like)
        self.visible, self.categories, self.generator = machine.visible, machine.categories, generator
        self.v, self.noise = like.new_empty(chains, like.shape[1]), like.new_empty(chains, like.shape[1])
        self.u, self.h, self.p = (like.new_empty(chains, like.shape[0]) for _ in range(3))
        self._sample_visible(self.v.copy_(self.base))

    def gain(self, before: float, beta: float) -> Tensor:
        """log p*_β(v) - log p*_before(v) of every chain: (M,).

        log (1 + e^{βu}) / (1 + e^{β'u}) = -log(1 + σ(βu) (e^{-(β - β')u} - 1)), exact also where β and β' are close.
        """
        step = beta - before
        torch.addmm(self.hidden_bias, self.v, self.up, out=self.u)  # (M, H)
        torch.mul(self.u, beta, out=self.p).sigmoid_()  # P(h = 1 | v), used again by `move`
        self.u.mul_(-step).expm1_().mul_(self.p).log1p_()
        return (self.v @ (self.bias - self.base)).double() * step - self.u.sum(1).double()

    def move(self, beta: float) -> None:
        """One Gibbs step of the machine at β; `gain` came before."""
        torch.lt(self.h.uniform_(generator=self.generator), self.p, out=self.h)
        bias = torch.lerp(self.base, self.bias, beta)
        torch.addmm(bias, self.h, self.weight, alpha=beta, out=self.v)  # (M, V)
        self._sample_visible(self.v)

    def _sample_visible(self, v: Tensor) -> None:
        """Natural parameters in, states out, in place."""
        if self.visible == "gaussian":
            v.add_(self.noise.normal_(generator=self.generator))
        elif self.visible == "softmax":  # the largest of logits + Gumbel noise
            v.sub_(self.noise.exponential_(generator=self.generator).log_())
            groups = v.view(len(v), -1, self.categories)
            v.copy_(F.one_hot(groups.argmax(2), self.categories).flatten(1))
        else:
            torch.lt(self.noise.uniform_(generator=self.generator), v.sigmoid_(), out=v)

    def log_base(self) -> float:
        """log Z of the base machine, measured as the machine measures its energy."""
        a, units = self.base.double(), len(self.hidden_bias) * math.log(2)
        if self.visible == "gaussian":  # E has |v - b|² / 2, the path |v|² / 2 - b·v
            return float((a**2 - self.bias.double() ** 2).sum() / 2) + len(a) / 2 * math.log(2 * math.pi) + units
        if self.visible == "softmax":
            return float(a.view(-1, self.categories).logsumexp(1).sum()) + units
        return float(F.softplus(a).sum()) + units
