"""Which norm survives small batches?

Question: one network of three layers learns digits with batch norm and with layer norm in batches of 1 to 256 rows,
each with the rate of a grid that suits it, equal epochs. Where does which fall behind?

    batch norm, one row:  μ = x, σ² = 0,   γ (x - μ) / √(σ² + ε) + β = β  whatever x is; two rows: ± γ + β, the sign

So batch norm cannot be trained on single rows, and fθ's trainer refuses it; its place for a batch of 1 stays empty.
(Networks: see `_deep`.)
Shapes: N = 2 norms, Z batch sizes, S seeds.

Cost: about 110 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from ... import plots
from ...draw import Draw
from ...errors import InputError
from ...formulas import batch_norm
from ...nn import norm
from ...results import Table
from .._study import Evidence, Finding, Verdict, give, pieces
from ._deep import deep, digits, fit, judged

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"A146": "confirmed", "C221": "confirmed"}
KINDS = ("batch", "layer")
RATES = (0.01, 0.003, 0.001)
TUNING = 1000  # the seed on which rates are chosen


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        data: The data set.
        rows: Training rows; the others are test rows.
        sizes: Rows a batch, ascending, from 1 to at least 64.
        epochs: Passes over the training rows.
        width: Units of each of the three layers.
        seeds: Draws of training rows, weights and orders.
    """

    data: str = "digits"
    rows: int = 768
    sizes: tuple[int, ...] = (1, 2, 4, 8, 16, 64, 256)
    epochs: int = 10
    width: int = 32
    seeds: int = 4


