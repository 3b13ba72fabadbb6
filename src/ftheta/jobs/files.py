"""What the files of a run must hold, whoever wrote them: anything else is one FileFormatError with path and place."""

from __future__ import annotations

import reprlib
import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

from annotated_types import Ge, Gt, Le, Len, Lt, MinLen
from typing_extensions import TypedDict  # in Python 3.11 pydantic takes no other

from ..errors import FileFormatError, FThetaError, RunError
from .config import merge

if TYPE_CHECKING:
    import numpy as np

    from ..store import Run

Number = Annotated[int | float, Ge(-1e300), Le(1e300)]
Count = Annotated[int, Ge(0), Lt(2**53)]
Level = Annotated[float, Gt(0), Lt(1)]
Share = Annotated[float, Ge(0), Le(1)]


class BaselineFile(TypedDict):
    """What the simplest answers score, in result.json."""

    name: str
    constant: dict[str, Number]  # what `Task.constant` gives
    scores: dict[str, Number | None]
    linear: dict[str, Number | None] | None  # of a linear model; None: there is none
    p: Share | None  # of the paired test against the constant
    linear_p: Share | None
    method: str  # of the test


class ResultFile(TypedDict):
    """result.json."""

    part: Literal["test part", "test file", "training rows", "cross-validation"]
    rows: Count
    family: str
    data: str
    scores: Annotated[dict[str, Number | None], MinLen(1)]
    level: NotRequired[Level]
    intervals: NotRequired[dict[str, Annotated[list[Number], Len(2, 2)] | None]]
    method: NotRequired[dict[str, str]]
    baseline: NotRequired[BaselineFile]
    how: NotRequired[str]  # what kind of forecasts they are
    verdict: NotRequired[str]
    warning: NotRequired[str]  # of the fit that ended before it converged
    errors: NotRequired[list[str]]  # where they are large, in sentences


class CsvFormat(TypedDict):
    """How the cells of a file were read."""

    comma: bool
    dates: dict[str, str]
    text: list[str]
    units: NotRequired[dict[str, str]]


class Facts(TypedDict):
    """data.json."""

    name: str
    kind: str
    shape: Annotated[list[Annotated[int, Gt(0), Lt(2**20)]], Len(0, 3)]
    rows: Count
    task: str
    test: str
    target: str
    classes: list[str]
    parts: dict[str, Count]
    columns: list[dict[str, str]]
    csv_format: CsvFormat | None
    notes: list[str]
    leaks: list[str]
    license: str
    citation: str
    digest: str


class Interval(TypedDict):
    """interval.json."""

    level: Level
    half_width: Annotated[Number, Ge(0)]
    rows: Count


def settings(run: Run) -> dict[str, Any]:
    """The settings in config.toml."""
    file = run.path / "config.toml"
    if run.status == "new":
        raise RunError(f"{run.path} has no manifest, so its files cannot be verified. Start a new run.")
    if not run.has("config.toml"):
        raise RunError(f"{run.path} is a model saved in Python, not a run of `ftheta train`. Use ftheta.load there.")
    content = run.read("config.toml")
    try:
        return asdict(merge(tomllib.loads(content.decode()), where=str(file)))
    except FThetaError as error:
        raise FileFormatError(f"{error} The file is not one of `ftheta train`; use another copy.") from None
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{file} is not a TOML file ({error}). It is damaged; use another copy.") from None


def result(run: Run) -> ResultFile:
    """The scores of a run."""
    return _read(run, "result.json", ResultFile)


def facts(run: Run) -> Facts:
    """What is known of the data of a run."""
    return _read(run, "data.json", Facts)


def interval(run: Run) -> dict[str, Any] | None:
    """How far numbers lie from their prediction; None where that is not known."""
    return _read(run, "interval.json", Interval | None) if run.has("interval.json") else None


def _read(run: Run, name: str, shape: Any) -> Any:
    return _shaped(run.json(name), shape, run.path / name)


