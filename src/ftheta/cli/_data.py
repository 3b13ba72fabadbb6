"""Data on the command line: a name or a file, its task, and its parts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from hashlib import sha256
from os.path import commonpath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import data as room
from ..catalog import Card, card, nearest
from ..data.picture_files import ADVICE, Listing
from ..draw import Draw
from ..errors import FileFormatError, InputError
from ..models._first_try import validation_share
from ._config import Config
from ._show import echo

__all__ = ["ALONE", "Parts", "digest", "encoder_for", "open_data", "rows_of", "sound", "split", "task_of"]

ALONE = ("store", "density")  # tasks of models that learn from rows without targets
TABLES = ("table", "image")  # kinds of data whose rows are vectors
LARGE = 64  # pixels of the longer side of pictures, where --size says nothing
TRIED = 2000  # pictures, evenly spaced, that are decoded before a run is made


def open_data(config: Config) -> room.Dataset:
    """A data set by its name, or a file with its target; a test file's rows are its last ones."""
    found = _pictures(config) or _named(config.data, config.target) or _from_file(config)
    if isinstance(config.test, str):
        found = _joined(found, _test_pictures(config, found) or _test_file(config, found.form))
    return _grouped(found, config.group) if config.group else found


def _pictures(config: Config) -> room.Dataset | None:
    """A folder of pictures that stay there until they are needed, for models of images; others get all pixels."""
    path = Path(config.data)
    wanted = path.is_dir() and config.data not in room.names() and card(config.model).input == "image"
    for flag in () if wanted else ("size", "skip_bad"):
        if getattr(config, flag):
            raise InputError(
                f"--{flag.replace('_', '-')} is for a folder of pictures and a model of images, e.g. convnet."
            )
    if not wanted:
        return None
    _refuse_target(config)
    size = None if not config.size else (config.size, config.size)
    found = room.open_images(path, size=size, skip_bad=config.skip_bad, say=_say)
    if not config.size and max(found.shape[:2]) > LARGE:
        found = room.open_images(path, size=_smaller(found.shape), skip_bad=config.skip_bad, say=_say)
    return sound(found)


def _test_pictures(config: Config, train: room.Dataset) -> room.Dataset | None:
    """A folder with pictures for the test, brought to the size and the colours of those that are learned from."""
    path = Path(str(config.test))
    if not isinstance(train.x, room.Pictures) or not path.is_dir():
        return None
    _, channels, height, width = train.x.shape
    knobs: dict[str, Any] = {"channels": channels, "skip_bad": config.skip_bad, "say": _say}
    return sound(room.open_images(path, size=(height, width), **knobs))


