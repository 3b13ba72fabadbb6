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

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, cast

import numpy as np
import torch
import torch.nn.functional as F
from annotated_types import Ge
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted
from torch import Generator, Tensor, nn

from ..check import Count, Positive, RandomState
from ..data import Batch, InputSpec, TargetSpec
from ..draw import Draw
from ..errors import InputError
from ..nn.rbm import bernoulli
from ..results import Table
from ..train import Loss, Objective
from ._chains import generator_of, known_part, sound, whole
from ._neural import NeuralEstimator

__all__ = ["BoltzmannMachine", "PairwiseMachine"]

LISTED = 16  # units whose states are listed


class PairwiseMachine(nn.Module):
    """Energies, sampling and exact likelihood of binary units that are all connected.

    Parameters: `pairs`, the weights w_ij of i < j, row after row, and `bias` (n,).

    Args:
        n_visible: Visible units, the first ones of a state.
        n_hidden: Hidden units.
        std: Standard deviation of the first weights; biases start at 0.

    Example:
        >>> machine = PairwiseMachine(10)
        >>> machine.pairs.numel(), round(PairwiseMachine(3, std=0.0).log_partition().item(), 4)  # log 2³
        (45, 2.0794)
    """

    place: Tensor

    def __init__(self, n_visible: int, n_hidden: int = 0, *, std: float = 0.01) -> None:
        super().__init__()
        if n_visible < 1 or n_hidden < 0:
            raise InputError(
                f"A machine needs a visible unit; got n_visible={n_visible}, n_hidden={n_hidden}. Pass 1 or more, and "
                "0 or more."
            )
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
        self._check_listed()
        weight, bias, n, h = self.weight, self.bias, self.n_visible, _states(self.n_hidden, v)  # h: (2^H, H)
        across = v @ weight[:n, n:] @ h.T  # (B, 2^H)
        hidden = (across + _score(h, weight[n:, n:], bias[n:])).logsumexp(1)
        return -_score(v, weight[:n, :n], bias[:n]) - hidden

    def log_partition(self) -> Tensor:
        """log Z, by listing all 2ⁿ states."""
        self._check_listed()
        return (-self.free_energy(_states(self.n_visible, self.bias))).logsumexp(0)

    def log_prob(self, v: Tensor) -> Tensor:
        """log p(v) of each row, exactly, with gradients: (B, V) -> (B,)."""
        return -self.free_energy(v) - self.log_partition()

    def _check_listed(self) -> None:
        if len(self.bias) > LISTED:
            raise InputError(
                f"The exact likelihood lists 2^{len(self.bias)} states; {LISTED} units are the most. Use "
                "method='gibbs', or a RestrictedBoltzmannMachine, which lists one layer only."
            )

    @torch.no_grad()
    def gibbs(
        self, s: Tensor, steps: int = 1, generator: Generator | None = None, *, clamp: Tensor | None = None
    ) -> Tensor:
        """States after some sweeps, unit after unit: (B, n).

        Args:
            s: Where the chains start.
            steps: Sweeps.
            generator: None is torch's global one.
            clamp: True where a unit stays as it is: (n,) or (B, n).
        """
        now, weight = s.clone(), self.weight
        free = torch.ones_like(now, dtype=torch.bool) if clamp is None else ~clamp.expand(now.shape)
        for _ in range(steps):
            for i in free.any(0).nonzero()[:, 0].tolist():
                drawn = bernoulli((self.bias[i] + now @ weight[i]).sigmoid_(), generator)
                now[:, i] = torch.where(free[:, i], drawn, now[:, i])
        return now


