"""Restricted Boltzmann machine: a density over rows, learned by contrastive divergence.

    p(v) = Σ_h exp(b.v + c.h + h'Wv) / Z,         P(h_j = 1 | v) = σ(c_j + W_j.v): the features

    log-likelihood           log p(v) = -F(v) - log Z            Z by listing 2^min(V, H) states, or by annealing
    log-pseudo-likelihood    Σ_i log P(v_i | v without v_i)      exact; needs no Z, and is not the log-likelihood
    its one-bit proxy        V log P(v_i | v without v_i)        i drawn at random: cheap, unbiased, noisy

The free energy of data is lowered, that of the machine's own samples ("fantasies") raised:

    ∇ log p(v) = -∇F(v) + E_p[∇F],       loss = mean F(data) - mean F(fantasies),      the fantasies are constants
    -∂F/∂W = p(h = 1 | v) v',            -∂F/∂b = v,      -∂F/∂c = p(h = 1 | v)

Fantasies: "cd", sweeps from the data (biased, little noise); "pcd", chains that go on (stochastic maximum likelihood).

The centered gradient is the gradient in the coordinates E = -(v - μ)'b - (h - λ)'c - (h - λ)'W(v - μ), transformed to
the usual ones: a change of coordinates θ = Jθ' turns a step g into J J'g. With μ and λ the means it does not change
when bits are flipped.

Shapes: n rows, B of a batch, C chains, V visible, H hidden units; W (H, V), b and μ (V,), c and λ (H,).
References: Hinton, Training products of experts by minimizing contrastive divergence, Neural Computation 14 (2002);
Tieleman, Training restricted Boltzmann machines using approximations to the likelihood gradient, ICML (2008);
Melchior, Fischer and Wiskott, How to center deep Boltzmann machines, JMLR 17 (2016).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Literal, cast

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from ...check import Count, Positive, RandomState
from ...data import Batch, InputSpec, TargetSpec
from ...data.kinds import Table
from ...draw import Draw, seed_of
from ...errors import InputError
from ...results import Table as Numbers
from ...train import Loss, Objective
from .._base.neural import AUTO, NeuralTransformer
from ._machine import Machine, measures
from .rbm_net import RBM, base_rates, bernoulli, mean_and_error

__all__ = ["Contrastive", "RestrictedBoltzmannMachine"]

AVERAGING = 0.01  # share of a new mean of the hidden units, per update
VALIDATION = Draw(0).at("validation")  # the same bits in every epoch: what changes is the machine
MAX_LISTED_UNITS = 10  # of the smaller layer, for the exact likelihood in validation
MIN_SPREAD = 0.05  # standard deviation over rows of a hidden unit that is a feature
Slopes = tuple[Tensor, Tensor, Tensor]  # of W, b and c


class Contrastive(Objective):
    """Mean F(data) - mean F(fantasies); with the `mean` of the visible units (V,) by the centered gradient.

    `chains` is how many go on from update to update; 0: the fantasies start at the data.
    """

    surrogate, global_noise = True, False
    hidden: Tensor
    mu: Tensor
    lam: Tensor

    def __init__(
        self, machine: RBM, *, k: int = 1, chains: int = 10, mean: Tensor | None = None, sample_pixels: bool = False
    ) -> None:
        super().__init__()
        self.machine, self.k, self.chains, self.sample_pixels = machine, k, chains, sample_pixels
        self.centered = mean is not None
        self.register_buffer("hidden", torch.zeros(chains, machine.n_hidden))
        if mean is not None:
            self.register_buffer("mu", mean)
            self.register_buffer("lam", torch.full((machine.n_hidden,), 0.5))
        self.seen: list[Tensor] = []  # p(h = 1 | v) of the rows and fantasies of the last loss: (B + C, H)

    def loss(self, player: str, batch: Batch, draw: Draw) -> Loss:
        known, slopes = self.gradient(player, batch, draw)
        linear = sum(((p - p.detach()) * slope).sum() for p, slope in slopes)  # 0, with the right derivative
        return Loss(known.total + linear * known.weight, known.weight)

    def gradient(self, player: str, batch: Batch, draw: Draw) -> tuple[Loss, Iterable[tuple[Tensor, Tensor]]]:
        """The loss, and the gradient of its mean in closed form: with autograd a step takes 1.3 to 2.5 times longer."""
        (r, total), m, g = self._weights(batch), self.machine, draw.generator(device=batch.x.device)
        x = bernoulli(batch.x, g) if self.sample_pixels else batch.x
        weight, visible_bias, hidden_bias = m.weight, m.visible_bias, m.hidden_bias
        with torch.no_grad():
            v = torch.cat([x, self.fantasies(x, g)])  # (B + C, V)
            logits = F.linear(v, weight, hidden_bias)  # (B + C, H)
            pull, seen = torch.mv(v.t(), r), logits.sigmoid()
            each = torch.addmv(F.softplus(logits).sum(1), v, visible_bias)  # -F(v): (B + C,)
            if m.visible == "gaussian":
                each -= v.square().sum(1) / 2
            slopes: Slopes = torch.mm((seen * r.unsqueeze(1)).t(), v), pull, torch.mv(seen.t(), r)
            slopes = _centered(*slopes, self.mu, self.lam) if self.centered else slopes
        self.seen[:] = [seen]
        return Loss(torch.dot(r, each) * total, total), zip((weight, visible_bias, hidden_bias), slopes, strict=True)

    def _weights(self, batch: Batch) -> tuple[Tensor, Any]:
        """Weights of -F in a mean, of rows -1 in all, of fantasies 1 in all: (B + C,); and Σ w of the rows."""
        n, x, w = batch.n, batch.x, batch.weight
        shares, total = (x.new_full((n,), 1 / n), float(n)) if w is None else (w.to(x.dtype) / w.sum(), w.sum())
        made = self.chains or n
        return torch.cat([-shares, shares.new_full((made,), 1 / made)]), total

    def after(self, player: str, batch: Batch, draw: Draw) -> None:
        for p in self.seen:
            if self.centered:
                self.lam.lerp_(p[: batch.n].mean(0), AVERAGING)
            if self.chains:  # where the chains go on in the next update
                bernoulli(p[batch.n :], draw.generator(device=p.device), out=self.hidden)

    def fantasies(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """The visible units of the fantasies, without gradients: (C, V), or (B, V) where they start at the data."""
        m = self.machine
        if not self.chains:
            return m.gibbs(x, self.k, generator)
        return m.gibbs(m.draw_visible(m.visible_logits(self.hidden), generator), self.k - 1, generator)

    def evaluate(self, batch: Batch, draw: Draw) -> Mapping[str, Loss]:
        """Minus the one-bit pseudo-likelihood, the mean squared reconstruction error, and log p(v) of small machines.

        Gaussian visibles have no pseudo-likelihood: their loss is the reconstruction error.
        """
        m, x = self.machine, batch.x
        rebuilt = (x - m.visible_mean(m(x))).square().mean(-1)
        each = {"loss": rebuilt, "reconstruction": rebuilt}
        if m.visible != "gaussian":
            each["loss"] = -one_bit(m, x, VALIDATION)
        if m.n_summed <= MAX_LISTED_UNITS:
            each["log_likelihood"] = m.log_prob(x, m.log_partition()).to(x.dtype)
        return {name: Loss(*batch.sum(values)) for name, values in each.items()}


def _centered(weight: Tensor, visible: Tensor, hidden: Tensor, mu: Tensor, lam: Tensor) -> Slopes:
    """J J'g of a gradient g = (H, V), (V,), (H,), for the offsets μ of the visible and λ of the hidden units."""
    weight = weight.addr(lam, visible, alpha=-1).addr_(hidden, mu, alpha=-1)
    return weight, visible - lam @ weight, hidden - weight @ mu


