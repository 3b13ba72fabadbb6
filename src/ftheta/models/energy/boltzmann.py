"""General Boltzmann machine: binary units, visible and hidden, every pair of them connected.

    p(s) = exp(-E(s)) / Z,      E(s) = -Σ_{i<j} w_ij s_i s_j - Σ_i b_i s_i,      s = (v, h)
    p(s_i = 1 | rest) = σ(b_i + Σ_j w_ij s_j)
    ∂ log p(v) / ∂w_ij = ⟨s_i s_j⟩_{h ~ p(h | v)} - ⟨s_i s_j⟩_{s ~ p}

n units have n (n - 1) / 2 connections, which grow with the square of n; what grows exponentially are the 2ⁿ states. So
up to 16 units all states are listed, and likelihood and gradient are exact; beyond, both means are taken by Gibbs
sampling: unit after unit, with the rows held for the first, in persistent chains for the second. Learning does not make
energies low: it lowers those of the rows relative to those of all other states.

Shapes: B rows, V visible and H hidden units, n = V + H, v (B, V), s (B, n), W (n, n) symmetric with a zero diagonal.
Reference: Ackley, Hinton and Sejnowski, A Learning Algorithm for Boltzmann Machines (1985).
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, cast

import numpy as np
import torch
import torch.nn.functional as F
from annotated_types import Ge
from numpy.typing import ArrayLike
from torch import Generator, Tensor, nn

from ...check import Count, Positive
from ...data import Batch, InputSpec, TargetSpec
from ...data.kinds import Table
from ...draw import Draw
from ...errors import InputError
from ...results import Table as Numbers
from ...train import Loss, Objective
from ._machine import Machine, PersistentChains, measures
from .rbm_net import all_states, bernoulli, mean_and_error

MAX_LISTED_UNITS = 16  # for the exact likelihood, a sum over all states


class PairwiseMachine(nn.Module):
    """Energies, sampling and exact likelihood of binary units that are all connected.

    Parameters: `pairs`, the weights w_ij of i < j, row after row, and `bias` (n,).

    Args:
        n_visible: Visible units, the first ones of a state.
        n_hidden: Hidden units.
        std: Standard deviation of the initial weights; biases start at 0.

    Example:
        >>> machine = PairwiseMachine(10)
        >>> machine.pairs.numel(), round(PairwiseMachine(3, std=0.0).log_partition().item(), 4)  # log 2³
        (45, 2.0794)
    """

    place: Tensor

    def __init__(self, n_visible: int, n_hidden: int = 0, *, std: float = 0.01) -> None:
        super().__init__()
        self.n_visible, self.n_hidden, n = n_visible, n_hidden, n_visible + n_hidden
        self.pairs = nn.Parameter(torch.randn(n * (n - 1) // 2) * std)
        self.bias = nn.Parameter(torch.zeros(n))
        place = torch.full((n, n), len(self.pairs))  # of each pair in `pairs`; the diagonal's is after the last
        place[tuple(torch.triu_indices(n, n, 1))] = torch.arange(len(self.pairs))
        self.register_buffer("place", torch.minimum(place, place.T), persistent=False)

    @property
    def weight(self) -> Tensor:
        """W, symmetric, zero on the diagonal: (n, n)."""
        return F.pad(self.pairs, (0, 1))[self.place]

    def energy(self, s: Tensor) -> Tensor:
        """E of each state: (B, n) -> (B,)."""
        return -_score(s, self.weight, self.bias)

    def free_energy(self, v: Tensor) -> Tensor:
        """-log Σ_h exp(-E(v, h)) of each row, by listing all h: (B, V) -> (B,)."""
        self.check_listed()
        weight, bias, n = self.weight, self.bias, self.n_visible
        h = torch.cat(list(all_states(self.n_hidden, v)))  # (2^H, H)
        across = v @ weight[:n, n:] @ h.T  # (B, 2^H)
        hidden = (across + _score(h, weight[n:, n:], bias[n:])).logsumexp(1)
        return -_score(v, weight[:n, :n], bias[:n]) - hidden

    def log_partition(self) -> Tensor:
        """log Z, by listing all 2ⁿ states."""
        self.check_listed()
        return (-self.free_energy(torch.cat(list(all_states(self.n_visible, self.bias))))).logsumexp(0)

    def log_prob(self, v: Tensor) -> Tensor:
        """log p(v) of each row, exactly, with gradients: (B, V) -> (B,)."""
        return -self.free_energy(v) - self.log_partition()

    def check_listed(self) -> None:
        """Refuse more units than can be listed."""
        if len(self.bias) > MAX_LISTED_UNITS:
            what = f"The exact likelihood lists 2^{len(self.bias)} states; {MAX_LISTED_UNITS} units are the most."
            raise InputError(f"{what} Use method='gibbs', or a RestrictedBoltzmannMachine, which lists one layer only.")

    @torch.no_grad()
    def sweep(
        self, state: Tensor, steps: int = 1, generator: Generator | None = None, *, clamp: Tensor | None = None
    ) -> Tensor:
        """States after sweeps, unit after unit; visibles stay where clamp, (V,) or (B, V), is True: (B, n)."""
        now, weight = state.clone(), self.weight
        free = torch.ones_like(now, dtype=torch.bool)
        if clamp is not None:
            free[:, : self.n_visible] = ~clamp
        for _ in range(steps):
            for i in free.any(0).nonzero()[:, 0].tolist():
                drawn = bernoulli((self.bias[i] + now @ weight[i]).sigmoid_(), generator)
                now[:, i] = torch.where(free[:, i], drawn, now[:, i])
        return now

    def start(self, v: Tensor, generator: Generator | None = None) -> Tensor:
        """States with these visibles and random hidden units: (B, V) -> (B, n)."""
        return torch.cat([v, bernoulli(v.new_full((len(v), self.n_hidden), 0.5), generator)], 1)


def _score(s: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Σ_{i<j} w_ij s_i s_j + Σ_i b_i s_i of each row: (B,)."""
    return ((s @ weight) * s).sum(-1) / 2 + s @ bias


