"""Can a model without labels overfit, and does it then repeat what it was shown?

Question: the mean log-likelihood of training rows and of unseen ones, for a kernel density of narrower and narrower
kernels, and for restricted Boltzmann machines with more and more hidden units on fifty digits. How near to the
training digits are the samples of the machines, compared with unseen digits?

    p(x) = 1/n Σ_i N(x | x_i, h²),   x_i ~ N(0, 1), n = 200;        entropy of N(0, 1): E log p <= -1.419
    floored: log max(p, 10⁻³⁰⁰), what is left where a density far from all points is rounded to 0

Likelihoods of the machines are exact: all states of up to 20 hidden units are summed. Digits have 8 x 8 bits. Fifty of
them were taken after a hundred had not shown the effect in a first run.
Shapes: D draws of points, B bandwidths; S seeds, H sizes.

Cost: about 3 CPU-minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor

from ... import plots
from ...draw import Draw
from ...models import RestrictedBoltzmannMachine
from ...models.energy.rbm_net import RBM
from ...results import Table
from ...train import Training
from .._study import Evidence, Finding, Verdict, give, pieces
from ._digits import cut, digits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "kernel_density", "measure", "tables"]

CLAIMS = {"B131": "corrected"}
PRINTED = {"narrow, training": 0.78, "narrow, unseen": -137.2, "wide, training": -1.38, "wide, unseen": -1.40}
FLOOR = np.log(1e-300)


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        data: The images, cut to bits at half of the greatest grey value.
        points: Of the kernel density, to learn from and unseen.
        bandwidths: Of its kernels, ascending; the first and 0.4 are judged.
        draws: Of the points.
        images: Digits to learn from.
        units: Hidden units, ascending.
        epochs: Passes over the digits.
        rate: Learning rate; it falls to 0.
        samples: Drawn from each machine.
        seeds: Of digits, weights and chains.
    """

    data: str = "digits"
    points: int = 200
    bandwidths: tuple[float, ...] = (0.001, 0.01, 0.05, 0.1, 0.4, 1.0)
    draws: int = 100
    images: int = 50
    units: tuple[int, ...] = (1, 2, 5, 10, 20)
    epochs: int = 2000
    rate: float = 0.1
    samples: int = 500
    seeds: int = 3


