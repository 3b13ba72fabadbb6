"""Images for a net: axes in their order, bytes as they are, everything else by the range that was learned."""

import json

import numpy as np
import pytest
from PIL import Image

from ftheta.data import ImageEncoder, encoder_of, open_images
from ftheta.errors import InputError

RNG = np.random.default_rng(0)
BYTES = RNG.integers(0, 256, (5, 2 * 3 * 3), dtype=np.uint8)


def test_flat_rows_of_colours_get_their_channels_first_and_bytes_stay():
    found = ImageEncoder(shape=(2, 3, 3)).fit(BYTES).transform(BYTES)
    assert found.dtype == np.uint8 and found.flags["C_CONTIGUOUS"]
    assert np.array_equal(found, BYTES.reshape(5, 2, 3, 3).transpose(0, 3, 1, 2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("given", [np.int64, np.float32, np.uint16])
def test_other_numbers_are_divided_by_the_largest_that_was_learned(given, dtype):
    x = np.array([[0, 4, 8, 16]])
    encoder = ImageEncoder(dtype, shape=(2, 2)).fit(x.astype(given))
    found = encoder.transform(2 * x.astype(given))
    assert found.dtype == dtype and found.tolist() == [[[[0.0, 0.5], [1.0, 2.0]]]]


def test_bytes_are_scaled_like_the_numbers_that_were_learned_from():
    """A net divides bytes by 255: those of a range up to 16 must not reach it as bytes."""
    x = np.array([[0, 4, 8, 16]])
    encoder = ImageEncoder(shape=(2, 2)).fit(x)
    assert np.array_equal(encoder.transform(x.astype(np.uint8)), encoder.transform(x))
    learned = ImageEncoder(shape=(2, 2)).fit(x.astype(np.uint8))
    assert np.allclose(learned.transform(x), x.reshape(1, 1, 2, 2) / 255)


@pytest.mark.parametrize(("x", "largest"), [(np.int8([[-128, 1]]), 128.0), (np.zeros((1, 2)), 1.0)])
def test_the_range_is_that_of_sizes_and_never_nothing(x, largest):
    assert ImageEncoder(shape=(1, 2)).fit(x).largest_ == largest


def test_pictures_stay_in_their_files(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        Image.fromarray(BYTES[:, :6]).save(tmp_path / name / "x.png")
    pictures = open_images(tmp_path, cache=False).x
    encoder = ImageEncoder().fit(pictures)
    assert encoder.transform(pictures) is pictures and encoder.image_ == (1, 5, 6) and encoder.largest_ == 255
    with pytest.raises(InputError, match=r"shape \(1, 6, 5\); the model was fitted with 1x5x6 \(channels x height"):
        encoder.transform(open_images(tmp_path, size=(6, 5), cache=False).x)


def test_images_of_another_size_are_refused():
    encoder = ImageEncoder(shape=(2, 3, 3)).fit(BYTES)
    assert encoder.transform(np.zeros((4, 3, 2, 3), np.uint8)).shape == (4, 3, 2, 3)
    with pytest.raises(InputError, match=r"shape \(17,\); the model was fitted with 3x2x3"):
        encoder.transform(BYTES[:, 1:])


def test_its_state_is_json_and_gives_the_same_encoder():
    encoder = ImageEncoder("float64", shape=(2, 3, 3)).fit(BYTES * 2.0)
    again = encoder_of(json.loads(json.dumps(encoder.get_state())))
    assert np.array_equal(again.transform(BYTES * 1.0), encoder.transform(BYTES * 1.0))
    assert again.get_state() == encoder.get_state() and again.describe() == encoder.describe()
    assert "3x2x3" in again.describe()[0]["did"] and again.surprises(BYTES) == []
    assert again.get_feature_names_out().tolist() == [f"pixel {j}" for j in range(18)]
