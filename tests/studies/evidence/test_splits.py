"""Splits: verdicts on made-up halves, and a split that is broken on purpose."""

import numpy as np
import pytest

from ftheta.data import holdout
from ftheta.studies.evidence import splits
from ftheta.studies.evidence.splits import TINY, judge, measure

PARTS = {"train": [0, 1, 2], "learn": [0, 2], "valid": [1], "test": [3, 4]}


def made(half=50, seeds=400, hits=(0, 42, 43), stratified=25, sd=1.0, sizes=50, first=None, **parts):
    """Evidence of 2·half rows: the share of class 0 in a random half spreads as theory says, times sd."""
    theory = np.sqrt(half / 4 * half / (2 * half - 1))
    normal = np.random.default_rng(0).standard_normal(seeds)
    random = half / 2 + sd * theory * (normal - normal.mean()) / normal.std(ddof=1)
    counts = np.stack(
        [
            np.broadcast_to([half, 0] if first is None else first, (seeds, 2)),
            np.stack([half - random, random], 1),
            np.full((seeds, 2), stratified),
        ],
        axis=1,
    )
    surface = {"z": np.zeros(5), "at": np.zeros((5, 2))} | {k: np.array(v) for k, v in (PARTS | parts).items()}
    return {
        "n": 2 * half,
        "first": counts,
        "sizes": np.full((seeds, 3, 2), sizes),
        "uneven": np.zeros((seeds, 3), dtype=int),
        "hits": np.array([hits]),
        "surface": surface,
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "confirmed"),
        ({"hits": (3, 42, 43)}, "refuted"),
        ({"first": [49, 1]}, "refuted"),
        ({"stratified": 24}, "not reproduced"),
        ({"sizes": 49}, "not reproduced"),
        ({"sd": 1.3}, "not reproduced"),
    ],
)
def test_verdicts_of_sorted_rows(changes, verdict):
    found = judge(made(**changes))[0]
    assert (found.row, found.verdict) == ("A004", verdict)


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ({}, "confirmed"),
        ({"valid": [1, 2]}, "refuted"),
        ({"test": [2, 3, 4]}, "refuted"),
        ({"learn": [0]}, "refuted"),
        ({"test": [3]}, "refuted"),
    ],
)
def test_verdicts_of_the_parts(parts, verdict):
    found = judge(made(**parts))[1]
    assert (found.row, found.verdict) == ("B043", verdict)


@pytest.mark.slow
def test_a_broken_split_changes_the_verdicts(monkeypatch):
    assert [f.verdict for f in judge(measure(TINY))] == list(splits.CLAIMS.values())

    def unstratified(n, fraction, draw, *, split="random", y=None):
        return holdout(n, fraction, draw, split="random" if split == "stratified" else split)

    monkeypatch.setattr(splits, "holdout", unstratified)
    assert [f.verdict for f in judge(measure(TINY))] == ["not reproduced", "confirmed"]

    def overlapping(n, fraction, draw, **how):
        train, test = holdout(n, fraction, draw, **how)
        return np.append(train, test[0]), test

    monkeypatch.setattr(splits, "holdout", overlapping)
    assert [f.verdict for f in judge(measure(TINY))] == ["refuted", "refuted"]


@pytest.mark.slow
def test_the_five_panels_are_the_parts():
    figure = splits.figures(measure(TINY))["parts"]
    panels = [axes for axes in figure.axes if axes.get_title()]
    assert [len(axes.collections[0].get_offsets()) for axes in panels] == [60, 42, 34, 8, 18]