def _shaped(value: Any, shape: Any, file: Path) -> Any:
    """The value, if it has this shape."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(shape).validate_python(value, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "all of it"
        raise _wrong(file, f"{reprlib.repr(place)} is {reprlib.repr(first['input'])}: {first['msg']}") from None


def _wrong(file: Path, what: str) -> FileFormatError:
    return FileFormatError(f"{file}: {what}. The file is damaged or not one of fθ's; use another copy.")


# ---- files of arrays


def split(run: Run, rows: int = 2**53) -> dict[str, Any]:
    """Row numbers of the parts of so many rows, and the digest of the data."""
    file = run.path / "split.safetensors"
    found = _named(run.tree(file.name), ("train", "validation", "test", "data"), file)
    found |= {name: _positions(found[name], rows, name, file) for name in ("train", "validation", "test")}
    if not len(found["train"]):
        raise _wrong(file, "train is empty")
    return found


def answers(run: Run, rows: int = 2**53) -> dict[str, Any]:
    """The tested rows, with targets and predictions where the model gives some; what is not there is None."""
    file = run.path / "test.safetensors"
    found: dict[str, Any] = dict.fromkeys(("y", "predicted", "p", "classes", "low", "high", "lengths"))
    found |= _named(run.tree(file.name), ("rows",), file)
    found["rows"], n = _positions(found["rows"], rows, "rows", file), len(found["rows"])
    if found["predicted"] is None:
        return found
    if found["lengths"] is not None:  # of sequences: there is a target for each step
        found["lengths"] = _positions(found["lengths"], 2**31, "lengths", file)
        if len(found["lengths"]) != n or not found["lengths"].all():
            raise _wrong(file, f"lengths does not hold the steps of {n} rows")
        n = int(found["lengths"].sum())
    if found["classes"] is not None:
        found["classes"] = _shaped(found["classes"], Annotated[list[str], MinLen(1)], file)
    for name in ("y", "predicted"):
        found[name] = _targets(found[name], n, found["classes"], name, file)
    if found["y"].shape != found["predicted"].shape:
        raise _wrong(file, "y and predicted differ in shape")
    shapes: dict[str, Any] = dict.fromkeys(("lead", "origin", "time", "series"), (n,))
    shapes |= dict.fromkeys(("low", "high", "naive", "scale"), found["y"].shape)
    shapes["p"] = n, len(found["classes"] or ())
    given = {name: found.get(name) for name in shapes}
    return found | {k: None if v is None else _numbers(v, shapes[k], k, file) for k, v in given.items()}


def _targets(values: Any, n: int, classes: list[str] | None, name: str, file: Path) -> np.ndarray:
    """Numbers, names of classes, or maps of positions in the classes, for n rows."""
    import numpy as np

    found = np.asarray(values)
    if classes is None:
        return _numbers(found, (n, *found.shape[1:2]), name, file)
    if found.ndim == 3:
        return _positions(found.ravel(), len(classes), name, file).reshape(found.shape)
    if found.shape != (n,) or found.dtype.kind != "U":
        raise _wrong(file, f"{name} does not hold a class for each of {n} rows")
    return found


def _numbers(values: Any, shape: tuple[int, ...], name: str, file: Path) -> np.ndarray:
    import numpy as np

    found = np.asarray(values)
    if found.shape != shape or found.dtype.kind not in "iuf" or not np.isfinite(found).all():
        raise _wrong(file, f"{name} does not hold finite numbers of the shape {shape}")
    return found


def _positions(values: Any, n: int, name: str, file: Path) -> np.ndarray:
    """Integers from 0 to n - 1 in one axis."""
    import numpy as np

    found = np.asarray(values)
    if found.ndim != 1 or (len(found) and (found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= n)):
        raise _wrong(file, f"{name} does not hold row numbers from 0 to {n - 1}")
    return found.astype(np.int64)


def _named(tree: Any, names: tuple[str, ...], file: Path) -> dict[str, Any]:
    missing = [name for name in names if not isinstance(tree, dict) or name not in tree]
    if missing:
        raise _wrong(file, f"{missing[0]} is missing")
    return dict(tree)
