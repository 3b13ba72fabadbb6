"""Two rates over all thresholds: the points given are the points drawn, thinned where there are many."""

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.plots import tradeoff

LABELS = {"x": "recall", "y": "precision", "title": "T", "chance": ((0, 1), (0.2, 0.2))}


def test_lines_and_chance_in_the_unit_square():
    figure = tradeoff({"a": (np.array([0, 0.5, 1]), np.array([1, 0.5, 0.2]))}, steps=True, **LABELS)
    axes = figure.axes[0]
    line, chance = axes.lines
    assert line.get_xydata().tolist() == [[0, 1], [0.5, 0.5], [1, 0.2]] and line.get_drawstyle() == "steps-pre"
    assert chance.get_ydata().tolist() == [0.2, 0.2] and chance.get_label() == "chance"
    assert (*axes.get_xlim(), *axes.get_ylim()) == (0, 1, 0, 1)
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == ("recall", "precision", "T")


def test_many_points_are_thinned_and_keep_their_ends():
    x = np.linspace(0, 1, 100_000)
    drawn = tradeoff({"a": (x, x**2)}, **LABELS).axes[0].lines[0].get_xydata()
    assert len(drawn) == 400 and drawn[0].tolist() == [0, 0] and drawn[-1].tolist() == [1, 1]
    assert (drawn[:, 1] == drawn[:, 0] ** 2).all()


def test_lines_differ_by_more_than_colour():
    x = np.array([0, 1])
    a, b, _ = tradeoff({"a": (x, x), "b": (x, x)}, **LABELS).axes[0].lines
    assert a.get_color() != b.get_color() and a.get_linestyle() != b.get_linestyle()


@pytest.mark.parametrize("n", [0, 8])
def test_no_more_lines_than_colours(n):
    with pytest.raises(InputError, match=f"tradeoff got {n} lines; it draws 1 to 7, so pass a mean of more"):
        tradeoff({str(i): (np.zeros(2), np.zeros(2)) for i in range(n)}, **LABELS)
