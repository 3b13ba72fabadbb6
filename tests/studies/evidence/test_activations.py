"""Activations: verdicts on made-up evidence, and activations that are broken on purpose."""

from dataclasses import replace

import numpy as np
import pytest
from torch import nn

from ftheta.nn import ACTIVATIONS, Sin
from ftheta.studies.evidence import activations
from ftheta.studies.evidence.activations import HIDDEN, TINY, XOR, Config, _search, figures, judge, measure


def made(best=(0.75, 1.0), single=0.75, bump=XOR, loss=(0.01,) * 5, other=None):
    return {
        "best": np.array(best),
        "monotone": np.array([True, False]),
        "single": np.array([[0.5, single]]),
        "bump": np.array(bump, dtype=float),
        "trained": np.array([1.0, 0.75]),
        "loss": np.array([loss, loss if other is None else other]),
    }


@pytest.mark.parametrize(
    ("changes", "verdicts"),
    [
        ({}, ["confirmed", "corrected", "confirmed"]),
        ({"best": (1.0, 1.0)}, ["refuted", "corrected", "confirmed"]),
        ({"best": (0.5, 1.0)}, ["refuted", "corrected", "confirmed"]),
        ({"single": 1.0}, ["refuted", "corrected", "confirmed"]),
        ({"bump": (0, 1, 1, 1)}, ["confirmed", "refuted", "confirmed"]),
        ({"bump": (0.3, 1, 1, 0.3)}, ["confirmed", "refuted", "confirmed"]),
        ({"loss": (0.01, 0.6, 0.01, 0.01, 0.01)}, ["confirmed", "corrected", "confirmed"]),  # tanh is monotone
        ({"loss": (0.01, 0.01, 0.01, 0.01, 0.6)}, ["confirmed", "corrected", "refuted"]),
        ({"other": (0.01, 0.01, 0.6, 0.01, 0.01)}, ["confirmed", "corrected", "not reproduced"]),
    ],
)
def test_verdicts(changes, verdicts):
    assert [f.verdict for f in judge(made(**changes))] == verdicts


def test_the_search_finds_what_half_planes_and_strips_can_do():
    assert (_search("identity"), _search("tanh"), _search("bump"), _search("sin")) == (0.75, 0.75, 1.0, 1.0)


class Dead(nn.Module):
    """Nothing comes through."""

    def forward(self, z):
        return 0 * z


def verdict_of(row, config):
    return {f.row: f.verdict for f in judge(measure(config))}[row]


@pytest.mark.middle
@pytest.mark.parametrize(
    ("row", "name", "entry", "verdict"),
    [
        ("A279", "tanh", replace(ACTIVATIONS["tanh"], factory=Sin), "refuted"),  # said to be monotone
        ("A280", "bump", ACTIVATIONS["sigmoid"], "refuted"),
    ],
)
def test_a_broken_activation_changes_the_verdict(monkeypatch, row, name, entry, verdict):
    config = replace(TINY, seeds=2, epochs=2)
    assert verdict_of(row, config) == activations.CLAIMS[row]
    monkeypatch.setitem(ACTIVATIONS, name, entry)
    assert verdict_of(row, config) == verdict


@pytest.mark.middle
def test_a_dead_activation_does_not_learn_the_spirals(monkeypatch):
    config = Config(seeds=2)
    assert verdict_of("A281", config) == "confirmed"
    monkeypatch.setitem(ACTIVATIONS, "sin", replace(ACTIVATIONS["sin"], factory=Dead))
    assert verdict_of("A281", replace(config, epochs=2)) == "refuted"


def test_the_boundaries_of_the_bump_are_parallel_lines():
    plane = activations._bump(np.stack(np.meshgrid(activations.AXIS, activations.AXIS), -1).reshape(-1, 2))
    drawn = figures(made() | {"plane": plane.reshape(101, 101)})
    (contour,) = [c for c in drawn["bump"].axes[0].collections if type(c).__name__ == "QuadContourSet"]
    sums = contour.get_paths()[0].vertices.sum(1)
    assert np.allclose(np.abs(sums - 1), np.sqrt(np.log(2) / 10), atol=0.01)
    assert [label.get_text() for label in drawn["losses"].axes[0].get_yticklabels()] == list(HIDDEN)
