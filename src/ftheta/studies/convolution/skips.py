"""What do the skips of a U-Net do for the outlines?

Question: hourglasses of two halvings that tell figures from the ground, with skips that concatenate, with skips that
add, and without (as many weights as those that add): how many pixels beside an outline are right, and how many others?

    boundary accuracy: of pixels with another true label within one row and column;   drop = with skips - without

Cost: about 45 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import plots
from ...data import shapes
from ...measure import boundary
from ...models import UNetSegmenter
from ...nn import SKIPS
from ...results import Table
from ...train import Training
from .._study import Evidence, Finding, give, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"C223": "confirmed"}


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        noise: Standard deviation of the noise in the images.
        size: Height and width of an image.
        rows: Training images; half as many are for the test.
        filters: Maps of each level, the bottleneck last.
        epochs: Passes over the images.
        seeds: Draws of images and weights.
    """

    noise: float = 0.1
    size: int = 32
    rows: int = 200
    filters: tuple[int, ...] = (8, 16, 32)
    epochs: int = 10
    seeds: int = 4


TINY = Config(size=16, rows=16, filters=(2, 2, 2), epochs=1, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Accuracy beside outlines and elsewhere, by kind of skip: (S, 3) each; whether all sizes are kept."""
    keys = [(config, skip, seed) for seed in range(config.seeds) for skip in SKIPS]
    found = np.array(pieces(_one, keys, run)).reshape(config.seeds, len(SKIPS), 3)
    return {"boundary": found[..., 0], "rest": found[..., 1], "sizes": bool(found[..., 2].all())}


def _one(config: Config, skip: str, seed: int) -> list[float]:
    n = config.rows
    made = shapes(n + n // 2, config.noise, seed, size=config.size)
    y = (np.asarray(made.y) > 0).astype(int)
    X = made.x.reshape(y.shape)
    net = UNetSegmenter(
        filters=config.filters,
        skip=skip,
        epochs=config.epochs,
        batch_size=16,
        lr=0.01,
        random_state=seed,
        training=Training(schedule="cosine", threads=1),
    ).fit(X[:n], y[:n])
    right, near = net.predict(X[n:]) == y[n:], boundary(y[n:])
    kept = all(net.predict(X[:1, :height, :width]).shape == (1, height, width) for height, width in ((16, 12), (13, 7)))
    return [float(right[near].mean()), float(right[~near].mean()), float(kept)]


def judge(evidence: Evidence) -> list[Finding]:
    """C223: sizes are kept, and either kind of skip is better beside outlines in every seed."""
    found, rest = evidence["boundary"], evidence["rest"]  # (S, 3)
    drops = found[:, :2] - found[:, 2:]  # concat and sum against none
    if evidence["sizes"] and (drops > 0).all():
        verdict = "confirmed"
    else:
        verdict = "refuted" if (drops <= 0).all() or not evidence["sizes"] else "not reproduced"
    said = "; ".join(f"{skip} {give(found[:, k], '.3f')}" for k, skip in enumerate(SKIPS))
    others = "; ".join(f"{skip} {give(rest[:, k], '.3f')}" for k, skip in enumerate(SKIPS))
    why = (
        f"Share of right pixels beside outlines: {said}; elsewhere: {others}. Without skips it is lower by "
        f"{give(drops[:, 0], '.3f')} than with concatenation and by {give(drops[:, 1], '.3f')} than with addition, "
        f"which has no weight more. Outputs are {'' if evidence['sizes'] else 'not '}as large as inputs, also where "
        "halvings do not divide them."
    )
    printed = "output as large as the input; removing the skips lowers boundary accuracy"
    return [Finding("C223", printed, drops.mean(0).tolist(), drops.std(0, ddof=1).tolist(), verdict, why)]


def tables(evidence: Evidence) -> dict[str, Table]:
    """Accuracies by kind of skip: means over seeds."""
    columns = {"skip": SKIPS, "beside outlines": evidence["boundary"].mean(0), "elsewhere": evidence["rest"].mean(0)}
    return {"skips": Table({k: list(v) for k, v in columns.items()}, "Share of pixels that are right, mean over seeds")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Errors by kind of skip: means and ranges over seeds."""
    panels = {}
    for key, where in (("boundary", "beside outlines"), ("rest", "elsewhere")):
        wrong = 100 * (1 - evidence[key].T)  # (3, S)
        panels[f"wrong {where} (%)"] = [(s, v.mean(), v.min(), v.max()) for s, v in zip(SKIPS, wrong, strict=True)]
    return {"skips": plots.whiskers(panels, title="Skips of a U-Net: mean and range over seeds")}
