"""Digits: verdicts on made-up answers, and a network whose activation is broken on purpose."""

from dataclasses import replace

import numpy as np
import pytest
from torch import nn

from ftheta.nn import ACTIVATIONS
from ftheta.studies.evidence.digits import TINY, Config, _rows, figures, judge, measure


class Dead(nn.Module):
    """Nothing comes through."""

    def forward(self, z):
        return 0 * z


def made(linear, network, n=1000):
    y = np.arange(n) % 10
    predicted = np.stack([[np.where(np.arange(n) < n * share, y, (y + 1) % 10)] * 2 for share in (linear, network)])
    return {"y": y, "predicted": predicted.astype(np.uint8)}


@pytest.mark.parametrize(
    ("linear", "network", "verdict"),
    [
        (0.92, 0.975, "confirmed"),
        (0.928, 0.967, "confirmed"),
        (0.90, 0.975, "not reproduced"),
        (0.92, 0.95, "not reproduced"),
        (0.92, 0.99, "not reproduced"),
        (0.92, 0.91, "refuted"),
    ],
)
def test_verdicts(linear, network, verdict):
    (found,) = judge(made(linear, network))
    assert (found.row, found.verdict) == ("A012", verdict)
    assert found.measured == [linear, network] and "later study" in found.why


@pytest.mark.middle
def test_a_broken_activation_changes_the_verdict(monkeypatch):
    """On the small digits, where both read about 90 %: not the printed numbers, but the network is no worse."""
    assert judge(measure(TINY))[0].verdict == "not reproduced"
    monkeypatch.setitem(ACTIVATIONS, "relu", replace(ACTIVATIONS["relu"], factory=Dead))
    assert judge(measure(TINY))[0].verdict == "refuted"


def test_the_confusion_of_either_model_is_drawn():
    assert list(figures(made(0.9, 0.95))) == ["linear", "network"]


@pytest.mark.middle
@pytest.mark.data
def test_the_test_digits_are_the_official_ones(data_dir):
    x, y, new, answers = _rows(Config())
    assert (x.shape, new.shape) == ((60_000, 784), (10_000, 784))
    assert (x.min(), x.max()) == (0, 1) and answers[:4].tolist() == [7, 2, 1, 0] and y[:4].tolist() == [5, 0, 4, 1]
