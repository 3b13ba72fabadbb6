"""What the simplest answers score on the same rows, the tests against them, and the sentence that says it."""

import json
from html import escape
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import bernoulli, binomtest, norm
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import brier_score_loss, log_loss, mean_absolute_error, r2_score, root_mean_squared_error

import ftheta
from ftheta import jobs
from ftheta.jobs.baseline import Relation, Scored, errors_by
from ftheta.tasks import Classify, Regress, Segment
from tests.cli._things import table, write

SMALL = {"epochs": 3, "hidden": [8], "report": False, "run": "r"}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FTHETA_PROGRESS", "0")


def result():
    return json.loads(Path("r/result.json").read_text())


def test_the_constant_of_classes_is_scikit_learns_dummy():
    y, task = np.array(["no"] * 7 + ["yes"] * 3), Classify()
    new = np.array(["yes", "no", "no", "no", "yes"])
    like = {"predicted": new, "p": np.full((5, 2), 0.5), "classes": ["no", "yes"]}
    made = task.baseline(task.constant(y), like)
    dummy = DummyClassifier(strategy="prior").fit(y, y)
    assert made["predicted"].tolist() == dummy.predict(new).tolist() and task.baseline_name(made) == "always 'no'"
    np.testing.assert_allclose(made["p"], dummy.predict_proba(new))
    scores = task.baseline_scores(new, made, ["accuracy", "log loss", "Brier score", "other"], None, None)
    truth = {
        "accuracy": 0.6,
        "log loss": log_loss(new, made["p"]),
        "Brier score": brier_score_loss(new, made["p"][:, 1], pos_label="yes"),
    }
    assert scores == pytest.approx(truth)
    assert task.baseline(task.constant(y), like | {"p": None})["p"] is None


def test_the_constant_of_numbers_is_scikit_learns_dummy_with_a_normal_interval():
    rng, task = np.random.default_rng(0), Regress()
    y, new = rng.normal(50, 20, 4000), rng.normal(60, 20, 30)
    like = {"predicted": new, "low": new, "high": new}
    made, ends = task.baseline(task.constant(y), like), norm.interval(0.95, y.mean(), y.std())
    assert (made["low"][0], made["high"][-1]) == pytest.approx(ends)
    scores = task.baseline_scores(new, made, ["R²", "RMSE", "MAE", "coverage"], None, None)
    theirs = DummyRegressor().fit(y, y).predict(new)
    truth = [f(new, theirs) for f in (r2_score, root_mean_squared_error, mean_absolute_error)]
    assert list(scores.values()) == pytest.approx([*truth, np.mean((new > ends[0]) & (new < ends[1]))])
    assert task.baseline(task.constant(y), like | {"low": None})["low"] is None


def test_the_constant_of_pixels_is_the_most_frequent_class():
    y = np.array([[[0, 1], [1, 1]], [[2, 1], [0, 1]]])
    made = Segment().baseline(Segment().constant(y), {"predicted": y[:1], "classes": ["a", "b", "c"]})
    assert (made["predicted"] == 1).all() and Segment().baseline_name(made) == "always 'b'"


@pytest.mark.parametrize("visible", ["bernoulli", "gaussian"])
def test_independent_columns_are_a_machine_without_weights(visible):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 6)) if visible == "gaussian" else (rng.uniform(size=(80, 6)) < 0.3).astype(float)
    knobs = {"n_hidden": 2, "epochs": 1, "visible": visible, "random_state": 0, "dtype": "float64"}
    model = ftheta.RestrictedBoltzmannMachine(**knobs).fit(x)
    mean = x.mean(0)
    truth = {
        "bernoulli": lambda: bernoulli.logpmf(x.astype(int), mean).sum(1),
        "gaussian": lambda: norm.logpdf(x, mean).sum(1),
    }[visible]()
    np.testing.assert_allclose(model.log_prob_independent(x), truth, rtol=1e-6)


