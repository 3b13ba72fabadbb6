"""`ftheta runs`: every run in a line, damage noticed and contained, and how often test rows were looked at."""

import json
import re
import shutil
from pathlib import Path

import pytest

from ftheta.store import Run
from tests.cli._things import QUICK, flip, snapshot, table, weights


def test_without_runs_the_list_says_how_to_make_one(ok):
    assert ok("runs").out == "No runs in runs/. Make one with: ftheta train mlp digits\n"
    assert ok("runs", "--json").out == ""


def test_the_list_has_a_line_for_each_run(ok, pets):
    header, _, *lines = ok("runs").out.splitlines()
    assert header.split() == ["id", "model", "data", "status", "epochs", "result"]
    assert [re.split(" {2,}", line)[:5] for line in lines] == [["pets", "mlp", "pets.csv", "finished", "3"]]
    assert re.search(r"accuracy 0\.\d{4} \(baseline 0\.\d{4}\)$", lines[0])


def test_json_has_an_object_for_each_run(ok, pets):
    ok("train", "linear", "diabetes")
    first, second = map(json.loads, ok("runs", "--json").out.splitlines())
    expected = {"id": "pets", "path": str(pets), "model": "mlp", "data": "pets.csv", "status": "finished", "epochs": 3}
    assert first == expected | {"result": first["result"]}
    assert (second["model"], second["epochs"]) == ("linear", None) and second["result"].startswith("R² 0.")


def test_an_unfinished_run_is_listed_and_shown_with_the_way_to_go_on(ok, pets):
    Run("runs/mlp-x/half way").write("config.toml", 'model = "mlp"\ndata = "iris"\n')
    Run("runs/mlp-x/half way").log({"epoch": 1, "loss": 0.5})
    assert re.split(" {2,}", ok("runs").out.splitlines()[-1]) == ["half way", "mlp", "iris", "unfinished", "1"]
    shown = ok("runs", "show", "half way").out
    assert shown.startswith("runs/mlp-x/half way (unfinished)\n") and "1 epoch\nepoch    loss\n" in shown
    assert shown.endswith("Continue with: ftheta train --resume 'runs/mlp-x/half way'\n")


def test_show_tells_settings_epochs_and_result(ok, pets):
    lines = ok("runs", "show", "pets").out.splitlines()
    assert lines[0] == f"{pets} (finished)"
    settings = dict(re.split(" {2,}", line) for line in lines[1 : lines.index("")])
    assert settings["params.hidden"] == "[8]" and settings["params.epochs"] == "3" and settings["target"] == "kind"
    assert "task" not in settings  # nothing was said of it
    at = lines.index("3 epochs")
    assert lines[at + 1].split()[:2] == ["epoch", "step"]
    assert [row.split()[0] for row in lines[at + 3 : at + 6]] == list("123")
    assert any(line.startswith("test part (n = 12)") for line in lines)
    assert lines[-1] == "These rows were used for testing once."


def test_show_leaves_out_the_middle_of_many_epochs(ok):
    ok("train", "mlp", "iris", "--epochs", 12, "--hidden", 4, "--run", "r", "--set", "patience=50")
    lines = ok("runs", "show", "r").out.splitlines()
    at = lines.index("12 epochs")
    assert [int(row.split()[0]) for row in lines[at + 3 : lines.index("", at)]] == [1, 2, 3, 6, 7, 8, 9, 10, 11, 12]


@pytest.mark.slow
@pytest.mark.ledger("A170", "B046", covers="ftheta.cli.runs.show")
def test_show_counts_who_looked_at_the_same_test_rows(ok):
    """Also models that learn from other rows of the same data; other rows and runs without a test part do not count."""
    for model, seed, extra in (("mlp", 0, QUICK), ("linear", 0, ()), ("mlp", 1, QUICK)):
        ok("train", model, "iris", "--seed", seed, *extra, "--run", f"runs/{model}/{seed}")
    ok("train", "mlp", "iris", "--test", "none", *QUICK, "--run", "runs/mlp/all")
    twice = "These rows were used for testing 2 times (linear 1, mlp 1): the more often, the less it is worth."
    assert ok("runs", "show", "runs/mlp/0").out.splitlines()[-1] == twice
    assert ok("runs", "show", "runs/linear/0").out.splitlines()[-1] == twice
    assert ok("runs", "show", "1").out.splitlines()[-1] == "These rows were used for testing once."
    assert ok("runs", "show", "all").out.splitlines()[-1] == "No rows were held out for testing."


