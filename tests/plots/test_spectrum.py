"""The spectrum: how many eigenvalues lie in each bin, and the ends."""

import numpy as np

from ftheta.plots import spectrum


def test_the_bars_count_the_eigenvalues():
    nodes = np.array([-1.0, 0.0, 0.01, 5.0])
    axes = spectrum(nodes, np.array([0.1, 0.4, 0.4, 0.1]), [5.0, 0.01], -1.0, size=100, title="H").axes[0]
    values, edges, _ = axes.patches[0].get_data()
    assert len(values) == 60 and edges[0] == -1 and edges[-1] == 5
    assert np.isclose(values[0], 10) and np.isclose(values[-1], 10) and np.isclose(values.max(), 80)
    lines = {line.get_label(): line.get_xdata() for line in axes.lines}
    assert list(lines["2 largest: 5 to 0.01"]) == [5.0, 0.01] and list(lines["smallest: -1"]) == [-1.0]
    assert axes.get_yscale() == "log" and axes.get_xlabel() == "eigenvalue λ of the Hessian"


def test_a_single_eigenvalue_and_no_curvature_are_drawn():
    axes = spectrum([2.0], [1.0], [2.0], 2.0, size=1).axes[0]
    assert "largest: 2" in axes.get_legend_handles_labels()[1]
    spectrum(np.zeros(4), np.full(4, 0.25), np.zeros(4), 0.0, size=4)
