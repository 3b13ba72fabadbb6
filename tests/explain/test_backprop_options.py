"""Layers, operations and losses with other options than usual: by their formulas or as boxes, equal to autograd.

Also what autograd does not follow (blocks without gradients), and what cannot be followed, which is refused.
"""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.checkpoint import checkpoint

from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.explain import backprop


class Net(nn.Module):
    """x W, and then what is tried."""

    def __init__(self, after, part=None):
        super().__init__()
        self.w, self.part, self.after = nn.Parameter(torch.randn(4, 4)), part, after

    def forward(self, x):
        z = x @ self.w
        return self.after(z) if self.part is None else self.after(self.part, z)


def flat(raw, y):
    return ((raw - y) ** 2).flatten(1).sum(1) / 2


def compared(after, part=None, training=False, loss="half-square", each=flat, y=None):
    """Boxes among the steps, when all gradients are those of autograd."""
    with Draw(3).scope():
        net = Net(after, part).double()
        for p in net.parameters():
            nn.init.normal_(p)
        x = torch.randn(3, 4).double()
        net.train(training)
        y = torch.randn(net(x).shape).double() if y is None else y
    found = backprop(net, x, y, loss, training=training)
    x.requires_grad_()
    losses = each(net(x), y)
    params = dict(net.named_parameters())
    rows = [torch.autograd.grad(one, list(params.values()), retain_graph=True, allow_unused=True) for one in losses]
    delta = torch.autograd.grad(losses.sum(), x)[0]
    np.testing.assert_allclose(found.losses, losses.detach(), rtol=1e-7)
    np.testing.assert_allclose(found.steps[0].delta, delta, rtol=1e-6, atol=1e-9)
    for k, (name, p) in enumerate(params.items()):
        truth = torch.stack([torch.zeros_like(p) if row[k] is None else row[k] for row in rows]).detach()
        np.testing.assert_allclose(found.gradients[name], truth, rtol=1e-6, atol=1e-9, err_msg=name)
    return [step.name for step in found.steps if not step.known]


def plain(part, z):
    return part(z)


def line(part, z):
    return part(z[:, None])  # (B, 1, 4)


def square(part, z):
    return part(z.view(-1, 1, 2, 2))


def pairs(part, z):
    return part(z.view(-1, 2, 2))


def steps(part, z):
    return part(torch.stack((z, z * z), 1))[0].flatten(1)  # (B, 2, 4)


def given(part, z):
    """With a first state, and with the last one as output."""
    state = torch.stack((z[:, :3], z[:, 1:]))
    first = (state, 2 * state) if isinstance(part, nn.LSTM) else state
    out, last = part(torch.stack((z, z * z), 1), first)
    ends = (*last, out[:, 0]) if isinstance(part, nn.LSTM) else (last, out[:, 0])
    return torch.cat([end.transpose(0, 1).flatten(1) if end.ndim == 3 else end for end in ends], 1)


