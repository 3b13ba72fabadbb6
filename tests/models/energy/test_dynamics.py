"""Equilibria: those that the report prints, completeness by the index theorem, and systems that are known by heart."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import root

from ftheta.errors import InputError
from ftheta.models.energy.rules import design, equilibria, fixed_corners, hebb, pseudo_inverse

FLAT = [[1, 1], [-1, -1], [1, -1]]
SOLID = [[-1, -1, 1], [1, -1, -1], [1, 1, 1]]


def saturate(x):
    return np.clip(x, -1, 1)


def kinds(found):
    return [e.kind for e in found]


@pytest.mark.ledger("B053", covers="ftheta.models.energy.rules.equilibria")
def test_the_further_equilibria_of_the_square_attract_nothing():
    w, b = design(FLAT)
    np.testing.assert_allclose(w, 1.161834 * np.eye(2), atol=5e-7)
    assert not b.any()
    found = equilibria(w, b)
    points = [tuple(e.point) for e in found]
    assert points[:4] == [(-1, -1), (-1, 1), (1, -1), (1, 1)] and kinds(found[:4]) == ["stable"] * 4
    assert set(points[4:8]) == {(0, -1), (0, 1), (-1, 0), (1, 0)} and points[8:] == [(0, 0)]
    for e in found[4:]:
        np.testing.assert_allclose(e.eigenvalues, 1.161834, atol=5e-7)
    assert [len(e.eigenvalues) for e in found] == [0] * 4 + [1] * 4 + [2]
    assert kinds(found[4:]) == ["saddle"] * 4 + ["maximum"]


@pytest.mark.ledger(
    "B059",
    covers="ftheta.models.energy.rules.equilibria",
    says="the circumcentre of the targets is (0.367, -0.367, 0.367), their midpoints are (-0.06, -1, -0.06), ...",
    printed=[0.367, -0.367, 0.367],
    right=[1 / 3, -1 / 3, 1 / 3],
)
@pytest.mark.ledger("B063", covers="ftheta.models.energy.rules.equilibria")
def test_all_equilibria_of_the_cube_and_the_last_is_not_the_circumcentre(ledger):
    w, b = design(SOLID)
    np.testing.assert_allclose(w.diagonal(), 0.848933, atol=5e-7)
    np.testing.assert_allclose([w[0, 1], w[0, 2], w[1, 2]], [0.312901, -0.312901, 0.312901], atol=5e-7)
    np.testing.assert_allclose(b, [0.284852, -0.284852, 0.284852], atol=5e-7)
    found = equilibria(w, b)
    assert len(found) == 7
    assert sorted(e.point.tolist() for e in found[:3]) == sorted(SOLID) and kinds(found[:3]) == ["stable"] * 3
    edges = sorted(tuple(e.point.round(6)) for e in found[3:6])
    assert edges == [(-0.060455, -1, -0.060455), (-0.060455, 0.060455, 1), (1, 0.060455, -0.060455)]
    for e in found[3:6]:
        np.testing.assert_allclose(e.eigenvalues, [1.1618, 0.5360], atol=5e-5)
    np.testing.assert_allclose(found[6].eigenvalues, [1.1618, 1.1618, 0.2231], atol=5e-5)
    assert kinds(found[3:]) == ["saddle"] * 4
    np.testing.assert_allclose(found[6].point, 1.1 * np.mean(SOLID, axis=0), rtol=1e-12)  # 1 + 1/τ times the centroid
    middle = np.array([0.0, -1, 0])
    assert np.abs(saturate(w @ middle + b) - middle).max() == pytest.approx(0.028, abs=5e-4)
    np.testing.assert_allclose(found[6].point, [0.366667, -0.366667, 0.366667], atol=5e-7)
    circumcentre = np.mean(SOLID, axis=0)
    np.testing.assert_allclose(np.linalg.norm(SOLID - circumcentre, axis=1), 8**0.5 / 3**0.5)  # equally far from all
    ledger(circumcentre, rtol=1e-9)


@pytest.mark.ledger("B060", covers="ftheta.models.energy.rules.equilibria")
def test_hebbs_matrix_of_the_cube_has_other_equilibria_and_a_line_of_them():
    w = hebb(SOLID, zero_diagonal=False)
    assert w.tolist() == [[3, 1, -1], [1, 3, 1], [-1, 1, 3]]
    np.testing.assert_allclose(np.linalg.eigvalsh(w), [1, 4, 4], atol=1e-12)
    assert len(fixed_corners(w)) == 8
    found = equilibria(w)
    line = [e for e in found if e.kind == "continuum"]
    assert len(line) == 1 and np.allclose(line[0].point, 0)
    way = line[0].directions[0]
    np.testing.assert_allclose(way / way[0], [1, -1, 1], atol=1e-12)
    for c in np.linspace(-1, 1, 9):
        x = c * np.array([1.0, -1, 1])
        np.testing.assert_allclose(saturate(w @ x), x, atol=1e-12)
    ours = {tuple(e.point) for e in found if e.kind == "stable"}
    assert len(ours) == 6 and not {(1, -1, 1), (-1, 1, -1)} & ours  # the ends of the line attract nothing
    assert {tuple(e.point) for e in equilibria(*design(SOLID)) if e.kind == "stable"} < ours


# ---- are these all, and nothing else?


def index(found):
    """Σ sign det(I - J): 1 for every map of the cube into itself (Lefschetz), if no equilibrium is missing."""
    return sum(int(np.sign(np.prod(1 - e.eigenvalues).real)) for e in found)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_indices_of_all_equilibria_add_up_to_one(n, symmetric):
    rng, most = np.random.default_rng(n), 0
    for _ in range(12):
        w, b = 2 * rng.normal(size=(n, n)), 0.5 * rng.normal(size=n)
        w = w + w.T if symmetric else w
        found = equilibria(w, b)
        most = max(most, len(found))
        assert index(found) == 1
        for e in found:
            np.testing.assert_allclose(saturate(w @ e.point + b), e.point, atol=1e-9)
        assert len({tuple(e.point.round(9)) for e in found}) == len(found)
    assert most > 1


@pytest.mark.parametrize("seed", range(6))
def test_what_a_solver_finds_from_random_starts_is_among_them(seed):
    rng = np.random.default_rng(seed)
    w, b = 2 * rng.normal(size=(3, 3)), 0.5 * rng.normal(size=3)
    found = np.stack([e.point for e in equilibria(w, b)])
    answers = [root(lambda x: saturate(w @ x + b) - x, rng.uniform(-1, 1, 3)) for _ in range(40)]
    met = [a.x for a in answers if np.abs(saturate(w @ a.x + b) - a.x).max() < 1e-12]
    assert len(met) > 5
    for x in met:
        assert np.abs(found - x).max(1).min() < 1e-8


@pytest.mark.ledger("B271", covers="ftheta.models.energy.rules.equilibria")
@pytest.mark.parametrize("seed", range(6))
def test_a_push_grows_or_dies_as_the_kind_says(seed):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(4, 4))
    w, b = w + w.T + 2 * np.eye(4), 0.5 * rng.normal(size=4)
    for e in equilibria(w, b):
        push = saturate(e.point + 1e-7 * rng.normal(size=(20, 4)))
        for _ in range(60):
            push = saturate(push @ w.T + b)
        back = np.abs(push - e.point).max(1) < 1e-9
        assert back.all() if e.kind == "stable" else not back.any()


def test_planes_of_equilibria_are_told_once():
    square = equilibria(np.eye(2))
    assert kinds(square) == ["continuum"] and square[0].directions.shape == (2, 2)
    patterns = np.array([[1.0, 1, 1, -1, 1, 1], [1, -1, 1, 1, -1, 1]])
    plane = equilibria(pseudo_inverse(patterns))
    assert kinds(plane) == ["continuum"] and plane[0].directions.shape == (2, 6)
    np.testing.assert_allclose(plane[0].directions @ pseudo_inverse(patterns), plane[0].directions, atol=1e-12)
    edge = equilibria(np.diag([1.0, 2.0]))  # a line on each of three levels: stuck, free and unstable
    assert sorted((e.kind, e.point[1]) for e in edge) == [("continuum", -1), ("continuum", 0), ("continuum", 1)]
    shifted = equilibria(np.eye(2), [0.0, 0.3])  # it drifts upwards until it is stuck
    assert [(e.kind, e.point.tolist()) for e in shifted] == [("continuum", [0, 1])]


def test_a_unit_that_is_stuck_by_exactly_one_is_free():
    assert [(e.point[0], e.kind) for e in equilibria([[2.0]], [-1.0])] == [(-1, "stable"), (1, "marginal")]


def test_ten_units_are_looked_at_and_eleven_are_not():
    assert len(equilibria(1.5 * np.eye(6))) == 3**6
    with pytest.raises(InputError, match=r"The network has 11 units, and its cube 3\^11 faces; 10 units"):
        equilibria(np.eye(11))
    with pytest.raises(InputError, match=r"The network has 21 units and 2\^21 corners; 20 units"):
        fixed_corners(np.eye(21))


@pytest.mark.parametrize("seed", range(4))
def test_fixed_corners_are_those_that_a_loop_finds(seed):
    rng = np.random.default_rng(seed)
    w, b = rng.normal(size=(7, 7)), rng.normal(size=7)
    loop = [x for x in np.ndindex(*[2] * 7) if (np.sign(w @ (2 * np.array(x) - 1) + b) == 2 * np.array(x) - 1).all()]
    assert fixed_corners(w, b).tolist() == [(2.0 * np.array(x) - 1).tolist() for x in loop]


@pytest.mark.parametrize("w", [np.ones((2, 3)), np.full((2, 2), np.nan), np.ones(3), np.zeros((0, 0))])
def test_matrices_that_are_no_network_get_a_sentence(w):
    for f in (equilibria, fixed_corners):
        with pytest.raises(InputError, match=r"W has shape .* give finite numbers \(N, N\) and \(N,\)\."):
            f(w)
    with pytest.raises(InputError, match=r"b \(3,\); give finite"):
        equilibria(np.eye(2), [1, 2, 3])


@pytest.mark.ledger("B271", covers="ftheta.models.energy.rules.equilibria")
def test_the_continuous_system_has_the_same_equilibria_by_its_own_condition():
    """dx/dt = satlins(W x + b) - x is at rest where the map is, and attracts where Re λ < 0, not where |λ| < 1."""
    rng = np.random.default_rng(5)
    w = rng.normal(size=(3, 3))
    w, b = 2 * (w + w.T), 0.5 * rng.normal(size=3)
    found = equilibria(w, b)
    assert {"stable", "saddle"} <= set(kinds(found))
    flow = lambda _, x: saturate(w @ x + b) - x  # noqa: E731
    for e in found:
        np.testing.assert_allclose(flow(0, e.point), 0, atol=1e-9)
        end = solve_ivp(flow, (0, 60), saturate(e.point + 1e-6 * rng.normal(size=3)), rtol=1e-9, atol=1e-12).y[:, -1]
        attracts = bool((e.eigenvalues < 1).all())  # eigenvalues of the flow: λ - 1, and -1 of units that are stuck
        assert (np.abs(end - e.point).max() < 1e-6) == attracts


def test_a_free_unit_at_its_end_is_no_matter_of_the_linear_part():
    (one,) = [e for e in equilibria([[-2.0]], [3.0]) if e.point == 1]
    assert one.kind == "marginal"  # 0.9 comes back in a step
    touching = equilibria(np.eye(2) - 0.3 * np.array([[1.0, -1.0], [-1.0, 1.0]]), [0.6, -0.6])
    assert "continuum" not in {e.kind for e in touching}
