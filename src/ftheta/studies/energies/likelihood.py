"""How likely are unseen digits under a restricted Boltzmann machine of 500 units?

Question: 784 visible and 500 hidden units, trained on 60,000 digits by persistent contrastive divergence with one step
and the centred gradient, with a rate that falls to 0. What is the mean log-likelihood of the test digits, with the
partition function by annealed importance sampling, and how sure is it?

    log p(v) = -F(v) - log Z,      error of the mean = √(error of log Z² + variance over digits / n)

Pixels are drawn once as Bernoulli(grey/255), with a seed that is a setting: as for the published values. Digits
cut at a half are other data, easier ones; their value stands apart.
Shapes: V = 2 kinds of pixels.

References: Salakhutdinov and Murray, On the Quantitative Analysis of Deep Belief Networks (2008): 500 units with CD-1,
CD-3, CD-25 about -126, -106, -86 nats; Melchior, Fischer and Wiskott, How to Center Deep Boltzmann Machines (2016).
Cost: about 12 CPU-minutes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import plots
from ...models import RestrictedBoltzmannMachine
from ...results import Table
from ...train import Training
from .._study import Evidence, Finding, pieces
from ._digits import cut, digits, sampled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS: dict[str, str] = {}
PIXELS = ("sampled once", "cut at a half")
PUBLISHED = {"CD-1": -126, "CD-3": -106, "CD-25": -86}


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        data: The images.
        units: Hidden units.
        epochs: Passes over sampled and over cut digits.
        rate: Learning rate; it falls to 0 in a straight line.
        batch: Images, and chains, of an update.
        chains: Of the annealing.
        temperatures: Of the annealing.
        pixels: Seed of the pixels.
        seed: Of weights, order, chains and annealing.
    """

    data: str = "mnist"
    units: int = 500
    epochs: tuple[int, int] = (70, 20)
    rate: float = 0.1
    batch: int = 100
    chains: int = 100
    temperatures: int = 20_000
    pixels: int = 0
    seed: int = 0


TINY = Config(data="digits", units=12, epochs=(2, 1), chains=20, temperatures=100)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """For each kind of pixels: mean log-likelihood of training and test digits, errors, annealing, seconds."""
    folder = None if run is None else str(run.path / "machine")
    found = pieces(_machine, [(config, kind, folder) for kind in range(len(PIXELS))], run)
    return {key: np.array([one[key] for one in found]) for key in found[0]}


def _machine(config: Config, kind: int, folder: str | None) -> Evidence:
    """A machine for one kind of pixels; its training is kept in a folder of its own and continued from there."""
    data = digits(config.data)
    whole = np.concatenate([data.x, data.new])
    bits = cut(whole) if kind else sampled(whole, config.pixels)
    x, test = np.split(bits, [len(data.x)])
    model = RestrictedBoltzmannMachine(
        n_hidden=config.units,
        epochs=config.epochs[kind],
        batch_size=config.batch,
        lr=config.rate,
        centered=True,
        random_state=config.seed,
        training=Training(schedule="linear"),
    )
    begin = time.perf_counter()
    model.fit(x, run=None if folder is None else Path(folder + f"-{kind}"))
    trained = time.perf_counter()
    z = model.partition("ais", chains=config.chains, temperatures=config.temperatures, random_state=config.seed)
    annealed = time.perf_counter()
    free = [model.free_energy(part) for part in (x[: len(test)], test)]
    return {
        "train": float(-free[0].mean() - z.log_z),
        "test": float(-free[1].mean() - z.log_z),
        "error": float(np.hypot(z.error, free[1].std(ddof=1) / len(test) ** 0.5)),
        "log_z": [z.log_z, z.error, z.ess],
        "seconds": [trained - begin, annealed - trained],
    }


def judge(evidence: Evidence) -> list[Finding]:
    """No row of the ledger: the number is the result."""
    return []


def tables(evidence: Evidence) -> dict[str, Table]:
    """Sampled pixels beside published values; cut pixels in a table of their own."""
    names = ("this machine, PCD-1, centred", *(f"published, {name}" for name in PUBLISHED))
    blank = [None] * len(PUBLISHED)
    own: dict[str, Any] = {"machine": names, "test (nats)": [evidence["test"][0], *PUBLISHED.values()]}
    own |= {key: [value[0], *blank] for key, value in _columns(evidence).items()}
    other: dict[str, Any] = {"pixels": [PIXELS[1]], "test (nats)": [evidence["test"][1]]}
    other |= {key: [value[1]] for key, value in _columns(evidence).items()}
    return {
        "likelihood": Table(own, "Mean log-likelihood of the test digits, pixels sampled once as Bernoulli(grey/255)"),
        "cut": Table(other, "Other data, not to be compared with the above: pixels cut at a half"),
    }


def _columns(evidence: Evidence) -> dict[str, list[float]]:
    log_z, seconds = evidence["log_z"].T, evidence["seconds"].T
    names = ("log Z", "error of log Z", "effective chains")
    found = {"error": evidence["error"], "training digits": evidence["train"], **dict(zip(names, log_z, strict=True))}
    found |= {"seconds of training": seconds[0], "seconds of annealing": seconds[1]}
    return {key: value.tolist() for key, value in found.items()}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Test log-likelihood with 95 % intervals, published values as hollow dots; cut pixels below, apart."""
    half = 1.96 * evidence["error"]
    ours = [("this machine", "test", 0), ("cut at a half", "test", 1)]
    rows = [(name, evidence[key][i], evidence[key][i] - half[i], evidence[key][i] + half[i]) for name, key, i in ours]
    known = [(f"published, {name}", float(value), None, None) for name, value in PUBLISHED.items()]
    label = "mean log-likelihood of the test digits (nats), pixels {}"
    panels = {label.format(PIXELS[0]): [rows[0], *known], label.format(PIXELS[1]): rows[1:]}
    return {"likelihood": plots.whiskers(panels, title="784 visible and 500 hidden units")}
