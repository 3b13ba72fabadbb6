"""Fits in threads: the same numbers as one after the other, and nothing of the process is changed."""

import os
import random
import signal
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
import torch
from joblib import Parallel, delayed
from threadpoolctl import OpenBLASController, threadpool_info, threadpool_limits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from ftheta import explain
from ftheta.data import Rows, Stream
from ftheta.draw import Draw
from ftheta.likelihoods import Gaussian
from ftheta.models import (
    BoostingRegressor,
    ConvNetClassifier,
    LinearRegression,
    MLPClassifier,
    MLPRegressor,
    ModuleClassifier,
)
from ftheta.nn import Dropout, StochasticDepth
from ftheta.train import Callback, Supervised, Trainer, Training, iterate
from tests.contract.enrolled import CLASSES, NEURAL, data, generators, name_of, small

KNOBS = {"epochs": 2, "batch_size": 16, "random_state": 3}


class Noisy(nn.Module):
    """A module of the user's that draws from torch, NumPy and Python, in training and in evaluation."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x):
        x = nn.functional.dropout(x, 0.3, training=True)
        return self.linear(x * (1 + 0.1 * np.random.rand()) + 0.1 * random.random())


def flat():
    x = np.random.default_rng(0).normal(size=(48, 5)).astype("float32")
    return x, np.arange(48) % 3


def images():
    return np.random.default_rng(0).uniform(size=(48, 6, 6)).astype("float32"), np.arange(48) % 2


FAMILIES = {
    "mlp": (lambda: MLPClassifier(hidden=(8,), dropout=0.5, validation=0.25, **KNOBS), flat),
    "regressor": (lambda: MLPRegressor(hidden=(8,), dropout=0.3, **KNOBS), flat),
    "convnet": (lambda: ConvNetClassifier(filters=(4,), dropout=0.5, **KNOBS), images),
    "module": (lambda: ModuleClassifier(module=lambda x, y: Noisy(x.shape[0], y.n), validation=0.25, **KNOBS), flat),
}


def learned(family):
    make, data = FAMILIES[family]
    x, y = data()
    model = make().fit(x, y)
    found = [tensor.numpy().copy() for tensor in model.module_.state_dict().values()]
    model.partial_fit(x, y)
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in model.history_]
    return [*found, *(t.numpy() for t in model.module_.state_dict().values()), rows, model.evaluate(x, y)]


def same(a, b):
    return all(np.array_equal(p, q) if isinstance(p, np.ndarray) else p == q for p, q in zip(a, b, strict=True))


@pytest.fixture
def hasty():
    """Threads take turns as often as they can, and the global generators are checked."""
    torch.manual_seed(1), np.random.seed(2), random.seed(3)
    old, before = sys.getswitchinterval(), generators()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(old)
    assert generators() == before


def in_eight_threads(function, given):
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(function, given))


def test_eight_threads_learn_what_one_learns(hasty):
    alone = {family: learned(family) for family in FAMILIES}
    for family, found in zip([*FAMILIES] * 2, in_eight_threads(learned, [*FAMILIES] * 2), strict=True):
        assert same(alone[family], found), family


@pytest.mark.middle
def test_joblib_with_threads_learns_what_one_thread_learns(hasty):
    alone = {family: learned(family) for family in FAMILIES}
    names = [*FAMILIES] * 6
    found = Parallel(n_jobs=8, backend="threading")(delayed(learned)(family) for family in names)
    assert all(same(alone[family], numbers) for family, numbers in zip(names, found, strict=True))


def half(n_in, n_out):
    """A layer that draws nothing when it is made."""
    layer = nn.utils.skip_init(nn.Linear, n_in, n_out)
    for p in layer.parameters():
        nn.init.constant_(p, 0.5)
    return layer


def explained(probability):
    """Of a net with dropout in training mode."""
    net = nn.Sequential(half(5, 8), nn.Dropout(probability), half(8, 3))
    X, y = flat()
    found = explain.activations(net, X, training=True)
    flow = explain.gradient_flow(net, X, y, loss=nn.CrossEntropyLoss(reduction="none"), training=True)
    return found.mean.tolist(), flow.norm.tolist()


def test_explanations_in_threads_are_those_of_one(hasty):
    alone = {p: explained(p) for p in (0.2, 0.5)}
    found = in_eight_threads(explained, [0.2, 0.5] * 20)
    assert alone[0.2] != alone[0.5] and found == [alone[0.2], alone[0.5]] * 20


class Pause(Callback):
    """After the first step: say so, and wait."""

    def __init__(self):
        self.reached, self.go_on = Event(), Event()

    def on_step(self, ctx):
        self.reached.set()
        assert self.go_on.wait(20)


def linear(net=None, **knobs):
    x = torch.linspace(-1, 1, 32)[:, None]
    objective = Supervised(nn.Linear(1, 1) if net is None else net, Gaussian())
    return Trainer(objective, Rows(x, x[:, 0], batch_size=8), training=Training(**knobs))


def started(pool, trainer):
    """A training in another thread that waits after its first step."""
    pause = Pause()
    job = pool.submit(iterate, trainer, rounds=1, callbacks=[pause])
    assert pause.reached.wait(60)
    return pause, job


def test_a_fit_goes_on_while_another_with_dropout_rests_between_two_steps():
    dropout = nn.Sequential(nn.Dropout(0.5), nn.Linear(1, 1))
    with ThreadPoolExecutor(2) as pool:
        pause, job = started(pool, linear(dropout))
        try:
            pool.submit(learned, "mlp").result(60)
        finally:
            pause.go_on.set()
        job.result(60)


def test_a_net_that_draws_nothing_does_not_wait_for_those_that_draw():
    trainer = linear()
    with ThreadPoolExecutor(1) as pool, Draw(0).scope():
        pool.submit(iterate, trainer, rounds=2).result(60)
    with ThreadPoolExecutor(1) as pool:  # one with a function of the user's may draw, and does wait
        x = torch.zeros(4, 1)
        objective = Supervised(nn.Linear(1, 1), lambda raw, y: (raw[:, 0] - y).square())
        trainer = Trainer(objective, Rows(x, x[:, 0], batch_size=4))
        with Draw(0).scope(), pytest.raises(TimeoutError):
            (job := pool.submit(iterate, trainer, rounds=2)).result(0.1)
        job.result(60)


def ours(layer, call):
    """The layer in a net of fθ's own, which says how it is called."""
    kind = type("Net", (nn.Module,), {"__module__": "ftheta.nn.net", "forward": lambda self, x: call(self.layer, x)})
    net = kind()
    net.layer = layer
    return net


