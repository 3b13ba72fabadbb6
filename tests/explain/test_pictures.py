"""Samples beside their nearest rows, and classes of pixels."""

from types import SimpleNamespace

import numpy as np
import torch
from sklearn.metrics import f1_score, jaccard_score, recall_score
from sklearn.neighbors import NearestNeighbors
from torch import nn

from ftheta import QuadraticDiscriminant, UNetSegmenter, explain
from ftheta.data import shapes
from ftheta.explain import available, samples
from ftheta.measure import boundary_accuracy

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 16))


class Copies:
    """A model that has learned its rows by heart, and adds some noise to them."""

    def __init__(self, noise=0.0):
        self.noise = noise

    def sample(self, n, random_state=None):
        rng = np.random.default_rng(random_state)
        return X[rng.integers(0, len(X), n)] + self.noise * rng.normal(size=(n, 16))


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
    assert set(found.table().columns) == {"sample", "mean"} and found.caption == "6 samples."
    nine = SimpleNamespace(sample=lambda n: np.eye(9)[:n])
    assert samples(nine, n=3).shape == (1, 9)  # too small for a square
    assert samples(Copies(), n=3).shape == (4, 4) and samples(Copies(), n=3, shape=(2, 8)).shape == (2, 8)
    same = samples(Pictures(), torch.zeros(2, 5, 4), n=6)
    np.testing.assert_array_equal(same.rows, found.rows)
    np.testing.assert_allclose(same.distance, np.linalg.norm(found.rows, axis=1))


def test_models_that_are_fitted_and_sample_are_offered_it():
    model = QuadraticDiscriminant()
    assert "samples" not in available(model) and "samples" in available(model.fit(X[:, :2], X[:, 0] > 0))
    assert available(Copies()) == ["samples"]


MADE = shapes(12, size=16)
X2, Y = MADE.x.reshape(-1, 16, 16), MADE.y


class Threshold:
    """A segmenter of one's own: bright pixels are class 5, others class 2."""

    classes_, ignore_label = np.array([2, 5]), None

    def predict(self, X2):
        return np.where(np.asarray(X2).reshape(-1, 16, 16) > 127, 5, 2)


LABELS = np.where(Y > 0, 5, 2)


def test_the_table_is_that_of_scikit_learn():
    found = explain.segmentation(Threshold(), X2, LABELS)
    columns, t, a = found.table().columns, LABELS.ravel(), Threshold().predict(X2).ravel()
    assert columns["class"] == ["2", "5"] and columns["pixels"] == [(t == 2).sum(), (t == 5).sum()]
    np.testing.assert_allclose(columns["found"], recall_score(t, a, average=None))
    np.testing.assert_allclose(columns["IoU"], jaccard_score(t, a, average=None))
    np.testing.assert_allclose(columns["Dice"], f1_score(t, a, average=None))
    outline = 100 * boundary_accuracy(LABELS, Threshold().predict(X2))
    assert f"{100 * (t == a).mean():.1f} % of the pixels are right, {outline:.1f} % of those beside" in found.caption
    assert f"mean IoU {jaccard_score(t, a, average='macro', labels=[2, 5]):.3f}." in found.caption


def test_flat_rows_are_images_too_and_one_class_has_no_outline():
    flat = X2.reshape(12, -1)
    assert np.array_equal(explain.segmentation(Threshold(), flat, LABELS).images[:, 0], X2)
    alone = explain.segmentation(Threshold(), 0 * X2, np.full_like(LABELS, 2))
    assert "beside" not in alone.caption and np.isnan(alone.table().columns["IoU"][1])


def test_ignored_pixels_are_not_counted():
    own, hidden = Threshold(), LABELS.copy()
    own.ignore_label, hidden[:, :4] = 9, 9
    found = explain.segmentation(own, X2, hidden)
    assert (found.truth[:, :4] == -1).all() and sum(found.table().columns["pixels"]) == 12 * 12 * 16


def test_a_unet_keeps_its_modes_and_is_offered_it():
    net = UNetSegmenter(filters=(2, 2), epochs=1, random_state=0)
    assert "segmentation" not in explain.available(net)
    net.fit(X2, Y)
    net.module_.encoder.train()
    assert "segmentation" in explain.available(net)
    found = explain.run("segmentation", net, X2, Y)
    assert net.module_.encoder.training and np.array_equal(net.classes_[found.predicted], net.predict(X2))


def test_segments_have_the_users_classes():
    found = explain.run("segmentation", Threshold(), X2, LABELS, classes=["ground", "disc"])
    assert found.names == ("ground", "disc") and found.table().columns["class"] == ["ground", "disc"]


def test_points_are_in_the_users_units():
    x = np.random.default_rng(0).normal(size=(20, 2))
    model, words = QuadraticDiscriminant().fit(x, x[:, 0] > 0), {"names": ["age", "size"], "scales": [[50, 10], [0, 2]]}
    plain, found = explain.run("samples", model, x), explain.run("samples", model, x, **words)
    np.testing.assert_allclose(found.rows, [50, 0] + plain.rows * [10, 2])
    np.testing.assert_array_equal(found.distance, plain.distance)
    axes = found.figure().axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("age", "size")
