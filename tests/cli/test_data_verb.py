"""`ftheta data`: what there is, what is in it, and how it gets here."""

import json
import sys

import numpy as np
import pytest

from ftheta.data import load, names
from ftheta.data.sets import download as real
from tests.cli._things import write


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """No folder of real data, and an empty cache."""
    monkeypatch.delenv("FTHETA_DATA", raising=False)
    monkeypatch.setattr(real, "cache_folder", lambda: tmp_path / "cache")


def put_series(folder, monkeypatch, values=(86, 141, 95)):
    content = "".join(f"{v}\n" for v in values).encode()
    (folder / "laser").mkdir(parents=True)
    (folder / "laser/santafe_a.txt").write_bytes(content)
    digest = {"laser/santafe_a.txt": real.sha256(content).hexdigest()}
    monkeypatch.setitem(real.REAL, "santafe-laser", real.REAL["santafe-laser"]._replace(files=digest))


# --- the list ---------------------------------------------------------------------------------------------------------


def test_every_data_set_has_a_line(ok):
    header, _, *lines = ok("data").out.splitlines()
    assert header.split() == ["name", "kind", "rows", "columns", "task", "where"]
    assert [line.split()[0] for line in lines] == list(names())
    assert lines[3].split() == ["iris", "table", "150", "4", "multiclass", "built", "in"]
    assert lines[5].split() == ["cholesterol", "table", "10", "2", "regression", "built", "in"]
    assert lines[7].split() == ["moons", "table", "1000", "2", "binary", "synthetic"]
    assert lines[-3].split() == ["mnist", "image", "70000", "784", "multiclass", "not", "downloaded"]


def test_the_list_as_json(ok):
    found = [json.loads(line) for line in ok("data", "--json").out.splitlines()]
    assert [row["name"] for row in found] == list(names()) and found[3]["rows"] == 150


# --- one data set -----------------------------------------------------------------------------------------------------


def test_a_table_is_shown_with_its_columns_rows_and_classes(ok):
    out = ok("data", "show", "iris").out
    assert out.startswith("iris (table): 150 rows, 4 columns, multiclass (3 classes)\n")
    assert [line.split() for line in out.splitlines() if line.startswith("sepal width (cm)   number")] == [
        ["sepal", "width", "(cm)", "number", "0", "23", "2.000", "4.400"]
    ]
    assert "            5.100             3.500              1.400            0.2000  setosa\n" in out
    assert "versicolor     50  33.3 %\n" in out and "license: CC BY 4.0\n" in out and "Fisher, R. A. (1936)" in out


def test_a_made_set_is_shown_with_its_truth(ok):
    out = ok("data", "show", "two-gaussians").out
    assert "truth: x | y ~ N(±1 e₁, 1² I); error Φ(-d / 2σ), d = 2, σ = 1\n" in out
    assert "bayes error: 0.159\n" in out
    assert "bayes error" not in ok("data", "show", "sinusoid").out


def test_json_holds_everything(ok):
    found = json.loads(ok("data", "show", "diabetes", "--json").out)
    data = load("diabetes")
    assert (found["rows"], found["columns"], found["outputs"], found["task"]) == (442, 10, 1, "regression")
    assert [f["name"] for f in found["fields"]] == [*data.feature_names, "(target)"] and found["classes"] == {}
    age, target = found["fields"][0], found["fields"][-1]
    assert (age["lowest"], age["highest"], age["missing"]) == (data.x["age"].min(), data.x["age"].max(), 0)
    assert (target["lowest"], target["highest"], target["levels"]) == (25, 346, len(np.unique(data.y)))


def test_many_columns_are_counted_not_listed(ok, tmp_path):
    write(tmp_path / "wide.csv", [f"c{i}" for i in range(64)], *np.arange(640).reshape(10, 64).tolist())
    out = ok("data", "show", "wide.csv").out
    assert "columns (the first 40 of 64)\n" in out and "first rows (the first 10 of 64 columns)\n" in out
    assert len(json.loads(ok("data", "show", "wide.csv", "--json").out)["fields"]) == 64


def test_pictures_are_shown_in_blocks(ok):
    out = ok("data", "show", "digits").out
    assert "\n     64  pixels   0.000    16.00\n" in out and "pixel_3_4" not in out
    rows = out.split("first images\n")[1].split("\n")[2:10]
    pixels = load("digits").x.to_numpy()[0].reshape(8, 8)
    assert [row[:16] for row in rows] == [
        "".join(" ░▒▓█"[min(int(5 * v / 16), 4)] * 2 for v in line) for line in pixels
    ]
    assert len(json.loads(ok("data", "show", "digits", "--json").out)["fields"]) == 64


