"""A loss at rows, as a function of the parameters: the module that is explained is never written.

    L(θ) = Σ_i w_i ℓ_i(θ) / Σ_i w_i + once        without the penalties of `Training`; same rows, noise and buffers

A loss is an estimator's own objective, or a name, a likelihood or a function (raw, y) -> loss of each row. A module
without one is given the usual one: half the squared error, or for integers the cross-entropy.

Shapes: P parameters of one player, in the order of the module; B rows.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, Self, TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils._pytree import tree_map

from ..catalog import nearest
from ..data import Batch, TargetSpec
from ..data.batch import take
from ..draw import Draw
from ..errors import InputError, InputTypeError
from ..likelihoods import NAMES, Bernoulli, Categorical, Likelihood, by_name
from ..train import Objective, Supervised
from ._probe import DRAW, batch_of, first_tensor, fitting, module_of, untouched
from ._registry import OBJECTIVE, has

T = TypeVar("T")
Each = Callable[[Tensor, Tensor], Tensor]  # (raw, y) -> loss of each row
LossLike = str | Each | Likelihood | None


class Point:
    """An objective at rows; its parameters can be exchanged.

    Args:
        obj, y, loss, max_rows: As the public functions take them.
        X: Rows, or a `Batch` of rows and targets as the net sees them.
        double: On a copy in float64, whose inputs have a gradient too.
        training: Of the copy: in training mode, with dropout (one fixed draw) and the statistics of this batch.
        project: Without y: the outputs times fixed random numbers are the loss of a module.
    """

    def __init__(
        self,
        obj: Any,
        X: Any,
        y: Any = None,
        loss: LossLike = None,
        *,
        max_rows: int | None = None,
        double: bool = False,
        training: bool = False,
        project: bool = False,
    ) -> None:
        own = loss is None and has(obj, OBJECTIVE)
        y = X.y if isinstance(X, Batch) else y
        if y is None and loss is None and (obj.target_.kind != "none" if own else not project):
            raise InputError(f"{type(obj).__name__} learns from targets, but y is None; pass the y of these rows.")
        self.module = module_of(obj)
        self.batch = X if isinstance(X, Batch) else batch_of(obj, X, y)
        if max_rows is not None and self.batch.n > max_rows:
            spaced = torch.linspace(0, self.batch.n - 1, max_rows, dtype=torch.float64).round().long()
            self.batch = part_of(self.batch, spaced)
        each = loss_of(loss) if loss is not None else usual if y is not None else Projection()
        with DRAW.scope():
            objective = obj.objective(self.module, obj.target_) if own else Supervised(self.module, each)
        self.objective: Objective = objective
        self.double = double
        if double:
            memo: dict[int, Any] = {}
            try:
                self.objective = deepcopy(self.objective, memo).double()
            except (RuntimeError, TypeError) as error:
                name, why = type(self.module).__name__, str(error).partition("\n")[0].rstrip(".")
                raise InputTypeError(f"{name} cannot be copied: {why}. Keep results out of its attributes.") from error
            self.module = memo.get(id(self.module), self.module)
            copied = tree_map(lambda v: v.detach().double().clone() if _is_real(v) else v, tuple(self.batch[:3]))
            self.batch = Batch(*copied)
            for value in self.inputs.values():
                value.requires_grad_()
            self.objective.train(training)
        self._kept = [(b, b.clone()) for b in self.objective.buffers()] if double else []
        self.player = self.objective.player_list[0]
        both = (self.objective, self.module)  # a tensor of the module has its name there
        self.names = {id(p): name for part in both for name, p in part.named_parameters()}
        mine = {id(p) for p in self.player.tensors() if p.requires_grad}
        self._full = {self.names[id(p)]: n for n, p in self.objective.named_parameters() if id(p) in mine}
        of = dict(self.objective.named_parameters())
        self.parameters: dict[str, Tensor] = {name: of[full] for name, full in self._full.items()}

    @property
    def inputs(self) -> dict[str, Tensor]:
        """The tensors of real numbers among the inputs."""
        return _floats(self.batch.x, "input")

    @property
    def size(self) -> int:
        """P."""
        return sum(p.numel() for p in self.parameters.values())

    @property
    def terms(self) -> float:
        """Size of the terms that the loss adds up, which its rounding is measured by; after a call of value()."""
        loss = getattr(self.objective, "nll", None)
        return max(1.0, loss.terms) if isinstance(loss, Projection) else 1.0

    def moves(self) -> Self:
        """The point itself, if a parameter can move."""
        if not self.parameters:
            raise InputError(f"All parameters of {type(self.module).__name__} are frozen; unfreeze one.")
        return self

    def flat(self) -> Tensor:
        """θ as it is: (P,)."""
        return torch.cat([p.detach().flatten() for p in self.parameters.values()])

    def value(self, batch: Batch | None = None) -> Tensor:
        """L at the parameters that the objective has now: 0-d."""
        total, weight, once, _ = self.objective.loss(self.player.name, self.ready(batch), DRAW)
        return total / weight if once is None else total / weight + once

    def ready(self, batch: Batch | None = None) -> Batch:
        """The rows for one more pass, with the same noise; of a copy, with the same buffers too."""
        DRAW.seed_global()
        batch = self.batch if batch is None else batch
        if not self.double:
            return batch
        with torch.no_grad():
            for buffer, kept in self._kept:
                buffer.copy_(kept)
        copy = tree_map(lambda v: v.clone() if isinstance(v, Tensor) else v, batch.x)  # layers may write into it
        return batch._replace(x=copy)

    def at(self, theta: Tensor | Mapping[str, Tensor], batch: Batch | None = None) -> Tensor:
        """L(θ), for θ (P,) or its parts by name: 0-d."""
        return self.holding(theta, lambda: self.value(batch))

    def holding(self, theta: Tensor | Mapping[str, Tensor], f: Callable[[], T]) -> T:
        """f() while the objective has these parameters, θ (P,) or its parts by name; then its own again."""
        parts = self.parts(theta) if isinstance(theta, Tensor) else theta
        named = {f"held.{self._full.get(name, name)}": p for name, p in parts.items()}
        return functional_call(_Holder(self.objective), named, (f,))

    def parts(self, theta: Tensor) -> dict[str, Tensor]:
        """Views of a flat θ by name: (P,) -> the tensors."""
        split = theta.split([p.numel() for p in self.parameters.values()])
        return {n: part.view(p.shape) for (n, p), part in zip(self.parameters.items(), split, strict=True)}

    @contextmanager
    def open(self, *, training: bool = False) -> Iterator[None]:
        """Mode, a fixed draw, and a message for rows that do not fit; all is restored on every exit."""
        with untouched(self.objective, training=training), fitting(self.module, self.batch):
            yield

    def batches(self, count: int, size: int | None, draw: Draw) -> list[Batch]:
        """Mini-batches as an epoch makes them: rows in a random order, and again when all are used up."""
        n = self.batch.n
        size = max(1, n // count) if size is None else size
        if not 1 <= size <= n:
            raise InputError(f"batch_size={size} of {n} rows; choose one from 1 to {n}.")
        order = torch.cat([torch.randperm(n, generator=draw.generator(f"{i}")) for i in range(-(-count * size // n))])
        return [part_of(self.batch, index) for index in order.split(size)[:count]]


class _Holder(nn.Module):
    """Lets `functional_call` run any function while parameters are exchanged."""

    def __init__(self, held: nn.Module) -> None:
        super().__init__()
        self.held = held

    def forward(self, f: Callable[[], T]) -> T:
        return f()


class Projection:
    """Σ v·f(x) of each row, with fixed random numbers v, so that every output counts."""

    terms = 1.0

    def __call__(self, raw: Any, y: Any) -> Tensor:
        out = first_tensor(raw)
        if out is None:
            raise InputTypeError(f"The module returned a {type(raw).__name__} without a tensor in it.")
        v = torch.randn(out.shape, generator=DRAW.generator("against"), dtype=torch.float64).to(out)
        each = (out * v).reshape(len(out), -1).sum(1) if out.ndim else (out * v)[None]
        self.terms = float((out * v).detach().abs().sum()) / len(each)
        return each


def has_surface(obj: Any) -> bool:
    """True if what is minimized is a function of θ and rows."""
    if not has(obj, OBJECTIVE):
        return True
    with DRAW.scope():
        return not obj.objective(obj.module_, obj.target_).surrogate


NO_SURFACE = (
    "has no surface; {} needs a loss that is a function of weights and rows, and this one is estimated by samples of "
    "the model itself. Compare settings by validation rows"
)


def part_of(batch: Batch, index: Any) -> Batch:
    """Some rows of a batch."""
    return Batch(*(take(part, index) for part in (batch.x, batch.y, batch.weight)))


def _floats(value: Any, name: str) -> dict[str, Tensor]:
    """Floating tensors of nested inputs, by where they are."""
    if isinstance(value, Mapping | tuple):
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        return {n: t for key, part in pairs for n, t in _floats(part, f"{name}[{key!r}]").items()}
    return {name: value} if _is_real(value) else {}


def _is_real(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def half_square(raw: Tensor, y: Tensor) -> Tensor:
    """½ Σ (f - y)² of each row."""
    return square(raw, y) / 2


def square(raw: Tensor, y: Tensor) -> Tensor:
    """Σ (f - y)² of each row."""
    return _off(raw, y).square().flatten(1).sum(1)


def absolute(raw: Tensor, y: Tensor) -> Tensor:
    """Σ |f - y| of each row."""
    return _off(raw, y).abs().flatten(1).sum(1)


def usual(raw: Tensor, y: Tensor) -> Tensor:
    """Half the squared error of each row, or the cross-entropy of classes."""
    if not y.is_floating_point() and raw.ndim == y.ndim + 1 and raw.shape[1] > 1:
        return nn.functional.cross_entropy(raw, y.long(), reduction="none")
    return half_square(raw, y.reshape(raw.shape) if y.numel() == raw.numel() else y)


def _off(raw: Tensor, y: Tensor) -> Tensor:
    """f - y, where y may lack the last axis of one output: (B, ...)."""
    y = y.unsqueeze(-1) if raw.ndim == y.ndim + 1 and raw.shape[-1] == 1 else y
    if y.shape != raw.shape:
        raise InputError(f"The outputs have shape {tuple(raw.shape)} and y {tuple(y.shape)}; pass one target for each.")
    return raw - y


LOSSES: dict[str, Callable[[], Each | Likelihood]] = {
    "half-square": lambda: half_square,
    "square": lambda: square,
    "absolute": lambda: absolute,
    "bernoulli": Bernoulli,
    "categorical": Categorical,
    **{name: lambda name=name: by_name(name, TargetSpec("regression")) for name in NAMES},
}


def loss_of(loss: Any) -> Any:
    """A loss by name, or as it is: a likelihood, or a function (raw, y) -> loss of each row."""
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise InputError(nearest("loss", loss, LOSSES))
        return LOSSES[loss]()
    if not callable(loss):
        rest = "expected a name such as 'half-square', a likelihood, or a function (raw, y) -> loss of each row."
        raise InputTypeError(f"loss is {type(loss).__name__}; {rest}")
    return loss
