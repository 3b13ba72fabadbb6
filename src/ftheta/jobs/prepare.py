"""Everything that is decided before training: data, task, split, estimator, encoder. Nothing is written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, replace
from functools import cached_property
from hashlib import sha256
from inspect import signature
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import catalog, check
from ..base import documented
from ..catalog import Card
from ..data import Dataset, TableEncoder, holdout, leaks
from ..data.kinds import KINDS, Kind
from ..draw import Draw
from ..errors import InputError
from ..results import Result
from ..tasks import TASKS, Task, tasks_of
from ..train import Training
from .config import Config, typed
from .opening import Reader, Rows, asked_task, count_hint, hints, open_data

ELSEWHERE = {"random_state": "--seed", "training": "--set training.NAME=VALUE", "validation": "--validation"}
EXPLAINED = 2000  # rows that explanations look at
IMAGES, NUMBERS = 64, 2**17  # of images at least so many, and more up to so many numbers
TEST = 0.2  # default share of the rows
OF_IMAGES = {"schedule": "cosine", "ema": 0.999}  # with the epochs that a family of nets for images chooses


class Split(NamedTuple):
    """Row numbers of the three parts, which may be empty."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


@dataclass(frozen=True, eq=False)
class Prepared:
    """A training that can start."""

    config: Config
    dataset: Dataset
    kind: type[Kind]  # as which the model takes the data
    task: Task
    split: Split
    estimator: Any
    encoder: Any
    learning_rates: Result | None = None  # of `--lr find`
    test_file: Rows | None = None  # of `--test FILE`

    @property
    def stepped(self) -> bool:
        """Whether it is trained in steps and kept in a run."""
        return "run" in signature(self.estimator.fit).parameters

    @property
    def validates(self) -> bool:
        """Whether validation rows are passed to it; else it learns from them too."""
        return watches(self.estimator, self.config, self.task, self.split)

    @cached_property
    def fitted(self) -> np.ndarray:
        """Rows that are learned from: without validation rows where the model can use those."""
        return fitted_rows(self.validates, self.split)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the data."""
        return digest(self.dataset)

    @cached_property
    def leaks(self) -> tuple[str, ...]:
        """What the test part shares with the rows that are learned from."""
        if not self.task.needs_y or isinstance(self.dataset.x, list) or self.kind.has_targets:
            return ()  # without answers nothing is known beforehand
        x = self.dataset.x
        x = x.reshape(len(x), -1) if isinstance(x, np.ndarray) else x
        return leaks(x, self.fitted, self.split.test, self.task.leak_target(self.dataset.y))

    @property
    def columns(self) -> list[dict[str, str]]:
        """What the encoder does to each column."""
        return [] if self.encoder is None else self.encoder.describe()

    def rows(self, index: np.ndarray) -> tuple[Any, Any]:
        """Encoded rows and their targets."""
        return encoded(self.kind, self.encoder, self.dataset, index)

    @cached_property
    def fit_arguments(self) -> dict[str, Any]:
        """What `fit` is called with."""
        watched = self.split.validation if self.validates else ()
        return fit_arguments(self.kind, self.encoder, self.dataset, self.fitted, watched)

    def headline(self) -> str:
        """What is trained on what."""
        test = 0 if self.test_file is None else len(self.test_file.x)
        sizes = {"training": len(self.fitted), "test": len(self.split.test) + test}
        sizes["validation"] = self.dataset.rows + test - sum(sizes.values())
        rows = ", ".join(f"{n} {name}" for name, n in sizes.items() if n)
        size = KINDS[self.dataset.kind].size(self.dataset)
        what = f"{self.config.model} ({self.task.name}) on {self.dataset.name}"
        return f"{what}: {rows} rows{f', {size}' if size else ''}"

    def notes(self) -> list[str]:
        """What a user should know before the result: columns left out, what reader and memory did."""
        dropped = [f"column {c['name']!r} {c['did']}" for c in self.columns if c["kind"] == "dropped"]
        rate = [f"--lr find: {self.learning_rates.table().caption}"] if self.learning_rates else []
        own = filter(None, [getattr(self.estimator, "note_", "")])  # of a memory: patterns that are there twice
        asked = [
            *count_hint(self.dataset, self.config, classes=self.task.stratify),
            *hints(self.dataset, self.config, self.columns),
        ]
        return [*self.dataset.notes, *dropped, *asked, *rate, *own]


def prepare(
    config: Config, say: Callable[[str], object] = lambda text: None, dataset: Dataset | None = None
) -> Prepared:
    """Decide what can be decided; what cannot be trained is refused in a sentence.

    Args:
        say: Hears what takes long.
        dataset: The data, where it is open already.
    """
    card = catalog.card(config.model)
    if not any(task.has_result for task in tasks_of(card).values()):
        name = next(iter(card.targets.values())).partition(":")[2]
        raise InputError(
            f"{card.name!r} transforms rows and predicts nothing, so there is no result to show. Use it in Python, "
            f"e.g. make_pipeline(ftheta.{name}(), ftheta.MLPClassifier())."
        )
    dataset = open_data(config, card, say) if dataset is None else dataset
    task = _task(card, dataset, asked_task(config, card, dataset.kind))
    kind = _kind(card, dataset, task)
    dataset = kind.convert(dataset, config.roles | {"train": True})
    task.check(dataset)
    split = _split(config, dataset, task)
    cls = catalog.resolve(card.name, kind.name, task.name)
    estimator = _estimator(cls, config, task, dataset, split, kind.settings(dataset, config.roles))
    found = Prepared(config, dataset, kind, task, split, estimator, kind.encoder(dataset, estimator))
    if task.needs_y and dataset.y is not None:
        task.check_split(dataset.name, *(targets(dataset.y, rows) for rows in (found.fitted, split.test)))
    if found.encoder is not None:
        if not found.validates and isinstance(found.encoder, TableEncoder):
            found.encoder.set_output(transform="pandas")  # coefficients have the names of their columns
        found.encoder.fit(kind.take(dataset.x, found.fitted))
    found = _with_test_file(found) if isinstance(config.test, str) else found
    return _with_rate(found) if config.params.get("lr") == "find" else found


def _task(card: Card, dataset: Dataset, asked: str) -> Task:
    """The user's choice, the model's only one, or by the target."""
    kinds = (dataset.kind, *KINDS[dataset.kind].also(dataset))
    here = {task for kind, task in card.targets if kind in kinds} or set(card.tasks)
    own = {name: task for name, task in tasks_of(card).items() if task.has_result and name in here}
    unsupervised = [task for task in own.values() if not task.needs_y]
    if asked and asked not in own:
        raise InputError(f"--task {asked}: {card.name} is for {', '.join(own)}. Leave --task out.")
    if unsupervised and not asked:
        return unsupervised[0]()
    fitting = [name for name, task in TASKS.items() if dataset.task in task.targets]
    for name in own:
        if name == asked or (not asked and name in fitting):
            return own[name]()
    for name in [] if asked else [name for name in fitting if name in card.tasks]:
        return tasks_of(card)[name]()  # of data of another kind: `_kind` says how to make it
    what = TASKS[fitting[0]].answers if fitting else ""
    wanted = {(kind, name) for kind in kinds for name in fitting}
    others = [other.name for other in reversed(catalog.CARDS.values()) if wanted & other.targets.keys()]
    target = f"The target of {dataset.name} is {what}, which {card.name} does not learn"
    target = target if fitting else f"{dataset.name} has no target, and {card.name} needs one"
    use = " or ".join(others[:4]) or "other data"
    raise InputError(f"{target}; it is for {', '.join(own)}. Use {use}.")


def _kind(card: Card, dataset: Dataset, task: Task) -> type[Kind]:
    """The data's own kind, or another that it can be taken as."""
    own = KINDS[dataset.kind]
    for name in (own.name, *own.also(dataset)):
        if (name, task.name) in card.targets:
            return KINDS[name]
    what, how = f"{own.name} ({dataset.rows:,} {own.unit})", [KINDS[kind].made_by for kind in card.kinds]
    takes = " ".join(filter(None, [f"{' or '.join(card.kinds)}.", *how]))
    raise InputError(
        f"{dataset.name} is a {what}, and {card.name} learns from data of the kind {takes} `ftheta models` lists what "
        f"each model takes; `ftheta data show {dataset.name}` shows the data."
    )


