"""Objectives: what each of five toys must do by its closed form, and a loss that says what it was given."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ftheta.data import Batch, Rows
from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.likelihoods import Bernoulli, Categorical, Gaussian
from ftheta.train import Loss, Objective, Player, Problem, Supervised, Trainer, Training
from tests.train._toys import (
    RBM,
    WGAN,
    Bilinear,
    Distillation,
    TargetNet,
    binary,
    exact_log_prob,
    line,
    same,
    seeded,
    train,
)


def orbit(objective, lr, steps):
    """(x, y) after 0, 1, ... steps of gradient descent and ascent: (steps + 1, 2)."""
    trainer = Trainer(objective, Rows(torch.zeros(1, 1), batch_size=1), optimizer="sgd", lr=lr)
    points = [[objective.x.item(), objective.y.item()]]
    for _ in range(steps):
        trainer.advance()
        points.append([objective.x.item(), objective.y.item()])
    return np.array(points)


@pytest.mark.parametrize("lr", [0.05, 0.3])
def test_simultaneous_play_spirals_out_by_the_root_of_one_plus_lr_squared(lr):
    """(x, y) <- [[1, -η], [η, 1]] (x, y): a rotation times √(1 + η²)."""
    found = orbit(Bilinear(simultaneous=True), lr, 40)
    step = np.array([[1, -lr], [lr, 1]])
    expected = [np.linalg.matrix_power(step, t) @ [1.0, 0.5] for t in range(41)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    norms = np.linalg.norm(found, axis=1)
    np.testing.assert_allclose(norms[1:] / norms[:-1], np.sqrt(1 + lr**2), rtol=1e-12)


@pytest.mark.parametrize("lr", [0.05, 0.3])
def test_alternating_play_stays_on_an_ellipse(lr):
    """(x, y) <- [[1, -η], [η, 1 - η²]] (x, y) has determinant 1 and keeps x² - η x y + y²."""
    found = orbit(Bilinear(simultaneous=False), lr, 400)
    step = np.array([[1, -lr], [lr, 1 - lr**2]])
    expected = [np.linalg.matrix_power(step, t) @ [1.0, 0.5] for t in range(401)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    x, y = found.T
    kept = x**2 - lr * x * y + y**2
    np.testing.assert_allclose(kept, kept[0], rtol=1e-12)
    assert np.linalg.norm(found, axis=1).max() < 1.3


def wgan_data():
    return 3 + 0.5 * torch.randn(256, 1, generator=torch.Generator().manual_seed(0))


def test_a_wgan_moves_its_critic_five_times_for_one_move_of_the_generator():
    objective = seeded(WGAN)
    trainer, moved = Trainer(objective, Rows(wgan_data(), batch_size=64), optimizer="rmsprop", lr=0.01), []
    with trainer.scope():
        for _ in range(12):
            before = objective.weights()
            trainer.advance()
            now = objective.weights()
            moved.append({name.split(".")[0] for name in now if not torch.equal(now[name], before[name])})
            assert all((p.abs() <= WGAN.bound).all() for p in objective.critic.parameters())
    assert moved == ([{"critic"}] * 5 + [{"generator"}]) * 2
    assert trainer.optimizers["generator"].param_groups[0]["lr"] == 0.05  # his own
    assert trainer.optimizers["critic"].param_groups[0]["lr"] == 0.01


def test_the_gradient_of_contrastive_divergence_is_exact_with_exact_fantasies():
    """With every state as a particle, weighed by its probability, it is ∇ of the mean -log p, by enumeration."""
    rbm, data = seeded(RBM, chains=16), binary(4)[[0, 3, 3, 7, 12]]
    rbm.chains.copy_(binary(4))
    rbm.share.copy_(exact_log_prob(rbm, binary(4)).exp().detach())
    assert rbm.share.sum().item() == pytest.approx(1, abs=1e-12)
    problem = Problem(rbm, rbm.player_list[0], Training())
    problem.bind([Batch(data[:2]), Batch(data[2:])], Draw(0))
    problem.gradient()
    expected = torch.autograd.grad(-exact_log_prob(rbm, data).mean(), [rbm.W, rbm.b, rbm.c])
    for p, truth in zip((rbm.W, rbm.b, rbm.c), expected, strict=True):
        torch.testing.assert_close(p.grad, truth, rtol=1e-12, atol=1e-12)


def test_chains_advance_once_an_update_and_lie_in_the_checkpoint():
    rbm = seeded(RBM)
    trainer = Trainer(rbm, Rows(binary(4), batch_size=4), optimizer="sgd", lr=0.1, training=Training(accumulate=2))
    expected = rbm.chains.clone()
    for step in range(2):
        trainer.advance()
        here = Draw(0).at("train", step, "after", "loss").generator("gibbs")
        with torch.no_grad():  # after the update of θ
            h = torch.bernoulli(torch.sigmoid(rbm.c + expected @ rbm.W.T), generator=here)
            expected = torch.bernoulli(torch.sigmoid(rbm.b + h @ rbm.W), generator=here)
        assert torch.equal(rbm.chains, expected)
    assert torch.equal(trainer.state_dict()["objective"]["chains"], expected)


def test_a_target_network_follows_by_its_closed_form():
    """θ' = θ - η (θ - 1 - γ θ̄),  θ̄' = θ̄ + τ (θ' - θ̄): linear, with its fixed point at 1 / (1 - γ) = 2."""
    lr, objective = 0.2, TargetNet()
    trainer, _ = train(objective, steps=60, optimizer="sgd", lr=lr)
    gamma, tau = TargetNet.gamma, TargetNet.tau
    step = np.array([[1 - lr, lr * gamma], [tau * (1 - lr), 1 - tau + tau * lr * gamma]])
    expected = 2 + np.linalg.matrix_power(step, 60) @ [0 - 2, 4 - 2]
    found = [objective.theta.item(), objective.target.item()]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert trainer.state_dict()["objective"]["target"].item() == found[1]
    assert [name for name, _ in objective.named_parameters()] == ["theta"]


def test_a_teacher_stays_in_evaluation_mode_as_he_is_and_out_of_every_state():
    objective, (x, _) = seeded(Distillation), line(dtype=torch.float32)
    before, modes = {k: v.clone() for k, v in objective.teacher.state_dict().items()}, []
    objective.teacher[2].register_forward_hook(lambda module, given, out: modes.append(module.training))
    trainer, history = train(objective, Rows(x, batch_size=8), rounds=40, optimizer="adam", lr=0.05)
    assert modes == [False] * 120 and objective.student.training
    assert same(dict(objective.teacher.state_dict()), before)
    assert all(p.grad is None for p in objective.teacher.parameters())
    assert list(trainer.weights()) == list(trainer.state_dict()["objective"]) == ["student.weight", "student.bias"]
    assert {id(p) for p in objective.player_list[0].tensors()} == {id(p) for p in objective.student.parameters()}


def test_a_state_without_the_teacher_goes_back_into_an_objective_with_one():
    one, other = seeded(Distillation), seeded(Distillation, seed=1)
    teacher = {k: v.clone() for k, v in other.teacher.state_dict().items()}
    other.set_weights(one.weights())
    assert same(other.weights(), one.weights()) and same(dict(other.teacher.state_dict()), teacher)


class Least(Objective):
    """The least that an objective says."""

    def __init__(self):
        super().__init__()
        self.w, self.fixed = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(1), requires_grad=False)

    def loss(self, player, batch, draw):
        return Loss(*batch.sum((batch.x @ self.w) ** 2))


