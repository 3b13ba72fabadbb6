"""Updates: what each rule makes of a given sequence of gradients, and what it keeps in mind meanwhile.

    Δθ_t = rule(g_1, ..., g_t),      effective rate  -Δθ_t / g_t

Gradients are given, not computed, so build-up, cancellation, rescaling and decay show by themselves.
Shapes: T steps, D parameters, which start at 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from ... import optim
from ...errors import InputError
from ...plots import Figure, canvas, drawn, legend, wide_range
from ...results import Result

__all__ = ["Updates", "updates"]

MAX_PARAMETERS = 4  # that are drawn
# torch's names of what an optimizer keeps -> those of the equations in the optimizer table
_NAMES = {"exp_avg": "m", "exp_avg_sq": "v", "momentum_buffer": "v", "sum": "G", "square_avg": "G", "acc_delta": "D"}


@dataclass(frozen=True, eq=False)
class Updates(Result):
    """Updates by rule."""

    gradients: np.ndarray  # what was given: (T, D)
    rates: dict[str, float]  # learning rate of each rule
    updates: dict[str, np.ndarray]  # Δθ of each rule: (T, D)
    states: dict[str, dict[str, np.ndarray]]  # what each rule keeps, by the names of its equation: (T, D)

    @property
    def effective(self) -> dict[str, np.ndarray]:
        """-Δθ / g of each rule: (T, D); NaN where g = 0."""
        g = np.where(self.gradients == 0, np.nan, self.gradients)
        return {name: -u / g for name, u in self.updates.items()}

    @property
    def totals(self) -> dict[str, np.ndarray]:
        """Σ_t Δθ_t of each rule: (D,)."""
        return {name: u.sum(0) for name, u in self.updates.items()}

    def columns(self) -> dict[str, Any]:
        """One row per rule, step and parameter."""
        kept = list(dict.fromkeys(key for state in self.states.values() for key in state))
        width = self.gradients.shape[1]
        rows = [(r, t, d) for r in self.updates for t in range(len(self.gradients)) for d in range(width)]
        effective = self.effective
        return {
            "rule": [r for r, _, _ in rows],
            "step": [t + 1 for _, t, _ in rows],
            "parameter": [d + 1 for _, _, d in rows] if width > 1 else None,
            "gradient": [self.gradients[t, d] for _, t, d in rows],
            "update": [self.updates[r][t, d] for r, t, d in rows],
            "effective rate": [effective[r][t, d] for r, t, d in rows],
            **{k: [s[k][t, d] if k in (s := self.states[r]) else None for r, t, d in rows] for k in kept},
        }

    @property
    def caption(self) -> str:
        return ", ".join(f"{name} with lr={rate:g}" for name, rate in self.rates.items()) + "."

    @drawn
    def figure(self) -> Figure:
        """Gradient, update and effective rate against the step; a row of panels for each parameter."""
        width = self.gradients.shape[1]
        shown = min(width, MAX_PARAMETERS)
        figure, grid = canvas(3 * shown, width=3.8, height=2.7, sharex=True)
        parts = {"gradient g": {"given": self.gradients}, "update Δθ": self.updates}
        parts["effective rate -Δθ / g"] = self.effective
        panels = [(d, label, lines) for d in range(shown) for label, lines in parts.items()]
        for axes, (d, label, lines) in zip(grid, panels, strict=True):
            for name, values in lines.items():
                look = {"color": "black"} if name == "given" else {}
                steps = np.arange(1, len(values) + 1)
                axes.plot(steps, values[:, d], marker="o" if len(values) <= 30 else "", ms=4, label=name, **look)
            every = np.concatenate([values[:, d] for values in lines.values()])
            if wide_range(every) and (every[np.isfinite(every)] > 0).all():
                axes.set_yscale("log")
            axes.set(xlabel="step", ylabel=label + (f" of θ{'₁₂₃₄'[d]}" if width > 1 else ""))
            axes.xaxis.get_major_locator().set_params(integer=True)
        more = f" (first {shown} parameters)" if width > shown else ""
        figure.suptitle(f"What rules make of the same gradients{more}")
        legend(figure)
        return figure


def updates(
    rules: str | Sequence[str],
    gradients: Any,
    *,
    lr: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Updates:
    """Feed gradients to rules, in float64.

    Args:
        rules: One or several names of the optimizer table.
        gradients: One per step: (T,) for one parameter, (T, D) for several.
        lr: Learning rate of all; None: each rule's own.
        options: Options of the rules that take them, e.g. {"momentum": 0.5}.

    Example:
        >>> found = updates("momentum", [1.0, -1.0], lr=0.1)
        >>> found.updates["momentum"][:, 0].round(9).tolist()  # opposite gradients leave a hundredth
        [-0.1, 0.01]
    """
    g = np.asarray(gradients, dtype=float)
    g = g[:, None] if g.ndim == 1 else g
    if g.ndim != 2 or not g.size or not np.isfinite(g).all():
        raise InputError(f"gradients has shape {g.shape}; finite numbers (T,) or (T, D), at least one, are needed.")
    names = [rules] if isinstance(rules, str) else list(rules)
    if not names:
        raise InputError("rules is empty; name at least one rule, e.g. ['momentum', 'adam'].")
    unknown = [key for key in options or {} if not any(key in (optim.rule(name).known or ()) for name in names)]
    if unknown:
        raise InputError(f"Option {unknown[0]!r} is known to none of {', '.join(names)}; leave it out.")
    fed = {name: _feed(name, torch.from_numpy(g), lr, options or {}) for name in names}
    rates, moves, kept = ({name: found[k] for name, found in fed.items()} for k in range(3))
    return Updates(g, rates, moves, kept)


def _feed(name: str, gradients: Tensor, lr: float | None, options: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Learning rate, updates (T, D) and states of one rule."""
    rule = optim.rule(name)
    if rule.needs != "gradient":
        raise InputError(f"{name} evaluates the loss itself, so gradients alone do not move it; choose another rule.")
    theta = torch.zeros(gradients.shape[1], dtype=torch.float64, requires_grad=True)
    optimizer = optim.make(name, [theta], lr, {k: v for k, v in options.items() if k in (rule.known or ())})
    moves, kept = [], []
    for g in gradients:
        before, theta.grad = theta.detach().clone(), g.clone()
        optimizer.step()
        moves.append(theta.detach() - before)
        kept.append(_state(optimizer, theta, len(moves)))
    states = {key: np.array([state[key] for state in kept]) for key in kept[0]}
    return optimizer.param_groups[0]["lr"], torch.stack(moves).numpy(), states


def _state(optimizer: Optimizer, theta: Tensor, t: int) -> dict[str, np.ndarray]:
    """What the optimizer keeps for θ, under the names of its equation."""
    raw = {k: v for k, v in optimizer.state.get(theta, {}).items() if isinstance(v, Tensor) and v.shape == theta.shape}
    state: dict[str, np.ndarray] = {_NAMES.get(key) or key: value.detach().numpy().copy() for key, value in raw.items()}
    if "exp_avg" in raw and "betas" in optimizer.param_groups[0]:
        for key, beta in zip(("m", "v"), optimizer.param_groups[0]["betas"], strict=True):
            state[f"{key}-hat"] = state[key] / (1 - beta**t)
    return state
