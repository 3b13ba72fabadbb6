"""Optimizers by name: one table over `torch.optim` and the rules of this package, and how they are made.

g is the gradient of the update's loss at θ, η the learning rate, all operations elementwise unless a norm is written.
A user's own class or factory (params, lr=...) -> Optimizer is taken wherever a name is.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from inspect import Parameter, signature
from numbers import Real
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD, Adadelta, Adagrad, Adam, AdamW, Optimizer, RMSprop

from ..catalog import nearest
from ..errors import InputError
from ._closure import ClosureOptimizer
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
from .normalized import NormalizedGD

__all__ = ["RULES", "Choice", "Rule", "make", "memory", "refuse_large", "rule"]

Choice = str | Callable[..., Optimizer]  # a name of the table, or a class or factory of the user's


@dataclass(frozen=True)
class Rule:
    """How θ moves, and what the rule asks for."""

    factory: Callable[..., Optimizer]  # makes the optimizer: (params, lr, options)
    lr: float | None  # learning rate where none is given; None: the factory's own
    equation: str  # the update
    options: Mapping[str, Any] = field(default_factory=dict)  # options other than those of the factory
    needs: str = "gradient"  # or "closure" (evaluates the loss itself), "residuals" (and Jacobian), "curvature"
    full_batch: bool = False  # whether an update is made from all rows
    elementwise: bool = True  # whether each parameter moves by its own gradient alone
    fused: tuple[str, ...] = ()  # devices on which torch updates all parameters by one kernel
    memory: Callable[[int, int], int] = lambda p, n: 0  # (P parameters, N residuals) -> numbers beside θ and g

    @cached_property
    def known(self) -> list[str] | None:
        """Names of the options that it takes; None where it takes any."""
        kinds = [self.factory, *getattr(self.factory, "__mro__", ())[1:]]  # a subclass may hand options on
        found: dict[str, Parameter] = {}
        for kind in kinds:
            own = signature(kind).parameters
            found |= own
            if all(p.kind is not Parameter.VAR_KEYWORD for p in own.values()):
                break
        else:
            return None
        return [n for n, p in found.items() if n not in ("params", "lr") and p.kind is not Parameter.VAR_KEYWORD]

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
    "normalized-gd": Rule(NormalizedGD, 0.01, "θ <- θ - η g / ‖g‖", full_batch=True, elementwise=False),
}
"""Optimizers by name; options not stated are those of `torch.optim`."""


def rule(name: Choice) -> Rule:
    """The rule of a name, of a class or of a factory.

    Example:
        >>> rule("nesterov").equation
        'v <- μ v + g;  θ <- θ - η (g + μ v)'
        >>> rule(torch.optim.NAdam).lr
        0.002
    """
    if isinstance(name, str):
        if name not in RULES:
            raise InputError(nearest("optimizer", name, RULES))
        return RULES[name]
    if not callable(name):
        raise InputError(
            f"optimizer={name!r}; pass a name, e.g. 'adam', or a class or function that makes an optimizer."
        )
    lr = signature(name).parameters.get("lr")
    rate = float(lr.default) if lr is not None and isinstance(lr.default, Real) else None if lr is None else 0.01
    made = isinstance(name, type)
    closure = made and issubclass(name, ClosureOptimizer | torch.optim.LBFGS)
    needs = "closure" if closure else "gradient"
    return Rule(name, rate, word(name), needs=needs, full_batch=closure, elementwise=False)


def word(name: Choice) -> str:
    """How a choice is written in a message."""
    return name if isinstance(name, str) else getattr(name, "__name__", type(name).__name__)


def make(
    name: Choice, params: Iterable[Any], lr: float | None = None, options: Mapping[str, Any] | None = None
) -> Optimizer:
    """An optimizer by its name, with torch's fused kernels where they exist.

    Args:
        name: A key of `RULES`, or a class or factory (params, lr=...) -> Optimizer.
        params: Parameters, or groups of them as dicts with options of their own.
        lr: Learning rate; None is the rule's own.
        options: Options other than the rule's.

    Example:
        >>> type(make("momentum", [torch.zeros(2, requires_grad=True)], lr=0.1)).__name__
        'SGD'
    """
    chosen, given = rule(name), {**rule(name).options, **(options or {})}
    groups = [{**g, "params": list(g["params"])} if isinstance(g, Mapping) else g for g in params]
    own = [{k: v for k, v in g.items() if k != "params"} for g in groups if isinstance(g, Mapping)]
    for key in [k for each in (given, *own) for k in each if k != "lr"]:
        if chosen.known is not None and key not in chosen.known:
            raise InputError(nearest(f"option of optimizer {word(name)!r}:", key, chosen.known))
    rate = chosen.lr if lr is None else lr
    for value in [rate, *(o["lr"] for o in own if "lr" in o)]:
        number = isinstance(value, Real) and not isinstance(value, bool)
        if value is not None and not (number and 0 < float(value) < math.inf):
            raise InputError(
                f"The 'lr' parameter of {word(name)} must be a float in the range (0, inf). Got {value!r} instead."
            )
    if lr is not None and chosen.lr is None:
        raise InputError(f"lr={lr}, but {word(name)} takes no lr. Leave lr out, or let it take one.")
    tensors = [p for g in groups for p in (g["params"] if isinstance(g, Mapping) else [g])]
    if tensors and all(map(chosen.can_fuse, tensors)) and not {"fused", "foreach", "differentiable"} & set(given):
        given["fused"] = True
    try:
        made = chosen.factory(groups, **({} if rate is None else {"lr": float(rate)}), **given)
    except (ValueError, TypeError) as error:
        raise InputError(f"Optimizer {word(name)!r} refuses what it was given: {str(error).rstrip('.')}.") from None
    if not isinstance(made, Optimizer):
        raise InputError(f"{word(name)} made a {type(made).__name__}; a torch.optim.Optimizer is needed.")
    return made


# ---- memory

SIZES = {name: getattr(torch, name).itemsize for name in ("float64", "float32", "bfloat16", "float16")}


def memory(name: Choice, parameters: int, rows: int = 0, *, dtype: str = "float64") -> int:
    """Bytes that a rule needs beside θ and its gradient, with its own options.

    Args:
        name: A key of `RULES`.
        parameters: Numbers P in θ.
        rows: Residuals N: rows times outputs.
        dtype: Of the numbers, e.g. "float32".

    Example:
        >>> f"{memory('bfgs', 34_826) / 1e9:.1f} GB"
        '9.7 GB'
    """
    if dtype not in SIZES:
        raise InputError(nearest("dtype", dtype, SIZES))
    return rule(name).memory(parameters, rows) * SIZES[dtype]


def refuse_large(
    name: Choice, parameters: int, rows: int = 0, *, dtype: str = "float64", present: int | None = None
) -> None:
    """Raise for a rule whose memory is larger than the machine's; `present` are its bytes, None: asked for."""
    asked = memory(name, parameters, rows, dtype=dtype)
    if asked < 2**28:
        return
    if present is None:
        pages = getattr(os, "sysconf_names", {})
        present = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if "SC_PHYS_PAGES" in pages else asked
    if asked > present:
        raise InputError(
            f"optimizer={word(name)!r} needs {asked / 1e9:.1f} GB for {parameters:,} parameters, and this machine has "
            f"{present / 1e9:.1f} GB. Use a rule that keeps a few vectors, e.g. optimizer='lbfgs' or 'cg'."
        )
