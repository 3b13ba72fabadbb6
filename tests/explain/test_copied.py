"""The copy in float64: the same loss as the original, at which nothing is moved."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

from ftheta import MLPRegressor
from ftheta.errors import InputError, InputTypeError
from ftheta.explain import gradient_flow
from ftheta.explain._copied import Copied, calls


def copied(obj, X, y=None, loss=None, **options):
    return Copied(obj, X, y, loss, name="me", **options)


def test_an_estimators_loss_is_that_of_its_objective():
    x = np.random.default_rng(0).normal(size=(9, 3))
    model = MLPRegressor(hidden=(4,), likelihood="gaussian-learned", epochs=1, dtype="float64", random_state=0)
    model.fit(x, x[:, 0])
    problem = copied(model, x, x[:, 0])
    np.testing.assert_allclose(float(problem.value().detach()), gradient_flow(model, x, x[:, 0]).losses["loss"])
    assert {"hidden.0.weight", "nll.log_var"} & set(problem.parameters) >= {"nll.log_var"}
    assert problem.net is not model.module_ and all(p.dtype == torch.float64 for p in problem.parameters.values())


def test_an_evaluation_is_the_same_however_often_it_is_made():
    net = nn.Sequential(spectral_norm(nn.Linear(3, 4)), nn.BatchNorm1d(4), nn.Dropout(0.5))
    problem = copied(net, torch.randn(5, 3), training=True)
    assert len({float(problem.value().detach()) for _ in range(3)}) == 1
    problem = copied(nn.ReLU(inplace=True), torch.randn(5, 3))
    assert len({float(problem.value().detach()) for _ in range(3)}) == 1


def test_inputs_of_any_structure_are_named():
    class Two(nn.Module):
        def forward(self, x):
            return x["a"] * x["b"][0] + x["n"]

    x = {"a": torch.ones(2, 3), "b": (torch.ones(2, 3),), "n": torch.ones(2, 3, dtype=torch.long)}
    problem = copied(Two(), x)
    assert list(problem.inputs) == ["input['a']", "input['b'][0]"]
    assert problem.value().requires_grad and not x["a"].requires_grad


def test_one_row_is_that_row():
    x, y = torch.randn(4, 3), torch.randn(4, 1)
    net = nn.Linear(3, 1)
    losses = [float(copied(net, x, y, row=i).value().detach()) for i in range(4)]
    np.testing.assert_allclose(np.mean(losses), float(copied(net, x, y).value().detach()))
    with pytest.raises(InputError, match=r"row=4, but there are 4 rows; choose one from 0 to 3"):
        copied(net, x, y, row=4)


def test_calls_are_seen_in_order_and_an_inplace_layer_does_not_spoil_what_came_before():
    net = nn.Sequential(nn.Linear(3, 2), nn.ReLU(inplace=True), nn.Linear(2, 1))
    x = torch.randn(5, 3)
    with calls(net) as seen:
        net(x)
    assert [name for name, *_ in seen] == ["0", "1", "2"] and not net[0]._forward_hooks
    assert torch.equal(seen[0][3], net[0](x)) and (seen[0][3] < 0).any()


def test_what_cannot_be_copied_or_differentiated_is_a_sentence():
    class Keeps(nn.Linear):
        def forward(self, x):
            self.kept = super().forward(x)
            return self.kept

    net = Keeps(2, 2)
    net(torch.ones(1, 2))
    with pytest.raises(InputTypeError, match=r"Keeps cannot be copied: .* Keep what is computed out of its attributes"):
        copied(net, torch.ones(1, 2))

    class Phase(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = nn.Parameter(torch.ones(2, dtype=torch.complex64))

        def forward(self, x):
            return (x * self.p).real

    with pytest.raises(InputTypeError, match=r"p holds complex numbers; a real one for each part is needed"):
        copied(Phase(), torch.ones(1, 2)).parameters  # noqa: B018

    class Nothing(nn.Module):
        def forward(self, x):
            return "words"

    with pytest.raises(InputTypeError, match=r"Nothing returned a str without a tensor in it"):
        copied(Nothing(), torch.ones(1, 2)).value()
