"""Coefficient paths: how every coefficient moves as the penalty shrinks, or step by step.

Shapes: L penalties, D features, T targets, K knots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...plots import GREY, PALETTE, dress, short
from ...results import Result, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["CoefficientPath", "draw_paths", "penalties"]

NAMED = 7  # coefficients that get a color and a name


@dataclass(frozen=True, eq=False)
class CoefficientPath(Result):
    """Ridge regression, the lasso or the elastic net for every penalty."""

    title: str  # what was fitted
    alphas: np.ndarray  # penalties (L,); of the lasso falling, the first the least that sets all coefficients to 0
    coefs: np.ndarray  # (L, D), or (L, T, D) for several targets
    intercepts: np.ndarray  # (L,) or (L, T)
    dof: np.ndarray  # effective degrees of freedom, the intercept not counted (L,)
    names: tuple[str, ...]  # of the features (D,)
    loo: np.ndarray | None = (
        None  # of ridge: weighted mean square of the leave-one-out errors over rows and targets (L,)
    )
    gcv: np.ndarray | None = None  # of ridge: generalized cross-validation, in the same units (L,)
    gaps: np.ndarray | None = None  # of the lasso: duality gap of each solution, in the units of the objective (L,)
    knots: np.ndarray | None = None  # of the lasso: exact penalties where a coefficient enters or leaves, falling (K,)
    moves: tuple[tuple[int, str], ...] = ()  # for each knot the place of the coefficient, and "enters" or "leaves"

    def best(self, choose: str = "loo") -> int:
        """Place of the penalty with the least error, "loo" or "gcv"; the larger of two that tie."""
        error = np.asarray(getattr(self, choose))
        return int(max(np.flatnonzero(error == error.min()), key=lambda i: self.alphas[i]))

    def columns(self) -> dict[str, Any]:
        """One row per penalty."""
        if self.gaps is None:
            return {"alpha": self.alphas, "degrees of freedom": self.dof, "leave-one-out": self.loo, "GCV": self.gcv}
        sizes = {"non-zero": np.count_nonzero(self.coefs, axis=1), "degrees of freedom": self.dof}
        return {"alpha": self.alphas, **sizes, "norm of w": np.abs(self.coefs).sum(1), "duality gap": self.gaps}

    def knot_table(self) -> Table:
        """One row per knot of the lasso: which coefficient enters or leaves."""
        names, events = [self.names[j] for j, _ in self.moves], [event for _, event in self.moves]
        return Table({"alpha": np.asarray(self.knots).tolist(), "coefficient": names, "event": events}, "Knots.")

    @property
    def caption(self) -> str:
        """What table and figure show."""
        first = f"{self.title}: {len(self.alphas)} penalties"
        if self.gaps is None:
            loo, gcv = (self.alphas[self.best(choose)] for choose in ("loo", "gcv"))
            return f"{first}. Least leave-one-out error at alpha {loo:.4g}, least GCV at {gcv:.4g}."
        entered = list(dict.fromkeys(self.names[j] for j in np.nonzero(self.coefs)[1]))
        order = ", ".join(entered[:10])
        return f"{first}, largest duality gap {self.gaps.max():.2g}. Coefficients leave 0 in the order {order}."

    def figure(self) -> Figure:
        """Coefficients against the penalty, knots as ticks, errors below; of several targets the first is drawn."""
        coefs = self.coefs if self.coefs.ndim == 2 else self.coefs[:, 0]
        order = np.argsort(-self.alphas, kind="stable")
        order = order[self.alphas[order] > 0]
        if not len(order):
            raise InputError("There is no penalty above 0, so there is nothing to draw on a log axis.")
        at, label = self.alphas[order], "penalty α (log scale, falling)"
        figure, axes = _axes(f"{self.title}: coefficients against the penalty", label, below=self.loo is not None)
        axes[0].set_xscale("log")
        axes[0].invert_xaxis()
        _lines(axes[0], at, coefs[order], self.names)
        _ticks(axes[0], self.knots, "knots")
        _freedom(axes[0], at, self.dof[order])
        if self.loo is not None and self.gcv is not None:
            for axis in axes:
                axis.axvline(self.alphas[self.best()], color=GREY, lw=1.2, ls=(0, (4, 3)), zorder=1)
            _error(axes[1], at, self.loo[order], "leave-one-out", "-o", PALETTE[0])
            _error(axes[1], at, self.gcv[order], "generalized cross-validation", "--D", PALETTE[1])
        return _with_legends(figure, axes)


def penalties(alphas: Any, *, zero: bool) -> np.ndarray:
    """Penalties as an array (L,), each finite and > 0, or >= 0 where `zero` is allowed."""
    try:
        found = np.asarray(alphas, dtype=float)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.ndim != 1 or not found.size or not (np.isfinite(found) & (found >= 0) & (zero | (found > 0))).all():
        least = ">= 0" if zero else "> 0"
        raise InputError(f"alphas is {alphas!r}; it must hold one or more penalties, each finite and {least}.")
    return found


# ---- drawing


def draw_paths(coefs: np.ndarray, names: Sequence[str], ends: np.ndarray, *, x: str, ticks: str, title: str) -> Figure:
    """One line per coefficient over steps 0, 1, ...: coefs (S + 1, D), with ticks at some of the steps."""
    figure, axes = _axes(title, x, below=False)
    _lines(axes[0], np.arange(len(coefs)), coefs, names)
    _ticks(axes[0], ends, ticks)
    return _with_legends(figure, axes)


def _axes(title: str, x: str, *, below: bool) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 6.2 if below else 4.4), dpi=120, layout="constrained")
    ratios = [3, 2] if below else [1]
    axes = list(figure.subplots(len(ratios), 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0])
    dress(axes[0], title=title, x="" if below else x, y="coefficient")
    if below:
        dress(axes[1], title="", x=x, y="mean error²")
    return figure, axes


def _lines(axes: Axes, at: np.ndarray, coefs: np.ndarray, names: Sequence[str]) -> None:
    """Grey lines for the many; the largest on top, with names that do not overlap."""
    largest = np.argsort(-np.abs(coefs).max(0), kind="stable")[:NAMED]
    axes.axhline(0, color="0.6", lw=0.8, zorder=1)
    marker = "." if len(at) <= 30 else ""
    for j in range(coefs.shape[1]):
        if j not in largest:
            axes.plot(at, coefs[:, j], color="0.75", lw=0.9, marker=marker, ms=3, zorder=2)
    for i, j in enumerate(largest):
        axes.plot(at, coefs[:, j], color=PALETTE[i], lw=1.6, marker=marker, ms=4, zorder=3)
    _names(axes, coefs[-1, largest], [short(str(names[j]), 18) for j in largest])


def _names(axes: Axes, ends: np.ndarray, names: Sequence[str]) -> None:
    """Names beside the right ends, moved apart where they would touch."""
    low, high = axes.get_ylim()
    height = 0.055 * (high - low)
    order = np.argsort(ends)
    spots = ends[order].copy()
    for i in range(1, len(spots)):
        spots[i] = max(spots[i], spots[i - 1] + height)
    for i in reversed(range(len(spots))):  # back inside, from the top
        spots[i] = min(spots[i], high - height * (len(spots) - 1 - i))
    axes.set_ylim(low, high)
    for spot, k in zip(spots, order, strict=True):
        where = ("axes fraction", "data")
        axes.annotate(str(names[int(k)]), (1.01, spot), xycoords=where, color=PALETTE[k], va="center", fontsize=8)


def _ticks(axes: Axes, at: np.ndarray | None, label: str) -> None:
    if at is not None and len(at):
        level = axes.get_xaxis_transform()
        axes.plot(at, np.full(len(at), 0.02), "|", color="black", ms=9, transform=level, label=label)


def _freedom(axes: Axes, at: np.ndarray, dof: np.ndarray) -> None:
    """Degrees of freedom on a second axis above, at a few of the positions."""
    places = np.unique(np.linspace(0, len(at) - 1, 7).round().astype(int))
    above = axes.twiny()
    above.set_xscale(axes.get_xscale())
    above.set_xlim(axes.get_xlim())
    above.set_xticks(at[places], [f"{dof[i]:.3g}" for i in places])
    above.minorticks_off()
    above.set_xlabel("effective degrees of freedom", fontsize=9)
    above.tick_params(labelsize=8)
    above.spines[["top", "right"]].set_visible(False)


def _error(axes: Axes, at: np.ndarray, values: np.ndarray, name: str, style: str, color: str) -> None:
    best = int(np.argmin(values))
    axes.plot(at, values, style[:-1], color=color, lw=1.6, label=f"{name}, least at {at[best]:.3g}")
    axes.plot(at[best], values[best], style[-1], color=color, ms=6, mec="white", zorder=4)


def _with_legends(figure: Figure, axes: list[Axes]) -> Figure:
    for axis in axes:
        if axis.get_legend_handles_labels()[1]:
            axis.legend(frameon=False, fontsize=8, loc="best")
    return figure
