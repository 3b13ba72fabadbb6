"""The gradient process: what it counts, what its knobs do, that its state is a value, and that it leaves no trace."""

import math
import pickle

import pytest
import torch
from torch import nn

from ftheta.data import Rows
from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.train import Callback, Loss, Objective, Player, Supervised, Trainer, Training, evaluate, iterate
from tests.train._toys import Bilinear, line, one_row, same, seeded, square, timeless, train


class Tilt(Objective):
    """-θ: gradient descent climbs by the rate at every step, so that θ is the sum of the rates."""

    def __init__(self):
        super().__init__()
        self.theta = nn.Parameter(torch.zeros((), dtype=torch.float64))

    def loss(self, player, batch, draw):
        return Loss(-batch.n * self.theta, float(batch.n))


def net(dropout=0.0, norm=False):
    """A small net, always with the same weights."""

    def build():
        norms = [nn.BatchNorm1d(6)] if norm else []
        return nn.Sequential(nn.Linear(3, 6), *norms, nn.ReLU(), nn.Dropout(dropout), nn.Linear(6, 1))

    return seeded(build).double()


@pytest.mark.ledger("A126", "B030", covers="ftheta.train.Trainer")
def test_a_thousand_rows_in_batches_of_64_are_16_steps_and_the_last_has_40_rows():
    sizes = []

    class Sizes(Supervised):
        def loss(self, player, batch, draw):
            sizes.append(batch.n)
            return super().loss(player, batch, draw)

    x, y = line(n=1000)
    made, history = train(Sizes(net(), square), Rows(x, y, batch_size=64), rounds=2)
    assert sizes == ([64] * 15 + [40]) * 2
    counted = [[row[k] for k in ("epoch", "step", "rows")] for row in history]
    assert counted == [[1, 16, 1000], [2, 32, 2000]] and made.step == 32
    assert 0 < history[0]["seconds"] < history[1]["seconds"]
    assert made.source.batch_size == 64 and made.length == math.ceil(1000 / 64)


def test_the_logged_loss_is_the_mean_over_all_rows_of_the_epoch():
    """Weights do not move (rate 1e-300), so that it is the mean over the data, whatever the batches."""
    (x, y), w = line(n=10), torch.arange(1.0, 11, dtype=torch.float64)
    module = net()
    each = square(module(x), y).detach()
    for weight, expected in ((None, each.mean()), (w, (w * each).sum() / w.sum())):
        _, history = train(
            Supervised(module, square), Rows(x, y, weight, batch_size=4), rounds=1, optimizer="sgd", lr=1e-300
        )
        assert history[0]["loss"] == pytest.approx(expected.item(), rel=1e-12)


@pytest.mark.ledger("A141", covers="ftheta.train.Training")
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_accumulated_batches_make_the_update_of_one_large_batch(optimizer):
    """24 rows in batches of 5, five at a time, are one batch of 24: sizes 5, 5, 5, 5, 4."""
    x, y = line()
    small, large = net(), net()
    _, history = train(
        Supervised(small, square),
        Rows(x, y, batch_size=5),
        steps=4,
        optimizer=optimizer,
        lr=0.01,
        training=Training(accumulate=5),
    )
    train(Supervised(large, square), Rows(x, y, batch_size=24), steps=4, optimizer=optimizer, lr=0.01)
    for a, b in zip(small.parameters(), large.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)
    assert [row["rows"] for row in history] == [24, 48, 72, 96]


RATES = {
    "constant": lambda t: 1.0,
    "linear": lambda t: 1 - t,
    "cosine": lambda t: (1 + math.cos(math.pi * t)) / 2,
    "exponential": lambda t: 0.01**t,
    "step": lambda t: 1.0 if t < 0.5 else 0.1 if t < 0.75 else 0.01,
}


