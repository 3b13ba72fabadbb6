"""Pictures above their maps: ranges, how many, signals, and what does not fit."""

import numpy as np

from ftheta.plots import saliency

RNG = np.random.default_rng(0)
X, MAPS = RNG.uniform(size=(8, 1, 5, 6)), RNG.normal(size=(8, 5, 6))


def test_every_map_is_a_share_of_its_own_largest_value_below_its_picture():
    maps = MAPS[:2] * [[[1]], [[-1]]]  # the largest of one is below 0, of the other above
    figure = saliency(X[:2], maps, ["a", "b"], label="saliency (gradient)")
    top, below = figure.axes[:2], figure.axes[2:4]
    assert [axes.get_title() for axes in top] == ["a", "b"]
    for i in range(2):
        np.testing.assert_allclose(top[i].images[0].get_array(), X[i, 0])
        np.testing.assert_allclose(below[i].images[1].get_array(), maps[i] / np.abs(maps[i]).max())
        assert below[i].images[1].get_clim() == (-1, 1)
    assert figure.axes[4].get_ylabel() == "saliency (gradient)\nshare of its largest value"


def test_at_most_six_are_shown_and_an_empty_map_stays_white():
    figure = saliency(X, np.zeros_like(MAPS), [str(i) for i in range(8)])
    assert len(figure.axes) == 13
    assert not np.asarray(figure.axes[6].images[1].get_array()).any()


def test_a_signal_is_a_line_over_its_map():
    x, maps = RNG.normal(size=(2, 3, 20)), RNG.normal(size=(2, 20))
    figure = saliency(x, maps, ["a", "b"])
    assert len(figure.axes[0].lines) == 3
    np.testing.assert_array_equal(figure.axes[1].lines[2].get_ydata(), x[1, 2])
    np.testing.assert_allclose(figure.axes[1].images[0].get_array(), maps[1:] / np.abs(maps[1]).max())
    assert figure.axes[1].get_xlabel() == "place" and figure.axes[0].get_ylabel() == "signal"
