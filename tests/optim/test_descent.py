"""Descent: searches along directions, restarts, and what is said when it cannot go on."""

import numpy as np
import pytest
import torch

from ftheta.errors import InputError
from ftheta.optim import BFGS, LBFGS, SEARCHES, ConjugateGradient, Steepest, make

from ._closures import Closure, quadratic, rosenbrock, settled

RULES = ("steepest", "cg", "bfgs", "lbfgs")
every = pytest.mark.parametrize("name", RULES)
each_search = pytest.mark.parametrize("search", SEARCHES)


@every
@each_search
def test_every_direction_with_every_search_finds_the_minimum_of_a_bowl(name, search):
    a, b, closure = quadratic(5, condition=5)
    rule = make(name, [closure.theta], options={"search": search, "tolerance_grad": 1e-8})
    assert settled(rule, closure, most=300) < 300
    np.testing.assert_allclose(closure.x, np.linalg.solve(a, b), atol=1e-7)


@every
@each_search
def test_no_update_raises_the_loss_and_its_facts_are_those_of_the_update(name, search):
    closure = Closure(rosenbrock, [-1.2, 1.0])
    rule = make(name, [closure.theta], options={"search": search, "max_iter": 2})
    for _ in range(15):
        before, count = closure.f(closure.theta).item(), closure.count
        assert rule.step(closure).item() == before
        assert rule.info["trials"] == closure.count - count
        after = closure.f(closure.theta)
        assert after.item() < before or rule.stop_reason
        gradient = torch.autograd.grad(after, closure.theta)[0]
        assert rule.info["gradient_norm"] == pytest.approx(gradient.norm().item(), rel=1e-12)
        if rule.stop_reason:
            break


@every
def test_several_directions_an_update_are_the_same_steps_with_fewer_evaluations(name):
    ends = []
    for updates, inner in ((12, 1), (3, 4), (1, 12)):
        closure = Closure(rosenbrock, [-1.2, 1.0, 0.3])
        rule = make(name, [closure.theta], options={"max_iter": inner})
        iterations = 0
        for _ in range(updates):
            rule.step(closure)
            iterations += rule.info["iterations"]
        ends.append((closure.x.tolist(), iterations, closure.count))
    (x, n, count), *others = ends
    assert n == 12
    assert others == [(x, 12, count - 9), (x, 12, count - 11)]


# ---- what may go wrong


def test_a_direction_that_does_not_descend_is_given_up_for_the_gradient():
    closure = Closure(lambda t: (t**2).sum(), [1.0, 0.5])
    rule = ConjugateGradient([closure.theta], search="exact")
    uphill = torch.tensor([1e3, 0.0], dtype=torch.float64)
    rule.memory.update(t=1.0, slope=-1.0, d=uphill, g=torch.tensor([0.1, -0.2], dtype=torch.float64))
    rule.step(closure)
    assert rule.info["restarts"] == 1 and rule.stop_reason == ""
    assert closure.x == pytest.approx([0, 0], abs=1e-12)


@every
def test_a_gradient_that_lies_leaves_the_parameters_where_they_were(name):
    class Liar(Closure):
        def __call__(self):
            value = super().__call__()
            self.theta.grad = -self.theta.grad
            return value

    closure = Liar(lambda t: (t**2).sum(), [1.0, 0.3])
    rule = make(name, [closure.theta])
    rule.step(closure)
    assert rule.stop_reason == "no step along this direction lowers the loss" and rule.info["step_length"] == 0
    assert closure.x.tolist() == [1.0, 0.3] and closure.count <= 130


@every
@pytest.mark.parametrize("f", [lambda t: -t.sum(), lambda t: -(t**2).sum(), lambda t: (t**3).sum() - 9 * t.sum()])
def test_a_surface_without_a_minimum_ends_with_the_reason_and_the_lowest_point(name, f):
    closure = Closure(f, [0.5, 0.1])
    rule = make(name, [closure.theta], options={"search": "exact"})
    start = f(closure.theta).item()
    assert settled(rule, closure, most=20) < 20 and closure.count < 500
    # a cubic may hold its first step in its valley; from there the rule may also end at rest
    assert rule.stop_reason.startswith(("the loss has no minimum along this direction", "the gradient is below"))
    assert f(closure.theta).item() < start and np.isfinite(closure.x).all()


