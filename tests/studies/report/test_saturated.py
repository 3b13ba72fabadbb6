"""Small networks: iterations against their closed form, equilibria counted by hand, shares that still move."""

import numpy as np
import pytest

from ftheta.studies.report._saturated import Memory, followed, memory, moving, quality, quantiles, starts

DESIGN = Memory("design", "saturated")


def test_iterations_of_the_design_are_the_logarithm_of_the_distance_from_an_axis():
    x = starts(300, 2, 3)
    way = followed(memory(DESIGN, 2), x)
    grown = np.log((1 - 1e-4) / np.abs(x).min(1)) / 0.15  # until the last unit is within 1e-4 of 1
    assert np.abs(way.needed - np.ceil(grown)).max() <= 1 and (way.needed == np.ceil(grown)).mean() > 0.95
    assert (way.state == np.sign(x)).all() and (way.stopped <= way.needed).all()
    target = {(1, 1): 0, (-1, -1): 1, (1, -1): 2, (-1, 1): -1}
    assert way.end.tolist() == [target[tuple(v)] for v in np.sign(x).astype(int)]


def test_a_start_beside_an_axis_is_stopped_at_once_but_not_at_its_end():
    way = followed(memory(DESIGN, 2), np.array([[1.0, 1e-5], [0.9, 0.9], [1.0, 1.0]]))
    assert way.stopped.tolist() == [0, 1, 0] and way.needed.tolist() == [77, 1, 0]  # ln(1e5) / 0.15 = 76.8


def test_what_has_not_settled_has_all_iterations():
    way = followed(memory(DESIGN, 2), np.array([[0.5, 0.5]]), steps=2)
    assert (way.stopped.item(), way.needed.item(), way.end.item()) == (2, 2, -1)


def test_quantiles_and_shares_by_hand():
    found = np.array([[0, 1, 2, 3, 4], [4, 4, 4, 4, 4]])
    assert quantiles(found)[:, 0].tolist() == [2, 4] and quantiles(found)[:, -1].tolist() == [4, 4]
    assert moving(found, np.array([0, 3, 4]))[:2] == pytest.approx([90, 60]) and np.isnan(moving(found, np.array([4])))


@pytest.mark.parametrize(
    ("kind", "dims", "counts"),
    [
        (DESIGN, 2, [3, 1, 5, 0]),
        (DESIGN, 3, [3, 0, 4, 0]),
        (Memory("hebb", "saturated", diagonal=True), 2, [3, 1, 5, 0]),  # (1, -0.5), ... and the origin
        (Memory("hebb", "sign", diagonal=True), 2, [3, 1, 0, 0]),
        (Memory("hebb", "sign"), 2, [2, 0, 0, 0]),  # (1, -1) becomes (-1, 1)
        (Memory("hebb", "sign", diagonal=True), 3, [3, 5, 0, 0]),  # all eight corners
        (Memory("pseudo-inverse", "sign"), 2, [3, 0, 4, 0]),  # W = 0: all corners stay
    ],
)
def test_what_a_memory_holds(kind, dims, counts):
    assert quality(kind, dims, starts(20, dims, 0))[:4] == counts


def test_hebbs_rule_with_saturated_units_has_a_continuum_in_three_dimensions():
    assert quality(Memory("hebb", "saturated", diagonal=True), 3, starts(20, 3, 0))[3] == 1


def test_three_of_four_quarters_of_the_square_end_in_a_stored_pattern():
    x = np.array([[0.5, 0.5], [-0.5, -0.2], [0.1, -0.9], [-0.3, 0.8]])
    assert quality(DESIGN, 2, x)[4] == 0.75
