"""Every rule against its own recursion in NumPy, and the table's answers to bad input."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from torch import nn

from ftheta.errors import InputError
from ftheta.optim import RULES, make, rule

START = np.array([1.5, -2.0, 0.7, 0.01, 3.0])
CURVATURE = np.array([1.0, 0.3, 5.0, 2.0, 0.05])


def slope(theta):
    """Gradient of Σ c θ²/2 + log cosh θ, which is convex."""
    return CURVATURE * theta + np.tanh(theta)


def minimum(theta, d):
    """How far the minimum along a direction is."""
    return brentq(lambda t: slope(theta + t * d) @ d, 0, 1e3, xtol=1e-15, rtol=1e-15)


def gd(lr):
    theta = START
    while True:
        theta = theta - lr * slope(theta)
        yield theta


def momentum(lr, mu=0.9, nesterov=False):
    theta, v = START, 0
    while True:
        g = slope(theta)
        v = mu * v + g
        theta = theta - lr * (g + mu * v if nesterov else v)
        yield theta


def average(lr, beta=0.9):
    theta, m = START, 0
    while True:
        m = beta * m + (1 - beta) * slope(theta)
        theta = theta - lr * m
        yield theta


def adagrad(lr, eps=1e-10):
    theta, total = START, 0
    while True:
        g = slope(theta)
        total = total + g**2
        theta = theta - lr * g / (np.sqrt(total) + eps)
        yield theta


def rmsprop(lr, alpha=0.9, eps=1e-8):
    theta, mean = START, 0
    while True:
        g = slope(theta)
        mean = alpha * mean + (1 - alpha) * g**2
        theta = theta - lr * g / (np.sqrt(mean) + eps)
        yield theta


def adadelta(lr, rho=0.9, eps=1e-6):
    theta, mean, moved = START, 0, 0
    while True:
        g = slope(theta)
        mean = rho * mean + (1 - rho) * g**2
        d = g * np.sqrt(moved + eps) / np.sqrt(mean + eps)
        moved = rho * moved + (1 - rho) * d**2
        theta = theta - lr * d
        yield theta


def adam(lr, b1=0.9, b2=0.999, eps=1e-8, decay=0.0):
    theta, m, v, t = START, 0, 0, 0
    while True:
        g, t = slope(theta), t + 1
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        theta = theta * (1 - lr * decay) - lr * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)
        yield theta


def normalised(lr):
    theta = START
    while True:
        g = slope(theta)
        theta = theta - lr * g / np.linalg.norm(g)
        yield theta


def steepest():
    theta = START
    while True:
        d = -slope(theta)
        theta = theta + minimum(theta, d) * d
        yield theta


EXACT = {"search": "exact", "max_iter": 1}
RECURSIONS = {
    "gd": (gd(0.1), 0.1, {}),
    "sgd": (gd(0.1), None, {}),
    "momentum": (momentum(0.01), None, {}),
    "ema-momentum": (average(0.1), None, {}),
    "nesterov": (momentum(0.02, nesterov=True), 0.02, {}),
    "adagrad": (adagrad(0.3), 0.3, {}),
    "rmsprop": (rmsprop(0.01), 0.01, {}),
    "adadelta": (adadelta(1.0), None, {}),
    "adam": (adam(0.05), 0.05, {}),
    "adamw": (adam(0.05, decay=0.01), 0.05, {}),
    "steepest": (steepest(), None, EXACT),
    "normalized-gd": (normalised(0.05), 0.05, {}),
}
_OWN = "test_it_is_its_own_recursion_in_numpy_for_50_steps"
_BOWL = "test_fifty_steps_with_an_exact_search_are_those_of_the_equation_in_eighty_dimensions"
ELSEWHERE = {
    **dict.fromkeys(("cg", "bfgs", "lbfgs"), ("test_table.py", _BOWL)),
    "newton": ("test_newton.py", _OWN),
    "gauss-newton": ("test_gauss_newton.py", _OWN),
    "lm": ("test_levenberg_marquardt.py", _OWN),
    "natural": ("test_natural.py", "test_for_a_logistic_regression_it_is_newton_s_method_and_irls"),
    "genetic": ("test_genetic.py", "test_the_draw_decides_and_every_generation_draws_anew"),
}
"""Rules that need more than F and g: tested beside problems that have it. A genetic rule has no recursion: it draws."""


def loss(theta):
    """log cosh θ = θ + log(1 + exp(-2θ)) - log 2."""
    return (torch.as_tensor(CURVATURE) * theta.square() / 2 + theta + nn.functional.softplus(-2 * theta)).sum()


def test_every_rule_has_its_recursion():
    assert set(RECURSIONS) | set(ELSEWHERE) == set(RULES) and not set(RECURSIONS) & set(ELSEWHERE)
    for file, test in ELSEWHERE.values():
        assert f"def {test}(" in (Path(__file__).parent / file).read_text(encoding="utf-8")


def path(name, steps, lr=None, options=None):
    """Places of a rule in float64, over two parameters that it sees together."""
    parts = [torch.tensor(p, requires_grad=True) for p in (START[:2], START[2:])]
    optimizer = make(name, parts, lr, options)

    def closure():
        optimizer.zero_grad()
        value = loss(torch.cat(parts))
        value.backward()
        return value

    for _ in range(steps):
        if rule(name).needs == "closure":
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()
        yield torch.cat(parts).detach().numpy()


@pytest.mark.ledger("A136", "A138", "A139", "B021", "B024", "C100", "C101", covers="ftheta.optim.make")
@pytest.mark.parametrize("name", RECURSIONS)
def test_fifty_steps_are_those_of_the_equation(name):
    truth, lr, options = RECURSIONS[name]
    for found in path(name, 50, lr, options):
        np.testing.assert_allclose(found, next(truth), rtol=0, atol=1e-10)


STIFF = np.geomspace(1, 10, 80)  # a bowl in 80 dimensions; steeper ones turn rounding errors into steps of their own


def in_the_bowl(direction, steps=50):
    """θ with the closed form of the exact step, -g·d / d·Ad; pairs (s, y) go to the direction."""
    theta, pairs, d, old = np.ones(80), [], None, None
    for _ in range(steps):
        g = STIFF * theta
        d, old = direction(g, old, d, pairs), g
        s = -(g @ d) / (d @ (STIFF * d)) * d
        theta = theta + s
        pairs.append((s, STIFF * s))
        yield theta


def inverse_times(g, pairs, kept=None):
    """-H g, H by the product form from the identity in the scale of the first pair, or anew from the last ones."""
    if not pairs:
        return -g
    used = pairs if kept is None else pairs[-kept:]
    s, y = pairs[0] if kept is None else pairs[-1]
    inverse = np.eye(80) * (s @ y / (y @ y))
    for s, y in used:
        left = np.eye(80) - np.outer(s, y) / (s @ y)
        inverse = left @ inverse @ left.T + np.outer(s, s) / (s @ y)
    return -inverse @ g


BOWL = {
    "cg": ({}, lambda g, old, d, pairs: -g if d is None else -g + (g @ (g - old)) / (old @ old) * d),
    "cg, Fletcher-Reeves": (
        {"beta": "fletcher-reeves"},
        lambda g, old, d, pairs: -g if d is None else -g + (g @ g) / (old @ old) * d,
    ),
    "bfgs": ({}, lambda g, old, d, pairs: inverse_times(g, pairs)),
    "lbfgs": ({"history_size": 5}, lambda g, old, d, pairs: inverse_times(g, pairs, 5)),
}


@pytest.mark.parametrize("name", BOWL)
def test_fifty_steps_with_an_exact_search_are_those_of_the_equation_in_eighty_dimensions(name):
    options, direction = BOWL[name]
    theta = torch.ones(80, dtype=torch.float64, requires_grad=True)
    optimizer = make(name.partition(",")[0], [theta], options=EXACT | options)

    def closure():
        optimizer.zero_grad()
        value = (torch.as_tensor(STIFF) * theta.square()).sum() / 2
        value.backward()
        return value

    for i, truth in enumerate(in_the_bowl(direction)):
        optimizer.step(closure)
        np.testing.assert_allclose(theta.detach().numpy(), truth, rtol=0, atol=1e-10)
        assert i >= 20 or np.abs(truth).max() > 1e-7


def moves(name, gradients, lr, options=None):
    """What each of these gradients, one after the other, does to a number; and the rule's state."""
    theta = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer, places = make(name, [theta], lr, options), [0.0]
    for g in gradients:
        theta.grad = torch.tensor([g], dtype=torch.float64)
        optimizer.step()
        places.append(theta.item())
    return np.diff(places), optimizer.state[theta]


