"""A picture on its way through a net: which maps are shown, and which bars."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ftheta.plots import maps

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(1, 6, 6))


def labels(axes):
    return [t.get_text() for t in axes.get_xticklabels()]


def test_the_eight_strongest_maps_are_shown_in_the_order_of_their_numbers():
    made = np.ones((12, 4, 4)) * np.array([3, 1, 9, 2, 8, 7, 0, 6, 5, 4, 11, 10.0])[:, None, None]
    figure = maps(X, {"conv1": made, "few": made[:2]}, None, ())
    assert labels(figure.axes[1]) == ["2", "4", "5", "7", "8", "9", "10", "11"] and labels(figure.axes[2]) == ["0", "1"]
    assert figure.axes[1].get_ylabel() == "conv1\n12 × 4 × 4" and len(figure.axes) == 3
    assert figure.axes[2].get_xlabel().startswith("number of the map")
    first = np.ma.compressed(figure.axes[1].images[0].get_array())
    assert set(first) == {9, 8, 7, 6, 5, 4, 11, 10}


def test_maps_below_zero_are_red_and_blue():
    figure = maps(X, {"a": np.abs(RNG.normal(size=(2, 3, 3))), "b": -np.ones((2, 3, 3))}, None, ())
    assert [axes.images[0].cmap.name for axes in figure.axes] == ["gray", "gray", "RdBu_r"]


def test_outputs_are_bars_and_the_largest_is_named():
    figure = maps(X, {"a": np.ones((2, 3, 3))}, [0.1, 0.7, 0.2], ["cat", "dog", "owl"])
    axes = figure.axes[-1]
    assert [bar.get_height() for bar in axes.patches] == [0.1, 0.7, 0.2] and labels(axes) == ["cat", "dog", "owl"]
    assert axes.texts[0].get_text() == "0.7" and axes.texts[0].xy == (1, 0.7)
    assert len({bar.get_facecolor() for bar in axes.patches}) == 2


def test_of_many_outputs_the_largest_twelve_are_shown():
    bars = RNG.permutation(40) / 100
    axes = maps(X, {"a": np.ones((2, 3, 3))}, bars, [str(k) for k in range(40)], label="raw output").figure.axes[-1]
    assert labels(axes) == [str(k) for k in np.sort(np.argsort(-bars)[:12])]
    assert axes.get_xlabel() == "the largest 12 outputs" and axes.get_ylabel() == "raw output"


def test_a_signal_is_drawn_as_lines():
    x = RNG.normal(size=(2, 9))
    axes = maps(x, {"a": RNG.normal(size=(3, 7))}, None, ()).axes[0]
    np.testing.assert_array_equal([line.get_ydata() for line in axes.lines], x)


def test_of_many_layers_ten_are_shown_from_the_first_to_the_last():
    figure = maps(X, {f"layer{i}": np.ones((1, 2, 2)) for i in range(24)}, None, ())
    names = [axes.get_ylabel().partition("\n")[0] for axes in figure.axes[1:]]
    assert len(names) == 10 and names[0] == "layer0" and names[-1] == "layer23"


def test_long_names_of_outputs_are_turned_so_that_they_do_not_overlap():
    figure = maps(
        np.zeros((1, 4, 4)), {"a": np.zeros((1, 2, 2))}, np.arange(12.0), [f"a long name {k}" for k in range(12)]
    )
    FigureCanvasAgg(figure).draw()
    labels = figure.axes[-1].get_xticklabels()
    assert {label.get_rotation() for label in labels} == {30.0} and labels[3].get_text() == "a long name 3"
    few = maps(np.zeros((1, 4, 4)), {"a": np.zeros((1, 2, 2))}, np.arange(10.0), [str(k) for k in range(10)])
    assert {label.get_rotation() for label in few.axes[-1].get_xticklabels()} == {0.0}


def test_where_a_layer_has_no_more_maps_nothing_is_drawn():
    """Grey maps lie on a coloured ground, which ends with the last map."""
    for count, expected in ((3, 1), (8, 0)):
        axes = maps(np.zeros((1, 4, 4)), {"a": np.ones((count, 2, 2))}, None, []).axes[1]
        assert len(axes.patches) == expected and len(axes.get_xticks()) == count
    ground = maps(np.zeros((1, 4, 4)), {"a": np.ones((3, 2, 2))}, None, []).axes[1].patches[0]
    assert ground.get_facecolor()[:3] == (1, 1, 1)
