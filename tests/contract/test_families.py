"""What families beyond plain tables owe: images, memories and machines on rows of bits, and every other kind of data.

SUBJECTS says on which rows a family is tried and what it answers for them without chance; four toys show that each
further pair of kind and task can be written in one file.
"""

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, TimeSeriesSplit, cross_val_score

import ftheta
from ftheta import catalog, models
from ftheta.errors import FThetaError
from ftheta.models import NeuralEstimator, Stepped
from ftheta.store import Run
from ftheta.train import Callback, Training
from tests.contract.enrolled import generators
from tests.toys import CARDS as TOYS
from tests.toys.examples import EXAMPLES, state

ROOT = Path(__file__).parents[2]


class Subject(NamedTuple):
    """A class, the kind of its rows, what makes them, its settings, and what answers for rows without chance."""

    cls: type
    kind: str
    data: Callable[[], tuple[Any, Any]]
    settings: dict[str, Any]
    answer: str

    def make(self, **others):
        given = {"random_state": 0} | self.settings | others
        known = given if issubclass(self.cls, Stepped) else self.cls._get_param_names()
        return self.cls(**{k: v for k, v in given.items() if k in known})

    def ask(self, fitted, X):
        found = fitted.apply(fitted.raw, X) if self.answer == "raw" else getattr(fitted, self.answer)(X)
        return np.concatenate(found) if isinstance(found, list) else found


