"""Does a Boltzmann machine that minimizes a transport distance draw cleaner digits than one of maximum likelihood?

Question: two machines start from the same one, trained by likelihood. One goes on with it; the other minimizes the
entropic Wasserstein distance between its samples and the digits, plus a share λ of the likelihood's loss, with as many
updates. How far are their samples from unseen digits, and how many of their lit pixels have no lit neighbour? Once with
few hidden units, too few for the digits, and once with enough. Rates, γ and λ were chosen by other digits than those
that judge here: the test digits of the set; the judges are training digits that no machine learns from.

    W_γ(p, q) = min_P Σ_ij P_ij d(x_i, y_j) - γ H(P),     P with the margins of p and q,     d: pixels that differ
    ∂W_γ/∂θ   = E_p[α(x) ∂ log p(x)/∂θ] = -E_p[(α(x) - E_p α) ∂F(x)/∂θ],        α: potential of the samples (Sinkhorn)
    loss      = W_γ + λ (E_data F - E_p F)                                      E_p: persistent chains

What is reported is not W_γ: the distance is that of the best one-to-one matching of samples and test digits, in pixels
an image. Isolated: lit pixels without a lit one among their eight neighbours, as a share of the lit ones.
Shapes: M samples, N digits of D pixels; S seeds, U sizes, 2 machines.

Reference: Montavon, Müller and Cuturi, Wasserstein Training of Restricted Boltzmann Machines, arXiv:1507.01972 (2016).
Cost: about 3 CPU-minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ... import plots
from ...data import Batch, Rows
from ...draw import Draw
from ...models.energy.rbm_net import RBM
from ...results import Table
from ...train import Loss, Objective, Trainer, Training, iterate
from .._study import Evidence, Finding, Verdict, give, pieces
from ._digits import cut, digits, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"B324": "corrected"}
WAYS = ("likelihood", "Wasserstein")
MEASURES = ("distance", "isolated")


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        data: The images, cut to bits at half of the greatest grey value.
        units: Hidden units: few, and enough.
        before: Passes by likelihood that both machines share.
        after: Further passes of either.
        rates: Learning rate of likelihood and of transport; it falls to 0 in either part.
        blur: γ, in pixels.
        share: λ, of the likelihood's loss while the transport distance is minimized.
        chains: Persistent chains, and digits of an update.
        steps: Gibbs steps of the chains that are judged, from random pixels.
        seeds: Of weights, order and chains.
    """

    data: str = "digits"
    units: tuple[int, int] = (12, 64)
    before: int = 200
    after: int = 100
    rates: tuple[float, float] = (0.5, 0.1)
    blur: float = 1.0
    share: float = 0.2
    chains: int = 200
    steps: int = 1000
    seeds: int = 4


TINY = Config(units=(2, 8), before=2, after=2, chains=100, steps=20, seeds=2)


# ---- distances


def potentials(x: Tensor, y: Tensor, blur: float, rounds: int = 100) -> Tensor:
    """What a unit of mass at each sample adds to W_γ, centred: (M, D), (N, D) -> (M,)."""
    kernel = torch.exp(-torch.cdist(x, y, p=1).double() / blur)  # (M, N)
    u, v = torch.ones(len(x), dtype=torch.float64), torch.ones(len(y), dtype=torch.float64)
    for _ in range(rounds):
        u = 1 / (kernel @ v / len(y))
        v = 1 / (u @ kernel / len(x))
    alpha = blur * u.log()
    return (alpha - alpha.mean()).to(x.dtype)


def matched(x: np.ndarray, y: np.ndarray) -> float:
    """Wasserstein distance of two sets of as many images: the best matching, in pixels an image."""
    from scipy.optimize import linear_sum_assignment

    cost = np.abs(x[:, None] - y[None]).sum(-1)
    return float(cost[linear_sum_assignment(cost)].mean())


