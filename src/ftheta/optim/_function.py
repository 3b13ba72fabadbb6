"""What a rule may ask of the problem that it is given, if a gradient is not enough for it."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor, nn

from ..draw import Draw

__all__ = ["Function"]


class Function(Protocol):
    """F(θ), pure in θ within an update: the same rows, the same noise. P numbers in all parameters, N residuals."""

    parameters: list[nn.Parameter]
    draw: Draw

    def __call__(self) -> Tensor:
        """F, with its gradient in `.grad`."""
        ...

    def value(self) -> Tensor:
        """F alone."""
        ...

    def residuals(self) -> tuple[Tensor, Tensor]:
        """r (N,) and J (N, P) of the data term ‖r‖² / 2."""
        ...

    def squares(self) -> tuple[Tensor, Tensor, Tensor]:
        """½‖r‖² (), Jᵀr (P,) and JᵀJ (P, P) of F, penalty included, in float64 and without all of J at once."""
        ...

    def decay(self) -> Tensor:
        """c (P,) of the penalty ½ Σ c θ²."""
        ...

    def hessian(self) -> Tensor:
        """∇²F: (P, P)."""
        ...

    def ggn(self) -> Tensor:
        """Σ w Jᵀ C J / Σ w + diag(decay), C the likelihood's curvature: (P, P)."""
        ...
