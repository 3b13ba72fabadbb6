"""`ftheta runs compare`: what differs, how well each did, and whether chance could make the difference."""

import json
import re
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from markupsafe import Markup
from scipy.stats import binomtest, ttest_rel

from ftheta.jobs.compare import _labels
from ftheta.store import Run
from tests.cli._things import QUICK, call, table

SAME = "These rows were used for testing"


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Runs on pets.csv (a, b: same rows; c: other rows; all: no test part) and on homes.csv (low, high)."""
    folder = tmp_path_factory.mktemp("compared")
    table(folder / "pets.csv", "kind")
    table(folder / "homes.csv", noise=np.random.default_rng(1).normal(size=60).round(3))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)

        def train(name, model, data, *more):
            target = {"pets.csv": "kind", "homes.csv": "price"}[data]
            assert call(patch, "train", model, data, "--target", target, "--run", f"runs/{name}", *more) == 0

        train("a", "mlp", "pets.csv", *QUICK, "--set", "params.lr=0.0001")
        train("b", "mlp", "pets.csv", "--epochs", 30, "--hidden", 16, "--validation", 0.2)
        train("linear", "linear", "pets.csv")
        train("c", "mlp", "pets.csv", *QUICK, "--seed", 1)
        train("all", "mlp", "pets.csv", *QUICK, "--test", "none")
        train("low", "linear", "homes.csv")
        train("high", "mlp", "homes.csv", *QUICK)
    return folder


@pytest.fixture
def runs(ft, made, tmp_path):
    """A copy of that folder to work in."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)


def blocks(text):
    """The tables of an answer: caption, header, rows of cells."""
    for block in text.split("\n\n")[:-1]:
        caption, header, _, *rows = block.splitlines()
        yield caption, re.split(" {2,}", header), [re.split(" {2,}", row.strip()) for row in rows]


def test_settings_that_differ_metrics_and_the_test_are_shown(ok, runs):
    done = ok("runs", "compare", "a", "b")
    settings, metrics, tests = blocks(done.out)
    assert settings[0] == "Settings that differ" and settings[1] == [
        "setting",
        "mlp, hidden 8, 3 epochs",
        "mlp, hidden 16, 30 epochs",
    ]
    assert settings[2] == [
        ["run", "a", "b"],
        ["validation", "auto", "0.2"],
        ["params.lr", "0.0001", "default"],
        ["params.epochs", "3", "30"],
        ["params.hidden", "[8]", "[16]"],
    ]
    scores = [json.loads(Path(f"runs/{name}/result.json").read_text()) for name in "ab"]
    assert metrics[0] == "Test part, with 95 % confidence intervals; baseline: always 'cat'"
    for metric, *cells, simple in metrics[2]:
        assert simple == f"{scores[0]['baseline']['scores'][metric]:.4f}"
        for cell, found in zip(cells, scores, strict=True):
            interval = found["intervals"][metric]
            ends = "none" if interval is None else f"{interval[0]:.4f}, {interval[1]:.4f}"
            assert cell == f"{found['scores'][metric]:.4f} [{ends}]"
    assert [row[0] for row in metrics[2]] == list(scores[0]["scores"])
    assert tests[0].startswith("Accuracy is ") and "on the same 12 rows" in tests[0]
    assert [row[1] for row in tests[2]] == ["McNemar exact"]
    assert done.out.splitlines()[-1].startswith(f"{SAME} 3 times (linear 1, mlp 2)")
    assert not any(p.suffix == ".svg" for p in Path().rglob("*"))  # nothing is drawn unasked


def test_the_test_of_classes_is_mcnemars_on_the_kept_answers(ok, runs):
    a, b = (Run(f"runs/{name}").tree("test.safetensors") for name in "ab")
    right = [np.array(t["predicted"]) == np.array(t["y"]) for t in (a, b)]
    only_a, only_b = int((right[0] & ~right[1]).sum()), int((~right[0] & right[1]).sum())
    assert only_a + only_b > 0  # else any test would do
    (pair,) = json.loads(ok("runs", "compare", "a", "b", "--json").out)["paired"]
    assert (pair["a"], pair["b"], pair["n"]) == ("a", "b", 12)
    assert pair["tests"][0]["p"] == pytest.approx(binomtest(only_a, only_a + only_b).pvalue)
    assert pair["tests"][0]["difference"] == pytest.approx(right[0].mean() - right[1].mean())
    (other,) = json.loads(ok("runs", "compare", "b", "a", "--json").out)["paired"]
    assert other["tests"][0]["difference"] == -pair["tests"][0]["difference"]


