"""Feature maps: one picture, what every layer makes of it, and the probabilities at the end.

    h_0 = x,    h_l = f_l(h_{l-1}) (C_l, *places of l),    p = softmax(h_L)

Shapes: C channels, places (L,) or (H, W), K outputs.
Reference: Zeiler and Fergus, Visualizing and understanding convolutional networks (2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor, nn

from .. import plots
from ..errors import InputError
from ..results import Result, Table
from ._images import Pictures, array, has_convolution, seeing
from ._registry import HasModule, explanation
from ._trace import numbered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FeatureMaps", "feature_maps"]


@dataclass(frozen=True, eq=False)
class FeatureMaps(Result):
    """One picture on its way through a net.

    Args:
        x: The picture as the net sees it (C, *places).
        maps: What each layer gave, by name, in the order in which they ran (C_l, *places of l).
        output: Raw outputs (K,), or maps where the net gives maps.
        names: Names of the outputs.
        probabilities: Of the outputs (K,), where they are classes; else None.
    """

    x: np.ndarray
    maps: dict[str, np.ndarray]
    output: np.ndarray
    names: tuple[str, ...]
    probabilities: np.ndarray | None

    def table(self) -> Table:
        """One line a layer: maps, their size, how many are silent, and the strongest."""
        flat = {name: h.reshape(len(h), -1) for name, h in self.maps.items()}
        columns = {
            "layer": list(flat),
            "maps": [len(h) for h in flat.values()],
            "size": [" x ".join(map(str, h.shape[1:])) for h in self.maps.values()],
            "silent": [int((h == 0).all(1).sum()) for h in flat.values()],
            "strongest map": [int(h.max(1).argmax()) for h in flat.values()],
            "its maximum": [float(h.max()) for h in flat.values()],
        }
        return Table(columns, self.alt)

    def figure(self) -> Figure:
        """The picture, the strongest maps of each layer, and the outputs as bars."""
        p = self.probabilities
        bars = (self.output if p is None else p) if self.output.ndim == 1 else None
        label = "raw output" if p is None else "probability"
        return plots.maps(self.x, self.maps, bars, self.names, label=label)

    @property
    def alt(self) -> str:
        """What the picture shows."""
        p = self.probabilities
        end = "" if p is None else f", and the probability {p.max():.3f} of {self.names[int(p.argmax())]} at the end"
        return f"A picture of {' x '.join(map(str, self.x.shape))}, its maps after {len(self.maps)} layers{end}."


@explanation("feature-maps", needs=nn.Module | HasModule, when=has_convolution)
def feature_maps(obj: Any, X: Any, layers: Sequence[str] | None = None, *, row: int = 0) -> FeatureMaps:
    """One picture or signal, its maps after each layer, and the output probabilities.

    Args:
        obj: A module, or a fitted estimator with one; raw outputs of a module are taken as logits.
        X: Rows (B, C, H, W) or (B, C, L).
        layers: Names of the layers to show; None: all that give maps.
        row: Which row.

    Example:
        >>> found = feature_maps(nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU()), [[[[0.0] * 5] * 5]])
        >>> {name: h.shape for name, h in found.maps.items()}
        {'0': (4, 3, 3), '1': (4, 3, 3)}
    """
    net = Pictures(obj, X, "feature_maps")
    if not -len(net.x) <= row < len(net.x):
        raise InputError(f"row is {row}, but X has {len(net.x)} rows; choose one of them.")
    seen: list[tuple[str, np.ndarray]] = []

    def see(name: str, h: Tensor) -> None:
        if h.ndim == net.x.ndim:
            seen.append((name, array(h[0])))

    x = net.x[row][None]
    with net.open(gradients=False):
        with seeing(net.module, layers, see):
            raw = net.raw(x)
        p = net.probabilities(raw)
    if not seen:
        raise InputError(f"No layer of {type(net.module).__name__} among {layers or 'all'} gives maps; choose others.")
    maps = dict(zip(numbered([name for name, _ in seen]), (h for _, h in seen), strict=True))
    names = net.names(raw.shape[1] if p is None else p.shape[1])
    return FeatureMaps(array(x[0]), maps, array(raw[0]), names, None if p is None else array(p[0]))
