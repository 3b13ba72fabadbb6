"""Dense memories: pieces by hand, verdicts on made-up shares, and one small run."""

import numpy as np
import pytest

from ftheta.draw import Draw
from ftheta.formulas import dense_capacity
from ftheta.studies.energies import modern_capacity as study
from ftheta.studies.energies.modern_capacity import DIGITS, FOUND, KINDS, PRINTED, TINY, figures, judge, measure, tables

SEEDS = np.array([-1.0, 0, 1])


def spread(values, noise):
    values = np.asarray(values, dtype=float)
    return values + noise * SEEDS.reshape(-1, *(1 for _ in values.shape))


def made(dense=(0.95, 0.95, 1.0), rate=0.8, growth=1.0, stored=(0, 10), forty=0.94, fifty=0.06, eight=0.48, rise=0.0):
    shares = PRINTED.copy()
    shares[1, 2], shares[2, 2], shares[4, 4] = dense  # z³, max(z, 0)³ and exp
    sizes, small = [16, 32, 64], [8, 16]
    half = [[dense_capacity(n, *kind) * growth**i for i, n in enumerate(sizes)] for kind in KINDS[:-1]]
    energies = np.array([5.0, 0.5, 0.4 + rise, 0.39])
    return {
        "recalled": spread(shares, 0.01),
        "filled": spread(0.8, 0.01),
        "kept": spread(1.0, 0.0),
        "half": spread(half, 0.1),
        "half_exp": spread([2 ** (rate * n) for n in small], 0.0),
        "overlap": spread(0.65, 0.01),
        "stored": spread(stored, 0.0),
        "digits": spread([*DIGITS[:3], forty, fifty], 0.005),
        "found": spread([FOUND[0], eight, FOUND[2]], 0.005),
        "energies": spread(energies, 0.0) * (1 + 0.01 * SEEDS[:, None]),
        "sizes": sizes,
        "small": small,
        "full": 65536,
    }


@pytest.mark.parametrize(
    ("change", "verdicts"),
    [
        ({}, ("confirmed", "confirmed", "confirmed")),
        ({"dense": (0.6, 0.95, 1)}, ("corrected", "confirmed", "confirmed")),
        ({"dense": (0.6, 0.6, 1)}, ("not reproduced", "confirmed", "confirmed")),
        ({"dense": (0.95, 0.95, 0.5)}, ("not reproduced", "confirmed", "confirmed")),
        ({"rate": 0.4}, ("not reproduced", "confirmed", "confirmed")),
        ({"growth": 2.0}, ("not reproduced", "confirmed", "confirmed")),
        ({"stored": (1, 10)}, ("confirmed", "not reproduced", "confirmed")),
        ({"stored": (10, 10)}, ("confirmed", "refuted", "confirmed")),
        ({"stored": (0, 9)}, ("confirmed", "refuted", "confirmed")),
        ({"forty": 0.6}, ("confirmed", "not reproduced", "confirmed")),
        ({"fifty": 0.5}, ("confirmed", "not reproduced", "confirmed")),
        ({"eight": 0.7}, ("confirmed", "confirmed", "not reproduced")),
        ({"rise": 0.2}, ("confirmed", "confirmed", "refuted")),
    ],
)
def test_verdicts(change, verdicts):
    found = judge(made(**change))
    assert [f.row for f in found] == ["B276", "B278", "B279"] and tuple(f.verdict for f in found) == verdicts
    assert found[0].measured[7] == pytest.approx(change.get("dense", [0.95])[0])
    assert len(found[0].printed) == len(found[0].measured) == len(found[0].spread) == 20


def test_three_signs_are_flipped_and_a_memory_of_one_pattern_mends_them(monkeypatch):
    seen = []

    def settled(x, patterns, kind, rng):
        seen.append((x, patterns))
        return np.repeat(patterns[:1], len(x), 0)

    monkeypatch.setattr(study, "_settled", settled)
    assert study._recalled(Draw(0), KINDS[0], 1, 7) == 1
    ((cues, patterns),) = seen
    assert cues.shape == (7, 32) and ((cues != patterns).sum(1) == 3).all()


def test_half_is_where_half_of_the_patterns_are_stable(monkeypatch):
    monkeypatch.setattr(study, "_stable", lambda patterns, kind, most: 1 - np.log2(len(patterns)) / 10)
    assert study._half(Draw(0), KINDS[0], 4, 3) == pytest.approx(32)  # 2^5


@pytest.mark.middle
def test_a_small_run():
    evidence = measure(TINY)
    assert evidence["recalled"].shape == (2, 5, 5) and evidence["half"].shape == (2, 4, 2)
    assert [f.row for f in judge(evidence)] == list(study.CLAIMS)
    assert evidence["stored"][:, 1].tolist() == [10, 10] and evidence["digits"][:, 0].tolist() == [1, 1]
    shown = tables(evidence)
    assert len(shown["recalled"].columns["F"]) == 25 and shown["capacity"].columns["units"] == [8, 12] * 4 + [6, 8]
    drawn = figures(evidence)
    assert list(drawn) == ["recalled", "capacity", "digits", "energies"]
    assert all(axes.get_xlabel() and axes.get_ylabel() for figure in drawn.values() for axes in figure.axes)
