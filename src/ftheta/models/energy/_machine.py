"""What Boltzmann machines share: Gibbs chains from given rows, samples, rows filled in, and likelihoods.

    x_0 -> x_1 -> ... -> x_T,      a step is one sweep: every unit is drawn once, given the others

A net has `start(v, generator)` -> states (n, units), visible units first, `sweep(states, steps, generator, clamp=)`,
and `log_partition()` or `flat()`; with `free_energy(v)` also densities.
Shapes: n rows or chains, V visible units.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from torch import Generator, Tensor
from torch.nn import functional as F

from ...check import RandomState, at_least
from ...data import Batch
from ...data.kinds import Kind, Table
from ...draw import Draw, seed_of
from ...errors import InputError, NonFiniteError
from ...results import Table as Numbers
from ...tasks import Generate
from ...train import Loss, Objective
from .._base.neural import NeuralEstimator
from .._base.rows import Data
from .rbm_net import LogPartition, base_rates, bernoulli, log_partition

ADVICE = "Train it with a smaller learning rate, on standardized columns."
_has_free_energy = available_if(lambda machine: machine.closed_form)


class Machine(NeuralEstimator):
    """Base of the Boltzmann machines. Learned: mean_ (V,), the means of the training rows, where chains start."""

    surrogate: ClassVar[str] = "mean energy of rows minus that of samples"  # what the training loss is
    closed_form: ClassVar[bool] = True  # whether hidden units can be summed over, and free energies be computed
    visible = "bernoulli"  # kind of visible units

    def kind(self) -> Kind:
        return Table(self.dtype, support="unit")

    def task(self) -> Generate:
        return Generate()

    def read(self, *args: Any, learn: bool = True, **options: Any) -> tuple[Data, Data | None]:
        data, held = super().read(*args, learn=learn, **options)
        if learn:
            (x,), w = data.x.content(), data.weight
            self.mean_ = x.mean(0, dtype=np.float64) if w is None else np.average(x, axis=0, weights=w)  # (V,)
        return data, held

    @property
    def _machine(self) -> Any:
        check_is_fitted(self)
        return self.module_

    # ---- chains

    def sample(
        self, n: int = 1, *, steps: int = 1000, start: ArrayLike | None = None, random_state: RandomState = None
    ) -> np.ndarray:
        """New rows, each from a chain of its own: (n, V).

        Args:
            n: How many.
            steps: Sweeps of the chains.
            start: Rows at which they start, (n, V); None: bits drawn with the means of the training rows, or these
                means where units are not bits.
            random_state: Seed; None: other rows at every call.
        """
        g = self._generator("sample", random_state)
        return self._follow(self._starts(n, start, g), steps, (), g)

    def gibbs(
        self, X: ArrayLike, steps: int | None = None, *, keep: Sequence[int] = (), random_state: RandomState = None
    ) -> np.ndarray:
        """Visible units of chains that start at rows X: (n, V), or (len(keep), n, V).

        Args:
            X: Where they start: (n, V).
            steps: Sweeps; None: the last of `keep`, or 1.
            keep: Numbers of sweeps after which visible units are kept, e.g. (0, 1, 10, 100); (): at the end only.
            random_state: Seed; None: other rows at every call.
        """
        return self._follow(self.batch(X).x, steps, keep, self._generator("gibbs", random_state))

    def fill_in(
        self,
        X: ArrayLike,
        missing: ArrayLike,
        steps: int | None = 100,
        *,
        keep: Sequence[int] = (),
        random_state: RandomState = None,
    ) -> np.ndarray:
        """Rows whose missing entries are drawn given the others, which stay as they are: (n, V).

        Args:
            X: Rows (n, V); values at missing entries, NaN too, are not used.
            missing: True where an entry is not known: (V,) or (n, V).
            steps: Sweeps, which start at the means of the training rows.
            keep: Numbers of sweeps after which rows are kept; (): at the end only.
            random_state: Seed; None: other entries at every call.
        """
        check_is_fitted(self)
        x, gone = self._observed(X, missing)
        x[gone] = np.broadcast_to(self.mean_, x.shape)[gone]
        v, known = torch.tensor(x, device=self._device), torch.tensor(~gone, device=self._device)
        return self._follow(v, steps, keep, self._generator("fill", random_state), known)

    def _follow(
        self, v: Tensor, steps: int | None, keep: Sequence[int], generator: Generator, clamp: Tensor | None = None
    ) -> np.ndarray:
        """Visibles of chains from v, at the end (n, V) or after each number of sweeps in `keep` (len(keep), n, V)."""
        last: int = at_least("steps", max(keep, default=1) if steps is None else steps, 0, integer=True)
        if any(not 0 <= step <= last for step in keep):
            raise InputError(f"keep={tuple(keep)} for {last} sweeps: give numbers from 0 to {last}.")
        net, at, seen = self._drawable(), 0, {}
        state = net.start(v, generator)
        for step in sorted({*keep, last}):
            state, at = net.sweep(state, step - at, generator, clamp=clamp), step
            seen[step] = state[:, : v.shape[1]].cpu().numpy()
            if not np.isfinite(seen[step]).all():
                raise NonFiniteError(f"A chain left the finite numbers: the machine's weights are too large. {ADVICE}")
        return np.stack([seen[step] for step in keep]) if len(keep) else seen[last]

    def _drawable(self) -> Any:
        """The net, if its weights are finite: comparing with others would give zeros."""
        broken = [name for name, p in self._machine.named_parameters() if not p.isfinite().all()]
        if broken:
            raise NonFiniteError(f"The machine's {broken[0]} is not finite, so nothing can be drawn from it. {ADVICE}")
        return self.module_

    def _generator(self, use: str, random_state: RandomState) -> Generator:
        check_is_fitted(self)
        return Draw(seed_of(random_state)).at(use).generator(device=self._device)

    def _starts(self, n: int, start: ArrayLike | None, generator: Generator) -> Tensor:
        count = at_least("n", n, 1, integer=True)
        if start is None:
            means = torch.tensor(self.mean_, dtype=self._dtype, device=self._device).repeat(count, 1)
            return bernoulli(means, generator) if self.visible == "bernoulli" else means
        rows = self.batch(start).x
        if len(rows) != count:
            raise InputError(f"start has {len(rows)} rows for n={n} chains; give one for each.")
        return rows

    # ---- rows

    def _observed(self, X: Any, missing: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Rows checked as in `fit` but for missing entries, and the mask: (n, V) both."""
        x = np.array(X, dtype=self.dtype)
        if x.shape[1:] != self.mean_.shape or not len(x):
            self.checked(x)  # raises the error for this shape
        gone = np.asarray(missing)
        if gone.dtype != bool or gone.shape not in (x.shape, x.shape[1:]):
            rest = f"it must be True or False for every column {x.shape[1:]} or entry {x.shape} of X."
            raise InputError(f"missing has shape {gone.shape} and dtype {gone.dtype}; {rest}")
        gone = np.broadcast_to(gone, x.shape)
        x[gone] = 0.0  # passes the check, for every kind of visibles
        return self._array(pd.DataFrame(x, columns=X.columns) if hasattr(X, "columns") else x), gone

    def _array(self, X: Any) -> np.ndarray:
        return np.array(self.checked(X).x.content()[0])

    # ---- likelihood

    @_has_free_energy
    def free_energy(self, X: ArrayLike) -> np.ndarray:
        """F(v) = -log Σ_h exp(-E(v, h)) of each row, in nats: (n,)."""
        return self.apply(self._machine.free_energy, X)

    @_has_free_energy
    def log_prob(self, X: ArrayLike, partition: LogPartition | None = None) -> np.ndarray:
        """log p(v) of each row, in nats, by `partition`'s log Z: (n,). Of gray values it is not a probability."""
        log_z = (partition or self.partition()).log_z
        return self.apply(lambda v: -self._machine.free_energy(v).double() - log_z, X)

    def log_prob_independent(self, X: ArrayLike) -> np.ndarray:
        """log p(v) of each row, in nats, if the columns were independent and had the means of the training rows: (n,).

        Of gray values it is not a probability, as `log_prob`; Gaussian columns have a variance of 1.
        """
        b = base_rates(torch.tensor(self.mean_, device=self._device), self.visible)
        if self.visible == "gaussian":
            return self.apply(lambda v: torch.distributions.Normal(b, 1.0).log_prob(v.double()).sum(-1), X)
        return self.apply(lambda v: v.double() @ b - F.softplus(b).sum(), X)

    def partition(
        self,
        method: Literal["auto", "exact", "ais"] = "auto",
        *,
        chains: int = 100,
        temperatures: int = 10_000,
        random_state: RandomState = 0,
    ) -> LogPartition:
        """log Z, exactly for small machines, else by annealed importance sampling with its error."""
        draw, machine = Draw(seed_of(random_state)).at("partition"), self._machine
        options: dict[str, Any] = {"chains": chains, "temperatures": temperatures, "base_bias": self._base_bias()}
        return log_partition(machine, method, **options, draw=draw)

    def _base_bias(self) -> Tensor | None:
        """Biases of the machine from which annealing starts; None: estimated from its own chains."""
        return None

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Minus the loss of `evaluate`."""
        return -self.evaluate(X)["loss"]


def measures(named: Mapping[str, tuple[float, float | None]]) -> Numbers:
    """Names to values and standard errors, None where there is none, as a table."""
    values, errors = zip(*named.values(), strict=True)
    return Numbers({"measure": list(named), "value": values, "error": ["none" if e is None else e for e in errors]})


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
