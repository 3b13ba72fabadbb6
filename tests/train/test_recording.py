"""What is recorded of a training: the path of the weights and the norms of gradients, as by hand, through a resume."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta.data import Rows
from ftheta.errors import InputError
from ftheta.store import Run
from ftheta.train import GradientNorms, Player, Recorder, Supervised, Trainer, Training, iterate

X = torch.linspace(-1, 1, 8, dtype=torch.float64)[:, None]
Y = 3 * X[:, 0] - 1


def trainer(batch_size=8, **options):
    net = nn.Linear(1, 1).double()
    with torch.no_grad():
        net.weight.fill_(0.5)
        net.bias.fill_(0.25)
    objective = Supervised(net, lambda raw, y: (raw[:, 0] - y) ** 2 / 2)
    return Trainer(objective, Rows(X, Y, batch_size=batch_size), optimizer="sgd", lr=0.3, **options)


def by_hand(steps):
    """Points and gradients of descent on all rows, written out: (steps + 1, 2), (steps, 2)."""
    (w, b), x, y = (0.5, 0.25), X[:, 0].numpy(), Y.numpy()
    path, gradients = [(w, b)], []
    for _ in range(steps):
        r = w * x + b - y
        gradients.append(((r * x).mean(), r.mean()))
        w, b = w - 0.3 * gradients[-1][0], b - 0.3 * gradients[-1][1]
        path.append((w, b))
    return np.array(path), np.array(gradients)


def test_every_epoch_is_a_point_and_the_start_is_the_first():
    recorder = Recorder()
    iterate(trainer(), rounds=5, callbacks=[recorder])
    np.testing.assert_allclose(recorder.path, by_hand(5)[0], rtol=1e-12)
    assert recorder.path.dtype == np.float64 and recorder.steps.tolist() == [0, 1, 2, 3, 4, 5]


def test_every_few_steps_is_a_point():
    recorder, process = Recorder(every=3), trainer(batch_size=2)  # four steps an epoch
    iterate(process, rounds=2, callbacks=[recorder])
    assert recorder.steps.tolist() == [0, 3, 6] and recorder.path.shape == (3, 2)
    again = Recorder(every=1)
    iterate(trainer(batch_size=2), rounds=2, callbacks=[again])
    assert np.array_equal(again.path[[0, 3, 6]], recorder.path)


def test_norms_are_those_of_the_training_by_hand():
    norms = GradientNorms()
    iterate(trainer(), rounds=5, callbacks=[norms])
    path, gradients = by_hand(5)
    np.testing.assert_allclose(norms.gradient, np.abs(gradients), rtol=1e-12)
    np.testing.assert_allclose(norms.parameter, np.abs(path[:-1]), rtol=1e-12)
    assert norms.names == ("weight", "bias") and norms.axes.tolist() == [2, 1]
    assert norms.steps.tolist() == [*range(1, 6)]
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


@pytest.mark.parametrize("made", [Recorder, GradientNorms])
def test_a_resumed_training_has_one_record(tmp_path, made):
    whole, part, rest = made(2), made(2), made(2)
    iterate(trainer(), rounds=7, callbacks=[whole])
    iterate(trainer(), rounds=4, callbacks=[part], run=Run(tmp_path / "run"))
    iterate(trainer(), rounds=7, callbacks=[rest], run=Run(tmp_path / "run"))
    for name in ("steps", "path") if made is Recorder else ("steps", "gradient", "parameter"):
        assert np.array_equal(getattr(rest, name), getattr(whole, name))


@pytest.mark.parametrize(("made", "name"), [(Recorder, "path"), (GradientNorms, "gradient")])
def test_wrong_use_gets_a_sentence(made, name):
    with pytest.raises(InputError, match=r"every=0; it must be an integer of at least 1"):
        made(every=0)
    with pytest.raises(InputError, match=r"has seen no training; pass it to iterate"):
        getattr(made(), name)
