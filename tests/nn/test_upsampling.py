"""Upsampling against direct sums, planes and adjoints."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import gradcheck

from ftheta.errors import InputError, RunError
from ftheta.nn import UPSAMPLINGS, RememberingPool, Unpool, upsampling

FOUR = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
SIXTEEN = torch.arange(16.0).reshape(1, 1, 4, 4)


def normal(*shape):
    return torch.randn(*shape, dtype=torch.double)


@pytest.mark.parametrize("dims", [1, 2])
@pytest.mark.parametrize("factor", [1, 2, 3])
@pytest.mark.parametrize(("n_in", "n_out"), [(4, 4), (4, 2)])
@pytest.mark.parametrize("kind", UPSAMPLINGS)
def test_every_kind_enlarges_by_the_factor_and_gives_the_maps_asked_for(kind, n_in, n_out, factor, dims):
    size = (3, 5)[:dims]
    y = upsampling(kind, n_in, n_out, factor, dims=dims)(torch.zeros(2, n_in, *size))
    assert y.shape == (2, n_out, *(factor * n for n in size))


# ---- without weights


@pytest.mark.ledger("C196", covers="ftheta.nn.upsampling")
def test_nearest_repeats_each_value_in_a_block():
    layer = upsampling("nearest", 1, 1)
    assert layer(FOUR)[0, 0].tolist() == [[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4], [3, 3, 4, 4]]
    assert not list(layer.parameters())
    x = normal(2, 3, 4, 5)
    right = np.kron(x.numpy(), np.ones((3, 3)))
    assert (upsampling("nearest", 3, 3, 3)(x).numpy() == right).all()
    assert upsampling("nearest", 1, 1, dims=1)(FOUR[0]).tolist() == [[[1, 1, 2, 2], [3, 3, 4, 4]]]


@pytest.mark.ledger("C198", covers="ftheta.nn.upsampling")
def test_bilinear_follows_the_convention_of_its_grid():
    half, aligned = upsampling("bilinear", 1, 1), upsampling("bilinear", 1, 1, align_corners=True)
    assert half(FOUR)[0, 0, 0].tolist() == [1, 1.25, 1.75, 2]
    assert aligned(FOUR)[0, 0, 0].tolist() == pytest.approx([1, 4 / 3, 5 / 3, 2])
    rows, columns = np.mgrid[:4, :5]
    x = torch.tensor(2.0 + 3 * rows - columns)[None, None]  # a plane
    i, j = np.mgrid[:12, :15]
    right = 2 + 3 * (i * 3 / 11) - j * 4 / 14
    np.testing.assert_allclose(upsampling("bilinear", 1, 1, 3, align_corners=True)(x)[0, 0], right, atol=1e-12)
    right = 2 + 3 * ((i + 0.5) / 3 - 0.5).clip(0, 3) - ((j + 0.5) / 3 - 0.5).clip(0, 4)
    np.testing.assert_allclose(upsampling("bilinear", 1, 1, 3)(x)[0, 0], right, atol=1e-12)


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("dims", [1, 2])
def test_bilinear_is_the_mixture_of_neighbours(dims, align_corners):
    x, f = normal(2, 3, *(4, 5)[:dims]), 3
    y = x.numpy()
    for axis in range(2, 2 + dims):
        n = x.shape[axis]
        i = np.arange(f * n)
        place = i * (n - 1) / (f * n - 1) if align_corners else ((i + 0.5) / f - 0.5).clip(0, n - 1)
        y = np.apply_along_axis(lambda line, place=place, n=n: np.interp(place, np.arange(n), line), axis, y)
    mine = upsampling("bilinear", 3, 3, f, dims=dims, align_corners=align_corners)(x)
    np.testing.assert_allclose(mine, y, atol=1e-12)


# ---- with weights


@pytest.mark.ledger("A370", covers="ftheta.nn.upsampling")
@pytest.mark.parametrize("dims", [1, 2])
def test_transposed_convolution_doubles_the_size_and_is_the_adjoint_of_a_convolution(dims):
    layer = upsampling("transposed", 3, 2, dims=dims).double()
    y = normal(4, 3, *(5, 6)[:dims])
    layer.bias.data.zero_()
    x = normal(*layer(y).shape)
    assert x.shape[2:] == tuple(2 * n for n in y.shape[2:])
    conv = F.conv1d if dims == 1 else F.conv2d
    inner = (conv(x, layer.weight, stride=2) * y).sum()
    torch.testing.assert_close(inner, (x * layer(y)).sum(), rtol=0, atol=1e-10)


@pytest.mark.parametrize("factor", [2, 3])
@pytest.mark.parametrize("dims", [1, 2])
def test_sub_pixels_interleave_the_maps_of_a_convolution(dims, factor):
    layer, x = upsampling("subpixel", 2, 3, factor, dims=dims).double(), normal(2, 2, *(4, 5)[:dims])
    h, y = layer.conv(x), layer(x)
    assert h.shape == (2, 3 * factor**dims, *x.shape[2:])
    for c in range(3):
        for r in np.ndindex((factor,) * dims):
            place = np.ravel_multi_index(r, (factor,) * dims)
            assert (y[:, c, *(slice(start, None, factor) for start in r)] == h[:, c * factor**dims + place]).all()


# ---- unpooling


@pytest.mark.ledger("C197", covers="ftheta.nn.Unpool")
def test_unpooling_puts_the_maxima_back_into_their_places():
    pool = RememberingPool()
    back = Unpool(pool)(pool(SIXTEEN))[0, 0]
    right = torch.zeros(4, 4)
    right[[1, 1, 3, 3], [1, 3, 1, 3]] = torch.tensor([5.0, 7.0, 13.0, 15.0])
    assert (back == right).all()


@pytest.mark.parametrize("dims", [1, 2])
def test_unpooling_is_that_of_torch_at_any_size(dims):
    x = normal(2, 3, *(7, 8)[:dims])
    pool, unpool = RememberingPool(3, dims=dims), (nn.MaxUnpool1d, nn.MaxUnpool2d)[dims - 1](3)
    y, positions = (nn.MaxPool1d, nn.MaxPool2d)[dims - 1](3, return_indices=True)(x)
    assert (pool(x) == y).all()
    other = normal(*y.shape)  # what a decoder makes of the values
    mine = Unpool(pool)(other)
    assert mine.shape == x.shape and (mine == unpool(other, positions, output_size=x.shape[2:])).all()
    assert gradcheck(Unpool(pool), (other.requires_grad_(),))
    assert gradcheck(lambda x: Unpool(pool)(pool(x)), (x.requires_grad_(),))


# ---- what cannot be


@pytest.mark.parametrize(
    ("kind", "knobs", "words"),
    [
        ("linear", {}, "Unknown upsampling 'linear'. Did you mean 'bilinear'"),
        ("nearest", {"dims": 3}, "dims of upsampling"),
        ("subpixel", {"factor": (2, 2)}, r"factor of upsampling"),
        ("nearest", {"factor": 1.5}, r"factor of upsampling"),
    ],
)
def test_wrong_knobs_are_refused(kind, knobs, words):
    with pytest.raises(InputError, match=words):
        upsampling(kind, 1, 1, **knobs)


def test_unpooling_needs_the_positions_of_its_pooling():
    pool = RememberingPool()
    with pytest.raises(RunError, match="no positions yet; pass the maps through its RememberingPool first"):
        Unpool(pool)(torch.zeros(1, 1, 2, 2))
    pool(SIXTEEN)
    with pytest.raises(InputError, match=r"values of shape \(1, 2, 2, 2\) for positions of shape \(1, 1, 2, 2\)"):
        Unpool(pool)(torch.zeros(1, 2, 2, 2))
