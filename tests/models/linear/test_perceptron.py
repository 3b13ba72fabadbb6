"""The perceptron: each rule against a loop over rows and scikit-learn, mistakes against Novikoff's bound."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.linear_model import SGDClassifier

from ftheta.errors import NonFiniteError
from ftheta.formulas import mistake_bound, separable
from ftheta.models import Perceptron
from ftheta.models.linear.perceptron import BLOCK, DeltaRule, PerceptronRule

CORNERS = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
XOR = np.array([0, 1, 1, 0])

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def noisy(seed, n=200, kinds=2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5))
    score = x @ rng.normal(size=5) + rng.choice([0.0, 0.5]) * rng.normal(size=n) + 0.3
    return x, np.digitize(score, np.quantile(score, np.arange(1, kinds) / kinds))


def apart(seed):
    """Rows of two classes that a plane separates."""
    rng = np.random.default_rng(seed)
    d, n = rng.integers(1, 6), rng.integers(2, 60)
    x = rng.uniform(0.1, 5) * rng.normal(size=(n, d))
    y = (x @ rng.normal(size=d) > rng.normal()).astype(int)
    return (x, y) if 0 < y.sum() < n else apart(seed + 1000)


def by_hand(x, y, k, lr, epochs, rule):
    """Weights (K, D + 1), and mistakes of each pass, in plain loops."""
    z, w, counts = np.c_[x, np.ones(len(x))], np.zeros((k, x.shape[1] + 1)), []
    for _ in range(epochs):
        counts.append(0)
        for row, label in zip(z, y, strict=True):
            raw = w @ row
            rival = max([j for j in range(k) if j != label], key=lambda j: (raw[j], -j))
            if rule == "delta":
                counts[-1] += int(raw.argmax() != label)
                w += lr * np.outer(np.where(np.arange(k) == label, 1, -1) - raw, row)
            elif raw[label] <= raw[rival]:
                counts[-1] += 1
                w[label] += lr * row
                w[rival] -= lr * row
    return w, counts


@pytest.mark.parametrize("kinds", [2, 3, 4])
@pytest.mark.parametrize("rule", [PerceptronRule, DeltaRule])
def test_blocks_of_rows_do_what_a_loop_over_rows_does(rule, kinds):
    x, y = noisy(kinds, n=3 * BLOCK + 5, kinds=kinds)
    process = rule(x, y, kinds, lr=0.02, shuffle=False)
    rows = [process.advance() for _ in range(4)]
    w, counts = by_hand(x, y, kinds, 0.02, 4, "delta" if rule is DeltaRule else "perceptron")
    np.testing.assert_allclose(process.theta, w, rtol=1e-9, atol=1e-12)
    found = [row["mistakes"] for row in rows]
    assert found == counts or rule is DeltaRule and np.abs(np.subtract(found, counts)).max() <= 1  # ties up to rounding
    assert process.mistakes == sum(found)
    assert rows[-1]["errors"] == ((np.c_[x, np.ones(len(x))] @ process.theta.T).argmax(1) != y).sum()


@quiet
@pytest.mark.parametrize("seed", range(30))
def test_scikit_learns_perceptron_has_the_same_weights(seed):
    x, y = noisy(seed)
    lr, intercept = 0.1 + seed / 10, bool(seed % 3)
    theirs = SklearnPerceptron(shuffle=False, tol=None, max_iter=20, eta0=lr, fit_intercept=intercept).fit(x, y)
    ours = Perceptron(shuffle=False, epochs=20, lr=lr, pocket=False, fit_intercept=intercept).fit(x, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8, atol=1e-12)


@quiet
@pytest.mark.parametrize("seed", range(30))
def test_scikit_learns_descent_on_squared_errors_is_the_delta_rule(seed):
    x, y = noisy(seed)
    given = {"shuffle": False, "fit_intercept": bool(seed % 3), "tol": None}
    descent = SGDClassifier(
        loss="squared_error", penalty=None, learning_rate="constant", eta0=0.01, max_iter=4, **given
    )
    theirs = descent.fit(x, y)
    ours = Perceptron(rule="delta", lr=0.01, epochs=4, pocket=False, **given | {"tol": 0.0}).fit(x, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 3000), marks=pytest.mark.soak)], ids=len)
def test_mistakes_stay_below_novikoffs_bound_on_separable_rows(seeds):
    shares = []
    for seed in seeds:
        x, y = apart(seed)
        model = Perceptron(epochs=100_000, lr=0.1 + seed % 7, shuffle=seed % 2 == 0, random_state=seed).fit(x, y)
        assert model.converged_ and model.score(x, y) == 1 and model.history_[-1]["mistakes"] == 0
        shares.append(model.mistakes_ / mistake_bound(np.c_[x, np.ones(len(x))], 2 * y - 1))
    assert 0.2 < max(shares) <= 1  # and it is no empty bound


def test_three_classes_on_a_line_are_separated_although_the_middle_one_cannot_be_from_the_rest():
    x, y = np.array([[-3.0], [-2], [0], [0.5], [2], [3]]), list("aabbcc")
    model = Perceptron(random_state=0, epochs=1000).fit(x, y)
    assert model.converged_ and model.score(x, y) == 1 and model.coef_.shape == (3, 1)


def test_without_an_intercept_the_plane_goes_through_the_origin():
    x = np.array([[1.0, 3], [2, 1], [-1, -2], [-2, 0.5]])
    model = Perceptron(fit_intercept=False, random_state=0).fit(x, [1, 1, 0, 0])
    assert model.converged_ and model.intercept_ == 0
    with pytest.warns(ConvergenceWarning, match="No plane separates the classes"):  # none through the origin
        Perceptron(fit_intercept=False, random_state=0).fit([[1.0], [2.0]], [0, 1])


@quiet
def test_the_pocket_holds_the_best_weights_of_xor():
    for seed in range(5):
        model = Perceptron(random_state=seed).fit(CORNERS, XOR)
        assert model.score(CORNERS, XOR) == 0.75 and not model.converged_ and model.n_iter_ == 100
        assert Perceptron(random_state=seed, epochs=130).fit(CORNERS, XOR).n_iter_ == 130


@quiet
@pytest.mark.parametrize("seed", range(6))
def test_the_pocket_is_never_worse_than_any_pass_and_the_last_weights_often_are(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(150, 3))
    y = (x[:, 0] + rng.normal(size=150) > 0).astype(int)
    kept = Perceptron(epochs=30, random_state=seed).fit(x, y)
    last = Perceptron(epochs=30, random_state=seed, pocket=False).fit(x, y)
    wrong = 150 - round(150 * kept.score(x, y))
    assert wrong <= min(row["errors"] for row in kept.history_) and kept.history_ == last.history_
    assert round(150 * last.score(x, y)) == 150 - last.history_[-1]["errors"]
    assert kept.score(x, y) > last.score(x, y)
    held = Perceptron(epochs=5, random_state=seed, pocket=False, validation=0.3).fit(x, y)
    row = held.history_[-1]  # of the rows to learn from and of those held out
    assert row["errors"] + row["valid_errors"] == 150 - round(150 * held.score(x, y))


@quiet
def test_a_long_run_of_right_rows_is_looked_at_within_a_pass():
    """The one wrong row comes last and throws the plane over: after every pass the weights are bad."""
    x = np.r_[-np.linspace(1, 2, 40), np.linspace(1, 2, 60), 40.0][:, None]
    y = np.r_[np.zeros(40), np.ones(60), 0].astype(int)
    model = Perceptron(shuffle=False, epochs=5).fit(x, y)
    assert model.score(x, y) == 100 / 101 and min(row["errors"] for row in model.history_) > 1


def test_it_says_that_no_plane_separates():
    said = r"^No plane separates the classes: the best weights of 100 passes have 1 of 4 rows on the wrong side. Log"
    with pytest.warns(ConvergenceWarning, match=said):
        assert Perceptron(random_state=0).fit(CORNERS, XOR).converged_ is False
    x, y = noisy(0)
    with pytest.warns(ConvergenceWarning) as told:
        last = Perceptron(pocket=False, epochs=6, random_state=0).fit(x, y)
    wrong = (last.predict(x) != y).sum()
    assert f"the last weights of 6 passes have {wrong} of {len(x)} rows" in str(told[0].message)
    assert wrong != last.history_[0]["errors"]


def test_it_says_that_planes_exist_but_were_not_found():
    said = r"not yet separated, although planes do it: .*. Raise epochs, or scale the columns"
    with pytest.warns(ConvergenceWarning, match=said):
        Perceptron(random_state=0).fit(1e8 + CORNERS, [0, 0, 0, 1])
    for seed in range(20):  # no warning where the last pass has corrected all rows
        with warnings.catch_warnings(record=True, action="always") as told:
            model = Perceptron(random_state=seed, epochs=3).fit(CORNERS, [0, 0, 0, 1])
        assert bool(told) == (model.score(CORNERS, [0, 0, 0, 1]) < 1)


@quiet
def test_the_delta_rule_goes_to_the_plane_of_least_squares():
    x, y = noisy(1, n=300, kinds=3)
    model = Perceptron(rule="delta", lr=1e-4, epochs=1000, tol=0.0, pocket=False, random_state=0).fit(x, y)
    targets = np.where(np.arange(3) == y[:, None], 1.0, -1.0)
    best = np.linalg.lstsq(np.c_[x, np.ones(300)], targets, rcond=None)[0].T
    np.testing.assert_allclose(np.c_[model.coef_, model.intercept_], best, atol=0.01)


def test_the_delta_rule_ends_when_five_passes_do_not_help():
    x, y = noisy(0)
    model = Perceptron(rule="delta", random_state=0, epochs=500).fit(x, y)
    squares = np.array([row["squared_error"] for row in model.history_])
    assert model.converged_ and 5 < model.n_iter_ < 500
    for through_0 in (False, True):
        rate = 1 / ((x**2).sum(1).max() + (not through_0))
        pair = [Perceptron(rule="delta", lr=r, fit_intercept=not through_0, random_state=0) for r in (None, rate)]
        np.testing.assert_allclose(*(one.fit(x, y).coef_ for one in pair))
    assert squares[-5:].min() >= (1 - 1e-4) * squares[:-5].min() and squares[:-5].argmin() == len(squares) - 6
    with pytest.warns(ConvergenceWarning, match=r"The squared error still falls after 3 passes. Raise epochs or tol."):
        assert not Perceptron(rule="delta", random_state=0, epochs=3).fit(x, y).converged_


def test_a_rate_that_runs_away_is_named_and_the_rate_that_is_taken_never_does():
    x, y = noisy(0)
    with pytest.raises(NonFiniteError, match=r"The delta rule with lr=1 diverges in pass \d+: steps grow where"):
        Perceptron(rule="delta", lr=1.0, random_state=0).fit(100 * x, y)
    for scale in (0.1, 1.0, 1e3):
        assert Perceptron(rule="delta", random_state=0).fit(scale * x, y).score(scale * x, y) > 0.85


@pytest.mark.parametrize("kinds", [2, 3])
def test_no_row_lies_on_a_plane_that_was_found(kinds):
    """On a grid weights come by that are right only because a tie goes to the first class."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x = rng.integers(-2, 3, (8, 2)).astype(float)
        y = (x @ rng.integers(-2, 3, (2, kinds))).argmax(1)
        if len(np.unique(y)) == kinds and separable(x, y):
            model = Perceptron(random_state=seed, epochs=5000).fit(x, y)
            raw = model.decision_function(x)
            raw = np.c_[-raw, raw] if kinds == 2 else raw
            own = raw[np.arange(8), y]
            raw[np.arange(8), y] = -np.inf
            assert model.converged_ and (own > raw.max(1)).all()