@pytest.mark.parametrize("warmup", [0, 4])
@pytest.mark.parametrize("schedule", RATES)
def test_the_rate_moves_as_the_schedule_says(schedule, warmup):
    """θ is the sum of the rates; after the horizon the last rate stays."""
    objective, horizon, seen = Tilt(), 12, []

    class Look(Callback):
        def on_step(self, ctx):
            seen.append(ctx.process.optimizers["loss"].param_groups[0]["lr"])

    knobs = Training(schedule=schedule, warmup=warmup)
    made = Trainer(objective, one_row(), optimizer="sgd", lr=0.5, training=knobs, horizon=horizon)
    history = iterate(made, steps=horizon + 2, callbacks=[Look()])
    shape = RATES[schedule]
    expected = [
        0.5 * ((s + 1) / warmup if s < warmup else shape(min(1.0, (s - warmup) / (horizon - warmup))))
        for s in range(horizon + 2)
    ]
    assert seen == pytest.approx(expected, rel=1e-12) == [row["lr"] for row in history]
    assert objective.theta.item() == pytest.approx(sum(expected), rel=1e-12)


def test_a_schedule_moves_every_group_from_its_own_rate():
    class Two(Bilinear):
        def players(self):
            return Player("x", [{"params": [self.x], "lr": 0.4}]), Player("y", [self.y], {"lr": 0.2})

    made = Trainer(Two(True), one_row(), optimizer="sgd", training=Training(schedule="linear"), horizon=4)
    iterate(made, steps=3)
    assert [made.optimizers[n].param_groups[0]["lr"] for n in "xy"] == pytest.approx([0.4 * 0.5, 0.2 * 0.5])


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_a_schedule_needs_an_end(schedule):
    trainer = Trainer(Tilt(), one_row(), training=Training(schedule=schedule))
    with pytest.raises(InputError, match=rf"schedule='{schedule}' needs to know the end"):
        iterate(trainer, steps=1)
    assert trainer.fit(epochs=4)[-1]["epoch"] == 4 and trainer.rates.horizon == 4


class Own(Bilinear):
    """x by L-BFGS, y by gradient ascent, whatever the trainer is told."""

    def players(self):
        return Player("x", [self.x], {"rule": "lbfgs", "max_iter": 1}), Player(
            "y", [self.y], {"rule": "sgd", "lr": 0.1}
        )

    def loss(self, player, batch, draw):
        bowl = (self.x - self.y) ** 2
        return Loss(bowl if player == "x" else -self.x * self.y, 1.0)


def test_every_player_may_have_a_rule_of_its_own():
    made, _ = train(Own(simultaneous=False), steps=1)
    assert [type(o).__name__ for o in made.optimizers.values()] == ["LBFGS", "SGD"]
    assert made.optimizers["x"].info["trials"] >= 1
    assert made.objective.y.item() == pytest.approx(0.5 + 0.1 * made.objective.x.item())


def test_within_an_epoch_every_player_has_a_mean_loss():
    made = Trainer(Bilinear(simultaneous=False), Rows(torch.zeros(2, 1), batch_size=1), optimizer="sgd", lr=0.1)
    made.advance()  # x = 1 - 0.1 · 0.5 when it is the turn of y
    assert made.losses == pytest.approx({"x": 1 * 0.5, "y": -0.95 * 0.5})


def test_a_line_search_cannot_move_two_players_from_the_same_place():
    with pytest.raises(InputError, match=r"Bilinear moves its players from the same θ.*e\.g\. optimizer='adam'"):
        Trainer(Bilinear(simultaneous=True), one_row(), optimizer="lbfgs")


def test_every_player_has_noise_of_his_own_and_a_lone_one_that_of_the_step():
    drawn = []

    class Noise(Bilinear):
        def loss(self, player, batch, draw):
            drawn.append((player, draw))
            return super().loss(player, batch, draw)

    train(Noise(True), steps=2, seed=7)
    assert drawn == [(p, Draw(7).at("train", step, p, 0)) for step in (0, 1) for p in "xy"]


def test_a_trainer_alone_trains_any_module_with_any_function():
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.log_scale = nn.Parameter(torch.zeros(()))

        def forward(self, x):
            return (x * self.log_scale.exp())[:, None]

    x, module = torch.rand(64, generator=torch.Generator().manual_seed(0)), Scale()
    train(
        Supervised(module, lambda raw, y: (raw[:, 0] - y).abs().sqrt()),
        Rows(x, 5 * x, batch_size=16),
        rounds=60,
        optimizer="rmsprop",
        lr=0.03,
        training=Training(schedule="linear"),
        horizon=240,
    )
    assert module.log_scale.exp().item() == pytest.approx(5, abs=0.05)


