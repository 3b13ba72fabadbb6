"""Numbers brought to [0, 1] or to ±1."""

import json

import numpy as np
import pandas as pd
import pytest

from ftheta.data import RangeEncoder
from ftheta.data.encoders import encoder_of
from ftheta.errors import InputError

X = np.array([[0.0, 10.0, 5.0], [4.0, 30.0, 5.0], [1.0, 20.0, 5.0]])


def test_every_column_has_its_own_range_and_a_constant_one_is_zero():
    made = RangeEncoder().fit(X)
    np.testing.assert_allclose(made.transform(X), [[0, 0, 0], [1, 1, 0], [0.25, 0.5, 0]])
    np.testing.assert_allclose(made.transform([[-3.0, 35.0, 9.0]]), [[0, 1, 1]])


def test_pixels_share_one_range_and_bytes_have_theirs():
    np.testing.assert_allclose(RangeEncoder(together=True).fit(X).transform([[3.0, 15.0, 30.0]]), [[0.1, 0.5, 1]])
    pixels = np.array([[0, 51], [102, 0]], dtype=np.uint8)
    np.testing.assert_allclose(RangeEncoder().fit(pixels).transform(pixels), [[0, 0.2], [0.4, 0]])
    assert RangeEncoder("float32").fit(pixels).transform(pixels).dtype == np.float32


def test_signs_are_cut_at_the_middle_of_the_training_rows():
    made = RangeEncoder(support="sign").fit(X)
    assert made.transform([[2.0, 20.1, 5.0], [2.1, 19.9, 5.1]]).tolist() == [[-1, 1, -1], [1, -1, 1]]
    assert RangeEncoder(support="bit").fit(X).transform([[2.0, 20.1, 5.0]]).tolist() == [[0, 1, 0]]
    assert made.surprises(X * 9) == [] and "±1" in made.describe()[0]["did"]


@pytest.mark.parametrize("support", ["unit", "sign", "bit"])
@pytest.mark.parametrize("given", [X, pd.DataFrame(X, columns=["a", "b", "c"])])
def test_the_state_is_json_and_makes_the_same_encoder(support, given):
    made = RangeEncoder("float32", support).fit(given)
    again = encoder_of(json.loads(json.dumps(made.get_state())))
    assert isinstance(again, RangeEncoder)
    np.testing.assert_array_equal(again.transform(given), made.transform(given))
    assert again.get_feature_names_out().tolist() == made.get_feature_names_out().tolist()
    assert again.describe() == made.describe() and again.get_state() == made.get_state()


def test_columns_of_a_frame_are_put_in_order_and_a_missing_one_is_named():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    made = RangeEncoder().fit(frame)
    np.testing.assert_array_equal(made.transform(made.align(frame[["c", "a", "b"]])), made.transform(frame))
    with pytest.raises(InputError, match="The column 'b' is missing"):
        made.align(frame[["a", "c"]])
    with pytest.raises(InputError, match="have 2 values each; the model was fitted with 3"):
        made.align(X[:, :2])


def test_values_outside_of_the_range_are_counted():
    made = RangeEncoder().fit(X)
    assert made.surprises(X) == []
    assert made.surprises([[5.0, 20.0, 4.0]]) == [
        "2 values lie outside of the range of the training rows and were cut to it"
    ]


def test_words_are_refused_by_the_name_of_their_column():
    with pytest.raises(InputError, match="The column 'b' holds no numbers"):
        RangeEncoder().fit(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}))
