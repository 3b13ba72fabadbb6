"""Chains: Gibbs sampling that starts at given rows, as a film strip, and how far it gets.

    h ~ p(h | v),  v ~ p(v | h),  again and again:     d_t = mean |v_t - v_0| over the units

A chain has forgotten its start when it is as far from its own start as from those of other chains.

Shapes: T steps that are kept, n chains, V visible units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor, nn

from .. import plots
from ..draw import Draw
from ..results import Result, Table
from ._images import array
from ._machines import HasGibbs, advance, aside, fitted, shape_of, some_rows, whole_numbers
from ._probe import batch_of
from ._registry import explanation, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Chains", "chains"]

SHOWN = 8  # chains in the picture


@dataclass(frozen=True, eq=False)
class Chains(Result):
    """Where chains are after some steps.

    Args:
        steps: Steps made (T,).
        states: The visibles then: (T, n, V); those of step 0 are the given rows.
        shape: Of a row as a picture.
        distance: Mean |difference| of a unit from the chain's own start: (T, n).
        others: Mean of it over the starts of the other chains: (T, n); NaN for one chain alone.
        free_energy: Of the visibles, in nats: (T, n); None where the machine tells none.
    """

    steps: np.ndarray
    states: np.ndarray
    shape: tuple[int, ...]
    distance: np.ndarray
    others: np.ndarray
    free_energy: np.ndarray | None = None

    def table(self) -> Table:
        """One line a step: means over the chains."""
        columns: dict[str, Any] = {
            "step": self.steps.tolist(),
            "distance from the start": self.distance.mean(1).tolist(),
        }
        if self.states.shape[1] > 1:
            columns["from other starts"] = self.others.mean(1).tolist()
        if self.free_energy is not None:
            columns["free energy"] = self.free_energy.mean(1).tolist()
        return Table(columns, self.alt)

    def figure(self) -> Figure:
        """The first chains from left to right, distances and free energies beside them."""
        frames = self.states[:, :SHOWN].reshape(len(self.steps), -1, *self.shape)
        return plots.film(frames, self.steps, self.distance, self.others, self.free_energy)

    @property
    def alt(self) -> str:
        """What the picture shows."""
        last, own = int(self.steps[-1]), float(self.distance[-1].mean())
        said = f"{self.states.shape[1]} chain(s); after {last} step(s) a unit differs from its start by {own:.3f}"
        return f"{said}, from other starts by {self.others[-1].mean():.3f}." if len(self.others.T) > 1 else f"{said}."


@explanation("chains", needs=HasGibbs, when=fitted)
def chains(
    obj: Any,
    X: Any,
    steps: Sequence[int] = (0, 1, 10, 100, 1000),
    *,
    n: int = 50,
    shape: Sequence[int] | None = None,
    random_state: int = 0,
) -> Chains:
    """Gibbs chains that start at rows: what they pass through, and how far they get.

    Args:
        obj: A machine with `gibbs(X, steps)`, a module or an estimator; with `free_energy(X)` that is shown too.
        X: Where the chains start: (n, V), or pictures (n, H, W).
        steps: After which the visibles are kept; 0 is always.
        n: Chains at most; of more rows, evenly spaced ones are taken.
        shape: (height, width) of a row; None: as X has it, or a square.
        random_state: Seed of the chains, where `gibbs` takes one.

    Example:
        >>> from ftheta.nn import RBM
        >>> found = chains(RBM(4, 3), np.eye(4), (0, 1, 5))
        >>> found.states.shape, found.distance[0].tolist()
        ((3, 4, 4), [0.0, 0.0, 0.0, 0.0])
    """
    require(obj, HasGibbs, "chains")
    kept = whole_numbers("steps", [*({0} - set(steps)), *steps], 0)
    x, row = some_rows(X, n)
    states = [advance(obj, x, stop, Draw(random_state).at("chains")) for stop in kept]
    with aside(obj):
        free = np.stack([_free_energy(obj, v) for v in states]) if hasattr(obj, "free_energy") else None
    all_ = np.stack(states)  # (T, n, V)
    return Chains(np.array(kept), all_, shape_of(obj, shape, row), np.abs(all_ - x).mean(2), _others(all_), free)


def _others(states: np.ndarray) -> np.ndarray:
    """Mean distance from the starts of the other chains: (T, n, V) -> (T, n)."""
    from scipy.spatial.distance import cdist

    n, size = states.shape[1:]
    if n == 1:
        return np.full(states.shape[:2], np.nan)
    tables = [cdist(v, states[0], "cityblock") / size for v in states]  # T of (n, n)
    return np.stack([(d.sum(1) - d.diagonal()) / (n - 1) for d in tables])


def _free_energy(machine: Any, v: np.ndarray) -> np.ndarray:
    rows = batch_of(machine, v).x if isinstance(machine, nn.Module) else v
    found: Any = machine.free_energy(rows)  # type: ignore[operator]
    return array(found) if isinstance(found, Tensor) else np.asarray(found)
