"""What every objective owes the trainer; being of an estimator in the catalog enrols, and toys stand beside them."""

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

import ftheta
from ftheta.data import Batch, Rows
from ftheta.data.batch import take
from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.models.energy import rbm_net
from ftheta.models.energy.rbm import Contrastive
from ftheta.store import dump_tree, parse_tree
from ftheta.train import FunctionObjective, Loss, Objective, Problem, Trainer, Training, iterate
from tests.contract.enrolled import NEURAL, data, name_of, small
from tests.train._toys import RBM, WGAN, Bilinear, Distillation, TargetNet, binary, line, same, seeded, timeless


class Subject(NamedTuple):
    """An objective, made anew by every call, and rows for it."""

    make: Any
    batch: Batch


def of_estimator(cls):
    X, y = data(cls, n=24)
    model = small(cls, dtype="float64").fit(X, y)
    return Subject(lambda: small(cls, dtype="float64").fit(X, y)._trainer.objective, model.batch(X, y))


def toy(make, x):
    return Subject(lambda: seeded(make), Batch(x))


SUBJECTS = {
    **{name_of(cls): (lambda cls=cls: of_estimator(cls)) for cls in NEURAL},
    "Bilinear alternating": lambda: toy(lambda: Bilinear(False), torch.zeros(4, 1)),
    "Bilinear simultaneous": lambda: toy(lambda: Bilinear(True), torch.zeros(4, 1)),
    "WGAN": lambda: toy(WGAN, line(features=1, dtype=torch.float32)[0]),
    "RBM": lambda: toy(RBM, binary(4)),
    "TargetNet": lambda: toy(TargetNet, torch.zeros(4, 1)),
    "Distillation": lambda: toy(lambda: Distillation().double(), line()[0]),
    "Contrastive": lambda: toy(lambda: Contrastive(rbm_net.RBM(4, 3), chains=5).double(), binary(4)),
    "Contrastive centred": lambda: toy(
        lambda: Contrastive(rbm_net.RBM(4, 3), chains=5, mean=torch.full((4,), 0.5)).double(), binary(4)
    ),
    "FunctionObjective": lambda: toy(
        lambda: FunctionObjective([torch.sum, torch.prod] * 3, [0.5, 2.0]), torch.arange(6)
    ),
}


@pytest.fixture(scope="module", params=SUBJECTS)
def subject(request):
    return SUBJECTS[request.param]()


def modules():
    """Every module of the rooms in which objectives and processes live."""
    for room in ("train", "models"):
        package = importlib.import_module(f"ftheta.{room}")
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(found.name)


def test_every_public_objective_is_tried():
    public = {v for m in modules() for name in getattr(m, "__all__", ()) if isinstance(v := getattr(m, name), type)}
    concrete = {c for c in public if issubclass(c, Objective) and not inspect.isabstract(c)}
    assert concrete and concrete <= {type(SUBJECTS[name]().make()) for name in SUBJECTS}
    assert set(NEURAL) <= set(ftheta.all_estimators().values())


HERE = Draw(0)


def one_loss(objective, player, batch, draw=HERE):
    """A loss under its draw, with the global generator as the trainer sets it."""
    with draw.scope():
        return objective.loss(player, batch, draw)


def mean(losses):
    return sum(loss.total for loss in losses) / sum(loss.weight for loss in losses)


def is_random(objective, batch):
    """Whether the loss depends on its draw."""
    totals = [one_loss(objective, p.name, batch, Draw(seed)).total for p in objective.player_list for seed in (0, 1)]
    return any(not a.equal(b) for a, b in zip(totals[::2], totals[1::2], strict=True))


# ---- players


def test_players_have_names_and_parameters_of_their_own(subject):
    objective = subject.make()
    names, own = [p.name for p in objective.player_list], [id(t) for p in objective.player_list for t in p.tensors()]
    assert names and len(set(names)) == len(names) and all(p.tensors() for p in objective.player_list)
    assert len(set(own)) == len(own) and set(own) <= {id(p) for p in objective.parameters() if p.requires_grad}
    assert not {id(p) for name in objective.constants for p in getattr(objective, name).parameters()} & set(own)


