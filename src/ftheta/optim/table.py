"""Optimizers by name: one table over `torch.optim` and the rules of this package, and how they are made.

g is the gradient of the update's loss at θ, η the learning rate, all operations elementwise unless a norm is written.
A user's own class or factory (params, lr=...) -> Optimizer is taken wherever a name is.
"""

import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from inspect import Parameter, signature
from numbers import Real
from typing import Any

import torch
from torch.optim import SGD, Adadelta, Adagrad, Adam, AdamW, Optimizer, RMSprop

from ..catalog import nearest
from ..errors import InputError
from ._closure import ClosureOptimizer
from .descent import BFGS, LBFGS, ConjugateGradient, Steepest
from .first_order import EMAMomentum, NormalizedGD
from .genetic import Genetic
from .second_order import GaussNewton, LevenbergMarquardt, NaturalGradient, Newton

Choice = str | Callable[..., Optimizer]  # a name of the table, or a class or factory of the user's
SIZES = {name: getattr(torch, name).itemsize for name in ("float64", "float32", "bfloat16", "float16")}


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
        names: list[str] = []
        for kind in [self.factory, *getattr(self.factory, "__mro__", ())[1:]]:  # a subclass may hand options on
            own = signature(kind).parameters
            names += [n for n, p in own.items() if n not in ("params", "lr") and p.kind is not Parameter.VAR_KEYWORD]
            if all(p.kind is not Parameter.VAR_KEYWORD for p in own.values()):
                return names
        return None


def _first_order(
    factory: Callable[..., Optimizer], lr: float, equation: str, vectors: int = 0, fused: str = "cpu cuda", **more: Any
) -> Rule:
    return Rule(factory, lr, equation, fused=tuple(fused.split()), memory=lambda p, n: vectors * p, **more)


def _closure(
    factory: Callable[..., Optimizer], lr: float, equation: str, memory: Callable[[int, int], int], **more: Any
) -> Rule:
    return Rule(
        factory, lr, equation, full_batch=True, elementwise=False, memory=memory, **{"needs": "closure", **more}
    )


def _matrices(p: int, n: int) -> int:
    """B, B + λ I and its factor, and the Jacobian as far as it is built at a time: 2²³ numbers."""
    return 3 * p * p + min(n * p, max(p, 2**23))


_MOMENTS = "m <- β₁ m + (1 - β₁) g;  v <- β₂ v + (1 - β₂) g²;  θ <- θ - η (m / (1 - β₁ᵗ)) / (√(v / (1 - β₂ᵗ)) + ε)"
_ADADELTA = "G <- ρ G + (1 - ρ) g²;  d = g √(D + ε) / √(G + ε);  D <- ρ D + (1 - ρ) d²;  θ <- θ - η d"
_RMSPROP = "G <- α G + (1 - α) g²;  θ <- θ - η g / (√G + ε)"
_LBFGS = "θ <- θ - t H g,  H from the last m differences of θ and g,  t by a line search"
_BFGS = "θ <- θ - t H g,  H from all differences of θ and g,  t by a line search"
_NEWTON = "(H + λ I) d = -g;  θ <- θ + η d,  H the Hessian, λ = 0 while that works"
_NATURAL = "(G + λ I) d = -g;  θ <- θ + η d,  G the Fisher information, λ = 0 while that works"
_LM = "(JᵀJ + λ I) d = -Jᵀr;  θ <- θ + η d,  λ up if F rises, down if it falls"
_GAUSS_NEWTON = "JᵀJ d = -Jᵀr;  θ <- θ + η t d,  t = 1, ½, ¼, ..."
_GENETIC = "θ <- the best of a population that is selected, crossed and mutated by N(0, η²)"
_HEAVY = {"momentum": 0.9}

