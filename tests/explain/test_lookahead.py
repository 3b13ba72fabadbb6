"""Nesterov's look-ahead: the vectors of an actual iterate, against the textbook recursion."""

import numpy as np
import pytest
import torch

from ftheta.errors import InputError
from ftheta.explain import lookahead
from ftheta.formulas import SURFACES, quadratic, rosenbrock

HESSIAN = np.array([[13.0, -12.0], [-12.0, 13.0]])  # of the ravine: ½ [1 + 25, 1 - 25]


def textbook(step, lr, momentum):
    """θ, v and the point ahead before update `step` of v <- μv - η∇f(θ + μv), θ <- θ + v."""
    theta, v = np.array(SURFACES["ravine"].start), np.zeros(2)
    for _ in range(step - 1):
        v = momentum * v - lr * HESSIAN @ (theta + momentum * v)
        theta = theta + v
    return theta, v


@pytest.mark.ledger("C099", covers="ftheta.explain.lookahead")
@pytest.mark.parametrize("step", [2, 3, 7])
def test_jump_gradient_ahead_and_corrected_step_are_those_of_the_textbook(step):
    found = lookahead("ravine", step=step, lr=0.03, momentum=0.8)
    theta, v = textbook(step, 0.03, 0.8)
    ahead = theta + 0.8 * v
    np.testing.assert_allclose(found.theta, theta)
    np.testing.assert_allclose(found.jump, 0.8 * v)
    np.testing.assert_allclose(found.correction, -0.03 * HESSIAN @ ahead)
    np.testing.assert_allclose(found.plain, -0.03 * HESSIAN @ theta)
    np.testing.assert_allclose(found.end, textbook(step + 1, 0.03, 0.8)[0])
    np.testing.assert_allclose(found.classical, theta + 0.8 * v - 0.03 * HESSIAN @ theta)
    arrows = [patch.get_path().vertices for patch in found.figure().axes[0].patches]
    assert len(arrows) == 5


def test_the_table_has_the_points_and_f_there():
    found = lookahead("ravine")
    table = found.table()
    assert table.columns["point"] == ["θ", "look-ahead θ + μ v", "Nesterov θ'", "classical momentum"]
    assert table.columns["x2"][1] == found.ahead[1] and table.caption == "Update 3."
    assert table.columns["f"][0] == pytest.approx(found.theta @ HESSIAN @ found.theta / 2)


def test_own_functions_and_other_starts():
    f = lambda x: 2 * x @ x  # noqa: E731
    found = lookahead(f, start=[1.0, 0.0], step=2, lr=0.1, momentum=0.5)
    np.testing.assert_allclose([found.theta[0], found.jump[0]], [0.6, -0.2])
    moved = lookahead(quadratic(4), start=(2.0, 0.0), step=2, lr=0.1, momentum=0.5)
    np.testing.assert_allclose(moved.theta, [1.8, 0.0])


@pytest.mark.parametrize(
    ("f", "knobs", "sentence"),
    [
        ("ravine", {"step": 1}, r"step is 1; the first update with a momentum to jump along is number 2\."),
        (torch.sum, {}, r"f is a function of your own; pass start="),
        ("rosenbrock", {"lr": 1.0, "step": 9}, r"The descent ended before update 9: .*\. Choose an earlier step\."),
    ],
)
def test_what_has_no_look_ahead_gets_a_sentence(f, knobs, sentence):
    with pytest.raises(InputError, match=sentence):
        lookahead(f, **knobs)


def test_a_diagram_of_three_coordinates_gets_a_sentence():
    with pytest.raises(InputError, match=r"The diagram is flat, but θ has 3 coordinates"):
        lookahead(rosenbrock(3), lr=1e-3).figure()
