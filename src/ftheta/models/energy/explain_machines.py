"""Boltzmann machines looked at: Gibbs chains from given rows, and rows of pictures filled in.

    chains     h ~ p(h | v),  v ~ p(v | h),  again and again:     d_t = mean |v_t - v_0| over the units
    fill_in    the same with v_known fixed; the error is the mean |difference| of a missing pixel from the truth

A chain has forgotten its start when it is as far from its own start as from those of other chains. For bits of
probability p, a draw and the mean image have the same error, 2 p (1 - p): a machine that beats the mean image has used
the known pixels. Where a machine draws bits and the truth is gray, the truth is thresholded.

Shapes: n rows or chains, V visible units, T steps, R numbers of removed rows, S of steps; pictures (H, W) or (C, H, W).
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import cdist

from ... import check
from ...check import Count
from ...errors import InputError
from ...explain import explanation, image_shape, named
from ...plots import GREY, PALETTE, Figure, drawn, mosaic, patches, tiles
from ...results import Result, counted
from ._machine import Machine

REMOVED = np.array([0.9, 0.6, 0.0])[:, None, None]  # color of what is removed
MAX_SHOWN = 8  # chains in the picture, pictures of a panel
SHARES = np.array([5, 10, 15, 20]) / 28  # of the rows: those numbers for 28


def some_rows(X: Any, max_rows: int | None = None) -> tuple[np.ndarray, tuple[int, ...]]:
    """Rows, at most so many and evenly spaced, flat (n, V), and the shape of a row as a picture, () of a flat one."""
    x = np.array(check.plain(X), dtype=float)
    if x.ndim < 2 or not x.size:
        raise InputError(f"X has shape {x.shape}; pass rows (n, V) or pictures (n, H, W), at least one.")
    x = x[:: -(-len(x) // (max_rows or len(x)))]
    return x.reshape(len(x), -1), x.shape[1:] if x.ndim > 2 else ()


def distinct_numbers(name: str, given: Any, least: int, most: float = np.inf) -> np.ndarray:
    """Different integers from the least to the largest, sorted."""
    numbers = np.unique(given)
    if numbers.dtype.kind not in "iu" or len(numbers) != len(given) or numbers[0] < least or numbers[-1] > most:
        limits = f"of at least {least}" if most == np.inf else f"from {least} to {most}"
        raise InputError(f"{name}={given}; different integers {limits} are needed.")
    return numbers


class Chains(Result):
    """Where chains are after some steps."""

    steps: np.ndarray  # steps made (T,)
    states: np.ndarray  # the visibles then: (T, n, V); those of step 0 are the given rows
    shape: tuple[int, ...]  # of a row as a picture
    distance: np.ndarray  # mean |difference| of a unit from the chain's own start: (T, n)
    others: np.ndarray  # the same from the starts of the other chains, on average: (T, n); NaN for one chain alone
    free_energy: np.ndarray | None = None  # of the visibles, in nats: (T, n); None where the machine has none

    def columns(self) -> dict[str, Any]:
        return {
            "step": self.steps,
            "distance from the start": self.distance.mean(1),
            "from other starts": self.others.mean(1) if self.states.shape[1] > 1 else None,
            "free energy": None if self.free_energy is None else self.free_energy.mean(1),
        }

    @property
    def caption(self) -> str:
        last, own = int(self.steps[-1]), float(self.distance[-1].mean())
        ran = f"{counted(self.states.shape[1], 'chain')}; after {counted(last, 'step')}"
        text = f"{ran} a unit differs from its start by {own:.3f}"
        return f"{text}, from other starts by {self.others[-1].mean():.3f}." if len(self.others.T) > 1 else f"{text}."

    @drawn
    def figure(self) -> Figure:
        """Chains from top to bottom, steps from left to right; beside them distances and free energies."""
        from matplotlib.figure import Figure

        frames = self.states[:, :MAX_SHOWN].reshape(len(self.steps), -1, *self.shape)
        t, n = frames.shape[:2]
        tall = min(1.0, 0.25 + 0.75 * frames.shape[-2] / frames.shape[-1])
        measured = {"mean |difference| of a pixel from its start": self.distance}
        measured |= {} if self.free_energy is None else {"free energy (nats)": self.free_energy}
        wide = [0.6 + 0.75 * t, *(3.6 for _ in measured)]
        figure = Figure(figsize=(sum(wide), max(3.6, 1.2 + 0.66 * n * tall)))
        strip, *panels = figure.subplots(1, len(wide), width_ratios=wide)
        mosaic(strip, tiles(frames.swapaxes(0, 1).reshape(-1, *frames.shape[2:])), t, names=range(n))
        strip.set_xticks(strip.get_xticks(), [f"{s:,}" for s in self.steps], rotation=30 * (t > 7))
        strip.set(title="Gibbs chains", xlabel="steps made", ylabel="chain")
        for axes, (name, values), color in zip(panels, measured.items(), PALETTE[::2], strict=False):
            axes.plot(self.steps, values, color=GREY, ls="-", lw=0.5, alpha=0.4)
            axes.plot(self.steps, values.mean(1), color=color, ls="-", marker="o", ms=4, lw=2, label="mean")
            axes.set(title="Chains and their mean", xlabel="steps made", ylabel=name)
            axes.set_xscale("symlog", linthresh=1)  # equal distances are equal factors, with 0 at the left end
            axes.minorticks_off()
        if n > 1:
            mean = self.others.mean(1)
            panels[0].plot(self.steps, mean, color=PALETTE[1], ls="--", marker="s", ms=4, label="from other starts")
        panels[0].legend()
        return figure


@explanation("chains", needs=Machine)
def chains(
    machine: Machine,
    X: Any,
    steps: Sequence[int] = (0, 1, 10, 100, 1000),
    *,
    max_rows: Count = 50,
    shape: Sequence[int] | None = None,
    random_state: int = 0,
) -> Chains:
    """Gibbs chains that start at rows: their states, and how far they get.

    Args:
        machine: A fitted Boltzmann machine.
        X: Where the chains start: (n, V), or pictures (n, H, W).
        steps: After which the visibles are kept; 0 is added.
        max_rows: Chains at most; of more rows, evenly spaced ones are taken.
        shape: (height, width) of a row; None: as X has it, or a square.
    """
    kept = distinct_numbers("steps", [*({0} - set(steps)), *steps], 0)
    x, row = some_rows(X, max_rows)
    states = machine.gibbs(named(machine, x), keep=kept.tolist(), random_state=random_state).astype(float)  # (T, n, V)
    distance = np.abs(states - x).mean(2)
    picture = image_shape(x.shape[1], shape or row)
    return Chains(kept, states, picture, distance, _others(states), _energies(machine, states))


def _energies(machine: Machine, states: np.ndarray) -> np.ndarray | None:
    """Free energies (T, n), of machines that have a closed form."""
    if hasattr(machine, "free_energy"):
        with suppress(InputError):  # of a general machine only small ones have
            return np.stack([machine.free_energy(named(machine, v)) for v in states])
    return None


def _others(states: np.ndarray) -> np.ndarray:
    """Mean distance from the starts of the other chains: (T, n, V) -> (T, n)."""
    if states.shape[1] == 1:
        return np.full(states.shape[:2], np.nan)
    tables = [cdist(v, states[0], "cityblock") / states.shape[2] for v in states]  # T of (n, n)
    return np.stack([(d.sum(1) - d.diagonal()) / (len(d) - 1) for d in tables])


class FilledIn(Result):
    """Pictures with missing rows, completed."""

    rows: np.ndarray  # rows that were removed (R,)
    steps: np.ndarray  # steps that were made (S,)
    where: str  # "top" or "bottom"
    truth: np.ndarray  # the complete pictures (n, V)
    missing: np.ndarray  # which pixels were removed (R, V)
    filled: np.ndarray  # the pictures after the steps (R, S, n, V); pixels that were left are those of the truth
    shape: tuple[int, ...]  # of a picture
    error: np.ndarray  # mean |difference| of a missing pixel (R, S, n)
    mean_error: np.ndarray  # the same of the mean of all other given pictures (R, n); NaN for one picture alone
    thresholded: bool = False  # whether gray pixels were thresholded at 0.5 for the errors

    def columns(self) -> dict[str, Any]:
        several, count = len(self.truth) > 1, len(self.steps)
        better = (self.error < self.mean_error[:, None]).mean(2)  # (R, S)
        return {
            f"rows removed ({self.where})": self.rows.repeat(count),
            "steps": np.tile(self.steps, len(self.rows)),
            "error": self.error.mean(2).ravel(),
            "error of the mean image": self.mean_error.mean(1).repeat(count) if several else None,
            "better than it": better.ravel() if several else None,
        }

    @property
    def caption(self) -> str:
        r, s = np.unravel_index(self.error.mean(2).argmin(), self.error.shape[:2])
        least = f"{self.rows[r]} removed and {counted(int(self.steps[s]), 'step')}: {self.error[r, s].mean():.3f}"
        mean = "" if len(self.truth) == 1 else f", of the mean image {self.mean_error[r].mean():.3f}"
        gray = " Gray pixels were thresholded at 0.5." if self.thresholded else ""
        pictures = counted(len(self.truth), "picture")
        return f"{pictures}, rows missing at the {self.where}; least error with {least}{mean}.{gray}"

    def figure(self) -> Figure:
        """A panel for each number of removed rows: pictures before and after, their errors in the title."""
        panels = {}
        for k, count in enumerate(self.rows.tolist()):
            left = np.where(self.missing[k], np.nan, self.truth)
            lines = np.stack([self.truth, left, *self.filled[k]])[:, :MAX_SHOWN]  # (2 + S, n, V)
            errors = ", ".join(f"{v:.3f}" for v in self.error[k].mean(1))
            mean = "" if len(self.truth) == 1 else f" (mean image {self.mean_error[k].mean():.3f})"
            title = f"{count} row{'s' * (count != 1)} removed, error {errors}{mean}"
            lines = lines.reshape(*lines.shape[:2], *(self.shape if len(self.shape) == 3 else (1, *self.shape)))
            gray = lines.shape[2] == 1 and np.nanmin(lines) >= 0 and np.nanmax(lines) <= 1
            panels[title] = np.where(np.isnan(lines), REMOVED, lines) if gray else lines
        names = ["complete", "what is left", *(f"{s:,} step{'s' * (s != 1)}" for s in self.steps.tolist())]
        return patches(panels, [names] * len(panels), x="picture; orange is removed", y="")


@explanation("fill-in", needs=Machine)
def fill_in(
    machine: Machine,
    X: Any,
    rows: Sequence[int] | None = None,
    steps: Sequence[int] = (1, 5, 100),
    *,
    where: Literal["top", "bottom"] = "bottom",
    max_rows: Count = 50,
    shape: Sequence[int] | None = None,
    random_state: int = 0,
) -> FilledIn:
    """Rows of pictures removed and filled in by a machine, beside the truth and the error of the mean image.

    Args:
        machine: A fitted Boltzmann machine.
        X: The complete pictures: (n, V), or (n, H, W); of rows that are one line, columns are removed.
        rows: How many to remove; None: 5, 10, 15 and 20 of 28, and as many in proportion.
        steps: After which the pictures are kept.
        where: From which end they are removed.
        max_rows: Pictures at most; of more rows, evenly spaced ones are taken.
        shape: (height, width) of a picture; None: as X has it, or a square.
    """
    every, row = some_rows(X)
    x, pixels = some_rows(every, max_rows)[0], image_shape(every.shape[1], shape or row)
    lines = pixels[-2] if pixels[-2] > 1 else pixels[-1]
    counts = np.unique(np.clip(np.round(lines * SHARES), 1, lines)).astype(int) if rows is None else rows
    removed, kept = distinct_numbers("rows", counts, 1, lines), distinct_numbers("steps", steps, 1)
    missing = np.stack([_missing(pixels, k, where) for k in removed])  # (R, V)
    options: dict[str, Any] = {"steps": None, "keep": kept.tolist(), "random_state": random_state}
    filled = np.stack([machine.fill_in(named(machine, x), gone, **options) for gone in missing]).astype(float)
    drew_bits = all(np.isin(made[..., gone], (0, 1)).all() for made, gone in zip(filled, missing, strict=True))
    gray = bool(drew_bits and every.min() >= 0 and every.max() <= 1 and (every % 1).any())
    truth, all_of = ((x >= 0.5) * 1.0, (every >= 0.5) * 1.0) if gray else (x, every)
    mean = (all_of.sum(0) - truth) / (len(every) - 1) if len(every) > 1 else np.full_like(x, np.nan)  # of the others
    error = [np.abs(made - truth)[..., gone].mean(-1) for made, gone in zip(filled, missing, strict=True)]
    mean_error = np.stack([np.abs(mean - truth)[:, gone].mean(-1) for gone in missing])
    return FilledIn(removed, kept, where, x, missing, filled, pixels, np.stack(error), mean_error, gray)


def _missing(shape: tuple[int, ...], k: int, where: str) -> np.ndarray:
    """True on k rows at an end, or on k columns of a single row: (V,)."""
    gone = np.zeros(shape, dtype=bool)
    part = slice(k) if where == "top" else slice(-k, None)
    gone[(..., part, slice(None)) if shape[-2] > 1 else (..., part)] = True
    return gone.ravel()
