"""Noise taken from images: verdicts on made-up decibels, and one small run."""

import numpy as np
import pytest

from ftheta.studies.convolution.denoising import TINY, WAYS, figures, judge, measure, tables


def made(first, second, seeds=3):
    rows = np.array([12.0, 19.0, first, second]) + 0.1 * np.arange(seeds)[:, None]
    return {"psnr": rows}


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [(22.0, 23.0, "confirmed"), (23.0, 22.0, "confirmed"), (22.0, 11.0, "not reproduced"), (11.0, 10.0, "refuted")],
)
def test_verdicts(first, second, verdict):
    (found,) = judge(made(first, second))
    assert (found.row, found.verdict) == ("B319", verdict)
    assert found.measured == pytest.approx([12.1, 19.1, first + 0.1, second + 0.1])
    assert found.spread == pytest.approx([0.1] * 4) and f"network, p = 2 {second + 0.1:.2f} ± 0.10" in found.why


def test_a_gain_that_one_seed_lacks_is_not_confirmed():
    evidence = made(22.0, 23.0)
    evidence["psnr"][1, 3] = 11
    assert judge(evidence)[0].verdict == "not reproduced"


def test_it_says_which_error_is_ahead():
    assert "p = 2 against p = 1: 1.00 ± 0.00 dB; the squared error is what" in judge(made(22.0, 23.0))[0].why
    assert "p = 2 against p = 1: -1.00 ± 0.00 dB; a mean of logarithms" in judge(made(23.0, 22.0))[0].why


def test_tables_and_figures_have_a_row_a_way():
    evidence = made(22.0, 23.0)
    assert tables(evidence)["denoising"].columns["PSNR (dB)"] == pytest.approx([12.1, 19.1, 22.1, 23.1])
    axes = figures(evidence)["denoising"].axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == list(WAYS) and "PSNR (dB)" in axes.get_xlabel()


@pytest.mark.middle
def test_a_small_run():
    """Noise of standard deviation 1/4 is -20 log₁₀(1/4) = 12.04 dB; the mean of nine pixels is far above it."""
    found = measure(TINY)["psnr"]
    assert found.shape == (TINY.seeds, 4) and found[:, 0] == pytest.approx([12.04] * TINY.seeds, abs=0.1)
    assert (found[:, 1] > 18).all() and (found[:, 2:] > 11).all() and found[0, 2] != found[0, 3]
    assert np.array_equal(found, measure(TINY)["psnr"])
