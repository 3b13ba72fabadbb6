"""Terms of a sum of functions: the curve of each, and the size of each coefficient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ....errors import InputError
from ....plots import GREY, PALETTE, legend, panel, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["coefficients", "terms"]

NAMED = 6  # terms that have a place in the legend
SHOWN = 20  # coefficients in one figure
STYLES = ("--", ":", "-.")


def terms(
    x: np.ndarray, parts: np.ndarray, names: Sequence[str], fit: np.ndarray, data: np.ndarray | None = None
) -> Figure:
    """The fit as a thick line, each term c_k φ_k(x) as a thin one, rows as dots.

    Where there are many terms, the largest are named; the others are grey.

    Args:
        x: Points (G,).
        parts: Each term there (G, P).
        names: Of the terms: P.
        fit: Their sum (G,).
        data: Input and target of rows (n, 2), or None.
    """
    if parts.shape != (len(x), len(names)):
        raise InputError(f"parts has shape {parts.shape}; {len(x)} points of {len(names)} terms are needed.")
    figure, axes = panel(7.2, 4.6, title="A fit and its terms", x="input x", y="target y, and terms of the fit")
    largest = np.argsort(-np.abs(parts).max(0), kind="stable")[:NAMED]
    for k, name in enumerate(names):
        if k in largest:
            i = int(np.flatnonzero(np.sort(largest) == k)[0])
            style = {"color": PALETTE[(i + 1) % len(PALETTE)], "ls": STYLES[i % 3], "lw": 1.5, "label": short(name, 30)}
        else:
            style = {"color": GREY, "lw": 0.8, "alpha": 0.6}
        axes.plot(x, parts[:, k], **style)
    if data is not None:
        axes.plot(data[:, 0], data[:, 1], "o", ms=4, color=GREY, alpha=0.7, label="rows", zorder=1)
    axes.plot(x, fit, color=PALETTE[0], lw=2.6, label="fit: the sum", zorder=4)
    legend(figure, width=70)
    return figure


def coefficients(names: Sequence[str], values: np.ndarray) -> Figure:
    """A bar a coefficient, from 0 to its value; of many, the largest.

    Args:
        names: Of the terms: P.
        values: Their coefficients (P,).
    """
    if len(names) != len(values) or not len(names):
        raise InputError(
            f"{len(names)} names and {len(values)} coefficients; as many of both, at least one, are needed."
        )
    order = sorted(np.argsort(-np.abs(values), kind="stable")[:SHOWN].tolist())
    more = f", the {SHOWN} largest of {len(names)}" if len(names) > SHOWN else ""
    figure, axes = panel(
        6.4, 1.2 + 0.26 * len(order), title=f"Coefficients{more}", x="coefficient (units of y a unit of the term)", y=""
    )
    colours = [PALETTE[0] if values[k] >= 0 else PALETTE[1] for k in order]
    axes.barh(range(len(order)), values[order], color=colours)
    axes.axvline(0, color=GREY, lw=1)
    axes.set_yticks(range(len(order)), [short(names[int(k)], 30) for k in order])
    axes.set_ylim(len(order) - 0.4, -0.6)
    return figure
