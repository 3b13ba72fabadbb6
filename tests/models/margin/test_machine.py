"""Support vector machines against libsvm, scikit-learn's LIBLINEAR, quadratic programming and each other."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import LinearConstraint, minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC, SVR, LinearSVR

import ftheta
from ftheta import SVMClassifier, SVMRegressor, explain
from ftheta.errors import InputError
from ftheta.models.margin.primal import descend, newton
from ftheta.models.margin.problem import Kernel, Problem


def problem(seed, n=None, d=None):
    """Rows of overlapping classes, numbers, and weights."""
    rng = np.random.default_rng(seed)
    n, d = n or int(rng.integers(20, 90)), d or int(rng.integers(1, 8))
    x = rng.normal(size=(n, d)) * rng.uniform(0.5, 2, d) + rng.normal(size=d)
    score = np.tanh(x @ rng.normal(size=d)) + 0.5 * rng.normal(size=n)
    return x, (score > np.median(score)).astype(int), score, rng.uniform(0.2, 3, n)


def classes(x, y, c, epsilon=0.0):
    """The problem of two classes ±1 with the linear kernel."""
    c = np.broadcast_to(float(c), y.shape)
    return Problem(x, y, np.where(y > 0, 0, -c), np.where(y > 0, c, 0), epsilon)


# ---- against peers


KERNELS = {"linear": {}, "poly": {"degree": 2, "coef0": 0.7}, "rbf": {"sigma": 1.3}}


@pytest.mark.parametrize("seed", range(20))
def test_primal_dual_and_libsvm_give_the_same_outputs(seed):
    x, y, score, weight = problem(seed)
    c = (0.01, 0.1, 1.0, 2.0)[seed % 4]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = [SVMClassifier(kernel="linear", C=c, solver=s).fit(x, y, weight) for s in ("primal", "dual")]
        tubes = [SVMRegressor(kernel="linear", C=c, solver=s).fit(x, score, weight) for s in ("primal", "dual")]
    peer = SVC(kernel="linear", C=c, tol=1e-9).fit(x, y, sample_weight=weight)
    center = np.average(score, weights=weight)
    scale = np.sqrt(np.average((score - center) ** 2, weights=weight))
    peer_tube = SVR(kernel="linear", C=c, epsilon=0.1, tol=1e-9).fit(x, (score - center) / scale, weight)
    for found, tube in zip(ours, tubes, strict=True):
        there = peer.decision_function(x)  # of kernels in single precision
        np.testing.assert_allclose(found.decision_function(x), there, atol=1e-4 * max(1, np.abs(there).max()))
        np.testing.assert_allclose(tube.predict(x), center + scale * peer_tube.predict(x), atol=1e-4 * scale)
        for numbers in (found.optimality_, tube.optimality_):
            assert abs(numbers["gap"][0]) <= 1e-8 * numbers["primal"][0] and numbers["violation"][0] < 1e-5
    np.testing.assert_allclose(ours[0].decision_function(x), ours[1].decision_function(x), atol=1e-5)
    np.testing.assert_allclose(tubes[0].predict(x), tubes[1].predict(x), atol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_each_kernel_is_that_of_libsvm(kernel):
    for seed in range(4):
        x, y, score, _ = problem(seed, n=60, d=3)
        x /= 3
        own = KERNELS[kernel]
        gamma = 1 / (2 * own.get("sigma", 0.5**0.5) ** 2)
        theirs = {"kernel": kernel, "gamma": gamma, "degree": own.get("degree", 3), "coef0": own.get("coef0", 0)}
        ours = SVMClassifier(kernel=kernel, C=2, **own).fit(x, y)
        peer = SVC(C=2, tol=1e-9, **theirs).fit(x, y)
        np.testing.assert_allclose(ours.decision_function(x), peer.decision_function(x), atol=5e-5)
        tube = SVMRegressor(kernel=kernel, C=2, epsilon=0.3, scale_y=False, **own).fit(x, score)
        peer = SVR(C=2, tol=1e-9, epsilon=0.3, **theirs).fit(x, score)
        np.testing.assert_allclose(tube.predict(x), peer.predict(x), atol=5e-5)
        if kernel != "linear":
            assert len(tube.support_vectors_) == len(peer.support_)


def test_the_default_width_is_that_of_gamma_scale():
    x, y, _, _ = problem(3, n=80, d=4)
    np.testing.assert_allclose(
        SVMClassifier().fit(x - x.mean(0), y).decision_function(x - x.mean(0)),
        SVC(tol=1e-9).fit(x - x.mean(0), y).decision_function(x - x.mean(0)),
        atol=1e-6,
    )
    weight = np.arange(80) % 3  # of weighted rows it is that of copies
    x[:, 1] += 5
    copies = np.repeat(x, weight, axis=0)
    assert SVMClassifier().fit(x, y, weight).sigma_ ** 2 == pytest.approx(4 * copies.var() / 2)


def test_a_linear_tube_is_that_of_liblinear():
    """LIBLINEAR penalizes b: a column of 10 with a small weight stands for it."""
    x, _, score, _ = problem(7, n=70, d=2)
    x -= x.mean(0)
    ours = SVMRegressor(kernel="linear", C=0.5, epsilon=0.2, scale_y=False).fit(x, score)
    peer = LinearSVR(C=0.5, epsilon=0.2, intercept_scaling=10, tol=1e-4, max_iter=100_000, random_state=0)
    np.testing.assert_allclose(ours.coef_, peer.fit(x, score).coef_, atol=2e-3)


def test_three_classes_are_three_machines_and_the_largest_output_wins():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 2)) + 2 * np.repeat(np.eye(3, 2), 20, 0), np.repeat(["a", "b", "c"], 20)
    for kernel in ("linear", "rbf"):
        found = SVMClassifier(kernel=kernel, sigma=1.0).fit(x, y)
        each = [SVMClassifier(kernel=kernel, sigma=1.0).fit(x, y == k).decision_function(x) for k in "abc"]
        np.testing.assert_allclose(found.decision_function(x), np.stack(each, 1), atol=1e-9)
        np.testing.assert_array_equal(found.predict(x), np.array(list("abc"))[np.argmax(each, 0)])


def test_a_callable_kernel_is_the_named_one_and_no_file_holds_it(tmp_path):
    x, y, score, _ = problem(1, n=50, d=2)
    named = SVMClassifier(kernel="poly", degree=2).fit(x, y)
    own = SVMClassifier(kernel=lambda a, b: (a @ b.T + 1) ** 2).fit(x, y)
    np.testing.assert_allclose(own.decision_function(x), named.decision_function(x), atol=1e-9)
    with pytest.raises(InputError, match=r"Parameter kernel=<function .* cannot be put into a file"):
        own.save(tmp_path / "own")
    loaded = ftheta.load(named.save(tmp_path / "named"))
    np.testing.assert_array_equal(loaded.decision_function(x), named.decision_function(x))
    assert loaded.support_vectors_.dtype == float and not hasattr(loaded, "support_")


# ---- solvers


def test_newton_solves_what_a_general_solver_solves():
    """The dual by sequential quadratic programming."""
    x, y, _, _ = problem(5, n=25, d=3)
    t = 2.0 * y - 1
    p = classes(x, t, 0.7)
    k = (x * t[:, None]) @ (x * t[:, None]).T
    found = minimize(
        lambda a: a @ k @ a / 2 - a.sum(),
        np.full(25, 0.1),
        jac=lambda a: k @ a - 1,
        bounds=[(0, 0.7)] * 25,
        constraints=LinearConstraint(t[None], 0, 0),
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    ours = newton(p, 1e-12)
    w = ours.beta @ x
    assert p.dual(w @ w, ours.beta) == pytest.approx(-found.fun, rel=1e-7)
    assert ours.path[-1] == pytest.approx(-found.fun, rel=1e-7)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 5.0])
def test_newton_works_for_absolute_errors_and_for_a_tube_that_holds_everything(epsilon):
    x, _, score, _ = problem(2, n=60, d=3)
    found = SVMRegressor(kernel="linear", epsilon=epsilon, scale_y=False, solver="primal").fit(x, score)
    peer = SVR(kernel="linear", epsilon=epsilon, tol=1e-9).fit(x, score)
    np.testing.assert_allclose(found.coef_, peer.coef_[0], atol=1e-5)
    assert abs(found.optimality_["gap"][0]) < 1e-6 * max(found.optimality_["primal"][0], 1e-3)
    if epsilon == 5.0:  # the middle of what is optimal
        assert found.intercept_ == pytest.approx((score.max() + score.min()) / 2)


def test_an_offset_of_the_columns_changes_nothing_but_the_intercept():
    x, y, _, _ = problem(4, n=60, d=3)
    for kernel in ("linear", "rbf"):
        near = SVMClassifier(kernel=kernel).fit(x, y)
        far = SVMClassifier(kernel=kernel, sigma=near.sigma_).fit(x + 1e6, y)
        np.testing.assert_allclose(far.decision_function(x + 1e6), near.decision_function(x), atol=1e-6)


def test_the_subgradient_method_says_how_it_went():
    x, y, _, _ = problem(0, n=60, d=3)
    found = SVMClassifier(kernel="linear", solver="subgradient", steps=4000).fit(x, y)
    best = SVMClassifier(kernel="linear").fit(x, y)
    losses = [row["loss"] for row in found.history_]
    assert len(losses) == 200 and losses == sorted(losses, reverse=True) and losses[0] == pytest.approx(60)
    assert best.optimality_["primal"][0] <= losses[-1] <= 1.01 * best.optimality_["primal"][0]
    p = classes(x, 2.0 * y - 1, 1.0)
    s = descend(p, 300)
    assert (s.beta >= p.low).all() and (s.beta <= p.high).all()  # the mean of slopes is feasible


def test_kernels_need_the_dual():
    with pytest.raises(
        InputError, match=r"solver='primal' has w as its unknowns.*Use solver='dual', or kernel='linear'"
    ):
        SVMClassifier(solver="primal").fit([[0.0], [1]], [0, 1])


# ---- one sentence, or the right answer


def test_what_cannot_be_solved_is_one_sentence():
    x, y, score, _ = problem(0, n=30, d=2)
    with pytest.raises(
        ValueError, match=r"The 'C' parameter of SVMClassifier must be a float in the range \(0.0, inf\]"
    ):
        SVMClassifier(C=0.0).fit(x, y)
    with pytest.raises(InputError, match="y has 1 class"):
        SVMClassifier().fit(x, np.ones(30))
    for kernel in ("linear", "poly"):
        with pytest.raises(InputError, match=r"The hard margin \(C=inf\) is infeasible: no boundary of this kernel"):
            SVMClassifier(kernel=kernel, degree=1, C=np.inf).fit(x, y)
    with pytest.raises(InputError, match=r"infeasible: some rows stay outside the tube. Give a finite C"):
        SVMRegressor(kernel="linear", C=np.inf).fit(x, score)


def test_a_kernel_must_be_an_inner_product():
    x, y, _, _ = problem(0, n=40, d=2)
    with pytest.raises(
        InputError, match=r"not positive semi-definite: on these rows its matrix has eigenvalues from -"
    ):
        SVMClassifier(kernel=lambda a, b: -(a @ b.T)).fit(x, y)
    with pytest.raises(InputError, match=r"not positive semi-definite"):
        SVMClassifier(kernel=lambda a, b: np.tanh(2 * a @ b.T - 3)).fit(x, y)
    with pytest.raises(InputError, match="The kernel is not symmetric"):
        SVMClassifier(kernel=lambda a, b: a @ np.array([[1, 2.0], [0, 1]]) @ b.T).fit(x, y)
    with pytest.raises(InputError, match=r"The kernel gave shape \(40,\); of rows \(n, D\) and \(m, D\)"):
        SVMClassifier(kernel=lambda a, b: a[:, 0]).fit(x, y)
    with pytest.raises(InputError, match="The kernel gave numbers that are not finite"):
        SVMClassifier(kernel=lambda a, b: np.full((len(a), len(b)), np.inf)).fit(x, y)
    SVMClassifier(kernel=lambda a, b: np.minimum(abs(a[:, :1]), abs(b[:, :1]).T)).fit(x, y)  # it is one


def test_columns_without_variance_and_equal_rows_change_nothing():
    x, y, score, _ = problem(8, n=50, d=3)
    more, twice = np.c_[x, np.full(50, 14.62)], np.r_[np.arange(50), np.arange(50)]
    for kernel in ("linear", "rbf"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plain = SVMClassifier(kernel=kernel, sigma=1.0, C=2.0).fit(x, y)
            flat = SVMClassifier(kernel=kernel, sigma=1.0, C=2.0).fit(more, y)
            copies = SVMClassifier(kernel=kernel, sigma=1.0, C=1.0).fit(x[twice], y[twice])
        np.testing.assert_allclose(flat.decision_function(more), plain.decision_function(x), atol=1e-8)
        np.testing.assert_allclose(copies.decision_function(x), plain.decision_function(x), atol=1e-6)
        constant = SVMClassifier(kernel=kernel).fit(np.ones((50, 2)), y)
        assert set(constant.predict(np.ones((3, 2)))) <= {0, 1}
        assert SVMRegressor(kernel=kernel).fit(x, np.full(50, 3.5)).predict(x) == pytest.approx(3.5)


def test_one_row_of_a_class_and_contradicting_rows():
    x = np.array([[0.0], [1], [2], [3]])
    assert SVMClassifier(kernel="linear", C=np.inf).fit(x, [0, 0, 0, 1]).decision_function(x).tolist() == pytest.approx(
        [-5, -3, -1, 1]
    )
    same = SVMClassifier(kernel="linear").fit([[0.0], [0]], [0, 1])
    assert same.coef_ == pytest.approx(0) and same.decision_function([[0.0]]) == pytest.approx(0)


def test_a_solver_that_ends_early_says_so(monkeypatch):
    x, y, _, _ = problem(0, n=60, d=3)
    monkeypatch.setattr("ftheta.models.margin.primal.OUTER", 1)
    with pytest.warns(ConvergenceWarning, match="The solver ended .* of the objective above its lower bound"):
        SVMClassifier(kernel="linear", C=100).fit(x, y)


# ---- units of y


def test_epsilon_and_c_are_in_units_of_the_spread_of_y():
    x, _, score, _ = problem(9, n=60, d=3)
    for kernel in ("linear", "rbf"):
        plain = SVMRegressor(kernel=kernel, sigma=1.0).fit(x, score)
        far = SVMRegressor(kernel=kernel, sigma=1.0).fit(x, 1e6 + 1000 * score)
        np.testing.assert_allclose(far.predict(x), 1e6 + 1000 * plain.predict(x), atol=1e-3)
        assert far.epsilon_ == pytest.approx(100 * np.std(score)) and plain.epsilon_ == pytest.approx(0.1 * score.std())
        both = SVMRegressor(kernel=kernel, sigma=1.0).fit(x, np.c_[score, -2 * score])
        np.testing.assert_allclose(both.predict(x), np.c_[plain.predict(x), -2 * plain.predict(x)], atol=1e-5)


def test_kernel_sums_in_parts_are_those_in_one(monkeypatch):
    rng = np.random.default_rng(0)
    a, b, beta = rng.normal(size=(7, 3)), rng.normal(size=(5, 3)), rng.normal(size=(5, 2))
    for name in ("linear", "poly", "rbf"):
        kernel = Kernel(name, 2, 0.5, 0.8)
        whole = kernel(a, b) @ beta
        monkeypatch.setattr("ftheta.models.margin.problem.PART", 11)
        np.testing.assert_allclose(kernel.sums(a, b, beta), whole, rtol=1e-12)
        np.testing.assert_allclose(kernel.diagonal(a), np.diagonal(kernel(a, a)), rtol=1e-12)


def test_frames_and_weights_of_zero():
    x, y, _, weight = problem(6, n=40, d=2)
    weight[:10] = 0
    frame = pd.DataFrame(x, columns=["u", "v"])
    found = SVMClassifier().fit(frame, y, weight)
    np.testing.assert_allclose(
        found.decision_function(frame), SVMClassifier().fit(x[10:], y[10:], weight[10:]).decision_function(x), atol=1e-9
    )


@pytest.mark.parametrize("name", ["linear", "poly", "rbf"])
def test_libsvm_is_given_the_same_kernel(name):
    rng = np.random.default_rng(0)
    a, b, kernel = rng.normal(size=(7, 3)), rng.normal(size=(5, 3)), Kernel(name, 2, 0.5, 0.8)
    given = kernel.libsvm()
    there = pairwise_kernels(a, b, metric=given.pop("kernel"), filter_params=True, **given)
    np.testing.assert_allclose(kernel(a, b), there, rtol=1e-12, atol=1e-12)


def test_the_bias_is_the_mean_of_free_rows_or_the_middle_of_what_is_allowed():
    x, t, c = np.arange(4.0)[:, None], np.array([1.0, 3.0, 2.0, 9.0]), np.full(4, 2.0)
    p = Problem(x, t, -c, c, 0.5)
    f = np.array([0.0, 1.0, 2.0, 3.0])
    assert p.bias(np.array([1.0, 0, 1.0, 0]), f) == pytest.approx((1 - 0.5 + 0 - 0.5) / 2)  # t - f - ε sign(β)
    assert p.bias(np.array([0.0, 0, 0, 2]), f) == pytest.approx((1.5 + 0.5) / 2)  # |r| <= ε and, at C, r >= ε
    assert Problem(x, t, -c, c, 0.0).bias(np.array([0.0, 0, 1, 2]), f) == pytest.approx((1 + 2 + 0) / 3)


def test_the_margin_of_a_row_is_that_of_its_worst_machine():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(45, 2)) + 2 * np.repeat(np.eye(3, 2), 15, 0), np.repeat(["a", "b", "c"], 15)
    machine = SVMClassifier(kernel="linear").fit(x, y)
    each = machine.decision_function(x) * np.where(y[:, None] == machine.classes_, 1, -1)
    found = explain.margins(machine, x, y)
    np.testing.assert_allclose(found.margin, [min(row) for row in each.tolist()])
    kept = found.margin <= 1.001  # rows beyond the margins of all machines may go
    assert 0 < (~kept).sum() and found.table().columns["beyond the margin"] == [
        int((~kept & (y == k)).sum()) for k in "abc"
    ]
    np.testing.assert_allclose(SVMClassifier(kernel="linear").fit(x[kept], y[kept]).coef_, machine.coef_, atol=1e-7)
    assert len(found.width) == 3 and "the margins of the 3 machines" in found.caption


def test_a_tube_counts_rows_within_on_its_edge_and_outside_in_the_units_of_the_user():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(60, 1))
    y = 3 * np.sin(X[:, 0]) + rng.normal(size=60)
    model = SVMRegressor(C=2.0, sigma=1.0, epsilon=0.3).fit(X, y)
    found = explain.tube(model, X, y, scales=[[10.0, 2.0]], names=["size"])
    np.testing.assert_allclose(found.at, 10 + 2 * X[:, 0])
    away, cells = np.abs(y - model.predict(X)), found.table().columns
    scale = np.std(y)
    free = (away - 0.3 * scale > -1e-5) & (away - 0.3 * scale < 1e-5)
    parts = [(away < 0.3 * scale) & ~free, free, (away > 0.3 * scale) & ~free]
    assert cells["count"] == [part.sum() for part in parts] and min(cells["count"]) > 0
    assert cells["mean |residual|"] == pytest.approx([away[part].mean() for part in parts])
    assert cells["count"][1] + cells["count"][2] == len(model.support_vectors_)
