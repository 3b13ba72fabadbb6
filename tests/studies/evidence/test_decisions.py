"""Decisions: verdicts on made-up evidence, and a likelihood that is broken on purpose."""

import numpy as np
import pytest

from ftheta.likelihoods import Categorical
from ftheta.studies.evidence.decisions import CLAIMS, TINY, figures, judge, measure

RAW2, RAW3 = np.array([[-1.0], [2.0]]), np.array([[1.0, 0.0, -1.0], [0.0, 3.0, 1.0]])
P2, P3 = (
    np.array([[0.731059, 0.268941], [0.119203, 0.880797]]),
    np.array([[0.665241, 0.244728, 0.090031], [0.042010, 0.843795, 0.114195]]),
)


def made(share=(0.3333, 0.3334, 0.3333), wins=1.0, p2=P2, p3=P3, class2=(0, 1), class3=(0, 1)):
    """Two seeds that agree."""
    one = {
        "share": np.array(share),
        "wins": wins,
        "points": 10_000,
        **{"two_raw": RAW2, "two_p": p2, "two_class": np.array(class2)},
        **{"three_raw": RAW3, "three_p": p3, "three_class": np.array(class3)},
    }
    return {key: np.array([value, value]) for key, value in one.items()}


@pytest.mark.parametrize(
    ("changes", "verdicts"),
    [
        ({}, ["confirmed", "confirmed"]),
        ({"share": (0.3333, 0.35, 0.3167)}, ["refuted", "confirmed"]),
        ({"wins": 0.99}, ["refuted", "confirmed"]),
        ({"p2": P2 * 1.001}, ["confirmed", "refuted"]),
        ({"p2": P2[::-1]}, ["confirmed", "refuted"]),
        ({"p3": P3[:, ::-1]}, ["confirmed", "refuted"]),
        ({"class2": (1, 1)}, ["confirmed", "refuted"]),
        ({"class3": (0, 2)}, ["confirmed", "refuted"]),
    ],
)
def test_verdicts(changes, verdicts):
    assert [f.verdict for f in judge(made(**changes))] == verdicts


@pytest.mark.slow
def test_a_broken_likelihood_changes_the_verdicts(monkeypatch):
    assert {f.row: f.verdict for f in judge(measure(TINY))} == CLAIMS
    with monkeypatch.context() as patch:
        patch.setattr(Categorical, "mode", lambda self, raw: raw.argmin(-1))
        assert [f.verdict for f in judge(measure(TINY))] == ["refuted", "refuted"]
    monkeypatch.setattr(Categorical, "probabilities", lambda self, raw: raw.sigmoid())
    assert [f.verdict for f in judge(measure(TINY))] == ["confirmed", "refuted"]


@pytest.mark.slow
def test_the_figures_show_classes_by_colour_and_every_step():
    drawn = figures(measure(TINY))
    assert len(drawn["simplex"].axes[0].collections) == 3
    assert {t.get_text() for t in drawn["simplex"].axes[0].texts} == {"x = y", "x = z", "y = z"}
    assert [axes.get_ylabel() for axes in drawn["links"].axes[::2]] == ["raw output (score)", "probability", "class"]
