"""Split conformal prediction: the order statistic of the paper, and its coverage by the Beta law."""

import numpy as np
import pytest
from scipy import stats

from ftheta.errors import InputError
from ftheta.measure import half_width


def test_it_is_the_order_statistic():
    r = np.random.default_rng(0).permutation(np.arange(1, 100)) * np.where(np.arange(99) % 2, 1, -1)
    assert [half_width(r, level) for level in (0.5, 0.9, 0.95, 0.07)] == [50, 90, 95, 7]


@pytest.mark.parametrize(
    ("n", "level", "finite"), [(19, 0.95, True), (18, 0.95, False), (9, 0.9, True), (8, 0.9, False)]
)
def test_too_few_rows_promise_nothing_finite(n, level, finite):
    assert np.isfinite(half_width(np.arange(n), level)) is np.bool_(finite)


def test_coverage_has_the_law_of_beta():
    rng, n, level = np.random.default_rng(1), 30, 0.9
    q = np.array([half_width(rng.normal(size=n), level) for _ in range(3000)])
    covered = 2 * stats.norm.cdf(q) - 1  # of new rows, given the held-out ones
    k = int(np.ceil((n + 1) * level))
    assert stats.kstest(covered, stats.beta(k, n + 1 - k).cdf).pvalue > 0.01
    assert covered.mean() == pytest.approx(k / (n + 1), abs=0.005) and k / (n + 1) >= level


@pytest.mark.parametrize(
    ("r", "level", "said"), [([1.0], 1.0, "level is 1.0"), ([np.nan], 0.9, r"residuals\[0\] is nan")]
)
def test_bad_input_is_one_sentence(r, level, said):
    with pytest.raises(InputError, match=said):
        half_width(r, level)
