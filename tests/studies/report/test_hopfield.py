"""Small Hopfield networks: iterations against their closed form, equilibria counted by hand."""

import numpy as np
import pytest

from ftheta.studies.report._hopfield import followed, patterns
from ftheta.studies.report.hopfield import hold, network

DESIGN = "design, saturated"


def test_iterations_of_the_design_are_the_logarithm_of_the_distance_from_an_axis():
    x = np.random.default_rng(3).uniform(-1, 1, (300, 2))
    way = followed(network(DESIGN, 2), x, 400)
    grown = np.log((1 - 1e-4) / np.abs(x).min(1)) / 0.15  # until the last unit is within 1e-4 of 1
    assert np.abs(way.needed - np.ceil(grown)).max() <= 1 and (way.needed == np.ceil(grown)).mean() > 0.95
    assert (way.state == np.sign(x)).all() and (way.stopped <= way.needed).all()
    target = {(1, 1): 0, (-1, -1): 1, (1, -1): 2, (-1, 1): -1}
    assert way.end.tolist() == [target[tuple(v)] for v in np.sign(x).astype(int)]


def test_a_start_beside_an_axis_is_stopped_at_once_but_not_at_its_end():
    way = followed(network(DESIGN, 2), np.array([[1.0, 1e-5], [0.9, 0.9], [1.0, 1.0]]), 400)
    assert way.stopped.tolist() == [0, 1, 0] and way.needed.tolist() == [77, 1, 0]  # ln(1e5) / 0.15 = 76.8
    short = followed(network(DESIGN, 2), np.array([[0.5, 0.5]]), 2)
    assert (short.stopped.item(), short.needed.item(), short.end.item()) == (2, 2, -1)


@pytest.mark.parametrize(
    ("memory", "dims", "counts"),
    [
        (DESIGN, 2, [3, 1, 5, 0]),
        (DESIGN, 3, [3, 0, 4, 0]),
        ("Hebb with diagonal, saturated", 2, [3, 1, 5, 0]),  # (1, -0.5), ... and the origin
        ("Hebb with diagonal, sign", 2, [3, 1, 0, 0]),
        ("Hebb without, sign", 2, [2, 0, 0, 0]),  # (1, -1) becomes (-1, 1)
        ("Hebb with diagonal, sign", 3, [3, 5, 0, 0]),  # all eight corners
        ("pseudo-inverse, sign", 2, [3, 0, 4, 0]),  # W = 0: all corners stay
    ],
)
def test_what_a_memory_holds(memory, dims, counts):
    assert list(hold(0, dims, memory, starts=20).values())[:4] == counts


def test_digits_are_one_of_each_class_as_signs():
    first, second = patterns("digits", "8 x 8", 0), patterns("digits", "8 x 8", 1)
    assert first.shape == (10, 64) and set(np.unique(first)) == {-1, 1} and (first != second).any(1).all()
    assert patterns("digits", "4 x 2", 0).shape == (10, 8)
