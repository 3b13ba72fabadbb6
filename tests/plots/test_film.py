"""Film strips: pictures in their places, means by step, and room for every word."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ftheta.plots import film

RNG = np.random.default_rng(0)
STEPS = np.array([0, 1, 10, 100])
FRAMES = RNG.random((4, 3, 5, 6))
NEAR, FAR, FREE = RNG.random((3, 4, 3))


def test_a_line_is_a_chain_and_a_column_a_step():
    strip = film(FRAMES, STEPS, NEAR, FAR).axes[0]
    whole = strip.images[0].get_array()
    assert [t.get_text() for t in strip.get_xticklabels()] == ["0", "1", "10", "100"]
    assert [t.get_text() for t in strip.get_yticklabels()] == ["0", "1", "2"]
    for k, x in enumerate(strip.get_xticks()):
        for i, y in enumerate(strip.get_yticks()):
            assert whole[int(y), int(x)] == FRAMES[k, i, 2, 3]
    assert strip.images[0].get_interpolation() == "nearest"


def test_means_and_single_chains_are_drawn_by_step():
    _, distance, free = film(FRAMES, STEPS, NEAR, FAR, FREE).axes
    lines = {line.get_label(): line for line in distance.lines}
    np.testing.assert_allclose(lines["from its own start"].get_ydata(), NEAR.mean(1))
    np.testing.assert_allclose(lines["from other starts"].get_ydata(), FAR.mean(1))
    np.testing.assert_array_equal(lines["from its own start"].get_xdata(), STEPS)
    assert len(distance.lines) == 5 and distance.get_xscale() == "symlog"
    np.testing.assert_allclose(free.lines[-1].get_ydata(), FREE.mean(1))
    assert distance.get_ylabel() and free.get_ylabel() == "free energy (nats)" and free.get_xlabel() == "steps made"


def test_without_others_or_energies_they_are_left_out():
    figure = film(FRAMES, STEPS, NEAR, np.full((4, 3), np.nan))
    assert len(figure.axes) == 2 and figure.axes[1].get_xlabel() == "steps made"
    assert [t.get_text() for t in figure.axes[1].get_legend().get_texts()] == ["from its own start"]


def test_steps_that_lie_close_have_no_label():
    steps = np.array([0, 1, 2, 5, 9, 10, 100])
    by_step = film(RNG.random((7, 1, 2, 2)), steps, RNG.random((7, 1)), RNG.random((7, 1))).axes[1]
    assert by_step.get_xticks().tolist() == [0, 1, 5, 100]


@pytest.mark.parametrize("shape", [(4, 8, 8, 8), (9, 1, 1, 30), (3, 2, 3, 6, 4), (1, 1, 2, 2)])
def test_nothing_overlaps_or_leaves_the_figure(shape):
    t, n = shape[:2]
    steps = np.array([0, 1, 2, 5, 10, 100, 1000, 5000, 10000])[:t]
    figure = film(RNG.random(shape), steps, RNG.random((t, n)), RNG.random((t, n)), RNG.random((t, n)))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    for axes in figure.axes:
        box = axes.get_tightbbox()
        assert box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
        for ticks in (axes.get_xticklabels(), axes.get_yticklabels()):
            boxes = [t.get_window_extent(canvas.get_renderer()) for t in ticks if t.get_text()]
            assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
