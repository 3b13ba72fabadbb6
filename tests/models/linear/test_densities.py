"""Densities: the ellipses are those of the model's Gaussians, and the boundary is the model's."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from ftheta import GaussianNaiveBayes, LinearDiscriminant, LogisticRegression, QuadraticDiscriminant
from ftheta.errors import InputTypeError
from ftheta.explain import available, densities

RNG = np.random.default_rng(0)
Y = np.array(["a", "b"] * 40)
X = RNG.normal(size=(80, 2)) @ [[2.0, 0.0], [1.0, 0.5]] + np.where(Y == "a", -2.0, 2.0)[:, None]


def distances(points, mean, covariance):
    return cdist(points, [mean], "mahalanobis", VI=np.linalg.inv(covariance))[:, 0]


@pytest.mark.parametrize("cls", [LinearDiscriminant, QuadraticDiscriminant, GaussianNaiveBayes])
def test_ellipses_have_one_distance_from_the_means_of_the_model(cls):
    model = cls().fit(X, Y)
    found = densities(model, X, Y)
    np.testing.assert_array_equal(found.means, model.means_)
    axes = found.figure().axes[0]
    curves = [line.get_xydata() for line in axes.lines if len(line.get_xydata()) > 50]
    assert len(curves) == 4
    for i, curve in enumerate(curves):
        mean, covariance = model.gaussian(i // 2)
        np.testing.assert_allclose(distances(curve, mean, covariance), 1 + i % 2, rtol=1e-6)
    arms = [line.get_xydata() for line in axes.lines if len(line.get_xydata()) == 2]
    for i, (start, end) in enumerate(arms):
        mean, covariance = model.gaussian(i // 2)
        np.testing.assert_allclose(start, mean)
        np.testing.assert_allclose(distances([end], mean, covariance), 2)
    for first, second in zip(arms[::2], arms[1::2], strict=True):
        assert (first[1] - first[0]) @ (second[1] - second[0]) == pytest.approx(0, abs=1e-9)
    assert (
        "Ellipses of one shape" in found.caption if cls is LinearDiscriminant else "different shapes" in found.caption
    )


def test_shapes_differ_in_any_unit():
    small = X * 1e-6
    assert "of different shapes" in densities(QuadraticDiscriminant().fit(small, Y), small, Y).caption


def test_the_boundary_has_equal_probabilities():
    model = QuadraticDiscriminant().fit(X, Y)
    axes = densities(model, X, Y).figure().axes[0]
    line = np.vstack([path.vertices for path in axes.collections[-1].get_paths()])
    assert len(line) > 20
    np.testing.assert_allclose(model.predict_proba(line), 0.5, atol=0.02)
    names = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert names[:2] == ["a", "b"] and names[-1] == "boundary" and axes.get_aspect() == 1
    assert [len(rows.get_offsets()) for rows in axes.collections[:2]] == [40, 40]
    wide = densities(model, X * [1000, 1], Y).figure().axes[0]
    assert wide.get_aspect() == "auto"  # units that differ much are not forced to be equal


def test_the_table_says_means_deviations_and_axes():
    frame = pd.DataFrame(X, columns=["height (m)", "mass (kg)"])
    table = densities(QuadraticDiscriminant().fit(frame, Y), frame, Y).table().columns
    own = X[Y == "b"]
    assert table["class"] == ["a", "b"]
    assert table["mean mass (kg)"][1] == pytest.approx(own[:, 1].mean())
    assert table["deviation height (m)"][1] == pytest.approx(own[:, 0].std())
    assert table["correlation"][1] == pytest.approx(np.corrcoef(own.T)[0, 1])
    values, vectors = np.linalg.eigh(np.cov(own.T, bias=True))
    assert table["long half-axis"][1] == pytest.approx(np.sqrt(values[1]))
    assert table["short half-axis"][1] == pytest.approx(np.sqrt(values[0]))
    assert np.tan(np.radians(table["angle (degrees)"][1])) == pytest.approx(vectors[1, 1] / vectors[0, 1])


def test_it_is_for_gaussian_classes_of_two_features():
    assert "densities" in available(LinearDiscriminant().fit(X, Y))
    assert "densities" not in available(LogisticRegression().fit(X, Y))
    three = np.c_[X, RNG.normal(size=80)]
    model = LinearDiscriminant().fit(three, Y)
    assert "densities" not in available(model)
    with pytest.raises(InputTypeError, match="LinearDiscriminant does not have two features; densities needs two"):
        densities(model, three, Y)
