"""Residuals of summed errors: verdicts on made-up evidence, what a tiny run measures, and figures."""

import numpy as np
import pytest

from ftheta.studies.linear.residuals import HEAVY, TINY, _uniform, figures, judge, measure

K = np.array([1, 2, 10, 30])


def made(kurtosis=None, rejected=(1.0, 1.0, 0.2, 0.06), heavy=(1.0, 1.0)):
    right = -1.2 / K if kurtosis is None else np.array(kurtosis)
    wobble = np.linspace(-0.01, 0.01, 100)[:, None]
    share = np.linspace(0, 1, 100, endpoint=False)[:, None]  # p < 0.05 in as many samples as asked for
    p = np.where(share < np.array([*rejected, *heavy]), 0.01, 0.5)
    return {"terms": K, "n": 2000, "kurtosis": np.append(right, [20.0, 900.0]) + wobble, "p": p}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "confirmed"),
        ({"kurtosis": [-1.2, -0.6, -0.12, 0.0]}, "not reproduced"),
        ({"kurtosis": -1.2 / K**2}, "not reproduced"),
        ({"rejected": (0.5, 0.4, 0.2, 0.06)}, "not reproduced"),  # one uniform error is missed
        ({"rejected": (1.0, 1.0, 0.9, 0.5)}, "not reproduced"),  # never normal
        ({"rejected": (1.0, 0.2, 0.6, 0.06)}, "not reproduced"),  # not better with every k
        ({"heavy": (1.0, 0.5)}, "not reproduced"),
    ],
)
def test_verdicts(changes, verdict):
    (found,) = judge(made(**changes))
    assert (found.row, found.verdict) == ("A026", verdict)
    assert len(found.measured) == len(found.spread) == 4 and found.printed[2] == pytest.approx(-0.12)


@pytest.mark.parametrize("k", [1, 4])
def test_sums_have_unit_variance_and_the_stated_kurtosis(k):
    e = _uniform(np.random.default_rng(k), k, 400_000)
    assert e.var() == pytest.approx(1, abs=0.01)
    assert (e**4).mean() / e.var() ** 2 - 3 == pytest.approx(-1.2 / k, abs=0.03) and e.max() <= np.sqrt(3 * k)


def test_a_tiny_run_tells_one_error_from_thirty_and_from_heavy_tails():
    evidence = measure(TINY)
    assert evidence["kurtosis"].shape == (TINY.seeds, 2 + len(HEAVY))
    one, thirty, heavy, cauchy = evidence["kurtosis"].mean(0)
    assert one == pytest.approx(-1.2, abs=0.1) and abs(thirty) < 0.4 and heavy > 1 and cauchy > 20
    assert (evidence["p"][:, [0, 2, 3]] < 0.01).all() and evidence["p"][:, 1].mean() > 0.1
    assert (evidence["density"] * 0.25).sum(1)[:2] == pytest.approx(1)
    drawn = figures(evidence)
    assert set(drawn) == {"kurtosis", "histogram", "quantiles"}
    assert [axes.get_title() for axes in drawn["quantiles"].axes] == [
        "1 uniform error",
        "30 uniform errors",
        "one error of t₃",
    ]
    for figure in drawn.values():
        figure.canvas.draw()
