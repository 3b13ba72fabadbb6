"""What does a network lose that does not know which samples are neighbours?

Question: ten short shapes, each placed, stretched and scaled at random in a signal of 40 samples, are told apart by a
convolutional and by a dense network with the same numbers of units in each layer. What are their test errors, and what
if the samples of all signals, training and test, are permuted in one fixed way?

    x_i = a t_y((i - o) / ℓ) + noise ε_i,    t_k(u) = Σ_m c_km sin(π m u) inside [0, 1], 0 elsewhere,    m = 1 ... 5
    a ~ U[0.6, 1.4],  ℓ ~ U[10, 18],  o ~ U[0, 40 - ℓ],  ε ~ N(0, 1),  c_km ~ N(0, 1), then ∫ t_k² = 1

    convolutional: three layers of 15 maps, kernel 3, stride 2, no padding: 19, 9, 4 places, then 60 to 10:    2,050
    dense:         285, 135, 60 units, then 10 outputs:                                                         59,065

Shapes: S seeds (shapes, signals, permutation, weights), 2 networks, 2 orders of the samples.

References: Prince, Understanding Deep Learning, chapter 10 (2023); Greydanus, arXiv:2011.14439 (2020).
Cost: about 70 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from ... import plots
from ...draw import Draw
from ...nn import MLP, convolution, initialise
from ...results import Table
from .._study import Evidence, Finding, Verdict, give, pieces
from ._nets import above, points, right, size, train

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "conv_net", "dense_net", "figures", "judge", "measure", "signals", "tables"]

CLAIMS = {"C168": "confirmed"}
LENGTH, CLASSES, WAVES = 40, 10, 5
NETS = ("convolutional", "dense")
ORDERS = ("in order", "permuted")
COUNTS = [2050, 59065]


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        rows: Training signals; half as many others are test signals.
        noise: Standard deviation of the noise; a shape has a mean square of 1.
        updates: Of each network.
        seeds: Draws of everything.
    """

    rows: int = 1500
    noise: float = 0.3
    updates: int = 1500
    seeds: int = 5


TINY = Config(rows=60, updates=4, seeds=2)


def signals(n: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    """Signals (n, 1, 40) and their classes (n,); the shapes depend on the seed alone, not on n."""
    rng = np.random.default_rng(Draw(seed).at("signals").key())
    waves = rng.standard_normal((CLASSES, WAVES))
    waves /= np.sqrt((waves**2).sum(1, keepdims=True) / 2)  # ∫ t² = ½ Σ c²
    y = rng.integers(0, CLASSES, n)
    long, scale = rng.uniform(10, 18, (n, 1)), rng.uniform(0.6, 1.4, (n, 1))
    start = rng.uniform(0, LENGTH - long)
    u = (np.arange(LENGTH) - start) / long  # (n, 40)
    angles = np.pi * np.arange(1, WAVES + 1) * u[..., None]  # (n, 40, M)
    clean = scale * (waves[y][:, None] * np.sin(angles)).sum(-1) * ((u >= 0) & (u <= 1))
    x = clean + noise * rng.standard_normal(clean.shape)
    return torch.tensor(x[:, None], dtype=torch.float32), torch.tensor(y)


def conv_net() -> nn.Module:
    """Three convolutions and an output: 2,050 parameters."""
    layers: list[nn.Module] = []
    for n_in in (1, 15, 15):
        layers += [convolution(n_in, 15, 3, dims=1, stride=2, padding="valid"), nn.ReLU()]
    net = nn.Sequential(*layers, nn.Flatten(), nn.Linear(15 * 4, CLASSES))
    initialise(net, "he")
    return net


def dense_net() -> nn.Module:
    """As many units in every layer, each of which sees all units before it: 59,065 parameters."""
    return nn.Sequential(nn.Flatten(), MLP(LENGTH, CLASSES, (15 * 19, 15 * 9, 15 * 4)))


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Test errors, and errors on training signals: (S, 2, 2); parameters of both networks."""
    keys = [(config, net, order, seed) for seed in range(config.seeds) for net in NETS for order in ORDERS]
    found = np.array(pieces(_one, keys, run)).reshape(config.seeds, 2, 2, 2)
    return {"test": found[..., 0], "train": found[..., 1], "parameters": [size(conv_net()), size(dense_net())]}


def _one(config: Config, name: str, order: str, seed: int) -> list[float]:
    n = config.rows
    x, y = signals(n + n // 2, config.noise, seed)
    if order == "permuted":
        x = x[..., torch.randperm(LENGTH, generator=Draw(seed).at("permutation").generator())]
    make = conv_net if name == "convolutional" else dense_net
    net = train(make, (x[:n], y[:n]), updates=config.updates, seed=seed, batch=100)
    return [1 - right(net, part) for part in ((x[n:], y[n:]), (x[:n], y[:n]))]


def judge(evidence: Evidence) -> list[Finding]:
    """C168: both counts, a lower error of the convolutional network, and a permutation that hurts no other."""
    test = evidence["test"]  # (S, networks, orders)
    better = above(test[:, 1, 0] - test[:, 0, 0])
    hurt = test[:, :, 1] - test[:, :, 0]  # (S, networks)
    only = above(hurt[:, 0]) and not above(hurt[:, 1])
    counted = list(evidence["parameters"]) == COUNTS
    verdict: Verdict = "confirmed" if better and only and counted else "not reproduced"
    if not counted or above(test[:, 0, 0] - test[:, 1, 0]):
        verdict = "refuted"
    said = "; ".join(
        f"{net}, {count:,} parameters: {give(100 * test[:, k, 0], '.1f')} in order and "
        f"{give(100 * test[:, k, 1], '.1f')} permuted, {points(hurt[:, k])} points"
        for k, (net, count) in enumerate(zip(NETS, evidence["parameters"], strict=True))
    )
    why = f"Test errors in %, {said}. Training errors in order: {_train(evidence)}."
    printed = "a clearly lower error of the convolutional network; a permutation hurts only that"
    cells = test.reshape(len(test), -1)
    return [Finding("C168", printed, cells.mean(0).tolist(), cells.std(0, ddof=1).tolist(), verdict, why)]


def _train(evidence: Evidence) -> str:
    return " and ".join(f"{100 * v:.1f} %" for v in evidence["train"][:, :, 0].mean(0))


def tables(evidence: Evidence) -> dict[str, Table]:
    """Errors of both networks on both orders."""
    cells = [(k, o) for k in range(2) for o in range(2)]
    columns = {
        "network": [NETS[k] for k, _ in cells],
        "parameters": [evidence["parameters"][k] for k, _ in cells],
        "samples": [ORDERS[o] for _, o in cells],
        "training error (%)": [give(100 * evidence["train"][:, k, o], ".1f") for k, o in cells],
        "test error (%)": [give(100 * evidence["test"][:, k, o], ".1f") for k, o in cells],
    }
    return {"errors": Table(columns, "Mean ± standard deviation over seeds")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Test errors of every seed, with the samples in order and permuted."""
    found = {f"test error, {net} (%)": 100 * evidence["test"][:, k] for k, net in enumerate(NETS)}
    drawn = plots.paired(found, ORDERS, title="One fixed permutation of the samples")
    top = 100 * evidence["test"].max() * 1.05
    for axes in drawn.axes:
        axes.set_ylim(0, top)
    return {"permutation": drawn}
