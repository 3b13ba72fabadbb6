"""Where runs are: a path, an id or `last`; names that nobody has are answered with the nearest."""

import os
from pathlib import Path

import numpy as np
import pytest

from ftheta.errors import FileFormatError, InputError
from ftheta.jobs.files import answers, settings
from ftheta.jobs.runs import all_runs, find_run, new_path, resume_command
from ftheta.store import Run


@pytest.fixture
def three(tmp_path, monkeypatch):
    """Three runs, made in the order c, a, b."""
    monkeypatch.chdir(tmp_path)
    for age, path in enumerate((Path("runs/mlp-x/c"), Path("runs/a"), Path("runs/mlp-x/b"))):
        Run(path).write("config.toml", 'model = "mlp"\n')
        os.utime(path / "config.toml", (age, age))


def test_predictions_of_several_targets_have_a_column_for_each(tmp_path):
    y, run = np.arange(6.0).reshape(3, 2), Run(tmp_path)
    run.write("test.safetensors", {"rows": np.arange(3), "y": y, "predicted": -y})
    found = answers(run)
    assert np.array_equal(found["y"], y) and np.array_equal(found["predicted"], -y) and found["low"] is None


def test_a_run_is_found_by_path_by_id_and_as_the_last(three):
    assert [path.name for path in all_runs()] == ["c", "a", "b"]
    assert find_run("runs/mlp-x/c").path.samefile(find_run("c").path)
    assert find_run("last").path.name == "b"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("z", r"Unknown run 'z'\. Known: b, a, c\. Give a folder, an id or `last`\."),
        ("runs", r"runs is a folder, but not a run: it has no config\.toml\. `ftheta runs` lists runs\."),
        ("", r"\. is a folder, but not a run"),
        ("runs/mlp-x/c/config.toml", r"config\.toml is a file; a run is the folder that `ftheta train` wrote\."),
    ],
)
def test_what_is_no_run_is_one_sentence(three, text, sentence):
    with pytest.raises(InputError, match=sentence):
        find_run(text)


def test_where_there_are_no_runs_the_sentence_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for text in ("last", "z"):
        with pytest.raises(InputError, match=f"Unknown run '{text}'; runs/ holds none. Give a folder, an id or `last`"):
            find_run(text)


def test_new_runs_get_folders_of_their_own():
    first, second = new_path("mlp", "data/my file.csv"), new_path("mlp", "data/my file.csv")
    assert first != second and first.parent == second.parent == Path("runs/mlp-my file")
    assert resume_command(Path("runs/mlp-my file/x")) == "ftheta train --resume 'runs/mlp-my file/x'"


@pytest.mark.parametrize("text", ["model =", "model = " + "[" * 9999, "\0"])
def test_settings_that_are_not_toml_are_one_sentence(tmp_path, text):
    Run(tmp_path / "r").write("config.toml", text)
    with pytest.raises(FileFormatError, match=r"config\.toml is not a TOML file .* use another copy"):
        settings(Run(tmp_path / "r"))
