"""Dependence and attribution: closed forms, brute force over orders, scikit-learn, sums, levels and missing cells."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import sem
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.pipeline import make_pipeline

from ftheta import MLPRegressor
from ftheta.data import TableEncoder
from ftheta.errors import InputError
from ftheta.explain import attribution, dependence
from tests.explain.test_importance import FRAME, PRICE, Frames

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
WIDE = RNG.normal(size=(50, 15))


def product(x):
    return x[:, 0] * x[:, 1] + np.abs(x[:, 2]) * x[:, 3] - x[:, 1]


class Known:
    """A model of a known function."""

    def __init__(self, f, d):
        self.predict, self.n_features_in_ = f, d


def brute(f, x, z):
    """Mean over all orders of what each column adds, for one row and a background."""
    found, orders = np.zeros(x.shape[1]), list(permutations(range(x.shape[1])))
    for order in orders:
        row = z.copy()
        for j in order:
            before = f(row).mean()
            if hasattr(row, "isetitem"):
                row.isetitem(j, x.iloc[[0] * len(z), j].to_numpy())
            else:
                row[:, j] = x[0, j]
            found[j] += (f(row).mean() - before) / len(orders)
    return found


# ---- attribution


def test_all_sets_are_the_mean_over_all_orders():
    found = attribution(Known(product, 4), X, row=7, background=X[:20])
    np.testing.assert_allclose(found.values, brute(product, X[7:8], X[:20]), atol=1e-12)
    assert found.error is None and found.background == 20
    assert found.values.sum() == pytest.approx(found.prediction - found.mean)
    assert (found.prediction, found.mean) == pytest.approx((product(X[7:8])[0], product(X[:20]).mean()))


@pytest.mark.parametrize("d", [3, 15], ids=["all sets", "random orders"])
def test_of_a_linear_model_it_is_the_weight_times_the_distance_from_the_mean(d):
    x, w = WIDE[:, :d], np.arange(1.0, d + 1)
    found = attribution(LinearRegression().fit(x, x @ w), x, row=3, background=x[:10])
    np.testing.assert_allclose(found.values, w * (x[3] - x[:10].mean(0)), atol=1e-9)
    if found.error is not None:  # of the mean over the background
        np.testing.assert_allclose(found.error, sem(w * x[:10]))


def test_random_orders_add_up_and_are_within_their_errors():
    f = lambda x: product(x) + x[:, 4:].sum(1)  # noqa: E731
    few = lambda x: f(np.concatenate([x, np.zeros((len(x), 11))], 1))  # noqa: E731
    many = attribution(Known(f, 15), WIDE, row=5, random_state=1)
    exact = brute(few, WIDE[5:6, :4], WIDE[:, :4])
    assert many.values.sum() == pytest.approx(many.prediction - many.mean)
    assert (np.abs(many.values[:4] - exact) < 4 * many.error[:4] + 1e-9).all() and (many.error[:4] > 0).all()
    columns = many.table().columns
    assert columns["high"][0] - columns["effect"][0] == pytest.approx(1.96 * many.error[many.order[0]])


def test_a_column_of_a_table_is_one_whatever_it_is_encoded_as():
    model = make_pipeline(TableEncoder(), MLPRegressor(hidden=(5,), epochs=9, random_state=0)).fit(FRAME, PRICE)
    gone = int(np.flatnonzero(FRAME.area.isna())[0])
    found = attribution(model, FRAME, PRICE, row=gone, background=FRAME[:30], target="price", label="Row a")
    assert found.names == ("area", "city", "sold") and found.cells[0] == "missing"  # the identifier is not used
    np.testing.assert_allclose(found.values, brute(model.predict, FRAME.iloc[[gone]], FRAME[:30])[:3], rtol=1e-4)
    assert found.caption.startswith("Row a: predicted price") and f"(truth: {PRICE[gone]:.4g})" in found.caption
    assert "area = missing" in [t.get_text() for t in found.figure().axes[0].get_yticklabels()]


def test_a_frame_that_the_model_takes_as_it_is():
    found = attribution(Frames(), FRAME, row=0, background=FRAME[1:9])
    area = FRAME.area.fillna(100.0)
    np.testing.assert_allclose(found.values[0], area[0] - area[1:9].mean())
    np.testing.assert_allclose(found.values[2:], 0)


def test_classes_are_their_probabilities():
    y = np.array(["no", "maybe", "yes"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = LogisticRegression().fit(X, y)
    found = attribution(model, X, y, row=2, classes=["M", "N", "Y"])
    k = model.predict_proba(X[[2]])[0].argmax()
    assert found.output == f"probability of {'MNY'[k]}" and found.truth == {"maybe": "M", "no": "N", "yes": "Y"}[y[2]]
    assert found.mean == pytest.approx(model.predict_proba(X)[:, k].mean())
    hard = attribution(Perceptron().fit(X, y), X, row=2)
    assert hard.prediction == 1.0 and hard.values.sum() == pytest.approx(1 - hard.mean)


def test_a_wrong_row_or_output_is_refused():
    line = LinearRegression().fit(X, X[:, 0])
    with pytest.raises(InputError, match="row=60, but X has 60 rows; pass a number from 0 to 59"):
        attribution(line, X, row=60)
    with pytest.raises(InputError, match="output=1, but the model has 1"):
        attribution(line, X, output=1)


# ---- dependence


def test_partial_dependence_is_that_of_scikit_learn():
    model = RandomForestRegressor(5, random_state=0).fit(X, product(X))
    found = dependence(model, X, columns=[2, "x1"])
    assert [effect.name for effect in found.effects] == ["x3", "x1"]
    for effect, j in zip(found.effects, (2, 0), strict=True):
        theirs = partial_dependence(model, X, [j], custom_values={j: effect.at}, kind="both", method="brute")
        np.testing.assert_allclose(effect.mean[:, 0], theirs["average"][0])
        np.testing.assert_allclose(effect.ice[..., 0], theirs["individual"][0])
        np.testing.assert_allclose(effect.at[[0, -1]], np.quantile(X[:, j], [0.02, 0.98]))


def test_the_strongest_columns_come_first_in_their_own_units():
    model = make_pipeline(TableEncoder(), MLPRegressor(hidden=(8,), epochs=60, lr=0.02, random_state=0))
    frame = FRAME.assign(rooms=RNG.integers(1, 6, len(FRAME)))
    found = dependence(model.fit(frame, PRICE), frame, PRICE, target="price")
    effects = {effect.name: effect for effect in found.effects}
    assert list(effects)[:2] == ["area", "city"] and "id" not in effects
    area, city, rooms = effects["area"], effects["city"], effects["rooms"]
    assert np.isnan(area.at[-1]) and 30 < area.at[0] < area.at[-2] < 260  # the last is a missing cell
    np.testing.assert_allclose(area.mean[-1, 0], model.predict(frame.assign(area=np.nan)).mean(), rtol=1e-5)
    assert set(city.at) == {"Bern", "Graz", "Ulm"} and rooms.at.tolist() == [1, 2, 3, 4, 5]
    for at, mean in zip(city.at, city.mean[:, 0], strict=True):
        np.testing.assert_allclose(mean, model.predict(frame.assign(city=at)).mean(), rtol=1e-5)
    sold = effects["sold"]
    assert sold.at.dtype.kind == "M" and len(sold.at) == 25
    np.testing.assert_allclose(sold.mean[9, 0], model.predict(frame.assign(sold=sold.at[9])).mean(), rtol=1e-5)
    axes = found.figure().axes
    assert axes[0].get_ylabel() == "predicted price" and axes[0].get_title().startswith("area: range ")
    (gone,) = (line for line in axes[0].lines if line.get_marker() == "o")
    assert gone.get_xdata()[0] > area.at[-2] and gone.get_ydata() == area.mean[-1]  # right of all places
    counts = {f"{level} ({n})" for level, n in frame.city.value_counts().items()}
    assert {t.get_text() for t in axes[1].get_xticklabels()} == counts
    assert "price of 120 rows" in found.caption
    assert found.table().columns["highest"][0] == pytest.approx(area.mean.max())


def test_a_frame_of_levels_that_the_model_takes_as_it_is():
    frame = FRAME.astype({"city": "category"})
    (effect,) = dependence(Frames(), frame, columns=["city"]).effects
    assert np.ptp(effect.mean) == pytest.approx(5) and effect.at[effect.mean[:, 0].argmax()] == "Ulm"


def test_classes_two_and_more():
    for bins, names in (([0.0], ["no", "yes"]), ([-0.5, 0.5], ["low", "middle", "high"])):
        model = LogisticRegression().fit(X, np.digitize(X[:, 0], bins))
        found = dependence(model, X, columns=[0], classes=names)
        shown = ["probability of yes"] if len(names) == 2 else ["probability"]
        assert [axes.get_ylabel() for axes in found.figure().axes] == shown
        assert found.effects[0].mean.sum(1) == pytest.approx(np.ones(25))
        assert ("prediction of" in found.table().columns) == (len(names) == 3)
        moves = np.ptp(found.effects[0].mean, axis=0)
        assert f"probability of {names[-1 if len(names) == 2 else moves.argmax()]} " in found.caption
    with pytest.raises(InputError, match="strongest columns by y, which is None; pass y, or columns="):
        dependence(model, X)
    with pytest.raises(InputError, match=r"Unknown column 'x9'"):
        dependence(model, X, columns=["x9"])


def test_two_hundred_levels_are_the_ten_most_frequent():
    frame = pd.DataFrame({"area": 1.0, "city": [f"c{i}" for i in range(60)] + ["often"] * 9, "sold": 0, "id": 0})
    (effect,) = dependence(Frames(), frame, columns=["city"]).effects
    assert len(effect.at) == 10 and effect.at[0] == "often"
