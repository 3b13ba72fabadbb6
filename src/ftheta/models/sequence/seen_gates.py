"""Recurrent nets over time: gates and states, how far back a gradient reaches, and the flow of two units.

    gates     i_t, f_t, o_t, ... and the state of every unit, step by step
    memory    ‖∂s_T/∂s_t‖₂ = ‖A_T ... A_{t+1}‖₂ of A_t = ∂s_t/∂s_{t-1}, against the lag T - t;
              through the memory alone: Π f of an LSTM, Π u of a GRU, Π (1 - a) of a highway cell, for each unit
    phase     h -> R(h, x) - h of a cell with two units at one x; where it is 0 the state stays, and attracts if all
              eigenvalues of ∂R/∂h are smaller than 1

Shapes: T steps, K units, G points on each axis, E points where the state stays.
"""

from typing import Any

import numpy as np
import torch
from scipy.optimize import root
from torch import Tensor
from torch.utils._pytree import tree_flatten

from ...check import Count
from ...errors import InputError
from ...explain import explanation
from ...nn import GRUCell, HighwayCell, LSTMCell, Recurrent, state_jacobians
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend, panels
from ...results import Result
from .seen_cells import RECURRENT, chosen, parts_of, traced

PLACES, STARTS = 21, 7  # arrows, and starts of a search, on each axis of a phase portrait
LOWEST = 1e-20  # smallest norm that is drawn


class Gates(Result):
    """Gates and states along one sequence."""

    name: str  # of the layer
    values: dict[str, np.ndarray]  # x (T, D), gates and states (T, K), by name

    def columns(self) -> dict[str, Any]:
        """One row per step: the mean over units."""
        means = {f"mean {name}": v.mean(1) for name, v in self.values.items()}
        return {"step": range(1, 1 + len(self.values["x"])), **means}

    @property
    def caption(self) -> str:
        means = ", ".join(f"{name} {v.mean():.2f}" for name, v in self.values.items() if name not in ("x", "h", "c"))
        return f"{self.name}, {len(self.values['x'])} steps{'; means over steps and units: ' * bool(means)}{means}."

    @drawn
    def figure(self) -> Figure:
        """What comes in as lines; below it, with a line for each unit, gates from 0 to 1 and states of both signs."""
        figure, grid = canvas(len(self.values), across=1, width=8.0, height=1.7, sharex=True)
        (top, *others), (v, *values) = grid, self.values.values()
        top.plot(np.arange(1, 1 + len(v)), v, marker="o" if len(v) <= 30 else "", ms=3)
        top.set(title=f"{self.name}: what it reads", ylabel="x")
        for axes, name, v in zip(others, [*self.values][1:], values, strict=True):
            signed = name in ("candidate", "h", "c")
            most = max(float(np.abs(v).max()), 1e-12) if signed else 1.0
            look = {"cmap": "RdBu_r" if signed else "viridis", "vmin": -most * signed, "vmax": most}
            ends = (0.5, len(v) + 0.5, v.shape[1] - 0.5, -0.5)
            shown = axes.imshow(v.T, aspect="auto", extent=ends, **look)
            axes.set(title=name, ylabel="unit")
            axes.yaxis.get_major_locator().set_params(integer=True)
            axes.grid(visible=False)
            figure.colorbar(shown, ax=axes, pad=0.01)
        for axes in grid:
            axes.set_xlabel("step", visible=axes is grid[-1])
        grid[-1].xaxis.get_major_locator().set_params(integer=True)
        return figure


@explanation("gates", **RECURRENT)
def gates(obj: Any, X: Any, *, row: int = 0, layer: Count = 1) -> Gates:
    """Gates and states of every unit over the steps of one row.

    Args:
        X: Rows.
        row: Which of them runs.
        layer: Which cell, counted over layers and directions; a backward one is shown from its first step, the last.
    """
    one = chosen(traced(obj, X, row), layer)
    states = zip(*(tree_flatten(state)[0] for state in one.states[1:]), strict=True)
    after = dict(zip(("h", "c"), map(torch.cat, states), strict=False))
    plain = len(one.gates) == 1 and torch.equal(one.gates["candidate"], after["h"])  # then the candidate is the state
    shown = {"x": one.x, **({} if plain else one.gates), **after}
    return Gates(one.name, {name: value.numpy() for name, value in shown.items()})


