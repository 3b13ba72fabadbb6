"""Search workers that are killed at any moment: no trial is lost or counted twice, and none is left running."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ftheta.selection import Range, Search, trials_of

SPACE = {"x": Range(0.0, 1.0)}
WORKER = """
import sys, time
from pathlib import Path
from ftheta.selection import Range, Search

def slow(point, report):
    time.sleep(0.02)
    report(point["x"])
    time.sleep(0.02)
    return point["x"]

search = Search({"x": Range(0.0, 1.0)}, search="random", seed=1, journal=Path(sys.argv[1]))
Path(sys.argv[1] + f".begun-{sys.argv[2]}").touch()
search.run(slow, int(sys.argv[3]))
"""


def killed_searches(folder, kills, trials, workers=2):
    """Workers on one journal, each killed a moment after it began; the rest of the trials is tried here."""
    journal, rng, alive = folder / "j", random.Random(0), []
    for k in range(kills + workers):
        begun = folder / f"j.begun-{k}"
        arguments = [sys.executable, "-c", WORKER, str(journal), str(k), str(trials)]
        alive.append((subprocess.Popen(arguments, stderr=subprocess.DEVNULL), begun))
        if len(alive) < workers:
            continue
        process, begun = alive.pop(0)
        while not begun.exists() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(rng.random() * 0.3)
        process.kill()
        assert process.wait() in (0, -signal.SIGKILL)
    for process, _ in alive:
        process.kill()
        process.wait()
    last = Search(SPACE, search="random", seed=1, journal=journal)
    last.run(lambda point, _: point["x"], trials)
    return last


@pytest.mark.parametrize(
    ("kills", "trials"),
    [pytest.param(4, 40, marks=pytest.mark.middle), pytest.param(100, 1000, marks=pytest.mark.soak)],
)
def test_no_trial_is_lost_however_often_workers_are_killed(kills, trials, tmp_path):
    found = killed_searches(tmp_path, kills, trials)
    alone = Search(SPACE, search="random", seed=1)
    alone.run(lambda point, _: point["x"], trials)
    expected = sorted(p["x"] for p in trials_of(alone, "").points)
    done = trials_of(found, "")
    assert sorted(p["x"] for p in done.points) == expected and set(done.states) == {"complete"}
    assert all(value == point["x"] for value, point in zip(done.values, done.points, strict=True))
    assert not [t for t in found.study.get_trials() if t.state.name in ("RUNNING", "WAITING")]


@pytest.mark.middle
def test_workers_end_with_the_process_that_started_them(tmp_path):
    """`ftheta tune --processes 2`, killed: its other process ends by itself, and --resume ends the search."""
    command = [sys.executable, "-m", "ftheta", "tune"]
    begin = [*command, "ridge", "diabetes", "--trials", "400", "--processes", "2", "--run", "t", "--no-report"]
    main = subprocess.Popen(begin, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    locks = tmp_path / "t"
    while len(list(locks.glob("journal.log.*-*.lock"))) < 2:
        assert main.poll() is None
        time.sleep(0.05)
    workers = {int(lock.name.split("-")[-2]) for lock in locks.glob("journal.log.*-*.lock")} - {main.pid}
    main.kill()
    main.wait()
    while any(_lives(pid) for pid in workers):  # else the test times out
        time.sleep(0.1)


def _lives(pid):
    """Whether a process runs; one that ended and that nobody waited for does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.parametrize("write", ["enqueue_trial", "set_trial_user_attr", "tell"])
def test_a_trial_is_put_back_once_though_the_process_that_does_it_dies(write, tmp_path, monkeypatch):
    def search(journal=tmp_path / "j"):
        return Search(SPACE, search="random", seed=1, journal=journal)

    search()._ask(3)  # and its process ends
    dying = search()
    place = dying.study._storage if write == "set_trial_user_attr" else dying.study

    def die(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(place, write, die)
    with pytest.raises(KeyboardInterrupt):
        dying._ask(3)
    again, alone = search(), search(None)
    for each in (again, alone):
        each.run(lambda point, _: point["x"], 3)
    points = [sorted(p["x"] for p in trials_of(each, "").points) for each in (again, alone)]
    assert points[0] == points[1]
