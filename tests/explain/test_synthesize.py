"""Synthesis of a unit: r w / |w| where it is linear, the middle of the map, and what jitter and blur do."""

import numpy as np
import pytest
from torch import nn

from ftheta.explain import synthesize

RNG = np.random.default_rng(0)


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
    net, x = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten()).double(), RNG.normal(size=(7, 1, 3, 3))
    found = synthesize(net, X=x, steps=3)
    norms = np.linalg.norm(x.reshape(7, -1), axis=1)
    assert found.radius == pytest.approx(np.median(norms))
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