def kept(cell: Any, gates: dict[str, Tensor]) -> Tensor | None:
    """The share of its memory that each unit passes on in a step (T, K); None where a cell has no such gate."""
    if isinstance(cell, LSTMCell):
        return gates["forget"]
    if isinstance(cell, GRUCell):
        return gates["update"] if cell.convention == "torch" else 1 - gates["update"]
    return 1 - gates["transform"] if isinstance(cell, HighwayCell) else None


class Memory(Result):
    """How the last state depends on the states before it."""

    names: tuple[str, ...]  # of the layers
    norms: np.ndarray  # ‖∂s_T/∂s_t‖₂ for T - t = 0 ... T, by layer (L, T + 1)
    direct: tuple[np.ndarray | None, ...]  # product of the gates that keep the memory, by layer (T + 1, K)

    def columns(self) -> dict[str, Any]:
        """One row per lag."""
        found: dict[str, Any] = {"lag": range(self.norms.shape[1])}
        for name, norm, direct in zip(self.names, self.norms, self.direct, strict=True):
            found[name] = norm
            if direct is not None:
                found |= {f"{name}, gates, median": np.median(direct, 1), f"{name}, gates, best": direct.max(1)}
        return found

    @property
    def caption(self) -> str:
        far = self.norms.shape[1] - 1
        ends = "; ".join(f"{name} {norm[-1]:.2g}" for name, norm in zip(self.names, self.norms, strict=True))
        return f"The derivative of the last state by the one {far} steps before has the norm: {ends}."

    @drawn
    def figure(self) -> Figure:
        """A panel for each layer, on a log scale."""
        lag, lines = np.arange(self.norms.shape[1]), dict[str, dict[str, Any]]()
        for name, norm, direct in zip(self.names, self.norms, self.direct, strict=True):
            lines[name] = {"norm of ∂s_T/∂s_t": (lag, norm)}
            if direct is not None:
                lines[name]["product of the gates, best unit"] = lag, direct.max(1)
                lines[name]["median unit"] = lag, np.median(direct, 1)
        figure = panels(lines, x="lag T - t in steps", label="norm", log=True)
        for axes in figure.axes:
            axes.axhline(1.0, color=GREY, lw=0.8)
            axes.set_ylim(bottom=max(axes.get_ylim()[0], LOWEST))
        return figure


@explanation("memory", **RECURRENT)
def memory(obj: Any, X: Any, *, row: int = 0) -> Memory:
    """The norm of the derivative of the last state by earlier ones, against how far they lie back.

    Args:
        X: Rows.
        row: Which of them runs.
    """
    found, norms, direct = traced(obj, X, row), list[np.ndarray](), list[np.ndarray | None]()
    for one in found:
        slopes = state_jacobians(one.cell, one.x[None], one.states[0])[:, 0]
        product, sizes = torch.eye(slopes.shape[-1], dtype=slopes.dtype), [1.0]
        for slope in slopes.flip(0):
            product = product @ slope
            sizes.append(float(torch.linalg.matrix_norm(product, 2)))
        norms.append(np.array(sizes))
        share = kept(one.cell, one.gates)
        direct.append(None if share is None else np.vstack([np.ones(share.shape[1]), share.flip(0).cumprod(0).numpy()]))
    return Memory(tuple(one.name for one in found), np.stack(norms), tuple(direct))


