"""Directions in weight space: lengths by filter, the plane nearest to a path, and places in it."""

import numpy as np
import pytest
import torch
from sklearn.decomposition import TruncatedSVD
from torch import nn

from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.explain.surface._directions import filter_normalized, leading, positions, stacked

RNG = np.random.default_rng(0)


def drawn(parts, stream="d1", biases=False):
    flat = filter_normalized(parts, Draw(0).generator(stream), biases=biases)
    return dict(zip(parts, flat.split([p.numel() for p in parts.values()]), strict=True))


def test_every_filter_has_the_length_of_the_filter_of_the_weights():
    net = nn.Sequential(nn.Conv2d(2, 5, 3), nn.BatchNorm2d(5), nn.Flatten(), nn.Linear(20, 3)).double()
    parts = dict(net.named_parameters())
    found = drawn(parts)
    for name, filters in (("0.weight", 5), ("3.weight", 3)):
        mine, theirs = found[name].view(filters, -1), parts[name].detach().reshape(filters, -1)
        torch.testing.assert_close(mine.norm(dim=1), theirs.norm(dim=1))
        assert (mine / mine.norm(dim=1, keepdim=True)).std(dim=0).min() > 0.01  # no two filters are alike
    for name in ("0.bias", "1.weight", "1.bias", "3.bias"):
        assert not found[name].any()


def test_directions_are_repeatable_and_those_of_two_streams_differ():
    parts = dict(nn.Linear(50, 40).named_parameters())
    one, again, other = drawn(parts), drawn(parts), drawn(parts, "d2")
    assert torch.equal(one["weight"], again["weight"])
    cosine = torch.cosine_similarity(one["weight"], other["weight"], dim=0)
    assert abs(cosine) < 0.1  # of 2000 independent numbers


def test_biases_that_are_asked_for_count_as_one_filter_each():
    parts = {"a": torch.tensor([3.0, 4.0]), "b": torch.tensor(-2.0)}
    assert not drawn(parts)["a"].any()
    found = drawn(parts, biases=True)
    assert found["a"].norm().item() == pytest.approx(5) and abs(found["b"].item()) == pytest.approx(2)


def test_a_filter_of_zeros_does_not_move():
    found = drawn({"w": torch.tensor([[0.0, 0.0], [1.0, 0.0]])})["w"].view(2, 2)
    assert not found[0].any() and found[1].norm().item() == pytest.approx(1)


def test_the_plane_of_a_path_is_that_of_its_leading_singular_vectors():
    path, centre = RNG.normal(size=(12, 7)), RNG.normal(size=7)
    truth = TruncatedSVD(2, algorithm="arpack", random_state=0).fit(path - centre).components_
    found = leading(path, centre)
    np.testing.assert_allclose(np.abs((found * truth).sum(1)), 1, rtol=1e-9)
    np.testing.assert_allclose(found @ found.T, np.eye(2), atol=1e-12)


def test_places_and_shares_of_a_path_in_directions_that_are_not_orthogonal():
    d = np.array([[2.0, 0, 0], [1.0, 1.0, 0]])
    path = np.array([[5.0, 3.0, 4.0], [1.0, 1.0, 0.0]])  # (1, 3) and (0, 1) in d, and 4 outside
    places, shares = positions(path, np.zeros(3), d)
    np.testing.assert_allclose(places, [[1, 3], [0, 1]])
    np.testing.assert_allclose(shares, [26 / 52, 10 / 52])  # x², then y², of x² + y² + z²
    assert positions(path * 0, np.zeros(3), d)[1].tolist() == [1, 1]


@pytest.mark.parametrize("path", [np.ones((1, 3)), np.outer([1.0, 2.0, 3.0], [1.0, 1.0, 0.0]), np.zeros((4, 3))])
def test_a_path_on_a_line_spans_no_plane(path):
    with pytest.raises(InputError, match=rf"A path of {len(path)} points spans no plane .* or use directions='random'"):
        leading(path, np.zeros(3))


def test_given_directions_must_fit():
    assert stacked([np.zeros((2, 2)), torch.ones(4)], 4).tolist() == [[0] * 4, [1] * 4]
    with pytest.raises(InputError, match=r"1 entries of \[4\] numbers; two of 4 numbers each are needed"):
        stacked([np.zeros(4)], 4)
    with pytest.raises(InputError, match=r"2 entries of \[4, 3\] numbers; two of 4"):
        stacked([np.zeros(4), np.zeros(3)], 4)