@every
@each_search
def test_a_start_that_is_not_finite_is_not_left_and_named(name, search):
    closure = Closure(lambda t: t.log().sum(), [-1.0, 1.0])
    rule = make(name, [closure.theta], options={"search": search})
    assert rule.step(closure).isnan()
    assert rule.stop_reason == "the loss or its gradient is not finite"
    assert closure.count == 1 and closure.x.tolist() == [-1.0, 1.0]


@every
@each_search
def test_steps_over_the_edge_of_a_domain_come_back(name, search):
    """θ - log θ is finite for θ > 0 only; its minimum is at 1."""
    closure = Closure(lambda t: (t - t.log()).sum(), [5.0, 0.01])
    settled(make(name, [closure.theta], options={"search": search, "tolerance_grad": 1e-6}), closure, most=200)
    assert closure.x == pytest.approx([1, 1], abs=1e-5)


@every
def test_what_it_finds_at_the_end_of_an_update_it_says_at_the_start_of_the_next(name):
    """So that the last row of a history has the loss where training ended."""
    closure = Closure(lambda t: (t**2).sum() / 2, [3.0, 4.0])
    rule = make(name, [closure.theta], options={"search": "exact", "max_iter": 50})
    assert rule.step(closure).item() == 12.5 and rule.stop_reason == "" and rule.info["gradient_norm"] < 1e-10
    assert rule.step(closure).item() < 1e-20 and rule.stop_reason == "the gradient is below 1e-10"


@every
@each_search
def test_in_single_precision_it_stops_by_itself_at_the_minimum(name, search):
    a, b, _ = quadratic(4, condition=8)
    a32, b32 = torch.tensor(a, dtype=torch.float32), torch.tensor(b, dtype=torch.float32)
    closure = Closure(lambda t: t @ a32 @ t / 2 - b32 @ t + 10, np.ones(4), torch.float32)
    rule = make(name, [closure.theta], options={"search": search})
    assert settled(rule, closure, most=150) < 150 and closure.count < 1500
    np.testing.assert_allclose(closure.x, np.linalg.solve(a, b), atol=2e-4)


def test_an_unknown_search_and_no_iterations_are_refused():
    theta = [torch.zeros(1, requires_grad=True)]
    with pytest.raises(InputError, match=r"Unknown line search 'wolf'\. Did you mean 'wolfe'.*Known: wolfe, back"):
        Steepest(theta, search="wolf")
    with pytest.raises(
        InputError, match=r"Optimizer 'cg' refuses what it was given: max_iter=0; it must be an integer of at least 1"
    ):
        make("cg", theta, options={"max_iter": 0})


# ---- every option reaches every rule


class Watched(Closure):
    """Keeps the places where it was evaluated."""

    def __init__(self, f, start):
        super().__init__(f, start)
        self.places = []

    def __call__(self):
        self.places.append(self.x)
        return super().__call__()


def bowl(theta):
    return (theta[0] ** 2 + 9 * theta[1] ** 2) / 2


kinds = pytest.mark.parametrize("kind", [Steepest, ConjugateGradient, BFGS, LBFGS])


@kinds
@pytest.mark.parametrize("lr", [0.01, 0.5])
def test_the_first_step_that_is_tried_is_the_rate_over_the_length_of_the_gradient(kind, lr):
    closure = Watched(bowl, [3.0, 1.0])
    kind([closure.theta], lr=lr).step(closure)
    g = np.array([3.0, 9.0])
    np.testing.assert_allclose(closure.places[1], closure.places[0] - lr * g / np.linalg.norm(g))


@kinds
def test_an_update_makes_as_many_directions_as_asked_for(kind):
    closure = Closure(rosenbrock, [-1.2, 1.0])
    rule = kind([closure.theta], max_iter=3)
    rule.step(closure)
    assert rule.info["iterations"] == 3


@kinds
def test_a_gradient_below_the_tolerance_ends_it(kind):
    closure = Closure(bowl, [0.3, 0.01])
    rule = kind([closure.theta], tolerance_grad=0.4)
    rule.step(closure)
    assert rule.stop_reason == "the gradient is below 0.4" and closure.x.tolist() == [0.3, 0.01]
