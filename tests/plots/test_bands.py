"""Bands: two standard deviations to either side, and none where a fit says none."""

import numpy as np

from ftheta.plots import bands

X = np.array([0.0, 1.0])


def test_a_band_is_two_standard_deviations_wide_on_either_side():
    fits = {"point": (X, None), "band": (X, np.array([0.5, 1.0]))}
    figure = bands(([0.2], [0.3]), X, fits, (X, X), label="y (m)", title="T")
    point, band = figure.axes
    assert len(point.collections) == 0 and len(band.collections) == 1
    corners = band.collections[0].get_paths()[0].vertices
    assert {tuple(c) for c in corners.tolist()} == {(0, -1), (0, 1), (1, -1), (1, 3)}
    assert point.get_ylabel() == "y (m)" and band.get_title() == "band" and band.get_xlabel() == "input x"
    truth = [line.get_ydata().tolist() for line in band.lines if line.get_linestyle() == "--"]
    assert truth == [[0, -1], [0, 1], [0, 3]]
    assert {t.get_text() for t in figure.legends[0].get_texts()} == {"rows", "mean ± 2 sd", "mean", "truth"}


def test_without_a_truth_none_is_drawn():
    figure = bands(([0.2], [0.3]), X, {"band": (X, X)}, label="y")
    assert [line.get_label() for line in figure.axes[0].lines] == ["rows", "mean"]
