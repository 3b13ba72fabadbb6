"""Device and threads by the size of the work."""

import pytest
import torch
from torch import nn

from ftheta.data import Rows
from ftheta.errors import InputError
from ftheta.train import (
    WORK_FOR_DEVICE,
    WORK_FOR_THREADS,
    Callback,
    Supervised,
    Trainer,
    Training,
    device_for,
    iterate,
    threads,
    threads_for,
)
from tests.train._toys import square


@pytest.fixture
def two():
    """A machine that would use two threads."""
    with threads(2):
        yield


def test_small_work_takes_one_thread_and_large_work_what_there_is(two):
    assert [threads_for(w) for w in (0, WORK_FOR_THREADS - 1, WORK_FOR_THREADS, 1e12)] == [1, 1, 2, 2]


def test_the_thread_count_is_put_back_also_after_an_error(two):
    with threads(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    with pytest.raises(ValueError), threads(1):
        raise ValueError
    assert torch.get_num_threads() == 2


class Seen(Callback):
    """Threads while training."""

    def on_step(self, ctx):
        self.threads = torch.get_num_threads()


@pytest.mark.parametrize(
    ("width", "knobs", "expected"),
    [(9_999, {}, 1), (10_000, {}, 2), (10, {"threads": 2}, 2), (10_100, {"threads": 1}, 1)],
)
def test_a_trainer_counts_weights_times_rows_unless_it_is_told(two, width, knobs, expected):
    """1,000 rows: 9,999 weights, and a bias that does not count, are fewer than 1e7 multiply-adds."""
    seen, rows = Seen(), Rows(torch.zeros(1000, width), torch.zeros(1000), batch_size=1000)
    made = Trainer(Supervised(nn.Linear(width, 1), square), rows, training=Training(**knobs))
    iterate(made, steps=1, callbacks=[seen])
    assert seen.threads == expected and torch.get_num_threads() == 2


def test_the_cpu_is_taken_for_small_work_and_without_cuda(monkeypatch):
    assert device_for("auto", 0) == device_for("cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device_for("auto", WORK_FOR_DEVICE - 1) == torch.device("cpu")
    assert device_for("auto", WORK_FOR_DEVICE) == torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_for("auto", 1e30) == torch.device("cpu")


@pytest.mark.parametrize("name", ["cuda", "cuda:7", "gpu", "", "xla"])
@pytest.mark.skipif(torch.cuda.is_available(), reason="a machine without CUDA")
def test_a_device_that_is_not_there_is_answered_with_what_to_use(name):
    expected = rf"device='{name}' asked for, but no such device is present \(torch 2\..*Use device='cpu' or install"
    with pytest.raises(InputError, match=expected):
        device_for(name, 1e30)
