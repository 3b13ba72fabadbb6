"""A likelihood: raw outputs of a network as the distribution of a target.

    raw = f_θ(x)   ->   parameters = link(raw)   ->   p(y | parameters)   ->   nll = -log p(y | raw)

The four steps of every loss: choose a distribution, map raw outputs to its parameters, minimize the negative
log-likelihood, predict from the distribution. A new one defines `law`: raw numbers in,
`torch.distributions.Distribution` out. All else follows from it; subclasses replace what they know in closed form.

Shapes: B rows, R raw outputs, D targets, r raw numbers for each target. Where raw has one axis more than y, the event
is a scalar: raw (B, ..., r), y (B, ...) -> nll (B, ...). Where both have as many, it is a vector of D independent
targets: raw (B, ..., r·D) in r blocks of D, y (B, ..., D) -> nll (B, ...), summed over D.
"""

from numbers import Real
from typing import ClassVar, Self

import torch
from torch import Tensor, nn
from torch.distributions import Distribution, Independent, kl_divergence

from ..data.specs import TargetSpec
from ..errors import InputError, InputTypeError


class Likelihood(nn.Module):
    """p(y | raw outputs) for scalar targets and for vectors of independent ones.

    Example:
        >>> class Exponential(Likelihood):
        ...     support, standardize = "real", False
        ...     def law(self, *raw):
        ...         return torch.distributions.Exponential(torch.nn.functional.softplus(raw[0]))
        >>> Exponential().nll(torch.tensor([[0.0]]), torch.tensor([2.0]))
        tensor([1.7528])
    """

    support: ClassVar[str] = "real"  # values of y: real, count, binary (in the dtype of raw), category (class indices)
    standardize: ClassVar[bool] = True  # whether y may be shifted and scaled before it is fitted
    per_target: ClassVar[int] = 1  # raw numbers for each target, r

    @classmethod
    def of(cls, y: TargetSpec) -> Self:
        """The likelihood for a target of this size."""
        return cls()

    def n_raw(self, y: TargetSpec) -> int:
        """Raw outputs that the module must give for one row."""
        return self.per_target * (1 if y.kind == "binary" else y.n)

    def law(self, *raw: Tensor) -> Distribution:
        """The distribution of each target from its r raw numbers, each of the shape of y."""
        raise InputTypeError(f"{type(self).__name__} has no distribution: define law(*raw), which returns one.")

    # ---- what follows from it

    def terms(self, raw: Tensor, y: Tensor) -> Tensor:
        """-log p of each target: (..., r·D), (..., D) -> (..., D)."""
        return -self.law(*self._blocks(raw)).log_prob(y)

    def nll(self, raw: Tensor, y: Tensor) -> Tensor:
        """Negative log-likelihood of each row, constants included."""
        terms = self.terms(raw, self._aligned(raw, y))
        return terms.squeeze(-1) if raw.ndim > y.ndim else terms.sum(-1)

    def total(self, raw: Tensor, y: Tensor) -> Tensor:
        """Σ nll over all rows."""
        return self.nll(raw, y).sum()

    def distribution(self, raw: Tensor) -> Distribution:
        """p(y | raw); r raw outputs per row mean one target, more mean a vector of independent ones."""
        law = self.law(*self._numbers(raw))
        return law if raw.shape[-1] == self.per_target else Independent(law, 1)

    def mode(self, raw: Tensor) -> Tensor:
        """The prediction: (B, ...), or (B, ..., D) for several targets."""
        return self.distribution(raw).mode

    def interval(self, raw: Tensor, level: float) -> tuple[Tensor, Tensor] | None:
        """Ends of the central interval that holds y with probability `level`, target by target; None for classes."""
        if self.support in ("binary", "category"):
            return None
        low, high = self._tails(raw, level)
        law = self.law(*self._numbers(raw))
        return law.icdf(low), law.icdf(high)

    def residual(self, raw: Tensor, y: Tensor) -> Tensor | None:
        """r (B, ..., D) with nll = Σ r²/2 + constant, or None where there is none."""
        return None

    def curvature(self, raw: Tensor) -> Tensor:
        """Fisher information in raw, the expected Hessian of the nll: (B, R) -> (B, R, R).

        By default it is the Hessian of KL(p(raw) || p(raw')) at raw' = raw, which equals it.
        """
        there = raw.detach().requires_grad_()
        with torch.enable_grad():
            divergence = kl_divergence(self.distribution(raw.detach()), self.distribution(there)).sum()
            (slope,) = torch.autograd.grad(divergence, there, create_graph=True)  # (B, R)
            rows = [torch.autograd.grad(s.sum(), there, retain_graph=True)[0] for s in slope.unbind(-1)]
        return torch.stack(rows, -2)  # (B, R, R)

    # ---- shapes

    def _aligned(self, raw: Tensor, y: Tensor) -> Tensor:
        """y with as many axes as raw: (..., D)."""
        y_ = y.unsqueeze(-1) if raw.ndim > y.ndim else y
        if raw.shape[-1] != self.per_target * y_.shape[-1]:
            what = f"raw has shape {tuple(raw.shape)} and y {tuple(y.shape)}; {type(self).__name__} needs"
            need = f"{self.per_target * y_.shape[-1]} raw outputs in the last axis"
            raise InputError(f"{what} {need}: give the module n_raw(spec) outputs.")
        return y_

    def _blocks(self, raw: Tensor) -> tuple[Tensor, ...]:
        """(..., r·D) -> r tensors (..., D)."""
        return raw.chunk(self.per_target, -1) if self.per_target > 1 else (raw,)

    def _numbers(self, raw: Tensor) -> tuple[Tensor, ...]:
        """The r raw numbers in the shape of y: (..., r) -> r tensors (...), (..., r·D) -> r tensors (..., D)."""
        return raw.unbind(-1) if raw.shape[-1] == self.per_target else self._blocks(raw)

    def _tails(self, raw: Tensor, level: float) -> tuple[Tensor, Tensor]:
        """Probabilities left of the two ends of a central interval."""
        if not isinstance(level, Real) or not 0 < level < 1:
            raise InputError(f"The 'level' parameter of interval must be a float in (0, 1). Got {level!r} instead.")
        return raw.new_tensor((1 - level) / 2), raw.new_tensor((1 + level) / 2)
