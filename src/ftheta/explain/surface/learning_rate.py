"""The range test: which learning rate to train with, from one short training in which the rate grows.

    η_i = low (high / low)^{i / (M - 1)},    one update with each;   L_i: the loss after it, on the rows of the next

The suggestion is the rate at which the smoothed loss has made 0.9 of its way from its highest point down to its lowest.
Plain gradient descent on all rows cannot be stable above 2/λ, λ the largest eigenvalue of the Hessian at the start; for
other rules it is not a limit: Adam divides by the size of the gradient, momentum μ allows 2 (1 + μ) / λ.

Shapes: M updates.
Reference: Smith, Cyclical learning rates for training neural networks, arXiv:1506.01186 (2017).
"""

from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge
from sklearn.base import clone

from ... import optim
from ...check import Count, Positive
from ...errors import FThetaError, InputError, InputTypeError, NonFiniteError
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend
from ...results import Result
from ...train import Trainer, Training
from .._point import NO_SURFACE, has_surface
from .._registry import explanation
from .spectrum import sharpness

SUGGESTED_AT = 0.9  # of the way down
WIDTH = 0.03  # of the smoothing, in all updates
EXPLODED = 4.0  # times |L| at the start, above it


class LearningRate(Result):
    """The curve of a range test."""

    rates: np.ndarray  # (M,); fewer than `steps` where the loss exploded
    loss: np.ndarray  # after the update with each rate: (M,); not finite at most at the end
    smoothed: np.ndarray  # its running mean under a Gaussian: (M,)
    suggestion: float  # the rate to train with
    sharpness: float  # largest eigenvalue of the Hessian at the start; NaN where it is not computed or not known
    optimizer: str  # the rule that made the updates
    reason: str  # why the test ended, and what to do where the range is too narrow

    @property
    def limit(self) -> float:
        """2/λ: where plain gradient descent stops being stable; inf where no direction curves upwards."""
        return 2 / self.sharpness if self.sharpness > 0 else np.inf if self.sharpness <= 0 else np.nan

    def columns(self) -> dict[str, Any]:
        """Twenty of the rates, evenly spaced."""
        some = np.unique(np.linspace(0, len(self.rates) - 1, 20).round().astype(int))
        return {"rate": self.rates[some], "loss": self.loss[some], "smoothed": self.smoothed[some]}

    @property
    def caption(self) -> str:
        known = "" if np.isnan(self.sharpness) else f" Sharpness {self.sharpness:#.3g}, 2/λ = {self.limit:#.3g}"
        limit = f"{known}, a limit for plain gradient descent only." if known else ""
        return f"Suggested rate for {self.optimizer}: {self.suggestion:.2g}.{limit} The test ended: {self.reason}."

    @drawn
    def figure(self) -> Figure:
        """Loss against rate, with the suggestion and 2/λ."""
        figure, axes = canvas()
        axes.plot(self.rates, np.where(np.isfinite(self.loss), self.loss, np.nan), color=GREY, lw=0.9, label="loss")
        axes.plot(self.rates, self.smoothed, color=PALETTE[0], ls="-", lw=2, label="smoothed")
        at = np.interp(np.log([self.suggestion]), np.log(self.rates), self.smoothed)
        mark = {"ls": "", "marker": "*", "ms": 15, "color": PALETTE[1], "mec": "white", "zorder": 5}
        axes.plot([self.suggestion], at, label=f"suggestion {self.suggestion:.2g}", **mark)
        if np.isfinite(self.limit):
            axes.axvline(self.limit, color=PALETTE[2], ls="--", label=f"2/λ = {self.limit:.2g} (gradient descent)")
        low, high = self.smoothed.min(), self.smoothed[: self.smoothed.argmin() + 1].max()
        fall = max(high - low, 1e-9)
        axes.set_ylim(low - 0.3 * fall, high + 0.9 * fall)  # the fall; an explosion leaves the picture
        axes.set(xscale="log", xlabel="learning rate η (log scale)", ylabel="mean loss per row")
        axes.set_title(f"Range test of the learning rate: {self.optimizer}")
        legend(figure)
        return figure


def takes_rate(estimator: Any) -> bool:
    return optim.rule(estimator.optimizer).needs == "gradient"


