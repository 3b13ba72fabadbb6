"""Digits: which is stored, noise by hand, verdicts on made-up cues, one small run, and the real digits."""

import numpy as np
import pytest

from ftheta.data import load
from ftheta.studies.report import hopfield_digits
from ftheta.studies.report.hopfield_digits import NOISE, RULES, TINY, Config, figures, judge, measure, tables

K, T = 10, 60


def cues(right, needed=(0, 3, 6, 9, 16, 26), read=1.0, wrong=None):
    """(L, K, T): a share of the cues of each level ends in its digit, the others in the next, or in `wrong`."""
    levels = np.array(right)[:, None, None]
    digits = np.arange(K)[:, None]
    late = np.arange(T) / T  # (T,)
    other = (digits + 1) % K if wrong is None else wrong
    shape = (len(right), K, T)
    counted = np.array(needed)[:, None, None] + np.where(late < 0.9, 0, 20)
    return {
        "end": np.broadcast_to(np.where(late < levels - 1e-9, digits, other), shape),
        "needed": np.broadcast_to(counted, shape),
        "nearest": np.broadcast_to(np.where(late < read, digits, (digits + 1) % K), shape),
        "agree": np.full(shape, 0.9),
    }


def made(stable=(10, 10, 1, 0), flip=(1, 1, 1, 1, 0.9, 0.1), wrong=None, **changes):
    overlaps = 0.6 + 0.3 * np.eye(K, k=1) + 0.3 * np.eye(K, k=-1) + 0.4 * np.eye(K)
    overlaps[0, -1] = overlaps[-1, 0] = 0.9
    stored = {"stable": list(stable), "moved": 0.0, "overlaps": overlaps, "strips": np.zeros((K, 8, 4, 4))}
    found = {"stored": stored, "flip": cues(flip, wrong=wrong, **changes)}
    found |= {kind: cues((1,) * len(NOISE[kind]), needed=(0,) * len(NOISE[kind])) for kind in ("replace", "gaussian")}
    at_half = np.random.default_rng(0).integers(0, K, (K, T))  # says nothing of what was stored
    if wrong is None:
        found["flip"]["end"] = np.concatenate([found["flip"]["end"][:-1], at_half[None]])
    return {"sizes": {"4 x 4": found}, "trials": T, "chosen": "first"}


@pytest.mark.parametrize(
    ("stable", "verdict"),
    [
        ((10, 10, 1, 0), "corrected"),
        ((10, 10, 10, 10), "confirmed"),  # Hebb's rule holds them all
        ((10, 10, 9, 9), "corrected"),
        ((9, 10, 1, 0), "not reproduced"),
    ],
)
def test_verdicts_on_the_rules(stable, verdict):
    found = judge(made(stable=stable))[0]
    assert (found.row, found.verdict, found.measured) == ("B064", verdict, list(stable))


@pytest.mark.parametrize(
    ("flip", "wrong", "verdict"),
    [
        ((1, 1, 1, 1, 0.9, 0.1), None, "corrected"),
        ((1, 1, 1, 0.9, 0.9, 0.1), None, "not reproduced"),  # mistakes at 30 % already
        ((1, 1, 1, 1, 1, 0.6), 0, "confirmed"),  # all right at 40 %, some at 50 %
        ((1, 1, 1, 1, 0.9, 0.6), 0, "not reproduced"),
        ((1, 1, 1, 1, 1, 1), 0, "not reproduced"),  # no mistakes at 50 %
    ],
)
def test_verdicts_on_recall(flip, wrong, verdict):
    evidence = made(flip=flip, wrong=wrong)
    found = judge(evidence)[1]
    assert (found.row, found.verdict) == ("B065", verdict)
    end = evidence["sizes"]["4 x 4"]["flip"]["end"]
    assert found.measured == pytest.approx([(level == np.arange(K)[:, None]).mean() for level in end])


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "confirmed"),  # 5, 10, 20, 25 lie between the medians and those + 20
        ({"needed": (0, 6, 7, 9, 16, 26)}, "corrected"),  # 5 is less than the median
        ({"needed": (0, 1, 2, 3, 4, 5)}, "corrected"),  # 25 is more than 24
        ({"needed": (0, 3, 3, 9, 16, 26)}, "refuted"),  # no growth
        ({"read": 0.8}, "corrected"),  # not readable after one
    ],
)
def test_verdicts_on_iterations(changes, verdict):
    found = judge(made(**changes))[2]
    assert (found.row, found.verdict) == ("B066", verdict)
    assert found.measured == list(changes.get("needed", (0, 3, 6, 9, 16, 26))[1:5])


