"""Covariances kept as axes: what they do is what the matrix would do."""

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf

from ftheta.models._spread import Spread, deviations, spread_of

RNG = np.random.default_rng(0)


def rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    return x - x.mean(0)


def found(x, shrinkage=0.0, weight=None):
    size = np.abs(x).max(0)
    return spread_of(x.copy(), np.zeros(len(x), int), np.ones(len(x)) if weight is None else weight, size, shrinkage)


def wanted(x, shrinkage):
    c = x.T @ x / len(x)
    if shrinkage == "auto":
        scale = x.std(0)
        return scale[:, None] * ledoit_wolf(x / scale)[0] * scale
    return (1 - shrinkage) * c + shrinkage * np.trace(c) / len(c) * np.eye(len(c))


@pytest.mark.parametrize("shrinkage", [0.0, 0.3, 1.0, "auto"])
@pytest.mark.parametrize(("n", "d"), [(40, 5), (6, 30), (8, 8)])
def test_it_is_the_covariance_in_all_it_does(n, d, shrinkage):
    x, at = rows(n, d), RNG.normal(size=(7, d))
    spread, c = found(x, shrinkage), wanted(x, shrinkage)
    np.testing.assert_allclose(spread.matrix(), c, rtol=1e-9, atol=1e-9 * np.abs(c).max())
    assert spread.rank == np.linalg.matrix_rank(c)
    if spread.rank == d:
        np.testing.assert_allclose(spread.whiten(at) @ spread.whiten(at).T, at @ np.linalg.solve(c, at.T), rtol=1e-6)
        assert spread.log_det() == pytest.approx(np.linalg.slogdet(c)[1], rel=1e-9, abs=1e-9)
    else:  # within its span
        inside = at @ c
        np.testing.assert_allclose(
            np.square(spread.whiten(inside)).sum(1), np.sum(inside @ np.linalg.pinv(c, hermitian=True) * inside, 1)
        )
        values = np.linalg.eigvalsh(c)[-spread.rank :]
        assert spread.log_det() == pytest.approx(np.log(values).sum(), rel=1e-9)


@pytest.mark.parametrize("shrinkage", [0.0, 0.4, "auto"])
def test_draws_have_the_covariance(shrinkage):
    x = rows(30, 4)
    spread = found(x, shrinkage)
    drawn = spread.draw(200_000, np.random.default_rng(0))
    c = spread.matrix()
    np.testing.assert_allclose(drawn.T @ drawn / len(drawn), c, atol=0.02 * np.abs(c).max())
    wide = found(rows(4, 12), shrinkage)
    drawn = wide.draw(100_000, np.random.default_rng(1))
    np.testing.assert_allclose(drawn.T @ drawn / len(drawn), wide.matrix(), atol=0.04 * np.abs(wide.matrix()).max())


def test_no_matrix_as_large_as_the_columns_squared_is_made():
    x = rows(10, 40)
    for shrinkage in (0.0, 0.2, "auto"):
        spread = found(x, shrinkage)
        assert spread.axes.shape[1] <= 10 and max(np.size(part) for part in spread) == spread.axes.size


def test_a_weight_is_so_many_copies():
    x, copies = rows(20, 3), np.arange(20) % 4
    x -= np.average(x, axis=0, weights=copies)
    for shrinkage in (0.0, 0.2, "auto"):
        several = found(np.repeat(x, copies, axis=0), shrinkage)
        keep = copies > 0
        np.testing.assert_allclose(found(x[keep], shrinkage, copies[keep]).matrix(), several.matrix(), rtol=1e-10)


def test_numbers_of_any_size_have_deviations():
    x = rows(50, 3)
    for unit in (1e-150, 1.0, 1e150):
        np.testing.assert_allclose(deviations(x * unit, np.ones(50), np.abs(x).max(0) * unit), x.std(0) * unit)
        for shrinkage in (0.0, 0.3, "auto"):
            white = found(x * unit, shrinkage).whiten(x * unit)
            np.testing.assert_allclose(white, found(x, shrinkage).whiten(x), rtol=1e-7, atol=1e-10)
    mixed = np.array([1e-150, 1.0, 1e150])
    np.testing.assert_allclose(
        found(x * mixed).whiten(x * mixed) ** 2 @ np.ones(3), found(x).whiten(x) ** 2 @ np.ones(3)
    )


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]])
def test_units_of_dependent_columns_shift_the_determinants_of_all_covariances_alike(order):
    units = np.array([1e-8, 1.0, 1e8, 3.0])[order]
    first, second = (np.c_[x, x[:, 0] + x[:, 1]] for x in (rows(30, 3), rows(40, 3, seed=1)))  # of one span
    shift = found(first * units).log_det() - found(first).log_det()
    assert found(second * units).log_det() - found(second).log_det() == pytest.approx(shift, abs=1e-9)


def test_rows_in_several_blocks_have_one_triangle():
    x = rows(70_000, 4)  # more numbers than a block
    np.testing.assert_allclose(found(x).matrix(), x.T @ x / len(x), rtol=1e-10)


def test_a_constant_column_is_left_out():
    x = np.c_[rows(30, 2), np.zeros(30)]
    spread = found(x)
    assert spread.rank == 2 and spread.unit[2] == 0 and spread.matrix()[2].tolist() == [0, 0, 0]
    assert spread.log_det() == pytest.approx(found(x[:, :2]).log_det())
    size = np.ones(3)
    assert spread.misses(np.array([[0.0, 0.0, 0.1]]), size) and not spread.misses(np.array([[5.0, 1.0, 0.0]]), size)
    assert not found(x, 0.1).misses(np.array([[0.0, 0.0, 0.1]]), size)
    assert found(x, "auto").rank == 2
    assert spread_of(np.zeros((4, 2)), np.zeros(4, int), np.ones(4), np.ones(2), 0.3) is None


def test_shrinkage_that_ledoit_and_wolf_do_not_want_is_none():
    one = rows(30, 1)  # one column has nothing to shrink to
    assert found(one, "auto").matrix().item() == pytest.approx(one.var())
    x = np.vstack([rows(30, 2), np.zeros((1, 2))])
    index = np.r_[np.zeros(30, int), 1]  # a class of one row adds nothing
    spread = spread_of(x.copy(), index, np.ones(31), np.abs(x).max(0), "auto")
    np.testing.assert_allclose(spread.matrix(), wanted(x[:30], "auto") * 30 / 31, rtol=1e-10)


def test_a_column_that_only_an_unshrunk_class_varies_in_is_kept():
    first = np.array([[1.0, 1.0], [-1.0, -1.0]])  # Ledoit and Wolf shrink two rows by nothing
    second = np.c_[rows(4, 1), np.zeros(4)]
    x, index = np.vstack([first, second]), np.array([0, 0, 1, 1, 1, 1])
    spread = spread_of(x, index, np.ones(6), np.abs(x).max(0), "auto")
    s = ledoit_wolf(second / np.r_[second[:, 0].std(), 1])[1]
    own = second[:, 0].var() * np.diag([(1 - s) + s / 2, 0])
    assert s > 0
    np.testing.assert_allclose(spread.matrix(), first.T @ first / 6 + own * 4 / 6, rtol=1e-10)


def test_far_points_have_finite_squares():
    spread = Spread(np.array([1e150]), np.ones((1, 1)), np.array([1e-10]), False)
    with np.errstate(over="ignore"):
        assert np.isfinite(np.square(spread.whiten(np.array([[1e300], [-1e308]])))).all()
