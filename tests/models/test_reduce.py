"""Rows that stand for all rows: every least-squares problem has the same value on them."""

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.models import _reduce
from ftheta.models._reduce import apart, centres, column_names, in_units, parts, reduced, scale_of, shifted, span
from tests.formulas.test_least_squares import digits, rational

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("n", "d", "t"), [(200, 5, 1), (200, 3, 2), (4, 9, 1), (7, 6, 1), (1, 3, 1)])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
def test_every_residual_has_the_same_length(n, d, t, weighted, intercept, monkeypatch):
    monkeypatch.setattr(_reduce, "NUMBERS", 60)  # several parts
    x, y = RNG.normal(size=(n, d)) + 3, RNG.normal(size=(n, t)) - 2
    weight = RNG.uniform(0.1, 2, n) if weighted else None
    found, v = reduced(x, y, weight, intercept), np.ones(n) if weight is None else weight / weight.max()
    assert found.heaviest == (1 if weight is None else weight.max())
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


def test_numbers_at_the_end_of_the_range_have_a_scale_and_beyond_it_are_refused():
    assert scale_of(np.array([1.7e308])) == 2.0**1023
    with pytest.raises(InputError, match="X or y is wider than float64 can count, once .* weighted. Rescale it"):
        scale_of(shifted(np.array([[1.7e308], [-1.7e308]]), np.array([1.7e308]), None))
    assert in_units(np.array([3.0]), 2.0**1000, 2.0**900)[0] == 3 * 2.0**-100
    with pytest.raises(InputError, match="A coefficient is beyond what float64 can count. Rescale the columns or y"):
        in_units(np.array([3.0]), 2.0**-600, 2.0**600)


@pytest.mark.parametrize("scale", [1e308, 1e-308])
def test_the_unit_of_the_weights_changes_nothing(scale):
    x, y = RNG.normal(size=(9, 2)), RNG.normal(size=(9, 1))
    weight = RNG.uniform(0.5, 1, 9)
    one, other = reduced(x, y, weight, True), reduced(x, y, weight * scale, True)
    for name in ("x", "y", "x_mean", "y_mean", "total"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e5, 1e17, 1e150])
def test_columns_far_apart_keep_their_digits_in_ridge(scale):
    x = RNG.normal(size=(20, 3)) * [1, scale, 1]
    y = x[:, 0] + x[:, 1] / scale + RNG.normal(size=20)
    w, dof = apart(x, y[:, None], 4.0)
    assert digits(w[0], rational(np.r_[x, 2 * np.eye(3)], np.r_[y, np.zeros(3)])) > 13
    narrow = x[:, [0, 2]] - np.outer(x[:, 1] / scale, (x[:, 1] / scale) @ x[:, [0, 2]] / ((x[:, 1] / scale) ** 2).sum())
    s = np.linalg.svd(narrow, compute_uv=False)  # what the wide column, which is hardly penalised, leaves
    assert dof[0] == pytest.approx(1 + (s**2 / (s**2 + 4)).sum(), rel=1e-8)
    assert span(x, np.zeros(3)) > scale / 20 and span(np.c_[x[:, 0], np.full(20, 1e-15)], np.array([0.0, 7.0])) == 1
    both, same = apart(np.c_[x, x[:, 1]], y[:, None], 4.0)
    assert same[0] == pytest.approx(dof[0], rel=1e-8)
    np.testing.assert_allclose(both[0] * [1, scale, 1, scale], w[0][[0, 1, 2, 1]] * [1, scale / 2, 1, scale / 2])


def test_columns_without_names_are_numbered():
    assert column_names(object(), 2) == ("x0", "x1")
