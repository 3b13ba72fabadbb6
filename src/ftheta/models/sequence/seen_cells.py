"""Recurrent nets drawn: unrolled in time, with weights that steps share; and one step of a cell with its numbers.

    unrolled   s_1 = R(s_0, x_1; θ),  s_2 = R(s_1, x_2; θ),  ...      one color, the same θ
    cell       every box of a cell is computed from the boxes before it, every arrow carries the number of its box

Shapes: T steps, D inputs, K units.
"""

from copy import deepcopy
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten

from ...check import Count
from ...data.batch import take
from ...errors import InputError
from ...explain import explanation, row_number, rows_for, untouched
from ...nn import GRUCell, Highway, HighwayCell, LSTMCell, Recurrent, ResidualCell
from ...plots import Figure, boxes
from ...results import Result

GIVEN, SHOWN = "#F0F0F0", 7  # color of what comes in; steps of an unrolled net that are drawn


def net_of(obj: Any) -> nn.Module:
    """The net of an estimator, or the module itself."""
    return obj if isinstance(obj, nn.Module) else obj.module_


def parts_of(obj: Any, *kinds: type) -> list[Any]:
    """Parts of the net of these classes."""
    return [part for part in net_of(obj).modules() if isinstance(part, kinds)]


RECURRENT: dict[str, Any] = {
    "when": lambda obj: bool(parts_of(obj, Recurrent)),
    "otherwise": "has no recurrent layer; {} needs a net with a Recurrent part",
}


class Traced(NamedTuple):
    """A cell that ran along one sequence, step by step, in float64."""

    name: str  # of its layer and direction
    cell: Any
    x: Tensor  # what it read, in its order (T, D)
    states: list[Any]  # before the first step and after each, T + 1 of them
    gates: dict[str, Tensor]  # by name (T, K)
    outputs: Tensor  # (T, K)


def seen(obj: Any, part: nn.Module, X: Any, row: int) -> tuple[dict[str, Any], Tensor, Tensor]:
    """What a part is given when one row passes the net, by the names of its `forward`; its output; that of the net."""
    module, batch, found = net_of(obj), rows_for(obj, X, None, 1), list[tuple[dict[str, Any], Tensor]]()
    row = row_number(row, batch.n)

    def see(_: nn.Module, args: tuple[Any, ...], options: dict[str, Any], out: Any) -> None:
        given = signature(part.forward).bind(*args, **options).arguments
        found.append((dict(given), out[0] if isinstance(out, tuple) else out))

    handle = part.register_forward_hook(see, with_kwargs=True)
    try:
        with untouched(module):
            out = module(take(batch.x, slice(row, row + 1)))
    finally:
        handle.remove()
    if not found:
        raise InputError(f"{type(module).__name__} does not call its {type(part).__name__} for this row.")
    return *found[0], out[0] if isinstance(out, tuple) else out


def traced(obj: Any, X: Any, row: int) -> list[Traced]:
    """Every layer and direction of the first recurrent part, along the real steps of one row."""
    net = parts_of(obj, Recurrent)[0]
    given, *_ = seen(obj, net, X, row)
    x, state, real = given["x"], given.get("state"), given.get("real")
    own, steps = deepcopy(net).double().eval(), dict[str, list[Any]]()
    for k, d, cell in [(k, d, cell) for k, cells in enumerate(own.cells) for d, cell in enumerate(cells)]:
        cell.kernel, found = None, steps.setdefault(f"layer {k + 1}" + ", backward" * d, [])
        cell.register_forward_hook(lambda cell, args, out, found=found: found.append((cell, *args, *out)))
    with torch.no_grad():
        own((x if real is None else x[:, real[0] > 0]).double(), state=state)
        return [_traced(name, *zip(*found, strict=True)) for name, found in steps.items()]


def _traced(name: str, cells: Any, before: Any, x: Any, after: Any, outputs: Any) -> Traced:
    steps = zip(cells, before, x, strict=True)
    gates = [cell.gates(*given) if hasattr(cell, "gates") else {} for cell, *given in steps]
    stacked = {key: torch.cat([now[key] for now in gates]) for key in gates[0]}
    return Traced(name, cells[0], torch.cat(x), [before[0], *after], stacked, torch.cat(outputs))


def chosen(cells: list[Traced], layer: int) -> Traced:
    """A cell by its number, from 1."""
    _check("layer", layer, len(cells))
    return cells[layer - 1]


