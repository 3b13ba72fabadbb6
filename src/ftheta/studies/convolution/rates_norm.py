"""Does batch norm allow larger rates, forgive bad initial weights, and regularise?

Question: one network of six layers learns digits by SGD over a grid of rates and of scales of the initial weights, with
and without batch norm. Which cells train, up to which rate, and who is better on new rows?

    a cell trains:  the training rows are learned to an accuracy of at least 90 %, in evaluation mode, at the end
    gap:            test loss - training loss at the end, of the best rate at the scale that fits

(Networks and scales: see `_deep`.)
Shapes: N = 2 norms, G scales, R rates, S seeds.

Cost: about 110 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import plots
from ...results import Table
from .._study import Evidence, Finding, Verdict, give, pieces
from ._deep import deep, digits, fit, judged

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"C217": "confirmed", "B328": "corrected"}
KINDS = ("none", "batch")
TRAINED = 0.9


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        data: The data set.
        rows: Training rows; the others are test rows.
        depth: Layers.
        width: Units of each.
        scales: Factors on the initial weights that fit the activation; 1 is one of them.
        rates: Learning rates, ascending.
        epochs: Passes over the training rows.
        batch: Rows a batch.
        seeds: Draws of training rows, weights and orders.
    """

    data: str = "digits"
    rows: int = 768
    depth: int = 6
    width: int = 32
    scales: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0)
    rates: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
    epochs: int = 30
    batch: int = 64
    seeds: int = 3


