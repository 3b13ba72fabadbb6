"""Filled in: rows of pictures are removed, a machine completes what is left, and the truth tells how well.

    v_known fixed,  h ~ p(h | v),  v_missing ~ p(v_missing | h),  again and again

The error is the mean |difference| of a missing pixel. For bits of probability p, a draw and the mean image are
equally far from the truth, 2 p (1 - p): a machine that beats the mean image has used the pixels that are left. That is
so for bits only: where a machine draws bits and the truth is grey, the truth is cut at a half before it is compared.

Shapes: R numbers of removed rows, S numbers of steps, n pictures, V pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import plots
from ..catalog import nearest
from ..draw import Draw
from ..errors import InputError
from ..results import Result, Table
from ._machines import HasFillIn, HasGibbs, advance, aside, ask, fitted, shape_of, some_rows, whole_numbers
from ._registry import explanation, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FilledIn", "filled_in"]

SHOWN = 8  # pictures of a panel
SHARES = np.array([5, 10, 15, 20]) / 28  # of the rows: those numbers for 28


@dataclass(frozen=True, eq=False)
class FilledIn(Result):
    """Pictures with missing rows, completed.

    Args:
        rows: Rows that were removed (R,).
        steps: Steps that were made (S,).
        where: "top" or "bottom".
        truth: The whole pictures (n, V).
        missing: Which pixels were removed (R, V).
        filled: The pictures after the steps (R, S, n, V); pixels that were left are those of the truth.
        shape: Of a picture.
        error: Mean |difference| of a missing pixel (R, S, n).
        mean_error: The same of the mean of all other given pictures (R, n); NaN for one picture alone.
        cut: Whether grey pixels were cut at a half for the errors.
    """

    rows: np.ndarray
    steps: np.ndarray
    where: str
    truth: np.ndarray
    missing: np.ndarray
    filled: np.ndarray
    shape: tuple[int, ...]
    error: np.ndarray
    mean_error: np.ndarray
    cut: bool = False

    def table(self) -> Table:
        """One line for each number of rows and of steps: the error, and the share of pictures that beat the mean."""
        pairs = [(r, s) for r in range(len(self.rows)) for s in range(len(self.steps))]
        alone = len(self.truth) == 1
        better = (self.error < self.mean_error[:, None]).mean(2)  # (R, S)
        columns: dict[str, Any] = {
            f"rows removed ({self.where})": [int(self.rows[r]) for r, _ in pairs],
            "steps": [int(self.steps[s]) for _, s in pairs],
            "error": [float(self.error[r, s].mean()) for r, s in pairs],
            "error of the mean image": [None if alone else float(self.mean_error[r].mean()) for r, _ in pairs],
            "better than it": [None if alone else float(better[r, s]) for r, s in pairs],
        }
        return Table(columns, self.alt)

    def figure(self) -> Figure:
        """A panel for each number of removed rows, and the error by it."""
        return plots.filled(
            self.truth[:SHOWN].reshape(-1, *self.shape),
            self.missing.reshape(-1, *self.shape),
            self.filled[:, :, :SHOWN].reshape(*self.filled.shape[:2], -1, *self.shape),
            self.rows,
            self.steps,
            self.error.mean(2),
            self.mean_error.mean(1),
            where=self.where,
        )

    @property
    def alt(self) -> str:
        """What the picture shows."""
        r, s = np.unravel_index(self.error.mean(2).argmin(), self.error.shape[:2])
        least = f"{self.rows[r]} removed and {self.steps[s]} step(s): {self.error[r, s].mean():.3f}"
        mean = "" if len(self.truth) == 1 else f", of the mean image {self.mean_error[r].mean():.3f}"
        cut = " Grey pixels were cut at a half." if self.cut else ""
        return f"{len(self.truth)} picture(s), rows missing at the {self.where}; least error with {least}{mean}.{cut}"


@explanation("filled-in", needs=HasGibbs | HasFillIn, when=fitted)
def filled_in(
    obj: Any,
    X: Any,
    rows: Sequence[int] | None = None,
    steps: Sequence[int] = (1, 5, 100),
    *,
    where: Literal["top", "bottom"] = "bottom",
    n: int = 50,
    shape: Sequence[int] | None = None,
    random_state: int = 0,
) -> FilledIn:
    """Rows of pictures removed and filled in by a machine, beside the truth and the error of the mean image.

    Args:
        obj: A machine with `fill_in(X, missing, steps)`, or a `gibbs(X, steps)` that has `clamp`; with a `gibbs` that
            has not, the known pixels are put back after every step.
        X: The whole pictures: (n, V), or (n, H, W); of rows that are one line, columns are removed.
        rows: How many to remove; None: 5, 10, 15 and 20 of 28, and as many in proportion.
        steps: After which the pictures are kept.
        where: From which end they are removed.
        n: Pictures at most; of more rows, evenly spaced ones are taken.
        shape: (height, width) of a picture; None: as X has it, or a square.
        random_state: Seed, where the machine takes one.

    Example:
        >>> from ftheta.nn import RBM
        >>> filled_in(RBM(4, 3), np.eye(4), (1,), (1, 2)).missing.tolist()
        [[False, False, True, True]]
    """
    require(obj, HasGibbs | HasFillIn, "filled_in")
    if where not in ("top", "bottom"):
        raise InputError(nearest("end:", where, ("top", "bottom")))
    every, row = some_rows(X)
    x = some_rows(every, n)[0]
    whole = shape_of(obj, shape, row)
    lines = whole[-2] if whole[-2] > 1 else whole[-1]
    counts = np.unique(np.clip(np.round(lines * SHARES), 1, lines)).astype(int).tolist() if rows is None else rows
    removed, kept = whole_numbers("rows", counts, 1, lines), whole_numbers("steps", steps, 1)
    missing = np.stack([_missing(whole, k, where) for k in removed])  # (R, V)
    draw = Draw(random_state).at("fill")
    filled = np.stack([_fill(obj, x, gone, kept, draw) for gone in missing])  # (R, S, n, V)
    drawn = np.concatenate([made[..., gone].ravel() for made, gone in zip(filled, missing, strict=True)])
    cut = bool(np.isin(drawn, (0, 1)).all() and every.min() >= 0 and every.max() <= 1 and (every % 1).any())
    truth, all_of = ((x >= 0.5) * 1.0, (every >= 0.5) * 1.0) if cut else (x, every)
    mean = (all_of.sum(0) - truth) / (len(every) - 1) if len(every) > 1 else np.full_like(x, np.nan)  # of the others
    off = [np.abs(made - truth)[..., gone].mean(-1) for made, gone in zip(filled, missing, strict=True)]
    mean_off = [np.abs(mean - truth)[:, gone].mean(-1) for gone in missing]
    errors = np.stack(off), np.stack(mean_off)
    return FilledIn(np.array(removed), np.array(kept), where, x, missing, filled, whole, *errors, cut)


def _missing(shape: tuple[int, ...], k: int, where: str) -> np.ndarray:
    """True on k rows at an end, or on k columns of a single row: (V,)."""
    gone = np.zeros(shape, dtype=bool)
    part = slice(k) if where == "top" else slice(-k, None)
    gone[(..., part, slice(None)) if shape[-2] > 1 else (..., part)] = True
    return gone.ravel()


def _fill(obj: Any, x: np.ndarray, missing: np.ndarray, steps: Sequence[int], draw: Draw) -> np.ndarray:
    """Pictures after each number of steps, from 0 in place of what is missing: (S, n, V)."""
    v = np.where(missing, 0.0, x)
    if isinstance(obj, HasFillIn):
        with aside(obj) as machine:
            made = [np.asarray(ask(machine.fill_in, v, missing, draw=draw, steps=s), dtype=float) for s in steps]
        return np.where(missing, np.stack(made).reshape(len(steps), *x.shape), x)
    if "clamp" in signature(obj.gibbs).parameters:
        return np.stack([advance(obj, v, s, draw, clamp=~missing) for s in steps])
    kept = [v]
    for step in range(steps[-1]):
        kept.append(np.where(missing, advance(obj, kept[-1], 1, draw.at(step)), x))
    return np.stack(kept)[list(steps)]
