"""Searches: the optimum of a known function, points that leave no gaps, trials that survive their process."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, qmc, rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline

from ftheta import MLPRegressor
from ftheta.errors import FileFormatError, InputError
from ftheta.selection import SEARCHES, Range, Search, nested, space_of, trials_of, tune
from ftheta.selection.space import at, grid
from ftheta.train import fit_many

SPACE = {"x": Range(-3.0, 3.0), "n": Range(1, 8), "lr": Range(1e-4, 1.0, log=True), "c": ((1,), (2, 3))}


def bowl(point, report=None):
    return -((point["x"] - 1) ** 2) - abs(point["n"] - 5) - (np.log10(point["lr"]) + 2) ** 2 - len(point["c"])


@pytest.mark.ledger("A166", covers="ftheta.selection.trials_of")
@pytest.mark.parametrize("search", SEARCHES)
def test_points_lie_in_the_space_and_the_best_is_the_largest(search):
    made = Search(SPACE, search=search, seed=3)
    made.run(bowl, 20)
    found = trials_of(made, "score")
    assert len(found.points) == 20
    for point, value in zip(found.points, found.values, strict=True):
        assert -3 <= point["x"] <= 3 and isinstance(point["n"], int) and 1 <= point["n"] <= 8
        assert 1e-4 <= point["lr"] <= 1 + 1e-9 and point["c"] in SPACE["c"] and value == pytest.approx(bowl(point))
    assert found.values[found.best] == found.values.max() and found.best_point == found.points[found.best]


@pytest.mark.ledger("B175", covers="ftheta.selection.Search")
def test_tpe_is_ahead_of_random_points():
    def reached(search, seed):
        made = Search({"x": Range(-3.0, 3.0), "y": Range(-3.0, 3.0)}, search=search, seed=seed)
        made.run(lambda p, _: -((p["x"] - 1) ** 2) - (p["y"] + 2) ** 2, 40)
        return made.study.best_value

    gains = [reached("tpe", seed) > reached("random", seed) for seed in range(8)]
    assert sum(gains) >= 7


@pytest.mark.ledger("B174", covers="ftheta.selection.Search")
def test_quasi_random_points_leave_smaller_gaps():
    space = {"a": Range(0.0, 1.0), "b": Range(0.0, 1.0)}

    def gap(search, seed):
        made = Search(space, search=search, seed=seed)
        made.run(lambda p, _: 0.0, 32)
        return qmc.discrepancy([[p["a"], p["b"]] for p in trials_of(made, "").points])

    assert all(gap("quasi-random", seed) < gap("random", seed) / 2 for seed in range(5))


@pytest.mark.middle
@pytest.mark.ledger("A167", covers="ftheta.selection.Search")
def test_sixty_random_points_nearly_always_hit_the_best_twentieth():
    hits = []
    for seed in range(60):
        made = Search({"x": Range(0.0, 1.0)}, search="random", seed=seed)
        made.run(lambda p, _: p["x"], 60)
        hits.append(made.study.best_value > 0.95)
    assert abs(np.mean(hits) - (1 - 0.95**60)) < 3 * np.sqrt(0.954 * 0.046 / 60)


@pytest.mark.ledger("A166", covers="ftheta.selection.Search")
def test_a_grid_has_every_combination_once():
    space = {"n": Range(1, 3), "c": ("a", "b"), "x": Range(1.0, 1000.0, log=True)}
    made = Search(space, search="grid")
    made.run(lambda p, _: 0.0, 100)
    points = trials_of(made, "").points
    assert len(points) == len(grid(space)) == 3 * 2 * 4 == len({tuple(p.values()) for p in points})
    assert sorted({round(p["x"], 6) for p in points}) == [1, 10, 100, 1000]
    after = Search(space, search="grid", first=({"n": 2, "c": "a", "x": 5.0},))  # the defaults do not replace a point
    after.run(lambda p, _: 0.0, 100)
    assert [p["x"] for p in trials_of(after, "").points][0] == 5.0
    assert trials_of(after, "").points[1:] == points


def test_shares_of_a_range():
    assert [at(Range(1, 3), u) for u in (0.0, 0.3, 0.4, 0.6, 0.7, 0.999)] == [1, 1, 2, 2, 3, 3]
    assert at(Range(1e-4, 1.0, log=True), 0.5) == pytest.approx(1e-2) and at(Range(-1.0, 3.0), 0.25) == 0
    assert at(("a", "b", "c"), 0.34) == "b" and at(("a", "b"), 0.999) == "b"
    assert [Range(1e-4, 1.0, log=True).near_end(x) for x in (1.3e-4, 1e-2, 0.9)] == ["lower", "", "upper"]


def test_an_interrupted_search_goes_on_as_if_nothing_had_happened(tmp_path):
    plain = Search(SPACE, seed=5)
    plain.run(bowl, 16)
    stopped, calls = Search(SPACE, seed=5, journal=tmp_path / "j"), []

    def failing(point, report):
        calls.append(point)
        if len(calls) == 13:
            raise KeyboardInterrupt
        return bowl(point)

    with pytest.raises(KeyboardInterrupt):
        stopped.run(failing, 16)
    again = Search(SPACE, seed=5, journal=tmp_path / "j")
    again.run(bowl, 16)
    a, b = (trials_of(s, "score") for s in (plain, again))
    assert len(b.points) == 16 and calls[12] in b.points
    assert a.points[:13] == b.points[:13]


def test_trials_that_are_behind_end_early_and_points_that_fail_do_not_count():
    made = Search({"x": Range(0, 9)}, search="random", seed=0)

    def measure(point, report):
        if point["x"] == 3:
            raise InputError("no.")
        for _ in range(3):
            report(float(point["x"]))
        return float(point["x"])

    made.run(measure, 40)
    found = trials_of(made, "score")
    pruned = [p["x"] for p, s in zip(found.points, found.states, strict=True) if s == "pruned"]
    assert pruned and max(pruned) < found.best_point["x"] == max(p["x"] for p in found.points)
    assert found.states[:10].count("pruned") == 0 and "failed" in found.states
    assert all((s == "failed") == (p["x"] == 3) for p, s in zip(found.points, found.states, strict=True))


WORKER = """
import sys, time
from pathlib import Path
from ftheta.selection import Range, Search
def slow(point, report):
    Path(sys.argv[2]).touch()
    time.sleep(60)
