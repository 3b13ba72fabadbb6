"""What families of every kind of data owe beyond tables and images: enrolled from the catalog by (kind, task).

A card of such a pair enrolls a family; five toys show that each pair can be written in one file.
"""

import inspect
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import KFold, TimeSeriesSplit, cross_val_score

import ftheta
from ftheta import catalog
from ftheta.data.kinds import KINDS
from ftheta.errors import InputError, InputTypeError
from ftheta.models import NeuralEstimator, Stepped
from ftheta.store import Run
from ftheta.train import Callback
from tests.toys import CARDS as TOYS
from tests.toys.examples import EXAMPLES, made, state

FAMILIES = [
    (card.name, pair, target)
    for card in [*catalog.CARDS.values(), *TOYS]
    for pair, target in card.targets.items()
    if pair in EXAMPLES
]
family = pytest.mark.parametrize(("name", "pair", "target"), FAMILIES, ids=[name for name, *_ in FAMILIES])
toy = pytest.mark.parametrize("card", TOYS, ids=[card.name for card in TOYS])
FOLDS = {"series": TimeSeriesSplit(2), "sequence": KFold(2), "boxes": KFold(2), "text": KFold(2)}
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True, scope="module")
def _toys():
    undo = catalog.register(*TOYS)
    yield
    undo()


@pytest.mark.middle
@family
def test_it_learns_and_scores(name, pair, target):
    (X, y), settings, least = EXAMPLES[pair][0](), EXAMPLES[pair][1], EXAMPLES[pair][2]
    assert made(pair, target, **settings).fit(X, y).score(X, y) > least


@family
def test_the_same_fit_twice_and_from_a_clone(name, pair, target):
    X, y = EXAMPLES[pair][0]()
    model = made(pair, target)
    first = state(model.fit(X, y))
    assert first and state(model.fit(X, y)) == first == state(clone(model).fit(X, y))
    assert state(made(pair, target, random_state=1).fit(X, y)) != first
    assert isinstance(model, Stepped) and len(model.history_) == model.n_iter_ == 3 and model.stop_reason_ == "rounds"


@family
def test_the_generators_of_the_user_are_left_alone(name, pair, target):
    X, y = EXAMPLES[pair][0]()
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    made(pair, target).fit(X, y)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before[1:]


@family
def test_x_of_another_kind_is_refused_in_one_sentence(name, pair, target):
    wrong = {"text": 3.5, "series": "a text", "sequence": "a text", "boxes": "a text", "environment": [1, 2]}
    with pytest.raises((InputError, InputTypeError)) as caught:
        made(pair, target).fit(wrong[pair[0]], EXAMPLES[pair][0]()[1])
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(("name", "pair", "target"), [f for f in FAMILIES if f[1][0] in ("sequence", "boxes")])
def test_one_row_alone_is_answered_as_among_others(name, pair, target):
    X, y = EXAMPLES[pair][0]()
    model = made(pair, target).fit(X, y)
    together = model.apply(model.raw, X[:7])
    for i in range(7):
        np.testing.assert_allclose(model.apply(model.raw, X[i : i + 1])[0], together[i], rtol=1e-4, atol=1e-5)


@family
def test_what_is_saved_comes_back(name, pair, target, tmp_path):
    X, y = EXAMPLES[pair][0]()
    model = made(pair, target).fit(X, y)
    loaded = ftheta.load(model.save(tmp_path / "model"))
    assert type(loaded) is type(model) and state(loaded) == state(model)
    assert loaded.score(X, y) == model.score(X, y) and loaded.get_params() == model.get_params()
    if isinstance(model, NeuralEstimator):
        assert loaded.evaluate(X, y) == model.evaluate(X, y)
        assert loaded.partial_fit(X, y).n_iter_ == 1 and state(loaded) != state(model)


class Broken(Callback):
    """Ends a run in the middle, as a crash does."""

    def __init__(self, after):
        self.left = after

    def on_step(self, ctx):
        self.left -= 1
        if self.left < 0:
            raise ConnectionError("broken")