def images(cls, n=24, size=(12, 10)):
    """Images of bytes with a bar that stands or lies; labels of images, or of pixels."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 40, (n, 1, *size), dtype=np.uint8)
    stands = np.arange(n) % 2 == 0
    for x, up in zip(X, stands, strict=True):
        row, column = rng.integers(2, size[0] - 4), rng.integers(2, size[1] - 4)
        x[0, row : row + (4 if up else 1), column : column + (1 if up else 4)] = 255
    return X, (X[:, 0] > 128).astype(int) if cls is models.UNetSegmenter else np.where(stands, "stands", "lies")


def bits(kind):
    """Two patterns of 8 units with a few units turned: bits, or three rows of signs."""
    X = np.repeat([[1, 1, 1, 1, 0, 0, 0, 0], [0, 1, 0, 1, 0, 1, 0, 1]], 12, axis=0)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, 1 - X, X)
    return (X if kind == "bits" else np.unique(2 * X - 1, axis=0)[:3]), None


def image(cls):
    settings = {"filters": (4, 8), "epochs": 3, "batch_size": 8}
    return Subject(cls, "image", partial(images, cls), settings, "predict_proba")


def rbm(**settings):
    settings = {"n_hidden": 4, "epochs": 3, "batch_size": 8} | settings
    return Subject(models.RestrictedBoltzmannMachine, "bits", partial(bits, "bits"), settings, "transform")


def machine(cls, answer, kind="bits", **settings):
    settings = {"epochs": 3, "batch_size": 8, "chains": 5} | settings if kind == "bits" else {}
    return Subject(cls, kind, partial(bits, kind), settings, answer)


def recurrent(cls, task):
    """A recurrent net for classes or numbers of sequences, or for classes of steps."""
    rows, labels = EXAMPLES["sequence", "classify"][0]()
    rows, labels = rows[:40], labels[:40]
    rising = [np.where(np.diff(x[:, 0], append=x[-1, 0]) > 0, "up", "down") for x in rows]
    y = {"classify": labels, "regress": np.array([x[:, 0].sum() for x in rows]), "tag": rising}[task]
    answer = "predict" if task == "regress" else "predict_proba"
    settings = {"hidden": 6, "epochs": 3, "batch_size": 12, "layers": 2, "dropout": 0.1}
    return Subject(cls, "sequence", lambda: (rows, y), settings, answer)


def forecaster(cls):
    """A forecaster of two waves."""
    data, small = EXAMPLES["series", "forecast"][:2]
    settings = {k: v for k, v in small.items() if k in cls._get_param_names()}
    settings |= {"hidden": (8,)} if cls in (models.MLPForecaster, models.NARXForecaster) else {}
    settings |= {"copies": 1, "members": ("ar", "mlp")} if cls is models.CommitteeForecaster else {}
    return Subject(cls, "series", data, settings, "score")


def toy(card):
    (((kind, task), target),) = card.targets.items()
    data, settings, _ = EXAMPLES[kind, task]
    cls = catalog.load(target)
    known = {k: v for k, v in (settings | {"epochs": 3}).items() if k in cls().get_params(deep=False)}
    return Subject(cls, kind, data, known, "raw" if kind in ("sequence", "boxes") else "score")


SUBJECTS = {
    **{name: image(catalog.resolve(name, *pair)) for name in catalog.CARDS for pair in catalog.card(name).targets
       if pair[0] == "image"},
    "pcd": rbm(),
    "cd": rbm(method="cd", k=2),
    "centered": rbm(centered=True, sample_pixels=True),
    "gaussian": rbm(visible="gaussian"),
    "deep": machine(models.DeepBoltzmannMachine, "transform", hidden=(4, 3), greedy=1),
    "exact": machine(models.BoltzmannMachine, "log_prob"),
    "sampled": machine(models.BoltzmannMachine, "free_energy", method="gibbs", n_hidden=2),
    "hopfield": machine(models.HopfieldNetwork, "recall", "signs"),
    "modern": machine(models.ModernHopfield, "recall", "signs"),
    **{f"{name}-{task}": recurrent(catalog.resolve(name, kind, task), task) for name in catalog.CARDS
       for kind, task in catalog.card(name).targets if kind == "sequence"},
    **{f"{name}-forecast": forecaster(catalog.resolve(name, kind, task)) for name in catalog.CARDS
       for kind, task in catalog.card(name).targets if kind == "series"},
    **{card.name: toy(card) for card in TOYS},
}  # fmt: skip
OTHER_CELLS = [f"{cell}-{task}" for cell in ("gru", "rnn") for task in ("classify", "regress", "tag")]  # as lstm
SLOW = ("resnet", "unet", "toy-detector", *OTHER_CELLS)  # tried in the middle tier


def those(holds):
    """Tests of the subjects for which this holds."""
    names = [name for name, subject in SUBJECTS.items() if holds(subject)]
    return pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.middle] * (n in SLOW)) for n in names])


every = those(lambda s: True)
of_images = those(lambda s: s.kind == "image")
of_bits = those(lambda s: s.kind in ("bits", "signs"))
of_machines = those(lambda s: s.kind == "bits")
toys = pytest.mark.parametrize("card", TOYS, ids=[card.name for card in TOYS])


@pytest.fixture(autouse=True, scope="module")
def _toys():
    undo = catalog.register(*TOYS)
    yield
    undo()


@cache
def fitted(name):
    """What tests share that change nothing."""
    return SUBJECTS[name].make().fit(*SUBJECTS[name].data())


def test_every_family_is_tried_here_or_as_an_estimator_of_tables():
    plain = {("table", task) for task in ("classify", "regress", "transform")}
    others = {where for card in catalog.CARDS.values() for pair, where in card.targets.items() if pair not in plain}
    assert others == {f"{s.cls.__module__}:{s.cls.__qualname__}" for s in SUBJECTS.values()}


# ---- every family


@every
def test_fit_is_a_function_of_parameters_rows_and_seed_and_leaves_everything_else_alone(name):
    subject, (X, y) = SUBJECTS[name], SUBJECTS[name].data()
    model, kept = subject.make(), deepcopy((X, y))
    before, params = generators(), model.get_params()
    assert model.fit(X, y) is model
    first = state(model)
    if hasattr(model, "assess"):
        model.assess(X)
    assert first and state(model.fit(X, y)) == first == state(clone(model).fit(X, y))
    assert generators() == before and model.get_params() == params == clone(model).get_params()
    np.testing.assert_equal((X, y), kept)
    if isinstance(model, NeuralEstimator):
        assert state(subject.make(random_state=1).fit(X, y)) != first
        assert len(model.history_) == model.n_iter_ >= 3 and model.stop_reason_ == "rounds"


@those(lambda s: s.answer != "score")
def test_a_row_alone_is_answered_as_among_others(name):
    subject, X, model = SUBJECTS[name], SUBJECTS[name].data()[0], fitted(name)
    alone = np.concatenate([subject.ask(model, X[i : i + 1]) for i in range(3)])
    np.testing.assert_allclose(alone, subject.ask(model, X[:7])[: len(alone)], rtol=1e-4, atol=1e-6)


@every
def test_what_is_saved_comes_back_and_learns_on(name, tmp_path):
    subject, (X, y), model = SUBJECTS[name], SUBJECTS[name].data(), fitted(name)
    path = model.save(tmp_path / "model")
    loaded, other = ftheta.load(path), ftheta.load(path)
    assert type(loaded) is type(model) and state(loaded) == state(model) and loaded.get_params() == model.get_params()
    answers = (
        [model.score(X, y), loaded.score(X, y)]
        if subject.answer == "score"
        else [subject.ask(m, X) for m in (model, loaded)]
    )
    np.testing.assert_array_equal(*answers)
    if subject.kind == "bits":
        np.testing.assert_array_equal(*(m.sample(3, steps=4, random_state=1) for m in (model, loaded)))
    if isinstance(model, NeuralEstimator):
        assert loaded.partial_fit(X, y).n_iter_ == 1 and state(loaded) != state(model)
        assert state(other.partial_fit(X, y)) == state(loaded)


class Broken(Callback):
    """Ends a run in the middle, as a crash does."""

    def __init__(self, after):
        self.left = after

    def on_step(self, ctx):
        self.left -= 1
        if self.left < 0:
            raise ConnectionError("broken")


STOPS = {"toy-learner": (1, 2), "deep": (1, 4, 8)}  # its one step per epoch; in both greedy layers, and in all
HARD = {"image": {"training": Training(ema=0.9), "augment": "shift", "norm": "batch"}}


@those(lambda s: issubclass(s.cls, Stepped) and s.kind != "signs")
def test_a_run_that_broke_is_continued_bit_for_bit(name, tmp_path):
    subject, (X, y) = SUBJECTS[name], SUBJECTS[name].data()
    make = partial(subject.make, **HARD.get(subject.kind, {}))
    unbroken = state(make().fit(X, y))
    for after in STOPS.get(name, (1, 4)):
        run = tmp_path / str(after)
        with pytest.raises(ConnectionError):
            make().set_params(training__every=0.0).fit(X, y, run=run, callbacks=[Broken(after)])
        assert Run(run).status != "finished"
        assert state(make().fit(X, y, run=run)) == unbroken == state(ftheta.load(run))


@those(lambda s: s.kind in ("image", "bits"))
def test_six_partial_fits_are_a_fit_of_six_epochs(name):
    subject, (X, y) = SUBJECTS[name], SUBJECTS[name].data()
    settings = {"epochs": 6, "training": Training(schedule="cosine")}
    if subject.kind == "image":
        settings |= {"training": Training(schedule="cosine", ema=0.9), "augment": {"rotate": 5}}
    parts = subject.make(**settings)
    weight = 1.0 + np.arange(len(X)) % 3
    for _ in range(6):
        parts.partial_fit(X, y, weight)
    assert state(parts) == state(subject.make(**settings).fit(X, y, sample_weight=weight))


@those(lambda s: s.answer not in ("raw", "score"))
def test_before_fit_it_says_so(name):
    with pytest.raises(NotFittedError):
        SUBJECTS[name].ask(SUBJECTS[name].make(), SUBJECTS[name].data()[0])


@those(lambda s: s.kind in ("image", "bits"))
def test_float64_is_learned_in_float64(name):
    subject, (X, y) = SUBJECTS[name], SUBJECTS[name].data()
    model = subject.make(dtype="float64", epochs=1).fit(X, y)
    assert subject.ask(model, X).dtype == np.float64 and next(model.module_.parameters()).dtype == torch.float64
    np.testing.assert_allclose(subject.ask(model, X[:1]), subject.ask(model, X)[:1], atol=1e-12)


# ---- bad rows

UNFIT_BITS = {  # what is refused by fit
    "one axis": lambda X: X[0],
    "three axes": lambda X: X[None],
    "no rows": lambda X: X[:0],
    "text": lambda X: np.full(X.shape, "one"),
    "NaN": lambda X: np.where(X == X.max(), np.nan, X),
    "infinite": lambda X: np.where(X == X.max(), np.inf, X),
    "complex": lambda X: X * 1j,
}
UNFIT = dict.fromkeys(("series", "sequence", "boxes"), {"text": lambda X: "a text"})
UNFIT |= {"text": {"a number": lambda X: 3.5}, "environment": {"a list": lambda X: [1, 2]}}
UNFIT |= {"bits": UNFIT_BITS, "signs": UNFIT_BITS}
UNLIKE = {  # what is refused after fit, and the sentence
    "one image": (lambda X: X[0, 0], r"One image alone is X\[None\]"),
    "another size": (lambda X: X[:, :, :8], r"X has images of 1x8x10 \(channels x height x width\), but \w+ was"),
    "color": (lambda X: np.repeat(X, 3, axis=1), r"X has images of 3( channel|x12x10)"),
    "channels last": (
        lambda X: np.repeat(X, 3, axis=1).transpose(0, 2, 3, 1),
        r"X has images of 3x12x10 \(channels x height x width\), but \w+ was fitted with 1x12x10",
    ),
    "flat": (lambda X: X.reshape(len(X), -1), r"flat rows with image_shape"),
    "text": (lambda X: X.astype(str), r"X holds <U3; \w+ needs pixels"),
    "no rows": (lambda X: X[:0], r"nothing is in it"),
    "NaN": (lambda X: np.where(X > 200, np.nan, X), r"X contains NaN: \d+ values, first at row"),
    "infinite": (lambda X: np.where(X > 200, np.inf, X), r"X contains inf or a value too large for float32"),
    "sizes mixed": (lambda X: [X[0], X[1, :, :5]], r"bring all images to one size"),
}


def refused(act, sentence="."):
    with pytest.raises(FThetaError, match=sentence) as caught:
        act()
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


@those(lambda s: s.kind in UNFIT)
def test_rows_that_nobody_can_learn_from_are_refused_in_one_sentence(name, subtests):
    subject, (X, y) = SUBJECTS[name], SUBJECTS[name].data()
    for what, change in UNFIT[subject.kind].items():
        with subtests.test(what):
            refused(lambda change=change: subject.make().fit(change(X), y))


@of_images
def test_images_unlike_those_of_fit_are_refused_in_one_sentence(name, subtests):
    for what, (change, sentence) in UNLIKE.items():
        if what != "another size" or name != "unet":
            with subtests.test(what):
                refused(lambda change=change: fitted(name).predict(change(SUBJECTS[name].data()[0])), sentence)


@of_bits
def test_another_width_or_range_is_refused_in_one_sentence(name):
    X = SUBJECTS[name].data()[0]
    for rows in [X[:, :6]] if name in ("gaussian", "hopfield", "modern") else [X[:, :6], X * 3]:
        refused(lambda rows=rows: SUBJECTS[name].ask(fitted(name), rows))


# ---- folds

FOLDS = {"series": TimeSeriesSplit(2), "sequence": KFold(2), "boxes": KFold(2), "text": KFold(2), "image": 2}


@those(lambda s: s.kind in FOLDS)
def test_cross_validation_where_folds_have_a_meaning(name):
    subject, (X, y) = SUBJECTS[name], SUBJECTS[name].data()
    X = [X[i : i + 200] for i in range(0, len(X), 200)] if subject.kind == "text" else X  # documents
    scores = cross_val_score(subject.make(epochs=1), X, y, cv=FOLDS[subject.kind], error_score="raise")
    assert len(scores) == 2 and np.isfinite(scores).all()


@those(lambda s: s.kind in ("series", "text") and issubclass(s.cls, Stepped))
def test_what_is_held_out_comes_last_and_is_not_learned_from(name):
    subject, (X, y) = SUBJECTS[name], SUBJECTS[name].data()
    alone = {"calibration": 0.0} if subject.kind == "series" else {}
    model = subject.make(validation=0.4, **alone).fit(X, y)
    alone = subject.make(**alone).fit(X[: len(X) - round(0.4 * len(X))], y)
    assert "valid_loss" in model.history_[-1]
    own = {k: v for k, v in state(model).items() if "modules" in k}
    assert own and own == {k: v for k, v in state(alone).items() if "modules" in k}


# ---- images


@of_images
def test_bytes_floats_and_flat_rows_are_the_same_images(name):
    subject, (X, y), model = SUBJECTS[name], SUBJECTS[name].data(), fitted(name)
    expected = model.predict_proba(X)
    for scaled in (X / np.float32(255), X.astype(np.uint16) * 257):
        np.testing.assert_allclose(model.predict_proba(scaled), expected, atol=1e-6)
    flat = X.reshape(len(X), -1)
    for found in (
        model.predict_proba(X[:, 0]),
        model.predict_proba(torch.from_numpy(X)),
        subject.make(image_shape=(12, 10)).fit(flat, y).predict_proba(flat),
    ):
        np.testing.assert_array_equal(found, expected)


@of_images
def test_weights_of_rows_are_copies_and_rows_of_weight_zero_are_not_seen(name):
    subject, (X, y) = SUBJECTS[name], images(SUBJECTS[name].cls, n=12)
    settings, weight = {"batch_size": "auto", "norm": "layer" if name == "unet" else "none"}, np.array([1, 2, 3] * 4)
    weighted = subject.make(**settings).fit(X, y, sample_weight=weight)
    copied = subject.make(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0))
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-5)
    half = subject.make().fit(X, y, sample_weight=np.repeat([1, 0], 6))
    np.testing.assert_allclose(half.predict_proba(X), subject.make().fit(X[:6], y[:6]).predict_proba(X), atol=1e-6)


@those(lambda s: s.kind == "image" and s.cls is not models.UNetSegmenter)
def test_labels_keep_their_kind_and_two_three_and_several_labels_are_learned(name):
    subject, (X, y) = SUBJECTS[name], SUBJECTS[name].data()
    model = fitted(name)
    assert model.classes_.tolist() == ["lies", "stands"] and set(model.predict(X)) <= {"lies", "stands"}
    assert model.predict_proba(X).shape == (24, 2)
    assert subject.make(epochs=1, augment="mixup").fit(X, np.arange(24) % 3).predict_proba(X).shape == (24, 3)
    several = subject.make(epochs=1).fit(X, np.stack([y == "lies", y == "stands"], 1).astype(int))
    assert several.predict(X).shape == (24, 2)


# ---- memories and machines


@of_bits
def test_what_was_measured_is_a_table_of_values_and_errors(name):
    table = fitted(name).assess(SUBJECTS[name].data()[0])
    assert list(table.columns) == ["measure", "value", "error"] and len(table.columns["measure"]) > 0
    assert all(isinstance(m, str) for m in table.columns["measure"]) and None not in table.columns["error"]


@those(lambda s: s.answer == "transform")
def test_the_columns_of_features_have_names(name):
    X, model = SUBJECTS[name].data()[0], deepcopy(fitted(name))
    assert len(model.get_feature_names_out()) == model.transform(X).shape[1]
    assert model.set_output(transform="pandas").transform(X).shape == (len(X), len(model.get_feature_names_out()))


@of_machines
def test_what_no_chain_can_do_is_refused_in_one_sentence(name):
    X, model = SUBJECTS[name].data()[0], deepcopy(fitted(name))
    hidden = np.ones(X.shape[1], dtype=bool)
    np.testing.assert_array_equal(*(model.sample(2, random_state=np.random.RandomState(3)) for _ in range(2)))
    for n, settings in ((0, {}), (-1, {}), (2, {"steps": 2.5}), (2, {"steps": -1})):
        refused(lambda n=n, settings=settings: model.sample(n, **settings))
    for rows, unknown, settings in (
        (X, hidden, {"steps": -1}),
        (X[0], hidden, {}),
        (X[:0], hidden, {}),
        (X, hidden[:-1], {}),
    ):
        refused(lambda given=(rows, unknown), settings=settings: model.fill_in(*given, **settings))
    next(model.module_.parameters()).data.fill_(torch.nan)
    refused(lambda: model.sample(2), "not finite")
    refused(lambda: model.fill_in(X, hidden), "not finite")


@of_machines
def test_what_is_missing_is_drawn_and_not_what_stood_there(name):
    X = SUBJECTS[name].data()[0]
    model, hidden = SUBJECTS[name].make(epochs=1, lr=1e-6).fit(X), np.ones(X.shape[1], dtype=bool)
    found = (model.fill_in(x, hidden, 3, random_state=0) for x in (np.where(hidden, np.nan, X), X))
    np.testing.assert_array_equal(*found)


# ---- toys


@toys
def test_a_toy_is_one_short_file_that_overrides_nothing_private(card):
    cls = SUBJECTS[card.name].cls
    assert len(Path(inspect.getfile(cls)).read_text().splitlines()) <= 150
    private = [name for name in vars(cls) if name.startswith("_") and not name.startswith("__")]
    assert [n for n in private if not n.startswith(("_abc", "_sklearn"))] == []


@pytest.mark.middle
@toys
def test_a_toy_learns(card):
    ((pair, _),) = card.targets.items()
    (X, y), (_, settings, least) = EXAMPLES[pair][0](), EXAMPLES[pair]
    assert SUBJECTS[card.name].make(epochs=settings["epochs"]).fit(X, y).score(X, y) > least


# ---- other processes

ASK = """
import sys, numpy as np, ftheta
for name, answer in (given.split() for given in sys.argv[2:]):
    X = np.load(f"{sys.argv[1]}/{name}.npz")
    X = X["X"] if "X" in X else [X[part] for part in X]
    found = getattr(ftheta.load(f"{sys.argv[1]}/{name}"), answer)(X)
    np.save(f"{sys.argv[1]}/{name}-answer.npy", np.concatenate(found) if isinstance(found, list) else found)
"""


def child(code, *args, **how):
    path = os.pathsep.join(map(str, (ROOT / "src", ROOT, ROOT / "tests/toys/dist")))
    return subprocess.Popen([sys.executable, "-c", code, *map(str, args)], env=os.environ | {"PYTHONPATH": path}, **how)


@pytest.mark.middle
def test_saved_models_are_loaded_by_a_new_process(tmp_path):
    asked = {name: s for name, s in SUBJECTS.items() if s.answer not in ("raw", "score")}
    for name, subject in asked.items():
        fitted(name).save(tmp_path / name)
        X = subject.data()[0]
        np.savez(
            tmp_path / f"{name}.npz", *(X if isinstance(X, list) else ()), **({} if isinstance(X, list) else {"X": X})
        )
    assert child(ASK, tmp_path, *(f"{name} {s.answer}" for name, s in asked.items())).wait() == 0
    for name, subject in asked.items():
        expected = subject.ask(fitted(name), subject.data()[0])
        np.testing.assert_array_equal(np.load(tmp_path / f"{name}-answer.npy"), expected)
