"""Encoders from their states."""

import numpy as np
import pandas as pd
import pytest

from ftheta.data import ArrayEncoder, TableEncoder, encoder_of
from ftheta.errors import FileFormatError, InputError

X = np.array([[0.0, 1.0], [2.0, 4.0]])


@pytest.mark.parametrize(
    "encoder", [TableEncoder(), ArrayEncoder(together=True), ArrayEncoder("image", shape=(1, 2))], ids=repr
)
def test_each_comes_back_as_what_it_was(encoder):
    again = encoder_of(encoder.fit(X).get_state())
    assert type(again) is type(encoder) and np.array_equal(again.transform(X), encoder.transform(X))


def test_one_of_a_later_version_is_named():
    with pytest.raises(FileFormatError, match="Unknown encoder 'sounds'; this version of fθ knows 'table', 'array'"):
        encoder_of({"encoder": "sounds"})


FRAME = pd.DataFrame(
    {
        "a": [0.0, 1.0, 4.0] * 3,
        "town": ["Ulm", "Bonn", None] * 3,
        "day": pd.date_range("2021-01-01", periods=9, freq="99D"),
    }
)
ENCODERS = {
    "table": TableEncoder().fit(FRAME),
    "pixels": ArrayEncoder("real", True).fit(X),
    "images": ArrayEncoder("image", shape=(1, 2)).fit(X),
    "range": ArrayEncoder("unit").fit(X),
}
ABSURD = ["x", -1, 10**30, float("nan"), float("inf"), None, [], {}, ["x"], [[1]], True]


def changes(state, path=()):
    """Every absurd value at every place of a state."""
    for key, value in state.items() if isinstance(state, dict) else enumerate(state):
        yield from (((*path, key), absurd) for absurd in ABSURD)
        if isinstance(value, dict | list | tuple):
            yield from changes(value, (*path, key))


def changed(tree, path, value):
    if not path:
        return value
    if isinstance(tree, dict):
        return {**tree, path[0]: changed(tree[path[0]], path[1:], value)}
    return [changed(item, path[1:], value) if i == path[0] else item for i, item in enumerate(tree)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ENCODERS)
def test_an_absurd_state_is_one_error_or_an_encoder_that_works(kind):
    """What is read without an error may be another encoder, but one that encodes, or says what it misses."""
    encoder, rows, refused = ENCODERS[kind], FRAME if kind == "table" else X, 0
    for path, value in changes(encoder.get_state()):
        try:
            made = encoder_of(changed(encoder.get_state(), path, value))
            made.transform(made.align(rows))
            made.describe()
        except FileFormatError as error:
            refused += len(str(error)) < 500
        except InputError:
            pass
    assert refused > 10


@pytest.mark.parametrize(
    "state", [None, [], "table", {}, {"encoder": ["table"]}, {"encoder": "table"}, {"encoder": "array"}]
)
def test_what_is_no_state_is_one_error(state):
    with pytest.raises(FileFormatError):
        encoder_of(state)
