"""L-BFGS under noise: verdicts on made-up curves, and one small run."""

import numpy as np
import pytest

from ftheta.studies.optimisers._race import VARIANCE
from ftheta.studies.optimisers.lbfgs_noise import LEVELS, TINY, _until_good, figures, judge, measure

E = np.arange(101)


def made(good=(20, 20), high=0.8, turn=25, gap=0.3, later=30, seeds=4):
    """Errors that are good from an epoch on; at full noise a validation error that is least at `turn`, with more rows
    at `later`."""
    floors = np.square(LEVELS) * VARIANCE
    train = [np.where(good[i] <= E, floors[i], floors[i] + VARIANCE) for i in (0, 1)]
    train.append(high * VARIANCE + np.zeros(101))
    train.append(train[2])
    valid = train[:2] + [train[2] + gap * VARIANCE * (0.5 + np.abs(E - t) / np.abs(100 - t) / 2) for t in (turn, later)]
    both = {"train": train, "valid": valid}
    return {key: np.stack([value] * seeds, axis=1) for key, value in both.items()} | {"rows": [50, 100]}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "confirmed"),
        ({"turn": 80}, "corrected"),
        ({"later": 80}, "corrected"),  # with few rows only
        ({"good": (20, 60)}, "corrected"),
        ({"good": (60, 60), "turn": 80}, "not reproduced"),
        ({"good": (60, 60), "turn": 80, "high": 0.1, "gap": -0.3}, "refuted"),
    ],
)
def test_verdicts(changes, verdict):
    (found,) = judge(made(**changes))
    assert (found.row, found.verdict) == ("B016", verdict)


def test_numbers_are_epochs():
    (found,) = judge(made(good=(15, 22), turn=30))
    assert found.measured == [15, 22, 30, 30] and found.spread == [0, 0, 0, 0]


def test_both_errors_must_be_good_and_never_is_one_more_than_the_last():
    evidence = made(good=(10, 10))
    evidence["valid"] = evidence["valid"].copy()
    evidence["valid"][0, :, :40] += VARIANCE
    evidence["train"] = evidence["train"].copy()
    evidence["train"][1] += VARIANCE
    assert _until_good(evidence)[:2].tolist() == [[40] * 4, [101] * 4]


@pytest.mark.middle
def test_a_small_run_has_a_panel_a_level_and_one_a_number_of_rows():
    evidence = measure(TINY)
    assert evidence["train"].shape == evidence["valid"].shape == (4, 2, TINY.epochs + 1)
    drawn = figures(evidence)["noise"]
    assert [axes.get_title() for axes in drawn.axes] == ["0% noise", "25% noise", "100% noise"]
    assert [len(axes.lines) for axes in drawn.axes] == [2, 2, 2]
    assert [axes.get_title() for axes in figures(evidence)["rows"].axes] == ["30 rows", "60 rows"]
    assert judge(evidence)[0].row == "B016"
