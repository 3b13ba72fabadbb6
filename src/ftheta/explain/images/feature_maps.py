"""Feature maps: one image, the output of every layer, and the probabilities at the end.

    h_0 = x,    h_l = f_l(h_{l-1}) (C_l, *places of l),    p = softmax(h_L)

Shapes: C channels, places (L,) or (H, W), K outputs.
Reference: Zeiler and Fergus, Visualizing and understanding convolutional networks (2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import plots
from ...errors import InputError
from ...plots import Figure
from ...results import Result
from .._probe import calls, numbered
from .._registry import explanation
from ._images import Pictures, array, has_convolution

__all__ = ["FeatureMaps", "feature_maps"]


@dataclass(frozen=True, eq=False)
class FeatureMaps(Result):
    """One image on its way through a net."""

    x: np.ndarray  # the image as the net sees it (C, *places)
    maps: dict[str, np.ndarray]  # output of each layer, by name, in the order in which they ran (C_l, *places of l)
    output: np.ndarray  # raw outputs (K,), or maps where the net returns maps
    names: tuple[str, ...]  # of the outputs
    probabilities: np.ndarray | None  # of the outputs (K,), where they are classes; else None

    def columns(self) -> dict[str, Any]:
        """One row per layer: maps, their size, how many are silent, and the strongest."""
        flat = {name: h.reshape(len(h), -1) for name, h in self.maps.items()}
        return {
            "layer": list(flat),
            "maps": [len(h) for h in flat.values()],
            "size": [" x ".join(map(str, h.shape[1:])) for h in self.maps.values()],
            "silent": [(h == 0).all(1).sum() for h in flat.values()],
            "strongest map": [h.max(1).argmax() for h in flat.values()],
            "its maximum": [h.max() for h in flat.values()],
        }

    def figure(self) -> Figure:
        """The image, the strongest maps of each layer, and the outputs as bars."""
        p = self.probabilities
        bars = (self.output if p is None else p) if self.output.ndim == 1 else None
        label = "raw output" if p is None else "probability"
        return plots.maps(self.x, self.maps, bars, self.names, label=label)

    @property
    def caption(self) -> str:
        p = self.probabilities
        end = "" if p is None else f", and the probability {p.max():.3f} of {self.names[int(p.argmax())]} at the end"
        return f"An image of {' x '.join(map(str, self.x.shape))}, its maps after {len(self.maps)} layers{end}."


@explanation("feature-maps", when=has_convolution)
def feature_maps(obj: Any, X: Any, layers: Sequence[str] | None = None, *, row: int = 0) -> FeatureMaps:
    """One image or signal, its maps after each layer, and the output probabilities.

    Args:
        X: Rows (B, C, H, W) or (B, C, L).
        layers: Names of the layers to show; None: all that give maps.
        row: Which row.

    Example:
        >>> from torch import nn
        >>> found = feature_maps(nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU()), [[[[0.0] * 5] * 5]])
        >>> {name: h.shape for name, h in found.maps.items()}
        {'0': (4, 3, 3), '1': (4, 3, 3)}
    """
    net = Pictures(obj, X)
    if not -len(net.x) <= row < len(net.x):
        raise InputError(f"row is {row}, but X has {len(net.x)} rows; choose one of them.")
    x = net.x[row][None]
    with net.open(gradients=False):
        with calls(net.module, layers, clone=True) as every:
            raw = net.raw(x)
        p = net.probabilities(raw)
    seen = [call for call in every if call.out.ndim == net.x.ndim]
    if not seen:
        raise InputError(f"No layer of {type(net.module).__name__} among {layers or 'all'} gives maps; choose others.")
    maps = dict(zip(numbered([call.name for call in seen]), (array(call.out[0]) for call in seen), strict=True))
    names = net.names(raw.shape[1] if p is None else p.shape[1])
    return FeatureMaps(array(x[0]), maps, array(raw[0]), names, None if p is None else array(p[0]))