TINY = Config(draws=5, images=20, units=(1, 4), epochs=3, samples=10, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Densities (D, B, 3): training, unseen, unseen floored. Machines (S, H, 2) in nats, distances in pixels."""
    keys = [(config, None, seed) for seed in range(config.draws)]
    keys += [(config, units, seed) for seed in range(config.seeds) for units in config.units]
    found = pieces(_one, keys, run)
    machines = np.array(found[config.draws :]).reshape(config.seeds, len(config.units), 4)
    return {
        "density": np.array(found[: config.draws]),
        "bandwidths": list(config.bandwidths),
        "likelihood": machines[..., :2],
        "near": machines[..., 2:],
        "units": list(config.units),
    }


def _one(config: Config, units: int | None, seed: int) -> list[list[float]] | list[float]:
    return _density(config, seed) if units is None else _machine(config, units, seed)


def kernel_density(points: Tensor, x: Tensor, bandwidth: float) -> Tensor:
    """log p(x) with Gaussian kernels at the points: (n,), (m,) -> (m,)."""
    each = torch.distributions.Normal(points, bandwidth).log_prob(x[:, None])  # (m, n)
    return each.logsumexp(1) - np.log(len(points))


def _density(config: Config, seed: int) -> list[list[float]]:
    points, unseen = torch.randn(2, config.points, dtype=torch.float64, generator=Draw(seed).generator("points"))
    found = []
    for bandwidth in config.bandwidths:
        train, test = (kernel_density(points, x, bandwidth) for x in (points, unseen))
        found.append([part.mean().item() for part in (train, test, test.clamp(min=FLOOR))])
    return found


def _machine(config: Config, units: int, seed: int) -> list[float]:
    """Log-likelihood of training and of unseen digits; nearest training digit of samples and of unseen digits."""
    data = digits(config.data)
    order = np.random.default_rng(seed).permutation(len(data.x))
    x, unseen = cut(data.x[order[: config.images]]), cut(data.new)
    model = RestrictedBoltzmannMachine(
        n_hidden=units,
        epochs=config.epochs,
        lr=config.rate,
        random_state=seed,
        training=Training(schedule="linear", threads=1),
    ).fit(x)
    machine = cast(RBM, model.module_)
    with torch.no_grad():
        log_z = machine.log_partition()
        likelihood = [machine.log_prob(torch.from_numpy(part), log_z).mean().item() for part in (x, unseen)]
    samples = model.sample(config.samples, random_state=seed)
    return [*likelihood, *(_nearest(part, x) for part in (samples, unseen))]


def _nearest(made: np.ndarray, x: np.ndarray) -> float:
    """Mean number of pixels in which an image differs from the nearest of x."""
    return torch.cdist(torch.tensor(made, dtype=torch.float32), torch.from_numpy(x), p=1).amin(1).mean().item()


# ---- judging


def judge(evidence: Evidence) -> list[Finding]:
    """B131: density and machine both overfit: the text, which says that neither can, is corrected."""
    wide = evidence["bandwidths"].index(0.4)
    narrow, smooth = evidence["density"][:, 0], evidence["density"][:, wide]  # (D, 3)
    values = np.stack([narrow[:, 0], narrow[:, 2], smooth[:, 0], smooth[:, 1]], 1)  # (D, 4)
    printed = np.array(list(PRINTED.values()))
    within = (values.min(0) - 0.005 <= printed) & (printed <= values.max(0) + 0.005)
    density = bool((narrow[:, 0] > smooth[:, 0]).all() and (narrow[:, 1] < smooth[:, 1]).all())
    train, test = np.moveaxis(evidence["likelihood"], -1, 0)  # (S, H)
    machine = bool((train[:, -1] > train[:, 0]).all() and (test[:, -1] < test.max(1)).all())
    verdict: Verdict = "corrected" if density and machine else "not reproduced" if density or machine else "confirmed"
    best = evidence["units"][int(test.mean(0).argmax())]
    said = ", ".join(f"{name} {give(v)} ({p})" for (name, p), v in zip(PRINTED.items(), values.T, strict=True))
    made, unseen = evidence["near"][:, -1].T
    why = (
        f"Kernel density, bandwidths 0.001 and 0.4, floored, printed in brackets: {said}; "
        f"{within.sum()} of 4 printed values are in the range of {len(values)} draws. Without the floor the narrow one "
        f"is at {np.median(narrow[:, 1]):.0f} in the median. Machines with {', '.join(map(str, evidence['units']))} "
        f"units: training digits {_line(train)}, unseen ones {_line(test)} nats, best with {best}. "
        f"Samples of the largest differ from the nearest training digit in {give(made)} pixels, unseen digits in "
        f"{give(unseen)}."
    )
    spread = values.std(0, ddof=1).tolist()
    return [Finding("B131", list(PRINTED.values()), values.mean(0).tolist(), spread, verdict, why)]


def _line(values: np.ndarray) -> str:
    return ", ".join(f"{v:.1f}" for v in values.mean(0))


def tables(evidence: Evidence) -> dict[str, Table]:
    """Kernel densities by bandwidth, machines by size."""
    names = ("training", "unseen", "unseen, floored")
    density = {"bandwidth": evidence["bandwidths"]}
    density |= {name: np.median(evidence["density"][..., i], 0).tolist() for i, name in enumerate(names)}
    columns = {"hidden units": evidence["units"]}
    for key, parts in (("likelihood", names[:2]), ("near", ("samples", "unseen digits"))):
        what = "log-likelihood, {} (nats)" if key == "likelihood" else "nearest training digit of {} (pixels)"
        columns |= {what.format(part): [give(v) for v in evidence[key][..., i].T] for i, part in enumerate(parts)}
    return {
        "density": Table(density, "Mean log-density in nats, median over draws of the points"),
        "machines": Table(columns, "Machines on few digits: mean ± standard deviation over seeds"),
    }


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Log-likelihood by bandwidth and by size, and distances of samples."""
    density = np.median(evidence["density"], 0)  # (B, 3)
    widths, units = evidence["bandwidths"], evidence["units"]
    one = {"training points": (widths, density[:, 0]), "unseen points, floored": (widths, density[:, 2])}
    nats, near = evidence["likelihood"].mean(0), evidence["near"].mean(0)
    two = {"training digits": (units, nats[:, 0]), "unseen digits": (units, nats[:, 1])}
    three = {"samples": (units, near[:, 0]), "unseen digits": (units, near[:, 1])}
    return {
        "density": plots.panels({"Kernel density": one}, x="bandwidth", label="mean log-density (nats)", log_x=True),
        "machines": plots.panels({"Machines": two}, x="hidden units", label="mean log-likelihood (nats)", log_x=True),
        "near": plots.panels(
            {"Memorising": three}, x="hidden units", label="to nearest training digit (pixels)", log_x=True
        ),
    }