def _score(s: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Σ_{i<j} w_ij s_i s_j + Σ_i b_i s_i of each row: (B,)."""
    return ((s @ weight) * s).sum(-1) / 2 + s @ bias


def _states(n: int, like: Tensor) -> Tensor:
    """All rows of n bits: (2^n, n)."""
    return (torch.arange(2**n, device=like.device)[:, None] >> torch.arange(n, device=like.device) & 1).to(like.dtype)


class Likelihood(Objective):
    """Minus the log-likelihood, exactly."""

    def __init__(self, module: PairwiseMachine) -> None:
        super().__init__()
        self.module = module

    def loss(self, player: str, batch: Batch, draw: Draw) -> Loss:
        """-log p(v)."""
        return Loss(*batch.sum(-self.module.log_prob(batch.x)))


class Sampled(Objective):
    """Both means by Gibbs sampling: E of rows with drawn hidden units, minus that of persistent chains."""

    surrogate = True
    chains: Tensor

    def __init__(self, module: PairwiseMachine, chains: int, k: int) -> None:
        super().__init__()
        self.module, self.k = module, k
        self.register_buffer("chains", torch.bernoulli(torch.full((chains, len(module.bias)), 0.5)))

    def complete(self, v: Tensor) -> Tensor:
        """Rows with hidden units drawn given them: (B, V) -> (B, n)."""
        start = torch.bernoulli(torch.full((len(v), self.module.n_hidden), 0.5).to(v))
        held = torch.arange(len(self.module.bias), device=v.device) < self.module.n_visible
        return self.module.gibbs(torch.cat([v, start], 1), self.k, clamp=held)

    def loss(self, player: str, batch: Batch, draw: Draw) -> Loss:
        """E of the rows, and once an update minus the mean energy of the chains."""
        total, weight = batch.sum(self.module.energy(self.complete(batch.x)))
        return Loss(total, weight, -self.module.energy(self.chains).mean())

    def after(self, player: str, batch: Batch, draw: Draw) -> None:
        """k sweeps of the chains, with the weights as they are now."""
        self.chains.copy_(self.module.gibbs(self.chains, self.k))

    def evaluate(self, batch: Batch, draw: Draw) -> Mapping[str, Loss]:
        """-Σ_i log p(v_i | all other units), the hidden ones drawn given the row."""
        s = self.complete(batch.x)
        logits = (s @ self.module.weight + self.module.bias)[:, : self.module.n_visible]
        return {"loss": Loss(*batch.sum(F.binary_cross_entropy_with_logits(logits, batch.x, reduction="none").sum(1)))}


@dataclass(kw_only=True, eq=False, repr=False)
class BoltzmannMachine(NeuralEstimator):
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

    usual_rates: ClassVar[Mapping[str, float]] = {"adam": 0.05}

    @property
    def _machine(self) -> PairwiseMachine:
        check_is_fitted(self)
        return cast(PairwiseMachine, self.module_)

    @property
    def weights_(self) -> np.ndarray:
        """W of all units, visible ones first: (n, n)."""
        return self._machine.weight.detach().cpu().numpy()

    @property
    def bias_(self) -> np.ndarray:
        """b of all units: (n,)."""
        return self._machine.bias.detach().cpu().numpy()

    def build(self, x: InputSpec, y: TargetSpec) -> nn.Module:
        """The machine."""
        return PairwiseMachine(x.shape[0], self.n_hidden)

    def objective(self, module: nn.Module, y: TargetSpec) -> Objective:
        """Exact likelihood or sampled gradient."""
        machine = cast(PairwiseMachine, module)
        if not self._is_exact(machine):
            return Sampled(machine, self.chains, self.k)
        machine._check_listed()
        return Likelihood(machine)

    def _is_exact(self, machine: PairwiseMachine) -> bool:
        return self.method == "exact" or self.method == "auto" and len(machine.bias) <= LISTED

    def _table(self, X: Any, *, reset: bool = False) -> Any:
        x = super()._table(X, reset=reset)
        if not np.isin(x, (0, 1)).all():
            raise InputError(
                f"X holds values from {np.min(x):g} to {np.max(x):g}; {type(self).__name__} takes bits, 0 or 1. "
                "Cut it first, e.g. (X > 0.5)."
            )
        return x

    def log_prob(self, X: ArrayLike) -> np.ndarray:
        """log p(v) of each row, exactly, in nats: (n,)."""
        return self._apply(lambda v: self._machine.log_prob(v).double(), X)

    def free_energy(self, X: ArrayLike) -> np.ndarray:
        """-log Σ_h exp(-E(v, h)) of each row: (n,)."""
        return self._apply(lambda v: self._machine.free_energy(v), X)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Minus the loss of `evaluate`: the mean log-likelihood where it is exact, else a pseudo-likelihood.

        With hidden units the latter is that of the visible ones given hidden ones drawn from the whole row: too high.
        """
        return -self.evaluate(X)["loss"]

    def sample(self, n: int = 1, *, steps: int = 1000, random_state: RandomState = None) -> np.ndarray:
        """New rows of bits, each from a chain of its own that starts at random bits: (n, V)."""
        machine, g = self._machine, generator_of(random_state, "sample", self._device)
        sound(machine)
        start = torch.full((whole("n", n, 1), len(machine.bias)), 0.5, device=self._device).to(machine.bias)
        made = machine.gibbs(start.bernoulli_(generator=g), whole("steps", steps, 0), g)
        return made[:, : machine.n_visible].cpu().numpy()

    def fill_in(
        self, X: ArrayLike, missing: ArrayLike, steps: int = 100, *, random_state: RandomState = None
    ) -> np.ndarray:
        """Rows whose missing entries are drawn given the others, which stay as they are: (n, V).

        Args:
            X: Rows (n, V); what stands at missing entries, NaN too, is not looked at.
            missing: True where an entry is not known: (V,) or (n, V).
            steps: Sweeps, which start at random bits.
            random_state: Seed; None: other entries at every call.
        """
        machine, g = self._machine, generator_of(random_state, "fill", self._device)
        sound(machine)
        x, gone = known_part(self, X, missing, np.zeros(machine.n_visible))
        free = F.pad(torch.tensor(gone, device=self._device), (0, machine.n_hidden), value=True)
        v = F.pad(torch.tensor(x, device=self._device), (0, machine.n_hidden))  # (n, V + H)
        start = torch.where(free, torch.full_like(v, 0.5).bernoulli_(generator=g), v)
        made = machine.gibbs(start, whole("steps", steps, 0), g, clamp=~free)
        return made[:, : machine.n_visible].cpu().numpy()

    def assess(self, X: ArrayLike) -> Table:
        """The mean log-likelihood, or the pseudo-likelihood of a machine too large for it."""
        drawn = ", hidden units drawn (too high)" if self.n_hidden else ""
        exact = self._is_exact(self._machine)
        name = "mean log p(v) / nats" if exact else f"mean log-pseudo-likelihood{drawn} / nats"
        return Table({"measure": [name], "value": [self.score(X)], "error": ["none"]})
