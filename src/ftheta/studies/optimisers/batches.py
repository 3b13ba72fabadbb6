"""What does the size of the batch decide: noise, progress an epoch, memory?

Question: on 200 rows of y = sin x² with 25 % noise, does a growing batch do what a falling rate does? Do batch and rate
multiplied by k give the same curve an epoch? And how do the activations grow that are kept for the backward pass?
(Network: see `_race`.)

    noise of SGD ~ η / B,    Var(g_B) = Var(g₁) / B,    distance of two curves = mean |log₁₀ of their ratio| over epochs

Cost: about 35 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.autograd.graph import saved_tensors_hooks

from ... import plots
from ...draw import Draw
from ...nn import MLP
from ...results import Table
from ...train import Training
from .._study import Evidence, Finding, give, pieces
from ._line import batch_gradients, line_rows
from ._race import Task, graded, race

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"B010": "confirmed", "A125": "confirmed", "A131": "confirmed"}
GROWTH = {"factor": 0.25, "at": (0.4, 0.7)}  # the rate to a quarter, or the batch fourfold, twice
START, TIMES = 5, (1, 2, 4, 8)  # rows a batch, and how many times as many
SIZES, PRINTED = (1, 10, 50), (11.92, 1.214, 0.242)  # rows a batch, and the printed variance a component
MEMORY = (1, 10, 100, 1000)


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        rows: Training rows.
        epochs: Passes over them.
        lr: Rate of batches of five rows.
        high: Rate that is decayed, or whose batch grows.
        hidden: Units of the network.
        seeds: Draws of rows, noise and weights.
    """

    rows: int = 200
    epochs: int = 60
    lr: float = 0.01
    high: float = 0.05
    hidden: int = 50
    seeds: int = 5


