"""Natural gradient: the steepest descent where distance is that of distributions, not of parameters.

    G d = -g,    G = E[∇log p ∇log pᵀ] = Σ_i J_iᵀ C_i J_i / n,    θ <- θ + η d

KL(p(θ) || p(θ + d)) ≈ ½ d·G d: the same distributions are reached however θ is written. C_i is the likelihood's
curvature in the raw outputs, J_i their Jacobian in θ. For a Gaussian of fixed variance G is the Gauss-Newton matrix;
for a linear model with its canonical link it is the Hessian, and the rule is Newton's (IRLS).

Shapes: n rows, R raw outputs, J_i (R, P), C_i (R, R), G (P, P).
Reference: Amari, Natural gradient works efficiently in learning, Neural Computation 10 (1998).
"""

from __future__ import annotations

import torch

from ._curved import Curved, Model
from ._function import Function

__all__ = ["NaturalGradient"]


class NaturalGradient(Curved):
    """(G + λ I) d = -g; λ is 0 while that works: G of a network is mostly singular.

    Args:
        params: Parameters, taken together.
        lr: Share η of every step that is made.
        control: What keeps steps honest: damping, region, halving, none.
        damping: λ at the start; above 0 it ties the rule to how θ is written.
        radius: Radius of the trust region at the start.
        ftol: A step that lowers the loss by less than this share of it is the last.
        xtol: So is one shorter than this share of ‖θ‖.
        gtol: There is none where no entry of the gradient is above this.
    """

    matrix = "Fisher matrix"

    def model(self, problem: Function) -> Model:
        """g and G."""
        with torch.enable_grad():
            value = problem()
        return Model(value, value, self.gradient().double(), problem.ggn())
