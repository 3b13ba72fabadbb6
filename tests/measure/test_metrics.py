"""Metrics agree with scikit-learn to 1e-10: ties, absent classes, probabilities of exactly 0 and 1."""

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


@st.composite
def predictions(draw, most=4):
    """Labels and probabilities on a coarse grid, so that scores tie and some are exactly 0 or 1."""
    n, k, seed = draw(st.integers(2, 40)), draw(st.integers(2, most)), draw(st.integers(0, 2**31))
    rng = np.random.default_rng(seed)
    parts = rng.multinomial(4, np.ones(k) / k, n)
    return NAMES[rng.integers(0, draw(st.integers(1, k)), n)], parts / 4, NAMES[:k].tolist()


@given(predictions())
def test_metrics_of_labels_are_scikit_learns(made):
    y, p, classes = made
    answer = np.array(classes)[p.argmax(1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an answer that is no class of y
        balanced = theirs.balanced_accuracy_score(y, answer)
    assert measure.accuracy(y, answer) == pytest.approx(theirs.accuracy_score(y, answer), **FINE)
    assert measure.balanced_accuracy(y, answer) == pytest.approx(balanced, **FINE)


@pytest.mark.slow
@given(predictions())
def test_metrics_of_probabilities_are_scikit_learns(made):
    y, p, classes = made
    assert measure.log_loss(y, p, classes) == pytest.approx(theirs.log_loss(y, p, labels=classes), **FINE)
    assert measure.brier(y, p, classes) == pytest.approx(theirs.brier_score_loss(y, p, labels=classes), **FINE)


@pytest.mark.slow
@given(predictions())
def test_areas_are_scikit_learns_over_the_classes_that_are_there(made):
    y, p, classes = made
    ks = [1] if len(classes) == 2 else [k for k, c in enumerate(classes) if c in y]
    one = [(y == classes[k], p[:, k]) for k in ks]
    undefined = any(r.all() or not r.any() for r, _ in one)
    auc, ap = measure.roc_auc(y, p, classes), measure.average_precision(y, p, classes)
    if undefined:
        assert np.isnan(auc)
    else:
        assert auc == pytest.approx(np.mean([theirs.roc_auc_score(*pair) for pair in one]), **FINE)
    if all(r.any() for r, _ in one):
        assert ap == pytest.approx(np.mean([theirs.average_precision_score(*pair) for pair in one]), **FINE)
    else:
        assert np.isnan(ap)


def test_the_area_over_several_classes_is_scikit_learns_one_against_the_rest():
    rng = np.random.default_rng(3)
    y, p = rng.integers(0, 4, 300), rng.dirichlet(np.ones(4), 300)
    expected = theirs.roc_auc_score(y, p, multi_class="ovr", average="macro")
    assert measure.roc_auc(y, p) == pytest.approx(expected, **FINE)


numbers = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5), st.integers(0, 4)), min_size=2, max_size=30)


@given(numbers, st.sampled_from([0.0, 0.1, 0.5, 0.975, 1.0]))
def test_metrics_of_numbers_are_scikit_learns(rows, quantile):
    y, predicted, width = np.array(rows, dtype=float).T
    assert measure.mae(y, predicted) == pytest.approx(theirs.mean_absolute_error(y, predicted), **FINE)
    assert measure.rmse(y, predicted) == pytest.approx(theirs.root_mean_squared_error(y, predicted), **FINE)
    assert measure.r2(y, predicted) == pytest.approx(theirs.r2_score(y, predicted), **FINE)
    expected = theirs.mean_pinball_loss(y, predicted, alpha=quantile)
    assert measure.pinball(y, predicted, quantile) == pytest.approx(expected, **FINE)
    inside = [abs(a - b) <= w for a, b, w in zip(y, predicted, width, strict=True)]
    assert measure.coverage(y, predicted - width, predicted + width) == pytest.approx(np.mean(inside), **FINE)
    assert measure.mean_width(predicted - width, predicted + width) == pytest.approx(2 * width.mean(), **FINE)


def test_r2_keeps_its_digits_far_from_zero():
    y = 1e8 + np.arange(100.0)
    assert measure.r2(y, y + 1) == pytest.approx(1 - 100 / ((np.arange(100) - 49.5) ** 2).sum(), rel=1e-12)


# ---- R² in three forms


def forms(y, predicted):
    return [form(y, predicted) for form in (measure.r2_explained, measure.r2, measure.r2_correlation)]


def cholesterol():
    """True and predicted numbers of the training and the test half; fitted to the first."""
    rows = load("cholesterol")
    model = LinearRegression().fit(rows.x[::2], rows.y[::2])
    return [(rows.y[i::2], model.predict(rows.x[i::2])) for i in (0, 1)]


@pytest.mark.ledger("A032", covers="ftheta.measure.r2_explained")
def test_the_explained_ratio_is_of_any_numbers():
    assert [measure.r2_explained(*half) for half in cholesterol()] == pytest.approx([0.9990007, 0.864783], abs=5e-7)
    y, predicted = np.array([1.0, 2.0, 6.0]), np.array([0.0, 3.0, 3.0])
    assert measure.r2_explained(y, predicted) == pytest.approx(9 / 14)  # about ȳ = 3, not about the mean of ŷ
    assert np.isnan(measure.r2_explained([1.0, 1.0], [1.0, 2.0]))