Search({"x": Range(0.0, 1.0)}, seed=1, journal=Path(sys.argv[1])).run(slow, 5)
"""


@pytest.mark.middle
def test_the_trial_of_a_killed_process_is_taken_up_again(tmp_path):
    journal, begun = tmp_path / "j", tmp_path / "begun"
    process = subprocess.Popen([sys.executable, "-c", WORKER, str(journal), str(begun)])
    while not begun.exists():
        assert process.poll() is None
        time.sleep(0.05)
    other = Search({"x": Range(0.0, 1.0)}, seed=1, journal=journal)
    other.run(lambda p, _: p["x"], 2)  # the first trial runs elsewhere: one is left
    assert len(trials_of(other, "").points) == 1
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    other.run(lambda p, _: p["x"], 5)
    alone = Search({"x": Range(0.0, 1.0)}, seed=1)
    alone.run(lambda p, _: p["x"], 5)
    points = [trials_of(s, "").points for s in (other, alone)]
    assert len(points[0]) == 5 and points[1][0] in points[0]


@pytest.mark.ledger("C012", covers="ftheta.selection.tune")
def test_tune_agrees_with_scikit_learn_and_refits():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 8)), rng.normal(size=60)
    space = {"alpha": (0.01, 1.0, 100.0), "fit_intercept": (True, False)}
    found = tune(Ridge(), X, y, space, search="grid", cv=KFold(4), prune=False)
    for params, score in zip(found.cv_results_["params"], found.cv_results_["mean_test_score"], strict=True):
        assert score == pytest.approx(cross_val_score(Ridge(**params), X, y, cv=KFold(4)).mean())
    assert len(found.points) == 6 and found.best_score_ == max(found.cv_results_["mean_test_score"])
    ranks = found.cv_results_["rank_test_score"]
    assert ranks.tolist() == rankdata(-found.cv_results_["mean_test_score"], "min").tolist() and ranks[found.best] == 1
    for state in ("pruned", "failed"):  # the best of what has not come to its end is behind all others
        states = tuple(state if i == found.best else "complete" for i in range(6))
        assert replace(found, states=states).cv_results_["rank_test_score"][found.best] == 6
    np.testing.assert_allclose(found.predict(X), Ridge(**found.best_params_).fit(X, y).predict(X))


def test_importance_finds_the_parameter_that_matters():
    made = Search({"x": Range(-1.0, 1.0), "y": Range(-1.0, 1.0)}, search="quasi-random", seed=0)
    made.run(lambda p, _: 3 * p["x"] ** 2 + 0.1 * p["y"], 32)
    found = trials_of(made, "score")
    assert found.importance["x"] > 0.8 and "x matters most" in found.caption
    assert any("end of its range: widen it" in text for text in found.edges)
    assert found.figure().axes[0].get_ylabel() == "score"
    for shown, best in ((found, np.maximum), (replace(found, maximize=False), np.minimum)):
        np.testing.assert_allclose(shown.figure().axes[0].lines[1].get_ydata(), best.accumulate(found.values))
        assert shown.values[shown.best] == best.reduce(found.values)


@pytest.mark.parametrize(
    ("space", "sentence"),
    [
        ({}, "empty"),
        ({"lr": {"low": 1.0, "high": 0.1}}, "from 1.0 to 0.1"),
        ({"lr": {"low": 0.0, "high": 0.1, "log": True}}, "above 0"),
        ({"lr": {"low": 0.1}}, "expected a range"),
        ({"lr": {"low": 0.1, "high": 1, "step": 2}}, "expected a range"),
        ({"lr": []}, "at least one value"),
        ({"lr": "adam"}, "expected a range or a list"),
        ({"rate": [1]}, "Unknown parameter 'rate'"),
    ],
)
def test_a_space_that_contradicts_itself_is_refused(space, sentence):
    with pytest.raises(InputError, match=sentence):
        space_of(space, ["lr", "hidden"])


@pytest.mark.parametrize("text", ["garbage\nmore\n", '{"op_\n{}\n', "{}\n[]\n"])
def test_a_damaged_journal_is_one_sentence(text, tmp_path):
    (tmp_path / "j.log").write_text(text)
    with pytest.raises(FileFormatError, match="j.log is damaged"):
        Search({"a": Range(0.0, 1.0)}, journal=tmp_path / "j.log")


def test_a_point_that_scikit_learn_refuses_does_not_end_the_search():
    x = np.random.default_rng(0).normal(size=(30, 2))
    found = tune(Ridge(), x, x[:, 0], {"alpha": [-1.0, 0.5]}, search="grid", trials=2, cv=3)
    assert sorted(found.states) == ["complete", "failed"] and found.best_params_ == {"alpha": 0.5}
    with pytest.raises(InputError, match="could be trained: .*alpha"):
        tune(Ridge(), x, x[:, 0], {"alpha": [-1.0]}, search="grid", trials=1, cv=3)


@pytest.mark.parametrize("alone", [True, False])
def test_a_network_that_diverges_is_a_failed_trial(alone):
    """Alone, as a step of a pipeline, and as a member of a stack."""
    x, net = np.random.default_rng(0).normal(size=(30, 2)), MLPRegressor(hidden=(3,), epochs=3, random_state=0)
    made, name = (make_pipeline(net), "mlpregressor__lr") if alone else (net, "lr")
    found = tune(made, x, x[:, 0], {name: (1e30, 0.01)}, search="grid", trials=2, cv=3)
    assert sorted(found.states) == ["complete", "failed"] and found.best_params_ == {name: 0.01}
    assert "1 complete, 1 failed" in found.caption and "Try lr=1e+29 (now 1e+30)" in found.caption


@pytest.mark.parametrize("search", ["grid", "tpe"])
def test_networks_that_are_trained_at_once_have_the_values_of_a_loop(search, monkeypatch):
    """Two shapes, two rates and a width that cannot be: values are those of scikit-learn, network by network."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.sin(X[:, 0]) + X[:, 1]
    net = MLPRegressor(epochs=4, validation=0.0, random_state=0)
    space = {"hidden": ((3,), (5,), (0,)), "lr": (0.003, 0.03)}
    stacked = []
    monkeypatch.setattr("ftheta.train.fit_many", lambda e, p: stacked.append(len(p)) or fit_many(e, p))
    found = tune(net, X, y, space, search=search, trials=6, cv=KFold(3))
    assert max(stacked) == (6 if search == "grid" else 3)
    for point, value, state in zip(found.points, found.values, found.states, strict=True):
        assert (state == "failed") == (point["hidden"] == (0,))
        if state == "complete":
            alone = cross_val_score(clone(net).set_params(**point), X, y, cv=KFold(3)).mean()
            assert value == pytest.approx(alone, abs=1e-4)


