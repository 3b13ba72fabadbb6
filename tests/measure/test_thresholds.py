"""Thresholds: every criterion by brute force and as scikit-learn tunes it; the ledger's toys."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as theirs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import TunedThresholdClassifierCV

from ftheta.errors import InputError
from ftheta.measure import at_threshold, decide, roc, threshold, wilson

LOSS = np.array([[0.0, 1.0], [4.0, 0.5]])


def rows(n=80, seed=0, grid=None):
    rng = np.random.default_rng(seed)
    y = np.append([0, 1], rng.integers(0, 2, n - 2))
    p = 1 / (1 + np.exp(-(2 * y - 1 + 1.5 * rng.standard_normal(n))))
    return y, p if grid is None else np.round(p * grid) / grid


SCORERS = {
    "accuracy": theirs.accuracy_score,
    "balanced accuracy": theirs.balanced_accuracy_score,
    "f1": theirs.f1_score,
    "cost": lambda y, c: sum(LOSS[a, b] for a, b in zip(y, c, strict=True)) / len(y),
}


# ---- one threshold


@pytest.mark.ledger("B205", covers="ftheta.measure.at_threshold")
def test_sensitivity_specificity_and_the_area_as_a_probability():
    """TP 40, FN 10, TN 45, FP 5: 0.8, 0.9, 0.1. AUC: P(a random positive outranks a random negative)."""
    y, p = np.repeat([1, 1, 0, 0], [40, 10, 45, 5]), np.repeat([0.9, 0.2, 0.2, 0.9], [40, 10, 45, 5])
    found = at_threshold(y, p)
    assert (found.tp, found.fn, found.tn, found.fp) == (40, 10, 45, 5)
    assert (found.sensitivity, found.specificity, found.fpr) == (0.8, 0.9, 0.1)
    assert (found.recall, found.precision, found.accuracy) == (0.8, 40 / 45, 0.85)
    for seed in range(5):
        y, p = rows(60, seed, grid=8)  # with ties, which count one half
        pairs = [(a > b) + (a == b) / 2 for a in p[y == 1] for b in p[y == 0]]
        curve = roc(y, p)
        assert curve.areas[0] == pytest.approx(np.mean(pairs), abs=1e-12)
        at = [at_threshold(y, p, t) for t in np.append(2, np.unique(p)[::-1] - 1e-9)]
        assert [a.fpr for a in at] == pytest.approx(curve.fpr[0])
        assert [a.sensitivity for a in at] == pytest.approx(curve.tpr[0])


def test_what_is_said_of_one_threshold():
    found = at_threshold(["n", "n", "y", "y"], [0.1, 0.6, 0.6, 0.9], 0.6)  # a score on the threshold is not above it
    assert (found.tp, found.fn, found.tn, found.fp) == (1, 1, 2, 0)
    assert found.caption == (
        "Confusion matrix at threshold 0.6: of class y 1 rows found and 1 missed, of class n 2 left alone and "
        "0 false alarms."
    )
    table = found.table().columns
    assert table["rows"] == ["1 of 2", "2 of 2", "0 of 2", "1 of 1", "3 of 4"]
    assert (table["low"][0], table["high"][0]) == wilson(1, 2)
    turned = at_threshold(["n", "n", "y", "y"], [0.9, 0.4, 0.4, 0.1], 0.4, classes=["y", "n"])
    assert (turned.tp, turned.fn, turned.tn, turned.fp) == (1, 1, 2, 0) and turned.classes == ("y", "n")
    none = at_threshold(["n", "n", "y", "y"], [0.1, 0.6, 0.6, 0.9], 0.95)
    assert math.isnan(none.precision) and none.table().columns["value"][3] is None
    drawn = {t.get_text().split("\n")[0] for t in found.figure().axes[0].texts}
    assert drawn == {"2 right", "1 right", "1 taken for", "100 %", "50 %", "67 %"}  # an empty cell stays empty


# ---- the best one


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(list(SCORERS)), st.sampled_from([4, 20, None]))
def test_no_threshold_is_better_and_the_curve_is_scikit_learns(seed, by, grid):
    y, p = rows(30, seed, grid)
    found = threshold(y, p, by, loss=LOSS if by == "cost" else None)
    each = [SCORERS[by](y, (p > t).astype(int)) for t in found.thresholds]
    assert found.criterion == pytest.approx(each, abs=1e-12) and len(each) == len(np.unique(p)) + 1
    best = min(each) if by == "cost" else max(each)
    assert found.value == pytest.approx(best, abs=1e-12)
    assert SCORERS[by](y, decide(p, threshold=found.threshold)) == pytest.approx(best, abs=1e-12)
    assert found.tp.tolist() == [int(((p > t) & (y == 1)).sum()) for t in found.thresholds]


class Given(ClassifierMixin, BaseEstimator):
    """Probabilities that are the features."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


