"""Least squares against the pseudoinverse and exact rational solutions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ftheta.errors import InputError
from ftheta.formulas import least_squares, solve


def rational(a, b, weight=None):
    """The solution of the normal equations in fractions, rounded at the end: (M,)."""
    v = [Fraction(1)] * len(b) if weight is None else [Fraction(float(w)) for w in weight]
    rows = [[Fraction(float(cell)) for cell in (*row, y)] for row, y in zip(a, b, strict=True)]
    m = len(rows[0]) - 1
    system = [[sum(w * r[i] * r[j] for w, r in zip(v, rows, strict=True)) for j in range(m + 1)] for i in range(m)]
    for i in range(m):
        for k in range(m):
            if k != i:
                ratio = system[k][i] / system[i][i]
                system[k] = [p - ratio * q for p, q in zip(system[k], system[i], strict=True)]
    return np.array([float(system[i][m] / system[i][i]) for i in range(m)])


def filip(seed=0, n=82):
    """A polynomial of degree 10 on [-9, -3], as NIST's Filip: x..x¹⁰, and y with four digits."""
    rng = np.random.default_rng(seed)
    x = np.round(np.linspace(-8.8, -3.1, n) + 0.03 * rng.normal(size=n), 9)
    return x[:, None] ** np.arange(1, 11), np.round(0.8 + 0.05 * np.sin(2 * x) + 0.004 * rng.normal(size=n), 4)


def digits(found, exact):
    """Right digits of the worst number."""
    return -np.log10(max(np.abs(found / exact - 1).max(), 1e-17))


def roundings(found, exact, centre=None):
    """The worst error in units of eps: a slope rounds once, an intercept b̄ - Σ c w holds the rounding of all terms."""
    allowed = np.abs(exact)
    if centre is not None:
        allowed = np.r_[allowed[0] + np.abs(centre * exact[1:]).sum(), allowed[1:]]
    return (np.abs(found - exact) / allowed).max() / np.finfo(float).eps


# ---- full rank


