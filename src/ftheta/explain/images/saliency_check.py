"""Sanity check of saliency: a map that explains a net changes when the weights of the net are randomized.

    θ_l -> ρ(θ_l) ε,  ε ~ N(0, 1), ρ the root mean square, from the output downwards, one layer more at each step
    r = rank correlation of the map before and after,  mean over rows;   |r|: of absolute values

A map that stays the same does not depend on what was learned. An edge detector is such a map: r = 1 at every step.
Where a method multiplies by the image, as integrated gradients do, |r| stays high: the image decides the size of the
map, the net only its sign.

Shapes: L steps (layers with weights), B rows.
Reference: Adebayo, Gilmer, Muelly, Goodfellow, Hardt and Kim, Sanity checks for saliency maps (2018).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ... import plots
from ...draw import Draw
from ...errors import InputError
from ...plots import Figure
from ...results import Result
from .._probe import DRAW, calls
from .._registry import explanation
from ._images import Pictures, array, has_convolution
from .saliency import attributions

__all__ = ["SaliencyCheck", "saliency_check"]

PASSES_BELOW = 0.5  # rank correlation
MAX_MAPS, MAX_ROWS = 6, 16  # that are drawn; that are taken


@dataclass(frozen=True, eq=False)
class SaliencyCheck(Result):
    """Maps before and after randomizing, from the output downwards."""

    names: tuple[str, ...]  # layer that was randomized last at each step
    correlation: np.ndarray  # rank correlation with the map of the net as it is, mean over rows (L,)
    spread: np.ndarray  # its standard deviation over rows (L,)
    absolute: np.ndarray  # the same of absolute values, mean over rows (L,)
    x: np.ndarray  # the first row, as the net sees it (C, *places)
    maps: np.ndarray  # its maps: of the net as it is, then at each step (1 + L, *places)
    method: str

    @property
    def passes(self) -> bool:
        """Whether the map of the fully randomized net is another one: r below 0.5."""
        return bool(self.correlation[-1] < PASSES_BELOW)

    def columns(self) -> dict[str, Any]:
        """One row per step."""
        return {
            "randomized down to": self.names,
            "rank correlation": self.correlation,
            "spread over rows": self.spread,
            "of absolute values": self.absolute,
        }

    def figure(self) -> Figure:
        """The maps, and how much of the first is left in each."""
        steps = zip(self.names, self.correlation, strict=True)
        titles = ["as trained", *(f"{name}\nr = {r:.2f}" for name, r in steps)]
        some = np.unique(np.linspace(0, len(titles) - 1, MAX_MAPS).round().astype(int))
        x = np.broadcast_to(self.x, (len(some), *self.x.shape))
        return plots.saliency(x, self.maps[some], [titles[i] for i in some], label=f"saliency ({self.method})")

    @property
    def caption(self) -> str:
        verb = "depends on" if self.passes else "hardly depends on"
        return (
            f"Saliency by {self.method} {verb} the weights: with all of them randomized, from the output down, the "
            f"rank correlation with the trained map is {self.correlation[-1]:.2f}."
        )


@explanation("saliency-check", when=has_convolution)
def saliency_check(
    obj: Any, X: Any, *, method: str | Callable[[nn.Module, Any], Any] = "gradient", random_state: int = 0
) -> SaliencyCheck:
    """Whether saliency depends on the weights: they are randomized layer by layer from the output downwards.

    Args:
        X: Rows (B, C, H, W) or (B, C, L); the first 16 are taken.
        method: A method of `saliency`, or a function (module, rows) -> maps (B, *places) of your own.
    """
    net = Pictures(obj, X)
    net.x = net.x[:MAX_ROWS]
    with net.open(gradients=False):
        target = net.scores(net.x).argmax(1)
        weighted = _weighted(net)
    copy = net.on(deepcopy(net.module))
    parts = {key or type(part).__name__: part for key, part in copy.module.named_modules()}
    found = [_maps(copy, method, target)]
    for step, key in enumerate(weighted):
        _randomize(parts[key], DRAW.at("randomize", random_state, step))
        found.append(_maps(copy, method, target))
    before, after = found[0], np.stack(found[1:])  # (B, *places), (L, B, *places)
    r, size = (_correlations(f(before), f(after)) for f in (np.asarray, np.abs))
    name = method if isinstance(method, str) else getattr(method, "__name__", "own method")
    first = np.stack([maps[0] for maps in found])
    return SaliencyCheck(weighted, r.mean(1), r.std(1), size.mean(1), array(net.x[0]), first, name)


def _correlations(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Of every row at every step (L, B)."""
    return np.array([[_rank_correlation(a, b) for a, b in zip(before, later, strict=True)] for later in after])


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's; 0 where one of them is the same everywhere."""
    from scipy.stats import spearmanr

    flat = np.ptp(a) == 0 or np.ptp(b) == 0
    return 0.0 if flat else float(spearmanr(a.ravel(), b.ravel())[0])  # pyright: ignore[reportArgumentType]


def _weighted(net: Pictures) -> tuple[str, ...]:
    """Layers with weights, the last that ran first."""
    with calls(net.module) as seen:
        net(net.x[:1])
    order = [call.name for call in seen if _own(call.layer)]
    if not order:
        raise InputError(f"{type(net.module).__name__} ran no layer with weights; a net with some is needed.")
    return tuple(dict.fromkeys(reversed(order)))


def _maps(net: Pictures, method: str | Callable[[nn.Module, Any], Any], target: Tensor) -> np.ndarray:
    with net.open():
        if isinstance(method, str):
            return array(attributions(net, method, target)).sum(1)  # (B, *places)
        return np.asarray(method(net.module, net.x.reshape(len(net.x), *net.row)), dtype=float)


def _randomize(layer: nn.Module, draw: Draw) -> None:
    """Weights of the same root mean square, drawn anew."""
    with torch.no_grad():
        for name, p in _own(layer):
            noise = torch.randn(p.shape, generator=draw.generator(name), dtype=p.dtype).to(p.device)
            p.copy_(noise * p.square().mean().sqrt())


def _own(layer: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Weights of the layer itself, also where they are parametrized."""
    return [(name, p) for name, p in layer.named_parameters() if "." not in name or name.startswith("parametrizations")]
