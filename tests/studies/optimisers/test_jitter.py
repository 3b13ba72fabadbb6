"""Jitter: verdicts on made-up numbers, and one small run against the exact variance."""

import numpy as np
import pytest

from ftheta.studies.optimisers.jitter import NOISY, SIZES, TINY, figures, judge, measure

RATE, SIZE = np.array(NOISY)[:, None], np.array(SIZES)


def made(jitter=RATE / SIZE, variance=1 / SIZE + 0 * RATE, seeds=3):
    return {
        "jitter": np.stack([jitter * np.ones((3, 3))] * seeds),
        "variance": np.stack([variance * np.ones((3, 3))] * seeds),
        "uneven": np.full((seeds, 3), 0.5),
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "corrected"),
        ({"variance": RATE / SIZE}, "confirmed"),  # if the rate did make the estimate noisy
        ({"variance": 1 / SIZE * (1 + 8 * RATE)}, "not reproduced"),
        ({"variance": 1 / SIZE**0.5 + 0 * RATE}, "not reproduced"),
        ({"jitter": 1 / SIZE + 0 * RATE}, "refuted"),
        ({"jitter": RATE + 0 * SIZE}, "refuted"),
    ],
)
def test_verdicts(changes, verdict):
    (found,) = judge(made(**changes))
    assert (found.row, found.verdict) == ("B012", verdict)


@pytest.mark.middle
def test_a_small_run_has_a_variance_that_falls_with_the_batch_and_a_loss_that_jitters_with_the_rate():
    evidence = measure(TINY)
    assert evidence["variance"][:, 0, 0] / evidence["variance"][:, 0, 2] == pytest.approx(50, rel=0.3)
    assert (evidence["jitter"][:, 2] > evidence["jitter"][:, 0]).all() and (evidence["curves"][..., 0] < 1e-12).all()
    assert evidence["rules"].shape == (TINY.seeds, 3, TINY.updates // 4 + 1)
    drawn = figures(evidence)
    assert [len(axes.lines) for axes in drawn["jitter"].axes] == [3, 3, 3] and len(drawn["rules"].axes) == 1
    assert judge(evidence)[0].row == "B012"
