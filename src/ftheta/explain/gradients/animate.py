"""A forward and a backward pass as a film: values layer by layer, then δ on their way back, then the update.

    forward  h_k = f_k(h_{k-1}),     backward  δ_{k-1} = (∂f_k/∂h_{k-1})ᵀ δ_k,     update  θ <- θ - η ∂L/∂θ

The film is one page of HTML that needs no network: buttons, a slider and keys move it step by step. Its numbers are
those of `backprop`. Shapes: K steps; their values for one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...check import Positive
from ...errors import InputError
from ...plots import Figure, layers
from ...results import Result
from ...store.files import write_atomic
from .._point import LossLike, part_of
from .._probe import batch_of
from .._registry import checked
from ._player import page
from .backprop import Backprop, passes_of

__all__ = ["Animation", "animate"]


@dataclass(frozen=True, eq=False)
class Animation(Result):
    """One step of gradient descent on one row; `html()` is its film."""

    passes: Backprop  # all numbers of the row

    @property
    def loss(self) -> tuple[float, float]:
        """The loss before and after the update."""
        return self.passes.loss, self.passes.loss_after

    @property
    def deltas(self) -> tuple[np.ndarray | None, ...]:
        """∂L/∂ of each step's values; None for integers, which have none."""
        return tuple(None if s.value.dtype.kind != "f" else s.delta[0] for s in self.passes.steps)

    def columns(self) -> dict[str, Any]:
        """One row per layer: its size, its largest value and δ."""
        steps = self.passes.steps
        return {
            "layer": [step.name for step in steps],
            "kind": [step.kind for step in steps],
            "values": [step.value[0].size for step in steps],
            "largest |h|": [np.abs(step.value).max(initial=0) for step in steps],
            "largest |δ|": [np.nan if d is None else np.abs(d).max(initial=0) for d in self.deltas],
        }

    @property
    def caption(self) -> str:
        return f"Loss {self.loss[0]:.6g} before the update, {self.loss[1]:.6g} after it."

    def figure(self) -> Figure:
        """The length of δ at every layer."""
        lengths = [np.nan if d is None else float(np.linalg.norm(d)) for d in self.deltas]
        names = [step.name for step in self.passes.steps]
        return layers(names, lengths, label="‖δ‖ of the row", title="δ on its way back")

    def html(self) -> str:
        """The film as one page that fetches nothing."""
        return page(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the page; a file that is there is replaced only with overwrite=True."""
        path = Path(path)
        if path.is_dir() or (path.exists() and not overwrite):
            raise InputError(f"{path} exists; choose another path, or for a file pass overwrite=True.")
        write_atomic(path, self.html().encode())
        return path


@checked("module_")
def animate(obj: Any, X: Any, y: Any = None, loss: LossLike = None, *, row: int = 0, lr: Positive = 0.1) -> Animation:
    """One forward pass, backward pass and update of gradient descent on one row, on a copy in float64.

    Args:
        X: Rows, of which one is taken.
        row: Which row.
        lr: Learning rate of the update.

    Example:
        >>> import torch
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Sigmoid(), torch.nn.Linear(3, 1))
        >>> film = animate(net, [[0.5, -1.0]], [1.0])
        >>> film.loss[1] < film.loss[0], film.html()[:15]
        (True, '<!DOCTYPE html>')
    """
    batch = batch_of(obj, X, y)
    if not 0 <= row < batch.n:
        raise InputError(f"row={row}, but there are {batch.n} rows; choose one from 0 to {batch.n - 1}.")
    if batch.y is None:
        raise InputError("animate compares outputs with targets, but y is None; pass the y of these rows.")
    return Animation(passes_of(obj, part_of(batch, slice(row, row + 1)), loss, lr=lr))
