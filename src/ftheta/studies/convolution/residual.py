"""Do shortcuts let deeper networks train, keep the input, and smooth the loss?

Question: plain and residual networks of equal depth and width learn two spirals, with ReLU and with tanh. How accurate
are they on their training rows at depths 4, 20 and 50, after how many epochs do they reach a loss, how much of the
input can be read off layer by layer, and how rough is the loss around where they end?

    epochs      until the training loss is at most 0.1; an epoch is one update from all rows, Adam
    input kept  R² of the best linear map from the activations of a layer to the input, on other rows; at least 0
    roughness   excess travel of log L along a line through weight space: its total variation over what one valley with
                the same ends and the same lowest point needs, minus 1; 0 for one valley, however steep

Lines are the rows and columns of a filter-normalised random plane around the end of training, half as wide as the
weights are long.
(Networks: see `_deep`; residual blocks are the identity at the start.)
Shapes: A activations, D depths, 2 kinds (plain, residual), S seeds, E epochs, G grid points.

References: He, Zhang, Ren and Sun, arXiv:1512.03385 (2015); Li et al., arXiv:1712.09913 (2018).
Cost: about 150 CPU-seconds.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from ... import plots
from ...explain import landscape
from ...likelihoods import Categorical
from ...results import Table
from .._study import Evidence, Finding, Verdict, give, pieces
from ._deep import Part, deep, fit, judged, two_spirals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "roughness", "tables"]

CLAIMS = {"C202": "corrected", "A273": "corrected", "A274": "confirmed", "B314": "corrected"}
ACTIVATIONS = ("relu", "tanh")
KINDS = ("plain", "residual")
PRINTED = [1.0, 1.0, 0.96, 0.715, 0.96]  # depth 4 plain; 20 plain, residual; 50 plain, residual
RIDGE = 1e-4  # of the linear map, in units of the variance of a layer
HIGH = 0.9  # R² from which on the input is still there


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        rows: Training rows; as many others are test rows.
        width: Units of each layer.
        depths: Layers, ascending; the first is shallow, the others are deep.
        epochs: Updates from all rows.
        lr: Rate of Adam.
        target: Training loss that is to be reached.
        points: Grid points along each direction of the plane.
        span: Half the width of the plane, in lengths of the weights.
        seeds: Draws of rows and weights.
    """

    rows: int = 400
    width: int = 24
    depths: tuple[int, ...] = (4, 20, 50)
    epochs: int = 250
    lr: float = 0.003
    target: float = 0.1
    points: int = 31
    span: float = 0.5
    seeds: int = 5


