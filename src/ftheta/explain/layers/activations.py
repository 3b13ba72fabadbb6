"""Activations: what every layer gives for these rows, and which units are dead or saturated.

    dead:       h_j(x) = 0 for all rows x: a ReLU unit that no longer learns
    saturated:  h_j(x) within 1 % of an end of the range of a bounded activation, where its slope is nearly 0

A unit is one place of the output of a row.
Shapes: B rows, L calls of layers in the order in which they ran, Q = 5 quantiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from ...errors import InputError
from ...plots import Figure, layers
from ...results import Result
from .._probe import QUANTILES, batch_of, calls, forward, layers_of, module_of, numbered, untouched
from .._registry import explanation

__all__ = ["Activations", "activations"]

EDGE = 0.01  # of the range: where a unit counts as saturated
_RANGES = {nn.Sigmoid: (0.0, 1.0), nn.Hardsigmoid: (0.0, 1.0), nn.Tanh: (-1.0, 1.0), nn.Softsign: (-1.0, 1.0)}


@dataclass(frozen=True, eq=False)
class Activations(Result):
    """Statistics of the output of every layer (of its first tensor, where it returns several)."""

    names: tuple[str, ...]  # of the layers; a layer that ran twice is there twice, as name[1] and name[2]
    kinds: tuple[str, ...]  # their classes
    mean: np.ndarray  # over rows and units: (L,)
    std: np.ndarray  # over rows and units: (L,)
    zeros: np.ndarray  # share of the numbers that are 0: (L,)
    dead: np.ndarray  # share of the units that are 0 for every row: (L,)
    saturated: np.ndarray  # share of the numbers near an end of the range: (L,); NaN where the range has no two ends
    quantiles: np.ndarray  # 5, 25, 50, 75 and 95 %: (L, Q)
    values: dict[str, np.ndarray]  # the outputs themselves by name, (B, ...) each, if they were kept
    n: int  # number of rows

    def columns(self) -> dict[str, Any]:
        """One row per layer; shares in per cent."""
        return {
            "layer": self.names,
            "kind": self.kinds,
            "mean": self.mean,
            "std": self.std,
            "5 %": self.quantiles[:, 0],
            "median": self.quantiles[:, 2],
            "95 %": self.quantiles[:, 4],
            "zero %": 100 * self.zeros,
            "dead %": 100 * self.dead,
            "saturated %": None if np.isnan(self.saturated).all() else 100 * self.saturated,
        }

    @property
    def caption(self) -> str:
        broken = [name for name, mean in zip(self.names, self.mean, strict=True) if not np.isfinite(mean)]
        lost = f" Numbers that are not finite in {', '.join(broken)}." if broken else ""
        return f"Activations of {self.n} rows.{lost}"

    def figure(self) -> Figure:
        """Quantiles of each layer, with the shares of dead and saturated units beside them."""
        notes = [_note(dead, full) for dead, full in zip(self.dead, self.saturated, strict=True)]
        label, title = "activation: median, 25-75 %, 5-95 %", f"Activations of {self.n} rows"
        return layers(self.names, self.quantiles, label=label, title=title, log=False, notes=notes)


def _note(dead: float, saturated: float) -> str:
    shares = {"dead": dead, "saturated": saturated}
    return ", ".join(f"{100 * share:.2g} % {name}" for name, share in shares.items() if share > 0)


def _has_layers(obj: Any) -> bool:
    """True if a part of it computes by its own forward pass, and does not only lend its parameters."""
    return any(type(part).forward is not nn.Module.forward for _, part in layers_of(module_of(obj)))


@explanation("activations", when=_has_layers, otherwise="has no layers but parameters alone; {} needs some")
def activations(obj: Any, X: Any, *, training: bool = False, keep: bool = False) -> Activations:
    """Statistics of the output of every layer for these rows.

    Args:
        X: Rows; all are taken at once.
        keep: Keep the outputs, so that every pre-activation and activation can be read in `values`.

    Example:
        >>> found = activations(nn.Sequential(nn.Identity(), nn.ReLU()), [[-1.0, 2.0], [-3.0, 4.0]], keep=True)
        >>> found.values["1"].tolist(), found.dead.tolist()
        ([[0.0, 2.0], [0.0, 4.0]], [0.0, 0.5])
    """
    module, batch = module_of(obj), batch_of(obj, X)
    with untouched(module, training=training), calls(module, clone=True) as seen:
        forward(obj, batch)
    seen = [call for call in seen if call.out.numel()]
    if not seen:
        raise InputError(f"{type(module).__name__} has no layers to look at: none of its parts ran and gave a tensor.")
    outs = [call.out.float() if call.out.dtype is torch.bfloat16 else call.out for call in seen]  # for NumPy
    values = [out.detach().cpu().numpy() for out in outs]
    found = zip(*(_statistics(h, _range(call.layer)) for h, call in zip(values, seen, strict=True)), strict=True)
    names = numbered([call.name for call in seen])
    kinds = tuple(type(call.layer).__name__ for call in seen)
    kept = dict(zip(names, values, strict=True)) if keep else {}
    return Activations(names, kinds, *map(np.array, found), values=kept, n=batch.n)


def _range(layer: nn.Module) -> tuple[float, float] | None:
    """Both ends of the range of an activation; None where there are no two."""
    if isinstance(layer, nn.Hardtanh):  # ReLU6 is one
        return layer.min_val, layer.max_val
    return next((ends for kind, ends in _RANGES.items() if isinstance(layer, kind)), None)


def _statistics(h: np.ndarray, ends: tuple[float, float] | None) -> tuple[Any, ...]:
    """Mean, std, shares of zeros, dead units and saturated numbers, quantiles, of (B, ...)."""
    h = h.astype(np.float64)
    zero = h == 0
    saturated = np.nan
    if ends is not None:
        edge = EDGE * (ends[1] - ends[0])
        saturated = ((h <= ends[0] + edge) | (h >= ends[1] - edge)).mean()
    with np.errstate(invalid="ignore", over="ignore"):  # infinite activations give NaN
        return h.mean(), h.std(), zero.mean(), zero.all(0).mean(), saturated, np.quantile(h, QUANTILES)
