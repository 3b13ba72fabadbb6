"""Memory: answers for ten times the rows take what the answers take, and little more; the package itself is small.

Rows are handed over in the type of the estimator. One process of its own measures everything, with an allocator that
gives back at once what is freed, so that nothing but what is used counts.
"""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

from ftheta.data import ArrayEncoder, TableEncoder
from tests.contract.enrolled import VARIANTS, name_of, small, takes

ROOT = Path(__file__).parents[1]
ROWS, COLUMNS, TIMES = 16_384, 200, 10
SLACK = 8.0  # MB; a mask of one byte a value would take 31

pytestmark = [
    pytest.mark.middle,
    pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs the counters of Linux"),
]


def status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024  # MB


def added(act, X):
    """Peak memory that this adds, and memory of its answer, in MB."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak is now what it is now
    before = status("VmRSS")
    answer = act(X).nbytes / 2**20
    return [status("VmHWM") - before, answer]


def estimator_acts(rows):
    for estimator in VARIANTS:
        X = rows[getattr(estimator, "dtype", "float64")]
        y = X[:200, 0] > 0 if is_classifier(estimator) else X[:200, 0]
        narrow = {"degree": 1} if takes(type(estimator), "degree") else {}  # of 200 columns there are a million cubes
        model = small(estimator, **narrow).fit(X[:200], y)
        for method in ("predict", "predict_proba", "transform"):
            if hasattr(model, method):
                yield f"{name_of(estimator)}.{method}", getattr(model, method), X


def encoder_acts(rows):
    frame = pd.DataFrame(rows["float64"][:, :50]).add_prefix("c")
    frame["text"] = pd.Categorical(np.resize(list("abcde"), len(frame)))
    pixels = np.resize(np.arange(10**6).astype(np.uint8), (ROWS * TIMES, 100))
    for dtype in ("float32", "float64"):
        yield f"TableEncoder-{dtype}", TableEncoder(dtype).fit(frame[:500]).transform, frame
        yield f"ArrayEncoder-{dtype}", ArrayEncoder("real", True, dtype=dtype).fit(pixels[:500]).transform, pixels


def wasteful_acts(rows):
    yield "a whole copy", lambda X: (X * 2)[:1], rows["float32"]
    yield "a mask", lambda X: np.isfinite(X)[:1], rows["float32"]


def measure():
    """What each act adds for some rows and for ten times as many."""
    warnings.simplefilter("ignore")
    base = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    rows = {dtype: np.tile(base.astype(dtype), (TIMES, 1)) for dtype in ("float32", "float64")}
    found = {}
    for make in (estimator_acts, encoder_acts, wasteful_acts):
        for name, act, X in make(rows):
            act(X[:ROWS])  # what a first call loads counts for nobody
            found[name] = {"few": added(act, X[:ROWS]), "many": added(act, X)}
    return found


def child(code, **env):
    env = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))), **env}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.fixture(scope="module")
def found():
    code = "import json, torch, tests.test_memory as t; torch.set_num_threads(1); print(json.dumps(t.measure()))"
    return json.loads(child(code, MALLOC_MMAP_THRESHOLD_="65536", MALLOC_TRIM_THRESHOLD_="65536"))


def excess(one):
    """How much more than 1.2 times, and the answer, ten times the rows take."""
    return one["many"][0] - 1.2 * one["few"][0] - one["many"][1]


def test_ten_times_the_rows_take_little_more_than_the_answer(found):
    wasteful = {name for name, *_ in wasteful_acts({"float32": None})}
    copy = ROWS * TIMES * COLUMNS * 8 / 2**20  # of X in float64
    allowed = {name: SLACK + copy for name in found if name not in wasteful}  # checked rows are held once more
    assert {name: found[name] for name in allowed if excess(found[name]) > allowed[name]} == {}
    assert len(found) >= len(VARIANTS) + 4


def test_a_whole_copy_and_a_mask_are_noticed(found):
    assert excess(found["a whole copy"]) > 90 and excess(found["a mask"]) > 20


def test_the_package_takes_at_most_200_megabytes():
    code = (
        "import ftheta, ftheta.cli; print(*[s.split()[1] for s in open('/proc/self/status') if s.startswith('VmHWM')])"
    )
    assert int(child(code)) / 1024 <= 200
