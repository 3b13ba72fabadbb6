"""Are samples of a deep Boltzmann machine more realistic and more varied than those of a restricted one?

Question: both machines learn the same digits, pixels drawn once as Bernoulli(grey). Chains of both start from the
same random bits, and a network that was trained to read such digits reads what they end in. Whose samples is it surer
of, whose classes are spread more evenly, and whose samples lie near more of the unseen digits?

    confidence   mean over samples of the largest probability of a class            realistic: 1
    entropy      -Σ_k p_k log p_k, p: mean probabilities of the classes             varied: log 10 = 2.303 nats
    coverage     share of the unseen digits that have a sample nearer than their k-th nearest other one, in pixels

Unseen digits in place of samples say what can be reached. Shapes: S seeds, 3 sources, 3 scores.

References: Salakhutdinov and Hinton, Deep Boltzmann Machines (2009); Naeem et al., Reliable Fidelity and Diversity
Metrics for Generative Models, arXiv:2002.09797 (2020): coverage.
Cost: about 10 CPU-minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from ... import plots
from ...models import DeepBoltzmannMachine, RestrictedBoltzmannMachine
from ...results import Table
from ...train import Training
from .._study import Evidence, Finding, Verdict, give, pieces
from ..energies._digits import digits, reader, sampled, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"B136": "not reproduced"}
SOURCES = ("RBM", "DBM", "unseen digits")
SCORES = ("confidence", "entropy", "coverage")


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        data: The images.
        units: Hidden units of the RBM, and of each of the two hidden layers of the DBM.
        greedy: Passes of each layer of the DBM alone.
        epochs: Passes of the DBM with all layers together; the RBM has as many and those of `greedy`.
        rate: Learning rate of the RBM and of joint training; it falls to 0.
        samples: From each machine.
        steps: Gibbs steps of each sample.
        neighbours: k of the coverage.
        reading: Passes of the network that reads.
        seeds: Of machines and chains.
    """

    data: str = "mnist"
    units: int = 200
    greedy: int = 4
    epochs: int = 10
    rate: float = 0.05
    samples: int = 1000
    steps: int = 1000
    neighbours: int = 5
    reading: int = 5
    seeds: int = 3


