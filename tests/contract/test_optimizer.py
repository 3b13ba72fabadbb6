"""What every rule of the optimizer table owes. Being in `RULES` enrols."""

import math

import pytest
import torch
from torch import nn

from ftheta import optim
from ftheta.data import Batch, Rows
from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.likelihoods import Gaussian
from ftheta.optim import RULES, ClosureOptimizer, make
from ftheta.store import dump_tree, parse_tree
from ftheta.train import Player, Problem, Supervised, Trainer, Training, iterate

every = pytest.mark.parametrize("name", RULES)
BEST = torch.tensor([0.7, -0.4, 0.5, 0.2], dtype=torch.double)
ROWS = torch.tensor(
    [[1.0, 0, 0, 0], [0, 1.7, 0, 0], [0, 0, 0.7, 0], [0, 0, 0, 1.4], [0.7, 0.7, 0.7, 0.7]], dtype=torch.double
)


class Line(nn.Module):
    """raw = x · θ, θ in one or several parts; `unused` is a parameter that nothing depends on."""

    def __init__(self, *parts, unused=()):
        super().__init__()
        self.parts, self.unused = nn.ParameterList(parts), nn.ParameterList(unused)

    def forward(self, x):
        return x @ torch.cat(list(self.parts))[:, None]


def bowl(*parts, mine=None, unused=()):
    """Least squares with its minimum at BEST, as the problem of an update: it has residuals and curvature."""
    objective = Supervised(Line(*parts, unused=unused), Gaussian())
    player = Player("loss", list(parts if mine is None else mine) + list(unused))
    problem = Problem(objective, player, Training(), pure=True)
    x = ROWS.to(parts[0].dtype)
    problem.bind([Batch(x, x @ BEST.to(x))], Draw(0).at("train", 0))
    return problem


def step(optimizer, problem):
    """One update, the way the trainer makes it."""
    if isinstance(optimizer, ClosureOptimizer | torch.optim.LBFGS):
        optimizer.step(problem)
    else:
        problem.gradient()
        optimizer.step()


def height(problem):
    """The loss above its least value."""
    return float(problem.value()) - 0.5 * math.log(2 * math.pi)


def start(dtype=torch.double, n=4):
    return nn.Parameter(torch.zeros(n, dtype=dtype))


def test_every_rule_is_tried_and_says_what_it_is():
    torchs = "gd sgd momentum nesterov adagrad rmsprop adadelta adam adamw"
    ours = "normalized-gd ema-momentum steepest cg bfgs lbfgs newton gauss-newton lm natural"
    assert {*torchs.split(), *ours.split()} <= set(RULES)
    for name, rule in RULES.items():
        assert optim.rule(name) is rule and "θ <- " in rule.equation and rule.lr > 0
        assert rule.needs in ("gradient", "closure", "residuals", "curvature")
        assert set(rule.options) <= set(rule.known) and isinstance(make(name, [start()]), torch.optim.Optimizer)
        assert (rule.needs == "gradient") or (rule.full_batch and not rule.elementwise)


@every
def test_a_short_step_goes_downhill_and_many_lower_a_convex_loss(name):
    theta = start()
    problem = bowl(theta)
    before = height(problem)
    step(make(name, [theta], lr=1e-3), problem)
    assert height(problem) < before
    theta = start()
    problem, optimizer = bowl(theta), make(name, [theta])
    for _ in range(100 if RULES[name].needs == "gradient" else 5):
        step(optimizer, problem)
    assert height(problem) < 0.7 * before


@every
def test_it_rests_at_the_minimum(name):
    theta = nn.Parameter(BEST.clone())
    problem = bowl(theta)
    optimizer = make(name, [theta], options={"weight_decay": 0.0} if "weight_decay" in RULES[name].known else {})
    for _ in range(3):
        step(optimizer, problem)
    torch.testing.assert_close(theta.detach(), BEST)


@every
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_parameters_and_state_keep_their_dtype(name, dtype):
    theta = start(dtype)
    problem, optimizer = bowl(theta), make(name, [theta])
    for _ in range(3):
        step(optimizer, problem)
    kept = [t for s in optimizer.state.values() for t in s.values() if isinstance(t, torch.Tensor) and t.ndim]
    assert theta.dtype == dtype and {t.dtype for t in kept if t.is_floating_point()} <= {dtype}
    assert theta.isfinite().all()


@every
def test_from_its_state_in_a_file_it_goes_on_to_the_same_bits(name):
    theta = start()
    problem, optimizer = bowl(theta), make(name, [theta], lr=RULES[name].lr / 3)
    for _ in range(2):
        step(optimizer, problem)
    state = parse_tree(dump_tree({"theta": theta.detach(), "optimizer": optimizer.state_dict()}), "here")
    for _ in range(4):
        step(optimizer, problem)
    again = nn.Parameter(state["theta"].clone())
    other, same = make(name, [again]), bowl(again)
    other.load_state_dict(state["optimizer"])
    for _ in range(4):
        step(other, same)
    assert torch.equal(again, theta)