def test_an_interrupted_stack_is_put_back(tmp_path):
    made = Search({"x": Range(0.0, 1.0)}, search="random", seed=1, journal=tmp_path / "j")

    def stop(points):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made.run(stop, 5, together=True)
    again = Search({"x": Range(0.0, 1.0)}, search="random", seed=1, journal=tmp_path / "j")
    again.run(lambda ps: [p["x"] if p["x"] > 0.3 else ValueError("small") for p in ps], 5, together=True)
    alone = Search({"x": Range(0.0, 1.0)}, search="random", seed=1)
    alone.run(lambda p, _: p["x"], 5)
    assert sorted(map(str, trials_of(again, "").points)) == sorted(map(str, trials_of(alone, "").points))
    assert {"small"} == {t.user_attrs["error"] for t in again.study.trials if "error" in t.user_attrs}


def chosen_by_chance(k, rows, seed):
    """The best of k equal models on one test set, by `tune`: each is right with probability 0.8, whatever the row."""
    rng = np.random.default_rng(seed)
    right = rng.random((k, 2 * rows)) < 0.8

    class Guess(ClassifierMixin, BaseEstimator):
        def __init__(self, model=0):
            self.model = model

        def fit(self, X, y):
            self.classes_ = np.array([0, 1])
            return self

        def predict(self, X):
            return right[self.model, X[:, 0].astype(int)].astype(int)

    X, y = np.arange(2 * rows, dtype=float)[:, None], np.ones(2 * rows, int)
    split = [(np.arange(2), np.arange(rows))]
    found = tune(Guess(), X, y, {"model": tuple(range(k))}, search="grid", trials=k, cv=split, prune=False)
    return 1 - found.best_score_, 1 - found.best_estimator_.score(X[rows:], y[rows:])


