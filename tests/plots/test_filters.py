"""Kernels as pictures: how many, their names, and what they make of a picture."""

import numpy as np

from ftheta.plots import filters

RNG = np.random.default_rng(0)
NAMES = ("Sobel x", "Laplace")


def test_learned_kernels_stand_above_classical_ones_with_their_names():
    kernels, classical = RNG.normal(size=(10, 2, 3, 3)), RNG.normal(size=(2, 3, 3))
    figure = filters(kernels, classical, NAMES, title="Filters of conv1")
    learned, fixed = figure.axes[:2]
    assert set(np.ma.compressed(learned.images[0].get_array())) == set(kernels.mean(1).ravel())
    assert learned.get_title() == "Filters of conv1" and [t.get_text() for t in learned.get_yticklabels()] == ["0", "8"]
    assert [t.get_text() for t in fixed.get_xticklabels()] == list(NAMES)
    own = classical / np.abs(classical).max((1, 2), keepdims=True)
    assert set(np.ma.compressed(fixed.images[0].get_array())) == set(own.ravel())


def test_at_most_64_are_shown_and_classical_ones_may_be_missing():
    figure = filters(RNG.normal(size=(70, 1, 4, 4)), np.zeros((0, 4, 4)), (), title="Filters")
    assert figure.axes[0].get_title() == "Filters, the first 64 of 70" and len(figure.axes) == 2  # and the colours
    assert len(figure.axes[0].get_yticks()) == 8


def test_a_picture_stands_beside_what_both_make_of_it():
    picture, made, fixed = RNG.uniform(size=(1, 6, 6)), RNG.normal(size=(3, 4, 4)), RNG.normal(size=(2, 4, 4))
    figure = filters(
        np.ones((3, 1, 3, 3)), np.ones((2, 3, 3)), NAMES, picture=picture, responses=made, classical_responses=fixed
    )
    by_title = {axes.get_title(): axes for axes in figure.axes}
    np.testing.assert_array_equal(by_title["The picture"].images[0].get_array(), picture[0])
    for title, some in {"What they make of the picture": made, "What these make of it": fixed}.items():
        own = some / np.abs(some).max((1, 2), keepdims=True)
        assert set(np.ma.compressed(by_title[title].images[0].get_array())) == set(own.ravel())