DRAWING = {
    "dropout": lambda: nn.AlphaDropout(0.5),
    "cheap dropout": lambda: Dropout(0.5),
    "rrelu": lambda: nn.RReLU(),
    "stochastic depth": lambda: StochasticDepth(0.5),
    "gru": lambda: ours(nn.GRU(16, 16, 2, dropout=0.5), lambda layer, x: layer(x)[0]),
    "attention": lambda: ours(nn.MultiheadAttention(16, 2, dropout=0.5), lambda layer, x: layer(x, x, x)[0]),
    "transformer": lambda: nn.TransformerEncoderLayer(16, 2, 8),
    "pooling": lambda: ours(
        nn.FractionalMaxPool2d(2, 4), lambda layer, x: layer(x.view(-1, 1, 4, 4).tile(2, 2)).flatten(1)
    ),
}


@pytest.mark.parametrize("kind", DRAWING)
def test_layers_that_draw_repeat_their_draws_and_leave_no_trace(hasty, kind):
    x = torch.linspace(-1, 1, 96).view(6, 16)
    with Draw(0).scope():
        nets = [nn.Sequential(DRAWING[kind](), half(16, 1)) for _ in range(2)]
        nets[0].load_state_dict(nets[1].state_dict())
    found = [iterate(Trainer(Supervised(n, Gaussian()), Rows(x, x[:, 0], batch_size=3)), rounds=2) for n in nets]
    assert [row["loss"] for row in found[0]] == [row["loss"] for row in found[1]]


@pytest.mark.parametrize("draw", [lambda: torch.rand(()), lambda: np.random.rand(), lambda: random.random()])
def test_a_loss_and_an_augmentation_of_the_user_repeat_their_draws_and_leave_no_trace(hasty, draw):
    x = torch.linspace(-1, 1, 32)[:, None]

    def history():
        objective = Supervised(half(1, 1), lambda raw, y: (raw[:, 0] - y).square() * (1 + draw()))
        shaken = lambda batch, place: batch._replace(x=batch.x * (1 + draw()))  # noqa: E731
        trainer = Trainer(
            objective, Rows(x, x[:, 0], batch_size=8), augment=shaken, validation=Rows(x, x[:, 0], batch_size=8)
        )
        return [(row["loss"], row["valid_loss"]) for row in iterate(trainer, rounds=3)]

    first = history()
    assert len(set(first)) == 3 and [first] * 4 == in_eight_threads(lambda i: history(), range(4))