class Box(NamedTuple):
    """A number of every unit, as it is drawn."""

    name: str
    does: str  # "in": given; σ, φ, Q: by the cell's own weights; ×, +, 1 -, tanh: of the numbers of its parents
    of: tuple[str, ...]  # boxes it is computed from
    at: tuple[float, float]  # column and line


OWN = ("in", "σ", "φ", "Q")  # boxes whose numbers the cell gives
_BOTH = ("x", "h'")
_H, _X = Box("h'", "in", (), (0, 0)), Box("x", "in", (), (0, 2))
_PLAIN = [_H, _X._replace(at=(0, 1)), Box("h", "φ", _BOTH, (1, 0.5))]
_RESIDUAL = [
    _H, _X._replace(at=(0, 1.5)), Box("Q h'", "Q", ("h'",), (1, 0)), Box("candidate", "φ", _BOTH, (1, 1.5)),
    Box("h", "+", ("Q h'", "candidate"), (2, 0.75)),
]  # fmt: skip
_HIGHWAY = [
    _H, _X, Box("transform", "σ", _BOTH, (1, 1.2)), Box("candidate", "φ", _BOTH, (1, 2.8)),
    Box("1 - transform", "1 -", ("transform",), (2, 0.8)), Box("kept", "×", ("h'", "1 - transform"), (3, 0)),
    Box("new", "×", ("transform", "candidate"), (3, 2.4)), Box("h", "+", ("kept", "new"), (4, 1.2)),
]  # fmt: skip
_GRU = [
    _H, _X._replace(at=(0, 2.2)), Box("update", "σ", _BOTH, (1, 0.8)), Box("reset", "σ", _BOTH, (1, 3.4)),
    Box("1 - update", "1 -", ("update",), (2, 1.3)), Box("candidate", "φ", ("x", "h'", "reset"), (2, 3)),
    Box("kept", "×", ("h'", "update"), (3, 0)), Box("new", "×", ("1 - update", "candidate"), (3, 2.6)),
    Box("h", "+", ("kept", "new"), (4, 1.3)),
]  # fmt: skip
_GRU_NOTES = [
    *_GRU[:4], Box("1 - update", "1 -", ("update",), (2, 0.8)), Box("r h'", "×", ("h'", "reset"), (2, 3.4)),
    Box("candidate", "φ", ("x", "r h'"), (3, 3)), Box("kept", "×", ("h'", "1 - update"), (3, 0)),
    Box("new", "×", ("update", "candidate"), (4, 2.6)), Box("h", "+", ("kept", "new"), (5, 1.3)),
]  # fmt: skip
_LSTM = [
    Box("c'", "in", (), (0, 0)), _X, _H._replace(at=(0, 3)), Box("forget", "σ", _BOTH, (1, 1)),
    Box("input", "σ", _BOTH, (1, 2)), Box("candidate", "φ", _BOTH, (1, 3)), Box("output", "σ", _BOTH, (1, 4)),
    Box("kept", "×", ("c'", "forget"), (2, 0)), Box("new", "×", ("input", "candidate"), (2, 3)),
    Box("c", "+", ("kept", "new"), (3, 0)), Box("tanh c", "tanh", ("c",), (3, 2.5)),
    Box("h", "×", ("tanh c", "output"), (4, 4)),
]  # fmt: skip
_LAYER = [
    Box("y" if b.name == "h" else b.name, b.does, tuple(dict.fromkeys(p.replace("h'", "x") for p in b.of)), b.at)
    for b in [_X._replace(at=(0, 0)), *_HIGHWAY[2:]]
]


def plan(cell: Any) -> list[Box]:
    """The boxes of a cell or of a highway layer, in the order in which they are computed."""
    if isinstance(cell, GRUCell):
        return _GRU if cell.convention == "torch" else _GRU_NOTES
    if isinstance(cell, LSTMCell) and cell.peephole is not None:
        sees = {"forget": ("c'",), "input": ("c'",), "output": ("c",)}
        return [box._replace(of=(*box.of, *sees.get(box.name, ()))) for box in _LSTM]
    kinds = {LSTMCell: _LSTM, HighwayCell: _HIGHWAY, ResidualCell: _RESIDUAL, Highway: _LAYER}
    return next((boxed for kind, boxed in kinds.items() if isinstance(cell, kind)), _PLAIN)


OPERATIONS: dict[str, Any] = {"×": np.multiply, "+": np.add, "1 -": lambda v: 1 - v, "tanh": np.tanh}


