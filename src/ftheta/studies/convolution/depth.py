"""How many convolutions does a network need to read digits?

Question: networks with one to five 3 x 3 convolutions of equal width, one pooling after the last and the same output
read digits of 8 x 8 pixels. From which depth on are more no better, and what do successive layers see?

    places that a feature sees, after k convolutions:  (2k + 1)²;  after the pooling:  (2k + 2)²,  all of 8 x 8 at k = 3

Shapes: S seeds, K depths; feature maps (C, H, W).

Reference: Zeiler and Fergus, arXiv:1311.2901 (2013).
Cost: about 50 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ... import plots
from ...explain import feature_maps
from ...nn import ConvNet
from ...results import Table
from .._study import Evidence, Finding, Verdict, give, pieces
from ._nets import above, images, right, size, train

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"B098": "confirmed"}
ENOUGH = (2, 3)  # convolutions that are said to be enough
SHOWN = 3  # convolutions of the network whose maps are drawn
TOLERANCE = 0.005  # accuracy that more convolutions may add where a curve is flat


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        data: The images.
        rows: Training images; all others are test images.
        depths: Convolutions, ascending.
        filters: Maps of each convolution.
        updates: Of each network.
        seeds: Draws of images and weights.
    """

    data: str = "digits"
    rows: int = 1000
    depths: tuple[int, ...] = (1, 2, 3, 4, 5)
    filters: int = 8
    updates: int = 500
    seeds: int = 5


TINY = Config(rows=1700, filters=2, updates=3, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Test accuracies (S, K), parameters (K,), and what one network makes of one digit."""
    keys = [(config, depth, seed) for seed in range(config.seeds) for depth in config.depths]
    found = pieces(_one, keys, run)
    return {
        "accuracy": np.array([one["accuracy"] for one in found]).reshape(config.seeds, -1),
        "parameters": [one["parameters"] for one in found[: len(config.depths)]],
        "depths": list(config.depths),
        "seen": found[config.depths.index(SHOWN)]["seen"],
    }


def _one(config: Config, depth: int, seed: int) -> Evidence:
    learn, test = images(config.data, config.rows, seed)
    shape = tuple(learn[0].shape[1:])
    make = partial(ConvNet, shape, 10, (config.filters,), convs=depth, padding="same")
    net = train(make, learn, updates=config.updates, seed=seed)
    maps = feature_maps(net, test[0], [f"conv{k}" for k in range(1, depth + 1)])
    seen = {"x": maps.x, "maps": maps.maps, "p": maps.probabilities}
    return {"accuracy": right(net, test), "parameters": size(net), "seen": seen}


def judge(evidence: Evidence) -> list[Finding]:
    """B098: accuracy rises up to two or three convolutions, and more add nothing."""
    depths, accuracy = evidence["depths"], evidence["accuracy"]  # (S, K)
    inside = [k for k, depth in enumerate(depths) if depth in ENOUGH]
    best = accuracy[:, inside[int(accuracy[:, inside].mean(0).argmax())]]
    deeper = accuracy[:, [k for k, depth in enumerate(depths) if depth > max(ENOUGH)]]
    rises = above(best - accuracy[:, 0])
    more = deeper - best[:, None]  # (S, deeper)
    flat = not any(above(v) and v.mean() > TOLERANCE for v in more.T)
    verdict: Verdict = "confirmed" if rises and flat else "corrected" if flat else "refuted"
    said = ", ".join(f"{depth}: {give(100 * v, '.1f')}" for depth, v in zip(depths, accuracy.T, strict=True))
    end = "" if rises else " One convolution is as good."
    why = (
        f"Accuracy in % by convolutions, {said}. More than {max(ENOUGH)} add {100 * more.mean(0).max():+.1f} points to "
        f"the best of {ENOUGH[0]} and {ENOUGH[1]}.{end}"
    )
    middle, spread = accuracy.mean(0).tolist(), accuracy.std(0, ddof=1).tolist()
    return [Finding("B098", "2 to 3 convolutions are enough", middle, spread, verdict, why)]


def tables(evidence: Evidence) -> dict[str, Table]:
    """Parameters, places seen and accuracy by depth."""
    depths = evidence["depths"]
    columns = {
        "convolutions": depths,
        "parameters": evidence["parameters"],
        "places seen": [f"{2 * k + 2} x {2 * k + 2}" for k in depths],
        "test accuracy (%)": [give(100 * v, ".1f") for v in evidence["accuracy"].T],
    }
    return {"depth": Table(columns, "Mean ± standard deviation over seeds")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Accuracy against depth: mean and range over seeds; a digit and its maps after every convolution."""
    seen, at, accuracy = evidence["seen"], evidence["depths"], 100 * evidence["accuracy"]
    ways = {"mean of the seeds": accuracy.mean(0), "highest": accuracy.max(0), "lowest": accuracy.min(0)}
    lines = {"Reading digits of 8 x 8 pixels": {name: (at, values) for name, values in ways.items()}}
    drawn = plots.panels(lines, x="convolutions", label="test accuracy (%)", log=False)
    drawn.axes[0].set_xticks(at)
    digits = [str(k) for k in range(len(seen["p"]))]
    return {"depth": drawn, "maps": plots.maps(seen["x"], seen["maps"], seen["p"], digits)}
