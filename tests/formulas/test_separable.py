"""Separability: against what can be seen on a line, hulls that meet by construction, and planes that are tried."""

from itertools import product

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.formulas import separable

CORNERS = np.array(list(product([0.0, 1.0], repeat=2)))


@pytest.mark.parametrize(
    ("labels", "answer"), [([0, 0, 0, 1], True), ([0, 1, 1, 1], True), ([0, 1, 1, 0], False), ([1, 0, 0, 1], False)]
)
def test_and_and_or_are_separable_xor_and_xnor_are_not(labels, answer):
    assert separable(CORNERS, labels) is answer


@pytest.mark.parametrize("seed", range(20))
def test_a_point_in_the_hull_of_the_other_class_cannot_be_separated_and_outside_it_can(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 8))
    others = rng.normal(size=(3 * d + 1, d))
    inside = rng.dirichlet(np.ones(len(others))) @ others
    outside = others[(others @ (w := rng.normal(size=d))).argmax()] + 1e-3 * w
    labels = np.r_[np.zeros(len(others)), 1]
    assert not separable(np.r_[others, [inside]], labels)
    assert separable(np.r_[others, [outside]], labels)


def test_the_middle_of_three_classes_needs_its_own_plane_and_not_one_against_the_rest():
    x, y = np.array([[-2.0], [-1], [0], [1], [2], [3]]), np.array(list("aabbcc"))
    assert separable(x, y) and not separable(x, y == "b")
    assert not separable(x, list("aabbca"))


@pytest.mark.parametrize("kinds", [2, 3, 5])
@pytest.mark.parametrize("intercept", [True, False])
def test_classes_of_a_linear_rule_are_separable_in_any_units_until_one_row_changes(kinds, intercept):
    rng = np.random.default_rng(kinds)
    x = rng.normal(size=(300, 4)) * [1, 1e-5, 1e4, 1] + 3.0 * intercept
    y = ((x - 3.0 * intercept) @ (rng.normal(size=(kinds, 4)) / [1, 1e-5, 1e4, 1]).T).argmax(1)
    assert separable(x, y, intercept=intercept)
    y[7] = (y[7] + 1) % kinds
    assert not separable(x, y, intercept=intercept)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_units_do_not_matter(scale):
    x = np.random.default_rng(0).normal(size=(40, 3))
    y = x[:, 0] + x[:, 1] > 0.2
    assert separable(scale * x, y) and not separable(scale * x, y ^ (np.arange(40) == 3))
    assert separable(np.c_[x, np.full(40, 7.0)] + 1e8, y)


def test_more_features_than_rows_separate_anything_but_equal_rows():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 800)), rng.integers(0, 3, 40)
    assert separable(x, y)
    assert not separable(np.r_[x, x[:1]], np.r_[y, (y[0] + 1) % 3])


@pytest.mark.middle
def test_a_million_rows_are_decided_from_a_few_of_them():
    x = np.random.default_rng(0).normal(size=(10**6, 3))
    y = x @ [1.0, 2.0, 3.0] > 0.5
    assert separable(x, y)
    y[::1000] ^= True
    assert not separable(x, y)


@pytest.mark.parametrize(
    ("x", "y"), [([[1.0], [2.0]], [0]), ([1.0, 2.0], [0, 1]), (np.empty((0, 2)), []), ([[np.nan], [1.0]], [0, 1])]
)
def test_rows_without_a_class_or_a_number_are_refused(x, y):
    with pytest.raises(InputError, match=r"X has shape .*; rows \(n, D\) of finite numbers and a class for each are"):
        separable(x, y)
