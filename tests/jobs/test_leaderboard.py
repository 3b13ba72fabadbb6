"""`compare`: against scikit-learn's cross-validation, the tests of `measure`, and a training of the winner alone."""

import html
import json

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
from ftheta.jobs.crossval import Fold, joined, parts
from ftheta.jobs.entrants import Entrant
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


def test_a_loss_is_ordered_upwards(board, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = jobs.compare("wine", metric="log loss", **QUICK)
    losses = [e.found["scores"]["log loss"] for e in found.entrants]
    assert losses == sorted(losses) and found.table().columns["log loss"][:3] == losses


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
