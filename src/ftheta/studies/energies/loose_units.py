"""When do all hidden units of a small restricted Boltzmann machine learn the mean image and nothing else?

Question: ten hidden units, 60,000 digits, persistent contrastive divergence as in the first row of table 4 of the ANN &
DL Report (-187.61 nats). How far apart are seeds, how many hidden units tell digits apart, and does it help to
start the visible biases where independent pixels have them?

    b_i = 0    or    b_i = log(m_i / (1 - m_i)),   m_i the mean of pixel i

Pixels are dark on average, so with b = 0 every hidden unit is first pulled into the same task: to darken them. A unit
that is on for every digit is a bias; a machine of such units is one of independent pixels. A unit is loose when
P(h = 1 | v) has a standard deviation above 0.05 over digits.
Shapes: T = 2 starts, S seeds, P passes.

Reference: Hinton, A Practical Guide to Training Restricted Boltzmann Machines (2010), section 8.
Cost: about 12 CPU-minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import plots
from ...models import RestrictedBoltzmannMachine
from ...results import Table
from ...train import Training
from .._study import Evidence, Finding, pieces
from ._digits import digits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS: dict[str, str] = {}
STARTS = ("visible biases start at 0", "visible biases start at the means")
LOOSE = 0.05  # standard deviation of P(h = 1 | v) over digits


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        data: The images.
        units: Hidden units.
        rate: Learning rate.
        passes: Over all images, in the order of their file.
        batch: Images, and chains, of an update.
        seeds: Of weights and chains.
    """

    data: str = "mnist"
    units: int = 10
    rate: float = 0.01
    passes: int = 10
    batch: int = 10
    seeds: int = 12


TINY = Config(data="digits", units=3, passes=2, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Pseudo-likelihood in nats and loose units after each pass, (T, S, P)."""
    keys = [(config, start, seed) for start in range(len(STARTS)) for seed in range(config.seeds)]
    found = np.array(pieces(_machine, keys, run)).reshape(len(STARTS), config.seeds, config.passes, 2)
    return {"score": found[..., 0], "loose": found[..., 1].astype(int), "units": config.units}


def _machine(config: Config, start: int, seed: int) -> list[list[float]]:
    """Pseudo-likelihood, one-bit proxy, and loose units after each pass."""
    x = digits(config.data).x
    model = RestrictedBoltzmannMachine(
        n_hidden=config.units,
        lr=config.rate,
        batch_size=config.batch,
        start_at_means=bool(start),
        random_state=seed,
        training=Training(shuffle=False),
    )
    looks = []
    for _ in range(config.passes):
        model.partial_fit(x)
        loose = (model.transform(x).std(0) > LOOSE).sum()
        looks.append([float(model.pseudo_likelihood(x, random_state=seed).mean()), int(loose)])
    return looks


def judge(evidence: Evidence) -> list[Finding]:
    """No row of the ledger: it explains one of B127, whose verdict is that of report/rbm."""
    return []


def tables(evidence: Evidence) -> dict[str, Table]:
    """What each seed ends with."""
    score, loose = evidence["score"][..., -1], evidence["loose"][..., -1]  # (T, S)
    columns: dict[str, list[object]] = {"seed": list(range(score.shape[1]))}
    for start, name in enumerate(("0", "means")):
        columns[f"nats, biases from {name}"] = score[start].tolist()
        columns[f"loose of {evidence['units']}, from {name}"] = loose[start].tolist()
    return {"seeds": Table(columns, "Pseudo-likelihood, one-bit proxy, and loose hidden units after the last pass")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Pseudo-likelihood pass by pass, a line for each seed."""
    passes = list(range(1, evidence["score"].shape[-1] + 1))
    lines = {
        name: {f"seed {s}": (passes, line) for s, line in enumerate(found)}
        for name, found in zip(STARTS, evidence["score"], strict=True)
    }
    return {"passes": plots.panels(lines, x="pass", label="pseudo-likelihood, one-bit proxy (nats)")}
