"""`tune`: trials are cross-validations, the test part is used once, and a search that was stopped goes on."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from ftheta import LinearDiscriminant, jobs
from ftheta.errors import InputError, RunError
from ftheta.jobs import files
from ftheta.jobs.crossval import fold, joined, parts
from ftheta.jobs.tune import asked_of, work
from ftheta.selection import Range

QUICK = {"trials": 5, "folds": 3, "report": False}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tune")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return jobs.tune("ridge", "diabetes", run=folder / "t", **QUICK), folder


def scored(point, place):
    """R² in cross-validation of a ridge regression, computed apart."""
    job = jobs.prepare(jobs.Config("ridge", "diabetes", params=dict(point)))
    _, y, made = joined([fold(job, *rows) for rows in parts(job, 3, place)])
    return float(np.sqrt(np.mean((y - made["predicted"]) ** 2)))


def test_trial_0_are_the_defaults_and_each_value_is_of_its_point(tuned):
    found, _ = tuned
    assert found.points[0] == {"alpha": 1.0} and found.metric == "RMSE" and not found.maximize
    for point, value in zip(found.points, found.values, strict=True):
        assert value == pytest.approx(scored(point, "folds"))
    assert found.values[found.best] == found.values.min()


def test_the_best_is_confirmed_on_other_folds_and_the_better_one_is_tested(tuned, monkeypatch):
    found, folder = tuned
    monkeypatch.chdir(folder)
    assert found.scores == pytest.approx((scored(found.best_point, "confirm"), scored({"alpha": 1.0}, "confirm")))
    kept = found.best_point if found.scores[0] < found.scores[1] else {}
    assert found.best_run.config.params == kept and files.result(found.best_run.run)["part"] == "test part"
    assert ("defaults are kept" in found.verdicts[-1]) == (not kept)


def test_a_stopped_search_continues_to_the_same_trials(tuned, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    class Stop(jobs.Watcher):
        def say(self, event, what):
            if "trial 3" in str(what):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        jobs.tune("ridge", "diabetes", run=tmp_path / "t", watch=Stop(), **QUICK)
    asked = asked_of(tmp_path / "t")
    work(tmp_path / "t")  # as another process would
    again = jobs.tune(**asked, run=tmp_path / "t", report=False)
    assert again.points == tuned[0].points
    np.testing.assert_array_equal(again.values, tuned[0].values)
    with pytest.raises(RunError, match="other settings"):
        jobs.tune("ridge", "diabetes", run=tmp_path / "t", **QUICK | {"trials": 6})


def test_nested_settings_and_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.toml").write_text('hidden = [[4], [8]]\n"training.l2" = {low = 1e-4, high = 0.1, log = true}\n')
    found = jobs.tune("mlp", "iris", space=tmp_path / "space.toml", epochs=3, search="random", **QUICK | {"trials": 2})
    assert {tuple(p["hidden"]) for p in found.points} <= {(4,), (8,)} and len(found.points) == 2
    job = jobs.prepare(jobs.Config("mlp", "iris", params={"epochs": 3}))
    from ftheta.jobs.tune import _with

    tried = _with(job, found.points[0]).estimator
    assert tried.training.l2 == found.points[0]["training.l2"] and list(tried.hidden) == found.points[0]["hidden"]
    for space, sentence in ((tmp_path / "none.toml", "TOML"), ({"rate": [1]}, "Unknown parameter")):
        with pytest.raises(InputError, match=sentence):
            jobs.tune("mlp", "iris", space=space)
    with pytest.raises(InputError, match="could be trained: .*nope"):
        jobs.tune("mlp", "iris", space={"training.nope": [1]}, **QUICK | {"trials": 1})
    monkeypatch.setattr(LinearDiscriminant, "space", None)
    with pytest.raises(InputError, match="no search space of its own"):
        jobs.tune("lda", "iris")


def test_a_default_that_is_not_a_number_is_not_in_a_range(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = jobs.tune("tree", "iris", space={"max_features": Range(0.3, 1.0)}, max_features="sqrt", **QUICK)
    assert all(0.3 <= p["max_features"] <= 1.0 for p in found.points)


def test_other_folds_of_ordered_rows_are_others(tmp_path):
    t = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=60).astype(str), "a": range(60), "y": range(60)})
    t.to_csv(tmp_path / "t.csv", index=False)
    job = jobs.prepare(jobs.Config("ridge", str(tmp_path / "t.csv"), target="y", split="chronological"))
    one, other = ([held.tolist() for _, held in parts(job, 3, place)] for place in ("folds", "confirm"))
    assert not any(held in one for held in other)
    assert all(learn.max() < held.min() for learn, held in parts(job, 3, "confirm"))


def test_a_gain_is_sure_only_where_the_paired_test_prefers_the_tuned(tuned):
    found, _ = tuned
    test = SimpleNamespace(p=0.01)
    for better, sure in (("tuned", True), ("default", False), (None, False)):
        pair = SimpleNamespace(better=better, tests=[test])
        said = replace(found, confirmed=pair, scores=(1.0, 2.0)).verdicts[-1]
        assert ("more than noise" in said) is sure


def test_defaults_that_diverge_are_a_failed_trial(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = QUICK | {"trials": 3, "space": {"lr": [1e30, 0.01]}, "search": "grid", "epochs": 3, "hidden": (4,)}
    found = jobs.tune("mlp", "iris", lr=1e30, **asked)
    assert found.states[0] == "failed" and "Try lr=1e+29 (now 1e+30)" in found.verdicts[0]
    assert found.best_run.config.params["lr"] == 0.01 and "could not be trained" in found.verdicts[-1]


@pytest.mark.ledger("B044", "B173", covers="ftheta.jobs.tune")
def test_rounds_keep_what_is_beyond_noise_and_go_on_from_there(tmp_path, monkeypatch):
    """A penalty of 10⁶ leaves the mean: round 1 replaces it by 1; the 1.001 of round 2 is no gain."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(
        '[[round]]\ngoal = "penalty"\nscientific = {alpha = [1.0, 1e6]}\nnuisance = {fit_intercept = [true]}\n'
        '[[round]]\ngoal = "finer"\nscientific = {alpha = [1.0, 1.001]}\n'
    )
    asked = {"space": tmp_path / "s.toml", "search": "grid", "folds": 3, "report": False, "run": tmp_path / "t"}
    found = jobs.tune("ridge", "diabetes", alpha=1e6, **asked)
    first, second = found.rounds
    assert first["adopted"] and first["best"] == {"alpha": 1.0, "fit_intercept": True} and first["p"] < 0.001
    assert first["scientific"] == ["alpha"] and first["nuisance"] == ["fit_intercept"]
    assert first["fixed"] == {"alpha": 1e6} and second["fixed"] == first["best"] and not second["adopted"]
    assert second["before"] == pytest.approx(first["tuned"]) and first["before"] > 1.2 * first["tuned"]
    assert found.best_run.config.params == first["best"]
    assert "Round penalty: adopted" in found.verdicts[1] and "Round finer: nothing adopted" in found.verdicts[2]
    again = jobs.tune(**asked_of(tmp_path / "t"), run=tmp_path / "t", report=False)
    assert again.rounds == found.rounds


@pytest.mark.parametrize(
    "stages",
    [[], {}, [{"nuisance": {"alpha": [1]}}], [{"scientific": {"alpha": [1]}, "x": 1}], [{"scientific": {"a": [1]}}]],
)
def test_rounds_that_contradict_themselves(stages):
    with pytest.raises(InputError, match="Search space"):
        jobs.tune("ridge", "diabetes", space={"round": stages})
