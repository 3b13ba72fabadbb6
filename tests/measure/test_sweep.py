"""Sweeps: the influence of a row is the derivative of the area by its weight."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import average_precision_score, roc_auc_score

from ftheta.measure._sweep import ap_influence, auc_influence, log_odds, sweep

ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=4, max_size=25)


@pytest.mark.middle
@pytest.mark.slow
@pytest.mark.parametrize(
    ("influence", "area"), [(auc_influence, roc_auc_score), (ap_influence, average_precision_score)]
)
@settings(max_examples=8)
@given(rows=ROWS)
def test_influences_are_derivatives_by_the_weights(influence, area, rows):
    positive, score = np.array([True, False] + [r[0] for r in rows]), np.array([3, 4] + [r[1] for r in rows])
    n, h = len(score), 1e-5
    step = h * np.eye(n)
    slope = [area(positive, score, sample_weight=1 + e) - area(positive, score, sample_weight=1 - e) for e in step]
    assert influence(positive, sweep(positive, score)) == pytest.approx(n * np.array(slope) / (2 * h), abs=1e-6)


def test_the_log_odds_interval_of_an_auc_is_delongs():
    rng = np.random.default_rng(0)
    positive, score = np.arange(300) < 60, rng.normal(size=300) + 2.0 * (np.arange(300) < 60)
    s = sweep(positive, score)
    placed = (score[positive][:, None] > score[~positive]).astype(float)  # (P, N)
    auc, error = placed.mean(), np.sqrt(placed.mean(1).var() / 60 + placed.mean(0).var() / 240)
    odds, half = np.log(auc / (1 - auc)), stats.norm.ppf(0.95) * error / (auc * (1 - auc))
    expected = [1 / (1 + np.exp(-e)) for e in (odds - half, odds + half)]
    assert log_odds(auc, auc_influence(positive, s), 0.9) == pytest.approx(expected, abs=1e-12)
    assert log_odds(1.0, np.zeros(300)) is None
