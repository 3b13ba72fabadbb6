"""Restricted Boltzmann machine: a density over rows, learned by contrastive divergence.

    p(v) = Σ_h exp(b.v + c.h + h'Wv) / Z,         P(h_j = 1 | v) = σ(c_j + W_j.v): the features

    log-likelihood           log p(v) = -F(v) - log Z            Z by listing 2^min(V, H) states, or by annealing
    log-pseudo-likelihood    Σ_i log P(v_i | v without v_i)      exact; needs no Z and is no log-likelihood
    its one-bit proxy        V log P(v_i | v without v_i)        i drawn at random: cheap, unbiased, noisy

Shapes: n rows, V visible units, H hidden units; X (n, V), W (H, V).
References: Hinton, Training products of experts by minimizing contrastive divergence, Neural Computation 14 (2002);
Tieleman, Training restricted Boltzmann machines using approximations to the likelihood gradient, ICML (2008).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted
from torch import Generator, Tensor, nn

from ..check import Count, Positive, RandomState
from ..data import Encoded, InputSpec, TargetSpec
from ..draw import Draw
from ..errors import InputError, NonFiniteError
from ..nn.rbm import RBM, bernoulli
from ..results import Table
from ..train import Objective
from ._annealing import Partition, base_rates, mean_of, partition_of
from ._chains import followed, generator_of, known_part, seed_of, sound, whole
from ._contrastive import Contrastive, Tempering, one_bit
from ._neural import AUTO, NeuralTransformer
from ._rows import Arrays

__all__ = ["RestrictedBoltzmannMachine"]


@dataclass(kw_only=True, eq=False, repr=False)
class RestrictedBoltzmannMachine(NeuralTransformer):
    """Learn the distribution of rows with one layer of hidden units; `transform` gives P(h = 1 | v).

    Bernoulli visibles take bits, and grey values in [0, 1] as probabilities; Gaussian ones numbers of about unit
    variance; softmax ones one-hot groups. With validation rows the history holds minus their one-bit
    pseudo-likelihood (`valid_loss`), the reconstruction error and, for small machines, the exact log-likelihood.
    `mean_`, where chains start, is of the rows of `fit`, or of the first call of `partial_fit`.

    Args:
        n_hidden: Hidden units.
        visible: "bernoulli", "gaussian" or "softmax".
        categories: Columns of a softmax group.
        method: Where the fantasies come from: persistent chains "pcd", chains that start at the data "cd", or
            persistent chains at several temperatures "tempering".
        k: Sweeps of the chains an update.
        temperatures: Of "tempering".
        chains: Persistent chains; None takes as many as a batch has rows.
        centred: Whether the centred gradient is used.
        sample_pixels: Whether grey values are drawn as bits, anew in each update, instead of used as they are.
        start_at_means: Whether the visible biases start as those of independent units with the means of the rows, so
            that hidden units are left with what goes together; else at 0, and few units may all learn the mean alone.

    Example:
        >>> X = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 50, axis=0)
        >>> machine = RestrictedBoltzmannMachine(n_hidden=2, epochs=40, lr=0.1, random_state=0).fit(X)
        >>> machine.fill_in([[1, 1, 0, 0]], [False, True, True, True], random_state=0)
        array([[1., 1., 0., 0.]], dtype=float32)
    """

    n_hidden: Count = 100
    visible: Literal["bernoulli", "gaussian", "softmax"] = "bernoulli"
    categories: int = 0
    method: Literal["pcd", "cd", "tempering"] = "pcd"
    k: Count = 1
    temperatures: Count = 10
    chains: Count | None = None
    centred: bool = False
    sample_pixels: bool = False
    start_at_means: bool = False
    epochs: Count = 10
    batch_size: Count | Literal["auto"] = 10
    optimizer: str = "sgd"
    lr: Positive | None = None

    usual_rates: ClassVar[Mapping[str, float]] = {"sgd": 0.01, "adam": 0.001}

    def build(self, x: InputSpec, y: TargetSpec) -> nn.Module:
        """The machine, with weights from N(0, 0.01²) and biases 0, or those of the means."""
        if self.sample_pixels and self.visible != "bernoulli":
            raise InputError(
                f"sample_pixels=True draws grey values as bits, but visible={self.visible!r}; use visible='bernoulli'."
            )
        machine = RBM(x.shape[0], self.n_hidden, visible=self.visible, categories=self.categories)
        if self.start_at_means:
            machine.visible_bias.data.copy_(base_rates(torch.tensor(self.mean_), self.visible))
        return machine

    def objective(self, module: nn.Module, y: TargetSpec) -> Objective:
        """The free-energy difference of data and fantasies."""
        knobs: dict[str, Any] = {
            "k": self.k,
            "chains": self.chains or (AUTO if self.batch_size == "auto" else self.batch_size),
            "mean": torch.tensor(self.mean_) if self.centred else None,
            "sample_pixels": self.sample_pixels,
        }
        machine = cast(RBM, module)
        if self.method == "tempering":
            return Tempering(machine, temperatures=self.temperatures, **knobs)
        return Contrastive(machine, persistent=self.method == "pcd", **knobs)

    # ---- rows

    def _finish_rows(self, rows: Arrays, *, learn: bool, weigh: bool = True) -> Arrays:
        if learn:
            self.mean_ = _means(np.asarray(rows.x), rows.weight)
        return rows

    def _table(self, X: Any, *, reset: bool = False) -> np.ndarray | Encoded:
        x = super()._table(X, reset=reset)
        if self.visible == "bernoulli":
            _reject_outside(x.numbers if isinstance(x, Encoded) else x)
        elif self.visible == "softmax" and self.categories > 1 and x.shape[1] % self.categories == 0:
            _reject_groups(np.asarray(x), self.categories)  # that columns are no groups, `build` says
        return x

    @property
    def _machine(self) -> RBM:
        check_is_fitted(self)
        return cast(RBM, self.module_)

    @property
    def _n_features_out(self) -> int:
        return self.n_hidden

    # ---- chains

    def sample(
        self, n: int = 1, *, steps: int = 1000, start: ArrayLike | None = None, random_state: RandomState = None
    ) -> np.ndarray:
        """New rows, each from a chain of its own: (n, V).

        Args:
            n: How many.
            steps: Sweeps of the chains.
            start: Rows at which they start, (n, V); None: the means of the training rows, of which Bernoulli units are
                drawn.
            random_state: Seed; None: other rows at every call.
        """
        machine, g = self._machine, generator_of(random_state, "sample", self._device)
        sound(machine)
        v = self._means(whole("n", n, 1), g) if start is None else self._rows(start)
        if len(v) != n:
            raise InputError(f"start has {len(v)} rows for n={n} chains; give one for each.")
        return self._sound(machine.gibbs(v, whole("steps", steps, 0), g))

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
        return followed(self._rows(X), lambda v, k: machine.gibbs(v, k, g), self._sound, steps, keep)

    def fill_in(
        self, X: ArrayLike, missing: ArrayLike, steps: int = 100, *, random_state: RandomState = None
    ) -> np.ndarray:
        """Rows whose missing entries are drawn given the others, which stay as they are: (n, V).

        Args:
            X: Rows (n, V); what stands at missing entries, NaN too, is not looked at.
            missing: True where an entry is not known: (V,) or (n, V); whole groups of softmax visibles.
            steps: Sweeps, which start at the means of the training rows.
            random_state: Seed; None: other entries at every call.
        """
        machine, g = self._machine, generator_of(random_state, "fill", self._device)
        sound(machine)
        group = self.categories if self.visible == "softmax" else 1
        neutral = np.zeros(machine.n_visible)
        neutral[::group] = group > 1  # whatever the kind of visibles, a row that is in order
        x, gone = known_part(self, X, missing, neutral, group)
        x[gone] = np.broadcast_to(self.mean_, x.shape)[gone]
        v, known = torch.tensor(x, device=self._device), torch.tensor(~gone, device=self._device)
        return self._sound(machine.gibbs(v, whole("steps", steps, 0), g, clamp=known))

    def _rows(self, X: ArrayLike) -> Tensor:
        return torch.tensor(np.asarray(self._table(X)), device=self._device)

    def _means(self, n: int, g: Generator) -> Tensor:
        means = torch.tensor(self.mean_, dtype=getattr(torch, self.dtype), device=self._device).expand(n, -1)
        return bernoulli(means.contiguous(), g) if self.visible == "bernoulli" else means

    def _sound(self, v: Tensor) -> np.ndarray:
        if not v.isfinite().all():
            raise NonFiniteError(
                "A chain left the finite numbers: the machine's weights are too large. Train it with a smaller "
                "learning rate, on standardised columns."
            )
        return v.cpu().numpy()

    # ---- features and energies

    def transform(self, X: ArrayLike) -> np.ndarray:
        """P(h_j = 1 | v): (n, V) -> (n, H)."""
        return self._apply(self._machine, X)

    def free_energy(self, X: ArrayLike) -> np.ndarray:
        """F(v) of each row, in nats: (n,)."""
        return self._apply(self._machine.free_energy, X)

    def pseudo_likelihood(self, X: ArrayLike, *, exact: bool = False, random_state: RandomState = None) -> np.ndarray:
        """Log-pseudo-likelihood of each row, in nats: (n,).

        Args:
            X: Rows (n, V).
            exact: Whether all units (softmax: groups) are asked for, which is deterministic; else one, drawn at random
                for each row, times their number: the one-bit proxy.
            random_state: Seed of the proxy; None: other units at every call.
        """
        machine = self._machine
        if exact:
            return self._apply(lambda v: machine.log_conditionals(v).sum(-1), X)
        draw = Draw(seed_of(random_state))
        parts = self._rows(X).split(self.part)
        return torch.cat([one_bit(machine, v, draw.at("proxy", i)) for i, v in enumerate(parts)]).cpu().numpy()

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
        start = base_rates(torch.tensor(self.mean_), self.visible).to(self._device)
        knobs: dict[str, Any] = {"chains": chains, "temperatures": temperatures, "base_bias": start}
        return partition_of(self._machine, method, **knobs, draw=draw)

    def log_prob(self, X: ArrayLike, partition: Partition | None = None) -> np.ndarray:
        """log p(v) of each row, in nats, as good as `partition`'s log Z: (n,). Of grey values it is no probability."""
        log_z = (partition or self.partition()).log_z
        return self._apply(lambda v: self._machine.log_prob(v, log_z), X)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Mean one-bit log-pseudo-likelihood in nats, bits drawn with the fit's seed; Gaussian: minus the error."""
        if self.visible == "gaussian":
            return -self.evaluate(X)["loss"]
        return float(self.pseudo_likelihood(X, random_state=self.seed_).mean())

    def assess(self, X: ArrayLike, *, temperatures: int = 2_000) -> Table:
        """Pseudo-likelihood, reconstruction and log-likelihood of rows, with standard errors; units that do something.

        A hidden unit whose P(h = 1 | v) has a standard deviation below 0.05 over the rows is a bias, no feature.
        """
        found = self.partition(temperatures=temperatures)
        rebuilt = self._apply(lambda v: (v - self._machine.visible_mean(self._machine(v))).square().mean(-1), X)
        grey = self.visible == "bernoulli" and not np.isin(np.asarray(self._table(X)), (0, 1)).all()
        name = "mean -F(v) - log Z (grey values: no probability) / nats" if grey else "mean log p(v) / nats"
        rows = {name: mean_of(self.log_prob(X, found), found.error)}
        if self.visible != "gaussian":
            rows["mean log-pseudo-likelihood, one-bit proxy / nats"] = mean_of(
                self.pseudo_likelihood(X, random_state=0)
            )
        rows["mean squared reconstruction error"] = mean_of(rebuilt)
        rows[f"log Z ({found.method}) / nats"] = found.log_z, found.error
        apart = int((self.transform(X).std(0) > 0.05).sum())
        rows[f"hidden units that tell rows apart, of {self.n_hidden}"] = apart, 0.0
        values, errors = zip(*rows.values(), strict=True)
        return Table({"measure": list(rows), "value": values, "error": errors})


