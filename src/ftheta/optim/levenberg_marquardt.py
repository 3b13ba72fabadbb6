"""Levenberg-Marquardt: Gauss-Newton with a damping that is found on the way.

    (JᵀJ + λ I) d = -Jᵀr,     λ rises until ½‖r‖² falls, and falls with every step that gains what was promised

Small λ is Gauss-Newton, large λ a short step along the negative gradient. λ stands for a trust region ‖d‖ <= r: each
radius has one λ, and λ = 0 where the full step fits in.

Shapes: r (N,), J (N, P), built in chunks; JᵀJ (P, P). A penalty ½ Σ c θ² adds diag(c) to JᵀJ and cθ to Jᵀr.
References: Levenberg (1944); Marquardt (1963); Madsen, Nielsen and Tingleff, Methods for non-linear least squares
problems, 2nd edition (2004), whose rule for λ this is.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ._second_order import LeastSquares

__all__ = ["LevenbergMarquardt"]


class LevenbergMarquardt(LeastSquares):
    """(JᵀJ + λ I) d = -Jᵀr; options as `SecondOrder`, with λ = 0.001 at the start."""

    usual: ClassVar[dict[str, Any]] = {"control": "damping", "damping": 1e-3}
