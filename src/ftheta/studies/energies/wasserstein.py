"""Does a Boltzmann machine that minimizes a transport distance draw cleaner digits than one of maximum likelihood?

Two machines start from the same one, trained by likelihood. One continues so; the other minimizes the entropic
Wasserstein distance between its samples and the digits, plus λ times the likelihood's loss, with as many updates. How
far are their samples from unseen digits, and how many of their lit pixels have no lit neighbor?

    W_γ(p, q) = min_P Σ_ij P_ij d(x_i, y_j) - γ H(P),     P with the margins of p and q,     d: pixels that differ
    ∂W_γ/∂θ   = E_p[α(x) ∂ log p(x)/∂θ] = -E_p[(α(x) - E_p α) ∂F(x)/∂θ],        α: potential of the samples (Sinkhorn)
    loss      = W_γ + λ (E_data F - E_p F)                                      E_p: persistent chains

Reported is the distance of the best one-to-one matching. Rates, γ = 1 pixel and λ = 0.2 were chosen on the test digits
of the set; unseen digits are training digits that no machine learns from.
Reference: Montavon, Müller and Cuturi, arXiv:1507.01972 (2016).
"""

from copy import deepcopy

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ...data import Batch, Rows
from ...draw import Draw
from ...models.energy.rbm_net import RBM
from ...train import Loss, Objective, Trainer, Training, iterate
from .. import Checks, Measured, Study, less
from .._digits import binarize, digits

METHODS = ("likelihood", "Wasserstein")
EPSILON, LIKELIHOOD_WEIGHT = 1.0, 0.2  # γ in pixels, and λ
CHAINS = 200  # persistent chains, and digits of an update


def potentials(x: Tensor, y: Tensor, epsilon: float, rounds: int = 100) -> Tensor:
    """What a unit of mass at each sample adds to W_γ, centered: (M, D), (N, D) -> (M,)."""
    kernel = torch.exp(-torch.cdist(x, y, p=1).double() / epsilon)  # (M, N)
    u, v = kernel.new_ones(len(x)), kernel.new_ones(len(y))
    for _ in range(rounds):
        u = 1 / (kernel @ v / len(y))
        v = 1 / (u @ kernel / len(x))
    alpha = epsilon * u.log()
    return (alpha - alpha.mean()).to(x.dtype)


def matched(x: np.ndarray, y: np.ndarray) -> float:
    """Wasserstein distance between two sets of as many images: the best matching, in pixels per image."""
    from scipy.optimize import linear_sum_assignment

    cost = np.abs(x[:, None] - y[None]).sum(-1)
    return float(cost[linear_sum_assignment(cost)].mean())


def isolated(x: np.ndarray, shape: tuple[int, int]) -> float:
    """Share of the lit pixels without a lit one among their eight neighbors."""
    lit = torch.as_tensor(x, dtype=torch.float32).view(-1, 1, *shape)
    around = F.conv2d(lit, torch.ones(1, 1, 3, 3), padding=1) - lit
    return float(((around == 0) & (lit == 1)).sum() / lit.sum().clamp(min=1))


class Transport(Objective):
    """W_γ between chains and digits plus λ times the likelihood's loss; the latter alone without γ."""

    separable = False
    chains: Tensor

    def __init__(self, machine: RBM, chains: Tensor, epsilon: float = 0.0, weight: float = 1.0) -> None:
        super().__init__()
        self.machine, self.epsilon, self.weight = machine, epsilon, weight
        self.register_buffer("chains", chains.clone())

    def loss(self, player: str, batch: Batch, draw: Draw) -> Loss:
        potential = potentials(self.chains, batch.x, self.epsilon) if self.epsilon else 0.0
        once = -((self.weight + potential) * self.machine.free_energy(self.chains)).mean()
        return Loss(self.weight * self.machine.free_energy(batch.x).sum(), batch.n, once)

    def after(self, player: str, batch: Batch, draw: Draw) -> None:
        self.chains.copy_(self.machine.gibbs(self.chains))


def trained(start: Transport, x: Tensor, method: str, epochs: int, seed: int) -> Transport:
    """A copy of a machine and its chains, trained further with a rate that falls to 0."""
    transport = method == "Wasserstein"
    objective = Transport(deepcopy(start.machine), start.chains, *((EPSILON, LIKELIHOOD_WEIGHT) if transport else ()))
    source, training = Rows(x, batch_size=CHAINS), Training(schedule="linear", threads=1)
    options = {"optimizer": "sgd", "lr": 0.1 if transport else 0.5, "training": training, "seed": seed}
    iterate(Trainer(objective, source, horizon=epochs * len(source), **options), rounds=epochs)
    return objective


def measure(
    seed: int, units: int, *, pretrain_epochs: int = 200, epochs: int = 100, steps: int = 1000
) -> dict[str, np.ndarray]:
    """Distance to unseen digits and share of isolated pixels of both machines' samples: (2,) each."""
    data = digits("digits")
    unseen, learned = np.split(binarize(data.x), [len(data.x_test)])
    x, draw = torch.from_numpy(learned), Draw(seed)
    with draw.at("before").scope():
        start = Transport(RBM(x.shape[1], units), torch.bernoulli(x.mean(0).expand(CHAINS, -1)))
    start = trained(start, x, "likelihood", pretrain_epochs, seed)
    kept, noise = [], torch.rand(len(unseen), x.shape[1], generator=draw.at("samples").generator()).round()
    for method in METHODS:
        machine = trained(start, x, method, epochs, seed).machine
        made = machine.gibbs(noise, steps, draw.at("chains").generator()).numpy()
        kept.append([matched(made, unseen), 100 * isolated(made, data.shape)])
    return dict(zip(("distance (pixels)", "isolated pixels (%)"), np.transpose(kept), strict=True))


TINY = {"seeds": 2, "units": (2, 8), "pretrain_epochs": 2, "epochs": 2, "steps": 20}
study = Study(measure, {"units": (12, 64)}, seeds=8, tiny=TINY, inner={"method": METHODS})


@study.claim("B324", says="a smaller distance between generated and input data, fewer random white pixels")
def cleaner(m: Measured) -> Checks:
    for u, units in enumerate(m.axes["units"]):
        for name in ("distance (pixels)", "isolated pixels (%)"):
            yield less(f"{units} units: smaller {name}", m[name][u, 1], m[name][u, 0])
