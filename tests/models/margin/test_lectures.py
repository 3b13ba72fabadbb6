"""Rows of the ledger about margins: each against a closed form, a brute-force search or an explicit map of features.

The sources write ‖w‖² + λ Σ ξ (then C = λ/2) and ½ ‖w‖² + λ Σ ξ (then C = λ), and call 1/‖w‖ or 2/‖w‖ the margin.
"""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures

from ftheta import LogisticRegression, MLPClassifier, SVMClassifier, explain
from ftheta.errors import InputError
from ftheta.models.margin.problem import Kernel
from ftheta.studies import gallery

CHECK, LABELS = gallery.clouds(1.0)
SIDES = 2.0 * LABELS - 1
FIRST = np.array([[1.0, 1], [2, 2], [2, 0], [0, 0], [1, 0], [0, 1]]), np.array([1, 1, 1, 0, 0, 0])
SECOND = np.array([[3.0, 3], [4, 3], [1, 1]]), np.array([1, 1, 0])
REPORT = np.array([[1.0, 1], [2, 2], [0, 0], [-1, 0]]), np.array([1, 1, 0, 0])
CORNERS, XOR = np.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]]), np.array([0, 1, 1, 0])


def linear(c, x=CHECK, y=LABELS, **others):
    return SVMClassifier(kernel="linear", C=c, **others).fit(x, y)


def plane(machine):
    """b and w."""
    return np.r_[machine.intercept_, machine.coef_[0]]


def widest_by_angle(x, y, steps=200_000):
    """The largest smallest distance over all directions, the plane in the middle, and that direction."""
    angle = np.linspace(0, 2 * np.pi, steps, endpoint=False)
    normal = np.stack([np.cos(angle), np.sin(angle)])
    at = x @ normal
    gap = (at[y == 1].min(0) - at[y == 0].max(0)) / 2
    return gap.max(), normal[:, gap.argmax()]


# ---- the hard margin


@pytest.mark.ledger("A053", "A054", "B293", covers="ftheta.models.SVMClassifier")
def test_output_over_norm_is_the_signed_distance_and_leads_to_the_foot_point():
    (b, *w) = plane(linear(np.inf, np.array([[0.0, 0], [1.2, 1.6]]), [0, 1]))  # 3x + 4y = 5 halves them
    assert np.array([b, *w]) / np.hypot(*w) == pytest.approx([-1, 0.6, 0.8])
    machine, norm = linear(np.inf, np.array([[0.0, 0], [1.2, 1.6]]), [0, 1]), np.hypot(*w)
    assert machine.decision_function([[3.0, 4]]) / norm == pytest.approx(4)  # on the side of class 1
    x = np.random.default_rng(0).normal(size=(20, 2))
    distance = machine.decision_function(x) / norm
    foot = x - np.outer(distance, w) / norm
    assert machine.decision_function(foot) == pytest.approx(0, abs=1e-12)
    assert np.linalg.norm(x - foot, axis=1) == pytest.approx(np.abs(distance))
    assert explain.margins(machine, x, np.ones(20, int)).margin / norm == pytest.approx(distance)


@pytest.mark.ledger("A055", "A056", covers="ftheta.models.SVMClassifier")
@pytest.mark.parametrize(
    ("rows", "theta", "margin"), [(FIRST, (-3, 2, 2), 0.353553), (SECOND, (-2, 0.5, 0.5), 1.414214)]
)
def test_the_hard_margin_is_the_widest_there_is(rows, theta, margin):
    machine = linear(np.inf, *rows)
    assert plane(machine) == pytest.approx(theta, abs=1e-9)
    assert 1 / np.linalg.norm(machine.coef_) == pytest.approx(margin, abs=1e-6)
    assert widest_by_angle(*rows)[0] == pytest.approx(margin, abs=1e-6)  # and no direction has a larger one
    if rows is FIRST:
        assert explain.margins(machine, *rows).margin == pytest.approx([1, 5, 1, 3, 1, 1])


