"""Links, pipes, devices and folders in place of the files of a run: refused by name, never followed, never waited for.

Beside each run lies a tree that is none of its business; it must be the same afterwards, whatever was tried.
"""

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ftheta.errors import FThetaError, InputError
from ftheta.store import Run, _folder, write_folder
from tests.store._runs import names, state, steps

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX")

NAMES = ["lock", "manifest.json", ".manifest.json.copy", "metrics.jsonl", "config.toml", "fit.json", ".fit.json.copy"]
NAMES += ["checkpoint-2.safetensors", "checkpoint-3.safetensors", "figures", "figures/loss.svg"]


def bound(place):
    """A socket: it has a name in the file system."""
    with socket.socket(socket.AF_UNIX) as end:
        here = os.getcwd()
        os.chdir(place.parent)  # such names are short
        try:
            end.bind(place.name)
        finally:
            os.chdir(here)


KINDS = {
    "link to a file": lambda place, outside: place.symlink_to(outside / "file"),
    "link to the same": lambda place, outside: place.symlink_to(outside / "same"),
    "link to a folder": lambda place, outside: place.symlink_to(outside),
    "dangling link": lambda place, outside: place.symlink_to(outside / "not there"),
    "link to itself": lambda place, outside: place.symlink_to(place),
    "link to a device": lambda place, outside: place.symlink_to("/dev/zero"),
    "pipe": lambda place, outside: os.mkfifo(place),
    "folder": lambda place, outside: place.mkdir(),
    "socket": lambda place, outside: bound(place),
}
FIRST = ("link to the same", "link to a folder", "dangling link", "pipe")  # the others are tried in the middle tier


def digest(folder):
    """Everything about a tree that could be changed."""
    found = {}
    for place in sorted([folder, *folder.rglob("*")]):
        facts = place.lstat()
        found[str(place)] = facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_nlink
        if place.is_file():
            found[str(place)] += (hashlib.sha256(place.read_bytes()).hexdigest(),)
    return found


@pytest.fixture
def outside(path, tmp_path):
    """What the links point to."""
    Run(path).write("fit.json", "{}")
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "file").write_bytes(b"mine\n")
    for name in ("loss.svg", ".x.0123abcd.tmp", "checkpoint-9.safetensors", ".y.copy"):  # as in figures/, or left over
        (folder / name).write_bytes(b"mine too")
    return folder


def write_anew(run):
    """Write over every file."""
    for name in ("config.toml", "fit.json", "figures/loss.svg"):
        run.write(name, b"new")


def go_on(run):
    """As training does."""
    with run:
        run.latest()
        run.log({"step": 4})
        run.checkpoint(state(4), 4)


ACTS = {
    "status": lambda run: run.status,
    "exists": Run.exists,
    "is_empty": Run.is_empty,
    "digest": lambda run: run.digest,
    "read": lambda run: [run.read(name) for name in ("config.toml", "fit.json", "figures/loss.svg")],
    "rows": lambda run: run.rows(unsaved=True),
    "latest": Run.latest,
    "verify": Run.verify,
    "check": Run.check,
    "enter": lambda run: run.__enter__().__exit__(),
    "log": lambda run: run.log({"step": 5}),
    "go on": go_on,
    "rewind": lambda run: run.rewind(0),
    "write": write_anew,
    "finish": Run.finish,
}
NEEDS = {  # what must be refused, at least, where it is not a file
    "lock": {"enter", "log", "go on", "rewind", "write", "finish"},
    "manifest.json": set(ACTS) - {"verify"},
    ".manifest.json.copy": {"enter", "log", "go on", "rewind", "write", "finish"},
    "metrics.jsonl": {"rows", "log", "go on", "rewind", "finish", "check"},
    "config.toml": {"read", "write", "check"},
    "fit.json": {"read", "write", "check"},
    ".fit.json.copy": {"enter", "write"},
    "checkpoint-2.safetensors": {"go on", "rewind", "finish", "check"},
    "checkpoint-3.safetensors": {"latest", "go on", "rewind", "finish", "check"},
    "figures": {"read", "enter", "write", "check"},
    "figures/loss.svg": {"read", "write", "check"},
}