@pytest.mark.ledger("A018", "B232", covers="ftheta.formulas.solve")
@settings(max_examples=60)
@given(st.integers(0, 9999), st.booleans(), st.booleans())
def test_it_is_the_pseudoinverse_and_its_residual_is_orthogonal_to_every_column(seed, intercept, weighted):
    rng = np.random.default_rng(seed)
    n, p, t = rng.integers(8, 30), rng.integers(1, 6), rng.integers(1, 4)
    a, b = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-3, 3, p), rng.normal(size=(n, t))
    weight = rng.uniform(0.2, 3, n) if weighted else None
    found = solve(a, b, weight, intercept=intercept)
    full = np.c_[np.ones(n), a] if intercept else a
    v = np.ones((n, 1)) if weight is None else weight[:, None]
    unit = np.linalg.norm(full, axis=0)
    closest = np.linalg.lstsq(full / unit * np.sqrt(v), b * np.sqrt(v))[0] / unit[:, None]
    np.testing.assert_allclose(found.x * unit[:, None], closest * unit[:, None], atol=1e-11)
    np.testing.assert_allclose(found.residual, b - full @ found.x, atol=1e-12)
    assert np.abs((full / unit).T @ (v * found.residual)).max() < 1e-12
    np.testing.assert_allclose(found.root @ found.root.T @ (full.T @ (v * full)), np.eye(len(unit)), atol=1e-9)
    assert found.rank == full.shape[1] and found.doubtful == "" and found.x.shape == (full.shape[1], t)
    centred = (full - (v * full).sum(0) / v.sum())[:, 1:] * np.sqrt(v) if intercept else full * np.sqrt(v)
    assert found.condition == pytest.approx(np.linalg.cond(centred / np.linalg.norm(centred, axis=0)), rel=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_a_polynomial_of_degree_10_has_the_digits_of_the_rational_solution(seed, intercept):
    a, b = filip(seed)
    full = np.c_[np.ones(len(a)), a]
    found, exact = solve(*((a, b) if intercept else (full, b)), intercept=intercept), rational(full, b)
    assert roundings(found.x[:, 0], exact, a.mean(0) if intercept else None) < 2
    assert found.rank == 11 and 1e9 < found.condition < 1e11
    assert digits(np.linalg.lstsq(full, b, rcond=0)[0], exact) < 8  # without refinement
    assert digits(np.linalg.lstsq(full, b)[0], exact) < 1  # with the rank cut in silence


def test_weights_and_targets_keep_the_digits_too():
    a, b = filip(1)
    weight = np.random.default_rng(0).choice([1.0, 2.25, 4.0, 9.0], len(a))  # roots are exact
    b = np.c_[b, 1e8 + 1e3 * b, np.zeros(len(b))]
    found = solve(a, b, weight, intercept=True)
    full = np.c_[np.ones(len(a)), a]
    for t in (0, 1):
        exact = rational(full, b[:, t], weight)
        assert roundings(found.x[:, t], exact, np.average(a, axis=0, weights=weight)) < 2
    assert not found.x[:, 2].any() and not found.residual[:, 2].any()


def test_an_offset_loses_no_digits():
    rng = np.random.default_rng(0)
    a = 1e12 + np.round(rng.normal(size=(30, 2)), 3)
    b = np.round(rng.normal(size=30), 3)
    found, exact = solve(a, b, intercept=True), rational(np.c_[np.ones(30), a], b)
    assert digits(found.x[:, 0], exact) > 14 and found.condition < 2


def test_blocks_of_rows_and_refinement_change_nothing_but_digits(monkeypatch):
    rng = np.random.default_rng(0)
    a, weight = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4)) + [0, 5, 0, -3], rng.uniform(0.1, 2, 300)
    b = rng.normal(size=(300, 2))
    whole = solve(a, b, weight, intercept=True)
    monkeypatch.setattr(least_squares, "BLOCK", 100)
    blocks = solve(a, b, weight, intercept=True)
    monkeypatch.setattr(least_squares, "SMALL", 0)
    coarse = solve(a, b, weight, intercept=True)
    for other, rtol in ((blocks, 1e-14), (coarse, 1e-11)):
        np.testing.assert_allclose(other.x, whole.x, rtol=rtol)
        np.testing.assert_allclose(other.residual, whole.residual, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(other.root, whole.root, rtol=1e-10, atol=1e-14)
    a, b = filip()  # steep: refined however large
    assert roundings(solve(a, b, intercept=True).x[:, 0], rational(np.c_[np.ones(82), a], b), a.mean(0)) < 2


@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_units_far_from_one_are_only_units(scale):
    rng = np.random.default_rng(0)
    a, weight = rng.normal(size=(40, 2)), rng.uniform(1, 2, 40)
    b = a @ [2.0, -3.0] + 1 + 0.1 * rng.normal(size=40)
    plain = solve(a, b, weight, intercept=True)
    columns = solve(a * [1, scale], b, weight, intercept=True)
    np.testing.assert_allclose(columns.x * [[1], [1], [scale]], plain.x, rtol=1e-12)
    np.testing.assert_allclose(columns.root * [[1], [1], [scale]], plain.root, rtol=1e-12, atol=1e-16)
    assert columns.condition == pytest.approx(plain.condition)
    np.testing.assert_allclose(solve(a, b * scale, weight, intercept=True).x / scale, plain.x, rtol=1e-12)
    heavy = solve(a, b, weight * scale, intercept=True)
    np.testing.assert_allclose(heavy.x, plain.x, rtol=1e-12)
    np.testing.assert_allclose(heavy.root * scale**0.5, plain.root, rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_the_intercept_is_a_number_at_the_ends_of_the_range(scale):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(40, 2)) + 3, rng.normal(size=40) + 1
    plain = solve(a, b, intercept=True)
    np.testing.assert_allclose(solve(a, b * scale, intercept=True).x / scale, plain.x, rtol=1e-12)
    np.testing.assert_allclose(solve(a * scale, b, intercept=True).x[0], plain.x[0], rtol=1e-12)
    np.testing.assert_allclose(plain.centre, a.mean(0), rtol=1e-15)
    assert not solve(a, b).centre.any()


def test_coefficients_beyond_the_range_are_refused_and_a_narrow_range_is_not():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(40, 2)) * [1, 1e-310], rng.normal(size=40)
    with pytest.raises(InputError, match="A coefficient or its error is beyond what float64 can count. Rescale the"):
        solve(a, b, intercept=True)
    assert solve(a * [1, 1e10], b, intercept=True).rank == 3


def test_a_mild_table_is_as_good_without_refinement():
    rng = np.random.default_rng(3)
    a, b = np.round(rng.normal(size=(50, 4)), 3), np.round(rng.normal(size=50), 3)
    found = solve(a, b, intercept=True)
    assert found.condition < 10 and digits(found.x[:, 0], rational(np.c_[np.ones(50), a], b)) > 12


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("power", [5, 20, 60])
def test_weights_many_powers_of_ten_apart_keep_the_digits(power, intercept):
    rng = np.random.default_rng(0)
    a, b = np.round(rng.normal(size=(30, 4)), 4) + [0, 3, 0, 0], np.round(rng.normal(size=30), 4)
    weight = 4.0 ** rng.integers(-power, power + 1, 30)  # roots are exact
    full = np.c_[np.ones(30), a] if intercept else a
    assert digits(solve(a, b, weight, intercept=intercept).x[:, 0], rational(full, b, weight)) > 13


