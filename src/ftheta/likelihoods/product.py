"""Product of likelihoods: several outputs of mixed types, independent given the input.

    -log p(y | raw) = -Σᵢ Σⱼ log pⱼ(yᵢⱼ | rawᵢⱼ)        over rows i and parts j

Shapes: B rows, C columns of y, R raw outputs; each part takes the next columns of y and the next of raw.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Distribution

from ..data.specs import TargetSpec
from ..errors import InputError
from ._base import Likelihood


class Product(Likelihood):
    """Independent parts side by side; y is (B, C) in the dtype of raw, class indices included.

    Args:
        parts: Likelihood and target of each part, in the order of the columns of y: one column for each part, n for
            several targets or labels.

    Example:
        >>> from ftheta.likelihoods import Categorical, Gaussian
        >>> parts = [(Gaussian(), TargetSpec("regression")), (Categorical(), TargetSpec("multiclass", 3))]
        >>> Product(parts).nll(torch.zeros(1, 4), torch.tensor([[0.0, 2.0]]))  # log √2π + log 3
        tensor([2.0176])
    """

    support = "mixed"
    standardize = False

    def __init__(self, parts: Sequence[tuple[Likelihood, TargetSpec]]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(part for part, _ in parts)
        self.raw_sizes = [part.n_raw(spec) for part, spec in parts]
        self.y_sizes = [1 if part.support == "category" else max(spec.n, 1) for part, spec in parts]

    def n_raw(self, y: TargetSpec) -> int:
        return sum(self.raw_sizes)

    def nll(self, raw: Tensor, y: Tensor) -> Tensor:
        return sum((p.nll(r, t) for p, r, t in self._split(raw, y)), start=raw.new_zeros(()))

    def total(self, raw: Tensor, y: Tensor) -> Tensor:
        return sum((p.total(r, t) for p, r, t in self._split(raw, y)), start=raw.new_zeros(()))

    def distribution(self, raw: Tensor) -> Distribution:
        return _Joint(self, [p.distribution(r) for p, r in self._raw(raw)], raw)

    def mode(self, raw: Tensor) -> Tensor:
        """Predictions side by side, in the dtype of raw: (B, C)."""
        return self._columns([p.mode(r) for p, r in self._raw(raw)], raw)

    def interval(self, raw: Tensor, level: float) -> tuple[Tensor, Tensor] | None:
        """Ends for every column, or None if a part has classes."""
        ends = [p.interval(r, level) for p, r in self._raw(raw)]
        if any(e is None for e in ends):
            return None
        low, high = zip(*[e for e in ends if e is not None], strict=True)
        return self._columns(low, raw), self._columns(high, raw)

    def residual(self, raw: Tensor, y: Tensor) -> Tensor | None:
        found = [p.residual(r, t) for p, r, t in self._split(raw, y)]
        return None if any(f is None for f in found) else torch.cat([f for f in found if f is not None], -1)

    def curvature(self, raw: Tensor) -> Tensor:
        ends = list(accumulate(self.raw_sizes))
        blocks = [(p.curvature(r), end) for (p, r), end in zip(self._raw(raw), ends, strict=True)]  # (B, Rⱼ, Rⱼ)
        return torch.cat([F.pad(b, (end - b.shape[-1], ends[-1] - end)) for b, end in blocks], -2)  # (B, R, R)

    def _raw(self, raw: Tensor) -> list[tuple[Any, Tensor]]:
        return list(zip(self.parts, raw.split(self.raw_sizes, -1), strict=True))

    def _split(self, raw: Tensor, y: Tensor) -> list[tuple[Any, Tensor, Tensor]]:
        want = sum(self.raw_sizes), sum(self.y_sizes)
        if (raw.shape[-1], y.shape[-1]) != want:
            rest = f"the parts of this Product need {want[0]} raw outputs and {want[1]} columns of y."
            raise InputError(f"raw has shape {tuple(raw.shape)} and y {tuple(y.shape)}; {rest}")
        return [(p, r, t) for (p, r), t in zip(self._raw(raw), self._targets(y), strict=True)]

    def _targets(self, y: Tensor) -> list[Tensor]:
        """Columns of each part: (..., n), one alone (...), class indices as long."""
        columns = [t.squeeze(-1) if n == 1 else t for t, n in zip(y.split(self.y_sizes, -1), self.y_sizes, strict=True)]
        return [t.long() if p.support == "category" else t for p, t in zip(self.parts, columns, strict=True)]

    def _columns(self, found: Sequence[Tensor], raw: Tensor) -> Tensor:
        sized = zip(found, self.y_sizes, strict=True)
        return torch.cat([(f.unsqueeze(-1) if n == 1 else f).to(raw) for f, n in sized], -1)


class _Joint(Distribution):
    """Independent distributions side by side, events of shape (C,)."""

    def __init__(self, owner: Product, parts: Sequence[Distribution], raw: Tensor) -> None:
        self.owner, self.parts, self.raw = owner, parts, raw
        super().__init__(raw.shape[:-1], torch.Size([sum(owner.y_sizes)]), validate_args=False)

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {}

    def log_prob(self, value: Tensor) -> Tensor:
        targets = self.owner._targets(value)
        return torch.stack([p.log_prob(t) for p, t in zip(self.parts, targets, strict=True)]).sum(0)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.owner._columns([p.sample(torch.Size(sample_shape)) for p in self.parts], self.raw)

    @property
    def mode(self) -> Tensor:
        return self.owner._columns([p.mode for p in self.parts], self.raw)
