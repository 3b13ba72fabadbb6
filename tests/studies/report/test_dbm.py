"""Samples of two machines: coverage by another library, verdicts on made-up scores, and one small run."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from ftheta.models import DeepBoltzmannMachine
from ftheta.studies.report import dbm
from ftheta.studies.report.dbm import TINY, coverage, figures, judge, measure, tables


def test_coverage_is_that_of_scikit_learns_neighbours():
    x, made = np.random.default_rng(0).normal(size=(2, 60, 3))
    reach = NearestNeighbors(n_neighbors=4).fit(x).kneighbors(x)[0][:, 3]  # the row itself is the first
    near = NearestNeighbors(n_neighbors=1).fit(made).kneighbors(x)[0][:, 0]
    assert coverage(x, made, 3) == pytest.approx((near < reach).mean()) and 0 < (near < reach).mean() < 1


def made(confidence, entropy, coverage=(0.5, 0.6), noise=0.01, seeds=3):
    """(RBM, DBM) of each score; unseen digits have the best of all."""
    rows = np.array([[*pair, best] for pair, best in ((confidence, 1.0), (entropy, 2.3), (coverage, 0.9))]).T
    spread = noise * np.arange(seeds)[:, None, None] * np.array([1, -1, 0])[:, None]
    scores = rows + spread
    return {"scores": scores, "classes": np.full((seeds, 3, 10), 0.1), "pictures": np.zeros((3, 64, 4, 4))}


@pytest.mark.parametrize(
    ("confidence", "entropy", "verdict", "ahead"),
    [
        ((0.7, 0.9), (1.5, 2.0), "confirmed", "confidence, entropy, coverage"),
        ((0.7, 0.9), (2.0, 1.5), "not reproduced", "confidence, coverage"),
        ((0.9, 0.7), (1.5, 2.0), "not reproduced", "entropy, coverage"),
        ((0.9, 0.7), (2.0, 1.5), "refuted", "coverage"),
    ],
)
def test_verdicts(confidence, entropy, verdict, ahead):
    (found,) = judge(made(confidence, entropy))
    assert (found.row, found.verdict) == ("B136", verdict) and f"surely ahead in: {ahead}." in found.why
    assert found.measured[0] == pytest.approx(confidence[1] - confidence[0] - 0.02)


def test_a_lead_that_is_not_sure_does_not_count():
    found = judge(made((0.7, 0.71), (1.5, 1.51), (0.6, 0.6), noise=0.02))[0]
    assert found.verdict == "not reproduced" and "ahead in: nothing." in found.why


@pytest.mark.middle
def test_a_small_run_and_a_machine_that_repeats_itself_loses_its_variety(monkeypatch):
    evidence = measure(TINY)
    assert evidence["scores"].shape == (3, 3, 3) and evidence["pictures"].shape == (3, 64, 8, 8)
    assert evidence["classes"].sum(-1) == pytest.approx(np.ones((3, 3)), abs=1e-5)
    best = evidence["scores"][:, 2]
    assert (best[:, 1] > 2).all() and (best[:, 2] > 0.8).all() and (best[0] == best[1]).all()
    assert (
        list(tables(evidence)["scores"].columns["samples"]) == list(dbm.SOURCES)
        and len(figures(evidence)["scores"].axes) == 3
    )
    sample = DeepBoltzmannMachine.sample
    monkeypatch.setattr(DeepBoltzmannMachine, "sample", lambda self, n, **how: sample(self, n, **how)[:1].repeat(n, 0))
    again = measure(TINY)["scores"]
    assert (again[:, 1, 1:] < evidence["scores"][:, 1, 1:]).all() and np.array_equal(
        again[:, 0], evidence["scores"][:, 0]
    )
