"""What does a step that is too large for the curvature do?

Question: does full-batch descent settle where the sharpness is 2/α, does a rate beyond that end in a flatter minimum or
nowhere, and who leaves a saddle?

    edge of stability   α λ_max -> 2     1-20-20-1 tanh, 20 points of the Chebyshev cubic, L = mean (f - y)² / 2
    catapult            L = (u·v)² / 2m,  λ = (‖u‖² + ‖v‖²) / m:   lazy for α λ < 2, flatter for 2 to 4, lost beyond
    saddle              L = (x² - 1)² / 4 + y² / 2 at 0:   from x₀, log(1 / x₀) / log(1 + α) steps of GD

Shapes: R rates, T steps. Cohen et al. 2021, arXiv:2103.00065; Lewkowycz et al. 2020, arXiv:2003.02218.

Cost: about 35 CPU-seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, jacrev, vmap

from ... import plots
from ...draw import Draw
from ...train import minimise
from .._study import Evidence, Finding, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"C094": "confirmed", "C165": "corrected"}
LAZY, CATAPULT, LOST = (0.5, 1.5), (2.5, 3.5), (4.5,)  # α λ at the start
SLOPE = 0.01  # of the two batches along x, against each other


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        rates: Learning rates of the net.
        hidden: Units of each of its two hidden layers.
        degree: Degree of the Chebyshev polynomial. 3 was taken because it has settled by then; tried with 5, α λ was
            still between 1.8 and 2.4 after as many steps.
        steps: Its steps.
        every: Steps between two looks at its sharpness.
        width: Units m of the catapult.
        decades: Starts 10^-k beside the ridge of the saddle.
        seeds: Orders of the batches at the saddle.
    """

    rates: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4)
    hidden: int = 20
    degree: int = 3
    steps: int = 6000
    every: int = 50
    width: int = 64
    decades: tuple[int, ...] = (2, 4, 6, 8, 10)
    seeds: int = 5


