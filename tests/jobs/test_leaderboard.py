"""`compare`: against scikit-learn's cross-validation, the tests of `measure`, and a training of the winner alone."""

import html
import json
from functools import wraps
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from ftheta import catalog, jobs
from ftheta.errors import InputError, RunError
from ftheta.jobs import files
from ftheta.jobs.board_page import agreement
from ftheta.jobs.crossval import Entrant, Fold, fold, joined, part, parts
from ftheta.store import Run

QUICK = {"models": ["linear", "lda", "gaussian-nb"], "seconds": 60.0, "folds": 3, "report": False}


class Heard(jobs.Watcher):
    def __init__(self, stop=""):
        super().__init__()
        self.heard, self.stop = [], stop

    def say(self, event, what):
        self.heard.append((event, str(what)))
        if self.stop and self.stop in str(what):
            self.stop = ""
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return jobs.compare("wine", run=folder / "c", **QUICK), folder


@pytest.fixture
def linear_numbers(tmp_path):
    x = np.random.default_rng(3).normal(size=(40, 2))
    y = x @ [2.0, -1.0] + np.random.default_rng(4).normal(size=40)
    pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y}).to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv", x, y


def test_scores_are_those_of_scikit_learns_folds(linear_numbers, tmp_path, monkeypatch):
    file, x, y = linear_numbers
    monkeypatch.chdir(tmp_path)
    found = jobs.compare(str(file), target="y", models=["linear"], folds=4, report=False)
    job, entrant = jobs.prepare(jobs.Config("linear", str(file), "y")), found.entrants[0]
    rows = np.sort(np.concatenate([job.split.train, job.split.validation]))
    predicted = np.full(40, np.nan)
    for learn, held in parts(job, 4):
        assert not set(learn) & set(held)
        predicted[held] = LinearRegression().fit(x[learn], y[learn]).predict(x[held])
    assert np.isnan(predicted[job.split.test]).all() and not np.isnan(predicted[rows]).any()
    np.testing.assert_allclose(entrant.predicted[2]["predicted"], predicted[rows], rtol=1e-6)
    assert entrant.found["scores"]["R²"] == pytest.approx(r2_score(y[rows], predicted[rows]), rel=1e-6)


def test_the_first_is_the_best_and_the_others_are_tested_against_it(board):
    found, _ = board
    accuracy = {e.name: np.mean(e.predicted[1] == e.predicted[2]["predicted"]) for e in found.entrants}
    assert list(accuracy.values()) == sorted(accuracy.values(), reverse=True)
    assert {e.name: e.found["scores"]["accuracy"] for e in found.entrants} == pytest.approx(accuracy)
    first, other = found.entrants[0], found.entrants[-1]
    right = [e.predicted[1] == e.predicted[2]["predicted"] for e in (first, other)]
    only = [int((right[0] & ~right[1]).sum()), int((right[1] & ~right[0]).sum())]
    column = found.table().columns
    place = column["model"].index(other.name)
    assert column["p"][place] == pytest.approx(binomtest(only[0], sum(only)).pvalue if sum(only) else 1.0)
    assert column["accuracy behind"][place] == pytest.approx(accuracy[first.name] - accuracy[other.name])
    assert column["model"][-1] == "baseline" and column["accuracy"][-1] < 0.5
    for e, *cells in zip(
        found.entrants, *(column[name] for name in ("low", "high", "ECE", "seconds", "kB")), strict=False
    ):
        size = len((e.run.path / "model.safetensors").read_bytes())
        assert cells[:3] == [*e.found["intervals"]["accuracy"], e.found["scores"]["ECE"]]
        assert cells[3:] == [round(sum(f.seconds for f in e.folds) / 3, 3), round(size / 1024, 1)]


