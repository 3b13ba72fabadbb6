"""Small batches: verdicts on made-up curves, and one small run."""

import numpy as np
import pytest

from ftheta.studies.optimisers.small_batches import TINY, figures, judge, measure, tables

E = np.arange(41)


def made(gap=(0.1, 0.4), train=(0.3, 0.3), seconds=(2.0, 0.5), wobble=(0.1, 0.0), seeds=4):
    errors = np.stack([level + 0.5 * 0.7**E + w * (E % 2) for level, w in zip(train, wobble, strict=True)])
    valid = errors + np.array(gap)[:, None]
    shape = (2, seeds, 41)
    time = np.array(seconds)[:, None] * E / 40
    stack = {"train": errors, "valid": valid, "seconds": time}
    return {k: np.broadcast_to(v[:, None], shape) for k, v in stack.items()} | {
        "rates": np.array([0.01, 0.1]),
        "sizes": [1, 40],
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "confirmed"),
        ({"gap": (0.5, 0.4)}, "refuted"),  # the costs are there, but not what they are paid for
        ({"gap": (0.5, 0.4), "train": (0.1, 0.3)}, "corrected"),  # a larger gap, but a lower error
        ({"train": (0.9, 0.3)}, "corrected"),  # a smaller gap, but a higher error
        ({"train": (0.9, 0.3), "seconds": (0.5, 2.0), "wobble": (0, 0.1)}, "not reproduced"),
        ({"gap": (0.5, 0.4), "seconds": (0.5, 2.0), "wobble": (0, 0.1)}, "refuted"),
    ],
)
def test_verdicts(changes, verdict):
    (found,) = judge(made(**changes))
    assert (found.row, found.verdict) == ("B027", verdict)


def test_the_table_has_gap_time_and_stability():
    columns = tables(made(wobble=(0.1, 0.0)))["sizes"].columns
    assert columns["gap"] == pytest.approx([0.1, 0.4]) and columns["seconds"] == pytest.approx([2, 0.5])
    assert columns["epochs that rise"] == ["50%", "0%"] and columns["rate"] == [0.01, 0.1]


def test_a_small_run_has_a_curve_a_size():
    evidence = measure(TINY)
    assert evidence["train"].shape == (2, TINY.seeds, TINY.epochs + 1) and evidence["rates"].shape == (2,)
    assert [len(axes.lines) for axes in figures(evidence)["sizes"].axes] == [2, 2]
    assert judge(evidence)[0].row == "B027"
