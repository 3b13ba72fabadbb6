"""Confusion matrix: counts and shares where they can be read, colours alone for many classes, nothing outside."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ftheta.plots import confusion


def texts(figure):
    return {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in figure.axes[0].texts}


def test_counts_and_shares_of_the_true_class_are_written():
    figure = confusion(np.array([[3, 1], [0, 1000]]), ["no", "yes"])
    assert texts(figure) == {(0, 0): "3\n75 %", (0, 1): "1\n25 %", (1, 1): "1,000\n100 %"}
    axes = figure.axes[0]
    assert axes.images[0].get_array().tolist() == [[0.75, 0.25], [0, 1]]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted class", "true class")
    assert [t.get_text() for t in axes.get_yticklabels()] == ["no", "yes"]


def test_above_ten_classes_shares_only_and_above_thirty_colours_only():
    counts = 200 * np.eye(11, dtype=int)
    counts[0, 1] = 1
    figure = confusion(counts, list("abcdefghijk"))
    assert texts(figure)[0, 1] == "<1" and texts(figure)[5, 5] == "100"
    assert figure.axes[1].get_ylabel() == "share of the true class (numbers: in %)"
    assert texts(confusion(np.eye(31, dtype=int), [str(i) for i in range(31)])) == {}


def test_a_class_without_rows_stays_white():
    figure = confusion(np.array([[2, 0], [0, 0]]), ["a", "b"])
    assert np.ma.getmaskarray(figure.axes[0].images[0].get_array()).tolist() == [[False, False], [True, True]]


@pytest.mark.parametrize("k", [2, 3, *(pytest.param(k, marks=pytest.mark.middle) for k in (10, 20, 100))])
@pytest.mark.parametrize("name", ["{}", "a class with a long name {}"])
def test_everything_fits_and_names_do_not_overlap(k, name):
    figure = confusion(np.full((k, k), 1234), [name.format(i) for i in range(k)])
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer, axes = canvas.get_renderer(), figure.axes[0]
    page = figure.bbox
    for labels, side in ((axes.get_xticklabels(), "x"), (axes.get_yticklabels(), "y")):
        boxes = [t.get_window_extent(renderer) for t in labels]
        assert all(b.x0 >= 0 and b.y0 >= 0 and b.x1 <= page.x1 and b.y1 <= page.y1 for b in boxes)
        spans = sorted((getattr(b, f"{side}0"), getattr(b, f"{side}1")) for b in boxes)
        assert all(one[1] <= other[0] for one, other in zip(spans, spans[1:], strict=False))
    if axes.texts:
        cell = axes.transData.transform((1, 0))[0] - axes.transData.transform((0, 0))[0]
        assert max(t.get_window_extent(renderer).width for t in axes.texts) <= cell