def test_the_first_size_is_judged():
    evidence = made(needed=(0, 1, 2, 3, 4, 5))
    evidence["sizes"]["3 x 3"] = made()["sizes"]["4 x 4"]
    found = judge(evidence)[2]
    assert found.verdict == "corrected" and "3 lie between median and 95 % at 4 x 4 pixels" in found.why
    assert found.measured == [1, 2, 3, 4]


def test_verdicts_on_confusions():
    far = (np.arange(K)[:, None] + 5) % K  # overlaps no more than others
    assert judge(made())[3].verdict == "corrected"  # alike at 40 %, anything at 50 %
    assert judge(made(wrong=(np.arange(K)[:, None] + 1) % K))[3].verdict == "confirmed"  # alike at 50 % too
    assert judge(made(wrong=far))[3].verdict == "not reproduced"
    evidence = made(flip=(1, 1, 1, 1, 1, 0.1))
    assert judge(evidence)[3].verdict == "not reproduced" and np.isnan(judge(evidence)[3].measured[0])  # no errors
    assert "0 as 1 (6), 1 as 2 (6)" in judge(made())[3].why


def test_close_errors_by_hand():
    overlaps = np.eye(5) + 0.1 * np.arange(5)  # the last three overlap most with the first two
    counts = np.array([[9, 1, 2, 3, 4], *([[0] * 5] * 4)])
    assert hopfield_digits._close(counts, overlaps) == (10, 9)


def test_first_and_medoid_are_of_their_class():
    x, y = np.asarray(load("digits").x), np.asarray(load("digits").y)
    first = hopfield_digits._patterns(TINY, (8, 8))
    assert (first == np.where(np.stack([x[y == k][0] for k in range(10)]) > 8, 1, -1)).all()
    medoid = hopfield_digits._patterns(Config(data="digits", stored="medoid"), (8, 8))
    for k in range(10):
        rows = np.where(x[y == k] > 8, 1.0, -1.0)
        agree = (rows[:, None] == rows).sum((1, 2))
        assert agree.max() == (rows == medoid[k]).sum()
    small = hopfield_digits._patterns(TINY, (4, 2))
    means = x[y == 3][0].reshape(4, 2, 2, 4).mean((1, 3))  # fields of 2 x 4
    assert (small[3] == np.where(means > 8, 1, -1).ravel()).all()


@pytest.mark.middle
@pytest.mark.slow
def test_a_small_run():
    evidence = measure(TINY)
    found = evidence["sizes"]["8 x 8"]
    assert found["stored"]["stable"][0] == 10 > found["stored"]["stable"][-1] and found["stored"]["moved"] < 1e-12
    assert found["stored"]["strips"].shape == (10, 8, 8, 8)
    for kind, levels in NOISE.items():
        assert found[kind]["end"].shape == (len(levels), 10, 3) and (found[kind]["end"][0].T == range(10)).all()
        assert (found[kind]["needed"][0] == 0).all() and (found[kind]["agree"][0] == 1).all()
    shown = tables(evidence)
    assert shown["noise"].columns["level"][:6] == ["0 %", "10 %", "20 %", "30 %", "40 %", "50 %"]
    assert shown["rules"].columns["rule"] == list(RULES) and shown["digits"].columns["0 %"] == [100] * 10
    assert [f.row for f in judge(evidence)] == ["B064", "B065", "B066", "B067"]
    drawn = figures(evidence)
    assert [axes.get_title() for axes in drawn["recall"].axes] == [
        "pixels flipped",
        "pixels replaced",
        "Gaussian noise",
    ]
    assert len(drawn["iterations"].axes) == 1
    names = [label.get_text() for label in drawn["pictures"].axes[0].get_xticklabels()]
    assert names == [
        "stored",
        "20 %\nflipped",
        "after 1",
        "40 %\nflipped",
        "after 1",
        "after 25",
        "50 %\nflipped",
        "after 50",
    ]


@pytest.mark.middle
@pytest.mark.data
def test_the_real_digits_are_held_by_the_design_and_not_by_hebbs_rule(data_dir):
    evidence = measure(Config(sizes=((28, 28),), trials=2))
    found = judge(evidence)
    assert found[0].measured[0] == 10 and found[0].measured[-1] == 0 and found[0].verdict == "corrected"
    assert found[1].measured[:4] == [1, 1, 1, 1] and found[1].measured[-1] < 0.4
