"""How many parameters and how many images does a dense network need to read as well as a convolutional one?

Question: digits in the middle of the image, and digits at a random place in a rim of three dark pixels. Which dense
network is as accurate as a convolutional one, and how do both profit from more training images?

    convolutional: 3 x 3 convolutions with max pooling, then the output:      8, 16 maps, and 16, 32
    dense:         one hidden layer of H ReLU units:      D H + H + 10 H + 10 parameters,   D = 64 or 196 pixels
    needed         parameters of the least dense network that is as accurate as the convolutional one, in the same seed;
                   infinite where none is

Every network has the same number of updates. For the curves of images, the dense network is the best of all widths at
each number of images and in each seed, judged on the test images: a favour to it.
Shapes: P = 2 placements, S seeds, H widths, F convolutional networks, M numbers of images.

Cost: about 110 CPU-seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

from ... import plots
from ...nn import MLP, ConvNet
from ...results import Table
from .._study import Evidence, Finding, Verdict, give, pieces
from ..optimisers._race import graded
from ._nets import above, right, shuffled, size, train

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "needed", "tables"]

CLAIMS = {"A209": "confirmed", "A211": "corrected"}
PLACES = ("in the middle", "at random places")


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        data: The images.
        test: Images that are set aside.
        counts: Numbers of training images, ascending; the last is that of the comparison of parameters.
        widths: Hidden units of the dense networks.
        filters: Maps of the first convolution of the convolutional networks; the second has twice as many.
        rim: Dark pixels around digits at random places.
        updates: Of each network.
        seeds: Draws of images and weights.
    """

    data: str = "digits"
    test: int = 797
    counts: tuple[int, ...] = (50, 150, 400, 1000)
    widths: tuple[int, ...] = (8, 16, 32, 64, 256)
    filters: tuple[int, ...] = (8, 16)
    rim: int = 3
    updates: int = 400
    seeds: int = 3


