"""The work behind `ftheta train`: data, parts, encoder, estimator, result."""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from .. import catalog
from ..data import TableEncoder
from ..errors import InputError, RunError
from ..results import Table
from ..store import Run
from ..train import Training
from ._config import Config, typed
from ._data import digest, open_data, split, task_of
from ._show import result_table

__all__ = ["Job", "scores"]

DEFAULTS = {"epochs": 100, "patience": 20}  # where the command says nothing; in Python estimators have their own
ELSEWHERE = {"random_state": "--seed", "training": "--set training.NAME=VALUE", "validation": "--validation"}


class Job:
    """One training command, checked and ready."""

    def __init__(self, config: Config) -> None:
        self.config = config
        card = catalog.card(config.model)
        self.dataset = open_data(config.data, config.target)
        self.task = task_of(self.dataset, config.task)
        self.estimator = self._estimator(catalog.resolve(card.name, self.task))
        self.in_steps = "run" in signature(self.estimator.fit).parameters
        self.parts = split(config, self.dataset, self.task)
        self.encoder = TableEncoder().fit(self.dataset.x.iloc[self._fitted_rows()])
        self._rehearse()

    def _estimator(self, cls: type[Any]) -> Any:
        where, known = f"model {self.config.model!r}", cls().get_params(deep=False)
        for name in ELSEWHERE.keys() & self.config.params.keys():
            raise InputError(f"{where}: {name}={self.config.params[name]!r} is not set here; use {ELSEWHERE[name]}.")
        params = {k: v for k, v in DEFAULTS.items() if k in known} | self.config.params
        params |= {"random_state": self.config.seed} if "random_state" in known else {}
        if "training" in known:
            knobs = {"progress": True, **typed(Training, self.config.training, "training")}
            return cls(**typed(cls, params, where), training=Training(**knobs))
        typed(cls, {f"training.{k}": v for k, v in self.config.training.items()}, where)
        return cls(**typed(cls, params, where))

    def _fitted_rows(self) -> np.ndarray:
        """Rows that are learned from: without validation rows where the model can use those."""
        parts = self.parts
        return parts.train if self.in_steps else np.sort(np.concatenate([parts.train, parts.validation]))

    def _rehearse(self) -> None:
        """A fit of no seconds: what training would refuse is refused before a folder is made."""
        if self.in_steps:
            trial: Any = clone(self.estimator)
            trial.set_params(training__seconds=0.0).fit(**self._learned_from())
        else:
            self.estimator.fit(**self._learned_from())

    def _learned_from(self) -> dict[str, Any]:
        """Arguments of `fit`."""
        X, y = self._rows(self._fitted_rows())
        if not self.in_steps or not len(self.parts.validation):
            return {"X": X, "y": y}
        X_val, y_val = self._rows(self.parts.validation)
        return {"X": X, "y": y, "X_val": X_val, "y_val": y_val}

    def _rows(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.encoder.transform(self.dataset.x.iloc[index]), np.asarray(self.dataset.y)[index]

    def headline(self) -> str:
        """What is trained on what."""
        sizes = {"training": len(self._fitted_rows()), "test": len(self.parts.test)}
        sizes |= {"validation": len(self.dataset.x) - sum(sizes.values())}
        rows = ", ".join(f"{n} {name}" for name, n in sizes.items() if n)
        columns = self.dataset.x.shape[1]
        return f"{self.config.model} ({self.task}) on {self.dataset.name}: {rows} rows, {columns} columns"

    def refuse_other(self, run: Run) -> None:
        """A folder with other things in it, with another run, or with a run on other data is not written into."""
        if run.path.is_file():
            raise InputError(f"--run {run.path} is a file; a run is a folder. Choose another --run.")
        if run.status == "new" and run.path.is_dir() and any(map(self._is_foreign, run.path.iterdir())):
            raise InputError(f"{run.path} is not empty and holds no run; nothing was changed. Choose another --run.")
        if run.has("config.toml") and tomllib.loads(run.read("config.toml").decode()) != asdict(self.config):
            raise RunError(
                f"{run.path} holds a run with other settings. Choose another --run, or continue it with --resume."
            )
        if run.has("split.safetensors") and run.tree("split.safetensors")["data"] != digest(self.dataset):
            raise RunError(
                f"{self.config.data} has changed since {run.path} was started, and a run is continued with the same "
                "data only. Put the old data back or choose another --run."
            )

    def _is_foreign(self, file: Path) -> bool:
        """Whether a file is none that an earlier start of this very run can have left."""
        if file.name == "config.toml":
            return file.read_bytes() != self.config.toml().encode()
        return file.name != "lock" and not file.name.endswith(".tmp")

    def keep(self, run: Run) -> None:
        """Write what is known before training."""
        files = {
            "config.toml": self.config.toml(),
            "encoder.json": json.dumps(self.encoder.get_state(), indent=1) + "\n",
            "split.safetensors": {**self.parts._asdict(), "data": digest(self.dataset)},
        }
        for name, content in files.items():
            if not run.has(name):
                run.write(name, content)

    def fit(self, run: Run) -> None:
        """Train, continue, or take what is finished; the model is in the run afterwards."""
        if self.in_steps:
            self.estimator.fit(**self._learned_from(), run=run)
        elif run.status != "finished":
            self.estimator._save_into(run)

    def ending(self) -> str:
        """Why training ended before its last epoch, or nothing."""
        reason = getattr(self.estimator, "stop_reason_", "rounds")
        why = "the time is used up" if reason == "seconds" else reason
        return "" if reason in ("", "rounds") else f"Ended after {self.estimator.n_iter_} epochs: {why}."

    def evaluate(self, run: Run) -> Table:
        """Scores of the test part, or of the training rows if none was set aside; kept in the run."""
        tested = len(self.parts.test) > 0
        rows = self.parts.test if tested else self._fitted_rows()
        X, y = self._rows(rows)
        found = {
            "part": "test part" if tested else "training rows",
            "rows": len(rows),
            "family": self.config.model,
            "data": digest(self.dataset, rows),
            "scores": scores(self.estimator, X, y, self.task),
        }
        if not run.has("result.json"):
            run.write("result.json", json.dumps(found, indent=1) + "\n")
        return result_table(found)


def scores(estimator: Any, X: np.ndarray, y: np.ndarray, task: str) -> dict[str, float]:
    """What is reported: accuracy and log loss, or R², RMSE and MAE."""
    from sklearn import metrics

    predicted = estimator.predict(X)
    if task == "classify":
        p = estimator.predict_proba(X).astype(np.float64)
        loss = metrics.log_loss(y, p / p.sum(1, keepdims=True), labels=estimator.classes_)
        return {"accuracy": float(np.mean(predicted == y)), "log loss": float(loss)}
    rmse = metrics.root_mean_squared_error(y, predicted)
    return {"R²": metrics.r2_score(y, predicted), "RMSE": rmse, "MAE": metrics.mean_absolute_error(y, predicted)}