def test_a_large_table_needs_little_more_memory_than_its_residual():
    import tracemalloc

    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(100_000, 20)), rng.normal(size=100_000)  # 16 MB
    tracemalloc.start()
    found = solve(a, b, intercept=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12e6 and found.rank == 21


# ---- short rank


@pytest.mark.parametrize("intercept", [True, False])
@given(seed=st.integers(0, 9999))
def test_where_the_rank_is_short_it_is_the_shortest_solution(intercept, seed):
    rng = np.random.default_rng(seed)
    n, p = rng.integers(2, 25), rng.integers(2, 12)
    k = rng.integers(1, p)
    a = rng.normal(size=(n, k)) @ np.c_[np.eye(k), rng.integers(-2, 3, (k, p - k))]  # columns of others, or again, or 0
    b = rng.normal(size=(n, 2))
    found = solve(a, b, intercept=intercept)
    centred = (a - a.mean(0), b - b.mean(0)) if intercept else (a, b)
    w = np.linalg.pinv(centred[0], rcond=1e-10) @ centred[1]
    np.testing.assert_allclose(found.x[intercept:], w, atol=1e-9 * max(1, np.abs(w).max()))
    if intercept:
        np.testing.assert_allclose(found.x[0], b.mean(0) - a.mean(0) @ w, atol=1e-9 * max(1, np.abs(w).max()))
    assert found.rank == np.linalg.matrix_rank(centred[0], tol=1e-10) + intercept
    assert (found.root is None) == (found.rank < p + intercept) and found.doubtful == ""


@pytest.mark.parametrize("scale", [1, 1e3])
def test_twenty_times_more_columns_than_rows(scale):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(25, 500)) * np.geomspace(1, scale, 500), rng.normal(size=25)
    found = solve(a, b)
    np.testing.assert_allclose(found.x[:, 0], np.linalg.pinv(a) @ b, atol=1e-12)
    assert found.rank == 25 and found.root is None and np.abs(found.residual).max() < 1e-12 and not found.doubtful


@pytest.mark.parametrize("scale", [1e150, 1e12, 1e-150])
def test_dependent_columns_in_units_far_apart_share_their_weight_and_leave_the_others(scale):
    rng = np.random.default_rng(0)
    a = rng.normal(size=(40, 3))
    b = a @ [2.0, -3.0, 1.0] + 1
    found = solve(np.c_[a[:, 0], a[:, 1] * scale, a[:, 1] * scale], b - a[:, 2], intercept=True)  # a column twice
    np.testing.assert_allclose(found.x[:, 0] * [1, 1, scale, scale], [1, 2, -1.5, -1.5], rtol=1e-12)
    assert found.rank == 3
    added = np.c_[a[:, 0], a[:, 1] * scale, a[:, 2] * scale, (a[:, 1] + a[:, 2]) * scale]  # one the sum of two
    third = -2 / 3  # of w with w + x = -3, w + y = 1 and the least w² + x² + y²
    found = solve(added, b, intercept=True).x[:, 0] * [1, 1, scale, scale, scale]
    np.testing.assert_allclose(found, [1, 2, -3 - third, 1 - third, third], rtol=1e-12)


def test_tables_with_nothing_in_them_are_solved_by_zeros():
    found = solve(np.zeros((5, 2)), np.arange(5.0), intercept=True)
    assert found.x.ravel().tolist() == [2, 0, 0] and found.rank == 1 and found.condition == 1
    assert solve(np.zeros((5, 2)), np.arange(5.0)).x.ravel().tolist() == [0, 0]
    one = solve([[3.0, 4.0]], [50.0], intercept=True)
    assert one.x.ravel().tolist() == [50, 0, 0] and one.rank == 1
    np.testing.assert_allclose(solve([[3.0, 4.0]], [50.0]).x.ravel(), [6, 8])


@pytest.mark.ledger("A040", covers="ftheta.formulas.solve", printed=[2, 1], right=[1, 2])
def test_as_many_exact_rows_as_parameters_give_the_plane_back_if_their_inputs_are_affinely_independent(ledger):
    rng = np.random.default_rng(0)
    for m in range(1, 8):
        a, theta = rng.normal(size=(m + 1, m)), rng.normal(size=m + 1)
        found = solve(a, theta[0] + a @ theta[1:], intercept=True)
        assert found.rank == m + 1 and np.allclose(found.x[:, 0], theta, atol=1e-9)
    assert solve([[1.0], [2.0]], [5.0, 7.0], intercept=True).x.ravel() == pytest.approx([3, 2])  # 3 + 2 x
    independent, dependent = np.array([[1.0, 1], [1, 2]]), np.array([[1.0, 1], [2, 2]])  # samples (x, y)
    assert [np.linalg.matrix_rank(s) for s in (independent, dependent)] == [2, 1]
    ranks = [solve(s[:, :1], s[:, 1], intercept=True).rank for s in (independent, dependent)]
    ledger(ranks)  # of 2 that a line needs
    assert solve(dependent[:, :1], dependent[:, 1], intercept=True).x.ravel() == pytest.approx([0, 1])  # y = x


