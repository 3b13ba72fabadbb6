"""Values of scores agree with scikit-learn to 1e-10: ties, absent classes, probabilities of exactly 0 and 1."""

import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as theirs

from ftheta import measure
from ftheta.data import load
from ftheta.errors import InputError, InputTypeError
from ftheta.models import LinearRegression

FINE = {"rel": 1e-10, "abs": 1e-10}
NAMES = np.array(["ant", "bee", "cat", "dog"])


def values(scores):
    return {s.name: s.value for s in scores.scores}


@st.composite
def predictions(draw, most=4):
    """Labels and probabilities on a coarse grid, so that scores tie and some are exactly 0 or 1."""
    n, k, seed = draw(st.integers(2, 9)), draw(st.integers(2, most)), draw(st.integers(0, 2**31))
    rng = np.random.default_rng(seed)
    parts = rng.multinomial(4, np.ones(k) / k, n)
    return NAMES[rng.integers(0, draw(st.integers(1, k)), n)], parts / 4, NAMES[:k].tolist()


@given(predictions())
def test_scores_of_probabilities_are_scikit_learns(made):
    y, p, classes = made
    answer, found = np.array(classes)[p.argmax(1)], values(measure.classification(y, p, classes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a prediction that is not a class of y
        balanced = theirs.balanced_accuracy_score(y, answer)
    assert found["accuracy"] == pytest.approx(theirs.accuracy_score(y, answer), **FINE)
    assert found["balanced accuracy"] == pytest.approx(balanced, **FINE)
    assert found["log loss"] == pytest.approx(theirs.log_loss(y, p, labels=classes), **FINE)
    assert found["Brier score"] == pytest.approx(theirs.brier_score_loss(y, p, labels=classes), **FINE)
    ks = [1] if len(classes) == 2 else [k for k, c in enumerate(classes) if c in y]
    one = [(y == classes[k], p[:, k]) for k in ks]
    for name, area, defined in (
        ("ROC AUC", theirs.roc_auc_score, lambda rows: rows.any() and not rows.all()),
        ("average precision", theirs.average_precision_score, np.any),
    ):
        if all(defined(rows) for rows, _ in one):
            assert found[name] == pytest.approx(np.mean([area(*pair) for pair in one]), **FINE)
        else:
            assert np.isnan(found[name])


numbers = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5), st.integers(0, 4)), min_size=2, max_size=9)


@given(numbers, st.sampled_from([0.1, 0.5, 0.95]))
def test_scores_of_numbers_are_scikit_learns(rows, nominal):
    y, predicted, width = np.array(rows, dtype=float).T
    low, high = predicted - width, predicted + width
    found = values(measure.regression(y, predicted, low=low, high=high, nominal=nominal))
    tail = (1 - nominal) / 2
    pinball = [theirs.mean_pinball_loss(y, end, alpha=q) for end, q in ((low, tail), (high, 1 - tail))]
    expected = {
        "R²": theirs.r2_score(y, predicted),
        "RMSE": theirs.root_mean_squared_error(y, predicted),
        "MAE": theirs.mean_absolute_error(y, predicted),
        "pinball": np.mean(pinball),
        "coverage": np.mean(abs(y - predicted) <= width),
        "mean width": 2 * width.mean(),
    }
    assert found == {name: pytest.approx(value, **FINE) for name, value in expected.items()}


