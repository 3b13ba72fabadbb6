"""Filling in: known pixels and errors by hand, verdicts on made-up shares, and one small run."""

import numpy as np
import pytest
import torch

from ftheta.draw import Draw
from ftheta.models.energy.rbm_net import RBM
from ftheta.studies.report import rbm_reconstruction
from ftheta.studies.report.rbm_reconstruction import TINY, figures, filled, judge, measure, tables


def test_rows_of_28_are_removed_at_one_end_and_in_proportion_from_smaller_images():
    top, bottom = (rbm_reconstruction._missing((28, 28), 5, end).reshape(28, 28) for end in ("top", "bottom"))
    assert top[:5].all() and not top[5:].any() and bottom[23:].all() and not bottom[:23].any()
    assert rbm_reconstruction._missing((8, 8), 15, "top").sum() == 4 * 8


@pytest.mark.parametrize("steps", [1, 3])
def test_clamped_pixels_stay_and_missing_ones_are_what_the_machine_expects(steps):
    machine = RBM(4, 2, std=0.0)
    with torch.no_grad():
        machine.visible_bias.copy_(torch.tensor([-2.0, 0.0, 1.0, 3.0]))
    x, missing = np.array([[0.3, 1.0, 0.7, 0.2]], dtype=np.float32), np.array([True, False, True, False])
    mean = 1 / (1 + np.exp([2.0, 0.0, -1.0, -3.0]))
    made = filled(machine, x, missing, steps, clamped=True, draw=Draw(0))
    assert made[0] == pytest.approx([mean[0], 1.0, mean[2], 0.2], abs=1e-6)
    assert filled(machine, x, missing, steps, clamped=False, draw=Draw(0))[0] == pytest.approx(mean, abs=1e-6)


def test_missing_pixels_start_dark():
    """The hidden unit follows the missing pixel, which was lit: it must not be known."""
    machine = RBM(2, 1, std=0.0)
    with torch.no_grad():
        machine.weight.copy_(torch.tensor([[100.0, 0.0]]))
        machine.hidden_bias.fill_(-50.0)
        machine.visible_bias.copy_(torch.tensor([-50.0, 0.0]))
    made = filled(machine, np.ones((1, 2)), np.array([True, False]), 1, clamped=True, draw=Draw(0))
    assert made.tolist() == [[pytest.approx(0, abs=1e-6), 1]]


def test_errors_are_of_missing_pixels_by_class():
    y = np.arange(10).repeat(2)
    x, off = np.zeros((20, 3)), np.zeros((20, 3))
    off[:, 0], off[:, 2] = 0.1 * y, 9
    made = rbm_reconstruction._errors(x + off, x, y, np.array([True, True, False]))
    assert made == pytest.approx(0.1 * np.arange(10) / np.sqrt(2))


def evidence(few=0.9, far=0.3, lost=0.5, free=0.0, worst=2):
    """Three seeds; shares by rows up to 15 and beyond."""
    read = np.broadcast_to(np.array([few, few, few, far, far])[:, None], (3, 2, 2, 5, 3))
    error = np.full((3, 2, 2, 5, 3, 10), 0.2)
    error[:, 0, 1, :3, :2, worst] = 0.4
    error[:, 0, 0, :, :, 9] = error[:, 0, 1, 3:, :, 8] = error[:, 0, 1, :, 2, 7] = 0.9  # other cells do not count
    gone = np.zeros((3, 2, 2, 5))
    gone[:, 0], gone[:, 1] = lost, free
    gone[..., 3:] = 0.5
    flat = np.full((2, 5), 0.5)
    return {
        "error": error,
        "read": read,
        "lost": gone,
        "dark": flat,
        "mean": flat,
        "read dark": flat,
        "whole": 0.97,
        "pictures": np.zeros((2, 2, 5, 3, 10, 4, 4)),
        "rows": [5, 10, 15, 20, 25],
        "steps": [1, 5, 100],
    }


@pytest.mark.parametrize(
    ("changes", "verdict", "held"),
    [
        ({}, "confirmed", 4),
        ({"lost": 0.0, "free": 0.5}, "confirmed", 4),
        ({"lost": 0.1, "free": 0.9}, "corrected", 3),
        ({"worst": 5}, "corrected", 3),
        ({"few": 0.4}, "corrected", 3),
        ({"far": 0.6}, "corrected", 3),
        ({"few": 0.4, "far": 0.6, "lost": 0.0, "worst": 0}, "refuted", 0),
    ],
)
def test_verdicts(changes, verdict, held):
    (found,) = judge(evidence(**changes))
    assert (found.row, found.verdict, found.why.count(": yes")) == ("B133", verdict, held)
    assert f"Worst digit below: {changes.get('worst', 2)}, with an error of 0.400" in found.why


def test_tables_and_figures():
    made = tables(evidence())
    assert made["filled"].columns["rows"] == [5, 10, 15, 20, 25] * 2 and len(made["filled"].columns) == 17
    assert made["digits"].columns["bottom missing"] == pytest.approx([0.2, 0.2, 0.4] + [0.2] * 7)
    drawn = figures(evidence())
    assert len(drawn["read"].axes) == 4 and len(drawn["filled"].axes) == 3


@pytest.mark.slow
def test_a_small_run_and_a_machine_that_does_not_see_its_pixels(monkeypatch):
    found = measure(TINY)
    assert found["error"].shape == (2, 2, 2, 3, 3, 10) and found["read"].shape == (2, 2, 2, 3, 3)
    assert (found["error"][:, 0].mean((0, 3, 4)) < found["dark"]).all()
    monkeypatch.setattr(rbm_reconstruction, "filled", lambda machine, x, missing, *_, **__: np.where(missing, 0, x))
    dark = measure(TINY)
    assert dark["error"][:, 0].mean((0, 3, 4)) == pytest.approx(dark["dark"]) and (dark["lost"] == 0).all()
    assert "are lost at 5 steps: no" in judge(dark)[0].why
