"""Norms of gradients: those of the training by hand, every so many steps, through a resume."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta.data import Rows
from ftheta.errors import InputError
from ftheta.store import Run
from ftheta.train import GradientNorms, Player, Supervised, Trainer, Training, iterate

X = torch.linspace(-1, 1, 8, dtype=torch.float64)[:, None]
Y = 3 * X[:, 0] - 1


def trainer(**options):
    net = nn.Linear(1, 1).double()
    with torch.no_grad():
        net.weight.fill_(0.5)
        net.bias.fill_(0.25)
    objective = Supervised(net, lambda raw, y: (raw[:, 0] - y) ** 2 / 2)
    return Trainer(objective, Rows(X, Y, batch_size=8), optimizer="sgd", lr=0.3, **options)


def by_hand(steps):
    w, b, x, y = 0.5, 0.25, X[:, 0].numpy(), Y.numpy()
    gradients, sizes = [], []
    for _ in range(steps):
        r = w * x + b - y
        gradients.append((abs((r * x).mean()), abs(r.mean())))
        sizes.append((abs(w), abs(b)))
        w, b = w - 0.3 * (r * x).mean(), b - 0.3 * r.mean()
    return np.array(gradients), np.array(sizes)


def test_norms_are_those_of_the_training_by_hand():
    norms = GradientNorms()
    iterate(trainer(), rounds=5, callbacks=[norms])
    gradients, sizes = by_hand(5)
    np.testing.assert_allclose(norms.gradient, gradients, rtol=1e-12)
    np.testing.assert_allclose(norms.parameter, sizes, rtol=1e-12)
    assert (
        norms.names == ("weight", "bias") and norms.axes.tolist() == [2, 1] and norms.steps.tolist() == [1, 2, 3, 4, 5]
    )
    assert norms.kinds == ("Linear", "Supervised")


def test_the_gradient_is_the_one_that_the_rule_saw():
    norms = GradientNorms()
    iterate(trainer(training=Training(clip_norm=0.01)), rounds=3, callbacks=[norms])
    np.testing.assert_allclose(np.linalg.norm(norms.gradient, axis=1), 0.01, rtol=1e-4)


def test_frozen_tensors_are_left_out_and_idle_ones_have_norm_0():
    process = trainer()
    process.objective.module.bias.requires_grad_(False)
    norms = GradientNorms()
    iterate(process, rounds=1, callbacks=[norms])
    assert norms.names == ("weight",)

    class Two(Supervised):
        def players(self):
            return Player("w", [self.module.weight]), Player("b", [self.module.bias])

        def turn(self, step):
            return ("w",)

    objective = Two(nn.Linear(1, 1).double(), lambda raw, y: (raw[:, 0] - y) ** 2)
    idle = GradientNorms()
    iterate(Trainer(objective, Rows(X, Y, batch_size=8), lr=0.1), rounds=2, callbacks=[idle])
    assert (idle.gradient[:, 1] == 0).all() and (idle.gradient[:, 0] > 0).all()


def test_a_resumed_run_goes_on_recording(tmp_path):
    whole, first, second = GradientNorms(2), GradientNorms(2), GradientNorms(2)
    iterate(trainer(), rounds=7, callbacks=[whole])
    iterate(trainer(), rounds=4, callbacks=[first], run=Run(tmp_path / "run"))
    iterate(trainer(), rounds=7, callbacks=[second], run=Run(tmp_path / "run"))
    assert np.array_equal(second.gradient, whole.gradient) and np.array_equal(second.steps, whole.steps)
    assert np.array_equal(second.parameter, whole.parameter)


def test_what_was_not_seen_is_a_sentence():
    with pytest.raises(InputError, match=r"every=0; it must be an integer of at least 1"):
        GradientNorms(0)
    with pytest.raises(InputError, match=r"has seen no training; pass it to iterate"):
        GradientNorms().gradient  # noqa: B018
