"""Digits as the studies use them: parts, bits, and the network that classifies them."""

import numpy as np
import pytest

from ftheta.studies._digits import binarize, classifier, digits, sample_pixels


def test_a_fifth_of_the_small_digits_is_the_test_part():
    data = digits("digits")
    assert (len(data.x), len(data.x_test), data.shape) == (1438, 359, (8, 8))
    assert (data.x.min(), data.x.max(), data.x.dtype) == (0, 1, np.float32)
    assert len(np.unique(np.concatenate([data.x, data.x_test]), axis=0)) == 1797


@pytest.mark.middle
@pytest.mark.data
def test_the_test_digits_of_mnist_are_the_official_ones(data_dir):
    data = digits("mnist")
    assert (data.x.shape, data.x_test.shape, data.shape) == ((60_000, 784), (10_000, 784), (28, 28))
    assert data.y_test[:4].tolist() == [7, 2, 1, 0] and (data.x.min(), data.x.max()) == (0, 1)


def test_a_pixel_is_lit_as_often_as_its_gray_value_says():
    x = np.tile([0.0, 0.25, 1.0], (20_000, 1))
    bits = sample_pixels(x, 3)
    assert set(np.unique(bits)) == {0, 1} and bits.mean(0) == pytest.approx([0, 0.25, 1], abs=0.015)
    assert np.array_equal(bits, sample_pixels(x, 3)) and not np.array_equal(bits, sample_pixels(x, 4))
    assert binarize(np.array([[0.49, 0.5, 1.0, 0.0]])).tolist() == [[0, 1, 1, 0]]


def test_the_classifier_learns_gray_values_and_bits():
    data = digits("digits")
    assert classifier("digits", 1438, 8).score(data.x_test, data.y_test) > 0.85
    assert classifier("digits", 1438, 8, 0).score(sample_pixels(data.x_test, 1), data.y_test) > 0.75
