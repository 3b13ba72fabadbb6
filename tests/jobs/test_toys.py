"""Families of every kind of data through jobs and the command line: five toys, found by their cards."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ftheta
from ftheta import catalog, explain, jobs
from ftheta.store import Run
from tests.toys import CARDS, DATA
from tests.toys.examples import state

PAIRS = [(card.name, data.name) for card, data in zip(CARDS, DATA, strict=True)]
each = pytest.mark.parametrize(("model", "data"), PAIRS, ids=[model for model, _ in PAIRS])
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def toys(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FTHETA_PROGRESS", "0")
    remove = catalog.register(*CARDS, *DATA)
    yield
    remove()


@pytest.mark.middle
@each
def test_a_toy_is_trained_evaluated_reported_and_opened(model, data):
    trained = jobs.train(model, data, run="r", epochs=2)
    assert Path("r/report.html").exists() and float(trained.result.columns["value"][0]) < 2
    again = jobs.open("r")
    assert type(again.model) is type(trained.model) and again.task == trained.task and again.kind is trained.kind
    for name, _ in again.explain():
        assert name in explain.available(again.model)


def test_texts_are_sampled():
    trained = jobs.train("toy-characters", "toy-lines", run="r", epochs=2, report=False)
    texts = trained.sample(3, length=12)
    assert len(texts) == 3 and all(isinstance(text, str) and len(text) == 12 for text in texts)


@pytest.mark.middle
@each
def test_a_toy_is_killed_and_resumed_on_the_command_line(model, data):
    """Processes of their own: a kill, and names that only an entry point gives."""
    path = os.pathsep.join(map(str, (ROOT / "src", ROOT, ROOT / "tests/toys/dist")))
    command, env = [sys.executable, "-m", "ftheta", "train"], os.environ | {"PYTHONPATH": path}
    settings = ["--epochs", "40", "--set", "training.every=0", "--no-report"]
    started = subprocess.Popen([*command, model, data, "--run", "r", *settings], env=env, stdout=subprocess.DEVNULL)
    end = time.monotonic() + 600
    while not (Run("r").exists() and Run("r").rows(unsaved=True)) and time.monotonic() < end and started.poll() is None:
        time.sleep(0.02)
    started.send_signal(signal.SIGKILL)
    started.wait()
    subprocess.run([*command, "--resume", "r"], env=env, check=True, capture_output=True)
    subprocess.run([*command, model, data, "--run", "whole", *settings], env=env, check=True, capture_output=True)
    assert state(ftheta.load("r")) == state(ftheta.load("whole"))
