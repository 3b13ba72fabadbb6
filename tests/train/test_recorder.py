"""The recorder: the weights of a training, in the order of the module, at the steps asked for."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta.data import Rows
from ftheta.errors import InputError
from ftheta.store import Run
from ftheta.train import Recorder, Supervised, Trainer, iterate

X = torch.linspace(-1, 1, 8, dtype=torch.float64)[:, None]
Y = 3 * X[:, 0] - 1


def trainer(batch_size=8):
    net = nn.Linear(1, 1).double()
    with torch.no_grad():
        net.weight.fill_(0.5)
        net.bias.fill_(0.25)
    objective = Supervised(net, lambda raw, y: (raw[:, 0] - y) ** 2 / 2)
    return Trainer(objective, Rows(X, Y, batch_size=batch_size), optimizer="sgd", lr=0.3)


def by_hand(steps):
    """Gradient descent on all rows, written out."""
    w, b, x, y = 0.5, 0.25, X[:, 0].numpy(), Y.numpy()
    path = [(w, b)]
    for _ in range(steps):
        r = w * x + b - y
        w, b = w - 0.3 * (r * x).mean(), b - 0.3 * r.mean()
        path.append((w, b))
    return np.array(path)


def test_every_epoch_is_a_point_and_the_start_is_the_first():
    recorder = Recorder()
    iterate(trainer(), rounds=5, callbacks=[recorder])
    np.testing.assert_allclose(recorder.path, by_hand(5), rtol=1e-12)
    assert recorder.path.dtype == np.float64 and recorder.steps.tolist() == [0, 1, 2, 3, 4, 5]


def test_every_few_steps_is_a_point():
    recorder, process = Recorder(every=3), trainer(batch_size=2)  # four steps an epoch
    iterate(process, rounds=2, callbacks=[recorder])
    assert recorder.steps.tolist() == [0, 3, 6] and recorder.path.shape == (3, 2)
    again = Recorder(every=1)
    iterate(trainer(batch_size=2), rounds=2, callbacks=[again])
    assert np.array_equal(again.path[[0, 3, 6]], recorder.path)


def test_a_resumed_training_has_one_path(tmp_path):
    whole, part, rest = Recorder(), Recorder(), Recorder()
    iterate(trainer(), rounds=4, callbacks=[whole])
    iterate(trainer(), rounds=2, callbacks=[part], run=Run(tmp_path / "run"))
    iterate(trainer(), rounds=4, callbacks=[rest], run=Run(tmp_path / "run"))
    assert np.array_equal(rest.path, whole.path) and rest.steps.tolist() == [0, 1, 2, 3, 4]


def test_wrong_use_gets_a_sentence():
    with pytest.raises(InputError, match=r"every=0; it must be an integer of at least 1"):
        Recorder(every=0)
    with pytest.raises(InputError, match=r"This Recorder has seen no training; pass it to iterate"):
        _ = Recorder().path
