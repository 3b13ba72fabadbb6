"""Back-propagation by hand: every number of a gradient, layer by layer and row by row.

    forward     z_k = W_k h_k + b_k,   h_{k+1} = φ_k(z_k),   ℓ_i = ℓ(f(x_i), y_i)
    start       δ = ∂ℓ_i/∂f
    backward    δ of a layer's input  =  (its Jacobian)ᵀ δ of its output:   φ'(z) ⊙ δ,   Wᵀ δ,   ...
    gradients   ∂ℓ_i/∂W_k = δ h_kᵀ,   ∂ℓ_i/∂b_k = δ,     G = Σ_i s_i ∂ℓ_i/∂θ   (s_i = 1/n for a mean)
    step        θ ← θ - η G

δ is the derivative of one row's loss, not of the mean: a mean that is divided by n twice is a common mistake. Where a
batch is normalized as one, δ of a row is the derivative of the sum of all losses.

Shapes: B rows; a value and its δ (B, ...), gradients of a parameter (B, its shape).
Reference: Rumelhart, Hinton and Williams, Nature 323 (1986).
"""

from collections import OrderedDict
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from ...catalog import nearest
from ...check import Count, Finite
from ...data import Batch
from ...errors import InputError
from ...plots import Figure, boxes
from ...results import Result, Table
from ...train import Supervised
from .._point import LossLike, Point, part_of
from .._probe import DRAW, batch_of, module_of
from .._registry import OBJECTIVE, explanation, has
from ._passes import BackpropStep, forward_backward
from ._sheet import Part, Sheet, columns_of, exercise, label_of, network_with_numbers, of_row, page, parts_of

USUAL_ROWS, MAX_GRADIENTS = 32, 50_000_000  # rows that are followed; numbers in the gradients of all rows
WRONG_ABOVE = 1e-3  # relative difference to central differences that is not rounding
MAX_BOXES = 60


