"""A forward and a backward pass as a film: values layer by layer, then δ on their way back, then the update.

    forward  h_k = f_k(h_{k-1}),     backward  δ_{k-1} = (∂f_k/∂h_{k-1})ᵀ δ_k,     update  θ <- θ - η ∂L/∂θ

The film is one page of HTML that needs no network: buttons, a slider and keys move it step by step.
Shapes: K calls of layers; their values for one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from .. import plots
from ..errors import InputError
from ..results import Result, Table
from ..store.files import write_atomic
from ._checking import gradients
from ._copied import Copied, Given, Row, calls
from ._player import page
from ._probe import DRAW, first_tensor
from ._trace import numbered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Animation", "animate"]


@dataclass(frozen=True, eq=False)
class Animation(Result):
    """The numbers of one step of gradient descent on one row; `html` is its film.

    Args:
        names: `input`, then the name of each call of a layer.
        kinds: What each is.
        values: What it gives for the row: one array each.
        deltas: ∂L/∂ of these values; None where there is none.
        chained: Whether it works on exactly what the one before gave.
        weights: Parameter to its values and its gradient.
        rate: Learning rate η.
        target: The target of the row; None without one.
        loss: The loss before and after the update.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    values: tuple[np.ndarray, ...]
    deltas: tuple[np.ndarray | None, ...]
    chained: tuple[bool, ...]
    weights: dict[str, tuple[np.ndarray, np.ndarray]]
    rate: float
    target: np.ndarray | None
    loss: tuple[float, float]

    def table(self) -> Table:
        """One line a layer: its size, its largest value and δ."""
        most = [None if d is None else float(np.abs(d).max(initial=0.0)) for d in self.deltas]
        columns = {
            "layer": list(self.names),
            "kind": list(self.kinds),
            "values": [v.size for v in self.values],
            "largest |h|": [float(np.abs(v).max(initial=0.0)) for v in self.values],
            "largest |δ|": most,
        }
        return Table(columns, f"Loss {self.loss[0]:.6g} before the update, {self.loss[1]:.6g} after it.")

    def figure(self) -> Figure:
        """The length of δ at every layer."""
        lengths = [np.nan if d is None else float(np.linalg.norm(d)) for d in self.deltas]
        return plots.layers(self.names, lengths, label="‖δ‖ of the row", title="δ on its way back")

    def html(self) -> str:
        """The film as one page that fetches nothing."""
        return page(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the page.

        Args:
            path: Where to.
            overwrite: Whether a file that is there may be replaced.
        """
        path = Path(path)
        if path.is_dir() or (path.exists() and not overwrite):
            raise InputError(f"{path} exists; choose another path, or for a file pass overwrite=True.")
        write_atomic(path, self.html().encode())
        return path


def animate(obj: Any, X: Any, y: Any = None, loss: Given = None, *, row: int = 0, rate: float = 0.1) -> Animation:
    """One forward pass, backward pass and update of gradient descent on one row, on a copy in float64.

    Args:
        obj: A module, or a fitted neural estimator.
        X: Rows, of which one is taken.
        y: Their targets.
        loss: A function (raw, y) -> one number, or the loss of each row; None: as in `gradient_check`.
        row: Which row.
        rate: Learning rate of the update.

    Example:
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Sigmoid(), torch.nn.Linear(3, 1))
        >>> film = animate(net, [[0.5, -1.0]], [1.0])
        >>> film.loss[1] < film.loss[0], film.html()[:15]
        (True, '<!DOCTYPE html>')
    """
    if not rate > 0:
        raise InputError(f"rate={rate}; a learning rate is above 0, e.g. 0.1.")
    with DRAW.scope():
        problem = Copied(obj, X, y, loss, row=row, name="animate")
        with calls(problem.net) as seen:
            value = problem.value()
        if not seen:
            raise InputError(f"{type(problem.net).__name__} calls no layer on these rows, so there is nothing to show.")
        start, own = first_tensor(problem.x), problem.parameters
        outs = [*([] if start is None else [start]), *(out for *_, out in seen)]
        found = gradients(value, [*outs, *own.values()])
        slopes = found[len(outs) :]
        pairs = zip(own.items(), slopes, strict=True)
        weights = {n: (_array(p), _array(torch.zeros_like(p) if g is None else g)) for (n, p), g in pairs}
        values = [_row(out) for out in outs]
        after = _moved(problem, list(own.values()), slopes, rate)
    return Animation(
        names=("input",) * (start is not None) + tuple(numbered([name for name, *_ in seen])),
        kinds=("row of",) * (start is not None) + tuple(type(layer).__name__ for _, layer, *_ in seen),
        values=tuple(values),
        deltas=tuple(None if g is None else _row(g) for g in found[: len(outs)]),
        chained=(False,) * (start is not None) + tuple(_chained(seen, k, start) for k in range(len(seen))),
        weights=weights,
        rate=float(rate),
        target=None if problem.batch.y is None else _array(problem.batch.y)[0],
        loss=(float(value.detach()), after),
    )


def _moved(problem: Copied, tensors: list[Tensor], slopes: list[Tensor | None], rate: float) -> float:
    """The loss after one step down the gradient."""
    with torch.no_grad():
        for p, g in zip(tensors, slopes, strict=True):
            if g is not None:
                p.sub_(rate * g)
        return float(problem.value())


def _chained(seen: list[Row], k: int, start: Tensor | None) -> bool:
    """Whether a call works on exactly what came before it: no sum, no branch between them."""
    given, before = first_tensor(seen[k][2]), seen[k - 1][3] if k else start
    if given is None or before is None:
        return False
    same = given.shape == before.shape and torch.equal(given.detach(), before.detach())
    return bool(same or getattr(seen[k][1], "inplace", False))


def _row(tensor: Tensor) -> np.ndarray:
    """The one row, where the first axis is that of rows."""
    return _array(tensor)[0] if tensor.ndim and len(tensor) == 1 else _array(tensor)


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy().copy()
