"""What is minimized, and by which players.

    update of a player p:   θ_p  <-  rule(θ_p, ∇_{θ_p} [ Σ_i w_i ℓ_i / Σ_i w_i  +  once ])

A loss is a pair (Σ w ℓ, Σ w); only the trainer divides, by the weight of the update: a mean of means is wrong for
accumulation, masks, weights and a short last batch.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from ..data.batch import Batch
from ..draw import Draw
from ..errors import InputError
from ..likelihoods import Likelihood


class Loss(NamedTuple):
    """A sum of losses and the weight to divide it by.

    Args:
        total: Σ w ℓ over rows, tokens or pixels.
        weight: Σ w.
        once: Added once per update and not divided: a weight penalty, a fantasy term. Taken from the last micro-batch.
        terms: Parts to log, as totals under the same weight.
    """

    total: Tensor
    weight: Tensor | float
    once: Tensor | None = None
    terms: Mapping[str, Tensor] = {}


@dataclass(frozen=True)
class Player:
    """A part of θ that is updated on its own: its name, its parameters or groups of them, options of its optimizer."""

    name: str
    parameters: Sequence[Any]
    optim: Mapping[str, Any] = field(default_factory=dict)

    def tensors(self) -> list[nn.Parameter]:
        """The parameters, groups unfolded."""
        groups = [p["params"] if isinstance(p, Mapping) else [p] for p in self.parameters]
        return [p for group in groups for p in group]


class Objective(nn.Module, ABC):
    """What is minimized; its buffers (chains, queues, target nets) are its memory and are in the checkpoint.

    `constants` names submodules that never train and stay in evaluation mode (a teacher). `separable = False` where
    the loss is not a sum over rows; `simultaneous = True` where all players move from the same θ; `surrogate = True`
    where the loss has the right gradient, but neither its value nor its curvature says anything (samples in it);
    `global_noise = False` where all randomness is drawn from `draw`, and none from torch's global generator.
    """

    constants: tuple[str, ...] = ()
    separable: bool = True
    simultaneous: bool = False
    surrogate: bool = False
    global_noise: bool = True

    def players(self) -> tuple[Player, ...]:
        """Which parameters move together; asked once. Default: one player, "loss", with all that require a gradient."""
        fixed = {id(p) for name in self.constants for p in getattr(self, name).parameters()}
        return (Player("loss", [p for p in self.parameters() if p.requires_grad and id(p) not in fixed]),)

    @cached_property
    def player_list(self) -> tuple[Player, ...]:
        """The players, asked for once."""
        return tuple(self.players())

    def turn(self, step: int) -> Sequence[str] | None:
        """Names of the players that are updated in this step; None: all, in order."""
        return None

    @abstractmethod
    def loss(self, player: str, batch: Batch, draw: Draw) -> Loss:
        """What this player minimizes, on these rows and with this randomness."""

    def gradient(self, player: str, batch: Batch, draw: Draw) -> tuple[Loss, Iterable[tuple[Tensor, Tensor]]] | None:
        """The loss, and this player's parameters with ∇ (Σ w ℓ / Σ w) of each, in closed form; None: autograd makes it.

        It draws what `loss` draws, and is asked instead of it where an update is one batch.
        """
        return None

    def after(self, player: str, batch: Batch, draw: Draw) -> None:  # noqa: B027
        """Once per update, without gradients: advance chains, average, clip, project."""

    def evaluate(self, batch: Batch, draw: Draw) -> Mapping[str, Loss]:
        """What validation reports; "loss" is what early stopping watches."""
        return {"loss": self.loss(self.player_list[0].name, batch, draw)}

    def residual(self, batch: Batch) -> Tensor | None:
        """Residuals r with loss = Σ r²/2 + constant: (B, R), for least squares; None where there are none."""
        return None

    def forward(self, what: str, *args: Any) -> Any:
        """The one door for functional calls: `objective("loss", player, batch, draw)`."""
        return getattr(self, what)(*args)

    def train(self, mode: bool = True) -> Self:
        """Training mode for all but the constants."""
        super().train(mode)
        for name in self.constants:
            getattr(self, name).eval()
        return self

    def weights(self) -> dict[str, Tensor]:
        """Copies of parameters and buffers, without the constants."""
        own = {k: v for k, v in self.state_dict().items() if k.split(".")[0] not in self.constants}
        return {k: v.detach().clone() for k, v in own.items()}

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Restore what `weights` gave."""
        own = {k: v for k, v in self.state_dict().items() if k.split(".")[0] not in self.constants}
        shapes = [{(name, value.shape) for name, value in tree.items()} for tree in (own, weights)]
        if wrong := sorted({name for name, _ in shapes[0] ^ shapes[1]}):
            rest = f"{', '.join(wrong[:5])} differ in name or shape. Was the state made by another model?"
            raise InputError(f"The weights do not fit the model: {rest}")
        with torch.no_grad():
            for name, value in own.items():
                value.copy_(weights[name])


