"""Deep Boltzmann machine: a stack of layers, connections between neighboring layers and none within a layer.

    p(x⁰ ... x^L) = exp(-E) / Z,     E = -Σ_k b_k·x^k - Σ_{k≥1} x^k' W_k x^{k-1},      x⁰ = v
    p(x^k_j = 1 | rest) = σ(b_k + W_k x^{k-1} + W'_{k+1} x^{k+1})_j                  given both neighbors

Given the even layers the odd ones are independent, and the other way round: the stack is a restricted machine between
its even and odd layers (`flat`), with zeros where layers are not neighbors. The posterior of the hidden layers has no
closed form; mean field takes the closest q(h) = Π_j μ_j^h_j (1 - μ_j)^(1 - h_j):

    μ_k = σ(b_k + W_k μ_{k-1} + W'_{k+1} μ_{k+1}),   μ_0 = v;      log p(v) ≥ -E(v, μ) + H(μ) - log Z
    ∂ log p(v) / ∂W_k = ⟨x^k x^{k-1}'⟩_{h ~ p(h | v)} - ⟨x^k x^{k-1}'⟩_{x ~ p}
    loss              = E(v, μ) - mean of E over the chains,      μ and chains held constant: its gradient is minus that

Training is joint: the first mean is taken by mean field, the second over persistent chains. Greedy initialization only
gives its start: layer after layer, each a restricted machine with contrastive divergence, whose inputs (below the top)
and outputs (above the bottom) are there twice, as in the stack each inner layer has input from two sides.

    m copies below, n above:   p(h = 1 | x) = σ(c + m W x),   p(x = 1 | h) = σ(b + n W'h)
                               F(s) = -b·s - n Σ_j softplus(c + W s)_j,     s: the sum of the copies of x

A deep belief net from the same weights is directed below its top pair of layers: p(x^{L-1}, x^L) is the restricted
machine of W_L alone, and each layer below is drawn from the one above only, σ(b_{k-1} + W'_k x^k).

Shapes: B rows, layer k of n_k units, x^k (B, n_k), W_k (n_k, n_{k-1}), b_k (n_k,); states (B, Σ n_k), visibles first.
References: Salakhutdinov and Hinton, Deep Boltzmann Machines (2009); Hinton, Osindero and Teh, A Fast Learning
Algorithm for Deep Belief Nets (2006).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self, cast

import numpy as np
import torch
import torch.nn.functional as F
from annotated_types import Ge
from numpy.typing import ArrayLike
from torch import Generator, Tensor, nn

from ...check import Count, Positive, RandomState, Widths, at_least
from ...data import Batch, InputSpec, TargetSpec
from ...draw import Draw
from ...errors import InputError
from ...results import Table
from ...train import Loss, Objective, Phases, Trainer
from .._base.neural import NeuralTransformer
from .._base.rows import Data
from ._machine import Machine, PersistentChains, measures
from .rbm_net import RBM, LogPartition, bernoulli, mean_and_error

BURN_IN = 100  # sweeps of the chains after greedy initialization
GREEDY_TRAINING: dict[str, Any] = {  # settings of the joint part that the greedy one leaves out
    **{"schedule": "constant", "schedule_options": {}, "warmup": 0, "grow_batch": False},
    **{"ema": 0.0, "freeze": (), "rate_factors": {}},
}


class DBM(nn.Module):
    """Energies, mean field and Gibbs sampling of a deep Boltzmann machine with binary units.

    `weights[k - 1]` is W_k, `biases[k]` is b_k.

    Args:
        n_visible: Visible units.
        hidden: Units of each hidden layer, the lowest first.
        std: Standard deviation of the initial weights; biases start at 0.

    Example:
        >>> machine = DBM(4, (3, 2))
        >>> [tuple(w.shape) for w in machine.weights], [tuple(m.shape) for m in machine.mean_field(torch.ones(5, 4))]
        ([(3, 4), (2, 3)], [(5, 3), (5, 2)])
    """

    def __init__(self, n_visible: int, hidden: Sequence[int] = (500, 500), *, std: float = 0.01) -> None:
        super().__init__()
        self.sizes, self.n_visible = (n_visible, *hidden), n_visible
        if not hidden or min(self.sizes) < 1:
            raise InputError(f"A deep machine needs a unit in each layer; got {n_visible=}, hidden={tuple(hidden)}.")
        self.weights = nn.ParameterList(torch.randn(b, a) * std for a, b in pairwise(self.sizes))
        self.biases = nn.ParameterList(torch.zeros(n) for n in self.sizes)

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.sizes))

    def energy(self, state: Tensor) -> Tensor:
        """E of each row; linear in each layer, so that means of independent layers give the mean energy: (B,)."""
        layers = state.split(self.sizes, 1)
        energy = -layers[0] @ self.biases[0]
        for below, x, w, b in zip(layers, layers[1:], self.weights, self.biases[1:], strict=False):
            energy = energy - x @ b - ((x @ w) * below).sum(-1)
        return energy

    def bound(self, v: Tensor, means: Sequence[Tensor]) -> Tensor:
        """-E(v, μ) + H(μ), at most log Σ_h exp(-E(v, h)): (B,). Minus log Z it is a bound of log p(v)."""
        entropy = sum((torch.special.entr(m) + torch.special.entr(1 - m)).sum(-1) for m in means)
        return entropy - self.energy(torch.cat([v, *means], 1))

    def logits(self, layers: Sequence[Tensor], k: int) -> Tensor:
        """Log-odds of layer k given its neighbors: (B, n_k)."""
        below = layers[k - 1] @ self.weights[k - 1].T if k > 0 else 0.0
        above = layers[k + 1] @ self.weights[k] if k < len(self.weights) else 0.0
        return self.biases[k] + below + above

    def up(self, v: Tensor) -> list[Tensor]:
        """Means of the hidden layers in one pass upwards; the input from above is replaced by that from below."""
        means = [v]
        for k, w in enumerate(self.weights, start=1):
            twice = 1 if k == len(self.weights) else 2
            means.append((self.biases[k] + twice * (means[-1] @ w.T)).sigmoid())
        return means[1:]

    def forward(self, v: Tensor) -> Tensor:
        """Means of the top layer given v, the features: (B, V) -> (B, n_L)."""
        return self.mean_field(v)[-1]

    @torch.no_grad()
    def mean_field(self, v: Tensor, steps: int = 10) -> list[Tensor]:
        """Means μ of the hidden layers given v: from one pass upwards, `steps` rounds of odd layers, then even ones.

        Each layer is set to its best value given the others, so that no round lowers the bound.
        """
        layers = [v, *self.up(v)]
        for _ in range(steps):
            for k in (*range(1, len(layers), 2), *range(2, len(layers), 2)):
                layers[k] = self.logits(layers, k).sigmoid()
        return layers[1:]

    @torch.no_grad()
    def start(self, v: Tensor, generator: Generator | None = None) -> Tensor:
        """A state with these visibles, the hidden layers drawn in one pass upwards: (B, V) -> (B, Σ n_k)."""
        return torch.cat([v, *(bernoulli(m, generator) for m in self.up(v))], 1)

    @torch.no_grad()
    def sweep(
        self, state: Tensor, steps: int = 1, generator: Generator | None = None, *, clamp: Tensor | None = None
    ) -> Tensor:
        """States after sweeps of odd, then even layers; visibles stay where clamp, (V,) or (B, V), is True."""
        now = list(state.split(self.sizes, 1))
        v = now[0]
        for _ in range(steps):
            for k in (*range(1, len(now), 2), *range(0, len(now), 2)):
                now[k] = bernoulli(self.logits(now, k).sigmoid_(), generator)
            if clamp is not None:
                now[0] = torch.where(clamp, v, now[0])
        return torch.cat(now, 1)

    @torch.no_grad()
    def belief_net(self, top: Tensor, steps: int = 1, generator: Generator | None = None) -> Tensor:
        """States of a deep belief net: one sweep or more of the top pair from `top` (B, n_L), then a pass down."""
        last, layers = self.weights[-1], [top]
        for _ in range(max(steps, 1)):
            below = bernoulli((self.biases[-2] + layers[-1] @ last).sigmoid_(), generator)
            layers = [below, bernoulli((self.biases[-1] + below @ last.T).sigmoid_(), generator)]
        for k in reversed(range(len(self.weights) - 1)):
            down = (self.biases[k] + layers[0] @ self.weights[k]).sigmoid_()  # nothing from below
            layers.insert(0, bernoulli(down, generator))
        return torch.cat(layers, 1)

    def flat(self) -> RBM:
        """The same machine as an RBM: even layers, side by side, are its visibles, odd ones its hidden units."""
        even, odd = range(0, len(self.sizes), 2), range(1, len(self.sizes), 2)
        blocks = [[self._block(i, j) for j in even] for i in odd]
        with Draw(0).scope():  # its initial weights are replaced
            machine = RBM(sum(self.sizes[k] for k in even), sum(self.sizes[k] for k in odd))
        machine.weight = nn.Parameter(torch.cat([torch.cat(row, 1) for row in blocks]).detach())
        machine.visible_bias = nn.Parameter(torch.cat([self.biases[k] for k in even]).detach())
        machine.hidden_bias = nn.Parameter(torch.cat([self.biases[k] for k in odd]).detach())
        return machine

    def _block(self, i: int, j: int) -> Tensor:
        """Weights from layer j to layer i, zero where they are not neighbors: (n_i, n_j)."""
        if j == i - 1:
            return self.weights[j]
        return self.weights[i].T if j == i + 1 else self.weights[0].new_zeros(self.sizes[i], self.sizes[j])


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
    """One-step contrastive divergence of a restricted machine with copies of its visible and of its hidden units."""

    surrogate = True

    def __init__(self, module: RBM, copies: tuple[int, int], to_layer_below: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.module, self.copies, self.to_layer_below = module, copies, to_layer_below  # rows to its means

    def free_energy(self, s: Tensor) -> Tensor:
        """F of the sum of the visible copies: (B, V) -> (B,)."""
        return -s @ self.module.visible_bias - self.copies[1] * F.softplus(self.module.hidden_logits(s)).sum(-1)

    def loss(self, player: str, batch: Batch, draw: Draw) -> Loss:
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
        return DBM(x.shape[0], self.hidden)

    def objective(self, module: nn.Module, y: TargetSpec) -> Objective:
        return JointObjective(cast(DBM, module), self.chains, self.k, self.mean_field)

    def rounds(self) -> int:
        return self.greedy * len(self.hidden) + self.epochs

    def process(self, data: Data, held: Data | None) -> Any:
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

        one = [partial(self._layer_trainer, k, layers, data, draw.at(k)) for k in range(len(self.hidden))]
        return Phases([*((make, self.greedy) for make in one), (joint, self.epochs)])

    def _layer_trainer(self, k: int, layers: list[RBM], data: Data, draw: Draw) -> Trainer:
        """One-step contrastive divergence of layer k + 1, on the means of the layer below."""
        sizes, below, last = (self.input_.shape[0], *self.hidden), layers[:k], len(self.hidden) - 1
        copies = [(1 if i == last else 2, 2 if i else 1) for i in range(last + 1)]  # of units below and above
        with draw.scope():
            layers[k:] = [RBM(sizes[k], sizes[k + 1]).to(self._device, self._dtype)]

        def to_layer_below(x: Tensor) -> Tensor:
            for layer, (count, _) in zip(below, copies, strict=False):
                x = layer(count * x)
            return x

        settings = GREEDY_TRAINING if self.optimizer == "sgd" else {**GREEDY_TRAINING, "options": {}}
        return Trainer(
            GreedyObjective(layers[k], copies[k], to_layer_below),
            self.training_source(data),
            optimizer="sgd",
            lr=self.greedy_lr,
            training=replace(self.settings, **settings),
            seed=draw.key() % 2**31,
        )

    def finish(self, process: Any) -> None:
        if not getattr(process, "last", True):  # stopped in the greedy part: the layers as far as they were learned
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

        `as_belief_net` samples the same weights as a deep belief net: sweeps of the top pair of layers alone, then one
        pass downwards. Other arguments as of `RestrictedBoltzmannMachine.sample`.
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
        bound = mean_and_error(self.log_prob_bound(X, z), z.error)
        partition, rebuilt = (z.log_z, z.error), (-self.score(X), None)
        names = "lower bound of mean log p(v)", "mean-field reconstruction", f"log Z ({z.method})"
        return measures({f"{k} / nats": v for k, v in zip(names, (bound, rebuilt, partition), strict=True)})
