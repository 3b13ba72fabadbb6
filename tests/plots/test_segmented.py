"""Images above maps of classes: a colour for each class, the share that is right, nothing outside the figure."""

import numpy as np
from matplotlib.colors import to_rgb

from ftheta.plots import segmented

RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 3, (2, 4, 6))
ANSWER = np.where(RNG.random(TRUTH.shape) < 0.7, TRUTH, 0)
IMAGES = RNG.random((2, 1, 4, 6))


def test_three_rows_show_image_truth_and_prediction():
    figure = segmented(IMAGES, TRUTH, ANSWER, ["ground", "disc", "square"])
    grid = np.array(figure.axes).reshape(3, 2)
    assert [row[0].get_ylabel() for row in grid] == ["image", "truth", "prediction"]
    colours = np.array([to_rgb(c) for c in ("0.85", "#0072B2", "#D55E00")])
    for k in range(2):
        np.testing.assert_allclose(grid[0, k].images[0].get_array(), IMAGES[k, 0])
        np.testing.assert_allclose(grid[1, k].images[0].get_array(), colours[TRUTH[k]])
        np.testing.assert_allclose(grid[2, k].images[0].get_array(), colours[ANSWER[k]])
        assert grid[2, k].get_xlabel() == f"{100 * (TRUTH == ANSWER)[k].mean():.1f} % right"
    legend = figure.legends[0]
    assert [t.get_text() for t in legend.get_texts()] == ["ground", "disc", "square"]
    np.testing.assert_allclose([p.get_facecolor()[:3] for p in legend.get_patches()], colours)


def test_pixels_that_are_not_counted_are_white_and_in_the_legend():
    truth = TRUTH.copy()
    truth[:, 0] = -1
    figure = segmented(IMAGES, truth, ANSWER, ["a", "b", "c"])
    assert figure.axes[2].images[0].get_array()[0].min() == 1
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["a", "b", "c", "not counted"]
    assert f"{100 * (truth == ANSWER)[0, 1:].mean():.1f} % right" in figure.axes[4].get_xlabel()
    truth[0] = -1
    assert "nan % right" in segmented(IMAGES, truth, ANSWER, ["a", "b", "c"]).axes[4].get_xlabel()


def test_without_a_truth_only_the_prediction_is_shown():
    figure = segmented(IMAGES, None, ANSWER, ["a", "b", "c"])
    assert [axes.get_ylabel() for axes in figure.axes[::2]] == ["image", "prediction"]
    assert not figure.axes[2].get_xlabel() and not len(figure.axes[2].get_xticks())
    colours = np.array([to_rgb(c) for c in ("0.85", "#0072B2", "#D55E00")])
    np.testing.assert_allclose(figure.axes[2].images[0].get_array(), colours[ANSWER[0]])


def test_colour_images_and_many_classes_are_drawn():
    shown = segmented(RNG.random((2, 3, 4, 6)), TRUTH, ANSWER, [str(k) for k in range(20)])
    assert shown.axes[0].images[0].get_array().shape == (4, 6, 3)
    patches = shown.legends[0].get_patches()
    assert len({patch.get_facecolor() for patch in patches}) == 20
    flat = segmented(np.ones((1, 4, 6)), TRUTH[:1], ANSWER[:1], ["a", "b", "c"])
    assert np.isfinite(flat.axes[0].images[0].get_array()).all()
