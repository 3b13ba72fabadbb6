"""Rows on their way to a net: weights joined, equal rows merged, class weights."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ftheta.errors import InputError
from ftheta.models import _rows
from ftheta.models._rows import Arrays, class_weights, merge_equal, tensors


def rows_of(counts, seed=0, axes=()):
    """Rows (i, -i) with target i mod 3, each counts[i] times, in a random order."""
    index = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    x = np.stack([index, -index], 1).astype(np.float32)
    return Arrays(x.reshape(len(index), *axes) if axes else x, index % 3, None)


def test_rows_are_taken_by_index():
    part = Arrays(np.eye(3), None, np.arange(3.0)).take(np.array([2, 0]))
    assert part.x.tolist() == [[0, 0, 1], [1, 0, 0]] and part.y is None and part.weight.tolist() == [2, 0]


def test_tensors_are_copies_and_whole_numbers_stay_whole():
    x, y = np.eye(3, dtype=np.float32)[::-1], np.arange(3, dtype=np.uint8)
    made, labels, _ = tensors(Arrays(x, y, None), torch.float32, "cpu")
    made.fill_(7), labels.fill_(7)
    assert x.max() == 1 and y.tolist() == [0, 1, 2] and labels.dtype == torch.uint8
    assert tensors(Arrays(x, None, None), torch.float64, "cpu")[0].dtype == torch.float64


def test_rows_of_weight_zero_go_and_weights_of_one_are_no_weights():
    x = np.arange(3)[:, None]
    kept = Arrays(x, x[:, 0], np.array([2.0, 0, 1])).without_zeros()
    assert kept.x.tolist() == [[0], [2]] and kept.y.tolist() == [0, 2] and kept.weight.tolist() == [2, 1]
    assert Arrays(x, None, np.ones(3)).without_zeros().weight is None
    plain = Arrays(x, None, None).without_zeros()
    assert plain.weight is None and plain.x is x


@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.integers(0, 99))
def test_equal_rows_become_one_whose_weight_is_their_number(counts, seed):
    merged = merge_equal(rows_of(counts, seed), most=len(counts))
    order = np.argsort(merged.x[:, 0])
    weight = np.ones(len(counts)) if merged.weight is None else merged.weight
    assert merged.x[order, 0].tolist() == list(range(len(counts))) and weight[order].tolist() == counts
    assert merged.y[order].tolist() == [i % 3 for i in range(len(counts))]
    assert (merged.weight is None) == all(c == 1 for c in counts)
    again = merge_equal(rows_of(counts, seed + 1), most=len(counts))  # another order of the same rows
    assert again.x.tobytes() == merged.x.tobytes() and again.y.tobytes() == merged.y.tobytes()


def test_weights_of_equal_rows_are_added():
    rows = Arrays(np.array([[1.0], [2], [1]]), np.array([0, 0, 0]), np.array([0.5, 3, 0.25]))
    merged = merge_equal(rows, most=2)
    assert dict(zip(merged.x[:, 0], merged.weight, strict=True)) == {1.0: 0.75, 2.0: 3.0}


def test_rows_with_another_target_are_not_equal_and_the_two_zeros_are():
    assert len(merge_equal(Arrays(np.ones((3, 1)), np.array([0, 1, 0]), None), most=3).x) == 2
    assert len(merge_equal(Arrays(np.array([[0.0], [-0.0]]), None, None), most=2).x) == 1
    assert len(merge_equal(Arrays(np.ones((2, 1)), np.array([0.0, -0.0]), None), most=2).x) == 1
    assert len(merge_equal(rows_of([2, 3], axes=(1, 2, 1)), most=2).x) == 2


@pytest.mark.parametrize("looked_at", [2, 2000])
def test_where_too_many_rows_are_distinct_they_stay_as_they_are(looked_at, monkeypatch):
    monkeypatch.setattr(_rows, "SAMPLE", looked_at)
    rows = rows_of([2] * 5)
    assert merge_equal(rows, most=4) is rows
    assert merge_equal(rows, most=5) is not rows


def test_class_weights_come_from_a_mapping_or_from_counts():
    classes, counts = np.array(["a", "b", "c"]), np.array([2.0, 6.0, 4.0])
    assert class_weights(None, classes, counts).tolist() == [1.0, 1.0, 1.0]
    assert class_weights({"b": 3}, classes, counts).tolist() == [1.0, 3.0, 1.0]
    assert class_weights("balanced", classes, counts).tolist() == [2.0, 12 / 18, 1.0]  # n / (K n_k)
    with pytest.raises(InputError, match=r"Unknown class in class_weight: 'B'.*Known: a, b, c"):
        class_weights({"B": 1.0}, classes, counts)
    with pytest.raises(InputError, match=r"class_weight=\{'b': 'heavy'\}: a weight must be a number"):
        class_weights({"b": "heavy"}, classes, counts)
