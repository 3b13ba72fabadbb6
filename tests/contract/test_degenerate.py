"""Sixteen degenerate data sets and extreme numbers through every estimator: finite answers, or one sentence.

The outcomes are pinned below; an estimator that is not named works.
"""

import re

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import is_classifier

from ftheta.errors import FThetaError

from .enrolled import VARIANTS, answers, name_of, small

RNG = np.random.default_rng(0)
BASE = RNG.normal(size=(40, 4))
SCORE = BASE @ [1.0, -2.0, 0.5, 0.0]


def with_column(values):
    return np.c_[BASE, np.broadcast_to(values, 40)]


def ill(condition):
    """A matrix of this condition number."""
    u, _ = np.linalg.qr(RNG.normal(size=(40, 4)))
    v, _ = np.linalg.qr(RNG.normal(size=(4, 4)))
    return u * np.geomspace(1, 1 / condition, 4) @ v.T


SETS = {  # name -> X and a score: its sign is the class, its value the number to predict
    "one row": (BASE[:1], SCORE[:1]),
    "two rows": (BASE[:2], np.array([-1.0, 1.0])),
    "one column": (BASE[:, :1], SCORE),
    "1000 columns, 10 rows": (RNG.normal(size=(10, 1000)), SCORE[:10]),
    "a constant column": (with_column(14.62), SCORE),
    "an almost constant column": (with_column(14.62 + 1e-14 * (np.arange(40) % 2)), SCORE),
    "every column twice": (np.c_[BASE, BASE], SCORE),
    "equal rows with different answers": (np.repeat(BASE[:5], 8, axis=0), np.tile([-1.0, 1.0], 20)),
    "one answer": (BASE, np.ones(40)),
    "one positive in 1000": (RNG.normal(size=(1000, 4)), np.where(np.arange(1000) == 7, 1.0, -1.0)),
    "an exact answer": (BASE * 100, np.where(BASE[:, 0] > 0, 100.0, -100.0)),
    "condition 1e10": (ill(1e10), SCORE),
    "scale 1e-150": (BASE * 1e-150, SCORE),
    "scale 1e150": (BASE * 1e150, SCORE),
    "offset 1e8": (BASE + 1e8, SCORE),
    "answers of scale 1e200": (BASE, SCORE * 1e200),
}
TOO_LARGE = r"X contains inf or a value too large for float32 at row 0, column 0 \(1\.25\d*e\+149\)"
ANY_CLASSIFIER = "|".join(sorted({type(v).__name__ for v in VARIANTS if is_classifier(v)}))
PINNED = {  # (data set, estimator) -> what it says
    ("one row", ANY_CLASSIFIER): r"y has 1 class \(1, 1 rows\); .* needs at least 2",
    ("one answer", ANY_CLASSIFIER): r"y has 1 class \(1, 40 rows\); .* needs at least 2",
    ("one row", "Whitening"): r"No column of X varies over its 1 sample\(s\): there is nothing to whiten",
    (
        "1000 columns, 10 rows",
        "BasisRegression",
    ): r"1000 inputs have 167668501 functions \(polynomial, degree=3, size=6\)",
    ("two rows", "Discriminant"): "No column of X varies within a class: each class is one point",
    ("equal rows with different answers", "AdaBoost"): "The first tree, of max_depth=3, is not better than chance",
    ("scale 1e150", "float32"): TOO_LARGE,
    ("scale 1e150", ""): r"value too large for float64 at row 0, column 0 .* Rescale the column; at most 1e100",
    (
        "answers of scale 1e200",
        "Regressor|LinearReg|BasisReg|Ridge|Lasso|ElasticNet",
    ): r"y holds \S+e\+200; at most 1e\+100 is taken",
}


def assert_finite(found):
    for method, values in found.items():
        assert np.isfinite(np.asarray(values, float)).all(), method
    if "predict_proba" in found:
        assert np.allclose(found["predict_proba"].sum(1), 1, atol=1e-6)


def expected(data, name):
    return next((said for (where, who), said in PINNED.items() if where == data and re.search(who, name)), None)


@pytest.mark.middle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("data", SETS)
@pytest.mark.parametrize("estimator", VARIANTS, ids=name_of)
def test_a_degenerate_data_set_has_its_pinned_outcome(estimator, data):
    X, score = SETS[data]
    y = (score > 0).astype(int) if is_classifier(estimator) else score
    try:
        said, found = None, answers(small(estimator).fit(X, y), X)
    except FThetaError as error:
        said, found = str(error), {}
    want = expected(data, name_of(estimator))
    assert (said is None) == (want is None) and re.search(want or "", said or ""), said
    assert_finite(found)


@pytest.mark.middle
def test_every_pin_concerns_somebody():
    assert len(SETS) == 16
    for data, who in PINNED:
        assert data in SETS and any(re.search(who, name_of(e)) for e in VARIANTS)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 5e-324, 2.2e-308, 1e-45, 1.2e-38, 3.4e38, 3.5e38, 1e150, -1e154, 1e300, 2.0**53, 7.0]


def numbers(most):
    special = st.sampled_from([x for x in SPECIAL if abs(x) <= most])
    return st.floats(-most, most) | special | st.integers(-5, 5).map(float)


@st.composite
def problems(draw):
    """1 to 6 rows, perhaps some twice, of 1 to 6 columns, perhaps one twice; numbers and classes to predict."""
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    x_most, y_most = draw(st.sampled_from([10.0, 1e30, 1e300])), draw(st.sampled_from([10.0, 1e30, 1e300]))
    X = draw(arrays(float, (n, d), elements=numbers(x_most)))
    if draw(st.booleans()):
        X = X[draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))]
    if draw(st.booleans()):
        X = np.c_[X, X[:, :1]]
    return X, draw(arrays(float, n, elements=numbers(y_most))), np.arange(n) % draw(st.integers(2, 3))


@pytest.mark.middle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", VARIANTS, ids=name_of)
def test_finite_numbers_give_finite_answers_or_one_sentence(estimator):
    outcomes = []

    @seed(0)
    @settings(max_examples=50, database=None)
    @given(problems())
    def holds(problem):
        X, number, label = problem
        try:
            model = small(estimator, **({"epochs": 2} if hasattr(estimator, "epochs") else {}))
            found = answers(model.fit(X, label if is_classifier(estimator) else number), X)
        except FThetaError as error:
            outcomes.append(str(error))
            return
        outcomes.append("")
        assert_finite(found)

    holds()
    assert len(outcomes) >= 50 and outcomes.count("") >= 5, set(outcomes)
