"""Smaller and larger pictures: blocks by hand, torch for the rest, all side by side."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from ftheta.errors import InputError
from ftheta.explain import downsampling, upsampling

RNG = np.random.default_rng(0)
GREY = RNG.random((6, 8))
COLOUR = RNG.integers(0, 256, size=(7, 9, 3), dtype=np.uint8)


def titles(found):
    return [axes.get_title() for axes in found.figure().axes if axes.get_visible()]


@pytest.mark.ledger("C195", covers="ftheta.explain.downsampling")
def test_original_strided_maximum_and_mean_stand_side_by_side():
    found = downsampling(GREY)
    blocks = GREY.reshape(3, 2, 4, 2).swapaxes(1, 2)  # (3, 4, 2, 2)
    np.testing.assert_array_equal(found.pictures["original"], GREY)
    np.testing.assert_array_equal(found.pictures["strided"], GREY[::2, ::2])
    np.testing.assert_array_equal(found.pictures["max"], blocks.max((2, 3)))
    np.testing.assert_allclose(found.pictures["mean"], blocks.mean((2, 3)))
    assert titles(found) == ["original, 6 × 8", "strided, 3 × 4", "max, 3 × 4", "mean, 3 × 4"]
    assert list(found.table().columns) == ["picture", "size", "mean", "smallest", "largest"]


@pytest.mark.ledger("C200", covers="ftheta.explain.upsampling")
def test_nearest_unpooled_bilinear_and_transposed_stand_side_by_side():
    found = upsampling(GREY).pictures
    small = found["max-pooled"]
    np.testing.assert_array_equal(found["nearest"], small.repeat(2, 0).repeat(2, 1))
    kept = found["nearest"] == GREY  # the places of the maxima
    np.testing.assert_array_equal(found["unpooled"], np.where(kept, GREY, 0))
    t = torch.tensor(small)[None, None]
    np.testing.assert_allclose(found["bilinear"], F.interpolate(t, size=(6, 8), mode="bilinear")[0, 0])
    names = [title.partition(",")[0] for title in titles(upsampling(GREY))]
    assert names == ["original", "max-pooled", "nearest", "unpooled", "bilinear", "transposed"]


@pytest.mark.parametrize("factor", [2, 3])
def test_a_transposed_convolution_is_a_sum_of_kernels(factor):
    """Each number of the small picture lays its kernel on the large one; what falls outside is lost."""
    kernel = RNG.random((factor + 2, factor + 2))
    found = upsampling(GREY, factor, kernel).pictures
    small = found["max-pooled"]
    canvas = np.zeros([factor * n + 2 for n in small.shape])
    for i, j in np.ndindex(small.shape):
        canvas[factor * i : factor * i + factor + 2, factor * j : factor * j + factor + 2] += small[i, j] * kernel
    np.testing.assert_allclose(found["transposed"], canvas[1:-1, 1:-1])


@pytest.mark.parametrize("factor", [2, 3, 4])
def test_the_tent_keeps_the_brightness_of_an_even_picture(factor):
    bright = upsampling(np.full((24, 24), 0.5), factor).pictures["transposed"]
    assert bright[factor:-factor, factor:-factor].mean() == pytest.approx(0.5)


def test_colours_are_scaled_cut_to_size_and_taken_channels_first_too():
    last, first = upsampling(COLOUR), upsampling(np.moveaxis(COLOUR, -1, 0))
    assert last.pictures["original"].shape == (6, 8, 3)
    np.testing.assert_allclose(last.pictures["original"], COLOUR[:6, :8] / 255)
    for name, picture in last.pictures.items():
        np.testing.assert_array_equal(picture, first.pictures[name])
    errors = last.table().columns["root mean square error"]
    gap = last.pictures["nearest"] - last.pictures["original"]
    assert errors[0] == 0 and errors[1] is None and errors[2] == pytest.approx(np.sqrt((gap**2).mean()))
    assert len(titles(last)) == 6


def test_what_is_no_picture_is_said():
    with pytest.raises(InputError, match=r"Got float64 of shape \(3,\); expected a picture"):
        downsampling(np.zeros(3))
    with pytest.raises(InputError, match=r"shape \(4, 4\) with factor=5; expected .* a whole number from 2"):
        downsampling(np.zeros((4, 4)), 5)
    with pytest.raises(InputError, match=r"with factor=2.5; expected .* a whole number from 2"):
        downsampling(np.zeros((4, 4)), 2.5)
    with pytest.raises(InputError, match=r"shape \(4, 4, 2\) with factor=2"):
        downsampling(np.zeros((4, 4, 2)))
    with pytest.raises(InputError, match=r"kernel has shape \(3, 3\); expected a square of 2, 4, 6"):
        upsampling(GREY, 2, np.ones((3, 3)))
