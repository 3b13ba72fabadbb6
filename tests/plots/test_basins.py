"""Basins: starts by the class of their end, and a sign for each kind of stationary point."""

import numpy as np

from ftheta.plots import basins


def test_starts_are_drawn_by_class_and_stationary_points_by_kind():
    x, y = np.linspace(0, 1, 4), np.linspace(0, 2, 5)
    starts = np.array([[0.1, 0.2], [0.5, 0.6], [0.7, 0.8]])
    marks = {"minimum": [[0.3, 0.4]], "saddle": [[0.9, 1.0], [0.2, 0.2]], "maximum": np.zeros((0, 2))}
    ends = {"GD": [0, 1, 0], "SGD": [1, 1, 1]}
    figure = basins((x, y, np.outer(y, x)), starts, ends, ["best", "other"], marks, labels=("a", "b"), title="Ends")
    first, second = figure.axes[:2]
    assert (first.get_title(), second.get_title()) == ("GD", "SGD") and (first.get_xlabel(), first.get_ylabel()) == (
        "a",
        "b",
    )
    shown = {c.get_label(): c.get_offsets().tolist() for c in first.collections if not c.get_label().startswith("_")}
    assert shown == {"best": starts[[0, 2]].tolist(), "other": starts[[1]].tolist()}
    assert {line.get_label(): len(line.get_xdata()) for line in first.lines} == {
        "minimum": 1,
        "saddle": 2,
        "maximum": 0,
    }
    assert len({line.get_marker() for line in first.lines}) == 3
    assert figure.axes[2].get_ylabel() == "loss"
