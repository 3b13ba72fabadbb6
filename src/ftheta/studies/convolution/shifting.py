"""Do pooling and augmentation make a network invariant to shifts, and how nearly?

Digits with a dark border of three pixels are shifted by 1, 2 and 3 pixels in eight directions; nothing is lost. How
often does the predicted digit change, and how far do the probabilities move, for five networks?

    changed = share of images with argmax p(T x) ≠ argmax p(x),      violation = ½ Σ_k |p_k(T x) - p_k(x)|,   in [0, 1]
    exactly invariant:  circular convolutions, then the maximum over all places:  max_i (K ⋆ T h)_i = max_i (K ⋆ h)_i

Networks have two 3 x 3 convolutions and an output that sees all places; the invariant one has three. Shifted training
images: a new shift of up to 3 pixels along both axes each time an image is seen.
References: Azulay and Weiss, arXiv:1805.12177 (2018); Zhang, arXiv:1904.11486 (2019).
"""

from itertools import product
from typing import Any

import numpy as np
import torch
from torch import nn

from ...data import augmentation
from ...nn import ConvNet, convolution, initialize, pooling
from .. import Checks, Measured, Study, holds, less, more
from ._nets import images, trained

NETS = ("no pooling", "every second place", "max pooling", "max pooling, shifted images", "invariant")
BORDER = 3


def invariant_net(filters: tuple[int, ...], n_out: int) -> nn.Module:
    """Circular convolutions without a stride, the maximum of each map over all places, and a linear output."""
    layers: list[nn.Module] = []
    for before, after in zip((1, *filters), filters, strict=False):
        layers += [convolution(before, after, mode="circular"), nn.ReLU()]
    net = nn.Sequential(*layers, pooling("global_max"), nn.Flatten(), nn.Linear(filters[-1], n_out))
    initialize(net, "he")
    return net


def network(name: str, filters: tuple[int, ...], shape: tuple[int, ...]) -> nn.Module:
    """One of the five networks."""
    if name == "invariant":
        return invariant_net((*filters, 2 * filters[-1]), 10)
    pool = {"no pooling": "none", "every second place": "stride"}.get(name, "max")
    return ConvNet(shape, 10, filters, padding="same", pool=pool)


def measure(
    seed: int, net: str, *, rows: int = 1000, filters: tuple[int, ...] = (8, 16), updates: int = 500
) -> dict[str, Any]:
    """What shifts by 0 to 3 pixels change: arrays over the shifts."""
    train, (x, y) = images("digits", rows, seed, border=BORDER)
    augment = augmentation({"crop": BORDER}) if "shifted" in net else None
    shape = tuple(x.shape[1:])
    found = trained(lambda: network(net, filters, shape), train, steps=updates, seed=seed, augment=augment)
    with torch.no_grad():
        p = found(x).softmax(-1)
        kept: dict[str, list[float]] = {"changed": [], "violation": [], "accuracy": [], "largest violation": []}
        for size in range(BORDER + 1):
            shifts = [by for by in product((-size, 0, size), repeat=2) if any(by)] or [(0, 0)]
            each = [found(x.roll(by, (2, 3))).softmax(-1) for by in shifts]
            apart = torch.stack([0.5 * (q - p).abs().sum(1) for q in each])
            answers = torch.stack([q.argmax(1) for q in each])
            kept["changed"].append((answers != p.argmax(1)).double().mean().item())
            kept["violation"].append(apart.mean().item())
            kept["accuracy"].append((answers == y).double().mean().item())
            kept["largest violation"].append(apart.max().item())
    return {name: np.array(values) for name, values in kept.items()}


TINY = {"seeds": 2, "rows": 1600, "filters": (2, 2), "updates": 5}
study = Study(measure, {"net": NETS}, seeds=5, tiny=TINY, inner={"shift": (0, 1, 2, 3)})


@study.claim("A206", says="pooling improves translation invariance")
def pooled(m: Measured) -> Checks:
    changed = m["changed"][:, 1:]  # (net, shift, seed)
    yield less("max pooling changes fewer predictions than none, at every shift", changed[2], changed[0])


@study.claim("C296", says="augmentation encourages invariance and does not guarantee it")
def augmented(m: Measured) -> Checks:
    violation = m["violation"][:, 1:].mean(1)  # (net, seed)
    largest = m["largest violation"].max(1)
    yield less("shifted training images lower the violation", violation[3], violation[2])
    yield more("and leave one that rounding does not explain", largest[3], 0.01)
    yield holds("an invariant network leaves none", (largest[4] < 1e-4).all(), f"{largest[4].max():.1g}")
