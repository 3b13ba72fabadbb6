"""Trees, forests and boosting: what scikit-learn predicts to the last bit, and what the arrays of a file say of it."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import ftheta
from ftheta.errors import InputError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 4))
HOLES = np.where(RNG.random(X.shape) < 0.15, np.nan, X)
SCORE = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
LABELS = np.digitize(SCORE, [-0.5, 0.5])
NEW = np.r_[RNG.normal(size=(60, 4)), [[np.nan] * 4]]
PAIRS = {  # ours, theirs
    "tree": (ftheta.TreeClassifier(ccp_alpha=0.01, max_depth=5), DecisionTreeClassifier(ccp_alpha=0.01, max_depth=5)),
    "entropy": (
        ftheta.TreeClassifier(criterion="entropy", ccp_alpha=0.0, min_samples_leaf=4, max_leaf_nodes=9),
        DecisionTreeClassifier(criterion="entropy", min_samples_leaf=4, max_leaf_nodes=9),
    ),
    "numbers": (ftheta.TreeRegressor(ccp_alpha=0.0, max_features=0.5), DecisionTreeRegressor(max_features=0.5)),
    "boosted": (ftheta.BoostingClassifier(n_estimators=6), HistGradientBoostingClassifier(max_iter=6)),
    "boosted numbers": (
        ftheta.BoostingRegressor(n_estimators=6, lr=0.3, l2=0.5, max_leaf_nodes=7, min_samples_leaf=5),
        HistGradientBoostingRegressor(
            max_iter=6, learning_rate=0.3, l2_regularization=0.5, max_leaf_nodes=7, min_samples_leaf=5
        ),
    ),
    "stopped": (
        ftheta.BoostingRegressor(loss="absolute_error", early_stopping=True, validation=0.3, patience=2),
        HistGradientBoostingRegressor(
            loss="absolute_error", early_stopping=True, validation_fraction=0.3, n_iter_no_change=2
        ),
    ),
}


def target(model):
    return LABELS if hasattr(model, "predict_proba") else SCORE


@cache
def fitted(name):
    ours, theirs = PAIRS[name]
    y = target(ours)
    return ours.set_params(random_state=3).fit(HOLES, y), theirs.set_params(random_state=3).fit(HOLES, y)


@pytest.mark.parametrize("name", PAIRS)
def test_it_predicts_what_scikit_learn_predicts_and_a_saved_one_too(name, tmp_path):
    ours, theirs = fitted(name)
    loaded = ftheta.load(ours.save(tmp_path / "model"))
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(theirs, method):
            expected = getattr(theirs, method)(NEW)
            assert np.array_equal(getattr(ours, method)(NEW), expected), method
            assert np.array_equal(getattr(loaded, method)(NEW), expected), method
    assert len({len(row) for row in (ours.predict(NEW), NEW)}) == 1 and len(np.unique(ours.predict(NEW))) > 1


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (ftheta.ForestClassifier(max_depth=6), RandomForestClassifier(max_depth=6)),
        (ftheta.ForestRegressor(min_samples_leaf=3), RandomForestRegressor(min_samples_leaf=3)),
        (ftheta.ForestClassifier(bootstrap=False), RandomForestClassifier(bootstrap=False)),
    ],
    ids=["classes", "numbers", "all rows"],
)
def test_a_forest_is_scikit_learns_of_the_same_rows_in_its_own_order(ours, theirs, tmp_path):
    from ftheta.models.tree.grown import keys  # the order; where it is the same, so are the drawn rows

    y, settings = target(ours), {"n_estimators": 12, "random_state": 5}
    order, bag = np.lexsort((y, keys(HOLES.astype(np.float32), 0))), {"oob_score": True} if theirs.bootstrap else {}
    ours = ours.set_params(**settings).fit(HOLES, y)
    theirs = theirs.set_params(**settings, **bag).fit(HOLES[order], y[order])
    loaded = ftheta.load(ours.save(tmp_path / "model"))
    for method in ("predict", "predict_proba") if hasattr(theirs, "predict_proba") else ("predict",):
        expected = getattr(theirs, method)(NEW)
        assert np.array_equal(getattr(ours, method)(NEW), expected)
        assert np.array_equal(getattr(loaded, method)(NEW), expected)
    *_, last = loaded.staged(NEW)
    np.testing.assert_allclose(last, getattr(theirs, method)(NEW), rtol=1e-12)
    assert ("oob_" in vars(ours)) == theirs.bootstrap
    if theirs.bootstrap:
        wrong = 1 - theirs.oob_score_ if method == "predict_proba" else (1 - theirs.oob_score_) * y.var()
        assert ours.oob_["error"][-1] == pytest.approx(wrong) and ours.oob_["share"][-1] == 1
        assert ours.oob_["trees"][[0, -1]].tolist() == [1, 12]


def test_adaboost_is_scikit_learns(tmp_path):
    ours = ftheta.AdaBoostClassifier(n_estimators=9, max_depth=2, lr=0.7, random_state=1).fit(X, LABELS)
    stump = DecisionTreeClassifier(max_depth=2)
    theirs = AdaBoostClassifier(stump, n_estimators=9, learning_rate=0.7, random_state=1).fit(X, LABELS)
    loaded = ftheta.load(ours.save(tmp_path / "model"))
    assert np.array_equal(loaded.predict_proba(NEW[:-1]), theirs.predict_proba(NEW[:-1]))
    assert np.array_equal(ours.predict(NEW[:-1]), theirs.predict(NEW[:-1])) and not hasattr(ours, "class_weight_")
    with pytest.raises(InputError, match="X contains NaN: 4 values, first at row 60"):
        ours.predict(NEW)
    with pytest.raises(InputError, match="The first tree, of max_depth=1, is not better than chance"):
        ftheta.AdaBoostClassifier().fit(np.zeros((4, 1)), [0, 1, 0, 1])


# ---- missing cells and categories

FRAME = pd.DataFrame({"size": HOLES[:, 0], "color": RNG.choice(["red", "green", "blue"], 160), "flag": X[:, 1] > 0})
FRAME.loc[::9, "color"] = None
FRAME["town"] = pd.Categorical(np.array(list("abcdef"))[np.arange(160) % 6])
PRICE = np.where(FRAME["color"] == "red", 5.0, np.where(FRAME["color"] == "blue", -5.0, 0.0)) + SCORE
PRICE += 3 * np.where(X[:, 1] > 0, FRAME["town"].isin(["a", "d"]), FRAME["town"].isin(["b", "c", "d"]))


@pytest.mark.parametrize("kind", ["category", "object"])
def test_boosting_splits_categories_as_scikit_learn_does_and_takes_new_ones_as_missing(kind, tmp_path):
    frame = FRAME.astype({"color": kind})
    ours = ftheta.BoostingRegressor(n_estimators=20, random_state=0).fit(frame, PRICE)
    theirs = HistGradientBoostingRegressor(max_iter=20, random_state=0).fit(FRAME.astype({"color": "category"}), PRICE)
    loaded = ftheta.load(ours.save(tmp_path / "model"))
    new = frame.assign(color=frame["color"].astype(object).where(np.arange(160) % 7 > 0, "violet"))
    gone = FRAME.assign(color=new["color"].where(new["color"] != "violet", None)).astype({"color": "category"})
    for model in (ours, loaded):
        assert np.array_equal(model.predict(frame), theirs.predict(FRAME.astype({"color": "category"})))
        assert np.array_equal(model.predict(new), theirs.predict(gone))
    assert {j: "".join(found) for j, found in loaded.categories_.items()} == {1: "bluegreenred", 3: "abcdef"}
    assert len(np.unique(loaded.trees.sets, axis=0)) > 4  # sets of later trees are others than those of the first


def test_a_category_of_rows_without_weight_is_not_learned():
    weight = np.where(FRAME["color"] == "blue", 0.0, 1.0)
    kept = weight > 0
    weighted = ftheta.BoostingRegressor(n_estimators=5, random_state=0).fit(FRAME, PRICE, weight)
    alone = ftheta.BoostingRegressor(n_estimators=5, random_state=0).fit(FRAME[kept], PRICE[kept])
    assert weighted.categories_[1].tolist() == ["green", "red"]
    assert np.array_equal(weighted.predict(FRAME), alone.predict(FRAME))


def test_too_many_categories_and_nothing_but_holes_are_refused():
    many = pd.DataFrame({"name": [f"n{i}" for i in range(300)]})
    with pytest.raises(InputError, match=r"Column 'name' \(0\) has 300 categories; at most 255 are taken"):
        ftheta.BoostingRegressor().fit(many, np.arange(300.0))
    for cls in (ftheta.TreeRegressor, ftheta.ForestRegressor, ftheta.BoostingRegressor):
        with pytest.raises(InputError, match="X holds NaN only"):
            cls().fit(np.full((5, 2), np.nan), np.arange(5.0))


# ---- shapes of trees


def test_a_tree_of_depth_0_is_the_most_frequent_class_or_the_mean():
    tree = ftheta.TreeClassifier(max_depth=0, random_state=0).fit(X, LABELS)
    assert tree.trees.sizes.tolist() == [1] and (tree.predict(X) == np.bincount(LABELS).argmax()).all()
    np.testing.assert_allclose(tree.predict_proba(X[:1])[0], np.bincount(LABELS) / len(LABELS))
    forest = ftheta.ForestRegressor(max_depth=0, bootstrap=False, n_estimators=3, random_state=0).fit(X, SCORE)
    np.testing.assert_allclose(forest.predict(X[:2]), SCORE.mean())


@pytest.mark.ledger("A081", covers="ftheta.TreeClassifier")
def test_without_noise_leaves_are_pure_and_constant_columns_are_not_asked():
    constant = np.c_[X, np.full(len(X), 14.62)]
    classes = np.array(["low", "middle", "high"])[LABELS]
    tree = ftheta.TreeClassifier(ccp_alpha=0.0, random_state=0).fit(constant, classes)
    leaf = tree.trees.left < 0
    assert (tree.trees.impurity[leaf] == 0).all() and tree.score(constant, classes) == 1.0
    assert 4 not in tree.trees.feature[~leaf]
    found = ftheta.explain.tree(tree, constant, names=["a", "b", "c", "d", "e"])
    rules = dict(zip(found.table().columns["if"], found.table().columns["y"], strict=True))
    assert len(rules) == leaf.sum() and sum(found.table().columns["rows"]) == len(X)
    for row, said in zip(constant[:20], classes, strict=False):  # each row satisfies one rule, that of its class
        held = [rule for rule in rules if eval(rule.replace("≤", "<="), {}, dict(zip("abcde", row, strict=True)))]
        assert [rules[rule] for rule in held] == [f"{said} 100 %"]
    assert len(found.figure().axes[0].texts) >= 10


def test_whole_weights_are_copies_other_weights_are_relative_and_a_forest_is_the_same_in_any_order():
    weight, order = RNG.integers(0, 4, 160), RNG.permutation(160)
    for model in (
        ftheta.ForestRegressor(n_estimators=5),
        ftheta.TreeRegressor(),
        ftheta.BoostingRegressor(n_estimators=9),
    ):
        model.set_params(random_state=0, min_samples_leaf=3)
        copies = model.fit(np.repeat(X, weight, 0), np.repeat(SCORE, weight)).predict(X)
        assert np.array_equal(model.fit(X, SCORE, weight).predict(X), copies)
        if isinstance(model, ftheta.ForestRegressor):
            assert np.array_equal(model.fit(X[order], SCORE[order], weight[order]).predict(X), copies)
    some = RNG.random(160) + 0.5
    first = ftheta.BoostingRegressor(l2=1.0, n_estimators=9, random_state=0).fit(X, SCORE, some).predict(X)
    assert np.allclose(
        ftheta.BoostingRegressor(l2=1.0, n_estimators=9, random_state=0).fit(X, SCORE, 4 * some).predict(X), first
    )


def test_numbers_beyond_float32_are_as_large_as_it_holds():
    huge = np.array([[1.0], [2.0], [1e60], [1e70]])
    tree = ftheta.TreeClassifier(ccp_alpha=0.0).fit(huge, ["small", "small", "large", "large"])
    assert tree.predict([[-1e90], [5.0], [1e80]]).tolist() == ["small", "small", "large"]
    with pytest.raises(InputError, match="at most 1e100 is taken"):
        tree.predict([[1e101]])


def test_questions_are_in_the_units_and_names_of_the_user():
    x = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    tree = ftheta.TreeRegressor(ccp_alpha=0.0, random_state=0).fit(x, [1.0, 1.0, 5.0, 9.0])
    words = {"names": ["size", "color=red"], "scales": [[100.0, 10.0], [0.0, 1.0]], "target": "price"}
    columns = ftheta.explain.tree(tree, x, row=3, **words).table().columns
    found = dict(zip(columns["if"], columns["price"], strict=True))
    assert found == {"size ≤ 110": "1", "size > 110 and color ≠ red": "5", "size > 110 and color = red": "9"}
    caption = ftheta.explain.tree(tree, x, row=3, **words).caption
    assert caption == "3 leaves, at most 2 questions deep. Row 3: size > 110, color = red: price is 9."
    with pytest.raises(InputError, match="row=9, but X has 4 rows"):
        ftheta.explain.tree(tree, x, row=9)


# ---- pruning, bags, votes


@pytest.mark.ledger("A083", covers="ftheta.TreeClassifier")
def test_pruning_lowers_the_leaves_and_not_the_accuracy_of_new_rows():
    rng, fewer, better = np.random.default_rng(1), [], []
    for seed in range(6):
        x = rng.normal(size=(600, 5))
        y = ((x[:, 0] > 0) ^ (rng.random(600) < 0.2)).astype(int)  # a fifth of the labels is wrong
        train, new = slice(300), slice(300, 600)
        trees = [ftheta.TreeClassifier(ccp_alpha=a, random_state=seed).fit(x[train], y[train]) for a in (0.0, "auto")]
        leaves = [(tree.trees.left < 0).sum() for tree in trees]
        fewer.append(leaves[1] / leaves[0])
        better.append(trees[1].score(x[new], y[new]) - trees[0].score(x[new], y[new]))
        path = trees[1].pruning_
        assert path["leaves"][path["chosen"]] == leaves[1] and path["leaves"][0] == leaves[0]
        assert (np.diff(path["leaves"]) <= 0).all() and (np.diff(path["alpha"]) > 0).all()
        limit = path["error"].min() + path["deviation"][path["error"].argmin()]
        assert path["chosen"] == np.flatnonzero(path["error"] <= limit).max()
    assert max(fewer) < 0.2 and np.mean(better) > 0.05


def test_the_smallest_tree_within_one_standard_error_of_the_best_is_taken():
    y, smaller = SCORE + RNG.normal(size=160), 0
    for seed in range(4):
        path = ftheta.TreeRegressor(random_state=seed).fit(X, y).pruning_
        best = path["error"].argmin()
        limit = path["error"][best] + path["deviation"][best]
        assert path["chosen"] == np.flatnonzero(path["error"] <= limit).max()
        smaller += path["chosen"] > best
    assert smaller


def test_equal_rows_are_in_one_fold_so_that_copies_do_not_hide_the_noise():
    x, y = np.repeat(RNG.normal(size=(60, 2)), 5, 0), np.repeat(RNG.integers(0, 2, 60), 5)  # nothing to be learned
    tree = ftheta.TreeClassifier(random_state=0).fit(x, y)
    assert tree.pruning_["error"][0] > 0.3  # with copies on both sides it would be 0


def test_out_of_bag_errors_and_standard_errors_count_rows_by_their_weight():
    from ftheta.models.tree.grown import keys

    weight = np.random.default_rng(7).random(160) + 0.1
    order = np.lexsort((LABELS, keys(X.astype(np.float32), 0)))
    ours = ftheta.ForestClassifier(n_estimators=30, random_state=0).fit(X, LABELS, weight)
    theirs = RandomForestClassifier(n_estimators=30, random_state=0, oob_score=True)
    theirs.fit(X[order], LABELS[order], weight[order] / weight.mean())
    wrong = theirs.oob_decision_function_.argmax(1) != LABELS[order]
    assert ours.oob_["error"][-1] == pytest.approx(np.average(wrong, weights=weight[order]))
    drawn = np.isin(np.arange(160), theirs.estimators_samples_[0])
    assert ours.oob_["share"][0] == pytest.approx(np.average(~drawn, weights=weight[order]))
    half = np.where(np.arange(160) % 2, 1.0, 1e-12)  # as good as 80 rows
    path = ftheta.TreeClassifier(random_state=0).fit(X, LABELS > 0, half).pruning_
    np.testing.assert_allclose(path["deviation"], np.sqrt(path["error"] * (1 - path["error"]) / 80))


@pytest.mark.ledger("A085", covers="ftheta.ForestClassifier")
def test_a_bag_has_63_of_100_rows():
    x, n = RNG.normal(size=(100, 2)), 80
    forest = ftheta.ForestClassifier(n_estimators=n, random_state=0).fit(x, np.arange(100) % 2)
    share = forest.trees.rows[forest.trees.starts] / 100
    expected = 1 - (1 - 1 / 100) ** 100
    assert expected == pytest.approx(0.63397, abs=5e-6)
    assert abs(share.mean() - expected) < 4 * share.std() / np.sqrt(n) and 0.02 < share.std() < 0.04


@pytest.mark.ledger("A084", covers="ftheta.ForestClassifier")
def test_a_forest_of_bags_and_random_columns_is_the_mean_of_its_trees_and_knows_its_error():
    x = np.random.default_rng(2).normal(size=(900, 4))
    y = (np.sin(2 * x[:, 0]) + x[:, 1] > 0).astype(int)
    forest = ftheta.ForestClassifier(n_estimators=40, random_state=0).fit(x[:300], y[:300])
    each = np.stack([tree.predict_proba(x[300:]) for tree in forest.model_.estimators_])
    np.testing.assert_allclose(forest.predict_proba(x[300:]), each.mean(0))
    roots = forest.trees.feature[forest.trees.starts]
    assert len(np.unique(roots)) > 2  # the best column is not always among those drawn
    error = 1 - forest.score(x[300:], y[300:])
    single = np.mean(each.argmax(2) != y[300:])
    assert error < 0.8 * single and abs(forest.oob_["error"][-1] - error) < 0.05
    votes = ftheta.explain.votes(forest, x[300:], row=4)
    assert votes.values.shape == (40, 2) and np.allclose(
        votes.weight @ votes.values, forest.predict_proba(x[304:305])[0]
    )
    same = ftheta.ForestRegressor(n_estimators=5, random_state=0).fit(x[:50], np.full(50, 4.2))
    ftheta.explain.votes(same, x[:5], row=0).figure()  # votes that do not vary
    matter = ftheta.explain.importance(forest, x[300:500], y[300:500], repeats=2)
    assert set(matter.table().columns["column"][:2]) == {"x1", "x2"}


@pytest.mark.parametrize("name", ["tree", "boosted numbers"])
def test_the_way_of_a_row_ends_in_the_leaf_that_predicts(name):
    model = fitted(name)[0]
    for x in NEW[-6:]:
        ends = [tree.values[tree.descend(x)[-1]] for tree in model.trees.each()]
        if name == "tree":
            assert np.array_equal(ends[0], model.predict_proba(x[None]))
        else:
            assert np.sum(ends) + model.baseline_[0, 0] == pytest.approx(model.predict(x[None])[0])


def test_the_way_of_a_row_goes_through_sets_of_categories():
    model = ftheta.BoostingRegressor(n_estimators=3, random_state=0).fit(FRAME, PRICE)
    for i in range(12):
        x = model._table(FRAME)[i]
        ends = [tree.values[tree.descend(x)[-1]] for tree in model.trees.each()]
        assert np.sum(ends) + model.baseline_[0, 0] == pytest.approx(model.predict(FRAME[i : i + 1])[0])
    words = ftheta.models.tree.pictures.Words.of(model, None, None, None)
    node = int(np.flatnonzero(model.trees.one(0).subset >= 0)[0])
    assert words.condition(model.trees.one(0), node).startswith("color in {")


def test_more_trees_measures_what_the_first_trees_say():
    y = np.array(["a", "b", "c"])[LABELS]
    forest = ftheta.ForestClassifier(n_estimators=7, random_state=0).fit(X[:100], y[:100])
    found = ftheta.explain.more_trees(forest, X[100:], y[100:])
    for b, error, brier in zip(found.trees, found.error, found.brier, strict=True):
        p = np.mean([tree.predict_proba(X[100:]) for tree in forest.model_.estimators_[:b]], axis=0)
        assert error == pytest.approx(np.mean(forest.classes_[p.argmax(1)] != y[100:]))
        assert brier == pytest.approx(((p - (y[100:, None] == forest.classes_)) ** 2).sum(1).mean())
    assert np.array_equal(found.out_of_bag, forest.oob_["error"])
    numbers = ftheta.ForestRegressor(n_estimators=5, random_state=0).fit(X[:100], SCORE[:100])
    found = ftheta.explain.more_trees(numbers, X[100:], SCORE[100:])
    np.testing.assert_allclose(
        found.out_of_bag**2, numbers.oob_["error"]
    )  # in the units of y, as the error of new rows
    boosted = ftheta.BoostingRegressor(n_estimators=6, random_state=0).fit(X[:100], SCORE[:100])
    found = ftheta.explain.more_trees(boosted, X[100:], SCORE[100:])
    expected = np.sqrt(np.mean((boosted.predict(X[100:]) - SCORE[100:]) ** 2))
    assert found.error[-1] == pytest.approx(expected) and found.brier is None and found.unit == "steps"


# ---- files

DAMAGE = {
    "left": [-2, 0, 10**6, 2],
    "right": [-1, 0, 1, 10**6],
    "feature": [-1, 4],
    "threshold": [np.nan],
    "values": [np.nan, np.inf],
    "share": [-0.5, np.nan, 2.0],
    "impurity": [np.inf],
    "rows": [-1],
    "subset": [-2, 0],
    "sizes": [0, 10**6, -3],
}


@pytest.mark.parametrize("name", ["tree", "boosted numbers"])
@pytest.mark.parametrize("part", DAMAGE)
def test_trees_that_cannot_be_followed_are_refused(name, part):
    model = fitted(name)[0]
    state = model.get_state()
    for value in DAMAGE[part]:
        damaged = {k: v.copy() for k, v in state["trees_"].items()}
        damaged[part].flat[0] = value
        with pytest.raises(ValueError, match=r"node|nodes|number out of range"):
            type(model)(**model.get_params()).set_state(state | {"trees_": damaged})
    for wrong in (state["trees_"][part].astype("f2"), state["trees_"][part][:-1], 3):
        with pytest.raises((ValueError, IndexError), match=r"one entry per node|nodes"):
            type(model)(**model.get_params()).set_state(state | {"trees_": state["trees_"] | {part: wrong}})


@pytest.mark.parametrize(("given", "first"), [(["low", "middle", "high"], "low"), (["low"], "0")])
def test_names_of_classes_are_taken_where_there_is_one_for_each(given, first):
    model = ftheta.TreeClassifier(max_depth=2, random_state=0).fit(X, LABELS)
    found = ftheta.explain.run("tree", model, X, classes=given)
    assert found.words.classes[0] == first and len(found.words.classes) == 3
