"""Recurrent layers: a cell that runs along sequences, in one direction or both, one layer or several.

    s_t, y_t = cell(s_{t-1}, x_t),  t = 1 ... T;      layer k + 1 reads the outputs y of layer k

Of a padded batch every sequence gets what it gets alone: in the padding the state stays and the output is 0, and the
backward direction begins at the last real step. Where the cell is one of torch's, its fused kernel runs.

Shapes: x (B, T, D), real (B, T) 1 at real steps and 0 in the padding, outputs (B, T, K), both directions (B, T, 2 K);
state: a list with one entry for each layer and direction (forward, backward, of the first layer, then of the second).
Reference: Schuster and Paliwal, Bidirectional Recurrent Neural Networks (1997).
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from ... import check
from ...catalog import nearest
from ...errors import InputError
from ..conv import check_share
from ..dense import Dropout
from .cells import CELLS

State = Any  # of a cell: a tensor (B, K), or a tuple of them


class Recurrent(nn.Module):
    """One or several layers of a recurrent cell, run along sequences.

    Args:
        n_inputs: Width D of a step.
        n_units: Units K of each layer, in each direction.
        cell: "rnn", "residual", "highway", "gru", "lstm", or a function (n_inputs, n_units) that makes a cell.
        layers: Layers, each of which reads the outputs of the one before.
        bidirectional: Whether a second cell in each layer runs from the last step to the first.
        dropout: Probability that an output of a layer is set to 0 in training before the next layer reads it.
        **cell_options: Options of the cell, e.g. peephole=True.

    Example:
        >>> outputs, state = Recurrent(3, 20, "gru", layers=2)(torch.zeros(5, 7, 3))
        >>> outputs.shape, len(state)
        (torch.Size([5, 7, 20]), 2)
    """

    def __init__(
        self,
        n_inputs: int,
        n_units: int,
        cell: str | Callable[..., nn.Module] = "lstm",
        *,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        **cell_options: Any,
    ) -> None:
        super().__init__()
        check.at_least("layers of Recurrent", layers, 1, integer=True)
        check_share("dropout of Recurrent", dropout)
        if isinstance(cell, str) and cell not in CELLS:
            raise InputError(nearest("cell", cell, CELLS))
        make = CELLS[cell] if isinstance(cell, str) else cell
        directions = 2 if bidirectional else 1
        self.n_inputs, self.n_outputs = n_inputs, n_units * directions
        self.cells = nn.ModuleList(
            nn.ModuleList(make(width, n_units, **cell_options) for _ in range(directions))
            for width in [n_inputs] + [self.n_outputs] * (layers - 1)
        )
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Tensor, real: Tensor | None = None, state: Sequence[State] | None = None
    ) -> tuple[Tensor, list[State]]:
        """Outputs, 0 in the padding, and the states after the last real step, from which another call goes on."""
        if x.dim() != 3 or x.shape[2] != self.n_inputs or not x.shape[1]:
            raise InputError(f"x has shape {tuple(x.shape)}; Recurrent takes (B, T, {self.n_inputs}) with T >= 1.")
        if state is not None and len(state) != (n := sum(len(cast("nn.ModuleList", cells)) for cells in self.cells)):
            raise InputError(f"state has {len(state)} entries; give one for each layer and direction: {n}.")
        free = not torch._C._are_functorch_transforms_active()  # in these no number can be asked, and no kernel runs
        real = None if real is None or (free and (real.is_meta or (real > 0).all())) else real > 0
        if real is not None:
            x = torch.where(real[..., None], x, 0.0)
        fast = free and x.shape[1] > 1 and (real is None or _padding_is_last(real))  # one step: the loop is faster
        after: list[State] = []
        for k, cells in enumerate(self.cells):
            x, outputs = self.dropout(x) if k else x, list[Tensor]()
            for cell in cast("list[Any]", cells):
                start = cell.initial(len(x), x) if state is None else state[len(after)]
                run = _fused if fast and getattr(cell, "kernel", None) else walk
                made, end = run(cell, x, real, start, backward=bool(outputs))
                outputs.append(made)
                after.append(end)
            x = torch.cat(outputs, -1) if len(outputs) > 1 else outputs[0]
        return x, after

    def stepper(self) -> Callable[[Tensor, Sequence[State]], tuple[Tensor, list[State]]]:
        """The function of one more step of forward layers in evaluation: x (B, D), states -> outputs (B, K), states."""
        if len(cast("Any", self.cells[0])) > 1:
            raise InputError("This net is bidirectional: a step back needs the steps to come. Call it on sequences.")
        steps = [_one_step(cell) for (cell,) in cast("Any", self.cells)]

        def run(x: Tensor, state: Sequence[State]) -> tuple[Tensor, list[State]]:
            after: list[State] = []
            for step, start in zip(steps, state, strict=True):
                end, x = step(start, x)
                after.append(end)
            return x, after

        return run


def _one_step(cell: Any) -> Callable[[State, Tensor], tuple[State, Tensor]]:
    """The cell, or torch's kernel of one step with its weights, which is twice as fast."""
    if not getattr(cell, "kernel", None):
        return cell
    kernel, weights = getattr(torch, f"{cell.kernel}_cell"), (cell.weight_x, cell.weight_h, cell.bias, None)

    def step(state: State, x: Tensor) -> tuple[State, Tensor]:
        end = kernel(x, state, *weights)
        return end, end[0] if isinstance(end, tuple) else end

    return step


