"""Receptive fields: the closed form, brute force by changing one input at a time, and graphs that branch and grow."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from ftheta.errors import InputError
from ftheta.explain import receptive_field
from ftheta.nn import ConvNet, UNet, residual_block


def chain(*geometry, dims=1):
    """Convolutions with (kernel, stride, dilation)."""
    conv = nn.Conv1d if dims == 1 else nn.Conv2d
    return nn.Sequential(
        *(conv(1 if i == 0 else 3, 3, k, stride=s, dilation=d) for i, (k, s, d) in enumerate(geometry))
    )


def closed_form(geometry):
    """r += (k - 1) d j, j *= s."""
    size, jump, found = 1, 1, []
    for k, s, d in geometry:
        size += (k - 1) * d * jump
        jump *= s
        found.append((size, jump))
    return found


@pytest.mark.ledger("C181", covers="ftheta.explain.receptive_field")
@pytest.mark.parametrize(
    ("geometry", "sizes"),
    [([(3, 1, 1)] * 5, [3, 5, 7, 9, 11]), ([(3, 2, 1)] * 3, [3, 7, 15])],
    ids=["plain", "strided"],
)
def test_the_fields_of_the_notes_are_computed_and_measured(geometry, sizes):
    found = receptive_field(chain(*geometry), input_shape=(1, 41))
    assert found.size[:, 0].tolist() == sizes
    measured = found.measured[:, 0, 1] - found.measured[:, 0, 0] + 1
    assert measured.tolist() == sizes and found.agree.all()
    assert found.table().columns["field"] == [str(size) for size in sizes]


GEOMETRY = [(5, 2, 1), (2, 1, 3), (3, 3, 2), (1, 1, 1)]


def test_kernels_strides_and_dilations_follow_the_closed_form_on_both_axes():
    found = receptive_field(chain(*GEOMETRY, dims=2), input_shape=(1, 60, 70))
    truth = closed_form(GEOMETRY)
    assert found.size.tolist() == [[size, size] for size, _ in truth]
    assert found.step.tolist() == [[jump, jump] for _, jump in truth]
    assert found.agree.all() and found.outputs[-1] == (7, 9)


class Up(nn.Module):
    """Everything that has a rule: pooling, padding, slices, growing again, and a way around it all."""

    def __init__(self, mode="nearest"):
        super().__init__()
        self.first, self.mode = nn.Conv2d(1, 4, 3, padding=1), mode
        self.wide = nn.Conv2d(4, 4, 3, dilation=2, padding=2)
        self.grow = nn.ConvTranspose2d(4, 4, 3, stride=2, padding=1, output_padding=1)

    def forward(self, x):
        h = self.first(x)
        g = F.avg_pool2d(F.pad(h, (1, 2, 0, 1)), 3, 2)
        g = self.wide(g)[..., ::2, 1:]
        g = F.interpolate(self.grow(g), size=h.shape[-2:], mode=self.mode)
        return torch.cat([h, g], 1) if self.mode == "nearest" else h + g


def touched(net, x, unit):
    """Brute force: the inputs whose change moves one unit of the output."""
    net = net.double().eval()
    with torch.no_grad():
        before = net(x)[..., unit[0], unit[1]]
        moved = np.zeros(x.shape[-2:], dtype=bool)
        for i, j in np.ndindex(moved.shape):
            other = x.clone()
            other[:, :, i, j] += 1
            moved[i, j] = not torch.equal(net(other)[..., unit[0], unit[1]], before)
    places = np.argwhere(moved)
    return [[int(a), int(b)] for a, b in zip(places.min(0), places.max(0), strict=True)]


NETS = {
    "nearest": Up,
    "bilinear": lambda: Up("bilinear"),
    "circular": lambda: nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1, padding_mode="circular"), nn.Conv2d(3, 2, 5, padding=2, padding_mode="reflect")
    ),
    "sub-pixel": lambda: nn.Sequential(
        nn.Conv2d(1, 2, 3, padding="same"), nn.PixelUnshuffle(2), nn.Conv2d(8, 8, 1), nn.PixelShuffle(2)
    ),
    "edge": lambda: nn.Sequential(nn.Conv2d(1, 2, 3, stride=2), nn.Conv2d(2, 2, 9, padding=4)),
    "global": lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.GroupNorm(1, 2)),
}


@pytest.mark.parametrize("name", NETS)
def test_any_graph_agrees_with_changing_one_input_at_a_time(name):
    torch.manual_seed(0)
    net = NETS[name]()
    found = receptive_field(net.double(), input_shape=(1, 12, 14))
    height, width = found.outputs[-1] if name != "global" else (10, 12)
    x = torch.randn(4, 1, 12, 14, dtype=torch.float64)
    assert found.computed[-1].tolist() == touched(net, x, (height // 2, width // 2))
    assert found.agree.all()


def test_a_gate_sees_everything_and_a_head_all_that_pooling_leaves():
    torch.manual_seed(1)
    gated = receptive_field(residual_block(8, 8, squeeze=1, zero_last=False), input_shape=(8, 9, 9))
    assert gated.names[-1] == "output" and gated.size[-1].tolist() == [9, 9] and gated.agree.all()
    assert np.isnan(gated.step[-1]).all() and gated.table().columns["stride"][-1] == ""
    plain = receptive_field(ConvNet((1, 28, 28), 10), input_shape=(1, 28, 28))
    assert plain.computed[-1].tolist() == [[0, 25], [0, 25]] and plain.outputs[-1] == () and plain.agree.all()
    assert plain.names == ("conv1", "pool1", "conv2", "pool2", "output")


def test_the_skip_of_a_u_net_does_not_hide_what_comes_from_below():
    torch.manual_seed(0)
    net = UNet((1, 32, 32), 1, (4, 4), norm="none")
    found = receptive_field(net, input_shape=(1, 32, 32))
    two = [(3, 1, 1)] * 2
    down = closed_form([*two, (2, 2, 1), *two])[-1][0]
    assert found.size[-1].min() > down and found.agree.all()


class Last(nn.Module):
    """A convolution, and any function of what it gives."""

    def __init__(self, f):
        super().__init__()
        self.conv, self.f = nn.Conv2d(1, 2, 3, padding=1).double(), f

    def forward(self, x):
        return self.f(self.conv(x))


def test_one_number_a_row_a_total_and_a_threshold_have_what_they_have():
    one = receptive_field(Last(lambda h: h.mean((1, 2, 3))), input_shape=(1, 9, 9))
    assert one.names == ("conv", "output") and one.agree.all() and one.outputs[-1] == ()
    assert receptive_field(Last(lambda h: (h.sum(), h)), input_shape=(1, 9, 9)).names == ("conv",)
    hard = receptive_field(Last(lambda h: (h > 0).double().mean((2, 3))).requires_grad_(False), input_shape=(1, 9, 9))
    assert hard.measured[-1].tolist() == [[-1, -1]] * 2 and hard.computed[-1].tolist() == [[0, 8]] * 2
    with pytest.raises(InputError, match="Total gave nothing for each of 16 rows; receptive_field needs that"):
        receptive_field(Total(1), input_shape=(1, 9, 9))


class Total(nn.MaxPool2d):
    def forward(self, input):
        return input.sum()


def test_the_effective_field_is_the_gradient():
    """One linear layer: |w| itself, at the places of the middle unit."""
    net = nn.Conv1d(1, 1, 3, bias=False).double()
    found = receptive_field(net, X=np.ones((2, 1, 9)))
    share = found.effective[0] / found.effective[0].sum()
    w = net.weight.detach().abs().numpy().ravel()
    np.testing.assert_allclose(share[3:6], w / w.sum())
    assert not share[:3].any() and not share[6:].any()
    assert found.half[0] == pytest.approx((1 if w.max() >= w.sum() / 2 else 2) / 3)


def test_a_silenced_unit_has_a_computed_field_and_no_measured_one():
    net = nn.Sequential(nn.Conv1d(1, 2, 3), nn.ReLU(), nn.Conv1d(2, 1, 3))
    nn.init.constant_(net[0].bias, -1e6)
    found = receptive_field(net, input_shape=(1, 11))
    assert found.agree.tolist() == [True, False] and found.measured[1].tolist() == [[-1, -1]]
    assert found.table().columns["measured"][1] == "none" and found.table().columns["agree"] == ["yes", "no"]
    assert np.isnan(found.half[1])