@pytest.mark.filterwarnings("ignore:.*Resuming from step")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        pytest.param(name, kind, marks=() if kind in FIRST else pytest.mark.middle)
        for name in NAMES
        for kind in KINDS
        if (name, kind) != ("figures", "folder")
    ],
)
def test_what_is_not_a_file_is_refused_by_name_and_never_followed(path, outside, tmp_path, name, kind):
    place = path / name
    if kind == "link to the same" and place.is_file():
        shutil.copy(place, outside / "same")  # its digest is right, and yet it is not opened
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    KINDS[kind](place, outside)
    start = shutil.copytree(path, tmp_path / "start", symlinks=True, copy_function=pick)
    refused, before = set(), digest(outside)
    for act, do in ACTS.items():
        shutil.rmtree(path)
        shutil.copytree(start, path, symlinks=True, copy_function=pick)
        try:
            do(Run(path))
        except FThetaError as error:
            assert str(place) in str(error) and "it was not opened" in str(error), (act, str(error))
            refused.add(act)
        assert digest(outside) == before, act
        assert place.lstat().st_mode == (start / name).lstat().st_mode, act  # it is left as it is
    assert refused >= NEEDS[name], NEEDS[name] - refused
    assert any(str(start / name) in problem for problem in Run(start).verify()) or name == "lock"


def pick(source, target):
    """Copy a file of any kind."""
    mode = os.lstat(source).st_mode
    if Path(source).is_file():
        shutil.copy2(source, target)
    elif Path(source).is_fifo():
        os.mkfifo(target)
    else:
        os.mknod(target, mode)


@pytest.mark.parametrize("name", ["lock", "metrics.jsonl"])
def test_what_is_changed_in_place_must_have_one_name_only(path, outside, name):
    """A hard link to a foreign file, or a copy of the run made of hard links."""
    other = outside / "other"
    (path / name).rename(other)
    (path / name).hardlink_to(other)
    before = other.read_bytes()
    with pytest.raises(FThetaError, match=rf"{name} has 2 names \(hard links\)"):
        go_on(Run(path))
    assert other.read_bytes() == before and steps(Run(path)) == [1, 2, 3]


def test_the_path_to_a_run_may_hold_links(path, tmp_path):
    (tmp_path / "link").symlink_to(path.parent)
    go_on(Run(tmp_path / "link/a"))
    assert steps(Run(path)) == [1, 2, 3, 4] and Run(tmp_path / "link/a").verify() == []


def test_a_link_that_appears_between_the_look_and_the_opening_is_not_followed(path, outside, monkeypatch):
    (path / "metrics.jsonl").unlink()
    (path / "metrics.jsonl").symlink_to(outside / "file")
    before = digest(outside)
    look, blind = _folder.Folder._look, os.stat(path / "config.toml")
    late = lambda self, name, *place: blind if name == "metrics.jsonl" else look(self, name, *place)  # noqa: E731
    monkeypatch.setattr(_folder.Folder, "_look", late)
    for act in ("rows", "log", "go on", "rewind", "finish"):
        with pytest.raises(FThetaError, match="metrics.jsonl"):
            ACTS[act](Run(path))
        assert digest(outside) == before


