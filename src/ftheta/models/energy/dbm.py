"""Deep Boltzmann machine: layers initialized one at a time, then all of them trained together.

    ∂ log p(v) / ∂W_k = ⟨x^k x^{k-1}'⟩_{h ~ p(h | v)} - ⟨x^k x^{k-1}'⟩_{x ~ p}
    loss              = E(v, μ) - mean of E over the chains,      μ and chains held constant: its gradient is minus that

The first mean is taken by mean field, the second over persistent chains that move on after every update: training is
joint. Greedy initialization only gives its start: layer after layer, each a restricted machine with contrastive
divergence, whose inputs (below the top) and outputs (above the bottom) are there twice, because in the stack each
inner layer has input from two sides. Of two machines that meet in a layer the biases are averaged.

    m copies below, n above:   p(h = 1 | x) = σ(c + m W x),   p(x = 1 | h) = σ(b + n W'h)
                               F(s) = -b·s - n Σ_j softplus(c + W s)_j,     s: the sum of the copies of x

Shapes: B rows, layers of n_0 = V, n_1 ... n_L units.
Reference: Salakhutdinov and Hinton, Deep Boltzmann Machines (2009).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self, cast

import numpy as np
import torch
import torch.nn.functional as F
from annotated_types import Ge
from numpy.typing import ArrayLike
from torch import Tensor, nn

from ...check import Count, Positive, RandomState, Widths, at_least
from ...data import Batch, InputSpec, TargetSpec
from ...draw import Draw
from ...results import Table
from ...train import Loss, Objective, Phases, Trainer
from .._base.neural import NeuralTransformer
from .._base.rows import Data
from ._machine import Machine, measures
from .annealing import LogPartition, mean_and_error
from .contrastive import PersistentChains
from .dbm_net import DBM
from .rbm_net import RBM

__all__ = ["DeepBoltzmannMachine"]

BURN_IN = 100  # sweeps of the chains after greedy initialization
GREEDY_TRAINING: dict[str, Any] = {  # settings of the joint part that the greedy one leaves out
    **{"schedule": "constant", "schedule_options": {}, "warmup": 0, "grow_batch": False},
    **{"ema": 0.0, "freeze": (), "rate_factors": {}},
}


class JointObjective(PersistentChains):
    """All layers together: mean field for the rows, persistent chains for the machine."""

    term = "reconstruction"

    def __init__(self, module: DBM, chains: int, k: int, mean_field: int) -> None:
        super().__init__(module, sum(module.sizes), chains, k)
        self.rounds = mean_field

    def complete(self, v: Tensor) -> Tensor:
        return torch.cat([v, *self.module.mean_field(v, self.rounds)], 1)

    def each(self, state: Tensor) -> Tensor:
        """Cross-entropy of v and P(v = 1 | h¹ = μ_1), in nats: (B,)."""
        v, first, *_ = state.split(self.module.sizes, 1)
        logits = self.module.biases[0] + first @ self.module.weights[0]  # (B, V)
        return F.binary_cross_entropy_with_logits(logits, v, reduction="none").sum(-1)


class GreedyObjective(Objective):
    """Contrastive divergence, one step, of a restricted machine with copies of its units that share their weights.

    Args:
        module: The restricted machine.
        copies: Of its visible and of its hidden units.
        to_layer_below: Rows to the means of the layer below.
    """

    surrogate = True

    def __init__(self, module: RBM, copies: tuple[int, int], to_layer_below: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.module, self.copies, self.to_layer_below = module, copies, to_layer_below

    def free_energy(self, s: Tensor) -> Tensor:
        """F of the sum of the visible copies: (B, V) -> (B,)."""
        return -s @ self.module.visible_bias - self.copies[1] * F.softplus(self.module.hidden_logits(s)).sum(-1)

    def loss(self, player: str, batch: Batch, draw: Draw) -> Loss:
        """F of the rows minus F of their one-step reconstructions, which are constants."""
        with torch.no_grad():
            seen = self.copies[0] * self.to_layer_below(batch.x)
            hidden = torch.stack([self.module.sample_hidden(seen) for _ in range(self.copies[1])]).sum(0)
            rebuilt = torch.stack([self.module.sample_visible(hidden) for _ in range(self.copies[0])]).sum(0)
        return Loss(*batch.sum(self.free_energy(seen) - self.free_energy(rebuilt)))


def compose(machine: DBM, layers: list[RBM]) -> None:
    """Stack restricted machines; where two meet, their biases are averaged."""
    with torch.no_grad():
        machine.biases[0].copy_(layers[0].visible_bias)
        for k, layer in enumerate(layers):
            machine.weights[k].copy_(layer.weight)
            met = layers[k + 1].visible_bias if k + 1 < len(layers) else layer.hidden_bias
            machine.biases[k + 1].copy_((layer.hidden_bias + met) / 2)


@dataclass(kw_only=True, eq=False, repr=False)
class DeepBoltzmannMachine(NeuralTransformer, Machine):
    """A stack of binary layers that learns the distribution of its rows.

    Rows are bits or probabilities in [0, 1]. `transform` gives the mean-field means of the top layer.

    Args:
        hidden: Units of each hidden layer, the lowest first.
        greedy: Epochs of greedy initialization for each layer; 0 starts from small random weights.
        greedy_lr: Learning rate of the greedy part, which is constant.
        chains: Persistent chains.
        k: Sweeps of the chains after each update.
        mean_field: Rounds of mean field.

    Example:
        >>> X = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 50, axis=0)
        >>> machine = DeepBoltzmannMachine(hidden=(4, 2), epochs=3, random_state=0).fit(X)
        >>> machine.sample(5, steps=10, random_state=0).shape, machine.transform(X).shape
        ((5, 4), (100, 2))
    """

    hidden: Widths = (500, 500)
    greedy: Annotated[int, Ge(0)] = 5
    greedy_lr: Positive = 0.05
    chains: Count = 100
    k: Count = 1
    mean_field: Count = 10
    epochs: Count = 20
    batch_size: Count | Literal["auto"] = 100
    optimizer: str | Callable[..., Any] = "sgd"
    lr: Positive | None = None

    closed_form: ClassVar[bool] = False
    default_lr: ClassVar[Mapping[str, float]] = {"sgd": 0.005, "adam": 0.001}

    def build(self, x: InputSpec, y: TargetSpec) -> nn.Module:
        """The stack."""
        return DBM(x.shape[0], self.hidden)

    def objective(self, module: nn.Module, y: TargetSpec) -> Objective:
        """Joint training."""
        return JointObjective(cast(DBM, module), self.chains, self.k, self.mean_field)

    def rounds(self) -> int:
        """Greedy epochs of every layer, then joint ones."""
        return self.greedy * len(self.hidden) + self.epochs

    def process(self, data: Data, held: Data | None) -> Any:
        """Layer after layer, lowest first, then all of them together."""
        if not self.greedy or self.warm_start and hasattr(self, "module_"):
            return super().process(data, held)
        objective, layers = cast(JointObjective, self.make()), list[RBM]()
        self._layers = layers
        draw = Draw(self.seed_).at("greedy")

        def joint() -> Trainer:
            compose(objective.module, layers)
            g = draw.generator("chains", self._device)
            objective.chains.copy_(objective.module.sweep(objective.chains, BURN_IN, g))
            return self.trainer(objective, data, held)

        greedy = [
            (partial(self._layer_trainer, k, layers, data, draw.at(k)), self.greedy) for k in range(len(self.hidden))
        ]
        return Phases([*greedy, (joint, self.epochs)])

    def _layer_trainer(self, k: int, layers: list[RBM], data: Data, draw: Draw) -> Trainer:
        """One-step contrastive divergence of layer k + 1, on the means of the layer below."""
        sizes, below = (self.input_.shape[0], *self.hidden), layers[:k]
        with draw.scope():
            layers[k:] = [RBM(sizes[k], sizes[k + 1]).to(self._device, self._dtype)]

        def to_layer_below(x: Tensor) -> Tensor:
            for i, layer in enumerate(below):
                x = layer(_copies(i, len(self.hidden))[0] * x)
            return x

        settings = GREEDY_TRAINING if self.optimizer == "sgd" else {**GREEDY_TRAINING, "options": {}}
        return Trainer(
            GreedyObjective(layers[k], _copies(k, len(self.hidden)), to_layer_below),
            self.training_source(data),
            optimizer="sgd",
            lr=self.greedy_lr,
            training=replace(self.settings, **settings),
            seed=draw.key() % 2**31,
        )

    def finish(self, process: Any) -> None:
        """Evaluation mode; where training was stopped in the greedy part, the layers as far as they were learned."""
        if not getattr(process, "last", True):
            compose(self._machine, self._layers)
        super().finish(process)

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, *, classes: ArrayLike | None = None
    ) -> Self:
        """One epoch more of joint training; before the first one, all greedy epochs."""
        if hasattr(self, "module_") or not self.greedy:
            return super().partial_fit(X, y, sample_weight, classes=classes)
        process = self.prepare(X, y, sample_weight)
        self._run(process, self.rounds() - self.epochs + 1, history=[])
        return self

    @property
    def _n_features_out(self) -> int:
        return self.hidden[-1]

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Mean-field means of the top layer: (n, V) -> (n, n_L)."""
        return self.apply(lambda v: self._machine.mean_field(v, self.mean_field)[-1], X)

    def sample(
        self,
        n: int = 1,
        *,
        steps: int = 1000,
        start: ArrayLike | None = None,
        random_state: RandomState = None,
        as_belief_net: bool = False,
    ) -> np.ndarray:
        """New rows of bits, each from a chain of its own: (n, V).

        Args:
            n: How many.
            steps: Sweeps of the chains.
            start: Rows at which they start, (n, V); None draws each unit with its mean in the training rows.
            random_state: Seed; None: other rows at every call.
            as_belief_net: Whether the same weights are sampled as a deep belief net: sweeps of the top pair of layers
                alone, then one pass downwards.
        """
        if not as_belief_net:
            return super().sample(n, steps=steps, start=start, random_state=random_state)
        g, net = self._generator("sample", random_state), self._drawable()
        top = net.start(self._starts(n, start, g), g)[:, -self.hidden[-1] :]
        drawn = net.belief_net(top, at_least("steps", steps, 0, integer=True), g)
        return drawn[:, : net.n_visible].cpu().numpy()

    def log_prob_bound(self, X: ArrayLike, partition: LogPartition | None = None) -> np.ndarray:
        """A lower bound of log p(v) of each row, in nats, by mean field: (n,). Too high if log Z is too low."""
        log_z = (partition or self.partition()).log_z

        def bound(v: Tensor) -> Tensor:
            return self._machine.bound(v, self._machine.mean_field(v, self.mean_field)).double() - log_z

        return self.apply(bound, X)

    def assess(self, X: ArrayLike, *, temperatures: int = 2_000) -> Table:
        """Reconstruction, and the bound of the log-likelihood with the error of log Z."""
        z = self.partition(temperatures=temperatures)
        return measures(
            {
                "lower bound of mean log p(v) / nats": mean_and_error(self.log_prob_bound(X, z), z.error),
                "mean-field reconstruction / nats": (-self.score(X), None),
                f"log Z ({z.method}) / nats": (z.log_z, z.error),
            }
        )


def _copies(k: int, n_layers: int) -> tuple[int, int]:
    """How often the units below and above are there while layer k + 1 is learned."""
    return 2 if k + 1 < n_layers else 1, 2 if k else 1
