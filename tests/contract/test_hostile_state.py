"""What a file says of any estimator may be absurd: loading it or using it gives one error of fθ, and quickly."""

from contextlib import suppress

import numpy as np
import pytest
import torch

import ftheta
from ftheta import catalog
from ftheta.errors import FThetaError, InputError
from ftheta.store import Run

CARDS = [(card, kind, task) for card in catalog.CARDS.values() for kind, task in card.targets]
GONE = object()
ABSURD = ["x", -1, 1e308, None, True, [], {}, ["x"], np.zeros(0), np.full((2, 3), np.nan), np.array(["x"]), GONE]
HUGE = [10**9, 10**30, torch.zeros(2)]  # not of parameters, which may say how often something is repeated
SETTINGS = {
    "epochs": 1,
    "random_state": 0,
    "hidden": (3,),
    "filters": (2,),
    "n_hidden": 3,
    "max_iter": 50,
    "lags": 3,
    "copies": 1,
}


def fitted(card, kind, task):
    """A small estimator of a line of the catalog, and rows of its kind."""
    cls = catalog.resolve(card.name, kind, task)
    known = cls().get_params(deep=False)
    own = {k: v for k, v in SETTINGS.items() if k in known}
    if "hidden" in own:
        own["hidden"] = 3 if isinstance(known["hidden"], int) else (3, 2) if card.name == "dbm" else (3,)
    rng = np.random.default_rng(0)
    X = rng.random((12, 1, 8, 8)) if kind == "image" else rng.normal(size=(40, 3))
    if kind == "series":
        return cls(**own).fit(X[:, :1]), X[:, :1]
    if kind == "sequence":
        X = [row[:, None] for row in X]
    if task in ("recall", "generate"):
        X = np.where(X > 0, 1.0, -1.0 if task == "recall" else 0.0)
    y = rng.normal(size=len(X)) if task == "regress" else np.arange(len(X)) % 2
    y = rng.integers(0, 2, (len(X), 8, 8)) if task == "segment" else y
    y = [np.arange(3) % 2 for _ in X] if task == "tag" else y
    return cls(**own).fit(X, y), X[:2]


def used(model, X):
    for name in ("predict", "predict_proba", "transform", "decision_function", "predict_interval"):
        if hasattr(model, name):
            with suppress(InputError):  # e.g. no interval
                getattr(model, name)(X)


def places(tree, path=()):
    """Every entry of a tree by its path, inner ones too."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree[:2]):
        yield (*path, key)
        if isinstance(value, dict | list | tuple):
            yield from places(value, (*path, key))


def changed(tree, path, value):
    """A copy of a tree with another value at a path, or without that entry."""
    if not path:
        return value
    inner = changed(tree[path[0]], path[1:], value)
    if isinstance(tree, dict):
        return {k: inner if k == path[0] else v for k, v in tree.items() if k != path[0] or inner is not GONE}
    return type(tree)(inner if i == path[0] else v for i, v in enumerate(tree) if i != path[0] or inner is not GONE)


@pytest.mark.middle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("card", "kind", "task"), CARDS, ids=lambda part: getattr(part, "name", part))
def test_absurd_values_of_a_file_are_one_error(card, kind, task, tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda fd: None)
    model, X = fitted(card, kind, task)
    path = model.save(tmp_path / "model")
    tree = Run(path).tree("model.safetensors")
    used(ftheta.load(path), X)
    rng, refused = np.random.default_rng(1), 0
    for place in places(tree):
        values = [*ABSURD, *(HUGE if place[0] == "state" else [])]
        for k in rng.permutation(len(values))[:4]:
            with Run(path) as run:
                run.write("model.safetensors", changed(tree, place, values[k]))
            try:
                used(ftheta.load(path), X)
            except FThetaError as error:
                refused += 1
                assert len(str(error)) < 2000, place
    assert refused > 10
