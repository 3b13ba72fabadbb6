"""A grid of originals and their changed copies."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ftheta.errors import InputError
from ftheta.plots import augmented

GREY = np.random.default_rng(0).random((2, 5, 7))


def test_originals_come_first_and_copies_under_their_names():
    figure = augmented(GREY, {"flip": GREY[:, :, ::-1], "rotate": GREY[:, ::-1]}, labels=["six", "nine"])
    top, bottom = figure.axes[:3], figure.axes[3:]
    assert [axes.get_title() for axes in top] == ["original", "flip", "rotate"] and len(bottom) == 3
    assert [axes.get_ylabel() for axes in (top[0], bottom[0])] == ["six", "nine"] and top[1].get_ylabel() == ""
    np.testing.assert_array_equal(bottom[1].images[0].get_array(), GREY[1, :, ::-1])
    assert figure.get_suptitle() == "Augmented copies"


def test_all_share_the_grey_scale_of_the_originals():
    figure = augmented(GREY, {"noise": GREY * 3 - 1})
    assert {axes.images[0].get_clim() for axes in figure.axes} == {(GREY.min(), GREY.max())}
    assert augmented(np.zeros((1, 4, 4)), {}).axes[0].images[0].get_clim()[1] > 0


def test_colours_are_shown_as_they_are():
    colour = np.random.default_rng(0).random((1, 3, 4, 6))
    shown = augmented(colour, {}).axes[0].images[0].get_array()
    np.testing.assert_array_equal(shown, np.moveaxis(colour[0], 0, -1))


def test_titles_do_not_overlap():
    figure = augmented(GREY, {name: GREY for name in ("rand_augment", "shift and more of it", "cutmix")})
    FigureCanvasAgg(figure).draw()
    boxes = [axes.title.get_window_extent() for axes in figure.axes[:4]]
    assert all(a.x1 < b.x0 for a, b in zip(boxes, boxes[1:], strict=False))


@pytest.mark.parametrize("shape", [(5, 7), (2, 2, 5, 7), (0, 5, 7)])
def test_what_is_no_image_is_refused(shape):
    with pytest.raises(InputError, match=r"images must be images .* got \("):
        augmented(np.zeros(shape), {})


def test_copies_of_another_shape_are_refused():
    with pytest.raises(InputError, match="of the same shape as their originals, got .*'flip': .*Pass all alike"):
        augmented(GREY, {"flip": GREY[:1]})