@pytest.mark.ledger("A057", covers="ftheta.models.SVMClassifier")
@pytest.mark.parametrize("seed", range(5))
def test_three_forms_of_the_hard_margin_have_the_same_normal(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 15)
    x = rng.normal(size=(30, 2)) + np.where(y[:, None], [3.0, 2], [-3, -2])
    t = 2.0 * y - 1
    ours = linear(np.inf, x, y).coef_[0]
    scaled = minimize(  # max r with ‖w‖ = 1
        lambda v: -v[3],
        [0, 0.7, 0.7, 0],
        constraints=[
            {"type": "ineq", "fun": lambda v: t * (x @ v[1:3] + v[0]) - v[3]},
            {"type": "eq", "fun": lambda v: v[1:3] @ v[1:3] - 1},
        ],
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    normal = ours / np.linalg.norm(ours)
    assert scaled.x[1:3] == pytest.approx(normal, abs=1e-4) and scaled.x[3] == pytest.approx(1 / np.linalg.norm(ours))
    assert widest_by_angle(x, y)[1] == pytest.approx(normal, abs=1e-3)


@pytest.mark.ledger("A059", covers="ftheta.models.SVMClassifier")
def test_there_is_no_hard_margin_between_overlapping_classes():
    for solver in ("primal", "dual"):
        with pytest.raises(InputError, match=r"The hard margin \(C=inf\) is infeasible"):
            linear(np.inf, solver=solver)


@pytest.mark.ledger(
    "B294", covers="ftheta.models.SVMClassifier", says="the middle: wᵀx⁺ + b = 1", printed=1.0, right=0.0
)
def test_the_line_in_the_middle_and_an_outlier(ledger):
    machine = linear(np.inf, *REPORT)
    assert plane(machine) == pytest.approx([-1, 1, 1]) and 2 / np.linalg.norm(machine.coef_) == pytest.approx(2**0.5)
    ledger(machine.decision_function([[0.5, 0.5]])[0], atol=1e-9)
    one_more = linear(np.inf, np.r_[REPORT[0], [[0.1, 0.05]]], np.r_[REPORT[1], 1])  # of class 1
    assert one_more.coef_[0] == pytest.approx([16, 8]) and 2 / np.linalg.norm(one_more.coef_) == pytest.approx(
        0.112, 5e-3
    )


@pytest.mark.ledger("B295", covers="ftheta.explain.margins")
def test_the_width_is_the_distance_between_the_supporting_lines():
    machine = linear(np.inf, *REPORT)
    w = machine.coef_[0]
    above, below = REPORT[0][0], REPORT[0][2]  # one support vector on each line
    assert (above - below) @ w / np.linalg.norm(w) == pytest.approx(2**0.5)
    assert 2 * explain.margins(machine, *REPORT).width[0] == pytest.approx(2**0.5)


@pytest.mark.ledger("B298", covers="ftheta.explain.margins")
def test_only_support_vectors_hold_the_solution():
    machine = linear(np.inf, *REPORT)
    margin = explain.margins(machine, *REPORT).margin
    assert np.isclose(margin, 1).tolist() == [True, False, True, False]
    for kept in ([0, 2], [0, 1, 2], [0, 2, 3]):
        assert plane(linear(np.inf, REPORT[0][kept], REPORT[1][kept])) == pytest.approx(plane(machine))
    assert plane(linear(np.inf, REPORT[0][1:], REPORT[1][1:])) != pytest.approx(plane(machine), abs=0.1)


@pytest.mark.ledger("A069", "B299", covers="ftheta.explain.optimality")
def test_primal_and_dual_of_the_report_are_equal_with_alpha_1():
    machine = SVMClassifier(kernel="poly", degree=1, coef0=0.0, C=np.inf).fit(*REPORT)  # x·z, and its β
    assert machine.support_vectors_.tolist() == [[0, 0], [1, 1]] and machine.dual_coef_[0] == pytest.approx([-1, 1])
    found = explain.optimality(machine).numbers
    assert found["primal"] == pytest.approx([1]) and found["dual"] == pytest.approx([1])
    assert machine.dual_coef_ @ machine.support_vectors_ == pytest.approx(np.array([[1, 1]]))


# ---- the soft margin


@pytest.mark.ledger("A060", "A062", covers="ftheta.models.SVMClassifier")
@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_the_soft_margin_with_slacks_and_with_the_hinge(solver):
    machine = linear(0.5, solver=solver)  # λ = 1 beside ‖w‖²
    assert plane(machine) == pytest.approx([0.16546, 0.82658, 1.22190], abs=1e-5)
    slack = np.maximum(0, 1 - SIDES * machine.decision_function(CHECK))
    assert machine.coef_[0] @ machine.coef_[0] + slack.sum() == pytest.approx(12.207349, abs=1e-6)
    assert 2 * machine.optimality_["primal"][0] == pytest.approx(12.207349, abs=1e-6)
    assert machine.optimality_["slack"][0] == pytest.approx(slack.sum())


@pytest.mark.ledger(
    "A061",
    covers="ftheta.models.SVMClassifier",
    says="larger λ prioritises a larger margin",
    printed="wider",
    right="narrower",
)
def test_a_larger_weight_of_the_slacks_makes_the_margin_narrower(ledger):
    found = [linear(weight / 2).optimality_ for weight in (0.01, 0.1, 1.0, 10, 100)]
    margin, slack = [1 / one["norm"][0] for one in found], [one["slack"][0] for one in found]
    assert margin == pytest.approx([2.2987, 1.2044, 0.6779, 0.5866, 0.4257], abs=1e-4)
    assert slack == pytest.approx([31.48, 15.05, 10.03, 9.60, 9.44], abs=0.005)
    ledger("narrower" if np.all(np.diff(margin) < 0) and np.all(np.diff(slack) < 0) else "wider")
    drawn = gallery.PICTURES["A061"][1]().axes
    assert all(np.all(np.diff(axes.lines[0].get_ydata()) <= 1e-9) for axes in drawn)


@pytest.mark.ledger("A063", covers="ftheta.models.SVMClassifier")
def test_the_subgradient_method_comes_near_the_solution():
    machine = linear(0.5, solver="subgradient", steps=10_000)
    assert plane(machine) == pytest.approx([0.16546, 0.82658, 1.22190], abs=1e-3)
    losses = [row["loss"] for row in machine.history_]
    assert losses == sorted(losses, reverse=True)


@pytest.mark.middle
def test_the_subgradient_method_after_200_000_steps():  # A063
    machine = linear(0.5, solver="subgradient", steps=200_000)
    assert plane(machine) == pytest.approx([0.165466, 0.826583, 1.221896], abs=1e-5)


@pytest.mark.ledger("A068", covers="ftheta.models.SVMClassifier")
def test_the_two_primal_forms_differ_by_a_factor_of_two():
    assert plane(linear(1.0)) == pytest.approx([0.23349, 0.89271, 1.38930], abs=1e-5)  # the form with ½, at λ = 1
    assert plane(linear(0.5)) == pytest.approx([0.16546, 0.82658, 1.22190], abs=1e-5)  # without, at λ = 1
    assert plane(linear(2 / 2)) == pytest.approx([0.23349, 0.89271, 1.38930], abs=1e-5)  # and at λ = 2


@pytest.mark.ledger("A069", covers="ftheta.models.SVMClassifier")
def test_the_kernel_dual():
    machine = SVMClassifier(kernel="poly", degree=1, coef0=0.0, C=0.1).fit(CHECK, LABELS)
    w = machine.dual_coef_ @ machine.support_vectors_
    assert np.r_[machine.intercept_, w[0]] == pytest.approx([0.0901, 0.60037, 0.71738], abs=1e-4)
    assert np.abs(machine.dual_coef_).max() <= 0.1 + 1e-12 and abs(machine.dual_coef_.sum()) < 1e-9
    assert plane(linear(0.1)) == pytest.approx(np.r_[machine.intercept_, w[0]], abs=1e-6)
    xor = SVMClassifier(kernel="poly", degree=2, coef0=1.0, C=10.0).fit(CORNERS, XOR)
    assert np.abs(xor.dual_coef_) == pytest.approx(1 / 8) and xor.intercept_ == pytest.approx(0)
    assert xor.optimality_["dual"] == pytest.approx([0.25]) and xor.optimality_["primal"] == pytest.approx([0.25])


@pytest.mark.ledger("A070", "A073", covers="ftheta.explain.optimality")
def test_the_conditions_of_the_solution():
    machine = SVMClassifier(kernel="poly", degree=1, coef0=0.0, C=1.0).fit(CHECK, LABELS)
    beta = np.zeros(80)
    for row, value in zip(machine.support_vectors_, machine.dual_coef_[0], strict=True):
        beta[(row == CHECK).all(1)] = value
    alpha, w = beta * SIDES, beta @ CHECK
    f = CHECK @ w + machine.intercept_
    xi = np.maximum(0, 1 - SIDES * f)
    assert w == pytest.approx(linear(1.0).coef_[0], abs=1e-6) and abs(beta.sum()) < 1e-6
    assert alpha.min() >= 0 and alpha.max() <= 1 + 1e-9
    assert np.abs(alpha * (SIDES * f - 1 + xi)).max() < 1e-6 and np.abs((1 - alpha) * xi).max() < 1e-6
    free = (alpha > 1e-6) & (alpha < 1 - 1e-6)
    each = SIDES[free] - CHECK[free] @ w
    assert free.sum() == 3 and each == pytest.approx(0.2335, abs=5e-5) and machine.intercept_ == pytest.approx(each[0])
    found = explain.optimality(machine).numbers
    assert found["violation"][0] < 1e-6 and found["sum"][0] < 1e-6 and abs(found["gap"][0]) < 1e-6
    assert found["free"] == [3] and found["support"] == [int((alpha > 0).sum())]
    nobody = linear(0.001)  # without a free one b is the middle of what is optimal
    rest = SIDES - CHECK @ nobody.coef_[0]
    assert nobody.optimality_["free"] == [0]
    assert nobody.intercept_[0] == pytest.approx((rest[SIDES < 0].max() + rest[SIDES > 0].min()) / 2)


# ---- maps and kernels


def lifted(x):
    return np.c_[x, (x**2).sum(1)]


@pytest.mark.ledger("A065", covers="ftheta.models.SVMClassifier")
def test_a_map_of_ones_own_and_a_linear_machine_separate_a_disc_from_its_ring():
    x, _, y = gallery.disc(300)
    machine = make_pipeline(FunctionTransformer(lifted, validate=True), SVMClassifier(kernel="linear", C=1e4)).fit(x, y)
    assert machine.score(x, y) == 1 and linear(1e4, x, y).score(x, y) < 0.8
    seen = explain.regions(machine, x, y)  # the boundary back in the plane
    inside = (np.stack(np.meshgrid(seen.x, seen.y), -1) ** 2).sum(-1) < 1
    assert (seen.p.argmax(-1) == inside).mean() > 0.97


def monomials(x, c):
    """φ with φ(x)·φ(z) = (x·z + c)² in two dimensions."""
    a, b = x.T
    r = np.sqrt(2)
    return np.stack([a**2, b**2, r * a * b, *(np.sqrt(2 * c) * v for v in (a, b)), np.full(len(x), c)], 1)


@pytest.mark.ledger("A074", "B297", covers="ftheta.models.SVMClassifier")
def test_the_polynomial_kernel_is_an_inner_product_of_monomials():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(30, 2)), rng.normal(size=(20, 2))
    for c in (0.0, 1.3):
        k = Kernel("poly", 2, c)
        np.testing.assert_allclose(k(x, z), monomials(x, c) @ monomials(z, c).T, rtol=1e-12, atol=1e-12)
        assert np.linalg.eigvalsh(k(x, x)).min() > -1e-10
    assert not monomials(x, 0.0)[:, 3:].any()  # c = 0 keeps the terms of degree 2 only
    own = SVMClassifier(kernel=lambda a, b: (a @ b.T) ** 2, C=100.0).fit(CORNERS, XOR)
    assert own.score(CORNERS, XOR) == 1  # (x·z)² separates XOR
    ring, _, y = gallery.disc(300)
    assert SVMClassifier(kernel="poly", degree=2, C=1e4).fit(ring, y).score(ring, y) == 1  # and with c a disc


