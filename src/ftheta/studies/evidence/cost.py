"""What does a forward pass cost?

Question: how do multiply-adds and seconds of a forward pass grow with the depth and the width of a dense network?

    multiply-adds = B · L · W²       B rows, L layers, W units in each, inputs and outputs included

Multiply-adds are counted by torch as they happen. Seconds are those of one thread, the least of several passes, of few
and of many rows: with few, time goes into fetching the weights, with narrow layers into the calls, so the slope in the
width is fitted from 256 on.

Cost: about 40 CPU-seconds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from ... import plots
from ...draw import Draw
from ...nn import MLP
from .._study import Evidence, Finding, give, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"A179": "confirmed"}
START = 256


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        depths: Numbers of layers, at `width`.
        widths: Units of a layer, at `depth`.
        depth: Layers where the width grows.
        width: Units where the depth grows.
        rows: Rows of a pass: few, and many.
        passes: Timed passes a repetition, of which the least counts.
        seeds: Repetitions.
    """

    depths: tuple[int, ...] = (2, 4, 8, 16, 32)
    widths: tuple[int, ...] = (64, 128, 256, 512, 1024, 2048)
    depth: int = 4
    width: int = 256
    rows: tuple[int, int] = (16, 512)
    passes: int = 5
    seeds: int = 5


TINY = Config(depths=(1, 2, 4), widths=(128, 256, 512), depth=2, rows=(2, 32), passes=2, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Multiply-adds (2, G) and seconds (2, S, G) of few and of many rows, along both axes."""
    sizes = {"depth": [(d, config.width) for d in config.depths], "width": [(config.depth, w) for w in config.widths]}
    every = [size for group in sizes.values() for size in group]
    keys = [
        (config.passes, rows, *size, seed) for rows in config.rows for seed in range(config.seeds) for size in every
    ]
    found = np.array(pieces(_cost, keys, run)).reshape(2, config.seeds, -1, 2)  # (2, S, depths + widths, 2)
    parts = zip(sizes, np.split(found, [len(config.depths)], axis=2), strict=True)
    return {
        "rows": list(config.rows),
        **{
            axis: {
                "size": np.array(getattr(config, f"{axis}s")),
                "count": cost[:, 0, :, 0],
                "seconds": cost[..., 1],
                "start": START if axis == "width" else 0,
            }
            for axis, cost in parts
        },
    }


def _cost(passes: int, rows: int, depth: int, width: int, seed: int) -> list[float]:
    """Multiply-adds and seconds of one forward pass."""
    with Draw(seed).at("build").scope():
        net = MLP(width, width, (width,) * (depth - 1)).eval()
    x = torch.randn(rows, width, generator=Draw(seed).generator("x"))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            net(x)
        with torch.no_grad():
            return [counter.get_total_flops() / 2, min(_seconds(net, x) for _ in range(passes))]
    finally:
        torch.set_num_threads(threads)


def _seconds(net: MLP, x: torch.Tensor) -> float:
    begin = time.thread_time()  # not of those who share the machine
    net(x)
    return time.thread_time() - begin


def _slope(axis: Evidence, cost: np.ndarray) -> float:
    large = axis["size"] >= axis["start"]
    return float(np.polyfit(np.log(axis["size"][large]), np.log(cost[large]), 1)[0])


def judge(evidence: Evidence) -> list[Finding]:
    """A179: with many rows both slopes are within 0.05 in multiply-adds and within 0.25 in seconds."""
    axes, powers = [evidence[axis] for axis in ("depth", "width")], np.array([1.0, 2.0])
    counts = np.array([_slope(axis, axis["count"][1]) for axis in axes])
    times = np.array([[[_slope(axis, s) for s in part] for part in axis["seconds"]] for axis in axes])  # (2, 2, S)
    (few, mean), sd = times.mean(2).T, times[:, 1].std(1, ddof=1)
    counted, timed = (np.abs(counts - powers) < 0.05).all(), (np.abs(mean - powers) < 0.25).all()
    verdict = "refuted" if not counted else "confirmed" if timed else "not reproduced"
    why = (
        f"Slopes in multiply-adds {counts[0]:.2f} and {counts[1]:.2f}; in seconds {give(times[0, 1])} and "
        f"{give(times[1, 1])} with {evidence['rows'][1]} rows, {few[0]:.2f} and {few[1]:.2f} with "
        f"{evidence['rows'][0]}: the powers are of the arithmetic; time follows where that is most of the work."
    )
    return [Finding("A179", [1.0, 2.0], [*counts.tolist(), *mean.tolist()], [0.0, 0.0, *sd.tolist()], verdict, why)]


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Both costs along both axes, with many rows."""
    panels, labels = {}, {}
    for axis, unit in (("depth", "layers"), ("width", "units in each layer")):
        e = evidence[axis]
        for what, cost in (("multiply-adds", e["count"][1]), ("seconds", np.median(e["seconds"][1], 0))):
            title = f"{what}, by {axis}"
            panels[title] = (e["size"], cost, _slope(e, cost), e["start"])
            labels[title] = (unit, f"{what} of {evidence['rows'][1]} rows")
    return {"growth": plots.slopes(panels, labels=labels)}
