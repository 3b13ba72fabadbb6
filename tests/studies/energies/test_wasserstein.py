"""Transport: potentials, matchings and gradients by hand."""

from itertools import permutations

import numpy as np
import pytest
import torch

from ftheta.data import Batch
from ftheta.draw import Draw
from ftheta.models.energy.rbm_net import RBM
from ftheta.studies.energies.wasserstein import Transport, isolated, matched, potentials


def bits(n, d, seed):
    return torch.bernoulli(torch.full((n, d), 0.5), generator=torch.Generator().manual_seed(seed))


def entropic(a, cost, epsilon):
    """min Σ P cost + γ Σ P (log P - 1) over P with margins a and uniform, by its dual, in float64."""
    b = np.full(cost.shape[1], 1 / cost.shape[1])
    f, g = np.zeros(len(a)), np.zeros(len(b))
    for _ in range(400):
        f = epsilon * (np.log(a) - np.logaddexp.reduce((g - cost) / epsilon, axis=1))
        g = epsilon * (np.log(b) - np.logaddexp.reduce((f[:, None] - cost) / epsilon, axis=0))
    return a @ f + b @ g - epsilon


def test_potentials_are_the_slope_of_the_distance_in_the_mass_of_a_sample():
    x, y, epsilon, h = bits(5, 9, 0), bits(7, 9, 1), 0.7, 1e-4
    cost = np.abs(x.numpy()[:, None] - y.numpy()[None]).sum(-1)
    found = potentials(x, y, epsilon, rounds=400).numpy()
    mass = np.full(5, 0.2)
    for i, j in ((0, 1), (2, 4)):
        move = np.zeros(5)
        move[i], move[j] = h, -h
        slope = (entropic(mass + move, cost, epsilon) - entropic(mass - move, cost, epsilon)) / (2 * h)
        assert found[i] - found[j] == pytest.approx(slope, abs=1e-3)
    assert found.sum() == pytest.approx(0, abs=1e-5)


def test_the_best_matching_is_that_of_all_permutations():
    x, y = bits(5, 8, 2).numpy(), bits(5, 8, 3).numpy()
    cost = np.abs(x[:, None] - y[None]).sum(-1)
    assert matched(x, y) == min(np.mean([cost[i, p[i]] for i in range(5)]) for p in permutations(range(5)))
    assert matched(x, x[::-1].copy()) == 0


def test_a_lit_pixel_is_isolated_where_no_neighbor_is_lit_also_across_corners_and_not_around_the_edge():
    image = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]])
    assert isolated(image.reshape(1, -1), (4, 4)) == 0.5
    assert isolated(np.zeros((1, 16)), (4, 4)) == 0


def test_the_gradient_is_that_of_the_expected_potential():
    """Weights 0: every state is as likely, so that all eight, once each, are the exact expectation."""
    states = torch.tensor(list(np.ndindex(2, 2, 2)), dtype=torch.float64)
    machine = RBM(3, 2, std=0.0).double()
    objective = Transport(machine, states, epsilon=1.0, weight=0.0)
    objective.loss("loss", Batch(states[:3]), Draw(0)).once.backward()
    found = machine.visible_bias.grad.clone()
    machine.zero_grad()
    (torch.softmax(-machine.free_energy(states), 0) @ potentials(states, states[:3], 1.0)).backward()
    assert found.abs().max() > 0.1 and torch.allclose(found, machine.visible_bias.grad)


def test_without_transport_the_loss_is_the_difference_of_free_energies_and_with_it_a_part_of_it():
    machine, data, chains = RBM(6, 3, std=1.0), bits(4, 6, 4), bits(5, 6, 5)
    plain, both = Transport(machine, chains), Transport(machine, chains, epsilon=1.0, weight=0.3)
    free = machine.free_energy(chains)
    one, two = (o.loss("loss", Batch(data), Draw(0)) for o in (plain, both))
    assert one.once.item() == pytest.approx(-free.mean().item(), rel=1e-5)
    assert two.total.item() == pytest.approx(0.3 * one.total.item(), rel=1e-5) and one.weight == 4
    extra = -(potentials(chains, data, 1.0) * free).mean().item()
    assert two.once.item() == pytest.approx(extra - 0.3 * free.mean().item(), rel=1e-4)
