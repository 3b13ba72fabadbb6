"""The figure of gradients over steps: a line a layer, on a log scale."""

import numpy as np
import pytest

from ftheta import plots
from ftheta.errors import InputError


def test_colours_go_with_depth_and_neighbours_differ_in_their_dashes():
    figure = plots.flow_over_steps(["a", "b", "c"], [1, 2], [[1e-3, 1e-2, 1.0]] * 2)
    lines = figure.axes[0].get_lines()
    brightness = [sum(line.get_color()[:3]) for line in lines]
    assert brightness == sorted(brightness) and len({line.get_linestyle() for line in lines}) == 3
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["a", "b", "c"]


def test_of_many_layers_the_legend_names_some():
    names = [f"layer{k}" for k in range(30)]
    figure = plots.flow_over_steps(names, np.arange(40), np.ones((40, 30)))
    named = [t.get_text() for t in figure.legends[0].get_texts()]
    assert len(named) == 12 and named[0] == "layer0" and named[-1] == "layer29"


def test_shapes_that_do_not_fit_are_a_sentence():
    with pytest.raises(InputError, match=r"flow_over_steps got 2 layers, 3 steps and norms of shape \(2, 3\)"):
        plots.flow_over_steps(["a", "b"], [1, 2, 3], np.ones((2, 3)))
