"""Data on the command line: a name or a CSV file, its task, and its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import data as room
from ..catalog import nearest
from ..draw import Draw
from ..errors import InputError
from ._config import Config

__all__ = ["Parts", "open_data", "split", "task_of"]


def open_data(name: str, target: str) -> room.Dataset:
    """A data set by its name, or a CSV file with its target column."""
    path = Path(name)
    if name in room.names() and not path.exists():
        if target:
            raise InputError(f"--target {target}: the data set {name!r} has its own target; leave --target out.")
        return room.load(name)
    if not path.exists():
        raise InputError(f"{nearest('data set or file', name, room.names())} A file needs its path, e.g. my.csv.")
    if not target:
        columns = ", ".join(map(repr, room.read_csv(path).feature_names[-8:]))
        raise InputError(f"{name}: which column is to be predicted? Say --target COLUMN; the last ones are {columns}.")
    return room.read_csv(path, target)


def task_of(dataset: room.Dataset, asked: str) -> str:
    """classify or regress: as asked, else by the target."""
    return asked or ("regress" if dataset.task == "regression" else "classify")


class Parts(NamedTuple):
    """Row numbers of the three parts; a part that was not asked for is empty."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def split(config: Config, dataset: room.Dataset, task: str) -> Parts:
    """The test part is set aside before anything is learned; then the validation part of the rest."""
    y: Any = dataset.y if task == "classify" else None
    rows, none = np.arange(len(dataset.x)), np.zeros(0, dtype=np.int64)
    rest, test = _aside(rows, config.test, y, Draw(config.seed).at("test")) if config.test else (rows, none)
    train, held = (
        _aside(rest, config.validation, y, Draw(config.seed).at("validation")) if config.validation else (rest, none)
    )
    return Parts(train, held, test)


def _aside(rows: np.ndarray, share: float, y: Any, draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    labels = None if y is None else np.asarray(y)[rows]
    kept, aside = room.holdout(len(rows), share, draw, split="random" if y is None else "stratified", y=labels)
    return rows[kept], rows[aside]
