"""A dense network drawn from its widths, each weight matrix and bias with its shape.

    h_{k+1} = a(β_k + Ω_k h_k),      Ω_k: D_{k+1} × D_k,   β_k: D_{k+1},   parameters Σ_k D_{k+1} (D_k + 1)

With dropout some hidden units are silent: what is left is a thinned network, another one for every row and pass.

Shapes: K hidden layers, D_k units in layer k; D₀ inputs, D_{K+1} outputs.
Reference: Srivastava et al., Dropout, Journal of Machine Learning Research 15 (2014).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import nn

from ... import plots
from ...draw import Draw
from ...errors import InputError, InputTypeError
from ...plots import Figure
from ...results import Result
from .._probe import module_of
from .._registry import explanation, has, require

__all__ = ["Network", "network"]


@dataclass(frozen=True, eq=False)
class Network(Result):
    """The layers of a dense network."""

    widths: tuple[int, ...]  # units of each layer, from input to output: K + 2 numbers
    biased: tuple[bool, ...]  # whether each of the K + 1 affine maps has a β
    dropped: tuple[np.ndarray, ...] = ()  # of each hidden layer, True where a unit is dropped: (D_k,); empty without

    @property
    def parameters(self) -> list[int]:
        """Entries of Ω_k and β_k, for each k."""
        return _parameters(self.widths, self.biased)

    @property
    def kept(self) -> list[int]:
        """Units of each layer that are not dropped."""
        return [self.widths[0], *(int((~mask).sum()) for mask in self.dropped), self.widths[-1]]

    def columns(self) -> dict[str, Any]:
        """One row per layer; the shapes are those of the map into it."""
        return {
            "layer": ["input", *(f"hidden {k}" for k in range(1, len(self.biased))), "output"],
            "units": self.widths,
            "Ω": ["", *(f"{b} × {a}" for a, b in pairwise(self.widths))],
            "β": ["", *(str(b) if has else "none" for b, has in zip(self.widths[1:], self.biased, strict=True))],
            "parameters": [0, *self.parameters],
            "units kept": self.kept if self.dropped else None,
        }

    @property
    def caption(self) -> str:
        thinned = f", {sum(_parameters(self.kept, self.biased)):,} in the thinned network" if self.dropped else ""
        return f"{sum(self.parameters):,} parameters{thinned}."

    def figure(self) -> Figure:
        """Circles and lines, with the shape of every Ω_k and β_k; beside it the thinned network, if any."""
        labels = [
            f"Ω{_subscript(k)}: {b} × {a}" + (f"\nβ{_subscript(k)}: {b}" if has else "")
            for k, ((a, b), has) in enumerate(zip(pairwise(self.widths), self.biased, strict=True))
        ]
        title = f"Network, {sum(self.parameters):,} parameters"
        return plots.network(self.widths, labels=labels, dropped=self.dropped, title=title)


def _parameters(widths: Sequence[int], biased: Sequence[bool]) -> list[int]:
    return [b * (a + has) for (a, b), has in zip(pairwise(widths), biased, strict=True)]


def _subscript(k: int) -> str:
    return str(k).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def _is_chain(obj: Any) -> bool:
    return has(obj, "module_") and bool(linears(module_of(obj)))


@explanation("network", needs="", when=_is_chain)
def network(obj: Any, *, dropped: float | Sequence[Any] | None = None, random_state: int = 0) -> Network:
    """A dense network with the shapes of its parameters, from widths or from a chain of Linear layers.

    Args:
        obj: Widths from input to output, an nn.Linear, an nn.Sequential of Linear layers with parts without parameters
            between them, or a fitted estimator with one in `module_`.
        dropped: A probability to draw a mask of dropout with, or one bool mask per hidden layer, True where a unit is
            dropped; None: the full network.

    Example:
        >>> network([3, 4, 2, 3, 2]).table().caption
        '43 parameters.'
    """
    if isinstance(obj, Sequence | np.ndarray) and not isinstance(obj, str):
        widths, biased = _checked(list(obj)), (True,) * (len(obj) - 1)
    else:
        require(obj, "module_", "network")
        layers = linears(module_of(obj))
        if not layers:
            raise InputTypeError(
                f"{type(obj).__name__} is not a chain of Linear layers; network needs widths such as [3, 4, 2], an "
                "nn.Sequential of Linear layers, or a fitted estimator with one in module_."
            )
        widths = (layers[0].in_features, *(layer.out_features for layer in layers))
        biased = tuple(layer.bias is not None for layer in layers)
    return Network(widths, biased, () if dropped is None else _masks(dropped, widths[1:-1], random_state))


def linears(module: nn.Module) -> list[nn.Linear]:
    """The Linear layers of a chain in order; none where the module is something else."""
    every = list(parts(module))
    found = [part for part in every if type(part) is nn.Linear]
    others = any(True for part in every if type(part) is not nn.Linear for _ in part.parameters())
    fits = all(a.out_features == b.in_features for a, b in pairwise(found)) and len({*found}) == len(found)
    return found if fits and not others else []


def parts(module: nn.Module) -> Iterator[nn.Module]:
    if isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward:
        for part in module:
            yield from parts(part)
    else:
        yield module


def _checked(widths: Sequence[Any]) -> tuple[int, ...]:
    if len(widths) < 2 or not all(isinstance(w, Integral) and not isinstance(w, bool) and int(w) > 0 for w in widths):
        raise InputError(f"widths={widths!r}; expected at least two integers from 1, such as [3, 4, 2].")
    return tuple(map(int, widths))


def _masks(dropped: float | Sequence[Any], hidden: tuple[int, ...], random_state: int) -> tuple[np.ndarray, ...]:
    if isinstance(dropped, int | float):
        if not 0 <= dropped < 1:
            raise InputError(f"dropped={dropped!r}; expected a probability in [0, 1), or a mask for each hidden layer.")
        with Draw(random_state).at("dropout").scope():  # what a Dropout layer would silence
            return tuple((nn.functional.dropout(torch.ones(n), float(dropped)) == 0).numpy() for n in hidden)
    masks = tuple(map(np.asarray, dropped))
    if [mask.shape for mask in masks] != [(n,) for n in hidden] or any(mask.dtype != bool for mask in masks):
        got = [f"{mask.dtype} {mask.shape}" for mask in masks]
        raise InputError(f"dropped holds {got}; expected bool masks of the hidden layers' widths {list(hidden)}.")
    return masks
