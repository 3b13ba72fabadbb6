"""Folds: each row is held out once, and never together with what it must not meet."""

import numpy as np
import pytest

from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.selection import folds


@pytest.mark.parametrize("split", ["random", "stratified"])
def test_each_row_is_held_out_once(split):
    y = np.repeat(["a", "b"], [12, 6])
    found = folds(18, 3, Draw(1), split=split, y=y)
    assert np.sort(np.concatenate([held for _, held in found])).tolist() == list(range(18))
    for learn, held in found:
        assert np.union1d(learn, held).tolist() == list(range(18)) and len(held) == 6
    if split == "stratified":
        assert [(y[held] == "b").sum() for _, held in found] == [2, 2, 2]


def test_rows_of_a_group_stay_together():
    groups = np.repeat(list("abcdef"), 3)
    for learn, held in folds(18, 3, Draw(1), groups=groups):
        assert not set(groups[learn]) & set(groups[held]) and len(held) == 6


def test_later_rows_are_predicted_from_earlier_ones():
    found = folds(12, 3, Draw(0), split="chronological")
    assert [learn.max() < held.min() for learn, held in found] == [True] * 3
    assert np.concatenate([held for _, held in found]).tolist() == list(range(3, 12))


def test_the_place_decides_and_there_are_no_more_folds_than_rows():
    a, b, c = (folds(10, 4, Draw(seed)) for seed in (0, 0, 1))
    assert all(np.array_equal(p[1], q[1]) for p, q in zip(a, b, strict=True))
    assert any(not np.array_equal(p[1], q[1]) for p, q in zip(a, c, strict=True))
    assert len(folds(3, 10, Draw(0))) == 3 and len(folds(9, 10, Draw(0), groups=list("aaabbbccc"))) == 3


def test_one_group_cannot_be_parted():
    with pytest.raises(InputError, match="1 groups"):
        folds(4, 2, Draw(0), groups=list("aaaa"))
