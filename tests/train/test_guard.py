"""The guard: a number that is not finite is noticed within 100 steps, named, and never written."""

import math
import random
import re

import pytest
import torch
from torch import nn

from ftheta.data import Rows, Stream
from ftheta.draw import Draw
from ftheta.errors import NonFiniteError
from ftheta.store import Run
from ftheta.train import CHECK_EVERY, Callback, Supervised, Trainer, iterate
from tests.train._toys import KMeans, blobs, line, seeded, square

ROWS, BATCH = 1200, 8  # 150 steps an epoch


class Counter(Callback):
    """How many steps were finished."""

    steps = 0

    def on_step(self, ctx):
        self.steps = ctx.step


def finite(tree):
    """Whether every number in a tree is finite, plain ones too."""
    if isinstance(tree, dict | list | tuple):
        return all(map(finite, tree.values() if isinstance(tree, dict) else tree))
    return bool(tree.isfinite().all()) if isinstance(tree, torch.Tensor) else tree is None or math.isfinite(tree)


def step_of(source, row):
    """The step of the first epoch in which a row comes, counted from 1, and the rows of its batch."""
    for step, batch in enumerate(source.batches(0, 0, Draw(0).at("order", 0)), start=1):
        if row in batch.index:
            return step, ", ".join(map(str, batch.index.tolist()))


def inject(what, value, chosen):
    """A trainer that meets the value at a random step; returns it, its callbacks, and what the message must say."""
    x, y = line(n=ROWS, dtype=torch.float32)
    w, row = torch.ones(ROWS), chosen.randrange(ROWS)
    {"input x": x, "target y": y, "weight": w}.get(what, torch.zeros(ROWS))[row] = value
    source = Rows(x, y, w, batch_size=BATCH)
    net = seeded(lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)))
    made = Trainer(Supervised(net, square), source, optimizer="adam", lr=0.01)
    step, rows = step_of(source, row)
    if what == "gradient of 0.bias":
        net[0].bias.register_hook(lambda g: g * value if made.step == step - 1 else g)

    class Spoil(Callback):
        def on_step(self, ctx):
            if what == "learning rate" and ctx.step == step - 1:
                made.optimizers["loss"].param_groups[0]["lr"] = value

    return made, [Spoil(), Counter()], step, rows


PLACES = ["input x", "target y", "weight", "gradient of 0.bias", "learning rate"]
CASES = [(what, value) for what in PLACES for value in (math.nan, math.inf)]


@pytest.mark.parametrize(("what", "value"), CASES)
def test_what_is_not_finite_is_noticed_within_100_steps_named_and_not_written(what, value, tmp_path):
    made, callbacks, step, rows = inject(what, value, random.Random(f"{what} {value}"))
    with pytest.raises(NonFiniteError) as caught, Run(tmp_path) as run:
        iterate(made, rounds=2, callbacks=callbacks, run=run, every=0.05)
    assert step - 1 <= callbacks[1].steps < step + CHECK_EVERY
    said = str(caught.value)
    if what == "learning rate":
        assert re.match(rf"The learning rate became {value} by epoch 1, step \d+\. Last good state: step \d+\.", said)
    else:
        expected = (
            rf"Loss became (nan|inf) at epoch 1, step {step} \(batch rows {rows}\)\. First bad tensor: {what}\. "
            r"Last good state: step \d+\. Try lr=0\.001 \(now 0\.01\) or clip_norm=1\."
        )
        assert re.fullmatch(expected, said), said
    start = int(re.search(r"Last good state: step (\d+)", said)[1])
    assert start < step and step - start <= CHECK_EVERY
    kept = Run(tmp_path).latest()
    assert kept is None or (kept[1] < step and finite(kept[0]["process"]))
    assert all(finite(row) for row in Run(tmp_path).rows())
    assert finite(made.weights()) and made.step == start  # the trainer is at its last good state


def diverging(lr=1e30, **options):
    x, y = line(dtype=torch.float32)
    net = seeded(lambda: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)))
    return Trainer(Supervised(net, square), Rows(x, y, batch_size=8), optimizer="sgd", lr=lr, **options)


def test_the_message_names_the_layer_whose_output_overflowed():
    expected = r"Loss became (nan|inf) at epoch 1, step 2 \(batch rows [\d, ]+\)\. First bad tensor: output of 2\."
    with pytest.raises(NonFiniteError, match=expected):
        iterate(diverging(), rounds=1)


