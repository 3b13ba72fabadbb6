"""Data by name, file or folder: to learn from, and to predict or evaluate."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import data as _data
from ..catalog import Card, nearest
from ..data import Dataset
from ..data.encode.columns import is_identifier
from ..data.io.pictures import ADVICE
from ..data.kinds import KINDS, Images, Kind, Sequences
from ..errors import FileFormatError, InputError
from ..tasks import TASKS, Task, task_name, tasks_of
from .config import Config

IMAGES = "images"  # the format of a folder of them
MAX_SIDE = 64  # pixels of the longer side of images, where --size is not given
DECODED = 2000  # images, evenly spaced, that are decoded before a run is made

Say = Callable[[str], object]


def open_data(config: Config, card: Card, say: Say = lambda text: None) -> Dataset:
    """A data set by its name, or a file with its target, for a model."""
    asked = asked_task(config, card)  # X alone may hold the targets
    holds = all(KINDS[kind].has_targets for kind, task in card.targets if task == asked or not asked)
    found = _folder(config, card, say) or _named(config.data, config.target) or _file(config, card, holds)
    if holds:  # a series is put in order, and its columns are told apart, by its kind
        return found
    tasks, asked = {task for kind, task in card.targets if kind == Sequences.name}, task_name(config.task)
    if config.group and tasks and asked in ("", *tasks) and "horizon" not in config.params:  # else groups are series
        return _sequences(found, config, each_step=TASKS.get(asked, Task).each_step)
    found = _ordered(found, config)
    return _grouped(found, config) if config.group else found


def described_data(name: str, target: str | None, say: Say, **layout: Any) -> Dataset:
    """A data set, file or folder to look at, without a model; `layout` as in `data.read`."""
    if (found := _named(name, target or "")) is not None:
        return found
    _refuse_missing(name)
    if Path(name).is_dir() and _data.format_of(Path(name)) == IMAGES:
        _refuse_target(name, target)
        return _data.open_images(name, skip_bad=True, say=say)
    return _data.read(name, target, **_given(layout))


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def asked_task(config: Config, card: Card, kind: str = "") -> str:
    """The task that a name requests, or a setting that only it has, or data whose kind is for it alone; else empty."""
    own = tasks_of(card)
    if config.task:
        return task_name(config.task)
    for task in TASKS.values():
        asking = config.given.intersection(task.asked_by)
        if asking and not any(asking.intersection(t.asked_by) for t in own.values()):
            option = min(asking).replace("_", "-")
            raise InputError(f"--{option}: {card.name} gives no {task.title}. `ftheta models` lists those that do.")
    if len(own) == 1:
        return next(iter(own)) if all(KINDS[k].has_targets for k in card.kinds) else ""
    named = [name for name, task in own.items() if config.given.intersection(task.asked_by)]
    of_kind = [name for k, name in card.targets if k == kind]
    return next(iter([*named, *(of_kind if len(of_kind) == 1 else [])]), "")


def _named(name: str, target: str) -> Dataset | None:
    if name not in _data.names():
        return None
    if target:
        raise InputError(f"--target {target}: the data set {name!r} has its own target; leave --target out.")
    return _data.load(name)


def _refuse_missing(name: str) -> None:
    if Path(name).exists():
        return
    if Path(name).suffix or Path(name).name != name:
        raise InputError(f"{name}: there is no such file or folder. Check the path; it is looked for in {Path.cwd()}.")
    files = [path.name for path in Path().iterdir() if path.is_file() and not path.name.startswith(".")]
    close = get_close_matches(name, [*_data.names(), *files, *(Path(file).stem for file in files)], n=2, cutoff=0.75)
    close = [next((file for file in files if Path(file).stem == found), found) for found in close]
    hint = f" Did you mean {' or '.join(map(repr, dict.fromkeys(close)))}?" if close else ""
    how = "`ftheta data` lists the data sets; a file needs its path, e.g. my.csv."
    raise InputError(f"{name}: there is no data set and no file of this name in {Path.cwd()}.{hint} {how}")


def _refuse_target(folder: str, target: str | None) -> None:
    if target:
        raise InputError(f"--target {target}: the classes of {folder} are the names of its folders; leave it out.")


def _folder(config: Config, card: Card, say: Say) -> Dataset | None:
    """A folder of images that are decoded when they are needed, for models that take images."""
    path = Path(config.data)
    wanted = path.is_dir() and config.data not in _data.names() and Images.name in card.kinds
    wanted = wanted and _data.format_of(path) == IMAGES
    if not wanted:
        if config.size or config.skip_bad:
            name = "size" if config.size else "skip-bad"
            raise InputError(f"--{name} is for a folder of images and a model of images, e.g. convnet.")
        return None
    _refuse_target(config.data, config.target)
    size = (config.size, config.size) if config.size else None
    found = _data.open_images(path, size=size, max_side=MAX_SIDE, skip_bad=config.skip_bad, say=say)
    _refuse_damaged(found)
    return found


def _refuse_damaged(found: Dataset) -> None:
    """Some images are decoded, and a damaged one is an error; where those are left out, all have been decoded."""
    x = found.x
    if not x.skip_bad:
        x[:: -(-len(x) // DECODED)].usable()
        if x.bad:
            raise FileFormatError(f"{next(iter(x.bad.values()))} {ADVICE}")


def _file(config: Config, card: Card, holds_targets: bool) -> Dataset:
    """A file; where the model learns from a target, there must be one."""
    _refuse_missing(config.data)
    if holds_targets:
        return _data.read(Path(config.data), None, required=False, **config.layout)
    path, needs_y = Path(config.data), all(task.needs_y for task in tasks_of(card).values())
    required = bool(config.target) or (
        needs_y and _data.format_of(path, config.sheet) not in ("csv", "json", "excel", "parquet")
    )
    found = _data.read(path, config.target or None, required=required, **config.layout)
    if needs_y and found.y is None and found.feature_names and KINDS[found.kind].merge:
        names = [*found.feature_names[:12], *(["..."] if len(found.feature_names) > 12 else [])]
        raise FileFormatError(f"{path}: which column is predicted? Use --target COLUMN. It has {', '.join(names)}.")
    return found


def _ordered(dataset: Dataset, config: Config) -> Dataset:
    """Rows by their time; without --time-column, a chronological split takes the only column of dates."""
    name, x = config.time_column, dataset.x
    if not name and config.split == "chronological" and hasattr(x, "select_dtypes"):
        dates = list(x.select_dtypes("datetime").columns)
        name = str(dates[0]) if len(dates) == 1 else ""
    if not name:
        return dataset
    _need("--time-column", name, dataset, {config.target, config.group})
    order = np.argsort(np.asarray(x[name]), kind="stable")
    y = None if dataset.y is None else np.asarray(dataset.y)[order]
    note = () if (np.diff(order) == 1).all() else (f"rows are in the order of {name!r}",)
    return replace(dataset, x=x.iloc[order].reset_index(drop=True), y=y, notes=(*dataset.notes, *note))


def _need(option: str, name: str, dataset: Dataset, used: set[str]) -> None:
    """Refuse an option that names none of the columns; those that are used for something else are not proposed."""
    if hasattr(dataset.x, "columns") and name in dataset.x.columns:
        return
    if name and name in used:
        raise InputError(f"{option} {name}: the column is used for something else already. Name another column.")
    raise InputError(f"{option}: {nearest('column', name, [n for n in dataset.feature_names if n not in used])}")


def _sequences(dataset: Dataset, config: Config, *, each_step: bool) -> Dataset:
    """A table as sequences: rows with equal cells of --group, in the order of --time-column; without a group one."""
    if not (config.group or hasattr(dataset.x, "columns")):
        return dataset  # of a folder or of arrays
    own = {"--group": config.group, "--time-column": config.time_column}
    names = [name for name in own.values() if name]
    for option, name in own.items():
        if name:
            _need(option, name, dataset, {config.target, *names} - {name})
    group, time = (dataset.x[name].convert_dtypes() if name else None for name in own.values())
    features = tuple(name for name in dataset.feature_names if name not in names)
    if not features:
        raise InputError(
            f"{dataset.name} has no column beside {', '.join(names)} and the target. Add what is learned from."
        )
    steps = replace(dataset, x=dataset.x.drop(columns=names), feature_names=features)
    labels = np.zeros(dataset.rows, int) if group is None else group.astype(str)
    return _data.gathered(steps, labels, time, each_step=each_step)


def _grouped(dataset: Dataset, config: Config) -> Dataset:
    """Rows with the names of their groups, which are not learned from."""
    group = config.group
    _need("--group", group, dataset, {config.target, config.time_column})
    return replace(
        dataset,
        x=dataset.x.drop(columns=group),
        feature_names=tuple(name for name in dataset.feature_names if name != group),
        groups=dataset.x[group].astype(str).to_numpy(),
        notes=(*dataset.notes, f"column {group!r} keeps rows together and is not learned from"),
    )


MIN_COUNTS = 4  # of fewer different integers, they are classes


def count_hint(dataset: Dataset, config: Config, *, classes: bool) -> list[str]:
    """How integers from 0 or 1 on were taken as a target, and how to choose, where the user has not."""
    chosen = config.task or "likelihood" in config.params or not config.target
    y = np.zeros(0) if chosen or isinstance(dataset.y, list) else np.asarray(dataset.y)
    n = len(np.unique(y)) if y.ndim == 1 and y.dtype.kind in "iu" else 0
    if n < MIN_COUNTS or y.min() not in (0, 1):
        return []
    numbers, counts = "--task regress", "of counts, a network also learns their rate: --set likelihood=poisson"
    taken = f"{n} classes; as numbers: {numbers} ({counts})" if classes else f"numbers; {counts}"
    return [f"the target {config.target!r} holds integers from {y.min()} to {y.max()} and was taken as {taken}"]


MIN_GROUPS = 5  # of fewer different cells, an identifier is a category


def hints(dataset: Dataset, config: Config, columns: Sequence[Mapping[str, str]]) -> list[str]:
    """What may make the test part too easy: rows at random where time, or one owner of several rows, joins them.

    Args:
        dataset: The data.
        config: The settings.
        columns: What the encoder does to each column.
    """
    x, dropped = dataset.x, {column["name"] for column in columns if column["kind"] == "dropped"}
    if (
        config.split == "chronological"
        or dataset.official
        or not KINDS[dataset.kind].merge
        or not hasattr(x, "columns")
    ):
        return []
    found = []
    dates = [] if config.split else [str(name) for name in x.select_dtypes("datetime")]
    if dates and not config.time_column:
        found.append(
            f"column {dates[0]!r} holds dates and rows are held out at random: to test on the latest rows, "
            f"use --split chronological --time-column {shlex.quote(dates[0])}"
        )
    for name in [] if config.group else filter(is_identifier, map(str, x.columns)):
        groups = x[name].nunique()
        if name not in dropped and MIN_GROUPS <= groups < x[name].count():
            found.append(
                f"column {name!r} looks like an identifier of {groups} groups of rows, which both the training and the "
                f"test part have: to test on groups that are new, use --group {shlex.quote(name)}"
            )
    return found


# ---- new rows for a trained model


class Rows(NamedTuple):
    """The rows of a file."""

    x: Any  # raw
    X: Any  # encoded
    y: Any  # targets
    names: dict[str, Any]  # of files
    notes: list[str]
    dataset: Dataset


class Reader(NamedTuple):
    """Reads files as the training data were read."""

    config: Config
    task: Task
    kind: type[Kind]  # as which the model takes the data
    encoder: Any
    csv_format: Any  # how the cells of training were written

    def read(self, file: Path | str, *, skip_bad: bool = False, required: bool = False, **layout: Any) -> Rows:
        """The rows of a file, an image or a folder of images as the model takes them.

        Args:
            file: The file or folder.
            skip_bad: Whether damaged images are left out.
            required: Whether there must be a target.
            layout: encoding, sheet and skip_rows; None: as in training.
        """
        path, encoder, required = Path(file), self.encoder, required and self.task.needs_y
        shape = getattr(encoder, "image_", ()) if issubclass(self.kind, Images) else ()
        if skip_bad and not (shape and path.is_dir()):
            raise InputError("--skip-bad is for a folder of images and a run that was trained on images.")
        names: dict[str, Any] = {}
        if shape and (path.is_dir() or _data.is_picture(path)):
            found, names["file"] = _new_images(path, shape, skip_bad)
        else:
            found = self._rows(path, bool(shape), required and not self.kind.has_targets, layout)
        if required and found.y is None and not self.kind.has_targets:
            target = f" {self.config.target!r}" if self.config.target else ""
            raise InputError(f"{path} has no target{target} to compare with. Give a file that has it.")
        if issubclass(self.kind, Sequences):
            found = _sequences(found, self.config, each_step=self.task.each_step)
            names[self.config.group or "sequence"] = found.row_names
        found = self.kind.convert(found, self.config.roles | {"train": required})
        x = found.x if encoder is None else encoder.align(found.x)
        notes = [*found.notes, *([] if encoder is None else encoder.new_row_notes(x))]
        return Rows(x, x if encoder is None else encoder.transform(x), found.y, names, notes, found)

    def _rows(self, path: Path, images: bool, required: bool, layout: dict[str, Any]) -> Dataset:
        if _data.is_picture(path):
            raise InputError(f"{path} is an image; the run was trained on rows of numbers. Give a file like its data.")
        target, own = self.config.target or None, self.config.layout
        target = None if self.kind.has_targets else target
        if path.suffix != Path(self.config.data).suffix:
            own = {"encoding": own["encoding"]}
        found = _data.read(path, target, required=required, csv_format=self.csv_format, **own | _given(layout))
        flat = getattr(found.x, "shape", ())[1:] == (getattr(self.encoder, "n_features_in_", None),)
        if images and found.kind != self.kind.name and not flat:
            raise InputError(f"{path} is a {found.kind}, and the run was trained on images. Give an image or a folder.")
        return found


def _new_images(file: Path, shape: tuple[int, int, int], skip_bad: bool) -> tuple[Dataset, list[str]]:
    """One image or a folder of them as (C, H, W), and the names of the files."""
    channels, height, width = shape
    if not file.is_dir():
        x, notes = _data.read_picture(file, (height, width), channels)
        about = tuple(f"{file.name}: {note}" for note in notes)
        return Dataset(file.name, x[None], None, (), (), "none", kind=Images.name, notes=about), [file.name]
    found = _data.open_images(file, size=(height, width), channels=channels, required=False, skip_bad=skip_bad)
    _refuse_damaged(found)
    return found, [str(path.relative_to(found.x.listing.root)) for path in found.x.paths]
