"""The picture of a backward pass: its numbers, its lines, and nothing on top of anything else."""

import itertools

import numpy as np
import pytest

from ftheta import plots
from ftheta.errors import InputError

NODES = [[["x = 1", "δ = 0.5"], ["x = 2", "δ = 0.25"]], [["z = 3", "a = 4", "δ = 5"]]]
WEIGHTS, GRADIENTS = [np.array([[0.1, 0.2, 0.3]])], [np.array([[-1.5, -2.5, -3.5]])]


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def overlaps(figure, chosen):
    figure.canvas.draw()
    boxes = [t.get_window_extent() for t in figure.axes[0].texts if chosen(t)]
    return sum(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_units_and_lines_carry_their_numbers():
    figure = plots.backprop(names=["input", "out"], nodes=NODES, weights=WEIGHTS, gradients=GRADIENTS, title="Row 1")
    found = texts(figure)
    assert {"x = 1", "δ = 0.5", "z = 3", "a = 4", "δ = 5", "1", "0.1", "-1.5", "0.3", "-3.5", "input", "out"} <= {
        *found
    }
    assert len(figure.axes[0].lines) == 3 and len(figure.axes[0].patches) == 4  # a bias and two weights; a constant 1
    assert figure.axes[0].get_title().startswith("Row 1\n")
    assert overlaps(figure, lambda text: True) == 0


def test_without_a_bias_there_is_no_constant():
    figure = plots.backprop(names=["a", "b"], nodes=NODES, weights=[WEIGHTS[0][:, 1:]], gradients=[GRADIENTS[0][:, 1:]])
    assert len(figure.axes[0].lines) == 2 and "1" not in texts(figure)


def test_labels_of_a_full_layer_do_not_cover_each_other():
    rng = np.random.default_rng(0)
    nodes = [[["x = 0.1234", "δ = -0.1234"]] * 4, [["z = 0.1234", "a = 0.1234", "δ = -0.1234"]] * 4]
    w = rng.normal(size=(4, 5))
    figure = plots.backprop(names=["input", "dense"], nodes=nodes, weights=[w], gradients=[-w])
    assert overlaps(figure, lambda text: text.get_fontsize() == 7.5) == 0


def test_wider_layers_keep_their_lines_and_lose_their_numbers():
    nodes = [[["x = 1", "δ = 1"]] * 5, [["z = 1", "δ = 1"]] * 5]
    figure = plots.backprop(names=["a", "b"], nodes=nodes, weights=[np.ones((5, 5))], gradients=[np.ones((5, 5))])
    assert len(figure.axes[0].lines) == 25 and not [t for t in figure.axes[0].texts if t.get_fontsize() == 7.5]
    assert "see the tables" in figure.axes[0].get_title()


def test_ways_past_others_do_not_share_a_lane():
    figure = plots.backprop_boxes(
        names=list("abcde"),
        shapes=[(1,)] * 5,
        norms=[(1.0, 1.0)] * 5,
        boxes=[False] * 5,
        edges=[(0, 1), (0, 2), (1, 3), (2, 4)],
    )
    lanes = [line.get_xdata()[1] for line in figure.axes[0].lines]
    assert len(lanes) == 3 and len(set(lanes)) == 3


def test_wrong_counts_are_a_sentence():
    with pytest.raises(InputError, match="backprop got 1 names, 2 layers and 1 matrices of weights"):
        plots.backprop(names=["a"], nodes=NODES, weights=WEIGHTS, gradients=GRADIENTS)


def boxes(n):
    return plots.backprop_boxes(
        names=[f"step {i}" for i in range(n)],
        shapes=[(2, 3)] * n,
        norms=[(1.0 + i, 0.5 * i) for i in range(n)],
        boxes=[i == 1 for i in range(n)],
        edges=[(i, i + 1) for i in range(n - 1)] + [(0, 2)],
        title="Large",
    )


def test_large_nets_are_boxes_with_shapes_norms_and_ways_past_others():
    figure = boxes(4)
    found = texts(figure)
    assert "step 1 (box)" in found and found.count("2 × 3") == 4 and "1.5" in found and "4" in found
    assert len(figure.axes[0].lines) == 1 and overlaps(figure, lambda text: True) == 0
    assert figure.axes[0].get_title() == "Large" and figure.axes[0].get_xlabel()


def test_very_long_nets_show_their_first_steps_and_say_so():
    figure = boxes(80)
    assert "the first 60 of 80 steps" in figure.axes[0].get_title() and "step 60" not in texts(figure)
