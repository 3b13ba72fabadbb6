"""Linear models: one row that is moved, and solvers on the way to the minimum."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from sklearn.linear_model import RidgeClassifier

from ftheta import LinearRegression, LogisticRegression, explain
from ftheta.data import load, make_dataset
from ftheta.errors import InputError

RNG = np.random.default_rng(1)
X = RNG.normal(size=(30, 3))
Y = X @ [1.0, -2.0, 0.5] + RNG.normal(size=30)
MODEL = LinearRegression().fit(X, Y)


def hat(x):
    ones = np.c_[np.ones(len(x)), x]
    return ones @ np.linalg.pinv(ones)


@pytest.mark.parametrize("row", [0, 7, 29])
def test_the_answer_follows_y_with_the_leverage_as_slope(row):
    found = explain.row_influence(MODEL, X, Y, row=row)
    assert found.slope == pytest.approx(hat(X)[row, row], rel=1e-8)
    weights = np.linalg.pinv(np.c_[np.ones(30), X])[:, row]  # of y_row in every coefficient
    start = np.r_[MODEL.intercept_, MODEL.coef_]
    np.testing.assert_allclose(found.coefficients, start + np.outer(found.places - Y[row], weights), atol=1e-10)
    assert found.moved == "y" and found.home == Y[row] and found.places[10] == pytest.approx(Y[row])
    assert [line.get_slope() for line in found.figure().axes[0].lines if hasattr(line, "get_slope")] == [1]


def test_the_farthest_row_is_taken_where_none_is_named():
    x = X.copy()
    x[11] = 8.0
    assert explain.row_influence(LinearRegression().fit(x, Y), x, Y).row == 11


def test_a_feature_can_be_dragged_and_places_chosen():
    rows = pd.DataFrame(X, columns=["a", "b", "c"])
    found = explain.row_influence(LinearRegression().fit(rows, Y), rows, Y, row=2, column=1, to=[-5.0, 0.0, 5.0])
    assert found.moved == "b" and found.names == ("intercept", "a", "b", "c")
    for place, coefficients in zip(found.places, found.coefficients, strict=True):
        moved = X.copy()
        moved[2, 1] = place
        model = LinearRegression().fit(moved, Y)
        np.testing.assert_allclose(coefficients, np.r_[model.intercept_, model.coef_], atol=1e-12)


def test_a_class_moves_along_a_feature():
    data = make_dataset("two-gaussians", n=60)
    x, y = data.x.to_numpy(), data.y
    found = explain.row_influence(LogisticRegression().fit(x, y), x, y, row=5)
    assert explain.row_influence(LogisticRegression().fit(x, y), x, y, row=5, column=1).home == x[5, 1]
    assert found.moved == "x1" and found.home == x[5, 0] and set(found.y) == {0.0, 1.0}
    moved = x.copy()
    moved[5, 0] = found.places[0]
    model = LogisticRegression().fit(moved, y)
    assert found.answers[0] == pytest.approx(model.predict_proba(moved[[5]])[0, 1], abs=1e-12)


def test_one_feature_is_drawn_as_lines_that_swing():
    found = explain.row_influence(LinearRegression().fit(X[:, :1], Y), X[:, :1], Y, row=0)
    left, right = found.figure().axes
    assert left.get_title() == "Fits as row 0 moves" and right.get_xlabel() == "y of row 0"
    ends = np.array([X[:, 0].min(), X[:, 0].max()])
    lines = [line.get_ydata() for line in left.lines if len(line.get_xdata()) == 2]
    np.testing.assert_allclose(lines[0], found.coefficients[0] @ np.stack([np.ones(2), ends]))
    assert len(lines) == 5


def test_a_classifier_without_probabilities_answers_with_its_classes():
    """Labels are words; 1 stands for the second of them, however the model says so."""
    names = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, "yes", "no")
    found = explain.row_influence(RidgeClassifier().fit(X, names), X, names, row=0)
    assert set(found.answers) == {0.0, 1.0} and found.moved == "x1"
    for place, said in zip(found.places, found.answers, strict=True):
        x = X.copy()
        x[0, 0] = place
        assert said == (RidgeClassifier().fit(x, names).predict(x[:1])[0] == "yes")


def test_the_farthest_row_is_the_same_in_any_units():
    x = X * [1e-3, 1.0, 1e3]
    x[11, 0] = 8e-3
    assert explain.row_influence(LinearRegression().fit(x, Y), x, Y).row == 11


PATIENTS = load("cholesterol")
X2, Y2 = PATIENTS.x.iloc[::2], PATIENTS.y[::2]
LINE = LinearRegression().fit(X2, Y2)


@pytest.mark.ledger("A030", covers="ftheta.explain.solvers")
def test_the_landscape_of_the_cholesterol_fit():
    """The sum over the training rows of (y_i - 25.68 - θ₁ x_i1 - θ₂ x_i2)²; here their mean."""
    fixed = LinearRegression().fit(X2, Y2)
    fixed.intercept_ = 25.68  # as printed
    found = explain.solvers(fixed, X2, Y2)
    x, y, z = found.grid
    low = np.array(found.minima[0])
    design = X2.to_numpy()
    np.testing.assert_allclose(low, np.linalg.lstsq(design, Y2 - 25.68, rcond=None)[0], rtol=1e-8)
    for i, j in ((0, 0), (60, 60), (7, 44)):
        assert z[i, j] == pytest.approx(np.mean((Y2 - 25.68 - design @ [x[j], y[i]]) ** 2), rel=1e-10)
    assert x[0] < low[0] < x[-1] and y[0] < low[1] < y[-1]
    labels = found.figure().axes[0]
    assert (labels.get_xlabel(), labels.get_ylabel()) == ("coefficient of age", "coefficient of bmi")
    once = explain.solvers(fixed, X2, Y2, optimizers=["newton"], start=(0.94, 5.79), steps=1)
    assert 5 * once.values["newton"][0] == pytest.approx(6.44372, abs=5e-6)


def test_every_solver_but_gradient_descent_is_at_the_minimum_soon():
    found = explain.solvers(LINE, X2, Y2)
    for name in ("cg", "lbfgs", "newton"):
        assert found.distances[name] < 1e-6
    np.testing.assert_allclose(found.minima[0], LINE.coef_, rtol=1e-8)
    slow = next(name for name in found.points if name.startswith("gd"))
    assert found.distances[slow] > 0.1  # the valley is narrow
    hessian = 2 * X2.to_numpy().T @ X2.to_numpy() / 5
    assert float(slow.partition("=")[2]) == pytest.approx(1 / np.linalg.eigvalsh(hessian)[-1], rel=0.05)


def test_two_classes_have_the_log_loss_and_other_coefficients_stand():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    y = np.where(x @ [1.0, -2.0, 0.5] + rng.logistic(size=200) > 0, "yes", "no")
    model = LogisticRegression(l2=1e-8).fit(x, y)
    found = explain.solvers(model, x, y, columns=(0, 2))
    theirs = SklearnLogistic(C=np.inf, tol=1e-12, max_iter=1000).fit(x, y)
    np.testing.assert_allclose(found.minima[0], theirs.coef_[0, [0, 2]], atol=1e-4)
    gx, gy, z = found.grid
    raw = x @ np.r_[gx[3], model.coef_[0, 1], gy[50]] + model.intercept_
    assert z[50, 3] == pytest.approx(np.logaddexp(0, -np.where(y == "yes", 1, -1) * raw).mean(), rel=1e-10)


def test_own_rules_and_start():
    found = explain.solvers(LINE, X2, Y2, optimizers=[("gd", 1e-5)], start=(1.0, 5.0), steps=3)
    way = found.points["gd lr=1e-05"]
    assert len(way) == 4
    g = 2 * X2.to_numpy().T @ (X2.to_numpy() @ [1.0, 5.0] + LINE.intercept_ - Y2) / 5
    np.testing.assert_allclose(way[1], np.array([1.0, 5.0]) - 1e-5 * g, rtol=1e-10)
    least = np.linalg.lstsq(X2.to_numpy(), Y2 - LINE.intercept_, rcond=None)[1][0] / 5
    first = ((X2.to_numpy() @ [1.0, 5.0] + LINE.intercept_ - Y2) ** 2).mean() - least
    assert found.figure().axes[1].lines[0].get_ydata()[0] == pytest.approx(first, rel=1e-6)


def test_columns_of_zeros_have_a_flat_loss():
    x = np.c_[np.zeros((6, 2)), np.arange(6.0)]
    with pytest.raises(InputError, match="The loss is flat where the solvers start"):
        explain.solvers(LinearRegression().fit(x, np.arange(6.0)), x, np.arange(6.0), columns=(0, 1))


def test_solvers_take_the_strongest_columns_and_lie_above_their_minimum():
    x = np.random.default_rng(0).normal(size=(50, 4)) * [1, 1, 1, 10]
    y = x @ [0.1, 3.0, 0.0, -0.2]
    found = explain.solvers(LinearRegression().fit(x, y), x, y, names=list("abcd"))
    assert found.labels[:2] == ("coefficient of b", "coefficient of d")
    assert min(found.table().columns["lowest value"]) >= found.least - 1e-12
    assert found.caption.startswith("Mean squared residual over two coefficients, from (0, 0); the lowest value is")
    assert found.figure().axes[1].get_yscale() == "log"


def test_a_row_that_does_not_matter_is_said_not_to():
    x = np.r_[np.random.default_rng(0).normal(size=(40, 1)), [[60.0]]]
    y = (x[:, 0] + np.sin(np.arange(41) * 9) > 0).astype(int)
    model = LogisticRegression().fit(x, y)
    found = explain.row_influence(model, x, y, row=40, to=[50.0, 60, 70], names=["age"])
    assert found.still and found.moved == "age" and "does not change" in found.caption
    change = found.figure().axes[1]
    assert change.get_title() == "Coefficients: none changes" and not np.any(change.lines[0].get_ydata())
    moved = explain.row_influence(model, x, y, row=0)
    change = moved.coefficients - moved.coefficients[np.abs(moved.places - moved.home).argmin()]
    drawn = [line.get_ydata() for line in moved.figure().axes[1].lines[: change.shape[1]]]  # the largest first
    assert not moved.still and np.array_equal(np.transpose(drawn), change[:, np.argsort(-np.abs(change).max(0))])


def test_statistics_have_the_users_names_and_say_why_there_are_no_intervals():
    x = np.c_[np.arange(20.0), np.sin(np.arange(20))]
    model, y = LogisticRegression().fit(x, np.arange(20) > 9), np.arange(20) > 9
    found = explain.run("statistics", model, x, y, names=["age", "size"], classes=["no", "yes"])
    table = found.table()
    assert table.columns[""] == ["intercept", "age", "size"] and "Planes separate" in table.caption
    assert list(table.columns) == ["", "log-odds", "odds ratio"]
    axes = found.figure().axes[0]
    assert axes.get_title() == "Coefficients, without intervals" and "log-odds of yes against no" in axes.get_xlabel()
    line = LinearRegression().fit(x, x[:, 1])
    found = explain.run("statistics", line.fit(x, x[:, 0] ** 2), x, x[:, 0] ** 2, target="price")
    assert found.figure().axes[0].get_ylabel() == "residual (price)"
