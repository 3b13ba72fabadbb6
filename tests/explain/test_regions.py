"""Decision regions against the classifier itself, place by place."""

import numpy as np
import pandas as pd
import pytest

from ftheta import LogisticRegression, explain
from ftheta.data import make_dataset
from ftheta.errors import InputTypeError

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


def test_more_than_two_features_ask_for_columns():
    model = LogisticRegression().fit(np.c_[X, X[:, 0] ** 2], Y)
    assert "regions" not in explain.available(model)
    with pytest.raises(InputTypeError, match=r"two features.*; regions needs one, or columns"):
        explain.regions(model, np.c_[X, X[:, 0] ** 2], Y)