def test_a_run_keeps_the_constant_the_linear_model_and_the_tests():
    table("learn.csv", n=120)
    trained = jobs.train("mlp", "learn.csv", target="price", **SMALL)
    found, test = result(), trained.run.tree("test.safetensors")
    x, y = trained.dataset.x.to_numpy(), np.asarray(trained.dataset.y)
    fitted = np.sort(np.concatenate(trained.split[:2]))  # too few validation rows to stop by
    linear = LinearRegression().fit(x[fitted], y[fitted]).predict(x[test["rows"]])
    assert found["baseline"]["constant"] == pytest.approx({"mean": y[fitted].mean(), "spread": y[fitted].std()})
    assert found["baseline"]["linear"]["RMSE"] == pytest.approx(root_mean_squared_error(test["y"], linear), abs=1e-5)
    assert found["verdict"] == trained.verdict and escape(trained.verdict) in trained._repr_html_()
    assert " worse than a linear model (" in trained.verdict and found["baseline"]["linear_p"] <= 0.001
    shown = trained.result
    assert [float(v) for v in shown.columns["baseline"]] == pytest.approx(
        list(found["baseline"]["scores"].values()), abs=1e-4
    )
    again = trained.evaluate("learn.csv")
    assert again.columns["baseline"] and "; baseline: always" in again.caption and again.caption.endswith(".")


def test_p_is_that_of_the_paired_test_and_a_linear_model_is_not_compared_with_itself():
    rng = np.random.default_rng(1)
    rows = zip(rng.normal(size=90).round(3), rng.permutation(["no"] * 72 + ["yes"] * 18), strict=True)
    write("rare.csv", ("a", "kind"), *rows)
    trained = jobs.train("linear", "rare.csv", target="kind", report=False, run="r")
    found, test = result(), trained.run.tree("test.safetensors")
    only = [np.sum((test["predicted"] == a) & (test["y"] == a)) for a in ("yes", "no")]
    alone = int(only[0]), int(np.sum((test["predicted"] != "no") & (test["y"] == "no")))
    p = binomtest(alone[0], sum(alone)).pvalue if sum(alone) else 1.0
    assert found["baseline"]["p"] == pytest.approx(p) and found["baseline"]["linear"] is None
    assert found["baseline"]["method"] == "McNemar exact" and "linear" not in found["verdict"]
    assert list(found["scores"])[:2] == ["accuracy", "recall(yes)"]


def test_a_linear_model_that_fails_is_left_out(monkeypatch):
    def fit(self, *given):
        raise np.linalg.LinAlgError("no solution")

    table("learn.csv")
    monkeypatch.setattr(ftheta.LinearRegression, "fit", fit)
    jobs.train("mlp", "learn.csv", target="price", test=0, **SMALL)
    found = result()
    assert found["baseline"]["linear"] is None and found["verdict"].endswith(", on the rows that it learned from.")


BETTER, NOT = "better than", "not better than"
A, B = "always 'a' (0.900)", "a linear model (0.950)"


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        ((BETTER, 1e-4), (BETTER, 1e-5), f"better than {A} and than {B}, p < 0.001."),
        ((NOT, 0.4), (NOT, 0.0634), f"not better than {A} or than {B}, p = 0.4 and p = 0.063."),
        ((BETTER, 1e-4), (NOT, 0.5), f"better than {A}, p < 0.001, but not better than {B}, p = 0.5."),
        (("worse than", None), None, f"worse than {A}."),
    ],
)
def test_the_verdict_is_one_sentence(monkeypatch, first, second, sentence):
    said = iter(Relation(*found, "test") for found in (first, second) if found)
    scores = iter([{"accuracy": 0.9}, {"accuracy": 0.95}])
    monkeypatch.setattr(Scored, "_relation", lambda *_: next(said))
    task = SimpleNamespace(judged="accuracy", said=str, baseline=lambda *_: {}, baseline_name=lambda _: "always 'a'")
    task.baseline_scores = lambda *_: next(scores)
    made = Scored(task, None, None, None, {}, {"scores": {"accuracy": 0.97}})
    assert made.against({}, {"predicted": 1} if second else None)["verdict"] == f"Accuracy 0.970 is {sentence}"
    assert made.against(None) == {}


def test_without_a_paired_test_the_interval_decides():
    found = {"scores": {"log p": -5.0}, "intervals": {"log p": [-6.0, -4.0]}}
    made = Scored(SimpleNamespace(judged=""), None, None, None, {}, found)
    said = [made._relation({"log p": other}, {}).said for other in (-6.5, -5.5, -3.5)]
    assert said == ["better than", "not better than", "worse than"]


