"""The recipe: its verdict on made-up answers, its size, and the whole on small digits."""

from dataclasses import replace

import numpy as np
import pytest
from torch import nn

from ftheta.nn import ConvNet
from ftheta.studies.report import cnn_recipe
from ftheta.studies.report._digits import digits
from ftheta.studies.report.cnn_recipe import TINY, Config, figures, judge, measure, tables

N = 1000


def made(*accuracies):
    y = np.arange(N) % 10
    runs = [
        {
            **{"predicted": np.where(np.arange(N) < round(a * N), y, (y + 1) % 10).astype(np.uint8), "loss": 0.02},
            **{"curve": np.array([0.1, 0.0123]), "seconds": 600.0, "cpu": 1200.0, "parameters": 90_874},
        }
        for a in accuracies
    ]
    return {"y": y, "seeds": list(range(len(runs))), "runs": runs}


@pytest.mark.parametrize(
    ("accuracies", "verdict"), [((0.997, 0.996, 0.995), "confirmed"), ((0.997, 0.997, 0.969), "not reproduced")]
)
def test_verdicts(accuracies, verdict):
    (found,) = judge(made(*accuracies))
    assert (found.row, found.verdict) == ("C185", verdict) and found.measured == sorted(accuracies)[1]


def test_every_seed_is_listed_with_its_time():
    text = tables(made(0.997, 0.996, 0.995))["trainings"].text()
    assert "10.0" in text and "0.0123" in text and "20.0" in text and "0.9960" in text
    assert figures(made(0.9, 0.9, 0.9))["confusion"].axes


def test_the_network_has_less_than_100000_parameters():
    arm = Config().arm
    made = ConvNet((1, 24, 24), 10, arm["filters"], convs=arm["convs"], padding=arm["padding"], norm=arm["norm"])
    assert sum(p.numel() for p in made.parameters()) == 90_874


def test_the_rim_is_cut_off_at_all_sides(monkeypatch):
    seen = []

    class Fake:
        history_, module_ = ({"loss": 0.0, "seconds": 1.0},), nn.Linear(1, 1)

        def fit(self, x, y):
            seen.append(x)
            return self

        def predict_log_proba(self, x):
            seen.append(x)
            return np.zeros((len(x), 10))

    monkeypatch.setattr(cnn_recipe, "network", lambda arm, seed: Fake())
    measure(replace(TINY, seeds=(0,)))
    assert seen[0].shape[1:] == (1, 6, 6) and np.array_equal(seen[1], digits("digits").x_test[:, :, 1:7, 1:7])


@pytest.mark.middle
def test_the_whole_runs_on_small_digits():
    evidence = measure(TINY)
    assert len(evidence["runs"]) == 3 and len(evidence["runs"][0]["predicted"]) == len(evidence["y"])
