"""Gradients at one moment, of each tensor, and what one weight changed a little does to every layer.

    g = ∂/∂θ [ Σ_i w_i ℓ_i / Σ_i w_i + once ],     ‖g‖,   mean |g|,   ‖g‖ / ‖θ‖        of each tensor θ
    w -> w + Δ:     Δh_k ≈ (∂h_k/∂w) Δ,     ΔL ≈ (∂L/∂w) Δ = Σ δ_k·Δh_k          up to terms in Δ², for every layer k

A gradient that shrinks from the output to the input by a factor per layer vanishes in a deep net; one that grows
explodes. The learning rate times ‖g‖ / ‖θ‖ is the relative step of gradient descent.

Shapes: P tensors, from input to output; n rows; K calls of layers; G places along w.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ...catalog import nearest
from ...check import Finite
from ...errors import InputError
from ...plots import GREY, PALETTE, Figure, canvas, drawn, layers, legend, short
from ...results import Result
from .._point import LossLike, Point
from .._probe import QUANTILES, array, calls, gradients, numbered
from .._registry import checked, explanation
from ._checking import moving, place

STEP = 1e-5  # of the differences that give the first order of a layer's change
GRID = np.linspace(-2, 2, 41)  # places along w, in units of Δ
MAX_LAYERS, MAX_UNITS = 5, 40  # that are drawn


class GradientFlow(Result):
    """Gradients by parameter tensor. Frozen tensors are left out; of an unused one the gradient is 0."""

    names: tuple[str, ...]  # of the tensors
    players: tuple[str, ...]  # who moves each tensor, and whose loss is differentiated
    norm: np.ndarray  # Euclidean norm of the gradient: (P,)
    mean_absolute: np.ndarray  # mean of |g|: (P,)
    quantiles: np.ndarray  # 5, 25, 50, 75 and 95 % of |g|: (P, Q)
    parameter_norm: np.ndarray  # Euclidean norm of the tensor: (P,)
    losses: dict[str, float]  # of each player at these rows
    n: int  # number of rows

    @property
    def ratio(self) -> np.ndarray:
        """‖g‖ / ‖θ‖: (P,); inf where θ = 0 has a gradient, NaN where both are 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.norm / self.parameter_norm

    def columns(self) -> dict[str, Any]:
        return {
            "tensor": self.names,
            "player": self.players if len(self.losses) > 1 else None,
            "norm": self.norm,
            "mean |g|": self.mean_absolute,
            "median |g|": self.quantiles[:, 2],
            "95 % |g|": self.quantiles[:, 4],
            "‖g‖/‖θ‖": self.ratio,
        }

    @property
    def caption(self) -> str:
        losses = ", ".join(f"{name} {value:#.4g}" for name, value in self.losses.items())
        least, most = (f"{self.mean_absolute[i]:.2g} in {self.names[i]}" for i in self.mean_absolute.argsort()[[0, -1]])
        spread = f" The mean |g| goes from {least} to {most}." if len(self.names) > 1 else ""
        return f"Gradient at {self.n} rows: {losses}.{spread}"

    def figure(self) -> Figure:
        """Mean absolute gradient of each tensor, with ‖g‖ / ‖θ‖ beside it."""
        notes = [f"‖g‖/‖θ‖ = {r:.2g}" if np.isfinite(r) else "all weights are 0" for r in self.ratio]
        title = f"Gradient flow at {self.n} rows"
        return layers(self.names, self.mean_absolute, label="mean |gradient|", title=title, notes=notes)


