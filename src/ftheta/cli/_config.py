"""What a training command asks for: defaults < `--config` file < `--set` < flags, checked by the fields' types."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints

import click

from ..catalog import nearest
from ..errors import InputError
from ..store import to_toml

__all__ = ["Config", "duration", "from_toml", "merge", "parse_set", "read_config"]


@dataclass(frozen=True)
class Config:
    """One training run, as `config.toml` holds it.

    Args:
        model: Name in the catalog.
        data: Name of a data set, or the path of a CSV file.
        target: Column to predict, for a CSV file.
        task: classify or regress; empty: told by the target.
        seed: Seed of splits, weights, order and noise.
        test: Share set aside for the result; 0 reports on the training rows.
        validation: Share of the rest that early stopping watches.
        params: Parameters of the estimator.
        training: Fields of `Training`.
    """

    model: str = ""
    data: str = ""
    target: str = ""
    task: str = ""
    seed: int = 0
    test: float = 0.2
    validation: float = 0.1
    params: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)

    def toml(self) -> str:
        """The text of `config.toml`."""
        return to_toml(asdict(self))


def duration(text: str) -> float:
    """Seconds of 90, 90s, 10m or 2h."""
    unit = {"s": 1, "m": 60, "h": 3600}.get(text[-1:], 0)
    try:
        value = float(text[:-1]) * unit if unit else float(text)
    except ValueError:
        value = -1.0
    if value <= 0:
        raise InputError(f"--time {text}: expected a time such as 90s, 10m or 2h.")
    return value


def read_config(path: Path) -> dict[str, Any]:
    """The keys of a TOML file; a mistake in it is one sentence with its line."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"--config {path}: there is no such file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path} is not a TOML file: {error}.") from None


def parse_set(items: tuple[str, ...]) -> dict[str, Any]:
    """`a.b=c` as nested keys; the value is read as TOML, else as text."""
    found: dict[str, Any] = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--set {item}: expected KEY=VALUE, e.g. --set training.clip_norm=1.")
        head, _, tail = key.strip().rpartition(".")
        if head not in ("", "params", "training"):
            raise InputError(f"--set {item}: keys are NAME, params.NAME or training.NAME.")
        table = found.setdefault(head or "params", {}) if head or tail not in _TOP else found
        table[tail] = from_toml(value)
    return found


_TOP = [f.name for f in fields(Config)]


def from_toml(text: str) -> Any:
    """A value written as TOML; a plain word is text, and 64,32 a list."""
    for written in (text, f"[{text}]"):
        try:
            return tomllib.loads(f"x = {written}")["x"]
        except tomllib.TOMLDecodeError:
            continue
    return text


def merge(*parts: Mapping[str, Any], where: str = "configuration") -> Config:
    """Later parts win; unknown keys are answered with the nearest known ones."""
    merged: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            if key not in _TOP:
                raise InputError(f"{where}: {nearest('key', key, _TOP)}")
            merged[key] = {**merged.get(key, {}), **value} if isinstance(value, Mapping) else value
    checked = typed(Config, merged, where)
    return Config(**checked)


def typed(cls: type, values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Values turned into the types of a dataclass's fields, or one sentence with key, expectation and value."""
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    hints, result = get_type_hints(cls, include_extras=True), {}
    for name, value in values.items():
        if name not in hints:
            raise InputError(f"{where}: {nearest('key', name, [f.name for f in fields(cls)])}")
        try:
            adapter = TypeAdapter(hints[name], config=ConfigDict(arbitrary_types_allowed=True))
            result[name] = adapter.validate_python(value)
        except ValidationError as error:
            said = error.errors()[0]["msg"]
            raise InputError(f"{where}: '{name}': {said[0].lower()}{said[1:]}, got {value!r}.") from None
    return result


def option(name: str, help: str, **more: Any) -> Any:
    """A flag of the command line with its help."""
    return click.option(name, help=help, **more)
