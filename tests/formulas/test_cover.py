"""Cover's count against linear programming over all labelings, the binomial law and exact integers."""

import math
from itertools import product

import numpy as np
import pytest

from ftheta.formulas import separable, separable_count, separable_share


def separated(points):
    """How many labelings a plane makes, tried one by one; a labeling and its opposite are one try."""
    rest = product([0, 1], repeat=len(points) - 1)
    return 2 * sum(separable(points, (0, *labels)) for labels in rest)


@pytest.mark.ledger("B200", covers="ftheta.formulas.separable_count")
@pytest.mark.parametrize(
    ("n", "d", "count"),
    [(4, 2, 14), (5, 2, 22), (6, 2, 32), (6, 3, 52), pytest.param(8, 3, 128, marks=pytest.mark.slow)],
)
def test_linear_programming_over_all_labelings_finds_the_count(n, d, count):
    assert separated(np.random.default_rng(n + d).normal(size=(n, d))) == separable_count(n, d) == count
    assert separable_share(n, d) == count / 2**n


@pytest.mark.ledger("B200", covers="ftheta.formulas.separable_share")
def test_every_labeling_of_one_point_more_than_there_are_features_is_separable():
    """F = 1 up to N = d, as the first case has it, and at N = d + 1, where the sum of the second case is 1."""
    most = [max(n for n in range(1, 20) if separable_share(n, d) == 1) for d in range(1, 6)]
    for d in range(1, 4):
        assert separated(np.random.default_rng(d).normal(size=(d + 1, d))) == 2 ** (d + 1)
    assert most == [2, 3, 4, 5, 6]


@pytest.mark.ledger(
    "B200",
    covers="ftheta.formulas.separable",
    says="F(N, d) is the separable share of the labellings of N points in d dimensions",
    printed=8,
    right=6,
)
def test_points_that_are_not_in_general_position_have_fewer_dichotomies(ledger):
    assert separable_count(3, 2) == 8
    ledger(separated(np.array([[0.0, 0], [1, 1], [2, 2]])))


@pytest.mark.ledger("B200", covers="ftheta.formulas.separable_share")
def test_half_of_the_dichotomies_are_separable_at_twice_the_weights():
    for d in (1, 2, 5, 50, 1000):
        assert separable_share(2 * (d + 1), d) == pytest.approx(0.5, abs=1e-9)


@pytest.mark.ledger("B202", covers="ftheta.formulas.separable_share")
def test_microarrays_are_always_separable_and_a_million_transactions_never():
    assert separable_share(100, 10_000) == 1 and separable_share(100, 10_000, log=True) == 0
    assert separable_share(10**6, 10, log=True) / math.log(10) == pytest.approx(-300976.25, abs=0.01)
    assert separable_share(10**6, 10) == 0


@pytest.mark.parametrize(("n", "d"), [(1001, 3), (1001, 500), (1001, 900), (4000, 40), (5000, 2480), (1001, 1000)])
def test_logarithms_of_many_points_are_those_of_the_exact_integers(n, d):
    exact = math.log(separable_count(n, d)) - n * math.log(2)
    assert separable_share(n, d, log=True) == pytest.approx(exact, rel=1e-9, abs=1e-9)
