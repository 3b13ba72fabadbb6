"""Which convolutional network would validation choose: layers, filters, kernel size, dense layers, in that order?

Question: one choice after the other, each on validation digits with all earlier choices kept, as the report does it:
which network comes out, and by how much does it beat the others?

    stages 1, 2, 3  ->  filters 8, 16, 32 in the first  ->  kernels 3, 5  ->  dense layers none, 64, 128

A smaller network is kept unless a larger one is better by more than one standard error of the validation accuracy. In
a first try, whose larger kernels would have taken hours, 64 filters were better than 32: 0.9765 and 0.9722.
Needs the data set mnist, of which a part is learned from. Cost: about 15 CPU-minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import plots
from ...results import Table
from .._study import Evidence, Finding, pieces
from ._digits import digits, fitted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS: dict[str, str] = {}
FIRST: dict[str, Any] = {"stages": 2, "filters": 16, "kernel": 3, "hidden": 0}


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        data: Name of the data set.
        rows: Training digits.
        epochs: Passes over them.
        stages: Choices of the first step.
        filters: Choices of the second: feature maps of the first stage, doubled from stage to stage.
        kernels: Choices of the third.
        hidden: Choices of the fourth: width of a dense layer, 0 for none.
        seeds: Starts; their mean is compared.
    """

    data: str = "mnist"
    rows: int = 6_000
    epochs: int = 6
    stages: tuple[int, ...] = (1, 2, 3)
    filters: tuple[int, ...] = (8, 16, 32)
    kernels: tuple[int, ...] = (3, 5)
    hidden: tuple[int, ...] = (0, 64, 128)
    seeds: tuple[int, ...] = (0, 1)


TINY = Config("digits", 200, 1, (1, 2), (4, 8), (3,), (0, 8), (0, 1))


def measure(config: Config, run: Run | None = None) -> Evidence:
    """The four steps; every candidate is trained from the same seeds and scored on the validation digits."""
    chosen, keys, found = dict(FIRST), [], []
    grid = {"stages": config.stages, "filters": config.filters, "kernel": config.kernels, "hidden": config.hidden}
    for what, choices in grid.items():
        keys.append((config, what, choices, dict(chosen)))
        found = [*found, _step(*keys[-1])] if run is None else pieces(_step, keys, run)
        chosen[what] = choices[pick(found[-1]["valid"], found[-1]["rows"])]
    steps = [{"what": key[1], "choices": list(key[2]), **one} for key, one in zip(keys, found, strict=True)]
    return {"steps": steps, "chosen": chosen, "seeds": list(config.seeds)}


def _step(config: Config, what: str, choices: Sequence[int], chosen: dict[str, Any]) -> dict[str, Any]:
    """Validation accuracy by seed, (choices, seeds), and parameters, (choices,), of all candidates of one step."""
    parts = digits(config.data, config.rows)
    valid, sizes = [], []
    for value in choices:
        settings = _settings({**chosen, what: value}, config.epochs)
        models = [fitted(parts, settings, seed) for seed in config.seeds]
        valid.append([float(model.score(parts.x_valid, parts.y_valid)) for model in models])
        sizes.append(sum(p.numel() for p in models[0].module_.parameters()))
    return {"valid": np.array(valid), "parameters": np.array(sizes), "rows": len(parts.y_valid)}


def _settings(chosen: dict[str, Any], epochs: int) -> dict[str, Any]:
    """Of the estimator; images keep their size in convolutions, so that three stages and large kernels fit."""
    filters = tuple(chosen["filters"] * 2**k for k in range(chosen["stages"]))
    hidden = (chosen["hidden"],) if chosen["hidden"] else ()
    net = {"filters": filters, "kernel": chosen["kernel"], "hidden": hidden, "padding": "same", "dropout": 0.5}
    return {**net, "batch_size": 128, "lr": 0.001, "epochs": epochs, "patience": epochs}


def pick(valid: np.ndarray, rows: int) -> int:
    """The first candidate whose mean accuracy is within one standard error of the best; the first is the smallest."""
    mean = np.asarray(valid).mean(1)
    best = float(mean.max())
    error = (best * (1 - best) / rows) ** 0.5
    return int(np.argmax(mean >= best - error))


def judge(evidence: Evidence) -> list[Finding]:
    """The report prints no numbers of its choices, so no row of the ledger has a verdict here."""
    return []


def tables(evidence: Evidence) -> dict[str, Table]:
    """One line for each candidate."""
    lines = [
        (step["what"], value, valid, size, value == evidence["chosen"][step["what"]])
        for step in evidence["steps"]
        for value, valid, size in zip(step["choices"], step["valid"], step["parameters"], strict=True)
    ]
    columns = {
        "choice": [line[0] for line in lines],
        "value": [line[1] for line in lines],
        "validation accuracy": [f"{line[2].mean():.4f}" for line in lines],
        "by seed": [", ".join(f"{a:.4f}" for a in line[2]) for line in lines],
        "parameters": [int(line[3]) for line in lines],
        "chosen": ["yes" if line[4] else "" for line in lines],
    }
    said = ", ".join(f"{name} {value}" for name, value in evidence["chosen"].items())
    return {"choices": Table(columns, f"Chosen: {said}.")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Validation error by choice, one panel a step."""
    lines = {
        step["what"]: {
            f"seed {seed}": (np.array(step["choices"], float), 100 * (1 - np.asarray(step["valid"])[:, k]))
            for k, seed in enumerate(evidence["seeds"])
        }
        for step in evidence["steps"]
    }
    return {"choices": plots.panels(lines, x="value", label="validation error in %", log=False)}
