"""Noise: verdicts on made-up evidence, and likelihoods that are broken on purpose."""

from dataclasses import replace

import numpy as np
import pytest

from ftheta.likelihoods import HeteroscedasticGaussian
from ftheta.models import MLPRegressor
from ftheta.studies.evidence import noise
from ftheta.studies.evidence.noise import CLAIMS, GRID, Config, _single, judge, measure

SIGNS = np.array([-1.0, 1.0, -1.0, 1.0])  # seeds on either side of the mean


def made(coverage=0.95, nll=0.162, sd=0.284, factor=1.0, varying=-0.117, oracle=-0.136, refuses=True, **more):
    """Four seeds, each off by one hundredth, or by one percent of a standard deviation as a function of x."""
    off = 0.01 * SIGNS
    inside = np.zeros((4, 2, 1000), dtype=bool)
    inside[:, :, : round(1000 * coverage)] = True
    constant = np.repeat((sd + off)[:, None], len(GRID), axis=1)
    mean = np.zeros((4, 3, len(GRID)))
    found = {
        "train_nll": np.stack([nll + off, nll + off], 1),
        "test_nll": np.stack([0.132 + off, varying + off], 1),
        "oracle": oracle + off,
        "inside": inside,
        "x": np.tile(np.linspace(0, 1, 1000), (4, 1)),
        "means": mean,
        "network": mean[:, 1],
        "sds": np.stack([constant, (0.05 + 0.4 * GRID) * factor * (1 + 3 * off[:, None])], 1),
        "refuses": np.full(4, refuses),
    }
    return found | _single() | more


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, {}),
        ({"coverage": 0.90}, {"C011": "refuted"}),
        ({"coverage": 0.98}, {"C011": "refuted"}),
        ({"refuses": False}, {"C011": "not reproduced"}),
        ({"nll": 0.3}, {"C036": "not reproduced"}),
        ({"network": np.ones((4, len(GRID)))}, {"C036": "refuted"}),
        ({"sd": 0.4}, {"C036": "not reproduced", "C039": "not reproduced"}),
        ({"factor": 1.5}, {"C038": "not reproduced", "C039": "not reproduced"}),
        ({"varying": 0.2}, {"C038": "refuted"}),
        ({"oracle": -0.5}, {"C038": "not reproduced"}),
        ({"single": np.array([2.22579, 2.0])}, {"C038": "not reproduced"}),
        ({"squared": -6.0}, {"C038": "not reproduced"}),
    ],
)
def test_verdicts(changes, wrong):
    assert {f.row: f.verdict for f in judge(made(**changes))} == CLAIMS | wrong


def test_a_constant_standard_deviation_is_constant():
    evidence = made()
    evidence["sds"][0, 0, 7] += 0.001
    assert {f.row: f.verdict for f in judge(evidence)} == CLAIMS | {"C039": "refuted"}


def test_single_rows_are_the_printed_numbers():
    found = _single()
    assert found["single"] == pytest.approx([2.22579, 2.22579], abs=1e-5)
    assert found["squared"] == pytest.approx(-12.897, abs=1e-3)
    assert found["floor"] == pytest.approx(0.5 * np.log(2 * np.pi * 1e-6), abs=1e-4)


@pytest.mark.middle
@pytest.mark.parametrize("part", ["terms", "interval"])
def test_a_broken_part_changes_the_verdict(monkeypatch, part):
    config = Config(seeds=4)
    if part == "terms":
        right = HeteroscedasticGaussian.terms
        monkeypatch.setattr(HeteroscedasticGaussian, "terms", lambda self, raw, y: right(self, raw, 2 * y))
        broken = {f.row: f.verdict for f in judge(measure(replace(config, epochs=60)))}
        assert broken["C038"] == "refuted" and broken["C011"] != "confirmed"
    else:
        assert {f.row: f.verdict for f in judge(measure(config))} == CLAIMS
        right = MLPRegressor.predict_interval
        monkeypatch.setattr(MLPRegressor, "predict_interval", lambda self, X, level=0.95: right(self, X, 0.8))
        assert judge(measure(replace(config, epochs=60)))[0].verdict == "refuted"


def test_bands_are_drawn_for_fits_that_have_one():
    rows = np.zeros((4, 2, 5))
    figure = noise.figures(made() | {"rows": rows})["bands"]
    assert [len(axes.collections) for axes in figure.axes] == [0, 1, 1]
