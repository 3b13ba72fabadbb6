"""Small networks on small images: the images, the training, and when a gain counts."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn

from ftheta.studies.convolution._nets import above, images, points, probabilities, right, shuffled, size, train


def sorted_sums(x):
    return np.sort(np.asarray(x).reshape(len(x), -1).sum(1))


def test_images_are_all_digits_in_a_new_order_for_each_seed():
    x, y = shuffled("digits", 0)
    truth = load_digits()
    assert x.shape == (1797, 1, 8, 8) and x.min() == 0 and x.max() == 1
    assert sorted_sums(x) == pytest.approx(sorted_sums(truth.images / 16), abs=1e-4)
    assert np.bincount(y).tolist() == np.bincount(truth.target).tolist()
    assert not torch.equal(x, shuffled("digits", 1)[0]) and torch.equal(x, shuffled("digits", 0)[0])


def test_each_image_keeps_its_label():
    truth = {image.tobytes(): label for image, label in zip(load_digits().images, load_digits().target, strict=True)}
    x, y = shuffled("digits", 3)
    told = [truth[image.tobytes()] for image in np.round(x[:50, 0].double().numpy() * 16)]
    assert told == y[:50].tolist()


def test_training_and_test_images_share_none():
    (x, y), (new, z) = images("digits", 1000, 0)
    assert (len(y), len(z)) == (1000, 797)
    assert torch.equal(torch.cat([x, new]), shuffled("digits", 0)[0])


def test_a_rim_is_dark_and_moving_loses_nothing():
    still, _ = shuffled("digits", 0, rim=3)
    moved, _ = shuffled("digits", 0, rim=3, moved=True)
    assert still.shape == moved.shape == (1797, 1, 14, 14)
    assert still[..., :3, :].sum() == still[..., -3:].sum() == 0 and torch.equal(
        still[..., 3:-3, 3:-3], shuffled("digits", 0)[0]
    )
    torch.testing.assert_close(still.sum((1, 2, 3)), moved.sum((1, 2, 3)))
    for axes in ((1, 3), (1, 2)):  # a digit begins at all seven places of both axes
        first = [(x.sum(axes) > 0).float().argmax(1) for x in (still, moved)]
        assert (first[1] - first[0]).unique().tolist() == list(range(-3, 4))


def test_training_is_decided_by_the_seed_and_learns():
    x = torch.randn(80, 2, generator=torch.Generator().manual_seed(0))
    rows = x, (x[:, 0] > 0).long()
    nets = [train(lambda: nn.Linear(2, 2), rows, updates=30, seed=seed, lr=0.1) for seed in (0, 0, 1)]
    assert torch.equal(nets[0].weight, nets[1].weight) and not torch.equal(nets[0].weight, nets[2].weight)
    assert right(nets[0], rows) > 0.9 and not nets[0].training and size(nets[0]) == 6
    p = probabilities(nets[0], x)
    torch.testing.assert_close(p, nets[0](x).softmax(1))
    assert not p.requires_grad


def test_training_sees_augmented_batches():
    seen = []
    rows = torch.ones(10, 2), torch.zeros(10, dtype=torch.long)
    train(lambda: nn.Linear(2, 2), rows, updates=3, seed=0, augment=lambda batch, draw: seen.append(batch) or batch)
    assert len(seen) == 3 and len(seen[0].x) == 10


@pytest.mark.parametrize(
    ("gain", "counts"),
    [
        ([0.1, 0.2, 0.15], True),
        ([0.2, -0.001, 0.2, 0.2, 0.2], False),
        ([0.1, -0.01, 0.15], False),
        ([0.01, 0.02, 0.9], False),
        ([0.0, 0.1, 0.1], False),
    ],
)
def test_a_gain_counts_in_every_seed_and_beyond_two_standard_errors(gain, counts):
    assert above(np.array(gain)) is counts


def test_points_have_a_sign_and_a_spread():
    assert points(np.array([-0.01, -0.03])) == "-2.0 ± 1.4"
