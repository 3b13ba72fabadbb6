"""Steps of a quadratic model: the equations, their limits, and trust regions against brute force."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ftheta.optim import damped_step, trust_step

H, G = torch.tensor([[10.0, 0.0], [0.0, 1.0]], dtype=torch.double), torch.tensor([10.0, 1.0], dtype=torch.double)


def model(B, g, d):
    return g @ d + d @ B @ d / 2


def drawn(seed, n, low=0.1):
    """A symmetric matrix with eigenvalues from `low` to 3, and a gradient."""
    rng = torch.Generator().manual_seed(seed)
    axes = torch.linalg.qr(torch.randn(n, n, generator=rng, dtype=torch.double))[0]
    return axes @ torch.linspace(low, 3, n).double().diag() @ axes.T, torch.randn(n, generator=rng, dtype=torch.double)


@pytest.mark.ledger(
    "B192",
    covers="ftheta.optim.trust_step",
    says="the constraint ‖Δx‖ = 1 gives Δx = -(H + λI)⁻¹ J",
    printed=1.0,
    right=2**0.5,
)
def test_damping_gives_the_steps_of_the_example_and_a_radius_determines_it(ledger):
    """λ = 0, 1, 1000; imposed is ‖d‖ = 1, which leaves λ no choice: near the minimum it would have to be -0.99."""
    for damping, expected in ((0, (-1, -1)), (1, (-10 / 11, -0.5)), (1000, (-0.0099, -0.001))):
        assert damped_step(H, G, damping).tolist() == pytest.approx(expected, rel=2e-3)
    d, damping = trust_step(H, G, radius=1.0)
    assert d.norm().item() == pytest.approx(1, rel=1e-12)
    assert damping == pytest.approx(1.2116, rel=1e-4)
    ledger(damped_step(H, G, 0).norm())  # of Newton's step, the case λ = 0
    torch.testing.assert_close(damped_step(H, G, damping), d, rtol=1e-12, atol=1e-12)
    near, damping = trust_step(H, G / 100, radius=1.0)  # the right statement is ‖d‖ <= 1, and λ = 0 inside
    assert damping == 0 and near.tolist() == pytest.approx([-0.01, -0.01])
    lengths = [-(torch.linalg.solve(H + s * torch.eye(2), G / 100)).norm().item() for s in (-0.99, -0.98)]
    assert -lengths[0] == pytest.approx(1, rel=0.01) and -lengths[1] < 0.6
    assert damped_step(H, G / 100, -1.5) is None


@pytest.mark.ledger("B193", covers="ftheta.optim.damped_step")
def test_the_step_turns_from_newton_s_to_the_negative_gradient_as_damping_grows():
    B, g = drawn(0, 6)

    def cosine(a, b):
        return (a @ b / a.norm() / b.norm()).item()

    newton = -torch.linalg.solve(B, g)
    assert cosine(newton, -g) < 0.9  # the two are apart
    steps = [damped_step(B, g, damping) for damping in np.logspace(-8, 8, 33)]
    to_newton, to_gradient = [cosine(d, newton) for d in steps], [cosine(d, -g) for d in steps]
    assert to_newton[0] == pytest.approx(1, abs=1e-12) and to_gradient[-1] == pytest.approx(1, abs=1e-12)
    assert to_newton == sorted(to_newton, reverse=True) and to_gradient == sorted(to_gradient)
    torch.testing.assert_close(steps[-1], -g / 1e8, rtol=1e-6, atol=0)


@pytest.mark.parametrize("B", [[[0.0, 0], [0, 1]], [[-1.0, 0], [0, 1]], [[1.0, 1], [1, 1 + 1e-16]]])
def test_a_matrix_that_is_not_positive_definite_has_no_damped_step_until_it_is(B):
    B = torch.tensor(B, dtype=torch.double)
    assert damped_step(B, torch.ones(2).double(), 0.0) is None
    d = damped_step(B, torch.ones(2).double(), 1.5)
    torch.testing.assert_close((B + 1.5 * torch.eye(2)) @ d, -torch.ones(2).double())
    assert B.diagonal().max() <= 1 + 1e-15  # what was given is as it was


@given(
    seed=st.integers(0, 10_000), n=st.integers(1, 6), low=st.sampled_from([-2.0, 0.0, 0.5]), radius=st.floats(0.01, 9)
)
def test_no_step_in_the_region_is_better_than_the_trust_step(seed, n, low, radius):
    B, g = drawn(seed, n, low)
    d, damping = trust_step(B, g, radius)
    assert d.norm() <= radius * (1 + 1e-8) and damping >= 0
    torch.testing.assert_close((B + damping * torch.eye(n)) @ d, -g, rtol=1e-4, atol=1e-4)
    others = torch.randn(50, n, generator=torch.Generator().manual_seed(seed), dtype=torch.double)
    others = others / others.norm(dim=1, keepdim=True) * radius * torch.rand(50, 1).double()
    near = d + 0.01 * others
    near = near * (radius / near.norm(dim=1, keepdim=True)).clamp(max=1)
    others = torch.cat([others, near])
    assert model(B, g, d) <= (others @ g + ((others @ B) * others).sum(1) / 2).min() + 1e-9


def test_where_the_gradient_has_no_part_along_the_lowest_axis_the_step_still_reaches_the_edge():
    B, g = torch.diag(torch.tensor([-2.0, 1.0])).double(), torch.tensor([0.0, 1.0]).double()
    d, damping = trust_step(B, g, radius=2.0)
    assert damping == pytest.approx(2, rel=1e-6)
    assert [abs(v) for v in d.tolist()] == pytest.approx([(4 - 1 / 9) ** 0.5, 1 / 3], rel=1e-6)
