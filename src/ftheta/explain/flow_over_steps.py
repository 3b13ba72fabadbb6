"""Gradient flow of a whole run: the norm of the gradient by layer and step, what it means, and what would help.

    ‖g‖ of a layer = (Σ ‖g of its tensors‖²)^{1/2},      factor = ‖g first layer‖ / ‖g last layer‖, medians over steps

Below 1/100 the gradient vanishes on its way to the input: the first layers stand still. It explodes where it grows
a hundredfold on that way, a thousandfold in time, to a hundred times the weights themselves, or is no longer finite.

Shapes: T recorded steps, L layers with weights, from input to output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from torch import Tensor, nn

from .. import plots
from ..data import Rows
from ..errors import InputError, NonFiniteError
from ..results import Result, Table
from ..train import GradientNorms, Supervised, Trainer, iterate
from ._probe import batch_of
from ._registry import explanation, require
from .learning_rate import CanPrepare

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FlowOverSteps", "flow_over_steps"]

WEAK, STRONG, GROWN, FROZEN = 1e-2, 1e2, 1e3, 1e-6
_FLAT = {"Sigmoid": "1/4", "LogSigmoid": "1", "Tanh": "1", "Softsign": "1", "Hardsigmoid": "1/6", "Hardtanh": "1"}


@dataclass(frozen=True, eq=False)
class FlowOverSteps(Result):
    """Norms by layer and step.

    Args:
        layers: Name of each layer with weights.
        steps: Number of each recorded update: (T,).
        norm: ‖g‖ as the rule saw it, with penalties and after clipping: (T, L).
        size: ‖θ‖ before: (T, L).
        kinds: Names of the classes of all modules, from which advice is made.
        reason: Why the training ended before its steps were done; empty where it did not.
    """

    layers: tuple[str, ...]
    steps: np.ndarray
    norm: np.ndarray
    size: np.ndarray
    kinds: tuple[str, ...]
    reason: str = ""

    @property
    def typical(self) -> np.ndarray:
        """Median of ‖g‖ over the steps where it is finite: (L,)."""
        return np.array([np.median(v[np.isfinite(v)]) if np.isfinite(v).any() else np.nan for v in self.norm.T])

    @property
    def factor(self) -> float:
        """‖g‖ of the first layer over that of the last: what is left of the gradient on its way through the net."""
        first, last = self.typical[[0, -1]]
        return float(first / last) if last else np.nan

    @property
    def relative(self) -> np.ndarray:
        """‖g‖ / ‖θ‖: (T, L); times the learning rate, the relative step of gradient descent."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.norm / self.size

    @property
    def growth(self) -> float:
        """Largest gradient of all layers together over the first."""
        total = np.sqrt((self.norm**2).sum(1))
        finite = total[np.isfinite(total)]
        return float(finite.max() / finite[0]) if finite.size and finite[0] else np.nan

    @property
    def kind(self) -> str:
        """`vanishing`, `exploding` or `healthy`."""
        most = float(np.nanmax(np.where(np.isfinite(self.relative), self.relative, 0)))
        if not np.isfinite(self.norm).all() or self.reason or most > STRONG or self.growth > GROWN:
            return "exploding"
        if len(self.layers) > 1 and self.factor > STRONG:
            return "exploding"
        return "vanishing" if self.factor < WEAK or not most > FROZEN else "healthy"

    @property
    def verdict(self) -> str:
        """What the numbers say, in sentences."""
        first, last = self.layers[0], self.layers[-1]
        each = abs(self.factor) ** (1 / max(len(self.layers) - 1, 1))
        across = f"‖g‖ of {first} is {self.factor:.2g} times that of {last}, {each:.2g} a layer"
        most = float(np.nanmax(np.where(np.isfinite(self.relative), self.relative, 0)))
        if self.kind == "vanishing":
            return f"The gradient vanishes: {across}, and ‖g‖ is at most {most:.2g} ‖θ‖."
        if self.kind == "healthy":
            return f"The gradient arrives: {across}."
        grown = f" and grows to {self.growth:.2g} times its first length" if self.growth > 2 else ""
        end = f" Training ended: {self.reason}" if self.reason else ""
        return f"The gradient explodes: it is up to {most:.2g} ‖θ‖{grown}; {across}.{end}"

    @property
    def advice(self) -> tuple[str, ...]:
        """What would help, from what the net is made of."""
        return tuple({"vanishing": self._revive, "exploding": self._tame, "healthy": lambda: ()}[self.kind]())

    def _revive(self) -> Iterator[str]:
        flat = [(name, most) for name, most in _FLAT.items() if name in self.kinds]
        for name, most in flat:
            yield f"Replace {name} by ReLU: its derivative is at most {most}, and δ is multiplied by it in every layer."
        yield (
            "Start with larger weights: variance 1/fan-in for tanh (Glorot), 2/fan-in for ReLU (He)."
            if not flat or flat[0][0] != "Sigmoid"
            else "Until then start with larger weights: of a sigmoid 1/4 remains, so variance 16/fan-in keeps δ."
        )
        if not self._has("Norm"):
            yield "Normalise between the layers, e.g. nn.BatchNorm1d or nn.LayerNorm."
        if not self._has("Residual"):
            yield "Add residual connections: the identity carries δ past a layer."

    def _tame(self) -> Iterator[str]:
        yield "Clip the gradient: training=Training(clip_norm=1.0)."
        yield "Take a smaller learning rate; explain.learning_rate finds one."
        yield "Start with smaller weights: variance 1/fan-in for linear layers and tanh, 2/fan-in for ReLU."
        yield "Standardise inputs and targets."
        if not self._has("Norm"):
            yield "Normalise between the layers, e.g. nn.BatchNorm1d or nn.LayerNorm."

    def _has(self, word: str) -> bool:
        return any(word in kind for kind in self.kinds)

    def table(self) -> Table:
        """One line a layer."""
        columns: dict[str, Sequence[Any]] = {
            "layer": self.layers,
            "first": self.norm[0].tolist(),
            "median": self.typical.tolist(),
            "largest": self.norm.max(0).tolist(),
            "last": self.norm[-1].tolist(),
            "median ‖g‖/‖θ‖": np.median(self.relative, axis=0).tolist(),
        }
        return Table(columns, " ".join([self.verdict, *self.advice]))

    def figure(self) -> Figure:
        """A line a layer, on a log scale."""
        return plots.flow_over_steps(
            self.layers, self.steps, self.norm, title=f"Gradient by layer and step: {self.kind}"
        )


