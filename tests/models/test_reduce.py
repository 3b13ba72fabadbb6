"""Rows that stand for all rows: every least-squares problem has the same value on them."""

import numpy as np
import pytest

from ftheta.models import _reduce
from ftheta.models._reduce import centres, column_names, parts, reduced, scale_of, shifted

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("n", "d", "t"), [(200, 5, 1), (200, 3, 2), (4, 9, 1), (7, 6, 1), (1, 3, 1)])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
def test_every_residual_has_the_same_length(n, d, t, weighted, intercept, monkeypatch):
    monkeypatch.setattr(_reduce, "NUMBERS", 60)  # several parts
    x, y = RNG.normal(size=(n, d)) + 3, RNG.normal(size=(n, t)) - 2
    weight = RNG.uniform(0.1, 2, n) if weighted else None
    found, v = reduced(x, y, weight, intercept), np.ones(n) if weight is None else weight
    assert (
        len(found.x) == len(found.y) <= d + t and found.x.flags.f_contiguous and found.total == pytest.approx(v.sum())
    )
    means = [np.average(part, axis=0, weights=v) if intercept else 0 for part in (x, y)]
    for w in RNG.normal(size=(3, d, t)):
        residual = (y - means[1] - (x - means[0]) @ w) * np.sqrt(v)[:, None]
        np.testing.assert_allclose(np.linalg.norm(found.y - found.x @ w, axis=0), np.linalg.norm(residual, axis=0))
    np.testing.assert_allclose(found.x_mean, means[0] * np.ones(d))
    np.testing.assert_allclose(found.y_mean, means[1] * np.ones(t))


def test_means_keep_the_digits_of_columns_far_from_zero():
    x = 1e8 + RNG.normal(size=(5000, 2)) * 1e-3
    truth = [float(sum(map(int, (column * 2**40).astype(object))) / 2**40 / 5000) for column in x.T]
    np.testing.assert_allclose(centres(x, None), truth, rtol=2e-16)
    assert centres(np.full((7, 1), 14.62), None) == 14.62
    weight = RNG.uniform(0.1, 2, 5000)
    np.testing.assert_allclose(centres(x, weight) - 1e8, np.average(x - 1e8, axis=0, weights=weight), atol=1e-8)


def test_shifting_makes_new_rows():
    x = np.arange(6.0).reshape(3, 2)
    assert shifted(x, np.array([1.0, 2.0]), np.array([1.0, 4.0, 9.0])).tolist() == [[-1, -1], [2, 2], [9, 9]]
    assert x[0].tolist() == [0, 1]


def test_parts_hold_every_row_once_and_no_fewer_than_asked():
    assert [s.indices(5)[:2] for s in parts(5, 10**9)] == [(i, i + 1) for i in range(5)]
    assert [s.indices(5)[:2] for s in parts(5, 10**9, 3)] == [(0, 3), (3, 5)]
    assert len(list(parts(100, 3))) == 1 and list(parts(0, 3)) == []


@pytest.mark.parametrize(
    ("values", "scale"), [([0.0], 1), ([3.0, -5.0], 8), ([1e-200], None), ([-1e200], None), ([], 1)]
)
def test_the_scale_is_a_power_of_two(values, scale):
    found = scale_of(np.array(values))
    assert found == scale if scale else np.log2(found) % 1 == 0 and 0.5 <= max(map(abs, values)) / found < 1


def test_columns_without_names_are_numbered():
    assert column_names(object(), 2) == ("x0", "x1")