TINY = Config(rows=32, sizes=(1, 2, 16), epochs=1, width=8, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Training loss, test loss and test error by norm and size, (N, Z, S) each; rates (N, Z); two exact properties."""
    found = pieces(_cell, [(config, kind, size) for kind in KINDS for size in config.sizes], run)
    shape = len(KINDS), len(config.sizes)
    kept = {key: np.array([one[key] for one in found]) for key in found[0]}
    kept = {key: v.reshape(*shape, *v.shape[1:]) for key, v in kept.items()}
    return kept | _exact(config) | {"sizes": list(config.sizes)}


def _cell(config: Config, kind: str, size: int) -> Evidence:
    """Train with one norm in batches of one size; NaN where the trainer refuses."""
    try:
        lr = min(RATES, key=lambda lr: _trained(config, kind, size, lr, TUNING)[0])
        found = np.array([_trained(config, kind, size, lr, seed) for seed in range(config.seeds)])  # (S, 3)
    except InputError:
        lr, found = np.nan, np.full((config.seeds, 3), np.nan)
    return {"rate": lr, "train": found[:, 0], "test": found[:, 1], "error": found[:, 2]}


def _trained(config: Config, kind: str, size: int, lr: float, seed: int) -> tuple[float, float, float]:
    """Loss on the training rows, loss on the test rows, and the share of those that it has wrong."""
    train, test = digits(config.rows, seed)
    net = deep(train[0].shape[1], 10, 3, config.width, normed=kind, seed=seed)
    fit(net, train, rule="adam", lr=lr, epochs=config.epochs, batch=size, seed=seed)
    (loss, _), (other, accuracy) = judged(net, train), judged(net, test)
    return loss, other, 1 - accuracy


def _exact(config: Config) -> Evidence:
    """The largest of: batch norm of single rows minus β; layer norm in training minus in evaluation."""
    rng = np.random.default_rng(Draw(0).at("exact").key())
    x, gamma, beta = rng.standard_normal((config.rows, 64)), *rng.standard_normal((2, 64))
    layer, rows = norm("layer", 64, dims=0).double(), torch.from_numpy(x)
    with torch.no_grad():
        apart = layer.train()(rows) - layer.eval()(rows)
    lone = max(float(np.abs(batch_norm(row[None], gamma, beta) - beta).max()) for row in x)
    return {"lone": lone, "apart": float(apart.abs().max())}


# ---- judging


def judge(evidence: Evidence) -> list[Finding]:
    """A146: layer norm is the better of the two in small batches. C221: who degrades, and two exact properties."""
    loss, sizes = evidence["test"], list(evidence["sizes"])
    usual, small = sizes.index(min(s for s in sizes if s >= 16)), [i for i, s in enumerate(sizes) if 1 < s <= 4]
    batch, layer = loss
    refused = bool(np.isnan(batch[sizes.index(1)]).all())
    ahead = [batch[i] - layer[i] for i in small]
    falls = _worse(batch[small[0]] - batch[usual])
    stays = not _worse(layer[0] - layer[usual])
    exact = evidence["lone"] == 0 and evidence["apart"] == 0
    said = "; ".join(f"B = {s}: {_say(batch[i])} and {_say(layer[i])}" for i, s in enumerate(sizes))
    wrong = "; ".join(", ".join("-" if np.isnan(v) else f"{v:.1%}" for v in row.mean(-1)) for row in evidence["error"])
    why = f"Loss on test rows, batch and layer norm, {said}. Test errors in that order: {wrong}."
    held = "yes" if falls else "no", "no" if stays else "yes"
    more = (
        f" Batch norm falls behind its loss at {sizes[usual]}: {held[0]}; layer norm: {held[1]}. Batch norm of one row "
        f"minus β: {evidence['lone']:g}, refused by the trainer: {'yes' if refused else 'no'}; layer norm in training "
        f"minus in evaluation: {evidence['apart']:g}."
    )
    measured = [[None if np.isnan(v) else float(v) for v in row.mean(-1)] for row in loss]
    spread = [[None if np.isnan(v) else float(v) for v in row.std(-1, ddof=1)] for row in loss]
    return [
        Finding("A146", "layer norm for small batches", measured, spread, _preferred(ahead, refused), why),
        Finding("C221", "batch 1 gives β", measured, spread, _compared(falls, stays, exact and refused), why + more),
    ]


def _worse(more: np.ndarray) -> bool:
    """Whether losses grew, in every seed and by more than two standard deviations of the mean."""
    return bool((more > 0).all() and more.mean() > 2 * more.std(ddof=1) / np.sqrt(len(more)))


def _preferred(ahead: list[np.ndarray], refused: bool) -> Verdict:
    """Better in all small batches, or worse in all, or neither."""
    if all(map(_worse, ahead)):
        return "confirmed" if refused else "corrected"
    return "refuted" if all(_worse(-more) for more in ahead) else "not reproduced"


def _compared(falls: bool, stays: bool, exact: bool) -> Verdict:
    """The table is right if one falls, the other stays and the properties hold; wrong if it is the other way round."""
    if falls and stays:
        return "confirmed" if exact else "corrected"
    return "refuted" if not falls and not stays else "not reproduced"


def _say(values: np.ndarray, form: str = ".2f") -> str:
    return "-" if np.isnan(values).any() else give(values, form)


def tables(evidence: Evidence) -> dict[str, Table]:
    """Rates, losses and errors by norm and batch size: means over seeds."""
    cells = [(n, z) for n in range(len(KINDS)) for z in range(len(evidence["sizes"]))]
    columns = {
        "norm": [KINDS[n] for n, _ in cells],
        "batch": [evidence["sizes"][z] for _, z in cells],
        "rate": [_plain(evidence["rate"][c]) for c in cells],
        "training loss": [_plain(evidence["train"][c].mean()) for c in cells],
        "test loss": [_plain(evidence["test"][c].mean()) for c in cells],
        "test error": [_say(100 * evidence["error"][c], ".1f") for c in cells],
    }
    return {"sizes": Table(columns, "Means over seeds; the test error in %")}


def _plain(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3g}"


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Loss on training rows and on test rows at the end against the batch size: means over seeds."""
    lines = {
        title: {f"{kind} norm": (evidence["sizes"], evidence[key][n].mean(-1)) for n, kind in enumerate(KINDS)}
        for key, title in (("train", "training rows"), ("test", "test rows"))
    }
    label = "loss at the end (nats)"
    return {"sizes": plots.panels(lines, x="rows a batch", label=label, log_x=True, log=True, share=False)}
