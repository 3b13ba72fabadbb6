"""Every parameter of every estimator of the catalog is heeded: another value changes what is learned or predicted.

Being in the catalog enrolls a class, and a new parameter is tried without being named here. VALUES says which other
values are tried where the annotation does not, NEEDS what a parameter has a meaning beside.
"""

from functools import cache, partial
from hashlib import sha256
from itertools import product
from typing import Annotated, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
import pytest

from tests.contract.enrolled import CLASSES, answers, data, name_of, small, takes, tensors
from tests.contract.test_families import SUBJECTS

pytestmark = pytest.mark.filterwarnings("ignore")

REPEATED = "repeats the series as it is"
ELSEWHERE = {  # no other numbers are due, or a test of their own needs other data
    "device": "the same numbers",
    "n_jobs": "the same numbers",
    "training": "tests/train",
    "warm_start": "two fits: tests/models/test_neural.py",
    "module": "the net itself",
    "image_shape": "flat rows: test_families.py",
    "start": "a saved model: tests/models/image/test_convnet.py",
    "embedding": "tokens: tests/models/sequence/test_rows.py",
    "categories": "groups of columns: test_families.py",
    "keep": "labels: tests/models/energy",
    "NaiveForecaster.lags": REPEATED,
    "NaiveForecaster.log": REPEATED,
    "NaiveForecaster.difference": REPEATED,
    "ETSForecaster.lags": "has its own states",
    "ETSForecaster.difference": "has its own trend",
    "HopfieldNetwork.epochs": "one pass over the patterns",
    "ignore_label": "three labels: tests/models/image/test_unet.py",
    "Ridge.choose": "rows of high leverage: tests/models/linear/test_ridge.py",
}
VALUES = {
    "BoostingClassifier.max_features": [0.5],
    "BoostingRegressor.max_features": [0.5],
    "SVMRegressor.solver": ["dual", "subgradient"],
    "activation": ["sigmoid"],
    "alphas": [(0.1, 10.0)],
    "augment": ["shift"],
    "class_weight": ["balanced"],
    "CommitteeClassifier.members": [("linear", "forest")],
    "CommitteeForecaster.members": [("ar", "kernel-ridge")],
    "dropout": [0.5],
    "filters": [(3, 8)],
    "frequencies": [[1.0, 2.5]],
    "init": ["lecun"],
    "known_ahead": [("k",)],
    "likelihood": ["gaussian-learned"],
    "lr": [0.003],
    "max_features": [0.3, 0.8],
    "max_iter": [1],
    "max_leaf_nodes": [3],
    "min_child_weight": [10.0],
    "mean_field": [1],
    "members": [("ridge", "tree")],
    "n_components": [1],
    "noise": [0.0, 0.3],
    "norm": ["none", "batch", "layer"],
    "optimizer": ["adam", "sgd"],
    "priors": ["uniform"],
    "RBFClassifier.centers": ["random"],
    "RestrictedBoltzmannMachine.visible": ["gaussian"],
    "season": [3, 7],
    "settings": [{"epochs": 1, "hidden": (4,)}],
    "skip": ["sum", "none"],
    "target": ["b"],
    "tol": [1.0],
    "up": ["bilinear", "transposed"],
    "widths": [2.0],
}
GAUSSIAN, TWO_STAGES = {"basis": "gaussian", "size": 2}, {"filters": (4,)}
NETS = {"members": ("mlp",), "settings": {"epochs": 1, "hidden": (3,)}}
NEEDS = {
    "beta": {"interaction": "continuous"},
    "BoltzmannMachine.chains": {"method": "gibbs"},
    "BoltzmannMachine.k": {"method": "gibbs"},
    "centers": GAUSSIAN,
    "coef0": {"kernel": "poly"},
    "CommitteeForecaster.copies": NETS,
    "CommitteeForecaster.random_state": NETS,
    "CommitteeForecaster.settings": NETS,
    "convs": TWO_STAGES,
    "decay": {"rule": "design", "unit": "saturated"},
    "degree": {"kernel": "poly"},
    "difference": {"difference": 0, "season": 7},
    "dropout": {"layers": 2},
    "fit_intercept": GAUSSIAN,
    "frequencies": {"basis": "fourier"},
    "head": TWO_STAGES,
    "input_order": {"known_ahead": ("k",)},
    "kernel": TWO_STAGES,
    "learn": {**GAUSSIAN, "max_iter": 3},
    "LogisticRegression.random_state": {"validation": 0.3},
    "LightGBMClassifier.max_depth": {"min_samples_leaf": 1},
    "LightGBMRegressor.max_depth": {"min_samples_leaf": 1},
    "max_iter": {**GAUSSIAN, "learn": True, "max_iter": 9},
    "log": {"known_ahead": ("k",)},
    "method": {"season": 7},
    "order": {"interaction": "polynomial"},
    "patience": {"validation": 0.3, "epochs": 60, "n_estimators": 60, "lr": 1.0, "patience": 1, "early_stopping": True},
    "Perceptron.epochs": {"rule": "delta"},
    "Perceptron.patience": {"rule": "delta", "epochs": 60, "validation": 0.3, "lr": 0.1, "patience": 1},
    "Perceptron.tol": {"rule": "delta", "epochs": 60},
    "random_state": {"update": "asynchronous", "centers": "random", "early_stopping": True, "subsample": 0.5},
    "seasonal": {"season": 7},
    "size": GAUSSIAN,
    "solver": {"kernel": "linear"},
    "step": {"unit": "saturated", "rule": "design"},
    "ModernHopfield.steps": {"interaction": "continuous", "steps": 1},
    "steps": {"kernel": "linear", "solver": "subgradient", "steps": 1},
    "temperatures": {"method": "tempering", "temperatures": 2},
    "validation": {"early_stopping": True},
    "widths": GAUSSIAN,
}


