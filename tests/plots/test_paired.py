"""Paired seeds: every seed is a line, and the mean is of those that have all."""

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.plots import paired


def test_every_seed_is_a_line_and_the_mean_is_of_the_complete_ones():
    values = np.array([[1.0, 2.0], [3.0, 5.0], [9.0, np.nan]])
    figure = paired({"loss": values, "error": 10 * values}, ["a", "b"], title="Both")
    axes = figure.axes[0]
    lines = [line.get_ydata().tolist() for line in axes.lines]
    assert len(lines) == 4 and lines[:2] == values[:2].tolist() and lines[3] == [2.0, 3.5]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["a", "b"]
    assert [a.get_ylabel() for a in figure.axes] == ["loss", "error"]


def test_a_wide_range_has_a_log_scale_and_says_so_and_empty_places_are_hidden():
    panels = {name: np.array([[1.0, scale]]) for name, scale in zip("abcde", (2, 2, 2, 2, 1e4), strict=True)}
    figure = paired(panels, ["x", "y"])
    assert [a.get_yscale() for a in figure.axes] == ["linear"] * 4 + ["log"]
    assert figure.axes[4].get_ylabel() == "e\n(log scale)"


@pytest.mark.parametrize("panels", [{}, {"a": np.zeros((3, 2))}, {"a": np.zeros(3)}])
def test_shapes_that_do_not_fit_the_names_are_named(panels):
    with pytest.raises(InputError, match=r"paired got values of shapes .* for 3 names; \(seeds, names\) is needed\."):
        paired(panels, ["a", "b", "c"])
