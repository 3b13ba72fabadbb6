"""Gradients: verdicts on made-up evidence, and one small run against closed forms."""

import numpy as np
import pytest
import torch

from ftheta.draw import Draw
from ftheta.studies.optimisers._line import line_rows
from ftheta.studies.optimisers.gradients import FULL, SIZES, TINY, VARIANCES, figures, judge, measure

S, N = 6, 5000
WAVE = np.linspace(-1, 1, S)


def made(bias=0.0, power=1.0, full=FULL, off=0.0, slope=-0.5, added=4.25, mean=1.0, ends=(5.0, 1e-4, 1e-6), rise=True):
    gradient = np.array(full) + 0.1 * WAVE[:, None]  # (S, 2)
    variance = np.array(VARIANCES)[:1] / np.array(SIZES) ** power * (1 + 0.05 * WAVE[:, None])  # (S, 3)
    curve = np.array([1, 3.0] * 10) if rise else np.ones(20)
    single = np.array([[np.concatenate([[5.0], end * curve]) for end in ends]] * S)
    return {
        "full": gradient,
        "variance": np.repeat(variance[..., None], 2, axis=-1),
        "mean": gradient[:, None] + bias * np.sqrt(variance / N)[..., None],
        "error": np.array(SIZES) ** slope * np.ones((S, 1)),
        "epoch": np.full((S, 2), off),
        "noisy": np.stack([mean + 0.001 * WAVE, added + 0.01 * WAVE], axis=1),
        "single": single,
        "batches": N,
    }


@pytest.mark.parametrize(
    ("i", "changes", "verdict"),
    [
        (0, {}, "confirmed"),
        (0, {"full": (-3.5, -1.0)}, "corrected"),
        (0, {"full": (-3.5, -1.0), "power": 0.5}, "not reproduced"),
        (0, {"bias": 5.0}, "refuted"),
        (1, {}, "confirmed"),
        (1, {"off": 1e-3}, "corrected"),
        (1, {"off": 1e-3, "slope": -1.0}, "refuted"),
        (2, {}, "confirmed"),
        (2, {"mean": 1.2}, "corrected"),
        (2, {"added": 4.0}, "not reproduced"),
        (2, {"added": 3.5, "mean": 1.5}, "refuted"),
        (3, {}, "corrected"),
        (3, {"ends": (1e-4, 1e-4, 1e-6)}, "confirmed"),  # if it worked without a rate
        (3, {"ends": (5.0, 1e-4, 1e-4)}, "not reproduced"),
        (3, {"ends": (5.0, 1.0, 1e-6)}, "not reproduced"),
        (3, {"rise": False}, "not reproduced"),
    ],
)
def test_verdicts(i, changes, verdict):
    found = judge(made(**changes))[i]
    assert (found.row, found.verdict) == (("B013", "A130", "B017", "A129")[i], verdict)


@pytest.mark.middle
def test_a_small_run_agrees_with_closed_forms():
    evidence = measure(TINY)
    x, y = line_rows(TINY.rows, Draw(0).at("rates"))
    assert evidence["full"][0] == pytest.approx([-float((x[:, 0] * y).mean()), -float(y.mean())])
    exact = torch.stack([x[:, 0] * y, y], dim=1).var(0).numpy()
    assert evidence["variance"][0, 1] == pytest.approx(exact / 10, rel=0.3)
    assert np.abs(evidence["epoch"]).max() < 1e-14
    assert evidence["single"].shape == (TINY.seeds, 3, TINY.updates + 1)
    assert set(figures(evidence)) == {"variance", "single"} and len(judge(evidence)) == 4
