"""Natural gradient: the steepest descent where distance is that of distributions, not of parameters.

    G d = -g,    G = E[∇log p ∇log pᵀ] = Σ_i J_iᵀ C_i J_i / n,    θ <- θ + η d

KL(p(θ) || p(θ + d)) ≈ ½ d·G d: the same distributions are reached however θ is written. C_i is the likelihood's
curvature in the raw outputs, J_i their Jacobian in θ. For a Gaussian of fixed variance G is the Gauss-Newton matrix;
for a linear model with its canonical link it is the Hessian, and the rule is Newton's (IRLS).

Shapes: n rows, R raw outputs, J_i (R, P), C_i (R, R), G (P, P).
Reference: Amari, Natural gradient works efficiently in learning, Neural Computation 10 (1998).
"""

from __future__ import annotations

from torch import Tensor

from ._closure import ClosureProblem
from ._second_order import SecondOrder

__all__ = ["NaturalGradient"]


class NaturalGradient(SecondOrder):
    """(G + λ I) d = -g; λ is 0 while that works: G of a network is mostly singular. Options as `SecondOrder`."""

    matrix = "Fisher matrix"

    def curvature(self, problem: ClosureProblem) -> Tensor:
        """G."""
        return problem.ggn()