class CellStep(Result):
    """One step of a cell, or of a highway layer."""

    name: str  # of the layer
    kind: str  # class of the cell
    step: int  # from 1
    unit: int  # that is drawn
    boxes: tuple[Box, ...]
    values: dict[str, np.ndarray]  # by the name of the box: x (D,), all others (K,)

    def columns(self) -> dict[str, Any]:
        """One row per unit."""
        units = {name: v for name, v in self.values.items() if name != "x" or self.kind == "Highway"}
        return {"unit": range(len(next(iter(units.values())))), **units}

    @property
    def caption(self) -> str:
        at = f", step {self.step}" if self.step else ""
        return f"{self.kind}, {self.name}{at}, unit {self.unit}: the number of each box, and of each arrow."

    def figure(self) -> Figure:
        """Boxes from left to right; an arrow carries the number of the unit that it comes from."""
        names, words, labels = [box.name for box in self.boxes], list[str](), dict[tuple[int, int], str]()
        for b, (name, does, of, _) in enumerate(self.boxes):
            head = f"{does}\n{name}" if does in "σφ×+" else name
            words.append(head if name == "x" != names[0] else f"{head}\n{self.values[name][self.unit]:.3g}")
            for parent in of:
                if does not in OWN or parent not in _BOTH:
                    labels[names.index(parent), b] = f"{self.values[parent][self.unit]:.3g}"
        tints = {"in": GIVEN, "σ": "#FBE3D6", "φ": "#D9F0E6"}
        colors, at = [tints.get(box.does, "#DCEAF4") for box in self.boxes], [box.at for box in self.boxes]
        parents = [[names.index(p) for p in box.of] for box in self.boxes]
        return boxes(words, parents, at=at, labels=labels, colors=colors, title=self.caption.partition(":")[0])


@explanation(
    "cell",
    when=lambda obj: bool(parts_of(obj, Recurrent, Highway)),
    otherwise="has neither a recurrent nor a highway layer; {} needs one",
)
def cell(obj: Any, X: Any, *, row: int = 0, step: Count | None = None, layer: Count = 1, unit: int = 0) -> CellStep:
    """One step of a cell as a picture, with the numbers of one unit on its arrows.

    Args:
        X: Rows.
        row: Which of them runs.
        step: Which step of it, from 1; None: the last.
        layer: Which cell, counted over layers and directions; of a net with highway layers and no recurrent one,
            which highway layer.
        unit: Which unit is drawn.
    """
    one = chosen((traced if parts_of(obj, Recurrent) else _highways)(obj, X, row), layer)
    at = len(one.x) if step is None else step
    _check("step", at, len(one.x))
    boxed, values = plan(one.cell), _given(one, at - 1)
    for box in boxed:
        if box.does not in OWN:
            values[box.name] = OPERATIONS[box.does](*(values[parent] for parent in box.of))
    _check("unit", unit + 1, len(values[boxed[-1].name]), start=0)
    values = {box.name: values[box.name] for box in boxed}
    return CellStep(one.name, type(one.cell).__name__, at if one.states else 0, unit, tuple(boxed), values)


def _check(name: str, value: int, n: int, start: int = 1) -> None:
    if not 1 <= value <= n:
        raise InputError(f"{name}={value + start - 1}; this one has {n}, choose from {start} to {n + start - 1}.")


def _given(one: Traced, t: int) -> dict[str, np.ndarray]:
    """The numbers that the cell gives itself in one step."""
    found = {"x": one.x[t], **{name: value[t] for name, value in one.gates.items()}}
    if one.states:
        (h, *c), (after, *_) = (tree_flatten(one.states[k])[0] for k in (t, t + 1))
        found |= {"h'": h[0], "h": after[0], **({"c'": c[0][0]} if c else {})}
        if isinstance(one.cell, ResidualCell):
            found["Q h'"] = (h @ one.cell.carry.T)[0]
    return {name: value.detach().numpy().copy() for name, value in found.items()}


def _highways(obj: Any, X: Any, row: int) -> list[Traced]:
    """Highway layers that one row passes, as cells of one step without a state."""
    found: list[Traced] = []
    for layer in parts_of(obj, Highway):
        x = seen(obj, layer, X, row)[0]["x"].flatten(0, -2)[:1]
        found.append(Traced(f"layer {len(found) + 1}", layer, x, [], layer.gates(x), layer(x)))
    return found


