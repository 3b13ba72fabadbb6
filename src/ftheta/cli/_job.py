"""The work behind `ftheta train`: data, parts, encoder, estimator, result."""

from __future__ import annotations

import json
import tomllib
from hashlib import sha256
from inspect import signature
from typing import Any

import numpy as np

from .. import catalog
from ..data import TableEncoder
from ..errors import RunError
from ..results import Table
from ..store import Run
from ..train import Training
from ._config import Config, typed
from ._data import open_data, split, task_of

__all__ = ["Job", "result_table", "scores"]

DEFAULTS = {"epochs": 100, "patience": 20}  # where the command says nothing; in Python estimators have their own


class Job:
    """One training command, checked and ready."""

    def __init__(self, config: Config) -> None:
        self.config = config
        card = catalog.card(config.model)
        self.dataset = open_data(config.data, config.target)
        self.task = task_of(self.dataset, config.task)
        self.estimator = self._estimator(catalog.resolve(card.name, self.task))
        self.parts = split(config, self.dataset, self.task)
        self.encoder = TableEncoder().fit(self.dataset.x.iloc[self._fitted_rows()])

    def _estimator(self, cls: type[Any]) -> Any:
        where, known = f"model {self.config.model!r}", cls().get_params(deep=False)
        params = {k: v for k, v in DEFAULTS.items() if k in known} | self.config.params
        params |= {"random_state": self.config.seed} if "random_state" in known else {}
        if "training" in known:
            knobs = {"progress": True, **typed(Training, self.config.training, "training")}
            return cls(**typed(cls, params, where), training=Training(**knobs))
        typed(cls, {f"training.{k}": v for k, v in self.config.training.items()}, where)
        return cls(**typed(cls, params, where))

    def _fitted_rows(self) -> np.ndarray:
        """Rows that are learned from: without validation rows where the model can use those."""
        parts, watches = self.parts, "X_val" in signature(self.estimator.fit).parameters
        return parts.train if watches else np.sort(np.concatenate([parts.train, parts.validation]))

    def headline(self) -> str:
        """What is trained on what."""
        sizes = {"training": len(self._fitted_rows()), "test": len(self.parts.test)}
        sizes |= {"validation": len(self.dataset.x) - sum(sizes.values())}
        rows = ", ".join(f"{n} {name}" for name, n in sizes.items() if n)
        return (
            f"{self.config.model} ({self.task}) on {self.dataset.name}: {rows} rows, {self.dataset.x.shape[1]} columns"
        )

    def keep(self, run: Run) -> None:
        """Write what is known before training, or refuse a folder of another run."""
        files = {
            "config.toml": self.config.toml(),
            "encoder.json": json.dumps(self.encoder.get_state(), indent=1) + "\n",
            "split.safetensors": {k: v for k, v in self.parts._asdict().items()},
        }
        if run.has("config.toml") and tomllib.loads(run.read("config.toml").decode()) != tomllib.loads(
            files["config.toml"]
        ):
            raise RunError(
                f"{run.path} holds a run with other settings. Choose another --run, or continue it with --resume."
            )
        for name, content in files.items():
            if not run.has(name):
                run.write(name, content)

    def _rows(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.encoder.transform(self.dataset.x.iloc[index]), np.asarray(self.dataset.y)[index]

    def fit(self, run: Run) -> None:
        """Train, continue, or take what is finished; the model is in the run afterwards."""
        X, y = self._rows(self._fitted_rows())
        if "run" not in signature(self.estimator.fit).parameters:
            self.estimator.fit(X, y)
            self.estimator._save_into(run)
            return
        X_val, y_val = self._rows(self.parts.validation) if len(self.parts.validation) else (None, None)
        self.estimator.fit(X, y, X_val=X_val, y_val=y_val, run=run)

    def evaluate(self, run: Run) -> Table:
        """Scores of the test part, or of the training rows if none was set aside; kept in the run."""
        tested = len(self.parts.test) > 0
        rows = self.parts.test if tested else self._fitted_rows()
        X, y = self._rows(rows)
        found = {
            "part": "test part" if tested else "training rows",
            "rows": len(rows),
            "family": self.config.model,
            "data": sha256(np.ascontiguousarray(X).tobytes()).hexdigest(),
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


def result_table(found: dict[str, Any]) -> Table:
    """The result of a run as a table."""
    values = found["scores"]
    return Table(
        {"metric": list(values), "value": [f"{v:.4f}" for v in values.values()]},
        f"{found['part']} (n = {found['rows']})",
    )
