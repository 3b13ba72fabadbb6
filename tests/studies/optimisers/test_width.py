"""Five rules and three widths: verdicts on made-up errors, and one small run."""

import numpy as np
import pytest

from ftheta.studies.optimisers.width import RULES, TINY, WIDTHS, figures, judge, measure, tables


def made(gains, seeds=4):
    """Errors that fall from 1 to 10^-gain from the narrowest to the widest network, rule by rule."""
    wide = np.array([10.0 ** -gains[rule] for rule in RULES])
    ends = np.stack([np.ones(5), np.sqrt(wide), wide])  # (3, 5)
    train = np.broadcast_to(ends[:, :, None, None], (3, 5, seeds, 3))
    return {"train": train, "valid": 2 * train, "seconds": train, "rates": np.full((3, 5), 0.1)}


EVEN = dict.fromkeys(RULES, 0.0)


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [
        ({**EVEN, "adam": 1, "sgd": 1, "gd": 0.5}, "confirmed"),
        ({**EVEN, "adam": 1, "sgd": 1, "gd": -1}, "corrected"),
        ({**EVEN, "adam": 1, "sgd": 1, "lbfgs": 2, "gd": 0.5}, "corrected"),
        ({**EVEN, "lbfgs": 2, "nesterov": 2, "gd": 0.5}, "not reproduced"),
        ({**EVEN, "lbfgs": 2, "nesterov": 2, "gd": -1}, "refuted"),
    ],
)
def test_verdicts(gains, verdict):
    (found,) = judge(made(gains))
    assert (found.row, found.verdict) == ("B029", verdict)


def test_gains_are_decades_of_the_ratio():
    (found,) = judge(made({**EVEN, "adam": 1, "nesterov": 0.25, "gd": 0.5}))
    assert found.measured == pytest.approx([0.75, -0.25, 1, 0, 0.5])


def test_the_ranking_starts_with_the_lowest_error_of_each_size():
    columns = tables(made({**EVEN, "adam": 2, "gd": -1}))["ranking"].columns
    assert columns["units"] == [w for w in WIDTHS for _ in RULES] and columns["place"] == [1, 2, 3, 4, 5] * 3
    assert columns["rule"][10] == "Adam" and columns["rule"][14] == "GD"
    assert columns["training error"][10] == pytest.approx(0.01) and columns["validation error"][14] == pytest.approx(20)


@pytest.mark.middle
def test_a_small_run_has_a_panel_a_size():
    evidence = measure(TINY)
    assert evidence["train"].shape == (3, 5, TINY.seeds, TINY.epochs + 1)
    drawn = figures(evidence)["width"]
    assert [axes.get_title() for axes in drawn.axes] == ["10 units", "50 units", "100 units"]
    assert [len(axes.lines) for axes in drawn.axes] == [5, 5, 5] and judge(evidence)[0].row == "B029"
