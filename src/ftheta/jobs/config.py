"""The settings of a training: defaults < `--config` file < `--set` < flags, checked by the fields' types."""

import json
import shlex
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

from annotated_types import Ge, Lt, MinLen

from ..catalog import nearest
from ..errors import InputError

Share = Annotated[float, Ge(0), Lt(1)]


@dataclass(frozen=True)
class Config:
    """One training run, as `config.toml` holds it."""

    model: str = ""  # name in the catalog
    data: str = ""  # name of a data set, or the path of a file or a folder of images
    target: str = ""  # column to predict, for a file
    task: str = ""  # empty: decided by the target
    seed: Annotated[int, Ge(0), Lt(2**32)] = 0  # of splits, weights, order and noise
    test: Share | Annotated[str, MinLen(1)] | None = None  # share (0: none) or file; None: the official part, else 0.2
    validation: Share | Literal["auto"] = "auto"  # share of the rest that early stopping watches
    split: Literal["", "random", "stratified", "chronological"] = ""  # empty: as kind and task have it
    group: str = ""  # column whose equal cells stay on one side of every split
    time_column: str = ""  # column that orders the rows
    known_ahead: tuple[str, ...] = ()  # columns of a series whose values are known for the steps to come
    encoding: str = "utf-8"  # of the characters of a CSV file
    sheet: str = ""  # of a spreadsheet, or table of a zip archive; empty: the first, or the only one
    skip_rows: Annotated[int, Ge(0)] = 0  # lines above the header
    size: Annotated[int, Ge(0)] = 0  # height and width of the images of a folder; 0: their own, at most 64
    skip_bad: bool = False  # leave damaged images of a folder out
    params: dict[str, Any] = field(default_factory=dict)  # parameters of the estimator
    training: dict[str, Any] = field(default_factory=dict)  # fields of `Training`

    def toml(self) -> str:
        """The text of `config.toml`."""
        return _toml(self.plain)

    @property
    def plain(self) -> dict[str, Any]:
        """Every setting that is not None."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def layout(self) -> dict[str, Any]:
        """How files are read, as `data.read` takes it."""
        return {name: getattr(self, name) for name in ("encoding", "sheet", "skip_rows")}

    @property
    def roles(self) -> dict[str, Any]:
        """What columns are for."""
        return {n: getattr(self, n) for n in ("target", "group", "time_column", "known_ahead", "validation")}

    @property
    def given(self) -> set[str]:
        """Names of the settings that are not the usual ones."""
        own = {f.name for f in fields(self) if f.name not in _TABLES and getattr(self, f.name) != f.default}
        return own | self.params.keys()

    def command(self) -> str:
        """What to type to repeat it."""
        words = ["ftheta", "train", self.model, self.data]
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name in _TABLES:
                for k, v in value.items():
                    if f.name == "params" and k in FLAGS:
                        written = ",".join(map(str, v)) if isinstance(v, list | tuple) else str(v)
                        words += [f"--{k.replace('_', '-')}", written]
                        continue
                    written = _toml({"x": v}).partition("=")[2].strip().replace("\n", " ")
                    words += ["--set", f"{f.name}.{k}={written}"]
            elif f.name not in ("model", "data") and value != f.default:
                for each in value if isinstance(value, tuple) else [value]:
                    written = "none" if each == 0.0 and f.name == "test" else str(each)
                    words += [f"--{f.name.replace('_', '-')}", *([] if each is True else [written])]
        return shlex.join(words)


def _toml(table: dict[str, Any]) -> str:
    from ..store import to_toml  # `ftheta train --help` does without

    return to_toml(table)


_TOP = [f.name for f in fields(Config)]
_TABLES = ("params", "training")
FLAGS = ("epochs", "lr", "batch_size", "optimizer", "hidden", "device", "horizon")  # parameters with an option


def duration(text: str) -> float:
    """Seconds of 90, 90s, 10m or 2h."""
    unit = {"s": 1, "m": 60, "h": 3600}.get(text[-1:], 0)
    try:
        value = float(text[:-1]) * unit if unit else float(text)
    except ValueError:
        value = -1.0
    if not (isfinite(value) and value > 0):
        raise InputError(f"--time {text}: expected a time such as 90s, 10m or 2h.")
    return value


def read_config(path: Path) -> dict[str, Any]:
    """The keys of a TOML file (-: of standard input); a mistake in it is one sentence with its line."""
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
        if len(text) > 2**16 or any(line.count(".") > 200 for line in text.splitlines()):  # a.a.a... takes n² bytes
            raise ValueError("more than 65536 characters, or more than 200 dots in a line")
        return tomllib.loads(text)
    except FileNotFoundError:
        raise InputError(f"--config {path}: there is no such file. Check the path.") from None
    except OSError as error:
        raise InputError(f"--config {path} cannot be read: {error.strerror}. Give the path of a TOML file.") from None
    except (ValueError, RecursionError) as error:  # also of a number of 5,000 digits, and of brackets upon brackets
        raise InputError(f"{path} is not a TOML file: {error}. Correct it; a run's config.toml shows how.") from None


def parse_set(items: tuple[str, ...]) -> dict[str, Any]:
    """`a.b=c` as nested keys; the value is read as TOML, else as text."""
    parsed: dict[str, Any] = {}
    for item in items:
        key, equals, value = item.partition("=")
        head, _, tail = key.strip().rpartition(".")
        if not equals or not tail:
            raise InputError(f"--set {item}: expected KEY=VALUE, e.g. --set training.clip_norm=1.")
        if head not in ("", *_TABLES) or (not head and tail in _TABLES):
            raise InputError(f"--set {item}: keys are NAME, params.NAME or training.NAME.")
        table = parsed if not head and tail in _TOP else parsed.setdefault(head or "params", {})
        table[tail] = from_toml(value)
    return parsed


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
            if key in _TABLES and not isinstance(value, Mapping):
                raise InputError(f"{where}: {key}={value!r} should be a table: write NAME = VALUE below [{key}].")
            merged[key] = {**merged.get(key, {}), **value} if key in _TABLES else value
    if merged.get("test") == "none":
        merged["test"] = 0.0
    return Config(**typed(Config, merged, where))


def settings_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords as keys of a configuration: a name that it does not have is a parameter of the model."""
    top = {name: value for name, value in given.items() if name in _TOP}
    return top | {"params": {**top.get("params", {}), **{k: v for k, v in given.items() if k not in _TOP}}}


