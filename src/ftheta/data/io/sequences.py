"""Sequences from files: a long table, a folder with one table for each, or an NPZ file of values and lengths.

rows with equal names, in order of time     ->  one sequence of T_i steps
targets that agree within each sequence     ->  y (n,);      else a list of n arrays (T_i,), a class for each step

visits/, a CSV file for each sequence; its folders are the classes, or targets.csv names the files and their targets
values (N, D) or (N,), lengths (n,) with Σ T_i = N, and y (n,) or (N,)
"""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...catalog import nearest
from ...errors import FileFormatError
from ..datasets import Dataset
from .csv import read_frame
from .dataset import CsvFormat, as_dataset
from .files import tables_in

TARGETS = "targets.csv"
NAME, CLASS = "(sequence)", "class"  # columns of the long table of a folder


def gathered(data: Dataset, names: Any, times: Any = None, *, each_step: bool = False) -> Dataset:
    """Rows of a table as sequences, in the order in which their names come first.

    Args:
        data: The table.
        names: Of the sequence of each row.
        times: What orders the rows of a sequence; None: they are in order.
        each_step: Whether every step has a target although they agree within each sequence.
    """
    codes, found = pd.factorize(np.asarray(names))
    order = np.argsort(codes, kind="stable") if times is None else np.lexsort((np.asarray(times), codes))
    ends = np.cumsum(np.bincount(codes))[:-1]
    frame = data.x.iloc[order].reset_index(drop=True)
    x = [frame.iloc[a:b] for a, b in pairwise([0, *ends.tolist(), len(frame)])]
    made: dict[str, Any] = {"x": x, "kind": "sequence", "groups": None, "row_names": np.asarray(found)}
    if data.y is None:
        return replace(data, **made)
    y = np.split(np.asarray(data.y)[order], ends)
    if not each_step and all((part == part[0]).all() for part in y):
        return replace(data, **made, y=np.array([part[0] for part in y]))
    if data.task == "regression":
        i = next((i for i, part in enumerate(y) if (part != part[0]).any()), 0)
        both = f"sequence {str(found[i])!r} has the targets {y[i].min():g} and {y[i].max():g}"
        advice = "Give each sequence one number, or a class for each step."
        raise FileFormatError(f"{data.name}: {both}; numbers are learned of whole sequences. {advice}")
    return replace(data, **made, y=y, task="tag")


def read_sequences(
    folder: str | Path,
    target: str | None = None,
    *,
    required: bool = True,
    encoding: str = "utf-8",
    csv_format: CsvFormat | None = None,
) -> Dataset:
    """A folder with one CSV file for each sequence; arguments as in `read`."""
    folder = Path(folder)
    files = [file for file in tables_in(folder) if file != folder / TARGETS]
    frames: list[pd.DataFrame] = []
    for file in files:
        frame, form = read_frame(file, target, encoding=encoding, csv_format=csv_format)
        csv_format, first = csv_format or form, frames[0] if frames else frame
        if missing := [str(name) for name in first if name not in frame]:
            raise FileFormatError(f"{file}: column {missing[0]!r} of {files[0].name} is missing. Add it.")
        frames.append(frame.loc[:, first.columns])
    names = [file.relative_to(folder).with_suffix("").as_posix() for file in files]
    column, values = _targets(folder, files, names, target, encoding)
    frames = [frame.assign(**{NAME: n}) for frame, n in zip(frames, names, strict=True)]
    if column:
        frames = [frame.assign(**{column: value}) for frame, value in zip(frames, values, strict=True)]
    form = csv_format or CsvFormat()
    form = form._replace(text=(*form.text, NAME))  # 01 is a name
    data = as_dataset(
        folder, pd.concat(frames, ignore_index=True), column or target, required=required, csv_format=form
    )
    features = tuple(name for name in data.feature_names if name != NAME)
    return gathered(replace(data, x=data.x.drop(columns=NAME), feature_names=features), data.x[NAME].astype(str))


def _targets(
    folder: Path, files: list[Path], names: list[str], target: str | None, encoding: str
) -> tuple[str, list[Any]]:
    """The target of each file and its name: its folder, or a cell of the table of targets; none of either."""
    inside = [file.parent != folder for file in files]
    if not (folder / TARGETS).is_file():
        return (CLASS, [file.parent.name for file in files]) if all(inside) and target is None else ("", [])
    table, _ = read_frame(folder / TARGETS, target, encoding=encoding)
    first, *others = map(str, table)
    column = target or (others[0] if len(others) == 1 else "")
    if column not in others:
        raise FileFormatError(f"{folder / TARGETS}: {nearest('target column', column, others)}")
    cells = dict(zip(table[first].convert_dtypes().astype(str), table[column], strict=True))
    known = {cell.removesuffix(".csv").removesuffix(".tsv"): value for cell, value in cells.items()}
    for name, file in zip(names, files, strict=True):
        if name not in known:
            what = f"column {first!r} has no {name!r}, which is {file.name}. Add it."
            raise FileFormatError(f"{folder / TARGETS}: {what}")
    return column, [known[name] for name in names]


def from_arrays(path: Path, x: np.ndarray, lengths: np.ndarray, y: Any, *, required: bool, notes: Any) -> Dataset:
    """Values of all sequences one after the other, their lengths, and targets."""
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or not len(lengths) or lengths.min() < 1:
        raise FileFormatError(f"{path}: lengths are {lengths.dtype} {lengths.shape}; one integer >= 1 each is needed.")
    x = x[:, None] if x.ndim == 1 else x
    if x.ndim != 2 or x.dtype.kind not in "biufU" or len(x) != lengths.sum():
        sizes = f"values of shape {x.shape}, type {x.dtype}, and lengths with the sum {lengths.sum()}"
        raise FileFormatError(f"{path}: {sizes}. They must have one row for each step of all sequences.")
    if y is not None and y.shape not in ((len(lengths),), (len(x),)):
        sizes = f"{len(lengths)} sequences of {len(x)} steps together"
        raise FileFormatError(f"{path}: targets of shape {y.shape} for {sizes}. Give one for each, or for each step.")
    frame = pd.DataFrame({f"x{j}": x[:, j] for j in range(x.shape[1])})
    if y is not None:
        frame["y"] = np.repeat(y, lengths) if len(y) == len(lengths) else y
    data = as_dataset(path, frame, None if y is None else "y", required=required, typed=True, notes=notes)
    return gathered(data, np.repeat(np.arange(len(lengths)), lengths))
