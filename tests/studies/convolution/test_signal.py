"""Signals through random layers: verdicts on made-up ranges, the two passes by hand, and one small run."""

import numpy as np
import pytest
import torch

from ftheta.studies.convolution import signal
from ftheta.studies.convolution._deep import deep
from ftheta.studies.convolution.signal import NORMS, TINY, figures, judge, measure, tables

SHAPE = (2, 3, 4, 3)  # activations, scales, norms, seeds


def made(bare=1e6, forward=(2.0, 2.0, 2.0), backward=(3.0, 3.0, 3.0), layers=5):
    def curves(ranges):
        each = np.stack([np.geomspace(1, r, layers) for r in (bare, *ranges)])  # (N, K)
        return np.broadcast_to(each[:, None], (*SHAPE, layers)).copy()

    return {"activation": curves(forward), "gradient": curves(backward)}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "confirmed"),
        ({"backward": (1e4, 3, 3)}, "corrected"),  # activations stay level, gradients do not
        ({"forward": (2, 20, 2)}, "refuted"),
        ({"bare": 5}, "not reproduced"),  # nothing to keep level
    ],
)
def test_verdicts(changes, verdict):
    (found,) = judge(made(**changes))
    assert (found.row, found.verdict) == ("A149", verdict)
    assert np.shape(found.measured) == np.shape(found.spread) == (2, 4)


def test_one_draw_out_of_all_is_enough_to_break_it():
    evidence = made()
    evidence["gradient"][1, 2, 3, 0, 0] = 0.01
    assert judge(evidence)[0].verdict == "corrected"


def test_activations_and_gradients_are_those_of_the_network():
    found = signal._pass(TINY, "tanh", 1.0, "layer", 0)
    net = deep(16, 16, 6, 16, sigma="tanh", normed="layer").double()
    generator = signal.Draw(0).at("signal").generator("rows")
    x, c = (torch.randn(16, 16, generator=generator, dtype=torch.float64) for _ in range(2))
    h = net[:3](x)
    assert found[0][2] == pytest.approx(h.square().mean().sqrt().item())
    step, v = 1e-6, torch.randn_like(h)
    slope = torch.autograd.functional.vjp(net[3:], h, c)[1]
    up, down = ((c * net[3:](h + s * step * v)).sum().item() for s in (1, -1))
    assert (slope * v).sum().item() == pytest.approx((up - down) / (2 * step), rel=1e-5)
    assert found[1][2] == pytest.approx(slope.norm().item())


def test_a_small_run_has_every_cell_and_norms_forget_the_scale():
    evidence = measure(TINY)
    assert evidence["activation"].shape == evidence["gradient"].shape == (2, 3, 4, TINY.seeds, TINY.depth)
    normed = evidence["gradient"][:, :, 1:]
    np.testing.assert_allclose(normed[:, 0], normed[:, 2], rtol=0.02)
    bare = evidence["activation"][0, :, 0]
    np.testing.assert_allclose(bare[2, :, -1] / bare[0, :, -1], 4.0**TINY.depth)  # ReLU is homogeneous
    assert [len(axes.lines) for axes in figures(evidence)["gradient"].axes] == [4, 4, 4]
    assert len(tables(evidence)["ranges"].columns["norm"]) == 24 and set(NORMS) == {"none", "batch", "layer", "rms"}
