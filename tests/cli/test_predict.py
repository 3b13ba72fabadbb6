"""`ftheta predict`: the right columns in any order, never over a file, and no other file is opened."""

import csv
import io
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import ftheta
from ftheta import data
from ftheta.store import load_tree
from tests.cli._things import QUICK, flip, table, write


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_predictions_are_those_of_the_loaded_model(ok, pets):
    rows = rows_of(ok("predict", pets, "pets.csv").out)
    frame = pd.read_csv("pets.csv")
    model = ftheta.load(pets)
    assert [row["prediction"] for row in rows] == model.predict(frame[["a", "b"]]).tolist()
    p = np.array([[float(row[f"p({c})"]) for c in ("cat", "dog")] for row in rows])
    np.testing.assert_allclose(p, model.predict_proba(frame[["a", "b"]]), rtol=1e-6)


@pytest.mark.parametrize(
    "columns", [["a", "b"], ["b", "a"], ["kind", "b", "a"], ["b", "extra", "a", "kind"]], ids=" ".join
)
def test_columns_may_be_more_fewer_or_elsewhere(ok, pets, columns):
    pd.read_csv("pets.csv").assign(extra=1)[columns].to_csv("new.csv", index=False)
    assert ok("predict", pets, "new.csv").out == ok("predict", pets, "pets.csv").out


def test_a_file_may_have_another_encoding(ok, pets):
    pd.read_csv("pets.csv").assign(größe=1).to_csv("new.csv", index=False, encoding="cp500")
    assert ok("predict", pets, "new.csv", "--encoding", "cp500").out == ok("predict", pets, "pets.csv").out


def test_a_regression_predicts_one_number_a_row(ok):
    table("homes.csv")
    ok("train", "linear", "homes.csv", "--target", "price", "--run", "r")
    write("new.csv", ("b", "a"), (0.5, 2), (-1, 0.25))
    rows = rows_of(ok("predict", "r", "new.csv").out)
    assert list(rows[0]) == ["prediction", "low", "high"]
    np.testing.assert_allclose([float(r["prediction"]) for r in rows], [3.1, -1.65], atol=1e-3)
    assert all(float(r["low"]) <= float(r["prediction"]) <= float(r["high"]) for r in rows)


