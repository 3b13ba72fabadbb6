"""Figures of coefficient paths: the numbers are the numbers drawn, the largest are named."""

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.models import CoefficientPath

AT = np.geomspace(10, 0.1, 5)


def path(at, coefs, names=None, dof=None, **more):
    at, coefs = np.asarray(at), np.asarray(coefs)
    dof = np.arange(len(at), dtype=float) if dof is None else np.asarray(dof)
    names = names or [f"c{j}" for j in range(coefs.shape[1])]
    return CoefficientPath("T", at, coefs, np.zeros(len(at)), dof, tuple(names), **({"gaps": 0 * at} | more))


def test_every_coefficient_is_a_line_from_large_penalties_to_small_ones_without_zero():
    coefs, order = np.outer([0.0, 1, 2, 3, 4], [1.0, -2.0]), [3, 0, 4, 1, 2]
    axes = path(np.r_[AT[order], 0.0], np.r_[coefs[order], [[9.0, 9.0]]]).figure().axes[0]
    drawn = [line.get_xydata().tolist() for line in axes.lines]
    assert all(np.c_[AT, coefs[:, j]].tolist() in drawn for j in range(2))
    assert axes.get_xscale() == "log" and axes.xaxis_inverted() and axes.get_ylabel() == "coefficient"
    with pytest.raises(InputError, match="no penalty above 0"):
        path([0.0], np.ones((1, 1))).figure()


def test_degrees_of_freedom_stand_above_their_penalty_in_any_order():
    for order in ([0, 1, 2], [2, 0, 1]):
        at, dof = np.array([0.1, 1.0, 10.0])[order], np.array([3.0, 2.0, 1.0])[order]
        above = path(at, np.ones((3, 1)), dof=dof).figure().axes[-1]
        ticks = zip(above.get_xticks(), above.get_xticklabels(), strict=True)
        assert {float(x): label.get_text() for x, label in ticks} == {0.1: "3", 1.0: "2", 10.0: "1"}


def test_the_seven_largest_have_names_and_colors_of_their_own():
    axes = path([2.0, 1.0], np.outer([0, 1.0], np.arange(1.0, 11))).figure().axes[0]
    named = {line.get_label(): line for line in axes.lines if str(line.get_label()).startswith("c")}
    assert set(named) == {f"c{j}" for j in range(3, 10)} and len({line.get_color() for line in named.values()}) == 7
    assert all(line.get_ydata()[-1] == int(name[1:]) + 1 for name, line in named.items())


def test_chosen_penalty_knots_and_errors_are_drawn():
    loo, gcv = np.array([3.0, 1, 2, 4, 5]), np.array([3.0, 3, 3, 0.5, 5])
    top, below, _ = path(AT, np.ones((5, 1)), gaps=None, loo=loo, gcv=gcv).figure().axes
    lines = {line.get_label(): line for line in below.lines}
    assert lines["leave-one-out, least at 3.16"].get_ydata().tolist() == loo.tolist()
    marks = [line.get_xydata().tolist() for line in below.lines if len(line.get_xdata()) == 1]
    assert marks == [[[AT[1], 1.0]], [[AT[3], 0.5]]] and below.get_ylabel() == "mean error²"
    assert all([AT[1], AT[1]] in [list(line.get_xdata()) for line in axes.lines] for axes in (top, below))
    knots = path(AT, np.ones((5, 1)), knots=np.array([5.0, 0.5])).figure().axes[0]
    assert next(line for line in knots.lines if line.get_label() == "knots").get_xdata().tolist() == [5.0, 0.5]
