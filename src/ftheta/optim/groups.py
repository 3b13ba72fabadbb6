"""Parameters by name: freeze some, give others their own options.

A pattern is that of a shell (`*`, `?`, `[ab]`) and may start at any dot of a name: "hidden1.*" is also
"module.hidden1.weight".
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from torch import nn

from ..errors import InputError


def freeze(module: nn.Module, patterns: Iterable[str]) -> list[str]:
    """Keep the parameters that the patterns fit as they are; returns their names.

    Example:
        >>> freeze(nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1)), ["0.*"])
        ['0.weight', '0.bias']
    """
    patterns = [patterns] if isinstance(patterns, str) else patterns
    chosen = dict.fromkeys(name for pattern in patterns for name in _matching(module, pattern))
    for name in chosen:
        module.get_parameter(name).requires_grad_(False)
    return list(chosen)


def scaled_rates(
    module: nn.Module, parameters: Iterable[nn.Parameter], rates: Mapping[str, float], lr: float
) -> list[dict[str, Any]]:
    """Groups of these parameters of a module, each with lr times the factor of the first pattern that fits.

    Example:
        >>> net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
        >>> [g["lr"] for g in scaled_rates(net, net.parameters(), {"0.*": 0.1}, 0.5)]
        [0.05, 0.5]
    """
    chosen = {id(p) for p in parameters}
    left = {name: p for name, p in module.named_parameters() if p.requires_grad and id(p) in chosen}
    groups = []
    for pattern, factor in rates.items():
        taken = [left.pop(name) for name in _matching(module, pattern) if name in left]
        groups.append({"lr": lr * factor, "params": taken})
    groups.append({"lr": lr, "params": list(left.values())})
    return [group for group in groups if group["params"]]


def _matching(module: nn.Module, pattern: str) -> list[str]:
    """Names of the parameters that a pattern fits, at least one."""
    names = [name for name, _ in module.named_parameters()]
    found = [n for n in names if fnmatchcase(n, pattern) or fnmatchcase(n, f"*.{pattern}")]
    if not found:
        close = ", ".join(map(repr, get_close_matches(pattern, names, n=3, cutoff=0.0)))
        raise InputError(
            f"No parameter has a name like {pattern!r}; the nearest are {close or 'none, there are no parameters'}. "
            "Patterns are those of a shell, e.g. 'hidden1.*' or '*.bias'."
        )
    return found
