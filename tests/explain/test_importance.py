"""Importance: scikit-learn's permutations, growth in closed form, the order of known effects, correlated columns."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from torch import nn

from ftheta import ConvNetClassifier, MLPClassifier, MLPRegressor, ModuleRegressor
from ftheta.data import TableEncoder
from ftheta.errors import InputError, InputTypeError
from ftheta.explain import dependence, importance
from ftheta.explain.predictions._columns import FirstLayer

RNG = np.random.default_rng(0)
N = 120
FRAME = pd.DataFrame(
    {
        "area": np.where(RNG.random(N) < 0.1, np.nan, RNG.gamma(9, 12, N)),
        "city": RNG.choice(["Bern", "Graz", "Ulm"], N),
        "sold": pd.to_datetime("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), "D"),
        "id": np.arange(N),
    }
)
PRICE = 2 * FRAME.area.fillna(100).to_numpy() + 30 * (FRAME.city == "Ulm").to_numpy()
X = RNG.normal(size=(200, 4))
LABELS = np.array(["no", "maybe", "yes"])[np.digitize(X[:, 0] + X[:, 2] / 2, [-0.7, 0.7])]
ABSOLUTE, LOG = "neg_mean_absolute_error", "neg_log_loss"
MODELS = {
    "a table of numbers": (lambda: MLPRegressor(hidden=(5,), epochs=3, random_state=0), X, X[:, 1], ABSOLUTE),
    "classes": (lambda: MLPClassifier(hidden=(5,), epochs=3, random_state=0), X, LABELS, LOG),
    "scikit-learn": (lambda: RandomForestClassifier(5, random_state=0), X, LABELS, LOG),
    "an encoder": (
        lambda: make_pipeline(TableEncoder(), MLPRegressor(hidden=(5,), epochs=9, random_state=0)),
        *(FRAME, PRICE, ABSOLUTE),
    ),
    "columns of a frame": (
        lambda: make_pipeline(TableEncoder().set_output(transform="pandas"), LinearRegression()),
        *(FRAME, PRICE, ABSOLUTE),
    ),
}


def by_column(found):
    """Growth of the single columns that are used, in the order of the table: (D, R)."""
    place = {members[0]: c for c, members in enumerate(found.members) if len(members) == 1}
    return found.repeats[[place[j] for j in sorted(place)]]


@pytest.mark.parametrize("name", MODELS)
def test_growth_is_that_of_scikit_learn_with_the_same_permutations(name):
    make, x, y, scoring = MODELS[name]
    model = make().fit(x, y)
    theirs = permutation_importance(model, x, y, scoring=scoring, n_repeats=4, random_state=7)
    ours = importance(model, x, y, repeats=4, random_state=7)
    used = [j for j in range(x.shape[1]) if x is not FRAME or x.columns[j] != "id"]  # an identifier is left out
    np.testing.assert_allclose(by_column(ours), theirs.importances[used], atol=2e-3 if y is PRICE else 2e-6)
    assert list(ours.growth) == sorted(ours.growth, reverse=True)


class Frames:
    """A model that takes frames of text and numbers as they are."""

    n_features_in_ = 4

    def predict(self, X):
        return X.area.fillna(100.0).to_numpy() + 5 * (X["city"] == "Ulm").to_numpy()


def test_a_model_may_take_a_frame_of_text_and_dates():
    ours = importance(Frames(), FRAME, PRICE, repeats=2, random_state=1)
    rng = np.random.RandomState(np.random.RandomState(1).randint(2**31))
    order = np.arange(N)
    rng.shuffle(order)
    changed = Frames().predict(FRAME.assign(city=FRAME.city.to_numpy()[order]))
    growth = np.abs(PRICE - changed).mean() - np.abs(PRICE - Frames().predict(FRAME)).mean()
    assert by_column(ours)[1, 0] == pytest.approx(growth)
    assert (by_column(ours)[2:] == 0).all() and ours.names[0] == "area"


def test_a_net_is_seen_from_the_sums_of_its_first_layer_only_where_nothing_else_reads_x():
    class Skip(nn.Module):
        def __init__(self, skip):
            super().__init__()
            self.first, self.last, self.skip = nn.Linear(4, 4), nn.Linear(4, 1), skip

        def forward(self, x):
            return self.last(torch.relu(self.first(x)) + self.skip * x)

    for skip, name in ((0.0, "plain"), (1.0, "skip")):
        model = ModuleRegressor(module=Skip(skip), epochs=2, random_state=0).fit(X, X[:, 1])
        assert (FirstLayer.of(model, X.astype(np.float32)) is None) == (name == "skip")
        theirs = permutation_importance(model, X, X[:, 1], scoring=ABSOLUTE, n_repeats=2, random_state=0)
        np.testing.assert_allclose(by_column(importance(model, X, X[:, 1], repeats=2)), theirs.importances, atol=2e-6)
        assert "forward" not in vars(model.module_.first)
    assert FirstLayer.of(LinearRegression().fit(X, X[:, 0]), X) is None


@pytest.mark.parametrize("seed", range(10))
def test_known_effects_come_in_their_order(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, 5))
    mean = x @ [0.0, 3.0, 0.4, 1.0, 0.0] + x[:, 0] ** 2 / 0.7  # effects: x2, x1, x4, x3; none: x5
    y = mean + 0.2 * rng.normal(size=300)
    model = MLPRegressor(hidden=(16,), epochs=40, lr=0.02, random_state=seed).fit(x[:200], y[:200])
    assert importance(model, x[200:], y[200:]).names == ("x2", "x1", "x4", "x3", "x5")


def test_squared_growth_of_a_linear_model_is_twice_the_variance_of_its_term_and_the_interval_holds_it():
    x = np.random.default_rng(1).normal(size=(4000, 2)) * [1.0, 2.0]
    found = importance(LinearRegression().fit(x, x @ [3.0, -1.0]), x, x @ [3.0, -1.0], loss="square", repeats=20)
    assert found.base == pytest.approx(0.0, abs=1e-20) and found.unit == "squared units of y"
    assert (found.low < [18, 8]).all() and ([18, 8] < found.high).all()  # 2 w² Var(x)
    np.testing.assert_allclose(found.high - found.low, 2 * 1.96 * np.sqrt([2 * 9**2, 2 * 4**2]) / 4000**0.5, rtol=0.1)


def test_correlated_columns_are_said_so_and_permuted_together():
    rng = np.random.default_rng(0)
    a = rng.normal(size=400)
    city = np.where(a > 0.5, "x", np.where(a > -0.5, "y", "z"))
    frame = pd.DataFrame({"a": a, "free": rng.normal(size=400), "city": city, "level": rng.choice(["p", "q"], 400)})
    y = a + frame.free.to_numpy() / 2
    found = importance(make_pipeline(TableEncoder(), LinearRegression()).fit(frame, y), frame, y, target="price")
    assert [names for names, places in zip(found.names, found.members, strict=True) if len(places) > 1] == ["a + city"]
    eta = np.sqrt(sum((city == c).sum() * a[city == c].mean() ** 2 for c in "xyz") / (a**2).sum())
    assert found.correlation[found.names.index("a + city")] == pytest.approx(eta, abs=0.01)
    assert "a + city matter most" in found.caption and "Correlated: a and city (0.89). Permuted alone" in found.caption
    assert "units of price" in found.caption and "level" in found.caption.partition("No effect is shown by")[2]
    assert [found.names[c] for c in found.apart] == ["a + city", "free", "level"]
    rng = np.random.RandomState(np.random.RandomState(0).randint(2**31))
    order = np.arange(400)
    rng.shuffle(order)
    assert found.repeats[0, 0] == pytest.approx(np.abs(a - a[order]).mean(), rel=1e-6)  # a and city stay together


def test_each_two_columns_of_a_group_are_correlated():
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(600, 4)) * [1.0, 0.7, 0.7, 0.7]
    chain = steps @ np.triu(np.ones((4, 4)))  # neighbors are correlated, the ends are not
    found = importance(LinearRegression().fit(chain, chain[:, 0]), chain, chain[:, 0], repeats=1)
    groups = [places for places in found.members if len(places) > 1]
    r = np.abs(np.corrcoef(chain.T))
    assert r[0, 3] < 0.7 < min(r[0, 1], r[1, 2], r[2, 3])
    assert groups and all(r[i, j] >= 0.7 for places in groups for i in places for j in places)


def test_chance_does_not_make_groups_of_many_levels():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 25, 150).astype(str), "b": rng.integers(0, 30, 150).astype(str)})
    model = make_pipeline(TableEncoder(), LinearRegression()).fit(frame, rng.normal(size=150))
    assert importance(model, frame, rng.normal(size=150), repeats=1).names in [("a", "b"), ("b", "a")]


def test_several_targets_are_averaged_in_standard_deviations():
    y = np.column_stack([X[:, 0], 1000 * X[:, 1]])
    found = importance(LinearRegression().fit(X, y), X, y, repeats=3)
    assert found.unit == "standard deviations, averaged over 2 targets"
    square = importance(LinearRegression().fit(X, y), X, y, loss="square", repeats=3)
    assert by_column(square)[:2].mean(1) == pytest.approx([1, 1], abs=0.2)  # 2 σ² / σ², over two targets
    assert by_column(found)[:2].mean(1) == pytest.approx([0.56, 0.56], abs=0.08)  # √2 σ √(2/π) / σ, over two targets


def test_of_many_rows_some_are_taken_evenly_spaced():
    model = LinearRegression().fit(X, X[:, 0])
    few, truth = importance(model, X, X[:, 0], max_rows=60), importance(model, X[::4], X[::4, 0])
    np.testing.assert_array_equal(few.repeats, truth.repeats)
    assert few.n == 50 and "test rows" in importance(model, X, X[:, 0], repeats=1, part="test rows").caption


def test_a_loss_can_be_named_or_given():
    model = MLPClassifier(hidden=(5,), epochs=3, random_state=0).fit(X, LABELS)
    wrong = importance(model, X, LABELS, loss="wrong", repeats=1)
    given = importance(model, X, LABELS, loss=lambda y, p: (y != p).astype(float), repeats=1)
    np.testing.assert_array_equal(wrong.repeats, given.repeats)
    assert wrong.base == pytest.approx(1 - model.score(X, LABELS)) and wrong.loss == "share of wrong classes"
    log = importance(model, X, LABELS, repeats=1)
    assert (log.base, log.unit) == (pytest.approx(log_loss(LABELS, model.predict_proba(X))), "nats")


def test_what_does_not_fit_is_refused():
    line = LinearRegression().fit(X, X[:, 0])
    for wrong, said in (
        ({"loss": "log"}, "loss='log' does not fit LinearRegression"),
        ({"loss": lambda y, p: 0.0}, r"shape \(\); one number for each of 200 rows"),
        ({"repeats": 0}, "The 'repeats' parameter of importance must be"),
    ):
        with pytest.raises(InputError, match=said):
            importance(line, X, X[:, 0], **wrong)
    with pytest.raises(InputError, match=r"shape \(200, 3\); pass rows of the 4 columns"):
        importance(line, X[:, :3], X[:, 0])
    with pytest.raises(InputError, match="200 rows and y has 3; pass one target"):
        importance(line, X, X[:3, 0])
    both = MultiOutputClassifier(LogisticRegression()).fit(X, np.column_stack([LABELS, LABELS]))
    with pytest.raises(InputTypeError, match="several targets classes"):
        importance(both, X, np.column_stack([LABELS, LABELS]))
    net = ConvNetClassifier(filters=(2,), epochs=1, random_state=0).fit(np.zeros((4, 1, 8, 8)), [0, 1, 0, 1])
    with pytest.raises(InputTypeError, match="ConvNetClassifier does not predict .* from the columns of a table"):
        importance(net, np.zeros((4, 1, 8, 8)), [0, 1, 0, 1])


def test_the_fifteen_strongest_are_drawn():
    x = RNG.normal(size=(60, 18))
    found = importance(LinearRegression().fit(x, x @ np.arange(18.0)), x, x @ np.arange(18.0), target="price")
    (axes,) = found.figure().axes
    assert len(axes.patches) == 15 and axes.get_xlabel() == "growth of the mean absolute error / units of price"
    assert axes.get_title() == "x18 matters most (not shown: 3 smaller)"
    assert len(found.table().columns["column"]) == 18


def test_the_strongest_columns_of_dependence_are_those_of_importance_with_the_same_seed():
    x = np.random.default_rng(0).normal(size=(60, 4))
    y = x.sum(1)  # all alike, so that chance decides
    model, orders = LinearRegression().fit(x, y), []
    for seed in range(4):
        found = dependence(model, x, y, most=3, random_state=seed)
        orders.append([effect.name for effect in found.effects])
        assert orders[-1] == list(importance(model, x, y, repeats=3, random_state=seed).names[:3])
    assert len(set(map(tuple, orders))) > 1
