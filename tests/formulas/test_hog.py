"""Histograms of oriented gradients: images whose gradients have one known angle."""

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.formulas import hog


@pytest.mark.parametrize(
    ("angle", "shares"), [(10, {0: 1.0}), (30, {1: 1.0}), (20, {0: 0.5, 1: 0.5}), (0, {0: 0.5, 8: 0.5})]
)
def test_a_ramp_votes_for_its_angle(angle, shares):
    """Nine bins have their centers at 10, 30, ..., 170 degrees; the middle cells have no border."""
    m, n = np.mgrid[:24.0, :24.0]
    a = np.deg2rad(angle)
    found = hog((np.cos(a) * n + np.sin(a) * m)[None], cell=4).reshape(5, 5, 4, 9)[2, 2, 0]
    expected = np.zeros(9)
    expected[list(shares)] = list(shares.values())
    np.testing.assert_allclose(found / found.sum(), expected, atol=1e-9)


def test_contrast_brightness_and_the_sign_of_an_edge_change_nothing():
    x = np.random.default_rng(0).random((3, 16, 12))
    np.testing.assert_allclose(hog(5 * x + 3), hog(x), atol=1e-9)
    np.testing.assert_allclose(hog(1 - x), hog(x), atol=1e-9)
    assert hog(x).shape == (3, 3 * 2 * 36) and (hog(np.ones((1, 8, 8))) == 0).all()


def test_a_block_is_cut_at_a_fifth_of_its_norm_and_has_norm_one():
    """One strong and one weak direction in the proportion 10 : 1 become 0.2 : 0.0995 before the last division."""
    x = np.zeros((1, 16, 16))
    x[0] = 10 * np.cumsum(np.ones(16))[None, :]
    blocks = hog(x, cell=8, bins=2)[0]
    np.testing.assert_allclose((blocks**2).sum(), 1)
    np.testing.assert_allclose(blocks, 1 / np.sqrt(8))  # the angle 0 is between the two bins, in each of four cells


def test_images_that_are_too_small_are_refused():
    for images in (np.ones((1, 7, 8)), np.ones((8, 8))):
        with pytest.raises(InputError, match="two cells of 4 pixels"):
            hog(images)
