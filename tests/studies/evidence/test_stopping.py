"""Stopping: verdicts on made-up curves, and callbacks that are broken on purpose."""

import numpy as np
import pytest

from ftheta.studies.evidence import stopping
from ftheta.studies.evidence.stopping import TINY, _stop, judge, measure
from ftheta.train import EarlyStopping, Loss, Supervised

E = np.arange(20)
SMOOTH, JUMPY = 10 - E / 20, 0.5 + 0.1 * (E % 2)  # falls slowly; goes back and forth


def made(loss=SMOOTH, accuracy=JUMPY, seeds=4, stopped=None, skip=5, patience=3):
    curves = np.stack([loss, accuracy])
    due = [[_stop(loss, patience), _stop(-accuracy, patience)]] if stopped is None else [stopped]
    return {
        "curves": np.stack([curves] * seeds),
        "stopped": np.array(due * seeds),
        "accuracy": np.full((seeds, 2), 0.9),
        "test_loss": np.full((seeds, 2), 0.3),
        "valid": 10,
        "skip": skip,
        "patience": patience,
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "confirmed"),
        ({"loss": 0.2 - E / 100, "accuracy": JUMPY + 0.4}, "corrected"),  # as smooth, but near zero
        ({"loss": 1 + 5 * (E % 2), "accuracy": E / 20}, "refuted"),
        ({"accuracy": JUMPY + 0.003}, "not reproduced"),  # not in steps of 1/10
        ({"stopped": (20, 9)}, "not reproduced"),  # stopped elsewhere than the curve says
    ],
)
def test_verdicts(changes, verdict):
    (found,) = judge(made(**changes))
    assert (found.row, found.verdict) == ("B040", verdict)


def test_mixed_seeds_are_not_reproduced():
    half = made(loss=1 + 5 * (E % 2), accuracy=(E // 2) / 10)
    both = {k: np.concatenate([v, half[k]]) if isinstance(v, np.ndarray) else v for k, v in made().items()}
    assert judge(both)[0].verdict == "not reproduced"


@pytest.mark.parametrize(("values", "epochs"), [([3, 2, 1, 2, 2, 2, 0], 5), ([3, 2, 1], 3), ([1, 1, 1, 1], 3)])
def test_the_rule_is_patience_epochs_after_the_best(values, epochs):
    assert _stop(np.array(values), 2) == epochs


@pytest.mark.middle
def test_broken_parts_change_the_verdict(monkeypatch):
    assert judge(measure(TINY))[0].verdict == stopping.CLAIMS["B040"]
    right = EarlyStopping.on_row

    def hasty(self, ctx, row):
        self.patience = 1
        right(self, ctx, row)

    with monkeypatch.context() as patch:
        patch.setattr(EarlyStopping, "on_row", hasty)
        assert judge(measure(TINY))[0].verdict == "not reproduced"
    counted = Supervised.evaluate

    def soft(self, batch, draw):
        found = dict(counted(self, batch, draw))
        return {**found, "accuracy": Loss(found["accuracy"].total * 0.999, found["accuracy"].weight)}

    monkeypatch.setattr(Supervised, "evaluate", soft)
    assert judge(measure(TINY))[0].verdict == "not reproduced"