@pytest.mark.ledger("A067", "A072", covers="ftheta.models.SVMClassifier")
def test_the_primal_over_features_gives_the_decisions_of_the_kernel_dual():
    rng = np.random.default_rng(1)
    x, new = rng.normal(size=(60, 2)), rng.normal(size=(200, 2))
    y = (x[:, 0] * x[:, 1] + 0.3 * rng.normal(size=60) > 0).astype(int)
    primal = linear(0.8, monomials(x, 1.0), y, solver="primal")
    dual = SVMClassifier(kernel="poly", degree=2, coef0=1.0, C=0.8, solver="dual").fit(x, y)
    np.testing.assert_allclose(primal.decision_function(monomials(new, 1.0)), dual.decision_function(new), atol=1e-6)
    np.testing.assert_array_equal(primal.predict(monomials(new, 1.0)), dual.predict(new))
    assert primal.optimality_["primal"] == pytest.approx(dual.optimality_["primal"])


@pytest.mark.ledger("A071", covers="ftheta.models.SVMClassifier")
def test_only_values_of_the_kernel_are_needed_and_the_unknowns_are_the_rows():
    asked = []

    def rbf(a, b):
        asked.append((len(a), len(b)))
        return np.exp(-((a[:, None] - b) ** 2).sum(-1) / 2)

    machine = SVMClassifier(kernel=rbf).fit(CHECK, LABELS)
    assert asked and max(max(pair) for pair in asked) == 80  # values for pairs of rows, never features
    assert machine.dual_coef_.shape[1] == len(machine.support_vectors_) <= 80
    np.testing.assert_allclose(
        machine.decision_function(CHECK),
        SVMClassifier(sigma=1.0).fit(CHECK, LABELS).decision_function(CHECK),
        atol=1e-8,
    )


