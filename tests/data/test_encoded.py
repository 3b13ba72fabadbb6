"""Encoded tables: dense in NumPy and in torch the same, smaller in between, and trained on as the dense table is."""

import numpy as np
import pandas as pd
import pytest
import torch

from ftheta.data import Encoded, TableEncoder
from ftheta.errors import InputError
from ftheta.models import LinearRegression, MLPClassifier, MLPRegressor


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    town = rng.choice(["Bonn", "Ulm", "Kiel", None], 300)
    return pd.DataFrame(
        {"a": rng.normal(size=300), "town": town, "b": rng.normal(size=300), "c": rng.choice(list("xyz"), 300)}
    )


def by_hand(x):
    out = np.zeros(x.shape)
    for i in range(len(x)):
        for place, value in zip(x.places, x.numbers[i], strict=True):
            out[i, place] = value
        for code in x.codes[i]:
            if code >= 0:
                out[i, code] = 1
    return out


@pytest.mark.parametrize("order", [["a", "town", "b", "c"], ["town", "a", "b", "c"], ["town", "c"]], ids=" ".join)
def test_numbers_side_by_side_apart_or_absent_keep_their_places(frame, order):
    x = TableEncoder().fit(frame[order]).encode(frame[order])
    assert np.array_equal(x.expand(x.tensors(torch.float64, "cpu")).numpy(), by_hand(x))


def test_numpy_and_torch_make_the_same_dense_table(frame):
    x = TableEncoder().fit(frame).encode(frame.assign(town=frame["town"].where(frame.index > 5, "new")))
    assert (x.codes < 0).any() and x.codes.dtype == np.int16 and x.shape == (300, 9) and len(x) == 300 and x.ndim == 2
    dense = by_hand(x)
    assert np.array_equal(np.asarray(x), dense) and np.asarray(x, dtype="float32").dtype == np.float32
    assert np.array_equal(x.expand(x.tensors(torch.float64, "cpu")).numpy(), dense)
    assert np.array_equal(np.asarray(x[10:20]), dense[10:20]) and np.array_equal(np.asarray(x[[5, 1]]), dense[[5, 1]])


@pytest.mark.parametrize("batch", [32, 1000])
def test_a_net_learns_from_it_what_it_learns_from_the_dense_table(frame, batch):
    encoder = TableEncoder("float32").fit(frame)
    small, dense = encoder.encode(frame), encoder.transform(frame)
    y = np.where(frame["a"] > 0, "p", "n")
    knobs = {"hidden": (8,), "epochs": 3, "batch_size": batch, "random_state": 0, "validation": 0.2}
    a, b = (MLPClassifier(**knobs).fit(x, y) for x in (small, dense))
    assert all(torch.equal(p, q) for p, q in zip(a.module_.parameters(), b.module_.parameters(), strict=True))
    assert np.array_equal(a.predict_proba(small), b.predict_proba(dense)) and a.score(dense, y) == b.score(small, y)
    assert a.evaluate(small, y) == b.evaluate(dense, y)


def test_a_run_on_it_is_continued_only_with_the_same_rows(frame, tmp_path):
    x = TableEncoder("float32").fit(frame).encode(frame)
    MLPRegressor(hidden=(4,), epochs=2, random_state=0).fit(x, frame["b"], run=tmp_path / "r")
    other = Encoded(x.numbers, x.places, np.roll(x.codes, 1, axis=0), x.width)
    with pytest.raises(Exception, match="was started with other data"):
        MLPRegressor(hidden=(4,), epochs=2, random_state=0).fit(other, frame["b"], run=tmp_path / "r")


def test_equal_rows_are_not_merged_and_weights_count(frame):
    x = TableEncoder().fit(frame).encode(frame)
    weight = np.arange(300) % 3
    knobs = {"hidden": (4,), "epochs": 2, "random_state": 0, "dtype": "float64", "batch_size": 64}
    a = MLPRegressor(**knobs).fit(x, frame["b"], weight)
    b = MLPRegressor(**knobs).fit(np.asarray(x), frame["b"], weight)
    np.testing.assert_allclose(a.predict(x), b.predict(x), rtol=1e-12)


def test_models_without_batches_take_it_as_a_table(frame):
    x = TableEncoder().fit(frame).encode(frame)
    np.testing.assert_allclose(LinearRegression().fit(x, frame["b"]).predict(x), frame["b"], atol=1e-9)


def test_another_width_is_one_sentence(frame):
    encoder = TableEncoder().fit(frame)
    model = MLPRegressor(hidden=(4,), epochs=1, random_state=0).fit(encoder.encode(frame), frame["b"])
    with pytest.raises(
        InputError, match="X has 1 encoded columns, but MLPRegressor was fitted with 9. Encode rows with"
    ):
        model.predict(TableEncoder().fit(frame[["a"]]).encode(frame[["a"]]))