@explanation("learning-rate", when=lambda e: takes_rate(e) and (not hasattr(e, "module_") or has_surface(e)))
def learning_rate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    low: Positive = 1e-6,
    high: Positive = 10.0,
    steps: Annotated[int, Ge(10)] = 100,
    curvature: bool = True,
    max_rows: Count | None = 1000,
) -> LearningRate:
    """Which learning rate suits: one short training of a copy, from its first weights, in which the rate grows.

    Args:
        estimator: A neural estimator, fitted or not; it stays as it is.
        low: First rate.
        high: Last rate.
        steps: Updates.
        curvature: Compute sharpness and 2/λ at the start too, from at most `max_rows` rows.

    Example:
        >>> from ftheta import MLPRegressor
        >>> x = np.linspace(-1, 1, 64)[:, None]
        >>> found = learning_rate(MLPRegressor(hidden=(8,), optimizer="gd"), x, 2 * x[:, 0])
        >>> 0.01 < found.suggestion < 10
        True
    """
    if not low < high:
        raise InputError(f"low={low} and high={high}; low must be below high.")
    if not takes_rate(estimator):
        raise InputError(
            f"optimizer={estimator.optimizer!r} finds the length of its steps itself, so no rate has to be found for "
            "it; leave lr as it is, or choose a rule that takes a rate, e.g. optimizer='adam'."
        )
    own: Any = clone(estimator)  # with a seed, and a rate that nothing else moves
    constant = replace(own.training or Training(), schedule="constant", warmup=0, grow_batch=False, schedule_options={})
    trainer = own.set_params(training=constant, random_state=seed_of(estimator)).prepare(X, y)
    trainer.validation = None
    if trainer.objective.surrogate:
        raise InputTypeError(f"{type(estimator).__name__} {NO_SURFACE.format('learning_rate')}.")
    bend = np.nan
    with suppress(FThetaError):  # an objective may have no curvature to show
        bend = sharpness(own, X, y, max_rows=max_rows) if curvature else np.nan
    rates = np.geomspace(low, high, steps)
    losses, reason = _rise(trainer, rates)
    if len(losses) < 2 or not np.isfinite(losses[0]):
        first = losses[0] if losses else np.nan
        raise NonFiniteError(f"The first loss is {first}, so no rate can be judged; check the rows, or lower `low`.")
    loss = np.array(losses[1:])
    rates, smoothed = rates[: len(loss)], _smooth(loss, losses[0], max(1.0, WIDTH * steps))
    lowest = int(smoothed.argmin())  # at an end of the range a better rate may lie beyond it
    if lowest == 0:
        reason += "; it never fell, so try a smaller low"
    elif lowest == len(smoothed) - 1:
        reason += "; the loss still fell at the last, so try a larger high"
    return LearningRate(rates, loss, smoothed, _suggestion(rates, smoothed), bend, estimator.optimizer, reason)


def seed_of(estimator: Any) -> int:
    """The seed of its first weights: its own, that of its last fit, or 0."""
    return estimator.random_state if estimator.random_state is not None else getattr(estimator, "seed_", 0)


def _rise(trainer: Trainer, rates: np.ndarray) -> tuple[list[float], str]:
    """Losses before the first update and after each, until they explode; the trainer ends as it began."""
    losses: list[float] = []
    shares = {name: [lr / given[0] for lr in given] for name, given in trainer.rates.base.items()}
    with trainer.scope():
        begin = trainer.state_dict()
        try:
            for rate in [*rates, rates[-1]]:
                for name, rule in trainer.optimizers.items():
                    for group, share in zip(rule.param_groups, shares[name], strict=True):
                        group["lr"] = float(rate) * share
                trainer.advance()
                parts = trainer.problems[trainer.objective.player_list[0].name].first or []  # before it moved
                losses.append(float(sum(p.total.detach() for p in parts)) / float(sum(p.weight for p in parts)))
                if not losses[-1] - losses[0] <= EXPLODED * max(abs(losses[0]), 1e-8):
                    return losses, "the loss exploded"
        except NonFiniteError:
            return [*losses, np.inf], "the loss is not finite"
        finally:
            trainer.load_state_dict(begin)
    return losses, "all rates were tried"


def _smooth(loss: np.ndarray, start: float, width: float) -> np.ndarray:
    """Mean of the neighbors under a Gaussian of this width in updates, cut where the loss exploded: (M,) -> (M,)."""
    at, most = np.arange(len(loss)), start + EXPLODED * max(abs(start), 1e-8)
    near = np.exp(-0.5 * ((at[:, None] - at) / width) ** 2)  # (M, M)
    return near @ np.minimum(np.where(np.isfinite(loss), loss, most), most) / near.sum(1)


def _suggestion(rates: np.ndarray, smoothed: np.ndarray) -> float:
    """The first rate at which the loss has made 0.9 of its way from the highest point before the lowest to it."""
    lowest = int(smoothed.argmin())
    highest = int(smoothed[: lowest + 1].argmax())
    goal = smoothed[highest] - SUGGESTED_AT * (smoothed[highest] - smoothed[lowest])
    return float(rates[highest + int((smoothed[highest:] <= goal).argmax())])
