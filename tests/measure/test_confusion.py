"""Confusion matrix: scikit-learn's counts, recalls and precisions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as theirs

from ftheta.measure import confusion

LABELS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=1, max_size=40)


@pytest.mark.slow
@given(LABELS)
def test_counts_and_shares_are_scikit_learns(rows):
    y, predicted = zip(*rows, strict=True)
    found = confusion(y, predicted, list("dabc"))
    assert found.counts.tolist() == theirs.confusion_matrix(y, predicted, labels=list("dabc")).tolist()
    precision, recall, _, support = theirs.precision_recall_fscore_support(
        y, predicted, labels=list("dabc"), zero_division=np.nan
    )
    table = found.table().columns
    assert [np.nan if v is None else v for v in table["recall"]] == pytest.approx(recall, nan_ok=True)
    assert [np.nan if v is None else v for v in table["precision"]] == pytest.approx(precision, nan_ok=True)
    assert table["rows"] == support.tolist()


def test_the_rival_of_a_class_is_named():
    found = confusion(["a", "a", "a", "a", "b", "c"], ["a", "b", "c", "c", "b", "a"])
    assert found.table().columns["most confused with"] == ["c", None, "a"]
    assert found.table().columns["count"] == [2, None, 1]
    assert found.caption == (
        "Confusion matrix of 3 classes on 6 rows: 2 (33.3 %) are right; "
        "the most frequent error is a taken for c, 2 times."
    )
    assert confusion([1, 2], [1, 2]).caption == "Confusion matrix of 2 classes on 2 rows: 2 (100.0 %) are right."
    assert found.figure().axes[0].get_title() == "Confusion matrix"