def test_the_test_of_numbers_is_of_their_errors(ok, runs):
    low, high = (Run(f"runs/{name}").tree("test.safetensors") for name in ("low", "high"))
    squares = [(t["y"] - t["predicted"]) ** 2 for t in (low, high)]
    found = json.loads(ok("runs", "compare", "low", "high", "--json").out)
    tests = {(t["measure"], t["test"]): t for t in found["paired"][0]["tests"]}
    t = tests["mean squared error", "paired t"]
    assert (t["statistic"], t["p"]) == pytest.approx(tuple(ttest_rel(*squares)))
    assert found["settings"]["model"] == ["linear", "mlp"]
    assert found["runs"]["low"]["result"]["scores"]["RMSE"] == pytest.approx(np.sqrt(squares[0].mean()))


def test_runs_on_other_rows_are_side_by_side_without_a_test(ok, runs):
    done = ok("runs", "compare", "a", "c")
    assert ["seed", "0", "1"] in next(blocks(done.out))[2]
    assert [caption for caption, *_ in blocks(done.out)] == [
        "Settings that differ",
        "Test part, with 95 % confidence intervals",
    ]
    said = "No paired test of mlp, seed 1 against mlp, seed 0, lr 0.0001: their test rows differ (other rows, columns "
    assert done.out.splitlines()[-2] == said + "or targets), and so part of any difference may come from the rows."


def test_one_changed_cell_is_another_row(ok, runs):
    """The test rows have the same numbers in all files, but one has another class in `other`, a feature in `moved`."""
    quick = ("--target", "kind", *QUICK, "--split", "random")
    ok("train", "mlp", "pets.csv", *quick, "--run", "runs/x")
    rows = Run("runs/x").tree("test.safetensors")["rows"]
    lines = Path("pets.csv").read_text().splitlines()
    old = lines[rows[0] + 1]
    new = {"copy": old, "other": old.translate(str.maketrans("catdog", "dogcat")), "moved": f"9{old[1:]}"}
    for name, line in new.items():
        Path(f"{name}.csv").write_text("\n".join(lines).replace(old, line) + "\n")
        ok("train", "mlp", f"{name}.csv", *quick, "--run", f"runs/{name}")
        assert np.array_equal(Run(f"runs/{name}").tree("test.safetensors")["rows"], rows)
    found = json.loads(ok("runs", "compare", "x", "copy", "other", "moved", "--json").out)
    assert [pair["b"] for pair in found["paired"]] == ["copy"]


def test_of_many_runs_each_is_tested_against_the_first(ok, runs):
    done = ok("runs", "compare", "b", "a", "c", "linear")
    *_, first, second = blocks(done.out)
    b, *_ = names = ("mlp, hidden 16, seed 0", "mlp, hidden 8, seed 0", "linear")
    for (caption, *_), other in zip((first, second), names[1:], strict=True):
        assert re.fullmatch(rf"Accuracy is \S+ for {b} and \S+ for {other} on the same 12 rows: .*", caption)
    said = done.out.splitlines()[-3:]
    assert said[0].startswith(f"No paired test of mlp, hidden 8, seed 1 against {b}: ")
    assert said[1] == f"2 runs were tested against {b}: with so many, trust a p below 0.025 only."


@pytest.mark.middle
def test_figures_go_where_they_are_asked_to_and_over_nothing(ok, refused, runs):
    done = ok("runs", "compare", "a", "b", "linear", "-o", "drawn/here")
    names = ["metrics", "curves", "compare-a-b", "compare-a-linear"]
    assert done.err.splitlines() == [f"written: drawn/here/{n}" for n in ("compare.html", *(f"{n}.svg" for n in names))]
    for name in names:
        text = Path(f"drawn/here/{name}.svg").read_text(encoding="utf-8")
        assert text.startswith('<svg role="img" aria-label="') and 'aria-label=""' not in text
    said = refused("runs", "compare", "a", "b", "-o", "drawn/here")
    assert said == "--output drawn/here: drawn/here/compare.html exists; nothing was changed. Choose another folder."


