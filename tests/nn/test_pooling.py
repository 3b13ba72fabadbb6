"""Pooling against blocks taken out by hand and the modules of torch."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.autograd import gradcheck

from ftheta.errors import InputError
from ftheta.formulas import output_size
from ftheta.nn import POOLINGS, convolution, multiply_adds, pooling

SIXTEEN = torch.arange(16.0).reshape(1, 1, 4, 4)
OF_A_WINDOW = {"max": np.max, "min": np.min, "mean": np.mean, "stride": lambda w: w.flat[0]}


def pooled(kind, x, **knobs):
    return pooling(kind, **knobs)(x)[0, 0].tolist()


@given(st.sampled_from(sorted(OF_A_WINDOW)), st.integers(1, 4), st.integers(1, 3), st.integers(4, 9), st.integers(4, 9))
def test_each_window_becomes_one_number(kind, size, stride, height, width):
    x = np.random.default_rng(height).normal(size=(2, 3, height, width))
    right = [
        [OF_A_WINDOW[kind](x[1, 2, i : i + size, j : j + size]) for j in range(0, width - size + 1, stride)]
        for i in range(0, height - size + 1, stride)
    ]
    y = pooling(kind, size, stride=stride)(torch.tensor(x))
    assert y.shape == (2, 3, output_size(height, size, stride=stride), output_size(width, size, stride=stride))
    np.testing.assert_allclose(y[1, 2], right, atol=1e-12)
    line = pooling(kind, size, stride=stride, dims=1)(torch.tensor(x[:, :, 0]))
    right = [OF_A_WINDOW[kind](x[1, 2, 0, i : i + size]) for i in range(0, width - size + 1, stride)]
    np.testing.assert_allclose(line[1, 2], right, atol=1e-12)


@pytest.mark.ledger("A204", "B095", covers="ftheta.nn.pooling")
def test_max_min_and_mean_of_a_block_and_where_their_gradients_go():
    block = torch.tensor([[[[1.0, 3.0], [2.0, 8.0]]]], requires_grad=True)
    values, gradients = {}, {}
    for kind in ("max", "min", "mean"):
        y = pooling(kind)(block)
        values[kind], gradients[kind] = y.item(), torch.autograd.grad(y.sum(), block)[0].flatten().tolist()
    assert values == {"max": 8, "min": 1, "mean": 3.5}
    assert gradients == {"max": [0, 0, 0, 1], "min": [1, 0, 0, 0], "mean": [0.25] * 4}
    for kind in ("max", "min", "mean"):
        assert [pooling(kind)(torch.zeros(1, 1, n, n)).shape[-1] for n in (26, 11)] == [13, 5]


@pytest.mark.parametrize("kind", ["max", "min", "mean", "stride", "global_max", "global_mean"])
def test_the_table_says_which_are_linear(kind):
    a, b = (torch.randn(1, 2, 6, 6, generator=torch.Generator().manual_seed(seed)).double() for seed in (0, 1))
    layer = pooling(kind)
    assert ((layer(a + 3 * b) - layer(a) - 3 * layer(b)).abs().max().item() < 1e-12) == POOLINGS[kind].linear
    assert kind in OF_A_WINDOW or not POOLINGS[kind].windows


@pytest.mark.ledger("C192", covers="ftheta.nn.pooling")
def test_a_stride_keeps_every_second_position():
    assert pooled("stride", SIXTEEN) == [[0, 2], [8, 10]]
    assert pooled("stride", SIXTEEN, size=3, stride=1) == [[0, 1], [4, 5]]
    assert pooling("stride")(torch.zeros(2, 5, 4, 4)).shape == (2, 5, 2, 2)


@pytest.mark.ledger("C193", covers="ftheta.nn.pooling")
def test_max_pooling_sends_the_gradient_to_the_first_maximum():
    assert pooled("max", SIXTEEN) == [[5, 7], [13, 15]]
    x = torch.tensor([[[[1.0, 4.0, 0.0, 0.0], [4.0, 2.0, 0.0, 5.0]]]], requires_grad=True)
    (pooling("max")(x) * torch.tensor([2.0, 3.0])).sum().backward()
    assert x.grad[0, 0].tolist() == [[0, 2, 0, 0], [0, 0, 0, 3]]


@pytest.mark.ledger("C194", covers="ftheta.nn.pooling")
def test_mean_pooling_shares_the_gradient_within_a_block():
    assert pooled("mean", SIXTEEN) == [[2.5, 4.5], [10.5, 12.5]]
    x = SIXTEEN.clone().requires_grad_()
    pooling("mean")(x)[0, 0, 0, 1].backward()
    assert x.grad[0, 0].tolist() == [[0, 0, 0.25, 0.25], [0, 0, 0.25, 0.25], [0] * 4, [0] * 4]


@pytest.mark.parametrize("dims", [1, 2])
@pytest.mark.parametrize("kind", sorted(POOLINGS))
def test_gradients_are_those_of_differences(kind, dims):
    x = torch.randn(2, 2, *(5, 6)[:dims], generator=torch.Generator().manual_seed(0)).double().requires_grad_()
    assert gradcheck(pooling(kind, 3, dims=dims, stride=2), (x,))


@pytest.mark.parametrize("dims", [1, 2])
def test_pooling_with_padding_is_that_of_torch(dims):
    x = torch.randn(2, 3, *(7, 8)[:dims], generator=torch.Generator().manual_seed(0))
    biggest, mean = ((nn.MaxPool1d, nn.AvgPool1d), (nn.MaxPool2d, nn.AvgPool2d))[dims - 1]
    knobs = {"stride": 2, "padding": 1}
    for size, by in ((3, knobs), (4, {"padding": 2})):
        layer = pooling("max", size, dims=dims, **by)
        assert isinstance(layer, biggest) and (layer(x) == biggest(size, **by)(x)).all()
    assert (pooling("min", 3, dims=dims, **knobs)(x) == -biggest(3, **knobs)(-x)).all()
    layer = pooling("mean", 3, dims=dims, **knobs)
    assert isinstance(layer, mean) and (layer(x) == mean(3, **knobs, count_include_pad=False)(x)).all()


def test_padding_is_neither_an_extremum_nor_counted_in_a_mean():
    x = torch.full((1, 1, 4, 4), -7.0)
    for kind in ("max", "min", "mean"):
        for sign in (1, -1):
            assert (pooling(kind, 3, stride=2, padding=1)(sign * x) == sign * -7).all()


@pytest.mark.parametrize(("kind", "of"), [("global_max", torch.amax), ("global_mean", torch.mean)])
def test_global_pooling_leaves_one_number_of_a_map_of_any_size(kind, of):
    for size in ((4, 4), (3, 7), (1, 1)):
        x = torch.randn(2, 3, *size, generator=torch.Generator().manual_seed(0))
        torch.testing.assert_close(pooling(kind)(x)[..., 0, 0], of(x, (-2, -1)))
        torch.testing.assert_close(pooling(kind, dims=1)(x[..., 0])[..., 0], of(x[..., 0], (-1,)))


@pytest.mark.ledger("A207", covers="ftheta.nn.pooling")
def test_pooling_leaves_the_layers_after_it_a_quarter_of_the_work():
    """Exactly a quarter with padding; a little less without, as small maps lose more of their border."""

    def work(*before, padding="same"):
        after = convolution(8, 16, padding=padding), nn.ReLU(), convolution(16, 16, padding=padding)
        return sum(multiply_adds(nn.Sequential(*before, *after), (8, 96, 96)).values())

    assert work() == 9 * 16 * (8 + 16) * 96**2 == 4 * work(pooling("max"))
    without = work(padding="valid"), work(pooling("max"), padding="valid")
    assert without == (9 * 16 * (8 * 94**2 + 16 * 92**2), 9 * 16 * (8 * 46**2 + 16 * 44**2))
    assert without[0] / without[1] == pytest.approx(4.3, abs=0.05)


@pytest.mark.parametrize(
    ("kind", "knobs", "words"),
    [
        ("mx", {}, "Unknown pooling 'mx'. Did you mean 'max'"),
        ("max", {"dims": 3}, "dims of pooling"),
        ("max", {"size": 0}, r"size of pooling"),
        ("max", {"size": (2, 3)}, r"size of pooling"),
        ("mean", {"stride": 0}, "stride of pooling"),
        ("min", {"padding": -1}, r"padding of pooling"),
        ("max", {"size": 3, "padding": 2}, "padding=2 is more than half of the window of pooling 'max' with size=3"),
        ("stride", {"padding": 1}, "padding=1 is more than half of the window of pooling 'stride'"),
    ],
)
def test_wrong_knobs_are_refused(kind, knobs, words):
    with pytest.raises(InputError, match=words):
        pooling(kind, **knobs)
