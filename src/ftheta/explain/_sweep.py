"""The loss at many points of a line or a plane in weight space: a process, so that it has progress and Ctrl-C.

    L_n = L(θ_0 + Σ_k c_nk d_k)

Where one point is little work, many are one batched pass (`torch.func.vmap`); else one after the other in one buffer,
and the first affine layer, which is linear in θ, is computed once for all points (`FirstLayer`).
Shapes: N points, K directions, P parameters, B + 1 sets of rows: all, and B mini-batches.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from ..data import Batch
from ..train import Context, Progress, iterate, threads, threads_for
from ._first_layer import FirstLayer, first_layer
from ._probe import DRAW, first_tensor, watching
from ._theta import Theta

__all__ = ["MEMORY", "Sweep", "sweep"]

MEMORY = 2**20  # numbers that one batched pass may hold: more than 4 MB of float32 leave the cache and are slower
LEAST = 16  # points from which on a batched pass pays


class Sweep:
    """One step is one batched pass, or one point; to be used while the module holds `buffer`.

    Args:
        theta: The loss as a function of θ.
        origin: θ_0: (P,).
        directions: d: (K, P).
        places: c: (N, K).
        batches: Mini-batches whose losses are wanted too.
    """

    def __init__(
        self, theta: Theta, origin: Tensor, directions: Tensor, places: np.ndarray, batches: Sequence[Batch] = ()
    ) -> None:
        self.theta, self.origin, self.directions = theta, origin, directions
        self.places = torch.from_numpy(places).to(origin)  # (N, K)
        self.batches = [theta.batch, *batches]
        self.losses = torch.full((len(places), len(self.batches)), np.nan, dtype=torch.float64)  # (N, B + 1)
        self.done = 0
        self.buffer, self.row, self.base = origin.clone(), (), origin
        self.chunk = 1
        self.first: FirstLayer | None = None

    def choose(self) -> None:
        """Points of one pass, by what its weights and activations would hold; 1 where the module cannot be batched."""
        self._choose_chunk()
        if self.chunk == 1:
            self._choose_first()

    def _choose_first(self) -> None:
        """Let the outputs of the first layer stand in for it, if that gives the same losses at both ends."""
        ends = [0, len(self.places) - 1]
        plain = torch.stack([torch.stack(self._at(n)) for n in ends])
        self.first = first_layer(self.theta, self.origin, self.directions, self.batches)
        if self.first is not None:
            self.row = ()
            with self.first.standing_in():
                quick = torch.stack([torch.stack(self._at(n)) for n in ends])
            same = torch.allclose(quick, plain, rtol=1e-3 if plain.dtype == torch.float32 else 1e-9, equal_nan=True)
            self.first, self.row = self.first if same else None, ()

    def _choose_chunk(self) -> None:
        seen = [0]

        def count(name: object, layer: object, inputs: object, output: object) -> None:
            found = first_tensor(output)
            seen[0] += 0 if found is None else found.numel()

        with watching(self.theta.module, count):
            self._at(0)
        chunk = min(MEMORY // (len(self.origin) + seen[0] + 1), len(self.places))
        try:
            self.chunk = chunk if chunk >= LEAST and len(self._many(self.places[:2])) else 1
        except RuntimeError:  # it asks for a number, or writes in place
            self.chunk = 1

    def _at(self, n: int) -> list[Tensor]:
        """Losses at one point, whose weights are written into the buffer that the module holds: B + 1 of them."""
        first, *rest = self.places[n].tolist()
        if tuple(rest) != self.row:  # a row of the grid shares what the other directions add
            self.row, self.base = tuple(rest), self.origin.clone()
            for c, d in zip(rest, self.directions[1:], strict=True):
                self.base.add_(d, alpha=c)
            if self.first is not None:
                self.first.turn(rest)
        left = 0 if self.first is None else self.first.size  # the weights before it are not read
        torch.add(self.base[left:], self.directions[0, left:], alpha=first, out=self.buffer[left:])
        if self.first is not None:
            self.first.move(first)
        return [self._seeded(number) for number in range(len(self.batches))]

    def _seeded(self, number: int) -> Tensor:
        DRAW.seed_global()
        if self.first is not None:
            self.first.now = number
        return self.theta.here(self.batches[number])

    def _many(self, places: Tensor) -> Tensor:
        """Losses of some points as one pass for each set of rows: (n, K) -> (n, B + 1)."""
        points = torch.addmm(self.origin, places, self.directions)  # (n, P)
        found = []
        for batch in self.batches:
            DRAW.seed_global()
            found.append(vmap(lambda t, rows=batch: self.theta.loss(t, rows), randomness="same")(points))
        return torch.stack(found, 1)

    def step(self, start: int, stop: int) -> Tensor:
        """Losses at some of the points, not kept: (stop - start, B + 1)."""
        if self.chunk > 1:
            return self._many(self.places[start:stop]).double().cpu()
        return torch.stack([torch.stack(self._at(n)) for n in range(start, stop)]).double().cpu()

    def advance(self) -> dict[str, float]:
        """The next points."""
        stop = min(self.done + self.chunk, len(self.places))
        self.losses[self.done : stop] = self.step(self.done, stop)
        self.done = stop
        return {"points": float(stop)}

    @property
    def rounds(self) -> int:
        """Steps in all."""
        return -(-len(self.places) // self.chunk)

    def estimate(self) -> float:
        """Seconds that all points will take, from a few that are tried."""
        few = min(self.chunk, 25, len(self.places)) if self.chunk > 1 else 1
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            self.step(0, few)
            times.append(time.perf_counter() - begin)
        return min(times) / few * len(self.places)

    def state_dict(self) -> None:
        """Nothing is kept: a landscape is not resumed."""

    def load_state_dict(self, tree: object) -> None:
        """Nothing to put back."""


class _Ahead(Progress):
    """Says before it starts how long it will take, where that is more than two seconds."""

    def __init__(self, what: str, estimate: float, show: bool | None) -> None:
        super().__init__(show)
        self.estimate, self.unit = estimate, f"{what}, about {estimate:.0f} s: part"

    def on_start(self, ctx: Context) -> None:
        super().on_start(ctx)
        if self.visible and self.estimate > self.delay:
            self._draw(ctx)


def sweep(
    theta: Theta,
    directions: np.ndarray,
    places: np.ndarray,
    batches: Sequence[Batch] = (),
    *,
    what: str,
    progress: bool | None,
) -> tuple[np.ndarray, float, float]:
    """Losses at all points around θ (N, B + 1), the seconds that were estimated, and those that it took."""
    origin = theta.flat()
    with torch.no_grad(), threads(threads_for(len(origin) * theta.batch.n)), theta.open():
        process = Sweep(theta, origin, torch.from_numpy(directions).to(origin), places, batches)
        return theta.holding(process.buffer, lambda: _run(process, what, progress))


def _run(process: Sweep, what: str, progress: bool | None) -> tuple[np.ndarray, float, float]:
    process.choose()
    with nullcontext() if process.first is None else process.first.standing_in():
        estimate, begin = process.estimate(), time.perf_counter()
        iterate(process, rounds=process.rounds, callbacks=[_Ahead(what, estimate, progress)])
    return process.losses.numpy(), estimate, time.perf_counter() - begin