def test_the_order_of_a_loader_is_that_of_the_seed(hasty):
    def order(seed):
        rows = TensorDataset(torch.arange(32.0)[:, None], torch.arange(32.0))
        seen = []
        note = lambda batch, place: seen.append(batch.y.tolist()) or batch  # noqa: E731
        source = Stream(DataLoader(rows, batch_size=8, shuffle=True), length=4)
        held = Stream(DataLoader(rows, batch_size=8, shuffle=True), length=4)
        trainer = Trainer(Supervised(half(1, 1), Gaussian()), source, augment=note, validation=held, seed=seed)
        iterate(trainer, rounds=2)
        return seen

    first = order(1)
    assert first != order(2) and first[:4] != first[4:]
    assert in_eight_threads(order, [1] * 4) == [first] * 4


def blas():
    return {pool["filepath"]: pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def openmp():
    """Threads of OpenMP in this thread of Python, but for those of torch."""
    return {
        p["num_threads"] for p in threadpool_info() if p["user_api"] == "openmp" and "torch/lib" not in p["filepath"]
    }


def in_a_new_thread(function):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result(60)


@pytest.fixture
def two():
    """A process that uses two threads, and that is checked to do so afterwards, in old and new threads."""
    old = torch.get_num_threads()
    with threadpool_limits({"blas": 2, "openmp": 2}):
        torch.set_num_threads(2)
        OpenBLASController.clear_controlling_thread()  # as if the process had begun with two
        yield
        found = torch.get_num_threads(), in_a_new_thread(torch.get_num_threads), set(blas().values()), openmp()
    torch.set_num_threads(old)
    assert found == (2, 2, {2}, {2})


def test_fits_that_overlap_leave_the_thread_counts_as_they_were(two):
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        assert other.submit(torch.get_num_threads).result(60) == 2
        first, job = started(one, linear())
        assert set(blas().values()) == {1} and in_a_new_thread(torch.get_num_threads) == torch.get_num_threads() == 2
        second, later = started(other, linear(threads=2))
        assert set(blas().values()) == {1}  # the smaller bound
        first.go_on.set()
        job.result(60)
        assert set(blas().values()) == {2}  # the bound of the one that still runs
        second.go_on.set()
        later.result(60)
        assert [pool.submit(torch.get_num_threads).result(60) for pool in (one, other)] == [2, 2]


def test_a_fit_uses_the_same_threads_beside_another_as_alone(two):
    """Large work takes what the user has set, also in a thread that is new while a small fit runs."""
    x = torch.zeros(1000, 10_100)

    def used():
        counts = []
        trainer = Trainer(Supervised(nn.Linear(10_100, 1), Gaussian()), Rows(x, x[:, 0], batch_size=1000))
        note = type("Note", (Callback,), {"on_step": lambda self, ctx: counts.append(torch.get_num_threads())})()
        iterate(trainer, steps=1, callbacks=[note])
        return counts

    with ThreadPoolExecutor(1) as pool:
        pause, job = started(pool, linear())
        found = in_a_new_thread(used)
        pause.go_on.set()
        job.result(60)
    assert found == [2]


class Watched:
    """Rows that note the threads of BLAS and OpenMP when they are read."""

    def __init__(self, rows):
        self.rows, self.shape, self.seen = rows, rows.shape, set()

    def __len__(self):
        return len(self.rows)

    def __array__(self, dtype=None, copy=None):
        self.seen |= {*blas().values(), *openmp()}
        return np.array(self.rows, dtype=dtype)


PLAIN = [cls for cls in CLASSES if cls not in NEURAL]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", PLAIN, ids=name_of)
def test_a_small_closed_form_uses_one_thread(two, cls):
    X, y = data(cls)
    rows = Watched(X)
    small(cls).fit(rows, y)
    assert rows.seen == {1}


def test_a_large_closed_form_uses_as_many_threads_as_torch(two):
    rows = Watched(np.eye(10)[:, :3])
    rows.shape = (10**6, 100)
    LinearRegression().fit(rows, np.zeros(10))
    assert rows.seen == {2}


def test_boosted_trees_predict_in_one_thread_unless_there_is_much_to_do(two, monkeypatch):
    """Their loops are short: a second thread waits for the first, beside other work 30 times as long as it works."""
    model, seen = BoostingRegressor(n_estimators=2).fit(*data(BoostingRegressor)), []
    monkeypatch.setattr(model.model_, "predict", lambda x: seen.append(openmp()) or x[:, 0])
    monkeypatch.setattr(model, "_table", lambda X: X)
    for n in (10, 10**6):
        model.predict(np.zeros((n, 11), np.float16))
    assert seen == [{1}, {2}]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_fork_while_another_thread_draws_can_draw_too():
    inside, leave = Event(), Event()

    def hold():
        with Draw(0).scope():
            inside.set()
            leave.wait(0.2)

    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(hold)
        assert inside.wait(60)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
            child = os.fork()
        if not child:
            signal.alarm(20)  # ends a child that waits for ever
            with Draw(0).scope():
                os._exit(0)
        job.result(60)
    assert os.waitpid(child, 0)[1] == 0
