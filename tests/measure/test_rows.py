"""Labels by name: whatever Python holds equal is the same class, and intervals may be infinite."""

import numpy as np
import pytest

from ftheta.errors import InputError, InputTypeError
from ftheta.measure._rows import coded, labeled, level_of, numbers, scored


def test_labels_are_positions_in_the_order_given():
    y, predicted = coded(
        ["b", "a", 3], y=np.array(["a", "b"], dtype=object), predicted=np.array([3, "b"], dtype=object)
    )
    assert y.tolist() == [1, 0] and predicted.tolist() == [2, 0]


def test_numbers_and_their_text_are_different_classes():
    with pytest.raises(InputError, match=r"y\[0\] is 1, which is none of the 2 classes \(0, 1\)"):
        coded(["0", "1"], y=[1])
    assert coded([0, 1], y=np.array([True, False]))[0].tolist() == [1, 0]


def test_classes_are_found_in_all_labels():
    assert labeled(None, y=["b"], predicted=["a"])[0] == ["a", "b"]


def test_one_column_is_the_second_of_two_classes():
    _, p, classes = scored(["n", "y"], np.array([0.25, 0.5]), None)
    assert p.tolist() == [[0.75, 0.25], [0.5, 0.5]] and classes == ["n", "y"]


def test_single_precision_and_rounded_files_sum_to_one():
    p = np.full((1, 3), 0.33333, dtype=np.float32)
    assert scored([0], p, [0, 1, 2])[1].dtype == np.float32


def test_ends_of_intervals_may_be_infinite():
    assert numbers(y=[1], low=[-np.inf])[1].tolist() == [-np.inf]


@pytest.mark.parametrize("level", [0, 1, -1, 95])
def test_a_level_is_a_share(level):
    with pytest.raises(InputError, match=f"level is {level}; a share strictly between 0 and 1 is needed"):
        level_of(level)


def test_labels_of_several_kinds_have_no_order():
    with pytest.raises(
        InputTypeError, match="y mixes labels of kinds int, str, which have no order; make them all alike"
    ):
        labeled(None, y=np.array([0, "a"], dtype=object))
