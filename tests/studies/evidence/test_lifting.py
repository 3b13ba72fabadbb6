"""Lifting: verdicts on made-up evidence, and an activation that is broken on purpose."""

import numpy as np
import pytest

from ftheta.nn import ACTIVATIONS
from ftheta.studies.evidence.lifting import CLAIMS, OUTSIDE, RADII, TINY, _decision, judge, measure


def made(errors=(0, 0), flat=(0.75, 0.5), decision=OUTSIDE, lift=~OUTSIDE, decided=True):
    return {
        "errors": np.array([(0, 0), errors]),
        "flat": np.array([flat, flat]),
        "decision": np.array(decision, dtype=int),
        "lift": np.array(lift, dtype=float),
        "decided": np.array([True, decided]),
    }


@pytest.mark.parametrize(
    ("changes", "refuted"),
    [
        ({}, []),
        ({"errors": (1, 0)}, ["A276", "A278"]),
        ({"errors": (0, 1)}, ["A278"]),
        ({"flat": (0.95, 0.5)}, ["A276", "A278"]),
        ({"decision": ~OUTSIDE}, ["A277"]),
        ({"decided": False}, ["A277"]),
        ({"lift": np.ones(9)}, ["A277"]),
    ],
)
def test_verdicts(changes, refuted):
    found = {f.row: f.verdict for f in judge(made(**changes))}
    assert found == {row: "refuted" if row in refuted else "confirmed" for row in CLAIMS}


def test_the_decision_function_is_the_printed_table():
    assert dict(zip(RADII.tolist(), _decision(RADII).tolist(), strict=True)) == {
        **dict.fromkeys([0.0, 0.0001, 0.25, 0.999], 0),
        **dict.fromkeys([1.0, 1.5, 2.0, 3.99, 100.3], 1),
    }


@pytest.mark.slow
def test_a_broken_activation_changes_the_verdicts(monkeypatch):
    assert {f.row: f.verdict for f in judge(measure(TINY))} == CLAIMS
    monkeypatch.setitem(ACTIVATIONS, "relu", ACTIVATIONS["softplus"])  # never zero
    assert {f.verdict for f in judge(measure(TINY))} == {"refuted"}