@pytest.mark.ledger("B022", covers="ftheta.optim.make")
def test_the_first_steps_of_adadelta_and_its_two_averages():
    moved, state = moves("adadelta", [1.0] * 3, 1.0, {"rho": 0.95, "eps": 1e-6})
    assert moved == pytest.approx([-0.0044721, -0.0045291, -0.0045676], abs=5e-8)
    assert state["square_avg"].item() == pytest.approx(1 - 0.95**3)
    assert state["acc_delta"].item() == pytest.approx(
        0.05 * (0.95**2 * moved[0] ** 2 + 0.95 * moved[1] ** 2 + moved[2] ** 2)
    )
    half, _ = moves("adadelta", [1.0], 0.5, {"rho": 0.95, "eps": 1e-6})
    assert half[0] == pytest.approx(moved[0] / 2)


@pytest.mark.ledger("A136", "B197", covers="ftheta.optim.make")
def test_the_steps_of_adagrad_shrink_by_the_root_of_their_number():
    moved, state = moves("adagrad", [2.0] * 30, 0.1)
    np.testing.assert_allclose(moved, -0.1 / np.sqrt(np.arange(1, 31)), rtol=1e-9)
    assert state["sum"].item() == pytest.approx(30 * 4)


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd", "gd", "momentum", "nesterov", "adagrad"])
def test_fused_kernels_are_used_where_they_exist(name):
    weights = [torch.zeros(2, requires_grad=True)]
    assert make(name, weights).param_groups[0]["fused"] is True
    assert make(name, [{"params": iter(weights), "lr": 0.5}]).param_groups[0]["fused"] is True
    assert make(name, weights, options={"foreach": True}).param_groups[0]["fused"] is None
    assert make(name, weights, options={"fused": False}).param_groups[0]["fused"] is False


