"""Ctrl-C, SIGTERM and kill -9: the run is kept, the command that continues it is said, and no bit is different."""

import errno
import re
import shlex
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from ftheta.store import Run, files
from tests.cli._things import ENV, PYTHON, equal_files, weights

SLOW = ("--hidden", 16, "--set", "dropout=0.2", "--set", "patience=3", "--set", "training.schedule=cosine")
ALL = ("train", "mlp", "iris", "--epochs", 8, "--batch-size", 16, "--lr", 0.1, "--set", "training.accumulate=2", *SLOW)
AGAIN = "Continue with: ftheta train --resume r"
NOTHING = f"Interrupted; there is no checkpoint yet, and training will start again. {AGAIN}"
THREE = f"Interrupted; kept up to step 12, after 3 epochs. {AGAIN}"  # of 120 rows, 2 x 16 at a time
ALL_OF_IT = f"Interrupted; the trained model is kept. {AGAIN}"


@pytest.fixture
def signals(monkeypatch):
    """signals(number, ...): raised, one after the other, when the third epoch is logged."""

    def arm(*numbers):
        log = Run.log

        def hooked(self, row):
            log(self, row)
            if row["epoch"] == 3:
                monkeypatch.setattr(Run, "log", log)
                for number in numbers:
                    signal.raise_signal(number)

        monkeypatch.setattr(Run, "log", hooked)

    return arm


@pytest.mark.parametrize(
    ("numbers", "code", "said"),
    [
        ((signal.SIGINT,), 130, THREE),
        ((signal.SIGTERM,), 143, THREE),
        ((signal.SIGINT, signal.SIGINT), 130, NOTHING),  # a second one does not wait
        ((signal.SIGTERM, signal.SIGTERM), 143, NOTHING),
        ((signal.SIGINT, signal.SIGTERM), 143, NOTHING),
    ],
    ids=["ctrl-c", "sigterm", "ctrl-c twice", "sigterm twice", "one of each"],
)
def test_a_signal_leaves_a_run_that_goes_on_to_the_same_weights(ft, ok, signals, numbers, code, said):
    whole = ok(*ALL, "--run", "whole")
    signals(*numbers)
    done = ft(*ALL, "--run", "r")
    assert (done.code, done.out) == (code, "")
    assert done.err.strip().splitlines()[-1] == said
    assert Run("r").status == "running" and Run("r").verify() == []
    assert (Run("r").latest() is not None) == (said == THREE) and len(Run("r").rows(unsaved=True)) == 3
    again = ok(*said.partition("ftheta ")[2].split())
    assert again.out == whole.out.replace("whole", "r")
    assert weights("r") == weights("whole")
    without_time = [[{k: v for k, v in row.items() if k != "seconds"} for row in Run(r).rows()] for r in ("r", "whole")]
    assert without_time[0] == without_time[1] and equal_files("r", "whole")
    seconds = [row["seconds"] for row in Run("r").rows()]
    assert seconds == sorted(seconds)  # the clock goes on


def test_a_second_ctrl_c_says_what_is_kept_where_that_is_not_all(ft, ok, signals):
    signals(signal.SIGINT, signal.SIGINT)
    done = ft(*ALL, "--set", "training.every=0", "--run", "r")  # a checkpoint for every step
    said = f"Interrupted; kept up to step 11, after 2 epochs. {AGAIN}"
    assert done.code == 130 and done.err.strip().splitlines()[-1] == said
    ok("train", "--resume", "r")


JOB = import_module("ftheta.jobs.train")


def interrupted(*_):
    raise KeyboardInterrupt


def test_ctrl_c_before_the_folder_exists_leaves_nothing(ft, monkeypatch):
    monkeypatch.setattr(JOB, "_dry_run", interrupted)
    done = ft(*ALL, "--run", "r")
    assert (done.code, done.out, done.err.strip()) == (130, "", "") and not Path("r").exists()


@pytest.mark.parametrize(
    ("moment", "said"), [("fit_into", NOTHING), ("_stop_message", ALL_OF_IT), ("_evaluate", ALL_OF_IT)]
)
def test_ctrl_c_between_the_steps_says_the_command_too(ft, ok, monkeypatch, moment, said):
    whole = ok(*ALL, "--run", "whole")
    with monkeypatch.context() as patch:
        patch.setattr(JOB, moment, interrupted)
        done = ft(*ALL, "--run", "r")
    assert done.code == 130 and done.err.strip().splitlines()[-1] == said
    assert ok("train", "--resume", "r").out == whole.out.replace("whole", "r")
    assert weights("r") == weights("whole")


