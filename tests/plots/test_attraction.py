"""Basins: the colours of the map are those of the bars, and every coloured end has a bar."""

import numpy as np
from matplotlib.colors import to_rgb

from ftheta.plots import attraction
from ftheta.plots._style import GREY, PALETTE

X, Y = np.linspace(0, 1, 4), np.linspace(0, 2, 3)


def draw(code, names, shares, **more):
    return attraction(X, Y, code, names, shares, stored=[[0.2, 1.5]], labels=("a", "b"), title="T", **more)


def test_rows_of_the_map_are_y_and_bars_have_its_colours():
    code = np.array([[0, 0, 0, 0], [1, 1, 1, 0], [2, 0, 0, 0]])
    left, right = draw(code, ["p", "q", "r"], [0.2, 0.7, 0.1], counted="share of 10").axes
    shade = left.images[0].get_array()
    order = {0: 0, 1: 1, 2: 2}  # 0 has eight places, 1 three, 2 one
    for i, j in np.ndindex(3, 4):
        pure = np.array(to_rgb(PALETTE[order[code[i, j]]]))
        np.testing.assert_allclose(shade[i, j], 1 - 0.45 * (1 - pure))
    assert left.images[0].origin == "lower" and left.get_xlim() == (0, 1) and left.get_ylim() == (0, 2)
    assert (left.get_title(), left.get_xlabel(), left.get_ylabel()) == ("T", "a", "b")
    assert [text.get_text() for text in right.get_yticklabels()] == ["q", "p", "r"]  # the largest on top
    widths = [bar.get_width() for bar in right.patches[::2]]
    assert widths == [0.7, 0.2, 0.1] and right.get_xlabel() == "share of 10"
    assert [to_rgb(bar.get_facecolor()) for bar in right.patches[::2]] == [to_rgb(PALETTE[k]) for k in (1, 0, 2)]
    assert [text.get_text().strip() for text in right.texts] == ["70.0%", "20.0%", "10.0%"]
    star = next(line for line in left.lines if line.get_marker() == "*")
    assert star.get_xydata().tolist() == [[0.2, 1.5]]


def test_ends_on_the_map_keep_their_bars_among_many():
    code = np.zeros((3, 4), dtype=int)
    code[0, 0] = 19
    shares = np.linspace(0.2, 0.0, 20) / 2
    right = draw(code, [f"end {k}" for k in range(20)], shares).axes[1]
    shown = [text.get_text() for text in right.get_yticklabels()]
    assert len(shown) == 12 and {"end 0", "end 19"} <= set(shown) and right.get_title().endswith("12 of 20 ends")
    grey = [to_rgb(bar.get_facecolor()) == to_rgb(GREY) for bar in right.patches[::2]]
    assert sum(grey) == 6  # six have a colour


def test_one_basin_fills_the_map():
    left = draw(np.zeros((3, 4), dtype=int), ["all"], [1.0]).axes[0]
    assert np.ptp(left.images[0].get_array().reshape(-1, 3), axis=0).max() == 0
