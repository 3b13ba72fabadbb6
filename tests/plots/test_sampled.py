"""Samples as pictures or points, with the nearest rows at the same places and the shares of distances."""

import numpy as np

from ftheta.plots import sampled, sampled_points

RNG = np.random.default_rng(0)
ROWS, NEAR = RNG.random((2, 10, 3, 4))
FAR, USUAL = np.array([3.0, 1.0, 2.0, 2.0]), np.array([1.0, 4.0])


def test_samples_and_neighbors_lie_at_the_same_places_in_one_range_of_colours():
    grid, near, _ = sampled(ROWS, 5 * NEAR, FAR, USUAL).axes
    for axes, rows in ((grid, ROWS), (near, 5 * NEAR)):
        whole = axes.images[0].get_array()
        assert set(np.ma.compressed(whole)) == set(rows.ravel())
        assert whole[int(axes.get_yticks()[1]), int(axes.get_xticks()[1])] == rows[9, 1, 2]
        assert axes.images[0].get_clim() == (min(ROWS.min(), 5 * NEAR.min()), 5 * NEAR.max())
        assert axes.get_xlabel() and axes.get_ylabel() and axes.images[0].get_interpolation() == "nearest"


def test_curves_are_the_shares_that_are_nearer():
    axes = sampled(ROWS, NEAR, FAR, USUAL).axes[2]
    lines = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
    assert lines["samples"] == [[0, 0], [1, 0.25], [2, 0.5], [2, 0.75], [3, 1]]
    assert lines["training rows, to the others"] == [[0, 0], [1, 0.5], [4, 1]]


def test_at_most_64_are_shown_and_alone_they_need_one_axes():
    figure = sampled(RNG.random((70, 2, 2)))
    assert [axes.get_title() for axes in figure.axes] == ["Samples, the first 64 of 70"]
    assert len(sampled(RNG.random((3, 3, 4, 4))).axes[0].get_xticks()) == 3
    assert sampled(np.zeros((2, 3, 3))).axes[0].images[0].get_clim() == (0.0, 1.0)


def test_points_are_the_first_two_columns():
    rows, near = RNG.random((2, 5, 3))
    left, right = sampled_points(rows, near, FAR, USUAL).axes
    np.testing.assert_array_equal(left.collections[0].get_offsets(), rows[:, :2])
    np.testing.assert_array_equal(left.collections[1].get_offsets(), near[:, :2])
    assert (left.get_xlabel(), left.get_ylabel()) == ("column 1", "column 2") and len(right.lines) == 2
    (alone,) = sampled_points(rows[:, :1]).axes
    np.testing.assert_array_equal(alone.collections[0].get_offsets(), np.column_stack([range(5), rows[:, 0]]))
    assert (alone.get_xlabel(), alone.get_ylabel()) == ("sample", "column 1")