TINY = Config(rates=(0.1, 0.4), hidden=4, steps=60, every=10, width=16, decades=(2, 4), seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """The three experiments."""
    edge, catapult, saddle = pieces(lambda work: work(config), [(_edge,), (_catapult,), (_saddle,)], run)
    return {"edge": edge, "catapult": catapult, "saddle": saddle}


def _edge(config: Config) -> Evidence:
    """Loss and sharpness of the net along full-batch descents, one a rate: (T, R)."""
    f, theta = _net(config.hidden, config.degree)
    rates = torch.tensor(config.rates, dtype=torch.double)[:, None]
    slope, curve = vmap(grad(f)), vmap(jacrev(grad(f)))
    theta, found = theta.expand(len(rates), -1), []
    for step in range(config.steps + 1):
        if step % config.every == 0:
            sharp = torch.linalg.eigvalsh(curve(theta))[:, -1]
            found.append((step, vmap(f)(theta).numpy(), sharp.numpy()))
        theta = theta - rates * slope(theta)
    steps, losses, sharpness = map(np.array, zip(*found, strict=True))
    return {"rates": np.array(config.rates), "steps": steps, "losses": losses, "sharpness": sharpness}


def _net(hidden: int, degree: int) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    """The loss of a net as a function of all its weights in one vector, and where they start."""
    x = torch.linspace(-1, 1, 20, dtype=torch.double)[:, None]
    y = torch.cos(degree * torch.arccos(x))[:, 0]
    shapes = [(hidden, 1), (hidden, hidden), (1, hidden)]
    cuts = [n for out, inp in shapes for n in (out * inp, out)]

    def loss(theta: Tensor) -> Tensor:
        h, parts = x, theta.split(cuts)
        for i, shape in enumerate(shapes):
            h = h @ parts[2 * i].reshape(shape).T + parts[2 * i + 1]
            h = torch.tanh(h) if i < 2 else h
        return (h[:, 0] - y).square().mean() / 2

    generator = Draw(0).at("stability").generator()
    drawn = [torch.randn(out * inp, generator=generator, dtype=torch.double) / inp**0.5 for out, inp in shapes]
    start = [part for w, (out, _) in zip(drawn, shapes, strict=True) for part in (w, w.new_zeros(out))]
    return loss, torch.cat(start)


def _catapult(config: Config) -> Evidence:
    """Losses and α λ along descents from one start, by α λ at the start: padded with NaN where one was ended."""
    m = config.width
    start = torch.randn(2 * m, generator=Draw(0).at("catapult").generator(), dtype=torch.double)
    first = float(start.square().sum() / m)
    products = (*LAZY, *CATAPULT, *LOST)
    kept = {"losses": np.full((21, len(products)), np.nan), "sharpness": np.full((21, len(products)), np.nan)}
    for k, product in enumerate(products):
        path = minimise(lambda t: (t[:m] @ t[m:]).square() / (2 * m), start, lr=product / first, steps=20)
        ok = np.isfinite(path.values) & (path.values < 1e6)
        kept["losses"][: len(ok), k][ok] = path.values[ok]
        kept["sharpness"][: len(ok), k][ok] = (product / first * np.square(path.points).sum(1) / m)[ok]
    return {"products": np.array(products), **kept}


def _saddle(config: Config) -> Evidence:
    """Steps until |x| is above one half, -1 for never: GD by start, SGD from the ridge by seed; and a net's saddle."""

    def plain(theta: Tensor) -> Tensor:
        return (theta[0] ** 2 - 1) ** 2 / 4 + theta[1] ** 2 / 2

    batches = [lambda t: plain(t) + SLOPE * t[0], lambda t: plain(t) - SLOPE * t[0]]
    linear = [lambda t, y=y: (t[0] * t[1] - y).square() / 2 for y in (0.5, 1.5)]
    starts = [0.0, *(10.0**-k for k in config.decades)]
    gd = [minimise(batches, [x, 1.0], lr=0.1, steps=400) for x in starts]
    sgd = [minimise(batches, [0.0, 1.0], optimizer="sgd", lr=0.1, steps=400, seed=s) for s in range(config.seeds)]
    still = [minimise(linear, [0.0, 0.0], optimizer="sgd", lr=0.1, steps=400, seed=s) for s in range(config.seeds)]
    return {
        "starts": np.array(starts),
        "gd": np.array([_escape(path.points) for path in gd]),
        "sgd": np.array([_escape(path.points) for path in sgd]),
        "moved": float(max(np.abs(path.points).max() for path in still)),
        "paths": np.abs(np.stack([gd[0].points[:, 0], gd[-1].points[:, 0], sgd[0].points[:, 0]])),
    }


def _escape(points: np.ndarray) -> int:
    far = np.flatnonzero(np.abs(points[:, 0]) > 0.5)
    return int(far[0]) if far.size else -1


# ---- judging


def judge(evidence: Evidence) -> list[Finding]:
    """C094: who leaves a saddle. C165: what a step does to the sharpness without any noise."""
    return [_leaving(evidence["saddle"]), _flattening(evidence["edge"], evidence["catapult"])]


def _leaving(saddle: Evidence) -> Finding:
    gd, sgd = saddle["gd"], saddle["sgd"]
    pace = np.diff(gd[1:]) / np.diff(-np.log10(saddle["starts"][1:]))
    due = math.log(10) / math.log(1.1)
    left = bool(gd[0] < 0 and (sgd > 0).all())
    timely = bool((gd[1:] > 0).all() and np.abs(pace - due).max() < 0.1 * due)
    why = (
        f"From the ridge GD never leaves, SGD leaves after {int(np.median(sgd))} steps (median of {len(sgd)} orders). "
        f"From anywhere else GD leaves too, {pace.mean():.1f} steps later for each decade nearer (theory {due:.1f}). "
        "SGD needs batches that disagree: at the origin of a two-layer linear net, where each batch has gradient 0, it "
        f"moved by {saddle['moved']:g}."
    )
    verdict = "confirmed" if left and timely and saddle["moved"] == 0 else "not reproduced"
    return Finding("C094", "SGD leaves, GD stays", [int(gd[0]), float(np.median(sgd))], None, verdict, why)


def _flattening(edge: Evidence, catapult: Evidence) -> Finding:
    late = edge["sharpness"][2 * len(edge["steps"]) // 3 :] * edge["rates"]  # (T/3, R)
    settled = late.mean(0)
    lowered = edge["losses"][-1] < edge["losses"][0]
    ends, peaks, kinds = (f(catapult) for f in (_ends, _peaks, lambda c: c["products"]))
    flung = (kinds > 2) & (kinds < 4)
    thrown = bool((peaks[flung] > 2).all() and (ends[flung] < 2).all() and (peaks[kinds < 2] <= 1).all())
    lost = bool(np.isnan(catapult["losses"][-1][kinds > 4]).all())
    good = bool(np.abs(settled - 2).max() < 0.2 and lowered.all() and thrown and lost)
    say = lambda values, form="g": ", ".join(f"{v:{form}}" for v in values)  # noqa: E731
    why = (
        f"Without any noise the step sets the sharpness: α λ over the last third of full-batch descents with α = "
        f"{say(edge['rates'])} (limit 2). Catapult from α λ = {say(kinds[flung])}: the loss rises "
        f"{say(peaks[flung], '.1f')} times, then settles at α λ = {say(ends[flung], '.2f')}; from {kinds[-1]:g} it is "
        "lost."
    )
    measured, spread = settled.tolist(), late.std(0).tolist()
    return Finding("C165", "noise flattens", measured, spread, "corrected" if good else "not reproduced", why)


def _ends(catapult: Evidence) -> np.ndarray:
    """The last α λ of each descent."""
    return np.array([column[np.isfinite(column)][-1] for column in catapult["sharpness"].T])


def _peaks(catapult: Evidence) -> np.ndarray:
    """The highest loss of each descent over its first."""
    return np.nanmax(catapult["losses"], axis=0) / catapult["losses"][0]


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Sharpness and loss at the edge of stability and of the catapult, and the ways off a saddle."""
    edge, catapult, saddle = (evidence[key] for key in ("edge", "catapult", "saddle"))
    at = {"step": edge["steps"]}
    sharp = {f"α = {r:g}": edge["sharpness"][:, k] * r for k, r in enumerate(edge["rates"])}
    losses = {f"α = {r:g}": edge["losses"][:, k] for k, r in enumerate(edge["rates"])}
    first = {"step": np.arange(len(catapult["losses"]))}
    thrown = {f"α λ = {p:g}": catapult["losses"][:, k] for k, p in enumerate(catapult["products"])}
    flat = {f"from {p:g}": catapult["sharpness"][:, k] for k, p in enumerate(catapult["products"][:-1])}
    names = ("GD from the ridge", f"GD from x = {saddle['starts'][-1]:g}", "SGD from the ridge")
    away = dict(zip(names, saddle["paths"] + 1e-16, strict=True))
    limit = {"limit 2": np.full(len(edge["steps"]), 2.0)}
    draw = lambda columns, label, title: plots.curves(columns, x="step", label=label, title=title)  # noqa: E731
    return {
        "edge-sharpness": draw(at | sharp | limit, "α λ_max (no unit)", "Full-batch descent settles where α λ = 2"),
        "edge-loss": draw(at | losses, "loss", "The loss falls on the whole, not at every step"),
        "catapult-loss": draw(first | thrown, "loss", "Catapult: the loss first grows (by α λ at the start)"),
        "catapult-sharpness": draw(first | flat, "α λ (no unit)", "A catapult ends in a flatter minimum"),
        "saddle": draw({"step": np.arange(saddle["paths"].shape[1])} | away, "|x| + 1e-16", "Leaving a saddle"),
    }
