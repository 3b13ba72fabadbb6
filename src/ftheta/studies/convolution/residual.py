"""Do shortcuts let deeper networks train, keep the input, and smooth the loss?

Question: plain and residual networks of equal depth and width learn two spirals, with ReLU and with tanh. How accurate
are they on their training rows at depths 4, 20 and 50, after how many epochs do they reach a loss, how much of the input
can be read off layer by layer, and how rough is the loss around where they end?

    epochs      until the training loss is at most 0.1; an epoch is one update from all rows, Adam
    input kept  R² of the best linear map from the activations of a layer to the input, on rows that it was not fitted to
    roughness   excess travel of log L along a line through weight space: its total variation over what one valley with
                the same ends and the same lowest point needs, minus 1; 0 for one valley, however steep

Lines are the rows and columns of a filter-normalised random plane around the end of training, half as wide as the
weights are long.
(Networks: see `_deep`; residual blocks are the identity at the start.)
Shapes: A activations, D depths, 2 kinds (plain, residual), S seeds, E epochs, G grid points.

References: He, Zhang, Ren and Sun, arXiv:1512.03385 (2015); Li et al., arXiv:1712.09913 (2018).
Cost: about 110 CPU-seconds.
"""

from __future__ import annotations

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

CLAIMS = {"A273": "corrected", "A274": "confirmed", "B314": "confirmed", "C202": "corrected"}
ACTIVATIONS = ("relu", "tanh")
KINDS = ("plain", "residual")
PRINTED = [1.0, 1.0, 0.96, 0.715, 0.96]  # depth 4 plain; 20 plain, residual; 50 plain, residual
HIGH = 0.9  # R² from which on the input is still there


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        rows: Training rows; as many others are test rows.
        width: Units of each layer.
        depths: Layers, ascending.
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
    """R² of a linear map from the activations of each layer to the input, on test rows; NaN beyond the last: (most,)."""
    found, h, new = np.full(most, np.nan), train[0], test[0]
    for k, layer in enumerate(net[:-1]):
        h, new = layer(h), layer(new)
        features, others = (torch.nn.functional.pad(v.double(), (0, 1), value=1.0) for v in (h, new))
        answer = others @ torch.linalg.lstsq(features, train[0].double(), rcond=1e-6, driver="gelsd").solution
        away = (test[0] - answer).square().sum() / (test[0] - test[0].mean(0)).square().sum()
        found[k] = 1 - away.item()
    return found


def roughness(losses: np.ndarray) -> float:
    """Total variation of log L over that of one valley with its ends and its lowest point, minus 1: (G,) -> 0 or more.

    Example:
        >>> roughness(np.exp([2.0, 1.0, 0.0, 1.0, 2.0])), roughness(np.exp([2.0, 0.0, 1.0, 0.0, 2.0]))
        (0.0, 0.5)
    """
    height = np.log(np.maximum(losses, 1e-12))
    need = height[0] + height[-1] - 2 * height.min()
    return float(np.abs(np.diff(height)).sum() / need - 1) if need > 0 else 0.0
