"""Tests and intervals: tails and quantiles of SciPy's distributions, small p with all their digits."""

import numpy as np
import pytest
from scipy import stats

from ftheta.errors import InputError
from ftheta.formulas import interval


@pytest.mark.parametrize(("dof", "truth"), [(None, stats.norm), (4, stats.t(4)), (4.5, stats.t(4.5))])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_intervals_are_central_and_hold_the_level(dof, truth, level):
    low, high = interval(np.array([10.0, -1.0]), np.array([2.0, 3.0]), level, dof)
    for m, s, a, b in zip((10, -1), (2, 3), low, high, strict=True):
        np.testing.assert_allclose([(a - m) / s, (b - m) / s], truth.ppf([0.5 - level / 2, 0.5 + level / 2]), rtol=1e-9)


@pytest.mark.parametrize("level", [0, 1, 95, float("nan")])
def test_a_level_is_a_share(level):
    with pytest.raises(InputError, match=r"level is .*; a share strictly between 0 and 1 is needed, such as 0.95"):
        interval(0.0, 1.0, level)