class Unrolled(Result):
    """A recurrent net along one sequence: a box for each input, each step of each cell and each output."""

    words: tuple[str, ...]  # of the boxes
    parents: tuple[tuple[int, ...], ...]
    at: tuple[tuple[float, float], ...]  # column and line of each box
    shared: tuple[str, ...]  # name of the weights of each box; empty: none
    sizes: dict[str, int]  # how many weights have this name
    steps: int  # T

    def columns(self) -> dict[str, Any]:
        """One row per cell."""
        numbers = list(self.sizes.values())
        return {"weights": list(self.sizes), "numbers": numbers, "used in steps": [self.steps] * len(numbers)}

    @property
    def caption(self) -> str:
        total = sum(self.sizes.values())
        return f"Unrolled over {self.steps} steps: boxes of one color share their weights, {total:,} in all."

    def figure(self) -> Figure:
        """Time from left to right, layers from bottom to top."""
        tints = dict(zip(self.sizes, ("#BBD9EE", "#F7CDB5", "#B9E4D3", "#EBD0E0", "#F5DDB0", "#CDE9F8"), strict=False))
        colors = [tints.get(name, "#E5E5E5") if name else GIVEN for name in self.shared]
        return boxes(self.words, self.parents, at=self.at, colors=colors, title=self.caption)


@explanation("unrolled", **RECURRENT)
def unrolled(obj: Any, X: Any, *, row: int = 0, steps: Count = SHOWN) -> Unrolled:
    """The graph of a recurrent net over the steps of one row, with the weights that steps share.

    Args:
        X: Rows.
        row: Which of them is read; its number of steps is drawn.
        steps: At most so many are drawn, the last one among them.
    """
    net, found = parts_of(obj, Recurrent)[0], traced(obj, X, row)
    return _graph(found, _read(obj, net, X, row), min(steps, len(found[0].x)), len(net.cells[0]))


def _read(obj: Any, net: nn.Module, X: Any, row: int) -> list[int] | None:
    """Steps whose outputs the net reads for its one output; none: it reads the last state; None: one output each."""
    given, outputs, out = seen(obj, net, X, row)
    if out is outputs or out.ndim > 2 and out.shape[1] == outputs.shape[1]:
        return None
    (slope,) = torch.autograd.grad(out.sum(), outputs, allow_unused=True)
    real = given.get("real")
    read = torch.zeros(outputs.shape[1], dtype=torch.bool) if slope is None else slope[0].any(-1)
    return (read if real is None else read[real[0] > 0]).nonzero()[:, 0].tolist()


def _graph(found: list[Traced], reads: list[int] | None, steps: int, directions: int) -> Unrolled:
    """Boxes on a grid: inputs at the bottom, then the layers, their directions side by side, then the outputs."""
    n, lines, wide = len(found[0].x), len(found), 2.0 if directions == 2 else 1.3
    times = [*range(n)] if n <= steps else [*range(steps - 1), -1, n - 1]  # -1: steps that are not drawn
    rows: list[tuple[str, tuple[int, ...], tuple[float, float], str]] = []

    def add(word: str, of: list[int], column: float, line: int, weights: str = "") -> int:
        rows.append((word, tuple(of), (column * wide, line), weights))
        return len(rows) - 1

    middle = 0.225 * (directions - 1)
    below = [[add(f"x{t + 1}" if t >= 0 else "…", [], c + middle, lines + 1)] for c, t in enumerate(times)]
    made: list[list[int]] = []
    for i, one in enumerate(found):
        d, line = i % directions, lines - i
        made = made if d else [[] for _ in times]
        past: list[int] = []
        for c in reversed(range(len(times))) if d else range(len(times)):
            word = f"{type(one.cell).__name__.removesuffix('Cell')} θ{i + 1}" if times[c] >= 0 else "…"
            past = [add(word, past + below[c] * (times[c] >= 0), c + 0.45 * d, line, one.name)]
            made[c] += past
        below = made if d == directions - 1 else below
    if reads is None:
        for c, t in enumerate(times):
            add(f"y{t + 1}" if t >= 0 else "…", below[c] * (t >= 0), c + middle, 0)
    else:
        from_last = [below[-1][0], *([below[0][1]] if directions == 2 else [])]
        of = [b for c, t in enumerate(times) if t in reads for b in below[c]] or from_last
        add("output", of, sum(rows[b][2][0] for b in of) / len(of) / wide, 0)
    words, parents, at, shared = zip(*rows, strict=True)
    sizes = {one.name: sum(p.numel() for p in one.cell.parameters()) for one in found}
    return Unrolled(words, parents, at, shared, sizes, n)