def own(table, cls, name):
    """The entry of a class, or that of all classes with such a parameter."""
    return table.get(f"{cls.__name__}.{name}", table.get(name))


def kinds(hint):
    """The alternatives in an annotation."""
    if get_origin(hint) is None or get_origin(hint) in (Annotated, Literal, tuple, list):
        return [hint]
    return [kind for part in get_args(hint) for kind in kinds(part)]


def others(cls, name, value):
    """Values of a parameter other than the one it has."""
    if isinstance(value, tuple) and name == "hidden":
        return [(5,)]
    found = list(own(VALUES, cls, name) or ())
    for kind in kinds(get_type_hints(cls)[name]) if not found else ():
        if get_origin(kind) is Literal:
            found += get_args(kind)
        elif kind is bool:
            found += [True, False]
        elif kind is int:
            found += [value + 1 if isinstance(value, int) else 2]
        elif kind is float and not isinstance(value, int):
            found += [value / 2 if isinstance(value, float) and value else 0.25]
    return [v for v in found if v != value or type(v) is not type(value)]


# ---- who is tried, and on what


def series():
    """Two positive columns that grow, with a season of seven steps, and one that is known ahead."""
    rng, t = np.random.default_rng(0), np.arange(90)
    own = np.exp(0.01 * t)[:, None] * (5 + np.stack([np.sin(t * 2 * np.pi / 7), np.cos(t)], 1))
    known = rng.normal(size=(90, 1))
    frame = np.concatenate([own + 0.2 * known + 0.1 * rng.normal(size=(90, 2)), known], 1)
    return pd.DataFrame(frame, columns=["a", "b", "k"]), None


def table(cls):
    X, y = data(cls)
    return X.round(1), y


TRIED = {cls: ({}, partial(table, cls)) for cls in CLASSES}  # settings and data of each class
for _subject in SUBJECTS.values():
    if not _subject.cls.__module__.startswith("tests"):
        _more = {"members": ("ar", "naive")} if _subject.cls.__name__ == "CommitteeForecaster" else {}
        TRIED.setdefault(
            _subject.cls, (_subject.settings | _more, series if _subject.kind == "series" else _subject.data)
        )
HEAVY = ("ResNetClassifier", "UNetSegmenter", "TCNForecaster", "StateSpaceForecaster", "CommitteeForecaster")  # to fit
PAIRS = [(cls, name) for cls in TRIED for name in cls._get_param_names() if own(ELSEWHERE, cls, name) is None]


def enrolled():
    """Each parameter where a class says it first; the classes that inherit it are of the second tier."""
    seen = set()
    for cls, name in PAIRS:
        where = next(base for base in cls.__mro__ if name in vars(base).get("__annotations__", {}))
        first = (where, name) not in seen and cls.__name__ not in HEAVY
        seen.add((where, name))
        yield pytest.param(cls, name, id=f"{name_of(cls)}-{name}", marks=[] if first else [pytest.mark.middle])


def make(cls, **settings):
    given = {k: v for k, v in ({"random_state": 0} | TRIED[cls][0] | settings).items() if takes(cls, k)}
    return small(cls, **given) if cls in CLASSES else cls(**given)


def outcome(cls, settings):
    """Everything that was learned, and everything that is said of the rows."""
    X, y = TRIED[cls][1]()
    fitted = make(cls, **settings)
    fitted = fitted.fit(X) if y is None else fitted.fit(X, y)
    said = fitted.rolled(X) if hasattr(fitted, "rolled") else answers(fitted, X)
    if hasattr(fitted, "recall"):
        said = {"recall": fitted.recall(np.array(list(product([-1, 1], repeat=8))))}
    joined = {k: np.concatenate(v) if isinstance(v, list) else np.asarray(v) for k, v in said.items()}
    kept = {k: v for k, v in fitted.get_state().items() if k not in ("seed_", "input_")}
    return sha256(repr({k: v.tobytes() for k, v in (tensors(kept) | joined).items()}).encode()).hexdigest()


@cache
def usual(cls, name):
    return outcome(cls, own(NEEDS, cls, name) if name else {})


@pytest.mark.parametrize(("cls", "name"), list(enrolled()))
def test_another_value_of_a_parameter_makes_a_difference(cls, name):
    """All values of it differ from each other, except that "auto" and None may stand for another one."""
    beside = own(NEEDS, cls, name) or {}
    value = make(cls, **beside).get_params(deep=False)[name]
    tried = others(cls, name, value)
    assert tried, f"VALUES needs another value of {name} than {value!r}"
    found = [(value, usual(cls, name if beside else ""))] + [(v, outcome(cls, beside | {name: v})) for v in tried]
    exact = [made for v, made in found if v is not None and v != "auto"]
    assert len(set(exact)) == len(exact) and len({made for _, made in found}) > 1
