"""Seventeen data sets as a user brings them: trained with nothing but `--target`, then asked about new rows."""

import csv
import io
import json
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ftheta import data
from ftheta.store import Run
from tests.cli._awkward import FILES, content
from tests.cli._things import ENV, PYTHON, QUICK

EMBEDDED = ("digits", "iris", "wine", "breast-cancer", "diabetes")
ROW_NAMES = {
    "passengers": ["PassengerId", "Name", "Cabin"],
    "nations": ["column 1"],
    "orders": ["order_id"],
}


def rows_of(text, mark=","):
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff")), delimiter=mark))


def write(path, rows, mark=","):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=mark).writerows(rows)


class Case:
    """A trained run and rows that it has not seen, as cells with their header; the target is not among them."""

    def __init__(self, name):
        self.name, self.run = name, f"runs/{name}"
        if name in FILES:
            self.mark, self.target = FILES[name].mark, FILES[name].target
            Path(f"{name}.csv").write_bytes(content(name))
            self.words = (f"{name}.csv", "--target", self.target)
            header, *cells = rows_of(content(name, seed=1).decode(), self.mark)
            at = header.index(self.target)
            self.new = [[c for k, c in enumerate(row) if k != at] for row in (header, *cells)]
        else:
            self.mark, self.target, self.words = ",", "", (name,)
            self.new = rows_of(data.load(name).x.head(40).to_csv(index=False))

    def predict(self, ok, rows, file="new.csv"):
        write(file, rows, self.mark)
        done = ok("predict", self.run, file)
        return pd.read_csv(io.StringIO(done.out), keep_default_na=False), done.err

    @property
    def facts(self):
        return json.loads(Run(self.run).read("data.json"))


def hold(case, ok, refused):
    """Everything that must hold of a trained run, its data.json and its predictions."""
    found, _ = case.predict(ok, case.new)
    assert len(found) == len(case.new) - 1
    named = ROW_NAMES.get(case.name, [])
    assert list(found)[: len(named) + 1] == [*named, "prediction"]
    if case.facts["classes"]:
        p = found[[f"p({label})" for label in case.facts["classes"]]]
        assert len(found.columns) == len(named) + 1 + p.shape[1] and p.min(axis=None) >= 0
        np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-6)
        assert found["prediction"].astype(str).tolist() == [case.facts["classes"][k] for k in p.to_numpy().argmax(1)]
    else:
        assert list(found)[len(named) + 1 :] == ["low", "high"]
        assert (found["low"] < found["prediction"]).all() and (found["prediction"] < found["high"]).all()
    _columns(case, named)
    _shuffled(case, ok, found)
    _unseen(case, ok, found)
    _missing(case, refused)


def _columns(case, named):
    """data.json says what was done to each column, and which only name the rows."""
    columns = {column["name"]: column for column in case.facts["columns"]}
    assert list(columns) == [name or "column 1" for name in case.new[0]]
    assert all(c["kind"] in ("number", "levels", "date", "text", "dropped") and c["did"] for c in columns.values())
    assert [name for name, c in columns.items() if "identifier" in c["did"]] == named


def _shuffled(case, ok, expected):
    order = np.random.default_rng(0).permutation(len(case.new[0]))
    if case.name == "nations":  # a column without a name is known by its place
        order = [0, *[k for k in order if k]]
    found, _ = case.predict(ok, [[row[k] for k in order] for row in case.new])
    pd.testing.assert_frame_equal(found, expected)


def _unseen(case, ok, expected):
    """A level that was not there in training gets an answer, a note, and changes no other row."""
    levels = [c["name"] for c in case.facts["columns"] if c["kind"] == "levels"]
    if not levels:
        return
    at = case.new[0].index(levels[0])
    changed = [list(row) for row in case.new]
    changed[1][at] = "never seen"
    found, said = case.predict(ok, changed)
    assert levels[0] in said and "never seen" in said
    pd.testing.assert_frame_equal(found.iloc[1:], expected.iloc[1:])
    assert found["prediction"].iloc[0] != ""


def _missing(case, refused):
    used = [c["name"] for c in case.facts["columns"] if c["kind"] != "dropped"]
    at = case.new[0].index(used[-1])
    write("short.csv", [[c for k, c in enumerate(row) if k != at] for row in case.new], case.mark)
    assert f"Column {used[-1]!r} is missing" in refused("predict", case.run, "short.csv")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["energy", "passengers", "nations"])
def test_an_awkward_file_is_learned_and_new_rows_are_answered(ok, refused, name):
    case = Case(name)
    done = ok("train", "mlp", *case.words, *QUICK, "--run", case.run)
    for column in ROW_NAMES.get(name, []):
        assert f"note: column {column!r} left out: an identifier" in done.err
    hold(case, ok, refused)


@pytest.mark.slow
def test_numbers_that_name_rows_are_written_as_they_stood(ok):
    case = Case("passengers")
    ok("train", "mlp", *case.words, *QUICK, "--run", case.run)
    case.new[2][0] = ""
    found, _ = case.predict(ok, case.new[:4])
    assert found["PassengerId"].tolist() == ["1", "", "3"]
    case.new[1][0] = "1.5"
    found, _ = case.predict(ok, case.new[:4])
    assert found["PassengerId"].tolist() == ["1.5", "", "3.0"]


@pytest.mark.middle
@pytest.mark.parametrize("name", [*FILES, *EMBEDDED])
def test_seventeen_data_sets_train_with_no_option_but_the_target(ok, refused, name):
    """Three of them as a user does it, in a process of their own; the others for fewer epochs."""
    case = Case(name)
    if name in ("passengers", "energy", "iris"):
        done = subprocess.run([*PYTHON, "train", "mlp", *case.words], env=ENV, capture_output=True, text=True)
        assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
        out = done.stdout
    else:
        out = ok("train", "mlp", *case.words, "--epochs", 10, "--report").out
    (folder,) = Path(f"runs/mlp-{name}").iterdir()
    case.run = str(folder)
    assert f"\nRun folder: {folder}\nReport:     {folder}/report.html\n" in out
    assert (folder / "report.html").stat().st_size > 10_000 and Run(folder).verify() == []
    hold(case, ok, refused)
