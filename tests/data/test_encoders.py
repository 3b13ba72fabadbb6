"""Encoders from their states."""

import numpy as np
import pytest

from ftheta.data import ImageEncoder, PixelEncoder, TableEncoder, encoder_of
from ftheta.errors import FileFormatError

X = np.array([[0.0, 1.0], [2.0, 4.0]])


@pytest.mark.parametrize("encoder", [TableEncoder(), PixelEncoder(), ImageEncoder(shape=(1, 2))], ids=repr)
def test_each_comes_back_as_what_it_was(encoder):
    again = encoder_of(encoder.fit(X).get_state())
    assert type(again) is type(encoder) and np.array_equal(again.transform(X), encoder.transform(X))


def test_one_of_a_later_version_is_named():
    with pytest.raises(FileFormatError, match="Unknown encoder 'sounds'; this version of fθ knows 'table', 'pixels'"):
        encoder_of({"encoder": "sounds"})
