"""Likelihood of unseen digits: against the exact one of a small machine; two kinds of data are kept apart."""

import numpy as np
import pytest
import torch

from ftheta.models import RestrictedBoltzmannMachine
from ftheta.store import Run
from ftheta.studies.energies import likelihood
from ftheta.studies.energies._digits import digits, sampled
from ftheta.studies.energies.likelihood import TINY, figures, judge, measure, tables


@pytest.fixture(scope="module")
def evidence():
    return measure(TINY)


def test_the_log_likelihood_is_the_exact_one_within_its_error(monkeypatch, evidence):
    kept = []
    fit = RestrictedBoltzmannMachine.fit
    monkeypatch.setattr(
        RestrictedBoltzmannMachine, "fit", lambda self, x, run=None: kept.append((self, x)) or fit(self, x)
    )
    likelihood._machine(TINY, 0, None)
    (model, x), data = kept[0], digits("digits")
    bits = sampled(np.concatenate([data.x, data.new]), TINY.pixels)
    assert np.array_equal(x, bits[: len(data.x)]) and model.centered and model.method == "pcd"
    with torch.no_grad():
        exact = model.module_.log_prob(torch.from_numpy(bits[len(data.x) :]), model.module_.log_partition())
    log_z, error, _ = evidence["log_z"][0]
    assert evidence["test"][0] == pytest.approx(exact.mean().item(), abs=4 * error) and 0 < error < 0.5
    assert log_z == pytest.approx(model.module_.log_partition().item(), abs=4 * error)
    own = np.hypot(error, exact.numpy().std(ddof=1) / len(exact) ** 0.5)
    assert evidence["error"][0] == pytest.approx(own, rel=1e-3)


def test_cut_digits_are_other_data_and_stand_in_a_table_of_their_own(evidence):
    made = tables(evidence)
    assert evidence["test"][0] != evidence["test"][1]
    assert made["likelihood"].columns["test (nats)"] == [evidence["test"][0], -126, -106, -86]
    assert made["cut"].columns["test (nats)"] == [evidence["test"][1]] and "not to be compared" in made["cut"].caption
    first, second = figures(evidence)["likelihood"].axes
    assert len(first.get_yticks()) == 4 and len(second.get_yticks()) == 1


def test_it_judges_no_row(evidence):
    assert judge(evidence) == []


def test_in_a_run_the_training_is_kept(tmp_path, evidence):
    with Run(tmp_path / "study") as run:
        again = measure(TINY, run)
    assert np.array_equal(again["test"], evidence["test"])
    assert Run(tmp_path / "study" / "machine-0").status == Run(tmp_path / "study" / "machine-1").status == "finished"
