"""Complete pieces of work in Python: train, open, evaluate, cancel and resume, and a child process with events."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score

import ftheta
from ftheta import jobs
from ftheta.errors import FThetaError, RunError
from ftheta.jobs.config import merge
from ftheta.jobs.prepare import prepare
from ftheta.measure import half_width
from ftheta.store import Run
from tests.cli._things import QUICK, table, weights, write

SMALL = {"epochs": 3, "hidden": [8], "report": False}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FTHETA_PROGRESS", "0")


class Heard(jobs.Watcher):
    """Keeps what it is told; cancels after some epochs."""

    def __init__(self, after=None):
        super().__init__()
        self.events, self.rows, self.after = [], 0, after

    def say(self, event, what):
        self.events.append((event, what))

    def on_row(self, ctx, row):
        self.rows += 1
        if self.rows == self.after:
            self.cancel()


def test_train_gives_a_run_with_its_result_model_and_predictions():
    watch = Heard()
    trained = jobs.train("mlp", "wine", watch=watch, **SMALL)
    assert trained.run.status == "finished" and trained.run.path.parts[0] == "runs"
    assert trained.result.columns["metric"][0] == "accuracy" and "<table>" in trained._repr_html_()
    assert isinstance(trained.model, ftheta.MLPClassifier) and trained.model.n_iter_ == 3
    data = ftheta.data.load("wine")
    data.x.to_csv("rows.csv", index=False)
    answers = trained.predict("rows.csv")
    assert len(answers.frame) == 178 and answers.predictions["p"].shape == (178, 3)
    assert [event for event, _ in watch.events if event != "note"] == ["run", "headline", "result", "verdict", "run"]
    assert watch.rows == 3
    again = jobs.open(trained.run.path)
    np.testing.assert_array_equal(again.predict("rows.csv").predictions["p"], answers.predictions["p"])


def test_a_cancelled_training_continues_bit_for_bit():
    settings = {**SMALL, "epochs": 6}
    jobs.train("mlp", "wine", run="whole", **settings)
    watch = Heard(after=2)
    stopped = jobs.train("mlp", "wine", run="r", watch=watch, **settings)
    assert stopped.run.status == "running" and watch.rows < 6 and not Run("r").has("result.json")
    jobs.train("mlp", "wine", run="r", **settings)
    assert weights("r") == weights("whole")
    assert Path("r/result.json").read_bytes() == Path("whole/result.json").read_bytes()


def test_evaluate_scores_a_file_that_has_the_target():
    table("learn.csv", "kind", n=90)
    table("more.csv", "kind", n=41)
    trained = jobs.train("mlp", "learn.csv", target="kind", run="r", **SMALL)
    before = sorted((p.name, p.stat().st_mtime_ns) for p in Path("r").iterdir())
    found = dict(zip(*(trained.evaluate("more.csv").columns[c] for c in ("metric", "value")), strict=True))
    answers = trained.predict("more.csv")
    truth = [line.rsplit(",", 1)[1] for line in Path("more.csv").read_text().splitlines()[1:]]
    assert float(found["accuracy"]) == pytest.approx(accuracy_score(truth, answers.frame["prediction"]), abs=1e-4)
    assert before == sorted((p.name, p.stat().st_mtime_ns) for p in Path("r").iterdir())
    write("bare.csv", ("a", "b"), (1, 2))
    with pytest.raises(FThetaError, match="bare.csv: Unknown target column 'kind'"):
        trained.evaluate("bare.csv")


def test_the_command_evaluates_too(monkeypatch, capsys):
    from tests.cli._things import call

    table("learn.csv", "kind", n=60)
    assert call(monkeypatch, "train", "mlp", "learn.csv", "--target", "kind", "--run", "r", *QUICK) == 0
    capsys.readouterr()
    assert call(monkeypatch, "evaluate", "r", "learn.csv") == 0
    assert capsys.readouterr().out.startswith("learn.csv (n = 60)")
    assert call(monkeypatch, "evaluate", "r", "learn.csv", "--json") == 0
    assert json.loads(capsys.readouterr().out)["columns"]["metric"][0] == "accuracy"


def test_what_needs_no_training_rows_works_without_them():
    rng = np.random.default_rng(0)
    write("bits.csv", tuple("abcd"), *rng.integers(0, 2, (40, 4)).tolist())
    jobs.train("rbm", "bits.csv", run="m", epochs=2, n_hidden=3, report=False)
    table("pets.csv", "kind")
    jobs.train("mlp", "pets.csv", target="kind", run="r", **SMALL)
    Path("bits.csv").unlink(), Path("pets.csv").unlink()
    assert jobs.open("m").sample(5).shape == (5, 4)
    ((name, found),) = jobs.open("r").explain("summary")
    assert name == "summary" and found.table().columns["parameters"][0] == 24
    with pytest.raises(RunError, match=r"training data of r, and pets\.csv is not there"):
        list(jobs.open("r").explain("activations"))


def test_a_test_file_is_evaluated_and_kept_with_its_digest():
    table("learn.csv", "kind", n=60)
    table("test.csv", "kind", n=20)
    trained = jobs.train("mlp", "learn.csv", target="kind", test="test.csv", run="r", **SMALL)
    result = json.loads(Path("r/result.json").read_text())
    assert (result["part"], result["rows"]) == ("test file", 20) and len(trained.split.test) == 0
    values = dict(zip(*(trained.evaluate("test.csv").columns[c] for c in ("metric", "value")), strict=True))
    assert float(values["accuracy"]) == pytest.approx(result["scores"]["accuracy"], abs=1e-4)


@pytest.mark.middle
def test_a_child_process_sends_events_and_stops_when_it_is_cancelled():
    """A process, since signals belong to one; a second on a quiet machine."""
    started = jobs.start("mlp", "digits", run="r", epochs=2000, patience=2000, batch_size=16, report=False)
    rows = 0
    for event in started.events():
        rows += event["event"] == "row"
        if rows == 2:
            break
    started.cancel()
    list(started.events())
    assert started.wait(10) == 130
    assert Run("r").status == "running" and Run("r").latest() is not None
    again = jobs.start("mlp", "wine", run="w", epochs=2, report=False)
    kinds = [event["event"] for event in again.events()]
    assert again.wait(60) == 0 and kinds.count("row") == 2 and {"run", "headline", "result"} <= set(kinds)
    assert not Run("w").has("report.html")


@pytest.mark.parametrize(
    ("n", "given", "epochs", "patience", "watched"),
    [(300, {}, 300, None, 0), (300, {"validation": 0.1}, 200, 40, 24), (740, {}, 300, None, 0), (760, {}, 200, 40, 61),
     (300, {"params": {"epochs": 7}}, 7, None, 0)],
)  # fmt: skip
def test_a_net_stops_early_by_60_rows_or_not_at_all_and_its_penalty_follows_their_number(
    n, given, epochs, patience, watched
):
    table("numbers.csv", n=n)
    job = prepare(merge({"model": "mlp", "data": "numbers.csv", "target": "price"}, given))
    net, held = job.estimator, len(job.split.validation)
    assert (net.epochs, net.patience) == (epochs, patience)
    assert len(job.fitted) == n - len(job.split.test) - watched and held == round(0.1 * (n - len(job.split.test)))
    assert net.training.l2 == pytest.approx(3 / len(job.fitted)) and job.validates == bool(watched)
    assert ("X_val" in job.fit_arguments) == bool(watched) and job.encoder.clip


@pytest.mark.parametrize(
    "asked",
    [
        {"model": "linear", "target": "größe"},
        {"model": "ar", "target": "größe", "time_column": "day"},
        {"model": "lstm", "target": "größe", "group": "who"},
    ],
    ids=["table", "series", "sequences"],
)
def test_how_a_file_is_read_is_heeded_for_every_kind_of_data(asked):
    frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=60).astype(str), "who": np.arange(60) // 6})
    frame["größe"], frame["a"] = np.arange(60) // 6 % 2, np.sin(np.arange(60))
    text = frame.to_csv(index=False)
    Path("plain.csv").write_text(text, encoding="utf-8")
    Path("other.csv").write_text("A title\nof two lines\n" + text, encoding="utf-16-be")
    with zipfile.ZipFile("both.zip", "w") as archive:
        archive.writestr("first.csv", "a,b\n1,2\n")
        archive.writestr("second.csv", text)
    wanted = prepare(merge(asked | {"data": "plain.csv"}, {}))
    for more in (
        {"data": "other.csv", "encoding": "utf-16-be", "skip_rows": 2},
        {"data": "both.zip", "sheet": "second.csv"},
    ):
        found = prepare(merge(asked | more, {}))
        assert found.digest == wanted.digest


def test_intervals_of_a_net_that_learned_from_all_rows_are_of_rows_it_had_not_seen():
    trained = jobs.train("mlp", table("few.csv", n=300), target="price", report=False, epochs=40)
    job = prepare(trained.config)
    X, y = job.rows(job.split.validation)
    other = clone(job.estimator).fit(*job.rows(job.split.train))
    wanted = half_width(y - other.predict(X), 0.95)
    assert json.loads(trained.run.read("interval.json"))["half_width"] == pytest.approx(wanted, rel=1e-5)
