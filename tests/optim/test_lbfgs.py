"""L-BFGS: n iterations on a quadratic, its memory, what it tells, and its evaluations beside SciPy's."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize, rosen, rosen_der

from ftheta.data import Rows
from ftheta.likelihoods import Gaussian
from ftheta.nn import MLP
from ftheta.optim import LBFGS, make
from ftheta.train import Supervised, Trainer, Training, iterate

from ._closures import Closure, quadratic, rosenbrock, settled


@pytest.mark.ledger("B025", covers="ftheta.optim.LBFGS")
@pytest.mark.parametrize("n", [1, 3, 8])
def test_n_iterations_reach_the_minimum_of_a_quadratic(n):
    a, b, closure = quadratic(n, condition=10)
    rule = LBFGS([closure.theta], search="exact", max_iter=n, tolerance_grad=0.0)
    rule.step(closure)
    assert rule.info["iterations"] == n
    np.testing.assert_allclose(closure.x, np.linalg.solve(a, b), rtol=0, atol=1e-10)


@pytest.mark.ledger("B025", covers="ftheta.optim.LBFGS")
def test_training_a_net_tells_step_length_and_evaluations_of_each_iteration():
    x = torch.linspace(-1, 1, 30, dtype=torch.float64)[:, None]
    torch.manual_seed(0)
    net = MLP(1, 1, (4,)).double()
    training = Training(options={"max_iter": 1, "history_size": 5})
    trainer = Trainer(
        Supervised(net, Gaussian()), Rows(x, x[:, 0] ** 2, batch_size=30), optimizer="lbfgs", training=training
    )
    rows = iterate(trainer, rounds=12)
    assert all(row["step_length"] > 0 and row["iterations"] == 1 and row["trials"] >= 2 for row in rows)
    assert [row["evaluations"] for row in rows] == np.cumsum([row["trials"] for row in rows]).tolist()
    losses = [row["loss"] for row in rows]
    assert losses == sorted(losses, reverse=True)


def test_a_pair_of_negative_curvature_is_not_learned():
    rule = LBFGS([torch.zeros(2, requires_grad=True)])
    rule.learn(torch.tensor([1.0, 0.0]), torch.tensor([-1.0, 1.0]))
    assert rule.memory == {}


def test_evaluations_on_rosenbrock_are_at_most_a_tenth_more_than_those_of_scipy():
    """Geometric mean over starts from which both end at the same optimum; bench/lbfgs.py races all of them."""
    logs = []
    for seed in range(6):
        start = np.random.default_rng(seed).uniform(-2, 2, 10)
        options = {"history_size": 10, "max_iter": 1000, "tolerance_grad": 1e-6}
        closure = Closure(rosenbrock, start)
        settled(make("lbfgs", [closure.theta], options=options), closure)
        theirs = minimize(
            rosen, start, jac=rosen_der, method="L-BFGS-B", options={"maxcor": 10, "gtol": 1e-6, "ftol": 0}
        )
        if np.allclose(closure.x, theirs.x, atol=1e-4):
            logs.append(np.log(closure.count / theirs.nfev))
    assert len(logs) >= 4 and np.exp(np.mean(logs)) <= 1.1
