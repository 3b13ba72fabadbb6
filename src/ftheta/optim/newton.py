"""Newton's method: to the minimum of the second-order Taylor expansion.

    F(θ + d) ≈ F + g·d + ½ d·H d,      H d = -g,      θ <- θ + d

A quadratic F is minimized in one step; near a minimum the number of right digits doubles with every step. Where H is
not positive definite, d leads to a saddle or a maximum, or does not exist: λ I is added, or the step is confined.

Shapes: g the gradient of F (not a Jacobian of residuals), (P,); H (P, P), which takes P backward passes.
Reference: Nocedal and Wright, Numerical Optimization, 2nd edition, chapters 3 and 4 (2006).
"""

from __future__ import annotations

from torch import Tensor

from ._closure import ClosureProblem
from ._second_order import SecondOrder

__all__ = ["Newton"]


class Newton(SecondOrder):
    """(H + λ I) d = -g, λ = 0 while that works; options as `SecondOrder`."""

    matrix = "Hessian"

    def curvature(self, problem: ClosureProblem) -> Tensor:
        """H."""
        return problem.hessian()