def test_a_file_is_shown_as_it_is_read(ok, tmp_path):
    rows = [[i if i % 7 else "", f"2024-01-{i % 28 + 1:02d}", "abc"[i % 3], i % 2] for i in range(60)]
    write(tmp_path / "mine.csv", ["size", "when", "letter", "sold"], *rows)
    found = json.loads(ok("data", "show", "mine.csv", "--target", "sold", "--json").out)
    assert (found["rows"], found["columns"], found["task"]) == (60, 3, "binary")
    assert found["classes"] == {"0": 30, "1": 30}
    fields = {field["name"]: field for field in found["fields"]}
    assert fields["size"] == {"name": "size", "kind": "number", "missing": 9, "levels": 51, "lowest": 1, "highest": 59}
    assert fields["when"]["kind"] == "date" and fields["when"]["lowest"] == "2024-01-01"
    assert (fields["letter"]["kind"], fields["letter"]["levels"], fields["letter"]["highest"]) == ("category", 3, "c")
    out = ok("data", "show", "mine.csv", "--target", "sold").out
    assert out.startswith("mine (table): 60 rows, 3 columns, binary (2 classes)\n")


def test_a_series_is_shown_by_its_values(ok, tmp_path, monkeypatch):
    put_series(tmp_path / "cache", monkeypatch)
    out = ok("data", "show", "santafe-laser").out
    assert out.startswith("santafe-laser (series): 3 steps, 1 column\n")
    assert "note: The competition gave the first" in out
    assert [line.strip() for line in out.split("first values")[1].splitlines()[2:5]] == ["86.00", "141.0", "95.00"]


@pytest.mark.middle
@pytest.mark.data
def test_pictures_and_text_are_shown(ok, monkeypatch, data_dir):
    monkeypatch.setenv("FTHETA_DATA", str(data_dir))
    out = ok("data", "show", "mnist").out
    assert out.startswith("mnist (image): 70,000 images, 28x28 pixels, multiclass (10 classes), the last 10,000 are")
    assert "pixel  number        0     256       0      255\n" in out and "\n7       7293  10.4 %\n" in out
    out = ok("data", "show", "tinyshakespeare").out
    assert out.startswith("tinyshakespeare (text): 1,115,394 characters\n") and "\nFirst Citizen:\n" in out


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["show", "irs"], "Did you mean 'iris'"),
        (["show", "iris", "--target", "x"], "--target x: the data set 'iris' has its own target; leave --target out."),
        (["show", "mnist"], "'mnist' is not on this machine. Run `ftheta data get mnist`, or put train-images-idx3"),
        (["get", "minst"], "Unknown data set 'minst'. Did you mean 'mnist'"),
        (["get", "mnist", "--offline"], "'mnist' is not on this machine, and --offline forbids fetching it. Put train"),
        (["get", "tinyshakespeare"], "and no package carries it. Put tinyshakespeare.txt into"),
    ],
)
def test_what_cannot_be_shown_or_fetched_is_one_sentence(refused, args, text):
    assert text in refused("data", *args)


# --- fetching ---------------------------------------------------------------------------------------------------------


def test_what_needs_no_file_needs_no_fetching(ok):
    assert ok("data", "get", "iris").out == "iris is built in: there is nothing to fetch.\n"
    assert ok("data", "get", "moons", "--offline").out == "moons is synthetic: there is nothing to fetch.\n"


def test_what_is_here_is_checked_and_named(ok, refused, tmp_path, monkeypatch):
    put_series(tmp_path / "cache", monkeypatch)
    done = ok("data", "get", "santafe-laser", "--offline")
    assert done.out == f"santafe-laser is in {tmp_path / 'cache/laser'}; its content is as expected.\n"
    assert done.err == ""
    (tmp_path / "cache/laser/santafe_a.txt").write_text("1\n")
    assert "the content has SHA-256" in refused("data", "get", "santafe-laser")


@pytest.mark.parametrize("shown", [True, False])
def test_a_terminal_sees_what_happens(ok, tmp_path, monkeypatch, shown):
    put_series(tmp_path / "cache", monkeypatch)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FTHETA_PROGRESS", "1" if shown else "0")
    monkeypatch.setenv("TERM", "xterm")
    assert ("checking" in ok("data", "get", "santafe-laser").err) == shown
