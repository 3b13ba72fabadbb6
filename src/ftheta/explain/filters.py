"""Filters: the kernels of a convolution as pictures, beside the classical ones of the same size.

    cos(w, e) = w·e / (|w| |e|),     w the learned kernel (mean over its input channels), e Sobel, Laplace, Gauss, ...

A random kernel is near some classical one too: `chance` is the median of the largest |cos| over random kernels.

Shapes: O filters, I input channels of each, K classical kernels, window (k,) or (k, k), places (L,) or (H, W).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import conv1d, conv2d

from .. import plots
from ..errors import InputError
from ..formulas import edge_kernels
from ..results import Result, Table
from ._images import Pictures, array, convolutions, has_convolution, layer_named, without_layer
from ._probe import DRAW, module_of
from ._registry import HasModule, explanation, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Filters", "filters"]

TRIALS = 2000


@dataclass(frozen=True, eq=False)
class Filters(Result):
    """Learned and classical kernels, and what they make of one picture.

    Args:
        layer: Name of the convolution.
        kernels: Its weights (O, I, *window).
        names: Names of the classical kernels; none where there are none of this size.
        classical: They themselves (K, *window).
        cosine: cos of every learned kernel with every classical one (O, K).
        chance: Median of the largest |cos| of a random kernel; NaN without classical ones.
        picture: The picture (C, *places), if one was given.
        responses: What each learned kernel, mean over input channels, makes of the mean of its channels (O, *places).
        classical_responses: What each classical kernel makes of it (K, *places).
    """

    layer: str
    kernels: np.ndarray
    names: tuple[str, ...]
    classical: np.ndarray
    cosine: np.ndarray
    chance: float
    picture: np.ndarray | None = None
    responses: np.ndarray | None = None
    classical_responses: np.ndarray | None = None

    @property
    def nearest(self) -> tuple[str, ...]:
        """The classical kernel of the largest |cos| of each filter."""
        return tuple(self.names[k] for k in np.abs(self.cosine).argmax(1)) if self.names else ()

    def table(self) -> Table:
        """One line a filter: its size, its sum (0: it sees contrast only), and the classical kernel nearest to it."""
        flat = self.kernels.reshape(len(self.kernels), -1)
        columns: dict[str, Any] = {
            "filter": range(len(flat)),
            "norm": np.linalg.norm(flat, axis=1).tolist(),
            "sum": flat.sum(1).tolist(),
        }
        if self.names:
            best = np.abs(self.cosine).argmax(1)
            columns |= {"nearest": list(self.nearest), "cosine": self.cosine[np.arange(len(best)), best].tolist()}
        return Table(columns, self.alt)

    def figure(self) -> Figure:
        """Learned kernels above classical ones; with a picture, what both make of it."""
        return plots.filters(
            self.kernels,
            self.classical,
            self.names,
            picture=self.picture,
            responses=self.responses,
            classical_responses=self.classical_responses,
            title=f"Filters of {self.layer}",
        )

    @property
    def alt(self) -> str:
        """What the picture shows."""
        o, i, *window = self.kernels.shape
        said = f"{o} filters of {self.layer}, {' x '.join(map(str, window))} over {i} channels"
        if not self.names:
            return f"{said}; there are no classical kernels of this size."
        near = np.median(np.abs(self.cosine).max(1))
        return f"{said}; |cosine| to the nearest classical kernel: median {near:.2f}, by chance {self.chance:.2f}."


@explanation("filters", needs=nn.Module | HasModule, when=has_convolution)
def filters(obj: Any, layer: str | None = None, X: Any = None) -> Filters:
    """Kernels of a convolution as pictures, beside Sobel's, Laplace's and others of the same size.

    Args:
        obj: A module, or a fitted estimator with one.
        layer: Name of a convolution; None: the first.
        X: Rows, of which the first is filtered by learned and classical kernels; None: none is.

    Example:
        >>> filters(nn.Conv2d(1, 8, 3)).names[:2]
        ('Sobel x', 'Sobel y')
    """
    require(obj, nn.Module | HasModule, "filters")
    module = module_of(obj)
    layers = convolutions(module)
    if not layers:
        raise without_layer(obj, "filters")
    name = next(iter(layers)) if layer is None else layer
    chosen = layer_named(module, name)
    if not isinstance(chosen, nn.Conv1d | nn.Conv2d):
        raise InputError(f"{name} is a {type(chosen).__name__}; filters needs a convolution: {', '.join(layers)}.")
    if nn.parameter.is_lazy(chosen.weight):
        raise InputError(f"{name} has no weights before its net has seen rows; run the net once.")
    kernels = array(chosen.weight)  # (O, I, *window)
    window = kernels.shape[2:]
    known = edge_kernels(window[0], len(window)) if len(set(window)) == 1 else {}
    classical = np.array(list(known.values())).reshape(-1, *window)  # (K, *window)
    mine = kernels.astype(float).mean(1)  # (O, *window)
    found = Filters(name, kernels, tuple(known), classical, _cosines(mine, classical), _chance(classical))
    if X is None:
        return found
    picture = Pictures(obj, X, "filters").x[0]
    made = [_filtered(array(picture).astype(float).mean(0), some) for some in (mine, classical)]
    return Filters(name, kernels, tuple(known), classical, found.cosine, found.chance, array(picture), *made)


def _cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """cos of every kernel of a with every one of b; 0 for a kernel of zeros."""
    flat = [v.reshape(len(v), int(np.prod(v.shape[1:]))) for v in (a, b)]
    units = [v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-300) for v in flat]
    return units[0] @ units[1].T


def _chance(classical: np.ndarray) -> float:
    if not len(classical):
        return float("nan")
    random = torch.randn(TRIALS, *classical.shape[1:], generator=DRAW.generator("kernels"), dtype=torch.float64)
    return float(np.median(np.abs(_cosines(random.numpy(), classical)).max(1)))


def _filtered(picture: np.ndarray, kernels: np.ndarray) -> np.ndarray:
    """Every kernel over the picture where it fits: (*places), (K, *window) -> (K, *places)."""
    convolve = conv1d if picture.ndim == 1 else conv2d
    if not len(kernels) or any(n < k for n, k in zip(picture.shape, kernels.shape[1:], strict=True)):
        return np.zeros((0, *picture.shape))
    return convolve(torch.tensor(picture)[None, None], torch.tensor(kernels)[:, None])[0].numpy()
