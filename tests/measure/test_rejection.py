"""Rejection: counted row by row, and Chow's rule."""

import numpy as np
import pytest

from ftheta.measure import decide, rejection, wilson


def rows(n=200, k=3, seed=0):
    rng = np.random.default_rng(seed)
    p = np.round(rng.dirichlet(np.ones(k), n), 2)
    p[:, 0] += 1 - p.sum(1)
    p = np.clip(p, 0, 1)
    p /= p.sum(1, keepdims=True)
    return np.array([rng.choice(k, p=row) for row in p]), p


def test_every_point_is_counted():
    y, p = rows()
    found = rejection(y, p, range(3))
    sure, right = p.max(1), p.argmax(1) == y
    assert found.sure.tolist() == sorted(set(sure.tolist()), reverse=True)
    assert found.coverage == pytest.approx([(sure >= t).mean() for t in found.sure])
    assert found.accuracy == pytest.approx([right[sure >= t].mean() for t in found.sure])
    assert found.area == pytest.approx(np.mean([1 - right[sure >= s].mean() for s in sure]))


def test_the_cheapest_point_of_the_curve_is_chows_rule():
    """Where p is the truth, rejecting at a cost of 0.3 costs least at p >= 0.7; here, on the rows seen, near it."""
    y, p = rows(20_000, seed=1)
    found = rejection(y, p, range(3))
    cost = (found.kept - found.right + 0.3 * (len(y) - found.kept)) / len(y)
    answer = decide(p, reject=0.3, rejected=-1)
    chow = ((answer != y) & (answer >= 0)).mean() + 0.3 * (answer < 0).mean()
    assert chow == pytest.approx(cost.min(), abs=2e-3) and found.sure[cost.argmin()] == pytest.approx(0.7, abs=0.08)


def test_what_is_said():
    y, p = ["a", "a", "b", "b"], [0.1, 0.6, 0.8, 0.7]
    found = rejection(y, p)
    assert found.caption == (
        "Rejection on 4 rows: accuracy 0.750 where all are answered, 1.000 on the surest 50 %; mean error 0.062."
    )
    table = found.table().columns
    assert table["answered"] == [0.5, 0.75, 0.75, 1, 1, 1] and table["accuracy"] == [1, 1, 1, 0.75, 0.75, 0.75]
    assert table["where p is at least"] == pytest.approx([0.8, 0.7, 0.7, 0.6, 0.6, 0.6])
    assert (table["low"][-1], table["high"][-1]) == wilson(3, 4)
    axes = found.figure().axes[0]
    assert axes.lines[0].get_ydata().tolist() == [1, 1, 1, 0.75] and axes.lines[1].get_ydata()[0] == 0.75


def test_columns_are_of_the_classes_in_the_order_given():
    y, p = ["a", "b", "b"], [[0.1, 0.9], [0.7, 0.3], [0.2, 0.8]]  # columns: b, a
    assert rejection(y, p, ["b", "a"]).accuracy.tolist() == [1.0, 0.5, pytest.approx(2 / 3)]
    assert rejection(y, p).accuracy.tolist() == [0.0, 0.5, pytest.approx(1 / 3)]
