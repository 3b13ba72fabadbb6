"""What every rule of the optimizer table owes. Being in `RULES` enrols."""

import math

import pytest
import torch
from torch import nn

from ftheta import optim
from ftheta.data import Rows
from ftheta.errors import InputError
from ftheta.optim import RULES, make
from ftheta.store import dump_tree, parse_tree
from ftheta.train import Supervised, Trainer, Training, iterate

every = pytest.mark.parametrize("name", RULES)
BEST = torch.tensor([0.7, -0.4, 0.5, 0.2], dtype=torch.double)
STIFF = torch.tensor([1.0, 3.0, 0.5, 2.0], dtype=torch.double)


def quadratic(theta):
    """Convex, with its least value 0 at BEST."""
    best, stiff = BEST.to(theta), STIFF.to(theta)
    return (stiff * (theta - best).square()).sum() / 2 + ((theta - best).sum().square()) / 4


def step(optimizer, loss):
    """One update, the way the trainer makes it."""

    def closure():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    return optimizer.step(closure)


def start(dtype=torch.double):
    return torch.zeros(4, dtype=dtype, requires_grad=True)


def test_every_rule_is_tried_and_says_what_it_is():
    assert {"gd", "sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adadelta", "adam", "adamw", "lbfgs"} < set(
        RULES
    )
    for name, rule in RULES.items():
        assert optim.rule(name) is rule and "θ <- " in rule.equation and rule.lr > 0
        assert rule.needs in ("gradient", "closure", "residuals", "curvature")
        assert set(rule.options) <= set(rule.known) and isinstance(make(name, [start()]), torch.optim.Optimizer)


@every
def test_a_short_step_goes_downhill_and_many_lower_a_convex_loss(name):
    theta = start()
    before = quadratic(theta).item()
    step(make(name, [theta], lr=1e-3), lambda: quadratic(theta))
    assert quadratic(theta).item() < before
    theta = start()
    optimizer = make(name, [theta])
    for _ in range(400):
        step(optimizer, lambda: quadratic(theta))
    assert quadratic(theta).item() < 0.7 * before


@every
def test_it_rests_at_the_minimum(name):
    theta = BEST.clone().requires_grad_()
    optimizer = make(name, [theta], options={"weight_decay": 0.0} if "weight_decay" in RULES[name].known else {})
    for _ in range(3):
        step(optimizer, lambda: quadratic(theta))
    torch.testing.assert_close(theta.detach(), BEST)


@every
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_parameters_and_state_keep_their_dtype(name, dtype):
    theta = start(dtype)
    optimizer = make(name, [theta])
    for _ in range(3):
        step(optimizer, lambda: quadratic(theta))
    kept = [t for s in optimizer.state.values() for t in s.values() if isinstance(t, torch.Tensor) and t.ndim]
    assert theta.dtype == dtype and {t.dtype for t in kept} <= {dtype} and theta.isfinite().all()


@every
def test_from_its_state_in_a_file_it_goes_on_to_the_same_bits(name):
    theta = start()
    optimizer = make(name, [theta])
    for _ in range(4):
        step(optimizer, lambda: quadratic(theta))
    state = parse_tree(dump_tree({"theta": theta.detach(), "optimizer": optimizer.state_dict()}), "here")
    for _ in range(4):
        step(optimizer, lambda: quadratic(theta))
    again = state["theta"].clone().requires_grad_()
    other = make(name, [again])
    other.load_state_dict(state["optimizer"])
    for _ in range(4):
        step(other, lambda: quadratic(again))
    assert torch.equal(again, theta)


@every
def test_it_is_elementwise_exactly_where_the_table_says_so(name):
    """Two halves moved apart or together: the same for every rule that looks at one gradient at a time."""

    def loss(a, b):
        return a.square().sum() * 3 + (b - 1).square().sum() * 0.5

    short = {"max_iter": 2} if "max_iter" in RULES[name].known else {}  # not all the way to the minimum

    def moved(*parts):
        optimizers = [make(name, [p], options=short) for p in parts]
        for _ in range(2):
            for optimizer in optimizers:
                both = parts if len(parts) > 1 else (parts[0][:2], parts[0][2:])
                step(optimizer, lambda both=both: loss(*both))
        return torch.cat(parts).detach()

    begin = torch.tensor([0.5, -0.3, 0.2, 0.9], dtype=torch.double)
    together = moved(begin.clone().requires_grad_())
    apart = moved(begin[:2].clone().requires_grad_(), begin[2:].clone().requires_grad_())
    assert torch.allclose(together, apart, rtol=1e-12) == RULES[name].elementwise


