"""Bases: verdicts on made-up evidence, and classes of functions that are broken on purpose."""

from dataclasses import replace

import numpy as np
import pytest

from ftheta.models import BasisRegression
from ftheta.studies.linear import bases
from ftheta.studies.linear.bases import NAMES, PRINTED, SHAPES, TINY, figures, judge, measure, tables

LINE = 6 / np.pi**2


def made(rmse=None, r2=LINE, mse=(1 - LINE) / 2, net=1e-6, after=0.4, loss=0.01):
    errors = np.array([(PRINTED | (rmse or {})).get(name, 0.3) for name in NAMES])
    centres = np.full((2, 4, 2, 3), -0.9)
    centres[:, :, 1, :2] = np.reshape(after, (-1, 1))
    losses = np.full((2, 4, 2), 0.02)
    losses[0, 3, 1], losses[1, :, 1], losses[0, :3, 1] = loss, 0.01, 0.01
    return {
        "rmse": np.stack([errors, errors]),
        "r2": np.array([[r2, 1.0], [LINE, 1.0]]),
        "mse": np.array([[mse, net], [(1 - LINE) / 2, net]]),
        "centres": centres,
        "losses": losses,
    }


@pytest.mark.parametrize(
    ("changes", "verdicts"),
    [
        ({}, ["confirmed", "confirmed", "confirmed"]),
        ({"rmse": {"6 Gaussians": 0.0147}}, ["refuted", "confirmed", "confirmed"]),
        ({"rmse": {"sinusoids, k ≤ 3": 1e-12}}, ["refuted", "confirmed", "confirmed"]),
        ({"rmse": {"sinusoids, k ≤ 3": 0.0}}, ["confirmed", "confirmed", "confirmed"]),
        ({"r2": 0.61}, ["confirmed", "refuted", "confirmed"]),
        ({"mse": 0.197}, ["confirmed", "refuted", "confirmed"]),
        ({"net": 0.1}, ["confirmed", "not reproduced", "confirmed"]),
        ({"after": [0.4, 0.4, 0.4, -0.9]}, ["confirmed", "confirmed", "not reproduced"]),
        ({"loss": 0.02}, ["confirmed", "confirmed", "refuted"]),
    ],
)
def test_verdicts(changes, verdicts):
    assert [f.verdict for f in judge(made(**changes))] == verdicts


def test_centres_are_counted_near_the_peaks():
    near = bases._near(made(after=[0.11, 0.69, 0.09, 0.71]))
    assert near[0].tolist() == [[0, 2], [0, 2], [0, 0], [0, 0]]


@pytest.mark.middle
def test_another_width_or_fixed_centres_change_the_verdict(monkeypatch):
    found = measure(replace(TINY, functions=8))
    assert judge(found)[0].verdict == "confirmed" and judge(found)[2].verdict != "refuted"
    assert np.allclose(found["rmse"][0, 1:5], list(PRINTED.values()), rtol=5e-3, atol=1e-15)
    drawn = figures(found)
    assert [axes.get_title() for axes in drawn["classes"].axes + drawn["classes-more"].axes] == list(NAMES)
    assert [axes.get_title() for axes in drawn["centres"].axes] == list(SHAPES)
    assert tables(found)["classes"].columns["printed"][1] == 0.00477
    wide = BasisRegression(basis="gaussian", size=6, widths=0.5)
    monkeypatch.setitem(bases.SOLVED, "6 Gaussians", wide)
    monkeypatch.setattr(BasisRegression, "_move", lambda *rest: None)
    broken = judge(measure(replace(TINY, functions=8)))
    assert broken[0].verdict == "refuted" and broken[2].verdict == "refuted"
