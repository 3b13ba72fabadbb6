"""Everything that can go wrong between a program and its disk, at every call: errors, short writes, kill -9.

The store changes the disk through `os` only, so that a stand-in can count its calls and let the k-th one fail. Folders
are compared by what a reader gets: `latest`, `rows`, `verify`, `read`.
"""

import errno
import os
import shutil
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest

from ftheta.errors import StoreError
from ftheta.store import Run, _folder, dump_tree, files, parse_tree, run

CALLS = ("open", "write", "fsync", "replace", "unlink", "ftruncate", "makedirs", "mkdir")
STEPS = 2


class Stand:
    """`os`, except that at the k-th call that changes the disk `event` decides what happens."""

    def __init__(self, event=None, k=0):
        self.event, self.k, self.calls = event, k, []

    def __getattr__(self, name):
        real = getattr(os, name)
        if name not in CALLS:
            return real

        def call(*args, **options):
            if name == "open" and not args[1] & (os.O_WRONLY | os.O_RDWR):
                return real(*args, **options)  # to read, which changes nothing
            self.calls.append(name)
            if self.event is not None and len(self.calls) >= self.k:
                return self.event(name, real, *args, first=len(self.calls) == self.k, **options)
            return None if name == "fsync" else real(*args, **options)  # slow, and without effect on what is read

        return call

    def __enter__(self):
        for module in (files, run, _folder):
            module.os = self
        return self

    def __exit__(self, *_):
        for module in (files, run, _folder):
            module.os = os


def fail(number, lasting=False):
    def event(name, real, *args, first, **options):
        if first or lasting:
            raise OSError(number, os.strerror(number))
        return real(*args, **options)

    return event


