"""The genetic algorithm: what each of its parts does alone, and functions that have no gradient."""

import math

import pytest
import torch

from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.optim import Genetic, make


class Box:
    """A black box: F and a draw, nothing else."""

    def __init__(self, f, theta, seed=0):
        self.f, self.theta, self.draw, self.calls = f, theta, Draw(seed), 0

    def value(self):
        self.calls += 1
        return self.f(self.theta.detach())


def grow(f, theta, generations, seed=0, **options):
    """The rule after some generations from θ, and the loss after each."""
    theta = torch.as_tensor(theta, dtype=torch.double).clone().requires_grad_()
    rule, box, losses = Genetic([theta], **options), Box(f, theta, seed), []
    for _ in range(generations):
        rule.step(box)
        losses.append(f(theta.detach()).item())
    return rule, box, losses


def stairs(theta):
    """Flat almost everywhere, so that a gradient says nothing; least at 0."""
    return theta.abs().mul(4).floor().sum()


def rastrigin(theta):
    """A bowl with a dent at every whole number; least at 0."""
    return (theta.square() - 10 * torch.cos(2 * math.pi * theta) + 10).sum()


@pytest.mark.middle
@pytest.mark.ledger("A114", covers="ftheta.optim.Genetic")
def test_it_descends_stairs_and_leaves_dents_that_a_gradient_cannot():
    _, _, losses = grow(stairs, [3.0, -4.0, 5.0], 60)
    assert losses[-1] == 0 < losses[0]
    for seed in range(3):
        _, box, _ = grow(rastrigin, [4.0, -3.0], 60, seed, lr=0.5)
        assert box.theta.detach().abs().max() < 0.3  # the dent in the middle


def test_the_loss_never_rises_and_a_generation_costs_one_value_a_member():
    rule, box, losses = grow(rastrigin, [4.0, -3.0], 30, population=12)
    assert all(b <= a for a, b in zip(losses, losses[1:], strict=False)) and box.calls == 30 * 12
    before = losses[-1]
    assert before == rule.memory["values"].min()  # θ is the best member
    assert rule.step(box).item() == before  # F at the start of the update
    assert rule.stop_reason == "" and set(rule.info) == {"population_loss", "population_spread"}


def generation(values, **options):
    """What one generation makes of the members 0, 1, ..., M - 1, each with 400 equal parameters, and given losses."""
    m = len(values)
    theta = torch.zeros(400, dtype=torch.double, requires_grad=True)
    rule = Genetic([theta], **{"population": m, "elite": 1, "mutation": 0.0} | options)
    members = torch.arange(m, dtype=torch.double)[:, None].expand(m, 400)
    rule.state[theta].update(generation=0, members=members, values=torch.tensor(values, dtype=torch.double))
    rule.step(Box(lambda t: t.sum(), theta))
    return rule.memory["members"]


def test_the_best_survive_unchanged_in_order():
    found = generation([5.0, 1.0, 4.0, 2.0], elite=3)
    assert found[:3, 0].tolist() == [1, 3, 2] and (found[:3] == found[:3, :1]).all()


def test_a_child_has_each_parameter_from_one_of_two_parents_evenly():
    for child in generation([0.0] * 40, rivals=1)[1:]:
        kinds, counts = child.unique(return_counts=True)
        assert len(kinds) <= 2 and (len(kinds) == 1 or 140 < counts.min() <= 200)


def test_a_share_of_the_parameters_is_mutated_by_the_rate():
    child = generation([0.0, *[9.0] * 30], rivals=500, mutation=0.25, lr=0.7)[1:]  # all of the best, which is 0
    moved = child[child != 0]
    assert moved.numel() / child.numel() == pytest.approx(0.25, rel=0.05)
    assert moved.std().item() == pytest.approx(0.7, rel=0.05) and moved.mean().item() == pytest.approx(0, abs=0.05)


def test_the_draw_decides_and_every_generation_draws_anew():
    a, b, c = (grow(rastrigin, [4.0, -3.0], 5, seed)[0].memory["members"] for seed in (1, 1, 2))
    assert torch.equal(a, b) and not torch.equal(a, c)
    rule, box, _ = grow(lambda t: t.sum() * 0, torch.zeros(5), 2, elite=1, rivals=1, mutation=1.0)
    before = rule.memory["members"][1:]
    rule.step(box)
    noise = [members - members.round() for members in (before, rule.memory["members"][1:])]
    assert not torch.allclose(noise[0], noise[1])


def test_members_without_a_finite_loss_lose_and_if_all_have_none_it_says_so_and_stays():
    rule, _, losses = grow(lambda t: torch.where(t[0] > 0, t.square().sum(), torch.nan), [3.0, 1.0], 30)
    assert losses[-1] < 0.05 and rule.stop_reason == ""
    rule, box, _ = grow(lambda t: t.sum() * torch.nan, [3.0, 1.0], 1)
    assert rule.stop_reason == "no member of the population has a finite loss" and box.theta.tolist() == [3.0, 1.0]


@pytest.mark.parametrize(
    "options", [{"elite": 50}, {"elite": 0}, {"rivals": 0}, {"mutation": 1.5}, {"spread": -1}, {"spread": math.nan}]
)
def test_options_out_of_range_are_refused_with_what_is_needed(options):
    with pytest.raises(InputError, match="Optimizer 'genetic' refuses .*: 0 < elite < population, rivals >= 1"):
        make("genetic", [torch.zeros(2, requires_grad=True)], options=options)
