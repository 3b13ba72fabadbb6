"""Deep Boltzmann machine: layers initialised one at a time, then all of them trained together.

    ∂ log p(v) / ∂W_k = ⟨x^k x^{k-1}'⟩_{h ~ p(h | v)} - ⟨x^k x^{k-1}'⟩_{x ~ p}
    loss              = E(v, μ) - mean of E over the chains,      μ and chains held constant: its gradient is minus that

The first mean is taken by mean field, the second over persistent chains that move on after every update: training is
joint. Greedy initialisation only finds where it starts: layer after layer, each a restricted machine with contrastive
divergence, whose inputs (below the top) and outputs (above the bottom) are there twice, because in the stack each
inner layer will hear from two sides. Of two machines that meet in a layer the biases are averaged.

    m copies below, n above:   p(h = 1 | x) = σ(c + m W x),   p(x = 1 | h) = σ(b + n W'h)
                               F(s) = -b·s - n Σ_j softplus(c + W s)_j,     s: the sum of the copies of x

Shapes: B rows, layers of n_0 = V, n_1 ... n_L units.
Reference: Salakhutdinov and Hinton, Deep Boltzmann Machines (2009).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, cast

import numpy as np
import torch
import torch.nn.functional as F
from annotated_types import Ge
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted
from torch import Generator, Tensor, nn

from ..check import Count, Positive, RandomState, Widths
from ..data import Batch, Encoded, InputSpec, TargetSpec
from ..draw import Draw
from ..errors import InputError
from ..nn.dbm import DBM
from ..nn.rbm import RBM, bernoulli
from ..results import Table
from ..store import Run
from ..train import Loss, Objective, Progress, Trainer, Training, iterate
from ._annealing import Partition, mean_of, partition_of
from ._chains import followed, generator_of, known_part, seed_of, sound, whole
from ._neural import NeuralTransformer
from ._rows import Arrays

__all__ = ["DeepBoltzmannMachine"]

BURN_IN = 100  # sweeps of the chains after greedy initialisation


class Joint(Objective):
    """All layers together: mean field for the rows, persistent chains for the machine."""

    surrogate = True
    chains: Tensor

    def __init__(self, module: DBM, chains: int, k: int, mean_field: int) -> None:
        super().__init__()
        self.module, self.k, self.rounds = module, k, mean_field
        self.register_buffer("chains", torch.bernoulli(torch.full((chains, sum(module.sizes)), 0.5)))  # (C, Σ n_k)

    def loss(self, player: str, batch: Batch, draw: Draw) -> Loss:
        """E(v, μ) of the rows, and once an update minus the mean energy of the chains."""
        means = self.module.mean_field(batch.x, self.rounds)
        total, weight = batch.sum(self.module.energy([batch.x, *means]))
        seen, _ = batch.sum(reconstruction(self.module, batch.x, means).detach())
        fantasy = self.chains.split(self.module.sizes, 1)
        return Loss(total, weight, -self.module.energy(fantasy).mean(), {"reconstruction": seen})

    def after(self, player: str, batch: Batch, draw: Draw) -> None:
        """k sweeps of the chains, with the weights as they are now."""
        self.advance(self.k)

    def advance(self, steps: int, generator: Generator | None = None) -> None:
        """Sweeps of all chains."""
        moved = self.module.sweep(self.chains.split(self.module.sizes, 1), steps, generator)
        self.chains.copy_(torch.cat(moved, 1))

    def evaluate(self, batch: Batch, draw: Draw) -> Mapping[str, Loss]:
        """The reconstruction: energies of rows that were not learned from say nothing without those of all others."""
        means = self.module.mean_field(batch.x, self.rounds)
        return {"loss": Loss(*batch.sum(reconstruction(self.module, batch.x, means)))}


def reconstruction(machine: DBM, v: Tensor, means: list[Tensor]) -> Tensor:
    """Cross-entropy of v and P(v = 1 | h¹ = μ_1), in nats: (B,)."""
    logits = machine.biases[0] + means[0] @ machine.weights[0]  # (B, V)
    return F.binary_cross_entropy_with_logits(logits, v, reduction="none").sum(-1)


class Greedy(Objective):
    """Contrastive divergence, one step, of a restricted machine with copies of its units that share their weights.

    Args:
        module: The restricted machine.
        copies: Of its visible and of its hidden units.
        lift: Rows to the means of the layer below.
    """

    surrogate = True

    def __init__(self, module: RBM, copies: tuple[int, int], lift: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.module, self.copies, self.lift = module, copies, lift

    def free_energy(self, s: Tensor) -> Tensor:
        """F of the sum of the visible copies: (B, V) -> (B,)."""
        return -s @ self.module.visible_bias - self.copies[1] * F.softplus(self.module.hidden_logits(s)).sum(-1)

    def loss(self, player: str, batch: Batch, draw: Draw) -> Loss:
        """F of the rows minus F of their one-step reconstructions, which are constants."""
        with torch.no_grad():
            seen = self.copies[0] * self.lift(batch.x)
            hidden = torch.stack([self.module.sample_hidden(seen) for _ in range(self.copies[1])]).sum(0)
            dreamt = torch.stack([self.module.sample_visible(hidden) for _ in range(self.copies[0])]).sum(0)
        return Loss(*batch.sum(self.free_energy(seen) - self.free_energy(dreamt)))


def compose(machine: DBM, layers: list[RBM]) -> None:
    """Put restricted machines on top of each other; where two meet, their biases are averaged."""
    with torch.no_grad():
        machine.biases[0].copy_(layers[0].visible_bias)
        for k, layer in enumerate(layers):
            machine.weights[k].copy_(layer.weight)
            met = layers[k + 1].visible_bias if k + 1 < len(layers) else layer.hidden_bias
            machine.biases[k + 1].copy_((layer.hidden_bias + met) / 2)


@dataclass(kw_only=True, eq=False, repr=False)
class DeepBoltzmannMachine(NeuralTransformer):
    """A stack of binary layers that learns the distribution of its rows.

    Rows are bits or probabilities in [0, 1]. `transform` gives the mean-field means of the top layer.

    Args:
        hidden: Units of each hidden layer, the lowest first.
        greedy: Epochs of greedy initialisation for each layer; 0 starts from small random weights.
        greedy_lr: Learning rate of the greedy part, which has a constant rate and `Training.seconds` of its own.
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
    optimizer: str = "sgd"
    lr: Positive | None = None

    usual_rates: ClassVar[Mapping[str, float]] = {"sgd": 0.005, "adam": 0.001}

    def build(self, x: InputSpec, y: TargetSpec) -> nn.Module:
        """The stack."""
        return DBM(x.shape[0], self.hidden)

    def objective(self, module: nn.Module, y: TargetSpec) -> Objective:
        """Joint training."""
        return Joint(cast(DBM, module), self.chains, self.k, self.mean_field)

    # ---- greedy initialisation

    def _build(self, seed: int, *, fresh: bool = True) -> Objective:
        self._bare = fresh  # nothing learned yet
        return super()._build(seed, fresh=fresh)

    def _fit_rows(self, rows: Arrays, held: Arrays | None, seed: int, run: Run | None) -> None:
        objective = self._build(seed)
        self._bare = run is None or run.latest() is None
        self._start(rows, held, seed, objective)
        self._train(self.epochs, run)

    def _start(self, rows: Arrays, held: Arrays | None, seed: int, objective: Objective) -> None:
        if self._bare and self.greedy:
            draw = Draw(seed).at("greedy")
            self._initialise(rows, draw)
            cast(Joint, objective).advance(BURN_IN, draw.generator("chains", self._device))
        self._bare = False
        super()._start(rows, held, seed, objective)

    def _initialise(self, rows: Arrays, draw: Draw) -> None:
        """Learn each layer from the one below, lowest first, and compose them."""
        layers: list[RBM] = []
        machine = cast(DBM, self.module_)
        lift: Callable[[Tensor], Tensor] = lambda x: x  # noqa: E731
        for k, (below, above) in enumerate(pairwise(machine.sizes)):
            copies = (2 if k + 2 < len(machine.sizes) else 1, 2 if k else 1)
            with draw.at(k).scope():
                layer = RBM(below, above).to(self._device, getattr(torch, self.dtype))
            self._train_layer(Greedy(layer, copies, lift), rows, draw.at(k).key() % 2**31)
            lift = _above(lift, layer, copies[0])
            layers.append(layer)
        compose(machine, layers)

    def _train_layer(self, objective: Greedy, rows: Arrays, seed: int) -> None:
        plain: dict[str, Any] = {"schedule": "constant", "shape": {}, "warmup": 0, "grow": False, "ema": 0.0}
        plain |= {"freeze": (), "rates": {}} | ({} if self.optimizer == "sgd" else {"options": {}})
        knobs = replace(self.training or Training(), **plain)
        trainer = Trainer(objective, self._source(rows), optimizer="sgd", lr=self.greedy_lr, training=knobs, seed=seed)
        iterate(trainer, rounds=self.greedy, seconds=knobs.seconds, callbacks=[Progress(knobs.progress)])

    # ---- rows

    def _finish_rows(self, rows: Arrays, *, learn: bool, weigh: bool = True) -> Arrays:
        if learn:
            self.mean_ = np.average(np.asarray(rows.x, dtype=np.float64), axis=0, weights=rows.weight)  # (V,)
        return rows

    def _table(self, X: Any, *, reset: bool = False) -> np.ndarray | Encoded:
        x = super()._table(X, reset=reset)
        numbers = x.numbers if isinstance(x, Encoded) else x
        if numbers.size and not (numbers.min() >= 0 and numbers.max() <= 1):
            raise InputError(
                f"X holds values from {numbers.min():g} to {numbers.max():g}; {type(self).__name__} takes bits or "
                "probabilities in [0, 1]. Rescale it, e.g. MinMaxScaler() before this estimator."
            )
        return x

    @property
    def _machine(self) -> DBM:
        check_is_fitted(self)
        return cast(DBM, self.module_)

    @property
    def _n_features_out(self) -> int:
        return self.hidden[-1]

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Mean-field means of the top layer: (n, V) -> (n, n_L)."""
        return self._apply(lambda v: self._machine.mean_field(v, self.mean_field)[-1], X)

    # ---- chains

    def gibbs(
        self, X: ArrayLike, steps: int | None = None, *, keep: Sequence[int] = (), random_state: RandomState = None
    ) -> np.ndarray:
        """Visible units of chains that start at rows X: (n, V), or (len(keep), n, V).

        Args:
            X: Where they start: (n, V).
            steps: Sweeps; None: the last of `keep`, or 1.
            keep: Numbers of sweeps after which to look, e.g. (0, 1, 10, 100); () looks at the end alone.
            random_state: Seed; None: other rows at every call.
        """
        machine, g = self._machine, generator_of(random_state, "gibbs", self._device)
        sound(machine)
        state = machine.start(self.batch(X).x, g)
        return followed(state, lambda s, k: machine.sweep(s, k, g), lambda s: s[0].cpu().numpy(), steps, keep)

    def fill_in(
        self, X: ArrayLike, missing: ArrayLike, steps: int = 100, *, random_state: RandomState = None
    ) -> np.ndarray:
        """Rows whose missing entries are drawn given the others, which stay as they are: (n, V).

        Args:
            X: Rows (n, V); what stands at missing entries, NaN too, is not looked at.
            missing: True where an entry is not known: (V,) or (n, V).
            steps: Sweeps, which start at the means of the training rows.
            random_state: Seed; None: other entries at every call.
        """
        machine, g = self._machine, generator_of(random_state, "fill", self._device)
        sound(machine)
        x, gone = known_part(self, X, missing, self.mean_)
        v, known = torch.tensor(x, device=self._device), torch.tensor(~gone, device=self._device)
        return machine.gibbs(v, whole("steps", steps, 0), g, clamp=known).cpu().numpy()

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
        machine, g = self._machine, generator_of(random_state, "sample", self._device)
        sound(machine)
        means = torch.tensor(self.mean_, device=self._device).to(machine.biases[0]).repeat(whole("n", n, 1), 1)
        v = bernoulli(means, g) if start is None else self.batch(start).x
        if len(v) != n:
            raise InputError(f"start has {len(v)} rows for n={n} chains; give one for each.")
        if as_belief_net:
            return machine.belief_net(machine.start(v, g)[-1], whole("steps", steps, 0), g)[0].cpu().numpy()
        return machine.gibbs(v, whole("steps", steps, 0), g).cpu().numpy()

    # ---- likelihood

    def partition(
        self,
        method: Literal["auto", "exact", "ais"] = "auto",
        *,
        chains: int = 100,
        temperatures: int = 10_000,
        random_state: RandomState = 0,
    ) -> Partition:
        """log Z, exactly for small machines, else by annealed importance sampling with its error bar."""
        draw = Draw(seed_of(random_state)).at("partition")
        return partition_of(self._machine, method, chains=chains, temperatures=temperatures, draw=draw)

    def log_prob_bound(self, X: ArrayLike, partition: Partition | None = None) -> np.ndarray:
        """A lower bound of log p(v) of each row, in nats, by mean field: (n,). A log Z that is too low lifts it."""
        log_z = (partition or self.partition()).log_z

        def bound(v: Tensor) -> Tensor:
            return self._machine.bound(v, self._machine.mean_field(v, self.mean_field)).double() - log_z

        return self._apply(bound, X)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Minus the mean cross-entropy of rows and their mean-field reconstructions, in nats; it needs no log Z."""
        return -self.evaluate(X)["loss"]

    def assess(self, X: ArrayLike, *, temperatures: int = 2_000) -> Table:
        """Reconstruction, and the bound of the log-likelihood with the error of log Z."""
        found = self.partition(temperatures=temperatures)
        rows = {
            "lower bound of mean log p(v) / nats": mean_of(self.log_prob_bound(X, found), found.error),
            "mean-field reconstruction / nats": (-self.score(X), None),
            f"log Z ({found.method}) / nats": (found.log_z, found.error),
        }
        values, errors = zip(*rows.values(), strict=True)
        return Table({"measure": list(rows), "value": values, "error": ["none" if e is None else e for e in errors]})


def _above(lift: Callable[[Tensor], Tensor], layer: RBM, copies: int) -> Callable[[Tensor], Tensor]:
    """Rows to the means of the layer above."""
    return lambda x: layer(copies * lift(x))