@explanation("flow-over-steps", needs=CanPrepare | GradientNorms, in_report=False)
def flow_over_steps(
    obj: Any,
    X: Any = None,
    y: Any = None,
    *,
    loss: Callable[[Tensor, Tensor], Tensor] | None = None,
    steps: int = 50,
    every: int = 1,
    optimizer: str = "sgd",
    lr: float | None = None,
    batch_size: int = 64,
) -> FlowOverSteps:
    """Norms of gradients over a run: of one that was recorded, or of a copy that is trained for some steps.

    Args:
        obj: `train.GradientNorms` that watched a training; or a neural estimator, fitted or not, of which a copy is
            trained from its first weights as its own parameters say; or a module together with `loss`, of which a copy
            is trained from its present weights.
        X: Rows to train the copy on.
        y: Their targets.
        loss: For a module: a function (raw, y) -> loss of each row, or a likelihood.
        steps: Updates of the copy.
        every: Steps between two records.
        optimizer: For a module: a name of the optimizer table.
        lr: For a module: learning rate.
        batch_size: For a module: rows of an update.

    Example:
        >>> from ftheta import MLPRegressor
        >>> x = np.linspace(-1, 1, 64)[:, None]
        >>> flow_over_steps(MLPRegressor(hidden=(16, 16), random_state=0), x, x[:, 0], steps=20).kind
        'healthy'
    """
    require(obj, CanPrepare | GradientNorms if loss is None else nn.Module, "flow_over_steps")
    if isinstance(obj, GradientNorms):
        return _found(obj, "")
    if X is None or steps < 1:
        raise InputError(f"steps={steps} and X={'None' if X is None else 'given'}; a copy needs rows and a step.")
    norms = GradientNorms(every)
    trainer = _prepared(obj, X, y) if loss is None else _plain(obj, X, y, loss, optimizer, lr, batch_size)
    try:
        iterate(trainer, steps=steps, callbacks=[norms])
    except NonFiniteError as error:
        return _found(norms, str(error))
    return _found(norms, "")


def _prepared(estimator: Any, X: Any, y: Any) -> Trainer:
    own: Any = clone(estimator)
    own.set_params(random_state=0 if own.random_state is None else own.random_state)
    trainer = own.prepare(X, y)
    trainer.validation = None
    return trainer


def _plain(module: Any, X: Any, y: Any, loss: Any, optimizer: str, lr: float | None, batch_size: int) -> Trainer:
    batch = batch_of(module, X, y)
    objective = Supervised(deepcopy(module), deepcopy(loss))
    rows = Rows(batch.x, batch.y, batch_size=min(batch_size, batch.n))
    return Trainer(objective, rows, optimizer=optimizer, lr=lr)


def _found(norms: GradientNorms, reason: str) -> FlowOverSteps:
    """Tensors put together into layers; those without a matrix (a normalisation, a variance) are left out.

    Tensors of a list, as `weights.0`, are a layer each.
    """
    if not norms.gradient.any():
        raise InputError(
            "No step had a gradient: all are 0, or the optimizer asks for none, as 'lm', which takes the Jacobian; "
            "look at the loss, or take another optimizer, e.g. 'adam'."
        )
    owners = [name if name.rpartition(".")[2].isdigit() else name.rpartition(".")[0] for name in norms.names]
    weighty = [owner for owner, axes in zip(owners, norms.axes, strict=True) if axes > 1] or owners
    layers = tuple(dict.fromkeys(weighty))
    member = np.array([[owner == layer for layer in layers] for owner in owners], dtype=float)  # (P, L)
    norm, size = (np.sqrt(_squares(v, member)) for v in (norms.gradient, norms.parameter))
    return FlowOverSteps(tuple(n or "net" for n in layers), norms.steps, norm, size, norms.kinds, reason)


def _squares(norms: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Σ over the tensors of each layer: (T, P), (P, L) -> (T, L); what is not finite stays in its own layer."""
    with np.errstate(over="ignore"):
        return np.stack([(norms[:, column > 0] ** 2).sum(1) for column in member.T], 1)
