"""Decisions: verdicts on made-up evidence, and a rule that is broken on purpose."""

import numpy as np
import pytest

from ftheta.studies.linear import decisions
from ftheta.studies.linear.decisions import CLAIMS, CUTS, TINY, figures, judge, measure, tables

BEST = [[1.0, 0.1586553], [1.549306, 0.1270168], [-0.753279, 0.6545211]]
KEPT = [[0.9, 0.16], [1.6, 0.128], [-0.5, 0.7]]


def made(least=None, crossing=None, chosen=None, plain=8.198118):
    given = {i: row for i, row in (least or {}).items()}, {i: row for i, row in (crossing or {}).items()}
    kept = {i: row for i, row in (chosen or {}).items()}
    pick = lambda base, over: [over.get(i, row) for i, row in enumerate(base)]  # noqa: E731
    return {
        "risk": np.ones((3, len(CUTS))),
        "least": np.array(pick(BEST, given[0])),
        "crossing": np.array(pick(BEST, given[1])),
        "chosen": np.array([KEPT, pick(KEPT, kept)]),
        "plain": plain,
        "models": np.full((2, 4, 2, 4), 0.1),
    }


@pytest.mark.parametrize(
    ("changes", "verdicts"),
    [
        ({}, ["confirmed", "confirmed"]),
        ({"least": {0: [1.1, 0.1586553]}}, ["refuted", "confirmed"]),
        ({"least": {1: [1.549306, 0.12]}}, ["refuted", "confirmed"]),
        ({"crossing": {1: [1.6, 0.1270168]}}, ["refuted", "confirmed"]),
        ({"chosen": {0: [0.9, 0.158]}}, ["refuted", "confirmed"]),
        ({"chosen": {1: [0.9, 0.127]}}, ["refuted", "confirmed"]),
        ({"least": {2: [-0.7, 0.6545211]}}, ["confirmed", "refuted"]),
        ({"least": {2: [-0.753279, 0.65]}}, ["confirmed", "refuted"]),
        ({"crossing": {2: [-0.74, 0.6545211]}}, ["confirmed", "refuted"]),
        ({"chosen": {2: [-0.5, 0.6]}}, ["confirmed", "refuted"]),
        ({"plain": 8.3}, ["confirmed", "refuted"]),
    ],
)
def test_verdicts(changes, verdicts):
    found = judge(made(**changes))
    assert [f.verdict for f in found] == verdicts and [f.row for f in found] == list(CLAIMS)


@pytest.mark.middle
def test_a_broken_rule_changes_the_verdicts(monkeypatch):
    evidence = measure(TINY)
    assert {f.row: f.verdict for f in judge(evidence)} == CLAIMS
    drawn, table = figures(evidence), tables(evidence)["models"].columns
    assert set(drawn) == {"error", "cost", "models"} and len(drawn["models"].axes) == 4
    assert table["data"] == [name for name in decisions.SETS for _ in decisions.MODELS]
    assert table["excess log loss (nats)"][4:6] == [None, None] and min(table["excess error"][:4]) >= 0
    whole = decisions.gaussian_rule
    monkeypatch.setattr(decisions, "gaussian_rule", lambda m, s, priors, loss: whole(m, s, priors[::-1], loss))
    broken = {key: np.array([one[key] for one in map(decisions._line, decisions.PROBLEMS)]) for key in ("crossing",)}
    assert [f.verdict for f in judge(evidence | broken)] == ["refuted", "refuted"]


@pytest.mark.parametrize("problem", [0, 1, 2])
def test_thresholds_chosen_on_many_rows_are_near_the_posterior_crossing(problem):
    cut, paid = decisions._chosen(200_000, 0, *list(decisions.PROBLEMS.values())[problem])
    assert cut == pytest.approx(BEST[problem][0], abs=0.2) and paid == pytest.approx(BEST[problem][1], rel=0.01)
