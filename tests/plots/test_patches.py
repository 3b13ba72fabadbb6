"""Patches by layer: panels, lines and names."""

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.plots import patches

RNG = np.random.default_rng(0)


def test_every_layer_is_a_panel_and_every_unit_a_line():
    small, large = RNG.uniform(size=(2, 3, 1, 3, 3)), RNG.uniform(size=(2, 3, 1, 5, 5))
    figure = patches({"first": small, "second": large}, [[4, 1], [7, 0]], x="patch")
    assert [axes.get_title() for axes in figure.axes] == ["first", "second"]
    assert [t.get_text() for t in figure.axes[1].get_yticklabels()] == ["7", "0"]
    assert set(np.ma.compressed(figure.axes[1].images[0].get_array())) == set(large.ravel())
    assert figure.axes[0].get_xlabel() == "patch" and figure.axes[0].get_ylabel() == "unit"


def test_four_layers_take_two_lines_and_leave_no_empty_panel():
    some = RNG.uniform(size=(1, 2, 1, 3, 3))
    figure = patches({str(i): some for i in range(4)}, [[0]] * 4)
    assert len(figure.axes) == 4
    rows = {axes.get_subplotspec().rowspan.start for axes in figure.axes}
    assert rows == {0, 1}


def test_signed_patches_have_their_own_ranges_and_colours_stay_colours():
    some = np.stack([np.ones((1, 3, 3)), -4 * np.ones((1, 3, 3))])[None]
    image = patches({"a": some}, [["0"]], signed=True).axes[0].images[0]
    assert set(np.ma.compressed(image.get_array())) == {1.0, -1.0} and image.cmap.name == "RdBu_r"
    colour = patches({"a": RNG.uniform(size=(1, 2, 3, 4, 4))}, [["0"]], signed=True).axes[0].images[0]
    assert np.asarray(colour.get_array()).shape[-1] == 4


def test_panels_without_names_are_refused():
    with pytest.raises(InputError, match=r"patches got 0 panels and names for 0; one of each is needed"):
        patches({}, [])
    with pytest.raises(InputError, match=r"patches got 1 panels and names for 2"):
        patches({"a": np.ones((1, 1, 1, 2, 2))}, [[0], [1]])