def test_groups_of_a_player_keep_their_own_rate():
    class Groups(Least):
        def players(self):
            self.v = nn.Parameter(torch.ones(2))
            return (Player("loss", [{"params": [self.w], "lr": 0.5}, {"params": [self.v]}], {"momentum": 0.5}),)

    objective = Groups()
    trainer, _ = train(objective, steps=0, optimizer="sgd", lr=0.1)
    groups = trainer.optimizers["loss"].param_groups
    assert [g["lr"] for g in groups] == [0.5, 0.1] and [g["momentum"] for g in groups] == [0.5, 0.5]
    assert objective.player_list[0].tensors() == [objective.w, objective.v]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda w: w.pop("w"), "w"),
        (lambda w: w.update(w=torch.ones(3)), "w"),
        (lambda w: w.update(head=torch.ones(1)), "head"),
    ],
)
def test_weights_of_another_model_are_refused_by_name(change, named):
    objective = Least()
    weights = objective.weights()
    change(weights)
    expected = rf"The weights do not fit the model: {named} differ in name or shape. Was the state made by another"
    with pytest.raises(InputError, match=expected):
        objective.set_weights(weights)
    assert objective.w.tolist() == [1, 1]


LIKELIHOODS = [
    (Gaussian(), torch.tensor([1.0, -2, 0.5])),
    (Bernoulli(), torch.tensor([1.0, 0, 1])),
    (Categorical(), torch.tensor([2, 0, 1])),
]