RULES: dict[str, Rule] = {
    "gd": _first_order(SGD, 0.1, "θ <- θ - η g, g over all rows", full_batch=True),
    "sgd": _first_order(SGD, 0.1, "θ <- θ - η g, g over a mini-batch"),
    "momentum": _first_order(SGD, 0.01, "v <- μ v + g;  θ <- θ - η v", 1, options=_HEAVY),
    "ema-momentum": _first_order(EMAMomentum, 0.1, "m <- β m + (1 - β) g;  θ <- θ - η m", 1, ""),
    "nesterov": _first_order(SGD, 0.01, "v <- μ v + g;  θ <- θ - η (g + μ v)", 1, options={**_HEAVY, "nesterov": True}),
    "adagrad": _first_order(Adagrad, 0.01, "G <- G + g²;  θ <- θ - η g / (√G + ε)", 1, "cpu"),
    "rmsprop": _first_order(RMSprop, 0.001, _RMSPROP, 1, "", options={"alpha": 0.9}),
    "adadelta": _first_order(Adadelta, 1.0, _ADADELTA, 2, ""),
    "adam": _first_order(Adam, 0.01, _MOMENTS, 2),
    "adamw": _first_order(AdamW, 0.01, "θ <- (1 - η λ) θ, then as adam", 2, options={"weight_decay": 0.01}),
    "steepest": _closure(Steepest, 1.0, "θ <- θ - t g,  t by a line search", lambda p, n: 4 * p),
    "cg": _closure(ConjugateGradient, 1.0, "d <- -g + β d;  θ <- θ + t d,  t by a line search", lambda p, n: 4 * p),
    "bfgs": _closure(BFGS, 1.0, _BFGS, lambda p, n: p * p + 6 * p),
    "lbfgs": _closure(LBFGS, 1.0, _LBFGS, lambda p, n: (2 * 20 + 4) * p),  # m = 20 pairs; θ and g before, d, θ + t d
    "newton": _closure(Newton, 1.0, _NEWTON, _matrices),
    "gauss-newton": _closure(GaussNewton, 1.0, _GAUSS_NEWTON, _matrices, needs="residuals"),
    "lm": _closure(LevenbergMarquardt, 1.0, _LM, _matrices, needs="residuals"),
    "natural": _closure(NaturalGradient, 1.0, _NATURAL, _matrices, needs="curvature"),
    "genetic": _closure(Genetic, 0.1, _GENETIC, lambda p, n: 100 * p),  # two generations of 50 members
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
        raise InputError(f"optimizer={name!r}; pass a name, e.g. 'adam', or a class or function that makes one.")
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
            wanted = "must be a float in the range (0, inf)"
            raise InputError(f"The 'lr' parameter of {word(name)} {wanted}. Got {value!r} instead.")
    if lr is not None and chosen.lr is None:
        raise InputError(f"lr={lr}, but {word(name)} takes no lr. Leave lr out, or let it take one.")
    tensors = [p for g in groups for p in (g["params"] if isinstance(g, Mapping) else [g])]
    fast = all(p.device.type in chosen.fused and p.dtype in (torch.float32, torch.float64) for p in tensors)
    if tensors and fast and not {"fused", "foreach", "differentiable"} & set(given):
        given["fused"] = True
    try:
        made = chosen.factory(groups, **({} if rate is None else {"lr": float(rate)}), **given)
    except (ValueError, TypeError) as error:
        raise InputError(f"Optimizer {word(name)!r} refuses what it was given: {str(error).rstrip('.')}.") from None
    if not isinstance(made, Optimizer):
        raise InputError(f"{word(name)} made a {type(made).__name__}; a torch.optim.Optimizer is needed.")
    return made


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


def refuse_large(name: Choice, parameters: int, rows: int = 0, *, dtype: str = "float64") -> None:
    """Raise for a rule whose memory is larger than the machine's."""
    needed = memory(name, parameters, rows, dtype=dtype)
    if needed > (present := _physical_memory()):
        raise InputError(
            f"optimizer={word(name)!r} needs {needed / 1e9:.1f} GB for {parameters:,} parameters, and this machine has "
            f"{present / 1e9:.1f} GB. Use a rule that keeps a few vectors, e.g. optimizer='lbfgs' or 'cg'."
        )


def _physical_memory() -> float:
    known = "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {})  # not on Windows
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if known else math.inf
