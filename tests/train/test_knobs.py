"""Knobs of an update: what a batch weighs, decay, schedules by what has happened, growing batches, noisy gradients."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta.data import Rows
from ftheta.optim import make
from ftheta.train import Callback, Loss, Objective, Supervised, Trainer, Training, iterate
from tests.train._toys import line, one_row, same, seeded, square, train


class EachRow(Objective):
    """Row i has the loss θ_i: after an epoch of descent, -θ_i / η is the weight that row i had."""

    def __init__(self, n):
        super().__init__()
        self.theta = nn.Parameter(torch.zeros(n, dtype=torch.float64))

    def loss(self, player, batch, draw):
        return Loss(*batch.sum(self.theta[batch.index]))


class Parabola(Objective):
    """2 θ² from 1."""

    def __init__(self):
        super().__init__()
        self.theta = nn.Parameter(torch.ones((), dtype=torch.float64))

    def loss(self, player, batch, draw):
        return Loss(*batch.sum(2 * self.theta.square().expand(batch.n)))


class Places(Callback):
    """θ after every step."""

    def __init__(self):
        self.seen = []

    def on_step(self, ctx):
        self.seen.append(ctx.process.objective.theta.detach().clone())


def net():
    return seeded(lambda: nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))).double()


@pytest.mark.ledger("C091", covers="ftheta.train.Trainer")
def test_an_epoch_of_100_rows_in_eights_is_13_updates_by_means_so_the_rate_has_no_factor_of_the_batch_size():
    objective, source = EachRow(100), Rows(torch.zeros(100, 1), batch_size=8)
    made, history = train(objective, source, rounds=1, optimizer="sgd", lr=1.0)
    assert history[0]["step"] == 13
    last = torch.isclose(objective.theta, torch.tensor(-1 / 4, dtype=torch.float64))
    assert int(last.sum()) == 4 and torch.all(torch.isclose(objective.theta[~last], objective.theta.new_tensor(-1 / 8)))
    whole, part = EachRow(8), EachRow(8)  # a sum over the batch would be the mean's update at eight times the rate
    train(whole, Rows(torch.zeros(8, 1), batch_size=8), rounds=1, optimizer="sgd", lr=1.0)
    train(part, Rows(torch.zeros(8, 1), batch_size=8), rounds=1, optimizer="sgd", lr=8.0)
    assert [float(-each.theta.detach().sum()) for each in (whole, part)] == pytest.approx([1, 8])


@pytest.mark.ledger("C092", covers="ftheta.data.Rows")
def test_rows_of_a_short_last_batch_weigh_more_in_a_mean_though_each_is_used_once():
    objective = EachRow(10)
    train(objective, Rows(torch.zeros(10, 1), batch_size=4), rounds=1, optimizer="sgd", lr=1.0)
    assert np.sort(-objective.theta.detach().numpy()) == pytest.approx([0.25] * 8 + [0.5] * 2)


@pytest.mark.ledger(
    "A127",
    says="θ <- θ - (1/n) Σ ∇L, where 3.1 has a rate η",
    printed=[-3, 9, -27, 81],
    right=[0.6, 0.36, 0.216, 0.1296],
    covers="ftheta.optim.RULES",
)
def test_full_batch_descent_makes_one_update_an_epoch_and_needs_its_rate(ledger):
    seen = Places()
    made, history = train(
        Parabola(), Rows(torch.zeros(7, 1), batch_size=7), rounds=4, optimizer="gd", lr=0.1, callbacks=[seen]
    )
    assert [row["step"] for row in history] == [1, 2, 3, 4]
    ledger([float(v) for v in seen.seen])
    rateless = Places()
    train(Parabola(), one_row(), rounds=4, optimizer="gd", lr=1.0, callbacks=[rateless])
    assert [float(v) for v in rateless.seen] == [-3, 9, -27, 81]  # what the rule without a rate does


@pytest.mark.ledger(
    "A128",
    says="θ <- θ - (1/|B|) Σ ∇L, where 3.1 has a rate η",
    printed=[-3, 9, -27, 81],
    right=[0.6, 0.36, 0.216, 0.1296],
    covers="ftheta.optim.RULES",
)
def test_mini_batch_descent_makes_an_update_a_batch(ledger):
    seen = Places()
    _, history = train(
        Parabola(), Rows(torch.zeros(8, 1), batch_size=2), rounds=1, optimizer="sgd", lr=0.1, callbacks=[seen]
    )
    assert history[0]["step"] == 4
    ledger([float(v) for v in seen.seen])


@pytest.mark.ledger("B020", "B158", covers="ftheta.data.Rows")
def test_smaller_batches_oscillate_more_and_rows_one_by_one_the_most():
    """Delta rule at the least-squares solution: the full gradient is zero there, that of a part is not."""
    x, y = line(n=60)
    best = torch.linalg.lstsq(x, y[:, None]).solution.T
    spread = []
    for size in (60, 15, 4, 1):
        model = nn.Linear(3, 1, bias=False).double()
        model.weight.data.copy_(best)
        seen = []

        class Far(Callback):
            def on_step(self, ctx):
                seen.append(float((model.weight - best).norm().detach()))  # noqa: B023

        train(
            Supervised(model, square),
            Rows(x, y, batch_size=size),
            steps=240,
            optimizer="sgd",
            lr=0.01,
            callbacks=[Far()],
        )
        spread.append(np.mean(seen))
    assert spread[0] < 1e-12 and 0 < 1.5 * spread[1] < spread[2] < spread[3] / 1.5


@pytest.mark.ledger("C149", covers="ftheta.train.Training")
def test_decay_in_the_loss_and_beside_it_are_one_for_descent_and_two_for_adam():
    """F = ½ Σ c θ² with the penalty γ/2 ‖θ‖²: the gradient is (c + γ) θ."""

    def stepped(rule, *, inside, theta, slope, lr, decay, steps=1):
        p = nn.Parameter(torch.tensor(theta, dtype=torch.float64))
        optimizer = make(rule, [p], lr, {} if inside else {"weight_decay": decay})
        for _ in range(steps):
            p.grad = slope(p.detach()) + (decay * p.detach() if inside else 0)
            optimizer.step()
        return p.detach()

    constant = {"theta": [2.0], "slope": lambda p: torch.full_like(p, 0.3), "lr": 0.1, "decay": 0.5}
    both = [stepped("sgd", inside=inside, **constant) for inside in (True, False)]
    assert [float(p[0]) for p in both] == pytest.approx([1.87, 1.87], abs=1e-15)
    # adam: two weights with gradients of very different noise, no gradient on average
    noise = {"theta": [1.0, 1.0], "lr": 1e-3, "decay": 0.1, "steps": 552}
    signs = iter(torch.tensor([[10.0, 0.01]], dtype=torch.float64) * (-1) ** torch.arange(2000)[:, None])
    inside = stepped("adam", inside=True, slope=lambda p: next(signs), **noise)
    beside = stepped("adamw", inside=False, slope=lambda p: torch.zeros_like(p), **noise)
    assert inside[0] > 0.98 > 0.7 > inside[1]  # the steep weight hardly decays
    assert beside.tolist() == pytest.approx([(1 - 1e-4) ** 552] * 2, rel=1e-12)


def test_a_plateau_slows_the_rate_where_the_loss_stops_falling():
    class Flat(Objective):
        def __init__(self):
            super().__init__()
            self.theta = nn.Parameter(torch.zeros((), dtype=torch.float64))

        def loss(self, player, batch, draw):
            return Loss(0.0 * self.theta + 1.0, 1.0)

    training = Training(schedule="plateau", schedule_options={"factor": 0.5, "patience": 2})
    _, history = train(Flat(), one_row(), rounds=6, optimizer="gd", lr=0.8, training=training)
    assert [row["lr"] for row in history] == [0.8, 0.8, 0.8, 0.4, 0.4, 0.2]


def test_a_plateau_watches_the_validation_loss_and_resumes_where_it_was():
    x, y = line()

    def made():
        training = Training(schedule="plateau", schedule_options={"factor": 0.5, "patience": 1})
        return Trainer(
            Supervised(net(), square), Rows(x, y, batch_size=24), optimizer="gd", lr=0.3, training=training,
            validation=Rows(x[:4], y[:4] + 3, batch_size=4),
        )  # fmt: skip

    whole, first, second = made(), made(), made()
    history = iterate(whole, rounds=12)
    assert history[-1]["lr"] < 0.3
    iterate(first, rounds=5)
    second.load_state_dict(first.state_dict())
    assert [r["lr"] for r in iterate(second, rounds=7)] == [r["lr"] for r in history[5:]]
    assert same(whole.weights(), second.weights())


def test_the_batch_grows_by_what_the_schedule_would_shrink_the_rate():
    sizes = []

    class Sizes(EachRow):
        def loss(self, player, batch, draw):
            sizes.append(batch.n)
            return super().loss(player, batch, draw)

    training = Training(schedule="step", schedule_options={"factor": 0.25, "at": (0.5, 0.75)}, grow_batch=True)
    source = Rows(torch.zeros(64, 1), batch_size=4)
    _, history = train(Sizes(64), source, rounds=4, optimizer="sgd", lr=0.1, training=training, horizon=64)
    assert sizes == [4] * 32 + [16] * 4 + [64]
    assert {row["lr"] for row in history} == {0.1} and source.batch_size == 4
    assert [row["rows"] for row in history] == [64, 128, 192, 256]


def test_a_growing_batch_resumes_in_the_middle_of_an_epoch():
    x, y = line(n=40)

    def made():
        training = Training(schedule="exponential", grow_batch=True, warmup=3)
        source = Rows(x, y, batch_size=4)
        return Trainer(Supervised(net(), square), source, optimizer="sgd", lr=0.05, training=training, horizon=60)

    whole, first, second = made(), made(), made()
    iterate(whole, rounds=6)
    iterate(first, steps=15)
    second.load_state_dict(first.state_dict())
    iterate(second, rounds=5 - (second.epoch - 1))
    assert second.epoch == whole.epoch and same(whole.weights(), second.weights())


def test_gradient_noise_has_the_stated_deviation_and_falls_with_the_updates():
    class Nothing(Objective):
        def __init__(self):
            super().__init__()
            self.theta = nn.Parameter(torch.zeros(20000, dtype=torch.float64))

        def loss(self, player, batch, draw):
            return Loss(0 * self.theta.sum(), 1.0)

    seen = Places()
    twice = Rows(torch.zeros(2, 1), batch_size=1)  # updates an epoch: it is updates that count
    train(Nothing(), twice, steps=4, optimizer="sgd", lr=1.0, training=Training(gradient_noise=0.3), callbacks=[seen])
    moves = torch.diff(torch.stack([torch.zeros(20000, dtype=torch.float64), *seen.seen]), dim=0)
    expected = [0.3 * (1 + s) ** -0.55 for s in range(4)]
    assert moves.std(dim=1).tolist() == pytest.approx(expected, rel=0.02)
    assert moves.mean(dim=1).abs().max() < 0.01
    assert abs(float(torch.corrcoef(moves[:2])[0, 1])) < 0.03
