"""Rows with places: shapes of all kinds of nets, scores, targets, and sentences for what does not fit."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta.errors import InputError, InputTypeError
from ftheta.explain._probe import calls, layer_named
from ftheta.explain.images._images import Pictures, convolutions, has_convolution

RNG = np.random.default_rng(0)


def test_convolutions_are_found_by_name_however_deep():
    net = nn.Sequential(nn.Sequential(nn.Conv2d(1, 2, 1)), nn.Linear(2, 2), nn.Conv1d(1, 1, 1))
    assert list(convolutions(net)) == ["0.0", "2"] and list(convolutions(nn.Conv1d(1, 1, 1))) == ["Conv1d"]
    assert has_convolution(net) and not has_convolution(nn.Linear(1, 1))


def test_rows_of_a_net_without_convolutions_must_be_pictures():
    assert Pictures(nn.Flatten(), np.zeros((2, 1, 3, 3))).places == (3, 3)
    with pytest.raises(InputTypeError, match=r"Linear has no convolution; this needs a net with .* or rows of shape"):
        Pictures(nn.Linear(4, 2), np.zeros((2, 4)))


class Classifier:
    """An estimator of two classes with one logit."""

    def __init__(self, classes, net):
        self.classes_, self.module_ = np.array(classes), net


def test_scores_are_raw_outputs_their_mean_over_places_or_both_signs_of_a_logit():
    x = RNG.normal(size=(3, 1, 2, 2)).astype(np.float32)
    one = nn.Conv2d(1, 1, 2)
    z = one(torch.tensor(x)).flatten()
    torch.testing.assert_close(Pictures(one, x).scores(torch.tensor(x)), z[:, None])
    both = Pictures(Classifier(["no", "yes"], one), x)
    torch.testing.assert_close(both.scores(both.x), torch.stack((-z, z), 1))
    maps = nn.Conv2d(1, 4, 1)
    torch.testing.assert_close(Pictures(maps, x).scores(torch.tensor(x)), maps(torch.tensor(x)).mean((2, 3)))


def test_targets_are_the_largest_outputs_or_classes_by_name():
    net = Pictures(Classifier(["a", "b", "c"], nn.Conv2d(1, 3, 1)), np.zeros((2, 1, 1, 1)))
    scores = torch.tensor([[0.0, 2.0, 1.0], [3.0, 0.0, 1.0]])
    assert net.names(3) == ("a", "b", "c") and net.names(2) == ("0", "1")
    assert net.targets(None, scores).tolist() == [1, 0]
    assert net.targets("c", scores).tolist() == [2, 2] and net.targets(["b", "a"], scores).tolist() == [1, 0]
    with pytest.raises(InputError, match=r"target has 3 entries for 2 rows; pass one, or one per row"):
        net.targets(["a"] * 3, scores)
    with pytest.raises(InputError, match=r"Unknown target 'd'. Known: a, b, c"):
        net.targets("d", scores)
    numbers = Pictures(Classifier([0, 1, 2], nn.Conv2d(1, 3, 1)), np.zeros((2, 1, 1, 1)))
    assert numbers.targets(1.0, scores).tolist() == numbers.targets(True, scores).tolist() == [1, 1]
    bare = Pictures(nn.Conv2d(1, 3, 1), np.zeros((2, 1, 1, 1)))
    assert bare.targets(np.int64(2), scores).tolist() == [2, 2]


def test_what_a_layer_gives_is_kept_as_it_was_before_a_layer_wrote_into_it():
    net = nn.Sequential(nn.Conv2d(1, 2, 1), nn.ReLU(inplace=True))
    x = torch.tensor(RNG.normal(size=(2, 1, 3, 3)), dtype=torch.float32)
    with calls(net, ["0"], clone=True) as found:
        net(x)
    torch.testing.assert_close(found[0].out, net[0](x))
    assert (found[0].out < 0).any() and not net[0]._forward_hooks


def test_an_unknown_layer_is_named():
    net = nn.Sequential()
    net.add_module("conv1", nn.Conv2d(1, 1, 1))
    with pytest.raises(InputError, match=r"Unknown layer 'convl'.*conv1"):
        layer_named(net, "convl")