TINY = Config(rows=64, depth=3, width=8, scales=(0.5, 1.0), rates=(0.01, 0.1), epochs=1, batch=32, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Accuracies and losses on training and test rows at the end: (N, G, R, S, 4)."""
    cells = [(config, kind, scale) for kind in KINDS for scale in config.scales]
    found = np.array(pieces(_cell, cells, run)).reshape(len(KINDS), len(config.scales), len(config.rates), -1, 4)
    names = ("train", "test", "train_loss", "test_loss")
    kept = {key: found[..., i] for i, key in enumerate(names)}
    return kept | {"scales": list(config.scales), "rates": list(config.rates)}


def _cell(config: Config, kind: str, scale: float) -> np.ndarray:
    """All rates and seeds: (R, S, 4)."""
    seeds = range(config.seeds)
    return np.array([[_trained(config, kind, scale, lr, seed) for seed in seeds] for lr in config.rates])


def _trained(config: Config, kind: str, scale: float, lr: float, seed: int) -> tuple[float, ...]:
    train, test = digits(config.rows, seed)
    net = deep(train[0].shape[1], 10, config.depth, config.width, normed=kind, scale=scale, seed=seed)
    history = fit(net, train, rule="sgd", lr=lr, epochs=config.epochs, batch=config.batch, seed=seed)
    (loss, accuracy), (other, right) = judged(net, train), judged(net, test)
    if len(history) < config.epochs or not np.isfinite(loss + other):
        return 0.0, 0.0, np.inf, np.inf
    return accuracy, right, loss, other


# ---- judging


def _largest(evidence: Evidence) -> np.ndarray:
    """The largest rate that trains, 0 where none does: (N, G, S)."""
    rates = np.array(evidence["rates"])[:, None]
    return np.where(evidence["train"] >= TRAINED, rates, 0.0).max(2)


def _best(evidence: Evidence) -> np.ndarray:
    """Test accuracy and gap, at the scale 1, of the rate with the lowest mean training loss: (N, S) each."""
    fits = list(evidence["scales"]).index(1.0)
    loss, test = evidence["train_loss"][:, fits], evidence["test_loss"][:, fits]  # (N, R, S)
    at = loss.mean(-1).argmin(-1)  # (N,)
    each = np.arange(len(KINDS))
    return np.stack([evidence["test"][each, fits, at], test[each, at] - loss[each, at]])  # (2, N, S)


def judge(evidence: Evidence) -> list[Finding]:
    """C217: the largest rate that trains. B328: that, robustness to initial weights, and regularisation."""
    largest, trains = _largest(evidence), evidence["train"] >= TRAINED
    fits = list(evidence["scales"]).index(1.0)
    higher = _above(*np.log10(np.maximum(largest[:, fits], 1e-9)))
    share = trains.any(2).mean(1)  # of the scales at which some rate trains: (N, S)
    cells = trains.mean((1, 2))
    robust = _above(*cells) and bool((share[1] == 1).all())
    (right_none, right_batch), (gap_none, gap_batch) = _best(evidence)
    regular = _above(right_none, right_batch) and _above(gap_batch, gap_none)
    said = "; ".join(
        f"{kind}: {_grid(largest[n], evidence['scales'])}, {cells[n].mean():.0%} of the cells"
        for n, kind in enumerate(KINDS)
    )
    why = f"Largest rate that trains by scale of the initial weights, mean over seeds in the log, {said}."
    more = (
        f" At the scale that fits and the best rate: test accuracy {give(100 * right_none, '.1f')} % without and "
        f"{give(100 * right_batch, '.1f')} % with batch norm, gap of losses {give(gap_none)} and {give(gap_batch)}. "
        f"Higher rates: {_word(higher)}; robust to the scale: {_word(robust)}; regularises: {_word(regular)}."
    )
    lower = _above(*np.log10(np.maximum(largest[::-1, fits], 1e-9)))
    verdict: Verdict = "confirmed" if higher else "refuted" if lower else "not reproduced"
    top = largest[:, fits]
    return [
        Finding("C217", "higher rates", top.mean(1).tolist(), top.std(1, ddof=1).tolist(), verdict, why),
        Finding(
            "B328",
            "higher rates, regularises, robust to initialisation",
            cells.mean(1).tolist(),
            cells.std(1, ddof=1).tolist(),
            _of_three(higher, robust, regular),
            why + more,
        ),
    ]


def _above(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether b is above a in every seed, and by more than two standard errors of the mean."""
    more = b - a
    return bool((more > 0).all() and more.mean() > 2 * more.std(ddof=1) / np.sqrt(len(more)))


def _of_three(*parts: bool) -> Verdict:
    """All hold, most do, fewer do, none does."""
    return ("refuted", "not reproduced", "corrected", "confirmed")[sum(parts)]


def _grid(largest: np.ndarray, scales: list[float]) -> str:
    """Scales and rates as words: (G, S) -> text."""
    middle = [10 ** np.log10(v).mean() if (v > 0).all() else 0.0 for v in largest]
    return ", ".join(
        f"× {scale:g} {value:.2g}" if value else f"× {scale:g} none"
        for scale, value in zip(scales, middle, strict=True)
    )


def _word(holds: bool) -> str:
    return "yes" if holds else "no"


def tables(evidence: Evidence) -> dict[str, Table]:
    """Training and test accuracy of every cell: means over seeds."""
    cells = [(n, g) for n in range(len(KINDS)) for g in range(len(evidence["scales"]))]

    def grid(key: str) -> Table:
        columns = {"norm": [KINDS[n] for n, _ in cells], "scale": [evidence["scales"][g] for _, g in cells]}
        for r, lr in enumerate(evidence["rates"]):
            columns[f"{lr:g}"] = [f"{evidence[key][c][r].mean():.2f}" for c in cells]
        return Table(columns, f"Accuracy on the {key} rows by rate, means over seeds")

    return {"train": grid("train"), "test": grid("test")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Accuracy on test rows against the rate, a panel a scale of the initial weights: means over seeds."""
    lines = {
        f"weights × {scale:g}": {
            name: (evidence["rates"], 100 * evidence["test"][n, g].mean(-1))
            for n, name in enumerate(("no norm", "batch norm"))
        }
        for g, scale in enumerate(evidence["scales"])
    }
    return {"grid": plots.panels(lines, x="rate", label="test accuracy (%), 0: lost", log_x=True, log=False)}