class Backprop(Result):
    """A forward and a backward pass with all of their numbers."""

    steps: tuple[BackpropStep, ...]  # inputs, layers and operations as they ran
    words: tuple[str, str]  # formulas of the loss, and of the δ that it passes back
    losses: np.ndarray  # loss of each row: (B,)
    losses_after: np.ndarray  # the same after the step: (B,)
    shares: np.ndarray  # weight s_i of each row in the loss that is minimized: (B,)
    targets: np.ndarray | None  # y as the loss sees it
    parameters: dict[str, np.ndarray]  # values by name
    gradients: dict[str, np.ndarray]  # ∂ℓ_i/∂θ of each row by name: (B, ...) each
    gap: float  # relative difference to a central difference of the loss along one direction; NaN where there is none
    lr: float  # learning rate η
    given: int  # number of rows that were passed

    @property
    def gradient(self) -> dict[str, np.ndarray]:
        """G = Σ_i s_i ∂ℓ_i/∂θ by name."""
        return {name: np.tensordot(self.shares, g, 1) for name, g in self.gradients.items()}

    @property
    def update(self) -> dict[str, np.ndarray]:
        """-η G by name."""
        return {name: -self.lr * g for name, g in self.gradient.items()}

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
    def warning(self) -> str:
        """Empty where the numbers are the gradient of the loss; else a sentence."""
        if not self.gap > WRONG_ABOVE:
            return ""
        return (
            f"These numbers are not the gradient of this loss: along a random direction they differ from a central "
            f"difference by {100 * self.gap:.2g} %. The backward pass of a layer is not the derivative of its forward "
            "pass, or the loss has a kink here."
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
            row: Row that gradients are of; None: all, as they are minimized.
        """
        if what == "summary":
            return super().table()
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

    def exercise(self, random_state: int = 0, share: float = 0.4) -> Sheet:
        """A sheet on which some of the numbers are to be computed, and its solution.

        Args:
            random_state: Which numbers become blanks.
            share: How many of those that are not given.
        """
        return exercise(self.parts(), "Back-propagation by hand", random_state, share)

    def figure(self, row: int = 0) -> Figure:
        """The network with the numbers of one row; of a large one or one with branches, boxes."""
        columns = columns_of(self, self._checked(row))
        title = f"Row {row + 1}: loss {self.losses[row]:.4g}"
        if columns is not None:
            return network_with_numbers(**columns, title=title)
        steps = self.steps[:MAX_BOXES]
        cut = "" if len(steps) == len(self.steps) else f"; the first {MAX_BOXES} of {len(self.steps)} steps"
        norms = [f"‖value‖ {_norm(s.value[row]):.3g}   ‖δ‖ {_norm(s.delta[row]):.3g}" for s in steps]
        words = [f"{label_of(s)}   {_size(s)}   {norm}" for s, norm in zip(steps, norms, strict=True)]
        title = f"{title}{cut}\ntoo many numbers to print, so shapes and norms"
        return boxes(words, [s.sources for s in steps], down=True, title=title)

    def _checked(self, row: int) -> int:
        if not 0 <= row < len(self.losses):
            raise InputError(f"row={row!r}; expected the number of a row from 0 to {len(self.losses) - 1}.")
        return row

    def columns(self) -> dict[str, Any]:
        return {
            "step": [step.name for step in self.steps],
            "kind": [step.kind for step in self.steps],
            "output": [_size(step) for step in self.steps],
            "formula": [step.forward for step in self.steps],
            "back": [step.backward for step in self.steps],
            "‖value‖": [_norm(step.value) for step in self.steps],
            "‖δ‖": [_norm(step.delta) for step in self.steps],
        }

    @property
    def caption(self) -> str:
        n = len(self.losses)
        rows = f"{n} row{'s' * (n > 1)}" + f" of {self.given}" * (self.given > n)
        losses = f"{rows}: loss {self.loss:.6g}, after a step of rate {self.lr:g} {self.loss_after:.6g}."
        return f"{losses} {self.warning}".strip()


def is_supervised(obj: Any) -> bool:
    """Whether its loss is a sum over rows with targets."""
    if not has(obj, OBJECTIVE):
        return True
    with DRAW.scope():
        return isinstance(obj.objective(obj.module_, obj.target_), Supervised)


@explanation(
    "backprop",
    needs="module_",
    when=is_supervised,
    otherwise="is not a function with a loss of each row; {} needs a net that is learned from targets, or loss=",
    lifted_by="loss",
)
def backprop(
    obj: Any,
    X: Any,
    y: Any = None,
    loss: LossLike = None,
    *,
    lr: Finite = 1.0,
    reduction: Literal["mean", "sum"] = "mean",
    training: bool = False,
    max_rows: Count | None = None,
) -> Backprop:
    """A forward pass, a backward pass and a step of gradient descent, with every number on the way.

    Args:
        X: Rows; the first ones are followed.
        lr: Learning rate η of the step.
        reduction: What is minimized: the "mean" of the losses, or their "sum".
        max_rows: Rows that are followed; None: 32, or fewer for a large net.

    Example:
        >>> from torch import nn
        >>> net = nn.Linear(1, 1).double()
        >>> _ = nn.init.constant_(net.weight, 2.0), nn.init.zeros_(net.bias)
        >>> found = backprop(net, [[3.0]], [5.0], "half-square", lr=0.1)
        >>> found.gradient["weight"].item(), round(found.new["weight"].item(), 10)
        (3.0, 1.7)
    """
    if y is None:
        raise InputError("backprop compares outputs with targets, but y is None; pass the y of these rows.")
    full, size = batch_of(obj, X, y), sum(p.numel() for p in module_of(obj).parameters())
    most = max(1, min(USUAL_ROWS, MAX_GRADIENTS // max(size, 1))) if max_rows is None else max_rows
    n = min(full.n, most)
    if n * size > MAX_GRADIENTS:  # each row has a gradient for every parameter
        raise InputError(
            f"{n} rows and {size:,} parameters have {n * size:,} gradients, more than {MAX_GRADIENTS:,}; pass a "
            "smaller max_rows=, or a smaller net."
        )
    found = passes_of(obj, part_of(full, slice(n)), loss, lr=lr, reduction=reduction, training=training)
    return replace(found, given=full.n)


def passes_of(
    obj: Any, batch: Batch, loss: LossLike, *, lr: float, reduction: str = "mean", training: bool = False
) -> Backprop:
    """All numbers of these rows."""
    point = Point(obj, batch, loss=loss, double=True, training=training)
    with point.open(training=training):
        return Backprop(**forward_backward(point, lr, reduction), given=batch.n)


def _size(step: BackpropStep) -> str:
    return " × ".join(map(str, step.value.shape[1:])) or "1"


def _norm(value: np.ndarray) -> float:
    return float(np.linalg.norm(value.ravel()))


class _Mixed(torch.autograd.Function):
    """z forward, σ'(z) backward."""

    @staticmethod
    def forward(ctx: Any, z: Tensor) -> Tensor:
        ctx.save_for_backward(z)
        return z.clone()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        (z,) = ctx.saved_tensors
        return grad_outputs[0] * z.sigmoid() * (1 - z.sigmoid())


class MismatchedOutput(nn.Module):
    """An output unit that gives z and passes back σ'(z) δ: a mistake that is easily made, kept to be looked at."""

    def forward(self, z: Tensor) -> Tensor:
        return _Mixed.apply(z)  # pyright: ignore[reportReturnType]


_VARIANTS = {"printed": MismatchedOutput, "linear": nn.Identity, "sigmoid": nn.Sigmoid}


def worked_example(variant: str = "printed") -> tuple[nn.Sequential, Tensor, Tensor, str]:
    """The network, its three points, their targets and the loss, as `backprop` takes them.

    Args:
        variant: Of the output unit: "linear" or "sigmoid"; "printed" gives z and passes back σ'(z) δ, as the report
            prints it, which is the gradient of no loss.

    Example:
        >>> from ftheta import explain
        >>> found = explain.backprop(*explain.worked_example("linear"))
        >>> round(found.loss, 6), round(found.loss_after, 6)
        (0.92399, 0.664982)
    """
    if variant not in _VARIANTS:
        raise InputError(nearest("variant", variant, _VARIANTS))
    layers = {"hidden": nn.Linear(2, 2), "sigmoid": nn.Sigmoid(), "output": nn.Linear(2, 1)}
    net = nn.Sequential(OrderedDict(layers, unit=_VARIANTS[variant]())).double()
    weights = [[[0.2, -1.2], [-0.7, -0.7]], [0.4, 0.7], [[-0.5, 2.3]], [0.4]]  # hidden, its biases, output, its bias
    with torch.no_grad():
        for p, values in zip(net.parameters(), weights, strict=True):
            p.copy_(torch.tensor(values, dtype=torch.float64))
    x, y = torch.tensor([[1, 1], [0, -2], [-1, 1]]).double(), torch.tensor([-1, 1, 1]).double()
    return net, x, y, "half-square"
