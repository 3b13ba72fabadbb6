"""Residuals: true across, predicted upwards, and a histogram of true minus predicted."""

import numpy as np
import pytest

from ftheta.plots import residuals


def test_dots_and_histogram_are_of_the_numbers():
    true, predicted = np.array([1.0, 2.0, 3.0, 9.0]), np.array([1.0, 1.0, 1.0, 1.0])
    left, right = residuals(true, predicted, name="price (€)").axes
    assert left.lines[0].get_xydata().tolist() == [[1, 1], [2, 1], [3, 1], [9, 1]]
    assert (left.get_xlabel(), left.get_ylabel()) == ("true price (€)", "predicted price (€)")
    bars = [(b.get_x(), b.get_x() + b.get_width(), b.get_height()) for b in right.patches]
    assert (bars[0][0], bars[-1][1]) == pytest.approx((0, 8)) and sum(b[2] for b in bars) == 4
    assert right.get_xlabel() == "true - predicted price (€)" and right.lines[1].get_xdata()[0] == pytest.approx(2.75)


def test_many_rows_are_thinned_and_it_is_said():
    x = np.arange(5000.0)
    left, right = residuals(x, x + 1).axes
    assert left.get_title() == "Predicted and true (1,667 of 5,000 rows)" and len(left.lines[0].get_xdata()) == 1667
    assert sum(b.get_height() for b in right.patches) == 5000


def test_perfect_and_constant_predictions_can_be_drawn():
    assert residuals(np.ones(3), np.ones(3)).axes[0].get_title() == "Predicted and true (3 rows)"