# ---- split


def split_by(config: Config, dataset: Dataset, task: Task) -> tuple[str, np.ndarray | None]:
    """How rows are held out, and the labels of a stratified split."""
    if config.split == "stratified" and task.needs_y and np.asarray(dataset.y).ndim > 1:
        raise InputError(f"--split stratified: {dataset.name} does not have one class per row. Use random.")
    alone = task.stratify and dataset.groups is None
    how = config.split or ("stratified" if alone else KINDS[dataset.kind].split)
    y = np.asarray(dataset.y) if how == "stratified" else None
    return how, y.astype(str) if y is not None and task.stratify else y  # many integers are still classes


def _split(config: Config, dataset: Dataset, task: Task) -> Split:
    """The test part is held out before anything is learned; then the validation part of the rest."""
    rows, own = np.arange(dataset.rows), KINDS[dataset.kind].split
    if own == "none":
        return Split(rows, rows[:0], rows[:0])
    how, y = split_by(config, dataset, task)

    def hold_out(rows: np.ndarray, part: str, share: float) -> tuple[np.ndarray, np.ndarray]:
        if not share:
            return rows, rows[:0]
        labels, groups = (None if v is None else v[rows] for v in (y, dataset.groups))
        try:
            kept, held = holdout(len(rows), share, Draw(config.seed).at(part), split=how, y=labels, groups=groups)
        except InputError as error:
            why = str(error).partition(". ")[0].rstrip(".")
            raise InputError(f"--{part} {share:g}: {why}. Give more rows, or use --{part} 0.") from None
        return rows[kept], rows[held]

    if dataset.official and config.test is None:
        rest, test = rows[: -dataset.official], rows[-dataset.official :]
    else:
        share = 0.0 if isinstance(config.test, str) else TEST if config.test is None else config.test
        rest, test = hold_out(rows, "test", share)
    share = task.validation_share(len(rest)) if config.validation == "auto" else config.validation
    share = 0.0 if KINDS[dataset.kind].has_targets else share  # the estimator holds them out
    return Split(*hold_out(rest, "validation", share), test)


