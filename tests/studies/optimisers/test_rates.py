"""Rates: labels of curves, verdicts on made-up evidence, and one small run."""

import numpy as np
import pytest

from ftheta.studies.optimisers.rates import GRID, LABELS, PROBLEMS, TINY, figures, judge, label, measure, tables

T = np.arange(101)


@pytest.mark.parametrize(
    ("losses", "word"),
    [
        (5 * 0.8**T, "converged"),
        (5 * 0.999**T, "slow"),
        (5 * 1.01**T, "diverged"),
        (4 * 0.5**T + 0.01 * 1.05**T, "diverged"),  # below its start, but on its way up
        (4 - T / 100 + (T % 2), "oscillating"),
    ],
)
def test_labels(losses, word):
    assert label(losses, 0.0) == word


def made(ends=(3.2, 0.0052, 9.0), limit=1.9, at=None, edge=((50, 5), (50, 500)), seeds=5, noise=0.01):
    rng = np.random.default_rng(0)
    curves = [
        np.linspace(5, ends[0], 101),
        ends[1] + 5 * 0.8**T,
        np.linspace(5, ends[2], 101),
    ]
    three = np.stack([np.stack(curves) * (1 + noise * rng.normal(size=(3, 1))) for _ in range(seeds)])
    labels = np.full((seeds, len(PROBLEMS), len(GRID)), LABELS.index("converged"))
    for problem in at or ():
        labels[:, problem, GRID.index(0.1)] = LABELS.index("diverged")
    return {
        "three": three,
        "limit": np.full(seeds, limit),
        "labels": labels,
        "ends": np.full((seeds, len(PROBLEMS), len(GRID)), 0.5),
        "edge": np.array(edge, dtype=float),
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "confirmed"),
        ({"ends": (4.5, 0.0052, 9.0)}, "corrected"),  # another number, the same order
        ({"limit": 2.1}, "corrected"),  # diverges though the limit is above
        ({"ends": (3.2, 0.0052, 0.1)}, "refuted"),
    ],
)
def test_verdicts_on_three_rates(changes, verdict):
    found = judge(made(**changes))[0]
    assert (found.row, found.verdict) == ("B008", verdict)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "confirmed"),
        ({"at": [1]}, "corrected"),
        ({"at": [1, 2, 3]}, "refuted"),
        ({"at": [1], "edge": ((50, 60), (50, 500))}, "not reproduced"),
        ({"at": [1], "edge": ((50, 5), (50, 40))}, "not reproduced"),
    ],
)
def test_verdicts_on_the_staples(changes, verdict):
    found = judge(made(**changes))[1]
    assert (found.row, found.verdict) == ("A124", verdict)


def test_the_table_says_what_each_rate_does():
    columns = tables(made(at=[1]))["rates"].columns
    assert columns["0.1"][1] == "diverged" and columns["0.1"][0] == "converged" and columns["problem"] == PROBLEMS


@pytest.mark.middle
def test_a_small_run_knows_the_edge_and_the_limit():
    evidence = measure(TINY)
    (first, below), (_, above) = evidence["edge"]
    assert first == 50
    assert below == pytest.approx(50 * (1 - 0.0199 * 100) ** (2 * TINY.steps))
    assert above == pytest.approx(50 * (1 - 0.0201 * 100) ** (2 * TINY.steps))
    assert evidence["labels"].shape == (TINY.seeds, len(PROBLEMS), len(GRID))
    bowl = [LABELS[i] for i in evidence["labels"][0, 1]]
    assert bowl[:4] == ["diverged"] * 4 and bowl[4] == "converged"  # 0.01 arrives in one step
    assert set(figures(evidence)) == {"line", "sweep"} and {f.row for f in judge(evidence)} == {"B008", "A124"}
