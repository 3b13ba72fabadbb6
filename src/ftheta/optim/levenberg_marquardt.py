"""Levenberg-Marquardt: Gauss-Newton with a damping that is found on the way.

    (JᵀJ + λ I) d = -Jᵀr,     λ rises until ½‖r‖² falls, and falls with every step that gains what was promised

Small λ is Gauss-Newton, large λ a short step along the negative gradient. λ stands for a trust region ‖d‖ <= r: each
radius has one λ, and λ = 0 where the whole step fits in.

Shapes: r (N,), J (N, P), built in chunks; JᵀJ (P, P). A penalty ½ Σ c θ² adds diag(c) to JᵀJ and cθ to Jᵀr.
References: Levenberg (1944); Marquardt (1963); Madsen, Nielsen and Tingleff, Methods for non-linear least squares
problems, 2nd edition (2004), whose rule for λ this is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._curved import Curved, Model, sum_of_squares
from ._function import Function

__all__ = ["LevenbergMarquardt"]


class LevenbergMarquardt(Curved):
    """(JᵀJ + λ I) d = -Jᵀr.

    Args:
        params: Parameters, taken together.
        lr: Share of every step that is made.
        damping: λ at the start.
        ftol: A step that lowers the sum of squares by less than this share of it is the last.
        xtol: So is one shorter than this share of ‖θ‖.
        gtol: There is none where no entry of the gradient is above this.
    """

    matrix = "Gauss-Newton matrix"

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        *,
        damping: float = 1e-3,
        ftol: float = 1e-8,
        xtol: float = 1e-8,
        gtol: float = 1e-8,
    ) -> None:
        super().__init__(params, lr, control="damping", damping=damping, radius=1.0, ftol=ftol, xtol=xtol, gtol=gtol)

    def model(self, problem: Function) -> Model:
        """Jᵀr and JᵀJ."""
        return sum_of_squares(problem)