def test_every_player_has_his_turn_and_nobody_else(subject):
    objective = subject.make()
    names = {p.name for p in objective.player_list}
    turns = [names if objective.turn(step) is None else set(objective.turn(step)) for step in range(50)]
    assert set.union(*turns) == names and all(turns)


# ---- losses


def test_a_loss_is_a_pair_of_a_sum_with_a_gradient_and_a_positive_weight(subject):
    objective = subject.make()
    for player in objective.player_list:
        loss = one_loss(objective, player.name, subject.batch)
        assert isinstance(loss, Loss) and loss.total.shape == () and loss.total.requires_grad
        assert float(loss.weight) > 0 and (loss.once is None or loss.once.shape == ())
        assert isinstance(loss.terms, Mapping) and all(t.shape == () for t in loss.terms.values())
        assert torch.isfinite(loss.total)


def test_the_same_rows_and_draw_give_the_same_loss_bit_for_bit(subject):
    objective = subject.make().train()
    kept = objective.weights()
    for player in objective.player_list:
        first = one_loss(objective, player.name, subject.batch)
        objective.set_weights(kept)
        torch.rand(7)
        again = one_loss(objective, player.name, subject.batch)
        assert first.total.equal(again.total) and float(first.weight) == float(again.weight)


def test_sums_of_parts_make_the_sum_of_the_whole(subject):
    """What accumulation relies on; where a loss draws noise for its rows there is nothing to compare."""
    objective, batch = subject.make().eval(), subject.batch
    if not objective.separable or is_random(objective, batch):
        return
    cuts = [slice(0, 1), slice(1, 3), slice(3, batch.n)]
    parts = [Batch(*(take(field, cut) for field in batch[:3])) for cut in cuts]
    for player in objective.player_list:
        whole = mean([one_loss(objective, player.name, batch)])
        torch.testing.assert_close(
            mean([one_loss(objective, player.name, p) for p in parts]), whole, rtol=1e-10, atol=0
        )


def test_a_row_of_weight_three_is_three_rows(subject):
    objective, batch = subject.make().eval(), subject.batch
    if not objective.separable or is_random(objective, batch):
        return
    times = torch.ones(batch.n, dtype=torch.float64)
    times[1] = 3
    index = torch.repeat_interleave(torch.arange(batch.n), times.long())
    copies = Batch(take(batch.x, index), take(batch.y, index))
    weighed = Batch(batch.x, batch.y, times)
    for player in objective.player_list:
        a, b = (mean([one_loss(objective, player.name, rows)]) for rows in (copies, weighed))
        torch.testing.assert_close(a, b, rtol=1e-10, atol=0)


def test_gradients_reach_every_parameter_of_the_player_and_no_other(subject):
    objective, reached = subject.make().train(), set()
    for player in objective.player_list:
        for p in objective.parameters():
            p.grad = None
        problem = Problem(objective, player, Training())
        problem.bind([subject.batch], Draw(0))
        with Draw(0).scope():
            problem.gradient()
        with_gradient = {id(p) for p in objective.parameters() if p.grad is not None}
        assert with_gradient == {id(p) for p in player.tensors()}
        assert any(p.grad.abs().sum() > 0 for p in player.tensors())
        reached |= with_gradient
    assert reached == {id(t) for p in objective.player_list for t in p.tensors()}