TINY = Config(rows=40, width=8, depths=(2, 4), epochs=4, points=5, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Accuracies, losses, epochs, R² and roughness of every network: (A, D, 2, S, ...)."""
    cells = [(sigma, depth, kind) for sigma in ACTIVATIONS for depth in config.depths for kind in KINDS]
    found = pieces(_cell, [(config, *cell) for cell in cells], run)
    shape = len(ACTIVATIONS), len(config.depths), len(KINDS)
    kept = {key: np.array([one[key] for one in found]) for key in found[0]}
    return {key: v.reshape(*shape, *v.shape[1:]) for key, v in kept.items()} | {"depths": list(config.depths)}


def _cell(config: Config, sigma: str, depth: int, kind: str) -> Evidence:
    each = [_trained(config, sigma, depth, kind, seed) for seed in range(config.seeds)]
    return {key: np.array([one[key] for one in each]) for key in each[0]}


def _trained(config: Config, sigma: str, depth: int, kind: str, seed: int) -> Evidence:
    train, test = two_spirals(config.rows, seed), two_spirals(config.rows, 1000 + seed)
    net = deep(2, 2, depth, config.width, sigma=sigma, residual=kind == "residual", seed=seed)
    losses = fit(net, train, rule="adam", lr=config.lr, epochs=config.epochs, batch=config.rows, seed=seed)
    losses = np.pad(losses, (0, config.epochs - len(losses)), constant_values=np.inf)
    reached = np.flatnonzero(losses <= config.target)
    plane = landscape(
        net, train[0], train[1], loss=Categorical(), points=config.points, span=config.span, seed=seed, progress=False
    )
    return {
        "losses": losses,  # (E,)
        "epochs": float(reached[0] + 1) if len(reached) else np.inf,
        "train": judged(net, train)[1],
        "test": judged(net, test)[1],
        "kept": _kept(net, train, test, max(config.depths)),  # (D_max,)
        "slice": plane.loss[config.points // 2],  # (G,)
        "rough": float(np.mean([roughness(line) for line in (*plane.loss, *plane.loss.T)])),
    }


@torch.no_grad()
def _kept(net: nn.Sequential, train: Part, test: Part, most: int) -> np.ndarray:
    """R² of a linear map from the activations of each layer to the input, on test rows; NaN beyond the last."""
    found, h, new = np.full(most, np.nan), train[0].double(), test[0].double()
    x, truth, net = h, new, deepcopy(net).double()
    for k, layer in enumerate(list(net)[:-1]):
        h, new = layer(h), layer(new)
        size = h.std(0, correction=0).norm().clamp_min(1e-300)
        f, g = ((v - h.mean(0)) / size for v in (h, new))  # of total variance 1: (B, H)
        map_ = torch.linalg.solve(f.T @ f / len(f) + RIDGE * torch.eye(f.shape[1]), f.T @ x / len(f))
        away = (truth - x.mean(0) - g @ map_).square().sum() / (truth - truth.mean(0)).square().sum()
        found[k] = max(0.0, 1 - away.item())
    return found


def roughness(losses: np.ndarray) -> float:
    """Total variation of log L over that of one valley with its ends and its lowest point, minus 1: (G,) -> 0 or more.

    Example:
        >>> roughness(np.exp([2.0, 1.0, 0.0, 1.0, 2.0])), roughness(np.exp([2.0, 0.0, 1.0, 0.0, 2.0]))
        (0.0, 0.5)
    """
    height = np.log(np.clip(losses, 1e-12, 1e12))
    need = height[0] + height[-1] - 2 * height.min()
    return max(0.0, float(np.abs(np.diff(height)).sum() / need - 1)) if need > 0 else 0.0


# ---- judging


def judge(evidence: Evidence) -> list[Finding]:
    """C202: who trains worse when deeper. A273: who is faster. A274: who keeps the input. B314: deeper and smoother."""
    return [_degraded(evidence), _faster(evidence), _input(evidence), _deeper(evidence)]


def _less(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether a is below b in three quarters of the seeds, and in the mean by more than two standard errors."""
    more = b - a
    return bool((more > 0).mean() >= 0.75 and more.mean() > 2 * more.std(ddof=1) / np.sqrt(len(more)))


def _places(evidence: Evidence) -> list[tuple[int, int]]:
    """Every activation at every depth but the least, which serves to compare."""
    return [(a, d) for a in range(len(ACTIVATIONS)) for d in range(1, len(evidence["depths"]))]


def _named(evidence: Evidence, place: tuple[int, int]) -> str:
    return f"{ACTIVATIONS[place[0]]} {evidence['depths'][place[1]]}"


def _graded(held: list[bool]) -> Verdict:
    """All hold, none does, at least half do, or fewer."""
    if all(held) or not any(held):
        return "confirmed" if all(held) else "refuted"
    return "corrected" if 2 * sum(held) >= len(held) else "not reproduced"


def _degraded(evidence: Evidence) -> Finding:
    """Of ReLU. The sentence in print speaks of generalisation; what falls is training, and the test rows go with it."""
    train, test = evidence["train"][0], evidence["test"][0]  # (D, 2, S)
    falls = _less(train[-1, 0], train[0, 0])
    apart = float((train[-1, 0] - test[-1, 0]).mean())
    verdict: Verdict = "refuted" if not falls else "corrected" if apart < 0.05 else "not reproduced"
    cells = [train[0, 0], *train[1:].reshape(-1, train.shape[-1])]  # plain, then plain and residual at each depth
    ends = ", ".join(
        f"{depth} {kind} {give(train[d, k])}"
        for d, depth in enumerate(evidence["depths"])
        for k, kind in enumerate(KINDS)
    )
    also = ", ".join(
        f"{depth} {kind} {evidence['train'][1, d, k].mean():.2f}"
        for d, depth in enumerate(evidence["depths"])
        for k, kind in enumerate(KINDS)
    )
    why = (
        f"Training accuracy with ReLU, {ends}; with tanh, {also}. The deepest plain networks are {apart:+.3f} better "
        f"on their training rows than on test rows{', so training is what fails' if verdict == 'corrected' else ''}."
    )
    middle, spread = [float(v.mean()) for v in cells], [float(v.std(ddof=1)) for v in cells]
    return Finding("C202", PRINTED, middle, spread, verdict, why)


def _faster(evidence: Evidence) -> Finding:
    epochs, places = np.minimum(evidence["epochs"], evidence["losses"].shape[-1] + 1), _places(evidence)
    held = [_less(epochs[(*place, 1)], epochs[(*place, 0)]) for place in places]
    said = "; ".join(
        f"{_named(evidence, place)}: {_counts(epochs[(*place, 0)])} against {_counts(epochs[(*place, 1)])}, "
        f"{'faster' if ok else 'not faster'}"
        for place, ok in zip(places, held, strict=True)
    )
    why = (
        f"Epochs to the loss, plain against residual, seed by seed, {said}. "
        f"{evidence['losses'].shape[-1] + 1} is never."
    )
    kept = np.array([epochs[place] for place in places])  # (P, 2, S)
    printed = "fewer epochs at depth 20+"
    spread = kept.std(-1, ddof=1).tolist()
    return Finding("A273", printed, np.median(kept, axis=-1).tolist(), spread, _graded(held), why)


def _counts(values: np.ndarray) -> str:
    return " ".join(f"{v:.0f}" for v in values)


def _input(evidence: Evidence) -> Finding:
    """High in all layers with shortcuts, and lost by the last layer without."""
    places = _places(evidence)
    least = np.array([np.nanmin(evidence["kept"][place], axis=-1) for place in places])  # (P, 2, S)
    lost = [bool((v[0] < HIGH).all()) for v in least]
    held = [bool((v[1] >= HIGH).all()) for v in least]
    verdict = _graded([a and b for a, b in zip(lost, held, strict=True)])
    if verdict == "refuted" and all(_less(*v) for v in least):
        verdict = "corrected"  # not high, but higher
    said = "; ".join(
        f"{_named(evidence, place)}: {give(v[0])} and {give(v[1])}" for place, v in zip(places, least, strict=True)
    )
    why = f"Least R² over the layers, plain and residual, {said}."
    middle, spread = least.mean(-1).tolist(), least.std(-1, ddof=1).tolist()
    return Finding("A274", "high only with skips", middle, spread, verdict, why)


def _deeper(evidence: Evidence) -> Finding:
    places, rough, train = _places(evidence), evidence["rough"], evidence["train"]
    deepest = [_less(train[a, -1, 0], train[a, -1, 1]) for a in range(len(ACTIVATIONS))]
    smooth = [_less(rough[(*place, 1)], rough[(*place, 0)]) for place in places]
    verdict = _graded([*deepest, *smooth])
    said = "; ".join(
        f"{_named(evidence, place)}: {give(rough[(*place, 0)])} and {give(rough[(*place, 1)])}, "
        f"{'smoother' if ok else 'not smoother'}"
        for place, ok in zip(places, smooth, strict=True)
    )
    ends = "; ".join(
        f"{sigma}: {give(train[a, -1, 0])} and {give(train[a, -1, 1])}" for a, sigma in enumerate(ACTIVATIONS)
    )
    why = f"Plain and residual: training accuracy of the deepest, {ends}. Roughness of slices, {said}."
    kept = np.array([rough[place] for place in places])  # (P, 2, S)
    printed = "residual trains deeper; slices are smoother"
    return Finding("B314", printed, kept.mean(-1).tolist(), kept.std(-1, ddof=1).tolist(), verdict, why)


def tables(evidence: Evidence) -> dict[str, Table]:
    """Accuracies, epochs to the loss, R² of the last layer and roughness of every network: over seeds."""
    cells = list(np.ndindex(evidence["train"].shape[:3]))
    columns = {
        "σ": [ACTIVATIONS[a] for a, _, _ in cells],
        "depth": [evidence["depths"][d] for _, d, _ in cells],
        "network": [KINDS[k] for *_, k in cells],
        "training accuracy": [give(evidence["train"][c]) for c in cells],
        "test accuracy": [give(evidence["test"][c]) for c in cells],
        "epochs": [f"{np.median(evidence['epochs'][c]):g}" for c in cells],
        "least R²": [give(np.nanmin(evidence["kept"][c], axis=-1)) for c in cells],
        "roughness": [give(evidence["rough"][c]) for c in cells],
    }
    return {"networks": Table(columns, "Mean ± standard deviation over seeds; the median of the epochs")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Training losses by epoch, R² by layer, and slices of the loss of one seed: with ReLU."""
    depths = evidence["depths"]

    def lines(at: np.ndarray, values: np.ndarray) -> dict:
        return {
            f"{depth} layers": {kind: (at, values[d, k]) for k, kind in enumerate(KINDS)}
            for d, depth in enumerate(depths)
        }

    losses, kept, loss = (evidence[key][0] for key in ("losses", "kept", "slice"))  # (D, 2, S, ...)
    epochs, layers = (np.arange(1, v.shape[-1] + 1) for v in (losses, kept))
    middle = np.median(losses, axis=2)
    return {
        "losses": plots.panels(lines(epochs, middle), x="epoch", label="training loss (nats)", log=True),
        "input": plots.panels(lines(layers, kept.mean(2)), x="layer", label="R² of the input", log=False),
        "slices": plots.panels(
            lines(np.linspace(-1, 1, loss.shape[-1]), loss[:, :, 0]),
            x="way along a random direction (half-widths)",
            label="training loss (nats)",
            log=True,
        ),
    }