@pytest.mark.parametrize(
    ("trouble", "code", "said"),
    [
        (KeyboardInterrupt(), 130, ""),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "Error: Cannot write r/report.html: No space left"),
        (MemoryError(), 2, "Error: Not enough memory."),
    ],
    ids=["ctrl-c", "full disk", "memory"],
)
def test_trouble_in_the_report_leaves_result_and_run(ft, ok, monkeypatch, trouble, code, said):
    whole = ok(*ALL, "--run", "whole").out
    write = files.write_all

    def troubled(fd, data):
        if data.startswith(b"<!DOCTYPE html>"):
            raise trouble
        write(fd, data)

    with monkeypatch.context() as patch:
        patch.setattr(files, "write_all", troubled)
        patch.setattr("ftheta.jobs.report.page", lambda *_, **__: "<!DOCTYPE html>")
        done = ft(*ALL, "--report", "--run", "r")
    assert (done.code, done.out) == (code, whole.partition("Next:")[0].replace("whole", "r"))
    lost = "The result is saved, but report.html could not be written. Write it with: ftheta runs report r"
    assert lost in done.err.splitlines() and said in done.err
    assert Run("r").status == "finished" and Run("r").verify() == [] and not Run("r").has("report.html")
    assert not list(Path("r").glob("*.tmp"))
    monkeypatch.setattr("ftheta.jobs.report.page", lambda *_, **__: "<!DOCTYPE html>")
    ok("runs", "report", "r")
    assert Run("r").has("report.html")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_elsewhere_has_its_exit_code_and_the_handlers_stay(ft, monkeypatch, number, code):
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    monkeypatch.setattr("ftheta.cli.doctor.environment", lambda: signal.raise_signal(number))
    assert ft("doctor").code == code
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


# ---- real processes

LONG = ("--epochs", "60", "--batch-size", "16", "--hidden", "64", "--set", "dropout=0.2", "--set", "patience=60")
TRAIN = (*PYTHON, "train", "mlp", "digits", *LONG, "--set", "training.every=0.2", "--run")


def epochs_of(run):
    file = Path(run) / "metrics.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def stop(number, after=10):
    """Start a long training, send it a signal after some epochs, and wait for its end."""
    child = subprocess.Popen([*TRAIN, "r"], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while epochs_of("r") < after and child.poll() is None:
            time.sleep(0.02)
        child.send_signal(number)
        out, err = child.communicate(timeout=600)
    finally:
        child.kill()
    return child.returncode, out, err


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The same training without a break: its folder, and what it printed."""
    folder = tmp_path_factory.mktemp("unbroken") / "r"
    done = subprocess.run([*TRAIN, folder], env=ENV, capture_output=True, text=True, check=True)
    return folder, done.stdout.replace(str(folder), "r")


@pytest.mark.middle
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_real_process_that_is_stopped_and_resumed_ends_with_the_same_weights(ft, whole, number, code):
    returned, out, err = stop(number)
    assert (returned, out) == (code, "")
    if number == signal.SIGKILL:
        assert "Interrupted" not in err
    else:
        assert re.fullmatch(
            rf"Interrupted; kept up to step \d+, after \d+ epochs\. {AGAIN}", err.strip().splitlines()[-1]
        )
    assert Run("r").status == "running" and epochs_of("r") < 60
    resumed = subprocess.run([*PYTHON, "train", "--resume", "r"], env=ENV, capture_output=True, text=True)
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout == whole[1]
    assert weights("r") == weights(whole[0]) and epochs_of("r") == 60


# ---- nobody reads the output

HURRIED = """
from functools import partial
from ftheta.cli import main
from ftheta.models._base import stepped
from ftheta.train import Progress
stepped.Progress = partial(Progress, delay=0.0)
main()
"""


@pytest.mark.middle
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no broken pipes")
def test_a_reader_who_leaves_stops_the_training_with_a_checkpoint(ft, whole):
    command = [sys.executable, "-c", HURRIED, *TRAIN[len(PYTHON) :], "r"]
    child = subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert any(line.startswith("epoch 2/") for line in child.stdout)
    child.stdout.close()  # as `| head -1` does
    assert child.wait(timeout=120) == 141
    assert Run("r").status == "running" and Run("r").latest()[1] > 0 and epochs_of("r") < 60
    resumed = subprocess.run([*PYTHON, "train", "--resume", "r"], env=ENV, capture_output=True, text=True)
    assert (resumed.returncode, resumed.stdout) == (0, whole[1])
    assert weights("r") == weights(whole[0])


@pytest.mark.middle
@pytest.mark.skipif(sys.platform == "win32", reason="a shell of Unix")
@pytest.mark.parametrize(
    ("ending", "code"), [(">&-", 0), ("2>&-", 0), (">&- 2>&- <&-", 0), ("| true; exit ${PIPESTATUS[0]}", 141)]
)
def test_a_stream_that_is_closed_does_no_harm(ft, ending, code):
    train = shlex.join([*PYTHON, "train", "mlp", "iris", "--epochs", "3", "--no-report", "--run", "r"])
    done = subprocess.run(["bash", "-c", f"{train} {ending}"], env=ENV, capture_output=True, text=True)
    assert done.returncode == code and "Traceback" not in done.stderr and "Exception" not in done.stderr
    assert Run("r").status == "finished" and Run("r").verify() == []
    assert (Path("r") / "lock").read_bytes().count(b"\n") == 1  # nothing else was written where the lock was opened
    again = subprocess.run([*PYTHON, "train", "--resume", "r"], env=ENV, capture_output=True, text=True)
    assert again.returncode == 0 and again.stdout.startswith("test part")
