"""Rules that evaluate the loss themselves: what they may ask of a problem, and θ and g as one vector of P numbers."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..draw import Draw


class ClosureProblem(Protocol):
    """F(θ), pure in θ within an update: the same rows, the same noise. P numbers in all parameters, N residuals."""

    parameters: list[nn.Parameter]
    draw: Draw

    def __call__(self) -> Tensor:
        """F, with its gradient in `.grad`."""
        ...

    def value(self) -> Tensor:
        """F alone."""
        ...

    def squares(self) -> tuple[Tensor, Tensor, Tensor]:
        """½‖r‖² (), Jᵀr (P,) and JᵀJ (P, P) of F, penalty included, in float64 and without all of J at once."""
        ...

    def hessian(self) -> Tensor:
        """∇²F: (P, P)."""
        ...

    def ggn(self) -> Tensor:
        """Σ w Jᵀ C J / Σ w + diag(decay), C the likelihood's curvature: (P, P)."""
        ...


class ClosureOptimizer(Optimizer):
    """Base of rules that evaluate the loss themselves.

    `info` are numbers of the last update, for the history; `stop_reason` says why the rule cannot go on, empty while it
    can. `memory`, tensors and numbers, is kept from update to update and is in `state_dict`.

    Args:
        params: Parameters, taken together.
        lr: Learning rate.
    """

    def __init__(self, params: Iterable[Any], lr: float) -> None:
        super().__init__(params, {"lr": lr})
        if len(self.param_groups) > 1:
            raise ValueError("it moves all parameters together, so groups with options of their own are not for it")
        self.info: dict[str, float] = {}
        self.stop_reason = ""

    @abstractmethod
    def step(self, closure: ClosureProblem) -> Any:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """One update of a problem."""

    @property
    def tensors(self) -> list[Tensor]:
        """The parameters."""
        return self.param_groups[0]["params"]

    @property
    def memory(self) -> dict[str, Any]:
        """What is kept from update to update."""
        return self.state[self.tensors[0]]

    @property
    def lr(self) -> float:
        """The rate of this update."""
        return self.param_groups[0]["lr"]

    def flat(self) -> Tensor:
        """θ as one vector, a copy: (P,)."""
        return torch.cat([p.detach().reshape(-1) for p in self.tensors])

    def gradient(self) -> Tensor:
        """The gradient as one vector, zero where there is none: (P,)."""
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.tensors]
        return torch.cat([g.detach().reshape(-1) for g in parts])

    @torch.no_grad()
    def move_to(self, theta: Tensor) -> None:
        """Set θ to a vector: (P,)."""
        for p, part in zip(self.tensors, theta.split([p.numel() for p in self.tensors]), strict=True):
            p.copy_(part.view_as(p))
