"""ROC and precision-recall: scikit-learn's points, one curve a class, a mean beyond seven."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as theirs

from ftheta.errors import InputError
from ftheta.measure import precision_recall, roc

RNG = np.random.default_rng(0)


@pytest.mark.slow
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 8)), max_size=30))
def test_points_are_scikit_learns(rows):
    y, s = np.array([True, False] + [r[0] for r in rows]), np.array([3, 4] + [r[1] for r in rows]) / 8
    found, pairs = roc(y, s), precision_recall(y, s)
    fpr, tpr, _ = theirs.roc_curve(y, s, drop_intermediate=False)
    assert found.fpr[0] == pytest.approx(fpr, abs=1e-12) and found.tpr[0] == pytest.approx(tpr, abs=1e-12)
    precision, recall, _ = theirs.precision_recall_curve(y, s)
    assert pairs.recall[0] == pytest.approx(recall[::-1], abs=1e-12)
    assert pairs.precision[0] == pytest.approx(precision[::-1], abs=1e-12)
    assert found.areas[0] == pytest.approx(theirs.roc_auc_score(y, s), abs=1e-12)
    assert pairs.areas[0] == pytest.approx(theirs.average_precision_score(y, s), abs=1e-12)


def probabilities(k, n=200):
    y = RNG.integers(0, k, n)
    p = RNG.dirichlet(np.ones(k), n) + np.eye(k)[y] * (RNG.random((n, 1)) < 0.5)
    return y, p / p.sum(1, keepdims=True), list(range(k))


@pytest.mark.parametrize(("k", "lines"), [(2, 1), (3, 3), (7, 7), (8, 1), (20, 1)])
@pytest.mark.parametrize("curve", [roc, precision_recall])
def test_one_line_a_class_and_a_mean_beyond_seven(k, lines, curve):
    found = curve(*probabilities(k))
    drawn = found.figure().axes[0].lines
    assert len(drawn) == lines + 1 and drawn[-1].get_label() == "chance"
    assert ("mean of" in drawn[0].get_label()) == (k > 7)
    assert len(found.table().columns["class"]) == (1 if k == 2 else k)


@pytest.mark.parametrize("curve", [roc, precision_recall])
def test_the_mean_curve_has_the_mean_area(curve):
    found = curve(*probabilities(9, 2000))
    x, y = found.figure().axes[0].lines[0].get_data()
    assert np.trapezoid(y, x) == pytest.approx(found.areas.mean(), abs=0.01)


def test_the_mean_precision_is_taken_at_the_first_score_that_reaches_the_recall():
    found = precision_recall(*probabilities(8, 60))
    at, mean = found.figure().axes[0].lines[0].get_data()
    pairs = [list(zip(r, p, strict=True)) for r, p in zip(found.recall, found.precision, strict=True)]
    assert mean == pytest.approx([np.mean([next(p for r, p in pair if r >= g) for pair in pairs]) for g in at])


def test_absent_classes_have_no_curve():
    y, p, _ = probabilities(4)
    found = roc(y[y < 3], p[y < 3], [0, 1, 2, 3])
    assert found.names == ("0", "1", "2") and found.n == (y < 3).sum()
    assert found.positives.tolist() == np.bincount(y[y < 3]).tolist()


def test_what_is_said():
    y, s = ["n", "y", "n", "y"], [0.1, 0.9, 0.6, 0.4]
    assert roc(y, s).caption == "ROC on 4 rows: ROC AUC 0.750 for class y; chance is 0.5."
    assert precision_recall(y, s).caption == (
        "Precision and recall on 4 rows: average precision 0.833 for class y; chance is 0.5."
    )
    assert precision_recall(y, s).figure().axes[0].lines[-1].get_ydata() == pytest.approx([0.5, 0.5])
    many = precision_recall(*probabilities(4))  # each of them against the others
    assert many.figure().axes[0].lines[-1].get_ydata() == pytest.approx([0.25, 0.25])
    assert roc(y, s).table().columns == {"class": ["y"], "rows": [2], "ROC AUC": [0.75]}
    three = roc([0, 1, 2], np.eye(3)[[0, 2, 2]]).caption
    assert three.startswith("ROC on 3 rows: mean ROC AUC 0.750 over 3 classes, from 0.500 (1) to 1.000 (0)")


@pytest.mark.parametrize("curve", [roc, precision_recall])
def test_one_class_has_no_curve(curve):
    with pytest.raises(InputError, match="All rows of y are b; a curve over thresholds needs rows of two classes"):
        curve(["b", "b"], [0.1, 0.2], ["a", "b"])
