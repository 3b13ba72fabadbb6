"""What weights, seeds, second targets and names of scores promise, wherever they are taken.

Classes are enrolled from the catalog, explanations from their registry, and scores from the functions that give them.
"""

import importlib
import inspect

import numpy as np
import pytest
from sklearn.utils import _safe_indexing as taken
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ftheta import explain, measure, models
from tests.contract.enrolled import NEURAL, REGRESSORS, WEIGHTED, data, name_of, small, takes, tensors
from tests.contract.test_explanation import GIVEN, NAMES, made, numbers
from tests.contract.test_explanation import SUBJECTS as EXPLAINED
from tests.contract.test_families import SLOW, SUBJECTS
from tests.contract.test_options import TRIED, make

pytestmark = pytest.mark.filterwarnings("ignore")


def close(found, expected, **tolerance):
    """Whether all numbers of two trees are the same."""
    left, right = tensors([found]), tensors([expected])
    assert left.keys() == right.keys() and left
    for name in left:
        np.testing.assert_allclose(left[name], right[name], err_msg=name, **tolerance)


# ---- weights


def weighed(fitted, X, y, weight=None):
    """All that is said of weighted rows, and what the model says of its fit."""
    names = [n for n in dir(type(fitted)) if isinstance(inspect.getattr_static(type(fitted), n), property)]
    own = {n: getattr(fitted, n) for n in names if not n.startswith("_") and n.endswith("_")}
    history = [{k: v for k, v in row.items() if k != "seconds"} for row in getattr(fitted, "history_", ())]
    rest = () if weight is None else (weight,)
    said = [getattr(fitted, m)(X, y, *rest) for m in ("score", "evaluate") if hasattr(fitted, m)]
    return [history, {k: v for k, v in own.items() if np.asarray(v).dtype.kind == "f"}, said]


@pytest.mark.parametrize("cls", [cls for cls in WEIGHTED if hasattr(cls, "score")], ids=name_of)
def test_weight_k_is_k_copies_in_scores_histories_and_properties(cls):
    (X, y), copies = data(cls, n=60), np.random.default_rng(3).integers(0, 4, 60)
    several = np.repeat(X, copies, 0), np.repeat(y, copies)
    by_weight, by_copies = small(cls).fit(X, y, copies), small(cls).fit(*several)
    close(weighed(by_weight, X, y, copies), weighed(by_copies, *several), rtol=1e-6, atol=1e-9)
    assert by_weight.score(X, y, copies) != by_weight.score(X, y)


def methods(cls):
    return [m for m in ("score", "evaluate") if has_fit_parameter(getattr(cls, m, object), "sample_weight")]


OTHERS = [name for name, s in SUBJECTS.items() if s.kind != "series" and methods(s.cls)]


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.middle] * (n in SLOW)) for n in OTHERS])
def test_weights_of_other_kinds_are_copies_in_every_score(name):
    subject, (X, y) = SUBJECTS[name], SUBJECTS[name].data()
    model, copies = subject.make(epochs=1).fit(X, y), np.arange(len(X)) % 3
    index = np.repeat(np.arange(len(X)), copies)
    some = [v if v is None else taken(v, index) for v in (X, y)]
    for method in methods(subject.cls):
        ask = getattr(model, method)
        close(ask(X, y, copies), ask(*some), rtol=1e-5)
        assert method == "score" or ask(X, y, copies) != ask(X, y)


# ---- seeds


DRAWN = {  # methods with a random_state, and what they are called with
    "sample": lambda m, X, seed: m.sample(5, random_state=seed),
    "gibbs": lambda m, X, seed: m.gibbs(X, 2, random_state=seed),
    "fill_in": lambda m, X, seed: m.fill_in(X, np.arange(X.shape[1]) < 2, 3, random_state=seed),
    "partition": lambda m, X, seed: m.partition("ais", chains=10, temperatures=100, random_state=seed)._asdict(),
    "pseudo_likelihood": lambda m, X, seed: m.pseudo_likelihood(X, random_state=seed),
    "recall": lambda m, X, seed: m.recall(X, noise=0.3, steps=1, random_state=seed),
}


def drawing():
    for cls in TRIED:
        for name in dir(cls):
            own = getattr(cls, name) if not name.startswith("_") and name != "fit" else None
            exact = (cls, name) == (models.BoltzmannMachine, "partition")
            if not exact and inspect.isfunction(own) and "random_state" in inspect.signature(own).parameters:
                yield cls, name


@pytest.mark.parametrize(("cls", "name"), sorted(drawing(), key=str))
def test_what_is_drawn_is_a_function_of_its_seed(cls, name):
    X, y = TRIED[cls][1]()
    model = make(cls).fit(X, y)
    same, again, other = (digest_of(DRAWN[name](model, X, seed)) for seed in (0, 0, 1))
    assert same == again != other


def digest_of(value):
    return repr({k: v.tobytes() for k, v in tensors([value]).items()})