@pytest.mark.parametrize("by", ["accuracy", "balanced accuracy", "f1"])
def test_the_choice_is_that_of_scikit_learns_tuner(by):
    y, p = rows(200, 6)
    found = threshold(y, p, by)
    tuner = TunedThresholdClassifierCV(
        Given().fit(p[:, None], y),
        scoring=by.replace(" ", "_"),
        cv="prefit",
        refit=False,
        thresholds=np.sort(found.thresholds),
    ).fit(p[:, None], y)
    assert found.value == pytest.approx(tuner.best_score_, abs=1e-12)
    if (found.criterion == found.value).sum() == 1:
        assert found.threshold == pytest.approx(tuner.best_threshold_, abs=1e-12)
    assert found.criterion[found.thresholds == tuner.best_threshold_] == pytest.approx([found.value])


def test_precision_and_recall_are_kept():
    y, p = rows(300, 2)
    precision, recall, _ = theirs.precision_recall_curve(y, p)
    kept = threshold(y, p, "recall at precision", at_least=0.8)
    assert kept.value == pytest.approx(recall[:-1][precision[:-1] >= 0.8].max())
    assert at_threshold(y, p, kept.threshold).precision >= 0.8 and kept.corrected is None
    held = threshold(y, p, "precision at recall", at_least=0.9)
    assert held.value == pytest.approx(precision[:-1][recall[:-1] >= 0.9].max())
    assert at_threshold(y, p, held.threshold).recall >= 0.9
    assert "optimism" not in held.caption


@pytest.mark.ledger("A045", covers="ftheta.measure.threshold")
def test_recall_never_rises_with_the_threshold_and_precision_mostly_does():
    """Scores 0.9 (negative) and 0.6 (positive): precision 0.5 above 0.5, and 0 above 0.7."""
    y, p = [0, 1], [0.9, 0.6]
    low, high = at_threshold(y, p, 0.5), at_threshold(y, p, 0.7)
    assert (low.precision, high.precision) == (0.5, 0.0)
    for seed in range(20):
        found = threshold(*rows(40, seed, grid=10), "f1")
        assert (np.diff(found.thresholds) < 0).all() and (np.diff(found.recall) >= 0).all()
        low, high = (at_threshold(*rows(2000, seed), t) for t in (0.5, 0.7))
        assert low.precision < high.precision and high.recall < low.recall
    drawn = found.figure().axes[1].lines
    assert [line.get_label() for line in drawn[:2]] == ["precision", "recall"]
    assert drawn[1].get_ydata() == pytest.approx(found.recall)


def test_with_calibrated_probabilities_and_many_rows_the_choice_is_elkans():
    rng = np.random.default_rng(0)
    p = rng.random(200_000)
    y = (rng.random(200_000) < p).astype(int)
    found = threshold(y, p, "cost", loss=[[0, 1], [4, 0]])
    assert found.calibrated == 0.2 and found.threshold == pytest.approx(0.2, abs=0.02)
    assert found.low <= found.threshold <= found.high and found.high - found.low < 0.06
    assert threshold(y, p, "cost", loss=[[-1, 3], [7, 1]]).calibrated == 0.4
    assert threshold(y, p, "accuracy").calibrated == 0.5 and threshold(y, p, "f1").calibrated is None


def test_the_correction_takes_off_the_optimism_of_choosing():
    """Scores without any information: the best accuracy looks better than 0.5, which it is on fresh rows."""
    seen, corrected = [], []
    for seed in range(30):
        rng = np.random.default_rng([7, seed])
        y, p = np.append([0, 1], rng.integers(0, 2, 58)), rng.random(60)
        found = threshold(y, p, "accuracy", seed=seed)
        seen.append(found.value)
        corrected.append(found.corrected)
        cost = threshold(y, p, "cost", loss=[[0, 1], [1, 0]], seed=seed)  # the share of wrong rows
        assert (cost.value, cost.corrected) == pytest.approx((1 - found.value, 1 - found.corrected))
    gap = np.mean(seen) - 0.5
    assert gap > 0.05 and abs(np.mean(corrected) - 0.5) < 0.4 * gap