TINY = Config(test=100, counts=(20, 40), widths=(4, 8), filters=(2, 4), updates=3, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Test accuracies (P, S, M, H) and (P, S, M, F), parameters (P, H) and (P, F)."""
    keys = [(config, place, seed, n) for place in range(2) for seed in range(config.seeds) for n in config.counts]
    found = pieces(_one, keys, run)
    shape = 2, config.seeds, len(config.counts)
    kept = {key: np.array([one[key] for one in found]) for key in found[0]}
    kept = {key: v.reshape(*shape, *v.shape[1:]) for key, v in kept.items()}
    sizes = {key: kept.pop(key)[:, 0, 0] for key in ("dense parameters", "conv parameters")}
    return {**kept, **sizes, "counts": list(config.counts)}


def _one(config: Config, place: int, seed: int, n: int) -> Evidence:
    rim = config.rim if place else 0
    x, y = shuffled(config.data, seed, rim=rim, moved=bool(place))
    test, shape = (x[-config.test :], y[-config.test :]), tuple(x.shape[1:])

    def tried(make: Callable[[], nn.Module]) -> tuple[float, int]:
        net = train(make, (x[:n], y[:n]), updates=config.updates, seed=seed)
        return right(net, test), size(net)

    dense = [tried(partial(_dense, shape, width)) for width in config.widths]
    conv = [tried(partial(ConvNet, shape, 10, (width, 2 * width), padding="same")) for width in config.filters]
    found = {"dense": dense, "conv": conv}
    kept: Evidence = {name: [accuracy for accuracy, _ in both] for name, both in found.items()}
    return kept | {f"{name} parameters": [count for _, count in both] for name, both in found.items()}


def _dense(shape: tuple[int, ...], width: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), MLP(int(np.prod(shape)), 10, (width,)))


# ---- judging


def needed(accuracy: np.ndarray, parameters: np.ndarray, goal: float) -> float:
    """Parameters of the least network that reaches the goal; infinite where none does: (H,), (H,) -> a number.

    Example:
        >>> accuracy, parameters = np.array([0.8, 0.95, 0.9]), np.array([10, 20, 30])
        >>> needed(accuracy, parameters, 0.9), needed(accuracy, parameters, 0.99)
        (20.0, inf)
    """
    return min(map(float, parameters[accuracy >= goal]), default=np.inf)


def _ratios(evidence: Evidence) -> np.ndarray:
    """Parameters that a dense network needs over those of the convolutional one: (P, F, S)."""
    dense, conv = evidence["dense"][:, :, -1], evidence["conv"][:, :, -1]  # (P, S, H), (P, S, F)
    sizes, own = evidence["dense parameters"], evidence["conv parameters"]
    return np.array(
        [
            [
                [needed(dense[p, s], sizes[p], conv[p, s, f]) / own[p, f] for s in range(conv.shape[1])]
                for f in range(conv.shape[2])
            ]
            for p in range(2)
        ]
    )


def judge(evidence: Evidence) -> list[Finding]:
    """A209: more parameters in every seed, at either placement. A211: less accurate at every number of images."""
    return [_parameters(evidence), _images(evidence)]


def _parameters(evidence: Evidence) -> Finding:
    ratios, own = _ratios(evidence), evidence["conv parameters"]
    more = ratios > 1
    verdict: Verdict = "confirmed" if more.all() else "refuted" if not more.any() else "not reproduced"
    if verdict == "not reproduced" and more[1].all():
        verdict = "corrected"  # only where digits are not in the same place
    said = "; ".join(
        f"{place}, {own[p, f]:,}: {' '.join(_times(v) for v in ratios[p, f])}"
        for p, place in enumerate(PLACES)
        for f in range(ratios.shape[1])
    )
    sizes = " and ".join(f"{v:,}" for v in evidence["dense parameters"].max(1))
    why = (
        f"By placement and parameters of the convolutional network, so many times as many has the least dense one that "
        f"is as accurate, seed by seed, {said}. None: no dense network of up to {sizes} parameters is."
    )
    finite = np.minimum(ratios, _limit(evidence)[:, None, None])
    measured, spread = np.median(finite, -1).tolist(), finite.std(-1, ddof=1).tolist()
    return Finding("A209", "fewer parameters", measured, spread, verdict, why)


def _times(ratio: float) -> str:
    return f"{ratio:.1f}" if np.isfinite(ratio) else "none"


def _limit(evidence: Evidence) -> np.ndarray:
    """What stands for none: the largest dense over the least convolutional network: (P,)."""
    return evidence["dense parameters"].max(1) / evidence["conv parameters"].min(1)


def _best(evidence: Evidence) -> np.ndarray:
    """Accuracy of the convolutional network of most maps and of the best dense one: (2, P, S, M)."""
    return np.array([evidence["conv"][..., -1], evidence["dense"].max(-1)])


def _images(evidence: Evidence) -> Finding:
    conv, dense = _best(evidence)
    gain = conv - dense  # (P, S, M)
    held = {
        f"{n} {place}": above(gain[p, :, m]) for p, place in enumerate(PLACES) for m, n in enumerate(evidence["counts"])
    }
    verdict, _ = graded(held)
    counts = ", ".join(map(str, evidence["counts"]))
    said = "; ".join(f"{place}: {', '.join(give(100 * v, '.1f') for v in gain[p].T)}" for p, place in enumerate(PLACES))
    lost = [name for name, holds in held.items() if not holds]
    why = (
        f"Accuracy of the convolutional network minus that of the best dense one, in points of %, with {counts} "
        f"images, {said}. "
        f"{'It lies surely above everywhere' if not lost else 'Not surely above: ' + ', '.join(lost)}."
    )
    middle, spread = gain.mean(1), gain.std(1, ddof=1)
    return Finding("A211", "the CNN curve lies above", middle.tolist(), spread.tolist(), verdict, why)


def tables(evidence: Evidence) -> dict[str, Table]:
    """Accuracy and parameters of every network, and what a dense one needs for equal accuracy."""
    found: list[dict[str, Any]] = []
    ratios = _ratios(evidence)
    for p, place in enumerate(PLACES):
        for name in ("conv", "dense"):
            for k, count in enumerate(evidence[f"{name} parameters"][p]):
                times = " ".join(_times(v) for v in ratios[p, k]) if name == "conv" else ""
                accuracy = give(100 * evidence[name][p, :, -1, k], ".1f")
                kind = "convolutional" if name == "conv" else "dense"
                found.append(
                    {
                        "digits": place,
                        "network": kind,
                        "parameters": int(count),
                        "accuracy (%)": accuracy,
                        "dense needs": times,
                    }
                )
    columns = {key: [row[key] for row in found] for key in found[0]}
    return {
        "parameters": Table(columns, "Accuracy: mean ± standard deviation; dense needs so many times the parameters")
    }


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Accuracy against parameters, and against training images: means over seeds."""
    names = {"conv": "convolutional", "dense": "dense"}
    sizes = {
        place: {
            said: (evidence[f"{name} parameters"][p], 100 * evidence[name][p, :, -1].mean(0))
            for name, said in names.items()
        }
        for p, place in enumerate(PLACES)
    }
    both = 100 * _best(evidence).mean(2)  # (2, P, M)
    counts = {
        place: {said: (evidence["counts"], both[k, p]) for k, said in enumerate(("convolutional", "best dense"))}
        for p, place in enumerate(PLACES)
    }
    return {
        "parameters": _drawn(sizes, "parameters", [1000, 3000, 10_000, 30_000]),
        "images": _drawn(counts, "training images", evidence["counts"]),
    }


def _drawn(lines: dict[str, Any], x: str, ticks: list[int]) -> Figure:
    drawn = plots.panels(lines, x=x, label="test accuracy (%)", log_x=True, log=False, share=False)
    for axes in drawn.axes:
        axes.set_xticks(ticks, [f"{v:,}" for v in ticks])
        axes.set_xticks([], minor=True)
    return drawn
