"""The terms of a model that is linear in its weights: names, coefficients, curves.

ŷ(x) = Σ_k c_k φ_k(x)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...results import Result
from .figures.terms import coefficients, terms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Terms", "called", "function_name", "monomial", "placed"]


def monomial(powers: Sequence[int], inputs: Sequence[str], letter: str = "") -> str:
    """The name of a product of powers, or of polynomials of a letter.

    Example:
        >>> monomial([1, 2], ["a", "b"]), monomial([0, 3], ["a", "b"], "P")
        ('a b^2', 'P3(b)')
    """
    used = [(x, e) for x, e in zip(inputs, powers, strict=True) if e]
    if letter:
        return " ".join(f"{letter}{e}({x})" for x, e in used)
    return " ".join(x if e == 1 else f"{x}^{e}" for x, e in used)


def called(functions: list[Any], x: np.ndarray) -> np.ndarray:
    """What each function gives for the inputs: (n, P)."""
    columns = []
    for k, f in enumerate(functions):
        said = f"basis[{k}] ({function_name(f, k)})"
        try:
            values = np.asarray(f(*x.T.copy()))  # what it changes is not X
            if np.iscomplexobj(values):
                raise TypeError("it gives complex numbers")
            columns.append(np.broadcast_to(values.astype(float), len(x)))
        except Exception as error:
            raise InputError(
                f"{said} cannot be called with {x.shape[1]} arrays of {len(x)} numbers: {error}. It must give one "
                "number per row."
            ) from error
        if not np.isfinite(columns[-1]).all():
            row = int(np.argmin(np.isfinite(columns[-1])))
            raise InputError(
                f"{said} gives {columns[-1][row]} for row {row}; functions that are finite on all rows are needed."
            )
    return np.stack(columns, 1)


def function_name(f: Any, k: int) -> str:
    """Its own, or φ and its number from 1."""
    found = getattr(f, "__name__", "")
    return found if found and found != "<lambda>" else f"φ{k + 1}"


def placed(shape: str, x: str, centre: float, width: float) -> str:
    """A hinge of width 1 as it is written, else with centre and width."""
    if shape == "relu" and width == 1:
        return f"relu({x} {'-' if centre >= 0 else '+'} {abs(centre):.4g})"
    return f"{shape}({x}; {centre:.4g}, {width:.4g})"


@dataclass(frozen=True, eq=False)
class Terms(Result):
    """Every term of a fit."""

    names: list[str]  # what each coefficient multiplies, "1" first: 1 + P
    coefficients: np.ndarray  # (1 + P,)
    condition: float  # condition number of what was solved
    grid: np.ndarray | None  # points of the only input (G,); None where there are several
    parts: np.ndarray | None  # each term there: (G, 1 + P)
    fit: np.ndarray | None  # their sum (G,)
    data: np.ndarray | None  # input and target of each row that was given (n, 2), or None

    def columns(self) -> dict[str, Any]:
        """One row per term."""
        return {"term": self.names, "coefficient": self.coefficients}

    @property
    def caption(self) -> str:
        """How well the terms were determined."""
        return f"Condition number of what was solved: {self.condition:.3g}."

    def figure(self) -> Figure:
        """Data, fit and each term for one input; the sizes of the coefficients for several."""
        if self.grid is None or self.parts is None or self.fit is None:
            return coefficients(self.names, self.coefficients)
        return terms(self.grid, self.parts, self.names, self.fit, self.data)
