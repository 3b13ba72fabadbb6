"""Predictions over one and two features."""

import numpy as np
import pandas as pd
import pytest

from ftheta import LinearRegression, LogisticRegression, MLPRegressor, Perceptron, explain
from ftheta.data import load, make_dataset
from ftheta.errors import InputTypeError
from ftheta.results import percent

PATIENTS = load("cholesterol")


def segments(axes):
    """Both ends of every stick in space."""
    return [np.array(line.get_data_3d()) for line in axes.lines if len(line.get_data_3d()[0]) == 2]


@pytest.mark.ledger("A029", covers="ftheta.explain.fitted_curve")
def test_each_feature_against_cholesterol_and_all_three_in_space():
    found = explain.fitted_curve(LinearRegression().fit(PATIENTS.x, PATIENTS.y), PATIENTS.x, PATIENTS.y)
    columns = found.table().columns
    assert list(zip(columns["feature"], columns["correlated with"], strict=True)) == [
        ("age", "y"),
        ("bmi", "y"),
        ("age", "bmi"),
    ]
    np.testing.assert_allclose(columns["correlation"], [0.993963, 0.994226, 0.984101], atol=5e-7)
    first, second, space = found.figure().axes
    for axes, name in ((first, "age"), (second, "bmi")):
        np.testing.assert_array_equal(axes.lines[0].get_xydata(), np.c_[PATIENTS.x[name], PATIENTS.y])
        assert axes.get_xlabel() == name
    np.testing.assert_array_equal(np.stack(space.collections[-1]._offsets3d), np.c_[PATIENTS.x, PATIENTS.y].T)


@pytest.mark.ledger("A031", covers="ftheta.explain.fitted_curve")
@pytest.mark.parametrize(("part", "mean"), [(0, 1.26316), (1, 12.24377)])
def test_the_plane_has_a_stick_for_every_patient_of_a_half(part, mean):
    model = LinearRegression().fit(PATIENTS.x[::2], PATIENTS.y[::2])
    x, y = PATIENTS.x[part::2], PATIENTS.y[part::2]
    found = explain.fitted_curve(model, x, y)
    sticks = segments(found.figure().axes[2])
    assert len(sticks) == 5
    for stick, row, high in zip(sticks, x.to_numpy(), y, strict=True):
        ends = 25.684211 + 0.936842 * row[0] + 5.789474 * row[1]
        np.testing.assert_allclose(stick, [[row[0]] * 2, [row[1]] * 2, [high, ends]], atol=1e-4)
    assert np.mean((found.y - found.predicted) ** 2) == pytest.approx(mean, rel=3e-6)  # as printed
    assert f"mean squared residual {mean:.4g}, sum of squares {5 * mean:.4g}" in found.caption
    assert np.mean((found.y - found.predicted) ** 2) == pytest.approx(mean, abs=5e-6)


def test_the_surface_is_what_the_model_says_there():
    model = LinearRegression().fit(PATIENTS.x, PATIENTS.y)
    found = explain.fitted_curve(model, PATIENTS.x, PATIENTS.y)
    assert found.surface.shape == (25, 25)
    place = model.intercept_ + model.coef_ @ [found.grid[0][3], found.grid[1][20]]
    assert found.surface[20, 3] == pytest.approx(place)


def test_one_feature_is_a_curve():
    data = make_dataset("sinusoid", n=50)
    model = MLPRegressor(hidden=(8,), epochs=3, random_state=0).fit(data.x.to_numpy(), data.y)
    found = explain.fitted_curve(model, data.x, data.y)
    (axes,) = found.figure().axes
    curve = next(line for line in axes.lines if line.get_label() == "fit")
    np.testing.assert_allclose(curve.get_ydata(), model.predict(found.grid[0][:, None].astype(np.float32)), atol=1e-5)
    assert found.table().columns["correlated with"] == ["y"]


DATA = make_dataset("blobs", n=120)
X, Y = DATA.x.to_numpy(), DATA.y
MODEL = LogisticRegression().fit(X, Y)


class Hard:
    """A classifier without probabilities."""

    classes_, n_features_in_ = np.array(["left", "right"]), 2

    def predict(self, X):
        return self.classes_[(np.asarray(X)[:, 0] > 0).astype(int)]


