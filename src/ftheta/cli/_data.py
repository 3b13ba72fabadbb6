"""Data on the command line: a name or a CSV file, its task, and its parts."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import data as room
from ..catalog import nearest
from ..draw import Draw
from ..errors import FileFormatError, InputError
from ._config import Config

__all__ = ["Parts", "digest", "open_data", "split", "task_of"]


def open_data(name: str, target: str) -> room.Dataset:
    """A data set by its name, or a CSV file with its target column; `./digits` is a file of that name."""
    if name in room.names():
        if target:
            raise InputError(f"--target {target}: the data set {name!r} has its own target; leave --target out.")
        return room.load(name)
    if not Path(name).exists():
        raise InputError(f"{nearest('data set or file', name, room.names())} A file needs its path, e.g. my.csv.")
    try:
        return room.read_csv(name, target)
    except FileFormatError as error:
        question = "which column is to be predicted? Say --target COLUMN."
        raise FileFormatError(str(error).replace("Unknown target column ''.", question)) from None


def digest(dataset: room.Dataset, rows: Any = slice(None)) -> str:
    """SHA-256 of the names of the columns, and of features and targets of these rows."""
    x, y = dataset.x.to_numpy()[rows], np.asarray(dataset.y)[rows]
    names = repr(dataset.feature_names).encode()
    return sha256(b"".join([names, np.ascontiguousarray(x).tobytes(), np.ascontiguousarray(y).tobytes()])).hexdigest()


def task_of(dataset: room.Dataset, asked: str) -> str:
    """classify or regress: as asked, else by the target; a target that cannot be that is refused."""
    task = asked or ("regress" if dataset.task == "regression" else "classify")
    y = np.asarray(dataset.y)
    numbers = y.dtype.kind in "iuf"
    if task == "regress" and not numbers:
        raise InputError(f"{dataset.name}: the target holds text ({str(y[0])!r}); --task regress needs numbers.")
    if task == "classify" and (y == y[0]).all():
        raise InputError(
            f"{dataset.name}: the target has 1 class only ({str(y[0])!r}, {len(y)} rows); at least 2 are needed. "
            "Check --target and the rows."
        )
    if task == "classify" and numbers and (y != np.round(y)).any():
        first = y[np.argmax(y != np.round(y))]
        raise InputError(f"{dataset.name}: the target holds {first:g}, which is no class. Say --task regress.")
    return task


class Parts(NamedTuple):
    """Row numbers of the three parts; a part that was not asked for is empty."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def split(config: Config, dataset: room.Dataset, task: str) -> Parts:
    """The test part is set aside before anything is learned; then the validation part of the rest."""
    y = dataset.y if task == "classify" else None
    rest, test = _aside(np.arange(len(dataset.x)), "test", config, y)
    train, validation = _aside(rest, "validation", config, y)
    return Parts(train, validation, test)


def _aside(rows: np.ndarray, part: str, config: Config, y: Any) -> tuple[np.ndarray, np.ndarray]:
    share, draw = getattr(config, part), Draw(config.seed).at(part)
    if not share:
        return rows, rows[:0]
    labels = None if y is None else np.asarray(y)[rows]
    try:
        kept, aside = room.holdout(len(rows), share, draw, split="random" if y is None else "stratified", y=labels)
    except InputError as error:
        said = str(error).partition(". ")[0].rstrip(".")
        raise InputError(f"--{part} {share:g}: {said}. Give more rows, or say --{part} 0.") from None
    return rows[kept], rows[aside]
