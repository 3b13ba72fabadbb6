"""What the studies of energies compute with, against independent truth."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest
import torch
from sklearn.neighbors import KernelDensity

from ftheta.data import Batch, load
from ftheta.draw import Draw
from ftheta.models import RestrictedBoltzmannMachine
from ftheta.models.energy.rbm_net import RBM
from ftheta.models.energy.rules import hebb
from ftheta.studies._digits import digits, sample_pixels
from ftheta.studies.energies import likelihood, modern_recall, salesman
from ftheta.studies.energies.capacity import stable_units
from ftheta.studies.energies.overfitting import kernel_density, nearest
from ftheta.studies.energies.salesman import NETS, Net, all_tours, lengths, slope
from ftheta.studies.energies.wasserstein import Transport, isolated, matched, potentials

RNG = np.random.default_rng(0)


def test_stable_units_are_those_of_hebbs_matrix():
    for p, n in ((1, 7), (5, 12), (9, 30), (20, 30)):
        x = RNG.choice([-1.0, 1.0], (p, n))
        assert (stable_units(x) == (x * (x @ hebb(x)) >= 0)).all()
    assert not stable_units(RNG.choice([-1.0, 1.0], (30, 20))).all()


def test_ten_digits_are_the_sth_of_each_class_as_signs():
    data = load("digits")
    for seed in (0, 3):
        found = modern_recall.ten("digits", seed)
        for k in range(10):
            grey = np.asarray(data.x)[data.y == k][seed].ravel()
            assert np.array_equal(found[k], np.where(grey > 8, 1, -1))


# ---- round trips


def test_lengths_are_beside_the_shortest_of_all_tours(monkeypatch):
    """Of four starts three end in the three tours of four cities, one with no unit on."""
    v = np.zeros((4, 4, 4))
    for start, tour in enumerate(((0, 1, 2, 3), (0, 2, 1, 3), (0, 1, 3, 2))):
        v[start, tour, range(4)] = 1
    monkeypatch.setattr(salesman, "end", lambda *asked: v)
    found = salesman.measure(0, next(iter(NETS)), cities=4, starts=4)
    assert (found["tours"], found["no unit on"], found["best length"]) == (0.75, 0.25, 1)
    assert found["length"] == pytest.approx(found["length of a random tour"]) and found["length"] > 1


def test_every_tour_is_there_once():
    for n in (4, 5, 7):
        tours = all_tours(n)
        both = {tuple(t) for t in tours} | {(0, *t[:0:-1]) for t in tours.tolist()}
        assert len(tours) == factorial(n - 1) // 2 and len(both) == factorial(n - 1)


def test_a_length_is_a_round_trip():
    places = np.array([[0, 0], [1, 0], [1, 2], [0, 2]])
    square = np.linalg.norm(places[:, None] - places[None], axis=-1)
    assert lengths(np.array([[0, 1, 2, 3], [0, 2, 1, 3]]), square).tolist() == pytest.approx([6, 4 + 2 * 5**0.5])


def energy(v, d, net):
    """The energy of the docstring."""
    beside = torch.roll(v, 1, -1) + torch.roll(v, -1, -1)
    penalties = net.rows * (v.sum(1) - 1).square().sum() + net.columns * (v.sum(0) - 1).square().sum()
    count = net.total * (v.sum() - len(v) - net.surplus).square()
    return (penalties + count + net.binary * (v * (1 - v)).sum() + net.length * (v * (d @ beside)).sum()) / 2


def tank(v, d):
    """Hopfield and Tank's own terms."""
    rows = (v.sum(1).square() - v.square().sum(1)).sum()
    columns = (v.sum(0).square() - v.square().sum(0)).sum()
    long = (v * (d @ (torch.roll(v, 1, -1) + torch.roll(v, -1, -1)))).sum()
    return 250 * rows + 250 * columns + 100 * (v.sum() - 15).square() + 250 * long


@pytest.mark.parametrize(
    ("f", "net"),
    [
        (lambda v, d: energy(v, d, Net(2, 3, 5, 0.5, 7, 11)), Net(2, 3, 5, 0.5, 7, 11)),
        (tank, NETS["Hopfield and Tank"]),
    ],
)
def test_the_slope_is_the_derivative_of_the_energy(f, net):
    places, v = torch.tensor(RNG.random((10, 2))), torch.tensor(RNG.random((10, 10)))
    d = torch.cdist(places, places)
    known = torch.func.grad(lambda u: f(u, d))(v).numpy()
    assert slope(v.numpy()[None], d.numpy()[None], net)[0] == pytest.approx(known, rel=1e-6, abs=1e-9)


# ---- likelihoods


def test_the_kernel_density_is_scikit_learns():
    points, x = torch.randn(2, 30, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    known = KernelDensity(bandwidth=0.3).fit(points[:, None].numpy()).score_samples(x[:, None].numpy())
    assert kernel_density(points, x, 0.3).numpy() == pytest.approx(known)


def test_the_nearest_image_is_counted_in_pixels():
    x = np.array([[0, 0, 0, 1], [1, 1, 1, 1]], dtype=np.float32)
    assert nearest(np.array([[0, 0, 0, 0], [1, 0, 1, 1]]), x) == 1


def test_the_log_likelihood_is_the_exact_one_within_its_error(monkeypatch):
    kept, fit = [], RestrictedBoltzmannMachine.fit
    monkeypatch.setattr(RestrictedBoltzmannMachine, "fit", lambda self, x: kept.append(self) or fit(self, x))
    found = likelihood.measure(0, "sampled once", data="digits", units=12, epochs=2, chains=20, temperatures=100)
    (model,), data = kept, digits("digits")
    bits = sample_pixels(np.concatenate([data.x, data.x_test]), 0)[len(data.x) :]
    with torch.no_grad():
        log_z = model.module_.log_partition()
        exact = model.module_.log_prob(torch.from_numpy(bits), log_z)
    error = found["error of log Z"]
    assert found["test (nats)"] == pytest.approx(exact.mean().item(), abs=4 * error) and 0 < error < 0.5
    assert found["log Z"] == pytest.approx(log_z.item(), abs=4 * error)
    assert found["error (nats)"] == pytest.approx(np.hypot(error, exact.std().item() / len(exact) ** 0.5), rel=1e-3)


# ---- transport


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
    Transport(machine, states, epsilon=1.0, weight=0.0).loss("loss", Batch(states[:3]), Draw(0)).once.backward()
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
