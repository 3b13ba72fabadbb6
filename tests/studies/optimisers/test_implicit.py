"""Implicit regularisation: verdicts on made-up distances, and modified losses that are broken on purpose."""

import numpy as np
import pytest

from ftheta.formulas import modified_sgd
from ftheta.studies.optimisers import implicit
from ftheta.studies.optimisers.implicit import TINY, figures, judge, measure

RATES = 0.1 / 2.0 ** np.arange(3)


def made(gd=(1, 2, 1), sgd=(2, 2, 3, 2)):
    """Distances that are exact powers of the rate."""
    return {"gd": RATES[:, None] ** np.array(gd), "sgd": RATES[:, None] ** np.array(sgd)}


@pytest.mark.parametrize(
    ("changes", "verdicts"),
    [
        ({}, ["corrected", "corrected"]),
        ({"gd": (1, 1, 2)}, ["not reproduced", "corrected"]),  # the minus sign would be right
        ({"gd": (2, 2, 1)}, ["not reproduced", "corrected"]),  # the plain loss would do
        ({"sgd": (2, 2, 2, 3)}, ["corrected", "not reproduced"]),  # the batch size would be right
        ({"sgd": (2, 3, 3, 2)}, ["corrected", "not reproduced"]),  # the variance would not matter
    ],
)
def test_verdicts(changes, verdicts):
    found = judge(made(**changes))
    assert [(f.row, f.verdict) for f in found] == list(zip(["C161", "C163"], verdicts, strict=True))


@pytest.mark.middle
def test_a_tiny_run_finds_what_is_claimed_and_broken_losses_do_not(monkeypatch):
    evidence = measure(TINY)
    assert {f.row: f.verdict for f in judge(evidence)} == implicit.CLAIMS
    drawn = figures(evidence)
    assert set(drawn) == {"orders", "surface-L", "surface-modified"}
    assert {"gradient descent", "flow of L", "flow of the modified loss"} <= set(
        drawn["surface-modified"].axes[0].get_legend_handles_labels()[1]
    )
    monkeypatch.setattr(implicit, "modified_gd", lambda f, lr: f)
    monkeypatch.setattr(implicit, "modified_sgd", lambda fs, lr: modified_sgd(fs, lr / 2))
    assert [f.verdict for f in judge(measure(TINY))] == ["not reproduced", "not reproduced"]
