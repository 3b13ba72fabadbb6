"""Noise on gradients: verdicts on made-up errors, and one small run."""

import numpy as np
import pytest

from ftheta.studies.optimisers.gradient_noise import SCALES, TINY, figures, judge, measure, tables

CALM = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.12, 0.2, 0.9])


def made(train=CALM, valid=CALM, seeds=4):
    return {"train": np.stack([train] * seeds), "valid": np.stack([valid] * seeds)}


HELPS = CALM * np.array([1, 1, 1, 0.8, 1, 1, 1, 1])


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "corrected"),
        ({"valid": HELPS}, "confirmed"),
        ({"train": np.full(8, 0.1), "valid": HELPS}, "not reproduced"),
        ({"train": np.full(8, 0.1)}, "refuted"),
        ({"train": CALM[[0, 1, 7, 2, 3, 4, 5, 7]]}, "refuted"),  # harm, but not the more the larger
    ],
)
def test_verdicts(changes, verdict):
    (found,) = judge(made(**changes))
    assert (found.row, found.verdict) == ("B018", verdict)


def test_a_gain_in_few_seeds_is_none():
    evidence = made()
    evidence["valid"][0, 3] = 0.01
    assert judge(evidence)[0].verdict == "corrected"


def test_the_region_without_harm_is_named():
    assert "No harm to training up to 1;" in judge(made())[0].why


def test_a_small_run_without_noise_is_plain_gd_and_with_noise_is_not():
    evidence = measure(TINY)
    assert evidence["train"].shape == (TINY.seeds, len(SCALES))
    assert (np.abs(evidence["train"][:, 1] / evidence["train"][:, 0] - 1) < 0.05).all()
    assert (np.abs(evidence["train"][:, -1] / evidence["train"][:, 0] - 1) > 0.2).all()
    assert len(figures(evidence)["noise"].axes[0].lines) == 2 and len(tables(evidence)["noise"].columns["σ"]) == 8
