"""Samples beside their nearest training rows: what is near to what, and what is a copy."""

import numpy as np
import torch
from sklearn.neighbors import NearestNeighbors
from torch import nn

from ftheta import QuadraticDiscriminant
from ftheta.explain import available, samples

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 16))


class Copies:
    """A model that has learned its rows by heart, and adds some noise to them."""

    def __init__(self, noise=0.0):
        self.noise = noise

    def sample(self, n, random_state=None):
        rng = np.random.default_rng(random_state)
        rows = rng.integers(0, len(X), n)
        return X[rows] + self.noise * rng.normal(size=(n, 16))


class Pictures(nn.Module):
    """A module that draws tensors."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def sample(self, n, generator=None):
        return self.scale * torch.rand(n, 1, 5, 4, generator=generator)


def test_nearest_rows_and_distances_are_those_of_scikit_learn():
    found = samples(Copies(1.0), X, 40)
    distance, place = NearestNeighbors(n_neighbors=1).fit(X).kneighbors(found.rows)
    np.testing.assert_array_equal(found.nearest, place[:, 0])
    np.testing.assert_allclose(found.distance, distance[:, 0])
    np.testing.assert_array_equal(found.neighbors, X[place[:, 0]])
    others, _ = NearestNeighbors(n_neighbors=2).fit(X).kneighbors(X[::3])
    np.testing.assert_allclose(found.usual, others[:, 1])
    assert found.table().columns["distance"] == found.distance.tolist()
    assert (
        f"{np.median(found.distance):.4g}, of training rows to one another {np.median(found.usual):.4g}"
        in found.caption
    )


def test_a_model_that_knows_its_rows_by_heart_is_found_out():
    found = samples(Copies(), X, 30)
    assert not found.distance.any() and found.usual.min() > 1 and found.caption.endswith("30 copies.")
    assert samples(Copies(2.0), X, 30).caption.endswith("0 copies.")


def test_samples_of_any_shape_are_pictures():
    found = samples(Pictures(), n=6)
    assert found.rows.shape == (6, 20) and found.shape == (1, 5, 4) and found.distance is None
    assert set(found.table().columns) == {"sample", "mean"} and found.caption == "6 sample(s)."
    assert samples(Copies(), n=3).shape == (4, 4) and samples(Copies(), n=3, shape=(2, 8)).shape == (2, 8)
    same = samples(Pictures(), torch.zeros(2, 5, 4), n=6)
    np.testing.assert_array_equal(same.rows, found.rows)
    np.testing.assert_allclose(same.distance, np.linalg.norm(found.rows, axis=1))


def test_the_seed_decides():
    first, again, other = (samples(Copies(1.0), n=5, random_state=s).rows for s in (0, 0, 1))
    np.testing.assert_array_equal(again, first)
    assert (other != first).all()


def test_models_that_are_fitted_and_sample_are_offered_it():
    model = QuadraticDiscriminant()
    assert "samples" not in available(model) and "samples" in available(model.fit(X[:, :2], X[:, 0] > 0))
    assert available(Copies()) == ["samples"]
