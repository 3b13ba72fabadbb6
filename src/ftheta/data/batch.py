"""A batch, and the one place where a loss is summed.

    batch.sum(l) = (Σᵢ wᵢ lᵢ, Σᵢ wᵢ)        over rows, tokens or pixels; only the trainer divides

Shapes: B rows; `each` is (B, ...), a weight is (B,) or has more of the axes of `each`, from the left.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..errors import InputError


def rows(x: Any) -> int:
    """Number of rows of a tensor, an array, a list, or of the first entry of a dict or tuple."""
    while isinstance(x, (dict, tuple)):
        x = next(iter(x.values() if isinstance(x, dict) else x))
    return x.shape[0] if isinstance(x, Tensor) else len(x)  # len of a tensor takes a microsecond


def take(x: Any, index: Tensor | slice) -> Any:
    """Rows `index` of a tensor, a list, or of each entry of a dict or tuple; a slice of a tensor is a view."""
    if x is None:
        return None
    if isinstance(x, dict):
        return {name: take(value, index) for name, value in x.items()}
    if isinstance(x, tuple):
        return tuple(take(value, index) for value in x)
    if isinstance(index, slice):
        return x[index]
    return x.index_select(0, index.to(x.device)) if isinstance(x, Tensor) else [x[i] for i in index.tolist()]


class Batch(NamedTuple):
    """Rows to learn from or to evaluate on."""

    x: Any
    y: Any = None
    weight: Tensor | None = None
    index: Tensor | None = None  # pyright: ignore[reportIncompatibleMethodOverride]  # row numbers in the source

    @property
    def n(self) -> int:
        """Number of rows."""
        return rows(self.x)

    def sum(self, each: Tensor) -> tuple[Tensor, Tensor | float]:
        """Loss of each row, token or pixel (B, ...) -> (Σ w l, Σ w), without a synchronization."""
        if each.dim() == 0 or (each.numel() == 1 and self.n > 1):
            needed = f"the loss of each row is needed: return it with reduction='none' (shape ({self.n},))"
            raise InputError(f"the loss is one number for the batch; {needed}")
        if self.weight is None:
            return each.sum(), float(each.numel())
        weight = self.weight.to(each.dtype)
        if weight.shape != each.shape[: weight.dim()]:
            shapes = f"the loss has shape {tuple(each.shape)} but the weights have {tuple(weight.shape)}"
            raise InputError(f"{shapes}: the axes of the weights must be the first axes of the loss, rows first")
        if each.dim() == 1:
            return torch.dot(weight, each), weight.sum()
        spread = weight.reshape(weight.shape + (1,) * (each.dim() - weight.dim()))  # (B, 1, ...)
        return (spread * each).sum(), spread.expand_as(each).sum()
