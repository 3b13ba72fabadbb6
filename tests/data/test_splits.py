"""Splits: every row in one part, the size asked for, classes in proportion, and none lost for training."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom
from sklearn.linear_model import LogisticRegression

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
        (10, 0.0, {}, r"fraction to hold out is 0\.0; it must be between 0 and 1"),
        (10, 1.5, {}, r"fraction to hold out is 1\.5"),
        (10, float("nan"), {}, "fraction to hold out is nan"),
        (1, 0.5, {}, "1 row cannot be divided into two parts"),
        (0, 0.5, {}, "0 rows cannot be divided into two parts"),
        (10, 0.2, {"split": "stratifed"}, "Unknown split 'stratifed'. Did you mean 'stratified'"),
        (10, 0.2, {"split": "stratified"}, "one label for each of 10 rows, got no y"),
        (10, 0.2, {"split": "stratified", "y": np.zeros((10, 2))}, r"got y of shape \(10, 2\)"),
        (10, 0.2, {"groups": np.zeros(9)}, r"groups= has shape \(9,\), expected \(10,\): one name for each row"),
        (10, 0.2, {"groups": np.zeros(10)}, "groups= names one group only, which cannot be divided"),
        (10, 0.2, {"groups": np.arange(10), "split": "chronological"}, "groups= were passed with split='chronolog"),
        (10, 0.5, {"split": "stratified", "y": np.arange(10) % 9}, "5 of 10 rows cannot be held out: each of 9"),
    ],
)
def test_what_cannot_be_done_is_said(n, fraction, options, text):
    with pytest.raises(InputError, match=text):
        holdout(n, fraction, Draw(0), **options)


# --- what the sources ask of a split ----------------------------------------------------------------------------------


@pytest.mark.ledger("A003", covers="ftheta.data.holdout")
def test_a_random_half_of_1000_rows_holds_a_class_as_the_hypergeometric_law_says():
    y = np.repeat([0, 1], 500)
    law, counts = hypergeom(1000, 500, 500), []
    for seed in range(400):
        train, test = holdout(1000, 0.5, Draw(seed))
        assert len(train) == len(test) == 500 and len(np.union1d(train, test)) == 1000
        counts.append((y[test] == 0).sum())
    assert round(law.std(), 2) == 7.91 and law.mean() == 250
    assert abs(np.mean(counts) - 250) < 4.5 * law.std() / 20 and abs(np.std(counts) / law.std() - 1) < 0.15
    first, again = holdout(1000, 0.5, Draw(1)), holdout(1000, 0.5, Draw(1))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert holdout(1000, 0.5, Draw(1), split="chronological")[1].tolist() == list(range(500, 1000))


@pytest.mark.ledger("A004", covers="ftheta.data.holdout")
def test_half_of_sorted_rows_without_a_shuffle_teaches_nothing_of_the_other_class():
    rng, y = np.random.default_rng(0), np.repeat([1, 2], 500)
    x = rng.normal(size=(1000, 2)) + 2.0 * y[:, None]
    train, test = holdout(1000, 0.5, Draw(0), split="chronological")
    assert set(y[train]) == {1} and set(y[test]) == {2}
    assert (np.bincount(y[train]).argmax() == y[test]).sum() == 0  # what any classifier that saw one class says
    for split in ("random", "stratified"):
        train, test = holdout(1000, 0.5, Draw(0), split=split, y=y)
        assert LogisticRegression().fit(x[train], y[train]).score(x[test], y[test]) > 0.9
    assert np.bincount(y[test]).tolist() == np.bincount(y[train]).tolist() == [0, 250, 250]


@pytest.mark.ledger("B042", covers="ftheta.data.holdout")
@given(n=st.integers(10, 300), test=st.floats(0.1, 0.4), validation=st.floats(0.1, 0.4), seed=st.integers(0, 99))
def test_nested_parts_are_disjoint_cover_all_rows_and_have_the_sizes_asked_for(n, test, validation, seed):
    def parts():
        rest, aside = holdout(n, test, Draw(seed).at("test"))
        kept, between = holdout(len(rest), validation, Draw(seed).at("validation"))
        return rest[kept], rest[between], aside

    train, between, aside = parts()
    assert sorted([*train, *between, *aside]) == list(range(n))
    assert len(aside) == round(n * test) and len(between) == round((n - len(aside)) * validation)
    assert all(np.array_equal(a, b) for a, b in zip(parts(), (train, between, aside), strict=True))


def test_numbers_are_stratified_by_bins_of_equal_size():
    y = np.random.default_rng(0).lognormal(sigma=2, size=1000)
    for seed in range(5):
        train, test = holdout(1000, 0.2, Draw(seed), split="stratified", y=y)
        assert np.bincount(np.searchsorted(np.sort(y), y[test]) // 100).tolist() == [20] * 10
    many = np.repeat([0.0, *range(1, 101)], [900, *[1] * 100])  # most of one number: that is one bin
    train, test = holdout(1000, 0.1, Draw(0), split="stratified", y=many)
    assert (many[test] == 0).sum() == 90


# --- groups -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 12), min_size=2, max_size=12), st.floats(0.05, 0.6), st.integers(0, 20))
def test_whole_groups_are_on_one_side(sizes, fraction, seed):
    groups = np.random.default_rng(seed).permutation(np.repeat([f"g{i}" for i in range(len(sizes))], sizes))
    train, aside = holdout(len(groups), fraction, Draw(seed), groups=groups)
    assert sorted([*train, *aside]) == list(range(len(groups))) and len(train) and len(aside)
    assert not set(groups[train]) & set(groups[aside])
    assert abs(len(aside) - fraction * len(groups)) <= max(sizes) + 0.5


@pytest.mark.parametrize(("fraction", "aside"), [(0.1, 10), (0.4, 10), (0.6, 20), (0.9, 20)])
def test_as_many_groups_are_set_aside_as_come_nearest_to_the_fraction(fraction, aside):
    groups = np.repeat(["a", "b", "c"], 10)
    assert [len(part) for part in holdout(30, fraction, Draw(0), groups=groups)] == [30 - aside, aside]


def test_what_is_left_of_a_fraction_goes_to_the_largest_remainders():
    y = np.repeat(["a", "b", "c"], [5, 3, 2])  # 0.3 of them: 1.5, 0.9, 0.6
    _, aside = holdout(10, 0.3, Draw(0), split="stratified", y=y)
    assert y[aside].tolist() == ["a", "b", "c"]
    y = np.repeat(["a", "b", "c"], [8, 5, 7])  # 0.25: 2, 1.25, 1.75
    _, aside = holdout(20, 0.25, Draw(0), split="stratified", y=y)
    assert [int((y[aside] == c).sum()) for c in "abc"] == [2, 1, 2]


def test_twenty_different_numbers_are_classes_and_more_are_bins():
    for values, each in ((20, {1}), (21, {0, 1, 2, 3})):
        y = np.repeat(np.arange(values), 2)
        _, aside = holdout(2 * values, 0.5, Draw(0), split="stratified", y=y)
        counts = np.bincount(y[aside], minlength=values)
        assert set(counts) <= each and (values == 20 or set(counts) != {1})
    names = np.repeat([f"c{i}" for i in range(30)], 2)  # names are classes however many
    _, aside = holdout(60, 0.5, Draw(0), split="stratified", y=names)
    assert len(set(names[aside])) == 30


def test_rows_that_a_model_learns_from_are_counted_as_training_rows_of_its_run(tmp_path):
    """A closed form has no use for validation rows: it learns from them."""
    from ftheta import jobs

    done = jobs.train("ridge", "cholesterol", run=tmp_path / "run", report=False)
    assert done.run.json("data.json")["parts"] == {"train": 8, "validation": 0, "test": 2}
