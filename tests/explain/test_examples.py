"""Gradients of single rows: against a loop, central differences and the worked straight line."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta import MLPClassifier
from ftheta.errors import InputError
from ftheta.explain import example_gradients
from ftheta.formulas import taylor
from ftheta.train import Supervised

X4, Y4 = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 3.0, 2.0, 5.0])
RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)


def square(raw, y):
    return (raw[:, 0] - y) ** 2


def line():
    net = nn.Linear(1, 1, dtype=torch.float64)
    nn.init.zeros_(net.weight)
    nn.init.zeros_(net.bias)
    return net


@pytest.mark.ledger("C085", covers="ftheta.explain.example_gradients")
def test_gradients_of_rows_sum_to_that_of_the_loss_which_central_differences_confirm():
    found = example_gradients(line(), X4, Y4, loss=square)
    assert found.total.tolist() == [-44, -22]  # slope, intercept
    net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1)).double()
    rows, targets = torch.from_numpy(X), torch.from_numpy(RNG.normal(size=30))
    found = example_gradients(net, X, targets, loss=square)
    flat = nn.utils.parameters_to_vector(net.parameters()).detach()

    def total(theta):
        nn.utils.vector_to_parameters(theta, net.parameters())
        return float(square(net(rows), targets).sum())

    h = 1e-5
    ways = torch.eye(len(flat), dtype=torch.float64) * h
    with torch.no_grad():
        numeric = [(total(flat + way) - total(flat - way)) / (2 * h) for way in ways]
    np.testing.assert_allclose(found.total, numeric, rtol=1e-6, atol=1e-7)


@pytest.mark.ledger("C087", covers="ftheta.explain.example_gradients")
def test_the_straight_line_worked_out():
    """L = Σ (y - θ₀ - θ₁x)²: gradient (-22, -44) at 0, Hessian [[8, 12], [12, 28]], least at (1.1, 1.1)."""
    found = example_gradients(line(), X4, Y4, loss=square)
    design = np.column_stack([np.ones(4), X4])
    by_hand = -2 * design * Y4[:, None]  # (4, 2): intercept, slope
    np.testing.assert_allclose(found.gradients[:, ::-1], by_hand)
    assert found.names == ("weight", "bias") and by_hand.sum(0).tolist() == [-22, -44]
    x, y = torch.from_numpy(X4[:, 0]), torch.from_numpy(Y4)
    loss = lambda t: (y - t[0] - t[1] * x).square().sum()  # noqa: E731
    hessian = torch.autograd.functional.hessian(loss, torch.zeros(2, dtype=torch.float64))
    np.testing.assert_allclose(torch.linalg.eigvalsh(hessian), [2.3795, 33.6205], atol=1e-4)
    best = np.linalg.solve(design.T @ design, design.T @ Y4)  # the normal equations
    np.testing.assert_allclose(best, [1.1, 1.1])
    assert float(taylor(loss, [0.0, 0.0])(best)) == pytest.approx(float(loss(torch.from_numpy(best)))) == 2.7


def test_each_row_is_that_of_the_row_alone():
    model = MLPClassifier(hidden=(6,), epochs=2, random_state=0).fit(X, Y)
    found = example_gradients(model, X, Y)
    batch = model.batch(X[4:5], Y[4:5])
    loss = Supervised(model.module_, model.likelihood_).loss("loss", batch, None).total
    alone = torch.autograd.grad(loss, [p for p in model.module_.parameters()])
    flat = torch.cat([g.reshape(-1) for g in alone])
    np.testing.assert_allclose(found.gradients[4], flat, rtol=1e-4, atol=1e-6)
    assert len(found.names) == found.gradients.shape[1] == sum(p.numel() for p in model.module_.parameters())
    assert found.names[0] == "hidden1.weight" and found.names[-1] == "output.bias"


def test_norms_and_agreement():
    found = example_gradients(line(), X4, Y4, loss=square)
    np.testing.assert_allclose(found.norms, [2, 6 * 2**0.5, 4 * 5**0.5, 10 * 10**0.5])
    np.testing.assert_allclose(found.agreement[0], 22 / np.hypot(22, 44))
    assert found.table().caption == "The 4 gradients add up to one of norm 49.19."
    assert found.table().columns["row"] == [0, 1, 2, 3]
    norm, cosine = found.figure().axes[0].lines
    np.testing.assert_allclose(norm.get_ydata(), found.norms[[3, 2, 1, 0]])
    np.testing.assert_allclose(cosine.get_ydata(), found.agreement[[3, 2, 1, 0]])


def test_frozen_tensors_are_left_out_and_nothing_is_changed():
    net = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5), nn.BatchNorm1d(3), nn.Linear(3, 1))
    net[0].requires_grad_(False)
    before = {k: v.clone() for k, v in net.state_dict().items()}
    found = example_gradients(net, X.astype("float32"), Y.astype("float32"), loss=square)
    assert set(found.names) == {"2.weight", "2.bias", "3.weight", "3.bias"} and net.training
    assert all(torch.equal(v, before[k]) for k, v in net.state_dict().items())


def test_rows_without_targets_have_gradients_and_a_module_that_cannot_move_gets_a_sentence():
    net = nn.Linear(4, 1, bias=False, dtype=torch.float64)
    found = example_gradients(net, X, loss=lambda raw, y: raw[:, 0] ** 2)
    np.testing.assert_allclose(found.gradients, 2 * (X @ net.weight.detach().numpy()[0])[:, None] * X)
    net.requires_grad_(False)
    with pytest.raises(InputError, match="All parameters of Linear are frozen; unfreeze one"):
        example_gradients(net, X, loss=lambda raw, y: raw[:, 0] ** 2)


def test_classes_pull_by_their_weights_as_they_do_in_training():
    plain, weighed = (
        MLPClassifier(hidden=(3,), epochs=1, random_state=0, class_weight=w).fit(X, Y) for w in (None, {0: 1.0, 1: 3.0})
    )
    plain.module_.load_state_dict(weighed.module_.state_dict())
    one, two = (example_gradients(model, X, Y).gradients for model in (plain, weighed))
    np.testing.assert_allclose(two, one * np.where(Y == 1, 3.0, 1.0)[:, None], rtol=1e-5)


def test_rows_that_are_dicts_are_taken_apart():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 1, bias=False, dtype=torch.float64)

        def forward(self, x):
            return self.a(x["left"]) + x["right"]

    rows = {"left": X[:, :2], "right": X[:, 2:3]}
    net = Two()
    found = example_gradients(net, rows, X[:, 3], loss=square)
    raw = X[:, :2] @ net.a.weight.detach().numpy()[0] + X[:, 2]
    np.testing.assert_allclose(found.gradients, 2 * (raw - X[:, 3])[:, None] * X[:, :2])


def test_a_module_without_a_loss_has_the_usual_one_and_targets_are_needed():
    net, x = nn.Linear(3, 1).double(), torch.randn(4, 3).double()
    found = example_gradients(net, x, torch.zeros(4).double())
    np.testing.assert_allclose(found.total[:3], (net(x).T @ x).detach().numpy()[0])
    with pytest.raises(InputError, match="y is None"):
        example_gradients(net, x)