@pytest.mark.ledger("A075", covers="ftheta.models.SVMClassifier")
def test_the_rbf_kernel():
    x, k = np.random.default_rng(0).normal(size=(40, 3)), Kernel("rbf", sigma=0.7)
    apart = ((x[:, None] - x) ** 2).sum(-1)
    np.testing.assert_allclose(k(x, x), np.exp(-apart / (2 * 0.7**2)), atol=1e-14)
    assert np.diagonal(k(x, x)) == pytest.approx(1) and np.linalg.eigvalsh(k(x, x)).min() > 0
    xor = SVMClassifier(sigma=1.0, C=1e3).fit(CORNERS, XOR)
    assert np.abs(xor.dual_coef_) == pytest.approx(1 / (1 - np.exp(-2)) ** 2, abs=1e-6)
    assert np.abs(SVMClassifier(sigma=1.0, C=1e3).fit((CORNERS + 1) / 2, XOR).dual_coef_) == pytest.approx(
        6.459, abs=1e-3
    )


@pytest.mark.ledger("A076", covers="ftheta.models.SVMClassifier")
def test_quadratic_boundaries_need_degree_two():
    x, _, y = gallery.disc(300)
    ellipse = x * [1.0, 0.4]
    square, _, signs = gallery.crossed(300)
    for rows, labels in ((ellipse, y), (square, signs)):
        one, two = (SVMClassifier(kernel="poly", degree=d, C=c).fit(rows, labels) for d, c in ((1, 1.0), (2, 1e3)))
        assert one.score(rows, labels) <= 0.78 and two.score(rows, labels) > 0.99
        values = two.decision_function(PLANE)  # a conic: six coefficients explain it
        design = PolynomialFeatures(2).fit_transform(PLANE)
        assert (
            np.abs(design @ np.linalg.lstsq(design, values, rcond=None)[0] - values).max() < 1e-6 * np.abs(values).max()
        )