class Phase(Result):
    """States of two units in the plane."""

    name: str  # of the layer
    x: np.ndarray  # what is read in every step of the flow (D,)
    at: np.ndarray  # positions of the arrows on both axes (G, 2)
    flow: np.ndarray  # R(h, x) - h there (G, G, 2), first axis h_2
    path: np.ndarray  # states of the row (T + 1, 2)
    rests: np.ndarray  # where the state stays (E, 2)
    sizes: np.ndarray  # largest |eigenvalue| of ∂R/∂h there (E,)

    @property
    def kinds(self) -> list[str]:
        """Of each such point, whether it attracts."""
        return ["attracts" if size < 1 else "does not attract" for size in self.sizes]

    def columns(self) -> dict[str, Any]:
        """One row per point where the state stays."""
        return {"h1": self.rests[:, 0], "h2": self.rests[:, 1], "largest |eigenvalue|": self.sizes, "state": self.kinds}

    @property
    def caption(self) -> str:
        x = ", ".join(f"{v:.3g}" for v in self.x)
        return f"{self.name} at x = ({x}): {(self.sizes < 1).sum()} of {len(self.sizes)} equilibria attract."

    @drawn
    def figure(self) -> Figure:
        """Arrows of the flow, the path of the row from its first to its last step, and equilibria."""
        figure, axes = canvas(width=6.4, height=6.0)
        axes.quiver(*self.at.T, *np.moveaxis(self.flow, -1, 0), angles="xy", color="0.65", width=0.003)
        axes.plot(*self.path.T, color=PALETTE[0], ls="-", marker="o", ms=3, label="states of the row")
        axes.plot(*self.path[-1], color=PALETTE[0], marker="s", ms=8, ls="", label="after its last step")
        for label, face in (("attracts", PALETTE[1]), ("does not attract", "white")):
            if (of := [kind == label for kind in self.kinds]) and any(of):
                axes.plot(*self.rests[of].T, ls="", marker="D", ms=8, mfc=face, mec=PALETTE[1], label=label)
        axes.set(title=self.caption.partition(":")[0], xlabel="h1", ylabel="h2", aspect="equal")
        legend(figure)
        return figure


def _is_plane(obj: Any) -> bool:
    cells = [part.cells[0][0] for part in parts_of(obj, Recurrent)[:1]]
    return any(cell.n_units == 2 and not isinstance(cell, LSTMCell) for cell in cells)


@explanation("phase", when=_is_plane, otherwise="has no recurrent cell of two units; {} needs a plane of states")
def phase(obj: Any, X: Any, *, row: int = 0, x: Any = None) -> Phase:
    """The flow of the states of two units, the path of one row, and the points where the state stays.

    Args:
        X: Rows.
        row: Whose states are drawn.
        x: What the cell reads in every step of the flow (D,); None: the mean over the steps of the row.
    """
    one = traced(obj, X, row)[0]
    given = one.x.mean(0) if x is None else torch.as_tensor(np.asarray(x, dtype=float))
    if given.shape != one.x.shape[1:]:
        raise InputError(f"x has shape {tuple(given.shape)}; the cell reads {one.x.shape[1]} numbers in a step.")
    path = torch.cat(one.states).numpy()
    low, high = np.minimum(path.min(0), -1.0), np.maximum(path.max(0), 1.0)
    room = 0.1 * (high - low)

    def moved(h: np.ndarray) -> np.ndarray:
        states = torch.from_numpy(h.reshape(-1, 2))
        with torch.no_grad():
            return (one.cell(states, given.expand(len(states), -1))[0] - states).numpy().reshape(h.shape)

    at, starts = (np.linspace(low - room, high + room, n) for n in (PLACES, STARTS))
    flow = moved(np.stack(np.meshgrid(*at.T), -1))
    ends = [root(moved, start, tol=1e-12) for start in np.stack(np.meshgrid(*starts.T), -1).reshape(-1, 2)]
    rests = np.array([end.x for end in ends if np.abs(moved(end.x)).max() < 1e-9]).reshape(-1, 2)
    rests = rests[np.unique(rests.round(6), axis=0, return_index=True)[1]]
    slopes = [state_jacobians(one.cell, given[None, None], torch.from_numpy(h[None]))[0, 0].numpy() for h in rests]
    sizes = np.array([np.abs(np.linalg.eigvals(slope)).max() for slope in slopes])
    return Phase(one.name, given.numpy(), at, flow, path, rests, sizes)
