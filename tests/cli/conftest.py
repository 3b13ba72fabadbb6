"""The command line called as a user calls it, in this process: what was typed, what came out, what is on the disk."""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli._things import QUICK, call, snapshot, table


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def ft(monkeypatch, capsys, tmp_path):
    """ft("train", "mlp", ...): run a command; the working folder is empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FTHETA_PROGRESS", "0")  # else its lines come wherever a busy machine takes two seconds

    def run(*args):
        capsys.readouterr()
        return Done(call(monkeypatch, *args), *capsys.readouterr())

    return run


@pytest.fixture
def ok(ft):
    """A command that must succeed."""

    def run(*args):
        done = ft(*args)
        assert done.code == 0, done.err
        return done

    return run


@pytest.fixture
def refused(ft):
    """The sentence of a command that must fail: exit code 2, no result, and not a byte on the disk changed."""

    def run(*args):
        before = snapshot()
        done = ft(*args)
        assert (done.code, done.out) == (2, ""), done
        said = [line for line in done.err.splitlines() if not line.startswith(("Note: ", "mlp (", "linear ("))]
        assert len(said) == 1 and said[0].startswith("Error: "), done.err
        assert snapshot() == before
        return said[0].removeprefix("Error: ")

    return run


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A folder with pets.csv and a finished run on it, made once."""
    folder = tmp_path_factory.mktemp("trained")
    table(folder / "pets.csv", "kind")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run = ("--run", "runs/mlp-pets/pets")
        assert call(patch, "train", "mlp", "pets.csv", "--target", "kind", *run, *QUICK) == 0
    return folder


@pytest.fixture
def pets(ft, trained, tmp_path):
    """A copy of that folder to work in; the path of the run."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    return Path("runs/mlp-pets/pets")