TINY = Config(rows=40, epochs=6, hidden=10, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """For each seed: a constant and a falling rate and a growing batch, scaled and plain rates; and the bytes kept."""
    found = pieces(_seed, [(config, seed) for seed in range(config.seeds)], run)
    kept = np.array([_bytes(config.hidden, size) for size in MEMORY])
    return {key: np.array([one[key] for one in found]) for key in found[0]} | {"bytes": kept}


def _seed(config: Config, seed: int) -> Evidence:
    task = Task(0.25, config.hidden, config.rows, config.epochs, batch=START)
    ways = [
        Training(threads=1),
        Training(schedule="step", shape=GROWTH, threads=1),
        Training(schedule="step", shape=GROWTH, grow=True, threads=1),
    ]
    grown = [race(task, "sgd", config.high, seed, way).padded(config.epochs).train for way in ways]
    points, zero = line_rows(200, Draw(seed).at("rates")), torch.zeros(2, dtype=torch.float64)
    drawn = [batch_gradients(points, zero, size, 5000, Draw(seed).at("batches", size)) for size in SIZES]
    return {
        "grown": np.stack(grown),  # (3, E + 1)
        "scaled": _times(config, seed, True),  # (4, E + 1)
        "plain": _times(config, seed, False),
        "variance": np.array([float(g.var(0).mean()) for g in drawn]),  # (3,)
    }


def _times(config: Config, seed: int, scale: bool) -> np.ndarray:
    """Training errors of batches k times as large, with a rate k times as high or the same one: (4, E + 1)."""
    task = Task(0.25, config.hidden, config.rows, config.epochs)
    tracks = [race(task._replace(batch=START * k), "sgd", config.lr * (k if scale else 1), seed) for k in TIMES]
    return np.stack([track.padded(config.epochs).train for track in tracks])


def _bytes(hidden: int, size: int) -> int:
    """Bytes that a pass forward keeps for the one backward, without the parameters: of a batch of a deeper network."""
    net = MLP(8, 1, (hidden, hidden), activation="tanh")
    own, kept = {p.untyped_storage().data_ptr() for p in net.parameters()}, {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        place = tensor.untyped_storage().data_ptr()
        if place not in own:
            kept[place] = tensor.untyped_storage().nbytes()
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = net(torch.zeros(size, 8)).square().mean()
    del loss
    return sum(kept.values())


# ---- judging


def judge(evidence: Evidence) -> list[Finding]:
    """B010: a growing batch. A125: the linear rule. A131: memory."""
    return [_growing(evidence), _linear(evidence), _memory(evidence)]


def _distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs(np.log10(a / b)).mean(-1)


def _growing(evidence: Evidence) -> Finding:
    constant, falling, growing = evidence["grown"].transpose(1, 0, 2)  # (S, E + 1)
    late = slice(int(0.8 * constant.shape[-1]), None)
    together = _distance(growing[:, late], falling[:, late])
    apart = _distance(constant[:, late], falling[:, late])
    each = evidence["variance"]  # (S, 3)
    law = (each * SIZES / each[:, :1]).mean(0)
    parts = {
        "variance falls as 1/B": np.abs(law - 1).max() < 0.1,
        "printed variances within two standard deviations": bool(
            (np.abs(each.mean(0) - PRINTED) <= 2 * each.std(0, ddof=1)).all()
        ),
        "growing ends where falling does": (together < 0.5 * apart).mean() >= 0.75,
    }
    verdict, words = graded(parts)
    ends = [give(curve[:, late].mean(-1), ".3f") for curve in (constant, falling, growing)]
    why = (
        f"Variance a component {', '.join(give(v, '.3g') for v in each.T)} for B = 1, 10, 50. Training error over the "
        f"last fifth: constant rate {ends[0]}, falling rate {ends[1]}, growing batch {ends[2]}; distance of the last "
        f"two {give(together, '.3f')}, of the first two {give(apart, '.3f')}; the constant rate ends below "
        f"the growing batch in {(constant[:, -1] < growing[:, -1]).mean():.0%} of the seeds. {words}."
    )
    return Finding("B010", list(PRINTED), each.mean(0).tolist(), each.std(0, ddof=1).tolist(), verdict, why)


def _linear(evidence: Evidence) -> Finding:
    scaled, plain = evidence["scaled"], evidence["plain"]
    near, far = (_distance(curves[:, 1:], curves[:, :1]) for curves in (scaled, plain))  # (S, 3)
    parts = {
        f"k = {k}: scaled is nearer": bool((near[:, i] < 0.5 * far[:, i]).mean() >= 0.75)
        for i, k in enumerate(TIMES[1:])
    }
    verdict, words = graded(parts)
    said = "; ".join(f"k = {k}: {give(near[:, i], '.3f')}, {give(far[:, i], '.3f')}" for i, k in enumerate(TIMES[1:]))
    why = f"Distance from B = {START} an epoch, with the rate multiplied too and without: {said}. {words}."
    return Finding("A125", "the same curve", near.mean(0).tolist(), near.std(0, ddof=1).tolist(), verdict, why)


def _memory(evidence: Evidence) -> Finding:
    kept = evidence["bytes"]
    slope = float(np.polyfit(np.log(MEMORY), np.log(kept), 1)[0])
    each = np.diff(kept) / np.diff(MEMORY)
    linear = np.ptp(each) <= 0.01 * each.max()
    verdict = "confirmed" if linear and each.min() > 0 else "corrected" if slope > 0.5 else "refuted"
    why = (
        f"Bytes kept for the backward pass: {', '.join(f'{b:,}' for b in kept.tolist())} for "
        f"{', '.join(map(str, MEMORY))} rows, {each[-1]:.0f} a row; power {slope:.2f}."
    )
    return Finding("A131", "grows with the batch", slope, None, verdict, why)


def tables(evidence: Evidence) -> dict[str, Table]:
    """Distances from the curve of the smallest batch, with and without the linear rule; bytes kept by batch size."""
    near, far = (_distance(evidence[key][:, 1:], evidence[key][:, :1]).mean(0) for key in ("scaled", "plain"))
    scaling = {"batch": [START * k for k in TIMES[1:]], "rate times k": near.tolist(), "same rate": far.tolist()}
    return {
        "scaling": Table(scaling, f"Mean |log₁₀ ratio| of training errors to those of batches of {START}"),
        "memory": Table({"rows": list(MEMORY), "bytes": evidence["bytes"].tolist()}, "Kept for the backward pass"),
    }


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Growing against falling, and the linear rule against the same rate: medians over seeds."""
    middle = {key: np.median(evidence[key], axis=0) for key in ("grown", "scaled", "plain")}
    at = np.arange(middle["grown"].shape[-1])
    ways = {name: (at, middle["grown"][i]) for i, name in enumerate(("constant rate", "falling rate", "growing batch"))}
    titles = {"scaled": "rate times k", "plain": "same rate"}
    times = {
        title: {f"B = {START * k}": (at, middle[key][i]) for i, k in enumerate(TIMES)} for key, title in titles.items()
    }
    label = "training error (mean square)"
    return {
        "growing": plots.panels({"Growing or falling": ways}, x="epoch", label=label, log=True),
        "scaling": plots.panels(times, x="epoch", label=label, log=True),
    }
