"""The largest useful batch: speeds of a clock that is known, and a net that runs out of memory."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta import MLPRegressor, ModuleRegressor
from ftheta.explain import batch_size
from ftheta.explain.surface import batch_size as module
from ftheta.train import Trainer

X = np.random.default_rng(0).normal(size=(300, 2))
Y = X[:, 0]


@pytest.fixture
def clock(monkeypatch):
    """Updates take a second for up to 32 rows, then in proportion to their rows; every other one is disturbed."""
    now, count, advance = [0.0], [0], Trainer.advance

    def timed(self):
        count[0] += 1
        now[0] += max(1.0, self.source.batch_size / 32) + 5 * (count[0] % 2)
        return advance(self)

    monkeypatch.setattr(Trainer, "advance", timed)
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])


@pytest.mark.ledger("B171", covers="ftheta.explain.batch_size")
def test_doubling_doubles_the_speed_until_the_machine_is_full(clock):
    found = batch_size(MLPRegressor(hidden=(3,)), X, Y, updates=4)
    assert found.sizes.tolist() == [1, 2, 4, 8, 16, 32, 64, 128, 256] and found.best == 32 and not found.full
    np.testing.assert_allclose(found.seconds, [1] * 6 + [2, 4, 8])
    np.testing.assert_allclose(found.columns()["times that of half the size"][1:], [2] * 5 + [1] * 3)
    assert batch_size(MLPRegressor(hidden=(3,)), X, Y, updates=4, largest=20).best == 16


class Hungry(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(2, 1)

    def forward(self, x):
        if len(x) > 8:
            raise torch.OutOfMemoryError("out of memory")
        return self.line(x)


@pytest.mark.ledger("B171", covers="ftheta.explain.batch_size")
def test_a_batch_that_does_not_fit_in_memory_ends_it(clock):
    found = batch_size(ModuleRegressor(module=Hungry(), validation=0), X, Y, updates=2)
    assert found.best == 8 == found.sizes[-1] and found.caption.endswith("16 rows do not fit in memory.")


def test_a_net_with_a_fault_of_its_own_says_so():
    class Wrong(nn.Linear):
        def forward(self, x):
            return super().forward(x if len(x) < 4 else x[:, :1])

    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        batch_size(ModuleRegressor(module=Wrong(2, 1), validation=0), X, Y, updates=2)
