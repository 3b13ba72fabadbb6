"""Predicting, explaining, drawing rows and exporting read a run; equal runs are equal files; outputs come whole."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ftheta.store import Run, files
from tests.cli._things import ENV, PYTHON, QUICK, equal_files, table, write


def stamps(folder):
    """Every file below a folder with its time and size, the folders too."""
    return {str(p): (p.lstat().st_mtime_ns, p.lstat().st_size) for p in [Path(folder), *Path(folder).rglob("*")]}


SERVED = [
    ("predict", "{run}", "pets.csv"),
    ("predict", "{run}", "pets.csv", "-o", "new.csv"),
    ("explain", "{run}", "summary", "--figures", "drawn"),
    ("explain", "{run}", "--list"),
    ("export", "{run}", "--python", "-o", "taken"),
    ("runs", "show", "{run}"),
    ("runs", "report", "{run}", "-o", "page.html"),
]


@pytest.mark.parametrize("command", SERVED, ids=" ".join)
def test_a_run_is_only_read_also_while_another_process_holds_it(ok, pets, command, monkeypatch):
    monkeypatch.setattr("ftheta.jobs.report.page", lambda *_, **__: "<!DOCTYPE html>")
    with Run(pets):  # its lock cannot be taken twice, and a read-only folder has none
        before = stamps(pets)
        os.chmod(pets, 0o555)
        try:
            ok(*(word.format(run=pets) for word in command))
        finally:
            os.chmod(pets, 0o755)
        assert stamps(pets) == before


def test_rows_are_drawn_from_a_run_that_is_only_read(ok):
    rows = np.random.default_rng(0).integers(0, 2, (60, 6))
    write("bits.csv", "abcdef", *rows)
    ok("train", "rbm", "bits.csv", "--run", "r", "--hidden", 4, "--epochs", 1)
    with Run("r"):
        before = stamps("r")
        ok("sample", "r", "-n", 3, "-o", "drawn.csv", "--figures", "drawn")
        assert stamps("r") == before and Path("drawn/samples.svg").exists() and len(pd.read_csv("drawn.csv")) == 3


@pytest.mark.middle
def test_predictions_in_parallel_are_those_of_one(ok, pets, tmp_path):
    alone = ok("predict", pets, "pets.csv").out
    command = [*PYTHON, "predict", str(pets), "pets.csv"]
    children = [subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [child.communicate()[0] for child in children] == [alone] * 4


@pytest.mark.parametrize(
    "command", [("predict", "pets.csv"), ("export", "--python"), ("explain", "summary"), ("runs report",)], ids=str
)
def test_what_is_written_is_whole_or_not_there(ft, pets, monkeypatch, command):
    monkeypatch.setattr("ftheta.jobs.report.page", lambda *_, **__: "<!DOCTYPE html>")

    def full(fd, data):
        os.write(fd, data[:3])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "write_all", full)
    verb, *rest = command
    option = "--figures" if verb == "explain" else "-o"
    done = ft(*verb.split(), pets, *rest, option, "out")
    assert (done.code, "No space left" in done.err) == (2, True)
    assert not Path("out").is_file() and [p for p in Path(".").glob("out/*") if p.stat().st_size] == []


# ---- equal runs


@pytest.mark.middle
@pytest.mark.parametrize(
    "command",
    [
        ("mlp", "iris", *QUICK),
        ("mlp", "diabetes", *QUICK, "--set", "dropout=0.2"),
        ("linear", "diabetes"),
        ("convnet", "digits", "--epochs", 1),
        ("rbm", "bits.csv", "--hidden", 4, "--epochs", 2),
        ("hopfield", "digits"),
    ],
    ids=lambda command: " ".join(map(str, command[:2])),
)
def test_the_same_command_gives_the_same_files(ok, command):
    write("bits.csv", "abcdef", *np.random.default_rng(0).integers(0, 2, (60, 6)))
    for run in ("a", "b"):  # below runs/, where each could count the other
        ok("train", *command, "--report", "--run", f"runs/{run}")
    assert equal_files("runs/a", "runs/b")
    page = Path("runs/a/report.html").read_text(encoding="utf-8")
    assert "the same command with the same versions give the same files" in page


def test_equal_runs_have_equal_models_and_keep_their_times_in_the_log(ok):
    for run in ("a", "b"):
        ok("train", "mlp", "iris", *QUICK, "--run", run)
    assert equal_files("a", "b")
    assert all("seconds" in row for row in Run("a").rows())
    assert "seconds" in ok("runs", "show", "a").out


# ---- spreadsheets and terminals


def test_cells_that_a_spreadsheet_would_run_are_text(ok):
    rng = np.random.default_rng(0)
    a = rng.normal(size=60).round(4)
    cells = {"=id": [f"={i}+{i}" for i in range(60)], "a": a, "kind": ["-cat" if v > 0 else "=dog" for v in a]}
    write("pets.csv", cells, *zip(*cells.values(), strict=True))
    ok("train", "mlp", "pets.csv", "--target", "kind", *QUICK, "--run", "r")
    ok("predict", "r", "pets.csv", "-o", "out.csv")
    found = pd.read_csv("out.csv")
    assert list(found)[:2] == ["'=id", "prediction"] and set(found["prediction"]) <= {"'-cat", "'=dog"}
    assert found["'=id"][1] == "'=1+1" and list(found)[2:] == ["p(-cat)", "p(=dog)"]
    assert ok("predict", "r", "pets.csv").out == Path("out.csv").read_text(encoding="utf-8")


def test_numbers_stay_numbers(ok):
    table("prices.csv", number=[f"-{i}" for i in range(60)])
    ok("train", "mlp", "prices.csv", "--target", "price", *QUICK, "--run", "r")
    lines = ok("predict", "r", "prices.csv").out.splitlines()
    assert any(line.startswith("-") for line in lines) and not any("'" in line for line in lines)


ESCAPES = "\x1b[31m\r\x08\x9b2J\u202e\x07"
CONTROL = set(ESCAPES) - set("[31m2J")


def shown_safely(done):
    text = done.out + done.err
    assert not set(text) & CONTROL and "1b[31m" in text
    return done


def test_control_characters_of_data_do_not_reach_the_screen(ok, ft):
    """In names of columns, classes and files, in cells, titles and messages."""
    rng, name = np.random.default_rng(0), f"a{ESCAPES}"
    a = rng.normal(size=60).round(4)
    cells = {name: a, "word": [f"w{ESCAPES}{i % 3}" for i in range(60)], "kind": [f"k{ESCAPES}{v > 0}" for v in a]}
    rows = [",".join(f'"{cell}"' for cell in row) for row in (cells, *zip(*cells.values(), strict=True))]
    Path("x.csv").write_text("\n".join(rows), encoding="utf-8", newline="")
    shown_safely(ok("data", "show", "x.csv", "--target", "kind"))
    shown_safely(ft("train", "mlp", "x.csv", "--target", f"kine{ESCAPES}"))
    ok("train", "mlp", "x.csv", "--target", "kind", *QUICK, "--run", "r")
    Path("y.csv").write_text(Path("x.csv").read_text(encoding="utf-8").replace("w\x1b", "v\x1b"), encoding="utf-8")
    shown_safely(ft("predict", "r", f"{ESCAPES}.csv"))
    shown_safely(ft("runs", "show", f"r{ESCAPES}"))
    shown_safely(ft("export", f"r{ESCAPES}", "--python"))
    shown_safely(ft(f"train{ESCAPES}"))
    found = json.loads(Run("r").read("result.json"))
    Run("r").write("result.json", json.dumps(found | {"scores": {f"accuracy{ESCAPES}": 1.0}}))
    shown_safely(ok("runs", "show", "r"))
    Path("runs").mkdir()
    os.rename("r", "runs/r")
    shown_safely(ok("runs"))
    listed = ok("runs", "--json").out
    assert not set(listed) & CONTROL and json.loads(listed)["result"] == f"accuracy{ESCAPES} 1.0000"


def test_json_with_control_characters_is_json(ok):
    Path("x.csv").write_text("a\x9b\u202e,b\n" + "1,2\n" * 30, encoding="utf-8")
    done = ok("data", "show", "x.csv", "--target", "b", "--json")
    assert not set(done.out) & CONTROL and json.loads(done.out)["fields"][0]["name"] == "a\x9b\u202e"


@pytest.mark.middle
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_predictions_on_a_terminal_are_cleaned_and_in_a_file_are_kept(pets, tmp_path):
    from tests.cli.test_terminal import on_terminal

    rows = Path("pets.csv").read_text(encoding="utf-8").splitlines()
    Path("new.csv").write_text("\n".join(rows), encoding="utf-8")
    run = Run(pets)
    facts = json.loads(run.read("data.json"))
    run.write("data.json", json.dumps(facts | {"classes": [f"cat{ESCAPES}", "dog"]}))
    said = on_terminal(200, tmp_path, "predict", str(pets), "new.csv")
    assert "\x1b" not in re.sub(r"\x1b\[[012]m", "", said) and "cat\\u001b" in said  # bold and dim are ours
    command = [*PYTHON, "predict", str(pets), "new.csv"]
    kept = ESCAPES.replace("\r", "\n")  # which is quoted, and begins no row
    assert f'"cat{kept}"'.encode() in subprocess.run(command, env=ENV, capture_output=True, check=True).stdout