KNOWN = {
    "elu": (plain, nn.ELU(0.3)),
    "celu": (plain, nn.CELU(0.3)),
    "leaky": (plain, nn.LeakyReLU(0.3)),
    "softplus": (plain, nn.Softplus(2.0, threshold=1.0)),
    "hardtanh": (plain, nn.Hardtanh(-0.2, 0.7)),
    "softmax over rows": (plain, nn.Softmax(0)),
    "log softmax over rows": (plain, nn.LogSoftmax(0)),
    "softmax in the middle": (pairs, nn.Softmax(1)),
    "log softmax in the middle": (pairs, nn.LogSoftmax(1)),
    "batch norm without averages": (plain, nn.BatchNorm1d(4, track_running_stats=False)),
    "layer norm without weights": (plain, nn.LayerNorm(4, elementwise_affine=False)),
    "layer norm of two axes": (pairs, nn.LayerNorm((2, 2))),
    "layer norm with another ε": (plain, nn.LayerNorm(4, eps=0.5)),
    "rms norm with another ε": (plain, nn.RMSNorm(4, eps=0.5)),
    "group norm with another ε": (pairs, nn.GroupNorm(1, 2, eps=0.5)),
    "mean pool, other padding by axis": (square, nn.AvgPool2d((1, 2), 1, (0, 1))),
    "max pool, other padding by axis": (square, nn.MaxPool2d((1, 2), 1, (0, 1))),
    "convolution, other padding by axis": (square, nn.Conv2d(1, 2, (1, 2), padding=(0, 1))),
    "recurrence of ReLU": (steps, nn.RNN(4, 3, nonlinearity="relu", batch_first=True)),
    **{
        f"first and last state of {kind.__name__}": (given, kind(4, 3, 2, batch_first=True))
        for kind in (nn.RNN, nn.LSTM, nn.GRU)
    },
}
BOXES = {
    "max pool with a last part": (line, nn.MaxPool1d(3, 2, ceil_mode=True)),
    "mean pool with a last part": (line, nn.AvgPool1d(3, 2, ceil_mode=True)),
    "maxima of two places": (line, nn.AdaptiveMaxPool1d(2)),
    "convolution on a ring": (line, nn.Conv1d(1, 2, 3, padding=1, padding_mode="circular")),
    "convolution without rows": (lambda part, z: part(z.view(1, -1)).view(len(z), -1), nn.Conv1d(1, 2, 1)),
    "instance norm with averages": (pairs, nn.InstanceNorm1d(2, track_running_stats=True)),
    "projected LSTM": (steps, nn.LSTM(4, 3, batch_first=True, proj_size=2)),
    "LSTM without rows": (lambda part, z: part(z)[0], nn.LSTM(4, 3)),
    "cell without rows": (lambda part, z: torch.stack([part(row) for row in z]), nn.GRUCell(4, 3)),
    "packed GRU": (
        lambda part, z: part(pack_padded_sequence(torch.stack((z, z * z), 1), [2, 1, 1], batch_first=True))[1][0],
        nn.GRU(4, 3, batch_first=True),
    ),
}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", KNOWN)
def test_options_of_known_layers_agree_with_autograd(name, training):
    assert compared(*KNOWN[name], training=training) == []


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", BOXES)
def test_options_without_a_formula_are_boxes_that_agree_with_autograd(name, training):
    assert set(compared(*BOXES[name], training=training)) >= {"part"} or name.startswith("cell")


def test_embeddings_that_scale_their_gradients_and_dropout_between_layers_are_boxes():
    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(5, 2, scale_grad_by_freq=True)

        def forward(self, x):
            return self.words(x).sum(1)

    net, x, y = Words().double(), torch.tensor([[1, 1, 2], [3, 3, 3]]), torch.zeros(2, 2).double()
    found = backprop(net, x, y, "half-square", reduction="sum")
    assert not found.step("words").known
    flat(net(x), y).sum().backward()
    np.testing.assert_allclose(
        backprop(net, x[:1], y[:1], "half-square", reduction="sum").gradient["words.weight"][1],
        found.gradients["words.weight"][0, 1],
    )
    deep = nn.Sequential(nn.Unflatten(1, (2, 2)), nn.GRU(2, 2, 2, dropout=0.5, batch_first=True))
    net = Net(lambda part, z: part(z)[0].flatten(1), deep)
    found = backprop(net.double(), torch.randn(2, 4).double(), torch.zeros(2, 4).double(), "half-square", training=True)
    assert not found.step("part.1").known


def test_the_first_of_equal_maxima_gets_the_delta():
    ties = torch.tensor([[1.0, 1.0, 0.0, 0.0]] * 3).double()
    assert compared(lambda part, z: part((0 * z + ties)[:, None] + z.sum(1)[:, None, None]), nn.MaxPool1d(2)) == []


