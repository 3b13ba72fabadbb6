"""Nothing heavy is imported before it is needed, and the command line works on any terminal."""

import subprocess
import sys

import click
import pytest

import ftheta
from ftheta.cli import train
from tests.cli._things import ENV, PYTHON

HEAVY = ("torch", "sklearn", "numpy", "pandas", "matplotlib", "rich", "pydantic", "scipy", "safetensors")


def loaded_by(*commands, cwd):
    """Which heavy libraries a new process has loaded after these commands."""
    code = f"""
import sys
from ftheta.cli import main
for line in {commands}:
    sys.argv = ["ftheta", *line.split()]
    main()
print("loaded:", *set({HEAVY}) & sys.modules.keys())"""
    done = subprocess.run([sys.executable, "-c", code], env=ENV, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_help_and_lists_load_nothing_heavy(tmp_path):
    verbs = ("train", "predict", "evaluate", "explain", "runs", "models", "study", "ledger", "doctor")
    lists = ("", "--help", "--version", "models", "models --json", "runs", "ledger", "ledger --milestone core --json")
    assert loaded_by(*lists, *(f"{verb} --help" for verb in verbs), cwd=tmp_path) == set()


def test_listing_data_sets_does_not_load_torch(tmp_path):
    assert loaded_by("data", cwd=tmp_path).isdisjoint({"torch", "sklearn", "scipy"})


@pytest.mark.middle
def test_a_simple_training_loads_few_of_our_modules(tmp_path):
    """363 of them once."""
    code = "import sys; from ftheta.cli import main; main(); print(sum(m.startswith('ftheta') for m in sys.modules))"
    command = [sys.executable, "-c", code, "train", "linear", "wine", "--run", "r"]
    done = subprocess.run(command, env=ENV, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout.splitlines()[-1]) <= 363 / 2


def test_runs_are_read_without_the_libraries_that_made_them(pets, tmp_path):
    """NumPy, which the package of files needs for trees, and pydantic, which checks what is in them."""
    commands = ("studies", "runs", "runs --json", "runs show last", "runs verify last")
    assert loaded_by(*commands, cwd=tmp_path) <= {"numpy", "safetensors", "pydantic"}


def test_the_help_names_every_verb(ok):
    for done in (ok(), ok("--help"), ok("-h")):
        assert done.out.startswith("Usage: ftheta [OPTIONS] COMMAND [ARGS]...\n")
        for verb in ("train", "predict", "explain", "runs", "models", "studies", "study", "ledger", "doctor"):
            assert f"\n  {verb} " in done.out
    assert ok("--version").out == f"ftheta, version {ftheta.__version__}\n"


def test_every_flag_has_help(ok):
    options = ok("train", "--help").out.split("Options:\n")[1].splitlines()
    named = [line.split()[0] for line in options if line.startswith("  -")]
    assert {"--epochs", "--lr", "--hidden", "--target", "--time", "--set", "--resume", "--allow-inexact"} <= set(named)
    assert all(p.help for p in train.command.params if isinstance(p, click.Option))


def test_the_module_is_the_command(tmp_path):
    done = subprocess.run([*PYTHON, "models", "--jsn"], env=ENV, cwd=tmp_path, capture_output=True, text=True)
    said = "Error: No such option '--jsn'. Did you mean '--json'? See `ftheta models --help`.\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_a_terminal_without_theta_shows_something_else(tmp_path):
    env = ENV | {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    done = subprocess.run([*PYTHON, "--help"], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "f?: train a model" in done.stdout


def test_a_reader_that_leaves_is_no_traceback(tmp_path):
    command = f"{sys.executable} -m ftheta ledger --json | head -n 1"
    done = subprocess.run(["sh", "-c", command], env=ENV, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.startswith('{"id": ') and done.stderr == ""


def test_a_fault_of_ours_is_not_hidden(ft, monkeypatch):
    """A sentence is for mistakes that a user can correct; anything else keeps its traceback for a bug report."""

    def broken():
        raise RuntimeError("ours")

    monkeypatch.setattr("ftheta.cli.doctor.environment", broken)
    with pytest.raises(RuntimeError, match="ours"):
        ft("doctor")


def test_memory_that_ran_out_is_one_sentence(ft, monkeypatch):
    def greedy():
        raise MemoryError

    monkeypatch.setattr("ftheta.cli.doctor.environment", greedy)
    said = "Error: Not enough memory. Use smaller layers, smaller batches or less data.\n"
    assert ft("doctor") == (2, "", said)
