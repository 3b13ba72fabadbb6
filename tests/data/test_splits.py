"""Splits: every row in one part, the size asked for, classes in proportion, and none lost for training."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.data import SPLITS, holdout
from ftheta.draw import Draw
from ftheta.errors import InputError


@given(n=st.integers(2, 60), fraction=st.floats(0.01, 0.99), split=st.sampled_from(SPLITS), seed=st.integers(0, 9))
def test_every_row_is_in_one_part_and_the_size_is_as_asked(n, fraction, split, seed):
    train, aside = holdout(n, fraction, Draw(seed), split=split, y=np.zeros(n))
    assert sorted([*train, *aside]) == list(range(n))
    assert len(train) >= 1 and len(aside) == min(max(round(n * fraction), 1), n - 1)
    assert (np.diff(train) > 0).all() and (np.diff(aside) > 0).all()


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.floats(0.05, 0.5), st.integers(0, 9))
def test_a_stratified_split_keeps_proportions_and_a_row_of_each_class(sizes, fraction, seed):
    y = np.random.default_rng(seed).permutation(np.repeat([f"c{i}" for i in range(len(sizes))], sizes))
    n = len(y)
    if n < 2 or max(round(n * fraction), 1) > n - len(sizes):
        return
    train, aside = holdout(n, fraction, Draw(seed), split="stratified", y=y)
    assert set(y[train]) == set(y)
    if min(sizes) * (1 - fraction) >= 1:  # no class is so small that others must stand in for it
        for c in set(y):
            assert abs((y[aside] == c).sum() - fraction * (y == c).sum()) <= 1.0 + (n * fraction < 1)


def test_a_class_of_one_row_stays_with_the_training_part():
    y = np.array(["a"] + ["b"] * 9)
    for seed in range(20):
        assert 0 in holdout(10, 0.5, Draw(seed), split="stratified", y=y)[0]


def test_a_chronological_split_sets_the_last_rows_aside():
    train, aside = holdout(10, 0.3, Draw(0), split="chronological")
    assert train.tolist() == [0, 1, 2, 3, 4, 5, 6] and aside.tolist() == [7, 8, 9]


@pytest.mark.parametrize("split", ["random", "stratified"])
def test_the_draw_decides_and_each_row_is_as_likely(split):
    def aside(seed):
        return holdout(20, 0.25, Draw(seed), split=split, y=np.arange(20) % 2)[1]

    assert aside(3).tolist() == aside(3).tolist() != aside(4).tolist()
    counts = np.bincount(np.concatenate([aside(seed) for seed in range(400)]), minlength=20)
    assert np.abs(counts - 100).max() < 5 * np.sqrt(400 * 0.25 * 0.75)


@pytest.mark.parametrize(
    ("n", "fraction", "options", "text"),
    [
        (10, 0.0, {}, r"fraction to set aside is 0\.0; it must lie between 0 and 1"),
        (10, 1.5, {}, r"fraction to set aside is 1\.5"),
        (10, float("nan"), {}, "fraction to set aside is nan"),
        (1, 0.5, {}, "1 row cannot be divided into two parts"),
        (0, 0.5, {}, "0 rows cannot be divided into two parts"),
        (10, 0.2, {"split": "stratifed"}, "Unknown split 'stratifed'. Did you mean 'stratified'"),
        (10, 0.2, {"split": "stratified"}, "one label for each of 10 rows, got no y"),
        (10, 0.2, {"split": "stratified", "y": np.zeros((10, 2))}, r"got y of shape \(10, 2\)"),
        (
            10,
            0.5,
            {"split": "stratified", "y": np.arange(10) % 9},
            "5 of 10 rows cannot be set aside: each of 9 classes",
        ),
    ],
)
def test_what_cannot_be_done_is_said(n, fraction, options, text):
    with pytest.raises(InputError, match=text):
        holdout(n, fraction, Draw(0), **options)
