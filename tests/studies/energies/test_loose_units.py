"""Hidden units that tell digits apart: counted on machines whose units are known, and one small run."""

import numpy as np
import pytest
import torch

from ftheta.models import RestrictedBoltzmannMachine
from ftheta.studies.energies import loose_units
from ftheta.studies.energies._digits import digits
from ftheta.studies.energies.loose_units import TINY, figures, judge, measure, tables


def test_a_unit_that_is_always_on_is_not_loose_and_one_that_sees_a_pixel_is(monkeypatch):
    """Three units: always on, always off, and on where one pixel is bright."""
    x = digits("digits").x
    pixel = int(x.std(0).argmax())

    def known(self, rows):
        self.fit(rows[:50])
        with torch.no_grad():
            self.module_.weight.zero_()
            self.module_.weight[2, pixel] = 20
            self.module_.hidden_bias.copy_(torch.tensor([9.0, -9.0, -10.0]))

    monkeypatch.setattr(RestrictedBoltzmannMachine, "partial_fit", known)
    assert [loose for _, loose in loose_units._machine(TINY, 0, 0)] == [1, 1]


@pytest.mark.middle
def test_both_starts_are_those_of_the_study(monkeypatch):
    made = []
    monkeypatch.setattr(RestrictedBoltzmannMachine, "partial_fit", lambda self, x: made.append(self) or self.fit(x))
    for start in (0, 1):
        loose_units._machine(TINY, start, 5)
    knobs = [(m.start_at_means, m.random_state, m.n_hidden, m.lr, m.training.shuffle) for m in made]
    assert knobs == [(False, 5, 3, 0.01, False)] * 2 + [(True, 5, 3, 0.01, False)] * 2


@pytest.fixture(scope="module")
def evidence():
    return measure(TINY)


def test_a_small_run(evidence):
    assert evidence["score"].shape == evidence["loose"].shape == (2, 2, 2) and (evidence["score"] < 0).all()
    assert (evidence["score"][1, :, 0] > evidence["score"][0, :, 0]).all()  # what the mean alone explains is there
    assert judge(evidence) == []


def test_the_last_pass_counts_in_the_table_and_all_are_in_the_figure(evidence):
    columns = tables(evidence)["seeds"].columns
    assert columns["nats, biases from 0"] == evidence["score"][0, :, -1].tolist()
    assert columns["loose of 3, from means"] == evidence["loose"][1, :, -1].tolist()
    first, second = figures(evidence)["passes"].axes[:2]
    drawn = np.array([line.get_ydata() for line in second.get_lines()[:2]])
    assert np.allclose(drawn, evidence["score"][1]) and len(first.get_lines()) >= 2