def _means(x: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Of the columns, added up in float64 from parts of rows: (n, V) -> (V,)."""
    if weight is not None:
        return np.average(x, axis=0, weights=weight)
    parts = np.stack([x[k : k + 256].sum(0) for k in range(0, len(x), 256)])
    return parts.sum(0, dtype=np.float64) / len(x)


def _reject_outside(x: np.ndarray) -> None:
    if x.size and not (x.min() >= 0 and x.max() <= 1):
        row, column = np.argwhere((x < 0) | (x > 1))[0]
        raise InputError(
            f"X holds {x[row, column]:g} at row {row}, column {column}; Bernoulli visibles take values in [0, 1]. "
            "Scale them, e.g. X / 255 for pixels or MinMaxScaler(), or use visible='gaussian'."
        )


def _reject_groups(x: np.ndarray, categories: int) -> None:
    groups = x.reshape(len(x), -1, categories)
    wrong = ((groups != 0) & (groups != 1)).any(2) | (groups.sum(2) != 1)
    if wrong.any():
        row, group = np.argwhere(wrong)[0]
        raise InputError(
            f"X holds {groups[row, group].tolist()} at row {row}, columns {group * categories} to "
            f"{(group + 1) * categories - 1}; a softmax group has a single 1 among zeros. Encode it, e.g. with "
            "OneHotEncoder()."
        )
