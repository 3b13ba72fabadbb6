"""Dense networks as circles and lines: what is drawn, what is left out, and what is crossed out."""

import numpy as np

from ftheta.plots import network


def marks(axes, marker):
    """Places of the units that are drawn with a marker, dots of an ellipsis left out."""
    return sorted(map(tuple, np.concatenate(
        [line.get_xydata() for line in axes.lines if line.get_marker() == marker and line.get_markersize() > 5]
    )))  # fmt: skip


def edges(axes):
    """Pairs of places that a line joins."""
    points = axes.lines[0].get_xydata().reshape(-1, 3, 2)
    assert np.isnan(points[:, 2]).all()
    return sorted((tuple(a), tuple(b)) for a, b, _ in points)


def test_every_unit_is_joined_with_every_unit_of_the_next_layer():
    axes = network([3, 1, 2]).axes[0]
    inputs, outputs = [(0, -1), (0, 0), (0, 1)], [(2, -0.5), (2, 0.5)]
    assert marks(axes, "o") == [*inputs, (1, 0), *outputs]
    assert edges(axes) == [*((a, (1, 0)) for a in inputs), *(((1, 0), b) for b in outputs)]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["input\n3", "hidden 1\n1", "output\n2"]


def test_labels_stand_above_the_weights_they_speak_of():
    axes = network([3, 4, 2], labels=["first", "second"]).axes[0]
    assert [(text.get_text(), text.get_position()[0]) for text in axes.texts] == [("first", 0.5), ("second", 1.5)]
    highest = max(y for _, y in marks(axes, "o"))
    assert all(text.get_position()[1] > highest for text in axes.texts)


def test_a_wide_layer_shows_its_ends_and_dots_between_them():
    axes = network([17, 16]).axes[0]
    units = marks(axes, "o")
    assert len([x for x, _ in units if x == 0]) == 14 and len([x for x, _ in units if x == 1]) == 16
    assert len(edges(axes)) == 14 * 16
    dots = [line for line in axes.lines if line.get_markersize() < 5]
    assert [line.get_xdata().tolist() for line in dots] == [[0, 0, 0]]
    assert min(abs(y) for x, y in units if x == 0) == 1  # the dots lie between -1 and 1


def test_dropped_units_are_crossed_out_and_lose_their_lines():
    full, thin = network([2, 3, 1], dropped=[np.array([True, False, True])]).axes
    assert len(edges(full)) == 9 and not any(line.get_marker() == "x" and len(line.get_xdata()) for line in full.lines)
    assert marks(thin, "x") == [(1, -1), (1, 1)] and marks(thin, "o") == marks(full, "o")
    assert edges(thin) == [((0, -0.5), (1, 0)), ((0, 0.5), (1, 0)), ((1, 0), (2, 0))]


def test_masks_of_a_wide_layer_are_those_of_the_units_that_are_shown():
    thin = network([1, 40, 1], dropped=[np.arange(40) == 39]).axes[1]  # the last unit: the lowest circle
    assert marks(thin, "x") == [(1, -7)]
    hidden = network([1, 40, 1], dropped=[np.arange(40) == 20]).axes[1]  # among those that the dots stand for
    assert len(edges(hidden)) == 28 and not any(len(x.get_xdata()) for x in hidden.lines if x.get_marker() == "x")
