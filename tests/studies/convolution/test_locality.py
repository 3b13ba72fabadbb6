"""Neighbours: both parameter counts, signals by hand, verdicts on made-up errors, and one small run."""

import numpy as np
import pytest
import torch

from ftheta.studies.convolution._nets import size
from ftheta.studies.convolution.locality import TINY, conv_net, dense_net, figures, judge, measure, signals, tables

SEEDS = np.array([-1.0, 0, 1])


def test_the_networks_have_2050_and_59065_parameters_and_the_same_numbers_of_units():
    conv, dense = conv_net(), dense_net()
    assert size(conv) == (3 + 1) * 15 + 2 * (3 * 15 + 1) * 15 + 61 * 10 == 2050
    assert size(dense) == 41 * 285 + 286 * 135 + 136 * 60 + 61 * 10 == 59065
    h, places = torch.zeros(1, 1, 40), []
    for layer in conv[:6]:
        h = layer(h)
        places.append(h.shape[2])
    assert places == [19, 19, 9, 9, 4, 4]


def test_a_permutation_is_no_matter_to_a_dense_net_whose_first_weights_are_permuted_too():
    dense, x = dense_net(), torch.randn(5, 1, 40)
    order = torch.randperm(40)
    before = dense(x)
    first = next(p for p in dense.parameters() if p.shape == (285, 40))
    with torch.no_grad():
        first.copy_(first[:, order])
    torch.testing.assert_close(dense(x[..., order]), before, rtol=1e-4, atol=1e-5)


def test_signals_are_quiet_outside_their_shape_and_anywhere():
    x, y = signals(4000, 0.0, 0)
    assert x.shape == (4000, 1, 40) and y.shape == (4000,) and sorted(y.unique().tolist()) == list(range(10))
    loud = (x[:, 0] != 0).numpy()
    length = 40 - loud.argmax(1) - loud[:, ::-1].argmax(1)
    assert length.min() >= 9 and length.max() <= 19  # ℓ in [10, 18], up to the samples at its ends
    assert loud.argmax(1).min() <= 1 and loud.argmax(1).max() >= 28
    energy = (x[:, 0] ** 2).sum(1).numpy()  # about a² ℓ: E a² E ℓ = (1 + 0.8²/12) · 14
    assert energy.mean() == pytest.approx(14 * (1 + 0.64 / 12), rel=0.03)


def test_signals_of_a_seed_have_the_same_shapes_and_noise_is_added():
    a, b, other = signals(3, 0.0, 0)[0], signals(3, 0.5, 0)[0], signals(3, 0.0, 1)[0]
    assert 0.3 < (a - b).std() < 0.7 and not torch.equal(a, other)


def made(test, parameters=(2050, 59065), noise=0.002):
    cells = np.array(test, dtype=float).reshape(1, 2, 2) + noise * SEEDS[:, None, None] * np.array([[1, -1], [1, 2]])
    return {"test": cells, "train": cells, "parameters": list(parameters)}


@pytest.mark.parametrize(
    ("test", "parameters", "verdict"),
    [
        ((0.1, 0.3, 0.2, 0.2), (2050, 59065), "confirmed"),
        ((0.1, 0.3, 0.2, 0.2), (2050, 59064), "refuted"),
        ((0.2, 0.3, 0.1, 0.1), (2050, 59065), "refuted"),  # the dense net is better
        ((0.1, 0.3, 0.2, 0.4), (2050, 59065), "not reproduced"),  # both are hurt
        ((0.1, 0.1, 0.2, 0.2), (2050, 59065), "not reproduced"),  # none is
        ((0.2, 0.3, 0.2, 0.2), (2050, 59065), "not reproduced"),  # the same errors
    ],
)
def test_verdicts(test, parameters, verdict):
    (found,) = judge(made(test, parameters))
    assert (found.row, found.verdict) == ("C168", verdict) and found.measured == pytest.approx(test)


def test_a_small_run():
    evidence = measure(TINY)
    assert evidence["test"].shape == (TINY.seeds, 2, 2) and evidence["parameters"] == [2050, 59065]
    drawn = figures(evidence)["permutation"]
    assert [axes.get_ylim()[0] for axes in drawn.axes] == [0, 0] and judge(evidence)[0].row == "C168"
    assert tables(evidence)["errors"].columns["samples"] == ["in order", "permuted"] * 2
