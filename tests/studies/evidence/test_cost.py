"""Cost: verdicts on made-up powers, and a network that is built wrong on purpose."""

import numpy as np
import pytest

from ftheta.nn import MLP
from ftheta.studies.evidence import cost
from ftheta.studies.evidence.cost import TINY, judge, measure


def axis(size, power, seconds, start=0):
    size = np.array(size, dtype=float)
    times = np.stack([1e-6 * size**s for s in seconds])
    return {"size": size, "count": np.stack([size**power] * 2), "seconds": np.stack([times * 2, times]), "start": start}


def made(depth=1.0, width=2.0, seconds=((1.0, 1.1), (1.9, 2.0))):
    wide = axis([64, 256, 512, 1024], width, seconds[1], start=256)
    wide["seconds"][:, :, 0] = 1.0  # a narrow layer costs anything
    return {"rows": [1, 2], "depth": axis([2, 4, 8], depth, seconds[0]), "width": wide}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "confirmed"),
        ({"depth": 1.1}, "refuted"),
        ({"width": 1.9}, "refuted"),
        ({"seconds": ((1.5, 1.5), (2.0, 2.0))}, "not reproduced"),
        ({"seconds": ((1.0, 1.0), (1.5, 1.5))}, "not reproduced"),
    ],
)
def test_verdicts(changes, verdict):
    (found,) = judge(made(**changes))
    assert (found.row, found.verdict) == ("A179", verdict)


def test_slopes_are_those_of_the_powers_and_spread_over_repetitions():
    (found,) = judge(made())
    assert found.measured == pytest.approx([1.0, 2.0, 1.05, 1.95])
    assert found.spread == pytest.approx([0, 0, np.std([1.0, 1.1], ddof=1), np.std([1.9, 2.0], ddof=1)])


@pytest.mark.slow
def test_a_network_of_the_wrong_widths_changes_the_verdict(monkeypatch):
    right = measure(TINY)
    assert right["width"]["count"][1].tolist() == [32 * 2 * w * w for w in TINY.widths]  # rows, layers, W²
    assert judge(right)[0].verdict != "refuted"

    def bottleneck(n_in, n_out, hidden):
        return MLP(n_in, n_out, tuple(16 for _ in hidden))

    monkeypatch.setattr(cost, "MLP", bottleneck)
    assert judge(measure(TINY))[0].verdict == "refuted"