@pytest.mark.ledger("A170", "B046", covers="ftheta.cli.runs.show")
def test_the_test_part_decides_nothing_and_is_scored_once(ok, monkeypatch):
    """Other test targets: the same weights and the same stop. A second call answers from what was kept."""
    table("learn.csv", "kind", n=90)
    table("test.csv", "kind", n=40)
    swapped = Path("test.csv").read_text().translate(str.maketrans("catdog", "dogcat"))
    Path("swapped.csv").write_text(swapped.replace(swapped.splitlines()[0], "a,b,kind"))
    watched = ("--validation", 0.3, "--epochs", 12, "--hidden", 8, "--set", "patience=2", "--lr", 0.1)
    for name in ("test", "swapped"):
        ok("train", "mlp", "learn.csv", "--target", "kind", *watched, "--test", f"{name}.csv", "--run", f"runs/{name}")
    first, second = (Run(f"runs/{name}") for name in ("test", "swapped"))
    assert weights("runs/test") == weights("runs/swapped")
    assert [r["valid_loss"] for r in first.rows()] == [r["valid_loss"] for r in second.rows()]
    scores = [json.loads(run.read("result.json"))["scores"]["accuracy"] for run in (first, second)]
    assert scores[0] == pytest.approx(1 - scores[1]) and scores[0] != scores[1]
    parts = first.tree("split.safetensors")  # which rows touched which decision
    assert [len(parts[name]) for name in ("train", "validation", "test")] == [63, 27, 0]
    assert sorted(int(row) for name in ("train", "validation") for row in parts[name]) == list(range(90))
    monkeypatch.setattr("ftheta.tasks.Classify.predict", None)  # whoever scores again fails
    assert "accuracy" in ok("train", "--resume", "runs/test").out


@pytest.mark.middle
@pytest.mark.ledger("A170", "B046", covers="ftheta.cli.runs.report")
def test_a_report_says_how_often_its_test_rows_were_looked_at(ok, pets):
    once, twice = "These rows were used for testing once.", "These rows were used for testing 2 times (mlp 2)"
    assert ok("runs", "report", "last").out == f"{pets}/report.html\n"
    assert once in Run(pets).read("report.html").decode()
    shutil.copytree(pets, "runs/again")
    ok("runs", "report", pets)
    assert once in Run(pets).read("report.html").decode()  # the same command again is no other use
    Run("runs/again").write("config.toml", Run(pets).read("config.toml").replace(b"seed = 0", b"seed = 1"))
    ok("runs", "report", pets)
    assert twice in Run(pets).read("report.html").decode() and Run(pets).verify() == []


@pytest.mark.middle
def test_a_report_that_was_left_out_can_be_written_later(ok):
    table("homes.csv")
    command = ("train", "linear", "homes.csv", "--target", "price", "--run", "r")
    ok(*command, "--report")
    whole = Path("r/report.html").read_bytes()
    shutil.rmtree("r")
    ok(*command)
    assert not Path("r/report.html").exists()
    ok("runs", "report", "r")
    assert Path("r/report.html").read_bytes() == whole


@pytest.mark.middle
def test_a_report_needs_a_result_and_the_same_data(refused, pets):
    Path("pets.csv").write_text(Path("pets.csv").read_text().replace("cat", "dog", 1))
    said = refused("runs", "report", pets)
    assert said == f"pets.csv has changed since {pets} was trained on it. Restore it."
    Run("runs/half").write("config.toml", 'model = "mlp"\ndata = "iris"\n')
    said = refused("runs", "report", "half")
    assert said == "runs/half has no result yet. Finish it with: ftheta train --resume runs/half"


def test_verify_is_content_with_what_was_written(ok, pets):
    digest = Run(pets).digest
    assert ok("runs", "verify", "last").out == f"{pets}: every file is as it was written (manifest {digest[:16]}).\n"


def test_one_flipped_bit_in_any_file_is_exit_code_1_and_a_sentence(ft, pets):
    files = [f for f in pets.iterdir() if f.name != "lock"]
    assert len(files) == 15
    for file in files:
        for place in (0, file.stat().st_size // 2, -1):
            whole = file.read_bytes()
            flip(file, place)
            before = snapshot()
            done = ft("runs", "verify", pets)
            assert (done.code, done.out) == (1, ""), (file, place)
            assert f"{file.name} digest differs" in done.err or f"{file}: cut off or changed" in done.err
            assert snapshot() == before
            file.write_bytes(whole)
    assert ft("runs", "verify", pets).code == 0


def test_a_missing_file_is_exit_code_1_and_a_sentence(ft, pets):
    (pets / "encoder.json").unlink()
    done = ft("runs", "verify", pets)
    assert done.code == 1 and "encoder.json cannot be read: No such file or directory" in done.err


@pytest.mark.parametrize("verb", ["show", "report", "verify"])
def test_an_unknown_run_is_answered_with_the_nearest(refused, pets, verb):
    said = refused("runs", verb, "pts")
    assert said == "Unknown run 'pts'. Did you mean 'pets'? Known: pets. Give a folder, an id or `last`."