@pytest.mark.parametrize("kind", KINDS)
def test_without_descriptors_of_folders_each_name_is_looked_at(path, outside, tmp_path, monkeypatch, kind):
    """As on Windows."""
    monkeypatch.setattr(_folder, "AT", False)
    monkeypatch.setattr(_folder, "SAFE", 0)
    go_on(Run(path))
    write_anew(Run(path))
    assert Run(path).verify() == [] and steps(Run(path)) == [1, 2, 3, 4]
    before = digest(outside)
    for name in ("lock", "metrics.jsonl", "figures", "fit.json"):
        place = path / name
        place.rename(tmp_path / "kept")
        KINDS[kind](place, outside)
        for act in sorted(NEEDS[name] - {"check"}):
            if kind != "folder" or name != "figures":
                with pytest.raises(FThetaError, match=f"{place} .*it was not opened"):
                    ACTS[act](Run(path))
        assert digest(outside) == before
        place.rmdir() if kind == "folder" else place.unlink()
        (tmp_path / "kept").rename(place)


# --- readers ----------------------------------------------------------------------------------------------------------

READ = """
import os, sys
from ftheta.store import Run
if os.getuid() == 0:
    os.setuid(65534)  # for root no folder is read-only
run = Run(sys.argv[1])
assert not os.access(sys.argv[1], os.W_OK)
assert run.verify() == [] and run.check() and run.status == "running" and run.digest and run.has("config.toml")
print(run.latest()[1], len(run.rows()), run.read("config.toml").decode(), end="")
"""


def test_a_folder_that_may_not_be_written_can_be_read(path, tmp_path):
    everything = [path, *path.rglob("*")]
    for place in (*everything, tmp_path, path.parent):
        place.chmod(0o555 if place.is_dir() else 0o444)
    (path / "lock").chmod(0o000)
    source = str(Path(__file__).parents[2] / "src")
    done = subprocess.run(
        [sys.executable, "-c", READ, path], env=os.environ | {"PYTHONPATH": source}, capture_output=True, text=True
    )
    for place in (tmp_path, path.parent, *everything):
        place.chmod(0o755)
    assert done.stdout == "3 3 seed = 1\n", done.stderr


def test_reading_changes_nothing(path):
    """Not even what a killed process has left is removed, and no lock is taken."""
    (path / ".config.toml.0123abcd.tmp").write_bytes(b"half")
    (path / "lock").unlink()
    before = digest(path)
    for act in ("status", "exists", "is_empty", "digest", "rows", "latest", "verify", "check"):
        ACTS[act](Run(path))
    assert Run(path).read("config.toml") and digest(path) == before


def test_readers_are_not_misled_while_a_writer_works(path):
    """What they get is always one whole version."""
    problems, done = [], threading.Event()

    def read():
        run = Run(path)
        while not done.is_set():
            try:
                text = run.read("config.toml")
                if text.strip(text[:1]) or run.verify() or run.latest()[1] not in range(3, 99) or not run.rows():
                    problems.append("mixed")
            except Exception as error:
                problems.append(repr(error))

    readers = [threading.Thread(target=read) for _ in range(3)]
    Run(path).write("config.toml", b"x" * 100)
    for reader in readers:
        reader.start()
    with Run(path) as run:
        for i in range(4, 16):
            run.write("config.toml", bytes([60 + i]) * 5000)
            run.log({"step": i})
            run.checkpoint(state(i), i)
    done.set()
    for reader in readers:
        reader.join()
    assert problems == []


# --- folders that are written whole -----------------------------------------------------------------------------------


def test_a_folder_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    files = {"model.py": b"print()\n", "weights.safetensors": bytes(100)}
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    for place in (tmp_path / "a/b", tmp_path / "link"):
        write_folder(place, files)
        assert {f.name: f.read_bytes() for f in place.iterdir()} == files
    real, calls = os.write, []

    def failing(fd, data):
        calls.append(fd)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(fd, data)

    monkeypatch.setattr(os, "write", failing)
    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "new", files)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "empty", "link"]


def test_a_folder_with_something_in_it_and_a_file_are_refused(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").write_bytes(b"mine")
    for place in (tmp_path / "full", tmp_path / "full/mine"):
        with pytest.raises(InputError, match=f"{place} exists and is not an empty folder; nothing was changed."):
            write_folder(place, {"a": b""})
    assert names(tmp_path) == ["full/mine"]
