"""One writer at a time, in this process, in others, and after kill -9."""

import errno
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from ftheta.errors import RunError, StoreError
from ftheta.store import Run, _folder

SOURCE = str(Path(__file__).parents[2] / "src")
HOLD = """
import sys, time
from ftheta.store import Run
Run(sys.argv[1]).__enter__()
print("in", flush=True)
time.sleep(60)
"""
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def fork():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads of the test session
        return os.fork()


def test_a_second_process_is_refused_with_the_pid_of_the_first_and_let_in_after_its_death(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": SOURCE}
    )
    try:
        assert holder.stdout.readline() == b"in\n"
        for act in (Run.__enter__, lambda run: run.log({"a": 1}), lambda run: run.write("x", b"")):
            with pytest.raises(
                RunError, match=rf"{tmp_path} is in use by another process \(pid {holder.pid}, since .*\)"
            ):
                act(Run(tmp_path))
        assert Run(tmp_path).status == "new"  # reading is always possible
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    with Run(tmp_path) as run:
        run.log({"a": 1})


def test_a_second_object_in_the_same_process_is_refused_too(tmp_path):
    run = Run(tmp_path)
    with run, run:
        with run:  # one object can be entered again
            run.log({"a": 1})
        with pytest.raises(RunError, match=rf"is in use by another process \(pid {os.getpid()}, since "):
            Run(tmp_path).__enter__()
    with Run(tmp_path) as again:
        again.log({"a": 2})
    assert [row["a"] for row in run.rows()] == [1, 2]


def test_an_error_inside_frees_the_run(tmp_path):
    with pytest.raises(ZeroDivisionError), Run(tmp_path):
        raise ZeroDivisionError
    (tmp_path / "manifest.json").write_bytes(b"broken")
    for _ in range(2):
        with pytest.raises(ValueError, match="manifest.json"):
            Run(tmp_path).__enter__()


@needs_fork
@pytest.mark.parametrize("leaves", [False, True])
def test_a_forked_child_neither_keeps_the_lock_nor_gives_it_away(tmp_path, leaves):
    run = Run(tmp_path).__enter__()
    run.log({"a": 1})
    reading, writing = os.pipe()
    child = fork()
    if child == 0:
        try:
            run.__exit__() if leaves else None  # as the end of the block does
            run.log({"a": 2})
        except RunError:
            os.write(writing, b"refused")
            time.sleep(60)
        finally:
            os._exit(0)
    os.close(writing)
    try:
        assert os.read(reading, 7) == b"refused"
        with pytest.raises(RunError, match=rf"pid {os.getpid()}, "):
            Run(tmp_path).__enter__()  # the parent still has it
        run.__exit__()
        with Run(tmp_path) as other:  # although the child lives
            assert other.rows() == [{"a": 1}]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)


@pytest.mark.parametrize("text", ["", "4242 yesterday", "pid \x1b[2J, since 2020", "\0" * 1000])
def test_a_holder_that_is_not_known_is_not_named(tmp_path, text):
    with Run(tmp_path):
        (tmp_path / "lock").write_text(text)
        with pytest.raises(RunError, match="is in use by another process. Stop it"):
            Run(tmp_path).__enter__()


def test_a_disk_without_locks_is_reported(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(
        _folder, "fcntl", type("fcntl", (), {"flock": flock, "LOCK_EX": 0, "LOCK_NB": 0}), raising=False
    )
    with pytest.raises(StoreError, match=f"Cannot write .*lock: {os.strerror(errno.ENOLCK)}"):
        Run(tmp_path).__enter__()