def test_resampled_choices_narrow_with_rows_and_repeat_with_the_seed():
    few, many = (threshold(*rows(n, 3), "accuracy", seed=1) for n in (50, 5000))
    assert many.high - many.low < few.high - few.low
    again = threshold(*rows(50, 3), "accuracy", seed=1)
    assert (again.low, again.high, again.corrected) == (few.low, few.high, few.corrected)
    narrow = threshold(*rows(50, 3), "accuracy", seed=1, level=0.5)
    assert few.low <= narrow.low <= narrow.high <= few.high and (narrow.low, narrow.high) != (few.low, few.high)


def test_what_is_said():
    y, p = ["n", "n", "y", "y"], [0.1, 0.4, 0.3, 0.9]
    found = threshold(y, p, "cost", loss=[[0, 1], [10, 0]])
    assert found.caption.startswith("Chosen on these 4 rows, which must be validation rows: class y where p > 0.2 (")
    assert found.caption.endswith(f"cost 0.25 there, {found.corrected:.4g} without the optimism of choosing.")
    table = found.table().columns
    assert table["threshold"] == ["chosen", "one half", "if p is calibrated"]
    assert table["p above"] == pytest.approx([0.2, 0.5, 1 / 11]) and table["cost"] == pytest.approx([0.25, 2.5, 0.5])
    assert table["precision"] == pytest.approx([2 / 3, 1, 0.5]) and table["recall"] == [1, 0.5, 1]
    upper, lower = found.figure().axes
    assert upper.get_title() == "Threshold for class y by cost, on 4 validation rows"
    assert upper.get_ylabel() == "cost (per row, in units of the loss)"
    assert threshold(y, p, "f1").figure().axes[0].get_ylabel() == "f1 (share)"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"by": "f2"}, "criterion.*f2.*f1"),
        ({"by": "f1", "at_least": 0.5}, "at_least=0.5 with by='f1'; it belongs to"),
        ({"by": "recall at precision"}, "at_least=None with by='recall at precision'"),
        ({"by": "recall at precision", "at_least": 0}, "at_least is 0; a share above 0 and up to 1 is needed"),
        ({"by": "recall at precision", "at_least": 0.9, "p": [0.9, 0.9, 0.6, 0.7]}, "No threshold has precision of at"),
        ({"by": "f1", "loss": np.eye(2)}, "A loss was given with by='f1'; it belongs to by='cost'"),
        ({"loss": np.eye(3)}, r"loss has shape \(3, 3\); 2 rows are needed"),
        ({"loss": [[0, 1], [0, 1]]}, "each error must cost more than no error"),
        ({"loss": [[0, 1, 2], [1, 0, 2]]}, r"it must be \(2, 2\)"),
        ({"loss": [[0], [1]]}, r"it must be \(2, 2\)"),
        ({"by": ["f1"]}, "Unknown criterion"),
        ({"by": "recall at precision", "at_least": "most"}, "at_least is most; a share above 0"),
        ({"y": [1, 1, 1, 1], "classes": [0, 1]}, "All rows of y are 1; a threshold is judged on rows of two classes"),
        ({"y": [0, 1, 2, 1], "p": np.full((4, 3), 1 / 3)}, r"There are 3 classes \(0, 1, 2\); a threshold is for two"),
        ({"p": [0.1, 0.2, 0.3, 1.4]}, "probabilities lie in"),
        ({"level": 1.5}, "level is 1.5"),
    ],
)
def test_sentences(change, says):
    with pytest.raises(InputError, match=says):
        threshold(**({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.3, 0.9]} | change))


def test_single_precision_is_compared_with_the_threshold_as_double():
    y, p = [0, 0, 1, 1], np.array([0.1, 0.3, 0.6, 0.9], np.float32)  # 0.6 is stored as 0.60000002
    assert at_threshold(y, p, 0.6).tp == at_threshold(y, p.astype(float), 0.6).tp == 2
