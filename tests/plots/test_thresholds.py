"""Over the threshold: what is given is what is drawn, and the choice is marked in both panels."""

import numpy as np

from ftheta.plots import thresholds

AT = np.array([0.9, 0.6, 0.3])


def drawn(**more):
    shares = {"precision": np.array([np.nan, 1.0, 0.5]), "recall": np.array([0.0, 0.5, 1.0])}
    return thresholds(AT, {"cost (EUR)": np.array([3.0, 1.0, 2.0])}, shares, chosen=(0.6, 0.5, 0.7), title="T", **more)


def test_lines_bands_and_labels():
    upper, lower = drawn().axes
    assert upper.lines[0].get_xydata().tolist() == [[0.9, 3], [0.6, 1], [0.3, 2]]
    assert [line.get_label() for line in lower.lines[:2]] == ["precision", "recall"]
    assert lower.lines[1].get_ydata().tolist() == [0, 0.5, 1]
    assert (upper.get_ylabel(), upper.get_title(), lower.get_xlim()) == ("cost (EUR)", "T", (0, 1))
    for axes in (upper, lower):
        band = axes.patches[0]
        assert (band.get_x(), band.get_x() + band.get_width()) == (0.5, 0.7)
        assert axes.lines[-1].get_xdata()[0] == 0.6


def test_what_calibrated_probabilities_ask_for_is_a_line_of_its_own():
    labels = [t.get_text() for t in drawn(calibrated=0.25).legends[0].get_texts()]
    assert "if p is calibrated: 0.25" in labels and "chosen: 0.6" in labels and "cost" in labels
    assert not any("calibrated" in t.get_text() for t in drawn().legends[0].get_texts())


def test_many_thresholds_are_thinned_and_keep_their_ends():
    at = np.linspace(1, 0, 5000)
    line = thresholds(at, {"a": at}, {}, chosen=(0.5, 0.4, 0.6)).axes[0].lines[0].get_xdata()
    assert len(line) == 1000 and line[0] == 1 and line[-1] == 0