def test_a_loss_is_ordered_upwards(board, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = jobs.compare("wine", metric="log loss", **QUICK)
    losses = [e.found["scores"]["log loss"] for e in found.entrants]
    assert losses == sorted(losses) and found.table().columns["log loss"][:3] == losses


def test_of_models_with_the_same_score_the_one_with_the_smaller_log_loss_is_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loss = {"linear": 0.3, "lda": 0.2, "gaussian-nb": 0.25}
    found = property(lambda self: {"scores": {"accuracy": 0.9, "log loss": loss[self.name]}, "intervals": {}})
    monkeypatch.setattr(Entrant, "found", found)
    entrants = jobs.compare("wine", **QUICK | {"folds": 2}).entrants
    assert [e.name for e in entrants] == ["lda", "gaussian-nb", "linear"]


def test_the_winner_is_tested_once_on_rows_that_no_fold_saw(board, monkeypatch):
    found, folder = board
    monkeypatch.chdir(folder)
    assert jobs.find_run("last").path.resolve() == found.best.run.path.resolve()
    tested = files.answers(found.best.run)["rows"]
    assert files.result(found.best.run)["part"] == "test part"
    for e in found.entrants:
        result, rows = files.result(e.run), files.answers(e.run)["rows"]
        assert result["part"] == "cross-validation" and not set(rows) & set(tested)
        assert len(rows) + len(tested) == 178
        assert "No rows" not in jobs.open(e.run).verdict
    alone = jobs.train(found.best.config, run=folder / "alone", report=False)
    assert files.result(alone.run)["scores"] == files.result(found.best.run)["scores"]


def test_a_stopped_comparison_continues_to_the_same_numbers(board, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    watch = Heard(stop="fold 3")
    with pytest.raises(KeyboardInterrupt):
        jobs.compare("wine", run=tmp_path / "c", watch=watch, **QUICK)
    assert "ftheta compare --resume" in watch.heard[-1][1]
    assert len(list((tmp_path / "c").glob("*/fold-*.safetensors"))) == 6
    asked = jobs.asked_of(tmp_path / "c")
    again = jobs.compare(**asked, run=tmp_path / "c", report=False)
    for a, b in zip(again.entrants, board[0].entrants, strict=True):
        assert (a.name, a.found) == (b.name, b.found)


def test_a_folder_of_another_comparison_is_refused(board, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (folder,) = [board[0].path]
    before = sorted(p.name for p in folder.iterdir())
    with pytest.raises(RunError, match="other settings"):
        jobs.compare("wine", run=folder, **QUICK, seed=1)
    assert sorted(p.name for p in folder.iterdir()) == before
    (tmp_path / "compare.json").write_bytes(b"\xff")
    with pytest.raises(RunError, match="other settings"):
        jobs.compare("wine", run=tmp_path, **QUICK)
    (tmp_path / "compare.json").write_text(json.dumps({"models": "linear"}))
    with pytest.raises(Exception, match="not one of `ftheta compare`"):
        jobs.asked_of(tmp_path)


def test_what_does_not_fit_is_left_out_or_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="ridge"):
        jobs.compare("wine", models=["ridge"])
    with pytest.raises(InputError, match="metric"):
        jobs.compare("wine", metric="acuracy", models=["linear"])
    watch = Heard()
    found = jobs.compare("wine", models=["linear", "lda"], seconds=1e-6, report=False, watch=watch)
    assert [e.name for e in found.entrants] == ["linear"] and found.n_folds == 1
    assert "--time" in found.left_out["lda"] and any("time ended" in what for _, what in watch.heard)


def test_a_model_that_fails_in_a_later_fold_is_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    judged = Entrant.judge

    def judge(self, k, *rest):
        if self.name in failing and k == 1:
            raise InputError("a class is missing")
        judged(self, k, *rest)

    monkeypatch.setattr(Entrant, "judge", judge)
    failing, asked = {"lda"}, QUICK | {"models": ["linear", "lda", "linear"]}
    found = jobs.compare("wine", **asked)
    assert [e.name for e in found.entrants] == ["linear"] and found.n_folds == 3
    assert found.left_out == {"lda": "fold 2: a class is missing"}
    for failing in ({"lda", "linear"}, {"lda"}):
        with pytest.raises(InputError, match="No model could be trained: .*a class is missing"):
            jobs.compare("wine", **asked | {"models": sorted(failing)})


def test_a_model_that_diverges_is_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    begin = Entrant.__init__

    def diverging(self, job, run):
        begin(self, job, run)
        job.estimator.set_params(**{"lr": 1e30} if self.name == "mlp" else {})

    monkeypatch.setattr(Entrant, "__init__", diverging)
    found = jobs.compare("wine", models=["mlp", "lda"], metric="accuracy", folds=2, seconds=30, report=False)
    assert [e.name for e in found.entrants] == ["lda"] and "became inf" in found.left_out["mlp"]


def test_changed_data_are_noticed(linear_numbers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, *_ = linear_numbers
    asked = QUICK | {"models": ["linear"], "target": "y", "run": tmp_path / "c"}
    jobs.compare(str(file), **asked)
    pd.read_csv(file).iloc[:30].to_csv(file, index=False)
    with pytest.raises(InputError, match="rows of the data are others"):
        jobs.compare(str(file), **asked)


def test_the_mean_of_the_best_three_takes_part(linear_numbers, tmp_path, monkeypatch):
    file, _, _ = linear_numbers
    monkeypatch.chdir(tmp_path)
    cards = {name: catalog.CARDS[name] for name in ("linear", "ridge", "svm", "committee")}
    monkeypatch.setattr(catalog, "CARDS", cards)
    found = jobs.compare(str(file), target="y", folds=3, report=False)
    by_name = {e.name: e.predicted[2]["predicted"] for e in found.entrants}
    assert set(by_name) == {"linear", "ridge", "svm", "committee"}
    np.testing.assert_allclose(by_name["committee"], (by_name["linear"] + by_name["ridge"] + by_name["svm"]) / 3)
    cells, y = found.table().columns, found.entrants[0].predicted[1]
    loss = {name: np.mean((y - predicted) ** 2) for name, predicted in by_name.items()}
    names = cells["model"][1:4]
    assert cells["mean squared error behind"][1:4] == pytest.approx([loss[n] - loss[cells["model"][0]] for n in names])


def test_forecasters_of_a_column_are_compared_and_their_mean_is_tested(tmp_path, monkeypatch):
    """A season with a line and noise, by months: every model is asked for the horizon, the mean of three too."""
    monkeypatch.chdir(tmp_path)
    t, noise = np.arange(96), np.random.default_rng(0).normal(size=96)
    units = 100 + t + 20 * np.sin(t * np.pi / 6) + 4 * noise
    pd.DataFrame({"date": pd.date_range("2014-01-01", periods=96, freq="MS"), "units": units}).to_csv(
        "s.csv", index=False
    )
    cards = {name: catalog.CARDS[name] for name in ("linear", "naive", "ar", "ets", "committee")}
    monkeypatch.setattr(catalog, "CARDS", cards)
    found = jobs.compare("s.csv", target="units", time_column="date", horizon=12, folds=2, report=False)
    scores = {e.name: e.found["scores"]["MASE"] for e in found.entrants}
    assert {*scores, "linear"} == set(cards) and scores["naive"] == max(scores.values()) == found.constant["MASE"]
    mean = next(e for e in found.entrants if e.name == "committee").predicted[2]
    assert mean["lead"].max() == 12 and found.best.model.predict().shape == (12,)


@pytest.mark.parametrize(
    ("noise", "metric", "first"), [(4.0, "", "committee"), (4.0, "MAE", "other"), (0.01, "", "other")]
)
def test_the_mean_goes_before_a_model_that_is_not_clearly_better(noise, metric, first, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(3).normal(size=(60, 2))
    y = x @ [2.0, -1.0] + noise * np.random.default_rng(4).normal(size=60)
    pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y}).to_csv("numbers.csv", index=False)
    cards = {name: catalog.CARDS[name] for name in ("linear", "ridge", "svm", "committee")}
    monkeypatch.setattr(catalog, "CARDS", cards)
    found = jobs.compare("numbers.csv", target="y", folds=3, report=False, metric=metric)
    score = {e.name: e.found["scores"][metric or "RMSE"] for e in found.entrants}
    assert score["committee"] > min(score.values())  # by the score itself another is the first
    names = [e.name for e in found.entrants]
    assert (names[0] == "committee") == (first == "committee") and found.best.config.model == names[0]
    others = [score[name] for name in names if name != "committee"]
    assert others == sorted(others)


def test_the_page_names_scores_runs_and_the_columns_that_models_agree_on(tmp_path, monkeypatch):
    x = np.random.default_rng(3).normal(size=(80, 3))
    frame = pd.DataFrame(x, columns=["weak", "strong", "none"])
    frame.assign(y=x @ [0.5, 3, 0]).to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.chdir(tmp_path)
    found = jobs.compare("t.csv", target="y", models=["linear", "ridge"], folds=2)
    columns = agreement(found).columns
    assert columns["column"][:2] == ["strong", "weak"] and columns["linear"][:2] == columns["ridge"][:2] == [1, 2]
    text = (found.path / "leaderboard.html").read_text(encoding="utf-8")
    again = "ftheta compare t.csv --target y --models linear,ridge --metric RMSE --folds 2"
    for words in (
        *found.verdicts,
        "Which columns matter?",
        again,
    ):
        assert html.escape(words) in text
    assert all(str(e.run.path) in text for e in found.entrants) and "<script" not in text


def test_early_stopping_in_a_fold_looks_at_rows_of_its_training_part(linear_numbers, monkeypatch):
    file, x, y = linear_numbers
    job, seen = jobs.prepare(jobs.Config("mlp", str(file), "y", validation=0.25)), {}
    fit = type(job.estimator).fit
    spy = wraps(fit)(lambda self, *rows, **more: (seen.update(more), fit(self, *rows, **more))[1])
    monkeypatch.setattr(type(job.estimator), "fit", spy)
    learn, held = parts(job, 3)[0]
    found = fold(job, learn, held, seconds=1e-3)
    assert len(seen["y_val"]) == round(len(learn) * len(job.split.validation) / len(part(job)))
    assert set(seen["y_val"]) < set(y[learn]) and np.array_equal(found.y, y[held])


def test_a_training_in_steps_ends_after_its_share_of_the_budget(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = jobs.compare("iris", models=["mlp"], seconds=2.0, folds=2, report=False)
    assert found.entrants[0].job.estimator.training.seconds == 0.1


def test_folds_without_a_class_are_joined():
    def one(rows, classes, p):
        answers = {"predicted": np.array(classes)[np.argmax(p, 1)], "p": np.array(p), "classes": classes}
        return Fold(np.array(rows), np.array(["c"] * len(rows)), answers, {}, 0.0)

    rows, _, made = joined([one([3, 0], ["a", "b"], [[0.2, 0.8], [0.9, 0.1]]), one([1], ["b", "c"], [[0.3, 0.7]])])
    assert rows.tolist() == [0, 1, 3] and made["classes"] == ["a", "b", "c"]
    np.testing.assert_array_equal(made["p"], [[0.9, 0.1, 0], [0, 0.3, 0.7], [0.2, 0.8, 0]])
    assert made["predicted"].tolist() == ["a", "c", "b"]


def test_an_entrant_is_a_run_that_loads(board):
    found, _ = board
    trained = jobs.open(found.entrants[0].run.path)
    assert Run(trained.run.path).status == "finished"
    assert trained.model.predict(trained.learned_from()[0]).shape == (142,)


@pytest.fixture(scope="module")
def dirty(tmp_path_factory):
    """Two classes far apart, ten labels of which were changed, compared with a cost of errors and a search."""
    folder, rng = tmp_path_factory.mktemp("dirty"), np.random.default_rng(0)
    y = np.repeat(["no", "yes"], 60)
    table = pd.DataFrame({"a": rng.normal(size=120) + 8 * (y == "yes"), "b": rng.normal(size=120), "y": y})
    changed = [3, 30, 50, 70, 100]
    table.loc[changed, "y"] = ["yes"] * 3 + ["no"] * 2
    table.to_csv(folder / "t.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(import_module("ftheta.jobs.tune"), "TRIALS", 3)
        models = ["linear", "lda", "svm"]
        asked = {"target": "y", "models": models[:2], "folds": 3, "cost": "10:1", "tune": True, "metric": "log loss"}
        return jobs.compare("t.csv", **asked, report=False, run=folder / "c"), changed, folder


def test_rows_that_look_mislabeled_the_threshold_of_a_cost_and_more_rows(dirty):
    board, changed, _ = dirty
    threshold, suspects, more = board.advice
    rows = board.entrants[0].predicted[0]
    assert set(suspects.rows) == set(changed) & set(rows.tolist())
    assert threshold.calibrated == pytest.approx(1 / 11) and more.rows[-1] == len(rows) - -(-len(rows) // 5)
    assert board.verdicts[-3:] == [each.caption for each in board.advice]


def test_the_tuned_best_takes_part_judged_by_other_folds(dirty):
    board, _, folder = dirty
    plain, tuned = (next(e for e in board.entrants if e.name == name) for name in ("linear", "linear tuned"))
    assert set(tuned.job.config.params) == {"l2"} and not plain.job.config.params
    assert np.array_equal(plain.predicted[0], tuned.predicted[0])
    assert not np.array_equal(plain.folds[0].rows, tuned.folds[0].rows)
    assert board.best.config.params == board.entrants[0].job.config.params


def test_a_cost_needs_two_classes_and_probabilities(dirty, tmp_path, monkeypatch):
    board, _, folder = dirty
    monkeypatch.chdir(tmp_path)
    data = str(folder / "t.csv")
    with pytest.raises(InputError, match="expected two numbers"):
        jobs.compare(data, target="y", models=["linear"], cost="10")
    with pytest.raises(InputError, match="is for two classes"):
        jobs.compare("iris", models=["linear"], cost="10:1")
    with pytest.raises(InputError, match="models with probabilities"):
        jobs.compare(data, target="y", models=["svm"], cost="10:1")
    said = board.best.evaluate(data, cost="10:1").caption
    assert "class yes where p >" in said
    names, *lines = (folder / "t.csv").read_text().splitlines()
    (folder / "seen.csv").write_text("\n".join([names, *lines[:7], *lines[:2], "9.5,-3.25,yes", "0,0,no"]))
    assert (
        "\n9 of these rows have the features of rows that it learned from"
        in board.best.evaluate(folder / "seen.csv").caption
    )


def test_a_metric_that_only_one_model_has(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    board = jobs.compare("wine", models=["svm", "linear"], metric="log loss", folds=2, report=False)
    assert [e.name for e in board.entrants] == ["linear", "svm"]


def test_a_line_through_two_trials_says_how_long_many_rows_take(monkeypatch):
    """0.1 s and a millisecond per row: 10 s for 9,900 rows; a second that does not depend on rows stays one."""
    from ftheta.jobs import crossval as entrants
    from ftheta.jobs.crossval import Entrant

    job = SimpleNamespace(stepped=False, config=SimpleNamespace(model="x"))
    monkeypatch.setattr(entrants, "part", lambda job: np.arange(9_900))
    for seconds, expected in ((lambda n: 0.1 + n / 1000, 10.0), (lambda n: 1.0, 1.0), (lambda n: 2 - n / 2000, 1.0)):
        monkeypatch.setattr(
            entrants, "fold", lambda job, learn, held, s=seconds: SimpleNamespace(seconds=s(len(learn)))
        )
        assert Entrant(job, None).pilot() == pytest.approx(expected)
