"""Finite in, finite out, or one sentence: extreme numbers through every estimator."""

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import is_classifier

from ftheta.errors import FThetaError

from .enrolled import VARIANTS, answers, name_of, small

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
        for method, values in found.items():
            assert np.isfinite(np.asarray(values, float)).all(), method
        if "predict_proba" in found:
            assert np.allclose(found["predict_proba"].sum(1), 1, atol=1e-6)

    holds()
    assert len(outcomes) >= 50 and outcomes.count("") >= 5, set(outcomes)
