"""BFGS: the inverse of the Hessian, learned from the changes of the gradient.

    d = -H g,    H <- (I - ρ s yᵀ) H (I - ρ y sᵀ) + ρ s sᵀ,    ρ = 1 / (s·y)

s is the last step, y the change of the gradient over it. H = I at first and (s·y / y·y) I before the first change. It
stays positive definite: a pair without s·y > 0 (a search that does not ask for the Wolfe conditions may leave one) is
not learned.

Shapes: g, d, s, y (P,), H (P, P).
Reference: Nocedal and Wright, Numerical Optimization, 2nd edition, chapter 6 (2006).
"""

from __future__ import annotations

import torch
from torch import Tensor

from .descent import Descent

__all__ = ["BFGS"]


class BFGS(Descent):
    """A quasi-Newton rule that keeps a dense inverse Hessian, P² numbers; options as `Descent`."""

    scaled = True

    def direction(self, g: Tensor) -> Tensor:
        """-H g."""
        return -(self.memory["inverse"] @ g) if "inverse" in self.memory else -g

    def learn(self, s: Tensor, y: Tensor) -> None:
        """H, with H y = s afterwards."""
        sy = s @ y
        if not sy > torch.finfo(y.dtype).eps * s.norm() * y.norm():
            return
        if "inverse" not in self.memory:
            self.memory["inverse"] = torch.eye(len(y), dtype=y.dtype, device=y.device) * (sy / (y @ y))
        h = self.memory["inverse"]
        u = h @ y  # (I - ρ s yᵀ) H (I - ρ y sᵀ) = H - ρ (u sᵀ + s uᵀ) + ρ² (y·u) s sᵀ
        h.addr_(s, ((1 + y @ u / sy) * s - u) / sy).addr_(u, s / sy, alpha=-1)
