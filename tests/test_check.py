"""Input in, array or a sentence out: every sentence names what was passed, where, and what to do."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import pytest
import torch
from annotated_types import Ge, Le
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints

from ftheta import check
from ftheta.check import Count, NonNegative, Positive, RandomState, Setting, Share, Widths
from ftheta.errors import InputError, InputTypeError


class Toy(BaseEstimator):
    pass


def table(X, *, dtype="float32", reset=True, estimator=None, **kw):
    return check.table(estimator or Toy(), X, dtype=dtype, reset=reset, **kw)


# ---- parameters


class Settings:
    count: Count = 1
    positive: Positive | None = None
    share: Share = 0.0
    least: NonNegative = 0.0
    widths: Widths = (1,)
    batch: Count | Literal["auto"] = "auto"
    name: str = "a"
    names: str | Sequence[str] = "a"
    flag: bool = True
    seed: RandomState = None
    weights: Mapping[Any, float] | Literal["balanced"] | None = None
    make: Callable[[int], int] | None = None
    pair: tuple[float, float] = (0.0, 1.0)
    threads: Annotated[int, Ge(1), Le(64)] | None = None
    options: Mapping[str, Setting] = {}
    number: float = 0.0
    thing: Any = None


GOOD_AND_BAD = {
    "count": ([1, 3, np.int64(2)], [0, -1, 1.5, "1", None, True]),
    "positive": ([1e-9, 2, None, np.float32(1)], [0, 0.0, -1.0, "x", True, np.inf]),
    "share": ([0, 0.0, 0.99], [1, 1.0, -0.1, None, False]),
    "least": ([0, 0.0, 7.5], [-1e-9, None]),
    "widths": ([(), (3, 4), [5]], [3, None, 2.5, "3", ("3",), (3, -4), (True,), (2.0,), (None,)]),
    "batch": ([1, "auto"], ["all", 0, None]),
    "name": (["x"], [1, None]),
    "names": (["x", ["x", "y"], ("x",)], [1, None, [1], ("x", None)]),
    "flag": ([True, False, np.bool_(True)], ["x", None, 2.5]),
    "seed": ([None, 0, 7, np.random.RandomState(0)], ["x", -1, 1.5, True, 2**32]),
    "weights": ([None, "balanced", {0: 2.0}], ["even", 3, {0: "2"}, {0: True}]),
    "make": ([None, abs], [3]),
    "pair": ([(0.5, 1)], [(0.5,), (1, 2, 3), (1, "x"), 1.0]),
    "threads": ([1, 64, None], [0, 65, True]),
    "options": ([{}, {"a": 1, "b": (0.9, 0.99), "c": "x", "d": None}], [{1: 2}, {"a": {}}, {"a": object()}, "a", None]),
    "number": ([1, -2.5, np.inf], [np.nan, True, "1", None]),
    "thing": ([None, 3, "x", object()], []),
}


@pytest.mark.parametrize("name", GOOD_AND_BAD)
def test_annotations_are_the_constraints_of_parameters(name):
    table = check.constraints(Settings, [name])
    good, bad = GOOD_AND_BAD[name]
    for value in good:
        validate_parameter_constraints(table, {name: value}, "Settings")
    for value in bad:
        with pytest.raises(InvalidParameterError, match=f"The '{name}' parameter of Settings must be"):
            validate_parameter_constraints(table, {name: value}, "Settings")


# ---- X


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_table_is_a_contiguous_array_of_the_dtype(dtype):
    X = np.asfortranarray(np.arange(6).reshape(3, 2))
    for each in (X, X.tolist(), X.astype(">f8"), pd.DataFrame(X), torch.from_numpy(X.copy()), X.astype(object)):
        found = table(each, dtype=dtype)
        assert found.dtype == dtype and found.flags.c_contiguous and np.array_equal(found, X)


@given(arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 5)), elements=st.floats(-1e30, 1e30)))
def test_finite_numbers_come_through_unchanged(X):
    kept = X.copy()
    assert np.array_equal(table(X, dtype="float64"), kept) and np.array_equal(X, kept)
    assert np.array_equal(table(X), kept.astype(np.float32))


def test_number_of_features_and_their_names_are_learned():
    frame, toy = pd.DataFrame(np.ones((3, 2)), columns=["a", "b"]), Toy()
    table(frame, estimator=toy)
    assert toy.n_features_in_ == 2 and toy.feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize("named", [False, True])
def test_a_missing_value_is_counted_and_its_place_is_named(named):
    X = np.ones((20, 3))
    X[[17, 18, 19], [2, 0, 1]] = np.nan
    given = pd.DataFrame(X, columns=["id", "sex", "age"]) if named else X
    column = r"'age' \(2\)" if named else "2"
    with pytest.raises(InputError, match=rf"X contains NaN: 3 values, first at row 17, column {column}\. Fill or drop"):
        table(given)
    with pytest.raises(InputError, match=r"X contains NaN: 1 value, first at row 1, column 0\."):
        table([[1.0], [np.nan]])
    with pytest.raises(InputError, match=r"X contains NaN: 1 value, first at row 0, column 0\."):
        table(np.array([[None, 1.0]], dtype=object))


@pytest.mark.parametrize(("value", "shown"), [(1e39, "1e\\+39"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_a_value_too_large_is_named_with_its_place(value, shown):
    X = np.ones((6, 2))
    X[4, 0] = value
    with pytest.raises(InputError, match=rf"too large for float32 at row 4, column 0 \({shown}\)\. Rescale the column"):
        table(X)
    if np.isfinite(value):
        assert table(X, dtype="float64")[4, 0] == value


def test_more_axes_are_taken_where_they_are_allowed():
    X = np.ones((3, 2, 4, 4))
    assert table(X, allow_nd=True).shape == X.shape
    with pytest.raises(InputError, match="Found array with dim 4"):
        table(X)
    X[1, 1, 2, 3] = np.nan
    with pytest.raises(InputError, match=r"first at row 1, column 1, 2, 3\."):
        table(X, allow_nd=True)


BAD_TABLES = {  # beside those of tests/test_bad_inputs.py
    "text in an array": (np.array([["1", "2"], ["3", "x"]]), InputError, r"Column '1' \(1\) holds text \('x'\)"),
    "text in objects": (np.array([[1, "y"]], dtype=object), InputError, r"Column '1' \(1\) holds text \('y'\)"),
    "a dict in a cell": (np.array([[{"a": 1}]], dtype=object), InputTypeError, r"; X must hold numbers only\."),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_table_that_cannot_be_used_gets_one_sentence(case):
    X, kind, text = BAD_TABLES[case]
    with pytest.raises(kind, match=text):
        table(X)


def test_numbers_written_as_text_are_numbers():
    assert table(np.array([["1", "2.5"]])).tolist() == [[1.0, 2.5]]
    assert table(pd.DataFrame({"a": ["1", "2"]})).tolist() == [[1.0], [2.0]]


def test_what_does_not_fit_into_memory_is_refused_before_it_is_copied():
    huge = np.broadcast_to(np.float32(0), (10**8, 10**6))
    with pytest.raises(InputError, match=r"needs about 1600000\.0 GB .*Use dtype=float32"):
        table(huge, dtype="float64")


def test_where_the_system_does_not_say_how_much_memory_is_free_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(check, "free_memory", lambda: None)
    assert table(np.ones((2**12, 2**12), np.float32)).shape == (2**12, 2**12)


# ---- y


def target(y, n=None, *, numeric=True, columns=True, **kw):
    return check.target("Toy", y, len(y) if n is None else n, numeric=numeric, columns=columns, **kw)


def test_targets_are_arrays_of_one_or_several_columns():
    assert target([1, 2]).tolist() == [1.0, 2.0] and target([1, 2]).dtype == np.float64
    assert target(torch.tensor([1, 2]), numeric=False).dtype == np.int64
    assert target(pd.Series(["a", "b"]), numeric=False).tolist() == ["a", "b"]
    assert target(np.ones((2, 3))).shape == (2, 3)
    assert target(np.ones((2, 1))).shape == (2,)


def test_one_column_where_a_vector_is_expected_is_taken_with_a_warning():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        assert target(np.ones((2, 1)), columns=False).shape == (2,)
    with pytest.warns(DataConversionWarning, match="column-vector"):
        target(np.array([["a"], ["b"]]), numeric=False)
    assert target(np.array([["a"], ["b"]]), numeric=False, quiet=True).tolist() == ["a", "b"]


BAD_TARGETS = {
    "none": (dict(y=None, n=3), InputError, r"Toy requires y to be passed, but the target y is None"),
    "sparse": (
        dict(y=sparse.csr_matrix(np.eye(3)), n=3),
        InputTypeError,
        r"y is a scipy sparse matrix; Toy takes dense",
    ),
    "inf": (dict(y=[0, np.inf]), InputError, "y contains inf at index 1"),
    "nan in a column": (dict(y=np.array([[0, 1], [np.nan, 1]])), InputError, "y contains NaN at index 1"),
    "none among labels": (
        dict(y=np.array(["a", None, "b"], dtype=object), numeric=False),
        InputError,
        "y contains NaN at index 1",
    ),
    "nan among labels": (
        dict(y=np.array(["a", "b", np.nan], dtype=object), numeric=False),
        InputError,
        "y contains NaN at index 2",
    ),
    "complex": (dict(y=np.array([1j, 2]), numeric=False), InputError, "Complex data not supported"),
    "text for numbers": (dict(y=["a", "b"]), InputError, "y: could not convert string to float: 'a'"),
    "columns": (dict(y=np.ones((2, 2)), columns=False), InputError, r"y has shape \(2, 2\); Toy takes one column\."),
    "three axes": (dict(y=np.ones((2, 2, 2))), InputError, r"y has shape \(2, 2, 2\); Toy takes one or more columns"),
    "a number": (dict(y=5.0, n=3), InputTypeError, "y must hold one target for each row of X: .*scalar"),
    "no rows": (dict(y=[], n=3), InputError, "y: Found array with 0 sample"),
}


@pytest.mark.parametrize("case", BAD_TARGETS)
def test_a_target_that_cannot_be_used_gets_one_sentence(case):
    given, kind, text = BAD_TARGETS[case]
    with pytest.raises(kind, match=text):
        target(**given)


# ---- weights


def test_weights_are_numbers_of_the_rows():
    assert check.weights(None, 3) is None
    assert check.weights([1, 2, 0], 3).tolist() == [1, 2, 0]
    assert check.weights(2.0, 3).tolist() == [2, 2, 2]
    assert check.weights(torch.ones(3), 3).dtype == np.float64


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (np.ones((10, 1)), r"sample_weight has shape \(10, 1\), expected \(10,\)"),
        (np.r_[np.ones(9), np.nan], r"sample_weight\[9\] is nan"),
        (np.r_[np.inf, np.ones(9)], r"sample_weight\[0\] is inf"),
        (["a"] * 10, "sample_weight must hold one number for each row of X: could not convert string to float: 'a'"),
    ],
)
def test_weights_that_cannot_be_used_get_one_sentence(given, text):
    with pytest.raises(InputError, match=text):
        check.weights(given, 10)


def test_missing_values_pass_where_they_are_allowed_and_infinite_ones_do_not():
    X = np.array([[1.0, np.nan], [3.0, 4.0]])
    np.testing.assert_array_equal(table(X, allow_nan=True), X)
    for bad in (np.inf, -np.inf):
        with pytest.raises(InputError, match="inf"):
            table(np.where(np.isnan(X), bad, X), allow_nan=True)
