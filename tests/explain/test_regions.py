"""Decision regions against the classifier itself, place by place."""

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from ftheta import LinearRegression, LogisticRegression, MLPClassifier, explain
from ftheta.data import make_dataset
from ftheta.errors import InputError, InputTypeError

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
    places = np.stack(np.meshgrid(found.x, found.y), -1).reshape(-1, 2)
    p = MODEL.predict_proba(places)
    columns = found.table().columns
    for k in range(3):
        mine = p.argmax(1) == k
        assert columns["share of the plane"][k] == pytest.approx(mine.mean())
        assert columns["of it below 75% sure"][k] == pytest.approx((p.max(1)[mine] < 0.75).mean())
        assert columns["rows"][k] == (k == Y).sum()
    assert f"on {(p.max(1) < 0.75).mean():.0%} of the plane" in found.caption


def test_a_classifier_without_probabilities_is_sure_everywhere():
    found = explain.regions(Hard(), X)
    assert set(np.unique(found.p)) == {0.0, 1.0}
    np.testing.assert_array_equal(found.p[..., 1], np.tile(found.x > 0, (len(found.y), 1)))
    assert found.table().columns["of it below 75% sure"] == [0.0, 0.0] and found.classes == ("left", "right")
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
    found = explain.regions(MODEL, X, np.where(Y == 2, 9, Y))
    np.testing.assert_array_equal(found.code, np.where(Y == 2, -1, Y))


def test_one_row_has_a_plane_around_it():
    found = explain.regions(MODEL, X[:1], Y[:1])
    assert np.diff(found.x).min() > 0 and np.isfinite(found.p).all()


def test_a_neural_classifier_shows_its_regions_too():
    model = MLPClassifier(hidden=(4,), epochs=2, random_state=0).fit(X, Y)
    assert "regions" in explain.available(model) and "regions" in explain.available(MODEL)
    p = explain.regions(model, X, Y).p
    np.testing.assert_allclose(p.sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"columns": (0, 0)}, InputError, r"columns=\(0, 0\); two different numbers from 0 to 1 are needed"),
        ({"columns": (0, 2)}, InputError, r"columns=\(0, 2\); two different numbers"),
        ({"X": X[:, :1]}, InputError, r"X has shape \(120, 1\); pass rows of the 2 features"),
        ({"X": X[:0]}, InputError, r"X has shape \(0, 2\)"),
        ({"X": np.where(X == X[3, 1], np.nan, X)}, InputError, r"X holds nan at \[3, 1\]; finite numbers are needed"),
        ({"X": [["a", "b"]]}, InputTypeError, "X must be numeric"),
        ({"columns": ("a", "b")}, InputError, r"columns=\('a', 'b'\); two different numbers"),
        ({"columns": 1}, InputError, "columns=1; two different numbers"),
        ({"columns": (0, 1, 1)}, InputError, r"columns=\(0, 1, 1\); two different numbers"),
        ({"y": Y[:5]}, InputError, r"y has shape \(5,\); pass one target for each of the 120 rows"),
    ],
)
def test_what_does_not_fit_is_said(settings, error, said):
    with pytest.raises(error, match=said):
        explain.regions(MODEL, **({"X": X, "y": Y} | settings))


def test_a_model_of_one_class_fills_the_plane():
    found = explain.regions(DummyClassifier().fit(X, np.zeros(len(X))), X)
    assert found.table().columns["share of the plane"] == [1.0] and found.figure().axes


@pytest.mark.parametrize("labels", [np.c_[Y == 0, Y == 1], np.c_[Y == 0, Y]])
def test_several_labels_a_row_are_refused(labels):
    tree = DecisionTreeClassifier().fit(X, labels)
    assert "regions" not in explain.available(tree)
    with pytest.raises(InputTypeError, match="DecisionTreeClassifier is not a classifier of two features"):
        explain.regions(tree, X)


def test_what_is_no_classifier_is_refused():
    with pytest.raises(InputTypeError, match="LinearRegression has no classes_; regions needs"):
        explain.regions(LinearRegression().fit(X, Y), X)


def test_more_than_two_features_ask_for_columns():
    model = LogisticRegression().fit(np.c_[X, X[:, 0] ** 2], Y)
    assert "regions" not in explain.available(model)
    with pytest.raises(InputTypeError, match=r"two features.*; regions needs one, or columns"):
        explain.regions(model, np.c_[X, X[:, 0] ** 2], Y)