def test_the_most_frequent_confusions_are_named_with_their_worst_rows():
    y, predicted = np.array(list("aaabbbcc")), np.array(list("bbcabbcb"))
    p = np.full((8, 3), 1 / 3)
    p[1] = 0.1, 0.8, 0.1
    found = Classify().confused(y, {"predicted": predicted, "p": p, "classes": list("abc")})
    assert list(found) == ["a taken for b (2)", "a taken for c (1)", "b taken for a (1)", "c taken for b (1)"]
    assert found["a taken for b (2)"].tolist() == [1, 0]


def test_a_run_says_which_rows_have_larger_errors():
    table("learn.csv", n=400, city=["Oslo"] * 300 + ["Rome"] * 100)
    rows = [line.split(",") for line in Path("learn.csv").read_text().splitlines()]
    noise = np.random.default_rng(0).normal(size=400) * 30
    moved = [
        [*row[:-1], float(row[-1]) + (d if row[2] == "Rome" else 0.0)] for row, d in zip(rows[1:], noise, strict=True)
    ]
    write("learn.csv", rows[0], *moved)
    trained = jobs.train("linear", "learn.csv", target="price", report=False, run="r")
    (sentence,) = result()["errors"]
    assert sentence.startswith("Rows with city Rome (") and trained.verdicts == [trained.verdict, sentence]
    assert trained.errors().sentences == [sentence] and jobs.open("r").errors().sentences == [sentence]


def test_errors_are_told_by_columns_of_tables_not_by_pixels():
    x = np.random.default_rng(0).integers(0, 17, size=(400, 64)).astype(float)
    x[:, 3] = np.arange(400) % 4
    y = np.arange(400) % 2
    found = {"y": y, "predicted": np.where(x[:, 3] == 3, 1 - y, y), "p": None, "classes": [0, 1]}
    assert errors_by(Classify(), x, found, ()).groups and errors_by(Classify(), x, found, (8, 8)) is None


@pytest.mark.middle
def test_a_tree_of_missing_cells_and_categories_is_compared_with_the_linear_model_that_train_makes():
    rng = np.random.default_rng(0)
    x, kind = rng.normal(size=200), rng.choice(["a", "b"], 200)
    y = 3 * x + 5 * (kind == "b") + rng.normal(size=200)
    cells = ["" if gone else f"{v:.4f}" for v, gone in zip(x, rng.random(200) < 0.1, strict=True)]
    lines = [f"{c},{k},{v:.4f}" for c, k, v in zip(cells, kind, y, strict=True)]
    Path("rows.csv").write_text("\n".join(["x,kind,y", *lines]) + "\n")
    own = jobs.train("linear", "rows.csv", target="y", run="linear", report=False)
    for model in ("tree", "boosting"):
        run = jobs.train(model, "rows.csv", target="y", run=model, report=False)
        found = json.loads((run.run.path / "result.json").read_text())["baseline"]["linear"]
        truth = json.loads((own.run.path / "result.json").read_text())["scores"]
        assert {name: found[name] for name in ("R²", "RMSE", "MAE")} == pytest.approx(
            {name: truth[name] for name in ("R²", "RMSE", "MAE")}
        )
    numbers = [int(n) for n in jobs.open("tree").split.test]
    assert any(jobs.open("tree").explained("tree").label == f"Row {n} (the most wrong of 40)" for n in numbers)
    assert jobs.open("tree").explained("tree", row=numbers[3]).label == f"Row {numbers[3]}"


@pytest.mark.middle
def test_a_memory_of_a_run_recalls_the_patterns_that_it_stored():
    run = jobs.train("hopfield", "digits", run="m", report=False)
    found = run.explained("recall")
    np.testing.assert_array_equal(found.x, run.model.patterns_)
    assert found.exact[0].all()  # of 10 % flipped pixels
    shares = [run.result.columns[end][0] for end in ("low", "value", "high")]
    truth = binomtest(round(shares[1] * 359), 359).proportion_ci(method="wilson")
    assert (shares[0], shares[2]) == pytest.approx((truth.low, truth.high))