DRAWING = [n for n in NAMES if "random_state" in inspect.signature(explain.get(n).function).parameters]
QUICK = ("importance", "dependence", "attribution", "mislabeled", "network", "recall", "chains")
OPTIONS = {"network": {"dropped": 0.5}}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.middle] * (n not in QUICK)) for n in DRAWING])
def test_another_seed_gives_another_explanation(name, monkeypatch):
    monkeypatch.setattr(importlib.import_module("ftheta.explain.predictions.effects"), "EXACT", 1)  # sampled

    def digest(subject, seed):
        result = explain.run(name, made(subject), *EXPLAINED[subject][1], random_state=seed, **OPTIONS.get(name, {}))
        return digest_of(numbers(result))

    assert any(digest(s, 0) != digest(s, 1) for n, s in GIVEN if n == name)


# ---- second targets


def swapped(a):
    return a[..., ::-1]


TWO = [cls for cls in REGRESSORS if get_tags(cls()).target_tags.multi_output and cls not in NEURAL]


@pytest.mark.parametrize("cls", [*TWO, models.MLPRegressor], ids=name_of)
def test_targets_in_another_order_are_predictions_in_that_order(cls):
    (X, y), settings = data(cls), {}
    Y = np.stack([y, 100 * X[:, 0] ** 2], 1)
    if cls is models.MLPRegressor:  # one layer that starts at zero: nothing is drawn
        settings = {"hidden": (), "init": "zeros", "likelihood": "gaussian-heteroscedastic", "dtype": "float64"}
    if takes(cls, "members"):
        settings = {"members": ("linear", "ridge")}
    one, other = small(cls, **settings).fit(X, Y), small(cls, **settings).fit(X, swapped(Y))
    weight = np.linspace(0, 2, len(X))
    close(swapped(one.predict(X)), other.predict(X), rtol=1e-6)
    close(one.score(X, Y, weight), other.score(X, swapped(Y), weight), rtol=1e-6)
    if hasattr(one, "evaluate"):
        close(one.evaluate(X, Y, weight), other.evaluate(X, swapped(Y), weight), rtol=1e-6)
    if hasattr(one, "predict_interval"):
        close(one.predict_interval(X)[:, ::-1], other.predict_interval(X), rtol=1e-5)


PLAIN = [s for s in SUBJECTS.values() if s.kind == "series" and not hasattr(s.cls, "epochs")]


@pytest.mark.parametrize("subject", PLAIN, ids=lambda s: name_of(s.cls))
def test_columns_of_a_series_in_another_order_are_forecasts_in_that_order(subject):
    frame = TRIED[subject.cls][1]()[0][["a", "b"]] * [1.0, 50.0]
    settings = {"members": ("naive", "ets"), "season": 7, "horizon": 3}
    one, other = (subject.make(**settings).fit(X[:80]) for X in (frame, frame[["b", "a"]]))
    close(swapped(one.predict()), other.predict(), rtol=1e-6)
    close(
        swapped(one.predict_interval(level=0.6).swapaxes(-1, -2)),
        other.predict_interval(level=0.6).swapaxes(-1, -2),
        rtol=1e-6,
    )
    found, turned = one.rolled(frame[80:]), other.rolled(frame[["b", "a"]][80:])
    assert found.keys() == turned.keys()
    for name, value in found.items():
        close(
            swapped(value) if np.ndim(value) == 2 else np.asarray(value, float),
            np.asarray(turned[name], float),
            rtol=1e-6,
        )
    close(
        [s[1:4] for s in measure.Backtest.of(found).scores().scores],
        [s[1:4] for s in measure.Backtest.of(turned).scores().scores],
        rtol=1e-6,
    )


# ---- names of scores


def pairs():
    """Scores of predictions that are right, and of bad ones."""
    rng = np.random.default_rng(0)
    y, x = np.arange(60) % 3, rng.normal(size=60)
    right, wrong = np.eye(3)[y] * 0.97 + 0.01, rng.dirichlet([1, 1, 1], 60)
    few = (np.arange(60) < 6).astype(int)
    yield measure.classification(y, right), measure.classification(y, wrong)
    yield measure.labels(few, few), measure.labels(few, few[::-1])
    yield (measure.regression(x, p, low=p - w, high=p + w) for p, w in ((x, 0.1), (x[::-1], 1.0)))
    known = {"y": x, "naive": x + 1, "scale": np.ones(60), "lead": np.arange(60) % 3 + 1, "origin": np.arange(60) // 3}
    yield (
        measure.Backtest.of(known | {"predicted": p, "low": p - w, "high": p + w}).scores()
        for p, w in ((x + 0.01, 0.1), (x[::-1], 1.0))
    )


@pytest.mark.parametrize("number", range(4))
def test_a_score_is_better_where_its_name_says_so(number):
    right, wrong = list(pairs())[number]
    for good, bad in zip(right.scores, wrong.scores, strict=True):
        assert good.name == bad.name
        assert (good.value < bad.value) == measure.lower_is_better(good.name), good.name
