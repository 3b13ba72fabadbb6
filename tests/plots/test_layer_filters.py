"""Filters of a machine's layers: a panel each, signed colours, 64 at most."""

import numpy as np

from ftheta.plots import layer_filters

RNG = np.random.default_rng(0)


def test_a_panel_a_layer_with_its_own_range_of_colours():
    layers = {"hidden 1": RNG.normal(size=(70, 2, 3, 4)), "hidden 2": 9 * RNG.normal(size=(5, 2, 3, 4))}
    figure = layer_filters(layers)
    first, second = figure.axes[:2]
    assert (
        first.get_title() == "Filters of hidden 1, the first 64 of 70" and second.get_title() == "Filters of hidden 2"
    )
    for axes, found in zip((first, second), layers.values(), strict=True):
        shown = found[:64].mean(1)
        assert set(np.ma.compressed(axes.images[0].get_array())) == set(shown.ravel())
        assert axes.images[0].get_clim() == (-np.abs(shown).max(), np.abs(shown).max())
        assert axes.get_xlabel() and axes.get_ylabel() and axes.images[0].get_interpolation() == "nearest"
    assert [axes.get_ylabel() for axes in figure.axes[2:]] == ["weight, seen from the pixels"] * 2
    assert len(second.get_xticks()) == 5