def test_many_columns_equal_columns_constant_columns_and_one_row_a_class():
    wide, y = np.random.default_rng(0).normal(size=(20, 400)), np.arange(20) % 3
    assert Perceptron(random_state=0).fit(wide, y).score(wide, y) == 1
    x, label = apart(2)
    more = np.c_[x, x, np.full(len(x), 3.0), np.zeros(len(x))]
    model = Perceptron(random_state=0, epochs=10_000).fit(more, label)
    assert model.score(more, label) == 1 and not model.coef_[0, -1]
    each = Perceptron(random_state=0).fit(np.eye(4), list("abcd"))
    assert each.converged_ and each.predict(np.eye(4)).tolist() == list("abcd")
    zeros = np.zeros((6, 2))
    with pytest.warns(ConvergenceWarning, match="No plane separates .* 3 of 6 rows"):
        Perceptron(random_state=0).fit(zeros, [0, 1] * 3)
    with pytest.warns(ConvergenceWarning):  # every row lies on the plane
        assert not Perceptron(random_state=0, fit_intercept=False, epochs=3).fit(zeros, [0, 1] * 3).converged_
    with pytest.warns(ConvergenceWarning, match="still falls after 1 passes"):
        Perceptron(rule="delta", epochs=1, fit_intercept=False).fit(zeros, [0, 1] * 3)


@pytest.mark.parametrize("k", [2, 3])
def test_a_warm_start_goes_on_from_what_was_learned(k):
    y = np.arange(30) % k
    x = 5 * np.eye(3)[y] + np.random.default_rng(0).uniform(-1, 1, (30, 3))
    model = Perceptron(warm_start=True, random_state=0).fit(x, y)
    learned = model.coef_.copy(), model.intercept_.copy()
    assert model.score(x, y) == 1 and np.abs(learned[0]).max() > 0
    model.fit(x, y)  # no row is wrong, so nothing moves
    np.testing.assert_allclose(model.coef_, learned[0])
    np.testing.assert_allclose(model.intercept_, learned[1])
