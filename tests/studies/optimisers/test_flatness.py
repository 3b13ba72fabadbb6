"""Flatness: verdicts on made-up minima, the net against nn.Linear, and rows that are weighted wrongly on purpose."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from ftheta.studies.optimisers import flatness
from ftheta.studies.optimisers.flatness import TINY, Config, _answer, _look, _problem, _shares, judge, measure

SEEDS = np.linspace(0.9, 1.1, 8)[:, None]


def made(
    sharpness=(27, 15, 26.8, 12), error=(0.02, 0.02, 0.02, 0.02), variance=(0.8, 0.6, 0.75, 0.4), spread=(4, 3, 3, 2)
):
    keys = ("sharpness", "error", "variance", "spread")
    return {
        k: SEEDS * np.array(v, dtype=float) for k, v in zip(keys, (sharpness, error, variance, spread), strict=True)
    }


@pytest.mark.parametrize(
    ("changes", "row", "verdict"),
    [
        ({}, "C165", "corrected"),
        ({"sharpness": (27, 15, 20, 12)}, "C165", "confirmed"),  # noise alone flattens too
        ({"sharpness": (27, 27, 26.8, 12)}, "C165", "not reproduced"),  # the step alone does not
        ({"sharpness": (27, 15, 30, 18)}, "C165", "refuted"),
        ({}, "C166", "not reproduced"),
        ({"error": (3, 2, 3, 2)}, "C166", "confirmed"),
        ({"error": (3, 2.95, 3, 2)}, "C166", "not reproduced"),  # too little for one of them
        ({"error": (2, 3, 2, 3)}, "C166", "refuted"),
        ({"error": (2, 3, 3, 2)}, "C166", "not reproduced"),
        ({}, "C167", "confirmed"),
        ({"spread": (2, 2, 2.1, 2.1)}, "C167", "corrected"),  # gradients agree, losses do not
        ({"variance": (0.4, 0.4, 0.5, 0.5)}, "C167", "refuted"),
        ({"variance": (0.4, 0.4, 0.3, 0.5)}, "C167", "not reproduced"),
    ],
)
def test_verdicts(changes, row, verdict):
    assert {f.row: f.verdict for f in judge(made(**changes))}[row] == verdict


def test_runs_that_did_not_get_there_are_left_out_of_pairs_and_counted():
    evidence = made()
    for values in evidence.values():
        values[:6, 3] = np.nan
    finding = judge(evidence)[0]
    assert finding.verdict == "corrected" and "26 of 32" in finding.why and "SGD large - - - - - - 12" in finding.why
    for values in evidence.values():
        values[:, 3] = np.nan
    assert judge(evidence)[0].verdict == "not reproduced" and judge(evidence)[0].measured[3] is None


def test_the_net_the_sharpness_and_the_batches_are_those_of_a_plain_module():
    config = replace(TINY, seeds=1, partitions=1, batch=12)
    x, y, theta = (torch.tensor(part) for part in _problem(config, 0))
    net = nn.Sequential(nn.Linear(1, 30), nn.Tanh(), nn.Linear(30, 1)).double()
    parts = theta.split([30, 30, 30, 1])
    for p, part in zip(net.parameters(), parts, strict=True):
        p.data = part.reshape(p.shape)
    torch.testing.assert_close(_answer(theta, x), net(x[:, None])[:, 0].detach())
    found = _look(config, x[None], y[None], theta.expand(4, 1, -1))

    def loss(*p):
        named = dict(zip(dict(net.named_parameters()), p, strict=True))
        return (torch.func.functional_call(net, named, x[:, None])[:, 0] - y).square().mean()

    blocks = torch.autograd.functional.hessian(loss, tuple(p.detach() for p in net.parameters()))
    full = torch.cat(
        [torch.cat([b.reshape(p.numel(), -1) for b in row], 1) for p, row in zip(net.parameters(), blocks, strict=True)]
    )
    assert found["sharpness"][0] == pytest.approx(torch.linalg.eigvalsh(full)[-1].item())
    slope = torch.autograd.grad(loss(*net.parameters()), list(net.parameters()))
    assert found["gradient"][0] == pytest.approx(torch.cat([g.flatten() for g in slope]).norm().item())
    truth = (
        np.sin(2 * np.linspace(-2, 2, 400))
        - net(torch.linspace(-2, 2, 400, dtype=torch.double)[:, None])[:, 0].detach().numpy()
    )
    assert found["error"][0] == pytest.approx(np.mean(truth**2))


def test_every_row_counts_once_an_epoch():
    config = replace(Config(), seeds=2, updates=12)
    weights = [w.clone() for w in _shares(config)]
    assert all(torch.allclose(w.sum(-1), torch.ones(4, 2, dtype=torch.double)) for w in weights)
    for epoch in (weights[:6], weights[6:]):
        torch.testing.assert_close(torch.stack(epoch).sum(0) / 6, torch.full((4, 2, 24), 1 / 24, dtype=torch.double))
    assert not torch.equal(weights[0][2], weights[6][2])


@pytest.mark.middle
def test_without_noise_nothing_is_flatter(monkeypatch):
    config = replace(Config(), seeds=4, target=0.05, updates=3000)
    assert judge(measure(config))[0].verdict == "corrected"
    rows = torch.full((4, 4, 24), 1 / 24, dtype=torch.double)
    monkeypatch.setattr(flatness, "_shares", lambda c: (rows for _ in range(c.updates)))
    assert judge(measure(config))[0].verdict == "not reproduced"
