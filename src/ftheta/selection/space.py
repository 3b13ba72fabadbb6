"""What a search may try: for each parameter a range, or values to choose from.

    Range(1e-4, 0.1, log=True)      numbers; whole ones where both ends are whole
    [(32,), (64, 64)]               any values

In a TOML file: `lr = { low = 1e-4, high = 0.1, log = true }` and `hidden = [[32], [64, 64]]`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isfinite, log
from typing import Any

from ..catalog import nearest
from ..errors import InputError


@dataclass(frozen=True)
class Range:
    """Numbers from low to high, both included."""

    low: float
    high: float
    log: bool = False  # whether equal factors are equally likely, not equal distances

    def __post_init__(self) -> None:
        low, high = self.low, self.high
        if not (isfinite(low) and isfinite(high) and low < high and (low > 0 or not self.log)):
            need = "two finite numbers, the lower one first" + (" and above 0, since log is set" if self.log else "")
            raise InputError(f"A range from {low!r} to {high!r}: expected {need}.")

    @property
    def whole(self) -> bool:
        """Whether its numbers are integers."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def near_end(self, value: float) -> str:
        """ "lower" or "upper" where a value lies within a twentieth of that end, else an empty text."""
        low, high, at = (log(x) if self.log else x for x in (self.low, self.high, value))
        share = (at - low) / (high - low)
        return "lower" if share < 0.05 else "upper" if share > 0.95 else ""


Space = Mapping[str, Range | Sequence[Any]]


def space_of(given: Mapping[str, Any], known: Sequence[str] | None = None) -> dict[str, Range | tuple[Any, ...]]:
    """A space, checked.

    Args:
        given: Ranges and lists of values by parameter, or what a TOML file holds.
        known: The parameters that there are.

    Example:
        >>> space_of({"lr": {"low": 0.001, "high": 0.1, "log": True}, "hidden": [[8], [16]]})
        {'lr': Range(low=0.001, high=0.1, log=True), 'hidden': ([8], [16])}
    """
    found: dict[str, Range | tuple[Any, ...]] = {}
    for name, value in given.items():
        if known is not None and name.partition(".")[0].partition("__")[0] not in known:
            raise InputError(f"Search space: {nearest('parameter', name, known)}")
        found[name] = _one(name, value)
    if not found:
        raise InputError("The search space is empty; give at least one parameter, e.g. lr = {low = 1e-4, high = 0.1}.")
    return found


def _one(name: str, value: Any) -> Range | tuple[Any, ...]:
    if isinstance(value, Range):
        return value
    if isinstance(value, Mapping):
        numbers = all(isinstance(value.get(end), int | float) and not isinstance(value[end], bool) for end in _ENDS)
        if not numbers or value.keys() - {*_ENDS, "log"} or not isinstance(value.get("log", False), bool):
            raise InputError(f"Search space: {name} = {dict(value)!r}: expected a range, {{low = 1e-4, high = 0.1}}.")
        return Range(**value)
    if isinstance(value, str) or not isinstance(value, Sequence) or not len(value):
        raise InputError(f"Search space: {name} = {value!r}: expected a range or a list with at least one value.")
    return tuple(value)


_ENDS = ("low", "high")


def suggest(trial: Any, space: Space) -> dict[str, Any]:
    """A point of the space, chosen by an Optuna trial."""
    point: dict[str, Any] = {}
    for name, where in space.items():
        if isinstance(where, Range):
            pick = trial.suggest_int if where.whole else trial.suggest_float
            point[name] = pick(name, where.low, where.high, log=where.log)
        else:
            values = {written(value): value for value in where}
            point[name] = values[trial.suggest_categorical(name, list(values))]
    return point


def written(value: Any) -> str:
    """A value as text: Optuna's choices are plain."""
    return json.dumps(value, default=str)


def at(where: Range | Sequence[Any], u: float) -> Any:
    """The value at a share u of a range or of a list of values, 0 <= u < 1."""
    if not isinstance(where, Range):
        return where[int(u * len(where))]
    if where.whole:  # each integer has an equal share, of its logarithm where log is set
        ends = where.low - 0.5, where.high + 0.5
        return min(int(where.high), max(int(where.low), round(_between(*ends, u, log=where.log))))
    return _between(where.low, where.high, u, log=where.log)


def _between(low: float, high: float, u: float, *, log: bool) -> float:
    return low * (high / low) ** u if log else low + (high - low) * u


def grid(space: Space, points: int = 4) -> list[dict[str, Any]]:
    """Every combination of choices and of so many evenly spaced numbers of each range."""
    each: list[Sequence[Any]] = []
    for where in space.values():
        if isinstance(where, Range):
            steps = [_between(where.low, where.high, k / (points - 1), log=where.log) for k in range(points)]
            each.append(sorted(set(map(round, steps))) if where.whole else steps)
        else:
            each.append(where)
    return [dict(zip(space, values, strict=True)) for values in product(*each)]
