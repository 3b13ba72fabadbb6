"""Back-propagation by hand: every number of a gradient, layer by layer and row by row.

    forward     z_k = W_k h_k + b_k,   h_{k+1} = φ_k(z_k),   ℓ_i = ℓ(f(x_i), y_i)
    start       δ = ∂ℓ_i/∂f
    backward    δ of what a layer took  =  (its Jacobian)ᵀ δ of what it gave:   φ'(z) ⊙ δ,   Wᵀ δ,   ...
    gradients   ∂ℓ_i/∂W_k = δ h_kᵀ,   ∂ℓ_i/∂b_k = δ,     G = Σ_i s_i ∂ℓ_i/∂θ   (s_i = 1/n for a mean)
    step        θ ← θ - η G

δ is the derivative for one row's loss, not for the mean: a mean that is divided by n twice is a common mistake. Known
layers are passed by their own formulas; any other is a box, whose VJP comes from automatic differentiation. Where a
batch is normalised as one, δ of a row is the derivative of the sum of all losses.

Shapes: B rows; a value and its δ (B, ...), gradients of a parameter (B, its shape).
Reference: Rumelhart, Hinton and Williams, Nature 323 (1986).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor, nn

from .. import plots
from ..catalog import nearest
from ..data import Batch
from ..data.batch import take
from ..errors import InputError, InputTypeError
from ..results import Result, Table
from ..train import Supervised
from ._layer_rules import SLOPES
from ._losses import Rows, loss_of
from ._passes import BackpropStep, both_ways
from ._probe import DRAW, batch_of, fitting, module_of, untouched
from ._registry import HasModule, HasObjective, explanation, require
from ._sheet import Part, Sheet, exercise, label_of, of_row, page, parts_of
from .report_example import HybridOutput

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Backprop", "BackpropStep", "backprop"]

_USUAL, _MOST = 32, 50_000_000  # rows that are followed; gradients of rows that are held
_FAR = 1e-3  # relative difference to central differences that is no rounding
_AFFINE = ("Linear", "linear", "Conv1d", "Conv2d", "Conv3d")
_WIDE, _DEEP = 5, 4  # units of a layer, dense layers that are drawn with their numbers
_BENT = {kind.__name__ for kind in SLOPES} | {HybridOutput.__name__}


@dataclass(frozen=True, eq=False)
class Backprop(Result):
    """A forward and a backward pass with all of their numbers.

    Args:
        steps: Inputs, layers and operations as they ran.
        words: Formulas of the loss, and of what it passes back.
        losses: Loss of each row: (B,).
        losses_after: The same after the step: (B,).
        shares: Weight s_i of each row in the loss that is minimised: (B,).
        targets: y as the loss sees it.
        parameters: Values of the parameters by name.
        gradients: ∂ℓ_i/∂θ of each row by name: (B, ...) each.
        rate: Learning rate η.
        gap: Relative difference to a central difference of the loss along one direction; NaN where there is none.
        given: Number of rows that were passed.
    """

    steps: tuple[BackpropStep, ...]
    words: tuple[str, str]
    losses: np.ndarray
    losses_after: np.ndarray
    shares: np.ndarray
    targets: np.ndarray | None
    parameters: dict[str, np.ndarray]
    gradients: dict[str, np.ndarray]
    rate: float
    gap: float
    given: int

    @property
    def gradient(self) -> dict[str, np.ndarray]:
        """G = Σ_i s_i ∂ℓ_i/∂θ by name."""
        return {name: np.tensordot(self.shares, g, 1) for name, g in self.gradients.items()}

    @property
    def update(self) -> dict[str, np.ndarray]:
        """-η G by name."""
        return {name: -self.rate * g for name, g in self.gradient.items()}

    @property
    def new(self) -> dict[str, np.ndarray]:
        """Parameters after the step."""
        return {name: self.parameters[name] + change for name, change in self.update.items()}

    @property
    def loss(self) -> float:
        """Σ_i s_i ℓ_i."""
        return float(self.shares @ self.losses)

    @property
    def loss_after(self) -> float:
        """The same after the step."""
        return float(self.shares @ self.losses_after)

    @property
    def preactivations(self) -> list[np.ndarray]:
        """What dense and convolutional layers give, in order: K + 1 of a net with K hidden layers."""
        return [step.value for step in self.steps if step.kind in _AFFINE]

    @property
    def activations(self) -> list[np.ndarray]:
        """What activation functions give, in order."""
        return [step.value for step in self.steps if step.kind in _BENT]

    @property
    def warning(self) -> str:
        """Empty where the numbers are the gradient of the loss; else a sentence."""
        if not self.gap > _FAR:
            return ""
        return (
            f"These numbers are not the gradient of this loss: along a random direction they differ from a central "
            f"difference by {100 * self.gap:.2g} %. A layer's backward formula is not the derivative of its forward "
            "one, or the loss has a kink here."
        )

    def step(self, name: str) -> BackpropStep:
        """The step of this name."""
        found = {step.name: step for step in self.steps}
        if name not in found:
            raise InputError(nearest("step", name, found))
        return found[name]

    def parts(self) -> tuple[Part, ...]:
        """All tables with their headings and formulas, in the order in which one computes by hand."""
        return tuple(parts_of(self))

    def table(self, what: str = "summary", name: str = "", row: int | None = None) -> Table:
        """The summary, or one of the tables of a textbook.

        Args:
            what: summary, values, targets, parameters, losses, deltas, gradients, updates, new or after.
            name: Step that values or deltas are of; layer or parameter of the others.
            row: Row that gradients are of; None: all, as they are minimised.
        """
        if what == "summary":
            return self._summary()
        known = {(part.what, part.name): part.table for part in self.parts()}
        if what not in {kind for kind, _ in known}:
            raise InputError(nearest("table", what, ["summary", *dict.fromkeys(kind for kind, _ in known)]))
        names = [other for kind, other in known if kind == what]
        if name not in names:
            raise InputError(nearest(f"name of the table {what!r}:", name, names))
        return known[what, name] if row is None or what != "gradients" else of_row(self, name, self._checked(row))

    def tables(self) -> list[Table]:
        """All tables, in the order in which one computes by hand."""
        return [part.table for part in self.parts()]

    def markdown(self) -> str:
        """All tables with their formulas in Markdown."""
        return page(self.parts(), "markdown", "Back-propagation")

    def latex(self) -> str:
        """All tables with their formulas in LaTeX."""
        return page(self.parts(), "latex", "Back-propagation")

    def exercise(self, seed: int = 0, share: float = 0.4) -> Sheet:
        """A sheet on which some of the numbers are to be computed, and its solution.

        Args:
            seed: Which numbers become blanks.
            share: How many of those that are not given.
        """
        return exercise(self.parts(), "Back-propagation by hand", seed, share)

    def figure(self, row: int = 0) -> Figure:
        """The network with the numbers of one row on it; where it is too large or no chain, shapes and norms."""
        columns = _columns(self, self._checked(row))
        title = f"Row {row + 1}: loss {self.losses[row]:.4g}"
        if columns is not None:
            return plots.backprop(**columns, title=title)
        norms = [(_norm(step.value[row : row + 1]), _norm(step.delta[row : row + 1])) for step in self.steps]
        return plots.backprop_boxes(
            names=[label_of(step) for step in self.steps],
            shapes=[step.value.shape[1:] for step in self.steps],
            norms=norms,
            boxes=[not step.known for step in self.steps],
            edges=[(a, i) for i, step in enumerate(self.steps) for a in step.sources],
            title=f"{title}; too many numbers to print, so shapes and norms",
        )

    def _checked(self, row: int) -> int:
        if not 0 <= row < len(self.losses):
            raise InputError(f"row={row!r}; expected the number of a row from 0 to {len(self.losses) - 1}.")
        return row

    def _summary(self) -> Table:
        columns: dict[str, Sequence[Any]] = {
            "step": [step.name for step in self.steps],
            "kind": [step.kind for step in self.steps],
            "gives": [" × ".join(map(str, step.value.shape[1:])) or "1" for step in self.steps],
            "formula": [step.forward for step in self.steps],
            "back": [step.backward for step in self.steps],
            "‖value‖": [_norm(step.value) for step in self.steps],
            "‖δ‖": [_norm(step.delta) for step in self.steps],
        }
        rows = f"{len(self.losses)} rows" + (f" of {self.given}" if self.given > len(self.losses) else "")
        said = f"{rows}: loss {self.loss:.6g}, after a step of rate {self.rate:g} {self.loss_after:.6g}."
        return Table(columns, f"{said} {self.warning}".strip())


@explanation("backprop", needs=HasObjective, when=lambda obj: _is_supervised(obj), in_report=False)
def backprop(
    obj: Any,
    X: Any,
    y: Any = None,
    loss: str | Callable[[Tensor, Tensor], Tensor] | None = None,
    *,
    rate: float = 1.0,
    reduction: str = "mean",
    training: bool = False,
    most: int | None = None,
) -> Backprop:
    """A forward pass, a backward pass and a step of gradient descent, with every number on the way.

    Args:
        obj: A module together with `loss`, or a fitted neural estimator.
        X: Rows; the first ones are followed.
        y: Their targets.
        loss: half-square, square, absolute, bernoulli, categorical, the name of a likelihood, a likelihood, or a
            function (raw, y) -> loss of each row; None: that of the estimator, without penalties.
        rate: Learning rate η of the step.
        reduction: What is minimised: the mean of the losses, or their sum.
        training: In training mode: with dropout (one fixed draw) and the statistics of this batch.
        most: Rows that are followed at most; None: 32, or fewer for a large net.

    Example:
        >>> net = nn.Linear(1, 1).double()
        >>> _ = nn.init.constant_(net.weight, 2.0), nn.init.zeros_(net.bias)
        >>> found = backprop(net, [[3.0]], [5.0], "half-square", rate=0.1)
        >>> found.gradient["weight"].item(), round(found.new["weight"].item(), 10)
        (3.0, 1.7)
    """
    require(obj, HasObjective if loss is None else nn.Module | HasModule, "backprop")
    if loss is None and not _is_supervised(obj):
        raise InputTypeError(
            f"{type(obj).__name__} is no plain function with a loss of each row; backprop needs a net that is learned "
            "from targets, or loss=."
        )
    if reduction not in ("mean", "sum"):
        raise InputError(nearest("reduction", reduction, ["mean", "sum"]))
    module, full = module_of(obj), batch_of(obj, X, y)
    if full.y is None:
        raise InputError("backprop compares outputs with targets, but y is None; pass the y of these rows.")
    with DRAW.scope():
        objective = obj.objective(module, obj.target_) if loss is None else None
    rows = Rows(module, loss_of(loss), module) if objective is None else Rows(objective.module, objective.nll, module)
    batch = Batch(*(take(part, slice(_rows(rows, full.n, most))) for part in full[:3]))
    with untouched(rows, training=training), fitting(module, batch):
        found = both_ways(rows, batch, rate, reduction)
    return Backprop(**found._asdict(), rate=rate, given=full.n)


def _is_supervised(obj: Any) -> bool:
    with DRAW.scope():
        return isinstance(obj.objective(obj.module_, obj.target_), Supervised)


def _rows(rows: Rows, given: int, most: int | None) -> int:
    """Rows that are followed: each has a gradient for every parameter."""
    count = sum(p.numel() for p in rows.parameters())
    n = min(given, max(1, min(_USUAL, _MOST // max(count, 1))) if most is None else most)
    if n * count > _MOST:
        raise InputError(
            f"{n} rows and {count:,} parameters have {n * count:,} gradients, more than {_MOST:,}; pass a smaller "
            "most=, or a smaller net."
        )
    return n


def _norm(value: np.ndarray) -> float:
    return float(np.linalg.norm(value.ravel()))


def _columns(found: Backprop, row: int) -> dict[str, Any] | None:
    """What is drawn of a small dense chain: a column for the input and for each dense layer with what bends it."""
    steps = found.steps
    if any(step.sources != ((i - 1,) if i else ()) or step.value.ndim != 2 for i, step in enumerate(steps)):
        return None
    plain = all(step.kind in {"input", "Linear", *_BENT} for step in steps)
    layers = [i for i, step in enumerate(steps) if step.kind == "Linear"]
    owners = [_owner(found, steps[i].name) for i in layers]
    wide = max(step.value.shape[1] for step in steps)
    if not (plain and layers and layers[0] == 1 and wide <= _WIDE and len(layers) <= _DEEP) or None in owners:
        return None
    nodes = [_node(steps[:1], row), *(_node(steps[a:b], row) for a, b in pairwise([*layers, len(steps)]))]
    lines = []
    for owner in owners:
        weight, bias = f"{owner}weight", f"{owner}bias"
        names = [bias, weight] if bias in found.parameters else [weight]
        lines.append([np.column_stack([v[n] for n in names]) for v in (found.parameters, _of(found.gradients, row))])
    return {
        "names": ["input", *(label_of(steps[i]) for i in layers)],
        "nodes": nodes,
        "weights": [w for w, _ in lines],
        "gradients": [g for _, g in lines],
    }


def _of(gradients: dict[str, np.ndarray], row: int) -> dict[str, np.ndarray]:
    return {name: g[row] for name, g in gradients.items()}


def _owner(found: Backprop, name: str) -> str | None:
    """What the names of a dense layer's parameters start with."""
    return next((start for start in (f"{name}.", "") if f"{start}weight" in found.parameters), None)


def _node(steps: Sequence[BackpropStep], row: int) -> list[list[str]]:
    """Lines of each unit: what goes in, what comes out, and δ of what goes in."""
    first, last, name = steps[0], steps[-1], "x" if steps[0].kind == "input" else "z"
    values = [(name, first.value[row])] + [("a", last.value[row])] * (last is not first) + [("δ", first.delta[row])]
    return [[f"{key} = {v[u]:.4g}" for key, v in values] for u in range(first.value.shape[1])]
