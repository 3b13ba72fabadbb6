"""The loss over two coefficients against closed forms, and the ways of the solvers down."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as SklearnLogistic

from ftheta import LinearRegression, LogisticRegression, explain
from ftheta.data import load
from ftheta.errors import InputError

PATIENTS = load("cholesterol")
X, Y = PATIENTS.x.iloc[::2], PATIENTS.y[::2]
LINE = LinearRegression().fit(X, Y)


@pytest.mark.ledger("A030", covers="ftheta.explain.solvers", printed=21195.8, right=6.44372)
def test_the_landscape_of_the_cholesterol_fit(ledger):
    """The sum as printed takes row 1 for every i; the residual of row i belongs to x_i."""
    fixed = LinearRegression().fit(X, Y)
    fixed.intercept_ = 25.68  # as printed
    found = explain.solvers(fixed, X, Y)
    x, y, z = found.grid
    low = found.minimum
    design = X.to_numpy()
    np.testing.assert_allclose(low, np.linalg.lstsq(design, Y - 25.68, rcond=None)[0], rtol=1e-8)
    for i, j in ((0, 0), (60, 60), (7, 44)):
        assert z[i, j] == pytest.approx(np.mean((Y - 25.68 - design @ [x[j], y[i]]) ** 2), rel=1e-10)
    assert x[0] < low[0] < x[-1] and y[0] < low[1] < y[-1]
    labels = found.figure().axes[0]
    assert (labels.get_xlabel(), labels.get_ylabel()) == ("coefficient of age", "coefficient of bmi")
    wrong = np.sum((Y - 25.68 - design[0] @ [0.94, 5.79]) ** 2)
    assert wrong == pytest.approx(21195.8, abs=0.05)
    once = explain.solvers(fixed, X, Y, optimizers=["newton"], start=(0.94, 5.79), steps=1)
    ledger(round(5 * once.values["newton"][0], 5))


def test_every_solver_but_gradient_descent_is_at_the_minimum_soon():
    found = explain.solvers(LINE, X, Y)
    for name in ("cg", "lbfgs", "newton"):
        assert found.distances[name] < 1e-6
    np.testing.assert_allclose(found.minimum, LINE.coef_, rtol=1e-8)
    slow = next(name for name in found.points if name.startswith("gd"))
    assert found.distances[slow] > 0.1  # the valley is narrow
    hessian = 2 * X.to_numpy().T @ X.to_numpy() / 5
    assert float(slow.partition("=")[2]) == pytest.approx(1 / np.linalg.eigvalsh(hessian)[-1], rel=0.05)


def test_two_classes_have_the_log_loss_and_other_coefficients_stand():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    y = np.where(x @ [1.0, -2.0, 0.5] + rng.logistic(size=200) > 0, "yes", "no")
    model = LogisticRegression(l2=1e-8).fit(x, y)
    found = explain.solvers(model, x, y, columns=(0, 2))
    theirs = SklearnLogistic(C=np.inf, tol=1e-12, max_iter=1000).fit(x, y)
    np.testing.assert_allclose(found.minimum, theirs.coef_[0, [0, 2]], atol=1e-4)
    gx, gy, z = found.grid
    raw = x @ np.r_[gx[3], model.coef_[0, 1], gy[50]] + model.intercept_
    assert z[50, 3] == pytest.approx(np.logaddexp(0, -np.where(y == "yes", 1, -1) * raw).mean(), rel=1e-10)


def test_own_rules_and_start():
    found = explain.solvers(LINE, X, Y, optimizers=[("gd", 1e-5)], start=(1.0, 5.0), steps=3)
    way = found.points["gd lr=1e-05"]
    g = 2 * X.to_numpy().T @ (X.to_numpy() @ [1.0, 5.0] + LINE.intercept_ - Y) / 5
    np.testing.assert_allclose(way[1], np.array([1.0, 5.0]) - 1e-5 * g, rtol=1e-10)


def test_columns_of_zeros_have_a_flat_loss():
    x = np.c_[np.zeros((6, 2)), np.arange(6.0)]
    with pytest.raises(InputError, match="The loss is flat where the solvers start"):
        explain.solvers(LinearRegression().fit(x, np.arange(6.0)), x, np.arange(6.0))
