"""Figures with a label for every pixel: areas and outlines as geometry has them, every pixel decided by the seed."""

import numpy as np
import pytest

from ftheta.data import load, make_dataset, shapes
from ftheta.data.sets.synthetic import _figures
from ftheta.errors import InputError


def test_it_is_a_whole_data_set_by_name():
    data = load("shapes")
    assert data.task == "segment" and data.kind == "image" and data.shape == (32, 32) and data.outputs == 4
    assert data.x.shape == (data.rows, 1024) == (500, data.columns) and data.x.dtype == np.uint8
    assert data.y.shape == (500, 32, 32) and data.y.dtype.kind == "i" and len(data.feature_names) == 1024
    assert set(np.unique(data.y)) == {0, 1, 2, 3} and data.truth.formula and data.license


def test_the_seed_decides_every_pixel():
    state = np.random.get_state()[1].tolist()
    first, again, other = (make_dataset("shapes", n=20, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(first.x, again.x) and np.array_equal(first.y, again.y)
    assert not np.array_equal(first.y, other.y) and np.random.get_state()[1].tolist() == state


def test_without_noise_figures_are_brighter_than_any_ground():
    data = shapes(200, noise=0)
    grey = data.x.reshape(data.y.shape) / 255
    assert grey[data.y == 0].max() < 0.31 and grey[data.y > 0].min() > 0.49
    assert all(len(np.unique(image)) <= 4 for image in data.x)  # ground and up to three figures, each of one grey


def test_noise_has_the_standard_deviation_that_is_asked_for():
    clean, noisy = shapes(100, noise=0), shapes(100, noise=0.05)
    apart = (noisy.x / 255.0 - clean.x / 255.0)[(clean.x > 64) & (clean.x < 191)]  # nothing is cut there
    assert np.array_equal(clean.y, noisy.y) and apart.std() == pytest.approx(0.05, rel=0.05)


def test_kinds_are_equally_frequent_and_brightness_does_not_tell_them():
    data = shapes(2000, noise=0)
    grey, present = data.x.reshape(data.y.shape) / 255, [(data.y == k).any((1, 2)).mean() for k in (1, 2, 3)]
    assert np.ptp(present) < 0.05 and np.ptp([grey[data.y == k].mean() for k in (1, 2, 3)]) < 0.02


@pytest.mark.parametrize(("kind", "area"), [(1, np.pi), (2, 2.0), (3, 3**1.5 / 4)])
def test_a_figure_has_the_area_of_its_circumradius(kind, area):
    """πr², 2r² and (3√3/4) r²: r from the pixel that is furthest from the centre of mass."""
    seen = _figures(np.random.default_rng(0), np.full(40, kind), 200)
    i, j = np.indices((200, 200))
    for image in seen:
        middle = i[image].mean(), j[image].mean()
        radius = np.hypot(i[image] - middle[0], j[image] - middle[1]).max()
        assert image.sum() == pytest.approx(area * radius**2, rel=0.1)
        assert not image[[0, -1]].any() and not image[:, [0, -1]].any()  # inside the picture


def test_the_label_is_that_of_the_figure_that_is_seen():
    """Where figures overlap, grey and label are of the same one: in an image a grey has one label."""
    data = shapes(200, noise=0)
    for x, y in zip(data.x, data.y, strict=True):
        assert len(np.unique(256 * y.ravel() + x)) == len(np.unique(x))


def test_what_cannot_be_made_is_refused():
    with pytest.raises(InputError, match="'shapes' has 0 images of 32 x 32 pixels; at least 1 of 16 x 16"):
        shapes(0)
    with pytest.raises(InputError, match="'shapes' has 5 images of 8 x 8 pixels"):
        shapes(5, size=8)
    with pytest.raises(InputError, match="The noise of 'shapes' is -1; give a finite number"):
        shapes(5, noise=-1)
