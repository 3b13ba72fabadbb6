"""Shortcuts: roughness of known lines, verdicts on made-up networks, the probe by hand, and one small run."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from torch import nn

from ftheta.studies.convolution import residual
from ftheta.studies.convolution._deep import deep, two_spirals
from ftheta.studies.convolution.residual import TINY, figures, judge, measure, roughness, tables

SEEDS = np.array([-1.0, 0, 1, 0])


@pytest.mark.parametrize(
    ("heights", "value"),
    [
        ([2, 1, 0, 1, 2], 0),
        ([9, 1, 0, 0, 0.5], 0),  # one valley, however steep
        ([2, 0, 1, 0, 2], 0.5),
        ([3, 1, 2, 1, 3], 0.5),  # wherever its lowest point is
        ([0, 1, 2, 3], 0),
        ([0, 1, 0], 0),  # a hill: no lower place than its ends
        ([5, 5, 5], 0),
    ],
)
def test_roughness(heights, value):
    assert roughness(np.exp(np.array(heights, dtype=float))) == pytest.approx(value)


def made(
    train=(1.0, 1.0, 0.7, 0.98), test=None, epochs=(60, 40, 251, 70), kept=(0.5, 1.0), rough=(0.4, 0.1), noise=0.01
):
    """Depths 4 and 50: plain and residual at each; every activation alike."""

    def grid(values, by):  # (4,) -> (A, D, 2, S)
        each = np.array(values, dtype=float).reshape(2, 2)[:, :, None] + by * SEEDS * np.array([1, -1])[:, None]
        return np.broadcast_to(each, (2, *each.shape)).copy()

    right = grid(train, noise)
    return {
        "train": right,
        "test": right if test is None else grid(test, noise),
        "epochs": grid(epochs, 1),
        "losses": np.ones((2, 2, 2, 4, 250)),
        "kept": np.repeat(grid([*kept, *kept], noise)[..., None], 3, -1),
        "rough": grid([*rough, *rough], noise),
        "slice": np.ones((2, 2, 2, 4, 5)),
        "depths": [4, 50],
    }


@pytest.mark.parametrize(
    ("changes", "row", "verdict"),
    [
        ({}, "C202", "corrected"),
        ({"train": (1.0, 1.0, 1.0, 1.0)}, "C202", "refuted"),
        ({"test": (1.0, 1.0, 0.5, 0.9)}, "C202", "not reproduced"),  # an inability to generalise as well
        ({}, "A273", "confirmed"),
        ({"epochs": (60, 40, 50, 70)}, "A273", "refuted"),
        ({}, "B314", "confirmed"),
        ({"rough": (0.1, 0.4)}, "B314", "corrected"),  # deeper, but not smoother
        ({"rough": (0.1, 0.4), "train": (1.0, 1.0, 1.0, 1.0)}, "B314", "refuted"),
    ],
)
def test_verdicts(changes, row, verdict):
    assert {f.row: f.verdict for f in judge(made(**changes))}[row] == verdict


@pytest.mark.parametrize(
    ("kept", "verdict"),
    [
        ((0.5, 0.97), "confirmed"),
        ((0.97, 0.97), "refuted"),  # plain networks keep it too
        ((0.2, 0.6), "corrected"),  # higher, but not high
        ((0.6, 0.2), "refuted"),
    ],
)
def test_verdicts_on_the_input(kept, verdict):
    assert judge(made(kept=kept))[2].verdict == verdict


def test_half_of_the_places_make_a_correction_and_fewer_do_not():
    evidence = made()
    evidence["epochs"][1] = evidence["epochs"][1][:, ::-1]  # tanh: the other way round
    assert judge(evidence)[1].verdict == "corrected"
    three = {key: v if key == "depths" else v[:, [0, 1, 1]] for key, v in made().items()} | {"depths": [4, 20, 50]}
    three["epochs"] = three["epochs"].copy()
    three["epochs"][0] = three["epochs"][0][:, ::-1]
    three["epochs"][1, 1] = three["epochs"][1, 1][::-1]
    assert judge(three)[1].verdict == "not reproduced"


def test_never_is_counted_as_one_epoch_more_than_there_were():
    found = judge(made(epochs=(60, 40, np.inf, 70)))[1]
    assert found.verdict == "confirmed" and found.measured[0] == [251, 70]


def test_the_probe_is_a_ridge_regression_judged_on_other_rows():
    net, train, test = deep(2, 2, 3, 6, sigma="tanh"), two_spirals(60, 0), two_spirals(60, 1)
    found = residual._kept(net, train, test, 5)
    for k in range(3):
        with torch.no_grad():
            h, new = (net[: k + 1](rows).double().numpy() for rows in (train[0], test[0]))
        probe = Ridge(alpha=residual.RIDGE * h.var(0).sum() * len(h)).fit(h, train[0].numpy())
        truth = test[0].double().numpy()
        away = ((probe.predict(new) - truth) ** 2).sum() / ((truth - truth.mean(0)) ** 2).sum()
        assert found[k] == pytest.approx(1 - away, abs=1e-4)
    assert np.isnan(found[3:]).all()


def test_a_linear_layer_keeps_the_input_and_a_constant_loses_it():
    rows = two_spirals(60, 0)
    first = deep(2, 2, 2, 6)[0]
    lost = nn.Linear(6, 6)
    nn.init.zeros_(lost.weight)
    found = residual._kept(nn.Sequential(first, lost, nn.Identity()), rows, rows, 2)
    assert found[0] == pytest.approx(1) and found[1] == pytest.approx(0, abs=1e-6)


@pytest.mark.middle
def test_a_small_run_has_every_network():
    evidence = measure(TINY)
    shape = (2, 2, 2, TINY.seeds)
    assert evidence["train"].shape == shape and evidence["losses"].shape == (*shape, TINY.epochs)
    assert evidence["kept"].shape == (*shape, 4) and evidence["slice"].shape == (*shape, TINY.points)
    assert np.isnan(evidence["kept"][:, 0, ..., 2:]).all() and np.isfinite(evidence["kept"][:, 1]).all()
    drawn = figures(evidence)
    assert set(drawn) == {"losses", "input", "slices"} and all(len(f.axes) == 2 for f in drawn.values())
    assert [f.row for f in judge(evidence)] == ["C202", "A273", "A274", "B314"]
    assert len(tables(evidence)["networks"].columns["depth"]) == 8