def short(name, real, *args, first, **options):
    if name == "write":
        return real(args[0], args[1][: (len(args[1]) + 1) // 2])
    return real(*args, **options)


def kill(half):
    """SIGKILL at the call: with `half` after half of a write, else before it, which is also after the one before."""

    def event(name, real, *args, first, **options):
        if half and name == "write":
            real(args[0], args[1][: len(args[1]) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    return event


class Dead(BaseException):
    """A process that is no more."""


def die(name, real, *args, first, **options):
    """The same without a process: half a write, and from then on no call reaches the disk any more."""
    if first and name == "write":
        real(args[0], args[1][: len(args[1]) // 2])
    raise Dead


def state(step):
    return {"w": np.full(50, float(step)), "step": step}


def train(folder, done=lambda step: None):
    """A run as the library makes it, from wherever the last process left off."""
    with Run(folder) as job:
        if job.status == "finished":
            return
        job.write("config.toml", "a = 1\n")
        tree, step = job.latest() or (state(0), 0)
        assert tree["step"] == step and [row["step"] for row in job.rows()] == list(range(1, step + 1))
        for i in range(step + 1, STEPS + 1):
            job.log({"step": i})
            job.checkpoint(state(i), i)
            done(i)
        job.write("model.safetensors", state(STEPS))
        job.write("config.toml", "a = 2, and done\n")  # the second time over an existing file
        job.finish()


def result(folder):
    return {f.name: f.read_bytes() for f in Path(folder).rglob("*") if f.is_file() and f.name != "lock"}


def count(act):
    """Do it, without the waits for the disk, and say which calls it made."""
    with Stand() as stand:
        act()
    return stand.calls


# --- errors: fail the k-th call ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """A run with two checkpoints and a file."""
    folder = tmp_path_factory.mktemp("before") / "a"
    with Run(folder) as job:
        job.write("x", "A")
        job.write("fit.json", "old")
        for step in (1, 2):
            job.log({"step": step})
            job.checkpoint(state(step), step)
    return folder


def save(job):
    if job.latest()[1] == 2:
        job.log({"step": 3})
        job.checkpoint(state(3), 3)


def step_and_rows(job):
    return job.latest()[1], len(job.rows())


ACTS = {
    "checkpoint": (save, step_and_rows, {(2, 2), (3, 3)}),
    "same step": (lambda job: job.checkpoint(state(9), 2), lambda job: job.latest()[0]["step"], {2, 9}),
    "new file": (lambda job: job.write("figures/x", b"new"), lambda job: job.has("figures/x"), {False, True}),
    "old file": (lambda job: job.write("x", "ABCD"), lambda job: job.read("x"), {b"A", b"ABCD"}),
    "kept twice": (lambda job: job.write("fit.json", "new"), lambda job: job.read("fit.json"), {b"old", b"new"}),
    "rewind": (lambda job: job.rewind(1), step_and_rows, {(2, 2), (1, 1)}),
    "finish": (lambda job: job.finish(), lambda job: (job.status, len(job.rows())), {("running", 2), ("finished", 2)}),
}  # name: what is done, what a reader sees, what it may see afterwards
FAULTS = {"EIO": fail(errno.EIO), "ENOSPC": fail(errno.ENOSPC), "EACCES": fail(errno.EACCES)}
FAULTS |= {"full for good": fail(errno.ENOSPC, lasting=True), "short write": short}


@pytest.mark.parametrize(
    "fault",
    [name if name in ("EIO", "short write") else pytest.param(name, marks=pytest.mark.middle) for name in FAULTS],
)
@pytest.mark.parametrize("act", ACTS)
def test_a_fault_at_any_call_is_reported_and_loses_nothing(before, tmp_path, act, fault):
    do, look, allowed = ACTS[act]
    folder = tmp_path / "a"

    def attempt():
        with Run(folder) as job:
            do(job)

    shutil.copytree(before, folder)
    old, calls = look(Run(folder)), count(attempt)
    new = look(Run(folder))
    assert {old, new} == allowed and len(calls) > 5
    for k in range(1, len(calls) + 1):
        shutil.rmtree(folder)
        shutil.copytree(before, folder)
        with Stand(FAULTS[fault], k):
            if fault == "short write":
                attempt()
                assert look(Run(folder)) == new
            else:
                with pytest.raises(StoreError, match=f"Cannot (write|remove) {folder}.*What was there before is") as e:
                    attempt()
                number = errno.ENOSPC if fault == "full for good" else getattr(errno, fault)
                assert os.strerror(number) in str(e.value) and e.value.errno == number
        assert look(Run(folder)) in allowed and Run(folder).verify(copies=act != "kept twice") == []
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*fit.json.* restored from its other copy")  # it was half replaced
            count(attempt)  # at the next start it works, and nothing is left over
        assert look(Run(folder)) == new and Run(folder).verify() == []
        assert not list(folder.rglob("*.tmp")) and len(list(folder.glob("checkpoint-*"))) <= 2


def test_a_row_that_could_not_be_written_leaves_no_trace(tmp_path):
    """Half a line reaches the disk, then the disk is full; the same object goes on when there is room again."""

    def half(name, real, *args, first, **options):
        if not first:
            raise OSError(errno.ENOSPC, "full")
        return real(args[0], args[1][:5])

    with Run(tmp_path) as job:
        job.log({"step": 1})
        with (
            Stand(half, 1),
            pytest.raises(StoreError, match=r"metrics.jsonl: No space .* \(needs \d+ bytes, .* free\)"),
        ):
            job.log({"step": 2})
        assert (tmp_path / "metrics.jsonl").read_bytes().endswith(b'}\n{"ste')
        assert job.rows() == [{"step": 1}]
        job.log({"step": 3})
        job.checkpoint({}, 3)
    assert job.rows() == [{"step": 1}, {"step": 3}] and job.verify() == []


def test_the_stand_in_reaches_every_kind_of_call(tmp_path):
    made = count(lambda: train(tmp_path / "a"))
    made += count(lambda: [Run(tmp_path / "b").write("figures/x", b""), Run(tmp_path / "b").rewind(0)])
    assert set(made) == set(CALLS)


# --- kill -9 at the k-th call -----------------------------------------------------------------------------------------

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def killed(work, event, k):
    """Run `work(done)` in a forked child that dies at its k-th call; the last step that it reported as done."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads of the test session
        child = os.fork()
    if child == 0:
        code = 1
        try:
            with Stand(event, k):
                work(lambda step: os.write(writing, bytes([step])))
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    told = b"".join(iter(lambda: os.read(reading, 64), b""))
    os.close(reading)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return max(told, default=0)


@needs_fork
@pytest.mark.middle
@pytest.mark.parametrize("half", [False, True])
def test_kill_9_at_any_call_loses_no_finished_step_and_the_resumed_run_is_the_same(tmp_path, half):
    calls = count(lambda: train(tmp_path / "whole"))
    whole = result(tmp_path / "whole")
    for k, name in enumerate(calls, 1):
        if half and name != "write":
            continue
        folder = tmp_path / f"{k}"
        told = killed(lambda done, folder=folder: train(folder, done), kill(half), k)
        reader = Run(folder)
        found = reader.latest()
        step = found[1] if found else STEPS if reader.status == "finished" else 0
        assert step >= told
        assert reader.verify() == [] or reader.status == "new"
        assert [row["step"] for row in reader.rows()][:step] == list(range(1, step + 1))
        count(lambda folder=folder: train(folder))
        assert result(folder) == whole, (k, name)
        shutil.rmtree(folder)


@pytest.mark.middle
def test_dying_twice_loses_nothing_either(tmp_path):
    """The second process dies at every third call, also while it tidies up after the first."""
    calls = count(lambda: train(tmp_path / "whole"))
    whole = result(tmp_path / "whole")
    for first in range(2, len(calls), 9):
        once = tmp_path / "once"
        with Stand(die, first), pytest.raises(Dead):
            train(once)
        dry = shutil.copytree(once, tmp_path / "dry")
        for second in range(1, len(count(lambda dry=dry: train(dry))) + 1, 3):
            twice = shutil.copytree(once, tmp_path / "twice")
            with Stand(die, second), pytest.raises(Dead):
                train(twice)
            count(lambda twice=twice: train(twice))
            assert result(twice) == whole, (first, second)
            shutil.rmtree(twice)
        shutil.rmtree(once), shutil.rmtree(dry)


@pytest.mark.middle
def test_a_file_that_is_being_replaced_is_known_after_two_deaths(tmp_path):
    """A -> B dies after its rename, then B -> C before its own: the file on the disk is B, and is right."""
    Run(tmp_path / "start").write("x", "A")
    shutil.copytree(tmp_path / "start", tmp_path / "dry")
    calls, seen = count(lambda: Run(tmp_path / "dry").write("x", "B")), set()
    for first in range(1, len(calls) + 1):
        for second in range(1, len(calls) + 1):
            folder = shutil.copytree(tmp_path / "start", tmp_path / f"{first}-{second}")
            for k, text in ((first, "B"), (second, "C")):
                with Stand(die, k), pytest.raises(Dead):
                    Run(folder).write("x", text)
            seen.add(Run(folder).read("x"))
            assert Run(folder).verify() == []
    assert seen == {b"A", b"B", b"C"}


@pytest.mark.middle
def test_files_that_belong_together_are_replaced_together(tmp_path):
    """Death at any call leaves the old pair or the new one, as a reader sees it and after the next start."""
    old, new = ({"model": text, "config": f"{text} of the model"} for text in ("A", "B"))
    Run(tmp_path / "start").finish(old)
    calls, seen = count(lambda: Run(shutil.copytree(tmp_path / "start", tmp_path / "dry")).finish(new)), []
    for k in range(1, len(calls) + 1):
        folder = shutil.copytree(tmp_path / "start", tmp_path / f"{k}")
        with Stand(die, k), pytest.raises(Dead):
            Run(folder).finish(new)
        for _ in range(2):
            found = {name: Run(folder).read(name).decode() for name in old}
            assert found in (old, new) and Run(folder).verify() == [] and Run(folder).status == "finished"
            with Run(folder):
                seen.append(found["model"])
        assert seen[-1] == seen[-2] and not list(folder.rglob("*.tmp"))
    assert "".join(seen) == "".join(sorted(seen)) and set(seen) == {"A", "B"}


@pytest.mark.middle
def test_death_between_the_two_copies_loses_nothing_even_if_the_disk_then_spoils_one(tmp_path):
    """A kill at any call, then a bit in either copy of the manifest or of fit.json."""
    with Run(tmp_path / "start") as job:
        job.write("fit.json", "old")
        job.checkpoint(state(1), 1)

    def act(folder):
        with Run(folder) as job:
            job.write("fit.json", "new")
            job.checkpoint(state(2), 2)

    calls = count(lambda: act(shutil.copytree(tmp_path / "start", tmp_path / "dry")))
    for k in range(1, len(calls) + 1):
        dead = shutil.copytree(tmp_path / "start", tmp_path / "dead")
        with Stand(die, k), pytest.raises(Dead):
            act(dead)
        for name in ("manifest.json", ".manifest.json.copy", "fit.json", ".fit.json.copy"):
            folder = shutil.copytree(dead, tmp_path / "again")
            half_replaced = Run(dead).verify() != []
            if not half_replaced:
                (folder / name).write_bytes((folder / name).read_bytes()[:-3])
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".* restored from its other copy")
                with Run(folder) as job:
                    assert job.read("fit.json") in (b"old", b"new") and job.latest()[1] in (1, 2), (k, name)
                act(folder)
            assert Run(folder).verify() == [] and Run(folder).latest()[1] == 2
            shutil.rmtree(folder)
        shutil.rmtree(dead)


def naive(folder, done):
    """What most programs do: write over the file."""
    folder.mkdir()
    for step in range(1, STEPS + 1):
        fd = files.os.open(folder / "checkpoint", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        files.write_all(fd, dump_tree(state(step)))
        files.os.fsync(fd)
        os.close(fd)
        done(step)


@pytest.mark.middle
@needs_fork
def test_the_same_kills_destroy_the_file_of_a_naive_writer(tmp_path):
    """Otherwise the tests above would prove nothing."""
    lost = []
    for half in (False, True):
        for k in range(1, 3 * STEPS + 1):
            folder = tmp_path / f"{half}{k}"
            told = killed(lambda done, folder=folder: naive(folder, done), kill(half), k)
            try:
                step = parse_tree((folder / "checkpoint").read_bytes(), "")["step"]
            except (OSError, ValueError):
                step = 0
            lost.append(step < told)
    assert sum(lost) == 2, lost  # in the second write, before it and in the middle of it
