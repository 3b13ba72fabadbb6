"""Newton's method: to the minimum of the second-order Taylor expansion.

    F(θ + d) ≈ F + g·d + ½ d·H d,      H d = -g,      θ <- θ + d

A quadratic F is minimised in one step; near a minimum the number of right digits doubles with every step. Where H is
not positive definite, d leads to a saddle or a maximum, or does not exist: λ I is added, or the step is confined.

Shapes: g the gradient of F (not a Jacobian of residuals), (P,); H (P, P), which takes P backward passes.
Reference: Nocedal and Wright, Numerical Optimization, 2nd edition, chapters 3 and 4 (2006).
"""

from __future__ import annotations

import torch

from ._curved import Curved, Model
from ._function import Function

__all__ = ["Newton"]


class Newton(Curved):
    """(H + λ I) d = -g, λ = 0 while that works.

    Args:
        params: Parameters, taken together.
        lr: Share of every step that is made; below 1 the method is damped in the other sense of the word.
        control: What keeps steps honest: damping, region, halving, none.
        damping: λ at the start, for control="damping"; else throughout.
        radius: Radius of the trust region at the start.
        ftol: A step that lowers the loss by less than this share of it is the last.
        xtol: So is one shorter than this share of ‖θ‖.
        gtol: There is none where no entry of the gradient is above this.
    """

    matrix = "Hessian"

    def model(self, problem: Function) -> Model:
        """g and H."""
        with torch.enable_grad():
            value = problem()
        return Model(value, value, self.gradient().double(), problem.hessian().double())
