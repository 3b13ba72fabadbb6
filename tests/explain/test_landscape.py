"""Landscapes and lines: the loss where it should be, the lowest place, paths, mini-batches, directions, barriers."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from ftheta import MLPClassifier, MLPRegressor, ModuleClassifier
from ftheta.data import Rows
from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.explain import available, landscape, linear_interpolation, loss_on_plane
from ftheta.explain.surface._directions import filter_normalized, leading, positions
from ftheta.train import Recorder, Supervised, Trainer, iterate

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 1))
Y = 2 * X[:, 0] + 1 + 0.8 * RNG.normal(size=60)
DESIGN = np.column_stack([X[:, 0], np.ones(60)])
BEST = np.linalg.lstsq(DESIGN, Y, rcond=None)[0]


def half_square(raw, y):
    return (raw[:, 0] - y) ** 2 / 2


def straight(w=-1.0, b=3.0):
    net = nn.Linear(1, 1).double()
    with torch.no_grad():
        net.weight.fill_(w)
        net.bias.fill_(b)
    return net


def descent(batch_size, steps=60, random_state=0, lr=0.1):
    """The path of plain descent from (-1, 3)."""
    recorder, net = Recorder(every=1), straight()
    source = Rows(torch.from_numpy(X), torch.from_numpy(Y), batch_size=batch_size)
    trainer = Trainer(Supervised(net, half_square), source, optimizer="sgd", lr=lr, seed=random_state)
    iterate(trainer, steps=steps, callbacks=[recorder])
    return net, recorder


def surface(x, y, rows=slice(None)):
    """Mean half squares of w x + b, for all w in x and b in y: the first axis is y."""
    return ((x[None, :, None] * X[rows, 0] + y[:, None, None] - Y[rows]) ** 2 / 2).mean(-1)


# --- two parameters


@pytest.mark.ledger("A111", "C030", covers="ftheta.explain.landscape")
def test_the_surface_of_a_line_has_its_path_its_weights_and_its_optimum():
    net, recorder = descent(batch_size=60)
    found = landscape(net, X, Y, loss=half_square, directions="axes", path=recorder)
    np.testing.assert_allclose(found.loss, surface(found.x, found.y), rtol=1e-10)
    np.testing.assert_allclose(found.lowest, BEST, rtol=1e-8)
    np.testing.assert_allclose(found.least, ((DESIGN @ BEST - Y) ** 2).mean() / 2, rtol=1e-8)
    np.testing.assert_allclose(found.at, [net.weight.item(), net.bias.item()])
    np.testing.assert_allclose(found.value, surface(*found.at[:, None, None].reshape(2, 1))[0, 0])
    np.testing.assert_allclose(found.paths["path"], recorder.path, atol=1e-12)
    assert found.names == ("weight", "bias") and found.n == 60
    box = found.figure().axes[0]
    for place in (found.at, found.lowest, *found.paths["path"]):
        assert box.get_xlim()[0] < place[0] < box.get_xlim()[1] and box.get_ylim()[0] < place[1] < box.get_ylim()[1]
    drawn = {line.get_label(): line.get_xydata() for line in box.lines}
    np.testing.assert_allclose(drawn["path"], recorder.path, atol=1e-12)
    np.testing.assert_allclose(drawn["lowest"], [BEST])
    np.testing.assert_allclose(drawn["weights"], [found.at])


@pytest.mark.ledger("A112", "C093", covers="ftheta.explain.landscape")
def test_every_batch_has_its_own_surface_with_its_own_minimum():
    box = ((-1.0, 5.0), (-2.0, 4.0))
    found = landscape(straight(), X, Y, loss=half_square, directions="axes", batches=4, box=box)
    assert found.batches.shape == (4, 25, 25)
    np.testing.assert_allclose(found.batches.mean(0), found.loss, rtol=1e-10)  # 4 batches of 15 are all 60 rows
    for i, j in ((0, 1), (0, 2), (1, 3)):
        assert np.linalg.norm(found.batch_lowest[i] - found.batch_lowest[j]) > 0.05
    assert (np.linalg.norm(found.batch_lowest - found.lowest, axis=1) > 0.02).all()
    assert (found.batch_least < [found.batches[i].min() for i in range(4)]).all()
    labels = found.figure().axes[0].get_legend_handles_labels()[1]
    assert labels == ["all rows", "batch 1", "batch 2", "batch 3", "batch 4", "lowest", "weights"]
    assert found.table().columns["place"] == ["weights", "lowest", *(f"lowest of batch {i}" for i in (1, 2, 3, 4))]


def test_the_minimum_of_a_batch_is_that_of_its_rows():
    """A batch of two rows has the line through them; any two rows will do."""
    found = landscape(straight(), X, Y, loss=half_square, directions="axes", batches=2, batch_size=2, random_state=3)
    order = torch.randperm(60, generator=Draw(3).at("landscape").generator("0"))
    np.testing.assert_allclose(found.batches[1], surface(found.x, found.y, order[2:4].numpy()), rtol=1e-10)


@pytest.mark.ledger("A132", covers="ftheta.explain.landscape")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_descents_are_the_more_jagged_the_fewer_rows_they_see(seed):
    paths = {name: descent(size, random_state=seed)[1] for name, size in (("full", 60), ("batches", 10), ("single", 1))}
    found = landscape(straight(), X, Y, loss=half_square, directions="axes", path=paths)
    one, some, few = found.jaggedness.values()
    assert 1 <= one < 1.05 * one < some < 1.2 * some < few
    turns = [turning(found.paths[name]) for name in paths]
    assert turns[0] < turns[1] < turns[2]
    np.testing.assert_allclose([path[0].tolist() for path in found.paths.values()], [[-1, 3]] * 3)
    assert found.figure().axes[0].get_legend_handles_labels()[1][:4] == ["full", "start", "batches", "single"]
    assert "single: 60 steps, 100 % of it in this plane, length / displacement" in found.table().caption


def turning(path):
    """Mean angle between one step and the next."""
    step = np.diff(path, axis=0)
    cosine = (step[1:] * step[:-1]).sum(1) / np.linalg.norm(step[1:], axis=1) / np.linalg.norm(step[:-1], axis=1)
    return np.arccos(np.clip(cosine, -1, 1)).mean()


# --- nets

IMAGES, LABELS = RNG.normal(size=(40, 5)), RNG.integers(3, size=40)
ROW_LOSS = nn.CrossEntropyLoss(reduction="none")


def net_of(*widths):
    torch.manual_seed(0)
    layers = [part for a, b in pairwise(widths) for part in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1]).double()


def moved(net, vector):
    """The mean loss with other weights, the long way round."""
    copy = net_of(5, 4, 3)
    nn.utils.vector_to_parameters(torch.from_numpy(vector), copy.parameters())
    return nn.functional.cross_entropy(copy(torch.from_numpy(IMAGES)), torch.from_numpy(LABELS)).item()


def test_every_point_has_the_loss_of_its_weights():
    net = net_of(5, 4, 3)
    theta = nn.utils.parameters_to_vector(net.parameters()).detach().numpy()
    d = RNG.normal(size=(2, len(theta)))
    found = landscape(net, IMAGES, LABELS, loss=ROW_LOSS, directions=tuple(d), points=4, span=0.7)
    np.testing.assert_allclose(found.x, np.linspace(-0.7, 0.7, 4))
    truth = [[moved(net, theta + a * d[0] + b * d[1]) for a in found.x] for b in found.y]
    np.testing.assert_allclose(found.loss, truth, rtol=1e-10)
    np.testing.assert_allclose(found.value, moved(net, theta), rtol=1e-10)


def test_scaling_a_relu_layer_up_and_the_next_one_down_changes_nothing():
    """What filter normalisation is for: the net is the same function, and so is its landscape."""
    net, scaled = net_of(5, 8, 3), net_of(5, 8, 3)
    with torch.no_grad():
        scaled[0].weight.mul_(10)
        scaled[0].bias.mul_(10)
        scaled[2].weight.div_(10)
    one, two = (landscape(n, IMAGES, LABELS, loss=ROW_LOSS, points=7) for n in (net, scaled))
    np.testing.assert_allclose(two.loss, one.loss, rtol=1e-9)
    assert not np.allclose(landscape(net, IMAGES, LABELS, loss=ROW_LOSS, points=7, random_state=1).loss, one.loss)


def test_the_plane_of_a_path_holds_what_it_says_of_it():
    model = MLPClassifier(hidden=(6,), epochs=12, lr=0.05, dtype="float64", random_state=0)
    recorder = Recorder()
    iterate(model.prepare(IMAGES, LABELS), rounds=12, callbacks=[recorder])
    found = landscape(model, IMAGES, LABELS, directions="path", path=recorder, points=5)
    away = recorder.path - recorder.path[-1]
    values = np.linalg.svd(away, compute_uv=False) ** 2
    np.testing.assert_allclose(found.shares["path"], values[:2] / values.sum(), rtol=1e-8)
    assert found.names[0] == f"principal direction 1 ({100 * values[0] / values.sum():.0f} %)"
    np.testing.assert_allclose(np.linalg.norm(found.paths["path"][-1]), 0, atol=1e-9)
    inside = np.linalg.norm(found.paths["path"], axis=1) ** 2
    np.testing.assert_allclose(inside.sum() / (away**2).sum(), found.shares["path"].sum())
    low, high = found.paths["path"].min(0), found.paths["path"].max(0)
    assert found.x[0] < low[0] < high[0] < found.x[-1] and found.y[0] < low[1] < high[1] < found.y[-1]
    np.testing.assert_allclose(found.value, model.evaluate(IMAGES, LABELS)["loss"])


def test_rows_are_evenly_spaced_where_there_are_too_many():
    found = landscape(straight(), X, Y, loss=half_square, directions="axes", max_rows=3, points=3)
    np.testing.assert_allclose(found.loss, surface(found.x, found.y, [0, 30, 59]), rtol=1e-10)
    assert found.n == 3


def test_the_parameters_of_a_regressor_are_those_that_its_net_sees():
    model = MLPRegressor(hidden=(), epochs=1, dtype="float64", random_state=0).fit(X, 100 * Y)
    found = landscape(model, X, 100 * Y, directions="axes", box=((-2, 2), (-2, 2)))
    z = (Y - Y.mean()) / Y.std()
    np.testing.assert_allclose(found.lowest, np.linalg.lstsq(DESIGN, z, rcond=None)[0], atol=1e-8)
    assert found.names == ("output.weight", "output.bias")


def test_places_that_are_not_finite_stay_out_of_it():
    def cliff(raw, y):
        return torch.where(raw[:, 0].mean() > 2, torch.inf, half_square(raw, y))

    found = landscape(straight(0.0, 1.0), X, Y, loss=cliff, directions="axes", points=9, box=((0, 3), (-1, 4)))
    assert np.isinf(found.loss).any() and np.isfinite(found.lowest).all() and found.lowest[1] < 2
    assert found.figure().axes[0].get_title() == "Loss at 60 rows"


def test_the_lowest_place_is_a_grid_point_at_an_edge():
    found = landscape(straight(), X, Y, loss=half_square, directions="axes", box=((3, 4), (2, 3)), points=5)
    assert found.lowest.tolist() == [3, 2] and found.least == found.loss[0, 0]


def test_a_plane_is_the_same_surface_with_its_derivatives():
    net = straight().float()
    f = loss_on_plane(net, X, Y, "axes", loss=half_square)
    place = torch.tensor([0.7, -0.3], dtype=torch.float64, requires_grad=True)
    value = f(place)
    (slope,) = torch.autograd.grad(value, place)
    x32, y32 = X.astype(np.float32).astype(float), Y.astype(np.float32).astype(float)
    design = np.column_stack([x32[:, 0], np.ones(60)])
    r = design @ [0.7, -0.3] - y32
    assert value.dtype == torch.float64 and net.weight.dtype == torch.float32 and net.weight.requires_grad
    np.testing.assert_allclose(value.item(), (r**2).mean() / 2, rtol=1e-12)
    np.testing.assert_allclose(slope, design.T @ r / 60, rtol=1e-10)
    np.testing.assert_allclose(torch.autograd.functional.hessian(f, place.detach()), design.T @ design / 60, rtol=1e-10)


def test_a_plane_agrees_with_its_landscape():
    model = MLPClassifier(hidden=(6,), epochs=2, dtype="float64", random_state=0).fit(IMAGES, LABELS)
    found = landscape(model, IMAGES, LABELS, points=3, random_state=4)
    f = loss_on_plane(model, IMAGES, LABELS, random_state=4)
    truth = [[f(torch.tensor([a, b])).item() for a in found.x] for b in found.y]
    np.testing.assert_allclose(found.loss, truth, rtol=1e-10)
    few = loss_on_plane(model, IMAGES, LABELS, max_rows=9)(torch.zeros(2)).item()
    assert few == pytest.approx(landscape(model, IMAGES, LABELS, points=3, max_rows=9).value) != found.value


def test_a_plane_draws_nothing_from_the_global_generator():
    class Noisy(nn.Linear):
        def forward(self, x):
            return super().forward(x) + torch.randn(len(x), 1, dtype=x.dtype)

    f = loss_on_plane(Noisy(1, 1), X, Y, "axes", loss=half_square)
    state, place = torch.get_rng_state(), torch.zeros(2)
    assert f(place) == f(place) and torch.equal(torch.get_rng_state(), state)


# --- directions that are chosen


def test_two_parameters_are_shown_on_their_own_axes_and_more_at_random():
    assert landscape(straight(), X, Y, loss=half_square, points=3).names == ("weight", "bias")
    pair = nn.Linear(2, 1, bias=False)
    assert landscape(pair, IMAGES[:, :2], LABELS, loss=half_square, points=3).names == ("weight[0]", "weight[1]")
    found = landscape(nn.Linear(5, 3), IMAGES, LABELS, loss=ROW_LOSS, points=3)
    assert found.names == ("random direction 1 (filter-normalized)", "random direction 2 (filter-normalized)")


def test_biases_move_where_the_weights_span_no_plane():
    """One weight alone has one direction, so two random ones are parallel."""
    net = nn.Module()
    net.w, net.b = nn.Parameter(torch.ones(1, 1)), nn.Parameter(torch.tensor([1.0, 2.0]))
    net.forward = lambda x: x @ net.w + net.b
    found = landscape(net, X, Y, loss=lambda raw, y: ((raw - y[:, None]) ** 2).sum(1), directions="random", points=5)
    assert np.ptp(found.loss, axis=0).min() > 0 and np.ptp(found.loss, axis=1).min() > 0
    with pytest.raises(InputError, match=r"The two directions span no plane"):
        landscape(straight(0.0, 0.0), X, Y, loss=half_square, directions="random")


def test_a_model_of_one_parameter_has_no_landscape():
    one = MLPRegressor(hidden=(), epochs=1, random_state=0).fit(X, Y)
    assert "landscape" in available(one)
    one.module_.output.bias.requires_grad_(False)
    assert "landscape" not in available(one)


# --- refused


# ---- directions


def drawn(parts, stream="d1", biases=False):
    flat = filter_normalized(parts, Draw(0).generator(stream), biases=biases)
    return dict(zip(parts, flat.split([p.numel() for p in parts.values()]), strict=True))


def test_every_filter_has_the_length_of_the_filter_of_the_weights():
    net = nn.Sequential(nn.Conv2d(2, 5, 3), nn.BatchNorm2d(5), nn.Flatten(), nn.Linear(20, 3)).double()
    parts = dict(net.named_parameters())
    found = drawn(parts)
    for name, filters in (("0.weight", 5), ("3.weight", 3)):
        mine, theirs = found[name].view(filters, -1), parts[name].detach().reshape(filters, -1)
        torch.testing.assert_close(mine.norm(dim=1), theirs.norm(dim=1))
        assert (mine / mine.norm(dim=1, keepdim=True)).std(dim=0).min() > 0.01  # no two filters are alike
    for name in ("0.bias", "1.weight", "1.bias", "3.bias"):
        assert not found[name].any()


def test_places_and_shares_of_a_path_in_directions_that_are_not_orthogonal():
    d = np.array([[2.0, 0, 0], [1.0, 1.0, 0]])
    path = np.array([[5.0, 3.0, 4.0], [1.0, 1.0, 0.0]])  # (1, 3) and (0, 1) in d, and 4 outside
    places, shares = positions(path, np.zeros(3), d)
    np.testing.assert_allclose(places, [[1, 3], [0, 1]])
    np.testing.assert_allclose(shares, [26 / 52, 10 / 52])  # x², then y², of x² + y² + z²
    assert positions(path * 0, np.zeros(3), d)[1].tolist() == [1, 1]


@pytest.mark.parametrize("path", [np.ones((1, 3)), np.outer([1.0, 2.0, 3.0], [1.0, 1.0, 0.0]), np.zeros((4, 3))])
def test_a_path_on_a_line_spans_no_plane(path):
    with pytest.raises(InputError, match=rf"A path of {len(path)} points spans no plane .* or use directions='random'"):
        leading(path, np.zeros(3))


# ---- line


RNG3 = np.random.default_rng(0)
X3 = RNG3.normal(size=(40, 3))
Y3, LABELS3 = X3 @ [1.0, -2.0, 0.5], (X3[:, 0] * X3[:, 1] > 0).astype(int)


def test_a_linear_model_has_a_parabola_on_every_line():
    a, b = nn.Linear(3, 1).double(), nn.Linear(3, 1).double()
    found = linear_interpolation(a, b, X3, Y3, loss=half_square, points=7)
    w = [torch.cat([p.flatten() for p in net.parameters()]).detach().numpy() for net in (a, b)]
    design = np.column_stack([X3, np.ones(40)])
    truth = [((design @ (w[0] + t * (w[1] - w[0])) - Y3) ** 2).mean() / 2 for t in found.t]
    np.testing.assert_allclose(found.loss, truth, rtol=1e-10)
    np.testing.assert_allclose(found.distance, np.linalg.norm(w[1] - w[0]))
    assert found.t.tolist() == [-0.25, 0, 0.25, 0.5, 0.75, 1, 1.25] and found.n == 40
    assert linear_interpolation(a, b, X3, Y3, loss=half_square, max_rows=9).n == 9
    assert found.barrier == 0 and (found.excess[1:-1] <= 1e-15).all()  # convex: nothing is above the chord


def test_the_barrier_is_the_largest_excess_between_the_ends():
    """Two nets that differ by the order of their units: the same function, and the mean of both is another."""
    a = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1)).double()
    b = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1)).double()
    order = [5, 4, 3, 2, 1, 0]
    with torch.no_grad():
        b[0].weight.copy_(a[0].weight[order])
        b[0].bias.copy_(a[0].bias[order])
        b[2].weight.copy_(a[2].weight[:, order])
        b[2].bias.copy_(a[2].bias)
    y = a(torch.from_numpy(X3)).detach()[:, 0]
    found = linear_interpolation(a, b, X3, y, loss=half_square)
    np.testing.assert_allclose(found.ends, 0, atol=1e-20)
    middle = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1)).double()
    middle.load_state_dict({k: (v + b.state_dict()[k]) / 2 for k, v in a.state_dict().items()})
    truth = half_square(middle(torch.from_numpy(X3)), y).mean().item()
    np.testing.assert_allclose(found.loss[found.t == 0.5], truth, rtol=1e-10)
    assert found.barrier >= truth > 1e-4 and 0 in found.t and 1 in found.t and len(found.t) == 43
    assert f"Barrier {found.barrier:#.4g} over a distance of" in found.table().caption
    drawn = {h.get_label(): h for h in found.figure().axes[0].lines}
    np.testing.assert_allclose(
        drawn[f"barrier {found.barrier:#.3g}"].get_ydata()[1], found.loss[(found.t >= 0) & (found.t <= 1)].max()
    )


def test_the_barrier_is_above_the_chord_and_not_above_the_lower_end():
    a, b = (nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1)).double() for _ in range(2))
    found = linear_interpolation(a, b, X3, 10 * Y3, loss=half_square)
    inside = (found.t >= 0) & (found.t <= 1)
    chord = np.interp(found.t[inside], [0, 1], found.ends)
    np.testing.assert_allclose(found.barrier, (found.loss[inside] - chord).max())


def test_both_ends_are_the_models_with_their_running_statistics():
    def net():
        return nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2))

    a, b = (ModuleClassifier(module=net(), epochs=e, random_state=s).fit(X3, LABELS3) for e, s in ((3, 0), (6, 1)))
    kept = [{k: v.clone() for k, v in m.module_.state_dict().items()} for m in (a, b)]
    found = linear_interpolation(a, b, X3, LABELS3, points=5)
    np.testing.assert_allclose(found.ends, [m.evaluate(X3, LABELS3)["loss"] for m in (a, b)], rtol=1e-5)
    for m, before in zip((a, b), kept, strict=True):
        assert all(torch.equal(v, before[k]) for k, v in m.module_.state_dict().items())
