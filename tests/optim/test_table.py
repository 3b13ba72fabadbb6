"""Every rule against its own recursion in NumPy, and the table's answers to bad input."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize, rosen, rosen_der
from torch import nn

from ftheta.errors import InputError
from ftheta.optim import RULES, NormalisedGD, Rule, make, rule, step

START = np.array([1.5, -2.0, 0.7, 0.01, 3.0])
CURVATURE = np.array([1.0, 0.3, 5.0, 2.0, 0.05])


def slope(theta):
    """Gradient of Σ c θ²/2 + sin θ."""
    return CURVATURE * theta + np.cos(theta)


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


def lbfgs(lr):
    """Two-loop recursion over all differences so far, no line search; the first step is scaled by 1/|g|."""
    theta, g, pairs = START, slope(START), []
    while True:
        q, alphas = g.copy(), []
        for s, y in reversed(pairs):
            alphas.append(s @ q / (y @ s))
            q -= alphas[-1] * y
        q *= pairs[-1][0] @ pairs[-1][1] / (pairs[-1][1] @ pairs[-1][1]) if pairs else 1.0
        for (s, y), a in zip(pairs, reversed(alphas), strict=True):
            q += (a - y @ q / (y @ s)) * s
        step = -q * (lr if pairs else lr * min(1.0, 1 / np.abs(g).sum()))
        old, theta = g, theta + step
        g = slope(theta)
        pairs.append((step, g - old))
        yield theta


RECURSIONS = {
    "gd": (gd(0.1), 0.1, {}),
    "sgd": (gd(0.1), None, {}),
    "momentum": (momentum(0.01), None, {}),
    "nesterov": (momentum(0.02, nesterov=True), 0.02, {}),
    "adagrad": (adagrad(0.3), 0.3, {}),
    "rmsprop": (rmsprop(0.01), 0.01, {}),
    "adadelta": (adadelta(1.0), None, {}),
    "adam": (adam(0.05), 0.05, {}),
    "adamw": (adam(0.05, decay=0.01), 0.05, {}),
    "lbfgs": (lbfgs(0.5), 0.5, {"line_search_fn": None, "max_iter": 1, "tolerance_grad": 0, "tolerance_change": 0}),
    "normalised-gd": (normalised(0.05), 0.05, {}),
}


def loss(theta):
    return (torch.as_tensor(CURVATURE) * theta.square() / 2 + theta.sin()).sum()


def test_every_rule_has_its_recursion():
    assert set(RECURSIONS) == set(RULES)


@pytest.mark.parametrize("name", RULES)
def test_fifty_steps_are_those_of_the_equation(name):
    """In float64, over two parameters that the rule sees together."""
    truth, lr, options = RECURSIONS[name]
    parts = [torch.tensor(p, requires_grad=True) for p in (START[:2], START[2:])]
    optimizer = make(name, parts, lr, options)

    def closure():
        optimizer.zero_grad()
        value = loss(torch.cat(parts))
        value.backward()
        return value

    for _ in range(12 if name == "lbfgs" else 50):  # L-BFGS is at the minimum then
        if rule(name).needs == "closure":
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()
        np.testing.assert_allclose(torch.cat(parts).detach().numpy(), next(truth), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", RULES)
def test_every_entry_is_complete(name):
    entry = rule(name)
    assert entry.needs in ("gradient", "closure") and entry.lr > 0 and "<-" in entry.equation
    assert set(entry.options) <= set(entry.known)
    built = make(name, [torch.zeros(2, requires_grad=True)])
    assert built.param_groups[0]["lr"] == entry.lr
    assert entry.full_batch or entry.needs == "gradient"


def test_what_a_rule_asks_for():
    assert {n for n in RULES if rule(n).needs == "closure"} == {"lbfgs"}
    assert {n for n in RULES if rule(n).full_batch} == {"gd", "lbfgs", "normalised-gd"}
    assert {n for n in RULES if not rule(n).elementwise} == {"lbfgs", "normalised-gd"}


@pytest.mark.parametrize("name", [n for n in RULES if RULES[n].elementwise])
def test_elementwise_rules_move_parts_as_if_they_were_alone(name):
    def after(*parts):
        tensors = [torch.tensor(p, requires_grad=True) for p in parts]
        optimizer = make(name, tensors, 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            sum(t.square().sum() for t in tensors).backward()
            optimizer.step()
        return torch.cat([t.detach() for t in tensors])

    a, b = [1.0, 2.0], [30.0]
    torch.testing.assert_close(after(a, b), torch.cat((after(a), after(b))), rtol=1e-12, atol=0)


def test_lbfgs_finds_the_minimum_that_scipy_finds():
    theta = torch.tensor([-1.2, 1.0, 0.5], dtype=torch.double, requires_grad=True)
    optimizer = make("lbfgs", [theta], options={"max_iter": 200, "tolerance_change": 1e-14})
    assert optimizer.param_groups[0]["line_search_fn"] == "strong_wolfe"

    def closure():
        optimizer.zero_grad()
        value = (100 * (theta[1:] - theta[:-1] ** 2) ** 2 + (1 - theta[:-1]) ** 2).sum()
        value.backward()
        return value

    optimizer.step(closure)
    truth = minimize(rosen, [-1.2, 1.0, 0.5], jac=rosen_der, method="BFGS", options={"gtol": 1e-9}).x
    np.testing.assert_allclose(theta.detach().numpy(), truth, atol=1e-5)


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd", "gd", "momentum", "nesterov", "adagrad"])
def test_fused_kernels_are_used_where_they_exist(name):
    weights = [torch.zeros(2, requires_grad=True)]
    assert make(name, weights).param_groups[0]["fused"] is True
    assert make(name, [{"params": iter(weights), "lr": 0.5}]).param_groups[0]["fused"] is True
    assert make(name, weights, options={"foreach": True}).param_groups[0]["fused"] is None
    assert make(name, weights, options={"fused": False}).param_groups[0]["fused"] is False


@pytest.mark.parametrize("name", ["adam", "sgd", "adagrad"])
@pytest.mark.parametrize("dtype", [torch.complex64, torch.bfloat16])
def test_other_dtypes_fall_back_quietly(name, dtype):
    weight = torch.ones(2, dtype=dtype, requires_grad=True)
    optimizer = make(name, [weight], 0.5)
    (weight * weight.conj()).real.sum().backward()
    optimizer.step()
    assert optimizer.param_groups[0]["fused"] is None and not weight.detach().equal(torch.ones(2, dtype=dtype))


def test_other_devices_fall_back_quietly():
    assert make("adam", [torch.zeros(2, device="meta", requires_grad=True)]).param_groups[0]["fused"] is None


def test_groups_keep_their_own_rates_and_options():
    net = nn.Linear(2, 1)
    groups = [{"params": [net.weight], "lr": 0.5}, {"params": [net.bias], "weight_decay": 0.1}]
    slow, decayed = make("adam", groups, lr=0.01, options={"eps": 1e-6}).param_groups
    assert (slow["lr"], slow["eps"], slow["weight_decay"]) == (0.5, 1e-6, 0)
    assert (decayed["lr"], decayed["weight_decay"]) == (0.01, 0.1)


def test_a_rule_of_ones_own_fits_the_table(monkeypatch):
    monkeypatch.setitem(RULES, "mine", Rule(NormalisedGD, 0.5, "θ <- θ - η g / ‖g‖"))
    assert isinstance(make("mine", [torch.zeros(1, requires_grad=True)]), NormalisedGD)


WEIGHT = torch.zeros(2, requires_grad=True)


def test_an_unknown_optimizer_is_answered_with_the_nearest():
    for ask in (lambda: make("adma", [WEIGHT]), lambda: rule("adma")):
        with pytest.raises(
            InputError, match=r"Unknown optimizer 'adma'.*[Dd]id you mean 'adam'.* Known: gd, sgd, momentum"
        ):
            ask()


def test_an_unknown_option_is_answered_with_the_nearest():
    with pytest.raises(
        InputError, match=r"Unknown option of optimizer 'adam': 'weight_deca'.*[Dd]id you mean 'weight_decay'"
    ):
        make("adam", [WEIGHT], options={"weight_deca": 0.1})
    with pytest.raises(InputError, match=r"Unknown option of optimizer 'sgd': 'momentun'.*[Dd]id you mean 'momentum'"):
        make("sgd", [{"params": [WEIGHT], "momentun": 0.1}])


@pytest.mark.parametrize("lr", [-0.1, 0, float("nan"), float("inf"), "0.1", True])
def test_a_rate_that_is_not_positive_is_named(lr):
    for ask in (lambda: make("adam", [WEIGHT], lr), lambda: make("adam", [{"params": [WEIGHT], "lr": lr}])):
        with pytest.raises(
            InputError,
            match=rf"The 'lr' parameter of adam must be a float in the range \(0, inf\)\. Got {lr!r} instead",
        ):
            ask()


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
        InputError, match=r"Optimizer 'lbfgs' refuses what it was given: LBFGS doesn't support per-parameter options"
    ):
        make("lbfgs", [{"params": [WEIGHT]}, {"params": [torch.zeros(1, requires_grad=True)]}])


@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if rule.needs == "gradient"])
def test_step_moves_as_the_optimizers_own_step_does_and_tells_hooks(name):
    parameters = [torch.tensor([1.0, -2.0], requires_grad=True) for _ in range(2)]
    ours, theirs = (make(name, [p]) for p in parameters)
    heard = []
    for i in range(6):
        for p in parameters:
            p.grad = 2 * p.detach()
        if i == 3:
            ours.register_step_pre_hook(lambda *_: heard.append(1))
        step(ours)
        theirs.step()
    assert torch.equal(*parameters) and len(heard) == 3
