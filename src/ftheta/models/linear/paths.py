"""Coefficient paths: how every coefficient moves as the penalty shrinks.

Shapes: L penalties, D features, T targets, K knots.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend, short
from ...results import Result, Table

NAMED = 7  # coefficients that get a color and a name


class CoefficientPath(Result):
    """Ridge regression, the lasso or the elastic net for every penalty."""

    title: str  # what was fitted
    alphas: np.ndarray  # penalties (L,); of the lasso falling, the first the least that sets all coefficients to 0
    coefs: np.ndarray  # (L, D), or (L, T, D) for several targets
    intercepts: np.ndarray  # (L,) or (L, T)
    dof: np.ndarray  # effective degrees of freedom, the intercept not counted (L,)
    names: tuple[str, ...]  # of the features (D,)
    loo: np.ndarray | None = None  # of ridge: weighted mean square of leave-one-out errors (L,)
    gcv: np.ndarray | None = None  # of ridge: generalized cross-validation, in the same units (L,)
    gaps: np.ndarray | None = None  # of the lasso: duality gap of each solution, in the units of the objective (L,)
    knots: np.ndarray | None = None  # of the lasso: exact penalties where a coefficient enters or leaves, falling (K,)
    chosen: float | None = None  # the penalty of a model
    label: str = "coefficient"
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
        own = "" if self.chosen is None else f", chosen was {self.chosen:.4g}"
        first = f"{self.title}: {len(self.alphas)} penalties{own}"
        if self.gaps is None:
            loo, gcv = (self.alphas[self.best(choose)] for choose in ("loo", "gcv"))
            return f"{first}. Least leave-one-out error at alpha {loo:.4g}, least GCV at {gcv:.4g}."
        entered = list(dict.fromkeys(self.names[j] for j in np.nonzero(self.coefs)[1]))
        order = ", ".join(entered[:10])
        return f"{first}, largest duality gap {self.gaps.max():.2g}. Coefficients leave 0 in the order {order}."

    @drawn
    def figure(self) -> Figure:
        """Coefficients against the penalty, knots as ticks, errors below; of several targets the first is drawn."""
        coefs = self.coefs if self.coefs.ndim == 2 else self.coefs[:, 0]
        order = np.argsort(-self.alphas, kind="stable")
        order = order[self.alphas[order] > 0]
        if not len(order):
            raise InputError("There is no penalty above 0, so there is nothing to draw on a log axis.")
        at, knots = self.alphas[order], np.empty(0) if self.knots is None else self.knots
        figure, axes = _lines(at, coefs[order], self.names, knots, below=self.loo is not None)
        axes[0].set(title=f"{self.title}: coefficients against the penalty", xscale="log")
        axes[0].set_ylabel(self.label)
        for part in axes:
            part.set_xlabel("penalty α (log scale, falling)")
        if self.chosen:
            axes[0].axvline(self.chosen, color=GREY, lw=2.2, ls="-", zorder=1, label=f"chosen: {self.chosen:.3g}")
        legend(figure, axes=axes[:1])
        axes[0].invert_xaxis()
        above, places = axes[0].twiny(), np.unique(np.linspace(0, len(at) - 1, 7).round().astype(int))
        above.set(xscale="log", xlim=axes[0].get_xlim(), xlabel="effective degrees of freedom")
        above.set_xticks(at[places], [f"{dof:.3g}" for dof in self.dof[order][places]])
        above.minorticks_off()
        above.grid(visible=False)
        errors = {"leave-one-out": (self.loo, "-o"), "generalized cross-validation": (self.gcv, "--D")}
        for i, (name, (values, style)) in enumerate(errors.items()):
            if values is not None:
                values, best, color = values[order], np.argmin(values[order]), PALETTE[i]
                axes[i].axvline(self.alphas[self.best()], color=GREY, lw=1.2, ls=(0, (4, 3)), zorder=1)
                axes[1].plot(at, values, style[:-1], color=color, label=f"{name}, least at {at[best]:.3g}")
                axes[1].plot(at[best], values[best], style[-1], color=color, ms=6, mec="white", zorder=4)
                axes[1].set_ylabel("mean error²")
                axes[1].legend(loc="best")
        return figure


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


def _lines(
    at: np.ndarray, coefs: np.ndarray, names: Sequence[str], knots: np.ndarray, *, below: bool
) -> tuple[Figure, Any]:
    """One line per coefficient (L, D) over penalties (L,), the largest named; knots as ticks; perhaps a panel below."""
    figure, axes = canvas(1 + below, across=1, width=7.0, height=4.4 - 1.2 * below, sharex=True)
    axes[0].axhline(0, color="0.6", lw=0.8, zorder=1)
    largest = np.argsort(-np.abs(coefs).max(0), kind="stable")[:NAMED].tolist()
    look = {"ls": "-", "marker": "." if len(at) < 31 else ""}
    axes[0].plot(at, np.delete(coefs, largest, 1), color="0.75", lw=0.9, zorder=2, **look)
    for i, j in enumerate(largest):
        axes[0].plot(at, coefs[:, j], color=PALETTE[i], label=short(str(names[j]), 18), zorder=3, **look)
    if len(knots):
        place = {"transform": axes[0].get_xaxis_transform(), "ls": "", "marker": "|", "ms": 9, "color": "black"}
        axes[0].plot(knots, np.full(len(knots), 0.02), label="knots", **place)
    return figure, axes
