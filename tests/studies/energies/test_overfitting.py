"""Overfitting without labels: the density by another library, verdicts on made-up numbers, and one small run."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.neighbors import KernelDensity

from ftheta.studies.energies import overfitting
from ftheta.studies.energies._digits import cut, digits
from ftheta.studies.energies.overfitting import TINY, figures, judge, kernel_density, measure, tables


def test_the_kernel_density_is_scikit_learns():
    points, x = torch.randn(2, 30, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    known = KernelDensity(bandwidth=0.3).fit(points[:, None].numpy()).score_samples(x[:, None].numpy())
    assert kernel_density(points, x, 0.3).numpy() == pytest.approx(known)


def test_a_single_point_far_away_is_floored():
    """200 kernels of width 0.001: at least one training point is log(1 / (200 · 0.001 · √2π)) = 0.69 high."""
    found = np.array(overfitting._density(replace(TINY, bandwidths=(0.001, 0.4)), 0))
    assert found[0, 0] > 0.69 and found[0, 1] < found[0, 2] < 0 and found[0, 2] > overfitting.FLOOR
    assert found[1, 1] == found[1, 2]


def test_the_likelihood_of_a_machine_is_exact(monkeypatch):
    kept = []
    monkeypatch.setattr(
        overfitting.RestrictedBoltzmannMachine, "sample", lambda self, n, **_: kept.append(self) or x[:5]
    )
    x = cut(digits("digits").x[np.random.default_rng(1).permutation(1438)[:20]])
    found = overfitting._machine(TINY, 4, 1)
    m = kept[0].module_
    w, b, c = (p.detach().double().numpy() for p in (m.weight, m.visible_bias, m.hidden_bias))
    free = -x @ b - np.logaddexp(0, c + x @ w.T).sum(1)
    log_z = np.logaddexp.reduce([h @ c + np.logaddexp(0, b + h @ w).sum() for h in np.ndindex(2, 2, 2, 2)])
    assert found[0] == pytest.approx(-free.mean() - log_z, abs=1e-3) and found[2] == 0 and found[3] > 3


def made(narrow=(0.8, -800.0, -137.0), wide=(-1.38, -1.4, -1.4), train=(-30, -20, -10), test=(-30, -22, -25)):
    rows = np.array([narrow, wide])[None] + 0.05 * np.arange(-1, 2)[:, None, None]
    nats = (
        np.stack([np.array(train, dtype=float), np.array(test, dtype=float)], -1)[None]
        + 0.1 * np.arange(3)[:, None, None]
    )
    near = np.tile([[8.0, 6.0], [7.0, 6.0], [3.0, 6.0]], (3, 1, 1))
    return {
        "density": rows,
        "bandwidths": [0.001, 0.4],
        "likelihood": nats,
        "near": near,
        "units": [1, 5, 20],
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "corrected"),
        ({"test": (-30, -22, -21)}, "not reproduced"),  # unseen digits gain from every unit
        ({"train": (-10, -20, -30)}, "not reproduced"),
        ({"narrow": (0.8, -1.3, -1.3)}, "not reproduced"),
        ({"narrow": (0.8, -1.3, -1.3), "test": (-30, -22, -21)}, "confirmed"),
        ({"narrow": (-1.5, -800, -137), "test": (-30, -22, -21)}, "confirmed"),
    ],
)
def test_verdicts(changes, verdict):
    (found,) = judge(made(**changes))
    assert (found.row, found.verdict) == ("B131", verdict) and found.printed == [0.78, -137.2, -1.38, -1.4]


def test_it_says_how_many_printed_values_are_in_range_and_which_size_is_best():
    why = judge(made())[0].why
    assert "3 of 4 printed" in why and "best with 5" in why and "3.00 ± 0.00 pixels, unseen digits in 6.00" in why
    assert "4 of 4 printed" in judge(made(narrow=(0.8, -800.0, -137.2)))[0].why
    assert "is at -800 in the median" in why


@pytest.mark.middle
def test_a_small_run_and_a_density_without_bandwidths_has_another_verdict(monkeypatch):
    evidence = measure(TINY)
    assert evidence["density"].shape == (5, 6, 3) and evidence["likelihood"].shape == (2, 2, 2)
    assert judge(evidence)[0].verdict == "not reproduced"  # the machines are too small to overfit
    assert tables(evidence)["machines"].columns["hidden units"] == [1, 4]
    assert list(figures(evidence)) == ["density", "machines", "near"]
    monkeypatch.setattr(overfitting, "kernel_density", lambda points, x, h: kernel_density(points, x, 0.4))
    assert judge(measure(TINY))[0].verdict == "confirmed"
