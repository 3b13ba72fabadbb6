"""How well does a small convolutional network take noise from images, with absolute and with squared errors?

Question: digits of 16 x 16 pixels with Gaussian noise as inputs, the clean ones as targets, three 3 x 3 convolutions
trained on |ŷ - y|^p for p = 1 and p = 2: what is the PSNR of images that were never seen?

    PSNR = 10 log₁₀(1 / mean squared error) dB;    baseline: the mean of 3 x 3 pixels

Cost: about 20 CPU-seconds.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ... import plots
from ...data import Rows, holdout, load
from ...draw import Draw
from ...measure import psnr
from ...nn import convolution
from ...results import Table
from ...train import Supervised, Trainer, Training, iterate
from .._study import Evidence, Finding, give, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"B319": "confirmed"}
WAYS = ("noisy image", "mean of 3 x 3", "network, p = 1", "network, p = 2")


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        data: The clean images.
        noise: Standard deviation of the noise; pixels lie in [0, 1].
        rows: Training images.
        filters: Maps of the two hidden layers.
        epochs: Passes over the images.
        seeds: Draws of images, noise and weights.
    """

    data: str = "digits"
    noise: float = 0.25
    rows: int = 1000
    filters: int = 16
    epochs: int = 12
    seeds: int = 3


TINY = Config(rows=60, filters=4, epochs=2, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Mean PSNR of the test images in dB, by way: (S, 4)."""
    return {"psnr": np.array(pieces(_seed, [(config, seed) for seed in range(config.seeds)], run))}


def _seed(config: Config, seed: int) -> list[float]:
    draw, data = Draw(seed).at("study"), load(config.data)
    clean = torch.tensor(data.x.to_numpy(), dtype=torch.float32).view(-1, 1, *data.shape) / 16  # (n, 1, 8, 8)
    clean = F.interpolate(clean, scale_factor=2, mode="bilinear")
    noisy = clean + config.noise * torch.randn(clean.shape, generator=draw.generator("noise"))
    rest, test = (torch.from_numpy(part) for part in holdout(len(clean), 0.25, draw))
    train, found = rest[: config.rows], [noisy[test], F.avg_pool2d(noisy[test], 3, 1, 1, count_include_pad=False)]
    for p in (1, 2):
        net = _trained(config, Rows(noisy[train], clean[train], batch_size=32), p, seed)
        with torch.no_grad():
            found.append(net(noisy[test]))
    return [float(psnr(clean[test], one).mean()) for one in found]


def _trained(config: Config, source: Rows, p: int, seed: int) -> nn.Module:
    with Draw(seed).at("build").scope():
        net = _net(config.filters)
    objective = Supervised(net, lambda raw, y: (raw - y).abs() ** p)  # (B, 1, H, W): every pixel counts
    updates = config.epochs * len(source)
    knobs = Training(schedule="cosine", threads=1)
    trainer = Trainer(objective, source, lr=0.01, training=knobs, horizon=updates, seed=seed)
    iterate(trainer, steps=updates)
    return net.eval()


class _Noise(nn.Module):
    """x - f(x): the layers predict the noise."""

    def __init__(self, layers: nn.Module) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, x: Tensor) -> Tensor:
        return x - self.layers(x)


def _net(filters: int) -> nn.Module:
    layers = OrderedDict[str, nn.Module]()
    for k, (a, b) in enumerate([(1, filters), (filters, filters), (filters, 1)], start=1):
        layers[f"conv{k}"] = convolution(a, b, 3)
        layers[f"act{k}"] = nn.ReLU() if k < 3 else nn.Identity()
    return _Noise(nn.Sequential(layers))


def judge(evidence: Evidence) -> list[Finding]:
    """B319: with either p the network gains on the noisy image in every seed."""
    found = evidence["psnr"]  # (S, 4)
    gains = found[:, 2:] - found[:, :1]
    better = found[:, 3] - found[:, 2]
    verdict = "confirmed" if (gains > 0).all() else "refuted" if (gains.mean(0) <= 0).all() else "not reproduced"
    said = "; ".join(f"{way} {give(column)}" for way, column in zip(WAYS, found.T, strict=True))
    ahead = "the squared error is what p = 2 minimises" if (better > 0).all() else "a mean of logarithms is not its aim"
    why = f"PSNR of unseen images in dB: {said}. p = 2 against p = 1: {give(better)} dB; {ahead}."
    printed = "a network trained on noisy and clean pairs with p = 1 or 2; PSNR reported"
    return [Finding("B319", printed, found.mean(0).tolist(), found.std(0, ddof=1).tolist(), verdict, why)]


def tables(evidence: Evidence) -> dict[str, Table]:
    """PSNR by way: mean and standard deviation over seeds."""
    found = evidence["psnr"]
    columns = {"way": WAYS, "PSNR (dB)": found.mean(0).tolist(), "spread": found.std(0, ddof=1).tolist()}
    return {"denoising": Table(columns, "PSNR of unseen images, mean and standard deviation over seeds")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """PSNR by way: the mean over seeds, and their range."""
    found = evidence["psnr"]
    rows = [(way, v.mean(), v.min(), v.max()) for way, v in zip(WAYS, found.T, strict=True)]
    return {
        "denoising": plots.whiskers({"PSNR (dB): mean and range over seeds": rows}, title="Noise taken from digits")
    }
