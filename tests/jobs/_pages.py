"""Small trained runs with the files that a report reads."""

import json
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn import datasets

from ftheta import MLPClassifier, MLPRegressor
from ftheta.jobs import TrainedRun
from ftheta.jobs.report import page
from ftheta.store import Run
from ftheta.tasks import TASKS

NASTY = '<script>alert("1")</script>&$x^2$'


class Made(NamedTuple):
    """A run, and what else a page is made from."""

    run: Run
    estimator: object
    train: tuple
    shown: object

    def page(self, times_tested=""):
        return page(self.trained(), times_tested)

    def trained(self):
        """The run as it would be opened, with rows that are given here."""
        found = TrainedRun(self.run)
        found.__dict__ |= {"pipeline": (None, self.estimator), "task": TASKS[found.facts["task"]]()}
        found.__dict__ |= {"learned_from": lambda **_: self.train, "tested": (self.shown, None)}
        return found


def made(folder, name, *, epochs=8, nasty=False, **changes):
    """Train on three quarters of digits, wine or diabetes and write the run's files."""
    source = getattr(datasets, f"load_{name}")()
    names = [f"{NASTY} {i}" for i in range(source.data.shape[1])] if nasty else list(map(str, source.feature_names))
    X, y = pd.DataFrame(source.data, columns=names), source.target
    classes = None if name == "diabetes" else [f"{NASTY} {i}" if nasty else str(i) for i in np.unique(y)]
    y = y if classes is None else np.array(classes)[y]
    test = np.arange(len(X)) % 4 == 0
    scaled = ((X - X.mean()) / (X.std() + 1e-9)).to_numpy()
    kind = MLPRegressor if classes is None else MLPClassifier
    run = Run(folder)
    model = kind(hidden=(16, 8), epochs=epochs, validation=0.1, random_state=0).fit(scaled[~test], y[~test], run=run)
    predicted = model.predict(scaled[test])
    tree = {"rows": np.flatnonzero(test), "y": y[test], "predicted": predicted, "classes": classes}
    tree |= {"p": None if classes is None else model.predict_proba(scaled[test]), "low": None, "high": None}
    run.write("test.safetensors", tree)
    scores = _scores(y[test], predicted, classes)
    data = {
        **{"name": NASTY if nasty else name, "kind": "image" if name == "digits" else "table"},
        **{"shape": [8, 8] if name == "digits" else [], "rows": len(X), "target": NASTY if nasty else "y"},
        "task": "regress" if classes is None else "classify",
        "parts": {"train": int((~test).sum()), "validation": 0, "test": int(test.sum())},
        **{"test": "", "classes": classes or [], "csv_format": None},
        "columns": [{"name": name, "kind": "number", "did": "standardised"} for name in names],
        **{"notes": [], "leaks": [], "license": "BSD", "citation": "Fisher (1936).", "digest": "0" * 64},
    }
    result = {"part": "test part", "rows": int(test.sum()), "family": "mlp", "data": "0" * 64, "scores": scores}
    result |= {"intervals": {name: None if i else [0.5, 0.75] for i, name in enumerate(scores)}}
    run.write("data.json", json.dumps(data | changes.pop("data", {})))
    run.write(
        "result.json",
        json.dumps(result | {"level": 0.95, "method": dict.fromkeys(scores, "Wilson")} | changes.pop("result", {})),
    )
    source = json.dumps(NASTY if nasty else "wine")
    run.write("config.toml", f'model = "mlp"\ndata = {source}\nseed = 7\ntarget = ""\n[params]\nhidden = [16, 8]\n')
    return Made(run, model, (scaled[~test], y[~test]), X[test])


def _scores(y, predicted, classes):
    if classes is None:
        return {"MAE": float(np.abs(y - predicted).mean()), "RMSE": float(np.sqrt(np.mean((y - predicted) ** 2)))}
    return {"accuracy": float(np.mean(y == predicted)), "balanced accuracy": float(np.mean(y == predicted))}
