"""The loss at many points of a line or a plane in weight space.

    L_n = L(θ + Σ_k c_nk d_k)

Where one point is little work, many are one batched pass (`torch.func.vmap`); else one after the other.
Shapes: N points, K directions, P parameters, B + 1 sets of rows: all, and B mini-batches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from ...data import Batch
from ...train import threads, threads_for
from .._point import Point
from .._probe import calls

CACHE = 2**20  # numbers that one batched pass may hold: more than 4 MB of float32 leave the cache and are slower


def losses_along(point: Point, directions: np.ndarray, places: np.ndarray, batches: Sequence[Batch] = ()) -> np.ndarray:
    """Losses at all places c around θ, for all rows and for each mini-batch: (N, B + 1)."""
    origin = point.flat()
    d, c = (torch.from_numpy(v).to(origin) for v in (directions, places))  # (K, P), (N, K)

    def at(place: Tensor, batch: Batch) -> Tensor:
        return point.at(origin + place @ d, batch)

    with torch.no_grad(), threads(threads_for(len(origin) * point.batch.n)), point.open():
        with calls(point.module) as seen:
            point.value()
        chunk = CACHE // (len(origin) + sum(call.out.numel() for call in seen) + 1)
        found = []
        for batch in (point.batch, *batches):
            try:
                many = vmap(at, in_dims=(0, None), chunk_size=chunk, randomness="same") if chunk >= 16 else None
                losses = many(c, batch) if many else None
            except RuntimeError:  # the module asks for a number, or writes in place
                losses = None
            found.append(torch.stack([at(place, batch) for place in c]) if losses is None else losses)
    return torch.stack(found, 1).double().cpu().numpy()
