"""Cover's count against linear programming over all labelings and the binomial law."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from ftheta.formulas import separable, separable_count


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


@pytest.mark.ledger("B200", covers="ftheta.formulas.separable_count")
def test_every_labeling_of_one_point_more_than_there_are_features_is_separable():
    """F = 1 up to N = d, as the first case has it, and at N = d + 1, where the sum of the second case is 1."""
    most = [max(n for n in range(1, 20) if separable_count(n, d) == 2**n) for d in range(1, 6)]
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


@pytest.mark.ledger("B200", covers="ftheta.formulas.separable_count")
def test_half_of_the_dichotomies_are_separable_at_twice_the_weights():
    for d in (1, 2, 5, 50, 1000):
        assert separable_count(2 * (d + 1), d) == 2 ** (2 * d + 1)


@pytest.mark.ledger("B202", covers="ftheta.formulas.separable_count")
def test_microarrays_are_always_separable_and_a_million_transactions_never():
    assert separable_count(100, 10_000) == 2**100
    share = math.log10(separable_count(10**6, 10)) - 10**6 * math.log10(2)
    assert share == pytest.approx(-300976.25, abs=0.01)


@pytest.mark.parametrize(("n", "d"), [(5, 2), (1001, 500), (1001, 900), (4000, 1990)])
def test_the_share_of_all_dichotomies_is_a_binomial_probability(n, d):
    assert separable_count(n, d) / 2**n == pytest.approx(binom.cdf(d, n - 1, 0.5), rel=1e-9)
