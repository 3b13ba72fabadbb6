"""Optimizers by name: one table over `torch.optim` and the rules of this room.

g is the gradient of the update's loss at θ, η the learning rate, all operations elementwise unless a norm is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from inspect import signature
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD, Adadelta, Adagrad, Adam, AdamW, Optimizer, RMSprop

from ..catalog import nearest
from ..errors import InputError
from .bfgs import BFGS
from .conjugate import ConjugateGradient
from .descent import Steepest
from .ema_momentum import EMAMomentum
from .gauss_newton import GaussNewton
from .genetic import Genetic
from .lbfgs import LBFGS
from .levenberg_marquardt import LevenbergMarquardt
from .natural import NaturalGradient
from .newton import Newton
from .normalised import NormalisedGD

__all__ = ["RULES", "Rule", "rule"]


@dataclass(frozen=True)
class Rule:
    """How θ moves, and what the rule asks for.

    Args:
        factory: Makes the optimizer: (params, lr, options).
        lr: Learning rate where none is given.
        equation: The update.
        options: Options other than those of the factory.
        needs: "gradient": gradients are there when it steps; "closure": it evaluates the loss itself, as often as it
            likes; "residuals": also residuals and their Jacobian; "curvature": also the curvature of a likelihood.
        full_batch: Whether an update is made from all rows.
        elementwise: Whether each parameter moves by its own gradient alone, so that many small models can be trained
            as one stack.
        fused: Devices on which torch updates all parameters by one kernel.
        memory: (P parameters, N residuals) -> numbers that it keeps or builds beside θ and g.
    """

    factory: Callable[..., Optimizer]
    lr: float
    equation: str
    options: Mapping[str, Any] = field(default_factory=dict)
    needs: str = "gradient"
    full_batch: bool = False
    elementwise: bool = True
    fused: tuple[str, ...] = ()
    memory: Callable[[int, int], int] = lambda p, n: 0

    @cached_property
    def known(self) -> list[str]:
        """Names of the options that it takes."""
        return [name for name in signature(self.factory).parameters if name not in ("params", "lr")]

    def can_fuse(self, parameter: Tensor) -> bool:
        """Whether the fused kernel takes this parameter."""
        return parameter.device.type in self.fused and parameter.dtype in (torch.float32, torch.float64)


_FUSED = ("cpu", "cuda")


def _vectors(count: int) -> Callable[[int, int], int]:
    return lambda p, n: count * p


def _matrices(p: int, n: int) -> int:
    """B, B + λ I and its factor, and the Jacobian as far as it is built at a time: 2²³ numbers."""
    return 3 * p * p + min(n * p, max(p, 2**23))


RULES: dict[str, Rule] = {
    "gd": Rule(SGD, 0.1, "θ <- θ - η g, g over all rows", full_batch=True, fused=_FUSED),
    "sgd": Rule(SGD, 0.1, "θ <- θ - η g, g over a mini-batch", fused=_FUSED),
    "momentum": Rule(SGD, 0.01, "v <- μ v + g;  θ <- θ - η v", {"momentum": 0.9}, fused=_FUSED, memory=_vectors(1)),
    "ema-momentum": Rule(EMAMomentum, 0.1, "m <- β m + (1 - β) g;  θ <- θ - η m", memory=_vectors(1)),
    "nesterov": Rule(
        SGD,
        0.01,
        "v <- μ v + g;  θ <- θ - η (g + μ v)",
        {"momentum": 0.9, "nesterov": True},
        fused=_FUSED,
        memory=_vectors(1),
    ),
    "adagrad": Rule(Adagrad, 0.01, "G <- G + g²;  θ <- θ - η g / (√G + ε)", fused=("cpu",), memory=_vectors(1)),
    "rmsprop": Rule(
        RMSprop, 0.001, "G <- α G + (1 - α) g²;  θ <- θ - η g / (√G + ε)", {"alpha": 0.9}, memory=_vectors(1)
    ),
    "adadelta": Rule(
        Adadelta,
        1.0,
        "G <- ρ G + (1 - ρ) g²;  d = g √(D + ε) / √(G + ε);  D <- ρ D + (1 - ρ) d²;  θ <- θ - η d",
        memory=_vectors(2),
    ),
    "adam": Rule(
        Adam,
        0.01,
        "m <- β₁ m + (1 - β₁) g;  v <- β₂ v + (1 - β₂) g²;  θ <- θ - η (m / (1 - β₁ᵗ)) / (√(v / (1 - β₂ᵗ)) + ε)",
        fused=_FUSED,
        memory=_vectors(2),
    ),
    "adamw": Rule(
        AdamW, 0.01, "θ <- (1 - η λ) θ, then as adam", {"weight_decay": 0.01}, fused=_FUSED, memory=_vectors(2)
    ),
    "steepest": Rule(
        Steepest,
        1.0,
        "θ <- θ - t g,  t by a line search",
        needs="closure",
        full_batch=True,
        elementwise=False,
        memory=_vectors(4),  # θ and g before, d, θ + t d
    ),
    "cg": Rule(
        ConjugateGradient,
        1.0,
        "d <- -g + β d;  θ <- θ + t d,  t by a line search",
        needs="closure",
        full_batch=True,
        elementwise=False,
        memory=_vectors(4),
    ),
    "bfgs": Rule(
        BFGS,
        1.0,
        "θ <- θ - t H g,  H from all differences of θ and g,  t by a line search",
        needs="closure",
        full_batch=True,
        elementwise=False,
        memory=lambda p, n: p * p + 6 * p,
    ),
    "lbfgs": Rule(
        LBFGS,
        1.0,
        "θ <- θ - t H g,  H from the last m differences of θ and g,  t by a line search",
        needs="closure",
        full_batch=True,
        elementwise=False,
        memory=_vectors(2 * 20 + 4),  # m = 20 pairs
    ),
    "newton": Rule(
        Newton,
        1.0,
        "(H + λ I) d = -g;  θ <- θ + η d,  H the Hessian, λ = 0 while that works",
        needs="closure",
        full_batch=True,
        elementwise=False,
        memory=_matrices,
    ),
    "gauss-newton": Rule(
        GaussNewton,
        1.0,
        "JᵀJ d = -Jᵀr;  θ <- θ + η t d,  t = 1, ½, ¼, ...",
        needs="residuals",
        full_batch=True,
        elementwise=False,
        memory=_matrices,
    ),
    "lm": Rule(
        LevenbergMarquardt,
        1.0,
        "(JᵀJ + λ I) d = -Jᵀr;  θ <- θ + η d,  λ up if F rises, down if it falls",
        needs="residuals",
        full_batch=True,
        elementwise=False,
        memory=_matrices,
    ),
    "natural": Rule(
        NaturalGradient,
        1.0,
        "(G + λ I) d = -g;  θ <- θ + η d,  G the Fisher information, λ = 0 while that works",
        needs="curvature",
        full_batch=True,
        elementwise=False,
        memory=_matrices,
    ),
    "genetic": Rule(
        Genetic,
        0.1,
        "θ <- the best of a population that is selected, crossed and mutated by N(0, η²)",
        needs="closure",
        full_batch=True,
        elementwise=False,
        memory=lambda p, n: 100 * p,  # two generations of 50 members
    ),
    "normalised-gd": Rule(NormalisedGD, 0.01, "θ <- θ - η g / ‖g‖", full_batch=True, elementwise=False),
}
"""Optimizers by name; options not stated are those of `torch.optim`."""


def rule(name: str) -> Rule:
    """The rule of a name.

    Example:
        >>> rule("nesterov").equation
        'v <- μ v + g;  θ <- θ - η (g + μ v)'
    """
    if name not in RULES:
        raise InputError(nearest("optimizer", name, RULES))
    return RULES[name]
