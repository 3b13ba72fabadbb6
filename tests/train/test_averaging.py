"""An average of the weights: by its formula, seen by validation, kept at the end, and resumed bit for bit."""

import pytest
import torch
from torch import nn

from ftheta.data import Rows
from ftheta.draw import Draw
from ftheta.store import Run
from ftheta.train import EarlyStopping, Supervised, Trainer, Training, evaluate, iterate
from tests.train._toys import square


def made(ema=0.9, **more):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)).double()
    x = torch.randn(32, 2, dtype=torch.float64)
    source = Rows(x, x.sum(1), batch_size=8)
    return Trainer(Supervised(net, square), source, lr=0.05, training=Training(ema=ema), seed=3, **more), net, source


def test_the_average_follows_its_formula_step_by_step():
    trainer, net, _ = made()
    mean = {k: v.clone() for k, v in trainer.objective.state_dict().items()}
    for t in range(10):
        trainer.advance()
        d = min(0.9, (1 + t) / (10 + t))
        for k, v in trainer.objective.state_dict().items():
            mean[k] = d * mean[k] + (1 - d) * v if v.is_floating_point() else v.clone()
    for k, v in trainer.average.values.items():
        torch.testing.assert_close(v, mean[k], rtol=1e-12, atol=1e-12)


def test_validation_sees_the_average_and_the_average_stays():
    trainer, net, source = made(validation=None)
    held = Rows(source.x, source.y, batch_size=32, shuffle=False)
    trainer.validation = held
    history = iterate(trainer, rounds=3)
    torch.testing.assert_close(net.state_dict()["0.weight"], trainer.average.values["module.0.weight"])
    again = evaluate(trainer.objective, held, Draw(3).at("valid", 2))["loss"]
    assert history[-1]["valid_loss"] == pytest.approx(again, rel=1e-12)
    assert (trainer.average.trained["module.0.weight"] != net[0].weight).any()


def test_a_resumed_run_is_the_uninterrupted_one(tmp_path):
    (whole, _, _), (first, _, _), (second, _, _) = made(), made(), made()
    iterate(whole, rounds=5)
    with Run(tmp_path) as run:
        iterate(first, steps=7, run=run, every=0.0)
        iterate(second, rounds=5, run=run, every=0.0)
    for k, v in whole.weights().items():
        assert torch.equal(v, second.weights()[k])


def test_the_best_weights_are_averages_and_go_back():
    trainer, net, source = made()
    trainer.validation = Rows(source.x, source.y, batch_size=32, shuffle=False)
    stop = EarlyStopping(None)
    best = min(row["valid_loss"] for row in iterate(trainer, rounds=4, callbacks=[stop]))
    found = evaluate(trainer.objective, trainer.validation, Draw(3).at("valid", stop.state["round"] - 1))["loss"]
    assert found == pytest.approx(best, rel=1e-12)


def test_rates_by_name_scale_the_step_of_plain_descent():
    net = nn.Sequential(nn.Linear(2, 3, bias=False), nn.Linear(3, 1, bias=False)).double()
    start = {k: v.clone() for k, v in net.state_dict().items()}
    x = torch.randn(8, 2, dtype=torch.float64)
    settings = {"optimizer": "sgd", "lr": 0.1, "training": Training(rate_factors={"0.*": 0.5})}
    Trainer(Supervised(net, square), Rows(x, x.sum(1), batch_size=8), **settings).advance()
    moves = {k: (start[k] - v) / p.grad for (k, v), p in zip(net.state_dict().items(), net.parameters(), strict=True)}
    torch.testing.assert_close(moves["0.weight"], torch.full((3, 2), 0.05, dtype=torch.float64))
    torch.testing.assert_close(moves["1.weight"], torch.full((1, 3), 0.1, dtype=torch.float64))


def test_what_is_frozen_as_a_whole_keeps_its_statistics_and_drops_nothing():
    net = nn.Sequential(
        nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)), nn.Linear(4, 1)
    )
    x = torch.randn(8, 2)
    trainer = Trainer(
        Supervised(net, square), Rows(x, x.sum(1), batch_size=4), training=Training(freeze=("0.*", "1.*", "2.*"))
    )
    before = {k: v.clone() for k, v in net.state_dict().items()}
    iterate(trainer, rounds=2)
    after = net.state_dict()
    assert all(torch.equal(before[k], after[k]) for k in before if not k.startswith("3."))
    assert not torch.equal(before["3.weight"], after["3.weight"])


def test_augmentation_sees_every_batch_once_with_its_own_draw():
    seen = []

    def watch(batch, draw):
        seen.append((batch.n, draw.path))
        return batch._replace(x=batch.x * 0)

    net = nn.Linear(2, 1, bias=False)
    x = torch.randn(8, 2)
    trainer = Trainer(
        Supervised(net, square), Rows(x, x.sum(1), batch_size=4), augment=watch, training=Training(accumulate=2), lr=0.1
    )
    start = net.weight.detach().clone()
    iterate(trainer, rounds=2)
    assert torch.equal(net.weight, start)  # inputs of zeros teach nothing
    assert [n for n, _ in seen] == [4] * 4 and len({path for _, path in seen}) == 4
