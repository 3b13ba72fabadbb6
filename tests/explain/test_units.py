"""What excites units: patches by a search over all places, inputs of linear units."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from torch import nn

from ftheta import ModuleClassifier
from ftheta.errors import InputError
from ftheta.explain import filters, synthesize, top_patches
from ftheta.formulas import receptive_field

RNG = np.random.default_rng(0)
X = RNG.normal(size=(70, 2, 9, 10))


def test_patches_are_the_windows_that_a_search_over_all_places_finds():
    net = nn.Sequential(nn.Conv2d(2, 3, (2, 3))).double()
    found = top_patches(net, X, units=[2, 0], n=4)
    w, b = (p.detach().numpy() for p in net[0].parameters())
    windows = np.lib.stride_tricks.sliding_window_view(X, (2, 3), axis=(2, 3))  # (B, C, h, w, 2, 3)
    for u, unit in enumerate([2, 0]):
        h = np.einsum("bcijkl,ckl->bij", windows, w[unit]) + b[unit]
        best = h.reshape(len(X), -1).max(1)
        rows = np.argsort(-best)[:4]
        np.testing.assert_array_equal(found.rows["0"][u], rows)
        np.testing.assert_allclose(found.values["0"][u], best[rows])
        for k, row in enumerate(rows):
            i, j = np.unravel_index(h[row].argmax(), h[row].shape)
            np.testing.assert_array_equal(found.patches["0"][u, k], X[row, :, i : i + 2, j : j + 3])
            assert found.corners["0"][u, k].tolist() == [i, j]
    assert found.fields["0"] == (2, 3) and found.units["0"].tolist() == [2, 0]
    columns = found.table().columns  # of the strongest patch of each unit
    assert columns["unit"] == [2, 0] and columns["row"] == found.rows["0"][:, 0].tolist()
    assert columns["from place"] == [str(tuple(corner)) for corner in found.corners["0"][:, 0].tolist()]


def test_what_lies_beyond_the_edge_is_not_a_number():
    """The largest response of a shifting kernel in a padded net is at a corner that is known."""
    x = np.zeros((1, 1, 4, 4))
    x[0, 0, 0, 0] = 1.0
    net = nn.Conv2d(1, 1, 3, padding=1, bias=False).double()
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[[[0.0, 0, 0], [0, 1, 0], [0, 0, 0]]]]))
    patch = top_patches(net, x).patches["Conv2d"][0, 0, 0]
    np.testing.assert_array_equal(patch, [[np.nan] * 3, [np.nan, 1, 0], [np.nan, 0, 0]])


def test_a_patch_alone_excites_its_unit_as_much_as_it_did_in_its_row():
    """All that a unit sees is in its patch: the net without padding gives the same number for the patch alone."""
    net = nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 3, 2)).double()
    found = top_patches(net, X, ["3"], units=3, n=2)
    ends = nn.Sequential(nn.Conv2d(2, 1, 2), nn.Flatten(), nn.Linear(72, 2)).double()
    with pytest.raises(InputError, match="2 does not give maps; choose layers"):
        top_patches(ends, X, ["0", "2"])
    assert found.fields["3"] == (6, 6)
    alone = net(torch.tensor(found.patches["3"].reshape(-1, 2, 6, 6))).detach().reshape(3, 2, 3)
    for u, unit in enumerate(found.units["3"]):
        np.testing.assert_allclose(alone[u, :, unit], found.values["3"][u])


@pytest.mark.ledger("C188", covers="ftheta.explain.top_patches")
@pytest.mark.ledger("A208", "B098", covers="ftheta.explain.synthesize")
def test_of_a_trained_net_filters_are_seen_and_what_excites_later_layers_grows_with_depth():
    digits = load_digits()
    images = digits.images[:, None] / 16
    net = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Conv2d(6, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3))
    net.extend([nn.Flatten(), nn.Linear(32, 10)])
    model = ModuleClassifier(module=net, epochs=2, random_state=0).fit(images[:400], digits.target[:400])
    assert filters(model).kernels.shape == (6, 1, 3, 3)
    assert filters(model).figure().axes[0].get_title() == "Filters of 0"
    found = top_patches(model, images, units=2, n=3)
    expected = [field.size for field in receptive_field([(3, 1, 1)] * 3)]
    assert list(found.fields.values()) == [(n, n) for n in expected] == [(3, 3), (5, 5), (7, 7)]
    for name, field in found.fields.items():
        made = synthesize(model, name, 0, X=images[:50], steps=20)
        low, high = made.field.T
        assert tuple(high - low + 1) == field and made.values[0] > made.start[0]
    assert "0 3 x 3, 2 5 x 5, 4 7 x 7" in found.caption


@pytest.mark.middle
@pytest.mark.ledger("C188", covers="ftheta.ModuleClassifier")
def test_training_makes_later_layers_tell_digits_apart():
    """Accuracy on new digits of a linear classifier of the largest number of each map, after each of three layers."""
    digits = load_digits()
    X, y = digits.images[:, None] / 16, digits.target

    def accuracies(net):
        h, found = torch.tensor(X, dtype=torch.float32), []
        for layer in net[:6]:
            h = layer(h)
            if isinstance(layer, nn.ReLU):
                maps = h.detach().amax((2, 3)).numpy()
                found.append(RidgeClassifier().fit(maps[:1000], y[:1000]).score(maps[1000:], y[1000:]))
        return found

    untrained, trained = [], []
    for seed in range(3):
        torch.manual_seed(seed)
        layers = [layer for c in (1, 16, 16) for layer in (nn.Conv2d(c, 16, 3), nn.ReLU())]
        net = nn.Sequential(*layers, nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(16, 10))
        untrained.append(accuracies(net))
        model = ModuleClassifier(module=net, epochs=10, lr=0.01, batch_size=50, random_state=seed)
        trained.append(accuracies(model.fit(X[:1000], y[:1000]).module_))
    before, after = np.array(untrained).T, np.array(trained).T  # (layer, seed)
    assert after[2].min() > 0.8 > 0.75 > after[0].max()  # features of the last layer are those of digits
    assert before[2].max() < 0.7 and np.mean(before[2] - before[0]) < 0.1  # by training, not by depth


def test_of_a_layer_that_runs_twice_the_last_run_is_looked_at():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.pool = nn.Conv2d(2, 2, 3).double(), nn.MaxPool2d(2)

        def forward(self, x):
            return self.conv(self.pool(self.conv(x)))

    net = Twice()
    found = top_patches(net, X, units=[1], n=3)
    best = net(torch.tensor(X))[:, 1].flatten(1).amax(1).detach().numpy()
    rows = np.argsort(-best)[:3]
    np.testing.assert_array_equal(found.rows["conv"][0], rows)
    np.testing.assert_allclose(found.values["conv"][0], best[rows])
    assert found.fields["conv"] == (8, 8)


def test_the_strongest_units_and_at_most_six_layers_are_shown():
    layers = [nn.Conv2d(2, 2, 1), *(nn.Conv2d(2, 2, 1) for _ in range(8))]
    net = nn.Sequential(*layers).double()
    assert list(top_patches(net, X).fields) == ["0", "2", "3", "5", "6", "8"]
    h = layers[0](torch.tensor(X)).amax((0, 2, 3))
    found = top_patches(net, X, ["0"], units=1)
    assert found.units["0"].tolist() == [int(h.argmax())] and found.n == 70
    assert found.table().columns["unit"] == [int(h.argmax())] and found.figure().axes[0].get_title() == "0, sees 1 x 1"
    with pytest.raises(InputError, match="numbers from 0 to 1"):
        top_patches(net, X, ["0"], units=[2])


RNG2 = np.random.default_rng(0)


def test_a_linear_unit_is_excited_by_its_weights():
    net = nn.Sequential(nn.Conv2d(2, 3, (4, 5)), nn.Flatten()).double()
    found = synthesize(net, input_shape=(2, 4, 5), radius=3.0, jitter=0, blur=0)
    w, b = (p.detach().numpy() for p in net[0].parameters())
    norms = np.linalg.norm(w.reshape(3, -1), axis=1)
    np.testing.assert_allclose(found.images, 3 * w / norms[:, None, None, None], atol=1e-6)
    np.testing.assert_allclose(found.values, 3 * norms + b)
    assert found.layer == "output" and found.names == ("0", "1", "2") and found.field.tolist() == [[0, 3], [0, 4]]
    assert (found.start < found.values).all() and found.radius == 3.0


def test_a_unit_of_a_map_is_excited_by_its_kernel_in_the_middle():
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU()).double()
    found = synthesize(net, "0", [3, 1], input_shape=(1, 9, 8), radius=2.0)
    assert found.field.tolist() == [[3, 5], [3, 5]] and found.units.tolist() == [3, 1]
    expected = np.zeros((2, 1, 9, 8))
    w = net[0].weight.detach().numpy()[[3, 1]]
    expected[:, :, 3:6, 3:6] = 2 * w / np.linalg.norm(w.reshape(2, -1), axis=1)[:, None, None, None]
    np.testing.assert_allclose(found.images, expected, atol=1e-6)
    assert found.figure().axes[0].get_title() == "What excites units of 0, seeing 3 x 3"


def test_rows_give_shape_and_norm():
    net, x = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten()).double(), RNG2.normal(size=(7, 1, 3, 3))
    found = synthesize(net, X=x, steps=3)
    assert found.radius == pytest.approx(np.median(np.linalg.norm(x.reshape(7, -1), axis=1)))
    np.testing.assert_allclose(np.linalg.norm(found.images.reshape(2, -1), axis=1), found.radius)
    assert synthesize(net, X=np.zeros((2, 1, 3, 3)), steps=1).radius == pytest.approx(0.25 * 3)
    assert synthesize(net, input_shape=(1, 3, 3), steps=1).radius == pytest.approx(0.25 * 3)


def roughness(x):
    return (np.diff(x, axis=-1) ** 2).sum()


def test_blur_makes_smooth_and_jitter_averages_over_shifts():
    """With a jitter of 1 a linear unit is excited by its weights, averaged over nine shifts."""
    net = nn.Sequential(nn.Conv2d(1, 1, 7), nn.Flatten()).double()
    knobs = {"input_shape": (1, 7, 7), "radius": 1.0}
    sharp, smooth = (synthesize(net, **knobs, jitter=0, blur=blur).images for blur in (0, 1.0))
    assert roughness(smooth) < 0.5 * roughness(sharp)
    w = net[0].weight.detach().numpy()[0, 0]
    mean = np.mean([np.roll(w, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)], axis=0)
    moved = synthesize(net, **knobs, jitter=1, blur=0).images[0, 0]
    cosine = [(moved * v).sum() / np.linalg.norm(v) for v in (mean, w)]
    assert cosine[0] > 0.85 and cosine[0] > cosine[1] + 0.1


def test_the_seed_decides_and_ascent_climbs_where_there_is_more_than_one_top():
    net = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Conv2d(6, 2, 3), nn.Flatten())
    first, again, other = (
        synthesize(net, input_shape=(1, 5, 5), jitter=0, blur=0, steps=50, random_state=seed) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.images, again.images)
    assert not np.array_equal(first.start, other.start) and (first.values > first.start).all()
    assert first.table().columns["at the end"] == first.values.tolist()