def _padding_is_last(real: Tensor) -> bool:
    """Whether every sequence has a real step, and its padding comes after the last."""
    return bool(real[:, 0].all() and (real[:, 1:] <= real[:, :-1]).all())


def walk(
    cell: Any, x: Tensor, real: Tensor | None = None, state: State = None, *, backward: bool = False
) -> tuple[Tensor, State]:
    """Run a cell step by step, by default from the state 0.

    Args:
        cell: Any cell.
        x: Sequences (B, T, D).
        real: (B, T), True at real steps; None: all are.
        state: Where to begin; None: `cell.initial`.
        backward: From the last step to the first.

    Returns:
        Outputs (B, T, K), 0 in the padding, and the state after the last real step.
    """
    state = cell.initial(len(x), x) if state is None else state
    outputs: list[Tensor] = [x] * x.shape[1]
    for t in reversed(range(x.shape[1])) if backward else range(x.shape[1]):
        new, outputs[t] = cell(state, x[:, t])
        if real is not None:
            now = real[:, t, None]
            outputs[t] = torch.where(now, outputs[t], 0.0)
            new = tree_map(lambda a, b, now=now: torch.where(now, a, b), new, state)
        state = new
    return torch.stack(outputs, 1), state


HELD = 1e4  # before a sigmoid: 0 or 1 to the last bit


def _fused(cell: Any, x: Tensor, real: Tensor | None, state: State, *, backward: bool = False) -> tuple[Tensor, State]:
    """The same by torch's kernel, which knows no padding: it comes last, and there the memory of an LSTM is held by
    one more input; the backward direction gets each sequence turned around, its padding still last."""
    length = None if real is None else real.sum(1)
    x = _turned(x, length) if backward else x
    weight_x = cell.weight_x
    if real is not None and isinstance(state, tuple):
        held = torch.tensor([-HELD, HELD, 0.0, 0.0]).to(x).repeat_interleave(cell.n_units)  # input and forget gates
        x = torch.cat([x, ~real[..., None]], -1)
        weight_x = torch.cat([weight_x, held[:, None]], -1)
    weights = [weight_x, cell.weight_h, cell.bias, torch.zeros_like(cell.bias)]
    start = tree_map(lambda s: s[None], state)
    outputs, *end = getattr(torch, cell.kernel)(x, start, weights, True, 1, 0.0, cell.training, False, True)
    end = [part[0] for part in end]
    if real is not None and length is not None:
        end[0] = outputs[torch.arange(len(x), device=x.device), length - 1]
        outputs = torch.where(real[..., None], outputs, 0.0)
    return _turned(outputs, length) if backward else outputs, tuple(end) if len(end) > 1 else end[0]


def _turned(x: Tensor, length: Tensor | None) -> Tensor:
    """Each sequence from its last real step to its first, its padding still last."""
    if length is None:
        return x.flip(1)
    step, last = torch.arange(x.shape[1], device=x.device), length[:, None] - 1
    order = torch.where(step <= last, last - step, step)
    return x.gather(1, order[..., None].expand_as(x))
