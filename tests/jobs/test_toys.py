"""Families of every kind of data through jobs and the command line: five toys, found by their cards."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import ftheta
from ftheta import catalog, explain, jobs
from ftheta.store import Run
from tests.cli._things import call
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


def test_a_series_is_forecast_and_a_table_of_numbers_is_one():
    rows = np.stack([np.sin(np.arange(200) / 5), np.cos(np.arange(200) / 5)], 1)
    np.savetxt("waves.csv", rows, delimiter=",", header="a,b", comments="")
    trained = jobs.train("toy-forecaster", "waves.csv", run="r", epochs=3, horizon=4, report=False)
    assert trained.dataset.kind == "series" and trained.split.test.tolist() == list(range(160, 200))
    frame = trained.predict("waves.csv").frame
    assert list(frame) == ["step", "prediction 1", "prediction 2"] and frame["step"].tolist() == [1, 2, 3, 4]


def test_a_horizon_is_an_option_of_models_that_forecast(monkeypatch, capsys):
    np.savetxt("wave.csv", np.sin(np.arange(120) / 5), header="a", comments="")
    short = ("--epochs", 1, "--no-report")
    assert call(monkeypatch, "train", "toy-forecaster", "wave.csv", "--horizon", 5, "--run", "r", *short) == 0
    assert jobs.open("r").model.horizon == 5
    assert call(monkeypatch, "train", "mlp", "wine", "--horizon", 5, *short) == 2
    assert "model 'mlp': Unknown key 'horizon'" in capsys.readouterr().err


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