# ---- estimator


def _estimator(
    cls: type[Any], config: Config, task: Task, dataset: Dataset, split: Split, columns: Mapping[str, Any]
) -> Any:
    """Defaults of the family < what columns are for < the user's settings."""
    where, known = f"model {config.model!r}", cls().get_params(deep=False)
    for name in ELSEWHERE.keys() & config.params.keys():
        raise InputError(f"{where}: {name}={config.params[name]!r} is not set here; use {ELSEWHERE[name]}.")
    given = {k: v for k, v in config.params.items() if (k, v) != ("lr", "find") or "lr" not in known}
    watched, own = len(split.validation) > 0 and watches(cls, config, task, split), getattr(cls, "first_try", None)
    if own is not None:
        params, training = own(len(split.train), watched=watched, shape=dataset.shape), OF_IMAGES
    else:
        labeled, rule = dataset.y is not None, given.get("optimizer")
        rows = len(split.train) + (0 if watched else len(split.validation))
        params, training = task.defaults(known, rows=rows, watched=watched, labeled=labeled, optimizer=rule)
    params = (
        params
        | {k: v for k, v in columns.items() if k in known}
        | _one_layer(given, known)
        | ({"random_state": config.seed} if "random_state" in known else {})
    )
    if "training" not in known:
        typed(cls, {f"training.{k}": v for k, v in config.training.items()}, where)
        return cls(**typed(cls, params, where))
    fields = {"progress": True, **cls.defaults, **training, **typed(Training, config.training, "training")}
    return cls(**typed(cls, params, where), training=Training(**fields))


