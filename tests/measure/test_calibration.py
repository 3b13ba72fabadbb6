"""Calibration: the bins are scikit-learn's, and the error is their weighted gap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from ftheta.measure import calibration, wilson


@pytest.mark.slow
@given(st.integers(0, 2**31), st.integers(2, 5), st.integers(1, 60), st.sampled_from([1, 7, 10]))
def test_bins_are_scikit_learns(seed, k, n, bins):
    rng = np.random.default_rng(seed)
    y, p = rng.integers(0, k, n), rng.multinomial(10, np.ones(k) / k, n) / 10  # on the edges of the bins
    found = calibration(y, p, range(k), bins=bins)
    right, sure = p.argmax(1) == y, p.max(1)
    share, mean = calibration_curve(right, sure, n_bins=bins)
    full = found.rows > 0
    assert found.rows.sum() == n and np.isnan(found.accuracy[~full]).all()
    assert found.accuracy[full] == pytest.approx(share, abs=1e-12)
    assert found.confidence[full] == pytest.approx(mean, abs=1e-12)
    assert found.ece == pytest.approx(np.sum(found.rows[full] / n * abs(share - mean)), abs=1e-12)


def test_a_hand_made_case():
    p = np.array([[0.9, 0.1], [0.9, 0.1], [0.65, 0.35], [0.35, 0.65]])
    found = calibration(["n", "y", "n", "y"], p)  # 0.9: 1 of 2 right; 0.65: 2 of 2 right
    assert found.ece == pytest.approx((2 * 0.4 + 2 * 0.35) / 4)
    table = found.table().columns
    assert table["rows"] == [2, 2] and table["from"] == pytest.approx([0.6, 0.8])
    assert table["to"] == pytest.approx([0.7, 0.9])
    assert (table["low"][1], table["high"][1]) == wilson(1, 2)
    assert found.caption == (
        "Calibration on 4 rows: mean confidence 0.775, accuracy 0.750, "
        "expected calibration error 0.375 over 10 bins of equal width."
    )
    assert found.figure().axes[0].get_title() == "Calibration (ECE 0.375)"


def test_the_axis_of_two_classes_begins_at_a_half():
    assert calibration([0, 1, 0, 1], [0.2, 0.9, 0.4, 0.7]).figure().axes[0].get_xlim() == (0.5, 1)