def test_groups_keep_their_own_rates_and_options():
    net = nn.Linear(2, 1)
    groups = [{"params": [net.weight], "lr": 0.5}, {"params": [net.bias], "weight_decay": 0.1}]
    slow, decayed = make("adam", groups, lr=0.01, options={"eps": 1e-6}).param_groups
    assert (slow["lr"], slow["eps"], slow["weight_decay"]) == (0.5, 1e-6, 0)
    assert (decayed["lr"], decayed["weight_decay"]) == (0.01, 0.1)


WEIGHT = torch.zeros(2, requires_grad=True)


def test_what_torch_refuses_is_an_input_error():
    with pytest.raises(InputError, match=r"Optimizer 'momentum' refuses what it was given: Invalid momentum value: -1"):
        make("momentum", [WEIGHT], options={"momentum": -1})
    with pytest.raises(InputError, match=r"Optimizer 'adam' refuses what it was given: .*'str'"):
        make("adam", [WEIGHT], options={"weight_decay": "a"})
    with pytest.raises(
        InputError, match=r"Optimizer 'adam' refuses what it was given: optimizer got an empty parameter list"
    ):
        make("adam", [])
    with pytest.raises(
        InputError, match=r"Optimizer 'lbfgs' refuses what it was given: it moves all parameters together, so groups"
    ):
        make("lbfgs", [{"params": [WEIGHT]}, {"params": [torch.zeros(1, requires_grad=True)]}])


class Signs(torch.optim.Optimizer):
    """θ <- θ - η sign(g)."""

    def __init__(self, params, lr=0.25):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p -= group["lr"] * p.grad.sign()


@pytest.mark.parametrize(
    ("choice", "lr", "moved"),
    [
        (Signs, None, 0.25),
        (Signs, 0.5, 0.5),
        (torch.optim.SGD, 0.5, 1.0),
        (partial(torch.optim.SGD, momentum=0.9), 0.5, 1.0),
        (lambda params, lr: Signs(params, lr=2 * lr), 0.5, 1.0),
        (lambda params: Signs(params), None, 0.25),
    ],
)
def test_a_class_or_a_factory_is_taken_for_a_name(choice, lr, moved):
    theta = torch.tensor([1.0], requires_grad=True)
    theta.grad = torch.tensor([2.0])
    make(choice, [theta], lr).step()
    assert theta.item() == pytest.approx(1 - moved)


@pytest.mark.parametrize(
    ("choice", "given", "message"),
    [
        (Signs, {"options": {"beta": 1}}, "option of optimizer 'Signs': 'beta'"),
        (lambda params: Signs(params), {"lr": 0.1}, "takes no lr"),
        (lambda params, lr: None, {}, "made a NoneType; a torch.optim.Optimizer is needed"),
        (3, {}, "optimizer=3; pass a name"),
    ],
)
def test_what_is_not_an_optimizer_is_one_sentence(choice, given, message):
    with pytest.raises(InputError, match=message):
        make(choice, [torch.zeros(1, requires_grad=True)], **given)
