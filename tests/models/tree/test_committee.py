"""Committees: weights and errors in closed form, members as they are by themselves, files."""

import json
from itertools import product

import numpy as np
import pytest
import torch
from scipy.linalg import hadamard
from scipy.optimize import minimize
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import VotingRegressor
from sklearn.linear_model import LinearRegression as Line
from torch import nn

from ftheta import CommitteeClassifier, CommitteeRegressor, load
from ftheta.errors import FThetaError, InputError
from ftheta.explain import committee
from ftheta.models.tree.committee import committee_weights, mixture_weights
from ftheta.store import Run

X, Y = load_diabetes(return_X_y=True)


class Fixed:
    """A committee whose members err by given amounts."""

    _estimator_type = "regressor"

    def __init__(self, errors, weights=None):
        self.errors, self.members = np.asarray(errors, dtype=float), tuple("abcdefgh"[: np.shape(errors)[1]])
        self.members_ = self.members
        self.weights_ = np.full(len(self.members), 1 / len(self.members)) if weights is None else weights

    def predictions(self, X):
        return self.errors.T

    def __sklearn_tags__(self):
        return CommitteeRegressor().__sklearn_tags__()


def gain(errors, weights=None):
    return committee(Fixed(errors, weights), np.zeros((len(errors), 1)), np.zeros(len(errors)))


@pytest.mark.ledger("B245", "C152", covers="ftheta.models.tree.ensembles")
def test_errors_that_are_not_correlated_are_divided_by_the_number_of_members():
    independent = hadamard(8)[:, 1:6].astype(float)  # mean 0, variance 1, no correlation
    found = gain(independent)
    assert found.average == pytest.approx(1) and found.committee == pytest.approx(1 / 5)
    for rho, members in ((0.6, 5), (0.3, 5), (0.3, 6)):
        shared = hadamard(8)[:, 7:8]
        made = gain(np.sqrt(rho) * shared + np.sqrt(1 - rho) * hadamard(8)[:, 1 : members + 1])
        assert made.committee == pytest.approx(rho + (1 - rho) / members) and made.average == pytest.approx(1)
        np.testing.assert_allclose(made.correlation[0, 1:], rho)


@pytest.mark.ledger(
    "B246",
    covers="ftheta.models.tree.ensembles",
    says="by Cauchy's inequality ((1/L) Σ ε_i)² <= Σ ε_i², so E_COM <= E_AVG",
    printed=5.0,
    right=1.0,
)
def test_the_committee_is_never_worse_than_the_mean_of_its_members(ledger):
    rng = np.random.default_rng(0)
    for _ in range(20):
        errors, w = rng.normal(size=(30, 5)) + rng.normal(size=5), rng.dirichlet(np.ones(5))
        found = gain(errors, w)
        spread = (w * (errors - (errors @ w)[:, None]) ** 2).sum(1).mean()
        assert found.committee <= found.average and found.average - found.committee == pytest.approx(spread)
    same = gain(np.ones((4, 5)))  # the bound that holds with equality; the printed one is L times as large
    ledger(same.committee / same.average)


@pytest.mark.ledger("B247", covers="ftheta.models.tree.committee.committee_weights")
def test_the_best_weights_are_those_of_the_inverse_covariance():
    errors = hadamard(8)[:, 1:6] * [1, 1.2, 0.8, 1.5, 1]
    w = committee_weights(errors)
    np.testing.assert_allclose(w, [0.2127, 0.1477, 0.3323, 0.0945, 0.2127], atol=5e-5)
    assert ((errors @ w) ** 2).mean() == pytest.approx(0.2127, abs=5e-5)
    correlated = np.random.default_rng(1).normal(size=(60, 3)) @ [[1, 0.9, 0.8], [0, 0.4, 0.3], [0, 0, 0.2]]
    for negative in (True, False):
        bounds = None if negative else [(0, None)] * 3
        truth = minimize(
            lambda v: ((correlated @ v) ** 2).mean(), np.full(3, 1 / 3), bounds=bounds, method="SLSQP",
            constraints={"type": "eq", "fun": lambda v: v.sum() - 1}, options={"ftol": 1e-14},
        ).x  # fmt: skip
        np.testing.assert_allclose(committee_weights(correlated, negative=negative), truth, atol=2e-4)
    weight = np.arange(60.0)
    copies = np.repeat(correlated, weight.astype(int), axis=0)
    np.testing.assert_allclose(
        committee_weights(correlated, sample_weight=weight), committee_weights(copies), atol=1e-8
    )