PLANE = np.stack(np.meshgrid(np.linspace(-2, 2, 9), np.linspace(-2, 2, 9)), -1).reshape(-1, 2)


@pytest.mark.ledger("A077", covers="ftheta.models.SVMClassifier")
@pytest.mark.parametrize("seed", range(3))
def test_a_narrow_rbf_kernel_fits_any_labels(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(30, 2)), rng.permutation(np.arange(30) % 2)
    assert SVMClassifier(sigma=0.1, C=1000.0).fit(x, y).score(x, y) == 1
    assert SVMClassifier(sigma=0.1, C=np.inf).fit(x, y).score(x, y) == 1


def checkerboard(n, rng):
    x = rng.uniform(0, 4, (n, 2))
    return x - 2, (np.floor(x).sum(1) % 2).astype(int)


@pytest.mark.ledger("A077", "A078", covers="ftheta.models.SVMClassifier")
@pytest.mark.parametrize("seed", range(3))
def test_on_a_checkerboard_polynomials_of_degree_two_to_five_stay_behind_rbf(seed):
    rng = np.random.default_rng(seed)
    (x, y), (new, truth) = checkerboard(300, rng), checkerboard(1000, rng)
    rbf = SVMClassifier(sigma=0.5, C=10.0).fit(x, y).score(new, truth)
    table = {
        d: SVMClassifier(kernel="poly", degree=d, C=0.1, tol=1e-2).fit(x / 2, y).score(new / 2, truth)
        for d in (2, 3, 4, 5)
    }
    assert rbf > 0.85 and max(table.values()) < rbf - 0.1, table


# ---- what the margin promises


@pytest.mark.ledger("A079", covers="ftheta.explain.margins")
def test_rows_beyond_the_margin_move_the_logistic_line_and_not_that_of_the_margin():
    machine, logistic = linear(1.0), LogisticRegression().fit(CHECK, LABELS)
    kept = explain.margins(machine, CHECK, LABELS).margin <= 1.001
    assert 0 < kept.sum() < 40
    assert plane(linear(1.0, CHECK[kept], LABELS[kept])) == pytest.approx(plane(machine), abs=1e-7)
    moved = plane(LogisticRegression().fit(CHECK[kept], LABELS[kept])) - plane(logistic)
    assert np.abs(moved).max() > 0.1
    lines = [line.get_ydata() for line in gallery.PICTURES["A079"][1]().axes[0].lines]
    assert lines[0] == pytest.approx(lines[1], abs=1e-6) and lines[2] != pytest.approx(lines[3], abs=0.05)


