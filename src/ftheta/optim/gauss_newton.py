"""Gauss-Newton: Newton's method for a sum of squares, without second derivatives.

    F = ½‖r(θ)‖²,     r(θ + d) ≈ r + J d,     JᵀJ d = -Jᵀr,     θ <- θ + t d,  t = 1, ½, ¼, ... until F falls

The Hessian is JᵀJ + Σ r_i ∇²r_i; its second part is left out: little where residuals are small or nearly linear.

Shapes: r (N,), J (N, P), built in chunks. A penalty ½ Σ c θ² adds diag(c) to JᵀJ and cθ to Jᵀr.
Reference: Nocedal and Wright, Numerical Optimization, 2nd edition, chapter 10 (2006).
"""

from __future__ import annotations

from typing import Any, ClassVar

from ._second_order import LeastSquares

__all__ = ["GaussNewton"]


class GaussNewton(LeastSquares):
    """JᵀJ d = -Jᵀr, halved until it lowers the loss; options as `SecondOrder`."""

    usual: ClassVar[dict[str, Any]] = {"control": "halving", "damping": 0.0}