@pytest.mark.ledger(
    "A033", covers="ftheta.measure.r2_correlation", printed=[0.990313] * 3, right=[0.864783, 0.990313, 0.994879]
)
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


@pytest.mark.ledger("A034", covers="ftheta.measure.r2", printed=0.990322, right=0.9903135)
def test_r2_is_of_sums_of_squares_not_of_variances(ledger):
    """Printed as 1 - s_e²/s_Y², which forgives residuals their mean."""
    train, held_out = cholesterol()
    assert measure.r2(*train) == pytest.approx(0.9990007, abs=5e-8)
    ledger(measure.r2(*held_out), rtol=1e-7)
    y, predicted = held_out
    assert 1 - np.var(y - predicted) / np.var(y) == pytest.approx(0.990322, abs=5e-7)
    assert measure.r2(y, np.full(5, y.mean())) == 0 and measure.r2(y, y - 1000) < -1


@given(numbers)
def test_the_squared_correlation_is_numpys(rows):
    y, predicted, _ = np.array(rows, dtype=float).T
    if np.ptp(y) and np.ptp(predicted):
        expected = np.corrcoef(y, predicted)[0, 1] ** 2
        assert measure.r2_correlation(y, predicted) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    else:
        assert np.isnan(measure.r2_correlation(y, predicted))


def test_single_precision_is_clipped_at_its_own_epsilon():
    p = np.array([[0, 1], [1, 0]], dtype=np.float32)
    expected = theirs.log_loss([0, 1], p)
    assert measure.log_loss([0, 1], p) == pytest.approx(expected, rel=1e-6) == pytest.approx(15.94, abs=0.01)
    assert measure.log_loss([0, 1], p.astype(float)) == pytest.approx(36.04, abs=0.01)


def test_one_row_has_no_r2():
    assert np.isnan(measure.r2([1.0], [2.0]))


def test_lists_series_and_tensors_are_arrays():
    y, p = [0, 1, 1], [0.2, 0.7, 0.4]
    expected = measure.brier(np.array(y), np.array([[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]))
    for kind in (list, pd.Series, torch.tensor):
        assert measure.brier(kind(y), kind(p)) == pytest.approx(expected, rel=1e-6)
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=[5, 3])
    assert measure.mae(frame["a"], [1.0, 3.0]) == 0.5


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (
            lambda: measure.mae([1, 2], [1, 2, 3]),
            InputError,
            r"y has 2 rows but predicted has 3; they must be the same",
        ),
        (lambda: measure.mae([[1, 2]], [1, 2]), InputError, r"y has shape \(1, 2\); one value a row"),
        (lambda: measure.mae([], []), InputError, r"y has shape \(0,\); one value a row, .* at least one row"),
        (lambda: measure.mae([1.0, np.nan], [1, 2]), InputError, r"y\[1\] is nan; drop the rows that have no finite"),
        (lambda: measure.mae([1.0], [np.inf]), InputError, r"predicted\[0\] is inf"),
        (lambda: measure.mae(["a"], [1]), InputTypeError, r"y holds <U1, but numbers are needed; labels go to classif"),
        (lambda: measure.accuracy(["a", None], ["a", "b"]), InputError, r"y\[1\] is None"),
        (lambda: measure.coverage([1.0], [np.nan], [2.0]), InputError, r"low\[0\] is nan"),
        (lambda: measure.pinball([1], [1], 1.5), InputError, r"quantile is 1.5; a share between 0 and 1 is needed"),
        (lambda: measure.brier(["a"], [[0.5, 0.5]], ["b", "c"]), InputError, r"y\[0\] is a, .* 2 classes \(b, c\)"),
        (lambda: measure.brier([0, 1], [[1, 0]]), InputError, r"p has shape \(1, 2\); for 2 rows and the 2 classes"),
        (lambda: measure.brier([0], [[1.0]]), InputError, r"There is one class, 0; name all classes"),
        (lambda: measure.brier([0], [[1, 0]], [1, 1]), InputError, r"classes \(1, 1\) names one of them twice"),
        (
            lambda: measure.brier([0, 1], [[0.5, 0.5], [0.5, 0.6]]),
            InputError,
            r"Row 1 of p is \[0.5 0.6\] with sum 1.1",
        ),
        (lambda: measure.brier([0, 1], [[0.5, 0.5], [-1, 2]]), InputError, r"lie in \[0, 1\] and sum to 1"),
        (lambda: measure.brier([0, 1], [[np.nan, 0.5], [0, 1]]), InputError, r"Row 0 of p is \[nan 0.5\]"),
    ],
)
def test_what_cannot_be_measured_is_one_sentence(call, kind, said):
    with pytest.raises(kind, match=said) as caught:
        call()
    assert "\n" not in str(caught.value)