@explanation("gradient-flow", needs="module_")
def gradient_flow(obj: Any, X: Any, y: Any = None, *, loss: LossLike = None, training: bool = False) -> GradientFlow:
    """The gradient of the objective at these rows, tensor by tensor, without the penalties of `Training`.

    Example:
        >>> net = torch.nn.Linear(2, 1, bias=False)
        >>> half_square = lambda raw, y: (raw[:, 0] - y) ** 2 / 2
        >>> found = gradient_flow(net, [[3.0, 4.0]], net(torch.tensor([[3.0, 4.0]])).detach()[0] + 1, loss=half_square)
        >>> round(float(found.norm[0]), 4)
        5.0
    """
    point = Point(obj, X, y, loss)
    losses, rows = {}, []
    with point.open(training=training), torch.enable_grad():
        for player in point.objective.player_list:
            point.player = player
            own = [p for p in player.tensors() if p.requires_grad]
            value = point.value()
            losses[player.name] = float(value.detach())
            found = torch.autograd.grad(value, own, allow_unused=True, materialize_grads=True) if own else ()
            rows += [(player.name, p, g) for p, g in zip(own, found, strict=True)]
    if not rows:
        point.moves()
    sizes = [np.abs(array(g)) for *_, g in rows]
    return GradientFlow(
        names=tuple(point.names[id(p)] for _, p, _ in rows),
        players=tuple(name for name, *_ in rows),
        norm=np.array([np.linalg.norm(g.ravel()) for g in sizes]),
        mean_absolute=np.array([g.mean() for g in sizes]),
        quantiles=np.array([np.quantile(g, QUANTILES) for g in sizes]),
        parameter_norm=np.array([np.linalg.norm(array(p).ravel()) for _, p, _ in rows]),
        losses=losses,
        n=point.batch.n,
    )


class WeightPerturbation(Result):
    """What changing one weight did."""

    parameter: str  # name of the tensor
    index: tuple[int, ...]  # place of the weight in it
    weight: float  # the weight before
    amount: float  # what was added to it
    layers: tuple[str, ...]  # name of each call of a layer, K in all
    kinds: tuple[str, ...]  # what each layer is
    change: tuple[np.ndarray, ...]  # how its values changed, for all rows: (B, ...) each
    predicted: tuple[np.ndarray, ...]  # the same to first order: (B, ...) each
    delta: tuple[np.ndarray, ...]  # ∂L/∂h of each: (B, ...) each
    loss: tuple[float, float]  # before and after
    gradient: float  # ∂L/∂w by back-propagation
    curve: np.ndarray  # the loss at weight + GRID amount: (G,)

    @property
    def slope(self) -> float:
        """ΔL / Δw."""
        return (self.loss[1] - self.loss[0]) / self.amount

    def columns(self) -> dict[str, Any]:
        """One row per layer, and the loss."""
        sizes = [np.abs(part).max(initial=0.0) for part in self.change]
        gaps = [np.abs(a - b).max(initial=0.0) for a, b in zip(self.change, self.predicted, strict=True)]
        through = [(d * c).sum() for d, c in zip(self.delta, self.change, strict=True)]
        moved, expected = self.loss[1] - self.loss[0], self.gradient * self.amount
        return {
            "layer": [*self.layers, "loss"],
            "values": [*(part.size for part in self.change), 1],
            "changed": [*(np.count_nonzero(part) for part in self.change), int(moved != 0)],
            "largest change": [*sizes, abs(moved)],
            "first order": [*(np.abs(p).max(initial=0.0) for p in self.predicted), abs(expected)],
            "largest gap": [*gaps, abs(moved - expected)],
            "δ·Δ": [*through, moved],
        }

    @property
    def caption(self) -> str:
        where = f"{self.parameter}{list(self.index)}: {self.weight:.6g} -> {self.weight + self.amount:.6g}."
        return f"{where} ΔL/Δw = {self.slope:.7g}, ∂L/∂w = {self.gradient:.7g}."

    @drawn
    def figure(self) -> Figure:
        """The change of every unit of some layers beside its first order, and the loss along the weight."""
        first = next((part for part in self.change if part.any()), np.zeros((1, 1)))
        row = int(np.abs(first).reshape(len(first), -1).max(1).argmax())
        picked = np.unique(np.linspace(0, len(self.layers) - 1, MAX_LAYERS).round().astype(int)) if self.layers else []
        figure, grid = canvas(len(picked) + 1, width=3.5, height=2.8)
        for axes, k in zip(grid, picked, strict=False):
            change, promised = (part[k][row].ravel()[:MAX_UNITS] for part in (self.change, self.predicted))
            units = np.arange(len(change))
            axes.bar(units, change, width=0.7, color=PALETTE[5], label="change")
            wide = max(4, min(16, 160 / max(len(units), 1)))
            axes.plot(units, promised, ls="", marker="_", ms=wide, mew=2, color="black", label="first order")
            axes.axhline(0, color=GREY, lw=0.8)
            axes.set(title=short(f"{self.layers[k]} {self.kinds[k]}", 30), xlabel="unit", ylabel="change of its value")
        at = self.weight + GRID * self.amount
        grid[-1].plot(at, self.curve, lw=2, label="loss")
        grid[-1].plot(at, self.loss[0] + self.gradient * (at - self.weight), label="tangent")
        grid[-1].plot([self.weight], [self.loss[0]], "o", color="black", zorder=4)
        grid[-1].set(title="loss along the weight", xlabel="weight w", ylabel="loss")
        for axes in grid:
            axes.locator_params(nbins=4)
            axes.ticklabel_format(scilimits=(-3, 4), useMathText=True)
        figure.suptitle(f"{self.parameter}{list(self.index)} changed by {self.amount:g}, row {row}")
        legend(figure)
        return figure


