"""Learning curves: what was logged in every epoch, and which epoch was the best.

    best = first argmin_e valid_loss(e),      or of the training loss without validation

Shapes: E epochs.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ... import plots
from ...plots import Figure
from ...results import Result
from .._registry import explanation

__all__ = ["Curves", "curves"]

_WATCHED = {"loss": "training loss", "valid_loss": "validation loss"}  # the last one there is decides
_COUNTS = ("epoch", "round", "step", "rows")


@dataclass(frozen=True, eq=False)
class Curves(Result):
    """The history of a training, by column."""

    history: dict[str, np.ndarray]  # every number that was logged, by name: (E,) each; NaN where a row does not have it
    watched: str | None  # the column that decides which epoch is the best: valid_loss, else loss, else None
    best: int | None  # the epoch with the lowest watched number; the first of several

    def columns(self) -> dict[str, np.ndarray]:
        """One row per epoch."""
        integers = {name for name, v in self.history.items() if name in _COUNTS and np.isfinite(v).all()}
        return {name: v.astype(int) if name in integers else v for name, v in self.history.items()}

    @property
    def caption(self) -> str:
        return "" if self.watched is None else f"Lowest {self.watched} in {self._clock} {self.best}."

    def figure(self) -> Figure:
        """Training and validation loss, with the best epoch; where there is not one loss, all that was logged."""
        found = {label: self.history[name] for name, label in _WATCHED.items() if name in self.history}
        label = "mean loss per row"
        if "loss" not in self.history:
            hidden, label = (*_COUNTS, *_WATCHED, "seconds", "lr"), "logged value"
            found = {name: v for name, v in self.history.items() if name not in hidden} | found
        lines = {name: v.tolist() for name, v in {self._clock: self.history[self._clock], **found}.items()}
        return plots.curves(lines, self.best, x=self._clock, label=label)

    @property
    def _clock(self) -> str:
        return next(iter(self.history))


def _has_curve(obj: Any) -> bool:
    """True if something but counts was logged."""
    return any(name not in (*_COUNTS, "seconds") for row in obj.history_ for name in row)


@explanation("curves", when=_has_curve, otherwise="has no loss in its history_; {} needs one, so train it")
def curves(obj: Any) -> Curves:
    """The learning curves of a fitted estimator with `history_`, and the best epoch."""
    rows = list(obj.history_)
    names = dict.fromkeys(
        name for row in rows for name, value in row.items() if isinstance(value, Real) and not isinstance(value, bool)
    )
    columns = {name: np.array([row.get(name, np.nan) for row in rows], dtype=float) for name in names}
    clock = {"epoch": columns.pop("epoch")} if "epoch" in columns else {"round": np.arange(1.0, len(rows) + 1)}
    columns = clock | columns
    watched = next((name for name in reversed(_WATCHED) if name in columns and not np.isnan(columns[name]).all()), None)
    best = None if watched is None else int(next(iter(clock.values()))[np.nanargmin(columns[watched])])
    return Curves(columns, watched, best)