def typed(cls: type, values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Values of TOML as the types of a dataclass's fields, or one sentence with key, value and expectation.

    "5" and true are not numbers, and a list is a tuple where one is expected: the rules of JSON, which TOML shares.
    """
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    hints, known, result = get_type_hints(cls, include_extras=True), [f.name for f in fields(cls)], {}
    for name, value in values.items():
        if name not in known:
            hint = " Parameters of the model go below [params]." if cls is Config else ""
            raise InputError(f"{where}: {nearest('key', name, known)}{hint}")
        try:
            adapter = TypeAdapter(hints[name], config=ConfigDict(arbitrary_types_allowed=True, strict=True))
            result[name] = adapter.validate_json(json.dumps(value, default=str))
        except ValidationError as error:
            raise InputError(f"{where}: {_complaint(name, value, error.errors(include_url=False))}") from None
    return result


def _complaint(name: str, value: Any, problems: list[Any]) -> str:
    """`hidden=[64, -3], where -3 should be greater than or equal to 1.`"""
    problems = [p for p in problems if p["type"] != "needs_python_object"] or problems
    inner = problems[0]["input"]
    place = "" if repr(inner) == repr(value) else f", where {inner!r}"
    wanted = dict.fromkeys(p["msg"].removeprefix("Input should be ").partition(", unable")[0] for p in problems)
    words = " or ".join(wanted)
    for theirs, plain in {"a valid array": "a list", "an object": "a table", "a valid string": "text"}.items():
        words = words.replace(theirs, plain)
    return f"{name}={value!r}{place} should be {words}."