@checked("module_")
def perturb_weight(
    obj: Any,
    X: Any,
    y: Any = None,
    loss: LossLike = None,
    parameter: str | None = None,
    index: int | Sequence[int] | None = None,
    amount: Finite = 1e-3,
) -> WeightPerturbation:
    """Change one weight a little, on a copy in float64, and see what follows.

    Args:
        parameter: Name of the tensor; None: the first matrix, else the first tensor.
        index: Place in it, flat or by axis; None: where the gradient is largest.
        amount: What is added to the weight.

    Example:
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
        >>> found = perturb_weight(net, [[0.5, -1.0]], [1.0], amount=1e-6)
        >>> abs(found.slope / found.gradient - 1) < 1e-4
        True
    """
    if amount == 0:
        raise InputError("amount=0; a number other than 0 is needed, e.g. 1e-3.")
    point = Point(obj, X, y, loss, double=True, project=True).moves()
    with point.open():
        usual = next((n for n, p in point.parameters.items() if p.ndim > 1), next(iter(point.parameters)))
        name = usual if parameter is None else parameter
        if name not in point.parameters:
            raise InputError(nearest("parameter", name, point.parameters))
        tensor = point.parameters[name]
        with calls(point.module, clone=True) as seen:
            value = point.value()
        *delta, slopes = gradients(value, [*(call.out for call in seen), tensor])
        try:
            given = tuple(np.atleast_1d(int(slopes.abs().argmax()) if index is None else index).tolist())
            flat = given[0] if len(given) == 1 else int(np.ravel_multi_index(given, tensor.shape))
            at = tuple(map(int, np.unravel_index(flat, tensor.shape)))
        except ValueError:
            rest = f"a place in {name} of shape {tuple(tensor.shape)}; the last one is"
            raise InputError(f"index={index} is not {rest} {place(tensor.numel() - 1, tensor.shape)}.") from None
        unit = torch.zeros_like(tensor)
        unit[at] = 1.0
        with moving(point.value, tensor, unit) as f, torch.no_grad():
            curve = np.array([f(t * amount) for t in GRID])
            after, up, down = ([], [], [])
            for outs, t in ((up, STEP), (down, -STEP), (after, amount)):
                with calls(point.module) as moved:
                    changed = f(t)
                outs += [array(call.out) for call in moved]
    return WeightPerturbation(
        *(name, at, float(tensor.detach()[at]), float(amount)),
        layers=numbered([call.name for call in seen]),
        kinds=tuple(type(call.layer).__name__ for call in seen),
        change=tuple(b - array(call.out) for call, b in zip(seen, after, strict=True)),
        predicted=tuple((a - b) / (2 * STEP) * amount for a, b in zip(up, down, strict=True)),
        delta=tuple(map(array, delta)),
        loss=(float(value.detach()), changed),
        gradient=float(slopes[at]),
        curve=curve,
    )
