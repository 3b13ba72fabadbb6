"""Rows of pictures are removed, a machine fills them in, and the truth tells how well.

    v_known fixed,  h ~ p(h | v),  v_missing ~ p(v_missing | h),  again and again

The error is the mean |difference| of a missing pixel. For bits of probability p, a draw and the mean image are
equally far from the truth, 2 p (1 - p): a machine that beats the mean image has used the pixels that are left. That is
so for bits only: where a machine draws bits and the truth is gray, the truth is thresholded at 0.5 before it is
compared.

Shapes: R numbers of removed rows, S numbers of steps, n pictures, V pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...catalog import nearest
from ...errors import InputError
from ...explain import explanation, require
from ...plots import GREY, Figure, drawn, mosaic, tiles
from ...results import Result
from ._machine import Machine
from ._pictures import distinct_numbers, framed, picture_shape, some_rows

__all__ = ["FilledIn", "fill_in"]

SHOWN = 8  # pictures of a panel
SHARES = np.array([5, 10, 15, 20]) / 28  # of the rows: those numbers for 28


@dataclass(frozen=True, eq=False)
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
        """One row per number of rows and of steps: the error, and the share of pictures that beat the mean."""
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
        """The least error."""
        r, s = np.unravel_index(self.error.mean(2).argmin(), self.error.shape[:2])
        least = f"{self.rows[r]} removed and {self.steps[s]} step(s): {self.error[r, s].mean():.3f}"
        mean = "" if len(self.truth) == 1 else f", of the mean image {self.mean_error[r].mean():.3f}"
        gray = " Gray pixels were thresholded at 0.5." if self.thresholded else ""
        return f"{len(self.truth)} picture(s), rows missing at the {self.where}; least error with {least}{mean}.{gray}"

    @drawn
    def figure(self) -> Figure:
        """A panel for each number of removed rows: pictures, what is left, after the steps; the errors below."""
        from matplotlib.figure import Figure

        truth = self.truth[:SHOWN].reshape(-1, *self.shape)
        across, n, lines = min(2, len(self.rows)), len(truth), 2 + len(self.steps)
        down = -(-len(self.rows) // across)
        flat = min(1.0, 0.3 + 0.7 * truth.shape[-2] / truth.shape[-1])
        heights = [*[0.6 + 0.44 * lines * flat] * down, 2.6]
        figure = Figure(figsize=(max(5.6, across * (1.0 + 0.44 * n)), sum(heights)))
        grid = figure.add_gridspec(down + 1, across, height_ratios=heights)
        names = ["complete", "what is left", *(_count(s, "step") for s in self.steps)]
        for k, count in enumerate(self.rows):
            axes = figure.add_subplot(grid[k // across, k % across])
            left = np.where(self.missing[k].reshape(self.shape), np.nan, truth)
            made = self.filled[k, :, :SHOWN].reshape(-1, *self.shape)
            mosaic(axes, tiles(np.concatenate([truth, left, made])), n, names=names)
            axes.set(title=f"{_count(count, 'row')} removed", xlabel="picture")
        self._errors(figure.add_subplot(grid[down, :]))
        return figure

    def _errors(self, axes: Any) -> None:
        if np.isfinite(self.mean_error).all():
            axes.plot(self.rows, self.mean_error.mean(1), color=GREY, ls="--", marker="x", lw=2, label="mean image")
        for k, (count, line) in enumerate(zip(self.steps, self.error.mean(2).T, strict=True)):
            axes.plot(self.rows, line, marker="os^DvP"[k % 6], ms=5, label=_count(count, "step"))
        axes.set(xlabel=f"rows removed at the {self.where}", ylabel="mean |difference|\nof a missing pixel")
        axes.set_xticks(self.rows)
        axes.set_ylim(bottom=0)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


@explanation("fill-in", needs=Machine)
def fill_in(
    machine: Machine,
    X: Any,
    rows: Sequence[int] | None = None,
    steps: Sequence[int] = (1, 5, 100),
    *,
    where: Literal["top", "bottom"] = "bottom",
    max_rows: int = 50,
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
        random_state: Seed.
    """
    require(machine, Machine, "fill_in")
    if where not in ("top", "bottom"):
        raise InputError(nearest("end:", where, ("top", "bottom")))
    every, row = some_rows(X)
    x, found = some_rows(every, max_rows)[0], picture_shape(shape, row)
    lines = found[-2] if found[-2] > 1 else found[-1]
    counts = np.unique(np.clip(np.round(lines * SHARES), 1, lines)).astype(int).tolist() if rows is None else rows
    removed, kept = distinct_numbers("rows", counts, 1, lines), distinct_numbers("steps", steps, 1)
    missing = np.stack([_missing(found, k, where) for k in removed])  # (R, V)
    options: dict[str, Any] = {"steps": None, "keep": kept, "random_state": random_state}
    filled = np.stack([machine.fill_in(framed(machine, x), gone, **options) for gone in missing]).astype(float)
    drawn_bits = all(np.isin(made[..., gone], (0, 1)).all() for made, gone in zip(filled, missing, strict=True))
    gray = bool(drawn_bits and every.min() >= 0 and every.max() <= 1 and (every % 1).any())
    truth, all_of = ((x >= 0.5) * 1.0, (every >= 0.5) * 1.0) if gray else (x, every)
    mean = (all_of.sum(0) - truth) / (len(every) - 1) if len(every) > 1 else np.full_like(x, np.nan)  # of the others
    error = [np.abs(made - truth)[..., gone].mean(-1) for made, gone in zip(filled, missing, strict=True)]
    mean_error = [np.abs(mean - truth)[:, gone].mean(-1) for gone in missing]
    return FilledIn(
        rows=np.array(removed),
        steps=np.array(kept),
        where=where,
        truth=x,
        missing=missing,
        filled=filled,
        shape=found,
        error=np.stack(error),
        mean_error=np.stack(mean_error),
        thresholded=gray,
    )


def _missing(shape: tuple[int, ...], k: int, where: str) -> np.ndarray:
    """True on k rows at an end, or on k columns of a single row: (V,)."""
    gone = np.zeros(shape, dtype=bool)
    part = slice(k) if where == "top" else slice(-k, None)
    gone[(..., part, slice(None)) if shape[-2] > 1 else (..., part)] = True
    return gone.ravel()
