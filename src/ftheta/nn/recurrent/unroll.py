"""Gradients through time, backward and forward, and what a state passes on.

    s_t, y_t = cell(s_{t-1}, x_t; θ),      L = Σ_t ℓ_t(y_t),      A_t = ∂s_t/∂s_{t-1}

    backward   δ_{t-1} = A_tᵀ δ_t + ∂ℓ_t/∂s_{t-1},   δ_T = 0;      dL/dθ = Σ_t (∂s_t/∂θ)ᵀ δ_t + ∂ℓ_t/∂θ
    forward    P_t = A_t P_{t-1} + ∂s_t/∂θ,          P_0 = 0;      dL/dθ = Σ_t (∂ℓ_t/∂s_{t-1}) P_{t-1} + ∂ℓ_t/∂θ

Backward (through time) keeps all T states. Forward (dynamic back-propagation by the sensitivity model P, real-time
recurrent learning) keeps none, but S N numbers for each sequence. Truncated, δ is set to 0 after every k steps.
ds_T/ds_t = A_T ... A_{t+1}: its norm falls or grows exponentially with T - t.

Shapes: x (B, T, D), S numbers of a state, N weights; A (T, B, S, S), P (B, S, N), outputs (B, R).
References: Werbos, Backpropagation Through Time (1990); Narendra and Parthasarathy (1991); Williams and Zipser (1989).
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, jacrev, vmap
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from ... import check
from .layers import State

StepLoss = Callable[[int, Tensor], Tensor]  # (t, output (B, R)) -> the loss of this step, a number


class Gradient(NamedTuple):
    """A gradient through time, and what another call goes on from."""

    loss: Tensor  # L
    gradients: dict[str, Tensor]  # dL/dθ by the names of the parameters
    state: State  # s_T, detached
    sensitivity: Tensor | None = None  # P_T of the forward way


def through_time(
    cell: nn.Module, x: Tensor, loss: StepLoss, state: State = None, *, truncate: int | None = None
) -> Gradient:
    """dL/dθ by back-propagation through time.

    Args:
        cell: Any cell; a readout belongs to it.
        x: Sequences (B, T, D).
        loss: (t, output of step t) -> its loss, a number.
        state: Where to begin; None: `cell.initial`. No gradient flows into it: a long sequence in several calls, each
            from the state of the one before, is truncated too.
        truncate: Steps k after which the gradient is cut: that of a loss reaches the first step of its block of k.

    Example:
        >>> from ftheta.nn import RNNCell
        >>> x = torch.zeros(1, 5, 2)
        >>> through_time(RNNCell(2, 3), x, lambda t, h: (h - 1).square().sum()).loss.item()
        15.0
    """
    if truncate is not None:
        check.at_least("truncate of through_time", truncate, 1, integer=True)
    weights = {name: p.detach().requires_grad_() for name, p in cell.named_parameters()}
    state, total = _start(cell, x, state), x.new_zeros(())
    with torch.enable_grad():
        for t in range(x.shape[1]):
            if truncate and t % truncate == 0:
                state = tree_map(Tensor.detach, state)
            state, output = functional_call(cell, weights, (state, x[:, t]))
            total = total + loss(t, output)
        slopes = torch.autograd.grad(total, [*weights.values()], materialize_grads=True)
    gradients = dict(zip(weights, slopes, strict=True))
    return Gradient(total.detach(), gradients, tree_map(Tensor.detach, state))


def sensitivities(
    cell: nn.Module, x: Tensor, loss: StepLoss, state: State = None, sensitivity: Tensor | None = None
) -> Gradient:
    """dL/dθ by the sensitivity model, which runs along with the cell: no step is kept.

    Args:
        cell: Any cell; a readout belongs to it.
        x: Sequences (B, T, D).
        loss: (t, output of step t) -> its loss, a number.
        state: Where to begin; None: `cell.initial`.
        sensitivity: P of that state; None: 0. With state and sensitivity of the call before, the gradients of the
            parts add up to that of the whole sequence.
    """
    weights = {name: p.detach() for name, p in cell.named_parameters()}
    flat, step, form = _flattened(cell, _start(cell, x, state))
    slopes = vmap(jacrev(step, (0, 1), has_aux=True), (0, None, 0))
    n = sum(w.numel() for w in weights.values())
    moved = x.new_zeros(*flat.shape, n) if sensitivity is None else sensitivity
    total, gradient = x.new_zeros(()), x.new_zeros(n)
    for t in range(x.shape[1]):
        found, (flat, output) = slopes(flat, weights, x[:, t])  # of s_t and y_t, by s_{t-1} and θ
        moved, shown = (a @ moved + torch.cat([w.flatten(2) for w in by.values()], -1) for a, by in found)
        slope, value = grad_and_value(partial(loss, t))(output)
        total, gradient = total + value, gradient + torch.einsum("br,brn->n", slope, shown)
    parts = gradient.split([w.numel() for w in weights.values()])
    gradients = {name: part.view_as(w) for part, (name, w) in zip(parts, weights.items(), strict=True)}
    return Gradient(total, gradients, form(flat), moved)


def state_jacobians(cell: nn.Module, x: Tensor, state: State = None) -> Tensor:
    """A_t = ∂s_t/∂s_{t-1} along sequences, the parts of a state side by side (h, c): (T, B, S, S)."""
    weights = {name: p.detach() for name, p in cell.named_parameters()}
    flat, step, _ = _flattened(cell, _start(cell, x, state))
    past = [flat]
    for t in range(x.shape[1] - 1):
        past.append(vmap(step, (0, None, 0))(past[-1], weights, x[:, t])[0][0])
    every = vmap(jacrev(step, has_aux=True), (0, None, 0))  # all steps of all sequences at once
    return every(torch.cat(past), weights, x.transpose(0, 1).flatten(0, 1))[0][0].unflatten(0, (-1, len(x)))


def _start(cell: Any, x: Tensor, state: State) -> State:
    return tree_map(Tensor.detach, cell.initial(len(x), x) if state is None else state)


def _flattened(cell: nn.Module, state: State) -> tuple[Tensor, Callable[..., Any], Callable[[Tensor], State]]:
    """The state as one tensor (B, S); the step of one sequence on it, (s_t, y_t) and again as what is not
    differentiated; and the way back."""
    parts, form = tree_flatten(state)
    widths = [part.shape[-1] for part in parts]

    def back(flat: Tensor) -> State:
        return tree_unflatten(list(flat.split(widths, -1)), form)

    def step(flat: Tensor, weights: dict[str, Tensor], x: Tensor) -> tuple[tuple[Tensor, Tensor], Any]:
        after, output = functional_call(cell, weights, (back(flat[None]), x[None]))
        made = torch.cat(tree_flatten(after)[0], -1)[0], output[0]
        return made, made

    return torch.cat(parts, -1), step, back
