"""L-BFGS: BFGS without its matrix, from the last m pairs.

    d = -H g,    ρ = 1 / (s·y),    H₀ = (s·y / y·y) I of the newest pair

    r <- g
    newest to oldest:  α <- ρ s·r,  r <- r - α y
    r <- H₀ r
    oldest to newest:  r <- r + (α - ρ y·r) s
    d = -r

s is a step, y the change of the gradient over it, both within one update, so both of the same rows and noise.

Shapes: g, d, s, y (P,).
Reference: Nocedal, Updating Quasi-Newton Matrices with Limited Storage, Mathematics of Computation 35 (1980).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from .. import check
from .descent import Descent

__all__ = ["LBFGS"]


class LBFGS(Descent):
    """A quasi-Newton rule that keeps 2 m vectors.

    Args:
        params: Parameters, taken together.
        lr: The first step that is tried, in units of d.
        history_size: Pairs m.
        search: A key of `SEARCHES`.
        max_iter: Directions per update, 20 by default.
        tolerance_grad: A gradient whose entries are all below this ends the training.
    """

    scaled = True
    directions = 20

    def __init__(self, params: Iterable[Any], lr: float = 1.0, *, history_size: int = 20, **options: Any) -> None:
        super().__init__(params, lr, **options)
        self.history_size = check.at_least("history_size", history_size, 1, integer=True)

    def direction(self, g: Tensor) -> Tensor:
        """-H g by two loops over the pairs."""
        pairs = self.memory.get("pairs", [])
        r, alphas = g.clone(), []
        for s, y, rho in reversed(pairs):
            alphas.append(rho * (s @ r).item())
            r.sub_(y, alpha=alphas[-1])
        for _, y, rho in pairs[-1:]:
            r.div_(rho * (y @ y))
        for (s, y, rho), alpha in zip(pairs, reversed(alphas), strict=True):
            r.add_(s, alpha=alpha - rho * (y @ r).item())
        return r.neg_()

    def learn(self, s: Tensor, y: Tensor) -> None:
        """One more pair, if it has s·y > 0; the oldest goes."""
        sy = (s @ y).item()
        if sy > torch.finfo(y.dtype).eps * s.norm() * y.norm():
            self.memory["pairs"] = [*self.memory.get("pairs", []), [s, y, 1 / sy]][-self.history_size :]
