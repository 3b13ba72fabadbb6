"""Poisson likelihood against SciPy."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ftheta.likelihoods import Poisson


@given(st.floats(-30, 200), st.integers(0, 300))
def test_it_agrees_with_scipy(z, y):
    raw, target = torch.tensor([[z]], dtype=torch.double), torch.tensor([float(y)], dtype=torch.double)
    truth = -stats.poisson(np.logaddexp(0, z)).logpmf(y)
    assert Poisson().nll(raw, target).item() == pytest.approx(truth, rel=1e-9, abs=1e-10)


def test_the_prediction_is_the_mean_rate_and_the_mode_of_the_distribution_a_count():
    raw = torch.tensor([[0.0], [5.0]], dtype=torch.double)
    assert Poisson().mode(raw).tolist() == pytest.approx(np.logaddexp(0, [0, 5]).tolist())
    assert Poisson().distribution(raw).mode.tolist() == [0.0, 5.0]


def test_intervals_are_whole_counts_also_at_rate_zero():
    raw = torch.tensor([[-1e4], [10.0]], dtype=torch.float32)
    low, high = Poisson().interval(raw, 0.95)
    assert low.dtype == torch.float32
    assert low.tolist() == [0.0, 4.0] and high.tolist() == [0.0, 17.0]


def test_the_curvature_is_finite_where_the_rate_is_zero():
    torch.testing.assert_close(
        Poisson().curvature(torch.tensor([[-1e4], [-50.0], [1e4]])).flatten(),
        torch.tensor([0.0, float(np.exp(-50)), 1e-4]),
    )