OPERATIONS = {
    "sum of a multiple": (lambda z: torch.add(z, z * z, alpha=2), ["+"]),
    "division to whole numbers": (lambda z: z + torch.div(z, 0.3, rounding_mode="floor"), ["/"]),
    "sum in another precision": (lambda z: z.sum(1, keepdim=True, dtype=torch.float64), ["sum"]),
    "matrix times vector": (lambda z: (z @ z[0])[:, None], ["@[2]"]),
    "slope by position": (lambda z: F.leaky_relu(z, 0.3), []),
    "sharpness by position": (lambda z: F.softplus(z, 2.0), ["softplus"]),
    "sharpness by name": (lambda z: F.softplus(z, beta=2.0), []),
    "axes in any order": (lambda z: z.view(-1, 2, 2, 1).sum((2, 1)), []),
    "axes from the end": (lambda z: z.view(-1, 2, 2).mean((-1, -2))[:, None], []),
    "one matrix for a batch": (lambda z: z.view(-1, 2, 2) @ z[:2, :2], []),
    "a column": (lambda z: z * z[:, :1] + z[:1] / (2 + z[0] ** 2), ["pow"]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_options_of_operations_agree_with_autograd(name):
    after, boxes = OPERATIONS[name]
    assert compared(after) == boxes


CLASSES, BITS = torch.tensor([1, 3, 0]), torch.tensor([[0.0, 1.0, 1.0, 0.0]] * 3).double()
LOSSES = {
    "a class left out": (nn.CrossEntropyLoss(reduction="none"), torch.tensor([1, -100, 0])),
    "labels smoothed": (nn.CrossEntropyLoss(reduction="none", label_smoothing=0.2), CLASSES),
    "classes weighted": (nn.CrossEntropyLoss(torch.arange(4.0).double(), reduction="none"), CLASSES),
    "shares of classes": (nn.CrossEntropyLoss(reduction="none"), torch.full((3, 4), 0.25).double()),
    "ones weighted": (nn.BCEWithLogitsLoss(pos_weight=torch.arange(4.0).double(), reduction="none"), BITS),
    "outputs weighted": (nn.BCEWithLogitsLoss(torch.arange(4.0).double(), reduction="none"), BITS),
}


@pytest.mark.parametrize("name", LOSSES)
def test_options_of_losses_agree_with_autograd(name):
    loss, y = LOSSES[name]
    each = lambda raw, y: (v := loss(raw, y)).reshape(len(v), -1).sum(1)  # noqa: E731
    assert compared(lambda z: z * 1.0, loss=loss, each=each, y=y) == []


@pytest.mark.filterwarnings("ignore:Using a target size")
def test_targets_that_torch_would_broadcast_agree_with_autograd():
    for loss in (nn.MSELoss(reduction="none"), nn.L1Loss(reduction="none")):
        each = lambda raw, y, loss=loss: loss(raw, y).sum(1)  # noqa: E731
        assert compared(lambda z: z * 1.0, loss=loss, each=each, y=torch.randn(3, 1).double()) == []


# ---- what autograd does not follow, and what cannot be followed


def test_blocks_without_gradients_are_constants_as_for_autograd():
    def quietly(z):
        with torch.no_grad():
            scale = torch.tanh(z)
        return z * scale

    def layer(part, z):
        with torch.no_grad():
            scale = part(z)
        return z * scale

    assert compared(quietly) == compared(layer, nn.Linear(4, 4)) == []
    assert compared(lambda z: z * z.detach()) == []
    assert compared(lambda z: checkpoint(lambda v: torch.tanh(v) * v, z, use_reentrant=False)) == []


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z):
        return z.sign()

    @staticmethod
    def backward(ctx, g):
        return g


class Layer(nn.Module):
    def forward(self, z):
        return Straight.apply(z)


def test_a_function_of_the_users_own_is_a_box_in_a_layer_and_refused_between_layers():
    assert compared(plain, Layer()) == ["part"]
    sentence = r"A tensor of shape \(3, 4\) was computed out of sight, as by an autograd.Function between layers; put"
    for after in (Straight.apply, lambda z: Straight.apply(z) + z):
        with pytest.raises(InputError, match=sentence):
            compared(after)


def test_what_is_changed_in_place_is_followed_unless_by_way_of_a_view():
    def whole(z):
        h = (z * 1.0).view(-1, 2, 2)
        h += z.view(-1, 2, 2) * 0.5
        h[:, 0] = z[:, 1:3] * 2
        return h.flatten(1)

    assert compared(whole) == ["setitem"]

    def by_a_view(z):
        h = z * 1.0
        h[:, 0].mul_(2.0)
        return h

    def input_by_a_view(x):
        x[:, 0].mul_(2.0)
        return x * 1.0

    with pytest.raises(InputError, match="mul was changed in place by way of a view of it, which cannot be followed"):
        compared(by_a_view)
    net = Net(lambda z: z)
    net.forward = input_by_a_view
    with pytest.raises(InputError, match="The input was changed in place by way of a view"):
        backprop(net, np.ones((2, 4)), np.ones((2, 4)), "half-square")