def test_weights_of_probabilities_have_the_largest_likelihood():
    p = np.random.default_rng(0).uniform(0.05, 1, size=(50, 3)) * [1, 0.7, 0.9]
    weight = np.random.default_rng(1).uniform(size=50)
    truth = minimize(
        lambda v: -(weight @ np.log(p @ v)), np.full(3, 1 / 3), bounds=[(0, 1)] * 3, method="SLSQP",
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1}, options={"ftol": 1e-14},
    )  # fmt: skip
    assert weight @ np.log(p @ mixture_weights(p, weight)) == pytest.approx(-truth.fun, rel=1e-5)


def test_equal_weights_are_the_mean_of_the_members_by_themselves():
    found = CommitteeRegressor(members=("linear", "linear"), weights="equal", random_state=0).fit(X, Y)
    truth = VotingRegressor([("a", Line()), ("b", Line())]).fit(X, Y).predict(X)
    np.testing.assert_allclose(found.predict(X), truth, rtol=1e-8)
    mixed = CommitteeRegressor(members=("linear", "ridge", "tree"), random_state=0).fit(X, Y)
    np.testing.assert_allclose(mixed.predict(X), mixed.weights_ @ [m.predict(X) for m in mixed.members_])
    assert mixed.weights_.sum() == pytest.approx(1) and (mixed.weights_ >= 0).all()
    assert mixed.weights_[2] < 0.3  # a tree is far behind here


@pytest.mark.ledger("B318", covers="ftheta.models.tree.committee")
def test_bagging_draws_other_rows_for_each_member_and_lowers_the_error():
    kept, held, gains = np.arange(300), np.arange(300, 442), []
    for seed in range(3):
        made = CommitteeRegressor(members=("tree",) * 8, weights="equal", bagging=True, random_state=seed)
        each = made.fit(X[kept], Y[kept]).predictions(X[held])
        errors = ((each - Y[held]) ** 2).mean(1)
        gains.append(((made.predict(X[held]) - Y[held]) ** 2).mean() / errors.mean())
    assert max(gains) < 0.95
    assert len({m.predict(X).tobytes() for m in made.members_}) == 8


@pytest.mark.middle
@pytest.mark.ledger("B245", covers="ftheta.models.tree.committee")
def test_networks_from_different_seeds_and_rows_are_better_together_than_the_best_of_them():
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, (400, 1))
    y, truth = np.sin(2 * x[:, 0]) + 0.5 * rng.normal(size=400), np.sin(2 * x[60:, 0])
    made = CommitteeRegressor(members=("mlp",) * 5, weights="equal", bagging=True, random_state=2).fit(x[:60], y[:60])
    errors = ((made.predictions(x[60:]) - truth) ** 2).mean(1)
    assert ((made.predict(x[60:]) - truth) ** 2).mean() < errors.min() < errors.mean()


@pytest.mark.ledger("B245", covers="ftheta.models.tree.committee")
def test_members_of_one_name_start_from_different_seeds_and_a_seed_repeats_them():
    wine, kind = load_wine(return_X_y=True)
    made = [CommitteeClassifier(members=("mlp", "mlp"), weights="equal", random_state=s) for s in (1, 1, 2)]
    p = [c.fit(wine[::4], kind[::4]).predict_proba(wine) for c in made]
    assert np.array_equal(p[0], p[1]) and not np.array_equal(p[0], p[2])
    first, second = made[0].predictions(wine)
    assert not np.array_equal(first, second)
    np.testing.assert_allclose(p[0], (first + second) / 2)