TINY = Config(data="digits", units=8, greedy=1, epochs=1, samples=64, steps=5, reading=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Scores (S, 3, 3), shares of the classes (S, 3, 10), and samples of the first seed (3, 64, H, W)."""
    keys = [(config, source, seed) for seed in range(config.seeds) for source in range(len(SOURCES))]
    found = pieces(_source, keys, run)
    kept = {key: np.array([one[key] for one in found]) for key in ("scores", "classes")}
    kept = {key: v.reshape(config.seeds, len(SOURCES), -1) for key, v in kept.items()}
    return {**kept, "pictures": np.stack([one["pictures"] for one in found[: len(SOURCES)]])}


def _source(config: Config, source: int, seed: int) -> Evidence:
    """Scores of samples, or of unseen digits that are not among those which coverage asks for."""
    data = digits(config.data)
    unseen = sampled(data.new, 1)
    n = min(config.samples, len(unseen) // 2)
    made = unseen[n : 2 * n]
    if SOURCES[source] != "unseen digits":
        start = sampled(np.broadcast_to(data.x.mean(0), (n, data.x.shape[1])), seed)
        model = _model(config, SOURCES[source], seed).fit(sampled(data.x, 0))
        made = model.sample(n, steps=config.steps, start=start, random_state=seed)
    p = reader(config.data, config.reading, pixels=0).predict_proba(made)  # (n, 10)
    mean = p.mean(0)
    entropy = float(-(mean * np.log(mean.clip(1e-12))).sum())
    scores = [float(p.max(1).mean()), entropy, coverage(unseen[:n], made, config.neighbours)]
    return {"scores": scores, "classes": mean, "pictures": made[:64].reshape(-1, *data.shape)}


def _model(config: Config, name: str, seed: int) -> RestrictedBoltzmannMachine | DeepBoltzmannMachine:
    knobs = Training(schedule="linear")
    if name == "DBM":
        return DeepBoltzmannMachine(
            hidden=(config.units, config.units),
            greedy=config.greedy,
            epochs=config.epochs,
            lr=config.rate,
            random_state=seed,
            training=knobs,
        )
    return RestrictedBoltzmannMachine(
        n_hidden=config.units,
        epochs=config.greedy + config.epochs,
        batch_size=100,
        lr=config.rate,
        random_state=seed,
        training=knobs,
    )


def coverage(x: np.ndarray, made: np.ndarray, k: int) -> float:
    """Share of the rows of x with a sample nearer than their k-th nearest other row: (n, D), (m, D).

    Example:
        >>> x = np.array([[0.0], [1], [2], [9]])
        >>> coverage(x, np.array([[0.5], [1.0]]), 1), coverage(x, x, 1)
        (0.5, 1.0)
    """
    rows, others = torch.tensor(x, dtype=torch.float32), torch.tensor(made, dtype=torch.float32)
    reach = torch.cdist(rows, rows).kthvalue(k + 1, dim=1).values  # the row itself is the nearest
    return (torch.cdist(rows, others).amin(1) < reach).double().mean().item()


# ---- judging


def judge(evidence: Evidence) -> list[Finding]:
    """B136: the DBM's samples are read with more confidence and have the greater entropy of classes, both surely."""
    scores = evidence["scores"]  # (S, 3, 3)
    gain = scores[:, 1] - scores[:, 0]  # (S, 3)
    more, less = ([above(sign * gain[:, i]) for i in range(2)] for sign in (1, -1))
    verdict: Verdict = "confirmed" if all(more) else "refuted" if all(less) else "not reproduced"
    each = {name: [give(scores[:, j, i], ".3f") for j in range(len(SOURCES))] for i, name in enumerate(SCORES)}
    said = "; ".join(f"{name} {', '.join(map(' '.join, zip(SOURCES, v, strict=True)))}" for name, v in each.items())
    beaten = [name for name, column in zip(SCORES, gain.T, strict=True) if above(column)]
    why = f"{said}. The DBM is surely ahead in: {', '.join(beaten) or 'nothing'}."
    printed = "DBM samples more realistic and more varied; no numbers"
    return [Finding("B136", printed, gain.mean(0).tolist(), gain.std(0, ddof=1).tolist(), verdict, why)]


def tables(evidence: Evidence) -> dict[str, Table]:
    """Scores, and shares of the classes, by source."""
    scores, classes = evidence["scores"], evidence["classes"]
    columns = {"samples": SOURCES}
    found = {name: [give(scores[:, j, i], ".3f") for j in range(len(SOURCES))] for i, name in enumerate(SCORES)}
    shares = {str(digit): classes.mean(0)[:, digit].tolist() for digit in range(10)}
    return {
        "scores": Table(columns | found, "Mean ± standard deviation over seeds; entropy in nats, at most 2.303"),
        "classes": Table(columns | shares, "Mean probability of each class"),
    }


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Scores of every seed, and samples."""
    labels = ("confidence", "entropy of classes (nats)", "coverage of unseen digits")
    found = {label: evidence["scores"][..., i] for i, label in enumerate(labels)}
    shown = {name: sheet(tiles) for name, tiles in zip(SOURCES, evidence["pictures"], strict=True)}
    names = [name.replace(" ", "\n") for name in SOURCES]
    return {
        "scores": plots.paired(found, names, title="Samples as a network reads them"),
        "samples": plots.side_by_side(shown),
    }


def above(gain: np.ndarray) -> bool:
    """Whether a gain (S,) is there in every seed, and in the mean by more than two standard errors."""
    return bool((gain > 0).all() and gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(len(gain)))
