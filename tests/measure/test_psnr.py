"""PSNR of each image, against closed forms and pictures of bytes."""

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.measure import psnr


def test_a_tenth_of_the_error_is_twenty_decibels_more():
    y = np.random.default_rng(0).random((4, 1, 5, 6))
    found = psnr(np.repeat(y[:1], 3, 0), y[:1] + np.array([0.1, 0.01, 0.001])[:, None, None, None])
    np.testing.assert_allclose(found, [20, 40, 60])


def test_each_image_has_its_own_and_equal_ones_are_infinitely_good():
    y = np.zeros((2, 3, 3))
    other = y.copy()
    other[1, 0, 0] = 1
    assert psnr(y, other)[0] == np.inf and psnr(y, other)[1] == pytest.approx(10 * np.log10(9))


def test_bytes_do_not_overflow_and_the_peak_is_theirs():
    y, other = np.zeros((1, 4), np.uint8), np.full((1, 4), 51, np.uint8)
    assert psnr(y, other, peak=255) == pytest.approx(20 * np.log10(5)) == psnr(y / 255, other / 255)


def test_images_that_do_not_fit_are_refused():
    with pytest.raises(
        InputError, match=r"y has shape \(2, 3\), predicted \(2, 4\); images of one shape \(n, \.\.\.\)"
    ):
        psnr(np.zeros((2, 3)), np.zeros((2, 4)))
    with pytest.raises(InputError, match="peak=0; it is the largest value of a pixel and must be above 0"):
        psnr(np.zeros((2, 3)), np.zeros((2, 3)), peak=0)
