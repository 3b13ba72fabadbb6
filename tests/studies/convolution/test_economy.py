"""Parameters and images: what is needed, verdicts on made-up accuracies, and one small run."""

import numpy as np
import pytest

from ftheta.studies.convolution.economy import TINY, figures, judge, measure, needed, tables

SIZES = np.array([100, 400, 1600])


@pytest.mark.parametrize(("goal", "value"), [(0.5, 100), (0.85, 400), (0.9, 400), (0.95, np.inf)])
def test_the_least_network_that_reaches_the_goal(goal, value):
    assert needed(np.array([0.8, 0.9, 0.9]), SIZES, goal) == value


def test_a_large_network_that_falls_back_does_not_count():
    assert (
        needed(np.array([0.8, 0.95, 0.7]), SIZES, 0.9) == 400 and needed(np.array([0.9, 0.8, 0.9]), SIZES, 0.85) == 100
    )


def made(conv, dense, seeds=3):
    """Accuracies at 10 and 100 images: a convolutional net of 200 parameters and three dense ones; (P, M, ...)."""
    spread = 0.001 * np.arange(seeds)[:, None, None]
    grid = [
        np.broadcast_to(np.array(v, dtype=float)[:, None], (2, seeds, 2, len(v[0][0]))) + spread for v in (conv, dense)
    ]
    return {
        "conv": grid[0],
        "dense": grid[1],
        "conv parameters": np.full((2, 1), 200),
        "dense parameters": np.tile(SIZES, (2, 1)),
        "counts": [10, 100],
    }


FAR, NEAR, LOW = [0.7, 0.8, 0.85], [0.8, 0.92, 0.93], [0.4, 0.5, 0.6]


@pytest.mark.parametrize(
    ("conv", "verdict", "times"),
    [
        ((0.9, 0.9), "confirmed", [[8], [8]]),  # none in the middle: the largest, 8 times, stands for it
        ((0.8, 0.9), "confirmed", [[2], [8]]),
        ((0.7, 0.9), "corrected", [[0.5], [8]]),  # 100 parameters are enough in the middle
        ((0.9, 0.3), "not reproduced", [[8], [0.5]]),
        ((0.6, 0.3), "refuted", [[0.5], [0.5]]),
    ],
)
def test_verdicts_on_parameters(conv, verdict, times):
    evidence = made([[[0.5], [v]] for v in conv], [[FAR, FAR], [LOW, LOW]])
    found = judge(evidence)[0]
    assert (found.row, found.verdict, found.measured) == ("A209", verdict, times)


@pytest.mark.parametrize(
    ("conv", "verdict"),
    [
        ([[0.9, 0.95], [0.9, 0.95]], "confirmed"),
        ([[0.8, 0.95], [0.9, 0.95]], "corrected"),
        ([[0.8, 0.8], [0.8, 0.95]], "not reproduced"),
        ([[0.8, 0.8], [0.5, 0.5]], "refuted"),
    ],
)
def test_verdicts_on_images(conv, verdict):
    evidence = made(np.array(conv)[..., None], [[FAR, NEAR], [FAR, NEAR]])
    evidence["conv"] = evidence["conv"] + 0.001 * np.arange(3)[:, None, None] * np.ones(1)
    found = judge(evidence)[1]
    assert (found.row, found.verdict) == ("A211", verdict)
    best = np.array([0.85, 0.93])  # the best of all widths
    assert np.array(found.measured) == pytest.approx(np.array(conv) - best + 0.001)


@pytest.mark.middle
def test_a_small_run():
    evidence = measure(TINY)
    assert evidence["dense"].shape == (2, TINY.seeds, 2, 2) and evidence["conv"].shape == (2, TINY.seeds, 2, 2)
    assert evidence["dense parameters"].tolist() == [[d * h + h + 10 * h + 10 for h in (4, 8)] for d in (64, 196)]
    conv = [[10 * f + 2 * f * (9 * f + 1) + 2 * f * n * 10 + 10 for f in (2, 4)] for n in (4, 9)]
    assert evidence["conv parameters"].tolist() == conv
    columns = tables(evidence)["parameters"].columns
    assert columns["network"] == ["convolutional", "convolutional", "dense", "dense"] * 2
    drawn = figures(evidence)
    assert set(drawn) == {"parameters", "images"} and all(len(f.axes) == 2 for f in drawn.values())
    assert [f.row for f in judge(evidence)] == ["A209", "A211"]