def isolated(x: np.ndarray, shape: tuple[int, int]) -> float:
    """Share of the lit pixels without a lit one among their eight neighbours.

    Example:
        >>> isolated(np.array([[1, 0, 0, 0, 1, 1]]), (2, 3)), isolated(np.array([[1, 0, 0, 0, 0, 1]]), (2, 3))
        (0.0, 1.0)
    """
    lit = torch.as_tensor(x, dtype=torch.float32).view(-1, 1, *shape)
    around = F.conv2d(lit, torch.ones(1, 1, 3, 3), padding=1) - lit
    return float(((around == 0) & (lit == 1)).sum() / lit.sum().clamp(min=1))


# ---- training


class Transport(Objective):
    """W_γ between chains and digits, plus a share of the likelihood's loss; without blur it is the likelihood alone.

    Args:
        machine: The machine.
        chains: Where its persistent chains start: (M, D).
        blur: γ, or None.
        share: λ.
    """

    separable = False
    chains: Tensor

    def __init__(self, machine: RBM, chains: Tensor, blur: float | None = None, share: float = 1.0) -> None:
        super().__init__()
        self.machine, self.blur, self.share = machine, blur, share
        self.register_buffer("chains", chains.clone())

    def loss(self, player: str, batch: Batch, draw: Draw) -> Loss:
        """λ F of the digits, and -(λ + α) F of the chains once an update."""
        dear = 0.0 if self.blur is None else potentials(self.chains, batch.x, self.blur)
        once = -((self.share + dear) * self.machine.free_energy(self.chains)).mean()
        return Loss(self.share * self.machine.free_energy(batch.x).sum(), batch.n, once)

    def after(self, player: str, batch: Batch, draw: Draw) -> None:
        """One step of every chain."""
        self.chains.copy_(self.machine.gibbs(self.chains))


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Distance to test digits, isolated and lit pixels of samples (S, U, 2), and of training digits (3,); pictures."""
    keys = [(config, units, seed) for seed in range(config.seeds) for units in config.units]
    found = pieces(_pair, keys, run)
    kept = {key: np.array([one[key] for one in found]) for key in (*MEASURES, "lit")}
    kept = {key: v.reshape(config.seeds, len(config.units), 2) for key, v in kept.items()}
    pictures = np.stack([one["pictures"] for one in found[: len(config.units)]])  # (U, 2, 64, H, W)
    return {**kept, "digits": _digits(config), "pictures": pictures, "units": list(config.units)}


def _digits(config: Config) -> list[float]:
    """The same numbers of as many training digits: no sample can be expected to be nearer."""
    x, test = _parts(config)
    own = x[: len(test)]
    return [matched(own, test), isolated(own, digits(config.data).shape), float(own.mean())]


def _parts(config: Config) -> tuple[np.ndarray, np.ndarray]:
    """Digits to learn from, and as many to judge by as the set has test digits, which are left alone."""
    data = digits(config.data)
    test, x = np.split(cut(data.x), [len(data.new)])
    return x, test


def _pair(config: Config, units: int, seed: int) -> Evidence:
    data = digits(config.data)
    learned, test = _parts(config)
    x = torch.from_numpy(learned)
    first = _trained(config, units, x, None, None, seed)
    both = [_trained(config, units, x, first, blur, seed).machine for blur in (None, config.blur)]
    made = [_samples(machine, len(test), config.steps, seed) for machine in both]
    return {
        "distance": [matched(one, test) for one in made],
        "isolated": [isolated(one, data.shape) for one in made],
        "lit": [float(one.mean()) for one in made],
        "pictures": np.stack([one[:64].reshape(-1, *data.shape) for one in made]),
    }


def _trained(
    config: Config, units: int, x: Tensor, start: Transport | None, blur: float | None, seed: int
) -> Transport:
    """A machine with its chains, new or from a start, by likelihood or, with blur, by transport."""
    draw = Draw(seed).at("before" if start is None else "after")
    with draw.scope():
        machine, chains = RBM(x.shape[1], units), torch.bernoulli(x.mean(0).expand(config.chains, -1))
    if start is not None:
        machine.load_state_dict(start.machine.state_dict())
        chains = start.chains
    objective = Transport(machine, chains, blur, 1.0 if blur is None else config.share)
    source, epochs = Rows(x, batch_size=config.chains), config.before if start is None else config.after
    training = Training(schedule="linear", threads=1)
    rate, updates = config.rates[blur is not None], epochs * len(source)
    trainer = Trainer(objective, source, optimizer="sgd", lr=rate, training=training, horizon=updates, seed=seed)
    iterate(trainer, steps=updates)
    return objective


def _samples(machine: RBM, n: int, steps: int, seed: int) -> np.ndarray:
    """(n, D), by chains from random pixels."""
    generator = Draw(seed).at("samples").generator()
    start = torch.bernoulli(torch.full((n, machine.n_visible), 0.5), generator=generator)
    return machine.gibbs(start, steps, generator).numpy()


# ---- judging


def judge(evidence: Evidence) -> list[Finding]:
    """B324: nearer and with fewer isolated pixels, surely, at either size; some of the four correct it."""
    gain = np.stack([-np.diff(evidence[key])[..., 0] for key in MEASURES], -1)  # (S, U, 2): less is better
    sure = {
        f"{name} with {n} units": above(gain[:, u, m])
        for u, n in enumerate(evidence["units"])
        for m, name in enumerate(("nearer", "fewer isolated pixels"))
    }
    verdict: Verdict = "confirmed" if all(sure.values()) else "corrected" if any(sure.values()) else "not reproduced"
    if (gain.mean(0) <= 0).all():
        verdict = "refuted"
    said = "; ".join(
        f"{n} units: distance {_both(evidence['distance'][:, u], '.2f')} pixels, isolated "
        f"{_both(100 * evidence['isolated'][:, u], '.2f')} % of the lit pixels"
        for u, n in enumerate(evidence["units"])
    )
    claims = "; ".join(f"{name}: {'yes' if holds else 'no'}" for name, holds in sure.items())
    own = evidence["digits"]
    why = (
        f"Likelihood against Wasserstein, {said}. Training digits: {own[0]:.2f} and {100 * own[1]:.2f} %. Surely, "
        f"{claims}."
    )
    printed = "fewer random white pixels, smaller Wasserstein distance"
    return [Finding("B324", printed, gain.mean(0).tolist(), gain.std(0, ddof=1).tolist(), verdict, why)]


def _both(values: np.ndarray, form: str) -> str:
    return " against ".join(give(column, form) for column in values.T)


def tables(evidence: Evidence) -> dict[str, Table]:
    """Every measure by size and machine."""
    cells = [(u, w) for u in range(len(evidence["units"])) for w in range(2)]
    forms = (
        ("distance", "distance (pixels)", 1),
        ("isolated", "isolated pixels (%)", 100),
        ("lit", "lit pixels (%)", 100),
    )
    columns: dict[str, list[str]] = {
        "hidden units": [*(str(evidence["units"][u]) for u, _ in cells), "training digits"],
        "trained by": [*(WAYS[w] for _, w in cells), ""],
    }
    for i, (key, title, scale) in enumerate(forms):
        found = [give(scale * evidence[key][:, u, w]) for u, w in cells]
        columns[title] = [*found, f"{scale * evidence['digits'][i]:.2f}"]
    return {"wasserstein": Table(columns, "Samples against test digits: mean ± standard deviation over seeds")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Both measures of every seed, and samples of both machines."""
    found = {
        f"{title}\n{n} units": scale * evidence[key][:, u]
        for key, title, scale in (("distance", "distance (pixels)", 1), ("isolated", "isolated (% of lit)", 100))
        for u, n in enumerate(evidence["units"])
    }
    samples = {
        f"{n} units, {way}": sheet(evidence["pictures"][u, w])
        for u, n in enumerate(evidence["units"])
        for w, way in enumerate(WAYS)
    }
    return {
        "wasserstein": plots.paired(found, WAYS, title="Samples by likelihood and by transport"),
        "samples": plots.side_by_side(samples),
    }


def above(gain: np.ndarray) -> bool:
    """Whether a gain (S,) is there in every seed, and in the mean by more than two standard errors."""
    return bool((gain > 0).all() and gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(len(gain)))
