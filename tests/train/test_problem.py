"""One update as a function of θ: the pair is divided once, penalties and clips have closed forms, closures are pure."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from ftheta.data import Batch, Rows
from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.likelihoods import Bernoulli, Categorical, Gaussian, LearnedGaussian
from ftheta.train import Loss, Objective, Problem, Supervised, Training
from tests.train._toys import Bilinear, line, seeded, square, train


def problem(objective, batches, training=Training(), player=0, **options):
    found = Problem(objective, objective.player_list[player], training, **options)
    found.bind(batches, Draw(0))
    return found


def gradients(objective):
    return torch.cat([p.grad.flatten() for p in objective.parameters()])


def linear_gradient(net, x, y, w):
    """∇ of Σ w (x·θ + b - y)² / Σ w in (θ, b)."""
    with torch.no_grad():
        slope = 2 * w * (net(x)[:, 0] - y) / w.sum()
    return torch.cat([slope @ x, slope.sum()[None]])


# ---- the pair


@given(cuts=st.lists(st.integers(1, 23), max_size=5, unique=True), weighed=st.booleans(), seed=st.integers(0, 100))
def test_micro_batches_of_any_sizes_make_the_gradient_of_the_whole_batch(cuts, weighed, seed):
    (x, y), net = line(seed=seed), seeded(nn.Linear, 3, 1, seed=seed, dtype=torch.float64)
    w = torch.rand(24, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) if weighed else None
    edges = [0, *sorted(cuts), 24]
    parts = [slice(a, b) for a, b in zip(edges, edges[1:], strict=False)]
    found = problem(Supervised(net, square), [Batch(x[p], y[p], None if w is None else w[p]) for p in parts])
    found.gradient()
    expected = linear_gradient(net, x, y, torch.ones_like(y) if w is None else w)
    torch.testing.assert_close(gradients(net), expected, rtol=1e-12, atol=1e-12)
    each = (net(x)[:, 0] - y) ** 2
    value = each.mean() if w is None else (w * each).sum() / w.sum()
    torch.testing.assert_close(found.value(), value.detach(), rtol=1e-12, atol=1e-12)


def test_masked_tokens_count_neither_above_nor_below_the_line():
    """Mask (B, T): the mean is over the tokens that are there, however they fall into micro-batches."""
    x, y = torch.randn(4, 5, 3, dtype=torch.float64), torch.randn(4, 5, dtype=torch.float64)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0]], dtype=torch.float64)
    net = seeded(nn.Linear, 3, 1, dtype=torch.float64)
    objective = Supervised(net, lambda raw, y: (raw[..., 0] - y) ** 2)
    y_dirty = torch.where(mask == 1, y, 1e6)  # what is masked must not matter
    problem(objective, [Batch(x[:1], y_dirty[:1], mask[:1]), Batch(x[1:], y_dirty[1:], mask[1:])]).gradient()
    there = mask == 1
    expected = linear_gradient(net, x[there], y[there], torch.ones(11, dtype=torch.float64))
    torch.testing.assert_close(gradients(net), expected, rtol=1e-12, atol=1e-12)


class Linear(Objective):
    """g·θ for given g, and `once` = the first entry of x times Σ θ: every gradient is known."""

    def __init__(self, g, once=False):
        super().__init__()
        self.g, self.theta, self.once = torch.tensor(g), nn.Parameter(torch.zeros(len(g))), once

    def loss(self, player, batch, draw):
        once = batch.x.flatten()[0] * self.theta.sum() if self.once else None
        return Loss(batch.n * (self.g @ self.theta), float(batch.n), once)


def test_once_comes_from_the_last_micro_batch_and_is_not_divided():
    objective = Linear([1.0, 2.0], once=True)
    found = problem(objective, [Batch(torch.full((3, 1), 100.0)), Batch(torch.full((2, 1), 7.0))])
    found.gradient()
    assert objective.theta.grad.tolist() == [1 + 7, 2 + 7]
    with torch.no_grad():
        objective.theta.fill_(1.0)
    assert found.value().item() == 3 + 2 * 7
    problem(objective, [Batch(torch.full((3, 1), 100.0))]).gradient()
    assert objective.theta.grad.tolist() == [101, 102]


@pytest.mark.parametrize("micro", [1, 2])
def test_a_player_s_gradient_leaves_the_other_player_alone(micro):
    objective, batches = Bilinear(simultaneous=True), [Batch(torch.zeros(1, 1))] * micro
    problem(objective, batches, player=0).gradient()
    assert objective.x.grad.item() == 0.5 and objective.y.grad is None
    problem(objective, batches, player=1).gradient()
    assert objective.y.grad.item() == -1.0 and objective.x.grad.item() == 0.5


def test_gradients_do_not_add_up_from_update_to_update():
    objective = Linear([1.0, 2.0])
    found = problem(objective, [Batch(torch.zeros(2, 1))])
    for _ in range(3):
        found.gradient()
    assert objective.theta.grad.tolist() == [1, 2]


class Known(Linear):
    """A loss that knows its gradient; `says` stands for it, so that one sees who was asked."""

    says: float | None = 5.0

    def gradient(self, player, batch, draw):
        total = self.loss(player, batch, draw)
        return None if self.says is None else (total, [(self.theta, torch.full_like(self.theta, self.says))])


def test_an_objective_that_knows_its_gradient_is_asked_where_an_update_is_one_batch():
    objective, batch = Known([1.0, 2.0]), Batch(torch.zeros(2, 1))
    found = problem(objective, [batch], Training(clip_value=4.0))
    found.gradient()
    assert objective.theta.grad.tolist() == [4, 4] and len(found.first) == 1  # clipped like any other
    problem(objective, [batch, batch]).gradient()
    assert objective.theta.grad.tolist() == [1, 2]
    objective.says = None
    problem(objective, [batch]).gradient()
    assert objective.theta.grad.tolist() == [1, 2]


def test_what_is_frozen_gets_no_gradient_in_closed_form_either():
    objective = Known([1.0, 2.0])
    objective.theta.requires_grad_(False)
    problem(objective, [Batch(torch.zeros(2, 1))]).gradient()
    assert objective.theta.grad is None


def test_a_gradient_is_not_taken_for_that_of_a_loss_further_down():
    class Twice(Known):
        def loss(self, player, batch, draw):
            found = super().loss(player, batch, draw)
            return found._replace(total=2 * found.total)

    objective = Twice([1.0, 2.0])
    problem(objective, [Batch(torch.zeros(2, 1))]).gradient()
    assert objective.theta.grad.tolist() == [2, 4]


# ---- penalties


X, Y = torch.tensor([[0.0], [1], [2], [3]], dtype=torch.float64), torch.tensor([1.0, 3, 2, 5], dtype=torch.float64)


def ridge(training=Training(), penalty=None):
    """(intercept, slope) and the last row of the history, by L-BFGS on the mean of squared errors."""
    net = nn.Linear(1, 1).double()
    tight = replace(training, options={"tolerance_grad": 1e-10, "max_iter": 1})
    objective = Supervised(net, square, penalty)
    _, history = train(objective, Rows(X, Y, batch_size=4), rounds=20, optimizer="lbfgs", training=tight)
    return [net.bias.item(), net.weight.item()], history[-1]


@pytest.mark.ledger("C148", covers="ftheta.train.Training")
def test_l2_penalises_weights_and_biases_only_when_asked():
    """λ = 10 beside the sum of squared errors is l2 = λ / n = 2.5 beside their mean."""
    slope_only, row = ridge(Training(l2=10 / 4))
    both, _ = ridge(Training(l2=10 / 4, penalize_bias=True))
    assert slope_only == pytest.approx([2.2, 5.5 / 15], abs=1e-6)
    design = torch.cat([torch.ones_like(X), X], 1)
    exact = torch.linalg.solve(design.T @ design + 10 * torch.eye(2), design.T @ Y).tolist()
    assert both == pytest.approx(exact, abs=1e-6)
    assert slope_only == pytest.approx([2.2, 0.367], abs=1e-3) and both == pytest.approx([0.44, 0.807], abs=1e-3)
    assert row["penalty"] == pytest.approx(2.5 * (5.5 / 15) ** 2, rel=1e-6)


@pytest.mark.ledger(
    "C146",
    covers="ftheta.train.Supervised",
    says="θ̂ = argmax [Σ l_i(x_i, y_i) + λ g(θ)]",
    printed="argmax",
    right="argmin",
)
def test_any_penalty_is_minimised_together_with_the_loss_and_reported_apart(ledger):
    """Slopes 1.078, 0.917, 0.367 for λ = 0.1, 1, 10; printed is argmax, which does not exist: F has no upper bound."""
    for strength, slope in ((0.1, 1.078), (1.0, 0.917), (10.0, 0.367)):
        found, row = ridge(penalty=lambda module, s=strength: s / 4 * module.weight.square().sum())
        assert found[1] == pytest.approx(slope, abs=5e-4) == 5.5 / (5 + strength)
        assert row["penalty"] == pytest.approx(strength / 4 * found[1] ** 2, rel=1e-5)
        assert row["loss"] == pytest.approx(((X[:, 0] * found[1] + found[0] - Y) ** 2).mean().item(), rel=1e-5)

    def f(bias, weight):
        return ((X[:, 0] * weight + bias - Y) ** 2).mean().item() + 10 / 4 * weight**2

    around = [f(found[0] + d, found[1] + e) for d in (-0.1, 0, 0.1) for e in (-0.1, 0, 0.1) if (d, e) != (0, 0)]
    ledger("argmin" if f(*found) < min(around) else "argmax" if f(*found) > max(around) else "neither")


def test_penalties_enter_value_and_gradient_alike():
    """Closure and gradient agree by central differences, weights with two axes only."""
    net = seeded(lambda: nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1))).double()
    (x, y), knobs = line(), Training(l2=0.3, l1=0.2)
    found = problem(Supervised(net, square), [Batch(x[:5], y[:5]), Batch(x[5:], y[5:])], knobs)
    value = found()
    analytic = gradients(net)
    theta, slopes = nn.utils.parameters_to_vector(net.parameters()).detach(), []
    for i in range(len(theta)):
        ends = []
        for sign in (1, -1):
            moved = theta.clone()
            moved[i] += sign * 1e-6
            nn.utils.vector_to_parameters(moved, net.parameters())
            ends.append(found.value())
        slopes.append((ends[0] - ends[1]) / 2e-6)
    nn.utils.vector_to_parameters(theta, net.parameters())
    torch.testing.assert_close(analytic, torch.stack(slopes), rtol=1e-6, atol=1e-7)
    expected = sum(0.3 * w.square().sum() + 0.2 * w.abs().sum() for w in (net[0].weight, net[2].weight))
    torch.testing.assert_close(found.penalty(), expected.detach(), rtol=1e-12, atol=0)
    torch.testing.assert_close(value, square(net(x), y).mean().detach() + expected.detach(), rtol=1e-12, atol=0)


# ---- clipping


@pytest.mark.parametrize(
    ("knobs", "expected"),
    [
        ({"clip_norm": 1.0}, [0.6, 0.8]),
        ({"clip_norm": 6.0}, [3, 4]),
        ({"clip_value": 3.5}, [3, 3.5]),
        ({"clip_value": 2.0, "clip_norm": 1.0}, [math.sqrt(0.5)] * 2),
    ],
)
def test_gradients_are_clipped_by_norm_and_by_value(knobs, expected):
    objective = Linear([3.0, 4.0])
    problem(objective, [Batch(torch.zeros(2, 1))], Training(**knobs)).gradient()
    assert objective.theta.grad.tolist() == pytest.approx(expected, rel=1e-5)


# ---- purity


class Watched(Supervised):
    """Notes what each evaluation sees: the running mean before it, and which units are silenced."""

    def __init__(self):
        net = nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.Dropout(0.5), nn.Linear(6, 1)).double()
        super().__init__(net, square)
        self.means, self.masks = [], []
        net[2].register_forward_hook(lambda module, given, out: self.masks.append(out == 0))

    def loss(self, player, batch, draw):
        self.means.append(self.module[1].running_mean.clone())
        return super().loss(player, batch, draw)


def test_a_line_search_sees_the_same_statistics_and_the_same_noise_at_every_evaluation():
    objective, (x, y) = seeded(Watched), line()
    trainer, _ = train(objective, Rows(x, y, batch_size=24), steps=1, optimizer="lbfgs")
    assert len(objective.masks) > 5
    assert all(m.equal(objective.means[0]) for m in objective.means) and not objective.means[0].any()
    assert all(m.equal(objective.masks[0]) for m in objective.masks) and objective.masks[0].any()
    assert objective.module[1].num_batches_tracked == 1  # the statistics moved once, not once an evaluation
    first = objective.masks[0]
    trainer.advance()
    assert objective.masks[-1].ne(first).any() and objective.means[-1].any()


def test_a_pure_problem_repeats_its_value_and_an_impure_one_moves_the_statistics():
    (x, y), objective = line(), seeded(Watched)
    pure = problem(objective, [Batch(x, y)], pure=True)
    values = [pure().item() for _ in range(3)] + [pure.value().item()]
    assert values == values[:1] * 4 and objective.module[1].num_batches_tracked == 1
    other = problem(objective, [Batch(x, y)])
    other.gradient(), other.gradient()
    assert objective.module[1].num_batches_tracked == 3


def test_micro_batches_draw_noise_of_their_own():
    (x, y), objective = line(), seeded(Watched)
    problem(objective, [Batch(x, y), Batch(x, y)]).gradient()
    assert objective.masks[0].ne(objective.masks[1]).any()


# ---- second order


def net_and_rows(seed=0, dtype=torch.float64):
    net = seeded(lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), seed=seed).to(dtype)
    return net, *line(dtype=dtype)


def moved(found, of, step=1e-5):
    """Central differences of a vector function of θ: (..., P)."""
    theta, columns = nn.utils.parameters_to_vector(found.parameters).detach().clone(), []
    for i in range(len(theta)):
        ends = []
        for sign in (1, -1):
            shifted = theta.clone()
            shifted[i] += sign * step
            nn.utils.vector_to_parameters(shifted, found.parameters)
            ends.append(of())
        columns.append((ends[0] - ends[1]) / (2 * step))
    nn.utils.vector_to_parameters(theta, found.parameters)
    return torch.stack(columns, -1)


def slope(found):
    found.gradient()
    return torch.cat([p.grad.flatten() for p in found.parameters]).clone()


def gathered(batch, cuts, weight=None):
    return [Batch(batch.x[c], batch.y[c], None if weight is None else weight[c]) for c in cuts]


PARTS = [slice(0, 24)], [slice(0, 7), slice(7, 9), slice(9, 24)]


@pytest.mark.parametrize("cuts", PARTS, ids=["whole", "parts"])
@pytest.mark.parametrize("weighed", [False, True])
def test_the_hessian_is_the_slope_of_the_gradient(cuts, weighed):
    """With an l2 penalty, a penalty function of its own, weights and micro-batches."""
    net, x, y = net_and_rows()
    w = torch.rand(24, dtype=torch.float64) + 0.1 if weighed else None
    objective = Supervised(net, Bernoulli(), penalty=lambda module: (module[0].weight ** 4).sum())
    found = problem(objective, gathered(Batch(x, (y > 0).double()), cuts, w), Training(l2=0.1))
    hessian = found.hessian()
    torch.testing.assert_close(hessian, moved(found, lambda: slope(found)), rtol=1e-6, atol=1e-7)
    assert torch.equal(hessian, hessian.T)


@pytest.mark.parametrize("cuts", PARTS, ids=["whole", "parts"])
@pytest.mark.parametrize("weighed", [False, True])
def test_squares_are_residuals_with_their_penalty(cuts, weighed):
    net, x, y = net_and_rows()
    w = torch.rand(24, dtype=torch.float64) + 0.1 if weighed else None
    found = problem(Supervised(net, Gaussian(0.5)), gathered(Batch(x, y), cuts, w), Training(l2=0.1))
    cost, g, matrix = found.squares()
    root = (torch.ones(24, dtype=torch.float64) / 24 if w is None else w / w.sum()).sqrt() / 0.5
    jacobian = moved(found, lambda: root * (net(x)[:, 0] - y).detach())  # of r with mean loss ‖r‖² / 2 + constant
    constant = math.log(0.5) + 0.5 * math.log(2 * math.pi)
    torch.testing.assert_close(cost, found.value() - constant, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(g, slope(found), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(matrix, jacobian.T @ jacobian + found.decay.diag(), rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(matrix, found.ggn(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("bias", [False, True])
def test_decay_is_the_curvature_of_the_penalty(bias):
    net, x, y = net_and_rows()
    plain = problem(Supervised(net, Gaussian()), [Batch(x, y)])
    found = problem(Supervised(net, Gaussian()), [Batch(x, y)], Training(l2=0.3, penalize_bias=bias))
    torch.testing.assert_close(found.hessian() - plain.hessian(), found.decay.diag(), rtol=1e-9, atol=1e-12)
    assert found.decay.tolist() == [0.6] * 12 + [0.6 * bias] * 4 + [0.6] * 4 + [0.6 * bias]
    assert not plain.decay.any()


@pytest.mark.parametrize("cuts", PARTS, ids=["whole", "parts"])
def test_the_gauss_newton_matrix_of_classes_is_a_sum_over_rows(cuts):
    """Σ w Jᵀ (diag p - ppᵀ) J / Σ w, with J by finite differences."""
    net = seeded(lambda: nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 4))).double()
    x, _ = line()
    w = torch.rand(24, dtype=torch.float64) + 0.1
    found = problem(Supervised(net, Categorical()), gathered(Batch(x, torch.arange(24) % 4), cuts, w), Training(l2=0.1))
    jacobian = moved(found, lambda: net(x).detach())  # (24, 4, P)
    p = net(x).detach().softmax(-1)
    expected = (
        sum(w[i] * jacobian[i].T @ (p[i].diag() - torch.outer(p[i], p[i])) @ jacobian[i] for i in range(24)) / w.sum()
    )
    torch.testing.assert_close(found.ggn(), expected + found.decay.diag(), rtol=1e-6, atol=1e-8)


def test_a_batch_norm_couples_rows_and_its_statistics_stay():
    """Residuals, matrices and values of a pure problem see the same buffers, whatever came before."""
    net = seeded(lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1))).double()
    x, y = line()
    found = problem(Supervised(net, Gaussian()), [Batch(x, y)], pure=True)
    before = found.value()
    _, g, matrix = found.squares()
    torch.testing.assert_close(g, slope(found), rtol=1e-9, atol=1e-11)
    jacobian = moved(found, lambda: net(x)[:, 0].detach()) / 24**0.5
    torch.testing.assert_close(matrix, jacobian.T @ jacobian, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(found.hessian(), moved(found, lambda: slope(found)), rtol=1e-5, atol=1e-7)
    assert found.value() == before and net[1].num_batches_tracked == 1


def test_second_derivatives_see_the_noise_of_the_update():
    net = seeded(lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 1))).double()
    x, y = line()
    found = problem(Supervised(net, Gaussian()), [Batch(x, y)])
    _, g, _ = found.squares()
    torch.rand(3)  # somebody else draws
    torch.testing.assert_close(g, slope(found), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(found.hessian(), moved(found, lambda: slope(found)), rtol=1e-6, atol=1e-7)


# ---- needs


@pytest.mark.parametrize(
    ("objective", "training", "needs", "words"),
    [
        (Supervised(nn.Linear(3, 1), Bernoulli()), Training(), "residuals", "Bernoulli gives no residuals, which this"),
        (Supervised(nn.Linear(3, 1), square), Training(), "residuals", "Supervised gives no residuals"),
        (Linear([1.0]), Training(), "residuals", "Linear gives no residuals"),
        (Supervised(nn.Linear(3, 1), Gaussian()), Training(l1=1.0), "residuals", "in which l1 cannot enter"),
        (
            Supervised(nn.Linear(3, 1), Gaussian(), lambda m: 0),
            Training(),
            "residuals",
            "which a penalty function cannot",
        ),
        (Supervised(nn.Linear(3, 1), square), Training(), "curvature", "Supervised has no likelihood"),
        (Linear([1.0]), Training(), "curvature", "Linear has no likelihood, whose curvature this optimizer needs"),
        (Supervised(nn.Linear(3, 1), LearnedGaussian()), Training(), "curvature", "LearnedGaussian learns a parameter"),
    ],
)
def test_a_need_that_is_not_met_is_one_sentence(objective, training, needs, words):
    with pytest.raises(InputError, match=words):
        problem(objective, [], training).check(needs)
    problem(objective, [], training).check("closure")
