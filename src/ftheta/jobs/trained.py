"""A trained run: predict, evaluate, sample, explain, export, report.

Everything is read on first use, and nothing is written into the run except by `report()`.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from html import escape
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from .. import catalog, measure
from ..base import card_of
from ..data import CsvFormat, Dataset, TableEncoder
from ..data import names as data_names
from ..data.kinds import KINDS, Kind
from ..errors import FThetaError, InputError, InputTypeError, RunError
from ..models import described, load
from ..results import Result, Table
from ..store import Run, write_atomic, write_folder
from ..tasks import Task, tasks_of
from . import files
from .baseline import Scored, errors_by, threshold
from .config import Config, merge
from .opening import Reader, Rows, open_data
from .prepare import EXPLAINED, Prepared, Split, digest, encoded, explained_step, fitted_rows, watches
from .runs import find_run, result_table, resume_command, times_tested, verdicts

CELLS = 100_000  # of test rows that explanations of columns look at
FIRST = 6  # explanations that are given where none is named


class Answers(NamedTuple):
    """Predictions for the rows of a file."""

    predictions: dict[str, Any]  # arrays by name, as the task gives them
    frame: Any  # as a data frame, with the columns that name the rows
    notes: list[str]  # what was noticed
    rows: Rows


class TrainedRun:
    """A run folder, read on first use."""

    def __init__(self, run: Run, job: Prepared | None = None) -> None:
        self.run, self._learned = run, dict[bool, tuple[Any, Any]]()
        if job is not None:  # just trained: nothing is read again
            self.__dict__ |= {"config": job.config, "task": job.task, "kind": job.kind, "dataset": job.dataset}
            self.__dict__ |= {"split": job.split, "pipeline": (job.encoder, job.estimator)}

    @cached_property
    def config(self) -> Config:
        return merge(files.settings(self.run))

    @cached_property
    def pipeline(self) -> tuple[Any, Any]:
        """Encoder and estimator; the encoder is None where the estimator takes raw rows."""
        files.settings(self.run)  # a folder that was saved in Python has none, and no encoder
        found = load(self.run.path)
        return tuple(found) if hasattr(found, "named_steps") else (None, found)

    @property
    def model(self) -> Any:
        """The fitted estimator."""
        return self.pipeline[1]

    @property
    def encoder(self) -> Any:
        return self.pipeline[0]

    @cached_property
    def facts(self) -> files.Facts:
        """data.json."""
        return files.facts(self.run)

    @cached_property
    def task(self) -> Task:
        name, _, task = card_of(type(self.model))
        return tasks_of(catalog.card(name))[task]()

    @cached_property
    def kind(self) -> type[Kind]:
        """As which kind the model takes the data."""
        return KINDS[card_of(type(self.model))[1]]

    @cached_property
    def split(self) -> Split:
        """Row numbers of the parts."""
        found = files.split(self.run, self.dataset.rows)
        return Split(*(found[name] for name in Split._fields))

    @cached_property
    def dataset(self) -> Dataset:
        """The data that it was trained on; data that has changed is refused."""
        if self.config.data not in data_names() and not Path(self.config.data).exists():
            raise RunError(f"This needs the training data of {self.run.path}, and {self.config.data} is not there.")
        found = open_data(self.config, catalog.card(self.config.model))
        found = self.kind.convert(found, self.config.roles | {"train": True})
        if digest(found) != files.split(self.run)["data"]:
            raise RunError(f"{self.config.data} has changed since {self.run.path} was trained on it. Restore it.")
        return found

    @property
    def result(self) -> Table:
        """The scores of the test part."""
        self._need_result()
        return result_table(dict(files.result(self.run)))

    @property
    def verdict(self) -> str:
        """Whether that is better than the simplest answers, in a sentence; empty where that is not known."""
        self._need_result()
        return files.result(self.run).get("verdict", "")

    @property
    def verdicts(self) -> list[str]:
        """The verdict, and which rows have larger errors."""
        return verdicts(files.result(self.run))

    def _need_result(self) -> None:
        if not self.run.has("result.json"):
            raise RunError(f"{self.run.path} has no result yet. Finish it with: {resume_command(self.run.path)}")

    def __repr__(self) -> str:
        return f"TrainedRun({str(self.run.path)!r})"

    def _repr_html_(self) -> str:
        folder = f"<p>Run folder: <code>{escape(str(self.run.path))}</code></p>"
        if not self.run.has("result.json"):
            return f"{folder}\n<p>There is no result yet.</p>"
        said = " ".join(map(escape, self.verdicts))
        return f"<p><strong>{said}</strong></p>\n{self.result.html()}\n{folder}"

    # ---- new rows

    @cached_property
    def reader(self) -> Reader:
        """Reads files as the training data were read."""
        given = self.facts["csv_format"]  # one row may not tell whether 1.234 is a thousand
        form = None if given is None else CsvFormat(**{"units": {}, **given, "text": tuple(given["text"])})
        return Reader(self.config, self.task, self.kind, self.encoder, form)

    def predict(
        self, file: Path | str | None = None, *, horizon: int | None = None, skip_bad: bool = False, **layout: Any
    ) -> Answers:
        """Predictions for each row of a file, an image or a folder of images; of a series, for the steps after it.

        Args:
            file: The file or folder; None: the series that it was trained on, its test part included.
            horizon: Steps that are forecast; None: as in training.
            skip_bad: Whether damaged images are left out.
            layout: `encoding`, `sheet` and `skip_rows` as in `ftheta.data.read`; default: as in training.
        """
        if not hasattr(self.model, "predict"):
            advice = "`ftheta sample` draws rows from it, `ftheta explain` shows what is inside."
            raise InputError(f"{self.run.path} is a {type(self.model).__name__}, which predicts nothing. {advice}")
        if self.kind.has_targets:
            return self._continued(file, horizon, layout)
        if file is None or horizon is not None:
            what = "a file is needed" if file is None else f"--horizon {horizon} is for forecasts of a series"
            raise InputError(f"{what}; {self.run.path} predicts the rows of a file: ftheta predict RUN {self.kind.new}")
        rows = self.reader.read(file, skip_bad=skip_bad, **layout)
        made = self.task.predict(self.model, rows.X, self.facts["classes"], files.interval(self.run))
        if (lines := self.task.lines(made)) is not None:
            rows = rows._replace(names={name: np.asarray(cells)[lines] for name, cells in rows.names.items()})
        plans = [p for p in getattr(self.encoder, "plans_", []) if p.kind == "dropped" and "identifier" in p.why]
        own = {p.name: rows.x[p.name].convert_dtypes().array for p in plans}  # integers without a fraction
        frame = pd.DataFrame({**rows.names, **own, **self.task.columns(made)})
        return Answers(made, frame, [*rows.notes, *self.task.notes(made)], rows)

    def _continued(self, file: Path | str | None, horizon: int | None, layout: dict[str, Any]) -> Answers:
        """The steps after the end of a series."""
        if file is None:
            x = self.kind.unpack(self.run.tree("past.safetensors"))
            rows = Rows(x, x, None, {}, [], None)  # type: ignore[arg-type]
        else:
            rows = self.reader.read(file, **layout)
        made = self.model.forecast(rows.X, horizon)
        frame = pd.DataFrame(self.task.columns(made))
        return Answers(made, frame, [*rows.notes, *self.task.notes(made)], rows._replace(x=None))

    def evaluate(self, file: Path | str, *, skip_bad: bool = False, cost: str = "", **layout: Any) -> Table:
        """Scores on the rows of a file that has the target; arguments as in `predict`, `cost` as in `compare`."""
        rows = self.reader.read(file, skip_bad=skip_bad, required=True, **layout)
        task, names = self.task, self.facts["classes"]
        y, made, n = None, {}, len(rows.x)
        if task.needs_y:
            task.check_split(str(file), getattr(self.model, "classes_", rows.y), rows.y)
            kept, y, made = task.answered(self.model, rows.X, rows.y, names, files.interval(self.run))
            n = n if isinstance(kept, slice) else len(kept)
        scores = task.score(y, made, model=self.model, X=rows.X, seed=self.config.seed)
        known = files.result(self.run).get("baseline") if self.run.has("result.json") else None
        constant = None if known is None else known["constant"]
        simple = Scored(task, self.model, rows.X, y, made, scores).against(constant)
        table = result_table({"part": Path(file).name, "rows": n, **scores, **simple})
        said = [table.caption, simple.get("verdict", "")]
        said += [threshold(y, made, cost).caption] if cost else []
        if self._in_columns and (seen := self._seen(rows.X)):
            said.append(f"{seen:,} of these rows have the features of rows that it learned from: scores are too good.")
        return replace(table, caption="\n".join(filter(None, said)))

    def _seen(self, X: Any) -> int:
        """How many rows are rows that it learned from; 0 where those are not there."""
        try:
            both = self.learned_from(all_rows=True)[0], X
        except FThetaError:
            return 0
        flat = (pd.DataFrame(np.asarray(x).reshape(len(x), -1)) for x in both)
        own, new = (pd.util.hash_pandas_object(frame, index=False) for frame in flat)  # pyright: ignore[reportAttributeAccessIssue]
        return int(np.isin(new, own).sum())

    def sample(self, n: int = 64, *, seed: int = 0, **how: Any) -> np.ndarray:
        """n new rows, in the numbers of the model; `how` are options of the model's `sample`, e.g. steps."""
        model = self.model
        if not hasattr(model, "sample"):
            raise InputError(
                f"{self.run.path} is a {type(model).__name__}, which draws no new rows. Models that do: rbm, dbm, ..."
            )
        for name in how.keys() - signature(model.sample).parameters.keys():
            raise InputError(f"--{name} {how[name]}: {type(model).__name__} draws without it. Leave --{name} out.")
        return model.sample(n, random_state=seed, **how)

    # ---- inside

    def learned_from(self, *, all_rows: bool = False) -> tuple[Any, Any]:
        """Rows and targets that the model learned from, as it takes them: at most 2,000, evenly spaced, or all."""
        if all_rows not in self._learned:
            rows = self._learned_rows
            step = 1 if all_rows else explained_step(len(rows), getattr(self.encoder, "image_", ()))
            ordered = self.kind.split != "random"  # steps that follow each other stay together
            rows = rows[: -(-len(rows) // step)] if ordered else rows[::step]
            self._learned[all_rows] = encoded(self.kind, self.encoder, self.dataset, rows)
        return self._learned[all_rows]

    @property
    def _learned_rows(self) -> np.ndarray:
        """Row numbers, in the data."""
        return fitted_rows(watches(self.model, self.config, self.task, self.split), self.split)

    @cached_property
    def words(self) -> dict[str, Any]:
        """The user's names and units, as explanations take them."""
        names, scales = self.encoder.axes() if hasattr(self.encoder, "axes") else (None, None)
        found = {"names": names, "scales": scales, "classes": self.facts["classes"], "target": self.facts["target"]}
        return {name: value for name, value in found.items() if value is not None and len(value)}

    @cached_property
    def tested(self) -> tuple[Any, Any]:
        """Rows of the result as they were before encoding, and their targets."""
        if self.facts["test"]:
            found = self.reader.read(self.facts["test"])
            return found.x, found.y
        rows = files.answers(self.run, self.dataset.rows)["rows"]
        return encoded(KINDS[self.dataset.kind], None, self.dataset, rows)

    def errors(self) -> measure.ErrorGroups | None:
        """The mean error of the tested rows by level, quarter or missing cell of each column; None without columns."""
        found = files.answers(self.run)
        return None if found["predicted"] is None else errors_by(self.task, self.tested[0], found, self.facts["shape"])

    def explain(
        self, *names: str, every: bool = False, row: int | None = None
    ) -> Iterator[tuple[str, Result | FThetaError]]:
        """Explanations by name, or the first six that are quick, or every one that there is.

        Without names, one that cannot be given gives its reason instead. `row` is the test row that an explanation of
        one row is about, by its number in the data; None: the most wrong one.
        """
        known = [] if names else self.available()
        quick = [n for n in known if n in catalog.VIEWS and catalog.VIEWS[n].cost == "quick"]
        for name in names or (known if every else quick[:FIRST]):
            try:
                yield name, self.explained(name, row)
            except (InputError, InputTypeError) as error:
                if names:
                    raise
                yield name, error

    @property
    def _in_columns(self) -> bool:
        """Whether rows have columns of their own, not pixels."""
        return isinstance(self.encoder, TableEncoder) and not self.facts["shape"]

    def available(self) -> list[str]:
        """Names of the explanations that the model and its rows can give."""
        from .. import explain

        return [name for name in explain.available(self.model) if self._in_columns or not explain.get(name).tested]

    def explained(self, name: str, row: int | None = None, **how: Any) -> Result:
        """One explanation: of rows that the model learned from, or of test rows as they were before encoding.

        Args:
            row: What an explanation of one test row is about, by its number in the data; None: the most wrong one.
            **how: Other arguments of an explanation of test rows, e.g. max_rows.
        """
        from .. import explain

        entry = explain.get(name)
        if not entry.tested:
            takes = signature(entry.function).parameters
            more = self._row(row) if entry.fresh and "row" in takes else {}
            more |= {"rows": self._learned_rows} if entry.all_rows and "rows" in takes else {}
            return explain.run(name, self.model, *self._rows_for(entry), **self.words, **more)
        if not self._in_columns:
            raise InputError(
                f"{name} is for columns of a table, and {self.run.path} was trained on images. `ftheta explain` lists "
                "what they have."
            )
        model = Pipeline([("encoder", self.encoder), ("model", self.model)])
        return explain.run(name, model, *self.tested, **self._about(row) | how)

    def _row(self, row: int | None) -> dict[str, Any]:
        """Place and label of a test row; None: the most wrong one."""
        answers = files.answers(self.run)
        numbers = answers["rows"]
        worst = None if answers["predicted"] is None else self.task.worst(answers["y"], answers)
        wrong = np.zeros(len(numbers)) if worst is None else worst["wrong"]
        place = np.flatnonzero(numbers == row) if row is not None else [int(np.argmax(wrong))]
        if not len(place):
            known = ", ".join(map(str, numbers[:5]))
            raise InputError(f"Row {row} is not one of the {len(numbers)} test rows. Give one of them, e.g. {known}.")
        which = f" (the most wrong of {len(numbers)})" * (row is None)
        return {"row": int(place[0]), "label": f"Row {numbers[place[0]]}{which}"}

    def _about(self, row: int | None) -> dict[str, Any]:
        """What explanations of test rows take."""
        return {
            **self.words,
            **self._row(row),
            "part": {"test part": "test rows"}.get(files.result(self.run)["part"], "rows"),
            "max_rows": max(100, min(EXPLAINED, CELLS // len(self.encoder.plans_))),
            "background": self.kind.take(self.dataset.x, self._learned_rows),
        }

    def _rows_for(self, entry: Any) -> tuple[Any, Any]:
        """Rows for an explanation; none where the data is missing and it can do without."""
        parameters = signature(entry.function).parameters
        wanted = [parameters[name] for name in ("X", "y") if name in parameters]
        try:
            if entry.fresh:
                x, y = self.tested
                return (x if self.encoder is None else self.encoder.transform(x)), y
            return self.learned_from(all_rows=entry.all_rows) if wanted else (None, None)
        except FThetaError:
            if any(p.default is p.empty for p in wanted):
                raise
            return None, None

    def export(self, folder: Path | str | None = None) -> list[Path]:
        """Write a folder that predicts and trains with plain PyTorch, without fθ."""
        from .export import run_files

        folder = Path(folder or f"{self.run.path.resolve().name}-python")
        with described(self.run.path):
            content = run_files(self)
        write_folder(folder, content)
        return [folder / name for name in content]

    def report(self, file: Path | str | None = None) -> Path:
        """Write report.html into the run, or another file."""
        from .report import page

        self._need_result()
        text = page(self, times_tested(self.run))
        if file is None:
            self.run.write("report.html", text)
        else:
            write_atomic(Path(file), text.encode())
        return Path(file or self.run.path / "report.html")


def open(run: Run | Path | str) -> TrainedRun:  # noqa: A001
    """The run of a path, an id, or "last"."""
    return TrainedRun(run if isinstance(run, Run) else find_run(str(run)))
