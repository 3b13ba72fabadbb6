"""Table 4: verdicts on made-up pseudo-likelihoods, and one small run."""

import numpy as np
import pytest
import torch

from ftheta.models.energy.contrastive import Contrastive
from ftheta.studies.report.rbm import MORE, PRINTED, TINY, figures, judge, measure, tables

SCORES = {row: score for row, (score, _) in PRINTED.items()} | dict(zip(MORE, (-250, -165, -160, -72), strict=True))


def made(**changes):
    """As printed, with two seeds 0.1 nats on either side; changes by size_rate_passes in hundreds."""
    wanted = SCORES | {(int(s), int(r) / 1000, int(n)): v for (s, r, n), v in _keys(changes)}
    score = np.array(list(wanted.values()), dtype=float)[:, None] + np.array([-0.1, 0, 0.1])
    return {"rows": [list(row) for row in wanted], "score": score, "seconds": np.full_like(score, 2.0)}


def _keys(changes):
    return [(name.removeprefix("m").split("_"), value) for name, value in changes.items()]


def verdicts(**changes):
    return {found.row: found.verdict for found in judge(made(**changes))}


def test_as_printed_everything_is_confirmed():
    assert verdicts() == dict.fromkeys(["B127", "B128", "B129", "B130"], "confirmed")


@pytest.mark.parametrize(
    ("value", "verdict"), [(-78.0, "confirmed"), (-77.2, "not reproduced"), (-82.3, "not reproduced")]
)
def test_one_row_that_is_more_than_two_and_a_half_nats_off_spoils_the_table(value, verdict):
    """Printed: -79.74."""
    found = judge(made(m100_10_10=value))[0]
    assert found.verdict == verdict and found.measured[2] == value and f"{value + 79.74:+.2f}" in found.why


def test_the_median_counts_and_not_the_mean():
    evidence = made()
    evidence["score"][:, 2] = 0
    assert judge(evidence)[0].verdict == "confirmed"


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"m200_10_10": -80.0}, "refuted"),  # a hundred units more, and worse
        ({"m200_10_10": -30.0}, "not reproduced"),  # each worth more than those before
        ({"m200_10_10": -79.7}, "not reproduced"),  # not in every seed
    ],
)
def test_sizes(changes, verdict):
    evidence = made(**changes)
    if changes["m200_10_10"] == -79.7:
        evidence["score"][-1, 0] = -81
    assert judge(evidence)[1].verdict == verdict


@pytest.mark.parametrize(
    ("changes", "verdict", "best"),
    [
        ({"m10_50_10": -158}, "confirmed", "0.05 with 10 units and 0.01 with 100"),  # about 0.1
        ({"m10_50_10": -150}, "corrected", "0.05 with 10 units and 0.01 with 100"),
        ({"m10_10_10": -150}, "refuted", "0.01 with 10 units and 0.01 with 100"),
        ({"m100_100_10": -60}, "refuted", "0.1 with 10 units and 0.1 with 100"),
        ({"m100_1_10": -60}, "corrected", "0.1 with 10 units and 0.001 with 100"),
    ],
)
def test_rates(changes, verdict, best):
    found = judge(made(**changes))[2]
    assert found.verdict == verdict and best in found.why


@pytest.mark.parametrize(
    ("twenty", "thirty", "verdict"),
    [
        (-77.0, -76.0, "confirmed"),
        (-79.0, -76.0, "not reproduced"),
        (-77.0, -78.0, "not reproduced"),
        (-80.0, -75.0, "refuted"),
    ],
)
def test_passes(twenty, thirty, verdict):
    found = judge(made(m100_10_20=twenty, m100_10_30=thirty))[3]
    assert found.verdict == verdict and found.measured == [-79.74, twenty, thirty] and "20, 40, 60 seconds" in found.why


def test_printed_values_stand_beside_what_was_found():
    columns = tables(made())["table-4"].columns
    assert columns["printed PL"][:2] == [-187.61, -98.75] and columns["printed PL"][-1] is None
    assert columns["median PL"] == pytest.approx(list(SCORES.values())) and columns["printed s/iteration"][2] == 13.2
    axes = figures(made())["table-4"].axes[0]
    assert len(axes.get_yticks()) == 16 and "nats" in axes.get_xlabel()


@pytest.mark.middle
@pytest.mark.slow
def test_a_small_run_and_fantasies_that_are_the_data_have_other_verdicts(monkeypatch):
    evidence = measure(TINY)
    assert evidence["score"].shape == evidence["seconds"].shape == (12, 2) and (evidence["seconds"] > 0).all()
    assert [found.verdict for found in judge(evidence)] == ["not reproduced", "confirmed", "refuted", "confirmed"]
    monkeypatch.setattr(Contrastive, "fantasies", lambda self, x: x[torch.arange(self.chains) % len(x)])
    monkeypatch.setattr(Contrastive, "go_on", lambda self, p: None)
    assert "confirmed" not in [found.verdict for found in judge(measure(TINY))]