@every
def test_it_is_elementwise_exactly_where_the_table_says_so(name):
    """Two halves moved apart or together, from gradients taken at the same place."""
    if RULES[name].needs != "gradient":
        return

    def moved(*parts):
        problems, optimizers = [bowl(*parts, mine=[p]) for p in parts], [make(name, [p]) for p in parts]
        for _ in range(2):
            for problem in problems:
                problem.gradient()
            for optimizer in optimizers:
                optimizer.step()
        return torch.cat(parts).detach()

    begin = torch.tensor([0.5, -0.3, 0.2, 0.9], dtype=torch.double)
    together = moved(nn.Parameter(begin.clone()))
    apart = moved(nn.Parameter(begin[:2].clone()), nn.Parameter(begin[2:].clone()))
    assert torch.allclose(together, apart, rtol=1e-12) == RULES[name].elementwise


@every
def test_fused_kernels_change_nothing(name):
    if "fused" not in RULES[name].known:
        return
    found = []
    for options in ({}, {"fused": False}):
        theta = start()
        problem, optimizer = bowl(theta), make(name, [theta], options=options)
        for _ in range(5):
            step(optimizer, problem)
        found.append(theta.detach())
    torch.testing.assert_close(*found)


@every
def test_a_rate_is_a_positive_number(name):
    said = rf"The 'lr' parameter of {name} must be a float in the range \(0, inf\). Got"
    for lr in (0, -0.1, math.nan, math.inf, "0.1", True):
        with pytest.raises(InputError, match=said):
            make(name, [start()], lr=lr)


@every
def test_an_unknown_option_is_answered_with_the_nearest(name):
    with pytest.raises(InputError, match=rf"Unknown option of optimizer '{name}': 'wieght_decay'\..* Known: "):
        make(name, [start()], options={"wieght_decay": 0.1})


@every
def test_parameters_without_a_gradient_stay(name):
    if name == "genetic":  # it looks at values alone, on which these parameters have no say
        return
    theta, other = start(), nn.Parameter(torch.ones(3, dtype=torch.double))
    problem, optimizer = bowl(theta, unused=[other]), make(name, [theta, other])
    for _ in range(3):
        step(optimizer, problem)
    assert torch.equal(other, torch.ones(3, dtype=torch.double)) and not torch.equal(theta, start())


@every
def test_groups_have_rates_of_their_own_or_are_refused_in_a_sentence(name):
    fast, slow = start(n=2), start(n=2)
    groups = [{"params": [fast]}, {"params": [slow], "lr": 1e-9}]
    if RULES[name].needs != "gradient":
        with pytest.raises(InputError, match=f"Optimizer '{name}' refuses what it was given: .*groups"):
            make(name, groups)
        return
    problem, optimizer = bowl(fast, slow), make(name, groups)
    for _ in range(3):
        step(optimizer, problem)
    assert slow.detach().abs().max() < 1e-6 < fast.detach().abs().max()


def problem(name, **training):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()
    x = torch.randn(40, 3, dtype=torch.double)
    source = Rows(x, x[:, 0] - x[:, 1], batch_size=40 if RULES[name].full_batch else 10)
    objective = Supervised(net, Gaussian())
    return net, Trainer(objective, source, optimizer=name, training=Training(**training), seed=1)


@every
def test_the_trainer_trains_with_it_and_goes_on_from_its_state(name):
    net, trainer = problem(name)
    history = iterate(trainer, rounds=6)
    assert history[-1]["loss"] < history[0]["loss"] and all(math.isfinite(row["loss"]) for row in history)
    whole = {k: v.clone() for k, v in net.state_dict().items()}
    _, first = problem(name)
    iterate(first, rounds=2)
    again, second = problem(name)
    second.load_state_dict(parse_tree(dump_tree(first.state_dict()), "here"))
    iterate(second, rounds=4)
    assert all(torch.equal(v, whole[k]) for k, v in again.state_dict().items())


@every
@pytest.mark.ledger("B035", covers="ftheta.train.Training")
def test_frozen_parameters_stay_to_the_last_bit(name):
    net, trainer = problem(name, freeze=("0.*",))
    before = {k: v.clone() for k, v in net.state_dict().items()}
    iterate(trainer, rounds=5)
    assert [k for k, v in net.state_dict().items() if torch.equal(v, before[k])] == ["0.weight", "0.bias"]


def test_an_unknown_rule_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="Unknown optimizer 'adamm'. Did you mean 'adam' or 'adamw'"):
        make("adamm", [start()])
