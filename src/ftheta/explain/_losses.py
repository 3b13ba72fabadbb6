"""Where a backward sweep starts: the loss of each row, and its derivative for what the network gave.

    half a square    ℓ = ½ Σ (f - y)²          δ = f - y
    square           ℓ = Σ (f - y)²            δ = 2 (f - y)
    absolute         ℓ = Σ |f - y|             δ = sign(f - y)
    Gaussian         ℓ = ½ Σ (f - y)² / s²     δ = (f - y) / s²
    Bernoulli        ℓ = -log p(y | σ(f))      δ = σ(f) - y
    categorical      ℓ = -log softmax(f)_y     δ = softmax(f) - e_y

Any other loss is a box with its gradient by automatic differentiation; so are parameters that a loss has of its own.
Shapes: B rows, raw outputs (B, ...), targets (B, ...), losses (B,).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..catalog import nearest
from ..data import Batch, TargetSpec
from ..errors import InputError, InputTypeError
from ..likelihoods import NAMES, Bernoulli, Categorical, Gaussian, Likelihood, by_name

__all__ = ["Rows", "Start", "loss_of", "start"]

Each = Callable[[Tensor, Tensor], Tensor]


def half_square(raw: Tensor, y: Tensor) -> Tensor:
    return _off(raw, y).square().flatten(1).sum(1) / 2


def square(raw: Tensor, y: Tensor) -> Tensor:
    return _off(raw, y).square().flatten(1).sum(1)


def absolute(raw: Tensor, y: Tensor) -> Tensor:
    return _off(raw, y).abs().flatten(1).sum(1)


def _off(raw: Tensor, y: Tensor) -> Tensor:
    """f - y, where y may lack the last axis of one output: (B, ...)."""
    y = y.unsqueeze(-1) if raw.ndim == y.ndim + 1 and raw.shape[-1] == 1 else y
    if y.shape != raw.shape:
        raise InputError(f"The outputs have shape {tuple(raw.shape)} and y {tuple(y.shape)}; pass one target for each.")
    return raw - y


def _minus_class(axis: int) -> Each:
    """softmax(f) - e_y, classes along an axis."""

    def slope(raw: Tensor, y: Tensor) -> Tensor:
        return raw.softmax(axis).scatter_add(axis, y.unsqueeze(axis), -torch.ones_like(raw))

    return slope


_LOSSES: dict[str, Callable[[], Each]] = {
    "half-square": lambda: half_square,
    "square": lambda: square,
    "absolute": lambda: absolute,
    "bernoulli": Bernoulli,
    "categorical": Categorical,
    **{name: lambda name=name: by_name(name, TargetSpec("regression")) for name in NAMES},
}


class Start(NamedTuple):
    """Losses and their derivatives.

    Args:
        each: Loss of each row, in double precision: (B,).
        delta: dℓ_i/d raw, stacked: (B, ...).
        gradient: Of parameters that the loss has of its own, for each row.
        words: The loss and its derivative.
    """

    each: Tensor
    delta: Tensor
    gradient: list[dict[str, Tensor]]
    words: tuple[str, str]


class Rows(nn.Module):
    """A module together with a loss: (x, y) -> what the module gives, and the loss of each row.

    Args:
        module: What gives the raw outputs; it may wrap the net.
        loss: A likelihood, or a function (raw, y) -> loss of each row.
        net: Whose names layers and parameters have.
    """

    def __init__(self, module: nn.Module, loss: Each, net: nn.Module) -> None:
        super().__init__()
        self.module, self.loss = module, loss
        inside = next((name for name, part in module.named_modules() if part is net), "")
        self.head = f"{inside}." if inside else ""

    def named(self) -> dict[str, nn.Parameter]:
        """Parameters by their names in the net; those of the loss as loss.name."""
        return {n.removeprefix("module.").removeprefix(self.head): p for n, p in self.named_parameters()}

    def each(self, raw: Tensor, y: Any) -> Tensor:
        """Loss of each row, token or pixel: (B, ...)."""
        return self.loss.nll(raw, y) if isinstance(self.loss, Likelihood) else self.loss(raw, y)

    def of(self, raw: Tensor, batch: Batch) -> Tensor:
        """Loss of each row; of pixels or tokens summed, with their weights: (B,)."""
        each = self.each(raw, batch.y)
        if not isinstance(each, Tensor) or each.ndim == 0 or len(each) != batch.n:
            shape = tuple(each.shape) if isinstance(each, Tensor) else type(each).__name__
            raise InputError(
                f"The loss gave {shape} for {batch.n} rows; backprop needs the loss of each row: use reduction='none'."
            )
        weight = batch.weight
        if weight is not None and weight.ndim > 1:
            each = each * weight.view(*weight.shape, *(1 for _ in range(each.ndim - weight.ndim)))
        return each.flatten(1).sum(1) if each.ndim > 1 else each

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        raw = self.module(batch.x)
        return raw, self.of(raw, batch)


def loss_of(loss: Any) -> Each:
    """A loss by name, or as it is: a likelihood, or a function (raw, y) -> loss of each row."""
    if isinstance(loss, str):
        if loss not in _LOSSES:
            raise InputError(nearest("loss", loss, _LOSSES))
        return _LOSSES[loss]()
    if not callable(loss):
        raise InputTypeError(
            f"loss is {type(loss).__name__}; expected a name such as 'half-square', a likelihood, or a function "
            "(raw, y) -> loss of each row."
        )
    return loss  # pyright: ignore[reportReturnType]


def start(rows: Rows, raw: Tensor, batch: Batch) -> Start:
    """The losses of these rows and what is passed back first: by formula where the loss is known."""
    known = _known(rows.loss, raw, batch.y)
    y = batch.y.double() if isinstance(batch.y, Tensor) and batch.y.is_floating_point() else batch.y
    if known is not None and (batch.weight is None or batch.weight.ndim == 1):
        slope, words = known
        with torch.no_grad():
            each = rows.of(raw.double(), batch._replace(y=y))
            return Start(each, slope(raw.double(), y).cpu(), [{} for _ in range(batch.n)], words)
    return _boxed(rows, raw, batch)


def _boxed(rows: Rows, raw: Tensor, batch: Batch) -> Start:
    own = [(n, p) for n, p in rows.named_parameters() if n.startswith("loss.") and p.requires_grad]
    leaf = raw.detach().clone().requires_grad_()
    with torch.enable_grad():
        each = rows.of(leaf, batch)
    if not each.requires_grad:
        raise InputError("The loss does not depend on what the module gives; pass a function of (raw, y).")
    delta = torch.autograd.grad(each.sum(), leaf, retain_graph=True)[0].double().cpu()
    found = [torch.autograd.grad(e, [p for _, p in own], retain_graph=True) if own else () for e in each]
    gradient = [{n: g.double().cpu() for (n, _), g in zip(own, row, strict=True)} for row in found]
    return Start(each.detach().double(), delta, gradient, ("ℓ = f(raw, y)", "δ = ∂ℓ/∂raw"))


def _known(loss: Any, raw: Tensor, y: Any) -> tuple[Each, tuple[str, str]] | None:
    """The derivative of a loss, and both formulas; not where torch would broadcast, or leave rows out."""
    if isinstance(loss, nn.MSELoss | nn.L1Loss) and raw.shape != y.shape:
        return None
    if isinstance(loss, nn.CrossEntropyLoss) and (y.is_floating_point() or (y < 0).any()):
        return None
    if loss is half_square:
        return _off, ("ℓ = ½ Σ (f - y)²", "δ = f - y")
    if loss is square or _is_plain(loss, nn.MSELoss):
        return lambda raw, y: 2 * _off(raw, y), ("ℓ = Σ (f - y)²", "δ = 2 (f - y)")
    if loss is absolute or _is_plain(loss, nn.L1Loss):
        return lambda raw, y: _off(raw, y).sign(), ("ℓ = Σ |f - y|", "δ = sign(f - y)")
    if type(loss) is Gaussian:
        return lambda raw, y: loss.residual(raw, y) / loss.scale, ("ℓ = ½ Σ (f - y)² / s² + c", "δ = (f - y) / s²")
    if type(loss) is Bernoulli or _is_plain(loss, nn.BCEWithLogitsLoss):
        return (
            lambda raw, y: raw.sigmoid() - (y if y.ndim == raw.ndim else y[..., None]),
            ("ℓ = -log p(y | σ(f))", "δ = σ(f) - y"),
        )
    if type(loss) is Categorical or _is_plain(loss, nn.CrossEntropyLoss):
        axis = -1 if type(loss) is Categorical else 1
        return _minus_class(axis), ("ℓ = -log softmax(f)_y", "δ = softmax(f) - e_y")
    return None


def _is_plain(loss: Any, kind: type) -> bool:
    """torch's loss of each row without weights, smoothing or rows left out."""
    smooth = getattr(loss, "label_smoothing", 0.0)
    weights = getattr(loss, "weight", None), getattr(loss, "pos_weight", None)
    return type(loss) is kind and loss.reduction == "none" and weights == (None, None) and not smooth
