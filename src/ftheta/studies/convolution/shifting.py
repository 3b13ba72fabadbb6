"""Do pooling and augmentation make a network indifferent to shifts, and how nearly?

Question: digits with a dark rim of three pixels are moved by 1, 2 and 3 pixels in eight directions; nothing is lost.
How often does the predicted digit change, and how far do the probabilities move, without pooling, with every second
place kept, with max pooling, with max pooling and moved training images, and where invariance is built in?

    changed = share of images with argmax p(T x) ≠ argmax p(x),      violation = ½ Σ_k |p_k(T x) - p_k(x)|,   in [0, 1]
    exactly invariant:  circular convolutions, then the maximum over all places:  max_i (K ⋆ T h)_i = max_i (K ⋆ h)_i

Networks have two 3 x 3 convolutions and an output that sees all places; the invariant one has three. Moved training
images: a new whole shift of up to 3 pixels along both axes each time an image is seen.
Shapes: S seeds, N networks, shifts 0 to 3.

References: Azulay and Weiss, arXiv:1805.12177 (2018); Zhang, arXiv:1904.11486 (2019).
Cost: about 70 CPU-seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor, nn

from ... import plots
from ...data import augmentation
from ...nn import ConvNet, Shift, convolution, initialise, pooling
from ...results import Table
from .._study import Evidence, Finding, Verdict, give, pieces
from ..optimisers._race import graded
from ._nets import above, images, probabilities, train

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "invariant_net", "judge", "measure", "tables"]

CLAIMS = {"A206": "confirmed", "C296": "confirmed"}
NETS = ("no pooling", "every second place", "max pooling", "max pooling, moved images", "invariant")
NONE, STRIDE, MAX, MOVED, EXACT = range(len(NETS))
RIM = 3
ROUNDING = 1e-4  # violation that is no more than rounding
SEEN = 0.01  # violation that no rounding explains


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        data: The images.
        rows: Training images; all others are test images.
        filters: Maps of each convolution.
        updates: Of each network.
        seeds: Draws of images and weights.
    """

    data: str = "digits"
    rows: int = 1000
    filters: tuple[int, ...] = (8, 16)
    updates: int = 500
    seeds: int = 4


TINY = Config(rows=1600, filters=(2, 2), updates=5, seeds=2)


def invariant_net(filters: tuple[int, ...], n_out: int) -> nn.Module:
    """Circular convolutions without a stride, the maximum of each map over all places, and a linear output."""
    layers: list[nn.Module] = []
    for before, after in zip((1, *filters), filters, strict=False):
        layers += [convolution(before, after, mode="circular"), nn.ReLU()]
    net = nn.Sequential(*layers, pooling("global_max"), nn.Flatten(), nn.Linear(filters[-1], n_out))
    initialise(net, "he")
    return net


def _net(config: Config, kind: int, shape: tuple[int, ...]) -> Callable[[], nn.Module]:
    if kind == EXACT:
        return partial(invariant_net, (*config.filters, 2 * config.filters[-1]), 10)
    pool = {NONE: "none", STRIDE: "stride"}.get(kind, "max")
    return partial(ConvNet, shape, 10, config.filters, padding="same", pool=pool)


