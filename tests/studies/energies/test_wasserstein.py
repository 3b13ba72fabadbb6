"""Transport: potentials, matchings and gradients by hand, verdicts on made-up numbers, and one small run."""

from itertools import permutations

import numpy as np
import pytest
import torch

from ftheta.data import Batch
from ftheta.draw import Draw
from ftheta.models.energy.rbm_net import RBM
from ftheta.studies.energies import wasserstein
from ftheta.studies.energies.wasserstein import (
    TINY,
    Transport,
    figures,
    isolated,
    judge,
    matched,
    measure,
    potentials,
    tables,
)


def bits(n, d, seed):
    return torch.bernoulli(torch.full((n, d), 0.5), generator=torch.Generator().manual_seed(seed))


def blurred(a, cost, blur):
    """min Σ P cost + γ Σ P (log P - 1) over P with margins a and uniform, by its dual, in float64."""
    b = np.full(cost.shape[1], 1 / cost.shape[1])
    f, g = np.zeros(len(a)), np.zeros(len(b))
    for _ in range(400):
        f = blur * (np.log(a) - np.logaddexp.reduce((g - cost) / blur, axis=1))
        g = blur * (np.log(b) - np.logaddexp.reduce((f[:, None] - cost) / blur, axis=0))
    return a @ f + b @ g - blur


def test_potentials_are_the_slope_of_the_distance_in_the_mass_of_a_sample():
    x, y, blur, h = bits(5, 9, 0), bits(7, 9, 1), 0.7, 1e-4
    cost = np.abs(x.numpy()[:, None] - y.numpy()[None]).sum(-1)
    found = potentials(x, y, blur, rounds=400).numpy()
    mass = np.full(5, 0.2)
    for i, j in ((0, 1), (2, 4)):
        move = np.zeros(5)
        move[i], move[j] = h, -h
        slope = (blurred(mass + move, cost, blur) - blurred(mass - move, cost, blur)) / (2 * h)
        assert found[i] - found[j] == pytest.approx(slope, abs=1e-3)
    assert found.sum() == pytest.approx(0, abs=1e-5)


def test_the_best_matching_is_that_of_all_permutations():
    x, y = bits(5, 8, 2).numpy(), bits(5, 8, 3).numpy()
    cost = np.abs(x[:, None] - y[None]).sum(-1)
    assert matched(x, y) == min(np.mean([cost[i, p[i]] for i in range(5)]) for p in permutations(range(5)))
    assert matched(x, x[::-1].copy()) == 0


def test_a_lit_pixel_is_isolated_where_no_neighbour_is_lit_also_across_corners_and_not_around_the_edge():
    image = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]])
    assert isolated(image.reshape(1, -1), (4, 4)) == 0.5
    assert isolated(np.zeros((1, 16)), (4, 4)) == 0


def test_the_gradient_is_that_of_the_expected_potential(monkeypatch):
    """Weights 0: every state is as likely, so that all eight, once each, are the exact expectation."""
    states = torch.tensor(list(np.ndindex(2, 2, 2)), dtype=torch.float64)
    machine = RBM(3, 2, std=0.0).double()
    dear = potentials(states, states[:3], 1.0)
    objective = Transport(machine, states, blur=1.0, share=0.0)
    loss = objective.loss("loss", Batch(states[:3]), Draw(0))
    loss.once.backward()
    found = machine.visible_bias.grad.clone()
    machine.zero_grad()
    (torch.softmax(-machine.free_energy(states), 0) @ dear).backward()
    assert found.abs().max() > 0.1 and torch.allclose(found, machine.visible_bias.grad)


def test_without_blur_the_loss_is_the_difference_of_free_energies_and_with_it_a_share_of_it():
    machine, data, chains = RBM(6, 3, std=1.0), bits(4, 6, 4), bits(5, 6, 5)
    plain, shared = Transport(machine, chains), Transport(machine, chains, blur=1.0, share=0.3)
    free = machine.free_energy(chains)
    one, two = (o.loss("loss", Batch(data), Draw(0)) for o in (plain, shared))
    assert one.once.item() == pytest.approx(-free.mean().item(), rel=1e-5)
    assert two.total.item() == pytest.approx(0.3 * one.total.item(), rel=1e-5) and one.weight == 4
    extra = -(potentials(chains, data, 1.0) * free).mean().item()
    assert two.once.item() == pytest.approx(extra - 0.3 * free.mean().item(), rel=1e-4)


def made(distance, share, noise=0.01):
    """(likelihood, Wasserstein) for each size, four seeds."""
    spread = noise * np.array([-1.0, 0, 1, 0])[:, None, None] * np.array([1, -1])
    found = {"distance": np.array(distance) + spread, "isolated": np.array(share) + 0.01 * spread}
    return found | {
        "lit": np.full((4, 2, 2), 0.3),
        "digits": [5.7, 0.001, 0.31],
        "pictures": np.zeros((2, 2, 64, 8, 8)),
        "units": [12, 64],
    }


BETTER, SAME, WORSE = (0.02, 0.01), (0.02, 0.02), (0.02, 0.03)


@pytest.mark.parametrize(
    ("distance", "share", "verdict"),
    [
        (((7, 6), (7, 6)), (BETTER, BETTER), "confirmed"),
        (((7, 6), (6, 6.5)), (BETTER, BETTER), "corrected"),
        (((6, 7), (6, 7)), (BETTER, WORSE), "corrected"),
        (((6, 7), (6, 7)), (WORSE, WORSE), "refuted"),
        (((6, 6), (6, 6)), (SAME, SAME), "refuted"),
    ],
)
def test_verdicts(distance, share, verdict):
    (found,) = judge(made(distance, share, noise=0.0))
    assert (found.row, found.verdict) == ("B324", verdict)
    gain = [[d[0] - d[1], s[0] - s[1]] for d, s in zip(distance, share, strict=True)]
    assert np.array(found.measured) == pytest.approx(np.array(gain))


def test_gains_that_are_not_sure_are_not_reproduced():
    assert judge(made(((7, 6.99), (7, 6.99)), (SAME, SAME), noise=0.1))[0].verdict == "not reproduced"


@pytest.mark.middle
def test_a_small_run_and_a_potential_with_the_wrong_sign_has_another_verdict(monkeypatch):
    evidence = measure(TINY)
    assert evidence["distance"].shape == (2, 2, 2) and evidence["pictures"].shape == (2, 2, 64, 8, 8)
    assert (
        judge(evidence)[0].verdict == "corrected"
        and (evidence["distance"][:, 1, 1] < evidence["distance"][:, 1, 0]).all()
    )
    assert tables(evidence)["wasserstein"].columns["trained by"] == ["likelihood", "Wasserstein"] * 2 + [""]
    assert list(figures(evidence)) == ["wasserstein", "samples"]
    monkeypatch.setattr(wasserstein, "potentials", lambda x, y, blur: -potentials(x, y, blur))
    assert judge(measure(TINY))[0].verdict != "corrected"