@pytest.mark.parametrize("watched", [True, False])
def test_weights_that_overflow_in_the_last_update_of_all_are_noticed(watched):
    """The loss of the epoch is finite; validation notices, or the look at the end."""
    x, y = line(dtype=torch.float32)
    made = diverging(3e38, validation=Rows(x, y, batch_size=24) if watched else None)
    made.source = Rows(x, y + 100, batch_size=24)  # slopes above 1
    with pytest.raises(NonFiniteError, match=r"epoch 1, step 1 .*First bad tensor: \d\.\w+ after the update"):
        iterate(made, rounds=1)


def test_a_state_of_the_optimizer_that_overflows_is_noticed_while_weights_and_loss_are_finite():
    """Adam keeps squared slopes: those of 1e25 are beyond float32, and the weights stay where they are."""
    x, y = line(dtype=torch.float32)
    steep = Supervised(nn.Linear(3, 1), lambda raw, y: 1e25 * raw[:, 0])
    with pytest.raises(NonFiniteError, match="epoch 1, step 1 "):
        iterate(Trainer(steep, Rows(x, y, batch_size=24), optimizer="adam"), rounds=1)


@pytest.mark.parametrize("row", [0, 10, 23])
def test_a_loss_that_is_infinite_while_its_gradient_is_not(row):
    x, y = line(dtype=torch.float32)
    y[row] = 1000.0
    made = Trainer(
        Supervised(nn.Linear(3, 1), lambda raw, y: raw[:, 0] + y.exp()), Rows(x, y, batch_size=8, shuffle=False)
    )
    rows = ", ".join(str(8 * (row // 8) + i) for i in range(8))
    expected = rf"Loss became inf at epoch 1, step {row // 8 + 1} \(batch rows {rows}\)\. First bad tensor: the loss\."
    with pytest.raises(NonFiniteError, match=expected):
        iterate(made, rounds=1)


def test_a_number_that_does_not_come_again_is_said_to():
    x, y = line(dtype=torch.float32)
    net, times = nn.Linear(3, 1), []
    net.weight.register_hook(lambda g: g * (times.append(1) or (math.nan if len(times) == 2 else 1.0)))
    made = Trainer(Supervised(net, square), Rows(x, y, batch_size=8))
    with pytest.raises(NonFiniteError, match=r"appeared by step 3, but not again when repeated"):
        iterate(made, rounds=1)
    assert finite(made.weights())


def test_a_stream_cannot_be_repeated_and_the_message_says_less():
    bad = (torch.full((4, 3), math.nan), torch.zeros(4))
    made = Trainer(Supervised(nn.Linear(3, 1), square), Stream([bad, bad], length=2), lr=0.01)
    with pytest.raises(NonFiniteError, match=r"not finite appeared by epoch 1, step 2\. Try lr=0\.001 \(now 0\.01\)"):
        iterate(made, rounds=1)


def test_after_a_resume_steps_are_repeated_from_the_checkpoint(tmp_path):
    made, _, step, _ = inject("input x", math.nan, random.Random(3))
    assert step > 60
    iterate(made, steps=step - 5, run=Run(tmp_path))
    again, _, _, _ = inject("input x", math.nan, random.Random(3))
    with pytest.raises(NonFiniteError, match=rf"step {step} .*input x. Last good state: step {step - 5}\."):
        iterate(again, rounds=1, run=Run(tmp_path))


def test_a_process_without_gradients_is_guarded_by_its_rows(tmp_path):
    x, start = blobs()

    class Breaks(KMeans):
        def advance(self):
            row = super().advance()
            return row | {"moved": math.inf} if self.rounds == 3 else row

    with pytest.raises(NonFiniteError, match=r"moved became inf in round 3, step 3\. Nothing of it was written\."):
        iterate(Breaks(x, start), rounds=9, run=Run(tmp_path), every=0.0)
    run = Run(tmp_path)
    assert len(run.rows(unsaved=True)) == 2 and run.latest()[1] == 2


@pytest.mark.parametrize("batch_size", [24, 8])
def test_a_loss_that_stops_being_finite_long_after_a_look_at_the_end_of_an_epoch_is_named(batch_size):
    """Descent above its stability limit grows by a factor a step; the guard has looked at the end of an epoch."""
    x, y = line()
    net = seeded(lambda: nn.Linear(3, 1)).double()
    made = Trainer(Supervised(net, square), Rows(x, y, batch_size=batch_size), optimizer="sgd", lr=9.0)
    with pytest.raises(NonFiniteError, match=r"Last good state: step \d00\. Try lr=0\.9"):
        iterate(made, rounds=2000)