def test_every_place_has_the_probabilities_that_the_model_gives_it():
    found = explain.regions(MODEL, X, Y)
    for i, j in ((0, 0), (80, 3), (17, 160), (160, 160)):
        np.testing.assert_allclose(found.p[i, j], MODEL.predict_proba([[found.x[j], found.y[i]]])[0], atol=1e-12)
    assert found.x[0] < X[:, 0].min() and found.x[-1] > X[:, 0].max()  # all rows are inside
    assert found.y[0] < X[:, 1].min() and found.y[-1] > X[:, 1].max()
    np.testing.assert_array_equal(found.rows, X)
    np.testing.assert_array_equal(found.code, Y)


def test_the_table_counts_places_and_rows():
    found = explain.regions(MODEL, X, Y)
    p = MODEL.predict_proba(np.stack(np.meshgrid(found.x, found.y), -1).reshape(-1, 2))
    columns = found.table().columns
    for k in range(3):
        mine = p.argmax(1) == k
        assert columns["share of the plane"][k] == pytest.approx(mine.mean())
        assert columns["of it below 75 % sure"][k] == pytest.approx((p.max(1)[mine] < 0.75).mean())
        assert columns["rows"][k] == (k == Y).sum()
        assert f"on {percent((p.max(1) < 0.75).mean())} of the plane" in found.caption


def test_a_classifier_without_probabilities_is_sure_everywhere():
    found = explain.regions(Hard(), X)
    assert set(np.unique(found.p)) == {0.0, 1.0}
    np.testing.assert_array_equal(found.p[..., 1], np.tile(found.x > 0, (len(found.y), 1)))
    assert found.table().columns["of it below 75 % sure"] == [0.0, 0.0] and found.classes == ("left", "right")
    assert (found.code == -1).all()
    assert found.figure().axes[0].get_title() == "Decision regions"


def test_other_features_are_held_at_their_median():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(90, 4)) ** 3 + [0, 5, 0, -3], columns=list("abcd"))
    y = (rows.a + rows.b + 2 * rows.d + 8 * rng.normal(size=90) > -1).astype(int)
    model = LogisticRegression().fit(rows, y)
    found = explain.regions(model, rows, y, columns=(3, 0))
    assert found.names == ("d", "a")
    place = pd.DataFrame([rows.median()]).assign(d=found.x[130], a=found.y[80])
    np.testing.assert_allclose(found.p[80, 130], model.predict_proba(place)[0], atol=1e-12)
    assert 1e-6 < found.p[80, 130, 0] < 1 - 1e-6  # where the other features count


def test_a_label_that_the_model_does_not_know_is_drawn_as_a_row():
    np.testing.assert_array_equal(explain.regions(MODEL, X, np.where(Y == 2, 9, Y)).code, np.where(Y == 2, -1, Y))


def test_more_than_two_features_ask_for_columns():
    model = LogisticRegression().fit(np.c_[X, X[:, 0] ** 2], Y)
    assert "regions" not in explain.available(model)
    with pytest.raises(InputTypeError, match=r"two features.*; regions needs one, or columns"):
        explain.regions(model, np.c_[X, X[:, 0] ** 2], Y)


@pytest.mark.filterwarnings("ignore:No plane")
def test_axes_are_in_the_users_units_and_the_line_of_a_perceptron_is_exact():
    data = make_dataset("two-gaussians", n=200)
    x, y = np.asarray(data.x), np.asarray(data.y)
    model, scales = Perceptron(epochs=5, random_state=0).fit(x, y), np.array([[10.0, 2], [-5, 0.5]])
    words = {"names": ["age (years)", "size"], "scales": scales, "classes": ["ill", "well"], "target": "unused"}
    found = explain.run("regions", model, x, y, **words)
    np.testing.assert_allclose(found.rows, [10, -5] + x * [2, 0.5])
    assert found.classes == ("ill", "well") and "below" not in found.caption
    axes = found.figure().axes[0]
    assert axes.get_xlabel() == "age (years)"
    line = (np.concatenate(axes.collections[0].get_paths()[0].to_polygons(closed_only=False)) - [10, -5]) / [2, 0.5]
    np.testing.assert_allclose(line @ model.coef_[0] + model.intercept_, 0, atol=1e-9)


def test_a_fitted_curve_is_in_the_users_units():
    x, y = np.array([[0.0], [1], [3]]), [1.0, 2, 5]
    model, words = LinearRegression().fit(x, y), {"names": ["year"], "scales": [[2000, 10]], "target": "price"}
    found = explain.fitted_curve(model, x, y, **words)
    np.testing.assert_allclose(found.x[:, 0], [2000, 2010, 2030])
    np.testing.assert_allclose(found.surface[[0, -1]], model.predict([[0.0], [3]]))
    assert found.grid[0][[0, -1]].tolist() == [2000, 2030]
    assert found.figure().axes[0].get_title() == "price against year, with the fit"
