"""XGBoost and LightGBM: what the packages predict themselves, from trees that are ours."""

import sys

import numpy as np
import pandas as pd
import pytest

import ftheta
from ftheta import catalog
from ftheta.errors import InputError

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "size": np.where(RNG.random(400) < 0.15, np.nan, RNG.normal(size=400)),
        "color": pd.Categorical(np.where(RNG.random(400) < 0.1, None, RNG.choice(list("abcdefghijkl"), 400))),
        "age": RNG.normal(size=400),
        "sold": pd.Categorical(RNG.choice(["no", "yes"], 400)),
    }
)
CODED = FRAME[["color", "sold", "size", "age"]]  # ours come in this order: categories first
SCORE = FRAME["size"].fillna(2) + (FRAME["color"].isin(list("adgj")) & (FRAME["sold"] == "no")) * 2 + FRAME["age"] ** 2
TARGETS = {
    "Regressor": 1e5 + 1e4 * SCORE.to_numpy(),
    "Classifier": (SCORE > 2).to_numpy().astype(int),
    "Classifier of three": np.digitize(SCORE, [1, 3]),
    "Regressor of counts": RNG.poisson(np.exp(SCORE / 4)).astype(float),
}
SETTINGS = {
    "xgboost": (
        {"lr": 0.2, "max_depth": 4, "min_child_weight": 3.0, "l2": 0.5, "max_features": 0.7},
        {"learning_rate": 0.2, "max_depth": 4, "min_child_weight": 3, "reg_lambda": 0.5, "colsample_bynode": 0.7},
    ),
    "lightgbm": (
        {"lr": 0.2, "max_leaf_nodes": 9, "min_samples_leaf": 5, "l2": 0.5, "max_features": 0.7, "subsample": 0.8},
        {
            **{"learning_rate": 0.2, "num_leaves": 9, "min_child_samples": 5, "reg_lambda": 0.5},
            **{"colsample_bynode": 0.7, "subsample": 0.8, "subsample_freq": 1},
        },
    ),
}


def theirs(name, kind, **settings):
    """The package's own estimator with 12 trees of one thread."""
    package = pytest.importorskip(name)
    if kind.endswith("counts"):
        settings["objective"] = "count:poisson" if name == "xgboost" else "poisson"
    settings |= {"tree_method": "hist", "enable_categorical": True} if name == "xgboost" else {"verbosity": -1}
    settings |= {"deterministic": True} if name == "lightgbm" else {}
    prefix = {"xgboost": "XGB", "lightgbm": "LGBM"}[name]
    return getattr(package, prefix + kind.split()[0])(n_estimators=12, random_state=0, n_jobs=1, **settings)


def ours(name, kind, **settings):
    cls = catalog.resolve(name, "table", "classify" if kind.startswith("Classifier") else "regress")
    settings |= {"loss": "poisson"} if kind.endswith("counts") else {}
    return cls(n_estimators=12, random_state=0, **settings)


@pytest.mark.parametrize("own", [False, True], ids=["defaults", "settings"])
@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("name", SETTINGS)
def test_it_predicts_what_the_package_predicts_also_when_it_is_loaded_without_it(
    name, kind, own, tmp_path, monkeypatch
):
    our_settings, their_settings = SETTINGS[name] if own else ({}, {})
    peer = theirs(name, kind, **their_settings).fit(CODED, TARGETS[kind])
    model = ours(name, kind, **our_settings).fit(FRAME, TARGETS[kind])
    how = "predict_proba" if kind.startswith("Classifier") else "predict"
    expected = getattr(peer, how)(CODED)
    monkeypatch.setitem(sys.modules, name, None)
    loaded = ftheta.load(model.save(tmp_path / "model"))
    for each in (model, loaded):
        np.testing.assert_allclose(getattr(each, how)(FRAME), expected, rtol=5e-6, atol=1e-6)
    assert len(model.trees.sets) > 1 and len(model.trees.sizes) == 12 * (3 if kind.endswith("three") else 1)


@pytest.mark.parametrize("name", SETTINGS)
def test_nodes_hold_the_rows_that_reach_them(name):
    pytest.importorskip(name)
    model = ours(name, "Classifier").fit(FRAME, TARGETS["Classifier"])
    x = model._table(FRAME)
    for tree in list(model.trees.each())[:3]:
        reached = np.concatenate([tree.descend(row) for row in x])
        assert np.array_equal(np.bincount(reached, minlength=len(tree.rows)), tree.rows)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_missing_cell_where_none_was_in_fit_and_a_new_category_are_as_the_package_takes_them(name):
    full = CODED.assign(size=FRAME["size"].fillna(0.5), color=FRAME["color"].cat.add_categories("z").fillna("z"))
    peer = theirs(name, "Regressor").fit(full, TARGETS["Regressor"])
    model = ours(name, "Regressor").fit(full, TARGETS["Regressor"])
    holes = full.assign(size=np.nan, age=np.where(np.arange(400) % 2, np.nan, full["age"]), color=None)
    holes["color"] = holes["color"].astype(full["color"].dtype)
    np.testing.assert_allclose(model.predict(holes), peer.predict(holes), rtol=5e-6)
    new = holes.assign(color="violet")
    assert np.array_equal(model.predict(new), model.predict(holes))


@pytest.mark.parametrize("name", SETTINGS)
def test_a_handful_of_rows_gives_constants(name):
    pytest.importorskip(name)
    few = {"min_child_weight": 50.0} if name == "xgboost" else {}
    model = ours(name, "Regressor", **few).fit(FRAME[:10], TARGETS["Regressor"][:10])
    np.testing.assert_allclose(model.predict(FRAME), TARGETS["Regressor"][:10].mean(), rtol=1e-6)


@pytest.mark.parametrize("name", SETTINGS)
def test_without_the_package_one_sentence_says_what_to_install(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=rf"needs {name}\. Install it with: pip install 'ftheta\[boost\]'"):
        ours(name, "Regressor").fit([[0.0], [1.0]], [0.0, 1.0])


@pytest.mark.parametrize("there", [False, True])
def test_compare_tries_them_where_they_are_installed(there, monkeypatch):
    from ftheta.catalog import cards
    from ftheta.data import load
    from ftheta.jobs.leaderboard import _default

    monkeypatch.setattr(cards, "find_spec", lambda name: object() if there else None)
    tried = {card.name for card in _default(list(catalog.CARDS.values()), load("iris"), "classify")}
    assert ({"xgboost", "lightgbm"} <= tried) == there and {"xgboost", "lightgbm"}.isdisjoint(tried) != there
    assert "boosting" in tried


def test_xgboost_compares_the_float32_numbers_of_every_block_of_rows(monkeypatch):
    pytest.importorskip("xgboost")
    monkeypatch.setattr("ftheta.models.tree.packages.BLOCK", 1)
    x = np.arange(40.0)[:, None]
    model = ftheta.XGBoostRegressor(random_state=0).fit(x, (x[:, 0] >= 20) * 1.0)
    below = float(np.nextafter(np.float32(20), np.float32(0)))  # the last number on the left side
    low, edge, high = model.predict([[0.0], [below + 1e-9], [39.0]])  # in float32 it is the second one
    assert low < 0.1 and edge == model.predict([[19.0]])[0] < 0.1 and high > 0.9
