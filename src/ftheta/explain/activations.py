"""Activations: what every layer gives for these rows, and which units are dead or saturated.

    dead:       h_j(x) = 0 for all rows x: a ReLU unit that no longer learns
    saturated:  h_j(x) within 1 % of an end of the range of a bounded activation, where its slope is nearly 0

A unit is one place of the output of a row.
Shapes: B rows, L calls of layers in the order in which they ran, Q = 5 quantiles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from .. import plots
from ..errors import InputError, InputTypeError
from ..results import Result, Table
from ._probe import QUANTILES, batch_of, first_tensor, forward, layers_of, module_of, untouched, watching
from ._registry import HasModule, explanation, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Activations", "activations"]

_EDGE = 0.01  # of the range
_RANGES: dict[type, tuple[float, float]] = {
    nn.Sigmoid: (0, 1),
    nn.Hardsigmoid: (0, 1),
    nn.Tanh: (-1, 1),
    nn.Softsign: (-1, 1),
}


@dataclass(frozen=True, eq=False)
class Activations(Result):
    """Statistics of the output of every layer (of its first tensor, where it gives several).

    Args:
        names: Name of each layer; a layer that ran twice is there twice, as name[1] and name[2].
        kinds: Its class.
        mean: Mean over rows and units: (L,).
        std: Standard deviation over rows and units: (L,).
        quantiles: Quantiles 5, 25, 50, 75, 95 %: (L, Q).
        zeros: Share of the numbers that are 0: (L,).
        dead: Share of the units that are 0 for every row: (L,).
        saturated: Share of the numbers near an end of the range: (L,); NaN where the range has no two ends.
        values: The outputs themselves by name, (B, ...) each, if they were kept.
        n: Number of rows.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    mean: np.ndarray
    std: np.ndarray
    quantiles: np.ndarray
    zeros: np.ndarray
    dead: np.ndarray
    saturated: np.ndarray
    values: dict[str, np.ndarray]
    n: int

    def table(self) -> Table:
        """One line a layer; shares in per cent."""
        columns: dict[str, Sequence[Any]] = {
            "layer": self.names,
            "kind": self.kinds,
            "mean": self.mean.tolist(),
            "std": self.std.tolist(),
            "5 %": self.quantiles[:, 0].tolist(),
            "median": self.quantiles[:, 2].tolist(),
            "95 %": self.quantiles[:, 4].tolist(),
            "zero %": (100 * self.zeros).tolist(),
            "dead %": (100 * self.dead).tolist(),
            "saturated %": [None if np.isnan(share) else 100 * share for share in self.saturated],
        }
        if np.isnan(self.saturated).all():
            del columns["saturated %"]
        return Table(columns, f"Activations of {self.n} rows.")

    def figure(self) -> Figure:
        """Quantiles of each layer, with the shares of dead and saturated units beside them."""
        return plots.layers(
            self.names,
            self.quantiles,
            label="activation: median, 25-75 %, 5-95 %",
            title=f"Activations of {self.n} rows",
            log=False,
            notes=[_note(dead, full) for dead, full in zip(self.dead, self.saturated, strict=True)],
        )


def _note(dead: float, saturated: float) -> str:
    shares = {"dead": dead, "saturated": saturated}
    return ", ".join(f"{100 * share:.2g} % {name}" for name, share in shares.items() if share > 0)


def _has_layers(obj: Any) -> bool:
    """Whether a part of it computes by its own forward pass, and not only lends its parameters."""
    return any(type(part).forward is not nn.Module.forward for _, part in layers_of(module_of(obj)))


@explanation("activations", needs=nn.Module | HasModule, when=_has_layers)
def activations(obj: Any, X: Any, *, training: bool = False, keep: bool = False) -> Activations:
    """Statistics of what every layer gives for these rows.

    Args:
        obj: A module, or a fitted estimator with one.
        X: Rows; all are taken at once.
        training: In training mode: with dropout (one fixed draw) and the statistics of this batch.
        keep: Keep the outputs, so that every pre-activation and activation can be read in `values`.

    Example:
        >>> found = activations(nn.Sequential(nn.Identity(), nn.ReLU()), [[-1.0, 2.0], [-3.0, 4.0]], keep=True)
        >>> found.values["1"].tolist(), found.dead.tolist()
        ([[0.0, 2.0], [0.0, 4.0]], [0.0, 0.5])
    """
    require(obj, nn.Module | HasModule, "activations")
    if not _has_layers(obj):
        raise InputTypeError(
            f"{type(obj).__name__} has no layers; activations needs some, and its parts are parameters alone."
        )
    module, batch = module_of(obj), batch_of(obj, X)
    seen: list[tuple[str, str, tuple[Any, ...], np.ndarray | None]] = []

    def see(name: str, layer: nn.Module, inputs: Any, output: Any) -> None:
        tensor = first_tensor(output)
        if tensor is not None and tensor.numel():
            tensor = tensor.float() if tensor.dtype is torch.bfloat16 else tensor  # which NumPy does not have
            h = tensor.detach().cpu().numpy().copy()  # the next layer may write into it
            seen.append((name, type(layer).__name__, _statistics(h, _range(layer)), h if keep else None))

    with untouched(module, training=training), watching(module, see):
        forward(obj, batch)
    if not seen:
        raise InputError(f"{type(module).__name__} has no layers to look at: none of its parts ran or gave a tensor.")
    names = _numbered([name for name, *_ in seen])
    mean, std, zeros, dead, saturated, quantiles = map(np.array, zip(*(found for *_, found, _ in seen), strict=True))
    values = {name: h for name, (*_, h) in zip(names, seen, strict=True) if h is not None}
    return Activations(
        names=names,
        kinds=tuple(kind for _, kind, *_ in seen),
        mean=mean,
        std=std,
        quantiles=quantiles,
        zeros=zeros,
        dead=dead,
        saturated=saturated,
        values=values,
        n=batch.n,
    )


def _range(layer: nn.Module) -> tuple[float, float] | None:
    """Both ends of what an activation can give; None where there are no two."""
    if isinstance(layer, nn.Hardtanh):  # ReLU6 is one
        return layer.min_val, layer.max_val
    return next((ends for kind, ends in _RANGES.items() if isinstance(layer, kind)), None)


def _statistics(h: np.ndarray, ends: tuple[float, float] | None) -> tuple[Any, ...]:
    """Mean, std, shares of zeros, dead units and saturated numbers, quantiles, of (B, ...)."""
    h = h.astype(np.float64)
    zero = h == 0
    saturated = np.nan
    if ends is not None:
        edge = _EDGE * (ends[1] - ends[0])
        saturated = ((h <= ends[0] + edge) | (h >= ends[1] - edge)).mean()
    with np.errstate(invalid="ignore", over="ignore"):  # infinite activations give NaN
        return h.mean(), h.std(), zero.mean(), zero.all(0).mean(), saturated, np.quantile(h, QUANTILES)


def _numbered(names: list[str]) -> tuple[str, ...]:
    """Names of layers that ran more than once get the number of the call: name[1], name[2]."""
    calls = Counter(names)
    return tuple(n if calls[n] == 1 else f"{n}[{names[: i + 1].count(n)}]" for i, n in enumerate(names))
