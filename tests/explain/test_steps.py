"""Directions and lengths of a step: what the gradient says, and how far it is right."""

import numpy as np
import pytest
import torch

from ftheta.errors import InputError
from ftheta.explain import directions, step_lengths


def hill(x):
    return torch.sin(x[0]) * x[1] + x[1] ** 2 - x[0] * x[2]


POINT = [0.3, 0.8, -0.5]
GRADIENT = np.array([np.cos(0.3) * 0.8 + 0.5, np.sin(0.3) + 1.6, -0.3])
SLOPE = np.linalg.norm(GRADIENT)


@pytest.mark.ledger("A117", covers="ftheta.explain.directions")
def test_the_best_of_many_directions_turns_to_the_gradient_as_the_step_shrinks():
    gain, angle = {}, {}
    for length in (1.0, 0.1, 1e-4):
        found = directions(hill, POINT, length=length, n=2000)
        gain[length], angle[length] = found.gains[found.best], np.degrees(found.angles[found.best])
        assert found.vectors.shape == (2000, 3)
        np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=1), 1)
    assert angle[1e-4] < 4 < angle[1.0]  # the nearest of 2,000 directions in space
    assert gain[1e-4] == pytest.approx(SLOPE, rel=4e-3)
    assert abs(gain[1.0] - SLOPE) > 5 * abs(gain[1e-4] - SLOPE)
    down = directions(hill, POINT, length=1e-4, n=2000)
    assert np.degrees(down.angles[down.gains.argmin()]) > 176  # the range of angles includes π
    np.testing.assert_allclose(down.gains, SLOPE * np.cos(down.angles), atol=1e-3)
    np.testing.assert_allclose(down.gradient, GRADIENT)


def test_directions_as_table_and_figure():
    found = directions(lambda x: 3 * x[0] + 4 * x[1], [0.0, 0.0], n=500)
    table = found.table().columns
    assert table["predicted"] == [5, -5] and table["gain / η"] == pytest.approx([5, -5], rel=1e-3)
    assert table["angle to ∇f (degrees)"][0] < 2 and table["angle to ∇f (degrees)"][1] > 178
    measured, predicted = found.figure().axes[0].lines
    assert (np.diff(measured.get_xdata()) >= 0).all()
    np.testing.assert_allclose(measured.get_ydata(), predicted.get_ydata(), atol=1e-9)
    again, other = (directions(hill, POINT, n=9, seed=seed) for seed in (0, 1))
    assert len(again.gains) == 9 and not np.array_equal(again.vectors, other.vectors)


@pytest.mark.ledger("A120", covers="ftheta.explain.step_lengths")
def test_a_small_step_does_what_the_gradient_says_and_a_long_one_overshoots():
    """f = -x² at 1 has gradient -2: a tenth of it raises f, a step of length 3 lowers it from -1 to -4."""
    found = step_lengths(lambda x: -(x[0] ** 2), [1.0], [0.05, 0.1, 0.2, 1.0, 2.0, 2.5, 3.0])
    np.testing.assert_allclose(found.linear, 2 * found.lengths)
    np.testing.assert_allclose(found.change, 1 - (1 - found.lengths) ** 2, atol=1e-15)
    np.testing.assert_allclose(found.quadratic, found.change, atol=1e-15)  # f is quadratic
    assert found.change[2] == pytest.approx(0.36) and -1 + found.change[-1] == pytest.approx(-4)
    assert found.holds == 0.1 and found.overshoots == 2.5
    axes = found.figure().axes[0]
    lines = {line.get_label(): line.get_xydata() for line in axes.lines}
    np.testing.assert_allclose(lines["actual"], np.stack([found.lengths, found.change], 1))
    np.testing.assert_allclose(lines["gradient alone"][:, 1], found.linear)
    assert lines["wrong way from 2.5 on"][:, 0].tolist() == [2.5, 2.5]
    assert axes.patches[0].get_width() == pytest.approx(0.1)
    assert found.table().caption == "Linear within 10 % up to 0.1; from 2.5 on, a step up the gradient lowers f."


def test_curvature_improves_the_prediction_of_any_function():
    found = step_lengths(hill, POINT, np.array([0.01, 0.1]))
    linear, quadratic = (np.abs(found.change - p) for p in (found.linear, found.quadratic))
    assert linear[1] / linear[0] == pytest.approx(100, rel=0.1) and quadratic[1] / quadratic[0] > 500
    assert found.overshoots is None and found.table().columns["length"] == [0.01, 0.1]
    assert found.table().caption == "Linear within 10 % up to 0.1."


def test_a_function_that_is_nowhere_linear_enough():
    assert step_lengths(lambda x: x[0] ** 2, [1e-3], [1.0, 2.0]).holds == 0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: directions(hill, POINT, length=0), r"length=0, n=2000: a positive length"),
        (lambda: directions(hill, POINT, n=1), r"length=0\.001, n=1: .* at least 2 directions"),
        (
            lambda: directions(lambda x: x @ x, [0.0]),
            r"The gradient of f at \[0\.0\] is \[0\.0\]; a point with a slope",
        ),
        (lambda: step_lengths(hill, POINT, []), r"lengths is \[\]; at least one number"),
        (lambda: step_lengths(hill, POINT, [0.2, 0.1]), r"lengths is \[0\.2, 0\.1\]; .* ascending from above 0"),
        (lambda: step_lengths(hill, POINT, [0.0, 0.1]), r"ascending from above 0"),
    ],
)
def test_what_cannot_be_measured_gets_a_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
