"""Data on the command line: names and files, the task of a target, the parts, and when data count as changed."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ftheta import catalog
from ftheta.catalog import DataCard
from ftheta.data import Dataset
from ftheta.errors import FileFormatError, InputError
from ftheta.jobs import merge, prepare
from ftheta.jobs.prepare import digest
from ftheta.store import load_tree
from tests.cli._things import QUICK, table, write


def made(y, task="none", x=0.0):
    y = np.asarray(y)
    frame = pd.DataFrame({"a": np.sin(np.arange(len(y))) + x})
    return Dataset("made", frame, y, ("a",), (), task)


@pytest.fixture
def prepared(monkeypatch):
    """prepared(dataset, model="mlp", **settings): what `prepare` decides for a data set that was made here."""

    def run(dataset, model="mlp", **settings):
        monkeypatch.setitem(catalog.DATASETS, "made", DataCard("made", f"{__name__}:made"))
        monkeypatch.setattr("ftheta.data.load", lambda name: dataset)
        return prepare(merge({"model": model, "data": "made", **settings}))

    return run


@pytest.mark.parametrize(
    ("y", "kind", "asked", "task"),
    [
        ([1.5, 2.5] * 20, "regression", "", "regress"),
        ([0, 1] * 20, "binary", "", "classify"),
        (["a", "b", "c"] * 20, "multiclass", "", "classify"),
        ([0, 1] * 20, "binary", "regress", "regress"),
        (list(range(30)) * 4, "regression", "classify", "classify"),
        ([0.0, 1.0] * 20, "binary", "classify", "classify"),
    ],
)
def test_the_task_is_what_was_asked_for_or_what_the_target_says(prepared, y, kind, asked, task):
    assert prepared(made(y, task=kind), task=asked).task.name == task


def test_a_model_that_does_not_learn_such_targets_is_one_sentence(prepared):
    with pytest.raises(InputError, match="The target of made is numbers, which lda does not learn; it is for classify"):
        prepared(made([1.5, 2.5], "regression"), "lda")


def test_a_file_without_a_target_column_asks_for_it(tmp_path):
    file = table(tmp_path / "pets.csv", "kind")
    with pytest.raises(FileFormatError) as caught:
        prepare(merge({"model": "mlp", "data": str(file)}))
    asked = "which column is predicted? Use --target COLUMN. It has a, b, kind."
    assert str(caught.value) == f"{file}: {asked}"


def test_parts_do_not_depend_on_each_others_size(prepared):
    """The test part is the same for every share of validation."""
    dataset = made(np.arange(40) % 2, "binary")
    small, large = (prepared(dataset, validation=share).split for share in (0.1, 0.5))
    assert np.array_equal(small.test, large.test) and len(small.validation) < len(large.validation)
    assert not np.array_equal(small.test, prepared(dataset, seed=1).split.test)


@pytest.mark.parametrize("none", [0.0, "none"])
def test_parts_that_were_not_asked_for_are_empty(prepared, none):
    parts = prepared(made([0, 1, 0], "binary"), test=none, validation=0.0).split
    assert [part.tolist() for part in parts] == [[0, 1, 2], [], []]


@pytest.mark.parametrize(
    ("y", "settings", "sentence"),
    [
        ([1.5], {}, "--test 0.2: 1 row cannot be divided into two parts; at least 2 rows are needed."),
        ([1.5, 2.5], {}, "--validation 0.1: 1 row cannot be divided into two parts"),
        ([0, 1], {"test": 0.25}, "--test 0.25: 1 of 2 rows cannot be held out: each of 2 classes keeps one row"),
    ],
)
def test_too_few_rows_for_a_part_are_one_sentence(prepared, y, settings, sentence):
    with pytest.raises(InputError) as caught:
        prepared(made(y, "binary" if isinstance(y[0], int) else "regression"), **settings)
    part = sentence.split()[0]
    assert str(caught.value).startswith(sentence) and str(caught.value).endswith(f" Give more rows, or use {part} 0.")


def test_an_explicit_share_wins_over_the_official_test_part(prepared):
    dataset = Dataset("made", made(np.arange(50) % 2).x, np.arange(50) % 2, ("a",), (), "binary", official=5)
    assert prepared(dataset).split.test.tolist() == [45, 46, 47, 48, 49]
    assert len(prepared(dataset, test=0.2).split.test) == 10


def test_a_chronological_split_follows_the_time_column(ok):
    """A file sorted newest first is tested on its newest rows."""
    rows = [(f"2021-{1 + i // 28:02d}-{1 + i % 28:02d}", 59 - i, i % 7 + 0.5, i * 0.5) for i in range(60)]
    write("x.csv", ("day", "age", "a", "y"), *reversed(rows))
    for run, how in (("dates", ()), ("named", ("--time-column", "day")), ("other", ("--time-column", "age"))):
        ok("train", "linear", "x.csv", "--target", "y", "--split", "chronological", *how, "--run", run)
    tested = {run: sorted(load_tree(Path(run, "test.safetensors"))["y"]) for run in ("dates", "named", "other")}
    newest = [i * 0.5 for i in range(48, 60)]
    assert tested["dates"] == tested["named"] == newest and tested["other"] == [i * 0.5 for i in range(12)]
    assert "rows are in the order of 'day'" in Path("dates/data.json").read_text()


def test_the_digest_sees_values_targets_names_and_rows():
    base = made([0, 1, 0, 1])
    renamed = Dataset("made", base.x, base.y, ("b",), (), "none")
    others = [made([0, 1, 1, 1]), made([0, 1, 0, 1], x=1e-9), renamed]
    assert digest(base) == digest(made([0, 1, 0, 1])) == digest(base, np.arange(4))
    assert len({digest(base), digest(base, np.array([0, 1])), *map(digest, others)}) == 5


def test_a_group_column_keeps_rows_together_and_is_not_learned_from(ok):
    rows = [(f"p{i // 4}", i % 7, i % 5, "u" if i % 3 else "v") for i in range(80)]
    write("x.csv", ("patient", "a", "b", "y"), *rows)
    done = ok("train", "mlp", "x.csv", "--target", "y", "--group", "patient", "--run", "r", *QUICK)
    assert "note: column 'patient' keeps rows together and is not learned from" in done.err
    parts = load_tree(Path("r/split.safetensors"))
    patients = [{rows[i][0] for i in parts[name].tolist()} for name in ("train", "test")]
    assert patients[0] and patients[1] and not patients[0] & patients[1]
    assert [c["name"] for c in json.loads(Path("r/data.json").read_text())["columns"]] == ["a", "b"]
    assert ok("predict", "r", "x.csv").out.startswith("prediction,p(u),p(v)")


def test_a_test_file_is_read_as_the_training_file_was(ok):
    """A word and an empty column of dates in it do not change what the training rows are."""
    header = ("a", "day", "t", "y")
    write("train.csv", header, *((i % 13 + 0.5, f"{i % 28 + 1:02d}/04/2021", "xyz"[i % 3], i * 0.5) for i in range(60)))
    write("test.csv", header, ("err", "", "new", 3.5), (2.5, "", "x", 4.0))
    ok("train", "mlp", "train.csv", "--target", "y", "--test", "test.csv", "--run", "r", *QUICK)
    kinds = {c["name"]: c["kind"] for c in json.loads(Path("r/data.json").read_text())["columns"]}
    assert kinds == {"a": "number", "day": "date", "t": "levels"}
    assert len(load_tree(Path("r/split.safetensors"))["test"]) == 0
    result = json.loads(Path("r/result.json").read_text())
    assert (result["rows"], result["part"]) == (2, "test file")


def test_many_whole_numbers_are_classes_if_that_is_asked_for(ok):
    write("x.csv", ("a", "y"), *((i + 0.5, i % 25) for i in range(150)))
    ok("train", "mlp", "x.csv", "--target", "y", "--task", "classify", "--run", "r", *QUICK)
    assert len(load_tree(Path("r/test.safetensors"))["classes"]) == 25


def test_a_column_that_counts_the_rows_is_learned_from_if_there_is_no_other(ok):
    write("line.csv", ("x", "y"), *((i, 2.5 * i) for i in range(80)))
    ok("train", "linear", "line.csv", "--target", "y", "--run", "r")
    assert json.loads(Path("r/result.json").read_text())["scores"]["R²"] > 0.999