@family
def test_a_run_that_broke_is_continued_bit_for_bit(name, pair, target, tmp_path):
    X, y = EXAMPLES[pair][0]()
    unbroken = made(pair, target).fit(X, y)
    for after in (1, 2):
        often = made(pair, target).set_params(training__every=0.0)
        with pytest.raises(ConnectionError):
            often.fit(X, y, run=tmp_path / str(after), callbacks=[Broken(after)])
        assert Run(tmp_path / str(after)).status != "finished"
        assert state(made(pair, target).fit(X, y, run=tmp_path / str(after))) == state(unbroken)
        assert state(ftheta.load(tmp_path / str(after))) == state(unbroken)


@pytest.mark.parametrize(("name", "pair", "target"), [f for f in FAMILIES if f[1][0] in FOLDS])
def test_cross_validation_where_folds_have_a_meaning(name, pair, target):
    X, y = EXAMPLES[pair][0]()
    X = [X[i : i + 200] for i in range(0, len(X), 200)] if pair[0] == "text" else X  # documents
    scores = cross_val_score(made(pair, target), X, y, cv=FOLDS[pair[0]], error_score="raise")
    assert len(scores) == 2 and np.isfinite(scores).all()


@pytest.mark.parametrize(("name", "pair", "target"), [f for f in FAMILIES if KINDS[f[1][0]].split == "chronological"])
def test_what_is_held_out_comes_last_and_is_not_learned_from(name, pair, target):
    X, y = EXAMPLES[pair][0]()
    kept = len(X) - round(0.4 * len(X))
    model, alone = made(pair, target, validation=0.4).fit(X, y), made(pair, target).fit(X[:kept], y)
    assert "valid_loss" in model.history_[-1]
    own = {k: v for k, v in state(model).items() if "modules" in k}
    assert own and own == {k: v for k, v in state(alone).items() if "modules" in k}


# ---- toys


@toy
def test_a_toy_is_one_short_file_that_overrides_nothing_private(card):
    cls = catalog.load(*card.targets.values())
    assert len(Path(inspect.getfile(cls)).read_text().splitlines()) <= 150
    private = [name for name in vars(cls) if name.startswith("_") and not name.startswith("__")]
    assert [n for n in private if not n.startswith(("_abc", "_sklearn"))] == []


TRAIN = """
import sys
from ftheta import catalog
from tests.toys.examples import EXAMPLES, made
name, kind, task, run, epochs = sys.argv[1:]
X, y = EXAMPLES[kind, task][0]()
model = made((kind, task), catalog.card(name).targets[kind, task], epochs=int(epochs))
model.set_params(training__every=0.0).fit(X, y, run=run)
"""
LOAD = """
import sys, json
import ftheta
from tests.toys.examples import EXAMPLES
loaded = ftheta.load(sys.argv[1])
X, y = EXAMPLES[sys.argv[2], sys.argv[3]][0]()
print(json.dumps([type(loaded).__name__, loaded.score(X, y)]))
"""


def child(code, *args, **how):
    path = os.pathsep.join(map(str, (ROOT / "src", ROOT, ROOT / "tests/toys/dist")))
    return subprocess.Popen([sys.executable, "-c", code, *map(str, args)], env=os.environ | {"PYTHONPATH": path}, **how)


@pytest.mark.middle
@toy
def test_a_toy_is_killed_continued_and_loaded_in_other_processes(card, tmp_path):
    """Processes of their own: a kill, and classes that only the entry point of a distribution names."""
    ((pair, target),) = card.targets.items()
    X, y = EXAMPLES[pair][0]()
    started = child(TRAIN, card.name, *pair, tmp_path / "run", 15)
    end = time.monotonic() + 600
    while not Run(tmp_path / "run").rows() and time.monotonic() < end:
        time.sleep(0.02)
    started.send_signal(signal.SIGKILL)
    started.wait()
    assert child(TRAIN, card.name, *pair, tmp_path / "run", 15).wait() == 0
    unbroken = made(pair, target, epochs=15).fit(X, y)
    assert state(ftheta.load(tmp_path / "run")) == state(unbroken)
    out, _ = child(LOAD, tmp_path / "run", *pair, stdout=subprocess.PIPE, text=True).communicate()
    assert json.loads(out) == [type(unbroken).__name__, pytest.approx(unbroken.score(X, y))]
