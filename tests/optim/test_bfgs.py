"""BFGS: n steps on a quadratic, the learned inverse, and that it stays positive definite."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize, rosen, rosen_der

from ftheta.optim import BFGS, make

from ._closures import Closure, quadratic, rosenbrock


@pytest.mark.ledger("B194", covers="ftheta.optim.BFGS")
@pytest.mark.parametrize("n", [1, 3, 8])
def test_n_steps_reach_the_minimum_of_a_quadratic_and_its_inverse_hessian(n):
    a, b, closure = quadratic(n, condition=10)
    rule = BFGS([closure.theta], search="exact", tolerance_grad=0.0)
    for _ in range(n):
        rule.step(closure)
        assert np.linalg.eigvalsh(rule.memory["inverse"].numpy()).min() > 0
    np.testing.assert_allclose(closure.x, np.linalg.solve(a, b), rtol=0, atol=1e-10)
    np.testing.assert_allclose(rule.memory["inverse"].numpy(), np.linalg.inv(a), atol=1e-6)


@pytest.mark.parametrize("search", ["wolfe", "exact", "backtracking"])
def test_the_inverse_stays_symmetric_and_positive_definite_on_the_way_to_where_scipy_ends(search):
    start = [-1.2, 1.0, 0.5]
    closure = Closure(rosenbrock, start)
    rule = make("bfgs", [closure.theta], options={"search": search})
    for _ in range(60):
        rule.step(closure)
        h = rule.memory["inverse"].numpy() if "inverse" in rule.memory else np.eye(3)
        assert np.linalg.eigvalsh(h).min() > 0 and np.abs(h - h.T).max() <= 1e-12 * np.abs(h).max()
        if rule.stop_reason:
            break
    truth = minimize(rosen, start, jac=rosen_der, method="BFGS", options={"gtol": 1e-9}).x
    np.testing.assert_allclose(closure.x, truth, atol=1e-6)


def test_a_pair_of_negative_curvature_is_not_learned():
    rule = BFGS([torch.zeros(2, requires_grad=True)])
    s, y = torch.tensor([1.0, 0.0]), torch.tensor([2.0, 1.0])
    rule.learn(s, -y)
    assert rule.memory == {}
    rule.learn(s, y)
    torch.testing.assert_close(rule.memory["inverse"] @ y, s)
    before = rule.memory["inverse"].clone()
    rule.learn(s, torch.tensor([0.0, 1.0]))
    assert torch.equal(rule.memory["inverse"], before)