def forms(y, predicted):
    """Variation of the predictions over that of y; 1 - error over variation, which is ours; squared correlation."""
    explained = ((predicted - y.mean()) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    return [explained, values(measure.regression(y, predicted))["R²"], np.corrcoef(y, predicted)[0, 1] ** 2]


def cholesterol():
    """True and predicted numbers of the training and the test half; fitted to the first."""
    rows = load("cholesterol")
    model = LinearRegression().fit(rows.x[::2], rows.y[::2])
    return [(rows.y[i::2], model.predict(rows.x[i::2])) for i in (0, 1)]


@pytest.mark.ledger("A032", covers="ftheta.measure.regression")
def test_the_explained_ratio_is_r2_on_the_rows_of_the_fit_only():
    assert [forms(*half)[0] for half in cholesterol()] == pytest.approx([0.9990007, 0.864783], abs=5e-7)
    assert [forms(*half)[1] for half in cholesterol()] == pytest.approx([0.9990007, 0.9903135], abs=5e-7)


@pytest.mark.ledger("A033", covers="ftheta.measure.regression", printed="equal", right=[0.864783, 0.990313, 0.994879])
def test_the_three_r2_are_equal_on_the_rows_of_the_fit_only(ledger):
    """Printed as equal for some sample; they are for least squares with an intercept on its own rows, at every m."""
    train, held_out = cholesterol()
    assert forms(*train) == pytest.approx([0.9990007] * 3, abs=5e-8)
    ledger(forms(*held_out), rtol=1e-6)
    for m in (1, 2, 5):
        rng = np.random.default_rng(m)
        x = rng.normal(size=(60, m))
        y = x.sum(1) + rng.normal(size=60)
        model = LinearRegression().fit(x[:30], y[:30])
        assert np.ptp(forms(y[:30], model.predict(x[:30]))) < 1e-12
        assert np.ptp(forms(y[30:], model.predict(x[30:]))) > 1e-3
        through_zero = LinearRegression(fit_intercept=False).fit(x[:30], y[:30] + 2)
        assert np.ptp(forms(y[:30] + 2, through_zero.predict(x[:30]))) > 1e-3


@pytest.mark.ledger(
    "A034",
    covers="ftheta.measure.regression",
    says="R² = 1 - RSS/TSS = 1 - s_e²/s_Y², with the sample variances of residuals and Y",
    printed=0.990322,
    right=0.9903135,
)
def test_r2_is_of_sums_of_squares_not_of_variances(ledger):
    """Printed as 1 - s_e²/s_Y², which forgives residuals their mean."""
    train, held_out = cholesterol()
    assert forms(*train)[1] == pytest.approx(0.9990007, abs=5e-8)
    ledger(forms(*held_out)[1], rtol=1e-7)
    y, predicted = held_out
    assert 1 - np.var(y - predicted) / np.var(y) == pytest.approx(0.990322, abs=5e-7)


def test_r2_far_from_zero_of_one_row_and_of_a_constant():
    def r2(y, predicted):
        return values(measure.regression(y, predicted))["R²"]

    y = 1e8 + np.arange(100.0)
    assert r2(y, y + 1) == pytest.approx(1 - 100 / ((np.arange(100) - 49.5) ** 2).sum(), rel=1e-12)
    assert np.isnan(r2([1.0], [2.0])) and r2([1.0, 1.0], [1.0, 1.0]) == 1 and r2([1.0, 1.0], [1.0, 2.0]) == 0


def test_lists_series_and_tensors_are_arrays():
    y, p = [0, 1, 1], [0.25, 0.75, 0.375]
    expected = values(measure.classification(np.array(y), np.array([[0.75, 0.25], [0.25, 0.75], [0.625, 0.375]])))
    for kind in (list, pd.Series, torch.tensor):
        assert values(measure.classification(kind(y), kind(p))) == pytest.approx(expected, rel=1e-6, nan_ok=True)
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=[5, 3])
    assert values(measure.regression(frame["a"], [1.0, 3.0]))["MAE"] == 0.5


def regression(y, predicted, **ends):
    return lambda: measure.regression(y, predicted, **ends)


def classification(*given):
    return lambda: measure.classification(*given)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (regression([1, 2], [1, 2, 3]), InputError, r"y has 2 rows but predicted has 3; they must be the same"),
        (regression([[1, 2]], [1, 2]), InputError, r"y has shape \(1, 2\); one value per row"),
        (regression([], []), InputError, r"y has shape \(0,\); one value per row, .* at least one row"),
        (regression([1.0, np.nan], [1, 2]), InputError, r"y\[1\] is nan; drop the rows that have no finite"),
        (regression([1.0], [np.inf]), InputError, r"predicted\[0\] is inf"),
        (regression(["a"], [1]), InputTypeError, r"y holds <U1, but numbers are needed; labels go to classif"),
        (regression([1.0], [1.0], low=[np.nan], high=[2.0]), InputError, r"low\[0\] is nan"),
        (regression([1.0], [1.0], low=[0.0]), InputError, r"pass both low= and high="),
        (lambda: measure.labels(["a", None], ["a", "b"]), InputError, r"y\[1\] is None"),
        (classification(["a"], [[0.5, 0.5]], ["b", "c"]), InputError, r"y\[0\] is a, .* 2 classes \(b, c\)"),
        (classification([0, 1], [[1, 0]]), InputError, r"p has shape \(1, 2\); for the classes"),
        (classification([0], [[1.0]]), InputError, r"There is one class, 0; name all"),
        (classification([0], [[1, 0]], [1, 1]), InputError, r"classes \(1, 1\) names one of them twice"),
        (classification([0, 1], [[0.5, 0.5], [0.5, 0.6]]), InputError, r"Row 1 of p is \[0.5 0.6\] with sum 1.1"),
        (classification([0, 1], [[0.5, 0.5], [-1, 2]]), InputError, r"in \[0, 1\] and sum to 1"),
        (classification([0, 1], [[np.nan, 0.5], [0, 1]]), InputError, r"Row 0 of p is \[nan 0.5\]"),
        (
            classification([1], [0.5], ["0", "1"]),
            InputError,
            r"y\[0\] is 1, which is not one of the 2 classes \(0, 1\)",
        ),
        (classification(np.array([0, "a"], dtype=object), [0.5, 0.5]), InputTypeError, "kinds int, str, which have no"),
        (lambda: measure.classification([0, 1], [0.5, 0.5], level=95), InputError, "level is 95; a share strictly"),
        (
            lambda: measure.regression([0, 1], [0.5, 0.5], low=[0, 0], high=[1, 1], nominal=0.0),
            InputError,
            "level is 0",
        ),
    ],
)
def test_what_cannot_be_measured_is_one_sentence(call, kind, text):
    with pytest.raises(kind, match=text) as caught:
        call()
    assert "\n" not in str(caught.value)
