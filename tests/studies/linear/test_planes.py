"""Planes and thresholds: verdicts on made-up evidence, regions by their formulas, and a rule broken on purpose."""

from itertools import product

import numpy as np
import pytest

from ftheta.models import PerceptronRule
from ftheta.studies.linear.planes import CLAIMS, NETS, PLANE, TINY, _outside, _values, figures, judge, measure, tables

LABELS = list(product([0, 1], repeat=4))


def made(mistakes=(20, 9, 900), ended=(1, 1, 0), best=0.75, mlp=1.0, cycle=1, xor=(0, 1, 1, 0), lost=(6, 9), **other):
    outside, diagonal = other.get("outside", (0, 0, 0.48, 0.5)), other.get("diagonal", (1, 0, 1))
    return {
        "mistakes": np.array([(5, 4, 900), mistakes]),
        "ended": np.array([(True, True, False), ended], dtype=bool),
        "best": np.array([(1, 1, 0.75), (1, 1, best)]),
        "mlp": np.array([1.0, mlp]),
        "bound": np.array([51.0, 27.0, np.inf]),
        "cycle": [cycle, 4],
        "separable": [i not in lost for i in range(16)],
        "xor": np.array(xor, dtype=float),
        "outside": np.array(outside, dtype=float),
        "diagonal": np.array(diagonal, dtype=float),
    }


@pytest.mark.parametrize(
    ("changes", "verdicts"),
    [
        ({}, {}),
        ({"mistakes": (52, 9, 900)}, {"B199": "refuted"}),  # more than the bound allows
        ({"mistakes": (20, 28, 900)}, {"B199": "refuted"}),
        ({"ended": (1, 0, 0)}, {"B199": "refuted"}),
        ({"ended": (1, 1, 1)}, {"B179": "refuted", "B199": "refuted"}),
        ({"cycle": 0}, {"B179": "refuted", "B199": "refuted"}),
        ({"best": 0.5}, {"B179": "refuted"}),
        ({"mlp": 0.75}, {"B179": "refuted"}),
        ({"xor": (0, 1, 1, 1)}, {"B179": "refuted"}),
        ({"lost": (6,)}, {"B201": "confirmed"}),  # as printed: all except XOR
        ({"lost": (6, 9, 3)}, {"B201": "not reproduced"}),
        ({"diagonal": (1, 1, 1)}, {"B203": "confirmed"}),  # as printed: one hidden layer is convex
        ({"outside": (0, 0, 0.0, 0.5)}, {"B203": "confirmed"}),
        ({"outside": (0, 0.1, 0.48, 0.5)}, {"B203": "not reproduced"}),
        ({"outside": (0, 0, 0.48, 0.0)}, {"B203": "not reproduced"}),
    ],
)
def test_verdicts(changes, verdicts):
    assert {f.row: f.verdict for f in judge(made(**changes))} == CLAIMS | verdicts


def test_the_two_that_are_lost_are_named():
    (found,) = (f for f in judge(made()) if f.row == "B201")
    assert found.measured == ["XOR", "XNOR"] and "14 of 16" in found.why
    table = tables(made())["dichotomies"]
    assert [
        gate for gate, good in zip(table.columns["gate"], table.columns["separable"], strict=True) if good == "no"
    ] == [
        "XOR",
        "XNOR",
    ]


def test_the_regions_are_those_of_their_formulas():
    x1, x2 = PLANE.T
    truth = [
        x1 + x2 > 1.5,
        (x1 > -0.25) & (x2 > -0.25) & (x1 + x2 < 0.75),
        (x1 + x2 <= 0.5) | (x1 + x2 > 1.5),
        ((np.abs(x1) < 0.25) | (np.abs(x1 - 1) < 0.25)) & (np.abs(x2 - 1) < 0.25),
    ]
    for (name, layers), region in zip(NETS.items(), truth, strict=True):
        assert np.array_equal(_values(layers, PLANE), region), name
        assert _values(layers, PLANE).dtype == float


def test_middles_tell_a_convex_region_from_another():
    assert [_outside(layers, 3000) > 0 for layers in NETS.values()] == [False, False, True, True]


@pytest.mark.middle
def test_a_rule_of_the_wrong_sign_changes_the_verdicts(monkeypatch):
    evidence = measure(TINY)
    assert {f.row: f.verdict for f in judge(evidence)} == CLAIMS
    assert {"xor-perceptron", "xor-mlp", "region-1", "region-4"} <= set(figures(evidence))
    move = PerceptronRule._move
    monkeypatch.setattr(PerceptronRule, "_move", lambda self, k, step, size: move(self, k, -step, -size))
    assert {f.row: f.verdict for f in judge(measure(TINY))}["B199"] == "refuted"
