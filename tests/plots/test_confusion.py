"""Confusion matrix: counts and shares where they can be read, colours alone for many classes, nothing outside."""

import numpy as np

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
