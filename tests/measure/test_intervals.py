"""Intervals: Wilson's is SciPy's, the bootstrap is SciPy's BCa, and hands of rows spread like rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ftheta.errors import InputError
from ftheta.measure import Bootstrap, half_width, wilson


@given(
    st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.5, 0.9, 0.95])
)
def test_wilson_is_scipys(kn, level):
    expected = stats.binomtest(*kn).proportion_ci(level, method="wilson")
    assert wilson(*kn, level) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("kn", [(3, 2), (-1, 2), (0, 0)])
def test_a_share_needs_rows(kn):
    with pytest.raises(InputError, match=rf"wilson got k = {kn[0]} of n = {kn[1]}; it needs 0 <= k <= n and n >= 1"):
        wilson(*kn)


def mean(s):
    return s[..., 1] / s[..., 0]


def test_the_interval_is_scipys_bca_up_to_its_own_draws():
    x = np.random.default_rng(0).lognormal(sigma=1.5, size=150)  # skewed, so that percentile and BCa differ
    ours = Bootstrap(150, resamples=20_000).interval((np.ones(150), x), mean)
    rng = np.random.default_rng(1)
    theirs = stats.bootstrap((x,), np.mean, n_resamples=20_000, method="BCa", rng=rng).confidence_interval
    plain = stats.bootstrap((x,), np.mean, n_resamples=20_000, method="percentile", rng=rng).confidence_interval
    width = theirs.high - theirs.low
    assert ours == pytest.approx(tuple(theirs), abs=0.02 * width)
    assert abs(ours[1] - plain.high) > 0.04 * width


def test_many_rows_are_dealt_into_hands_without_loss():
    x = np.arange(5003.0)
    c = Bootstrap(5003).sums((np.ones(5003), x))
    assert c.shape == (2000, 2) and c.sum(0).tolist() == [5003, x.sum()] and set(c[:, 0]) == {2, 3}
    assert Bootstrap(2000).sums((x[:2000],))[:, 0].tolist() == x[:2000].tolist()


def test_what_no_resample_moves_has_no_interval():
    assert Bootstrap(30).interval((np.ones(30), np.full(30, 0.1)), mean) is None
    assert Bootstrap(30).abs_interval([np.full(30, 0.1)]) is None


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_interval_is_its_formula_also_where_many_resamples_are_equal(level):
    """Half of those equal to the value count as below it; ends are those of Weibull's quantiles."""
    x = np.arange(14) % 7 < 2
    boot = Bootstrap(14, level, resamples=400, seed=3)
    drawn = np.array([np.repeat(x, w.astype(int)).mean() for w in boot.weights])
    below = ((drawn < x.mean()).sum() + (drawn == x.mean()).sum() / 2) / 400
    left_out = np.array([np.delete(x, i).mean() for i in range(14)])
    pull, z0 = left_out.mean() - left_out, stats.norm.ppf(below)
    a = (pull**3).sum() / (pull**2).sum() ** 1.5 / 6
    z = z0 + stats.norm.ppf([(1 - level) / 2, (1 + level) / 2])
    ends = stats.mstats.mquantiles(drawn, stats.norm.cdf(z0 + z / (1 - a * z)), alphap=0, betap=0)
    assert boot.interval((np.ones(14), x), mean) == pytest.approx(tuple(ends))


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_folded_interval_is_its_formula(level):
    c = np.random.default_rng(4).normal((1.0, -0.6, 0.05), 1.0, (40, 3))
    boot = Bootstrap(40, level, resamples=300, seed=5)
    low, high = boot.abs_interval(c.T)
    g, drawn = c.mean(0), np.array([np.average(c, axis=0, weights=w) for w in boot.weights])
    kept = [m if abs(m) > 2 * s else 0.0 for m, s in zip(g, drawn.std(0), strict=True)]
    error = [sum(abs(k + d - m) - abs(k) for k, d, m in zip(kept, row, g, strict=True)) for row in drawn]
    signed = [sum(np.sign(m) * (d - m) for d, m in zip(row, g, strict=True)) for row in drawn]
    ends = [
        stats.mstats.mquantiles(v, share, alphap=0, betap=0)[0]
        for v, share in ((error, (1 + level) / 2), (signed, (1 - level) / 2))
    ]
    assert 0.0 in kept and (low, high) == pytest.approx((abs(g).sum() - ends[0], abs(g).sum() - ends[1]))


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