def _one_layer(given: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """--hidden is the number of hidden units where a model has one layer of them, or layers of one size."""
    name = "n_hidden" if "n_hidden" in known else "hidden"
    if not isinstance(known.get(name), int) or not isinstance(given.get("hidden"), list | tuple):
        return given
    if len(given["hidden"]) != 1:
        raise InputError(f"--hidden {','.join(map(str, given['hidden']))}: this model takes one number; give one.")
    return {key: value for key, value in given.items() if key != "hidden"} | {name: given["hidden"][0]}


def _with_test_file(job: Prepared) -> Prepared:
    """With the rows of `--test FILE`; classes that only they have are refused before training."""
    file = str(job.config.test)
    if not Path(file).exists():
        raise InputError(f"--test {file}: expected a share such as 0.2, none, or a file; there is no such file.")
    reader = Reader(job.config, job.task, job.kind, job.encoder, job.dataset.csv_format)
    rows = reader.read(file, required=True)
    if job.task.needs_y:
        job.task.check_split(file, np.asarray(job.dataset.y)[job.fitted], rows.y)
    return replace(job, test_file=rows)


def _with_rate(job: Prepared) -> Prepared:
    """After the range test, whose suggestion becomes a setting like any other."""
    from ..explain import learning_rate

    found = learning_rate(job.estimator, job.fit_arguments["X"], job.fit_arguments["y"])
    job.estimator.set_params(lr=found.suggestion)
    config = replace(job.config, params={**job.config.params, "lr": found.suggestion})
    return replace(job, config=config, learning_rates=found)


# ---- rows


def watches(estimator: Any, config: Config, task: Task, split: Split) -> bool:
    """Whether an estimator is given validation rows; too few teach more than they tell, unless the user wants them."""
    enough = config.validation != "auto" or len(split.validation) >= task.least_watched
    return enough and "X_val" in signature(estimator.fit).parameters


def fitted_rows(validates: bool, split: Split) -> np.ndarray:
    """Rows that a model learns from."""
    return split.train if validates else np.sort(np.concatenate([split.train, split.validation]))


def encoded(kind: type[Kind], encoder: Any, dataset: Dataset, index: Any) -> tuple[Any, Any]:
    """Rows as the model sees them, and their targets."""
    x = kind.take(dataset.x, index)
    return (x if encoder is None else encoder.transform(x)), targets(dataset.y, index)


def fit_arguments(kind: type[Kind], encoder: Any, dataset: Dataset, learn: Any, watched: Any) -> dict[str, Any]:
    """What `fit` is called with: rows to learn from, and those for early stopping."""
    X, y = encoded(kind, encoder, dataset, learn)
    if kind.has_targets:
        return {"X": X}
    more = zip(("X_val", "y_val"), encoded(kind, encoder, dataset, watched), strict=True) if len(watched) else ()
    return {"X": X, "y": y, **dict(more)}


def targets(y: Any, index: Any) -> Any:
    """Those of some rows."""
    return y if y is None else [y[i] for i in index] if isinstance(y, list) else np.asarray(y)[index]


def explained_step(n: int, shape: Sequence[int]) -> int:
    """Every so many of n rows are explained; of images (C, H, W) the fewer, the larger they are."""
    most = min(EXPLAINED, max(IMAGES, NUMBERS // prod(shape))) if len(shape) > 1 else EXPLAINED
    return max(1, -(-n // most))


def digest(dataset: Dataset, rows: Any = slice(None)) -> str:
    """SHA-256 of the names of the columns, and of features and targets of these rows."""
    kind = KINDS[dataset.kind]
    y = np.zeros(0) if dataset.y is None else targets(dataset.y, np.arange(dataset.rows)[rows])
    y = np.array([repr(getattr(row, "tolist", lambda row=row: row)()) for row in y]) if isinstance(y, list) else y
    y = y.astype(str) if y.dtype == object else y
    names, content = repr(dataset.feature_names).encode(), kind.content(kind.take(dataset.x, rows))
    return sha256(names + content + np.ascontiguousarray(y).tobytes()).hexdigest()


# ---- the parameters of a model, for help


class Parameter(NamedTuple):
    """One parameter."""

    name: str
    type: str  # as it is annotated
    default: str
    text: str  # its meaning


def parameters(model: str) -> dict[str, list[Parameter]]:
    """Parameters by groups: the family's own, those of all nets, and those of the training loop."""
    classes = [catalog.load(target) for target in dict.fromkeys(catalog.card(model).targets.values())]
    own: dict[str, Parameter] = {}
    shared: dict[str, Parameter] = {}
    for cls in classes:
        for field in fields(cls):
            owner = next(base for base in cls.__mro__ if field.name in base.__dict__.get("__annotations__", {}))
            group = shared if "._base." in owner.__module__ else own
            if field.name not in ELSEWHERE:
                group.setdefault(field.name, _parameter(cls, field))
    stepped = any("training" in {f.name for f in fields(cls)} for cls in classes)
    training = [_parameter(Training, field, "training.") for field in fields(Training)] if stepped else []
    groups = {
        f"Parameters of {model} (--set NAME=VALUE)": list(own.values()),
        "Parameters of training": list(shared.values()),
        "Settings of the training loop (--set training.NAME=VALUE)": training,
    }
    return {name: rows for name, rows in groups.items() if rows}


def _parameter(cls: type, field: Field[Any], prefix: str = "") -> Parameter:
    default = field.default
    if default is MISSING:
        default = field.default_factory() if field.default_factory is not MISSING else "required"
    text = " ".join(documented(cls).get(field.name, "").split())
    return Parameter(prefix + field.name, check.allowed(cls, field.name), str(default), text)