@pytest.mark.middle
@pytest.mark.ledger("A169", covers="ftheta.selection.tune")
@pytest.mark.parametrize(("k", "repeats", "stated"), [(2, 60, 0.1928), (10, 30, 0.1807), (100, 6, 0.1688)])
def test_the_best_of_equal_models_looks_better_than_it_is(k, repeats, stated):
    """True error 0.2, 1,000 test rows: the best of k shows the mean of the smallest binomial; fresh rows show 0.2."""
    theory = float((binom.sf(np.arange(1000), 1000, 0.2) ** k).sum() / 1000)
    assert theory == pytest.approx(stated, abs=1e-4)
    seen, fresh = np.transpose([chosen_by_chance(k, 1000, seed) for seed in range(repeats)])
    assert abs(seen.mean() - theory) < 4 * seen.std() / np.sqrt(repeats) + 1e-3
    assert abs(fresh.mean() - 0.2) < 4 * np.sqrt(0.16 / 1000 / repeats)


def test_nested_folds_judge_what_the_inner_ones_did_not_see():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 5)), rng.normal(size=40)
    found = nested(Ridge(), X, y, {"alpha": (0.01, 100.0)}, search="grid", outer=KFold(4), cv=KFold(3), prune=False)
    search = GridSearchCV(Ridge(), {"alpha": [0.01, 100.0]}, cv=KFold(3))
    expected = cross_val_score(search, X, y, cv=KFold(4))
    np.testing.assert_allclose(found.columns["held out"], expected)
    assert len(found.columns["alpha"]) == 4 and f"{expected.mean():.4g} with" in found.caption
