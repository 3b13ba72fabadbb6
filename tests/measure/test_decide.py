"""Decisions: scikit-learn's fixed thresholds, the sign rule, other priors, and rows without an answer."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.model_selection import FixedThresholdClassifier

from ftheta import explain
from ftheta.data import two_gaussians
from ftheta.errors import InputError, InputTypeError
from ftheta.measure import decide
from ftheta.models import LogisticRegression

RNG = np.random.default_rng(0)
ROWS = two_gaussians(300, seed=3)
MODEL = LogisticRegression().fit(ROWS.x, np.where(ROWS.y == 1, "ill", "a well"))
THREE = RNG.dirichlet(np.ones(3), 40)


@pytest.mark.ledger("A042", covers="ftheta.models.LogisticRegression.predict")
def test_the_side_of_the_hyperplane_is_the_class():
    """θᵀ(1, x) > 0 is class 1, in a plane of the feature space R²; the picture shades both sides of the line."""
    theta = np.append(MODEL.intercept_, MODEL.coef_)
    x = RNG.uniform(-4, 4, (500, 2))
    side = np.array([theta[0] + theta[1] * a + theta[2] * b > 0 for a, b in x])
    frame = pd.DataFrame(x, columns=ROWS.x.columns)
    assert (MODEL.predict(frame) == np.where(side, "ill", "a well")).all() and 0 < side.mean() < 1
    drawn = explain.regions(MODEL, ROWS.x, np.where(ROWS.y == 1, "ill", "a well")).figure().axes[0]
    shades = np.asarray(drawn.images[0].get_array())  # (G, G, 3): blue for one side, orange for the other
    left, right, low, high = drawn.images[0].get_extent()
    up, across = np.meshgrid(np.linspace(low, high, len(shades)), np.linspace(left, right, len(shades)), indexing="ij")
    height = theta[0] + theta[1] * across + theta[2] * up
    assert ((shades[..., 0] > shades[..., 2]) == (height > 0))[abs(height) > 0.1].all()
    line = np.concatenate([path.vertices for c in drawn.collections[:1] for path in c.get_paths()])
    step = (right - left) / len(shades)
    assert abs(theta[0] + line @ theta[1:]).max() < np.linalg.norm(theta[1:]) * 2 * step


@pytest.mark.ledger("A044", covers="ftheta.measure.decide")
@settings(max_examples=60)
@given(st.floats(-700, 700).filter(lambda f: f == 0 or abs(f) > 1e-15))
def test_above_one_half_is_the_sign_rule(f):
    """h > ½ exactly where f > 0 (below |f| = 1e-15 the sigmoid itself is rounded to ½)."""
    assert decide(np.array([expit(f)]), threshold=0.5)[0] == (f > 0)


@pytest.mark.parametrize("t", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_a_threshold_is_scikit_learns(t):
    theirs = FixedThresholdClassifier(MODEL, threshold=t, pos_label="ill").fit(ROWS.x, MODEL.predict(ROWS.x))
    found = decide(theirs.estimator_.predict_proba(ROWS.x), threshold=t, classes=theirs.classes_)
    assert (found == theirs.predict(ROWS.x)).all()


def test_a_threshold_is_a_loss_and_belongs_to_the_first_class():
    p = np.arange(101) / 100
    assert decide(p, threshold=0.3).tolist() == [int(a > 0.3) for a in p]
    away = abs(p - 0.3) > 1e-9  # there both answers cost the same
    assert (decide(p, [[0, 0.3], [0.7, 0]]) == decide(p, threshold=0.3))[away].all()


def test_a_loss_matrix_has_a_row_for_each_true_class():
    """A missed illness (true 1, answer 0) costs 5: the answer is 1 from p = 1/6 on."""
    assert decide([0.15, 0.18], [[0, 1], [5, 0]]).tolist() == [0, 1]


def test_other_priors_move_the_answer():
    """Trained on halves and used where 1 in 100 is ill: p = 0.9 is then 0.083."""
    assert 1 / (1 + math.exp(-(math.log(0.9 / 0.1) + math.log(0.01 / 0.99)))) == pytest.approx(0.0833, abs=1e-4)
    given_priors = {"priors": [0.99, 0.01], "trained_priors": [0.5, 0.5]}
    assert decide([0.9], **given_priors).tolist() == [0]
    assert decide([0.9, 0.9], threshold=0.08, **given_priors).tolist() == [1, 1]
    assert decide([0.9], threshold=0.084, **given_priors).tolist() == [0]


def test_rows_below_one_minus_the_cost_have_no_answer():
    found = decide(THREE, reject=0.4, classes=["a", "b", "c"])
    assert found.dtype.kind == "U"
    assert found.tolist() == ["abc"[row.argmax()] if row.max() >= 0.6 else "reject" for row in THREE]
    assert decide(THREE, reject=0.4, rejected=-1).tolist() == [
        int(row.argmax()) if row.max() >= 0.6 else -1 for row in THREE
    ]
    mixed = decide(THREE, reject=0.4)  # numbers, and a word
    assert mixed.dtype == object and set(mixed) == {0, 1, 2, "reject"} and isinstance(mixed[0], int | str)
    assert decide(THREE, reject=1.0).dtype.kind == "i"


@pytest.mark.parametrize(
    ("given_args", "says"),
    [
        ({"p": THREE, "loss": np.eye(2)}, r"loss has shape \(2, 2\); 3 rows are needed"),
        ({"p": THREE, "loss": np.ones((3, 2))}, r"loss has shape \(3, 2\); an answer for each class .* so \(3, 3\)"),
        ({"p": [[0.5, 0.6]]}, "Row 0 of p is .* with sum 1.1; probabilities lie in"),
        ({"p": [[1.5, -0.5]]}, "probabilities lie in"),
        ({"p": 0.5}, r"p has shape \(\); probabilities \(n, K\)"),
        ({"p": []}, "at least one row"),
        ({"p": THREE, "classes": ["a", "b"]}, r"p has shape \(40, 3\); for the classes \(a, b\)"),
        ({"p": THREE, "priors": [0.2, 0.3, 0.5]}, "priors= are the shares of use, .* pass both or neither"),
        ({"p": THREE, "trained_priors": [0.2, 0.3, 0.5]}, "pass both or neither"),
        ({"p": THREE, "priors": [0.2, 0.3, 0.6], "trained_priors": [0.2, 0.3, 0.5]}, "priors is .* with sum 1.1"),
        ({"p": THREE, "priors": [0.2, 0.3, 0.5], "trained_priors": [0.5, 0.6, -0.1]}, "old is .*not negative"),
        ({"p": THREE, "threshold": 0.5}, "threshold=0.5 parts two classes, but p has 3; give a loss matrix"),
        ({"p": [0.5], "threshold": 0.5, "reject": 0.1}, "is a decision by itself; leave loss= and reject= out"),
        ({"p": [0.5], "threshold": 0.5, "loss": np.eye(2)}, "is a decision by itself"),
        ({"p": [0.5], "threshold": np.nan}, "threshold is nan; give a finite number"),
        ({"p": THREE, "reject": 0.1, "rejected": 2}, "rejected=2 is the name of a class"),
        ({"p": THREE, "reject": [0.1, 0.2]}, "the cost of giving no answer must be a finite number"),
        ({"p": [0.5], "threshold": "half"}, "threshold is 'half'; give a finite number"),
        ({"p": [[0.5, 0.5], [1.0]]}, "p has rows of different lengths; give each as many values"),
        ({"p": [["a", "b"]]}, "p holds <U1, but probabilities are numbers"),
        ({"p": THREE, "loss": "zero"}, "loss is 'zero'; numbers in rows of equal length are needed"),
    ],
)
def test_sentences(given_args, says):
    with pytest.raises((InputError, InputTypeError), match=says):
        decide(**given_args)