def test_a_gradient_in_closed_form_is_autograds_of_the_same_draw(subject):
    objective = subject.make().train()
    kept = objective.weights()
    for player in objective.player_list:
        with HERE.scope():
            found = objective.gradient(player.name, subject.batch, HERE)
        if found is None:
            continue
        objective.set_weights(kept)
        loss = one_loss(objective, player.name, subject.batch)
        objective.set_weights(kept)
        truth = torch.autograd.grad(loss.total / loss.weight, player.tensors())
        torch.testing.assert_close(found[0].total, loss.total.detach(), rtol=1e-6, atol=1e-9)
        slopes = dict(found[1])
        assert float(found[0].weight) == float(loss.weight) and set(slopes) == set(player.tensors())
        for p, slope in zip(player.tensors(), truth, strict=True):
            torch.testing.assert_close(slopes[p], slope, rtol=1e-6, atol=1e-9)


# ---- beside the loss


def test_evaluation_reports_a_loss_and_changes_nothing(subject):
    objective = subject.make().eval()
    kept = objective.weights()
    with torch.no_grad(), Draw(0).scope():
        found = objective.evaluate(subject.batch, Draw(0))
    assert "loss" in found and all(isinstance(v, Loss) and float(v.weight) > 0 for v in found.values())
    assert all(torch.isfinite(v.total) for v in found.values()) and same(objective.weights(), kept)


def test_after_keeps_shapes_types_and_finiteness(subject):
    objective = subject.make()
    kept = objective.weights()
    for player in objective.player_list:
        with torch.no_grad():
            assert objective.after(player.name, subject.batch, Draw(0)) is None
    now = objective.weights()
    assert [(k, v.shape, v.dtype) for k, v in now.items()] == [(k, v.shape, v.dtype) for k, v in kept.items()]
    assert all(torch.isfinite(v).all() for v in now.values())


def test_constants_stay_in_evaluation_mode(subject):
    objective = subject.make().train()
    constants = {m for name in objective.constants for m in getattr(objective, name).modules()}
    assert all(m.training != (m in constants) for m in objective.modules())
    objective.eval()
    assert not any(m.training for m in objective.modules())


def test_residuals_are_half_of_the_loss_squared_or_none(subject):
    objective = subject.make().eval()
    r = objective.residual(subject.batch)
    if r is None:
        return
    loss = one_loss(objective, objective.player_list[0].name, subject.batch).total
    with torch.no_grad():
        for p in objective.parameters():
            p.mul_(1.1)
    moved = one_loss(objective, objective.player_list[0].name, subject.batch).total
    change = (objective.residual(subject.batch).square().sum() - r.square().sum()) / 2
    torch.testing.assert_close(moved - loss, change, rtol=1e-8, atol=1e-8)


# ---- state


def test_weights_survive_a_file(subject):
    objective = subject.make()
    kept = objective.weights()
    assert not any(name.split(".")[0] in objective.constants for name in kept)
    back = parse_tree(dump_tree(kept), "memory")
    with torch.no_grad():
        for value in objective.state_dict().values():
            value.add_(1)
    assert not same(objective.weights(), kept)
    objective.set_weights(back)
    assert same(objective.weights(), kept)


def test_weights_of_another_shape_are_refused(subject):
    objective = subject.make()
    name, value = next(iter(objective.weights().items()))
    with pytest.raises(InputError, match=f"do not fit the model: {name} differ in name or shape"):
        objective.set_weights(objective.weights() | {name: torch.zeros(*value.shape, 2)})


def test_training_goes_on_from_a_state_bit_for_bit(subject):
    def trainer():
        x, y = subject.batch.x, subject.batch.y
        return Trainer(subject.make(), Rows(x, y, batch_size=max(1, len(x) // 3)), optimizer="adam", lr=0.01, seed=5)

    whole, half, other = trainer(), trainer(), trainer()
    iterate(whole, steps=7)
    iterate(half, steps=4)
    other.load_state_dict(parse_tree(dump_tree(half.state_dict()), "memory"))
    iterate(other, steps=3)
    assert same(timeless(whole.state_dict()), timeless(other.state_dict()))
    assert isinstance(whole.objective, nn.Module) and all(isinstance(v, Tensor) for v in whole.weights().values())
