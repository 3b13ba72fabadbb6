"""What the studies of the report compute with, against independent truth."""

import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestNeighbors

from ftheta.draw import Draw
from ftheta.models.energy.rbm_net import RBM
from ftheta.nn import ConvNet
from ftheta.studies.report import mnist
from ftheta.studies.report._hopfield import followed, patterns
from ftheta.studies.report.dbm import coverage
from ftheta.studies.report.hopfield import hold, network
from ftheta.studies.report.rbm_reconstruction import errors, removed, restored


def test_coverage_is_that_of_scikit_learns_neighbors():
    x, made = np.random.default_rng(0).normal(size=(2, 60, 3))
    reach = NearestNeighbors(n_neighbors=4).fit(x).kneighbors(x)[0][:, 3]  # the row itself is the first
    near = NearestNeighbors(n_neighbors=1).fit(made).kneighbors(x)[0][:, 0]
    assert coverage(x, made, 3) == pytest.approx((near < reach).mean()) and 0 < (near < reach).mean() < 1


@pytest.mark.parametrize(("network", "size", "n"), [("Adam", 28, 34_826), ("best", 24, 90_874)])
def test_the_convolutional_networks_have_the_stated_number_of_parameters(network, size, n):
    names = ("filters", "convs", "padding", "norm", "dropout")
    options = {name: value for name, value in mnist.NETWORKS[network].items() if name in names}
    assert sum(p.numel() for p in ConvNet((1, size, size), 10, **options).parameters()) == n


# ---- images with missing rows


def test_rows_of_28_are_removed_at_one_end_and_in_proportion_from_smaller_images():
    top, bottom = (removed((28, 28), 5, end).reshape(28, 28) for end in ("top", "bottom"))
    assert top[:5].all() and not top[5:].any() and bottom[23:].all() and not bottom[:23].any()
    assert removed((8, 8), 15, "top").sum() == 4 * 8


@pytest.mark.parametrize("steps", [1, 3])
def test_clamped_pixels_stay_and_missing_ones_are_what_the_machine_expects(steps):
    machine = RBM(4, 2, std=0.0)
    with torch.no_grad():
        machine.visible_bias.copy_(torch.tensor([-2.0, 0.0, 1.0, 3.0]))
    x, missing = np.array([[0.3, 1.0, 0.7, 0.2]], dtype=np.float32), np.array([True, False, True, False])
    mean = 1 / (1 + np.exp([2.0, 0.0, -1.0, -3.0]))
    made = restored(machine, x, missing, steps, "clamped", Draw(0))
    assert made[0] == pytest.approx([mean[0], 1.0, mean[2], 0.2], abs=1e-6)
    assert restored(machine, x, missing, steps, "free", Draw(0))[0] == pytest.approx(mean, abs=1e-6)


def test_missing_pixels_start_dark():
    """The hidden unit follows the missing pixel, which was lit: it must not be known."""
    machine = RBM(2, 1, std=0.0)
    with torch.no_grad():
        machine.weight.copy_(torch.tensor([[100.0, 0.0]]))
        machine.hidden_bias.fill_(-50.0)
        machine.visible_bias.copy_(torch.tensor([-50.0, 0.0]))
    made = restored(machine, np.ones((1, 2)), np.array([True, False]), 1, "clamped", Draw(0))
    assert made.tolist() == [[pytest.approx(0, abs=1e-6), 1]]


def test_errors_are_of_missing_pixels_by_class():
    y = np.arange(10).repeat(2)
    x, off = np.zeros((20, 3)), np.zeros((20, 3))
    off[:, 0], off[:, 2] = 0.1 * y, 9
    assert errors(x + off, x, y, np.array([True, True, False])) == pytest.approx(0.1 * np.arange(10) / np.sqrt(2))


# ---- small Hopfield networks

DESIGN = "design, saturated"


def test_iterations_of_the_design_are_the_logarithm_of_the_distance_from_an_axis():
    x = np.random.default_rng(3).uniform(-1, 1, (300, 2))
    way = followed(network(DESIGN, 2), x, 400)
    grown = np.log((1 - 1e-4) / np.abs(x).min(1)) / 0.15  # until the last unit is within 1e-4 of 1
    assert np.abs(way.needed - np.ceil(grown)).max() <= 1 and (way.needed == np.ceil(grown)).mean() > 0.95
    assert (way.state == np.sign(x)).all() and (way.stopped <= way.needed).all()
    target = {(1, 1): 0, (-1, -1): 1, (1, -1): 2, (-1, 1): -1}
    assert way.end.tolist() == [target[tuple(v)] for v in np.sign(x).astype(int)]


def test_a_start_beside_an_axis_is_stopped_at_once_but_not_at_its_end():
    way = followed(network(DESIGN, 2), np.array([[1.0, 1e-5], [0.9, 0.9], [1.0, 1.0]]), 400)
    assert way.stopped.tolist() == [0, 1, 0] and way.needed.tolist() == [77, 1, 0]  # ln(1e5) / 0.15 = 76.8
    short = followed(network(DESIGN, 2), np.array([[0.5, 0.5]]), 2)
    assert (short.stopped.item(), short.needed.item(), short.end.item()) == (2, 2, -1)


@pytest.mark.parametrize(
    ("memory", "dims", "counts"),
    [
        (DESIGN, 2, [3, 1, 5, 0]),
        (DESIGN, 3, [3, 0, 4, 0]),
        ("Hebb with diagonal, saturated", 2, [3, 1, 5, 0]),  # (1, -0.5), ... and the origin
        ("Hebb with diagonal, sign", 2, [3, 1, 0, 0]),
        ("Hebb without, sign", 2, [2, 0, 0, 0]),  # (1, -1) becomes (-1, 1)
        ("Hebb with diagonal, sign", 3, [3, 5, 0, 0]),  # all eight corners
        ("pseudo-inverse, sign", 2, [3, 0, 4, 0]),  # W = 0: all corners stay
    ],
)
def test_what_a_memory_holds(memory, dims, counts):
    assert list(hold(0, dims, memory, starts=20).values())[:4] == counts


def test_digits_are_one_of_each_class_as_signs():
    first, second = (patterns("digits", "8 x 8", seed) for seed in (0, 1))
    assert first.shape == (10, 64) and set(np.unique(first)) == {-1, 1} and (first != second).any(1).all()
