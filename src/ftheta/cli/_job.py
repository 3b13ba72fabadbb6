"""The work behind `ftheta train`: data, parts, encoder, estimator, result."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from .. import catalog
from ..data import TableEncoder, leaks
from ..errors import FileFormatError, InputError, RunError
from ..models._first_try import L2, settings
from ..results import Table, svg
from ..store import Run
from ..train import Training
from . import _files
from ._answers import Answers, answer, assessed, class_names, scores, spread_of
from ._config import Config, typed
from ._data import ALONE, digest, encoder_for, open_data, rows_of, split, task_of
from ._show import result_table
from ._subject import Subject, fitted_rows, goes_in_steps

if TYPE_CHECKING:
    from ..explain import LearningRate

__all__ = ["Job"]

ELSEWHERE = {"random_state": "--seed", "training": "--set training.NAME=VALUE", "validation": "--validation"}


class Job:
    """One training command, checked and ready."""

    def __init__(self, config: Config) -> None:
        self.config = config
        card = catalog.card(config.model)
        if "transform" in card.targets:
            raise InputError(
                f"{config.model!r} transforms rows and predicts nothing, so there is no result to show. Use it in "
                "Python, e.g. make_pipeline(ftheta.Whitening(), ftheta.MLPClassifier())."
            )
        self.dataset = open_data(config)
        self.task = task_of(self.dataset, config.task, card.targets)
        self._refuse_task("segment" in card.targets)
        self.parts = split(config, self.dataset, self.task)
        self.estimator = self._estimator(catalog.resolve(card.name, self.task))
        self.in_steps = goes_in_steps(self.estimator)
        self._refuse_unseen()
        self.encoder = encoder_for(self.dataset, self.estimator, card)
        if not self.in_steps and isinstance(self.encoder, TableEncoder):
            self.encoder.set_output(transform="pandas")  # coefficients have the names of their columns
        self.encoder.fit(rows_of(self.dataset.x, self._fitted_rows()))
        self.range_test = self._find_rate() if config.params.get("lr") == "find" else None
        self._rehearse()

    @property
    def alone(self) -> bool:
        """Whether the model learns from rows without targets."""
        return self.task in ALONE

    def _refuse_task(self, of_pixels: bool) -> None:
        """A class for every pixel is for models that learn that, and nothing else is."""
        if of_pixels == (self.task == "segment"):
            return
        name, model = self.dataset.name, self.config.model
        raise InputError(
            f"{name} has one target for each row, and {model} learns a class for every pixel. Use convnet or mlp, or "
            "data with labels of pixels, e.g. shapes."
            if of_pixels
            else f"{name} has a class for every pixel, which {model} does not learn. Use unet."
        )

    def _estimator(self, cls: type[Any]) -> Any:
        where, known = f"model {self.config.model!r}", cls().get_params(deep=False)
        for name in ELSEWHERE.keys() & self.config.params.keys():
            raise InputError(f"{where}: {name}={self.config.params[name]!r} is not set here; use {ELSEWHERE[name]}.")
        said, watched = dict(self.config.params), len(self.parts.validation) > 0
        said = {k: v for k, v in said.items() if (k, v) != ("lr", "find") or "lr" not in known}
        own, n = getattr(cls, "first_try", None), len(self.parts.train)
        usual = settings(known, watched=watched, optimizer=said.get("optimizer"))
        if self.alone:  # with labels, a memory of one row of each class
            usual = {"keep": "medoid"} if "keep" in known and self.dataset.y is not None else {}
        params = (usual if own is None else own(n, watched=watched, shape=self.dataset.shape)) | _one_layer(said, known)
        params |= {"random_state": self.config.seed} if "random_state" in known else {}
        if "training" in known:
            own_knobs = {"l2": L2} if own is None else {"schedule": "cosine", "ema": 0.999}
            own_knobs = {} if self.alone else own_knobs
            knobs = {"progress": True, **own_knobs, **typed(Training, self.config.training, "training")}
            return cls(**typed(cls, params, where), training=Training(**knobs))
        typed(cls, {f"training.{k}": v for k, v in self.config.training.items()}, where)
        return cls(**typed(cls, params, where))

    def _find_rate(self) -> LearningRate:
        """The range test; what it suggests becomes a setting like any other."""
        from ..explain import learning_rate

        found = learning_rate(self.estimator, self._learned_from["X"], self._learned_from["y"])
        self.config = replace(self.config, params={**self.config.params, "lr": found.suggestion})
        self.estimator.set_params(lr=found.suggestion)
        return found

    def _fitted_rows(self) -> np.ndarray:
        return fitted_rows(self.estimator, self.parts)

    def _refuse_unseen(self) -> None:
        """A class that only test rows have cannot be learned, and no probability of it can be scored."""
        if self.task in ("regress", *ALONE):
            return
        y = np.asarray(self.dataset.y)
        unseen = np.setdiff1d(y[self.parts.test], y[self._fitted_rows()])
        if len(unseen):
            there = np.isin(y[self.parts.test], unseen).reshape(len(self.parts.test), -1)
            n, names = there.any(1).sum(), ", ".join(map(repr, unseen[:5].tolist()))
            raise InputError(
                f"{self.dataset.name}: {n} of {len(self.parts.test)} test rows have a class that no training row has "
                f"({names}). Leave them out, or have classes on both sides with --split stratified."
            )

    def _rehearse(self) -> None:
        """A fit of no seconds: what training would refuse is refused before a folder is made."""
        if self.in_steps:
            trial: Any = clone(self.estimator)
            trial.set_params(training__seconds=0.0).fit(**self._learned_from)
        else:
            self.estimator.fit(**self._learned_from)

    @cached_property
    def _learned_from(self) -> dict[str, Any]:
        """Arguments of `fit`."""
        X, y = self._rows(self._fitted_rows())
        if not self.in_steps or not len(self.parts.validation):
            return {"X": X, "y": y}
        X_val, y_val = self._rows(self.parts.validation)
        return {"X": X, "y": y, "X_val": X_val, "y_val": y_val}

    def _rows(self, index: np.ndarray) -> tuple[Any, Any]:
        y = None if self.dataset.y is None else np.asarray(self.dataset.y)[index]
        return self.encoder.transform(rows_of(self.dataset.x, index)), y

    def headline(self) -> str:
        """What is trained on what."""
        sizes = {"training": len(self._fitted_rows()), "test": len(self.parts.test)}
        sizes |= {"validation": len(self.dataset.x) - sum(sizes.values())}
        rows = ", ".join(f"{n} {name}" for name, n in sizes.items() if n)
        size = f"{self.dataset.x.shape[1]} columns" if not self.dataset.shape else _pixels(self.dataset.shape)
        return f"{self.config.model} ({self.task}) on {self.dataset.name}: {rows} rows, {size}"

    @cached_property
    def found_leaks(self) -> tuple[str, ...]:
        """What the test part shares with the rows that are learned from."""
        if self.alone:  # nothing is predicted, so nothing can be known beforehand
            return ()
        y = None if self.task == "segment" else self.dataset.y
        return leaks(self.dataset.x, self._fitted_rows(), self.parts.test, y)

    def warnings(self) -> list[str]:
        """What a user should know before the result: columns left out, what reader and memory did, leaks."""
        left_out = [f"column {c['name']!r} {c['did']}" for c in self.encoder.describe() if c["kind"] == "dropped"]
        rate = [] if self.range_test is None else [f"--lr find: {self.range_test.table().caption}"]
        own = filter(None, [getattr(self.estimator, "note_", "")])  # of a memory: patterns that are there twice
        notes = [f"note: {said}" for said in (*self.dataset.notes, *left_out, *rate, *own)]
        return notes + [f"LEAK? {said}" for said in self.found_leaks]

    def refuse_other(self, run: Run) -> None:
        """A folder with other things in it, with another run, or with a run on other data is not written into."""
        if run.path.is_file():
            raise InputError(f"--run {run.path} is a file; a run is a folder. Choose another --run.")
        if run.status == "new" and not run.is_empty():
            raise InputError(f"{run.path} is not empty and holds no run; nothing was changed. Choose another --run.")
        if run.has("config.toml") and _files.settings(run) != asdict(self.config):
            raise RunError(
                f"{run.path} holds a run with other settings. Choose another --run, or continue it with --resume."
            )
        if run.has("split.safetensors") and _files.split(run)["data"] != digest(self.dataset):
            raise RunError(
                f"{self.config.data} has changed since {run.path} was started, and a run is continued with the same "
                "data only. Put the old data back or choose another --run."
            )

    def keep(self, run: Run) -> None:
        """Write what is known before training."""
        files = {
            "config.toml": self.config.toml(),
            "encoder.json": json.dumps(self.encoder.get_state(), indent=1) + "\n",
            "split.safetensors": {**self.parts._asdict(), "data": digest(self.dataset)},
            "data.json": json.dumps(self._facts(), indent=1, ensure_ascii=False) + "\n",
        }
        if self.range_test is not None:
            files["figures/learning-rate.svg"] = svg(self.range_test.figure())
        for name, content in files.items():
            if not run.has(name):
                run.write(name, content)
            elif isinstance(content, str) and _is_damaged(run, name):
                run.repair(name, content)  # refused, if it is not the same again
        if run.status == "finished":
            run.sound()

    def fit(self, run: Run) -> None:
        """Train, continue, or take what is finished; the model is in the run afterwards."""
        if self.in_steps:
            self.estimator.fit(**self._learned_from, run=run)
        elif run.status != "finished":
            self.estimator._save_into(run)

    def ending(self) -> str:
        """Why training ended before its last epoch, or nothing."""
        reason = getattr(self.estimator, "stop_reason_", "rounds")
        why = "the time is used up" if reason == "seconds" else reason
        return "" if reason in ("", "rounds") else f"Ended after {self.estimator.n_iter_} epochs: {why}."

    def _facts(self) -> dict[str, Any]:
        """What is known of the data, for the run and its report."""
        d = self.dataset
        return {
            **{"name": d.name, "kind": d.kind, "shape": list(d.shape), "rows": len(d.x)},
            "task": self.task if self.alone else d.task,
            **{"target": self.config.target, "classes": list(d.target_names)},
            "parts": {name: len(rows) for name, rows in self.parts._asdict().items()},
            "columns": self.encoder.describe(),
            "form": None if d.form is None else d.form._asdict(),
            **{"notes": list(d.notes), "leaks": list(self.found_leaks)},
            **{"licence": d.licence, "citation": d.citation, "digest": digest(d)},
        }

    def evaluate(self, run: Run) -> Table:
        """Scores of the test part, or of the training rows if none was set aside; kept in the run with the answers."""
        if not run.has("result.json"):
            tested = len(self.parts.test) > 0
            rows = self.parts.test if tested else self._fitted_rows()
            measured = self._assessed(run, rows) if self.alone else self._scored(run, rows)
            found = {
                "part": "test part" if tested else "training rows",
                **measured,
                **{"rows": len(rows), "family": self.config.model, "data": digest(self.dataset, rows)},
            }
            run.write("result.json", json.dumps(found, indent=1) + "\n")
        return result_table(dict(_files.result(run)))

    def _scored(self, run: Run, rows: np.ndarray) -> dict[str, Any]:
        """Answers for rows, kept in the run, and how good they are."""
        (X, y), spread = self._rows(rows), self._spread()
        given = answer(self.estimator, X, spread)
        run.write("interval.json", json.dumps(spread) + "\n")
        run.write("test.safetensors", {"rows": rows, **self._named(y, given)})
        return scores(self.task, y, given, self.config.seed, self.dataset.target_names).as_json()

    def _assessed(self, run: Run, rows: np.ndarray) -> dict[str, Any]:
        """What a model without answers says of rows."""
        run.write("test.safetensors", {"rows": rows})
        return assessed(self.estimator, self._rows(rows)[0])

    def _named(self, y: np.ndarray, given: Answers) -> dict[str, Any]:
        """Truth and answers, classes by the names that the data set gives them."""
        if given.classes is None:
            return {"y": y, **given._asdict()}
        labels = dict(zip(given.classes, class_names(given.classes, self.dataset.target_names), strict=True))
        if self.task == "segment":  # maps of places in the classes: names would take the memory of a thousand images
            maps = {name: np.searchsorted(given.classes, m) for name, m in (("y", y), ("predicted", given.predicted))}
            return {**given._asdict(), **maps, "classes": list(labels.values())}
        words = {
            name: [labels[v] for v in values.tolist()] for name, values in (("y", y), ("predicted", given.predicted))
        }
        return {**given._asdict(), **{name: np.array(v) for name, v in words.items()}, "classes": list(labels.values())}

    def _spread(self) -> dict[str, Any] | None:
        """How far numbers lie from their prediction, on rows that were not fitted."""
        if self.task != "regress" or not len(self.parts.validation):
            return None
        X, y = self._rows(self.parts.validation)
        if self.in_steps:
            return spread_of(self.estimator, X, y)
        trial: Any = clone(self.estimator)
        return spread_of(trial.fit(*self._rows(self.parts.train)), X, y)

    def report(self, run: Run) -> None:
        """The page of the run."""
        if not run.has("report.html"):
            subject = Subject(self.config, self.dataset, self.parts, self.encoder, self.estimator)
            run.write("report.html", subject.report(run))


def _is_damaged(run: Run, name: str) -> bool:
    try:
        run.read(name)
    except FileFormatError:
        return True
    return False


def _one_layer(said: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """--hidden is the number of hidden units where a model has one layer of them."""
    if "n_hidden" not in known or "hidden" not in said:
        return said
    if len(said["hidden"]) != 1:
        raise InputError(f"--hidden {','.join(map(str, said['hidden']))}: this model has one hidden layer; give one.")
    return {name: value for name, value in said.items() if name != "hidden"} | {"n_hidden": said["hidden"][0]}


def _pixels(shape: tuple[int, ...]) -> str:
    return f"{'x'.join(map(str, shape[:2]))} pixels" + (" in colour" if shape[2:] == (3,) else "")