def test_intervals_of_a_closed_form_are_those_of_rows_that_it_has_not_seen(ok):
    """With 40 columns of noise residuals of rows that were fitted are far too small; the final fit uses all rows."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(120, 40)).round(4), rng.normal(size=120).round(4)
    names = [f"c{j}" for j in range(40)]
    write("t.csv", [*names, "y"], *np.column_stack([x, y]).tolist())
    ok("train", "linear", "t.csv", "--target", "y", "--validation", 0.25, "--run", "r")
    parts = load_tree(Path("r/split.safetensors"))
    aside, learned = parts["validation"], parts["train"]
    away = np.sort(np.abs(y[aside] - LinearRegression().fit(x[learned], y[learned]).predict(x[aside])))
    rows = pd.read_csv(io.StringIO(ok("predict", "r", "t.csv").out))
    place = math.ceil((len(aside) + 1) * 0.95) - 1
    np.testing.assert_allclose(rows["high"] - rows["low"], 2 * away[place], rtol=1e-6)


def test_a_file_of_one_column_is_a_table_too(ok):
    ok("train", "linear", "sinusoid", "--run", "r")
    write("new.csv", ("x",), (0.1,), (0.9,))
    assert len(rows_of(ok("predict", "r", "new.csv").out)) == 2


def test_days_and_months_are_read_as_in_training(ok):
    """03/04/2021 alone could be either; among days above 12 it cannot, and other rows say their own order."""
    days = [(f"{1 + i % 28:02d}/{1 + i % 12:02d}/2021", i % 12) for i in range(100)]
    write("days.csv", ("it's on", "y"), *days)
    ok("train", "mlp", "days.csv", "--target", "y", "--task", "regress", *QUICK, "--run", "r")
    write("one.csv", ("it's on",), ("03/04/2021",))
    write("two.csv", ("it's on",), ("03/04/2021",), ("23/04/2021",))
    write("iso.csv", ("it's on",), ("2021-04-03",), ("2021-03-04",))
    write("american.csv", ("it's on",), ("03/04/2021",), ("04/23/2021",))
    one, two, iso, american = (
        [float(row["prediction"]) for row in rows_of(ok("predict", "r", f"{name}.csv").out)]
        for name in ("one", "two", "iso", "american")
    )
    assert abs(iso[0] - iso[1]) > 0.01
    assert [one[0], two[0], american[0]] == pytest.approx([iso[0], iso[0], iso[1]], rel=1e-4)  # rounding by place


@pytest.mark.parametrize("flag", ["-o", "--output"])
def test_output_goes_to_a_new_file(ok, pets, flag):
    done = ok("predict", "last", "pets.csv", flag, "out/new.csv")
    assert (done.out, done.err) == ("", "out/new.csv: 60 predictions\n")
    assert Path("out/new.csv").read_text() == ok("predict", "pets", "pets.csv").out


@pytest.mark.parametrize("place", ["pets.csv", "runs", "runs/mlp-pets/pets/config.toml"])
def test_output_never_replaces_what_exists(refused, pets, place):
    said = refused("predict", pets, "pets.csv", "-o", place)
    assert said == f"--output {place}: the file exists; nothing was changed. Choose another name."


def test_a_missing_column_is_named(refused, pets):
    write("new.csv", ("a", "kind"), (1, "cat"))
    assert refused("predict", pets, "new.csv").startswith("Column 'b' is missing: the model was fitted with it.")
    write("new.csv", ("a", "bb"), (1, 2))
    assert "Column 'b' is missing (is it 'bb'?)" in refused("predict", pets, "new.csv")


def test_a_file_that_is_no_table_is_one_sentence(refused, pets):
    Path("x.png").write_bytes(b"\x89PNG\r\n" + bytes(20))
    assert refused("predict", pets, "x.png").startswith("x.png is an image; the run was trained on rows of")
    assert "nope.csv: no such file" in refused("predict", pets, "nope.csv")
    assert refused("predict", pets, "runs").startswith("runs")


@pytest.mark.parametrize("name", ["model.pt", "model.pkl", "model.safetensors"])
def test_a_model_file_is_not_a_run(refused, pets, name):
    Path(name).write_bytes(b"\x80\x04cos\nsystem\n")
    assert refused("predict", name, "pets.csv").startswith(f"{name} is a file; a run is the folder")


def test_an_unfinished_run_says_how_to_finish_it(refused, pets):
    shutil.copytree(pets, "half")
    for file in Path("half").iterdir():
        file.unlink()
    ftheta.store.Run("half").write("config.toml", (pets / "config.toml").read_text())
    said = refused("predict", "half", "pets.csv")
    assert said == "half holds no finished model. Finish it with: ftheta train --resume half"


def test_a_model_saved_in_python_is_one_sentence(refused, pets):
    ftheta.MLPRegressor(epochs=1).fit([[0.0], [1.0]], [0.0, 1.0]).save("saved")
    assert "is a model saved in Python, not a run of `ftheta train`" in refused("predict", "saved", "pets.csv")


@pytest.mark.parametrize("file", ["model.safetensors", "encoder.json", "config.toml", "config.json", "manifest.json"])
def test_a_damaged_run_predicts_nothing(refused, pets, file):
    (pets / ".manifest.json.copy").unlink()
    flip(pets / file)
    said = refused("predict", pets, "pets.csv")
    assert f"{file} digest differs" in said and said.endswith("file damaged.")


def test_a_classifier_without_probabilities_predicts_names_alone(ok):
    file = table("pets.csv", "kind")
    said = ok("train", "perceptron", file, "--target", "kind", "--run", "r").out
    assert "accuracy" in said and "balanced accuracy" in said and "log loss" not in said
    header, *rows = ok("predict", "r", file).out.splitlines()
    truth = [line.rpartition(",")[2] for line in Path(file).read_text().splitlines()[1:]]
    assert header == "prediction" and np.mean(np.array(rows) == truth) > 0.9


def test_what_transforms_rows_is_not_trained_alone(refused):
    said = refused("train", "whitening", "iris", "--run", "r")
    assert said.startswith("'whitening' transforms rows and predicts nothing") and not Path("r").exists()


def test_a_terminal_shows_the_first_columns_and_two_classes_or_an_interval(ok, pets, monkeypatch):
    """The numbers are those of the CSV file."""
    for module in ("_show", "predict"):
        monkeypatch.setattr(f"ftheta.cli.{module}.width", lambda **_: 100)
    ok("predict", pets, "pets.csv", "-o", "all.csv")
    rows, shown = pd.read_csv("all.csv"), ok("predict", pets, "pets.csv").out.splitlines()
    assert shown[-1].startswith(f"... {len(rows) - 12} more rows") and len(shown) == 2 + 12 + 1
    p = rows.filter(like="p(").to_numpy()
    for line, name, each in zip(shown[2:-1], rows["prediction"], p, strict=False):
        cells = re.split(r"  +", line)
        assert cells[-3] == name and float(cells[-2].split(" %")[0]) == pytest.approx(100 * each.max(), rel=6e-3)
        assert cells[-2].count("█") == round(10 * each.max()) and name not in cells[-1]
    ok("train", "linear", "diabetes", "--run", "r", "--no-report")
    Path("new.csv").write_text(data.load("diabetes").x.head(3).to_csv(index=False))
    ok("predict", "r", "new.csv", "-o", "three.csv")
    first = pd.read_csv("three.csv").iloc[0]
    line = ok("predict", "r", "new.csv").out.splitlines()[2].split("  ")
    assert line[-1] == f"[{first.low:.0f}, {first.high:.0f}]" and float(line[-2]) == round(first.prediction)
