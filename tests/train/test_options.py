"""What users of PyTorch bring: optimizers, schedules, loaders, precision; players, stopping, sources with a state."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from ftheta.data import Batch, Rows
from ftheta.errors import InputError, NonFiniteError, RunError
from ftheta.store import Run
from ftheta.train import Callback, Player, Supervised, Trainer, Training, iterate
from tests.train._toys import Bilinear, line, one_row, same, seeded, square


def linear(seed=0, dtype=torch.float64):
    return seeded(lambda: nn.Linear(3, 1).to(dtype), seed=seed)


def rows(batch_size=8, dtype=torch.float64, **sizes):
    return Rows(*line(dtype=dtype, **sizes), batch_size=batch_size)


# ---- optimizers and schedules


def test_an_optimizer_class_trains_as_its_name_does():
    fits = []
    for optimizer in ("sgd", torch.optim.SGD, lambda params, lr: torch.optim.SGD(params, lr)):
        net = linear()
        history = Trainer(Supervised(net, square), rows(), optimizer=optimizer, lr=0.05).fit(epochs=3)
        fits.append((net.weight.detach(), history[-1]["loss"]))
    for weight, loss in fits[1:]:
        torch.testing.assert_close(weight, fits[0][0], rtol=1e-12, atol=0)
        assert loss == pytest.approx(fits[0][1], rel=1e-12)


def test_hooks_of_an_optimizer_are_called():
    heard = []

    def made(params, lr):
        optimizer = torch.optim.Adam(params, lr)
        optimizer.register_step_post_hook(lambda *_: heard.append(1))
        return optimizer

    Trainer(Supervised(linear(), square), rows(), optimizer=made).fit(epochs=2)
    assert len(heard) == 6


def test_torchs_lbfgs_gets_its_closure():
    x, y = line()
    net = linear()
    Trainer(Supervised(net, square), Rows(x, y, batch_size=24), optimizer=torch.optim.LBFGS, lr=1.0).fit(epochs=5)
    truth = np.linalg.lstsq(np.column_stack([x, np.ones(24)]), y.numpy(), rcond=None)[0]
    assert [*net.weight.detach()[0].tolist(), net.bias.item()] == pytest.approx(truth, abs=1e-5)


def test_a_function_is_a_schedule():
    training = Training(schedule=lambda t: (1 - t) ** 2)
    history = Trainer(Supervised(linear(), square), rows(), lr=0.1, training=training).fit(epochs=4)
    done = [(3 * epoch + 2) / 12 for epoch in range(4)]  # updates before the last one of each epoch
    assert [row["lr"] for row in history] == pytest.approx([0.1 * (1 - t) ** 2 for t in done])


# ---- loaders


def test_a_data_loader_is_a_source_whose_resume_needs_consent(tmp_path):
    loader = DataLoader(TensorDataset(*line()), batch_size=8)
    net, plain = linear(), linear()
    Trainer(Supervised(net, square), loader, lr=0.1, validation=loader).fit(epochs=3)
    Trainer(Supervised(plain, square), Rows(*line(), batch_size=8, shuffle=False), lr=0.1).fit(epochs=3)
    assert torch.equal(net.weight, plain.weight)
    Trainer(Supervised(linear(), square), loader).fit(epochs=1, run=Run(tmp_path))
    with pytest.raises(RunError, match="will not be bit-exact"):
        Trainer(Supervised(linear(), square), loader).fit(epochs=2, run=Run(tmp_path))


@pytest.mark.parametrize("source", [3, iter([1, 2])])
def test_what_has_no_batches_or_no_length_is_refused(source):
    with pytest.raises(InputError, match=r"pass Rows\(x, y, batch_size=\.\.\.\), a DataLoader, or"):
        Trainer(Supervised(linear(), square), source)


# ---- precision


def test_bf16_computes_the_loss_in_bfloat16_and_learns():
    seen = []
    net = linear(dtype=torch.float32)
    net.register_forward_hook(lambda module, args, out: seen.append(out.dtype))
    source, training = rows(dtype=torch.float32), Training(precision="bf16")
    history = Trainer(Supervised(net, square), source, lr=0.1, training=training, validation=source).fit(epochs=60)
    assert set(seen) == {torch.bfloat16} and net.weight.dtype is torch.float32
    full = Trainer(Supervised(linear(dtype=torch.float32), square), source, lr=0.1).fit(epochs=60)
    assert history[-1]["loss"] == pytest.approx(full[-1]["loss"], rel=0.05)
    assert history[-1]["loss"] < 0.2 * history[0]["loss"]


def test_bf16_is_not_for_rules_that_compare_losses():
    with pytest.raises(InputError, match="too coarse"):
        training = Training(precision="bf16")
        Trainer(Supervised(linear(), square), rows(24), optimizer="lbfgs", training=training)


def test_an_outer_autocast_changes_nothing():
    """It would keep copies of the weights at the start, so that nothing is learned."""
    nets = [linear(dtype=torch.float32) for _ in range(2)]
    with torch.autocast("cpu", torch.bfloat16):
        inside = Trainer(Supervised(nets[0], square), rows(dtype=torch.float32), lr=0.1).fit(epochs=3)
    outside = Trainer(Supervised(nets[1], square), rows(dtype=torch.float32), lr=0.1).fit(epochs=3)
    assert torch.equal(nets[0].weight, nets[1].weight) and inside[-1]["loss"] == outside[-1]["loss"]


# ---- players


class Own(Bilinear):
    def players(self):
        return Player("x", [self.x], {"rule": "sgd", "lr": 0.1}), Player("y", [self.y], {"rule": "sgd", "lr": 0.2})


@pytest.mark.parametrize("given", [{"lr": 0.5}, {"optimizer": "rmsprop"}])
def test_what_every_player_overrides_is_refused(given):
    with pytest.raises(InputError, match=r"has no effect: every player of Own has its own"):
        Trainer(Own(simultaneous=True), one_row(), **given)
    Trainer(Own(simultaneous=True), one_row())


# ---- numbers that are not finite


class Poles(nn.Module):
    """1 / x, by a layer with a name."""

    def __init__(self):
        super().__init__()
        self.scale, self.inverse = nn.Linear(1, 1, bias=False), Inverse()

    def forward(self, x):
        return self.inverse(self.scale(x))


class Inverse(nn.Module):
    def forward(self, x):
        return 1 / x


def test_a_validation_loss_that_is_not_finite_names_layer_and_rows():
    x = torch.tensor([[1.0], [2.0], [0.0], [3.0]])
    held = Rows(x, torch.ones(4), batch_size=2, shuffle=False)
    trainer = Trainer(Supervised(Poles(), square), Rows(x[:2], torch.ones(2), batch_size=2), validation=held)
    with pytest.raises(NonFiniteError, match="validation loss became inf after epoch 1, step 1") as caught:
        trainer.fit(epochs=2)
    assert "validation rows 2, 3" in str(caught.value) and "output of inverse" in str(caught.value)


# ---- snapshots and sources with a state


def test_a_state_that_a_callback_keeps_does_not_change_later():
    class Keeps(Callback):
        def __init__(self):
            self.kept, self.copies = [], []

        def on_step(self, ctx):
            state = ctx.process.state_dict()
            self.kept.append(state)
            self.copies.append(repr(state))

    keeps, source = Keeps(), Growing()
    training = Training(ema=0.9, schedule="plateau")
    trainer = Trainer(Supervised(linear(), square), source, optimizer="momentum", lr=0.1, training=training)
    iterate(trainer, rounds=3, callbacks=[keeps])
    assert [repr(state) for state in keeps.kept] == keeps.copies and len(set(keeps.copies)) == len(keeps.copies)


class Growing:
    """Every batch adds a row to a store of rows, of which the next ones are drawn, as a replay buffer does."""

    exact = True

    def __init__(self):
        self.x, self.y = (part[:4] for part in line())

    def __len__(self):
        return 3

    def batches(self, epoch, start, draw):
        for i in range(start, 3):
            generator = draw.at(i).generator()
            self.x.data = torch.cat([self.x, torch.randn(1, 3, generator=generator, dtype=self.x.dtype)])
            self.y.data = torch.cat([self.y, self.x[-1:].sum(1)])
            index = torch.randint(len(self.x), (4,), generator=generator)
            yield Batch(self.x[index], self.y[index])

    def columns(self):
        return {"stored": float(len(self.x))}

    def state_dict(self):
        return {"x": self.x, "y": self.y}

    def load_state_dict(self, tree):
        self.x, self.y = tree["x"].clone(), tree["y"].clone()


def test_a_source_hands_over_its_state_and_adds_columns(tmp_path):
    def trainer():
        return Trainer(Supervised(linear(), square), Growing(), lr=0.05)

    alone = trainer()
    assert [row["stored"] for row in alone.fit(epochs=4)] == [7, 10, 13, 16]
    iterate(trainer(), steps=5, run=Run(tmp_path))
    again = trainer()
    again.fit(epochs=4, run=Run(tmp_path))
    assert same(again.state_dict(), alone.state_dict())


def test_a_large_source_need_not_be_copied_for_the_guard():
    copies = []

    class Large(Growing):
        guarded = False

        def state_dict(self):
            copies.append(1)
            return super().state_dict()

    trainer = Trainer(Supervised(linear(), square), Large(), optimizer="sgd", lr=1e200)
    with pytest.raises(NonFiniteError, match=r"A number that is not finite appeared by epoch"):
        trainer.fit(epochs=40)
    assert copies == []
