"""Restricted Boltzmann machine: a density over rows, learned by contrastive divergence.

    p(v) = Σ_h exp(b.v + c.h + h'Wv) / Z,         P(h_j = 1 | v) = σ(c_j + W_j.v): the features

    log-likelihood           log p(v) = -F(v) - log Z            Z by listing 2^min(V, H) states, or by annealing
    log-pseudo-likelihood    Σ_i log P(v_i | v without v_i)      exact; needs no Z, and is not the log-likelihood
    its one-bit proxy        V log P(v_i | v without v_i)        i drawn at random: cheap, unbiased, noisy

Shapes: n rows, V visible units, H hidden units; X (n, V), W (H, V).
References: Hinton, Training products of experts by minimizing contrastive divergence, Neural Computation 14 (2002);
Tieleman, Training restricted Boltzmann machines using approximations to the likelihood gradient, ICML (2008).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from ...check import Count, Positive, RandomState
from ...data import InputSpec, TargetSpec
from ...data.kinds import Items, Table
from ...draw import Draw, seed_of
from ...errors import InputError
from ...results import Table as Numbers
from ...train import Objective
from .._base.neural import AUTO, NeuralTransformer
from ._machine import Machine, measures
from .annealing import base_rates, mean_and_error
from .contrastive import Contrastive, Tempering, one_bit
from .rbm_net import RBM

__all__ = ["RestrictedBoltzmannMachine"]

MIN_SPREAD = 0.05  # standard deviation over rows of a hidden unit that is a feature


@dataclass(frozen=True)
class OneHot(Table):
    """Groups of columns with a single 1 in each."""

    categories: int = 0  # columns of a group

    def check(self, X: Any, owner: Any, spec: InputSpec | None = None) -> Items:
        """X with a single 1 in every group; `build` refuses columns that are not groups."""
        rows = super().check(X, owner, spec)
        if self.categories > 1 and rows.values.shape[1] % self.categories == 0:
            _check_groups(rows.values, self.categories)
        return rows


@dataclass(kw_only=True, eq=False, repr=False)
class RestrictedBoltzmannMachine(NeuralTransformer, Machine):
    """Learn the distribution of rows with one layer of hidden units; `transform` gives P(h = 1 | v).

    Bernoulli visibles take bits, and gray values in [0, 1] as probabilities; Gaussian ones numbers of about unit
    variance; softmax ones one-hot groups. With validation rows the history holds minus their one-bit
    pseudo-likelihood (`valid_loss`), the reconstruction error and, for small machines, the exact log-likelihood.
    `mean_`, where chains start, is of the rows of `fit`, or of the first call of `partial_fit`.

    Args:
        n_hidden: Hidden units.
        visible: "bernoulli", "gaussian" or "softmax".
        categories: Columns of a softmax group.
        method: Where the fantasies come from: persistent chains "pcd", chains that start at the data "cd", or
            persistent chains at several temperatures "tempering".
        k: Sweeps of the chains per update.
        temperatures: Of "tempering".
        chains: Persistent chains; None takes as many as a batch has rows.
        centered: Whether the centered gradient is used.
        sample_pixels: Whether gray values are drawn as bits, anew in each update, instead of used as they are.
        start_at_means: Whether the visible biases start as those of independent units with the means of the rows, so
            that hidden units learn only what goes together; else at 0, where few units may all learn the mean alone.

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
    centered: bool = False
    sample_pixels: bool = False
    start_at_means: bool = False
    epochs: Count = 10
    batch_size: Count | Literal["auto"] = 10
    optimizer: str | Callable[..., Any] = "sgd"
    lr: Positive | None = None

    default_lr: ClassVar[Mapping[str, float]] = {"sgd": 0.01, "adam": 0.001}

    def build(self, x: InputSpec, y: TargetSpec) -> nn.Module:
        """The net, with weights from N(0, 0.01²) and biases 0, or those of the means."""
        if self.sample_pixels and self.visible != "bernoulli":
            raise InputError(
                f"sample_pixels=True draws gray values as bits, but visible={self.visible!r}; use visible='bernoulli'."
            )
        machine = RBM(x.shape[0], self.n_hidden, visible=self.visible, categories=self.categories)
        if self.start_at_means:
            machine.visible_bias.data.copy_(base_rates(torch.tensor(self.mean_), self.visible))
        return machine

    def objective(self, module: nn.Module, y: TargetSpec) -> Objective:
        """The free-energy difference of data and fantasies."""
        options: dict[str, Any] = {
            "k": self.k,
            "chains": self.chains or (AUTO if self.batch_size == "auto" else self.batch_size),
            "mean": torch.tensor(self.mean_) if self.centered else None,
            "sample_pixels": self.sample_pixels,
        }
        machine = cast(RBM, module)
        if self.method == "tempering":
            return Tempering(machine, temperatures=self.temperatures, **options)
        return Contrastive(machine, persistent=self.method == "pcd", **options)

    def kind(self) -> Table:
        """Probabilities or bits, any numbers, or one-hot groups."""
        if self.visible == "softmax":
            return OneHot(self.dtype, categories=self.categories)
        return Table(self.dtype, support="unit" if self.visible == "bernoulli" else "real")

    @property
    def _bits(self) -> bool:
        return self.visible == "bernoulli"

    @property
    def _group(self) -> int:
        return self.categories if self.visible == "softmax" else 1

    @property
    def _n_features_out(self) -> int:
        return self.n_hidden

    # ---- features and energies

    def transform(self, X: ArrayLike) -> np.ndarray:
        """P(h_j = 1 | v): (n, V) -> (n, H)."""
        return self.apply(self._machine, X)

    def pseudo_likelihood(self, X: ArrayLike, *, exact: bool = False, random_state: RandomState = None) -> np.ndarray:
        """Log-pseudo-likelihood of each row, in nats: (n,).

        Args:
            X: Rows (n, V).
            exact: Whether all units (softmax: groups) are summed, which is deterministic; else one per row, drawn at
                random, times their number: the one-bit proxy.
            random_state: Seed of the proxy; None: other units at every call.
        """
        machine = self._machine
        if exact:
            return self.apply(lambda v: machine.log_conditionals(v).sum(-1), X)
        draw = Draw(seed_of(random_state))
        parts = self._rows(X).split(self.part)
        return torch.cat([one_bit(machine, v, draw.at("proxy", i)) for i, v in enumerate(parts)]).cpu().numpy()

    def _base_bias(self) -> Tensor:
        return base_rates(torch.tensor(self.mean_), self.visible).to(self._device)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Mean one-bit log-pseudo-likelihood in nats, bits drawn with the fit's seed; Gaussian: minus the error."""
        if self.visible == "gaussian":
            return -self.evaluate(X)["loss"]
        return float(self.pseudo_likelihood(X, random_state=self.seed_).mean())

    def assess(self, X: ArrayLike, *, temperatures: int = 2_000) -> Numbers:
        """Pseudo-likelihood, reconstruction and log-likelihood of rows, with standard errors; units that are features.

        A hidden unit whose P(h = 1 | v) has a standard deviation below 0.05 over the rows is a bias, not a feature.
        """
        z, machine = self.partition(temperatures=temperatures), self._machine
        rebuilt = self.apply(lambda v: (v - machine.visible_mean(machine(v))).square().mean(-1), X)
        gray = self._bits and not np.isin(self._array(X), (0, 1)).all()
        name = "mean -F(v) - log Z (gray values: not a probability) / nats" if gray else "mean log p(v) / nats"
        rows: dict[str, tuple[float, float | None]] = {name: mean_and_error(self.log_prob(X, z), z.error)}
        if self.visible != "gaussian":
            proxy = self.pseudo_likelihood(X, random_state=0)
            rows["mean log-pseudo-likelihood, one-bit proxy / nats"] = mean_and_error(proxy)
        rows["mean squared reconstruction error"] = mean_and_error(rebuilt)
        rows[f"log Z ({z.method}) / nats"] = z.log_z, z.error
        features = int((self.transform(X).std(0) > MIN_SPREAD).sum())
        rows[f"hidden units that tell rows apart, of {self.n_hidden}"] = features, 0.0
        return measures(rows)


def _check_groups(x: np.ndarray, categories: int) -> None:
    groups = x.reshape(len(x), -1, categories)
    wrong = ((groups != 0) & (groups != 1)).any(2) | (groups.sum(2) != 1)
    if wrong.any():
        row, group = np.argwhere(wrong)[0]
        raise InputError(
            f"X holds {groups[row, group].tolist()} at row {row}, columns {group * categories} to "
            f"{(group + 1) * categories - 1}; a softmax group has a single 1 among zeros. Encode it, e.g. with "
            "OneHotEncoder()."
        )
