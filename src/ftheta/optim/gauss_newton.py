"""Gauss-Newton: Newton's method for a sum of squares, without second derivatives.

    F = ½‖r(θ)‖²,     r(θ + d) ≈ r + J d,     JᵀJ d = -Jᵀr,     θ <- θ + t d,  t = 1, ½, ¼, ... until F falls

The Hessian is JᵀJ + Σ r_i ∇²r_i; its second part is left out: little where residuals are small or nearly linear.

Shapes: r (N,), J (N, P), built in chunks. A penalty ½ Σ c θ² adds diag(c) to JᵀJ and cθ to Jᵀr.
Reference: Nocedal and Wright, Numerical Optimization, 2nd edition, chapter 10 (2006).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._curved import Curved, Model, sum_of_squares
from ._function import Function

__all__ = ["GaussNewton"]


class GaussNewton(Curved):
    """JᵀJ d = -Jᵀr, halved until it lowers the loss.

    Args:
        params: Parameters, taken together.
        lr: Share of every step that is made.
        control: What keeps steps honest: halving, region, none; damping makes it Levenberg-Marquardt.
        damping: λ that is added to the diagonal; more is taken only where JᵀJ is singular.
        radius: Radius of the trust region at the start.
        ftol: A step that lowers the loss by less than this share of it is the last.
        xtol: So is one shorter than this share of ‖θ‖.
        gtol: There is none where no entry of the gradient is above this.
    """

    matrix = "Gauss-Newton matrix"

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        *,
        control: str = "halving",
        damping: float = 0.0,
        radius: float = 1.0,
        ftol: float = 1e-8,
        xtol: float = 1e-8,
        gtol: float = 1e-8,
    ) -> None:
        super().__init__(params, lr, control=control, damping=damping, radius=radius, ftol=ftol, xtol=xtol, gtol=gtol)

    def model(self, problem: Function) -> Model:
        """Jᵀr and JᵀJ."""
        return sum_of_squares(problem)
