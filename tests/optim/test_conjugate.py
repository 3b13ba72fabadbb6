"""Conjugate gradient: the worked example, conjugacy, n steps, and Rosenbrock beside SciPy."""

import numpy as np
import pytest
import torch

from ftheta.optim import ConjugateGradient

from ._closures import Closure, quadratic

BETAS = ("polak-ribiere", "fletcher-reeves")
both = pytest.mark.parametrize("beta", BETAS)


@pytest.mark.ledger(
    "B196",
    covers="ftheta.optim.ConjugateGradient",
    says="conjugate directions are orthogonal to each other",
    printed=0.0,
    right=0.640,
)
@both
def test_two_by_two_in_two_steps_along_conjugate_directions(beta, ledger):
    """A = (4 1; 1 3), b = (1, 2) from (2, 1). The directions are A-conjugate, not orthogonal."""
    a, b = torch.tensor([[4.0, 1], [1, 3]], dtype=torch.float64), torch.tensor([1.0, 2], dtype=torch.float64)
    closure = Closure(lambda t: t @ a @ t / 2 - b @ t, [2.0, 1.0])
    rule = ConjugateGradient([closure.theta], beta=beta, search="exact")
    rule.step(closure)
    first = rule.memory["d"]
    assert rule.info["step_length"] == pytest.approx(0.22054, abs=5e-6)
    assert closure.x == pytest.approx([0.2356, 0.3384], abs=5e-5)
    rule.step(closure)
    second = rule.memory["d"]
    assert rule.memory["beta"] == pytest.approx(0.008771, abs=5e-7)
    assert rule.info["step_length"] == pytest.approx(0.41220, abs=5e-6)
    assert closure.x == pytest.approx([1 / 11, 7 / 11], abs=1e-10)
    assert (first @ a @ second).item() == pytest.approx(0, abs=1e-10)
    ledger((first @ second).item(), rtol=1e-3)


@both
@pytest.mark.parametrize("n", [1, 3, 8])
def test_n_steps_reach_the_minimum_of_a_quadratic(beta, n):
    a, b, closure = quadratic(n, condition=10)
    rule = ConjugateGradient([closure.theta], beta=beta, search="exact", tolerance_grad=0.0)
    directions = []
    for _ in range(n):
        rule.step(closure)
        directions.append(rule.memory["d"].numpy())
    np.testing.assert_allclose(closure.x, np.linalg.solve(a, b), rtol=0, atol=1e-10)
    gram = np.array(directions) @ a @ np.array(directions).T
    scale = np.sqrt(np.diag(gram))
    np.testing.assert_allclose(gram / np.outer(scale, scale), np.eye(n), atol=1e-6)


def test_gradients_that_are_far_from_orthogonal_restart_it():
    rule = ConjugateGradient([torch.zeros(2, requires_grad=True)])
    old, d = torch.tensor([1.0, 0.0]), torch.tensor([5.0, 7.0])
    rule.memory.update(g=old, d=d)
    assert rule.direction(torch.tensor([0.1, 1.0])).tolist() == pytest.approx([-0.1 + 0.91 * 5, -1 + 0.91 * 7])
    rule.memory.update(g=old, d=d)
    assert rule.direction(torch.tensor([0.3, 1.0])).tolist() == pytest.approx([-0.3, -1])
    rule.memory.update(g=old, d=d)
    assert rule.direction(torch.tensor([0.9, 0.0])).tolist() == pytest.approx([-0.9, 0])
