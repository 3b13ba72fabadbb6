"""Class models against boundary models: verdicts on made-up errors, and one small run."""

import numpy as np
import pytest

from ftheta.studies.linear.generative import MODELS, TINY, figures, judge, measure, tables


def made(cosine=0.999, many=0.002, few=0.05, wrong=0.05, away=0.02, seeds=6):
    """Excess errors of logistic regression, linear discriminant and naive Bayes: (2, 3, S, 3)."""
    excess = np.full((2, 3, seeds, 3), 0.1)
    excess[0, 0, :, 1] = few
    excess[0, -1] = many
    excess[1, -1] = [0.01, wrong, wrong]
    excess += 1e-4 * np.arange(seeds)[:, None] * [1, 2, 3]
    both = {"cosine": np.full((2, seeds), cosine), "away": np.stack([np.full(seeds, away), np.full(seeds, 0.3)])}
    return {"rows": [20, 50, 900], "excess": excess, "bayes": np.array([0.16, 0.13]), **both}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "confirmed"),
        ({"cosine": 0.5}, "corrected"),
        ({"many": 0.05}, "corrected"),
        ({"few": 0.1}, "corrected"),
        ({"wrong": 0.001}, "corrected"),
        ({"away": 0.4}, "corrected"),
        ({"cosine": 0.5, "few": 0.1, "away": 0.4}, "not reproduced"),
        ({"cosine": 0.5, "many": 0.05, "few": 0.1, "wrong": 0.001, "away": 0.4}, "refuted"),
    ],
)
def test_verdicts(changes, verdict):
    (found,) = judge(made(**changes))
    assert (found.row, found.verdict) == ("B320", verdict)
    assert len(found.measured) == len(found.spread) == 9 and found.why.count(": no") == len(changes)


def test_a_lead_within_its_error_is_no_lead():
    evidence = made()
    evidence["excess"][0, 0, :, 1] = 0.1 + 0.05 * (-1.0) ** np.arange(6) - 0.01
    assert "few rows favour the class model: no" in judge(evidence)[0].why


@pytest.mark.middle
def test_a_small_run_measures_excess_above_zero():
    evidence = measure(TINY)
    assert evidence["excess"].shape == (2, 2, TINY.seeds, 3) and (evidence["excess"] >= 0).all()
    assert evidence["bayes"][0] == pytest.approx(0.1587, abs=0.01)
    assert (evidence["excess"][:, -1, :, 0] < evidence["excess"][:, 0, :, 0]).all()  # more rows help
    assert evidence["away"][0].max() < evidence["away"][1].min()
    columns = tables(evidence)["excess"].columns
    assert columns["rows"] == [40, 300] * 2 and all(len(columns[name]) == 4 for name in MODELS)
    assert [len(axes.lines) for axes in figures(evidence)["excess"].axes] == [3, 3]
    assert judge(evidence)[0].row == "B320"
