"""Many modules of one shape as one: every tensor has a leading axis of members.

    θ = (θ₁, ..., θ_M),      f(x)_m = f(x_m; θ_m)

Of a dense layer M small products become one batched product, H_m = X_m W_mᵀ + b_m; what is not known here goes through
`torch.func.vmap`, layer by layer. No member sees another: the sum of their losses has each member's own gradient.

Shapes: M members, B rows, x (M, B, ...), outputs (M, B, R), weight of a dense layer (M, R, D).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ._stacking import apply, changed, check_alike, tensors_of

__all__ = ["Stacked"]


class Stacked(nn.Module):
    """Modules of one structure as one module; their tensors lie under `each.` and the members' own names.

    Dropout draws noise of its own for every member. A batch norm keeps statistics of its own for every member.

    Args:
        members: At least one module; they are copied.

    Example:
        >>> stack = Stacked([nn.Linear(2, 1) for _ in range(3)])
        >>> stack(torch.zeros(3, 5, 2)).shape, stack.each.weight.shape
        (torch.Size([3, 5, 1]), torch.Size([3, 1, 2]))
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        check_alike(members)
        own = [tensors_of(member) for member in members]
        self.each: Any = changed(members[0], lambda name, tensor: torch.stack([t[name].detach() for t in own]))
        self.n = len(members)

    def forward(self, x: Tensor) -> Tensor:
        """The outputs of each member for rows of its own: (M, B, ...) -> (M, B, R)."""
        return apply(self.each, x)

    def shared(self, x: Tensor) -> Tensor:
        """The outputs of each member for the same rows: (B, ...) -> (M, B, R)."""
        return self(x.expand(self.n, *x.shape))

    def take(self, index: Sequence[int]) -> Stacked:
        """A stack of copies of some of the members."""
        some, kept = Stacked([nn.Identity()]), torch.as_tensor(index)
        some.each, some.n = changed(self.each, lambda name, tensor: tensor.detach()[kept.to(tensor.device)]), len(kept)
        return some

    def weights(self) -> dict[str, Tensor]:
        """Copies of all that a member's `state_dict` holds, of all members: (M, ...) each."""
        return {name: value.detach().clone() for name, value in self.each.state_dict().items()}

    def members(self) -> list[nn.Module]:
        """Each member as a module of its own, a copy."""
        return [changed(self.each, lambda name, tensor, i=i: tensor.detach()[i].clone()) for i in range(self.n)]

    def write_back(self, members: Sequence[nn.Module]) -> None:
        """Give each member's tensors to a module of its structure."""
        for i, member in enumerate(members):
            member.load_state_dict({name: value[i] for name, value in self.each.state_dict().items()})
