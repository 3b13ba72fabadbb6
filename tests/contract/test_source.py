"""What every source owes. A class of the data room that gives batches is enrolled; each is made in all its ways."""

import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from ftheta import data
from ftheta.data import Batch, Indexed, Rows, Stream
from ftheta.draw import Draw
from ftheta.errors import RunError
from ftheta.store import Run
from ftheta.train import Supervised, Trainer, iterate
from tests.contract.enrolled import generators

N, B = 23, 5
X = torch.arange(N, dtype=torch.float32)[:, None] * torch.tensor([1.0, 10.0])
Y, W = X[:, 0] + 0.5, X[:, 0] + 1


def in_order():
    return [Batch(X[i : i + B], Y[i : i + B], W[i : i + B], torch.arange(N)[i : i + B]) for i in range(0, N, B)]


MAKE = {
    "rows": (Rows, lambda: Rows(X, Y, W, batch_size=B)),
    "rows in order": (Rows, lambda: Rows(X, Y, W, batch_size=B, shuffle=False)),
    "rows of arrays": (Rows, lambda: Rows(X.numpy(), Y.numpy(), W.numpy(), batch_size=B)),
    "rows of dicts": (Rows, lambda: Rows({"a": X, "b": (X, X)}, Y, W, batch_size=B)),
    "all rows at once": (Rows, lambda: Rows(X, Y, W, batch_size=N)),
    "indexed": (Indexed, lambda: Indexed(N, lambda i, _: Batch(X[i], Y[i], W[i], i), batch_size=B)),
    "indexed, ahead": (Indexed, lambda: Indexed(N, lambda i, _: Batch(X[i], Y[i], W[i], i), batch_size=B, ahead=2)),
    "a list": (Stream, lambda: Stream(in_order(), length=5)),
    "a function": (Stream, lambda: Stream(lambda: iter(in_order()), length=5)),
    "an iterator": (Stream, lambda: Stream((b for _ in range(99) for b in in_order()), length=5)),
    "a data loader": (
        Stream,
        lambda: Stream(DataLoader(TensorDataset(X, Y, W), batch_size=B, generator=torch.Generator()), 5),
    ),
}
PUBLIC = [v for v in (getattr(data, name) for name in dir(data)) if isinstance(v, type)]
CLASSES = {cls for cls in PUBLIC if hasattr(cls, "batches") and not getattr(cls, "_is_protocol", False)}
every = pytest.mark.parametrize("how", MAKE)
exact = pytest.mark.parametrize("how", [how for how, (cls, _) in MAKE.items() if cls.exact])
repeatable = pytest.mark.parametrize("how", [how for how in MAKE if how != "an iterator"])


def test_every_public_source_is_tried():
    assert {cls for cls, _ in MAKE.values()} == CLASSES
    for cls, make in MAKE.values():
        assert type(make()) is cls and isinstance(cls.exact, bool)


def epoch_of(source, epoch=0, start=0, seed=0):
    return list(source.batches(epoch, start, Draw(seed).at("order", epoch)))


def first_leaf(x):
    if isinstance(x, dict):
        return first_leaf(x["a"])
    return (255 * x).round().flatten(1) if x.dim() == 4 else x  # pictures come in [0, 1]


def numbers(batches):
    """Which rows came, read from their own content."""
    return [first_leaf(b.x)[:, 0].long().tolist() for b in batches]


@every
def test_every_row_comes_once_an_epoch_with_its_own_target_and_weight(how):
    source = MAKE[how][1]()
    for epoch in range(3):
        batches = epoch_of(source, epoch)
        assert len(batches) == len(source)
        assert sorted(sum(numbers(batches), [])) == list(range(N))
        for batch in batches:
            x = first_leaf(batch.x)
            assert torch.equal(batch.y, x[:, 0] + 0.5) and torch.equal(batch.weight, x[:, 0] + 1)
            assert torch.equal(x[:, 1], 10 * x[:, 0]) and batch.n == len(x)
            assert batch.index is not None or not source.exact
            if batch.index is not None:
                assert batch.index.tolist() == x[:, 0].long().tolist()


@repeatable
def test_an_epoch_that_starts_later_is_the_tail_of_the_whole(how):
    source = MAKE[how][1]()
    for epoch in range(2):
        whole = numbers(epoch_of(source, epoch))
        for start in range(len(source) + 1):
            assert numbers(epoch_of(MAKE[how][1](), epoch, start)) == whole[start:]


@exact
def test_an_exact_source_is_a_function_of_the_draw_and_of_nothing_else(how):
    one, other = MAKE[how][1](), MAKE[how][1]()
    expected = [numbers(epoch_of(one, epoch)) for epoch in range(3)]
    torch.manual_seed(5)
    np.random.seed(5)
    random.seed(5)
    before = generators()
    assert [numbers(epoch_of(other, epoch)) for epoch in (2, 0, 1)] == [expected[e] for e in (2, 0, 1)]
    assert generators() == before


def test_shuffled_epochs_and_seeds_have_orders_of_their_own():
    source = MAKE["rows"][1]()
    orders = [sum(numbers(epoch_of(source, epoch, seed=seed)), []) for epoch in range(3) for seed in range(2)]
    assert len({tuple(order) for order in orders}) == 6
    assert sum(numbers(epoch_of(MAKE["rows in order"][1](), 1)), []) == list(range(N))


@every
def test_its_state_is_a_value(how):
    source = MAKE[how][1]()
    source.load_state_dict(source.state_dict())
    assert sorted(sum(numbers(epoch_of(source)), [])) == list(range(N))


def trainer_of(source):
    layer = nn.Linear(2, 1)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    net = nn.Sequential(nn.Flatten(), layer)
    return layer, Trainer(Supervised(net, lambda raw, y: (raw[:, 0] - y).square()), source, optimizer="sgd", lr=1e-5)


@every
def test_the_trainer_takes_it_and_weights_count(how):
    if how == "rows of dicts":
        return
    layer, trainer = trainer_of(MAKE[how][1]())
    iterate(trainer, rounds=1)
    assert trainer.epoch == 1 and layer.weight.detach().abs().min() > 0


@every
def test_resuming_is_exact_or_says_that_it_is_not(how, tmp_path):
    if how == "rows of dicts":
        return
    with Run(tmp_path / "a") as run:
        iterate(trainer_of(MAKE[how][1]())[1], steps=2, run=run)
    whole, all_at_once = trainer_of(MAKE[how][1]())
    iterate(all_at_once, steps=4)
    again, resumed = trainer_of(MAKE[how][1]())
    if MAKE[how][0].exact:
        with Run(tmp_path / "a") as run:
            iterate(resumed, steps=4, run=run)
        assert torch.equal(again.weight, whole.weight)
        return
    with Run(tmp_path / "a") as run, pytest.raises(RunError, match="a plain iterator as source, which cannot return"):
        iterate(resumed, steps=4, run=run)
    with Run(tmp_path / "a", allow_inexact=True) as run:
        iterate(resumed, steps=4, run=run)
