"""Cost curves: a line from one rate to the other for each threshold, up to forty."""

import numpy as np
import pytest

from ftheta.plots import cost_lines

PC = np.linspace(0, 1, 11)


@pytest.mark.parametrize(("n", "lines"), [(3, 3), (500, 40)])
def test_lines_and_envelope(n, lines):
    fpr = np.linspace(0, 1, n)
    axes = cost_lines(fpr, (1 - fpr) ** 2, PC, 0.1 * PC, title="T").axes[0]
    assert len(axes.lines) == lines + 2
    assert axes.lines[0].get_xydata().tolist() == [[0, 0], [1, 1]]
    assert axes.lines[lines - 1].get_xydata().tolist() == [[0, 1], [1, 0]]
    assert axes.lines[-2].get_ydata().tolist() == [0, 0.5, 0]
    assert axes.lines[-1].get_ydata() == pytest.approx(0.1 * PC) and axes.get_title() == "T"