class Supervised(Objective):
    """Negative log-likelihood of y under a module's outputs, or any function (raw, y) -> loss of each row.

    Args:
        module: Any `nn.Module`: x -> raw.
        nll: A likelihood, or a function (raw, y) -> loss of each row (`reduction="none"`).
        penalty: A function of the module, added once per update and logged apart.

    Example:
        >>> objective = Supervised(nn.Linear(2, 1), lambda raw, y: (raw[:, 0] - y).abs())
        >>> float(objective.loss("loss", Batch(torch.zeros(4, 2), torch.zeros(4)), Draw(0)).weight)
        4.0
    """

    global_noise = False  # that of dropout and of a user's layers is noticed by their class

    def __init__(
        self,
        module: nn.Module,
        nll: Likelihood | Callable[[Tensor, Tensor], Tensor],
        penalty: Callable[[nn.Module], Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.module, self.nll, self.penalty = module, nll, penalty

    @property
    def likelihood(self) -> Likelihood | None:
        """The likelihood, if that is what the loss comes from."""
        return self.nll if isinstance(self.nll, Likelihood) else None

    def loss(self, player: str, batch: Batch, draw: Draw) -> Loss:
        raw = self.raw(batch)  # (B, ..., R)
        once = None if self.penalty is None else self.penalty(self.module)
        return Loss(*self._sums(raw, batch), once)

    def _sums(self, raw: Tensor, batch: Batch) -> tuple[Tensor, Tensor | float]:
        likelihood = self.likelihood
        if likelihood is None:
            return batch.sum(_each_row(self.nll(raw, batch.y), raw, batch.y))
        if batch.weight is None:
            return likelihood.total(raw, batch.y), float(raw.numel() // raw.shape[-1])
        return batch.sum(likelihood.nll(raw, batch.y))

    def evaluate(self, batch: Batch, draw: Draw) -> Mapping[str, Loss]:
        raw = self.raw(batch)
        found, likelihood = {"loss": Loss(*self._sums(raw, batch))}, self.likelihood
        if likelihood is not None and likelihood.support in ("binary", "category"):
            hits = likelihood.mode(raw) == batch.y
            hits = hits.all(-1) if raw.ndim == batch.y.ndim else hits  # several labels count as one answer
            found["accuracy"] = Loss(*batch.sum(hits.to(raw.dtype)))
        return found

    def raw(self, batch: Batch) -> Tensor:
        """The module's outputs for these rows: (B, ..., R); those in bfloat16 as float32, to add up in."""
        raw = self.module(batch.x)
        return raw.float() if isinstance(raw, Tensor) and raw.dtype is torch.bfloat16 else raw

    def residual(self, batch: Batch) -> Tensor | None:
        likelihood = self.likelihood
        return None if likelihood is None else likelihood.residual(self.raw(batch), batch.y)


def _each_row(each: Tensor, raw: Tensor, y: Tensor) -> Tensor:
    """The loss of each row, or the sentence that says what a module or a function returned instead."""
    if not isinstance(raw, Tensor):
        raise InputError(
            f"The module returned a {type(raw).__name__}; one tensor of outputs, one row per sample, is needed. Let it "
            "return that, e.g. torch.cat(parts, -1), or write an Objective of your own."
        )
    rows = raw.shape[0]
    if each.ndim == 0 or each.shape[0] != rows:
        rest = "fθ needs the loss of each row, to weigh, mask and accumulate it. Return it with reduction='none'."
        raise InputError(f"The loss function returned shape {tuple(each.shape)} for a batch of {rows} rows; {rest}")
    if isinstance(y, Tensor) and each.ndim > max(y.ndim, raw.ndim - 1):
        raise InputError(
            f"The loss function returned shape {tuple(each.shape)}: outputs {tuple(raw.shape)} and targets "
            f"{tuple(y.shape)} were broadcast against each other. Give both the same shape, e.g. raw.squeeze(-1)."
        )
    return each
