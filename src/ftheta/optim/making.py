"""Optimizers made by their names: options checked, fused kernels where they exist."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

from torch.optim import Optimizer

from ..catalog import nearest
from ..errors import InputError
from .table import Rule, rule

__all__ = ["make"]


def make(
    name: str, params: Iterable[Any], lr: float | None = None, options: Mapping[str, Any] | None = None
) -> Optimizer:
    """An optimizer by its name, with torch's fused kernels where they exist.

    Args:
        name: A key of `RULES`.
        params: Parameters, or groups of them as dicts with options of their own.
        lr: Learning rate; None is the rule's own.
        options: Options other than the rule's.

    Example:
        >>> import torch
        >>> type(make("momentum", [torch.zeros(2, requires_grad=True)], lr=0.1)).__name__
        'SGD'
    """
    chosen, given = rule(name), dict(options or {})
    groups = [{**g, "params": list(g["params"])} if isinstance(g, Mapping) else g for g in params]
    own = [{k: v for k, v in g.items() if k != "params"} for g in groups if isinstance(g, Mapping)]
    for each in [given, *({k: v for k, v in o.items() if k != "lr"} for o in own)]:
        _check_options(name, each, chosen.known)
    for rate in [chosen.lr if lr is None else lr, *(o["lr"] for o in own if "lr" in o)]:
        _check_rate(name, rate)
    return _built(name, chosen, groups, chosen.lr if lr is None else float(lr), {**chosen.options, **given})


def _built(name: str, chosen: Rule, groups: list[Any], lr: float, options: Mapping[str, Any]) -> Optimizer:
    tensors = [p for g in groups for p in (g["params"] if isinstance(g, Mapping) else [g])]
    if tensors and all(map(chosen.can_fuse, tensors)) and not {"fused", "foreach", "differentiable"} & set(options):
        options = {**options, "fused": True}
    try:
        return chosen.factory(groups, lr=lr, **options)
    except (ValueError, TypeError) as error:
        raise InputError(f"Optimizer {name!r} refuses what it was given: {str(error).rstrip('.')}.") from None


def _check_options(name: str, options: Mapping[str, Any], known: list[str]) -> None:
    for key in options:
        if key not in known:
            raise InputError(nearest(f"option of optimizer {name!r}:", key, known))


def _check_rate(name: str, lr: Any) -> None:
    if not isinstance(lr, Real) or isinstance(lr, bool) or not 0 < float(lr) < math.inf:
        raise InputError(f"The 'lr' parameter of {name} must be a float in the range (0, inf). Got {lr!r} instead.")
