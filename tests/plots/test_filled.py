"""Pictures filled in: whole, what is left, after steps; errors by rows removed."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ftheta.plots import filled

RNG = np.random.default_rng(0)
TRUTH, MADE = RNG.random((3, 4, 5)), RNG.random((2, 2, 3, 4, 5))
MISSING = np.zeros((2, 4, 5), dtype=bool)
MISSING[0, 3:], MISSING[1, 1:] = True, True
ERROR, MEAN = RNG.random((2, 2)), RNG.random(2)


def test_a_panel_shows_what_was_whole_left_and_made():
    figure = filled(TRUTH, MISSING, MADE, [1, 3], [1, 5], ERROR, MEAN)
    assert [axes.get_title() for axes in figure.axes] == ["1 row removed", "3 rows removed", ""]
    for k, axes in enumerate(figure.axes[:2]):
        assert [t.get_text() for t in axes.get_yticklabels()] == ["whole", "what is left", "1 step", "5 steps"]
        whole = axes.images[0].get_array()
        seen = [[whole[int(y), int(x)] for x in axes.get_xticks()] for y in axes.get_yticks()]
        np.testing.assert_array_equal(seen[0], TRUTH[:, 2, 2])
        assert all(np.ma.is_masked(v) for v in seen[1]) if MISSING[k, 2, 2] else seen[1] == seen[0]
        np.testing.assert_array_equal(seen[2:], MADE[k, :, :, 2, 2])
        assert axes.images[0].get_interpolation() == "nearest"


def test_errors_stand_beside_those_of_the_mean_image():
    axes = filled(TRUTH, MISSING, MADE, [1, 3], [1, 5], ERROR, MEAN, where="top").axes[2]
    lines = {line.get_label(): line.get_ydata() for line in axes.lines}
    np.testing.assert_array_equal(lines["mean image"], MEAN)
    np.testing.assert_array_equal([lines["1 step"], lines["5 steps"]], ERROR.T)
    assert axes.get_xlabel() == "rows removed at the top" and axes.get_xticks().tolist() == [1, 3]
    alone = filled(TRUTH, MISSING, MADE, [1, 3], [1, 5], ERROR, MEAN * np.nan).axes[2]
    assert "mean image" not in {line.get_label() for line in alone.lines}


@pytest.mark.parametrize(
    ("r", "shape"), [pytest.param(4, (8, 8), marks=pytest.mark.middle), (1, (1, 12)), (3, (3, 6, 4))]
)
def test_nothing_leaves_the_figure(r, shape):
    steps, n = [1, 5, 1000], 8
    made, rows = RNG.random((r, 3, n, *shape)), [5, 10, 15, 20][:r]
    missing = np.zeros((r, *shape), dtype=bool)
    figure = filled(RNG.random((n, *shape)), missing, made, rows, steps, RNG.random((r, 3)), RNG.random(r))
    FigureCanvasAgg(figure).draw()
    for axes in figure.axes:
        box = axes.get_tightbbox()
        assert box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
