"""Three dimensions: verdicts on made-up starts, paths whose energy falls, and one small run."""

import numpy as np
import pytest

from ftheta.studies.report.hopfield_3d import TINY, Config, figures, judge, measure, tables


def made(few=0.8, within=10, beyond=35, end=0):
    stopped = np.where(np.arange(100) < 100 * few, within, beyond)
    both = np.stack([stopped, stopped])
    return {"stopped": both, "needed": both + 2, "end": np.full_like(both, end)}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "confirmed"),
        ({"beyond": 40}, "confirmed"),
        ({"beyond": 41}, "corrected"),  # one in five takes longer than 40
        ({"few": 0.99, "beyond": 60}, "confirmed"),  # one in a hundred does
        ({"within": 20}, "refuted"),  # 20 is not under 20
        ({"few": 0.4}, "refuted"),
        ({"end": -1}, "corrected"),  # they end elsewhere
    ],
)
def test_verdicts(changes, verdict):
    (found,) = judge(made(**changes))
    assert (found.row, found.verdict) == ("B061", verdict)
    assert found.measured[-1] == made(**changes)["stopped"].max() and found.spread == [0] * 5


def test_the_first_draw_has_the_numbers_and_the_ends_of_the_ledger():
    evidence = measure(Config(draws=2))
    assert np.quantile(evidence["stopped"][0], [0.5, 0.9, 0.95, 0.99, 1]).tolist() == [11, 23, 28, 39, 63]
    assert sorted(np.bincount(evidence["end"][0])) == [1620, 1672, 1708]
    assert judge(evidence)[0].verdict == "confirmed" and "1620 / 1708 / 1672" in judge(evidence)[0].why


def test_a_small_run():
    evidence = measure(TINY)
    assert evidence["stopped"].shape == (2, 40) and evidence["random_energy"].shape == (4, 51)
    for key in ("random_energy", "beside_energy"):
        assert (np.diff(evidence[key], axis=1) < 1e-12).all()
        assert evidence[key][:, -1] == pytest.approx(evidence[key][0, -1])  # all patterns lie equally deep
    assert np.abs(evidence["points"]).min() == pytest.approx(0.060455, abs=1e-6) and (evidence["left"] >= 0).all()
    found = tables(evidence)["ends"].columns
    assert sum(found["starts of the first draw"]) == 40 and sum(found["unstable points left for it"]) == 4
    drawn = figures(evidence)
    assert len(drawn["energy"].axes) == 2 and drawn["paths"].axes and drawn["iterations"].axes[0].get_yscale() == "log"