def test_a_page_begins_with_the_verdict_and_names_what_differs(ok, runs, monkeypatch):
    monkeypatch.setattr(
        import_module("ftheta.jobs.compare"), "figure_html", lambda figure, anchor, alt: Markup("<svg></svg>")
    )
    monkeypatch.setattr(import_module("ftheta.jobs.compare"), "svg", lambda figure, alt: "")
    ok("runs", "compare", "linear", "b", "a", "-o", "drawn")
    page = Path("drawn/compare.html").read_text(encoding="utf-8")
    assert '<h1 id="top">linear against mlp, hidden 16, 30 epochs; mlp, hidden 8, 3 epochs</h1>' in page
    assert '<p class="lead">linear: linear on pets.csv; mlp, hidden 16, 30 epochs: b on pets.csv; ' in page
    said = [pair["meaning"] for pair in json.loads(ok("runs", "compare", "linear", "b", "a", "--json").out)["paired"]]
    assert len(said) == 2 and f'<div class="note verdict"><p>{"<br>".join(said)}</p>' in page
    headings = ["Differences on the same rows", "Metrics", "Training", "What differs", "Notes", "Repeat it"]
    assert re.findall(r"<h2[^>]*>([^<]*)", page) == headings and "<script" not in page
    assert page.count("<svg") == 4 and page.count("<summary>Tests</summary>") == 2


@pytest.mark.parametrize(
    ("settings", "labels"),
    [
        ([{"model": "linear"}, {"model": "mlp", "params.epochs": 30}], ["linear", "mlp"]),
        ([{"model": "mlp"}, {"model": "mlp", "params.epochs": 30}], ["mlp", "mlp, 30 epochs"]),
        ([{"model": "mlp", "params.hidden": [8, 4]}, {"model": "mlp", "params.hidden": [9]}], ["8-4", "9"]),
        ([{"model": "mlp", "seed": 0}, {"model": "mlp", "seed": 0}], ["mlp (1)", "mlp (2)"]),
        (  # two that always go together say no more than one
            [{"model": "mlp", "c": i % 2, "b": i // 2, "a": i // 2} for i in range(4)],
            [f"mlp, a {i // 2}, c {i % 2}" for i in range(4)],
        ),
        (  # three settings are said, not the fourth
            [{"model": "mlp", **dict(zip("abcd", map(int, f"{i:04b}"), strict=True))} for i in range(16)],
            [f"mlp, d {i & 1}, c {i >> 1 & 1}, b {i >> 2 & 1} ({i + 1})" for i in range(16)],
        ),
    ],
)
def test_names_tell_what_differs(settings, labels):
    assert [name.removeprefix("mlp, hidden ") for name in _labels(settings)] == labels


@pytest.mark.middle
def test_runs_of_one_name_are_told_apart_by_their_folders(ok, runs):
    shutil.copytree("runs/b", "runs/more/a")
    found = json.loads(ok("runs", "compare", "runs/a", "runs/more/a", "--json", "-o", "drawn").out)
    assert list(found["runs"]) == ["runs/a", "runs/more/a"]
    assert Path("drawn/compare-runs-a-runs-more-a.svg").exists()


def test_what_cannot_be_compared_is_one_sentence(refused, runs):
    assert refused("runs", "compare", "a").startswith("Comparing takes two runs or more, got 1.")
    assert refused("runs", "compare", "a", "b", "runs/a") == "runs/a was given twice. Give each run once."
    said = refused("runs", "compare", "a", "low")
    assert said.startswith("a and low have different tasks, classify and regress")
    said = refused("runs", "compare", "all", "a")
    assert said == "runs/all has no test part, only rows that it learned from. Train it with one."
    Run("runs/half").write("config.toml", 'model = "mlp"\ndata = "iris"\n')
    said = refused("runs", "compare", "a", "half")
    assert said == "runs/half has no result yet. Finish it with: ftheta train --resume runs/half"
    assert "Did you mean 'linear'?" in refused("runs", "compare", "a", "linaer")
