"""Gibbs chains that start at given rows: what they pass through, and how far they get.

    h ~ p(h | v),  v ~ p(v | h),  again and again:     d_t = mean |v_t - v_0| over the units

A chain has forgotten its start when it is as far from its own start as from those of other chains.

Shapes: T steps that are kept, n chains, V visible units.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InputError
from ...explain import explanation, require
from ...plots import GREY, PALETTE, Figure, drawn, mosaic, tiles
from ...results import Result
from ._machine import Machine
from ._pictures import distinct_numbers, framed, picture_shape, some_rows

__all__ = ["Chains", "chains"]

SHOWN = 8  # chains in the picture


@dataclass(frozen=True, eq=False)
class Chains(Result):
    """Where chains are after some steps."""

    steps: np.ndarray  # steps made (T,)
    states: np.ndarray  # the visibles then: (T, n, V); those of step 0 are the given rows
    shape: tuple[int, ...]  # of a row as a picture
    distance: np.ndarray  # mean |difference| of a unit from the chain's own start: (T, n)
    others: np.ndarray  # the same from the starts of the other chains, on average: (T, n); NaN for one chain alone
    free_energy: np.ndarray | None = None  # of the visibles, in nats: (T, n); None where the machine has none

    def columns(self) -> dict[str, Any]:
        """One row per step: means over the chains."""
        return {
            "step": self.steps,
            "distance from the start": self.distance.mean(1),
            "from other starts": self.others.mean(1) if self.states.shape[1] > 1 else None,
            "free energy": None if self.free_energy is None else self.free_energy.mean(1),
        }

    @property
    def caption(self) -> str:
        """How far the chains are from their starts in the end."""
        last, own = int(self.steps[-1]), float(self.distance[-1].mean())
        text = f"{self.states.shape[1]} chain(s); after {last} step(s) a unit differs from its start by {own:.3f}"
        return f"{text}, from other starts by {self.others[-1].mean():.3f}." if len(self.others.T) > 1 else f"{text}."

    @drawn
    def figure(self) -> Figure:
        """Chains from top to bottom, steps from left to right; distances and free energies on the right."""
        from matplotlib.figure import Figure

        frames = self.states[:, :SHOWN].reshape(len(self.steps), -1, *self.shape)
        t, n = frames.shape[:2]
        tall = min(1.0, 0.25 + 0.75 * frames.shape[-2] / frames.shape[-1])
        rows = 1 + (self.free_energy is not None)
        figure = Figure(figsize=(4.6 + 0.75 * t, max(1.8 + 1.6 * rows, 1.2 + 0.66 * n * tall)))
        left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(0.6 + 0.75 * t, 4.0))[0]
        strip = left.subplots()
        mosaic(strip, tiles(frames.swapaxes(0, 1).reshape(-1, *frames.shape[2:])), t, names=range(n))
        strip.set_xticks(strip.get_xticks(), [f"{s:,}" for s in self.steps], rotation=30 * (t > 7))
        strip.set(title="Gibbs chains", xlabel="steps made", ylabel="chain")
        panels = right.subplots(rows, 1, squeeze=False, sharex=True)[:, 0]
        self._by_step(panels[0], self.distance, PALETTE[0], "from its own start")
        if np.isfinite(self.others).all():
            mean = self.others.mean(1)
            panels[0].plot(self.steps, mean, color=PALETTE[1], ls="--", marker="s", ms=4, label="from other starts")
        panels[0].set(title="Distance: chains and their mean", ylabel="mean |difference| of a pixel")
        panels[0].set_ylim(0, 1.35 * max(self.distance.max(), np.nanmax(self.others, initial=0.0)) or 1.0)
        panels[0].legend()
        if self.free_energy is not None:
            self._by_step(panels[1], self.free_energy, PALETTE[2], "mean")
            panels[1].set(title="Free energy: chains and their mean", ylabel="free energy (nats)")
        panels[-1].set_xlabel("steps made")
        return figure

    def _by_step(self, axes: Any, values: np.ndarray, color: str, label: str) -> None:
        """Every chain thin, their mean thick; equal distances are equal factors, with 0 at the left end."""
        axes.plot(self.steps, values, color=GREY, ls="-", lw=0.5, alpha=0.4)
        axes.plot(self.steps, values.mean(1), color=color, ls="-", marker="o", ms=4, lw=2, label=label)
        axes.set_xscale("symlog", linthresh=1)
        axes.minorticks_off()


@explanation("chains", needs=Machine)
def chains(
    machine: Machine,
    X: Any,
    steps: Sequence[int] = (0, 1, 10, 100, 1000),
    *,
    max_rows: int = 50,
    shape: Sequence[int] | None = None,
    random_state: int = 0,
) -> Chains:
    """Gibbs chains that start at rows: what they pass through, and how far they get.

    Args:
        machine: A fitted Boltzmann machine.
        X: Where the chains start: (n, V), or pictures (n, H, W).
        steps: After which the visibles are kept; 0 is always.
        max_rows: Chains at most; of more rows, evenly spaced ones are taken.
        shape: (height, width) of a row; None: as X has it, or a square.
        random_state: Seed of the chains.
    """
    require(machine, Machine, "chains")
    kept = distinct_numbers("steps", [*({0} - set(steps)), *steps], 0)
    x, row = some_rows(X, max_rows)
    states = machine.gibbs(framed(machine, x), keep=kept, random_state=random_state).astype(float)  # (T, n, V)
    shown = picture_shape(shape, row)
    return Chains(
        np.array(kept), states, shown, np.abs(states - x).mean(2), _others(states), _energies(machine, states)
    )


def _energies(machine: Machine, states: np.ndarray) -> np.ndarray | None:
    """Free energies (T, n), of machines that have a closed form."""
    free = getattr(machine, "free_energy", None)
    with suppress(InputError):  # of a general machine only small ones have
        return None if free is None else np.stack([free(framed(machine, v)) for v in states])
    return None


def _others(states: np.ndarray) -> np.ndarray:
    """Mean distance from the starts of the other chains: (T, n, V) -> (T, n)."""
    from scipy.spatial.distance import cdist

    n, size = states.shape[1:]
    if n == 1:
        return np.full(states.shape[:2], np.nan)
    tables = [cdist(v, states[0], "cityblock") / size for v in states]  # T of (n, n)
    return np.stack([(d.sum(1) - d.diagonal()) / (n - 1) for d in tables])