@pytest.mark.parametrize(("likelihood", "y"), LIKELIHOODS)
def test_supervised_sums_the_likelihood_over_rows_with_and_without_weights(likelihood, y):
    net, x = nn.Linear(2, 3 if isinstance(likelihood, Categorical) else 1), torch.randn(3, 2)
    objective, w = Supervised(net, likelihood), torch.tensor([1.0, 2.0, 0.5])
    each = likelihood.nll(net(x), y)
    plain = objective.loss("loss", Batch(x, y), Draw(0))
    torch.testing.assert_close(plain.total, each.sum())
    assert plain.weight == 3 and plain.once is None
    weighed = objective.loss("loss", Batch(x, y, w), Draw(0))
    torch.testing.assert_close(weighed.total, (w * each).sum())
    assert float(weighed.weight) == 3.5


@pytest.mark.parametrize(("likelihood", "y"), LIKELIHOODS)
def test_supervised_reports_the_share_of_right_classes_and_no_accuracy_of_numbers(likelihood, y):
    net, x, w = nn.Linear(2, 3 if isinstance(likelihood, Categorical) else 1), torch.randn(3, 2), torch.rand(3)
    found = Supervised(net, likelihood).evaluate(Batch(x, y, w), Draw(0))
    if isinstance(likelihood, Gaussian):
        assert set(found) == {"loss"}
        return
    raw = net(x)
    guess = raw.argmax(1) if isinstance(likelihood, Categorical) else (raw[:, 0] > 0).float()
    torch.testing.assert_close(found["accuracy"].total, (w * (guess == y)).sum())


def test_several_labels_count_as_one_answer():
    raw = torch.tensor([[5.0, -5], [5, 5], [-5, -5]])
    y = torch.tensor([[1.0, 0], [1, 0], [0, 0]])
    found = Supervised(nn.Identity(), Bernoulli()).evaluate(Batch(raw, y), Draw(0))
    assert float(found["accuracy"].total / found["accuracy"].weight) == pytest.approx(2 / 3)


@pytest.mark.parametrize("function", [nn.MSELoss(), lambda raw, y: F.l1_loss(raw[:, 0], y).reshape(1)])
def test_one_number_for_the_batch_is_answered_with_reduction_none(function):
    x, y = line()
    objective = Supervised(nn.Sequential(nn.Linear(3, 1), nn.Flatten(0)).double(), function)
    if not isinstance(function, nn.Module):
        objective = Supervised(nn.Linear(3, 1).double(), function)
    expected = r"returned shape \(1?,?\) for a batch of 24 rows; fθ needs the loss of each row.*reduction='none'"
    with pytest.raises(InputError, match=expected):
        train(objective, Rows(x, y, batch_size=24), rounds=1)


def test_a_module_of_several_outputs_gets_a_sentence():
    class Pair(nn.Linear):
        def forward(self, x):
            return super().forward(x), x

    x, y = line()
    objective = Supervised(Pair(3, 1).double(), lambda raw, y: (raw[0][:, 0] - y) ** 2)
    with pytest.raises(InputError, match=r"The module returned a tuple; one tensor of outputs, one row per sample"):
        train(objective, Rows(x, y, batch_size=24), rounds=1)


def test_outputs_broadcast_against_targets_are_noticed():
    x, y = line()
    objective = Supervised(nn.Linear(3, 1).double(), lambda raw, y: (raw - y) ** 2)  # (24, 1) - (24,)
    expected = (
        r"returned shape \(24, 24\): outputs \(24, 1\) and targets \(24,\) were broadcast against each other\. "
        r"Give both the same shape, e\.g\. raw\.squeeze\(-1\)"
    )
    with pytest.raises(InputError, match=expected):
        train(objective, Rows(x, y, batch_size=24), rounds=1)
