"""Confusion matrix: counts and shares where they can be read, colours alone for many classes, nothing outside."""

import numpy as np

from ftheta.plots import confusion, examples


def texts(figure):
    return {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in figure.axes[0].texts}


def test_errors_have_a_scale_of_their_own_and_recall_and_precision_are_beside_them():
    figure = confusion(np.array([[8, 2, 0], [1, 9, 0], [0, 0, 4000]]), ["a", "b", "c"])
    cells = {(0, 0): "8\n80 %", (0, 1): "2\n20 %", (1, 0): "1\n10 %", (1, 1): "9\n90 %", (2, 2): "4,000\n100 %"}
    recall = {(0, 3): "80 %", (1, 3): "90 %", (2, 3): "100 %"}
    assert texts(figure) == cells | recall | {(3, 0): "89 %", (3, 1): "82 %", (3, 2): "100 %"}
    axes = figure.axes[0]
    right, errors = (np.ma.masked_invalid(image.get_array()) for image in axes.images)
    assert errors.filled(-1).tolist() == [[-1, 0.2, 0], [0.1, -1, 0], [0, 0, -1]]
    assert (
        axes.images[1].get_clim() == (0, 0.2)
        and np.ma.getmaskarray(right).tolist() == (~np.eye(3, dtype=bool)).tolist()
    )
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted class", "true class")
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a", "b", "c", "precision"]
    assert axes.get_xticklabels()[-1].get_text() == "recall"


def test_two_classes_are_told_in_words():
    figure = confusion(np.array([[3, 1], [0, 1000]]), ["no", "yes"])
    assert texts(figure)[0, 0] == "3 right\n75 %" and texts(figure)[0, 1] == "1 taken for\nyes\n25 %"


def test_above_ten_classes_shares_only_and_above_thirty_colours_only():
    counts = 200 * np.eye(11, dtype=int)
    counts[0, 1] = 1
    figure = confusion(counts, list("abcdefghijk"))
    assert texts(figure)[0, 1] == "<1" and texts(figure)[5, 5] == texts(figure)[5, 11] == "100"
    assert figure.axes[1].get_ylabel() == "errors, share of the true class (numbers: in %)"
    assert texts(confusion(np.eye(31, dtype=int), [str(i) for i in range(31)])) == {}


def test_a_class_without_rows_stays_white():
    figure = confusion(np.array([[2, 0], [0, 0]]), ["a", "b"])
    right, errors = (np.ma.getmaskarray(np.ma.masked_invalid(i.get_array())) for i in figure.axes[0].images)
    assert right.tolist() == [[False, True], [True, True]] and errors.tolist() == [[True, False], [True, True]]


def test_examples_have_a_line_for_each_name():
    figure = examples(
        {"7 taken for 2: 9": np.ones((3, 1, 4, 5)), "1 taken for 7: 2": np.ones((2, 3, 4, 5))}, title="Most"
    )
    assert [axes.get_yticklabels()[0].get_text() for axes in figure.axes] == ["7 taken for 2: 9", "1 taken for 7: 2"]
    assert figure.axes[0].images[0].get_array().shape[1] == figure.axes[1].images[0].get_array().shape[1]
