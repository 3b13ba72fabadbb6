"""A fit drawn through its rows: what is drawn is what the model says."""

import numpy as np
import pytest

from ftheta import LinearRegression, MLPRegressor, explain
from ftheta.data import load, make_dataset

PATIENTS = load("cholesterol")


def segments(axes):
    """Both ends of every stick in space."""
    return [np.array(line.get_data_3d()) for line in axes.lines if len(line.get_data_3d()[0]) == 2]


@pytest.mark.ledger("A029", covers="ftheta.explain.fit")
def test_each_feature_against_cholesterol_and_all_three_in_space():
    model = LinearRegression().fit(PATIENTS.x, PATIENTS.y)
    found = explain.fit(model, PATIENTS.x, PATIENTS.y)
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
    dots = np.stack(space.collections[-1]._offsets3d)
    np.testing.assert_array_equal(dots, np.c_[PATIENTS.x, PATIENTS.y].T)


@pytest.mark.ledger("A031", covers="ftheta.explain.fit")
@pytest.mark.parametrize(("part", "mean"), [(0, 1.26316), (1, 12.24377)])
def test_the_plane_has_a_stick_for_every_patient_of_a_half(part, mean):
    model = LinearRegression().fit(PATIENTS.x[::2], PATIENTS.y[::2])
    x, y = PATIENTS.x[part::2], PATIENTS.y[part::2]
    found = explain.fit(model, x, y)
    sticks = segments(found.figure().axes[2])
    assert len(sticks) == 5
    for stick, row, high in zip(sticks, x.to_numpy(), y, strict=True):
        ends = 25.684211 + 0.936842 * row[0] + 5.789474 * row[1]
        np.testing.assert_allclose(stick, [[row[0]] * 2, [row[1]] * 2, [high, ends]], atol=1e-4)
    assert f"mean squared residual {mean:.6g}" in found.caption
    assert np.mean((found.y - found.predicted) ** 2) == pytest.approx(mean, abs=5e-6)


def test_the_surface_is_what_the_model_says_there():
    model = LinearRegression().fit(PATIENTS.x, PATIENTS.y)
    found = explain.fit(model, PATIENTS.x, PATIENTS.y)
    assert found.surface.shape == (25, 25)
    place = model.intercept_ + model.coef_ @ [found.grid[0][3], found.grid[1][20]]
    assert found.surface[20, 3] == pytest.approx(place)


def test_one_feature_is_a_curve():
    data = make_dataset("sinusoid", n=50)
    model = MLPRegressor(hidden=(8,), epochs=3, random_state=0).fit(data.x.to_numpy(), data.y)
    found = explain.fit(model, data.x, data.y)
    (axes,) = found.figure().axes
    curve = next(line for line in axes.lines if line.get_label() == "fit")
    np.testing.assert_allclose(curve.get_ydata(), model.predict(found.grid[0][:, None].astype(np.float32)), atol=1e-5)
    assert found.table().columns["correlated with"] == ["y"]