# ---- doubt


def test_a_rank_in_doubt_is_said_with_the_condition_number_and_what_to_do():
    a, b = filip()
    said = solve(a, b, intercept=True).doubtful
    assert said.startswith("The columns are nearly dependent: condition number 3.6e+09 after scaling, so that rank 10")
    assert said.endswith("Use an orthogonal basis, drop columns or add a penalty.")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 2))
    near = solve(np.c_[x, x[:, 0] + 1e-13 * rng.normal(size=50)], x[:, 0])
    assert near.rank == 3 and "rank 3 of 3 is in doubt" in near.doubtful
    nearer = solve(np.c_[x, x[:, 0] + 1e-14 * rng.normal(size=50)], x[:, 0])
    assert nearer.rank == 2 and "rank 2 of 3 is in doubt" in nearer.doubtful  # cut, but not in silence
    assert solve(np.c_[x, x[:, 0] + 1e-7 * rng.normal(size=50)], x[:, 0]).doubtful == ""


@given(seed=st.integers(0, 9999))
def test_levels_and_totals_of_everyday_tables_are_dependent_without_a_doubt(seed):
    """Rounding of numbers far from 0 is not taken for information: the sum of two columns is their sum."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(30, 400)), int(rng.integers(2, 9))
    offset = 10.0 ** rng.integers(0, 5, 2)
    x = np.round(offset + rng.normal(size=(n, 2)), 2)
    a = np.c_[np.eye(k)[rng.integers(0, k, n)], x, x.sum(1), 1.8 * x[:, 0] + 32]
    live = int(np.ptp(a[:, :k], axis=0).any() and np.unique(a[:, :k], axis=0).shape[0])
    for weight in (None, rng.uniform(0.1, 3, n)):
        found = solve(a, rng.normal(size=n), weight, intercept=True)
        assert found.rank == live + 2 and found.doubtful == "" and np.abs(found.x[1:]).max() < 10


def test_a_column_far_from_0_lowers_no_rank_but_its_own():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    near = np.c_[x[:, 0], x[:, 0] + 1e-5 * x[:, 1], 1e12 + np.round(rng.normal(size=60), 3)]
    assert solve(near, x[:, 1], intercept=True).rank == 4
    assert solve(1 + 1e-15 * x, x[:, 1], intercept=True).rank == 3


def test_light_rows_that_vanish_beside_heavy_ones_are_said():
    rng = np.random.default_rng(0)
    a, b, weight = rng.normal(size=(20, 3)), rng.normal(size=20), np.r_[1e150, np.ones(19)]
    said = solve(a, b, weight).doubtful
    assert (
        said.startswith("Weights are up to a factor 1e+150 apart, so that light rows vanish") and "rank 1 of 3" in said
    )
    assert (
        solve(a, b, np.r_[1e6, np.ones(19)]).doubtful == solve(np.c_[a, a], b, np.r_[9.0, np.ones(19)]).doubtful == ""
    )


def test_a_column_that_is_constant_up_to_rounding_gets_no_weight_and_is_named():
    rng = np.random.default_rng(0)
    x = rng.normal(size=50)
    almost = 14.62 * (1 + 2.3e-16 * (np.arange(50) % 2))
    assert np.ptp(almost) > 0
    found = solve(np.c_[x, almost], 2 * x + 1, intercept=True)
    np.testing.assert_allclose(found.x[:, 0], [1, 2, 0], atol=1e-14)
    assert found.x[2, 0] == 0 and found.rank == 2
    assert found.doubtful == "Column 1 of X is constant up to rounding and got the coefficient 0; drop it."
    assert solve(np.c_[x, np.full(50, 14.62)], 2 * x, intercept=True).doubtful == ""  # no doubt in that


@pytest.mark.parametrize(("a", "b"), [(np.ones(3), np.ones(3)), (np.ones((3, 2)), np.ones(4)), (np.ones((0, 2)), [])])
def test_shapes_that_do_not_fit_are_refused(a, b):
    with pytest.raises(InputError, match=r"a is \(.*\) and b is \(.*\); \(n, P\) and \(n,\) or \(n, T\) are needed"):
        solve(a, b)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(bad):
    for a, b in (([[bad], [1.0]], [1.0, 2]), ([[0.0], [1.0]], [1.0, bad])):
        with pytest.raises(InputError, match="a or b holds a number that is not finite"):
            solve(a, b)
