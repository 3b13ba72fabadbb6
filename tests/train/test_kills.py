"""kill -9 at any moment: no run is lost, each ends as if nothing had happened.

A child is forked for every attempt, so that torch is imported once; it checkpoints after every step, so that most
kills land in a save. `FTHETA_RECORD=1` writes the counts into results/kills.json.
"""

import json
import os
import platform
import random
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import pytest
import torch

import ftheta
from ftheta import MLPClassifier
from ftheta.data import Rows
from ftheta.store import Run
from ftheta.train import Trainer, Training, iterate
from tests.train._toys import WGAN, digest, line, seeded

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


# ---- children


def fork(work, *args):
    """Do the work in a child, whose exit code says how it ended; nothing of pytest runs there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of every fork beside threads
        child = os.fork()
    if child:
        return child
    code = 70
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        work(*args)
        code = 0
    except KeyboardInterrupt:
        code = 130
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def ended(child, seconds=600.0):
    """The exit code of a child, negative for a signal; None if it still runs after so many seconds."""
    limit = time.monotonic() + seconds
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= limit:
            return None
        time.sleep(0.0005)


def kill(child):
    os.kill(child, signal.SIGKILL)
    return ended(child)


# ---- what is killed


def classes():
    x, y = line(n=90)
    return x.numpy(), (y > 0).long().numpy()


def model(**settings):
    """Dropout, accumulation, a schedule, early stopping; a checkpoint after every step."""
    knobs = Training(accumulate=2, schedule="cosine", every=0.0)
    quick = {"hidden": (12,), "dropout": 0.3, "epochs": 12, "batch_size": 12, "validation": 0.2, "patience": 3}
    return MLPClassifier(**(quick | {"lr": 0.1, "random_state": 0, "training": knobs} | settings))


def fit(folder):
    model().fit(*classes(), run=folder)


def fitted(folder):
    return digest([ftheta.load(folder).get_state(), Run(folder).rows()])


def play(folder):
    """Two players, one of whom moves five times as often."""
    source = Rows(line(n=24, features=1, dtype=torch.float32)[0], batch_size=6)
    iterate(Trainer(seeded(WGAN), source, optimizer="rmsprop"), rounds=6, run=Run(folder), every=0.0)


def played(folder):
    return digest([*Run(folder).latest(), Run(folder).rows()])


JOBS = {"estimator": (fit, fitted), "two players": (play, played)}


@pytest.fixture(scope="module", autouse=True)
def warm():
    """What torch imports at its first step is imported before the first fork."""
    model(epochs=1).fit(*classes())


# ---- killing


def readable(folder):
    """Whether the newest checkpoint and its rows can be read, without a fall back to an older one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run = Run(folder)
            run.latest(), run.rows()
    except Exception:
        return False
    return True


def campaign(work, result, folder, kills, seed=0, readable=readable):
    """Kill the work after U(0, 0.7 T) seconds, again and again, each run resumed until it is done; compare its end."""
    begin = time.monotonic()
    assert ended(fork(work, folder / "whole")) == 0
    duration, expected, chance = time.monotonic() - begin, result(folder / "whole"), random.Random(seed)
    counts = Counter(kills=0, runs=0, in_a_save=0, unreadable=0, lost=0, different=0)
    while counts["kills"] < kills:
        counts["runs"] += 1
        here = folder / f"run{counts['runs']}"
        code = None
        while code is None:
            child = fork(work, here)
            more = counts["kills"] < kills
            code = ended(child, chance.uniform(0, 0.7 * duration) if more else 600.0)
            if code is None and kill(child) == -signal.SIGKILL:
                counts["kills"] += 1
                counts["in_a_save"] += any(here.glob(".*.tmp")) or len([*here.glob("checkpoint-*")]) > 2
                counts["unreadable"] += here.exists() and not readable(here)
        counts["lost"] += code != 0
        counts["different"] += code == 0 and result(here) != expected
    return dict(counts)


def test_what_is_killed_tries_what_it_should(tmp_path):
    fit(tmp_path / "fit")
    found = ftheta.load(tmp_path / "fit")
    assert found.stop_reason_.startswith("no better valid_loss for 3 rounds") and 5 < len(found.history_) < 12
    assert found.history_[0]["step"] == 3  # 72 rows, six batches, two at a time
    play(tmp_path / "play")
    assert {"critic", "generator"} <= set(Run(tmp_path / "play").rows()[-1])


def save_naively(folder):
    """What a first training script does: torch.save over the last state after every step."""
    folder.mkdir(exist_ok=True)
    file = folder / "state.pt"
    state = torch.load(file) if file.exists() else {"w": torch.zeros(500_000), "step": 0}
    while state["step"] < 60:
        state = {"w": (state["w"] + state["step"]).sin(), "step": state["step"] + 1}
        torch.save(state, file)


def saved(folder):
    return digest(torch.load(folder / "state.pt"))


def loadable(folder):
    try:
        saved(folder)
    except FileNotFoundError:
        return True  # killed before the first step
    except Exception:
        return False
    return True


def record(**found):
    if os.environ.get("FTHETA_RECORD") == "1":
        file = Path(__file__).parents[2] / "results" / "kills.json"
        file.parent.mkdir(exist_ok=True)
        known = json.loads(file.read_text()) if file.exists() else {}
        where = {"torch": torch.__version__, "python": platform.python_version(), "system": platform.system()}
        file.write_text(json.dumps(known | where | found, indent=1) + "\n")


@pytest.mark.middle
@pytest.mark.parametrize("job", JOBS)
def test_50_kills_lose_nothing(job, tmp_path):
    found = campaign(*JOBS[job], tmp_path, kills=50, seed=1)
    record(**{job: found})
    assert found["kills"] == 50 and found["unreadable"] == found["lost"] == found["different"] == 0


@pytest.mark.middle
def test_a_naive_writer_loses_runs_in_the_same_hands(tmp_path):
    """Else the kills would prove nothing."""
    found = campaign(save_naively, saved, tmp_path, kills=25, seed=2, readable=loadable)
    record(**{"naive writer": found})
    assert found["kills"] == 25 and found["lost"] >= 3 and found["unreadable"] >= 3


# ---- signals to a process that trains
