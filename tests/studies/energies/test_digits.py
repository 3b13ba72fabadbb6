"""Digits for machines: parts, bits, and the network that reads them."""

import numpy as np
import pytest

from ftheta.studies.energies._digits import cut, digits, reader, sampled, sheet, some


def test_a_fifth_of_the_small_digits_is_unseen_and_values_are_shares():
    data = digits("digits")
    assert (len(data.x), len(data.new), data.shape) == (1438, 359, (8, 8))
    assert (data.x.min(), data.x.max(), data.x.dtype) == (0, 1, np.float32)
    assert len(np.unique(np.concatenate([data.x, data.new]), axis=0)) == 1797


@pytest.mark.middle
@pytest.mark.data
def test_the_unseen_digits_of_mnist_are_the_official_ones(data_dir):
    data = digits("mnist")
    assert (data.x.shape, data.new.shape, data.shape) == ((60_000, 784), (10_000, 784), (28, 28))
    assert data.answers[:4].tolist() == [7, 2, 1, 0] and (data.x.min(), data.x.max()) == (0, 1)


def test_a_pixel_is_lit_as_often_as_its_grey_value_says():
    x = np.tile([0.0, 0.25, 1.0], (20_000, 1))
    bits = sampled(x, 3)
    assert set(np.unique(bits)) == {0, 1} and bits.mean(0) == pytest.approx([0, 0.25, 1], abs=0.015)
    assert np.array_equal(bits, sampled(x, 3)) and not np.array_equal(bits, sampled(x, 4))


def test_a_half_is_lit():
    assert cut(np.array([[0.49, 0.5, 1.0, 0.0]])).tolist() == [[0, 1, 1, 0]]


def test_the_first_of_each_class():
    assert some(np.array([2, 0, 2, 0, 0, 2]), 2).tolist() == [1, 3, 0, 2]


def test_a_sheet_is_read_line_by_line():
    tiles = np.arange(24).reshape(6, 2, 2)
    made = sheet(tiles, columns=3)
    assert made.shape == (6, 9) and np.array_equal(made[3:5, 3:5], tiles[4]) and np.array_equal(made[:2, 6:8], tiles[2])
    assert (made[2] == 0.5).all() and (made[:, 5] == 0.5).all()


def test_the_reader_reads_grey_values_and_bits():
    data = digits("digits")
    assert reader("digits", 8).score(data.new, data.answers) > 0.85
    assert reader("digits", 8, 0).score(sampled(data.new, 1), data.answers) > 0.75
