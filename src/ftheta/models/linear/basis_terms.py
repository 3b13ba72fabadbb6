"""The terms of a model that is linear in its weights: names, coefficients, curves.

ŷ(x) = Σ_k c_k φ_k(x)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...plots import GREY, PALETTE, legend, panel, short
from ...results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Terms", "monomial"]

NAMED = 6  # terms that have a place in the legend
SHOWN = 20  # coefficients in one figure
STYLES = ("--", ":", "-.")


def monomial(powers: Sequence[int], inputs: Sequence[str], letter: str = "") -> str:
    """The name of a product of powers, or of polynomials of a letter.

    Example:
        >>> monomial([1, 2], ["a", "b"]), monomial([0, 3], ["a", "b"], "P")
        ('a b^2', 'P3(b)')
    """
    used = [(x, e) for x, e in zip(inputs, powers, strict=True) if e]
    return " ".join(f"{letter}{e}({x})" if letter else x if e == 1 else f"{x}^{e}" for x, e in used)


@dataclass(frozen=True, eq=False)
class Terms(Result):
    """Every term of a fit."""

    names: list[str]  # what each coefficient multiplies, "1" first: 1 + P
    coefficients: np.ndarray  # (1 + P,)
    condition: float  # condition number of what was solved
    grid: np.ndarray | None = None  # points of the only input (G,); None where there are several
    parts: np.ndarray | None = None  # each term there: (G, 1 + P)
    fit: np.ndarray | None = None  # their sum (G,)
    data: np.ndarray | None = None  # input and target of rows (n, 2)

    def columns(self) -> dict[str, Any]:
        """One row per term."""
        return {"term": self.names, "coefficient": self.coefficients}

    @property
    def caption(self) -> str:
        """How well the terms were determined."""
        return f"Condition number of what was solved: {self.condition:.3g}."

    def figure(self) -> Figure:
        """Fit, rows and each term for one input, the largest named; for several inputs the largest coefficients."""
        if self.grid is None or self.parts is None or self.fit is None:
            return self._bars()
        figure, axes = panel(7.2, 4.6, title="A fit and its terms", x="input x", y="target y, and terms of the fit")
        largest = np.sort(np.argsort(-np.abs(self.parts).max(0), kind="stable")[:NAMED]).tolist()
        for k, name in enumerate(self.names):
            style: dict[str, Any] = {"color": GREY, "lw": 0.8, "alpha": 0.6}
            if k in largest:
                i = largest.index(k)
                style = {"color": PALETTE[(i + 1) % len(PALETTE)], "ls": STYLES[i % 3], "lw": 1.5}
                style["label"] = short(name, 30)
            axes.plot(self.grid, self.parts[:, k], **style)
        if self.data is not None:
            axes.plot(*self.data.T, "o", ms=4, color=GREY, alpha=0.7, label="rows", zorder=1)
        axes.plot(self.grid, self.fit, color=PALETTE[0], lw=2.6, label="fit: the sum", zorder=4)
        legend(figure, width=70)
        return figure

    def _bars(self) -> Figure:
        values = self.coefficients
        order = sorted(np.argsort(-np.abs(values), kind="stable")[:SHOWN].tolist())
        more = f", the {SHOWN} largest of {len(values)}" if len(values) > SHOWN else ""
        label = "coefficient (units of y per unit of the term)"
        figure, axes = panel(6.4, 1.2 + 0.26 * len(order), title=f"Coefficients{more}", x=label, y="")
        axes.barh(range(len(order)), values[order], color=[PALETTE[int(values[k] < 0)] for k in order])
        axes.axvline(0, color=GREY, lw=1)
        axes.set_yticks(range(len(order)), [short(self.names[k], 30) for k in order])
        axes.set_ylim(len(order) - 0.4, -0.6)
        return figure