def _shifts(size: int) -> Iterator[Shift]:
    """The eight directions of a compass."""
    return (Shift(by, "zeros") for by in product((-size, 0, size), repeat=2) if any(by))


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Changed predictions, violations and accuracies by shift: (S, N, 4); the largest violation: (S, N)."""
    keys = [(config, kind, seed) for seed in range(config.seeds) for kind in range(len(NETS))]
    found = pieces(_one, keys, run)
    kept = {key: np.array([one[key] for one in found]) for key in found[0]}
    return {key: v.reshape(config.seeds, len(NETS), *v.shape[1:]) for key, v in kept.items()}


def _one(config: Config, kind: int, seed: int) -> Evidence:
    learn, test = images(config.data, config.rows, seed, rim=RIM)
    augment = augmentation({"crop": RIM}) if kind == MOVED else None
    make = _net(config, kind, tuple(learn[0].shape[1:]))
    net = train(make, learn, updates=config.updates, seed=seed, augment=augment)
    found = [_moved(net, test, by) for by in range(RIM + 1)]
    kept = {key: [one[key] for one in found] for key in ("changed", "violation", "accuracy")}
    return kept | {"worst": max(one["worst"] for one in found)}


def _moved(net: nn.Module, test: tuple[Tensor, Tensor], by: int) -> dict[str, Any]:
    """What shifts by so many pixels change."""
    x, y = test
    p = probabilities(net, x)  # (B, K)
    each = [probabilities(net, shift(x)) for shift in _shifts(by)] or [p]
    away = [0.5 * (q - p).abs().sum(1) for q in each]
    return {
        "changed": float(np.mean([(q.argmax(1) != p.argmax(1)).double().mean() for q in each])),
        "violation": float(np.mean([d.mean() for d in away])),
        "accuracy": float(np.mean([(q.argmax(1) == y).double().mean() for q in each])),
        "worst": max(d.max().item() for d in away),
    }


# ---- judging


def judge(evidence: Evidence) -> list[Finding]:
    """A206: fewer predictions change with max pooling than without, at every shift. C296: none, less, exact."""
    return [_pooled(evidence), _augmented(evidence)]


def _pooled(evidence: Evidence) -> Finding:
    changed = evidence["changed"][..., 1:]  # (S, N, 3)
    fewer = changed[:, NONE] - changed[:, MAX]
    verdict, words = graded({f"by {s + 1}": above(fewer[:, s]) for s in range(RIM)})
    than_stride = changed[:, STRIDE] - changed[:, MAX]
    also = [s + 1 for s in range(RIM) if above(than_stride[:, s])]
    said = "; ".join(
        f"{NETS[k]}: {', '.join(give(100 * v, '.0f') for v in changed[:, k].T)}" for k in (NONE, STRIDE, MAX)
    )
    why = (
        f"Changed predictions in %, for shifts by 1, 2 and 3 pixels, {said}. Fewer with max pooling, {words}. Against "
        f"every second place, which has as many weights, fewer for {_listed(also)}. No network of these is invariant."
    )
    middle = changed[:, [NONE, MAX]]
    return Finding(
        "A206",
        "pooling improves translation invariance",
        middle.mean(0).tolist(),
        middle.std(0, ddof=1).tolist(),
        verdict,
        why,
    )


def _listed(shifts: list[int]) -> str:
    return f"shifts by {', '.join(map(str, shifts))}" if shifts else "no shift"


def _augmented(evidence: Evidence) -> Finding:
    violation, worst = evidence["violation"][..., 1:].mean(-1), evidence["worst"]  # (S, N)
    less = above(violation[:, MAX] - violation[:, MOVED])
    near = bool((worst[:, MOVED] > SEEN).all())
    exact = bool((worst[:, EXACT] < ROUNDING).all())
    verdict: Verdict = "confirmed" if less and near and exact else "not reproduced"
    if not less or (worst[:, MOVED] < ROUNDING).all():
        verdict = "refuted"
    kinds = (MAX, MOVED, EXACT)
    accuracy = evidence["accuracy"]  # (S, N, 4)
    said = "; ".join(f"{NETS[k]}: {violation[:, k].mean():.2g}, at most {worst[:, k].max():.2g}" for k in kinds)
    ends = "; ".join(
        f"{NETS[k]}: {give(accuracy[:, k, 0], '.3f')} and {give(accuracy[:, k, 1:].mean(-1), '.3f')}" for k in kinds
    )
    why = f"Violation in the mean and at most, {said}. Accuracy where digits are in the middle and where not, {ends}."
    found = violation[:, kinds]
    printed = "approximate, not exact, invariance"
    return Finding("C296", printed, found.mean(0).tolist(), found.std(0, ddof=1).tolist(), verdict, why)


def tables(evidence: Evidence) -> dict[str, Table]:
    """Accuracy, changed predictions and violations of every network."""
    columns: dict[str, list[Any]] = {"network": list(NETS)}
    columns |= {"accuracy, in the middle": [give(v, ".3f") for v in evidence["accuracy"][..., 0].T]}
    for by in range(1, RIM + 1):
        columns |= {f"changed by {by} (%)": [give(100 * v, ".1f") for v in evidence["changed"][..., by].T]}
    columns |= {"largest violation": [f"{v:.2g}" for v in evidence["worst"].max(0)]}
    return {"shifts": Table(columns, "Mean ± standard deviation over seeds; the largest violation of all")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Changed predictions and accuracy against the shift: means over seeds."""
    at = np.arange(RIM + 1)
    values = {"changed predictions": evidence["changed"], "test accuracy": evidence["accuracy"]}
    lines = {title: {name: (at, 100 * v.mean(0)[k]) for k, name in enumerate(NETS)} for title, v in values.items()}
    drawn = plots.panels(lines, x="shift (pixels)", label="share of test images (%)", log=False)
    for axes in drawn.axes:
        axes.set_xticks(at)
    return {"shifts": drawn}