class ExactObjective(Objective):
    """Minus the log-likelihood, exactly."""

    def __init__(self, module: PairwiseMachine) -> None:
        super().__init__()
        self.module = module

    def loss(self, player: str, batch: Batch, draw: Draw) -> Loss:
        return Loss(*batch.sum(-self.module.log_prob(batch.x)))


class GibbsObjective(PersistentChains):
    """Hidden units of the rows drawn by k Gibbs sweeps; validation by -Σ_i log p(v_i | all other units)."""

    def complete(self, v: Tensor) -> Tensor:
        return self.module.sweep(self.module.start(v), self.k, clamp=torch.ones_like(v[0], dtype=torch.bool))

    def each(self, state: Tensor) -> Tensor:
        n = self.module.n_visible
        logits = (state @ self.module.weight + self.module.bias)[:, :n]
        return F.binary_cross_entropy_with_logits(logits, state[:, :n], reduction="none").sum(1)


class BoltzmannMachine(Machine):
    """A small machine of binary units, all connected, that learns the distribution of rows of bits.

    Learned: `weights_` (n, n), symmetric with a zero diagonal, and `bias_` (n,), visible units first.

    Args:
        n_hidden: Hidden units.
        method: "exact" lists all states (at most 16 units), "gibbs" samples; "auto" is exact where it can be.
        chains: Persistent chains of "gibbs".
        k: Sweeps of the chains, and of the hidden units of a row, in each update.

    Example:
        >>> X = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]])
        >>> machine = BoltzmannMachine(random_state=0).fit(X)
        >>> machine.log_prob(X)[0].round(1), round(machine.weights_[0, 2]) < 0
        (np.float64(-0.7), True)
    """

    n_hidden: Annotated[int, Ge(0)] = 0
    method: Literal["auto", "exact", "gibbs"] = "auto"
    chains: Count = 100
    k: Count = 5
    epochs: Count = 500
    lr: Positive | None = None

    default_lr: ClassVar[Mapping[str, float]] = {"adam": 0.05}

    @property
    def weights_(self) -> np.ndarray:
        """W of all units, visible ones first: (n, n)."""
        return self._machine.weight.detach().cpu().numpy()

    @property
    def bias_(self) -> np.ndarray:
        """b of all units: (n,)."""
        return self._machine.bias.detach().cpu().numpy()

    def kind(self) -> Table:
        return Table(self.dtype, support="bit")

    def build(self, x: InputSpec, y: TargetSpec) -> nn.Module:
        return PairwiseMachine(x.shape[0], self.n_hidden)

    def objective(self, module: nn.Module, y: TargetSpec) -> Objective:
        machine = cast(PairwiseMachine, module)
        if not self._is_exact(machine):
            return GibbsObjective(machine, len(machine.bias), self.chains, self.k)
        machine.check_listed()
        return ExactObjective(machine)

    def _is_exact(self, machine: PairwiseMachine) -> bool:
        return self.method == "exact" or self.method == "auto" and len(machine.bias) <= MAX_LISTED_UNITS

    def assess(self, X: ArrayLike) -> Numbers:
        """The mean log-likelihood, or the pseudo-likelihood of a machine too large for it.

        With hidden units the latter is that of the visible ones given hidden ones drawn from the same row: too high.
        """
        drawn = ", hidden units drawn (too high)" if self.n_hidden else ""
        exact = self._is_exact(self._machine)
        name = "mean log p(v) / nats" if exact else f"mean log-pseudo-likelihood{drawn} / nats"
        return measures({name: mean_and_error(self.log_prob(X)) if exact else (self.score(X), None)})
