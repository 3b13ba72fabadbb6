"""Progress on stderr, the result on stdout: without a terminal, on one of 80 columns, and in the demonstration."""

import os
import re
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from ftheta.models._base import stepped
from ftheta.train import Progress
from tests.cli._things import ENV, PYTHON, QUICK

LONG = ("train", "mlp", "digits", "--epochs", "400", "--batch-size", "16", "--hidden", "64", "--set", "patience=400")
LINE = re.compile(r"epoch \d+/\d+  loss \S+  valid_loss \S+  valid_accuracy \S+  \d+ s(, \d+ s left)?")


@pytest.fixture
def hurried(monkeypatch):
    """Progress that does not wait two seconds."""
    monkeypatch.setenv("FTHETA_PROGRESS", "1")
    monkeypatch.setattr(stepped, "Progress", partial(Progress, delay=0.0))


def test_progress_goes_to_stderr_and_the_result_to_stdout(ok, hurried):
    done = ok("train", "mlp", "iris", *QUICK, "--validation", 0.1)
    assert len([line for line in done.err.splitlines() if LINE.fullmatch(line)]) >= 1
    assert done.out.startswith("test part (n = 30)") and "epoch" not in done.out


@pytest.mark.middle
def test_without_a_terminal_lines_come_every_two_seconds(tmp_path):
    command = [*PYTHON, *LONG, "--time", "7s"]
    done = subprocess.run(command, env=ENV, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert 1 <= len([line for line in done.stderr.splitlines() if LINE.fullmatch(line)]) <= 4
    assert done.stdout.startswith("test part") and "\nRun folder: " in done.stdout


@pytest.mark.middle
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_shows_a_bar_and_no_row_is_wider_than_it(tmp_path, width):
    said = on_terminal(width, tmp_path, *LONG, "--time", "5s")
    assert "━" in said and "\x1b[2K" in said and "test part (n = 359)" in said
    for verb in ("models", "runs", "ledger --milestone core", "runs show last"):
        shown = re.sub(r"\x1b\[[012]m", "", on_terminal(width, tmp_path, *verb.split()))  # bold and dim have no width
        rows = [line for line in shown.splitlines() if "  " in line]
        assert rows and max(map(len, rows)) <= width, verb


def on_terminal(width, folder, *args):
    """What a command writes on a terminal so wide."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    env = {k: v for k, v in ENV.items() if k not in ("COLUMNS", "LINES")} | {"TERM": "xterm-256color"}
    with subprocess.Popen([*PYTHON, *args], env=env, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs) as child:
        os.close(theirs)
        parts = []
        while part := _read(ours):
            parts.append(part)
    os.close(ours)
    assert child.returncode == 0
    return b"".join(parts).decode().replace("\r\n", "\n")


def _read(fd):
    try:
        return os.read(fd, 65536)
    except OSError:  # the other end is closed
        return b""


@pytest.mark.middle
def test_the_demonstration_shows_progress_and_a_good_result(tmp_path):
    makefile = (Path(__file__).parents[2] / "Makefile").read_text(encoding="utf-8")
    (command,) = re.findall(r"^demo:.*\n\t\$\(BIN\)/ftheta (.*)$", makefile, re.MULTILINE)
    done = subprocess.run([*PYTHON, *shlex.split(command)], env=ENV, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0
    assert any(map(LINE.fullmatch, done.stderr.splitlines()))
    accuracy = float(re.search(r"^accuracy +(\S+)", done.stdout, re.MULTILINE)[1])
    assert accuracy >= 0.97
    assert Path(tmp_path, re.search(r"^Run folder: (\S+)", done.stdout, re.MULTILINE)[1], "model.safetensors").exists()