def one_bit(machine: RBM, v: Tensor, draw: Draw) -> Tensor:
    """The proxy of the log-pseudo-likelihood: V log P(v_i | others) of one random unit i per row: (B,)."""
    unit = torch.randint(machine.n_visible, (len(v),), generator=draw.generator("bit")).to(v.device)
    return machine.n_visible * machine.log_conditional(v, unit)


class RestrictedBoltzmannMachine(NeuralTransformer, Machine):
    """Learn the distribution of rows with one layer of hidden units; `transform` gives P(h = 1 | v).

    Bernoulli visibles take bits, and gray values in [0, 1] as probabilities; Gaussian ones numbers of about unit
    variance. With validation rows the history holds minus their one-bit pseudo-likelihood (`valid_loss`), the
    reconstruction error and, for small machines, the exact log-likelihood.
    `mean_`, where chains start, is of the rows of `fit`, or of the first call of `partial_fit`.

    Args:
        n_hidden: Hidden units.
        visible: "bernoulli" or "gaussian".
        method: Where the fantasies come from: persistent chains "pcd", or chains that start at the data "cd".
        k: Sweeps of the chains per update.
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
    visible: Literal["bernoulli", "gaussian"] = "bernoulli"
    method: Literal["pcd", "cd"] = "pcd"
    k: Count = 1
    chains: Count | None = None
    centered: bool = False
    sample_pixels: bool = False
    start_at_means: bool = True
    epochs: Count = 20
    batch_size: Count | Literal["auto"] = 10
    optimizer: str | Callable[..., Any] = "sgd"
    lr: Positive | None = None

    default_lr: ClassVar[Mapping[str, float]] = {"sgd": 0.02, "adam": 0.001}

    def build(self, x: InputSpec, y: TargetSpec) -> nn.Module:
        if self.sample_pixels and self.visible != "bernoulli":
            rest = f"but visible={self.visible!r}; use visible='bernoulli'."
            raise InputError(f"sample_pixels=True draws gray values as bits, {rest}")
        machine = RBM(x.shape[0], self.n_hidden, visible=self.visible)
        if self.start_at_means:
            machine.visible_bias.data.copy_(base_rates(torch.tensor(self.mean_), self.visible))
        return machine

    def objective(self, module: nn.Module, y: TargetSpec) -> Objective:
        chains = self.chains or (AUTO if self.batch_size == "auto" else self.batch_size)
        mean = torch.tensor(self.mean_) if self.centered else None
        how: dict[str, Any] = {"k": self.k, "mean": mean, "sample_pixels": self.sample_pixels}
        return Contrastive(cast(RBM, module), chains=chains if self.method == "pcd" else 0, **how)

    def kind(self) -> Table:
        return Table(self.dtype, support="unit" if self.visible == "bernoulli" else "real")

    # ---- features and energies

    def transform(self, X: ArrayLike) -> np.ndarray:
        """P(h_j = 1 | v): (n, V) -> (n, H)."""
        return self.apply(self._machine, X)

    def pseudo_likelihood(self, X: ArrayLike, *, exact: bool = False, random_state: RandomState = None) -> np.ndarray:
        """Log-pseudo-likelihood of each row, in nats: (n,).

        Args:
            X: Rows (n, V).
            exact: Whether all units are summed, which is deterministic; else one per row, drawn at random, times their
                number: the one-bit proxy.
            random_state: Seed of the proxy; None: other units at every call.
        """
        machine = self._machine
        if exact:
            return self.apply(lambda v: machine.log_conditionals(v).sum(-1), X)
        draw = Draw(seed_of(random_state))
        parts = self.batch(X).x.split(self.part)
        return torch.cat([one_bit(machine, v, draw.at("proxy", i)) for i, v in enumerate(parts)]).cpu().numpy()

    def _base_bias(self) -> Tensor:
        return base_rates(torch.tensor(self.mean_), self.visible).to(self._device)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Mean one-bit log-pseudo-likelihood in nats, bits drawn with the fit's seed; Gaussian: minus the error."""
        if self.visible == "gaussian":
            return super().score(X)
        return float(self.pseudo_likelihood(X, random_state=self.seed_).mean())

    def assess(self, X: ArrayLike, *, temperatures: int = 2_000) -> Numbers:
        """Pseudo-likelihood, reconstruction and log-likelihood of rows, with standard errors; units that are features.

        A hidden unit whose P(h = 1 | v) has a standard deviation below 0.05 over the rows is a bias, not a feature.
        """
        z, machine = self.partition(temperatures=temperatures), self._machine
        rebuilt = self.apply(lambda v: (v - machine.visible_mean(machine(v))).square().mean(-1), X)
        gray = self.visible == "bernoulli" and not np.isin(self._array(X), (0, 1)).all()
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
