"""Classes along one number: a line and bars a class, cuts through all panels, a strip of answers."""

import numpy as np
from matplotlib.colors import to_hex

from ftheta.plots import class_densities
from ftheta.plots._style import PALETTE

X = np.linspace(0, 4, 5)
JOINT = np.array([[4.0, 3, 2, 1, 0], [0, 1, 2, 3, 4]])


def test_two_panels_and_a_strip():
    bars = np.array([0.0, 2, 4]), np.array([[0.5, 0.1], [0.1, 0.5]])
    figure = class_densities(
        X,
        JOINT,
        JOINT / 4,
        ["a", "b"],
        cuts=np.array([1.5]),
        answers=np.array([1, 0]),
        bars=bars,
        label="cm",
        title="T",
    )
    upper, lower, strip = figure.axes
    assert upper.lines[1].get_ydata().tolist() == [0, 1, 2, 3, 4] and lower.lines[0].get_ydata().tolist() == [
        1, 0.75, 0.5, 0.25, 0,
    ]  # fmt: skip
    assert len(upper.patches) == 2 and (upper.get_title(), strip.get_xlabel()) == ("T", "cm")
    assert all(axes.lines[-1].get_xdata()[0] == 1.5 for axes in (upper, lower, strip))
    spans = [(p.get_x(), p.get_x() + p.get_width(), to_hex(p.get_facecolor())) for p in strip.patches]
    assert spans == [(0, 1.5, PALETTE[1].lower()), (1.5, 4, PALETTE[0].lower())]
    assert [t.get_text() for t in upper.texts] == ["1.5"]


def test_without_bars_and_with_many_cuts_the_words_stay_few():
    cuts = np.linspace(0.5, 3.5, 6)
    upper, lower, strip = class_densities(X, JOINT, JOINT / 4, "ab", cuts=cuts, answers=np.arange(7) % 2).axes
    assert not upper.patches and len(upper.texts) == 4 and len(strip.patches) == 7 and len(lower.lines) == 8
