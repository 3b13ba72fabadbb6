"""An encoded table that is kept small: numbers as they are, levels as codes; dense a batch at a time.

    x = (numbers at their places, 1 at the place of every code, 0 elsewhere)

Shapes: n rows, W columns, N of them numbers, C columns of codes (-1: none).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

__all__ = ["Encoded"]

BLOCK = 8192  # rows made dense at once: they stay in the cache


@dataclass(frozen=True, eq=False)
class Encoded:
    """A table (n, W) of numbers: `np.asarray` makes it dense, indexing takes rows.

    Args:
        numbers: (n, N).
        places: Columns of the numbers, (N,).
        codes: For each column of levels the column of the table that is 1, or -1: (n, C).
        width: W.

    Example:
        >>> x = Encoded(np.array([[0.5], [1.5]]), np.array([1]), np.array([[0], [-1]]), 2)
        >>> np.asarray(x).tolist()
        [[1.0, 0.5], [0.0, 1.5]]
    """

    numbers: np.ndarray
    places: np.ndarray
    codes: np.ndarray
    width: int
    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        """(n, W)."""
        return len(self.numbers), self.width

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the numbers."""
        return self.numbers.dtype

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: Any) -> Encoded:
        return Encoded(self.numbers[index], self.places, self.codes[index], self.width)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Dense: (n, W)."""
        out = np.zeros(self.shape, dtype=dtype or self.dtype)
        for low in range(0, len(out), BLOCK):
            rows = slice(low, low + BLOCK)
            part = out[rows]
            part[:, self.places] = self.numbers[rows]
            row, column = np.nonzero(self.codes[rows] >= 0)
            part[row, self.codes[rows][row, column]] = 1
        return out

    def tensors(self, dtype: torch.dtype, device: str | torch.device) -> tuple[Tensor, Tensor]:
        """Numbers and codes where they are trained on; `expand` makes rows of them dense."""
        return torch.from_numpy(self.numbers).to(device, dtype), torch.from_numpy(self.codes).to(device)

    def expand(self, parts: tuple[Tensor, Tensor]) -> Tensor:
        """Rows of `tensors` as dense rows: (b, N), (b, C) -> (b, W)."""
        numbers, codes = parts
        out = numbers.new_zeros((len(numbers), self.width))
        first, n = (int(self.places[0]), len(self.places)) if len(self.places) else (0, 0)
        if (np.diff(self.places) == 1).all():  # side by side, as in most tables
            out[:, first : first + n] = numbers
        else:
            out[:, torch.from_numpy(self.places).to(numbers.device)] = numbers
        return out.scatter_add_(1, codes.clamp(min=0).long(), (codes >= 0).to(numbers.dtype))  # no code adds a zero
