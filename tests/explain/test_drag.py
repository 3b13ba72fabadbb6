"""A dragged row against leverage and the closed form of least squares, and against refits."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import RidgeClassifier

from ftheta import LinearRegression, LogisticRegression, explain
from ftheta.data import make_dataset

RNG = np.random.default_rng(1)
X = RNG.normal(size=(30, 3))
Y = X @ [1.0, -2.0, 0.5] + RNG.normal(size=30)
MODEL = LinearRegression().fit(X, Y)


def hat(x):
    ones = np.c_[np.ones(len(x)), x]
    return ones @ np.linalg.pinv(ones)


@pytest.mark.parametrize("row", [0, 7, 29])
def test_the_answer_follows_y_with_the_leverage_as_slope(row):
    found = explain.drag(MODEL, X, Y, row=row)
    assert found.slope == pytest.approx(hat(X)[row, row], rel=1e-8)
    weights = np.linalg.pinv(np.c_[np.ones(30), X])[:, row]  # of y_row in every coefficient
    start = np.r_[MODEL.intercept_, MODEL.coef_]
    np.testing.assert_allclose(found.coefficients, start + np.outer(found.places - Y[row], weights), atol=1e-10)
    assert found.moved == "y" and found.home == Y[row] and found.places[10] == pytest.approx(Y[row])


def test_the_farthest_row_is_taken_where_none_is_named():
    x = X.copy()
    x[11] = 8.0
    assert explain.drag(LinearRegression().fit(x, Y), x, Y).row == 11


def test_a_feature_can_be_dragged_and_places_chosen():
    rows = pd.DataFrame(X, columns=["a", "b", "c"])
    found = explain.drag(LinearRegression().fit(rows, Y), rows, Y, row=2, column=1, to=[-5.0, 0.0, 5.0])
    assert found.moved == "b" and found.names == ("intercept", "a", "b", "c")
    for place, coefficients in zip(found.places, found.coefficients, strict=True):
        moved = X.copy()
        moved[2, 1] = place
        model = LinearRegression().fit(moved, Y)
        np.testing.assert_allclose(coefficients, np.r_[model.intercept_, model.coef_], atol=1e-12)


def test_a_class_moves_along_a_feature():
    data = make_dataset("two-gaussians", n=60)
    x, y = data.x.to_numpy(), data.y
    found = explain.drag(LogisticRegression().fit(x, y), x, y, row=5)
    assert found.moved == "x1" and found.home == x[5, 0] and set(found.y) == {0.0, 1.0}
    moved = x.copy()
    moved[5, 0] = found.places[0]
    model = LogisticRegression().fit(moved, y)
    assert found.answers[0] == pytest.approx(model.predict_proba(moved[[5]])[0, 1], abs=1e-12)


def test_table_and_words_name_the_ends():
    found = explain.drag(MODEL, X, Y, row=3)
    columns = found.table().columns
    np.testing.assert_allclose(columns["where it was"], np.r_[MODEL.intercept_, MODEL.coef_], atol=1e-10)
    changes = np.abs(found.coefficients - found.coefficients[10]).max(0)
    np.testing.assert_allclose(columns["largest change"], changes, atol=1e-12)
    assert f"Row 3 moved along y from {found.places[0]:.4g} to {found.places[-1]:.4g}" in found.caption


def test_one_feature_is_drawn_as_lines_that_swing():
    found = explain.drag(LinearRegression().fit(X[:, :1], Y), X[:, :1], Y, row=0)
    left, right = found.figure().axes
    assert left.get_title() == "Fits as row 0 moves" and right.get_xlabel() == "y of row 0"
    ends = np.array([X[:, 0].min(), X[:, 0].max()])
    lines = [line.get_ydata() for line in left.lines if len(line.get_xdata()) == 2]
    np.testing.assert_allclose(lines[0], found.coefficients[0] @ np.stack([np.ones(2), ends]))
    assert len(lines) == 5


def test_a_classifier_without_probabilities_answers_with_its_classes():
    """Labels are words; 1 stands for the second of them, however the model says so."""
    names = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, "yes", "no")
    found = explain.drag(RidgeClassifier().fit(X, names), X, names, row=0)
    assert set(found.answers) == {0.0, 1.0} and found.moved == "x1"
    for place, said in zip(found.places, found.answers, strict=True):
        x = X.copy()
        x[0, 0] = place
        assert said == (RidgeClassifier().fit(x, names).predict(x[:1])[0] == "yes")


def test_the_farthest_row_is_the_same_in_any_units():
    x = X * [1e-3, 1.0, 1e3]
    x[11, 0] = 8e-3
    assert explain.drag(LinearRegression().fit(x, Y), x, Y).row == 11
