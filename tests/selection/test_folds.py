"""Folds: each row is held out once, and never together with what it must not meet."""

import numpy as np
import pytest

from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.selection import folds


@pytest.mark.ledger("A168", "B237", covers="ftheta.selection.folds")
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


@pytest.mark.ledger("B071", covers="ftheta.selection.folds")
def test_later_rows_are_predicted_from_earlier_ones():
    found = folds(12, 3, Draw(0), split="chronological")
    assert [learn.max() < held.min() for learn, held in found] == [True] * 3
    assert np.concatenate([held for _, held in found]).tolist() == list(range(6, 12))


def test_the_place_decides_and_there_are_no_more_folds_than_rows():
    a, b, c = (folds(10, 4, Draw(seed)) for seed in (0, 0, 1))
    assert all(np.array_equal(p[1], q[1]) for p, q in zip(a, b, strict=True))
    assert any(not np.array_equal(p[1], q[1]) for p, q in zip(a, c, strict=True))
    assert len(folds(3, 10, Draw(0))) == 3 and len(folds(9, 10, Draw(0), groups=list("aaabbbccc"))) == 3


def test_one_group_cannot_be_parted():
    with pytest.raises(InputError, match="1 groups"):
        folds(4, 2, Draw(0), groups=list("aaaa"))


def errors_of_folds(x, y, k, seed=0):
    """Squared errors of least squares for rows that it did not learn from."""
    found = np.empty(len(x))
    for learn, held in folds(len(x), k, Draw(seed)):
        found[held] = (y[held] - x[held] @ np.linalg.lstsq(x[learn], y[learn])[0]) ** 2
    return found


@pytest.mark.ledger("B238", covers="ftheta.selection.folds")
def test_a_fold_per_row_leaves_one_out():
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(20), rng.normal(size=(20, 3))])
    y = x @ [1.0, 2, -1, 0] + rng.normal(size=20)
    hat = np.diag(x @ np.linalg.pinv(x))
    residual = y - x @ np.linalg.lstsq(x, y)[0]
    np.testing.assert_allclose(errors_of_folds(x, y, 20), (residual / (1 - hat)) ** 2, rtol=1e-9)


@pytest.mark.ledger("B239", covers="ftheta.selection.folds")
def test_errors_of_folds_are_those_of_models_of_fewer_rows():
    """Least squares of W Gaussian columns and n rows has the expected error 1 + W / (n - W - 1)."""
    rng, n, w, found = np.random.default_rng(0), 40, 8, []
    for seed in range(400):
        x = rng.normal(size=(n, w))
        found.append(errors_of_folds(x, rng.normal(size=n), 5, seed).mean())
    expected, deviation = 1 + w / (32 - w - 1), np.std(found) / np.sqrt(400)
    assert expected == pytest.approx(1.348, abs=5e-4)
    assert abs(np.mean(found) - expected) < 3 * deviation and np.mean(found) > 1 + w / (n - w - 1) + 3 * deviation


def test_of_few_ordered_rows_there_is_one_fold_less_than_rows():
    found = folds(4, 9, Draw(0), split="chronological")
    assert [(learn.tolist(), held.tolist()) for learn, held in found] == [([0], [1]), ([0, 1], [2]), ([0, 1, 2], [3])]
