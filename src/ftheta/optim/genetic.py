"""A genetic algorithm: a population is selected, crossed and mutated; the function is only evaluated.

    parents    a, b = the best of `rivals` members drawn at random, each
    child      θ_j = a_j or b_j, evenly;   with probability `mutation`   θ_j <- θ_j + η ε,   ε ~ N(0, 1)
    survivors  the best `elite` members go on unchanged
    θ          <- the best member

No gradient is needed, so any function will do. A generation costs M evaluations, and a good step comes by chance,
which is rarer the more parameters there are.

Shapes: population (M, P). Reference: Holland, Adaptation in Natural and Artificial Systems (1975).
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Generator, Tensor

from ._closure import ClosureOptimizer, ClosureProblem


class Genetic(ClosureOptimizer):
    """One generation per step; the loss never rises, as the best members survive.

    Args:
        params: Parameters, taken together.
        lr: Standard deviation η of a mutation.
        population: Members M.
        elite: Members that go on unchanged.
        rivals: Members drawn for each parent, of which the best becomes it.
        mutation: Probability that a parameter of a child is mutated.
        spread: Standard deviation of the first population around θ, in units of the rate.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.1,
        *,
        population: int = 50,
        elite: int = 2,
        rivals: int = 3,
        mutation: float = 0.3,
        spread: float = 10.0,
    ) -> None:
        super().__init__(params, lr)
        if not 0 < elite < population or rivals < 1 or not 0 <= mutation <= 1 or not spread >= 0:
            raise ValueError("0 < elite < population, rivals >= 1, 0 <= mutation <= 1 and spread >= 0 are needed")
        self.size, self.elite, self.rivals, self.mutation, self.spread = population, elite, rivals, mutation, spread

    @torch.no_grad()
    def step(self, closure: ClosureProblem) -> Tensor:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """One generation; returns F at its start, for the best member of the last one comes first."""
        kept = self.memory
        kept["generation"] = kept.get("generation", -1) + 1
        theta = self.flat()
        generator = closure.draw.at("genetic", kept["generation"]).generator(device=theta.device)
        members = self._children(generator) if "members" in kept else self._first(theta, generator)
        values = torch.stack([self._value(closure, member) for member in members])
        kept["members"], kept["values"] = members, values
        best = values.argmin()
        found = bool(values[best] < torch.finfo(values.dtype).max)
        self.move_to(members[best] if found else theta)
        self.stop_reason = "" if found else "no member of the population has a finite loss"
        self.info = {"population_loss": values.median().item(), "population_spread": members.std(0).mean().item()}
        return values[0]

    def _first(self, theta: Tensor, generator: Generator) -> Tensor:
        """θ itself, and others around it."""
        noise = torch.randn(self.size, len(theta), generator=generator, dtype=theta.dtype, device=theta.device)
        noise[0] = 0
        return theta + self.spread * self.lr * noise

    def _children(self, generator: Generator) -> Tensor:
        """Selection, crossover, mutation; the elite comes first."""
        members, values = self.memory["members"], self.memory["values"]
        n, like = len(members), {"generator": generator, "device": members.device}
        drawn = torch.randint(n, (2, n - self.elite, self.rivals), **like)
        winners = drawn.gather(2, values[drawn].argmin(2, keepdim=True))[..., 0]  # (2, children)
        a, b = members[winners]
        child = torch.where(torch.rand(a.shape, **like) < 0.5, a, b)
        moved = child + self.lr * torch.randn(a.shape, dtype=members.dtype, **like)
        child = torch.where(torch.rand(a.shape, **like) < self.mutation, moved, child)
        return torch.cat([members[values.argsort(stable=True)[: self.elite]], child])

    def _value(self, problem: ClosureProblem, member: Tensor) -> Tensor:
        """The loss of a member; what is not finite counts as the largest number, for memory is to stay finite."""
        self.move_to(member)
        return problem.value().to(member).nan_to_num(nan=torch.finfo(member.dtype).max)
