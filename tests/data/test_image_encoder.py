"""Rows and pictures as images: axes in their order, numbers in their range, a state of JSON."""

import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from ftheta.data import ImageEncoder, encoder_of
from ftheta.errors import FileFormatError, InputError


def test_colours_of_a_flat_row_become_channels():
    picture = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)  # height 2, width 4, 3 colours
    encoder = ImageEncoder(shape=(2, 4, 3)).fit(picture.reshape(1, -1))
    found = encoder.transform(picture.reshape(1, -1))
    assert found.shape == (1, 3, 2, 4) and found.dtype == np.uint8
    for colour in range(3):
        assert (found[0, colour] == picture[..., colour]).all()
    assert (encoder.transform(found) == found).all()  # images stay as they are


def test_other_numbers_are_divided_by_the_largest_of_the_training_rows():
    x = np.array([[0.0, 4.0, 8.0, 16.0]])
    encoder = ImageEncoder(dtype="float64", shape=(2, 2)).fit(x)
    assert encoder.transform(x).ravel().tolist() == [0, 0.25, 0.5, 1]
    assert encoder.transform(2 * x).max() == 2
    assert ImageEncoder(shape=(2, 2)).fit(0 * x).transform(x).dtype == np.float32


def test_the_state_is_json_and_gives_the_same_encoder():
    x = np.arange(12, dtype=np.float32).reshape(1, 12)
    encoder = ImageEncoder(shape=(2, 2, 3)).fit(x)
    again = encoder_of(json.loads(json.dumps(encoder.get_state())))
    assert isinstance(again, ImageEncoder) and (again.transform(x) == encoder.transform(x)).all()
    assert again.describe() == encoder.describe() and "3x2x2" in encoder.describe()[0]["did"]
    assert len(again.get_feature_names_out()) == 12 and again.surprises(x) == []


def test_images_of_another_size_unknown_encoders_and_no_fit_are_one_sentence():
    encoder = ImageEncoder(shape=(2, 2)).fit(np.zeros((1, 4), np.uint8))
    with pytest.raises(InputError, match=r"The images have shape \(9,\); the model was fitted with 1x2x2"):
        encoder.transform(np.zeros((1, 9), np.uint8))
    with pytest.raises(NotFittedError):
        ImageEncoder(shape=(2, 2)).transform(np.zeros((1, 4), np.uint8))
    with pytest.raises(
        FileFormatError, match="Unknown encoder 'sounds'; this version of fθ knows 'table', 'pixels', 'images'"
    ):
        encoder_of({"encoder": "sounds"})
