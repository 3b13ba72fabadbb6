"""What the studies of energies compute with, against independent truth."""

from math import factorial

import numpy as np
import pytest
import torch
from sklearn.neighbors import KernelDensity

from ftheta.models import RestrictedBoltzmannMachine
from ftheta.models.energy.rules import hebb
from ftheta.studies._digits import digits, sample_pixels
from ftheta.studies.energies import likelihood
from ftheta.studies.energies.capacity import READINGS, load, stable_units
from ftheta.studies.energies.overfitting import kernel_density, nearest
from ftheta.studies.energies.salesman import NETS, Net, all_tours, lengths, slope

RNG = np.random.default_rng(0)


def test_stable_units_are_those_of_hebbs_matrix():
    for p, n in ((1, 7), (5, 12), (9, 30), (20, 30)):
        x = RNG.choice([-1.0, 1.0], (p, n))
        assert (stable_units(x) == (x * (x @ hebb(x)) >= 0)).all()
    assert not stable_units(RNG.choice([-1.0, 1.0], (30, 20))).all()


def test_the_readings_of_the_formula():
    assert [load(reading, 784) for reading in READINGS[:4]] == [29, 58, 67, 108]
    assert [load(READINGS[0], n) for n in (240, 1000)] == [10, 36]


# ---- round trips


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
    assert nearest(np.array([[0, 0, 0, 0], [1, 0, 1, 1]]), x) == 1 and nearest(x, x) == 0


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
