"""Nonlinear conjugate gradient: each direction keeps a share of the last one.

    d <- -g + β d

    β = g·g / g₋·g₋                      (Fletcher-Reeves)
    β = g·(g - g₋) / g₋·g₋               (Polak-Ribière)
    β = 0 where abs(g·g₋) > 0.2 g·g      (a restart: far from a quadratic, the past does not help; no β < 0 is left)

On a quadratic with Hessian A and exact line search, the directions are A-conjugate, dᵢᵀ A dⱼ = 0 (orthogonal are the
gradients), and P steps reach its minimum. Only the last direction is kept.

Shapes: g, g₋ (before), d (P,).
Reference: Nocedal and Wright, Numerical Optimization, 2nd edition, chapter 5 (2006).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor

from ..catalog import nearest
from ..errors import InputError
from .descent import Descent

__all__ = ["ConjugateGradient"]

BETAS = ("polak-ribiere", "fletcher-reeves")


class ConjugateGradient(Descent):
    """Directions that do not undo what the last one has gained.

    Args:
        params: Parameters, taken together.
        lr: The first step that is tried, in units of what the last one makes expect.
        beta: "polak-ribiere" or "fletcher-reeves".
        search: A key of `SEARCHES`.
        max_iter: Directions per update.
        tolerance_grad: A gradient whose entries are all below this ends the training.
    """

    curvature = 0.1  # Fletcher-Reeves descends for every c₂ below ½

    def __init__(self, params: Iterable[Any], lr: float = 1.0, *, beta: str = "polak-ribiere", **options: Any) -> None:
        super().__init__(params, lr, **options)
        if beta not in BETAS:
            raise InputError(nearest("beta", beta, BETAS))
        self.beta = beta

    def direction(self, g: Tensor) -> Tensor:
        """-g + β d."""
        kept, d = self.memory, -g
        if "d" in kept:
            old = kept["g"]
            beta = g @ (g - old if self.beta == "polak-ribiere" else g) / (old @ old)
            kept["beta"] = 0.0 if (g @ old).abs() > 0.2 * (g @ g) else beta.item()
            d = d + kept["beta"] * kept["d"]
        kept["g"], kept["d"] = g, d
        return d
