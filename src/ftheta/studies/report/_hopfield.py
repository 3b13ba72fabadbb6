"""Digits to store in a Hopfield network, and where its states come to rest, after how many iterations."""

from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional as F

from ...data import load as load_data
from ...models import HopfieldNetwork

SMALL = 1e-4  # a step that is taken for rest


class Followed(NamedTuple):
    """What became of cues."""

    state: np.ndarray  # where they are at last: (n, N)
    end: np.ndarray  # index of the stored pattern there, -1 for none: (n,)
    stopped: np.ndarray  # iterations before the first step in which no unit moves by 1e-4: (n,)
    needed: np.ndarray  # iterations up to the last step in which one does: (n,)


def followed(net: HopfieldNetwork, cues: np.ndarray, steps: int) -> Followed:
    """All cues (n, N) until they rest, or for so many iterations."""
    x, moving = cues.copy(), np.arange(len(cues))
    stopped, needed = np.full(len(cues), steps), np.zeros(len(cues), dtype=int)
    for t in range(steps):
        after = net.recall(x[moving], steps=1)
        moved = np.abs(after - x[moving]).max(1)
        x[moving] = after
        short = moving[moved < SMALL]
        stopped[short] = np.minimum(stopped[short], t)
        needed[moving[moved >= SMALL]] = t + 1
        moving = moving[moved > 0]
        if not len(moving):
            break
    return Followed(x, net.matched(x), stopped, needed)


@cache
def patterns(data: str, size: str, seed: int) -> np.ndarray:
    """One digit of each class: (10, H W) of -1 and +1."""
    rows = load_data(data)
    x, y = np.asarray(rows.x[: len(rows.x) - rows.official]), np.asarray(rows.y)[: len(rows.x) - rows.official]
    some = x[[np.flatnonzero(y == k)[seed] for k in np.unique(y)]].astype(float)
    height, width = map(int, size.split(" x "))
    images = torch.tensor(some).view(len(some), 1, *(rows.shape or ()))
    fields = F.adaptive_avg_pool2d(images, (height, width)).numpy()
    return np.where(fields > (255 if x.max() > 16 else 16) / 2, 1.0, -1.0).reshape(len(some), -1)
