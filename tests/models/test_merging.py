"""Equal rows of a table become one row with the sum of their weights, before they are trained on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.data import InputSpec
from ftheta.data.kinds import Items
from ftheta.models import Data


def rows_of(counts, seed=0):
    """Rows (i, -i) with target i mod 3, each counts[i] times, in a random order."""
    index = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    return data(np.stack([index, -index], 1).astype(np.float32), index % 3)


def data(x, y=None, weight=None):
    return Data(Items(x, InputSpec(x.shape[1:])), y, weight)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.integers(0, 99))
def test_equal_rows_become_one_whose_weight_is_their_number(counts, seed):
    merged = rows_of(counts, seed).merged(len(counts))
    x, order = merged.x.values, np.argsort(merged.x.values[:, 0])
    weight = np.ones(len(counts)) if merged.weight is None else merged.weight
    assert x[order, 0].tolist() == list(range(len(counts))) and weight[order].tolist() == counts
    assert merged.y[order].tolist() == [i % 3 for i in range(len(counts))]
    assert (merged.weight is None) == all(c == 1 for c in counts)
    again = rows_of(counts, seed + 1).merged(len(counts))  # another order of the same rows
    assert again.x.values.tobytes() == x.tobytes() and again.y.tobytes() == merged.y.tobytes()


def test_weights_of_equal_rows_are_added_and_zero_is_minus_zero():
    merged = data(np.array([[0.0], [2], [-0.0]]), np.zeros(3, int), np.array([0.5, 3, 0.25])).merged(2)
    assert dict(zip(merged.x.values[:, 0], merged.weight, strict=True)) == {0.0: 0.75, 2.0: 3.0}


@pytest.mark.parametrize("most", [1, 2])
def test_rows_with_more_distinct_ones_than_asked_for_stay_as_they_are(most):
    rows = data(np.array([[1.0], [2], [1], [3]]))
    assert rows.merged(most) is rows and len(rows.merged(3).x) == 3
    pixels = rows._replace(weight=np.ones((4, 2)))
    assert pixels.merged(4) is pixels  # weights within a row cannot be added


def test_rows_of_weight_zero_go_and_weights_of_one_are_no_weights():
    x = np.arange(3.0)[:, None]
    kept = data(x, np.arange(3), np.array([2.0, 0, 1])).without_zeros()
    assert kept.x.values.tolist() == [[0], [2]] and kept.y.tolist() == [0, 2] and kept.weight.tolist() == [2, 1]
    assert data(x, None, np.ones(3)).without_zeros().weight is None
    assert data(x, [(1,), (2,), (3,)], np.array([0.0, 1, 1])).without_zeros().y == [(2,), (3,)]
