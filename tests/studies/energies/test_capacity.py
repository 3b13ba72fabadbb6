"""Capacity: stable units by Hebb's matrix, the Gaussian law by hand, verdicts on made-up shares, one small run."""

import numpy as np
import pytest
from scipy.stats import norm

from ftheta.formulas import hebb
from ftheta.studies.energies.capacity import (
    OVERLAPPING,
    READINGS,
    TINY,
    Config,
    figures,
    judge,
    likely,
    loads,
    measure,
    stable_units,
    tables,
)

RNG = np.random.default_rng(0)


def test_stable_units_are_those_of_hebbs_matrix():
    for p, n in ((1, 7), (5, 12), (9, 30), (20, 30)):
        x = RNG.choice([-1.0, 1.0], (p, n))
        assert (stable_units(x) == (x * (x @ hebb(x)) >= 0)).all()
    assert stable_units(RNG.choice([-1.0, 1.0], (3, 4, 6))).shape == (3, 4, 6)
    assert not stable_units(RNG.choice([-1.0, 1.0], (30, 20))).all()


def test_the_readings_of_the_formula():
    assert [loads(n) for n in (240, 784, 1000)] == [[10, 21, 25, 33], [29, 58, 67, 108], [36, 72, 83, 138]]


def test_the_law_is_the_product_over_all_units():
    for n, p in ((240, 21), (784, 58)):
        assert likely(n, np.array(p)) == pytest.approx(norm.cdf(np.sqrt((n - 1) / (p - 1))) ** (n * p), rel=1e-9)
    assert likely(240, np.array(10)) > 0.999


def made(natural=1.0, decimal=0.02):
    stable = np.array([[natural, 0.99, 1], [0.3, 0.9, 1], [decimal, 0.8, 0.99], [0, 0.5, 0.99]])
    sizes = {str(n): {"p": loads(n), "stable": stable} for n in (240, 784)}
    return {"sizes": sizes, "overlapping": np.zeros((2, 3)), "overlap": 0.65, "trials": 100}


@pytest.mark.parametrize(
    ("natural", "decimal", "verdict"),
    [(1.0, 0.02, "corrected"), (1.0, 0.9, "confirmed"), (0.5, 0.02, "refuted"), (0.5, 0.9, "refuted")],
)
def test_verdicts(natural, decimal, verdict):
    (found,) = judge(made(natural, decimal))
    assert (found.row, found.verdict) == ("B274", verdict)
    assert found.measured == pytest.approx([10.947629, 29.40996, natural, natural, decimal, decimal])


def test_one_size_that_fails_is_enough():
    evidence = made()
    evidence["sizes"]["784"]["stable"] = made(natural=0.5)["sizes"]["784"]["stable"]
    assert judge(evidence)[0].verdict == "refuted"


def test_a_small_run():
    evidence = measure(TINY)
    for n in TINY.units:
        size = evidence["sizes"][str(n)]
        assert set(loads(n)) <= set(size["p"]) and size["stable"].shape == (len(size["p"]), 3)
        assert (np.diff(size["stable"], axis=1) >= 0).all()  # units are stable more often than patterns, these than all
        assert size["stable"][0, 0] > size["stable"][-1, 0]
    assert (evidence["overlapping"][:, 0] == 0).all()
    table = tables(evidence)["readings"].columns
    assert table["reading"] == [*READINGS, *READINGS, "overlap 0.65", "overlap 0.65"]
    assert table["patterns p"][-2:] == [OVERLAPPING] * 2
    assert [axes.get_title() for axes in figures(evidence)["capacity"].axes] == ["N = 40", "N = 60"]


def test_measured_shares_are_those_of_the_law():
    evidence = measure(Config(units=(100,), trials=300))
    size = evidence["sizes"]["100"]
    law = likely(100, np.array(size["p"]))
    sd = np.sqrt(law * (1 - law) / 300)
    assert (np.abs(size["stable"][:, 0] - law) < 0.12 + 4 * sd).all() and 0.2 < size["stable"][:, 0].mean() < 0.8


def test_patterns_overlap_as_asked():
    from ftheta.studies.energies import capacity

    held = capacity._one(Config(trials=4), 2000, 2, 0.65)
    assert held[0] == 1  # two patterns are stable, however they overlap
    assert capacity._one(Config(trials=50), 200, 10, 0.65)[0] == 0 < capacity._one(Config(trials=50), 200, 10, 0.0)[0]