def sound(found: room.Dataset) -> room.Dataset:
    """Without damaged pictures where these are skipped; else some are decoded, and a damaged one is an error."""
    x = found.x
    if not x.skip_bad:
        x[:: -(-len(x) // TRIED)].usable()
        if x.bad:
            raise FileFormatError(f"{next(iter(x.bad.values()))} {ADVICE}")
        return found
    good = x.usable()
    if not len(good):
        raise FileFormatError(f"{x.listing.root}: none of the {len(x)} pictures can be decoded. Check the folder.")
    left, y = len(x) - len(good), None if found.y is None else np.asarray(found.y)[good]
    said = (f"left out as damaged: {left} files, e.g. {[*x.bad.values()][-1]}",) if left else ()
    names = () if y is None else tuple(map(str, np.unique(y)))
    return replace(found, x=x[good], y=y, target_names=names, notes=(*found.notes, *said))


def _smaller(shape: tuple[int, ...]) -> tuple[int, int]:
    """The size at which the longer side is as long as a first try allows."""
    factor = LARGE / max(shape[:2])
    return max(1, round(shape[0] * factor)), max(1, round(shape[1] * factor))


def _say(text: str) -> None:
    echo(text, err=True)


def _named(name: str, target: str) -> room.Dataset | None:
    if name not in room.names():
        return None
    if target:
        raise InputError(f"--target {target}: the data set {name!r} has its own target; leave --target out.")
    return room.load(name)


def _refuse_target(config: Config) -> None:
    if config.target:
        raise InputError(
            f"--target {config.target}: the classes of {config.data} are the names of its folders; leave --target out."
        )


def _from_file(config: Config) -> room.Dataset:
    if not Path(config.data).exists():
        known = nearest("data set or file", config.data, room.names())
        raise InputError(f"{known} A file needs its path, e.g. my.csv.")
    return _file(config.data, config.target, config.encoding, required=not _alone(config))


def _test_file(config: Config, form: Any) -> room.Dataset:
    if not Path(str(config.test)).exists():
        raise InputError(f"--test {config.test}: expected a share such as 0.2, none, or a file; there is no such file.")
    return _file(str(config.test), config.target, config.encoding, form, required=not _alone(config))


def _alone(config: Config) -> bool:
    return bool(config.model) and not card(config.model).targets.keys().isdisjoint(ALONE)


def _file(name: str, target: str, encoding: str, form: Any = None, *, required: bool = True) -> room.Dataset:
    path = Path(name)
    table = room.kind_of(path) == "characters"
    found = None
    if target or not table or not required:
        found = room.read(path, target or None, required=required or bool(target), encoding=encoding, form=form)
    if found is None or (required and found.y is None and found.kind in TABLES):
        known = f" Its columns: {', '.join(_columns(path, encoding))}." if table else ""
        raise FileFormatError(f"{path}: which column is to be predicted? Say --target COLUMN.{known}")
    return found


def _columns(path: Path, encoding: str) -> list[str]:
    names = room.read_csv(path, encoding=encoding).feature_names
    return [*names[:12], *(["..."] if len(names) > 12 else [])]


def _joined(train: room.Dataset, test: room.Dataset) -> room.Dataset:
    """Rows to learn from, then those of a test file with the same columns."""
    if isinstance(train.x, room.Pictures) != isinstance(test.x, room.Pictures):
        raise InputError(f"--test {test.name}: {train.name} is a folder of pictures; give a folder like it.")
    if train.kind != test.kind or set(train.feature_names) != set(test.feature_names):
        differing = sorted(set(train.feature_names) ^ set(test.feature_names))
        what = f"columns {', '.join(differing[:5])}" if differing else f"kinds, {train.kind} and {test.kind}"
        raise InputError(f"--test {test.name}: the files differ in {what}. Give files with the same columns.")
    if train.kind == "table":
        import pandas as pd

        columns = {name: room.alike(test.x[name], column) for name, column in train.x.items()}
        x: Any = pd.concat([train.x, pd.DataFrame(columns)], ignore_index=True)
        levels = [name for name, column in train.x.items() if column.dtype == "category"]
        x = x.astype(dict.fromkeys(levels, "category"))
    elif isinstance(train.x, room.Pictures):
        x = _one_listing(train.x, test.x)
    else:
        x = np.concatenate([train.x, test.x])
    y = None if train.y is None else np.concatenate([np.asarray(train.y), np.asarray(test.y)])
    return replace(train, x=x, y=y, official=len(test.x), notes=train.notes + test.notes)


def _one_listing(*parts: room.Pictures) -> room.Pictures:
    """The pictures of folders as those of the folder that holds them all."""
    root = Path(commonpath([part.listing.root for part in parts]))
    names = [path.relative_to(root).as_posix() for part in parts for path in part.paths]
    sizes = np.concatenate([part.listing.sizes[part.index] for part in parts])
    times = np.concatenate([part.listing.times[part.index] for part in parts])
    _, channels, *size = parts[0].shape
    listing, skip_bad = Listing(root, names, sizes, times), parts[0].skip_bad
    return room.Pictures(listing, np.arange(len(names)), (size[0], size[1]), channels, skip_bad=skip_bad)


def rows_of(x: Any, index: Any) -> Any:
    """Some rows of a frame or an array."""
    return x.iloc[index] if hasattr(x, "iloc") else x[index]


def digest(dataset: room.Dataset, rows: Any = slice(None)) -> str:
    """SHA-256 of the names of the columns, and of features and targets of these rows."""
    x: Any = rows_of(dataset.x, rows)
    if isinstance(x, room.Pictures):
        x = np.frombuffer(x.digest().encode(), np.uint8)
    y = np.zeros(0) if dataset.y is None else np.asarray(dataset.y)[rows]
    if hasattr(x, "iloc"):
        from pandas.util import hash_pandas_object

        x = np.asarray(hash_pandas_object(x, index=False))  # pyright: ignore[reportCallIssue]
    y = y.astype(str) if y.dtype == object else y
    names = repr(dataset.feature_names).encode()
    return sha256(b"".join([names, np.ascontiguousarray(x).tobytes(), np.ascontiguousarray(y).tobytes()])).hexdigest()


def task_of(dataset: room.Dataset, asked: str, tasks: Collection[str] = ()) -> str:
    """classify, regress or segment: as asked, else by the target; data or a target that cannot be that is refused.

    A model whose `tasks` need no target has its own.
    """
    if dataset.kind not in TABLES:
        raise InputError(
            f"{dataset.name} is {dataset.kind}, not rows of a table or pictures, which is what the models learn from. "
            f"`ftheta data show {dataset.name}` shows it."
        )
    alone = [task for task in tasks if task in ALONE]
    if alone:
        if asked:
            raise InputError(f"--task {asked}: this model learns from rows alone and predicts nothing. Leave it out.")
        return alone[0]
    if dataset.task == "segment":
        if asked:
            raise InputError(f"--task {asked}: {dataset.name} has a class for every pixel. Leave --task out.")
        return "segment"
    task = asked or ("regress" if dataset.task == "regression" else "classify")
    y = np.asarray(dataset.y)
    numbers = y.dtype.kind in "iuf"
    if task == "regress" and not numbers:
        raise InputError(f"{dataset.name}: the target holds text ({str(y[0])!r}); --task regress needs numbers.")
    if task == "classify" and (y == y[0]).all():
        check = "folders: each class is one" if isinstance(dataset.x, room.Pictures) else "--target and the rows"
        raise InputError(
            f"{dataset.name}: the target has 1 class only ({str(y[0])!r}, {len(y)} rows); at least 2 are needed. "
            f"Check {check}."
        )
    if task == "classify" and numbers and (y != np.round(y)).any():
        first = y[np.argmax(y != np.round(y))]
        raise InputError(f"{dataset.name}: the target holds {first:g}, which is no class. Say --task regress.")
    return task


def encoder_for(
    dataset: room.Dataset, estimator: Any, card: Card
) -> room.TableEncoder | room.PixelEncoder | room.ImageEncoder | room.RangeEncoder:
    """The encoder of this kind of data, in the numbers that the estimator computes with."""
    dtype: Any = getattr(estimator, "dtype", "float64")
    if card.support in ("unit", "sign", "bit") and getattr(estimator, "visible", "") != "gaussian":
        return room.RangeEncoder(dtype, card.support, bool(dataset.shape) or not hasattr(dataset.x, "iloc"))
    if card.input == "image":
        if not dataset.shape:
            raise InputError(
                f"{dataset.name} is a table, and {type(estimator).__name__} learns from images. Give a folder of "
                "pictures or a data set of images, e.g. mnist, or use another model, e.g. mlp."
            )
        return room.ImageEncoder(dtype, dataset.shape)
    return room.TableEncoder(dtype) if hasattr(dataset.x, "iloc") else room.PixelEncoder(dtype)


class Parts(NamedTuple):
    """Row numbers of the three parts; a part that was not asked for is empty."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def split(config: Config, dataset: room.Dataset, task: str) -> Parts:
    """The test part is set aside before anything is learned; then the validation part of the rest."""
    rows = np.arange(len(dataset.x))
    if task == "segment" and config.split == "stratified":
        raise InputError(f"--split stratified: {dataset.name} has a class for every pixel, not one a row. Use random.")
    how = config.split or ("stratified" if task == "classify" and not config.group else "random")
    y = np.asarray(dataset.y) if how == "stratified" else None
    y = y.astype(str) if y is not None and task == "classify" else y  # many whole numbers are still classes
    groups = dataset.groups
    official = dataset.official if config.test == Config.test or isinstance(config.test, str) else 0
    if official:
        rest, test = rows[:-official], rows[-official:]
    else:
        rest, test = _aside(rows, "test", config, how, y, groups)
    train, validation = _aside(rest, "validation", _settled(config, task, len(rest)), how, y, groups)
    return Parts(train, validation, test)


def _settled(config: Config, task: str, rows: int) -> Config:
    auto = config.validation == "auto"
    return replace(config, validation=validation_share(task, rows)) if auto else config


def _grouped(dataset: room.Dataset, group: str) -> room.Dataset:
    """Rows with the names of their groups; a name that says which row it is, is nothing to learn from."""
    if dataset.kind != "table" or group not in dataset.feature_names:
        raise InputError(f"--group: {nearest('column', group, dataset.feature_names)}")
    return replace(
        dataset,
        x=dataset.x.drop(columns=group),
        feature_names=tuple(name for name in dataset.feature_names if name != group),
        groups=dataset.x[group].astype(str).to_numpy(),
        notes=(*dataset.notes, f"column {group!r} keeps rows together and is not learned from"),
    )


def _aside(rows: np.ndarray, part: str, config: Config, how: str, y: Any, groups: Any) -> tuple[np.ndarray, np.ndarray]:
    share, draw = getattr(config, part), Draw(config.seed).at(part)
    if not share:
        return rows, rows[:0]
    labels, names = (None if v is None else v[rows] for v in (y, groups))
    try:
        kept, aside = room.holdout(len(rows), share, draw, split=how, y=labels, groups=names)
    except InputError as error:
        said = str(error).partition(". ")[0].rstrip(".")
        raise InputError(f"--{part} {share:g}: {said}. Give more rows, or say --{part} 0.") from None
    return rows[kept], rows[aside]