def test_validation_is_the_mean_over_its_rows_in_evaluation_mode():
    (x, y), (xv, yv) = line(), line(n=11, seed=1)
    module = net(dropout=0.5, norm=True)
    objective, held = Supervised(module, square), Rows(xv, yv, batch_size=4, shuffle=False)
    _, history = train(objective, Rows(x, y, batch_size=8), rounds=1, validation=held)
    with torch.no_grad():
        expected = square(module.eval()(xv), yv).mean().item()
    assert history[0]["valid_loss"] == pytest.approx(expected, rel=1e-12)
    module.train()
    evaluate(objective, held, Draw(0))
    assert module.training  # as it was


class Noise(Objective):
    """A number that is drawn once per batch."""

    loss = None

    def evaluate(self, batch, draw):
        return {"loss": Loss(batch.n * torch.rand((), generator=draw.generator("noise")), batch.n)}


def test_each_batch_of_validation_has_noise_of_its_own():
    own = [torch.rand((), generator=Draw(0).at(i).generator("noise")).item() for i in range(3)]
    found = evaluate(Noise(), Rows(torch.zeros(11, 1), batch_size=4, shuffle=False), Draw(0))
    assert found["loss"] == pytest.approx((4 * own[0] + 4 * own[1] + 3 * own[2]) / 11)


def test_validation_does_not_shift_training():
    (x, y), held = line(), Rows(*line(n=5, seed=1), batch_size=2)
    with_, without = net(dropout=0.5), net(dropout=0.5)
    train(Supervised(with_, square), Rows(x, y, batch_size=8), rounds=3, validation=held)
    train(Supervised(without, square), Rows(x, y, batch_size=8), rounds=3)
    assert same(dict(with_.state_dict()), dict(without.state_dict()))


def test_dropout_is_new_in_every_step_and_the_order_in_every_epoch():
    masks, orders, (x, y) = [], [], line()

    class Orders(Supervised):
        def loss(self, player, batch, draw):
            orders.append(batch.index.tolist())
            return super().loss(player, batch, draw)

    module = nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 1)).double()
    module[0].register_forward_hook(lambda m, given, out: masks.append((out == 0).tolist()))
    train(Orders(module, square), Rows(x, y, batch_size=12), rounds=3)
    assert len({str(m) for m in masks}) == 6 and len({str(sorted(o)) for o in orders}) == 6


def test_what_foreign_modules_draw_from_torch_is_a_function_of_the_seed():
    drawn = []

    class Draws(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 1)

        def forward(self, x):
            drawn.append(torch.rand(1).item())
            return self.linear(x)

    x, y = line(dtype=torch.float32)
    for _ in range(2):
        torch.rand(1)
        train(Supervised(Draws(), square), Rows(x, y, batch_size=8), rounds=1)
    assert drawn[:3] == drawn[3:] and len(set(drawn)) == 3


def trainer(**options):
    x, y = line()
    settings = {"optimizer": "adam", "lr": 0.05, "training": Training(accumulate=2)} | options
    return Trainer(Supervised(net(dropout=0.3, norm=True), square), Rows(x, y, batch_size=4), **settings)


def test_a_trainer_can_be_pickled_in_the_middle_of_an_epoch():
    whole, half = trainer(), trainer()
    iterate(whole, steps=6)
    iterate(half, steps=4)
    copy = pickle.loads(pickle.dumps(half))
    iterate(copy, steps=2)
    assert same(timeless(whole.state_dict()), timeless(copy.state_dict()))


@pytest.mark.parametrize(
    ("n", "size", "said"),
    [
        (9, 4, r"in training \(last batch of 9 with batch_size=4\)\. Use batch_size=5\."),
        (1, 1, r"in training\. Give it batches of at least 2 rows\."),
    ],
)
def test_a_lone_row_in_a_batch_norm_is_answered_with_a_size_that_works(n, size, said):
    x, y = line(n=n)
    with pytest.raises(InputError, match=rf"Batch of 1 sample reaches BatchNorm1d {said}"):
        train(Supervised(net(norm=True), square), Rows(x, y, batch_size=size), rounds=1)