@pytest.mark.ledger("A080", covers="ftheta.explain.leave_one_out")
@pytest.mark.parametrize("seed", range(2))
def test_the_leave_one_out_error_is_below_its_bounds(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 8)
    x = rng.normal(size=(16, 2)) + np.where(y[:, None], 1.6, -1.6)
    for kernel in ("linear", "rbf"):
        machine = SVMClassifier(kernel=kernel, sigma=1.0, C=np.inf).fit(x, y)
        found = explain.leave_one_out(machine, x, y)
        rest = np.arange(16)
        wrong = [
            SVMClassifier(kernel=kernel, sigma=1.0, C=np.inf).fit(x[rest != i], y[rest != i]).predict(x[[i]])[0] != y[i]
            for i in rest
        ]
        support = int(np.isclose(explain.margins(machine, x, y).margin, 1, atol=1e-6).sum())
        assert found.error == np.mean(wrong) and found.bounds["support vectors / n"] == support / 16
        k = Kernel(kernel, sigma=1.0)(x, x)
        radius = (np.diagonal(k) - 2 * k.mean(0) + k.mean()).max()
        assert found.bounds["4 R² ‖w‖² / n"] == pytest.approx(4 * radius * machine.optimality_["norm"][0] ** 2 / 16)
        assert found.error <= min(found.bounds.values())
    soft = explain.leave_one_out(linear(0.5), CHECK, LABELS)
    assert soft.error == pytest.approx(0.025) and soft.bounds == {"support vectors / n": 0.2, "4 R² ‖w‖² / n": None}


@pytest.mark.ledger("B296", covers="ftheta.models.SVMClassifier")
def test_a_machine_has_one_solution_and_a_net_has_many():
    rng = np.random.default_rng(0)
    orders = [rng.permutation(80) for _ in range(4)]
    values = [SVMClassifier().fit(CHECK[order], LABELS[order]).optimality_["primal"][0] for order in orders]
    outputs = [SVMClassifier().fit(CHECK[order], LABELS[order]).decision_function(CHECK) for order in orders]
    assert values == pytest.approx([values[0]] * 4, rel=1e-12)
    assert np.ptp(outputs, axis=0).max() < 1e-9
    nets = [MLPClassifier(hidden=(4,), epochs=5, random_state=k).fit(CHECK, LABELS) for k in range(3)]
    assert np.ptp([net.predict_proba(CHECK)[:, 1] for net in nets], axis=0).max() > 0.05


# ---- pictures


def scattered(axes):
    return [collection for collection in axes.collections if len(getattr(collection, "get_offsets", list)()) > 0]


@pytest.mark.ledger("A058", covers="ftheta.explain.margins")
def test_the_picture_of_a_hard_margin_rings_the_rows_on_its_lines():
    x, y = gallery.clouds(2.5)
    (axes,) = gallery.PICTURES["A058"][1]().axes
    rings = next(c for c in scattered(axes) if c.get_label() == "support vector").get_offsets()
    machine = linear(np.inf, x, y)
    assert len(rings) == 3 and np.abs(machine.decision_function(rings)) == pytest.approx(1)


@pytest.mark.ledger("A064", covers="ftheta.explain.margins")
def test_the_picture_of_a_soft_margin_marks_violations_and_wrong_rows():
    (axes,) = gallery.PICTURES["A064"][1]().axes
    marks = {c.get_label(): np.asarray(c.get_offsets()) for c in scattered(axes)}
    f = SIDES * linear(0.5).decision_function(CHECK)
    assert len(marks["support vector"]) == (f <= 1 + 1e-6).sum() == 16
    np.testing.assert_allclose(np.sort(marks["on the wrong side"], 0), np.sort(CHECK[f < 0], 0))


@pytest.mark.ledger("A066", covers="ftheta.studies.gallery")
def test_the_picture_of_a_map_shows_the_same_rows_twice_and_a_plane_that_separates_them():
    flat, space = gallery.PICTURES["A066"][1]().axes
    at, _, y = gallery.disc(400)
    assert [len(c.get_offsets()) for c in scattered(flat)[:2]] == [int((y == k).sum()) for k in (0, 1)]
    assert linear(np.inf, lifted(at), y).score(lifted(at), y) == 1 and space.get_zlabel() == "x² + y²"
