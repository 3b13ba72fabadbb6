"""Normalised gradient descent: the length of every step."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ftheta.optim import NormalizedGD


def moved(*gradients, lr=0.1, dtype=torch.float32):
    parts = [torch.zeros(len(g), dtype=dtype, requires_grad=True) for g in gradients]
    for part, g in zip(parts, gradients, strict=True):
        part.grad = torch.tensor(g, dtype=dtype)
    NormalizedGD(parts, lr=lr).step()
    return torch.cat([p.detach() for p in parts])


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=4), st.floats(1e-30, 1e30))
def test_a_step_has_the_length_of_the_rate_whatever_the_gradient(g, size):
    g = [v * size for v in g]
    step = moved(g, [size], dtype=torch.float64)
    assert step.norm().item() == pytest.approx(0.1)
    assert step[-1] < 0


@pytest.mark.ledger("C102", covers="ftheta.optim.NormalizedGD")
def test_no_gradient_is_no_move():
    assert moved([0.0, 0.0], [0.0]).tolist() == [0.0, 0.0, 0.0]
    untouched = torch.ones(2, requires_grad=True)
    NormalizedGD([untouched], lr=0.1).step()
    assert untouched.tolist() == [1.0, 1.0]


def test_groups_share_the_norm_and_keep_their_rates():
    a, b = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    a.grad, b.grad = torch.tensor([3.0]), torch.tensor([4.0])
    NormalizedGD([{"params": [a], "lr": 1.0}, {"params": [b]}], lr=0.1).step()
    assert (a.item(), b.item()) == pytest.approx((-0.6, -0.08))


@pytest.mark.ledger("C102", covers="ftheta.optim.NormalizedGD")
def test_it_does_not_come_to_rest_below_the_rate():
    """On θ² from 1.03 at rate 0.1 it ends by alternating between 0.03 and -0.07."""
    theta = torch.tensor([1.03], dtype=torch.double, requires_grad=True)
    optimizer = NormalizedGD([theta], lr=0.1)

    def closure():
        optimizer.zero_grad()
        value = theta.square().sum()
        value.backward()
        return value

    losses = [optimizer.step(closure).item() for _ in range(100)]
    assert abs(theta.item()) == pytest.approx(0.03, abs=1e-6)
    assert sorted({round(v**0.5, 6) for v in losses[-4:]}) == [0.03, 0.07]
