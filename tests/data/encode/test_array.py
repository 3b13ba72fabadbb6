"""Numbers standardized, brought to [0, 1] or to ±1, and rows as images."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from ftheta.data import ArrayEncoder
from ftheta.errors import InputError

X = np.array([[0.0, 10.0, 5.0], [4.0, 30.0, 5.0], [1.0, 20.0, 5.0]])


def test_every_column_has_its_own_range_and_a_constant_one_is_zero():
    made = ArrayEncoder("unit", dtype="float64").fit(X)
    np.testing.assert_allclose(made.transform(X), [[0, 0, 0], [1, 1, 0], [0.25, 0.5, 0]])
    np.testing.assert_allclose(made.transform([[-3.0, 35.0, 9.0]]), [[0, 1, 1]])


def test_pixels_share_one_range_and_bytes_have_theirs():
    np.testing.assert_allclose(
        ArrayEncoder("unit", together=True).fit(X).transform([[3.0, 15.0, 30.0]]), [[0.1, 0.5, 1]]
    )
    pixels = np.array([[0, 51], [102, 0]], dtype=np.uint8)
    np.testing.assert_allclose(
        ArrayEncoder("unit", dtype="float64").fit(pixels).transform(pixels), [[0, 0.2], [0.4, 0]]
    )
    assert ArrayEncoder("unit").fit(pixels).transform(pixels).dtype == np.float32


def test_signs_are_cut_at_the_middle_of_the_training_rows():
    made = ArrayEncoder("sign").fit(X)
    assert made.transform([[2.0, 20.1, 5.0], [2.1, 19.9, 5.6]]).tolist() == [[-1, 1, -1], [1, -1, 1]]
    assert ArrayEncoder("bit").fit(X).transform([[2.0, 20.1, 5.0]]).tolist() == [[0, 1, 0]]
    assert made.new_row_notes(X * 9) == [] and "±1" in made.describe()[0]["did"]


def test_what_was_done_is_listed_for_each_column_or_once_for_all_that_share_a_range():
    each = ArrayEncoder("unit").fit(X).describe()
    assert [c["did"].split(": ")[1] for c in each] == ["(x - 0) / 4", "(x - 10) / 20", "(x - 5) / 1"]
    shared = ArrayEncoder("unit", together=True).fit(X).describe()
    assert len(shared) == 1 and shared[0]["count"] == str(X.shape[1])


def test_columns_of_a_frame_are_put_in_order_and_a_missing_one_is_named():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    made = ArrayEncoder("unit", dtype="float64").fit(frame)
    np.testing.assert_array_equal(made.transform(made.align(frame[["c", "a", "b"]])), made.transform(frame))
    with pytest.raises(InputError, match="The column 'b' is missing"):
        made.align(frame[["a", "c"]])
    with pytest.raises(InputError, match=r"have shape \(2,\); the model was fitted with 3 values"):
        made.align(X[:, :2])


def test_values_outside_of_the_range_are_counted():
    made = ArrayEncoder("unit", dtype="float64").fit(X)
    assert made.new_row_notes(X) == []
    assert made.new_row_notes([[5.0, 20.0, 4.0]]) == [
        "2 values are outside of the range of the training rows and were clipped to it"
    ]


def test_words_are_refused_by_the_name_of_their_column():
    with pytest.raises(InputError, match="The column 'b' does not hold numbers"):
        ArrayEncoder("unit", dtype="float64").fit(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}))


def test_standardized_together_or_by_column():
    np.testing.assert_allclose(ArrayEncoder(dtype="float64").fit_transform(X), StandardScaler().fit_transform(X))
    pixels = np.random.default_rng(0).integers(0, 256, (9, 4), dtype=np.uint8)
    assert ArrayEncoder(dtype="float64").fit_transform(X).dtype == np.float64
    z = ArrayEncoder("real", together=True).fit(pixels).transform(pixels)
    assert z.dtype == np.float32
    np.testing.assert_allclose(z, (pixels - pixels.mean()) / pixels.std(), rtol=1e-5, atol=1e-6)


def test_colors_of_a_flat_row_become_channels():
    picture = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)  # height 2, width 4, 3 colors
    encoder = ArrayEncoder("image", shape=(2, 4, 3)).fit(picture.reshape(1, -1))
    found = encoder.transform(picture.reshape(1, -1))
    assert found.shape == (1, 3, 2, 4) and found.dtype == np.uint8
    for color in range(3):
        assert (found[0, color] == picture[..., color]).all()
    assert (encoder.transform(found) == found).all()  # images stay as they are
    assert ArrayEncoder("image").fit(found).image_ == (3, 2, 4)


def test_other_numbers_are_divided_by_the_largest_of_the_training_rows():
    x = np.array([[0.0, 4.0, 8.0, 16.0]])
    encoder = ArrayEncoder("image", shape=(2, 2), dtype="float64").fit(x)
    assert encoder.transform(x).ravel().tolist() == [0, 0.25, 0.5, 1]
    assert encoder.transform(2 * x).max() == 2
    assert ArrayEncoder("image", shape=(2, 2)).fit(0 * x).transform(x).dtype == np.float32


def test_images_of_another_size_and_no_fit_are_one_sentence():
    encoder = ArrayEncoder("image", shape=(2, 2)).fit(np.zeros((1, 4), np.uint8))
    with pytest.raises(InputError, match=r"shape \(9,\); the model was fitted with 4 values \(1x2x2"):
        encoder.transform(np.zeros((1, 9), np.uint8))
    with pytest.raises(NotFittedError):
        ArrayEncoder("image", shape=(2, 2)).transform(np.zeros((1, 4), np.uint8))
