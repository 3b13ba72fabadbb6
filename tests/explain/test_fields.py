"""The field of every unit of every operation that has a rule, against the zeros of its Jacobian."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from ftheta.explain._fields import follow_fields, seen_by, step

SIZE = 9
OPERATIONS = {
    "dilated": nn.Conv1d(1, 1, 4, padding="valid", dilation=2),
    "same": nn.Conv1d(1, 1, 5, padding="same"),
    "keywords": lambda x: F.conv1d(x, weight=torch.ones(1, 1, 4), stride=3, padding=2),
    "reflect": nn.Conv1d(1, 1, 5, padding=2, padding_mode="reflect"),
    "reflect, further": nn.Conv1d(1, 1, 3, padding=2, padding_mode="reflect"),
    "circular": nn.Conv1d(1, 1, 3, padding=1, padding_mode="circular"),
    "replicate": nn.Conv1d(1, 1, 3, padding=1, padding_mode="replicate"),
    "transposed": nn.ConvTranspose1d(1, 1, 3, stride=2),
    "transposed, padded": nn.ConvTranspose1d(1, 1, 5, stride=3, padding=1, output_padding=1),
    "mean": lambda x: F.avg_pool1d(x, 3, 2, 1),
    "unpooled": lambda x: F.max_unpool1d(x[..., :4], torch.tensor([[[0, 3, 4, 7]]]), 2),
    "nearest": lambda x: F.interpolate(x, scale_factor=3),
    "fewer": lambda x: F.interpolate(x, size=4),
    "fewer, exact": lambda x: F.interpolate(x, size=4, mode="nearest-exact"),
    "linear": lambda x: F.interpolate(x, scale_factor=2, mode="linear"),
    "linear, corners": lambda x: F.interpolate(x, size=20, mode="linear", align_corners=True),
    "area": lambda x: F.interpolate(x, size=4, mode="area"),
    "cropped": lambda x: F.pad(x, (-2, -1)),
    "padded": lambda x: F.pad(x, (2, 3)),
    "slices": lambda x: x[..., 1::3],
    "slices of all axes": lambda x: x[:, :, 2:],
    "a sum of two": lambda x: x[..., 2:] + F.avg_pool1d(x, 3, 1),
    "a mean": lambda x: x[..., 1:4] * x[..., 2:6].mean(-1, keepdim=True),
    "in place": lambda x: (x * 2).add_(1).relu_(),
}


def truth(f, x):
    """First and last input with a gradient, for each unit; None for a unit that sees nothing."""
    rows = torch.autograd.functional.jacobian(lambda v: f(v).flatten(), x).reshape(-1, SIZE)
    places = [np.flatnonzero(row) for row in rows.numpy()]
    return [(int(p[0]), int(p[-1])) if len(p) else None for p in places]


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_field_of_every_unit_is_where_its_gradient_is(name):
    torch.manual_seed(0)
    f, x = OPERATIONS[name], 1 + torch.rand(1, 1, SIZE)
    with follow_fields(x) as mode, torch.no_grad():
        out = f(x)
    field = mode.of(out)
    assert field is not None
    found = [seen_by(field, [unit], inside=True)[0] for unit in range(out.shape[-1])]
    for unit, (computed, measured) in enumerate(zip(found, truth(f, x), strict=True)):
        if measured is None:
            assert computed[0] > computed[1] or name in ("unpooled", "padded"), unit
        else:
            assert computed == measured, unit


def test_axes_are_followed_each_by_itself():
    x = torch.rand(1, 1, 8, 12)
    layer = nn.Conv2d(1, 1, (3, 5), stride=(1, 2), padding=(1, 0), dilation=(2, 1))
    with follow_fields(x) as mode, torch.no_grad():
        out = layer(F.pad(x, (2, 0, 1, 1)))
    field = mode.of(out)
    assert seen_by(field, (0, 1), inside=False) == [(-2, 2), (0, 4)]
    assert seen_by(field, (0, 0), inside=True) == [(0, 2), (0, 2)]
    assert [step(back) for back in field] == [1, 2]


def test_a_slice_of_rows_alone_moves_rows_alone():
    x = torch.rand(1, 1, 8, 12)
    with follow_fields(x) as mode:
        out = x[:, :, 3:]
    assert seen_by(mode.of(out), (1, 1), inside=True) == [(4, 4), (1, 1)]


SQUARE = torch.eye(6).flip(0) + 1
MIXING = {
    "roll": lambda x: x.roll(2, -1),
    "flip": lambda x: x.flip(-1),
    "turned": lambda x: x.transpose(-1, -2),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "product": lambda x: x @ x.transpose(-1, -2),
    "linear": lambda x: F.linear(x, SQUARE),
    "einsum": lambda x: torch.einsum("bchw,wv->bchv", x, SQUARE),
    "softmax of places": lambda x: x.softmax(-1),
    "unit length of columns": lambda x: F.normalize(x, dim=2),
    "running sum": lambda x: x.cumsum(-1),
    "and back again": lambda x: x - x.mean((1, 2, 3))[:, None, None, None],
}


@pytest.mark.parametrize("name", MIXING)
def test_what_takes_places_from_elsewhere_is_said_to_see_everything(name):
    x = torch.rand(1, 1, 6, 6)
    with follow_fields(x) as mode:
        out = MIXING[name](x)
    assert out.shape == x.shape and seen_by(mode.of(out), (1, 2), inside=True) == [(0, 5), (0, 5)]


@pytest.mark.parametrize(
    "f", [lambda x: x.softmax(1), lambda x: F.normalize(x), lambda x: x.cumsum(dim=-3), lambda x: F.log_softmax(x, 1)]
)
def test_what_mixes_channels_stays_in_its_place(f):
    x = torch.rand(1, 3, 6, 6)
    with follow_fields(x) as mode:
        out = f(x)
    assert seen_by(mode.of(out), (1, 2), inside=True) == [(1, 1), (2, 2)]


def test_convolutions_on_other_axes_than_those_of_the_input_see_everything():
    x = torch.rand(2, 36)
    with follow_fields(x) as mode:
        out = F.conv2d(x.reshape(2, 1, 6, 6), torch.ones(1, 1, 3, 3))
    assert seen_by(mode.of(out), (2,), inside=True) == [(0, 35)]


def test_what_is_no_map_sees_everything_and_foreign_tensors_have_no_field():
    x = torch.rand(2, 3, 8)
    with follow_fields(x) as mode:
        flat, other = x.flatten(1) @ torch.ones(24, 5), torch.ones(2, 3) * 2
        total = x.sum()
        scaled = x / total
    assert seen_by(mode.of(flat), (0,), inside=True) == [(0, 7)] and step(mode.of(flat)[0]) is None
    assert mode.of(other) is None and mode.of(None) is None
    assert seen_by(mode.of(scaled), (3,), inside=True) == [(0, 7)] and step(mode.of(scaled)[0]) is None