@every
def test_fused_kernels_change_nothing(name):
    if "fused" not in RULES[name].known:
        return
    found = []
    for options in ({}, {"fused": False}):
        theta = start()
        optimizer = make(name, [theta], options=options)
        for _ in range(5):
            step(optimizer, lambda theta=theta: quadratic(theta))
        found.append(theta.detach())
    torch.testing.assert_close(*found)


@every
@pytest.mark.parametrize("lr", [0, -0.1, math.nan, math.inf, "0.1", True])
def test_a_rate_is_a_positive_number(name, lr):
    with pytest.raises(InputError, match=rf"The 'lr' parameter of {name} must be a float in the range \(0, inf\). Got"):
        make(name, [start()], lr=lr)


@every
def test_an_unknown_option_is_answered_with_the_nearest(name):
    with pytest.raises(InputError, match=rf"Unknown option of optimizer '{name}': 'wieght_decay'\..* Known: "):
        make(name, [start()], options={"wieght_decay": 0.1})


@every
def test_parameters_without_a_gradient_stay(name):
    theta, other = start(), torch.ones(3, dtype=torch.double, requires_grad=True)
    optimizer = make(name, [theta, other])
    for _ in range(3):
        step(optimizer, lambda: quadratic(theta))
    assert torch.equal(other, torch.ones(3, dtype=torch.double)) and not torch.equal(theta, start())


@every
def test_groups_have_rates_of_their_own_or_are_refused_in_a_sentence(name):
    fast, slow = start(), start()
    groups = [{"params": [fast]}, {"params": [slow], "lr": 1e-9}]
    if name == "lbfgs":
        with pytest.raises(InputError, match="Optimizer 'lbfgs' refuses what it was given: LBFGS doesn't support"):
            make(name, groups)
        return
    optimizer = make(name, groups)
    for _ in range(3):
        step(optimizer, lambda: quadratic(fast) + quadratic(slow))
    assert slow.detach().abs().max() < 1e-6 < fast.detach().abs().max()


# ---- through the trainer


def problem(name, **training):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()
    x = torch.randn(40, 3, dtype=torch.double)
    source = Rows(x, x[:, 0] - x[:, 1], batch_size=40 if RULES[name].full_batch else 10)
    objective = Supervised(net, lambda raw, y: (raw[:, 0] - y).square())
    return net, Trainer(objective, source, optimizer=name, training=Training(**training), seed=1)


@pytest.fixture(autouse=True)
def kept_generator():
    state = torch.get_rng_state()
    yield
    torch.set_rng_state(state)


@every
def test_the_trainer_trains_with_it_and_goes_on_from_its_state(name):
    net, trainer = problem(name)
    history = iterate(trainer, rounds=20)
    assert history[-1]["loss"] < history[0]["loss"] and all(math.isfinite(row["loss"]) for row in history)
    whole = {k: v.clone() for k, v in net.state_dict().items()}
    _, first = problem(name)
    iterate(first, rounds=8)
    again, second = problem(name)
    second.load_state_dict(parse_tree(dump_tree(first.state_dict()), "here"))
    iterate(second, rounds=12)
    assert all(torch.equal(v, whole[k]) for k, v in again.state_dict().items())


@every
def test_frozen_parameters_stay_to_the_last_bit(name):
    net, trainer = problem(name, freeze=("0.*",))
    before = {k: v.clone() for k, v in net.state_dict().items()}
    iterate(trainer, rounds=5)
    same = [k for k, v in net.state_dict().items() if torch.equal(v, before[k])]
    assert same == ["0.weight", "0.bias"]


def test_an_unknown_rule_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="Unknown optimizer 'adamm'. Did you mean 'adam' or 'adamw'"):
        make("adamm", [start()])