@pytest.mark.ledger("B119", covers="ftheta.nn.MLP")
def test_dropout_at_the_inputs_of_a_softmax_regression_is_the_geometric_mean_of_all_masks():
    torch.manual_seed(0)
    x, line = torch.randn(4, dtype=torch.float64), nn.Linear(4, 3).double()
    net = nn.Sequential(nn.Dropout(0.5), line).eval()
    masks = torch.tensor(list(product([0.0, 1.0], repeat=4)), dtype=torch.float64)
    assert len(masks) == 2**4
    members = torch.log_softmax(line(masks * x / 0.5), dim=1)  # the scale that training divides by
    geometric = torch.softmax(members.mean(0), dim=0)
    torch.testing.assert_close(torch.softmax(net(x), dim=0), geometric)
    arithmetic = members.exp().mean(0)
    assert (arithmetic - geometric).abs().max() > 0.01  # the mean of the probabilities is something else


def test_saved_and_loaded_with_networks_inside(tmp_path):
    wine, kind = load_wine(return_X_y=True)
    made = CommitteeClassifier(members=("mlp", "linear"), random_state=0).fit(wine[::3], kind[::3])
    loaded = load(made.save(tmp_path / "m"))
    assert np.array_equal(loaded.predict_proba(wine), made.predict_proba(wine))
    run, path = Run(tmp_path / "m"), tmp_path / "n"
    tree = run.tree("model.safetensors")
    for change in (
        lambda m: m[0].update(config=json.dumps({**json.loads(m[0]["config"]), "model": "committee"})),
        lambda m: m[0].update(config=m[1]["config"]),
        lambda m: m[0].update(config="{}"),
        lambda m: m.pop(),
    ):
        damaged = {**tree, "state": {**tree["state"], "members_": [dict(one) for one in tree["state"]["members_"]]}}
        change(damaged["state"]["members_"])
        path = path.with_name(path.name + "n")
        Run(path).finish({"model.safetensors": damaged, "config.json": run.read("config.json").decode()})
        with pytest.raises(FThetaError, match=str(path)):
            load(path)


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ((), "empty"),
        (("committee",), "not a member of a committee"),
        (("lasso",), "lasso"),
        (("perceptron",), "no prob"),
    ],
)
def test_members_that_cannot_be(members, sentence):
    with pytest.raises(InputError, match=sentence):
        CommitteeClassifier(members=members, weights="equal").fit(X[:60], X[:60, 0] > 0).predict(X)


def test_few_rows_and_folds_without_a_class_count_members_alike():
    few = CommitteeRegressor(members=("linear", "ridge")).fit(X[:10], Y[:10])
    rare = CommitteeClassifier(members=("linear", "lda")).fit(X[:40], np.arange(40) == 3)
    assert few.weights_.tolist() == rare.weights_.tolist() == [0.5, 0.5]


TARGETS = {"one target": Y[:100], "two targets": np.c_[Y, X[:, 2] ** 2][:100], "classes": Y[:100] > 140}


@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)
def test_learned_weights_of_weighted_rows_are_those_of_copies(y):
    weight = np.arange(100) % 3
    cls = CommitteeClassifier if y.dtype == bool else CommitteeRegressor
    one = cls(members=("linear", "tree"), random_state=0).fit(X[:100], y, weight)
    many = cls(members=("linear", "tree"), random_state=0)
    many.fit(np.repeat(X[:100], weight, axis=0), np.repeat(y, weight, axis=0))
    np.testing.assert_allclose(one.weights_, many.weights_, atol=1e-6)
    np.testing.assert_allclose(one.predict(X), many.predict(X), rtol=1e-6)


def test_a_bag_of_weighted_rows_counts_each_weight_once():
    heavy = np.arange(300) % 2
    made = CommitteeRegressor(members=("linear",) * 20, weights="equal", bagging=True, random_state=0)
    found = made.fit(X[:300], heavy, 1 + 2 * heavy).predict(X[:300]).mean()
    assert found == pytest.approx(0.75, abs=0.03)  # the mean of weighted rows; weights that count twice give 0.9
