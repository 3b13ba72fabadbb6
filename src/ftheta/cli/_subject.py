"""What reports and explanations look at: a trained run with its data, and the rows that it learned from."""

from __future__ import annotations

from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from .. import report
from ..data import Dataset
from ..errors import RunError
from ..models._files import load
from ..report.page import at_most
from ..store import Run
from . import _files
from ._config import Config, merge
from ._data import Parts, digest, open_data, rows_of
from ._folders import looks, resume_command

__all__ = ["Subject", "fitted_rows", "goes_in_steps", "reopen", "trained"]

EXPLAINED = 2000  # rows that explanations look at, evenly spaced


def goes_in_steps(estimator: Any) -> bool:
    """Whether an estimator is trained in steps, kept in a run and watched by validation rows."""
    return "run" in signature(estimator.fit).parameters


def fitted_rows(estimator: Any, parts: Parts) -> np.ndarray:
    """Rows that are learned from: without validation rows where the model can use those."""
    return parts.train if goes_in_steps(estimator) else np.sort(np.concatenate([parts.train, parts.validation]))


class Subject(NamedTuple):
    """A trained model, its encoder, and the data in their parts."""

    config: Config
    dataset: Dataset
    parts: Parts
    encoder: Any
    estimator: Any

    def learned_from(self, *, all_rows: bool = False) -> tuple[Any, Any]:
        """Rows and targets that the model learned from, as it sees them; at most 2,000, evenly spaced, or all.

        Of images they are fewer.
        """
        rows = fitted_rows(self.estimator, self.parts)
        most = at_most(getattr(self.encoder, "image_", ()), EXPLAINED)
        rows = rows if all_rows else rows[:: -(-len(rows) // most)]
        y = None if self.dataset.y is None else np.asarray(self.dataset.y)[rows]
        return self.encoder.transform(rows_of(self.dataset.x, rows)), y

    def report(self, run: Run) -> str:
        """The text of report.html."""
        if not run.has("result.json"):
            raise RunError(f"{run.path} has no result yet. Finish it with: {resume_command(run.path)}")
        test = _files.answers(run, len(self.dataset.x))
        shown = rows_of(self.dataset.x, test["rows"])
        return report.page(
            run,
            self.estimator,
            self.learned_from(all_rows=True),
            shown,
            data=_files.facts(run),
            result=_files.result(run),
            test=test,
            command=self.config.command(),
            looks=looks(run),
        )


def trained(run: Run) -> tuple[Any, Any]:
    """Encoder and estimator of a finished run."""
    _files.settings(run)  # a folder that was saved in Python has none, and no encoder
    return tuple(load(run.path))


def reopen(run: Run) -> Subject:
    """A finished run as it was when it was trained; data that has changed is refused."""
    config = merge(_files.settings(run))
    encoder, estimator = trained(run)
    dataset = open_data(config)
    if digest(dataset) != _files.split(run)["data"]:
        raise RunError(f"{config.data} has changed since {run.path} was trained on it. Put the old data back.")
    parts = _files.split(run, len(dataset.x))
    return Subject(config, dataset, Parts(*(parts[name] for name in Parts._fields)), encoder, estimator)
