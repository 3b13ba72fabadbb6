"""A surface: verdicts on made-up errors, and a likelihood that is broken on purpose."""

from dataclasses import replace

import numpy as np
import pytest

from ftheta.likelihoods import Gaussian
from ftheta.studies.evidence.surface import TINY, Config, figures, judge, measure


def made(mse=(0.0038, 0.0042), floor=0.0025, rows=300):
    s = len(mse)
    return {
        "mse": np.array(mse),
        "constant": np.full(s, 0.25),
        "pairs": np.zeros((s, 2, rows)),
        "stopped": np.full(s, 30),
        "best": np.full(s, 20),
        "floor": floor,
    }


@pytest.mark.parametrize(
    ("mse", "verdict"),
    [
        ((0.0038, 0.0042), "confirmed"),
        ((0.0039, 0.0045), "confirmed"),  # within its spread
        ((0.0060, 0.0062), "not reproduced"),
        ((0.0010, 0.0012), "not reproduced"),  # below what the noise allows: test rows were seen
    ],
)
def test_verdicts(mse, verdict):
    (found,) = judge(made(mse))
    assert (found.row, found.printed, found.verdict) == ("B045", 0.004, verdict)
    assert found.measured == pytest.approx(np.mean(mse)) and found.spread == pytest.approx(np.std(mse, ddof=1))


@pytest.mark.middle
def test_a_broken_likelihood_changes_the_verdict(monkeypatch):
    config = Config(seeds=4)
    assert judge(measure(config))[0].verdict == "confirmed"
    monkeypatch.setattr(Gaussian, "total", lambda self, raw, y: (raw[..., 0] - y).abs().sqrt().sum())
    assert judge(measure(replace(config, epochs=20)))[0].verdict == "not reproduced"


@pytest.mark.slow
def test_the_figures_show_the_epoch_that_was_kept():
    evidence = measure(TINY)
    labels = figures(evidence)["curves"].axes[0].get_legend_handles_labels()[1]
    assert any(label.startswith(f"best: epoch {evidence['best'][0]} ") for label in labels)
